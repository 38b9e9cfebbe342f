//! Matrices with aligned columns.

use crate::block::{Block, Line, Style};
use crate::number::{number_text, shape_text};
use spanwise_lens::Array;

/// How much of a large array is shown.
pub(crate) const ROWS: usize = 12;
pub(crate) const COLUMNS: usize = 8;

/// Numbers of one column padded so that their decimal points stand below one another.
pub(crate) fn aligned(column: &[String]) -> Vec<String> {
    let split = |text: &str| text.find(['.', 'e']).unwrap_or(text.len());
    let width = |text: &str| text.chars().count();
    let before = column.iter().map(|text| width(&text[..split(text)])).max().unwrap_or(0);
    let after = column.iter().map(|text| width(&text[split(text)..])).max().unwrap_or(0);
    let pad = |text: &String| {
        let (left, right) = text.split_at(split(text));
        format!("{left:>before$}{right:<after$}")
    };
    column.iter().map(pad).collect()
}

/// The rows' numbers as text, padded by column; rows are of one length.
pub(crate) fn cells(rows: &[Vec<f64>]) -> Vec<Vec<String>> {
    let width = rows.first().map_or(0, Vec::len);
    let columns = (0..width).map(|j| {
        let column: Vec<String> = rows.iter().map(|row| number_text(row[j])).collect();
        aligned(&column)
    });
    let columns: Vec<Vec<String>> = columns.collect();
    (0..rows.len()).map(|i| columns.iter().map(|column| column[i].clone()).collect()).collect()
}

/// A vector as `[0, 2, 4]`, a matrix in brackets, more dimensions as one matrix after another; large ones are cut, with
/// a word about it.
pub(crate) fn array_block(array: &Array, rows: usize, columns: usize) -> Block {
    let mut block = Block::default();
    match *array.dims() {
        [] => block.text(number_text(array.data()[0])),
        [n] => {
            let shown = n.min(columns);
            let text: Vec<String> = array.data()[..shown].iter().map(|&x| number_text(x)).collect();
            let more = if shown < n { ", …" } else { "" };
            block.text(format!("[{}{more}]", text.join(", ")));
            note_cut(&mut block, (1, 1), (shown, n));
        }
        [n, m] => {
            block.append(matrix_lines(array.data(), (n, m), (n.min(rows), m.min(columns))));
            note_cut(&mut block, (n.min(rows), n), (m.min(columns), m));
        }
        [ref leading @ .., n, m] => stacked(&mut block, array, leading, (n, m), (rows, columns)),
    }
    block
}

/// One matrix per leading index, as long as lines last.
fn stacked(
    block: &mut Block,
    array: &Array,
    leading: &[usize],
    (n, m): (usize, usize),
    (rows, columns): (usize, usize),
) {
    let count = leading.iter().product::<usize>();
    let shown = (n.min(rows), m.min(columns));
    let fitting = (2 * rows / shown.0.max(1)).clamp(1, 8).min(count);
    for at in 0..fitting {
        let index = match leading {
            [_, heads] => format!("[{}, {}]", at / heads, at % heads),
            _ => format!("[{at}]"),
        };
        block.push(Line::new(Style::Faint, index));
        block.append(matrix_lines(&array.data()[at * n * m..(at + 1) * n * m], (n, m), shown));
    }
    if fitting < count {
        let note = format!("… {} more of the {} leading indices", count - fitting, shape_text(leading));
        block.push(Line::new(Style::Faint, note));
    }
    note_cut(block, (shown.0, n), (shown.1, m));
}

fn matrix_lines(data: &[f64], (n, m): (usize, usize), (rows, columns): (usize, usize)) -> Block {
    let shown: Vec<Vec<f64>> = (0..rows).map(|i| data[i * m..i * m + columns].to_vec()).collect();
    let cells = cells(&shown);
    let mut block = Block::default();
    let cut_rows = rows < n;
    for (i, row) in cells.iter().enumerate() {
        let (left, right) = match (i, i + 1 == rows && !cut_rows) {
            (0, true) => ("[", "]"),
            (0, false) => ("⎡", "⎤"),
            (_, true) => ("⎣", "⎦"),
            (_, false) => ("⎢", "⎥"),
        };
        let more = if columns < m { "  …" } else { "" };
        block.text(format!("{left} {}{more} {right}", row.join("  ")));
    }
    if cut_rows {
        let inner = block.width().saturating_sub(4);
        block.text(format!("⎣ {:<inner$} ⎦", "⋮"));
    }
    block
}

fn note_cut(block: &mut Block, (rows, n): (usize, usize), (columns, m): (usize, usize)) {
    let part = |shown: usize, all: usize, word: &str| {
        if shown < all { Some(format!("{shown} of {all} {word}")) } else { None }
    };
    let parts: Vec<String> = part(rows, n, "rows").into_iter().chain(part(columns, m, "columns")).collect();
    if !parts.is_empty() {
        block.push(Line::new(Style::Faint, format!("first {}", parts.join(", "))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Ink;

    fn show(data: &[f64], dims: &[usize]) -> String {
        array_block(&Array::new(data.to_vec(), dims).unwrap(), ROWS, COLUMNS).render(Ink::Plain)
    }

    #[test]
    fn decimal_points_stand_below_one_another() {
        assert_eq!(show(&[1.0, -0.5, 10.25, 3.0], &[2, 2]), "⎡  1     -0.5 ⎤\n⎣ 10.25   3   ⎦\n");
        assert_eq!(show(&[1.0, 0.0], &[1, 2]), "[ 1  0 ]\n");
        assert_eq!(show(&[0.0, 2.0, 4.0], &[3]), "[0, 2, 4]\n");
    }

    #[test]
    fn large_arrays_are_cut_and_say_so() {
        let text = show(&vec![1.0; 20 * 10], &[20, 10]);
        assert_eq!(text.lines().count(), ROWS + 2);
        assert!(text.ends_with("first 12 of 20 rows, 8 of 10 columns\n"), "{text}");
        assert!(show(&[1.0; 9], &[9]).starts_with("[1, 1, 1, 1, 1, 1, 1, 1, …]\n"));
    }

    #[test]
    fn leading_dimensions_are_shown_one_after_another() {
        assert_eq!(show(&[1.0, 2.0], &[2, 1, 1]), "[0]\n[ 1 ]\n[1]\n[ 2 ]\n");
        assert_eq!(show(&[7.0], &[1, 1, 1, 1]), "[0, 0]\n[ 7 ]\n");
    }

    #[test]
    fn empty_arrays_have_nothing_to_show_and_do_no_harm() {
        assert_eq!(show(&[], &[0, 3]), "");
        assert_eq!(show(&[], &[2, 0]), "⎡  ⎤\n⎣  ⎦\n");
        assert_eq!(show(&[], &[0]), "[]\n");
        assert_eq!(show(&[], &[2, 0, 3]), "[0]\n[1]\n");
    }
}
