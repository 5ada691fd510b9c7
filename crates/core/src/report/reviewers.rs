//! The reviewers of a panel in the report: what each of them found, what became of it, and what it cost.

use super::Report;
use super::consensus::IssuesReport;
use super::findings::FindingReport;
use crate::domain::Finding;
use crate::panel::consensus::{Priority, Ruling, Totals};
use crate::panel::ledger::Figures;
use crate::panel::review_state::ReviewState;
use crate::review::desk::Entry;
use crate::review::session_outcome::PassLog;
use reviewer_text::count::grouped;
use reviewer_text::sanitize::{clean, without_dumps};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// A reviewer of the panel.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewerReport {
    /// Its name.
    pub agent: String,
    /// As provider/name.
    pub model: String,
    /// True if it finished every pass.
    pub finished: bool,
    /// The consensus that its own findings alone would give; null where it did not finish.
    #[schemars(extend("enum" = ["approve", "request_changes", "needs_major_work", null]))]
    pub conclusion: Option<&'static str>,
    /// All that it raised and did not withdraw.
    pub issues: IssuesReport,
    pub findings: Vec<RaisedReport>,
    /// The summaries of its passes.
    #[serde(rename = "fullReport")]
    pub full_report: String,
    /// The number of causes that it raised.
    pub raised: u32,
    /// Those that nobody else raised.
    pub alone: u32,
    /// Those that another reviewer confirmed.
    pub confirmed: u32,
    /// Those that another reviewer refuted.
    pub refuted: u32,
    /// Those that stand, contested ones included.
    pub stood: u32,
    /// Its findings on the pull request, of all runs, that were conceded later.
    pub conceded: u32,
    pub tokens: u64,
    pub cost_usd: f64,
    /// Null where none stood.
    pub cost_usd_per_finding: Option<f64>,
}

/// A finding as one reviewer raised it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RaisedReport {
    pub id: String,
    #[schemars(extend("enum" = ["P0", "P1", "P2", "P3"]))]
    pub priority: &'static str,
    pub category: Option<String>,
    pub file: String,
    /// Null where it is about the file as a whole.
    pub line: Option<u32>,
    /// The finding in one sentence.
    pub title: String,
    /// The reason for its score.
    pub description: String,
    /// The text for the author, with the remedy.
    pub suggestion: String,
    pub source: SourceReport,
}

/// The source of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceReport {
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["agent", "human"]))]
    pub kind: &'static str,
    pub name: String,
    /// The conversation on GitHub; null for a finding of this run.
    #[serde(rename = "reviewId")]
    pub review_id: Option<u64>,
    /// When the run ended, or when the comment was written.
    pub timestamp: String,
}

/// The facts about one reviewer, after the votes.
#[derive(Debug)]
pub struct Reviewed<'a> {
    pub name: &'a str,
    pub model: String,
    pub figures: Figures,
    /// Its findings, of all runs, that were conceded later.
    pub conceded: u32,
    pub tokens: u64,
    pub cost_usd: f64,
    /// The entries of all reviewers.
    pub entries: &'a [Entry],
    /// The passes of all reviewers.
    pub passes: &'a [PassLog],
    /// True if the reviewer finished.
    pub finished: bool,
    pub now: &'a str,
}

impl From<Reviewed<'_>> for ReviewerReport {
    fn from(reviewed: Reviewed<'_>) -> Self {
        let Reviewed { name, figures, .. } = reviewed;
        let own = reviewed.entries.iter();
        let own: Vec<&Entry> = own
            .filter(|entry| entry.finding.reviewer == name && !entry.carried)
            .collect();
        let live = own.iter().filter(|entry| entry.is_live());
        let priorities: Vec<Priority> = live.map(|entry| Priority::from(entry.given)).collect();
        let totals: Totals = priorities.iter().copied().collect();
        let ruling = Ruling::decide(priorities, [], ReviewState::default());
        Self {
            agent: name.to_owned(),
            model: reviewed.model,
            finished: reviewed.finished,
            conclusion: reviewed.finished.then(|| ruling.consensus().name()),
            issues: totals.into(),
            findings: own
                .iter()
                .map(|entry| raised(&entry.finding, entry, reviewed.now))
                .collect(),
            full_report: full_report(name, reviewed.passes),
            raised: figures.raised,
            alone: figures.alone,
            confirmed: figures.confirmed,
            refuted: figures.refuted,
            stood: figures.stood,
            conceded: reviewed.conceded,
            tokens: reviewed.tokens,
            cost_usd: reviewed.cost_usd,
            cost_usd_per_finding: (figures.stood > 0)
                .then(|| reviewed.cost_usd / f64::from(figures.stood)),
        }
    }
}

fn raised(finding: &Finding, entry: &Entry, now: &str) -> RaisedReport {
    let text = |text: &str| clean(&without_dumps(text));
    RaisedReport {
        id: finding.id.to_string(),
        priority: Priority::from(entry.given).name(),
        category: finding.category.map(|category| category.to_string()),
        file: finding.file.clone(),
        line: finding.line(),
        title: text(&finding.assessment.finding),
        description: text(&finding.assessment.assessment),
        suggestion: text(&finding.body),
        source: SourceReport {
            kind: "agent",
            name: finding.reviewer.clone(),
            review_id: None,
            timestamp: now.to_owned(),
        },
    }
}

/// The summaries of a reviewer's passes, as Markdown.
fn full_report(name: &str, passes: &[PassLog]) -> String {
    let own = passes.iter();
    let own = own.filter(|pass| pass.reviewer.as_deref() == Some(name) && pass.number > 0);
    let lines = own.map(|pass| {
        let summary = pass.summary.as_deref().unwrap_or("Not finished.");
        let summary = clean(&without_dumps(summary));
        format!("- Pass {}, {}: {}", pass.number, pass.title, summary.trim())
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl Report {
    /// The reviewers and the rules behind a finding, in sentences; `None` where one reviewed alone and no tool found it.
    pub(super) fn support(&self, finding: &FindingReport) -> Option<String> {
        let found = found_by(finding);
        if self.reviewers.is_empty() {
            return found;
        }
        let found = found.map(|found| format!("{found} ")).unwrap_or_default();
        let mut text = format!("{found}Raised by {}.", finding.raised_by.join(", "));
        if !finding.verified_by.is_empty() {
            let _ = write!(text, " Verified by {}.", finding.verified_by.join(", "));
        }
        if finding.contested {
            text.push_str(" Contested: another reviewer refutes it.");
        }
        Some(text)
    }
}

/// The rules of static analysis that reported a finding.
fn found_by(finding: &FindingReport) -> Option<String> {
    let named = finding.found_by.iter().map(|one| match one.rule.as_str() {
        "" => clean(&one.tool),
        rule => clean(&format!("{}, rule {rule}", one.tool)),
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("Found by {}, too.", named.join("; ")))
}

/// The ledger of the reviewers, for a page.
pub(super) fn markdown(out: &mut String, report: &Report) {
    if report.reviewers.is_empty() {
        return;
    }
    out.push_str(
        "| Reviewer | Model | Raised | Alone | Confirmed | Refuted | Stood | Conceded later | Tokens | Cost | Per finding |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for one in &report.reviewers {
        let each = one.cost_usd_per_finding;
        let each = each.map_or_else(|| "–".to_owned(), |usd| report.cost(usd));
        let finished = if one.finished {
            ""
        } else {
            " (did not finish)"
        };
        let _ = writeln!(
            out,
            "| {}{finished} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {each} |",
            one.agent,
            one.model,
            one.raised,
            one.alone,
            one.confirmed,
            one.refuted,
            one.stood,
            one.conceded,
            grouped(one.tokens),
            report.cost(one.cost_usd),
        );
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;
    use crate::review::desk::Fate;

    fn reviewed<'a>(entries: &'a [Entry], passes: &'a [PassLog]) -> Reviewed<'a> {
        Reviewed {
            name: "security",
            model: "openai/gpt-5".into(),
            figures: Figures {
                raised: 2,
                stood: 2,
                ..Figures::default()
            },
            conceded: 1,
            tokens: 1_500,
            cost_usd: 0.5,
            entries,
            passes,
            finished: true,
            now: "2026-01-24T00:00:00Z",
        }
    }

    fn entry(reviewer: &str) -> Entry {
        let mut finding = fixture::finding();
        finding.reviewer = reviewer.into();
        Entry {
            id: 1,
            given: finding.assessment.score,
            finding,
            fate: Fate::Staged,
            carried: false,
            worded: true,
        }
    }

    #[test]
    fn a_reviewer_is_reported_with_its_own_findings_and_what_each_cost() {
        let entries = [entry("general"), entry("security")];
        let pass = |number, reviewer: &str, summary: Option<&str>| PassLog {
            reviewer: Some(reviewer.into()),
            number,
            title: "Atomic diff review",
            summary: summary.map(str::to_owned),
            ..PassLog::default()
        };
        let passes = [
            pass(1, "general", Some("Not mine.")),
            pass(1, "security", Some("Two findings.")),
            pass(2, "security", None),
        ];
        let report = ReviewerReport::from(reviewed(&entries, &passes));
        assert_eq!(report.findings.len(), 1);
        assert_eq!(report.findings[0].source.name, "security");
        assert_eq!(
            report.full_report,
            "- Pass 1, Atomic diff review: Two findings.\n- Pass 2, Atomic diff review: Not finished."
        );
        assert_eq!(report.cost_usd_per_finding, Some(0.25));
        assert_eq!(report.conceded, 1);
        let unfinished = Reviewed {
            finished: false,
            ..reviewed(&entries, &passes)
        };
        assert_eq!(ReviewerReport::from(unfinished).conclusion, None);
    }
}
