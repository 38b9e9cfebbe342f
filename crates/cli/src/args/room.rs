//! How many rows of a table stay in memory, said the same way to every verb that a summary can serve.

use clap::Args;

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Room {
    /// Never keep the rows: one pass through a summary, where that will do
    #[arg(long, help_heading = "Large tables")]
    pub(crate) stream: bool,

    /// Rows up to this many MiB of numbers are kept, or to what their summary would take; 128 unless given
    #[arg(
        long,
        value_name = "MIB",
        allow_hyphen_values = true,
        conflicts_with = "stream",
        help_heading = "Large tables"
    )]
    pub(crate) memory: Option<usize>,
}

impl Room {
    /// The options by name, and whether each was given: for verbs that refuse them where rows are needed.
    pub(crate) fn given(self) -> [(&'static str, bool); 2] {
        [("--stream", self.stream), ("--memory", self.memory.is_some())]
    }
}
