//! Findings as people and programs read them: text for a terminal, JSON for everything else.
//!
//! Nothing is computed here. Text is laid out for [`WIDTH`] columns; colour is added only where asked for and carries
//! nothing that the words do not. JSON keeps every number exactly: finite ones in the shortest form that reads back
//! to the same bits, others as the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
//!
//! ```
//! use spanwise_lens::example::{Inputs, lesson};
//! use spanwise_report::{Ink, lesson_text};
//!
//! let page = lesson_text(&lesson(66, &Inputs::default())?, Ink::Plain);
//! assert!(page.contains("ŷ = Xw = [0, 2, 4] = 2·X[:,0] − 1·X[:,1]"));
//! # Ok::<(), spanwise_lens::LessonError>(())
//! ```

mod attended;
mod block;
mod explain;
mod figure;
mod grid;
mod json;
mod lesson;
mod linear;
mod number;
mod page;
mod picture;
mod sheet;

pub use attended::{AttendedJson, attended_json, attended_text};
pub use block::Ink;
pub use explain::explained_text;
#[cfg(feature = "png")]
pub use figure::{PngError, figure_png};
pub use figure::{Theme, figure_svg};
pub use json::to_json;
pub use lesson::{catalogue_text, lesson_text};
pub use linear::{
    basis_text, changed_text, components_text, decomposed_text, fitted_text, measured_text, projected_text,
    solved_text,
};
pub use number::number_text;
pub use page::page_html;

/// How many columns a page has.
pub const WIDTH: usize = 100;
