//! The name a user probably meant.

/// The nearest of `known` to `name`, where it is near enough to be a slip: at most a third of its letters differ.
pub(crate) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let folded: Vec<char> = name.to_lowercase().chars().collect();
    let allowed = (folded.len() / 3).max(1);
    known
        .iter()
        .map(|candidate| (distance(&folded, &candidate.to_lowercase()), candidate.as_str()))
        .filter(|&(d, candidate)| d <= allowed && d < candidate.chars().count())
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one text to the other.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // Rows i − 2, i − 1 and i of the table of prefix distances, each of b.len() + 1 entries.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_and_a_stranger_does_not() {
        let known: Vec<String> = ["height", "weight", "age", "q"].map(str::to_owned).into();
        assert_eq!(nearest("wieght", &known), Some("weight"));
        assert_eq!(nearest("Height", &known), Some("height"));
        assert_eq!(nearest("ag", &known), Some("age"));
        assert_eq!(nearest("salary", &known), None);
        assert_eq!(nearest("k", &known), None);
    }
}
