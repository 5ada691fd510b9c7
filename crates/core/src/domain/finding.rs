//! A finding: a claim about the change, with its place and its score.

use super::{Anchor, FindingId, PassNumber, Score, Side};
use reviewer_text::hidden::{is_hidden, visible};
use std::fmt;
use std::str::FromStr;

/// The content of a finding's visible block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// One sentence: what was found.
    pub finding: String,
    /// The reason why it matters.
    pub assessment: String,
    pub score: Score,
}

/// The beginning of the sentence that code adds to an assessment whose score it raised.
pub(crate) const RAISED: &str = "Raised by ";

impl Assessment {
    /// The assessment without the sentence about a raised score: the same claim may be weighed anew by another run.
    #[must_use]
    pub(crate) fn as_given(&self) -> &str {
        let text = self.assessment.as_str();
        let raised = text.rfind(RAISED).filter(|at| {
            let behind = &text[at + RAISED.len()..];
            behind.starts_with(|c: char| c.is_ascii_digit())
        });
        raised.map_or(text, |at| text[..at].trim_end())
    }
}

/// The kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    Security,
    Logic,
    Performance,
    Design,
    Rules,
    Docs,
    Style,
}

impl Category {
    pub const ALL: [Self; 7] = [
        Self::Security,
        Self::Logic,
        Self::Performance,
        Self::Design,
        Self::Rules,
        Self::Docs,
        Self::Style,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Logic => "logic",
            Self::Performance => "performance",
            Self::Design => "design",
            Self::Rules => "rules",
            Self::Docs => "docs",
            Self::Style => "style",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Category {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        Self::ALL
            .into_iter()
            .find(|c| c.as_str().eq_ignore_ascii_case(text))
            .ok_or(())
    }
}

/// A finding as it will be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub id: FindingId,
    /// The path at the head commit.
    pub file: String,
    pub anchor: Anchor,
    /// Hash of the code it was anchored to, with a neighbour each side.
    pub anchor_hash: String,
    /// The text for people.
    pub body: String,
    pub assessment: Assessment,
    pub category: Option<Category>,
    pub pass: PassNumber,
    /// The name of the reviewer in the run that made it.
    pub reviewer: String,
    pub support: Support,
}

/// The support that a finding has among several reviewers. Empty where one reviewer reviews alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Support {
    /// The names of those who raised it, each by itself.
    pub raised_by: Vec<String>,
    /// The names of others who confirmed it.
    pub verified_by: Vec<String>,
    /// The number of reviewers; 0 where there is no panel.
    pub panel: usize,
    pub contest: Option<Contest>,
    /// Other places with the same cause.
    pub places: Vec<String>,
    /// The name and the words of a check that fails at it.
    pub proof: Option<(String, String)>,
    /// The rules of static analysis that reported it, and that the reviewer confirmed.
    pub found_by: Vec<ToolRule>,
}

/// A rule of a static analysis tool. Both names are of others: on one line, without characters that hide, and not long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolRule {
    pub tool: String,
    /// Empty where the tool names none.
    pub rule: String,
}

impl ToolRule {
    #[must_use]
    pub fn new(tool: &str, rule: &str) -> Self {
        let tool = name(tool);
        Self {
            tool: if tool.is_empty() {
                UNNAMED.to_owned()
            } else {
                tool
            },
            rule: name(rule),
        }
    }
}

/// The longest name of a tool or of a rule, in characters.
const LONGEST_NAME: usize = 100;
const UNNAMED: &str = "an unnamed tool";

fn name(text: &str) -> String {
    let plain = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c });
    let plain: String = plain
        .filter(|c| !is_hidden(*c))
        .take(LONGEST_NAME)
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The arguments about a finding that blocks and that another reviewer refuted. A person decides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contest {
    /// The names of those who raised it and withdrew it.
    pub withdrawn_by: Vec<String>,
    pub support: Vec<Argued>,
    pub objections: Vec<Argued>,
}

/// The argument of a reviewer about a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argued {
    /// The reviewer's name.
    pub by: String,
    pub reason: String,
    /// Code that contradicts the finding.
    pub quote: Option<String>,
}

impl Finding {
    /// The line that the comment hangs on; `None` for a comment on the file.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.anchor.line()
    }

    /// File and lines as people write them, on one line whatever the file is called.
    #[must_use]
    pub fn place(&self) -> String {
        let file = visible(&self.file);
        match self.anchor {
            Anchor::File => file.into_owned(),
            Anchor::Line { side, start, line } => {
                let lines =
                    start.map_or_else(|| line.to_string(), |start| format!("{start}-{line}"));
                let removed = match side {
                    Side::Left => " (removed)",
                    Side::Right => "",
                };
                format!("{file}:{lines}{removed}")
            }
        }
    }
}
