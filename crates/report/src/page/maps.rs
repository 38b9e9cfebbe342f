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

/// The viewer of a map, which can also show every head of the overview.
pub(crate) fn viewer(explanation: &Explanation, map: &HeadMap) -> String {
    let mut maps = vec![map];
    for figure in &explanation.figures {
        if let FigureKind::Heads(heads) = &figure.kind {
            maps.extend(heads.heads.iter().filter(|head| place(head) != place(map)));
        }
    }
    let packed: Vec<Value> = maps.iter().copied().filter_map(entry).collect();
    // Without a weight above 0 there is nothing to zoom into.
    if packed.is_empty() {
        return String::new();
    }
    let mut options = String::new();
    for map in &maps {
        let _ = write!(options, "<option value=\"{}\">{}</option>", place(map), escaped(&map.label));
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

/// What tells heads apart: batch entry, or layer, and head.
fn place(map: &HeadMap) -> String {
    format!("{}.{}", map.batch, map.head)
}

fn entry(map: &HeadMap) -> Option<Value> {
    let HeadMap { label, rows, cols, queries, keys, entries, .. } = map;
    let cells = rows * cols;
    if cells == 0 || map.mean.len() != cells || map.max.len() != cells {
        return None;
    }
    let scale = |values: &[f64]| LogScale::over(values.iter().copied());
    let (mean, max) = (scale(&map.mean)?, scale(&map.max)?);
    let ends = |scale: LogScale| json!({ "low": scale.low, "high": scale.high });
    Some(json!({
        "label": label, "head": place(map), "rows": rows, "cols": cols,
        "queries": queries, "keys": keys, "entries": entries,
        "mean": packed(&map.mean, mean), "max": packed(&map.max, max),
        "meanScale": ends(mean), "maxScale": ends(max),
    }))
}

/// `0` for no weight, 65535 for one that is lost to a NaN, else `1 + 65533 · share` of the scale, two bytes each with the low one first.
fn packed(values: &[f64], scale: LogScale) -> String {
    let step = |value: f64| {
        if value.is_nan() {
            u16::MAX
        } else if value > 0.0 {
            1 + (scale.share(value) * 65_533.0).round() as u16
        } else {
            0
        }
    };
    let bytes: Vec<u8> = values.iter().flat_map(|&value| step(value).to_le_bytes()).collect();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    BASE64_STANDARD.encode(written.unwrap_or_default())
}
