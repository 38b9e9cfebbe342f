//! Cells of numbers as a small image, in a palette that grows evenly darker to the eye and survives colour blindness.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Viridis, from its low to its high end, in tenths.
const VIRIDIS: [[u8; 3]; 11] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x24, 0x75],
    [0x41, 0x44, 0x87],
    [0x35, 0x5f, 0x8d],
    [0x2a, 0x78, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x22, 0xa8, 0x84],
    [0x44, 0xbf, 0x70],
    [0x7a, 0xd1, 0x51],
    [0xbd, 0xdf, 0x26],
    [0xfd, 0xe7, 0x25],
];

/// The colour of a share of 1; beyond its ends, the colour of the end.
pub(crate) fn colour(share: f64) -> [u8; 3] {
    let place = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) * 10.0 };
    let low = (place as usize).min(9);
    let part = place - low as f64;
    std::array::from_fn(|c| {
        let (a, b) = (f64::from(VIRIDIS[low][c]), f64::from(VIRIDIS[low + 1][c]));
        (a + (b - a) * part).round() as u8
    })
}

/// The colour as SVG writes it.
pub(crate) fn hex(share: f64) -> String {
    let [r, g, b] = colour(share);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Black or white, whichever is read more easily on the colour of `share`.
pub(crate) fn readable_on(share: f64) -> &'static str {
    // Relative luminance of sRGB; black and white have equal contrast at 0.18.
    let linear = |c: u8| (f64::from(c) / 255.0).powf(2.2);
    let [r, g, b] = colour(share);
    if 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.18 { "#000" } else { "#fff" }
}

/// How weights become colours: their logarithm between a floor and the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogScale {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// What is a millionth of the largest weight looks like the smallest one.
const DEPTH: f64 = 1e-6;

impl LogScale {
    /// Over all weights that are above 0; `None` where there is none.
    pub(crate) fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let positive = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = super::scale::range(positive)?;
        let low = low.max(high * DEPTH);
        Some(LogScale { low: if low < high { low } else { high / 10.0 }, high })
    }

    pub(crate) fn share(&self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }
}

/// `columns × rows` cells, row after row: 0 where nothing is drawn, else 1 to 255 along the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raster {
    pub(crate) columns: u32,
    pub(crate) rows: u32,
    pub(crate) cells: Vec<u8>,
}

impl Raster {
    /// Shares of 1 as cells; what is `None` stays empty.
    pub(crate) fn new(columns: usize, shares: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let cell =
            |share: Option<f64>| share.map_or(0, |share| 1 + (share.clamp(0.0, 1.0) * 254.0).round() as u8);
        let cells: Vec<u8> = shares.into_iter().map(cell).collect();
        let rows = cells.len().checked_div(columns)?;
        (rows > 0 && rows * columns == cells.len()).then_some(Raster {
            columns: u32::try_from(columns).ok()?,
            rows: u32::try_from(rows).ok()?,
            cells,
        })
    }

    /// Weights on a logarithmic scale; those of 0 stay empty.
    pub(crate) fn weights(columns: usize, weights: &[f64], scale: LogScale) -> Option<Self> {
        Raster::new(columns, weights.iter().map(|&w| (w > 0.0).then(|| scale.share(w))))
    }

    /// Red, green, blue, opacity of a cell.
    pub(crate) fn rgba(cell: u8) -> [u8; 4] {
        if cell == 0 {
            return [0; 4];
        }
        let [r, g, b] = colour(f64::from(cell - 1) / 254.0);
        [r, g, b, 255]
    }

    /// The image in the address itself.
    pub(crate) fn data_address(&self) -> String {
        format!("data:image/png;base64,{}", BASE64_STANDARD.encode(self.png()))
    }

    fn png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.columns, self.rows);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette((0..=255).flat_map(|cell| Raster::rgba(cell)[..3].to_vec()).collect::<Vec<_>>());
        encoder.set_trns(vec![0u8]);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&self.cells)?;
            writer.finish()
        });
        debug_assert!(written.is_ok(), "an image of {} × {} cells in memory", self.columns, self.rows);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_palette_grows_lighter_all_the_way() {
        let light = |i: i32| {
            let [r, g, b] = colour(f64::from(i) / 100.0).map(f64::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        assert!((0..100).all(|i| light(i + 1) > light(i)));
    }

    #[test]
    fn weights_of_zero_stay_empty_and_the_largest_is_the_last_colour() {
        let weights = [0.0, 0.5, 1e-3, 1e-12];
        let scale = LogScale::over(weights).unwrap();
        let raster = Raster::weights(2, &weights, scale).unwrap();
        assert_eq!(raster.cells, [0, 255, 141, 1]);
        assert!(raster.data_address().starts_with("data:image/png;base64,iVBOR"));
        assert_eq!(Raster::weights(3, &weights, scale), None);
    }
}
