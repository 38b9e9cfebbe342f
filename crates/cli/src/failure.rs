//! How a run that ended badly says so: one line `error: …`, and a line `hint: …` where there is one.

use spanwise::attend::AttentionError;
use spanwise::example::LessonError;
use spanwise::linear::LinearError;
use spanwise::linear::design::DesignError;
use spanwise::linear::told::counted;
use spanwise_io::IoError;
use std::io::Write;

/// A mistake in how the command was called.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Usage {
    message: String,
    hint: Option<String>,
}

impl Usage {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Usage { message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Usage { message: message.into(), hint: Some(hint.into()) }
    }

    /// An array beside a table has not as many rows; `dropped` of the table's were left out.
    pub(crate) fn beside_dropped(message: impl Into<String>, dropped: usize) -> Self {
        let hint = (dropped > 0).then(|| {
            let rows = counted(dropped, "row", "rows");
            format!(
                "this counts {rows} that `--missing drop` leaves out: give a number for every row of the file"
            )
        });
        Usage { message: message.into(), hint }
    }
}

/// Whether the reader of our output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Writes the error to stderr. If even that fails there is nobody left to tell.
pub(crate) fn print(error: &anyhow::Error) {
    let (message, hint) = words(error);
    let hint = hint.map_or_else(String::new, |hint| format!("hint: {hint}\n"));
    std::io::stderr().write_all(format!("error: {message}\n{hint}").as_bytes()).ok();
}

/// The library speaks of words; here they are options.
fn attention_hint(error: &AttentionError) -> Option<String> {
    match error {
        AttentionError::Alignment { queries, keys, .. } => Some(format!(
            "`--align top-left` puts the first of {queries} queries beside the first of {keys} keys, \
             `--align bottom-right` the last beside the last"
        )),
        _ => error.hint(),
    }
}

/// The chain in one line, and the first hint there is.
fn words(error: &anyhow::Error) -> (String, Option<String>) {
    let hint = error.chain().find_map(|cause| {
        let attention = cause.downcast_ref::<AttentionError>().and_then(attention_hint);
        let lesson = || cause.downcast_ref::<LessonError>().and_then(LessonError::hint);
        let io = || cause.downcast_ref::<IoError>().and_then(IoError::hint);
        let usage = || cause.downcast_ref::<Usage>().and_then(|usage| usage.hint.clone());
        let linear = || cause.downcast_ref::<LinearError>().and_then(LinearError::hint);
        let design = || cause.downcast_ref::<DesignError>().and_then(DesignError::hint);
        attention.or_else(lesson).or_else(io).or_else(usage).or_else(linear).or_else(design)
    });
    let mut parts: Vec<String> = Vec::new();
    let mut below_io = false;
    for cause in error.chain() {
        // An IoError has said the system's answer in its own words.
        if below_io && cause.is::<std::io::Error>() {
            continue;
        }
        below_io |= cause.is::<IoError>();
        let text = cause.to_string();
        // Some wrap their cause and repeat its words.
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
    }
    (parts.join(": ").replace('\n', " "), hint)
}
