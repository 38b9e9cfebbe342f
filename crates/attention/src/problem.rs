//! An attention problem: q, k, v and what is asked of them, checked once.

use crate::mask::{Visibility, resolve_alignment};
use crate::sequence::{Pages, Sequence};
use crate::share::Team;
use crate::{Alignment, AttentionError, Blocks, Causal, Window};
use spanwise_kernels::attention::Dropping;
use spanwise_kernels::{Element, Shape, View};
use std::sync::atomic::{AtomicBool, Ordering};

/// The sizes of a problem, in the letters used everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Batch.
    pub b: usize,
    /// Query heads.
    pub h: usize,
    /// Key/value heads; `h` is a multiple of it.
    pub g: usize,
    /// Queries.
    pub n: usize,
    /// Keys.
    pub m: usize,
    /// Key width.
    pub d: usize,
    /// Value width.
    pub e: usize,
}

impl Sizes {
    /// The key/value head that query head `h` uses.
    ///
    /// The fields are public, so sizes need not come from a [`Problem`]: where no query head falls to each key/value
    /// head (either is 0, or `self.h < self.g`), the answer is 0.
    pub fn group(&self, h: usize) -> usize {
        let heads_per_group = self.h.checked_div(self.g).unwrap_or(0);
        h.checked_div(heads_per_group).unwrap_or(0)
    }
}

/// What may be asked of attention beyond `softmax(q·K/√D)·V`. The default asks nothing.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a, T> {
    /// Scores are `scale · q·k`; `1/√D` unless given.
    pub scale: Option<f64>,
    /// Scores become `c·tanh(s/c)`.
    pub softcap: Option<f64>,
    /// Added to the scores; broadcasts to `(B, H, N, M)`; `-inf` hides a key.
    pub bias: Option<View<'a, T>>,
    /// One slope per query head: `−slope·|place − j|` is added to the scores, where a query's place follows the
    /// diagonal of causal or window and the bottom-right one without either.
    pub alibi: Option<&'a [f64]>,
    /// `true` keeps; broadcasts to `(B, H, N, M)`.
    pub mask: Option<View<'a, bool>>,
    /// No query sees a key beyond its own place.
    pub causal: Option<Causal>,
    /// A query sees only keys near its own place.
    pub window: Option<Window>,
    /// A coarse boolean mask.
    pub blocks: Option<Blocks<'a>>,
    /// How many keys each batch entry has; the rest is padding.
    pub lengths: Option<&'a [usize]>,
    /// One logit per query head that takes part in the softmax's denominator and has no value.
    pub sinks: Option<&'a [f64]>,
    /// Some weights are left out of the weighted sum, the others are scaled up.
    pub dropout: Option<Dropout>,
    /// Once this is true, work that has not begun is left out, and what comes back is of no use: for callers whose user
    /// has lost interest. It is looked at between pieces of work, each a small part of a second.
    pub stop: Option<&'a AtomicBool>,
}

/// Dropout of weights, after the softmax.
///
/// Whether a weight is dropped depends on the seed and on its batch entry, head, query and key alone: not on threads, tiles
/// or instructions, and the backward pass finds the same ones. Kept weights are multiplied by `1/(1 − probability)`. All
/// statistics, the log-sum-exp among them, describe the weights before dropout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// How likely a weight is dropped: at least 0, below 1.
    pub probability: f64,
    /// Another seed drops other weights.
    pub seed: u64,
}

impl<T> Default for Options<'_, T> {
    fn default() -> Self {
        Options {
            scale: None,
            softcap: None,
            bias: None,
            alibi: None,
            mask: None,
            causal: None,
            window: None,
            blocks: None,
            lengths: None,
            sinks: None,
            dropout: None,
            stop: None,
        }
    }
}

/// q, k, v and options that fit together. Evaluating a problem cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a, T> {
    pub(crate) sizes: Sizes,
    /// `(B, H, N, D)`.
    pub(crate) q: View<'a, T>,
    /// `(B, G, M, D)`.
    pub(crate) k: Sequence<'a, T>,
    /// `(B, G, M, E)`.
    pub(crate) v: Sequence<'a, T>,
    pub(crate) scale: f64,
    pub(crate) softcap: Option<f64>,
    /// `(B, H, N, M)`.
    pub(crate) bias: Option<View<'a, T>>,
    /// `(H,)` and the offset of a query's place.
    pub(crate) alibi: Option<(&'a [f64], i64)>,
    pub(crate) visibility: Visibility<'a>,
    /// `(H,)`.
    pub(crate) sinks: Option<&'a [f64]>,
    /// With a probability above 0.
    dropout: Option<Dropout>,
    /// Which sequence of a packed batch this is; 0 otherwise.
    pub(crate) first_batch: usize,
    /// The largest rank among q, k and v.
    rank: usize,
    /// As they were given.
    options: Options<'a, T>,
    /// Whose threads evaluate it; the global pool's where there is nobody.
    pub(crate) team: Option<&'a dyn Team>,
}

impl<'a, T: Element> Problem<'a, T> {
    /// Checks that everything fits. q is `(…, N, D)`, k `(…, M, D)`, v `(…, M, E)`; leading dimensions are batch
    /// and head, missing ones are 1, and batches of 1 broadcast.
    pub fn new(
        q: View<'a, T>,
        k: View<'a, T>,
        v: View<'a, T>,
        options: Options<'a, T>,
    ) -> Result<Self, AttentionError> {
        Problem::over(q, Sequence::Whole(k), Sequence::Whole(v), &options)
    }

    /// [`Problem::new`], wherever keys and values lie.
    pub(crate) fn over(
        q: View<'a, T>,
        k: Sequence<'a, T>,
        v: Sequence<'a, T>,
        options: &Options<'a, T>,
    ) -> Result<Self, AttentionError> {
        let shapes = [q.shape(), k.shape(), v.shape()];
        for (argument, found) in ["q", "k", "v"].into_iter().zip(shapes) {
            if found.rank() < 2 {
                return Err(AttentionError::Rank { argument, found });
            }
        }
        let rank = shapes.iter().map(Shape::rank).max().unwrap_or(4);
        let sizes = fit_sizes(shapes)?;
        let Sizes { b, h, g, n, m, d, e } = sizes;
        // The sizes fit, so these broadcasts only repeat batches and heads of 1.
        let broadcast = |argument, view: View<'a, T>, dims: [usize; 4], letters| {
            broadcast_to(argument, view, &dims, letters)
        };
        let repeated = |argument, of: Sequence<'a, T>, dims: [usize; 4], letters| match of {
            Sequence::Whole(view) => broadcast(argument, view, dims, letters).map(Sequence::Whole),
            // A cache has the heads it has; only its batch may have to be repeated.
            Sequence::Pages(pages) => {
                let batch_step = if pages.shape.dims()[0] == 1 { 0 } else { pages.batch_step };
                let shape = Shape::new(&dims).unwrap_or(pages.shape);
                Ok(Sequence::Pages(Pages { shape, batch_step, ..pages }))
            }
        };
        let scores = [b, h, n, m];
        let alignment = resolve_alignment(options.causal, options.window, &sizes)?;
        Ok(Problem {
            sizes,
            q: broadcast("q", q, [b, h, n, d], "B, H, N, D")?,
            k: repeated("k", k, [b, g, m, d], "B, G, M, D")?,
            v: repeated("v", v, [b, g, m, e], "B, G, M, E")?,
            scale: check_scale(options.scale, d)?,
            softcap: check_softcap(options.softcap)?,
            bias: options.bias.map(|bias| broadcast("bias", bias, scores, "B, H, N, M")).transpose()?,
            alibi: check_alibi(options, alignment, &sizes)?,
            visibility: resolve_visibility(options, alignment, &sizes)?,
            sinks: check_count("sinks", options.sinks, h, "query head")?,
            dropout: check_dropout(options.dropout)?,
            first_batch: 0,
            rank,
            options: *options,
            team: None,
        })
    }

    /// The same problem, evaluated by the threads of `team` as far as its parts are shared out. Results have the same bits.
    #[must_use]
    pub fn on(&self, team: &'a dyn Team) -> Self {
        Problem { team: Some(team), ..*self }
    }

    /// What was asked beyond plain attention, as it was given: lists have the lengths that the sizes say, masks and
    /// biases are not yet broadcast.
    pub fn options(&self) -> &Options<'a, T> {
        &self.options
    }

    /// The keys that causal, window and lengths leave to a query of a batch entry, whichever head; masks, blocks and biases may take
    /// single keys out of them.
    pub fn range(&self, batch: usize, query: usize) -> std::ops::Range<usize> {
        self.visibility.range(self.sizes.m, batch, query)
    }

    /// B, H, G, N, M, D and E.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The bias's own dimensions, with leading ones; an axis of length 1 repeats.
    pub(crate) fn bias_dims(&self) -> Option<[usize; 4]> {
        self.options.bias.map(|bias| {
            let mut dims = [1; 4];
            dims[4 - bias.rank()..].copy_from_slice(bias.dims());
            dims
        })
    }

    /// Whether somebody has asked for the work to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The dropout of one head of one batch entry.
    pub(crate) fn dropping(&self, batch: usize, head: usize) -> Option<Dropping> {
        self.dropout
            .map(|dropout| Dropping::new(dropout.probability, dropout.seed, self.first_batch + batch, head))
    }

    /// The factor on `q·k`.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The output's dimensions: `(B, H, N, E)` without the leading ones that no argument had.
    pub fn output_dims(&self) -> Vec<usize> {
        let Sizes { b, h, n, e, .. } = self.sizes;
        [b, h, n, e][4 - self.rank..].to_vec()
    }

    /// The weights' dimensions: `(B, H, N, M)` without the leading ones that no argument had.
    pub fn weights_dims(&self) -> Vec<usize> {
        let Sizes { b, h, n, m, .. } = self.sizes;
        [b, h, n, m][4 - self.rank..].to_vec()
    }
}

/// The sizes of q, k and v, if they fit each other.
fn fit_sizes([q, k, v]: [Shape; 3]) -> Result<Sizes, AttentionError> {
    let four = |shape: Shape| {
        let mut dims = [1; 4];
        dims[4 - shape.rank()..].copy_from_slice(shape.dims());
        dims
    };
    let ([qb, h, n, d], [kb, kg, m, k_width], [vb, vg, v_rows, e]) = (four(q), four(k), four(v));
    if k_width != d {
        return Err(AttentionError::KeyWidth { q_width: d, k_width, k });
    }
    if d == 0 {
        return Err(AttentionError::NoWidth);
    }
    if v_rows != m {
        return Err(AttentionError::ValueRows { k_rows: m, v_rows, v });
    }
    let g = repeat(kg, vg).ok_or(AttentionError::ValueHeads { k_heads: kg, v_heads: vg })?;
    // No head at all is fine, if nobody has one.
    let grouped = if g == 0 { h == 0 } else { h % g == 0 };
    if !grouped {
        return Err(AttentionError::Heads { q_heads: h, k_heads: g });
    }
    let b = repeat(qb, kb).ok_or(AttentionError::Batch { argument: "k", found: kb, expected: qb })?;
    let b = repeat(b, vb).ok_or(AttentionError::Batch { argument: "v", found: vb, expected: b })?;
    Ok(Sizes { b, h, g, n, m, d, e })
}

/// The common length of two axes, where equal ones stay and 1 repeats.
fn repeat(x: usize, y: usize) -> Option<usize> {
    match (x, y) {
        _ if x == y => Some(x),
        (1, other) | (other, 1) => Some(other),
        _ => None,
    }
}

fn broadcast_to<'a, U: Copy>(
    argument: &'static str,
    view: View<'a, U>,
    dims: &[usize],
    letters: &'static str,
) -> Result<View<'a, U>, AttentionError> {
    view.broadcast_to(dims).map_err(|_| AttentionError::Broadcast {
        argument,
        found: view.shape(),
        // The dimensions come from views that exist, or are counts of their blocks, so they always form a shape
        // unless N·M overflows; then the mask's own shape is the better thing to show.
        expected: Shape::new(dims).unwrap_or(view.shape()),
        letters,
    })
}

fn check_scale(scale: Option<f64>, d: usize) -> Result<f64, AttentionError> {
    match scale {
        Some(found) if !found.is_finite() => {
            Err(AttentionError::Number { argument: "scale", found, expected: "a finite number" })
        }
        Some(scale) => Ok(scale),
        None => Ok(1.0 / (d as f64).sqrt()),
    }
}

fn check_softcap(softcap: Option<f64>) -> Result<Option<f64>, AttentionError> {
    match softcap {
        Some(found) if !(found.is_finite() && found > 0.0) => {
            Err(AttentionError::Number { argument: "softcap", found, expected: "a finite number above 0" })
        }
        other => Ok(other),
    }
}

fn check_dropout(dropout: Option<Dropout>) -> Result<Option<Dropout>, AttentionError> {
    match dropout {
        Some(Dropout { probability: found, .. }) if !(0.0..1.0).contains(&found) => {
            Err(AttentionError::Number { argument: "dropout", found, expected: "a number from 0 to below 1" })
        }
        Some(Dropout { probability: 0.0, .. }) => Ok(None),
        other => Ok(other),
    }
}

fn check_count<'a, U>(
    argument: &'static str,
    list: Option<&'a [U]>,
    expected: usize,
    per: &'static str,
) -> Result<Option<&'a [U]>, AttentionError> {
    match list {
        Some(list) if list.len() != expected => {
            Err(AttentionError::Count { argument, found: list.len(), expected, per })
        }
        other => Ok(other),
    }
}

fn check_alibi<'a, T>(
    options: &Options<'a, T>,
    alignment: Alignment,
    sizes: &Sizes,
) -> Result<Option<(&'a [f64], i64)>, AttentionError> {
    let slopes = check_count("alibi", options.alibi, sizes.h, "query head")?;
    let follows_diagonal = options.causal.is_some() || options.window.is_some();
    let alignment = if follows_diagonal { alignment } else { Alignment::BottomRight };
    Ok(slopes.map(|slopes| (slopes, alignment.offset(sizes.n, sizes.m))))
}

fn resolve_visibility<'a, T>(
    options: &Options<'a, T>,
    alignment: Alignment,
    sizes: &Sizes,
) -> Result<Visibility<'a>, AttentionError> {
    let Sizes { b, h, n, m, .. } = *sizes;
    let mask =
        options.mask.map(|mask| broadcast_to("mask", mask, &[b, h, n, m], "B, H, N, M")).transpose()?;
    let blocks = options.blocks.map(|blocks| resolve_blocks(blocks, sizes)).transpose()?;
    let lengths = check_count("lengths", options.lengths, b, "batch entry")?;
    if let Some((batch, &found)) = lengths.into_iter().flatten().enumerate().find(|&(_, &l)| l > m) {
        return Err(AttentionError::Length { batch, found, keys: m });
    }
    // A window wider than any array is no limit; saturating keeps place − left from wrapping.
    let limit = |reach: usize| reach.min(1 << 62) as i64;
    let left = options.window.and_then(|w| w.left).map(limit);
    let right = options.window.and_then(|w| w.right).map(limit);
    let right = if options.causal.is_some() { Some(0) } else { right };
    Ok(Visibility { mask, blocks, lengths, left, right, offset: alignment.offset(n, m) })
}

fn resolve_blocks<'a>(blocks: Blocks<'a>, sizes: &Sizes) -> Result<Blocks<'a>, AttentionError> {
    if blocks.rows == 0 || blocks.cols == 0 {
        return Err(AttentionError::BlockSize { rows: blocks.rows, cols: blocks.cols });
    }
    let dims = [sizes.b, sizes.h, sizes.n.div_ceil(blocks.rows), sizes.m.div_ceil(blocks.cols)];
    let keep = broadcast_to("blocks", blocks.keep, &dims, "B, H, ⌈N/rows⌉, ⌈M/cols⌉")?;
    Ok(Blocks { keep, ..blocks })
}
