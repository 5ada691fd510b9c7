//! The report file: everything a run found and did, said or not, as JSON for machines.

use super::consensus::ConsensusReport;
use super::events::EventReport;
use super::fallbacks::FallbackReport;
use super::findings::{FindingReport, ThreadReport};
use super::memory::MemoryReport;
use super::reviewers::ReviewerReport;
use super::static_analysis::StaticAnalysisReport;
use crate::context::coverage::Excuse;
use crate::context::suspicion::Suspicion;
use crate::domain::{ReviewDecision, Score, Tally, Verdict};
use crate::publish::comment::weight;
use crate::review::limits::Used;
use crate::review::session_outcome::{PassLog, SectionLog};
use crate::state::record::Record;
use crate::state::spending::Spent;
use reviewer_text::count::dollars;
use reviewer_text::sanitize::clean;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

/// The findings and actions of a run of opencode-reviewer. Fields may be added; those that are here stay as they are.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "Report of opencode-reviewer")]
pub struct Report {
    /// Of this format.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// As owner/name#number; null where a working tree was reviewed.
    pub pull_request: Option<String>,
    /// The page of the pull request; null where a working tree was reviewed.
    pub pull_request_url: Option<String>,
    /// The commit that was reviewed. Of a working tree with changes it is one that no repository has.
    pub head: String,
    /// The commit that it was compared with.
    pub merge_base: String,
    #[schemars(extend("enum" = ["clean", "findings", "blocking", "incomplete"]))]
    pub verdict: String,
    /// The reasons why the verdict is not better.
    pub reasons: Vec<String>,
    /// The number of findings that are open after the run.
    pub open_issues: usize,
    /// The number of them that are at or above blocking_score_threshold.
    pub blocking_issues: usize,
    /// As provider/name; several by comma, those that took the place of another one at the end.
    pub model: String,
    /// The models that could not be used, and those that went on in their place; empty where every model answered.
    pub fallbacks: Vec<FallbackReport>,
    /// Null where no sidecar was needed.
    pub sandbox: Option<SandboxReport>,
    pub tokens: u64,
    /// True if tokens are estimated by the size of requests and answers, because the endpoint counts none.
    pub tokens_estimated: bool,
    pub cost_usd: f64,
    pub ledger: LedgerReport,
    #[schemars(extend("enum" = ["high", "moderate", "low"]))]
    pub sensitivity: String,
    pub sensitivity_evidence: Vec<String>,
    pub passes: Vec<PassReport>,
    /// The sections of a change that was too large for one session, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionReport>,
    /// The reviewers of a panel; empty where one reviewed alone.
    pub reviewers: Vec<ReviewerReport>,
    /// Those of this run, said or not.
    pub findings: Vec<FindingReport>,
    /// Open threads that were on the pull request before this run.
    pub threads: Vec<ThreadReport>,
    /// The head whose review this one goes on from; `None`: the whole change was reviewed.
    pub reviewed_since: Option<String>,
    /// Changed files that are excused from being shown to the model.
    pub excused: Vec<ExcusedReport>,
    /// Changed files that the model could not see.
    pub left_out: Vec<String>,
    /// Other files that it could not read.
    pub left_out_unchanged: Vec<LeftOutReport>,
    /// Changed files that it saw with their values masked.
    pub masked: Vec<String>,
    /// Foreign text that may be meant for the model. It changed nothing.
    pub suspicions: Vec<SuspicionReport>,
    pub warnings: Vec<String>,
    /// Remarks about the run that are no fault.
    pub notes: Vec<String>,
    /// Null where no review was posted.
    pub review_url: Option<String>,
    /// The decision about the head; only where `review_event` is decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ReviewDecision>,
    /// The review in a few sentences, beside the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The reviewers that the review calls to the pull request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalations: Vec<String>,
    /// Only with several reviewers, or where `review_event` is decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consensus: Option<ConsensusReport>,
    /// Only where `memory` is above 0 and the closed pull requests were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReport>,
    /// The steps of fixing, over all rounds of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventReport>,
    /// Only where the input static_analysis names a file, and the change was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_analysis: Option<StaticAnalysisReport>,
    /// The ways to turn the check green, as the end of a sentence; for people.
    #[serde(skip)]
    pub green: Option<String>,
    /// Scores from here on block.
    #[serde(skip)]
    pub blocking_from: Option<Score>,
    /// The number of changed files.
    #[serde(skip)]
    pub files: usize,
    /// False where nobody knows the prices of the endpoint.
    #[serde(skip)]
    pub cost_known: bool,
}

/// The sandbox of the sidecar.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SandboxReport {
    pub complete: bool,
    /// One entry for each wall that the kernel did not offer.
    pub missing: Vec<String>,
    /// The user id that it ran as.
    pub user: u32,
    /// Null where the kernel has no Landlock.
    pub landlock_abi: Option<i32>,
}

/// One kind of what may be meant for the model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SuspicionReport {
    pub kind: &'static str,
    pub count: usize,
    /// The first of them.
    pub places: Vec<String>,
    /// For people.
    #[serde(skip)]
    pub words: String,
}

impl From<&Suspicion> for SuspicionReport {
    fn from(suspicion: &Suspicion) -> Self {
        Self {
            kind: suspicion.kind.name(),
            count: suspicion.count,
            places: suspicion.places.clone(),
            words: suspicion.to_string(),
        }
    }
}

/// A changed file that need not be shown to the model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExcusedReport {
    pub path: String,
    /// Such as "lock file" or "image".
    pub reason: &'static str,
}

impl From<(&str, Excuse)> for ExcusedReport {
    fn from((path, excuse): (&str, Excuse)) -> Self {
        Self {
            path: path.to_owned(),
            reason: excuse.noun(),
        }
    }
}

/// Files that have one reason in common for not being in the snapshot.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutReport {
    pub reason: String,
    pub count: usize,
    /// The first of them; a repository can have more than anybody reads.
    pub first: Vec<String>,
}

const NAMED_PER_REASON: usize = 20;

impl LeftOutReport {
    /// The unchanged files that one reason kept out; `None` if there are none.
    #[must_use]
    pub fn new(reason: String, paths: &[&str]) -> Option<Self> {
        let first = paths.iter().take(NAMED_PER_REASON);
        (!paths.is_empty()).then(|| Self {
            reason,
            count: paths.len(),
            first: first.map(|path| (*path).to_owned()).collect(),
        })
    }
}

/// The result of a pass, and its use of time and tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PassReport {
    /// The name of its reviewer; null where one reviewed alone.
    pub reviewer: Option<String>,
    /// The section that it was about; only where the change was reviewed in sections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<usize>,
    /// 0 for what came before the passes.
    pub number: u8,
    pub title: String,
    pub finished: bool,
    pub summary: String,
    pub tool_calls: usize,
    pub tokens: u64,
    pub cost_usd: f64,
    pub seconds: u64,
}

/// A section of a large change, and what its sessions covered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SectionReport {
    /// Counted from 1; the passes of its sessions have this number as `section`.
    pub section: usize,
    /// The number of its files. A file that no session holds is in several sections.
    pub files: usize,
    /// The number of its changed lines.
    pub lines: usize,
    /// True if every pass was submitted: its files count as reviewed.
    pub reviewed: bool,
    /// The passes that were submitted.
    pub passes: Vec<u8>,
    /// The reason why it was not reviewed to the end; empty where it was.
    pub reason: String,
    pub tokens: u64,
    pub cost_usd: f64,
    /// From the beginning of its sessions to their end.
    pub seconds: u64,
}

impl SectionReport {
    #[must_use]
    pub fn new(log: &SectionLog, reason: String) -> Self {
        Self {
            section: log.number,
            files: log.files,
            lines: log.lines,
            reviewed: log.is_reviewed(),
            passes: log.passes.clone(),
            reason,
            tokens: log.used.tokens().number,
            cost_usd: log.used.told.cost,
            seconds: log.took.as_secs(),
        }
    }

    /// The submitted passes, in words.
    pub(crate) fn submitted(&self) -> String {
        if self.reviewed {
            return "all".into();
        }
        let passes: Vec<String> = self.passes.iter().map(u8::to_string).collect();
        match passes.as_slice() {
            [] => "none".into(),
            some => format!("{} only", some.join(", ")),
        }
    }
}

/// The cost of the pull request, with this run.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct LedgerReport {
    /// Of today and yesterday.
    pub runs: Vec<RunReport>,
    /// Of all days.
    pub tokens: u64,
    pub cost_usd: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RunReport {
    /// In UTC.
    pub day: String,
    pub tokens: u64,
    pub cost_usd: f64,
}

impl From<&Record> for LedgerReport {
    fn from(record: &Record) -> Self {
        let known = record.spent.iter().filter(|spent| !spent.is_assumed());
        let mut spent: Vec<&Spent> = known.collect();
        spent.sort_by_key(|spent| spent.day);
        let runs = spent.into_iter().map(|spent| RunReport {
            day: spent.day.to_string(),
            tokens: spent.tokens,
            cost_usd: spent.cost_usd,
        });
        Self {
            runs: runs.collect(),
            tokens: record.tokens,
            cost_usd: record.cost_usd,
        }
    }
}

impl From<&PassLog> for PassReport {
    fn from(log: &PassLog) -> Self {
        Self {
            reviewer: log.reviewer.clone(),
            section: log.section,
            number: log.number,
            title: log.title.to_owned(),
            finished: log.summary.is_some(),
            summary: log.summary.clone().unwrap_or_default(),
            tool_calls: log.tool_calls,
            tokens: log.tokens.number,
            cost_usd: log.cost_usd,
            seconds: log.took.as_secs(),
        }
    }
}

impl Report {
    /// The JSON schema of the file, which `schema/report.schema.json` holds for those who read it.
    #[must_use]
    pub fn schema() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<Self>()
    }

    /// The number of passes of the review.
    #[must_use]
    pub(crate) fn pass_count(&self) -> usize {
        self.passes.iter().filter(|pass| pass.number > 0).count()
    }

    /// The time that the model worked, in seconds.
    #[must_use]
    pub(crate) fn seconds(&self) -> u64 {
        self.passes.iter().map(|pass| pass.seconds).sum()
    }

    /// Category, score and effect of a finding, in words.
    #[must_use]
    pub(crate) fn weight(&self, finding: &FindingReport) -> String {
        self.weight_of(finding.category.as_deref(), finding.score)
    }

    /// The same of a category and a score.
    #[must_use]
    pub(crate) fn weight_of(&self, category: Option<&str>, score: u8) -> String {
        Score::new(score.into())
            .map(|score| weight(category, score, self.blocking_from))
            .unwrap_or_default()
    }

    /// An amount that the run has cost, in words.
    #[must_use]
    pub(crate) fn cost(&self, usd: f64) -> String {
        if self.cost_known || usd > 0.0 {
            dollars(usd)
        } else {
            "cost unknown".into()
        }
    }

    pub fn set_verdict(&mut self, verdict: Verdict, tally: &Tally) {
        self.verdict = verdict.to_string();
        self.open_issues = tally.open;
        self.blocking_issues = tally.blocking;
    }

    /// Enters the decision, with the summary of the last pass as its comment; without one, these words.
    pub fn set_decision(
        &mut self,
        decision: ReviewDecision,
        escalations: &[String],
        otherwise: &str,
    ) {
        const LONGEST: usize = 2_000;
        let passes = self.passes.iter().rev();
        let mut passes = passes.filter(|pass| pass.number > 0 && pass.finished);
        let said = passes
            .next()
            .map(|pass| clean(&pass.summary).trim().to_owned());
        let said = said.filter(|said| !said.is_empty() && decision != ReviewDecision::Incomplete);
        let comment = said.unwrap_or_else(|| otherwise.to_owned());
        self.comment = Some(comment.chars().take(LONGEST).collect());
        self.decision = Some(decision);
        self.escalations = escalations.to_vec();
    }

    pub fn set_used(&mut self, used: &Used) {
        let tokens = used.tokens();
        (self.tokens, self.tokens_estimated) = (tokens.number, tokens.estimated);
        self.cost_usd = used.told.cost;
    }
}
