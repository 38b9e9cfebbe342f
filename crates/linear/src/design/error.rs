//! What can be wrong with the columns of a design.

/// Why columns cannot be made numbers. Rows count from 0 within the batch at hand.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// A value that is missing or not finite, where the rule refuses it.
    #[error("column {column:?} holds {} in row {row}; expected a value", what(*value))]
    Missing {
        /// The column.
        column: String,
        /// Its position in the batch.
        index: usize,
        /// Counted from 0.
        row: usize,
        /// NaN where nothing is there, otherwise the infinity that is.
        value: f64,
    },

    /// A column without a single value.
    #[error("column {column:?} holds no value; expected at least one")]
    AllMissing {
        /// The column.
        column: String,
    },

    /// A batch without one of the design's columns.
    #[error("there is no column {column:?}")]
    NoColumn {
        /// The column.
        column: String,
    },

    /// Text where the design has numbers.
    #[error("column {column:?} holds text; expected numbers")]
    NotNumbers {
        /// The column.
        column: String,
    },

    /// Numbers where the design has levels.
    #[error("column {column:?} holds numbers; expected the levels of a category")]
    NotCategories {
        /// The column.
        column: String,
    },

    /// A level that the design does not have.
    #[error(
        "column {column:?} holds {level:?} in row {row}; that level was not there when the columns were chosen"
    )]
    NewLevel {
        /// The column.
        column: String,
        /// Its position in the batch.
        index: usize,
        /// Counted from 0.
        row: usize,
        /// The level.
        level: String,
    },

    /// A reference level that the column does not have, or of a column that is not a category.
    #[error("{column:?} has no level {level:?}; it has {}", listed(levels))]
    NoLevel {
        /// The column.
        column: String,
        /// The level asked for.
        level: String,
        /// Those there are.
        levels: Vec<String>,
    },

    /// More levels than a model can sensibly have columns for.
    #[error("column {column:?} has {found} levels; expected at most {limit}")]
    TooManyLevels {
        /// The column.
        column: String,
        /// How many it has.
        found: usize,
        /// The limit.
        limit: usize,
    },

    /// No column is left.
    #[error("no columns are left; expected at least one")]
    NoColumns,

    /// Products of columns that cannot be formed.
    #[error(transparent)]
    Products(#[from] crate::LinearError),
}

impl DesignError {
    /// What probably helps, where that can be told.
    pub fn hint(&self) -> Option<String> {
        match self {
            DesignError::TooManyLevels { column, .. } => {
                Some(format!("leave {column:?} out if it names the rows"))
            }
            DesignError::NotNumbers { column } => {
                Some(format!("{column:?} was a column of numbers when the columns were chosen"))
            }
            _ => None,
        }
    }
}

fn what(value: f64) -> String {
    if value.is_nan() { "no number".to_owned() } else { value.to_string() }
}

fn listed(levels: &[String]) -> String {
    const SHOWN: usize = 8;
    if levels.is_empty() {
        return "no levels: it holds numbers".to_owned();
    }
    let shown: Vec<String> = levels.iter().take(SHOWN).map(|level| format!("{level:?}")).collect();
    let more = if levels.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
