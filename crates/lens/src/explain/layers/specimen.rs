//! The layers of a small encoder and decoder, with queries and keys made by formula.

use super::{Layer, LayerCall, LayerTally, explain_layers};
use crate::LessonError;
use crate::explain::Explanation;
use crate::explain::random::Random;
use spanwise_attention::{Causal, Options};
use spanwise_kernels::View;

const BATCH: usize = 2;
const WIDTH: usize = 8;
/// Words of the source, and how many the second sentence has; the rest is padding.
const SOURCE: usize = 40;
const SHORTER: usize = 29;
/// Words of the target.
const TARGET: usize = 18;

/// One layer: its name, heads, queries, keys, and whether it is causal.
type Made = (&'static str, usize, usize, usize, bool);
const LAYERS: [Made; 5] = [
    ("encoder.layers.0.self_attn", 6, SOURCE, SOURCE, false),
    ("encoder.layers.1.self_attn", 6, SOURCE, SOURCE, false),
    ("decoder.layers.0.self_attn", 4, TARGET, TARGET, true),
    ("decoder.layers.0.encoder_attn", 4, TARGET, SOURCE, false),
    ("decoder.layers.1.encoder_attn", 4, TARGET, SOURCE, false),
];

pub(in crate::explain) fn layers() -> Result<Explanation, LessonError> {
    let mut random = Random::new(11);
    let tallies = LAYERS.iter().map(|layer| tally(layer, &mut random)).collect::<Result<Vec<_>, _>>()?;
    let named = LAYERS.iter().zip(&tallies).map(|(layer, tally)| Layer { name: layer.0, tally });
    explain_layers("a small encoder and decoder", &named.collect::<Vec<_>>())
}

/// Heads differ in how near keys they look for, and in how sure they are of it.
fn tally(&(_, heads, n, m, causal): &Made, random: &mut Random) -> Result<LayerTally, LessonError> {
    let mut place = |rows: usize, back: bool| -> Vec<f64> {
        let mut numbers = Vec::with_capacity(BATCH * heads * rows * WIDTH);
        for row in 0..BATCH * heads * rows {
            let (head, i) = (row / rows % heads, row % rows);
            let shift = if back { head as f64 } else { 0.0 };
            let sure = if back { 0.4 + 1.6 * head as f64 } else { 1.0 };
            for c in 0..WIDTH / 2 {
                let turn = (i as f64 - shift) * std::f64::consts::PI / (2.0 + 5.0 * c as f64);
                let noise = 0.1 * random.normal();
                numbers.extend([sure * turn.cos() + noise, sure * turn.sin() - noise]);
            }
        }
        numbers
    };
    let (q, k) = (place(n, true), place(m, false));
    let lengths = [m, if m == SOURCE { SHORTER } else { m }];
    let tokens: Vec<bool> = lengths.iter().flat_map(|&length| (0..n).map(move |i| i < length)).collect();
    let keys = View::new(&k, &[BATCH, heads, m, WIDTH])?;
    let call = LayerCall {
        q: View::new(&q, &[BATCH, heads, n, WIDTH])?,
        k: keys,
        v: keys,
        options: Options {
            causal: causal.then_some(Causal::Square),
            lengths: Some(&lengths),
            ..Options::default()
        },
        team: None,
        tokens: (n == m).then_some(&tokens),
        first_key: 0,
        cells: 32,
    };
    let mut tally = LayerTally::new(heads);
    tally.attend(&call, &mut vec![0.0; BATCH * heads * n * WIDTH])?;
    Ok(tally)
}
