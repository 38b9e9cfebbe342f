//! Parts of sentences.

use crate::Format;
use crate::place::{one_line, quoted};

/// `1 field`, `2 fields`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The system's words without their number: `No such file or directory`, not `… (os error 2)`.
pub(super) fn system_message(source: &std::io::Error) -> String {
    let text = source.to_string();
    one_line(text.split(" (os error").next().unwrap_or(&text))
}

pub(super) fn extension_found(extension: Option<&String>) -> String {
    extension.map_or_else(|| " (no extension)".to_owned(), |e| format!(" .{}", one_line(e)))
}

pub(super) fn content_found(found: Option<Format>) -> String {
    found.map_or_else(
        || "its content is something else".to_owned(),
        |format| format!("its content is {}", format.described()),
    )
}

/// `a, b, c and 4 more`; a name that holds a comma or a quotation mark stands in quotation marks.
pub(super) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    if names.is_empty() {
        return "none".to_owned();
    }
    let written = |name: &String| if name.contains([',', '"']) { quoted(name) } else { one_line(name) };
    let shown: Vec<String> = names.iter().take(SHOWN).map(written).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
