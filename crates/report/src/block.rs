//! Text with ink: lines of styled pieces, put below and beside one another before any colour is written.

/// Whether colour may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Plain text.
    #[default]
    Plain,
    /// ANSI colour and weight.
    Colour,
}

/// What a piece of text is, not how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Text,
    Heading,
    Faint,
    Accent,
    Good,
    Bad,
}

impl Style {
    fn code(self) -> Option<&'static str> {
        match self {
            Style::Text => None,
            Style::Heading => Some("\x1b[1m"),
            Style::Faint => Some("\x1b[2m"),
            Style::Accent => Some("\x1b[36m"),
            Style::Good => Some("\x1b[32m"),
            Style::Bad => Some("\x1b[1;31m"),
        }
    }
}

/// One line of styled pieces. No character is wider than a column, and none combines with another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Style, String)>);

impl Line {
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        Line::default().and(style, text)
    }

    #[must_use]
    pub(crate) fn and(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }
}

/// Lines one below another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block(Vec<Line>);

impl Block {
    pub(crate) fn push(&mut self, line: Line) {
        self.0.push(line);
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.push(Line::new(Style::Text, text));
    }

    pub(crate) fn blank(&mut self) {
        self.push(Line::default());
    }

    pub(crate) fn append(&mut self, other: Block) {
        self.0.extend(other.0);
    }

    /// `other`, moved to the right.
    pub(crate) fn append_indented(&mut self, indent: usize, other: Block) {
        for line in other.0 {
            let mut moved = Line::new(Style::Text, " ".repeat(if line.width() == 0 { 0 } else { indent }));
            moved.0.extend(line.0);
            self.push(moved);
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(Line::width).max().unwrap_or(0)
    }

    pub(crate) fn height(&self) -> usize {
        self.0.len()
    }

    /// The text, with ANSI codes only for [`Ink::Colour`], and nothing at the end of a line.
    pub(crate) fn render(&self, ink: Ink) -> String {
        let mut out = String::new();
        for line in &self.0 {
            let end = out.len();
            let mut visible_end = end;
            for (style, text) in &line.0 {
                let code = style.code().filter(|_| ink == Ink::Colour && !text.trim().is_empty());
                out.extend(code);
                out.push_str(text);
                out.extend(code.map(|_| "\x1b[0m"));
                if !text.trim_end().is_empty() {
                    let padding = if code.is_some() { 0 } else { text.len() - text.trim_end().len() };
                    visible_end = out.len() - padding;
                }
            }
            out.truncate(visible_end);
            out.push('\n');
        }
        out
    }
}

/// Blocks beside one another, `gap` columns apart, in as many rows of blocks as `width` needs.
pub(crate) fn flow(blocks: Vec<Block>, width: usize, gap: usize) -> Block {
    let mut page = Block::default();
    let mut row: Vec<Block> = Vec::new();
    let mut used = 0;
    for block in blocks {
        if !row.is_empty() && used + gap + block.width() > width {
            page.append(beside(std::mem::take(&mut row), gap));
            page.blank();
            used = 0;
        }
        used += block.width() + if row.is_empty() { 0 } else { gap };
        row.push(block);
    }
    page.append(beside(row, gap));
    page
}

fn beside(blocks: Vec<Block>, gap: usize) -> Block {
    let height = blocks.iter().map(Block::height).max().unwrap_or(0);
    let mut rows = vec![Line::default(); height];
    let mut at = 0;
    for block in blocks {
        let width = block.width();
        for (row, line) in rows.iter_mut().zip(block.0) {
            let missing = at - row.width();
            row.0.push((Style::Text, " ".repeat(missing)));
            row.0.extend(line.0);
        }
        at += width + gap;
    }
    Block(rows)
}

/// Words broken into lines of at most `width` columns.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &[&str]) -> Block {
        let mut block = Block::default();
        for line in lines {
            block.text(*line);
        }
        block
    }

    #[test]
    fn blocks_stand_beside_one_another_as_long_as_they_fit() {
        let blocks = || vec![block(&["ab", "c"]), block(&["d"]), block(&["e", "f"])];
        assert_eq!(flow(blocks(), 8, 2).render(Ink::Plain), "ab  d  e\nc      f\n");
        assert_eq!(flow(blocks(), 5, 2).render(Ink::Plain), "ab  d\nc\n\ne\nf\n");
    }

    #[test]
    fn plain_ink_has_no_codes_and_no_line_ends_in_a_space() {
        let line = Line::new(Style::Good, "yes ").and(Style::Text, "  ");
        let block = Block(vec![line]);
        assert_eq!(block.render(Ink::Plain), "yes\n");
        assert_eq!(block.render(Ink::Colour), "\x1b[32myes \x1b[0m\n");
    }

    #[test]
    fn words_are_wrapped_at_the_width() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
    }
}
