//! Tables: numbers rounded to what is known, in full where they are copied.

use super::prose::prose;
use crate::figure::{certified, escaped};
use spanwise_lens::explain::{Table, TableCell, TableColumn};
use std::fmt::Write;

/// More digits than this are not read.
const DIGITS: usize = 12;

pub(crate) fn section(tables: &[Table]) -> String {
    if tables.is_empty() {
        return String::new();
    }
    let mut body = "<h2>Tables</h2>\n".to_owned();
    for table in tables {
        one(&mut body, table);
    }
    body
}

fn one(body: &mut String, table: &Table) {
    let (id, title) = (escaped(table.id), prose(&table.title));
    let _ = writeln!(
        body,
        "<div class=\"table\" id=\"table-{id}\">\n<h3 id=\"title-{id}\">{title}</h3>\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"title-{id}\">\n\
         <table aria-labelledby=\"title-{id}\">\n<thead><tr>{}</tr></thead>\n<tbody>",
        table.columns.iter().map(head).collect::<String>()
    );
    for row in &table.rows {
        body.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            body.push_str(&self::cell(cell, column.numeric));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table>\n</div>\n");
    body.push_str(
        "<div class=\"tools\"><button type=\"button\" data-do=\"copy\">Copy as CSV</button>\
         <button type=\"button\" data-do=\"save\">Save CSV</button></div>\n</div>\n",
    );
}

fn head(column: &TableColumn) -> String {
    let unit = column
        .unit
        .as_ref()
        .map_or(String::new(), |unit| format!("<span class=\"unit\">{}</span>", escaped(unit)));
    let name = escaped(&column.name);
    let class = if column.numeric { " class=\"n\"" } else { "" };
    format!(
        "<th scope=\"col\"{class} data-name=\"{name}\"><button type=\"button\">{name}</button>{unit}</th>"
    )
}

fn cell(cell: &TableCell, numeric: bool) -> String {
    let class = if numeric { " class=\"n\"" } else { "" };
    match cell {
        TableCell::Text(text) => format!("<td{class}>{}</td>", prose(text)),
        TableCell::Nothing => format!("<td{class} data-value=\"\">–</td>"),
        TableCell::Number { value, digits } => {
            let (sure, unsure) = certified(*value, *digits, DIGITS);
            let unsure =
                if unsure.is_empty() { unsure } else { format!("<span class=\"unsure\">{unsure}</span>") };
            format!("<td{class} data-value=\"{value}\">{sure}{unsure}</td>")
        }
    }
}
