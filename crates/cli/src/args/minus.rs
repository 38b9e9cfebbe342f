//! Matrices that begin with a minus sign, where a table is named: `measure "-1,0;0,1"`.
//!
//! Options say of themselves that what follows may begin with a minus sign. For the table that would swallow every mistyped
//! option, so a word that begins with a negative number, and is no option's value, goes behind `--` instead.

use clap::{ArgAction, Command};
use std::ffi::OsString;

/// The words of the command line, matrices that begin with a minus sign last.
pub(crate) fn matrices_last(mut command: Command, words: Vec<OsString>) -> Vec<OsString> {
    command.build();
    let verb = words.iter().skip(1).find_map(|word| command.find_subcommand(word));
    let Some(verb) = verb else { return words };
    let takes_value = |word: &str| {
        let option = verb.get_arguments().find(|option| {
            option.get_long().is_some_and(|long| word.strip_prefix("--").is_some_and(|name| name == long))
        });
        option.is_some_and(|option| {
            matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
                && option.get_num_args().is_none_or(|count| count.min_values() > 0)
        })
    };
    let (mut kept, mut matrices, mut is_value) = (Vec::with_capacity(words.len() + 1), Vec::new(), false);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if !is_value && text == "--" {
            // The mark is set once, below; nothing behind it is an option.
            matrices.extend(words.by_ref());
        } else if !is_value && begins_with_minus(text) {
            matrices.push(word);
        } else {
            is_value = !is_value && takes_value(text);
            kept.push(word);
        }
    }
    if !matrices.is_empty() {
        kept.push("--".into());
        kept.extend(matrices);
    }
    kept
}

/// Whether the first entry is a negative number.
fn begins_with_minus(text: &str) -> bool {
    let ends = |c: char| matches!(c, ',' | ';') || c.is_whitespace();
    let first = text.split(ends).next().unwrap_or_default();
    text.starts_with('-') && first.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory;

    fn sorted(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let sorted = matrices_last(Cli::command(), words);
        sorted.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_table_that_begins_with_a_minus_sign_goes_last_and_values_of_options_stay() {
        for (line, expected) in [
            ("spanwise measure -1,0;0,1", "spanwise measure -- -1,0;0,1"),
            ("spanwise measure -1;2 --json", "spanwise measure --json -- -1;2"),
            ("spanwise measure --json -.5,2", "spanwise measure --json -- -.5,2"),
            ("spanwise measure -1,0 --span -2", "spanwise measure --span -2 -- -1,0"),
            ("spanwise measure --color never -inf,0", "spanwise measure --color never -- -inf,0"),
            ("spanwise --color never measure -1,0", "spanwise --color never measure -- -1,0"),
            ("spanwise measure --json -- -1,0", "spanwise measure --json -- -1,0"),
        ] {
            assert_eq!(sorted(line), expected);
        }
        for same in [
            "spanwise",
            "spanwise -1",
            "spanwise measure -x,0",
            "spanwise measure t.csv --exclud -1x",
            "spanwise solve --a -1,0;0,1 --b -1;2",
            "spanwise fit - --target y --lambdas -1,1",
        ] {
            assert_eq!(sorted(same), same);
        }
    }
}
