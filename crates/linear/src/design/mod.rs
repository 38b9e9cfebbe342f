//! **design**: named columns of numbers and categories as the numeric columns of a model.
//!
//! ```text
//!  numbers      ► themselves
//!  truth values ► 0 and 1, also where they are the words True and False
//!  categories   ► one column of 0 and 1 per level but the reference:  region=south, region=west
//!  products     ► powers and interactions of those, where asked for:   age^2, age*region=west
//! ```
//!
//! A [`Design`] is decided once, from names and levels alone, and then applied to any number of batches: the same column
//! means the same thing in every batch and in rows that are predicted later, whatever order their levels come in. The
//! intercept is not among the columns; models add their own.
//!
//! ```
//! use spanwise_linear::design::{Column, Design, Field, Settings, Values};
//!
//! let levels = ["north".to_owned(), "south".to_owned()];
//! let fields = [Field::numbers("age"), Field::categories("region", &levels)];
//! let design = Design::new(&fields, &Settings::default())?;
//! assert_eq!(design.names(), ["age", "region=south"]);
//!
//! let age = Column { name: "age", values: Values::Numbers(&[31.0, 47.0]) };
//! let region = Column { name: "region", values: Values::Categories { codes: &[1, 0], levels: &levels } };
//! let rows = design.encode(&[age, region], |_| true)?;
//! assert_eq!(rows.x.as_slice(), [31.0, 1.0, 47.0, 0.0]);
//! # Ok::<(), spanwise_linear::design::DesignError>(())
//! ```

mod encode;
mod error;
mod means;
mod products;
#[cfg(test)]
mod tests;

pub use encode::Rows;
pub use error::DesignError;
pub use means::Means;

use products::Products;

/// A column with more levels than this is more likely a name of rows than a category.
pub const MOST_LEVELS: usize = 1000;

/// What a column is, before its values are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The levels of a category; `None` for numbers.
    pub levels: Option<Vec<String>>,
}

impl Field {
    /// A column of numbers.
    pub fn numbers(name: &str) -> Self {
        Field { name: name.to_owned(), levels: None }
    }

    /// What a column's values say by themselves: categories, unless all of their words are truth values. Those are numbers, as they are in
    /// files that have a type for them, so that a model may meet its column in either.
    pub fn of(column: &Column<'_>) -> Self {
        match column.values {
            Values::Categories { levels, .. } if levels.is_empty() || !are_truths(levels) => {
                Field::categories(column.name, levels)
            }
            _ => Field::numbers(column.name),
        }
    }

    /// A column of categories.
    pub fn categories(name: &str, levels: &[String]) -> Self {
        Field { name: name.to_owned(), levels: Some(levels.to_vec()) }
    }
}

/// A column of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// One per row.
    pub values: Values<'a>,
}

/// What a column of a batch holds.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Numbers; one that is not finite is missing.
    Numbers(&'a [f64]),
    /// Positions among levels; one beyond them is missing.
    Categories {
        /// One per row.
        codes: &'a [u32],
        /// The texts.
        levels: &'a [String],
    },
}

impl Values<'_> {
    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Numbers(numbers) => numbers.len(),
            Values::Categories { codes, .. } => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The truth value that a word is: `true`, `True` and `TRUE`, and the same of false.
pub fn truth(word: &str) -> Option<bool> {
    match word {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Whether each of these words is a truth value.
pub fn are_truths(words: &[String]) -> bool {
    words.iter().all(|word| truth(word).is_some())
}

/// What becomes of values that are missing or not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// They are refused.
    #[default]
    Error,
    /// Their rows are left out.
    Drop,
    /// The mean of the column takes their place: for a level, its share.
    Mean,
}

/// How columns become a design.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What becomes of missing values.
    pub missing: Missing,
    /// Columns with the level that gets no column of its own; the first level where a column is not named.
    pub references: Vec<(String, String)>,
    /// Products up to this total degree; 0 and 1 are none.
    pub degree: usize,
    /// Only products of different columns.
    pub interactions_only: bool,
}

/// How one column enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The column.
    pub name: String,
    /// Its levels and which of them is the reference; `None` for numbers.
    pub levels: Option<Levels>,
}

/// The levels of a category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// All of them.
    pub all: Vec<String>,
    /// The one without a column.
    pub reference: usize,
}

impl Encoding {
    /// How many columns it gives.
    pub fn width(&self) -> usize {
        self.levels.as_ref().map_or(1, |levels| levels.all.len().saturating_sub(1))
    }

    fn names(&self) -> Vec<String> {
        let Some(levels) = &self.levels else { return vec![self.name.clone()] };
        let others = levels.all.iter().enumerate().filter(|&(at, _)| at != levels.reference);
        others.map(|(_, level)| format!("{}={level}", self.name)).collect()
    }
}

/// Columns of a model, decided once.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    encodings: Vec<Encoding>,
    products: Option<Products>,
    names: Vec<String>,
    missing: Missing,
    /// Of the columns before products.
    means: Option<Vec<f64>>,
}

impl Design {
    /// Decides the columns for these fields, in their order.
    pub fn new(fields: &[Field], settings: &Settings) -> Result<Self, DesignError> {
        for (column, level) in &settings.references {
            check_reference(fields, column, level)?;
        }
        let encodings: Vec<Encoding> =
            fields.iter().map(|field| encoding(field, settings)).collect::<Result<_, _>>()?;
        let base: Vec<String> = encodings.iter().flat_map(Encoding::names).collect();
        if base.is_empty() {
            return Err(DesignError::NoColumns);
        }
        let products = if settings.degree > 1 {
            Some(Products::new(&encodings, settings.degree, settings.interactions_only)?)
        } else {
            None
        };
        let names = match &products {
            Some(products) => products.names(&base)?,
            None => base,
        };
        Ok(Design { encodings, products, names, missing: settings.missing, means: None })
    }

    /// The names of the columns it gives.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How each column enters.
    pub fn encodings(&self) -> &[Encoding] {
        &self.encodings
    }

    /// What becomes of missing values.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// How many columns there are before products are formed.
    fn base_width(&self) -> usize {
        self.encodings.iter().map(Encoding::width).sum()
    }
}

fn check_reference(fields: &[Field], column: &str, level: &str) -> Result<(), DesignError> {
    let field = fields.iter().find(|field| field.name == column);
    let field = field.ok_or_else(|| DesignError::NoColumn { column: column.to_owned() })?;
    let levels = field.levels.clone().unwrap_or_default();
    if levels.iter().any(|known| known == level) {
        return Ok(());
    }
    Err(DesignError::NoLevel { column: column.to_owned(), level: level.to_owned(), levels })
}

fn encoding(field: &Field, settings: &Settings) -> Result<Encoding, DesignError> {
    let column = || field.name.clone();
    let Some(all) = &field.levels else { return Ok(Encoding { name: column(), levels: None }) };
    if all.is_empty() {
        return Err(DesignError::AllMissing { column: column() });
    }
    if all.len() > MOST_LEVELS {
        return Err(DesignError::TooManyLevels { column: column(), found: all.len(), limit: MOST_LEVELS });
    }
    let chosen = settings.references.iter().rev().find(|(name, _)| *name == field.name);
    let reference = chosen.and_then(|(_, level)| all.iter().position(|known| known == level)).unwrap_or(0);
    Ok(Encoding { name: column(), levels: Some(Levels { all: all.clone(), reference }) })
}
