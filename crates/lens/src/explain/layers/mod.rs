//! The attention of a whole model, layer by layer, explained from statistics that were collected while it ran.
//!
//! The weights themselves are gone by then: what is said rests on entropy, largest weights, the mass that keys received
//! and pooled maps, one of each per layer and head.

mod figures;
mod words;

use super::{Computation, Explanation, Subject, settled};
use crate::LessonError;

/// What was seen of one attention layer. `H` heads; rows are queries that saw a key, over batch entries and calls.
#[derive(Clone, Copy, Debug)]
pub struct LayerInput<'a> {
    /// Its name in the model.
    pub name: &'a str,
    /// `N` of the call that the map is of.
    pub queries: usize,
    /// `M` of that call.
    pub keys: usize,
    /// Rows in all.
    pub rows: u64,
    /// Rows that saw no key.
    pub empty_rows: u64,
    /// Mean entropy as a share of what the keys of a row could have, `H`.
    pub entropy: &'a [f64],
    /// Mean largest weight, `H`.
    pub largest: &'a [f64],
    /// Rows with a weight above 0.9, as a share, `H`.
    pub saturated: &'a [f64],
    /// Mass that went to a sink logit, as a share, `H`.
    pub sink_mass: &'a [f64],
    /// Mass that each key received, `H × received_keys`.
    pub received: &'a [f64],
    /// Pooled weights, where there are any.
    pub map: Option<LayerMap<'a>>,
}

/// Pooled weights of a layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerMap<'a> {
    /// Cells along the queries.
    pub rows: usize,
    /// Cells along the keys.
    pub cols: usize,
    /// Mean weights, `H × rows × cols`.
    pub mean: &'a [f64],
    /// Largest weights, `H × rows × cols`.
    pub max: &'a [f64],
}

/// One head of one layer.
#[derive(Clone, Copy, Debug)]
struct Head<'a> {
    layer: usize,
    name: &'a str,
    index: usize,
    entropy: f64,
    largest: f64,
    saturated: f64,
    sink_mass: f64,
    received: &'a [f64],
    top_key: usize,
    top_share: f64,
    /// Mean and largest weights of cells.
    map: Option<(&'a [f64], &'a [f64])>,
}

impl<'a> Head<'a> {
    fn new(layer: usize, of: &LayerInput<'a>, index: usize) -> Self {
        let keys = of.received.len() / of.entropy.len().max(1);
        let received = &of.received[index * keys..(index + 1) * keys];
        let total: f64 = received.iter().sum();
        let top = (0..keys).fold(0, |a, b| if received[b] > received[a] { b } else { a });
        Head {
            layer,
            name: of.name,
            index,
            entropy: of.entropy[index],
            largest: of.largest[index],
            saturated: of.saturated[index],
            sink_mass: of.sink_mass[index],
            received,
            top_key: top,
            top_share: if total > 0.0 { received[top] / total } else { 0.0 },
            map: of.map.map(|map| {
                let cells = map.rows * map.cols;
                let part = index * cells..(index + 1) * cells;
                (&map.mean[part.clone()], &map.max[part])
            }),
        }
    }

    fn label(&self) -> String {
        format!("layer {}, head {}", self.layer, self.index)
    }
}

/// Explains the layers of a model called `source`.
///
/// ```
/// use spanwise_lens::explain::{LayerInput, explain_layers};
///
/// let layer = LayerInput {
///     name: "0.attention",
///     queries: 4,
///     keys: 2,
///     rows: 4,
///     empty_rows: 0,
///     entropy: &[0.1],
///     largest: &[0.97],
///     saturated: &[1.0],
///     sink_mass: &[0.0],
///     received: &[3.9, 0.1],
///     map: None,
/// };
/// let found = explain_layers("a model", &[layer])?;
/// assert_eq!(found.findings[0].name, "narrow-heads");
/// # Ok::<(), spanwise_lens::LessonError>(())
/// ```
pub fn explain_layers(source: &str, layers: &[LayerInput<'_>]) -> Result<Explanation, LessonError> {
    layers.iter().try_for_each(check)?;
    let each = layers
        .iter()
        .enumerate()
        .flat_map(|(at, layer)| (0..layer.entropy.len()).map(move |head| Head::new(at, layer, head)));
    let heads: Vec<Head<'_>> = each.collect();
    let figures = figures::figures(layers, &heads);
    let findings = settled(words::findings(layers, &heads), &figures);
    Ok(Explanation {
        subject: Subject::Layers {
            source: source.to_owned(),
            layers: layers.len(),
            heads: heads.len(),
            queries: layers.iter().map(|layer| layer.queries).max().unwrap_or(0),
            keys: layers.iter().map(|layer| layer.keys).max().unwrap_or(0),
            rows: layers.iter().map(|layer| layer.rows).sum(),
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

/// Numbers for each head, and as many of each as there are heads.
fn check(layer: &LayerInput<'_>) -> Result<(), LessonError> {
    let heads = layer.entropy.len();
    let cells = layer.map.map_or(0, |map| heads * map.rows * map.cols);
    let agree = [layer.largest, layer.saturated, layer.sink_mass].iter().all(|of| of.len() == heads)
        && heads > 0
        && layer.received.len().is_multiple_of(heads)
        && layer.map.is_none_or(|map| map.mean.len() == cells && map.max.len() == cells);
    if agree { Ok(()) } else { Err(LessonError::Layer { name: layer.name.to_owned(), heads }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer<'a>(
        name: &'a str,
        numbers: &'a [f64; 2],
        received: &'a [f64],
        map: &'a [f64],
    ) -> LayerInput<'a> {
        LayerInput {
            name,
            queries: 2,
            keys: 2,
            rows: 8,
            empty_rows: 0,
            entropy: numbers,
            largest: numbers,
            saturated: &[0.0, 0.0],
            sink_mass: &[0.0, 0.0],
            received,
            map: Some(LayerMap { rows: 2, cols: 2, mean: map, max: map }),
        }
    }

    #[test]
    fn a_model_has_a_figure_of_each_kind_and_one_row_per_head() {
        let map = [0.5; 8];
        let layers = [layer("a", &[1.0, 0.5], &[1.0; 4], &map), layer("b", &[0.2, 0.9], &[1.0; 4], &map)];
        let found = explain_layers("model", &layers).unwrap();
        let ids: Vec<&str> = found.figures.iter().map(|figure| figure.id).collect();
        assert_eq!(ids, ["entropy", "heads", "received", "map"]);
        assert_eq!(found.tables[0].rows.len(), 4);
        let names: Vec<&str> = found.findings.iter().map(|finding| finding.name).collect();
        assert!(names.contains(&"similar-heads") && names.contains(&"uniform-heads"), "{names:?}");
        assert!(found.verdict[0].starts_with("4 heads in 2 layers"), "{:?}", found.verdict);
    }

    #[test]
    fn a_key_that_collects_the_mass_is_a_sink() {
        let received: Vec<f64> = (0..60).map(|j| if j % 30 == 0 { 29.0 } else { 1.0 / 29.0 }).collect();
        let found = explain_layers("model", &[layer("a", &[0.3, 0.3], &received, &[0.5; 8])]).unwrap();
        let sink = found.findings.iter().find(|finding| finding.name == "attention-sink").unwrap();
        assert_eq!(sink.evidence[0].value, 0.0);
        assert!(sink.sentence.contains("key 0"), "{}", sink.sentence);
    }

    #[test]
    fn numbers_that_do_not_fit_the_heads_are_refused() {
        let wrong = LayerInput { largest: &[1.0], ..layer("a", &[1.0, 0.5], &[1.0; 4], &[0.5; 8]) };
        let error = explain_layers("model", &[wrong]).unwrap_err();
        assert_eq!(error.to_string(), "lens: layer \"a\" has 2 heads, and its other numbers do not fit them");
    }
}
