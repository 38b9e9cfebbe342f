//! How it was computed, so that anyone can do it again.

use super::prose::prose;
use crate::figure::{escaped, significant};
use spanwise_lens::explain::Computation;
use std::fmt::Write;

pub(crate) fn section(computation: &Computation) -> String {
    let mut body = "<h2>How this was computed</h2>\n".to_owned();
    if !computation.command.is_empty() {
        let _ = writeln!(
            body,
            "<h3>The command that makes it again</h3>\n<p class=\"command\">{}</p>\n\
             <div class=\"tools\"><button type=\"button\" data-do=\"command\">Copy command</button></div>\n<br>",
            escaped(&computation.command)
        );
    }
    let version = [("Spanwise".to_owned(), computation.version.to_owned())];
    let number = |(name, value): &(String, f64)| (name.clone(), significant(*value, 3));
    list(&mut body, "Settings", version.into_iter().chain(computation.settings.iter().cloned()));
    list(&mut body, "Tolerances", computation.tolerances.iter().map(number));
    let seconds = |(name, value): &(String, f64)| (name.clone(), format!("{} s", significant(*value, 2)));
    list(&mut body, "Time", computation.seconds.iter().map(seconds));
    body
}

fn list(body: &mut String, title: &str, entries: impl Iterator<Item = (String, String)>) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return;
    }
    let _ = writeln!(body, "<h3>{title}</h3>\n<dl>");
    for (name, value) in entries {
        let _ = writeln!(body, "<dt>{}</dt><dd>{}</dd>", prose(&name), prose(&value));
    }
    body.push_str("</dl>\n");
}
