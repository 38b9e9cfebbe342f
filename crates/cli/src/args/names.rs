//! Names of columns in one argument: `rooms,"size, m2"`.

use std::str::FromStr;

/// Names with commas between them; one that holds a comma stands in quotation marks, as in a text table, and a quotation mark
/// inside those is doubled.
#[derive(Clone, Debug)]
pub(crate) struct Names(pub(crate) Vec<String>);

impl FromStr for Names {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut names = Vec::new();
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (name, after) = match text.trim_start().strip_prefix('"') {
                Some(quoted) => quoted_name(quoted)?,
                None => match text.split_once(',') {
                    Some((name, after)) => (name.to_owned(), Some(after)),
                    None => (text.to_owned(), None),
                },
            };
            names.push(name);
            rest = after;
        }
        Ok(Names(names))
    }
}

/// The name up to its closing mark, and what follows the comma behind it.
fn quoted_name(text: &str) -> Result<(String, Option<&str>), &'static str> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('"').ok_or("a quotation mark is not closed")?;
        name.push_str(part);
        match (after.strip_prefix('"'), after.strip_prefix(',')) {
            (Some(after), _) => {
                name.push('"');
                rest = after;
            }
            (None, Some(after)) => return Ok((name, Some(after))),
            (None, None) if after.is_empty() => return Ok((name, None)),
            (None, None) => return Err("expected a comma behind a closing quotation mark"),
        }
    }
}

/// The names of an option that may be given several times.
pub(crate) fn all(given: &[Names]) -> Vec<String> {
    given.iter().flat_map(|names| &names.0).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<String>, &'static str> {
        text.parse().map(|names: Names| names.0)
    }

    #[test]
    fn names_stand_between_commas_and_those_with_a_comma_in_quotation_marks() {
        for (text, names) in [
            ("a", &["a"] as &[&str]),
            ("a,b c,d", &["a", "b c", "d"]),
            ("\"size, m2\"", &["size, m2"]),
            ("rooms,\"size, m2\",price", &["rooms", "size, m2", "price"]),
            ("\"a\",\"b\"", &["a", "b"]),
            ("rooms, \"size, m2\"", &["rooms", "size, m2"]),
            ("\"5\"\" wide\",b", &["5\" wide", "b"]),
            ("5\" wide,b", &["5\" wide", "b"]),
            ("a,", &["a", ""]),
        ] {
            assert_eq!(parsed(text).unwrap(), names, "{text}");
        }
    }

    #[test]
    fn quotation_marks_that_do_not_close_or_end_inside_a_name_are_errors() {
        assert_eq!(parsed("\"a,b"), Err("a quotation mark is not closed"));
        assert_eq!(parsed("\"a\"b,c"), Err("expected a comma behind a closing quotation mark"));
    }

    #[test]
    fn an_option_given_twice_adds_up() {
        let given = [Names(vec!["a".to_owned()]), Names(vec!["b".to_owned(), "c".to_owned()])];
        assert_eq!(all(&given), ["a", "b", "c"]);
    }
}
