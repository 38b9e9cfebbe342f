//! Tables with a header, light rules and columns whose decimal points stand below one another, where there is room: a table
//! wider than a narrow terminal stands to the right in the columns that gain most by it, and one wider than the page has its
//! names shortened.

use crate::block::{Block, Ink, Line, Style};
use crate::grid::aligned;

/// Tables are kept within this, as far as giving up aligned points does it.
const NARROW: usize = 80;
/// Names are not shortened to less than this.
const SHORTEST_NAME: usize = 12;

/// A cell: text, of which a tail may be faint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) faint: String,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Cell { text: text.into(), faint: String::new() }
    }

    /// What is not there.
    pub(crate) fn none() -> Self {
        Cell::new("·")
    }

    /// `value` to `most` significant digits, of which those beyond `certain` are faint, or left out in plain ink.
    pub(crate) fn certain(value: f64, certain: Option<f64>, most: usize, ink: Ink) -> Self {
        let certain =
            certain.filter(|digits| digits.is_finite()).map_or(most, |digits| digits.floor() as usize);
        if certain == 0 && value != 0.0 {
            let text = significant(value, 1);
            return Cell { text: "≈".to_owned(), faint: text };
        }
        let known = significant(value, certain.clamp(1, most));
        let whole = significant(value, most);
        // Rounding to fewer digits may change the last one: then the shorter form is what can be said.
        match whole.strip_prefix(&known) {
            Some(rest) if ink == Ink::Colour => Cell { faint: rest.to_owned(), text: known },
            _ => Cell::new(known),
        }
    }
}

/// `value` to `digits` significant digits, without an exponent where that stays readable; trailing zeros are left off.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() || value == 0.0 {
        return crate::number_text(value);
    }
    let scientific = format!("{value:.0$e}", digits.saturating_sub(1));
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-5..12).contains(&exponent) && exponent < digits.max(7) as i32 {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        return trimmed(&format!("{:.decimals$}", scientific.parse::<f64>().unwrap_or(value)));
    }
    format!("{}e{exponent}", trimmed(mantissa))
}

/// Rows of cells below a header. The first column is text and stands left, the others are numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Sheet {
    pub(crate) fn new(header: &[&str]) -> Self {
        Sheet { header: header.iter().map(|&text| text.to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Columns without a single value are left out.
    pub(crate) fn block(&self) -> Block {
        let columns: Vec<usize> = (0..self.header.len()).filter(|&j| j == 0 || self.has_values(j)).collect();
        let (texts, widths) = self.fitted(&columns);
        let mut block = Block::default();
        let mut line = Line::default();
        for (at, (&j, &w)) in columns.iter().zip(&widths).enumerate() {
            line = line.and(Style::Faint, padded(&self.header[j], w, at == 0, at > 0));
        }
        block.push(line);
        let rule = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        block.push(Line::new(Style::Faint, "─".repeat(rule)));
        for i in 0..self.rows.len() {
            let mut line = Line::default();
            for (at, ((&j, texts), &w)) in columns.iter().zip(&texts).zip(&widths).enumerate() {
                let text = padded(&texts[i], w, at == 0, at > 0);
                let faint = &self.rows[i][j].faint;
                line = match text.find(faint.as_str()).filter(|_| !faint.is_empty()) {
                    // The tail may occur in the padding or the head: the last place is the tail's.
                    Some(_) => {
                        let at = text.rfind(faint.as_str()).unwrap_or(0);
                        let (head, tail) = text.split_at(at);
                        line.and(Style::Text, head).and(Style::Faint, tail)
                    }
                    None => line.and(Style::Text, text),
                };
            }
            block.push(line);
        }
        block
    }

    fn has_values(&self, j: usize) -> bool {
        self.rows.iter().any(|row| !row[j].text.is_empty() && row[j].text != "·")
    }

    /// The texts of the columns and their widths, so that the table is no wider than it must be.
    fn fitted(&self, columns: &[usize]) -> (Vec<Vec<String>>, Vec<usize>) {
        let plain = |&j: &usize| -> Vec<String> {
            self.rows.iter().map(|row| format!("{}{}", row[j].text, row[j].faint)).collect()
        };
        let mut texts: Vec<Vec<String>> = columns.iter().map(plain).collect();
        let widest = |at: usize, texts: &[String]| {
            texts.iter().map(|text| width(text)).max().unwrap_or(0).max(width(&self.header[columns[at]]))
        };
        let mut widths: Vec<usize> = texts.iter().enumerate().map(|(at, texts)| widest(at, texts)).collect();
        let total = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        // Points are aligned first where that costs least.
        let mut aligning: Vec<(usize, Vec<String>, usize)> = (1..texts.len())
            .map(|at| {
                let aligned = aligned(&texts[at]);
                let wide = widest(at, &aligned);
                (at, aligned, wide)
            })
            .collect();
        aligning.sort_by_key(|&(at, _, wide)| (wide - widths[at].min(wide), at));
        for (at, aligned, wide) in aligning {
            let before = std::mem::replace(&mut widths[at], wide);
            if wide <= before || total(&widths) <= NARROW {
                texts[at] = aligned;
            } else {
                widths[at] = before;
            }
        }
        let over = total(&widths).saturating_sub(crate::WIDTH);
        if over > 0 && widths[0] > SHORTEST_NAME {
            let room = widths[0].saturating_sub(over).max(SHORTEST_NAME);
            texts[0].iter_mut().for_each(|name| *name = shortened(name, room));
            widths[0] = widest(0, &texts[0]);
        }
        (texts, widths)
    }
}

/// The start and the end of a name that has no room.
fn shortened(name: &str, room: usize) -> String {
    let count = width(name);
    if count <= room {
        return name.to_owned();
    }
    let head = (room - 1) / 2;
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(count - (room - 1 - head)).collect();
    format!("{start}…{end}")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, w: usize, left: bool, gap: bool) -> String {
    let missing = " ".repeat(w.saturating_sub(width(text)));
    let gap = if gap { "  " } else { "" };
    if left { format!("{gap}{text}{missing}") } else { format!("{gap}{missing}{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_are_counted_from_the_first() {
        for (value, digits, text) in [
            (15.061_872_271_3, 5, "15.062"),
            (-3_482_258.634_59, 10, "-3482258.635"),
            (0.000_012_3, 5, "0.0000123"),
            (1.5e-9, 5, "1.5e-9"),
            (123_456_789.0, 3, "1.23e8"),
            (2.0, 10, "2"),
            (1234.0, 2, "1200"),
        ] {
            assert_eq!(significant(value, digits), text);
        }
    }

    #[test]
    fn digits_beyond_the_certain_ones_are_faint_or_left_out() {
        let plain = Cell::certain(1.234_567_891, Some(4.3), 10, Ink::Plain);
        assert_eq!((plain.text.as_str(), plain.faint.as_str()), ("1.235", ""));
        let certain = Cell::certain(1.234_111, Some(4.0), 7, Ink::Colour);
        assert_eq!((certain.text.as_str(), certain.faint.as_str()), ("1.234", "111"));
        assert_eq!(Cell::certain(3e11, Some(0.2), 10, Ink::Plain).text, "≈");
        assert_eq!(Cell::certain(0.0, Some(0.0), 10, Ink::Plain).text, "0");
    }

    #[test]
    fn columns_without_values_are_left_out() {
        let mut sheet = Sheet::new(&["term", "estimate", "error"]);
        sheet.push(vec![Cell::new("a"), Cell::new("1.5"), Cell::none()]);
        sheet.push(vec![Cell::new("bc"), Cell::new("-10"), Cell::none()]);
        assert_eq!(
            sheet.block().render(Ink::Plain),
            "term  estimate\n──────────────\na          1.5\nbc       -10\n"
        );
    }

    #[test]
    fn points_are_aligned_only_where_there_is_room_and_long_names_are_cut() {
        let name = |i: usize| format!("{}{i}", "a very long name of a column ".repeat(4));
        let mut sheet = Sheet::new(&["term", "a", "b", "c", "d", "e"]);
        for (i, value) in ["1234567.5", "0.0001234567"].iter().enumerate() {
            let mut row = vec![Cell::new(name(i))];
            row.resize(6, Cell::new(*value));
            sheet.push(row);
        }
        let page = sheet.block().render(Ink::Plain);
        assert!(page.lines().all(|line| line.chars().count() <= crate::WIDTH), "{page}");
        assert!(page.contains('…') && page.contains("column 0 ") && page.contains("0.0001234567"), "{page}");
    }
}
