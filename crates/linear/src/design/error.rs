//! What can be wrong with the columns of a design.

/// Why columns cannot be made numbers. Rows count from 0 within the batch at hand.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// A value that is missing or not finite, where the rule refuses it.
    #[error("column {} holds {} in row {row}; expected a value", quoted(column), what(*value))]
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
    #[error("column {} holds no value; expected at least one", quoted(column))]
    AllMissing {
        /// The column.
        column: String,
    },

    /// A batch without one of the design's columns.
    #[error("there is no column {}", quoted(column))]
    NoColumn {
        /// The column.
        column: String,
    },

    /// Text where the design has numbers.
    #[error("column {} holds text; expected numbers", quoted(column))]
    NotNumbers {
        /// The column.
        column: String,
    },

    /// Numbers where the design has levels.
    #[error("column {} holds numbers; expected the levels of a category", quoted(column))]
    NotCategories {
        /// The column.
        column: String,
    },

    /// A level that the design does not have.
    #[error(
        "column {} holds {} in row {row}; that level was not there when the columns were chosen",
        quoted(column),
        quoted(level)
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
    #[error("{} has no level {}; it has {}", quoted(column), quoted(level), listed(levels))]
    NoLevel {
        /// The column.
        column: String,
        /// The level asked for.
        level: String,
        /// Those there are.
        levels: Vec<String>,
    },

    /// More levels than a model can sensibly have columns for.
    #[error("column {} has {found} levels; expected at most {limit}", quoted(column))]
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
                Some(format!("leave {} out if it names the rows", quoted(column)))
            }
            DesignError::NotNumbers { column } => {
                Some(format!("{} was a column of numbers when the columns were chosen", quoted(column)))
            }
            _ => None,
        }
    }
}

/// As text tables hold a name: a quotation mark inside it is doubled. Control characters would break the message into lines.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace(char::is_control, " ").replace('"', "\"\""))
}

fn what(value: f64) -> String {
    if value.is_nan() { "no number".to_owned() } else { value.to_string() }
}

fn listed(levels: &[String]) -> String {
    const SHOWN: usize = 8;
    if levels.is_empty() {
        return "no levels: it holds numbers".to_owned();
    }
    let shown: Vec<String> = levels.iter().take(SHOWN).map(|level| quoted(level)).collect();
    let more = if levels.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
