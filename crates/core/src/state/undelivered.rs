//! Findings that a review has made and could not post, in the record that it leaves: the next run posts them in the
//! same words, without asking the model again.

use crate::domain::{
    Anchor, Argued, Assessment, Contest, Finding, PASSES, Score, Side, Support, ToolRule,
};
use serde::{Deserialize, Serialize};

/// A check run's text takes 65,535 characters, and the record has to hold its account, too.
const MOST_BYTES: usize = 24_000;

/// A finding, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undelivered {
    pub id: String,
    file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Lines>,
    anchor: String,
    body: String,
    finding: String,
    assessment: String,
    score: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    pass: u8,
    reviewer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    panel: Option<Panel>,
    /// The tools and rules of static analysis that reported it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rules: Vec<(String, String)>,
}

/// The support of a finding among several reviewers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Panel {
    of: usize,
    raised_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    verified_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    places: Vec<String>,
    /// The arguments for and against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contest: Option<[Vec<Argument>; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withdrawn_by: Vec<String>,
}

/// The name of a reviewer, its reason, and a quote.
type Argument = (String, String, Option<String>);

fn stored(argued: &Argued) -> Argument {
    let Argued { by, reason, quote } = argued.clone();
    (by, reason, quote)
}

fn restored((by, reason, quote): Argument) -> Argued {
    Argued { by, reason, quote }
}

impl Panel {
    fn of(support: &Support) -> Option<Self> {
        let contest = support.contest.as_ref();
        (support.panel > 0).then(|| Self {
            of: support.panel,
            raised_by: support.raised_by.clone(),
            verified_by: support.verified_by.clone(),
            places: support.places.clone(),
            withdrawn_by: contest
                .map(|one| one.withdrawn_by.clone())
                .unwrap_or_default(),
            contest: contest.map(|one| {
                [&one.support, &one.objections].map(|side| side.iter().map(stored).collect())
            }),
        })
    }

    fn support(&self) -> Support {
        let contest = self.contest.clone();
        Support {
            raised_by: self.raised_by.clone(),
            verified_by: self.verified_by.clone(),
            panel: self.of,
            places: self.places.clone(),
            proof: None,
            found_by: Vec::new(),
            contest: contest.map(|[support, objections]| Contest {
                withdrawn_by: self.withdrawn_by.clone(),
                support: support.into_iter().map(restored).collect(),
                objections: objections.into_iter().map(restored).collect(),
            }),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Lines {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<u32>,
    line: u32,
}

impl From<&Finding> for Undelivered {
    fn from(finding: &Finding) -> Self {
        let lines = match finding.anchor {
            Anchor::File => None,
            Anchor::Line { side, start, line } => Some(Lines {
                removed: side == Side::Left,
                start,
                line,
            }),
        };
        Self {
            id: finding.id.to_string(),
            file: finding.file.clone(),
            lines,
            anchor: finding.anchor_hash.clone(),
            body: finding.body.clone(),
            finding: finding.assessment.finding.clone(),
            assessment: finding.assessment.assessment.clone(),
            score: finding.assessment.score.get(),
            category: finding.category.map(|category| category.to_string()),
            pass: finding.pass.get(),
            reviewer: finding.reviewer.clone(),
            panel: Panel::of(&finding.support),
            rules: {
                let rules = finding.support.found_by.iter().cloned();
                rules.map(|ToolRule { tool, rule }| (tool, rule)).collect()
            },
        }
    }
}

impl Undelivered {
    /// `None`: it is not one of the reviewer's.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let anchor = self.lines.map_or(Anchor::File, |lines| Anchor::Line {
            side: if lines.removed {
                Side::Left
            } else {
                Side::Right
            },
            start: lines.start,
            line: lines.line,
        });
        Some(Finding {
            id: self.id.parse().ok()?,
            file: self.file.clone(),
            anchor,
            anchor_hash: self.anchor.clone(),
            body: self.body.clone(),
            assessment: Assessment {
                finding: self.finding.clone(),
                assessment: self.assessment.clone(),
                score: Score::new(self.score.into())?,
            },
            category: self.category.as_deref().and_then(|name| name.parse().ok()),
            pass: PASSES.number(self.pass.into())?,
            reviewer: self.reviewer.clone(),
            support: self.support(),
        })
    }

    fn support(&self) -> Support {
        let rules = self.rules.iter();
        let found_by = rules.map(|(tool, rule)| ToolRule::new(tool, rule));
        Support {
            found_by: found_by.collect(),
            ..self.panel.as_ref().map(Panel::support).unwrap_or_default()
        }
    }

    /// Its length in a record, where angle brackets are escaped.
    fn bytes(&self) -> usize {
        let json = serde_json::to_string(self).unwrap_or_default();
        json.len() + 5 * json.matches(['<', '>']).count()
    }
}

/// The findings as a record holds them; `None` where it cannot hold them all.
#[must_use]
pub fn all<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Option<Vec<Undelivered>> {
    let undelivered: Vec<Undelivered> = findings.into_iter().map(Undelivered::from).collect();
    let bytes: usize = undelivered.iter().map(Undelivered::bytes).sum();
    (bytes <= MOST_BYTES).then_some(undelivered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Category;
    use crate::state::block::Listed;
    use crate::state::record::Record;

    fn finding(anchor: Anchor, body: &str) -> Finding {
        Finding {
            id: "0123456789abcdef".parse().unwrap(),
            file: "src/a b.ts".into(),
            anchor,
            anchor_hash: "689c49197975c92d".into(),
            body: body.into(),
            assessment: Assessment {
                finding: "The last page is lost.".into(),
                assessment: "Level 7.".into(),
                score: Score::new(7).unwrap(),
            },
            category: Some(Category::Logic),
            pass: PASSES.number(4).unwrap(),
            reviewer: "senior".into(),
            support: Support {
                raised_by: vec!["general".into()],
                panel: 2,
                contest: Some(Contest::default()),
                found_by: vec![ToolRule::new("semgrep", "xss")],
                ..Support::default()
            },
        }
    }

    #[test]
    fn what_is_owed_is_not_listed_as_said() {
        let listed = |id: &str| Listed {
            id: id.into(),
            score: 7,
        };
        let mut record = Record {
            findings: vec![listed("0123456789abcdef"), listed("f1")],
            ..Record::default()
        };
        record.set_undelivered(vec![Undelivered::from(&finding(Anchor::File, "Words."))]);
        let said: Vec<&str> = record.findings.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(said, ["f1"]);
        assert_eq!(record.undelivered.len(), 1);
    }

    #[test]
    fn records_of_earlier_versions_are_read_by_the_same_names() {
        let mut record = Record {
            delivered: vec!["f1".into()],
            ..Record::default()
        };
        record.set_undelivered(vec![Undelivered::from(&finding(Anchor::File, "Words."))]);
        let json = serde_json::to_value(&record).unwrap();
        assert_eq!(json["owed"][0]["id"], "0123456789abcdef");
        assert_eq!(json["settled"][0], "f1");
        assert_eq!(serde_json::from_value::<Record>(json).unwrap(), record);
    }

    #[test]
    fn a_finding_comes_back_as_it_was() {
        let anchors = [
            Anchor::File,
            Anchor::Line {
                side: Side::Left,
                start: None,
                line: 8,
            },
            Anchor::Line {
                side: Side::Right,
                start: Some(3),
                line: 8,
            },
        ];
        for anchor in anchors {
            let finding = finding(anchor, "Words <b>and</b> `code`.");
            let json = serde_json::to_string(&Undelivered::from(&finding)).unwrap();
            let undelivered: Undelivered = serde_json::from_str(&json).unwrap();
            assert_eq!(undelivered.finding(), Some(finding));
        }
    }

    #[test]
    fn what_a_record_cannot_hold_is_not_promised() {
        let long = finding(Anchor::File, &"word ".repeat(2_000));
        assert_eq!(
            all([&long, &long]).map(|undelivered| undelivered.len()),
            Some(2)
        );
        assert_eq!(all([&long, &long, &long]), None);
        let brackets = finding(Anchor::File, &"<".repeat(5_000));
        assert_eq!(all([&brackets]), None);
    }

    #[test]
    fn nonsense_is_nobodys_finding() {
        let odd = Undelivered {
            score: 11,
            ..Undelivered::from(&finding(Anchor::File, "Words."))
        };
        assert_eq!(odd.finding(), None);
    }
}
