//! Whether two findings say the same thing. Two tiers, because word overlap alone cannot tell: a near-certain
//! repeat is refused, a possible one goes back to the model once.

use std::collections::HashSet;

/// Words that carry no meaning of their own in a review comment.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "does", "for",
    "from", "has", "have", "if", "in", "into", "is", "it", "its", "may", "might", "not", "of",
    "on", "or", "should", "so", "than", "that", "the", "their", "then", "there", "this", "to",
    "was", "when", "which", "while", "will", "with", "would", "you", "your",
];

/// How alike two findings of the same file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    Different,
    Possible,
    NearCertain,
}

/// A finding's text and place, as far as repetition is concerned.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    pub finding: &'a str,
    pub assessment: &'a str,
    pub line: Option<u32>,
    pub anchor_hash: Option<&'a str>,
}

/// Lines this close are the same place after small edits.
const NEAR: u32 = 6;

#[must_use]
pub fn likeness(a: &Claim<'_>, b: &Claim<'_>) -> Likeness {
    let same_code = a.anchor_hash.is_some() && a.anchor_hash == b.anchor_hash;
    let near = same_code
        || match (a.line, b.line) {
            (Some(a), Some(b)) => a.abs_diff(b) <= NEAR,
            _ => true,
        };
    let finding = overlap(&words(a.finding), &words(b.finding));
    let whole = overlap(
        &words(&format!("{} {}", a.finding, a.assessment)),
        &words(&format!("{} {}", b.finding, b.assessment)),
    );
    if near && (finding >= 0.6 || whole >= 0.6) {
        Likeness::NearCertain
    } else if (near && whole >= 0.3) || finding >= 0.5 {
        Likeness::Possible
    } else {
        Likeness::Different
    }
}

/// Significant words in a common form: lower case, without plural and common verb endings.
fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map(str::to_lowercase)
        .filter(|word| word.len() > 1 && !STOP_WORDS.contains(&word.as_str()))
        .map(|word| stem(&word))
        .collect()
}

fn stem(word: &str) -> String {
    for ending in ["ing", "ed", "es", "s"] {
        if let Some(root) = word.strip_suffix(ending)
            && root.chars().count() >= 4
        {
            return root.to_owned();
        }
    }
    word.to_owned()
}

/// The share of the smaller set that both have.
fn overlap(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let smaller = a.len().min(b.len());
    if smaller < 3 {
        return f64::from(u8::from(a == b && smaller > 0));
    }
    #[expect(clippy::cast_precision_loss, reason = "a comment has no 2^52 words")]
    let share = a.intersection(b).count() as f64 / smaller as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(finding: &str, line: u32) -> Claim<'_> {
        Claim {
            finding,
            assessment: "",
            line: Some(line),
            anchor_hash: None,
        }
    }

    #[test]
    fn the_same_sentence_nearby_is_a_repeat_and_far_away_a_question() {
        let first = claim("The user id is concatenated into the SQL query.", 10);
        let again = claim("User id concatenated into SQL query", 12);
        let far = claim("User id concatenated into SQL query", 90);
        assert_eq!(likeness(&first, &again), Likeness::NearCertain);
        assert_eq!(likeness(&first, &far), Likeness::Possible);
    }

    #[test]
    fn another_defect_on_the_same_line_is_another_finding() {
        let injection = claim("The user id is concatenated into the SQL query.", 10);
        let leak = claim("The connection is never returned to the pool on error.", 10);
        assert_eq!(likeness(&injection, &leak), Likeness::Different);
    }

    #[test]
    fn the_same_code_elsewhere_counts_as_near() {
        let moved = Claim {
            anchor_hash: Some("h"),
            ..claim("Off by one in the page loop", 5)
        };
        let now = Claim {
            anchor_hash: Some("h"),
            ..claim("The page loop is off by one", 500)
        };
        assert_eq!(likeness(&moved, &now), Likeness::NearCertain);
    }
}
