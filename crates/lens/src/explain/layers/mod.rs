//! The attention of a whole model, layer by layer, explained from statistics that were collected while it ran.
//!
//! The weights themselves are gone by then: what is said rests on entropy, largest weights, the mass that keys received
//! and pooled maps, one of each per layer and head.

mod call;
mod figures;
mod specimen;
mod tally;
#[cfg(test)]
mod tests;
mod words;

pub use call::LayerCall;
pub(super) use specimen::layers as specimen;
pub use tally::{HeadNumbers, LayerMap, LayerTally};

use super::{Computation, Explanation, Subject, settled};
use crate::LessonError;

/// A layer by its name in the model, and what was seen of it.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// Its name.
    pub name: &'a str,
    /// What was seen.
    pub tally: &'a LayerTally,
}

/// One head of one layer.
#[derive(Clone, Debug)]
struct Head<'a> {
    layer: usize,
    name: &'a str,
    index: usize,
    numbers: HeadNumbers,
    received: &'a [f64],
    /// Mean and largest weights of cells, over batch entries.
    map: Option<(Vec<f64>, Vec<f64>)>,
}

impl<'a> Head<'a> {
    fn new(layer: usize, of: &Layer<'a>, index: usize) -> Self {
        Head {
            layer,
            name: of.name,
            index,
            numbers: of.tally.numbers(index),
            received: of.tally.received(index),
            map: of.tally.map().and_then(|map| map.of(index, None)),
        }
    }

    fn label(&self) -> String {
        format!("layer {}, head {}", self.layer, self.index)
    }

    /// What the key that receives most has, in multiples of an even share of the layer's own keys.
    fn concentration(&self) -> f64 {
        self.numbers.top_share * self.received.len() as f64
    }
}

/// Explains the layers of a model called `source`.
///
/// ```
/// use spanwise_lens::explain::{Layer, LayerTally, explain_layers};
///
/// let tally = LayerTally::new(2);
/// let found = explain_layers("a model", &[Layer { name: "0.attention", tally: &tally }])?;
/// assert!(found.verdict[0].starts_with("2 heads in 1 layer"));
/// # Ok::<(), spanwise_lens::LessonError>(())
/// ```
pub fn explain_layers(source: &str, layers: &[Layer<'_>]) -> Result<Explanation, LessonError> {
    if let Some(layer) = layers.iter().find(|layer| layer.tally.heads() == 0) {
        return Err(LessonError::Headless { name: layer.name.to_owned() });
    }
    let each = layers
        .iter()
        .enumerate()
        .flat_map(|(at, layer)| (0..layer.tally.heads()).map(move |head| Head::new(at, layer, head)));
    let heads: Vec<Head<'_>> = each.collect();
    let figures = figures::figures(layers, &heads);
    let findings = settled(words::findings(layers, &heads), &figures);
    let most = |of: fn(&LayerMap) -> usize| layers.iter().filter_map(|layer| layer.tally.map().map(of)).max();
    Ok(Explanation {
        subject: Subject::Layers {
            source: source.to_owned(),
            layers: layers.len(),
            heads: heads.len(),
            queries: most(|map| map.queries).unwrap_or(0),
            keys: most(|map| map.keys).unwrap_or(0),
            rows: layers.iter().map(|layer| layer.tally.rows()).sum(),
        },
        verdict: words::verdict(&heads, &findings),
        findings,
        figures,
        tables: vec![figures::table(&heads)],
        computation: Computation {
            version: env!("CARGO_PKG_VERSION"),
            settings: words::settings(layers),
            ..Computation::default()
        },
    })
}
