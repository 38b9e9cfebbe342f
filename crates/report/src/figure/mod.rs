//! Figures as SVG, and as PNG made from it.
//!
//! One text draws each figure, in the frame it is given: wide for a desk and for paper, narrow for a phone and for pairs of
//! plots. Drawings carry classes and no colours, so that page, light and dark files share them.

mod coefficients;
mod colour_bar;
mod dependencies;
mod entropy;
mod heads;
mod hull;
mod labels;
mod map;
mod pen;
mod plane;
#[cfg(feature = "png")]
mod png;
mod raster;
mod reach;
mod received;
mod rows;
mod scale;
mod scatter;
mod shares;
mod spectrum;
#[cfg(test)]
mod tests;
mod theme;
mod words;

#[cfg(feature = "png")]
pub use png::{PngError, figure_png};
pub use theme::Theme;

pub(crate) use pen::{Mark, Pen, escaped, px};
pub(crate) use raster::{LogScale, colour};
pub(crate) use theme::{FIGURE_STYLE, variables};
pub(crate) use words::{certified, raised, significant};

use pen::{Anchor, Field, Placed};
use scatter::Reading;
use spanwise_lens::explain::{Figure, FigureKind};

/// The room a figure has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) width: f64,
}

impl Frame {
    /// A column of text on a desk, or the width of a sheet.
    pub(crate) const WIDE: Frame = Frame { width: 680.0 };
    /// A phone, or half a column.
    pub(crate) const NARROW: Frame = Frame { width: 340.0 };

    pub(crate) fn is_narrow(self) -> bool {
        self.width < 500.0
    }

    /// A height in proportion to the width, less flat where it is narrow.
    fn height(self, share: f64) -> f64 {
        if self.is_narrow() { (self.width * share * 1.35).max(220.0) } else { self.width * share }
    }

    /// A faint line of words below what is drawn; the new height.
    fn note(self, pen: &mut Pen, height: f64, note: &str) -> f64 {
        let mut bottom = height;
        for line in words::wrapped(note, self.width - 8.0) {
            pen.text("f", (4.0, bottom + 13.0), Anchor::Start, &line);
            bottom += 16.0;
        }
        bottom + 4.0
    }
}

/// A figure that is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) body: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) marks: Vec<Mark>,
    #[cfg_attr(not(feature = "png"), expect(dead_code, reason = "only PNG files paint cells themselves"))]
    pub(crate) rasters: Vec<Placed>,
}

/// Draws a figure in a frame.
pub(crate) fn draw(figure: &Figure, frame: Frame) -> Drawing {
    let mut pen = Pen::default();
    let height = match &figure.kind {
        FigureKind::Spectrum(spectrum) => spectrum::draw(&mut pen, frame, spectrum),
        FigureKind::Coefficients(coefficients) => coefficients::draw(&mut pen, frame, coefficients),
        FigureKind::Dependencies(dependencies) => dependencies::draw(&mut pen, frame, dependencies),
        FigureKind::Reach(reach) => reach::draw(&mut pen, frame, reach),
        FigureKind::ResidualsFitted(points)
        | FigureKind::QuantileQuantile(points)
        | FigureKind::ScaleLocation(points)
        | FigureKind::ResidualsLeverage(points) => scatter::draw(&mut pen, frame, points, Reading::Cloud),
        FigureKind::PredictedActual(points) => scatter::draw(&mut pen, frame, points, Reading::Square),
        FigureKind::Leverage(points) => scatter::draw(&mut pen, frame, points, Reading::Stems),
        FigureKind::Shares(shares) => shares::draw(&mut pen, frame, shares),
        FigureKind::Heads(heads) => heads::draw(&mut pen, frame, heads),
        FigureKind::Entropy(entropy) => entropy::draw(&mut pen, frame, entropy),
        FigureKind::Received(received) => received::draw(&mut pen, frame, received),
        FigureKind::Map(map) => map::draw(&mut pen, frame, map),
        FigureKind::Hull(hull) => hull::draw(&mut pen, frame, hull),
        _ => empty(&mut pen, "this kind of figure is not drawn yet"),
    };
    let Pen { body, fields, marks, rasters } = pen;
    Drawing { width: frame.width, height, body, fields, marks, rasters }
}

/// A figure as an SVG file, in the colours of a theme: complete in itself, with title and description for screen readers.
///
/// ```
/// use spanwise_lens::explain::specimen;
/// use spanwise_report::{Theme, figure_svg};
///
/// let explanation = specimen::table();
/// let svg = figure_svg(&explanation.figures[0], Theme::Light);
/// assert!(svg.starts_with("<svg") && svg.contains("<title>Singular values</title>"));
/// ```
pub fn figure_svg(figure: &Figure, theme: Theme) -> String {
    let drawing = draw(figure, Frame::WIDE);
    let background = format!(
        "<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n",
        px(drawing.width),
        px(drawing.height)
    );
    drawing.file(figure, theme, &background)
}

impl Drawing {
    /// The whole file, with something behind the drawing.
    pub(crate) fn file(&self, figure: &Figure, theme: Theme, behind: &str) -> String {
        let (width, height) = (px(self.width), px(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<title>{}</title>\n<desc>{}</desc>\n<style>\n{}</style>\n{behind}{}</svg>\n",
            escaped(&figure.title),
            escaped(&figure.caption),
            theme.style(),
            self.body,
        )
    }
}

/// Words in place of a figure that has nothing to show; its height.
fn empty(pen: &mut Pen, why: &str) -> f64 {
    pen.text("f", (4.0, 22.0), Anchor::Start, why);
    34.0
}
