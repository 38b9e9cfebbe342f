//! What was seen of one attention layer, added up over calls, batch entries and rows.
//!
//! ```text
//! for each row of a call that is a token, saw a key and is not lost to a NaN        a = its weights, over the keys it sees
//!     entropy  += −Σ a·ln a                                   and the same as a share of ln(keys it sees)
//!     largest  += max a
//! received[first key of the call ..] += mass of the call's keys
//! ```

use super::call::{LayerCall, Seen};
use crate::LessonError;
use crate::explain::SATURATED;
use spanwise_attention::Sizes;
use spanwise_kernels::attention::Storage;

/// Statistics of one layer's weights, without the weights. `H` heads.
///
/// ```
/// use spanwise_attention::Options;
/// use spanwise_kernels::View;
/// use spanwise_lens::explain::{LayerCall, LayerTally};
///
/// let q = View::new(&[40.0f64, 0.0], &[1, 1, 1, 2])?;
/// let k = View::new(&[1.0, 0.0, 0.0, 1.0], &[1, 1, 2, 2])?;
/// let options = Options::default();
/// let call = LayerCall { q, k, v: k, options, team: None, tokens: None, first_key: 0, cells: 8 };
/// let mut tally = LayerTally::new(1);
/// let mut out = [0.0; 2];
/// tally.attend(&call, &mut out)?;
/// let numbers = tally.numbers(0);
/// assert!(numbers.saturated == 1.0 && numbers.top_key == 0 && numbers.entropy < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LayerTally {
    heads: Vec<Sums>,
    /// Keys that anything was received by.
    keys: usize,
    /// `H × keys`.
    received: Vec<f64>,
    empty_rows: u64,
    padding_rows: u64,
    lost_rows: u64,
    /// Whether a call had sinks: without them, mass that is missing is rounding.
    has_sinks: bool,
    map: Option<LayerMap>,
}

/// Sums over the rows of one head.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    rows: u64,
    entropy: f64,
    /// Entropy as a share of what the row could have, over rows that see several keys.
    shares: f64,
    several: u64,
    largest: f64,
    saturated: u64,
}

/// Numbers about one head of a layer. Means are over rows: queries that are tokens and see a key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeadNumbers {
    /// Rows, over batch entries and calls.
    pub rows: u64,
    /// Mean entropy, in nats.
    pub entropy: f64,
    /// Mean entropy as a share of what the keys a row sees could have; 1 is uniform.
    pub entropy_share: f64,
    /// Mean largest weight.
    pub largest: f64,
    /// Rows of several keys with a weight above 0.9, as a share.
    pub saturated: f64,
    /// The key that receives most.
    pub top_key: usize,
    /// Its share of all mass.
    pub top_share: f64,
    /// Mass that went to a sink logit, as a share.
    pub sink_mass: f64,
}

/// Pooled weights of a layer, in its call with the most weights.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerMap {
    /// `B`.
    pub batch: usize,
    /// `N`.
    pub queries: usize,
    /// `M`.
    pub keys: usize,
    /// Cells along the queries.
    pub rows: usize,
    /// Cells along the keys.
    pub cols: usize,
    heads: usize,
    /// `B × H × rows × cols`.
    mean: Vec<f32>,
    max: Vec<f32>,
}

impl LayerMap {
    fn new(seen: Seen) -> Option<Self> {
        let Sizes { b, h, n, m, .. } = seen.sizes;
        let map = seen.statistics.map?;
        let short = |numbers: Vec<f64>| numbers.into_iter().map(|x| x as f32).collect();
        Some(LayerMap {
            batch: b,
            queries: n,
            keys: m,
            rows: map.rows,
            cols: map.cols,
            heads: h,
            mean: short(map.mean),
            max: short(map.max),
        })
    }

    /// Mean and largest weights of a head's cells, `rows × cols` each: of one batch entry, or over all of them. `None`
    /// where there is no such head or entry.
    ///
    /// An entry in which a row of the cell is lost to a NaN is left out of it; a cell without any other is NaN.
    pub fn of(&self, head: usize, batch: Option<usize>) -> Option<(Vec<f64>, Vec<f64>)> {
        let entries = batch.map_or(0..self.batch, |entry| entry..entry + 1);
        if head >= self.heads || entries.is_empty() || entries.end > self.batch {
            return None;
        }
        let cells = self.rows * self.cols;
        let (mut mean, mut max, mut counts) = (vec![0.0; cells], vec![0.0; cells], vec![0_usize; cells]);
        for entry in entries {
            let start = (entry * self.heads + head) * cells;
            let own = self.mean[start..start + cells].iter().zip(&self.max[start..start + cells]);
            for (cell, (&weight, &largest)) in own.enumerate().filter(|(_, (weight, _))| !weight.is_nan()) {
                mean[cell] += f64::from(weight);
                max[cell] = f64::max(max[cell], f64::from(largest));
                counts[cell] += 1;
            }
        }
        for (cell, &count) in counts.iter().enumerate() {
            if count == 0 {
                (mean[cell], max[cell]) = (f64::NAN, f64::NAN);
            } else {
                mean[cell] /= count as f64;
            }
        }
        Some((mean, max))
    }

    /// Whether a cell of the head is NaN in some batch entry: a row of it is lost.
    pub fn is_partly_lost(&self, head: usize) -> bool {
        let cells = self.rows * self.cols;
        let parts = self.mean.chunks(cells.max(1)).skip(head).step_by(self.heads.max(1));
        head < self.heads && parts.flatten().any(|weight| weight.is_nan())
    }
}

impl LayerTally {
    /// Of a layer with so many query heads; nothing was seen yet.
    pub fn new(heads: usize) -> Self {
        LayerTally { heads: vec![Sums::default(); heads], ..LayerTally::default() }
    }

    /// Computes a call, its output into `out` `(B, H, N, E)`, and adds its statistics. Of work that was stopped nothing is
    /// added.
    pub fn attend<T: Storage>(&mut self, call: &LayerCall<'_, T>, out: &mut [T]) -> Result<(), LessonError> {
        let Some(seen) = call.run(out)? else { return Ok(()) };
        if seen.sizes.h != self.heads.len() {
            return Err(LessonError::Heads { found: seen.sizes.h, expected: self.heads.len() });
        }
        self.has_sinks |= call.options.sinks.is_some();
        self.add_rows(&seen, call.tokens);
        self.receive(&seen, call.first_key);
        self.keep_map(LayerMap::new(seen));
        Ok(())
    }

    fn add_rows(&mut self, seen: &Seen, tokens: Option<&[bool]>) {
        let Sizes { h, n, .. } = seen.sizes;
        let (Some(entropy), Some(largest)) = (&seen.statistics.entropy, &seen.statistics.largest) else {
            return;
        };
        for (row, ((&entropy, peak), &keys)) in entropy.iter().zip(largest).zip(&seen.keys).enumerate() {
            let (batch, head, query) = (row / (h * n), row / n % h, row % n);
            if tokens.is_some_and(|tokens| !tokens[batch * n + query]) {
                self.padding_rows += 1;
            } else if peak.weight == 0.0 {
                self.empty_rows += 1;
            } else if peak.weight.is_nan() {
                self.lost_rows += 1;
            } else {
                self.heads[head].add(entropy, peak.weight, keys);
            }
        }
    }

    /// Keys of a cache that slides keep their places among all tokens.
    fn receive(&mut self, seen: &Seen, first_key: usize) {
        let Sizes { h, m, .. } = seen.sizes;
        let Some(mass) = &seen.statistics.received else { return };
        self.widen(first_key + m);
        for (i, &mass) in mass.iter().enumerate() {
            self.received[i / m % h * self.keys + first_key + i % m] += mass;
        }
    }

    /// Makes room for so many keys.
    fn widen(&mut self, keys: usize) {
        if keys <= self.keys {
            return;
        }
        let mut wider = vec![0.0; self.heads.len() * keys];
        for head in 0..self.heads.len() {
            wider[head * keys..][..self.keys].copy_from_slice(self.received(head));
        }
        (self.received, self.keys) = (wider, keys);
    }

    /// The map of the call with the most weights; of several the first.
    fn keep_map(&mut self, map: Option<LayerMap>) {
        let weights = |map: &LayerMap| map.queries * map.keys;
        let most = self.map.as_ref().map_or(0, weights);
        if let Some(map) = map.filter(|map| weights(map) > most) {
            self.map = Some(map);
        }
    }

    /// Adds what another tally of the same layer saw.
    pub fn merge(&mut self, other: LayerTally) -> Result<(), LessonError> {
        if other.heads() != self.heads() {
            return Err(LessonError::Heads { found: other.heads(), expected: self.heads() });
        }
        self.heads.iter_mut().zip(&other.heads).for_each(|(sums, more)| sums.merge(more));
        self.widen(other.keys);
        for head in 0..self.heads() {
            let own = &mut self.received[head * self.keys..][..other.keys];
            own.iter_mut().zip(other.received(head)).for_each(|(sum, mass)| *sum += mass);
        }
        self.empty_rows += other.empty_rows;
        self.padding_rows += other.padding_rows;
        self.lost_rows += other.lost_rows;
        self.has_sinks |= other.has_sinks;
        self.keep_map(other.map);
        Ok(())
    }

    /// How many heads there are.
    pub fn heads(&self) -> usize {
        self.heads.len()
    }

    /// How many keys there are: of the longest call, or places among all tokens.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Rows, over heads, batch entries and calls.
    pub fn rows(&self) -> u64 {
        self.heads.iter().map(|head| head.rows).sum()
    }

    /// Rows of tokens that saw no key.
    pub fn empty_rows(&self) -> u64 {
        self.empty_rows
    }

    /// Rows of queries that are padding.
    pub fn padding_rows(&self) -> u64 {
        self.padding_rows
    }

    /// Rows of tokens whose weights are NaN: a NaN or an infinity that the query sees, or scores that overflow.
    pub fn lost_rows(&self) -> u64 {
        self.lost_rows
    }

    /// The pooled weights, after a call with queries and keys.
    pub fn map(&self) -> Option<&LayerMap> {
        self.map.as_ref()
    }

    /// The mass that each key of a head received; nothing where there is no such head.
    pub fn received(&self, head: usize) -> &[f64] {
        self.received.get(head * self.keys..(head + 1) * self.keys).unwrap_or_default()
    }

    /// The numbers of a head; those of a head without rows where there is no such head.
    pub fn numbers(&self, head: usize) -> HeadNumbers {
        let sums = self.heads.get(head).copied().unwrap_or_default();
        let received = self.received(head);
        let mass: f64 = received.iter().sum();
        let top = (0..received.len()).fold(0, |a, b| if received[b] > received[a] { b } else { a });
        let of_rows = |sum: f64| sum / sums.rows.max(1) as f64;
        HeadNumbers {
            rows: sums.rows,
            entropy: of_rows(sums.entropy),
            entropy_share: if sums.several > 0 { sums.shares / sums.several as f64 } else { 1.0 },
            largest: of_rows(sums.largest),
            saturated: of_rows(sums.saturated as f64),
            top_key: top,
            top_share: if mass > 0.0 { received[top] / mass } else { 0.0 },
            sink_mass: if self.has_sinks && sums.rows > 0 { (1.0 - of_rows(mass)).max(0.0) } else { 0.0 },
        }
    }
}

impl Sums {
    fn merge(&mut self, more: &Sums) {
        self.rows += more.rows;
        self.entropy += more.entropy;
        self.shares += more.shares;
        self.several += more.several;
        self.largest += more.largest;
        self.saturated += more.saturated;
    }

    fn add(&mut self, entropy: f64, largest: f64, keys: usize) {
        self.rows += 1;
        self.entropy += entropy;
        self.largest += largest;
        // Keys that a row does not see do not make it less even, and a row with one key has no choice.
        if keys > 1 {
            self.several += 1;
            self.shares += entropy / (keys as f64).ln();
            self.saturated += u64::from(largest > SATURATED);
        }
    }
}
