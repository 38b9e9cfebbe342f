//! A worked example as a page: results first, then every step, what follows, and pictures.

use crate::WIDTH;
use crate::block::{Block, Ink, Line, Style, flow, wrapped};
use crate::grid::{COLUMNS, ROWS, array_block, cells};
use crate::number::{inline, number_text, residual_text, shape_text};
use crate::picture::picture_block;
use spanwise_lens::example::Entry;
use spanwise_lens::linear::counted;
use spanwise_lens::{Claim, Combination, Dot, Headline, Lesson, Part, Step, Term, Working};

/// How it was computed.
const FOOTER: &str =
    "Computed in f64. A tolerance is (operations)·ε·Σ|terms|, with ε = 2.2e-16 the spacing of f64 at 1.";

const INDENT: usize = 3;
const GAP: usize = 4;

/// The page of one example.
pub fn lesson_text(lesson: &Lesson, ink: Ink) -> String {
    let mut page = Block::default();
    page.push(
        Line::new(Style::Faint, format!("Example {} · ", lesson.number)).and(Style::Heading, lesson.title),
    );
    page.push(Line::new(Style::Faint, "─".repeat(WIDTH)));
    for line in wrapped(lesson.problem, WIDTH) {
        page.text(line);
    }
    page.blank();
    for headline in &lesson.headlines {
        page.append_indented(INDENT, headline_block(headline));
    }
    page.append_indented(INDENT, verdict(lesson));
    for (at, part) in lesson.parts.iter().enumerate() {
        page.blank();
        page.append(part_block(at + 1, part));
    }
    page.blank();
    page.push(Line::new(Style::Faint, FOOTER));
    page.render(ink)
}

/// The list of examples.
pub fn catalogue_text(entries: &[Entry], ink: Ink) -> String {
    let mut page = Block::default();
    for entry in entries {
        page.push(
            Line::new(Style::Accent, format!("{:>3}  ", entry.number)).and(Style::Heading, entry.title),
        );
        for line in wrapped(entry.problem, WIDTH - 5) {
            page.text(format!("     {line}"));
        }
        page.push(Line::new(Style::Faint, format!("     inputs: {}", entry.inputs)));
        page.blank();
    }
    page.push(Line::new(
        Style::Faint,
        "Run one with `spanwise example 66`; change an input with `--w \"1,1\"`.",
    ));
    page.render(ink)
}

fn verdict(lesson: &Lesson) -> Block {
    let (all, failed) = (lesson.claims().count(), lesson.claims().filter(|claim| !claim.holds).count());
    let mut block = Block::default();
    block.push(match failed {
        0 if all == 1 => Line::new(Style::Good, "✓ the claim holds"),
        0 => Line::new(Style::Good, format!("✓ all {all} claims hold")),
        _ => {
            let (all, fail) = (counted(all, "claim", "claims"), if failed == 1 { "fails" } else { "fail" });
            Line::new(Style::Bad, format!("✗ {failed} of {all} {fail}"))
        }
    });
    block
}

/// `ŷ = Xw = [0, 2, 4] = 2·X[:,0] − 1·X[:,1]`. What does not fit the line gives way to the numbers: first the formula,
/// then the sum, then the remark; numbers that do not fit alone are left to the steps below.
fn headline_block(headline: &Headline) -> Block {
    let width = WIDTH - INDENT;
    let (symbol, formula) = headline.equation.split_once(" = ").unwrap_or((&headline.equation, ""));
    let room = |before: usize| width.saturating_sub(symbol.chars().count() + before + 3);
    let mut text;
    if let Some(value) = inline(&headline.value, room(formula.chars().count() + 3)) {
        text = format!(" = {formula} = {value}");
    } else if let Some(value) = inline(&headline.value, room(0)) {
        text = format!(" = {value}");
    } else {
        text = format!(" = {formula}, of shape {}", shape_text(headline.value.dims()));
    }
    let as_sum = weighted_sum(&headline.combination);
    for (joint, rest) in [(" = ", as_sum), (", ", headline.remark.clone())] {
        if let Some(rest) = rest
            && text.chars().count() + joint.len() + rest.chars().count() <= room(0) + 3
        {
            text.push_str(joint);
            text.push_str(&rest);
        }
    }
    let mut block = Block::default();
    block.push(Line::new(Style::Heading, symbol).and(Style::Text, text));
    block
}

/// `2·X[:,0] − 1·X[:,1]`; `None` for no terms or very many.
fn weighted_sum(terms: &[Term]) -> Option<String> {
    if terms.is_empty() || terms.len() > COLUMNS {
        return None;
    }
    let mut text = String::new();
    for (at, term) in terms.iter().enumerate() {
        // A sign bit of zero is no sign to show.
        let negative = term.coefficient < 0.0;
        text.push_str(match (at, negative) {
            (0, true) => "−",
            (0, false) => "",
            (_, true) => " − ",
            (_, false) => " + ",
        });
        text.push_str(&scaled(term.coefficient.abs(), &term.vector));
    }
    Some(text)
}

fn scaled(coefficient: f64, vector: &str) -> String {
    format!("{}·{vector}", number_text(coefficient))
}

fn part_block(number: usize, part: &Part) -> Block {
    let mut block = Block::default();
    let rule = WIDTH.saturating_sub(INDENT + part.title.chars().count() + 1);
    let heading = Line::new(Style::Heading, format!("{number}  {} ", part.title));
    block.push(heading.and(Style::Faint, "─".repeat(rule)));
    let mut blocks: Vec<Block> = part.steps.iter().map(step_block).collect();
    let mut pictures: Vec<Block> = part.pictures.iter().map(picture_block).collect();
    // The last sum and the weights stand on the left of the plot, where all three fit.
    if let ([.., last], [weights, plot]) = (&blocks[..], &pictures[..])
        && last.width().max(weights.width()) + GAP + plot.width() <= WIDTH - INDENT
    {
        let mut left = last.clone();
        left.blank();
        left.append(weights.clone());
        pictures = vec![left, plot.clone()];
        blocks.pop();
    }
    block.append_indented(INDENT, flow(blocks, WIDTH - INDENT, GAP));
    block.blank();
    if !pictures.is_empty() {
        block.append_indented(INDENT, flow(pictures, WIDTH - INDENT, GAP));
        block.blank();
    }
    part.claims.iter().for_each(|claim| block.append_indented(INDENT, claim_block(claim)));
    block
}

/// Title, shape and note; then the arithmetic or the numbers.
fn step_block(step: &Step) -> Block {
    let mut block = Block::default();
    let title = match &step.formula {
        Some(formula) => format!("{} = {formula}", step.symbol),
        None => step.symbol.clone(),
    };
    block.push(Line::new(Style::Heading, title));
    block.push(Line::new(Style::Faint, format!("{} {}", shape_text(&step.shape), step.note)));
    match &step.working {
        Working::Dots(dots) => {
            dots.iter().take(ROWS).for_each(|dot| block.text(dot_text(dot)));
            block.append(more(dots.len(), ROWS, "rows"));
            if let Some(value) = inline(&step.value, WIDTH / 2) {
                block.text(format!("{} = {value}", step.symbol));
            }
        }
        Working::Combinations(combinations) => {
            let shown = combinations.iter().take(ROWS / 2).map(combination_block).collect();
            block.append(flow(shown, WIDTH - INDENT, GAP));
            block.append(more(combinations.len(), ROWS / 2, "rows"));
        }
        _ => block.append(array_block(&step.value, ROWS, COLUMNS)),
    }
    block
}

fn more(all: usize, shown: usize, what: &str) -> Block {
    let mut block = Block::default();
    if all > shown {
        block.push(Line::new(Style::Faint, format!("… {} more {what}", all - shown)));
    }
    block
}

/// `ŷ[0] = 1·2 + 2·(-1) = 0`.
fn dot_text(dot: &Dot) -> String {
    let factor = |x: f64| if x < 0.0 { format!("({})", number_text(x)) } else { number_text(x) };
    let pairs = dot.left.iter().zip(&dot.right);
    let mut products: Vec<String> =
        pairs.take(COLUMNS / 2).map(|(&l, &r)| format!("{}·{}", factor(l), factor(r))).collect();
    if dot.left.len() > COLUMNS / 2 {
        products.push("…".to_owned());
    }
    format!("{} = {} = {}", dot.target, products.join(" + "), number_text(dot.value))
}

/// The terms below one another, a rule, and their sum.
fn combination_block(combination: &Combination) -> Block {
    let shown = combination.terms.len().min(ROWS);
    let width = combination.sum.len().min(COLUMNS);
    let cut = |values: &[f64]| values[..width].to_vec();
    let rows: Vec<Vec<f64>> = combination.terms[..shown]
        .iter()
        .map(|term| cut(&term.value))
        .chain([cut(&combination.sum)])
        .collect();
    let names: Vec<String> = combination.terms[..shown]
        .iter()
        .map(|term| scaled(term.coefficient, &term.vector))
        .chain([combination.target.clone()])
        .collect();
    let label = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let dots = if width < combination.sum.len() { ", …" } else { "" };
    let mut lines: Vec<String> = names
        .iter()
        .zip(cells(&rows))
        .map(|(name, cells)| format!("{name:>label$} = [{}{dots}]", cells.join(", ")))
        .collect();
    let total = lines.pop().unwrap_or_default();
    let mut block = Block::default();
    let rule = "─".repeat(total.chars().count());
    for line in lines {
        block.text(line);
    }
    block.append(more(combination.terms.len(), shown, "terms"));
    block.push(Line::new(Style::Faint, rule));
    block.push(Line::new(Style::Accent, total));
    block
}

/// A mark and a word, the statement, and in smaller type how it was checked.
fn claim_block(claim: &Claim) -> Block {
    let mut block = Block::default();
    let (style, verdict) =
        if claim.holds { (Style::Good, "✓ holds  ") } else { (Style::Bad, "✗ fails  ") };
    let margin = verdict.chars().count();
    let mut statement = wrapped(&claim.statement, WIDTH - INDENT - margin).into_iter();
    block.push(Line::new(style, verdict).and(Style::Text, statement.next().unwrap_or_default()));
    statement.for_each(|line| block.text(format!("{:margin$}{line}", "")));
    let residual = residual_text(claim.residual);
    let bound = match (claim.rule.as_str(), claim.holds) {
        ("exact", true) => ", exactly".to_owned(),
        ("exact", false) => ", not 0".to_owned(),
        (rule, true) => format!(" ≤ {} = {rule}", residual_text(claim.tolerance)),
        (rule, false) => format!(", not ≤ {} = {rule}", residual_text(claim.tolerance)),
    };
    block.push(Line::new(Style::Faint, format!("{:margin$}{} = {residual}{bound}", "", claim.check)));
    block
}
