//! Detects findings that say the same thing. Two tiers, because words alone cannot tell: a near-certain repeat is
//! refused, a possible one goes back to the model once. Separate from the desk, because text and place are weighed
//! without knowing who asks.

mod fingerprint;

pub use fingerprint::Fingerprint;

use crate::domain::{Finding, Score, Thread, Trust};

/// The similarity of two findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    Different,
    Possible,
    NearCertain,
}

/// The agreement of two texts, from 0 to 1, as each tier counts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// See [`Fingerprint::share`].
    pub share: f64,
    /// See [`Fingerprint::certainty`].
    pub certainty: f64,
}

/// The share and the certainty from which texts count as alike; `make eval` measures them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bars {
    pub possible: f64,
    pub near_certain: f64,
}

impl Bars {
    /// The lower bar is set where restatements are rarely missed, the upper one where what is left of mistakes is
    /// mostly a matter of opinion.
    pub const SHIPPED: Self = Self {
        possible: 0.26,
        near_certain: 0.60,
    };

    #[must_use]
    pub fn likeness(self, agreement: Agreement) -> Likeness {
        if agreement.share < self.possible {
            Likeness::Different
        } else if agreement.certainty < self.near_certain {
            Likeness::Possible
        } else {
            Likeness::NearCertain
        }
    }
}

/// Compares two texts, wherever they stand.
#[cfg(test)]
fn text_likeness(a: &str, b: &str) -> Likeness {
    Fingerprint::new(a).likeness(&Fingerprint::new(b))
}

impl Fingerprint {
    /// Compares the texts, wherever they stand.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> Likeness {
        Bars::SHIPPED.likeness(self.agreement(other))
    }

    #[must_use]
    pub fn agreement(&self, other: &Self) -> Agreement {
        Agreement {
            share: self.share(other),
            certainty: self.certainty(other),
        }
    }
}

/// A finding's text and place, as far as repetition is concerned.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    pub finding: &'a str,
    pub assessment: &'a str,
    pub line: Option<u32>,
    pub anchor_hash: Option<&'a str>,
}

/// A claim made ready for many comparisons.
#[derive(Debug, Clone)]
pub(crate) struct Mark<'a> {
    finding: Fingerprint,
    /// Finding and assessment together.
    whole: Fingerprint,
    line: Option<u32>,
    anchor_hash: Option<&'a str>,
}

impl<'a> From<&'a Finding> for Claim<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            finding: &finding.assessment.finding,
            assessment: finding.assessment.as_given(),
            line: finding.line(),
            anchor_hash: Some(&finding.anchor_hash),
        }
    }
}

impl<'a> From<&'a Thread> for Claim<'a> {
    fn from(thread: &'a Thread) -> Self {
        Self {
            finding: &thread.assessment.finding,
            assessment: thread.assessment.as_given(),
            line: thread.line,
            anchor_hash: thread.anchor_hash.as_deref(),
        }
    }
}

impl<'a> Claim<'a> {
    #[must_use]
    pub(crate) fn mark(&self) -> Mark<'a> {
        Mark {
            finding: Fingerprint::new(self.finding),
            whole: Fingerprint::new(&format!("{}\n{}", self.finding, self.assessment)),
            line: self.line,
            anchor_hash: self.anchor_hash,
        }
    }
}

/// The thread that says the same as a finding. One without the reviewer's signature may be anybody's, and anybody's
/// word silences nothing that blocks.
#[must_use]
pub fn said_in<'t>(
    threads: &'t [Thread],
    finding: &Finding,
    blocking: Option<Score>,
) -> Option<&'t Thread> {
    let blocks = blocking.is_some_and(|from| finding.assessment.score >= from);
    let trusted = |thread: &&Thread| thread.trust == Trust::Signed || !blocks;
    let mut threads = threads.iter().filter(trusted);
    threads.find(|thread| is_same(finding, thread))
}

/// True if a thread says the same as a finding. The model cannot be asked any more, so at the same place a likeness is
/// enough: two runs looked at the same code at the same time.
fn is_same(finding: &Finding, thread: &Thread) -> bool {
    let (new, said) = (Claim::from(finding).mark(), Claim::from(thread).mark());
    finding.file == thread.file && new.is_near(&said) && new.likeness(&said) != Likeness::Different
}

/// Lines this close are the same place after small edits.
pub(crate) const NEAR: u32 = 6;

impl Mark<'_> {
    /// Compares two claims about the same file. The bars are measured on texts that give a defect and its consequence,
    /// so finding and assessment are compared together; two findings by themselves are too short for the lower bar, but
    /// where they agree well, other assessments change nothing. Only what stands at the same place can be near-certain.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> Likeness {
        let finding = self.finding.likeness(&other.finding);
        let text = if finding == Likeness::NearCertain {
            finding
        } else {
            self.whole.likeness(&other.whole)
        };
        let most = if self.is_near(other) {
            Likeness::NearCertain
        } else {
            Likeness::Possible
        };
        text.min(most)
    }

    /// A claim without a line is about the whole file, and near everything in it.
    #[must_use]
    pub(crate) fn is_near(&self, other: &Self) -> bool {
        let same_code = self.anchor_hash.is_some() && self.anchor_hash == other.anchor_hash;
        same_code
            || match (self.line, other.line) {
                (Some(a), Some(b)) => a.abs_diff(b) <= NEAR,
                _ => true,
            }
    }
}

/// Compares two claims about the same file; the lines as the diff maps them to the same commit.
#[must_use]
pub fn likeness(a: &Claim<'_>, b: &Claim<'_>) -> Likeness {
    a.mark().likeness(&b.mark())
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

    #[test]
    fn assessments_tell_short_findings_apart_and_do_not_part_those_that_agree() {
        let rounding = Claim {
            assessment: "Entries become unreachable unless the list fills its pages exactly.",
            ..claim("A partly filled last page is not counted.", 10)
        };
        let naming = Claim {
            assessment: "The function is two lines long and reads well enough.",
            ..claim("The name d does not say: last page.", 12)
        };
        let reworded = Claim {
            assessment: "Customers with few orders see none of them.",
            ..claim("The last page is not counted when partly filled", 12)
        };
        assert_eq!(
            text_likeness(rounding.finding, naming.finding),
            Likeness::Possible
        );
        assert_eq!(likeness(&rounding, &naming), Likeness::Different);
        assert_eq!(likeness(&rounding, &reworded), Likeness::NearCertain);
    }

    #[test]
    fn the_same_defect_of_the_same_name_in_other_words_is_a_repeat() {
        let first = "`parse_header` reads past the end of the buffer when the length field is larger than the packet.";
        let again = "When a packet's length field is too large, parse_header() reads beyond the end of its buffer";
        assert_eq!(text_likeness(first, again), Likeness::NearCertain);
    }

    #[test]
    fn a_loose_restatement_is_a_question() {
        let first = "The retry loop in `sendBatch` has no upper bound, so a dead endpoint keeps the worker busy forever.";
        let again =
            "sendBatch retries without any limit; add a maximum number of attempts with back-off.";
        assert_eq!(text_likeness(first, again), Likeness::Possible);
    }

    #[test]
    fn two_defects_of_one_function_are_two_findings() {
        let first = "The retry loop in `sendBatch` has no upper bound, so a dead endpoint keeps the worker busy forever.";
        let other = "`sendBatch` logs the whole request, including the customer's card number, at info level.";
        assert_eq!(text_likeness(first, other), Likeness::Different);
    }

    #[test]
    fn a_word_or_two_never_make_sure() {
        let long = "The lock is taken before the queue is drained, and the drain callback takes the same lock again.";
        assert_ne!(text_likeness("Lock.", long), Likeness::NearCertain);
        let name = "The name d does not say that it is the number of the last page.";
        assert_ne!(
            text_likeness("The last page is lost.", name),
            Likeness::NearCertain
        );
        assert_eq!(text_likeness("Lock.", "Lock!"), Likeness::NearCertain);
        assert_eq!(text_likeness("", ""), Likeness::Different);
    }
}
