//! Figures as PNG: the same SVG, painted.

use super::pen::Placed;
use super::raster::Raster;
use super::{Frame, Theme, draw};
use resvg::tiny_skia::{Color, FilterQuality, Pixmap, PixmapPaint, PremultipliedColorU8, Transform};
use resvg::usvg::{self, Tree};
use spanwise_lens::explain::Figure;
use std::sync::Arc;

/// The letters of figures, so that pictures look the same on machines without fonts.
const FONT: &[u8] = include_bytes!("../../fonts/Inter-Regular.subset.otf");

/// Why a figure could not be painted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The picture's side is 0 or too long.
    #[error("figure `{figure}`: a picture of {width} × {height} pixels cannot be painted")]
    Size {
        /// Which figure.
        figure: &'static str,
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// The drawing is not well formed.
    #[error("figure `{figure}`: its drawing cannot be read back")]
    Drawing {
        /// Which figure.
        figure: &'static str,
        /// What the reader says.
        source: Box<usvg::Error>,
    },
    /// The picture could not be packed.
    #[error("figure `{figure}`: its picture cannot be packed")]
    Packing {
        /// Which figure.
        figure: &'static str,
    },
}

/// A figure as the bytes of a PNG file, `scale` pixels to a unit of the drawing (which is 680 units wide).
pub fn figure_png(figure: &Figure, theme: Theme, scale: f32) -> Result<Vec<u8>, PngError> {
    let drawing = draw(figure, Frame::WIDE);
    let svg = drawing.file(figure, theme, "");
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(FONT)));
    // Names in scripts the embedded letters do not have fall back to what the machine has.
    if svg.chars().any(|c| c as u32 > 0x2fff || (0x460..0x2000).contains(&(c as u32))) {
        fonts.load_system_fonts();
    }
    let tree = Tree::from_str(&svg, &options)
        .map_err(|source| PngError::Drawing { figure: figure.id, source: Box::new(source) })?;
    let (width, height) =
        ((drawing.width as f32 * scale).round() as u32, (drawing.height as f32 * scale).round() as u32);
    let mut pixels = Pixmap::new(width, height).ok_or(PngError::Size { figure: figure.id, width, height })?;
    pixels.fill(paper(theme));
    for placed in &drawing.rasters {
        paint(&mut pixels, placed, scale);
    }
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|_| PngError::Packing { figure: figure.id })
}

fn paper(theme: Theme) -> Color {
    let hex = theme.colour("--paper");
    let part = |at: usize| u8::from_str_radix(hex.get(at..at + 2).unwrap_or("80"), 16).unwrap_or(0x80);
    Color::from_rgba8(part(1), part(3), part(5), 255)
}

/// Cells are painted here: the reader of SVG is built without images.
fn paint(pixels: &mut Pixmap, placed: &Placed, scale: f32) {
    let Raster { columns, rows, cells } = &placed.raster;
    let Some(mut image) = Pixmap::new(*columns, *rows) else {
        return;
    };
    for (pixel, &cell) in image.pixels_mut().iter_mut().zip(cells) {
        let [r, g, b, a] = Raster::rgba(cell);
        if let Some(colour) = PremultipliedColorU8::from_rgba(r, g, b, a) {
            *pixel = colour;
        }
    }
    let area = placed.area;
    let (wide, high) = (area.width as f32 / *columns as f32, area.height as f32 / *rows as f32);
    let place = Transform::from_row(
        wide * scale,
        0.0,
        0.0,
        high * scale,
        area.x as f32 * scale,
        area.y as f32 * scale,
    );
    let paint = PixmapPaint { quality: FilterQuality::Nearest, ..PixmapPaint::default() };
    pixels.draw_pixmap(0, 0, image.as_ref(), &paint, place, None);
}
