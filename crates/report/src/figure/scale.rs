//! From numbers to pixels: axes, their ticks, and how ticks are written.

use super::words::short;

/// An axis from `low` at `start` pixels to `high` at `end` pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) start: f64,
    pub(crate) end: f64,
    log: bool,
}

impl Axis {
    /// Equal steps for equal differences. A range without width gets some.
    pub(crate) fn linear((low, high): (f64, f64), (start, end): (f64, f64)) -> Self {
        let (low, high) = if low < high {
            (low, high)
        } else {
            let pad = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
            (low - pad, low + pad)
        };
        Axis { low, high, start, end, log: false }
    }

    /// Equal steps for equal ratios; both ends above 0.
    pub(crate) fn log((low, high): (f64, f64), (start, end): (f64, f64)) -> Self {
        let low = if low > 0.0 { low } else { f64::MIN_POSITIVE };
        let high = if high > low { high } else { low * 10.0 };
        Axis { low, high, start, end, log: true }
    }

    /// Where `value` lies between the ends: 0 at the low one, 1 at the high one.
    pub(crate) fn share(&self, value: f64) -> f64 {
        if self.log {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            // Halves: the difference of two numbers near the largest ones would overflow.
            (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
        }
    }

    /// The pixel of `value`.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.start + (self.end - self.start) * self.share(value)
    }

    /// Round numbers inside the range, about `wanted` of them.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        if self.log { self.decades(wanted) } else { self.steps(wanted) }
    }

    fn steps(&self, wanted: usize) -> Vec<Tick> {
        let span = self.high - self.low;
        if !span.is_finite() || span <= 0.0 {
            return Vec::new();
        }
        let rough = span / wanted.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let count = last - first + 1.0;
        if !(1.0..=40.0).contains(&count) {
            return Vec::new();
        }
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let tick = |k: usize| {
            let value = (first + k as f64) * step;
            let plain = step >= 1e-4 && self.low.abs().max(self.high.abs()) < 1e7;
            let text = if value == 0.0 {
                "0".to_owned()
            } else if plain {
                format!("{value:.decimals$}").replace('-', "−")
            } else {
                short(value)
            };
            Tick { at: self.at(value), text }
        };
        (0..count as usize).map(tick).collect()
    }

    fn decades(&self, wanted: usize) -> Vec<Tick> {
        let (first, last) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
        let every = ((last - first + 1).max(1) as usize).div_ceil(wanted.max(1)) as i32;
        (first..=last)
            .filter(|power| power.rem_euclid(every) == 0)
            .map(|power| {
                let value = 10f64.powi(power);
                Tick { at: self.at(value), text: short(value) }
            })
            .collect()
    }
}

/// A place on an axis with its number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) text: String,
}

/// The ends of those numbers that are finite.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::linear((-0.3, 1.26), (0.0, 100.0));
        let texts: Vec<_> = axis.ticks(5).into_iter().map(|tick| tick.text).collect();
        assert_eq!(texts, ["0.0", "0.5", "1.0"].map(|t| if t == "0.0" { "0" } else { t }));
    }

    #[test]
    fn ranges_without_width_or_beyond_the_largest_number_still_have_places() {
        for range in [(0.0, 0.0), (3.0, 3.0), (-f64::MAX, f64::MAX)] {
            let axis = Axis::linear(range, (0.0, 100.0));
            assert!((0.0..=100.0).contains(&axis.at(range.0)), "{range:?}");
            assert!(axis.ticks(5).len() < 42);
        }
    }

    #[test]
    fn decades_are_thinned() {
        let axis = Axis::log((1e-16, 2.0), (0.0, 100.0));
        assert!(axis.ticks(5).len() <= 5, "{:?}", axis.ticks(5));
        assert_eq!(axis.ticks(5).last().unwrap().text, "1");
    }
}
