//! Every pass against its definition, over one list of shapes and layouts.

use super::*;
use crate::Seeded;

/// Rows × columns: below and above a tile, above all chunks, wide enough for a shared accumulator.
const SHAPES: [(usize, usize); 7] = [(1, 1), (3, 5), (255, 4), (257, 9), (9000, 3), (40, 330), (1100, 325)];

fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Seeded::new(seed);
    (0..count).map(|_| random.normal()).collect()
}

/// The same matrix by rows, by columns and with gaps.
fn for_each_layout(n: usize, p: usize, mut check: impl FnMut(View<'_, f64>, &dyn Fn(usize, usize) -> f64)) {
    let x = numbers(n * p, 3);
    let entry = |i: usize, j: usize| x[i * p + j];
    check(View::new(&x, &[n, p]).unwrap(), &entry);
    let columns: Vec<f64> = (0..n * p).map(|at| entry(at % n, at / n)).collect();
    check(View::new(&columns, &[p, n]).unwrap().transposed(), &entry);
    let gaps: Vec<f64> = (0..2 * n * p).map(|at| if at % 2 == 0 { x[at / 2] } else { f64::NAN }).collect();
    check(View::strided(&gaps, 0, &[n, p], &[2 * p as isize, 2]).unwrap(), &entry);
}

fn close(found: f64, expected: f64, scale: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-13 * scale, "{what}: {found} against {expected}");
}

#[test]
fn second_moments_are_sums_of_products() {
    for (n, p) in SHAPES {
        let (y, weights) = (numbers(n, 4), numbers(n, 5).iter().map(|w| w.abs()).collect::<Vec<_>>());
        let shift: Vec<f64> = (0..p).map(|j| 0.1 * j as f64).collect();
        for_each_layout(n, p, |x, entry| {
            let found = second_moments(&x, &y, Some(&weights), &shift, 0.5);
            let value = |i: usize, a: usize| match a {
                _ if a < p => entry(i, a) - shift[a],
                _ if a == p => y[i] - 0.5,
                _ => 1.0,
            };
            // A few rows and columns of the result are enough, the corners among them.
            for a in [0, p / 2, p - 1, p, p + 1] {
                for b in [0, p / 3, p, p + 1] {
                    let term = |i: usize| weights[i] * value(i, a) * value(i, b);
                    let expected = (0..n).map(term).sum::<f64>();
                    let scale = (0..n).map(|i| term(i).abs()).sum::<f64>();
                    close(found[(a, b)], expected, scale.max(1e-300), "moments");
                }
            }
        });
    }
}

#[test]
fn products_with_rows_and_columns_are_their_definitions() {
    for (n, p) in SHAPES {
        let (w, v) = (numbers(2 * p, 6), numbers(n, 7));
        let w = Matrix::new(w, 2, p).unwrap();
        for_each_layout(n, p, |x, entry| {
            let forward = times(&x, &w, &[0.5, -0.5]);
            let back = transposed_times(&x, &v);
            for i in [0, n / 2, n - 1] {
                for (c, offset) in [0.5, -0.5].into_iter().enumerate() {
                    let expected = (0..p).map(|j| entry(i, j) * w[(c, j)]).sum::<f64>() + offset;
                    close(forward[(i, c)], expected, 10.0 * p as f64, "times");
                }
            }
            for j in [0, p / 2, p - 1] {
                let expected = (0..n).map(|i| entry(i, j) * v[i]).sum::<f64>();
                close(back[j], expected, 10.0 * n as f64, "transposed times");
            }
        });
    }
}

#[test]
fn chunks_cover_every_row_once_in_order() {
    for n in [0, 1, 255, 256, 257, 8192, 8193, 1_000_000] {
        let chunks = chunks(n);
        assert_eq!(chunks.iter().map(ExactSizeIterator::len).sum::<usize>(), n);
        assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].start % TILE == 0));
        let rows: usize = chunks.iter().cloned().flat_map(tiles).map(|tile| tile.len()).sum();
        assert_eq!(rows, n);
    }
}
