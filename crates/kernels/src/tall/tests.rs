//! Every fast path against its plain definition, over one list of tables, on every instruction set of the machine.

use super::biased::{TURNED_UP_TO, residual_and_gradient_within_on};
use super::gram::gram_on;
use super::householder::triangle_on;
use super::product::{multiply_on, transpose_multiply_on};
use super::residual::residual_and_gradient_on;
use super::reweighted::{Reweighted, Scored, reweighted_gram_on};
use super::{Bounds, NoColumns, RowSource, Tall, Triangle, Twofold, residuals};
use crate::simd::Isa;
use crate::{Matrix, View, crew};

/// One table in every way it can lie in memory.
struct Case {
    n: usize,
    d: usize,
    t: usize,
    x: Matrix,
    y: Matrix,
    weights: Vec<f64>,
    shift: Vec<f64>,
}

fn random(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

fn case(n: usize, d: usize, t: usize) -> Case {
    let mut seed = (n * 1_000_003 + d * 1009 + t) as u64;
    // Rounded to f32, so that the same table can be given in f32.
    let mut entry = |_, _| f64::from((random(&mut seed) + 0.25) as f32);
    let x = Matrix::from_fn(n, d, &mut entry);
    let y = Matrix::from_fn(n, t, &mut entry);
    let weights = (0..n).map(|i| f64::from(i as u32 % 5) * 0.5).collect();
    let shift = (0..d + t).map(|j| 0.25 + j as f64 / 64.0).collect();
    Case { n, d, t, x, y, weights, shift }
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for d in [1, 2, 3, 4, 7, 8, 9, 20, 33] {
        for n in [0, 1, 5, 64, 67, 300] {
            all.push(case(n, d, 1));
        }
    }
    all.extend([
        case(5000, 6, 2),
        case(5000, 17, 0),
        case(300, 5, 0),
        case(70, 3, 4),
        case(3, 40, 1),
        case(520, 200, 1),
    ]);
    all.extend([case(150, 64, 3), case(100, 128, 1), case(60, 300, 1)]);
    all
}

/// The layouts a table is given in: row-major, column-major, f32, every second column backwards.
fn each_layout(x: &Matrix, check: impl Fn(&str, &dyn RowSource)) {
    let (n, d) = (x.rows(), x.cols());
    check("row-major", &x.view());
    let columns = x.transposed();
    check("column-major", &columns.view().transposed());
    let single: Vec<f32> = x.as_slice().iter().map(|&v| v as f32).collect();
    check("f32", &View::new(&single, &[n, d]).unwrap());
    let mut spread = vec![f64::NAN; 2 * n * d];
    for i in 0..n {
        for j in 0..d {
            spread[2 * i * d + 2 * (d - 1 - j)] = x[(i, j)];
        }
    }
    let start = if spread.is_empty() { 0 } else { 2 * (d - 1) };
    let view = View::strided(&spread, start, &[n, d], &[2 * d as isize, -2]).unwrap();
    check("backwards", &view);
}

/// √w · [X − c, Y − c, 1], row by row.
fn plain_rows(case: &Case, weighted: bool) -> Matrix {
    Matrix::from_fn(case.n, case.d + case.t + 1, |i, j| {
        let value = if j < case.d {
            case.x[(i, j)] - case.shift[j]
        } else if j < case.d + case.t {
            case.y[(i, j - case.d)] - case.shift[j]
        } else {
            1.0
        };
        if weighted { value * case.weights[i].sqrt() } else { value }
    })
}

fn plain_gram(a: &Matrix) -> Matrix {
    let m = a.cols();
    Matrix::from_fn(m, m, |p, q| (0..a.rows()).map(|i| a[(i, p)] * a[(i, q)]).sum())
}

fn each_way(check: impl Fn(&str, &Case, bool, &Tall<'_>)) {
    for case in cases() {
        for weighted in [false, true] {
            each_layout(&case.x, |layout, x| {
                let y = case.y.view();
                let weights = weighted.then_some(&case.weights[..]);
                let name = format!("{} × {} + {}, {layout}, weighted {weighted}", case.n, case.d, case.t);
                check(&name, &case, weighted, &Tall { x, y: &y, weights, shift: &case.shift });
            });
        }
    }
}

#[test]
fn the_gram_matrix_is_that_of_the_shifted_weighted_rows() {
    each_way(|name, case, weighted, tall| {
        let expected = plain_gram(&plain_rows(case, weighted));
        for isa in Isa::available() {
            let found = gram_on(isa, tall);
            for (f, e) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((f - e).abs() <= 1e-13 * (1.0 + case.n as f64), "{name}, {isa}: {f} {e}");
            }
        }
    });
}

#[test]
fn rows_that_need_no_shift_are_multiplied_where_they_lie() {
    for (n, d) in [(1, 1), (47, 5), (49, 20), (150, 18), (97, 64), (300, 100)] {
        let case = case(n, d, 1);
        let shift: Vec<f64> = (0..d).map(|_| 0.0).chain([0.5]).collect();
        let rows = plain_rows(&Case { shift: shift.clone(), ..case }, false);
        let expected = plain_gram(&rows);
        let x = Matrix::from_fn(n, d, |i, j| rows[(i, j)]);
        let y = Matrix::from_fn(n, 1, |i, _| rows[(i, d)] + 0.5);
        // Some columns of a wider table whose others are no numbers.
        let wide = Matrix::from_fn(n, d + 3, |i, j| if j < d { x[(i, j)] } else { f64::NAN });
        let part = View::strided(wide.as_slice(), 0, &[n, d], &[d as isize + 3, 1]).unwrap();
        for isa in Isa::available() {
            let of =
                |x: &dyn RowSource| gram_on(isa, &Tall { x, y: &y.view(), weights: None, shift: &shift });
            let found = of(&x.view());
            for (f, e) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((f - e).abs() <= 1e-13 * (1.0 + n as f64), "{n} × {d}, {isa}: {f} {e}");
            }
            assert_eq!(found, of(&part), "{n} × {d}, {isa}: the same bits wherever the rows lie");
            let columns = x.transposed();
            assert_eq!(found, of(&columns.view().transposed()), "{n} × {d}, {isa}: and turned");
        }
    }
}

#[test]
fn a_wide_gram_matrix_is_the_same_on_any_threads_and_instructions() {
    // Wide enough that the threads share one, with a last block and a last panel that are not full, and more than one tile.
    let case = case(135, 1030, 1);
    let rows = plain_rows(&case, true);
    let (x, y) = (case.x.view(), case.y.view());
    let tall = Tall { x: &x, y: &y, weights: Some(&case.weights), shift: &case.shift };
    for isa in Isa::available() {
        let on = |threads: usize| crew::with_exactly(threads, || gram_on(isa, &tall));
        let found = on(1);
        for i in [0, 5, 95, 96, 511, 1023, 1024, 1031] {
            for j in 0..rows.cols() {
                let expected: f64 = (0..case.n).map(|k| rows[(k, i)] * rows[(k, j)]).sum();
                for found in [found[(i, j)], found[(j, i)]] {
                    assert!(
                        (found - expected).abs() <= 1e-13 * (1.0 + expected.abs()),
                        "{isa}: {found} {expected}"
                    );
                }
            }
        }
        assert_eq!(found, on(3), "{isa}");
    }
}

#[test]
fn the_triangle_has_the_gram_matrix_of_the_rows() {
    each_way(|name, case, weighted, tall| {
        let a = plain_rows(case, weighted);
        let (m, d) = (a.cols(), case.d + case.t);
        let expected = plain_gram(&a);
        for isa in Isa::available() {
            let found: Triangle = triangle_on(isa, tall);
            for i in 0..m {
                for j in 0..m {
                    let product: f64 = (0..m).map(|k| found.at(k, i) * found.at(k, j)).sum();
                    // The triangle starts with the ones, the Gram matrix ends with them.
                    let at = |i: usize| if i == 0 { d } else { i - 1 };
                    let error = product - expected[(at(i), at(j))];
                    assert!(
                        error.abs() <= 1e-13 * (1.0 + case.n as f64),
                        "{name}, {isa}: ({i}, {j}) {error}"
                    );
                }
            }
        }
    });
}

#[test]
fn products_agree_with_their_definition() {
    for case in cases() {
        let w: Vec<f64> = (0..case.d).map(|j| 0.5 - j as f64 / 7.0).collect();
        let v: Vec<f64> = (0..case.n).map(|i| 1.0 - (i % 13) as f64 / 5.0).collect();
        let forward: Vec<f64> =
            (0..case.n).map(|i| 0.75 + (0..case.d).map(|j| case.x[(i, j)] * w[j]).sum::<f64>()).collect();
        let backward: Vec<f64> =
            (0..case.d).map(|j| (0..case.n).map(|i| case.x[(i, j)] * v[i]).sum::<f64>()).collect();
        each_layout(&case.x, |layout, x| {
            for isa in Isa::available() {
                let mut out = vec![f64::NAN; case.n];
                multiply_on(isa, true, x, &w, 0.75, &mut out);
                let mut unasked = vec![f64::NAN; case.n];
                multiply_on(isa, false, x, &w, 0.75, &mut unasked);
                assert_eq!(out, unasked, "{} × {} {layout} {isa}", case.n, case.d);
                for (f, e) in out.iter().zip(&forward) {
                    assert!(
                        (f - e).abs() <= 1e-12 * (1.0 + case.d as f64 / 50.0),
                        "{} × {} {layout} {isa}",
                        case.n,
                        case.d
                    );
                }
                for (f, e) in transpose_multiply_on(isa, x, &v).iter().zip(&backward) {
                    assert!((f - e).abs() <= 1e-11, "{} × {} {layout} {isa}", case.n, case.d);
                }
            }
        });
    }
}

#[test]
fn long_columns_are_multiplied_in_strips_and_items_to_the_same_bits() {
    // Two strips to an item, several items, and a last one of a single row.
    for [n, d] in [[9000, 13], [9000, 70], [32_769, 20], [20_481, 25]] {
        let case = case(n, d, 1);
        let turned = case.x.transposed();
        let (rows, columns) = (case.x.view(), turned.view().transposed());
        let w: Vec<f64> = (0..d).map(|j| 0.5 - j as f64 / 16.0).collect();
        let run = |x: &dyn RowSource, threads: usize, asked: bool| {
            let mut out = vec![f64::NAN; n];
            crew::with_exactly(threads, || multiply_on(Isa::detected(), asked, x, &w, 0.75, &mut out));
            out
        };
        let expected = run(&columns, 1, false);
        for (threads, asked) in [(1, true), (2, false), (3, true), (8, false)] {
            assert!(run(&columns, threads, asked) == expected, "{n} × {d}, {threads} threads, {asked}");
        }
        // A row of the table alone is what it is among the others.
        let one = columns.narrowed(0, n - 1..n).unwrap();
        assert!((run(&rows, 1, false)[n - 1] - expected[n - 1]).abs() <= 1e-12 * d as f64);
        let mut alone = [0.0];
        multiply_on(Isa::detected(), false, &one, &w, 0.75, &mut alone);
        assert!((alone[0] - expected[n - 1]).abs() <= 1e-12 * d as f64);
    }
}

/// Residual and gradient in double-double, number by number.
fn plain_gradient(case: &Case, weighted: bool, coefficients: &[Twofold]) -> Vec<Twofold> {
    let d = case.d;
    let mut gradient = vec![Twofold::ZERO; case.t * (d + 1)];
    for target in 0..case.t {
        let own = &coefficients[target * (d + 1)..][..=d];
        for i in 0..case.n {
            let mut r = Twofold::from(case.y[(i, target)]) - own[d];
            for j in 0..d {
                r += -(own[j] * case.x[(i, j)]);
            }
            let r = if weighted { r * case.weights[i] } else { r };
            for j in 0..d {
                gradient[target * (d + 1) + j] += r * case.x[(i, j)];
            }
            gradient[target * (d + 1) + d] += r;
        }
    }
    gradient
}

#[test]
fn residual_and_gradient_have_twice_the_precision() {
    each_way(|name, case, weighted, tall| {
        for low in [0.0, 1e-18] {
            let coefficients: Vec<Twofold> = (0..case.t * (case.d + 1))
                .map(|j| Twofold::new(0.3 - j as f64 / 11.0, low * (1.0 + j as f64)))
                .collect();
            let expected = plain_gradient(case, weighted, &coefficients);
            for isa in Isa::available() {
                let found = residual_and_gradient_on(isa, tall, &coefficients);
                for (f, e) in found.gradient.iter().zip(&expected) {
                    let error = (*f - *e).high.abs();
                    let scale = 1e-28 * (1.0 + case.n as f64) * (1.0 + case.d as f64).powi(2);
                    assert!(error <= scale, "{name}, {isa}: off by {error:.1e}");
                }
            }
        }
    });
}

/// Column norms, and room for any residual of the cases' coefficients.
fn bounds(case: &Case) -> (Vec<f64>, Vec<f64>) {
    let norm = |j: usize| (0..case.n).map(|i| case.x[(i, j)].powi(2)).sum::<f64>().sqrt();
    (
        (0..case.d).map(norm).collect(),
        vec![1e3 * (1.0 + case.d as f64) * (1.0 + case.n as f64).sqrt(); case.t],
    )
}

#[test]
fn bounded_sums_have_twice_the_precision_too() {
    each_way(|name, case, weighted, tall| {
        if weighted {
            return;
        }
        let high: Vec<f64> = (0..case.t * (case.d + 1)).map(|j| 0.3 - j as f64 / 11.0).collect();
        let coefficients: Vec<Twofold> = high.iter().map(|&w| Twofold::from(w)).collect();
        let expected = plain_gradient(case, weighted, &coefficients);
        let (columns, residuals) = bounds(case);
        let bounds = Bounds { columns: &columns, residuals: &residuals };
        for isa in Isa::available() {
            let found = residual_and_gradient_within_on(isa, tall, &high, bounds);
            let found = found.unwrap_or_else(|| panic!("{name}, {isa}: no answer"));
            let other = residual_and_gradient_on(isa, tall, &coefficients);
            for (f, e) in found.gradient.iter().zip(&expected) {
                let error = (*f - *e).high.abs();
                let scale = 1e-24 * (1.0 + case.n as f64) * (1.0 + case.d as f64).powi(2);
                assert!(error <= scale, "{name}, {isa}: off by {error:.1e}");
            }
            for (f, e) in found.squares.iter().zip(&other.squares) {
                assert!((f - e).abs() <= 1e-13 * e, "{name}, {isa}: {f} {e}");
            }
        }
    });
}

#[test]
fn bounded_sums_are_the_same_for_columns_as_for_rows_up_to_a_width() {
    for d in [33, 100, TURNED_UP_TO, TURNED_UP_TO + 1] {
        let case = case(40, d, 1);
        let turned: Vec<f64> = case.x.view().transposed().to_vec();
        let (rows, y) = (case.x.view(), case.y.view());
        let by_columns = View::new(&turned, &[d, 40]).unwrap().transposed();
        let (columns, residuals) = bounds(&case);
        let bounds = Bounds { columns: &columns, residuals: &residuals };
        let w: Vec<f64> = (0..=d).map(|j| 0.3 - j as f64 / 11.0).collect();
        for isa in Isa::available() {
            let of = |x: &View<'_, f64>| {
                let tall = Tall { x, y: &y, weights: None, shift: &case.shift };
                residual_and_gradient_within_on(isa, &tall, &w, bounds)
            };
            let expected = of(&rows).filter(|_| d <= TURNED_UP_TO);
            assert_eq!(of(&by_columns), expected, "{isa}, {d} columns");
            assert!(expected.is_some() || d > TURNED_UP_TO, "{isa}, {d} columns");
        }
    }
}

#[test]
fn a_residual_beyond_its_bound_gives_no_answer() {
    let case = case(300, 9, 1);
    let (x, y) = (case.x.view(), case.y.view());
    let tall = Tall { x: &x, y: &y, weights: None, shift: &case.shift };
    let (columns, _) = bounds(&case);
    let w = vec![0.5; 10];
    let within = |residual: f64| {
        super::residual_and_gradient_within(&tall, &w, Bounds { columns: &columns, residuals: &[residual] })
    };
    let norm = within(1e6).unwrap().squares[0].sqrt();
    assert!(within(1.01 * norm).is_some() && within(0.99 * norm).is_none());
    assert!(within(1e200).is_none() && within(f64::NAN).is_none());
}

#[test]
fn rounded_residuals_are_those_of_the_model() {
    let case = case(301, 9, 2);
    let y = case.y.view();
    let tall = Tall { x: &case.x.view(), y: &y, weights: None, shift: &case.shift };
    let coefficients: Vec<Twofold> = (0..10).map(|j| Twofold::from(f64::from(j) / 3.0)).collect();
    let mut out = vec![0.0; case.n];
    residuals(&tall, 1, &coefficients, &mut out);
    for (i, r) in out.iter().enumerate() {
        let fitted: f64 = (0..9).map(|j| case.x[(i, j)] * j as f64 / 3.0).sum::<f64>() + 3.0;
        assert!((r - (case.y[(i, 1)] - fitted)).abs() <= 1e-14);
    }
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    for case in [case(20_000, 5, 1), case(3000, 210, 1), case(9000, 40, 2)] {
        let run = |threads: usize| {
            crew::with_exactly(threads, || {
                let (x, y) = (case.x.view(), case.y.view());
                let tall = Tall { x: &x, y: &y, weights: Some(&case.weights), shift: &case.shift };
                let coefficients = vec![Twofold::from(0.1); case.t * (case.d + 1)];
                let unweighted = Tall { weights: None, ..tall };
                let rounded = vec![0.1; case.t * (case.d + 1)];
                let (columns, residuals) = bounds(&case);
                let within = Bounds { columns: &columns, residuals: &residuals };
                let mut fitted = vec![0.0; case.n];
                super::multiply(&x, &vec![0.1; case.d], 0.0, &mut fitted);
                (
                    super::gram(&tall),
                    super::triangle(&tall),
                    super::residual_and_gradient(&tall, &coefficients),
                    super::residual_and_gradient_within(&unweighted, &rounded, within),
                    super::transpose_multiply(&x, &case.weights),
                    fitted,
                )
            })
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{threads} threads");
        }
    }
}

#[test]
fn a_table_without_targets_has_a_gram_matrix_of_its_own() {
    let case = case(10, 3, 0);
    let x = case.x.view();
    let tall = Tall { x: &x, y: &NoColumns(10), weights: None, shift: &case.shift };
    let expected = plain_gram(&plain_rows(&case, false));
    let found = super::gram(&tall);
    assert!(found.as_slice().iter().zip(expected.as_slice()).all(|(a, b)| (a - b).abs() < 1e-14));
}

/// Weights and targets that follow from scores in some way, and the sum of the scores.
fn reweigh(scored: Scored<'_>) -> (usize, f64) {
    let Scored { rows, scores, roots, targets } = scored;
    for (k, &s) in scores.iter().enumerate() {
        roots[k] = 1.0 / (1.0 + s * s);
        targets[k] = (s - 1.0) * roots[k];
    }
    (rows.len(), scores.iter().sum())
}

#[test]
fn a_reweighted_gram_matrix_is_that_of_the_weighted_rows() {
    for case in cases() {
        let w: Vec<f64> = (0..case.d).map(|j| 0.5 - j as f64 / 17.0).collect();
        let score =
            |i: usize| 0.25 + (0..case.d).map(|j| (case.x[(i, j)] - case.shift[j]) * w[j]).sum::<f64>();
        for every in [1, 2] {
            let taken: Vec<usize> = (0..case.n).filter(|i| (i / 64).is_multiple_of(every)).collect();
            let rows = Matrix::from_fn(taken.len(), case.d + 2, |k, j| {
                let (i, s) = (taken[k], score(taken[k]));
                let value = match j {
                    j if j < case.d => case.x[(i, j)] - case.shift[j],
                    j if j == case.d => s - 1.0,
                    _ => 1.0,
                };
                value / (1.0 + s * s)
            });
            let expected = plain_gram(&rows);
            let total: f64 = taken.iter().map(|&i| score(i)).sum();
            each_layout(&case.x, |layout, x| {
                let problem = Reweighted { x, shift: &case.shift[..case.d], w: &w, offset: 0.25, every };
                for isa in Isa::available() {
                    let (found, said) =
                        reweighted_gram_on(isa, &problem, &reweigh, &|a, b| (a.0 + b.0, a.1 + b.1));
                    let name = format!("{} × {}, {layout}, {isa}, every {every}", case.n, case.d);
                    let (count, sum) = said.unwrap_or((0, 0.0));
                    assert!(
                        count == taken.len() && (sum - total).abs() <= 1e-12 * (1.0 + total.abs()),
                        "{name}: {sum} {total}"
                    );
                    for (f, e) in found.as_slice().iter().zip(expected.as_slice()) {
                        assert!((f - e).abs() <= 1e-10 * (1.0 + case.n as f64), "{name}: {f} {e}");
                    }
                }
            });
        }
    }
}

#[test]
fn quotients_of_twofold_numbers_multiply_back() {
    let (a, b) = (Twofold::new(1.0 / 3.0, 1e-18), Twofold::new(-7.1, 3e-17));
    let back = a / b * b - a;
    assert!(back.high.abs() < 1e-31, "{back:?}");
    let square = a * a - Twofold::product(1.0 / 3.0, 1.0 / 3.0);
    assert!((square.high - 2e-18 / 3.0).abs() < 1e-31, "{square:?}");
}

#[test]
fn merged_triangles_have_all_rows() {
    let all = case(97, 6, 1);
    let part = |rows: std::ops::Range<usize>| {
        let x = Matrix::from_fn(rows.len(), 6, |i, j| all.x[(rows.start + i, j)]);
        let y = Matrix::from_fn(rows.len(), 1, |i, j| all.y[(rows.start + i, j)]);
        super::triangle(&Tall { x: &x.view(), y: &y.view(), weights: None, shift: &all.shift })
    };
    let mut merged = part(0..40);
    merged.merge(&part(40..97));
    let whole = part(0..97);
    for (a, b) in merged.as_slice().iter().zip(whole.as_slice()) {
        assert!((a.abs() - b.abs()).abs() <= 1e-13, "{a} {b}");
    }
}
