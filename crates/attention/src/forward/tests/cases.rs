//! The table: shapes around every edge, and every option.

use crate::{Alignment, Blocks, Causal, Dropout, Options, Problem, Window};
use spanwise_kernels::{Element, View};

/// What is asked of a case beyond plain attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ask {
    Plain,
    Scale(f64),
    SoftCap(f64),
    /// With its dimensions, each the problem's or 1.
    Bias([bool; 4]),
    Mask([bool; 4]),
    Blocks(usize, usize),
    Alibi,
    Causal(Alignment),
    /// With a bias.
    BiasedCausal(Alignment),
    BiasedWindow(usize, usize),
    Window(Option<usize>, Option<usize>),
    Lengths,
    Sinks(f64),
    Dropout(f64),
    Everything,
}

pub(crate) const ASKS: &[Ask] = &[
    Ask::Plain,
    Ask::Scale(0.37),
    Ask::SoftCap(1.5),
    Ask::SoftCap(50.0),
    Ask::Bias([true; 4]),
    Ask::Bias([false, true, false, true]),
    Ask::Bias([true, false, true, false]),
    Ask::Mask([true; 4]),
    Ask::Mask([false, false, true, true]),
    Ask::Mask([true, false, false, true]),
    Ask::Blocks(5, 64),
    Ask::Blocks(64, 300),
    Ask::Alibi,
    Ask::Causal(Alignment::TopLeft),
    Ask::Causal(Alignment::BottomRight),
    Ask::Window(Some(3), Some(5)),
    Ask::Window(Some(40), Some(0)),
    Ask::Window(None, Some(2)),
    Ask::Lengths,
    Ask::Sinks(1.25),
    Ask::Sinks(-300.0),
    Ask::Dropout(0.2),
    Ask::Dropout(0.9),
    Ask::Everything,
    Ask::BiasedCausal(Alignment::BottomRight),
    Ask::BiasedWindow(3, 5),
];

/// How q, k and v lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lie {
    /// `(B, H, N, D)` without gaps.
    Rows,
    /// `(B, N, H, D)`.
    HeadsInside,
    /// `(B, H, D, N)`.
    Columns,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) b: usize,
    pub(crate) h: usize,
    pub(crate) g: usize,
    pub(crate) n: usize,
    pub(crate) m: usize,
    pub(crate) d: usize,
    pub(crate) e: usize,
    pub(crate) ask: Ask,
    pub(crate) lie: Lie,
    /// Scores are about so large.
    pub(crate) amplitude: f64,
}

impl Case {
    pub(crate) const fn new([b, h, g, n, m, d, e]: [usize; 7], ask: Ask) -> Case {
        Case { b, h, g, n, m, d, e, ask, lie: Lie::Rows, amplitude: 1.0 }
    }
}

/// Lengths around the lanes (4, 8, 16), the register tiles (12, 24, 32), the blocks (64, 72) and the tiles (256).
pub(crate) const SHAPES: &[[usize; 7]] = &[
    [1, 1, 1, 1, 1, 1, 1],
    [2, 2, 1, 3, 2, 3, 5],
    [1, 1, 1, 7, 8, 8, 8],
    [1, 2, 2, 8, 7, 5, 16],
    [1, 1, 1, 9, 15, 16, 17],
    [1, 4, 2, 5, 17, 4, 31],
    [1, 1, 1, 16, 16, 24, 32],
    [2, 1, 1, 23, 33, 20, 33],
    [1, 1, 1, 24, 255, 8, 24],
    [1, 1, 1, 25, 256, 7, 40],
    [1, 1, 1, 31, 257, 12, 9],
    [1, 2, 1, 64, 63, 33, 64],
    [1, 1, 1, 65, 300, 16, 48],
    [1, 1, 1, 72, 511, 9, 12],
    [1, 1, 1, 73, 513, 11, 4],
    [1, 3, 1, 50, 129, 10, 3],
    [1, 1, 1, 145, 40, 64, 80],
    [1, 1, 1, 2, 700, 32, 32],
    [1, 6, 2, 1, 600, 40, 40],
    [1, 1, 1, 3, 200, 72, 152],
];

/// Numbers that repeat nothing for a long while, between −1 and 1.
pub(crate) fn numbers<T: Element>(seed: u64, count: usize, amplitude: f64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::from_f64(((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * amplitude)
    };
    (0..count).map(next).collect()
}

/// A case's numbers, owned.
pub(crate) struct Data<T> {
    pub(crate) case: Case,
    pub(crate) q: Vec<T>,
    pub(crate) k: Vec<T>,
    pub(crate) v: Vec<T>,
    pub(crate) bias: Vec<T>,
    pub(crate) mask: Vec<bool>,
    keep: Vec<bool>,
    slopes: Vec<f64>,
    pub(crate) sinks: Vec<f64>,
    lengths: Vec<usize>,
}

impl<T: Element> Data<T> {
    pub(crate) fn new(case: &Case) -> Self {
        let &Case { b, h, g, n, m, d, e, amplitude, .. } = case;
        // Products of two such numbers add up to about `amplitude·√D`, which the scale turns into the amplitude.
        let wide = (3.0 * amplitude).sqrt();
        let mut bias = numbers::<T>(4, b * h * n * m, 2.0);
        bias.iter_mut().step_by(7).for_each(|x| *x = T::from_f64(f64::NEG_INFINITY));
        let coin = |seed, count| numbers::<f64>(seed, count, 1.0).iter().map(|&x| x > -0.4).collect();
        Data {
            case: *case,
            q: numbers(1, b * h * n * d, wide),
            k: numbers(2, b * g * m * d, wide),
            v: numbers(3, b * g * m * e, 1.0),
            bias,
            mask: coin(5, b * h * n * m),
            keep: coin(6, b * h * n * m),
            slopes: (0..h).map(|h| 0.5 / (h + 1) as f64).collect(),
            sinks: (0..h).map(|h| h as f64 * 0.5).collect(),
            lengths: (0..b).map(|b| if b == 0 { m - m / 3 } else { m / 2 }).collect(),
        }
    }

    fn view<'a>(&self, data: &'a [T], [b, h, n, d]: [usize; 4]) -> View<'a, T> {
        match self.case.lie {
            Lie::Rows => View::new(data, &[b, h, n, d]).unwrap(),
            Lie::HeadsInside => View::new(data, &[b, n, h, d]).unwrap().permuted(&[0, 2, 1, 3]).unwrap(),
            Lie::Columns => View::new(data, &[b, h, d, n]).unwrap().transposed(),
        }
    }

    pub(crate) fn options(&self) -> Options<'_, T> {
        let Case { b, h, n, m, ask, .. } = self.case;
        let none = Options::default();
        let dims = |own: [bool; 4]| {
            let full = [b, h, n, m];
            [0, 1, 2, 3].map(|axis| if own[axis] { full[axis] } else { 1 })
        };
        let bias = |own| {
            let dims = dims(own);
            View::new(&self.bias[..dims.iter().product()], &dims).unwrap()
        };
        let mask = |own| {
            let dims = dims(own);
            View::new(&self.mask[..dims.iter().product()], &dims).unwrap()
        };
        let blocks = |rows, cols| {
            let dims = [n.div_ceil(rows), m.div_ceil(cols)];
            Blocks { rows, cols, keep: View::new(&self.keep[..dims[0] * dims[1]], &dims).unwrap() }
        };
        let aligned = Some(Alignment::BottomRight);
        match ask {
            Ask::Plain => none,
            Ask::Scale(scale) => Options { scale: Some(scale), ..none },
            Ask::SoftCap(cap) => Options { softcap: Some(cap), ..none },
            Ask::Bias(own) => Options { bias: Some(bias(own)), ..none },
            Ask::Mask(own) => Options { mask: Some(mask(own)), ..none },
            Ask::Blocks(rows, cols) => Options { blocks: Some(blocks(rows, cols)), ..none },
            Ask::Alibi => Options { alibi: Some(&self.slopes), ..none },
            Ask::Causal(alignment) => Options { causal: Some(Causal::Aligned(alignment)), ..none },
            Ask::BiasedCausal(alignment) => Options {
                bias: Some(bias([false, true, true, true])),
                causal: Some(Causal::Aligned(alignment)),
                ..none
            },
            Ask::BiasedWindow(left, right) => Options {
                bias: Some(bias([false, false, true, true])),
                window: Some(Window { left: Some(left), right: Some(right), alignment: aligned }),
                ..none
            },
            Ask::Window(left, right) => {
                Options { window: Some(Window { left, right, alignment: aligned }), ..none }
            }
            Ask::Lengths => Options { lengths: Some(&self.lengths), ..none },
            Ask::Dropout(probability) => Options { dropout: Some(Dropout { probability, seed: 11 }), ..none },
            Ask::Sinks(_) => Options { sinks: Some(&self.sinks), ..none },
            Ask::Everything => Options {
                scale: Some(0.2),
                softcap: Some(3.0),
                bias: Some(bias([false, false, true, true])),
                alibi: Some(&self.slopes),
                mask: Some(mask([false, false, true, true])),
                causal: Some(Causal::Aligned(Alignment::BottomRight)),
                window: Some(Window { left: Some(200), right: None, alignment: None }),
                blocks: Some(blocks(7, 33)),
                lengths: Some(&self.lengths),
                sinks: Some(&self.sinks),
                dropout: Some(Dropout { probability: 0.1, seed: 5 }),
                stop: None,
            },
        }
    }

    pub(crate) fn problem(&self) -> Problem<'_, T> {
        self.with(&self.options())
    }

    pub(crate) fn with<'a>(&'a self, options: &Options<'a, T>) -> Problem<'a, T> {
        let Case { b, h, g, n, m, d, e, .. } = self.case;
        Problem::new(
            self.view(&self.q, [b, h, n, d]),
            self.view(&self.k, [b, g, m, d]),
            self.view(&self.v, [b, g, m, e]),
            *options,
        )
        .unwrap()
    }
}
