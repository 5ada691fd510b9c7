//! The findings in the report: those of the run with their fate, and the open threads of earlier runs.

use crate::domain::{Argued, Support, Thread, ToolRule};
use crate::review::desk::{Entry, Fate};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// The place where a finding was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The address of its comment.
    At(String),
    /// To whoever started the run, and on no pull request.
    Here,
}

impl Said {
    /// The place with this address. A finding that was posted nowhere has none.
    #[must_use]
    pub fn at(url: &str) -> Self {
        match url {
            "" => Self::Here,
            url => Self::At(url.to_owned()),
        }
    }
}

/// A finding of this run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingReport {
    pub id: String,
    pub file: String,
    /// Null where it is about the file as a whole.
    pub line: Option<u32>,
    /// File and lines, for people.
    pub place: String,
    #[schemars(range(min = 1, max = 10))]
    pub score: u8,
    /// Null where the model named none.
    pub category: Option<String>,
    #[schemars(range(min = 1, max = 4))]
    pub pass: u8,
    /// The finding in a sentence.
    pub finding: String,
    /// The reason why it matters.
    pub assessment: String,
    /// The text for people.
    pub body: String,
    /// `published` on the pull request, `reported` to whoever started the run (a working tree, a dry run), `unpublished`
    /// although it should have been, or deliberately not said: `suppressed`, `withdrawn`, `combined`.
    #[schemars(extend("enum" = ["published", "reported", "unpublished", "suppressed", "withdrawn", "combined"]))]
    pub fate: &'static str,
    /// The reason why it was not said.
    pub reason: Option<String>,
    /// The address of its comment.
    pub url: Option<String>,
    /// The reviewers who raised it; of a finding that is part of another one, its own reviewer alone.
    pub raised_by: Vec<String>,
    /// The other reviewers who confirmed it.
    pub verified_by: Vec<String>,
    /// True if it blocks and another reviewer refuted it.
    pub contested: bool,
    /// The arguments about it, where it is contested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentReport>,
    /// Other places with the same cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<String>,
    /// The rules of static analysis that reported it, and that the reviewer confirmed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found_by: Vec<RuleReport>,
}

/// A rule of a static analysis tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleReport {
    pub tool: String,
    /// Empty where the tool names none.
    pub rule: String,
}

impl From<&ToolRule> for RuleReport {
    fn from(rule: &ToolRule) -> Self {
        Self {
            tool: rule.tool.clone(),
            rule: rule.rule.clone(),
        }
    }
}

/// The argument of a reviewer about a contested finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ArgumentReport {
    #[schemars(extend("enum" = ["for", "against"]))]
    pub side: &'static str,
    /// The name of the reviewer.
    pub by: String,
    pub reason: String,
    /// The code that contradicts the finding.
    pub quote: Option<String>,
}

impl FindingReport {
    /// `said` tells where, by finding id.
    #[must_use]
    pub fn new(entry: &Entry, said: &HashMap<String, Said>) -> Self {
        let finding = &entry.finding;
        let id = finding.id.to_string();
        let said = said.get(&id);
        let (fate, reason) = match &entry.fate {
            Fate::Staged => match said {
                Some(Said::At(_)) => ("published", None),
                Some(Said::Here) => ("reported", None),
                None => ("unpublished", None),
            },
            Fate::Suppressed(reason) => ("suppressed", Some(reason.to_string())),
            Fate::Withdrawn(reason) => ("withdrawn", Some(reason.clone())),
            Fate::CombinedInto(other) => ("combined", Some(format!("said as part of new-{other}"))),
        };
        Self {
            file: finding.file.clone(),
            line: finding.line(),
            place: finding.place(),
            score: finding.assessment.score.get(),
            category: finding.category.map(|category| category.to_string()),
            pass: finding.pass.get(),
            finding: finding.assessment.finding.clone(),
            assessment: finding.assessment.assessment.clone(),
            body: finding.body.clone(),
            id,
            fate,
            reason,
            url: match said {
                Some(Said::At(url)) => Some(url.clone()),
                _ => None,
            },
            raised_by: match finding.support.raised_by.as_slice() {
                [] => vec![finding.reviewer.clone()],
                names => names.to_vec(),
            },
            verified_by: finding.support.verified_by.clone(),
            contested: finding.support.contest.is_some(),
            arguments: arguments(&finding.support),
            also_at: finding.support.places.clone(),
            found_by: {
                let rules = finding.support.found_by.iter();
                rules.map(RuleReport::from).collect()
            },
        }
    }
}

fn arguments(support: &Support) -> Vec<ArgumentReport> {
    let Some(contest) = &support.contest else {
        return Vec::new();
    };
    let told = |side: &'static str, argued: &Argued| ArgumentReport {
        side,
        by: argued.by.clone(),
        reason: argued.reason.clone(),
        quote: argued.quote.clone(),
    };
    let support = contest.support.iter().map(|one| told("for", one));
    let objections = contest.objections.iter().map(|one| told("against", one));
    support.chain(objections).collect()
}

/// A thread that was on the pull request before this run, and is open.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadReport {
    /// Of its first comment.
    pub id: String,
    pub file: String,
    /// Null where the line is gone, or it is about the file as a whole.
    pub line: Option<u32>,
    pub status: String,
    #[schemars(range(min = 1, max = 10))]
    pub score: u8,
    pub finding: String,
    pub url: String,
    #[serde(skip)]
    pub finding_id: Option<String>,
    #[serde(skip)]
    pub assessment: String,
    #[serde(skip)]
    pub category: Option<String>,
    /// The head that was reviewed when the finding was made, shortened.
    #[serde(skip)]
    pub since: Option<String>,
}

impl ThreadReport {
    /// File and line, for people.
    #[must_use]
    pub(crate) fn place(&self) -> String {
        let line = self.line.map(|line| format!(":{line}"));
        format!("{}{}", self.file, line.unwrap_or_default())
    }
}

impl From<&Thread> for ThreadReport {
    fn from(thread: &Thread) -> Self {
        Self {
            id: thread.id.to_string(),
            file: thread.file.clone(),
            line: thread.line,
            status: thread.status.to_string(),
            score: thread.assessment.score.get(),
            finding: thread.assessment.finding.clone(),
            url: thread.url.clone(),
            finding_id: thread.finding_id.as_ref().map(ToString::to_string),
            assessment: thread.assessment.assessment.clone(),
            category: thread.category.map(|category| category.to_string()),
            since: thread.head.as_ref().map(|head| head.short().to_owned()),
        }
    }
}
