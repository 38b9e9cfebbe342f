//! Which keys each row sees, and how many.
//!
//! Causal masks, windows and lengths leave a row one range of keys; masks, blocks and biases take single keys out of it.
//!
//! ```text
//! for each batch entry b, head h                     heads that share every matrix are counted once
//!     for each query i
//!         low..high  = causal ∧ window ∧ lengths
//!         seen       = keys of low..high that mask, blocks and bias keep
//! ```
//!
//! Matrices that are the same for every query (padding) are added up once, so that a row costs two look-ups.

use spanwise_attention::{Blocks, Problem, Sizes};
use spanwise_kernels::{Element, View};

/// What a bias at least has to be to count as one; at or below it a key counts as hidden.
///
/// Masks that are added to scores hold −∞, the lowest number of their type, or a number such as −10⁴ (f16 knows none below −65504).
/// To the engine only −∞ hides: a finite bias, however low, takes part in the softmax. Beside scores of ordinary size such
/// a key weighs `exp(−10⁴)`, which is 0 in every type; so that is what is counted here. Where *all* keys of a row have such a bias the
/// engine spreads the row's weight over them, and the row still counts as one that sees nothing: it is a row of padding.
const HIDDEN: f64 = -1e4;

/// `B × H × N`: how many keys each row sees.
pub(in crate::explain) fn seen<T: Element>(problem: &Problem<'_, T>) -> Vec<usize> {
    let Sizes { b, h, n, m, .. } = problem.sizes();
    let matrices = Matrices::new(problem);
    let mut counts: Vec<usize> = Vec::with_capacity(b * h * n);
    let mut kept = vec![true; m];
    for batch in 0..b {
        for head in 0..h {
            if head > 0 && matrices.same_for_heads() {
                let start = counts.len() - n;
                counts.extend_from_within(start..);
                continue;
            }
            if matrices.same_for_queries() {
                matrices.fill([batch, head, 0], &mut kept);
                let before = sums(&kept);
                counts.extend((0..n).map(|i| {
                    let range = problem.range(batch, i);
                    before[range.end] - before[range.start]
                }));
                continue;
            }
            for i in 0..n {
                matrices.fill([batch, head, i], &mut kept);
                counts.push(kept[problem.range(batch, i)].iter().filter(|&&keeps| keeps).count());
            }
        }
    }
    counts
}

/// How many are kept before each place, and in all.
fn sums(kept: &[bool]) -> Vec<usize> {
    let mut before = vec![0];
    before.extend(kept.iter().scan(0, |sum, &keeps| {
        *sum += usize::from(keeps);
        Some(*sum)
    }));
    before
}

/// What takes single keys out, each broadcast to `B × H × N × M` (blocks: to as many blocks).
pub(in crate::explain) struct Matrices<'a, T> {
    mask: Option<View<'a, bool>>,
    blocks: Option<Blocks<'a>>,
    bias: Option<View<'a, T>>,
}

impl<'a, T: Element> Matrices<'a, T> {
    pub(in crate::explain) fn new(problem: &Problem<'a, T>) -> Self {
        let (options, Sizes { b, h, n, m, .. }) = (problem.options(), problem.sizes());
        // The problem was checked, so that everything broadcasts.
        let blocks = options.blocks.and_then(|blocks| {
            let dims = [b, h, n.div_ceil(blocks.rows.max(1)), m.div_ceil(blocks.cols.max(1))];
            Some(Blocks { keep: blocks.keep.broadcast_to(&dims).ok()?, ..blocks })
        });
        let hides = |bias: &View<'a, T>| bias.iter().any(|x| x.to_f64() <= HIDDEN);
        Matrices {
            mask: options.mask.and_then(|mask| mask.broadcast_to(&[b, h, n, m]).ok()),
            blocks,
            bias: options.bias.filter(hides).and_then(|bias| bias.broadcast_to(&[b, h, n, m]).ok()),
        }
    }

    /// The keys a row of the same problem sees.
    pub(in crate::explain) fn keys(&self, problem: &Problem<'_, T>, row: [usize; 3]) -> Vec<usize> {
        let mut kept = vec![true; problem.sizes().m];
        self.fill(row, &mut kept);
        problem.range(row[0], row[2]).filter(|&j| kept[j]).collect()
    }

    /// Whether no matrix has strides along an axis.
    fn repeats(&self, axis: usize) -> bool {
        let still = |strides: &[isize]| strides[axis] == 0;
        self.mask.is_none_or(|view| still(view.strides()))
            && self.blocks.is_none_or(|blocks| still(blocks.keep.strides()))
            && self.bias.is_none_or(|view| still(view.strides()))
    }

    fn same_for_heads(&self) -> bool {
        self.repeats(1)
    }

    fn same_for_queries(&self) -> bool {
        self.repeats(2)
    }

    /// Which of the `M` keys the matrices keep for a row.
    fn fill(&self, [b, h, i]: [usize; 3], kept: &mut [bool]) {
        kept.fill(true);
        if let Some(row) = self.mask.and_then(|mask| mask.at(b)?.at(h)?.at(i)) {
            kept.iter_mut().zip(row.iter()).for_each(|(kept, keeps)| *kept &= keeps);
        }
        if let Some(row) = self.bias.and_then(|bias| bias.at(b)?.at(h)?.at(i)) {
            kept.iter_mut().zip(row.iter()).for_each(|(kept, bias)| *kept &= bias.to_f64() > HIDDEN);
        }
        if let Some(Blocks { rows, cols, keep }) = self.blocks {
            for (j, kept) in kept.iter_mut().enumerate() {
                *kept &= keep.get(&[b, h, i / rows.max(1), j / cols.max(1)]).unwrap_or(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::seen;
    use spanwise_attention::{Alignment, Blocks, Causal, Options, Problem, Window, reference};
    use spanwise_kernels::View;

    const B: usize = 2;
    const H: usize = 2;
    const N: usize = 5;
    const M: usize = 7;

    /// Keys whose weight is above 0, where no weight vanishes by itself.
    fn counted(options: &Options<'_, f64>) {
        let numbers: Vec<f64> = (0..B * H * M * 3).map(|i| (i as f64 * 0.7).sin()).collect();
        let q = View::new(&numbers[..B * H * N * 3], &[B, H, N, 3]).unwrap();
        let k = View::new(&numbers, &[B, H, M, 3]).unwrap();
        let problem = Problem::new(q, k, k, *options).unwrap();
        let weights = reference::steps(&problem).weights;
        let expected: Vec<usize> =
            weights.chunks(M).map(|row| row.iter().filter(|&&weight| weight > 0.0).count()).collect();
        assert_eq!(seen(&problem), expected, "{options:?}");
    }

    #[test]
    fn every_restriction_is_counted_as_the_weights_show_it() {
        let aligned = [Alignment::TopLeft, Alignment::BottomRight];
        let bools: Vec<bool> = (0..B * H * N * M).map(|i| i % 3 != 1).collect();
        let biases: Vec<f64> = bools.iter().map(|&kept| if kept { 0.5 } else { f64::NEG_INFINITY }).collect();
        let shapes: [&[usize]; 7] =
            [&[N, M], &[B, 1, 1, M], &[B, H, N, M], &[H, 1, M], &[M], &[N, 1], &[B, 1, N, 1]];
        for alignment in aligned {
            let causal = Some(Causal::Aligned(alignment));
            let window = |left, right| Some(Window { left, right, alignment: Some(alignment) });
            for lengths in [None, Some(&[3, 7][..])] {
                let plain = Options { lengths, ..Options::default() };
                counted(&Options { causal, ..plain });
                counted(&Options { window: window(Some(2), None), ..plain });
                counted(&Options { window: window(None, Some(1)), causal, ..plain });
                counted(&Options { window: window(Some(1), Some(2)), ..plain });
                for shape in shapes {
                    let size = shape.iter().product();
                    let mask = Some(View::new(&bools[..size], shape).unwrap());
                    let bias = Some(View::new(&biases[..size], shape).unwrap());
                    counted(&Options { mask, causal, ..plain });
                    counted(&Options { mask, bias, window: window(Some(3), Some(3)), ..plain });
                    counted(&Options { bias, ..plain });
                }
                let keep = View::new(&[true, false, true, true, false, true], &[2, 3]).unwrap();
                counted(&Options { blocks: Some(Blocks { rows: 3, cols: 3, keep }), causal, ..plain });
            }
        }
        counted(&Options::default());
    }
}
