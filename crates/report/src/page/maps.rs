//! The zoomable map: cells packed as two bytes each, places on a logarithmic scale, deflated.

use super::in_script;
use crate::figure::{LogScale, colour, escaped};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};
use spanwise_lens::explain::{Explanation, FigureKind, HeadMap};
use std::fmt::Write as _;
use std::io::Write as _;

/// One head's cells.
struct Cells<'a> {
    label: &'a str,
    head: String,
    /// Cells down and across.
    size: (usize, usize),
    /// Queries and keys.
    of: (usize, usize),
    mean: &'a [f64],
    max: &'a [f64],
}

/// The viewer of a map, which can also show every head of the overview.
pub(crate) fn viewer(explanation: &Explanation, map: &HeadMap) -> String {
    let mut maps = vec![Cells {
        label: &map.label,
        head: format!("{}.{}", map.batch, map.head),
        size: (map.rows, map.cols),
        of: (map.queries, map.keys),
        mean: &map.mean,
        max: &map.max,
    }];
    for figure in &explanation.figures {
        if let FigureKind::Heads(heads) = &figure.kind {
            maps.extend(heads.heads.iter().map(|head| Cells {
                label: &head.label,
                head: format!("{}.{}", head.batch, head.head),
                size: (head.rows, head.cols),
                of: (head.queries, head.keys),
                mean: &head.mean,
                max: &head.max,
            }));
        }
    }
    let first = maps[0].head.clone();
    let mut at = 0;
    maps.retain(|cells| {
        at += 1;
        at == 1 || cells.head != first
    });
    let packed: Vec<Value> = maps.iter().filter_map(entry).collect();
    // Without a weight above 0 there is nothing to zoom into.
    if packed.is_empty() {
        return String::new();
    }
    let mut options = String::new();
    for cells in &maps {
        let _ = write!(options, "<option value=\"{}\">{}</option>", cells.head, escaped(cells.label));
    }
    let mut palette = String::with_capacity(6 * 256);
    for i in 0..=255 {
        let [r, g, b] = colour(f64::from(i) / 255.0);
        let _ = write!(palette, "{r:02x}{g:02x}{b:02x}");
    }
    let data = in_script(&json!({ "palette": palette, "maps": packed }));
    format!(
        "<div class=\"viewer\">\n<div class=\"tools\"><label class=\"hidden\" for=\"chosen-head\">Head</label>\
         <select id=\"chosen-head\">{options}</select>\
         <button type=\"button\" data-do=\"mean\">Mean</button><button type=\"button\" data-do=\"max\">Largest</button>\
         <button type=\"button\" data-do=\"in\">Zoom in</button><button type=\"button\" data-do=\"out\">Zoom out</button>\
         <button type=\"button\" data-do=\"whole\">Whole map</button></div>\n<p class=\"axes\" aria-hidden=\"true\">query ↓ &ensp; key →</p>\n\
         <canvas tabindex=\"0\" role=\"img\" aria-label=\"Map of weights, queries down and keys to the right: arrow keys walk from cell \
         to cell, plus and minus zoom, 0 shows all\"></canvas>\n<p class=\"where\"></p>\n\
         <p class=\"meaning\"></p><div class=\"bar\" aria-hidden=\"true\"></div><div class=\"ends\"></div>\n\
         <script type=\"application/json\" class=\"maps\">{data}</script>\n</div>\n"
    )
}

fn entry(cells: &Cells<'_>) -> Option<Value> {
    let (rows, cols) = cells.size;
    if rows * cols == 0 || cells.mean.len() != rows * cols || cells.max.len() != rows * cols {
        return None;
    }
    let scale = |values: &[f64]| LogScale::over(values.iter().copied());
    let (mean, max) = (scale(cells.mean)?, scale(cells.max)?);
    let ends = |scale: LogScale| json!({ "low": scale.low, "high": scale.high });
    Some(json!({
        "label": cells.label, "head": cells.head, "rows": rows, "cols": cols,
        "queries": cells.of.0, "keys": cells.of.1,
        "mean": packed(cells.mean, mean), "max": packed(cells.max, max),
        "meanScale": ends(mean), "maxScale": ends(max),
    }))
}

/// `0` for no weight, else `1 + 65534 · share` of the scale, two bytes each with the low one first.
fn packed(values: &[f64], scale: LogScale) -> String {
    let place = |value: f64| if value > 0.0 { 1 + (scale.share(value) * 65_534.0).round() as u16 } else { 0 };
    let bytes: Vec<u8> = values.iter().flat_map(|&value| place(value).to_le_bytes()).collect();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    BASE64_STANDARD.encode(written.unwrap_or_default())
}
