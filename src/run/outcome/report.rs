//! The report of a run, from the change and what the model did with it.

use super::unfinished::{reason, unshown};
use crate::gather::Facts;
use crate::gather::change::Change;
use crate::host::{Host, Job};
use reviewer_core::domain::{CommitSha, Thread};
use reviewer_core::plan::agenda::Agenda;
use reviewer_core::publish::comment::lacking;
use reviewer_core::report::Report;
use reviewer_core::report::code::{Code, Excerpt};
use reviewer_core::report::document::{
    ExcusedReport, LedgerReport, LeftOutReport, PassReport, SectionReport,
};
use reviewer_core::report::findings::{FindingReport, Said, ThreadReport};
use reviewer_core::review::desk::Entry;
use reviewer_core::review::session_outcome::Outcome as Held;
use reviewer_repo::snapshot::Snapshot;
use std::collections::HashMap;

/// The report of a run, without its verdict and its costs.
pub(crate) fn of_pull_request(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    entries: &[Entry],
    said: &HashMap<String, Said>,
    still_open: &[&Thread],
) -> Report {
    let mut warnings = facts.warnings.clone();
    warnings.extend_from_slice(&agenda.warnings);
    if !job.keys.can_sign() {
        let has_gate = job.host.config.policy.blocking.is_some();
        warnings.push(lacking::unsigned(has_gate).into());
    }
    let commits = [&facts.merge_base, &facts.pull.head_sha];
    Report {
        pull_request: Some(job.pr.to_string()),
        pull_request_url: Some(job.page()),
        threads: still_open
            .iter()
            .map(|thread| ThreadReport::from(*thread))
            .collect(),
        warnings,
        ..of_change(&job.host, &facts.change, commits, entries, said)
    }
}

/// The same of a change, wherever it comes from.
pub(crate) fn of_change(
    host: &Host<'_>,
    change: &Change,
    [merge_base, head]: [&CommitSha; 2],
    entries: &[Entry],
    said: &HashMap<String, Said>,
) -> Report {
    let masked = change.diffs.iter().filter(|diff| diff.mask().is_some());
    Report {
        version: 1,
        pull_request: None,
        pull_request_url: None,
        head: head.to_string(),
        merge_base: merge_base.to_string(),
        verdict: String::new(),
        reasons: Vec::new(),
        open_issues: 0,
        blocking_issues: 0,
        model: host.models(),
        fallbacks: Vec::new(),
        sandbox: None,
        tokens: 0,
        tokens_estimated: false,
        cost_usd: 0.0,
        ledger: LedgerReport::default(),
        sensitivity: change.sensitivity.to_string(),
        sensitivity_evidence: change.evidence.clone(),
        passes: Vec::new(),
        sections: Vec::new(),
        findings: entries
            .iter()
            .map(|entry| FindingReport::new(entry, said))
            .collect(),
        threads: Vec::new(),
        reviewed_since: None,
        excused: change.excused().map(ExcusedReport::from).collect(),
        left_out: unshown(change, &[]).collect(),
        left_out_unchanged: left_out_unchanged(&change.snapshot),
        masked: masked.map(|diff| diff.path.clone()).collect(),
        suspicions: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        review_url: None,
        decision: None,
        comment: None,
        escalations: Vec::new(),
        consensus: None,
        memory: None,
        events: Vec::new(),
        static_analysis: None,
        reviewers: Vec::new(),
        green: None,
        blocking_from: host.config.policy.blocking,
        files: change.diffs.len(),
        cost_known: prices_known(host),
    }
}

/// Returns true if OpenCode knows what each model costs: an endpoint of one's own has no prices in its catalogue.
pub(crate) fn prices_known(host: &Host<'_>) -> bool {
    let mut reviewers = host.sessions().reviewers();
    reviewers.all(|session| session.model().base_url.is_none())
}

/// The unchanged files that the snapshot is without, by reason.
fn left_out_unchanged(snapshot: &Snapshot) -> Vec<LeftOutReport> {
    let reasons = snapshot.left_out_by_reason().into_iter();
    let reports = reasons.filter_map(|(reason, files)| {
        let unchanged = files.iter().filter(|file| !file.changed);
        let paths: Vec<&str> = unchanged.map(|file| file.path.as_str()).collect();
        LeftOutReport::new(reason.to_string(), &paths)
    });
    reports.collect()
}

/// Adds the session to a report: what the model took and did, wherever the change comes from.
pub(crate) fn add_session(report: &mut Report, held: &Held) {
    report.passes = held.passes.iter().map(PassReport::from).collect();
    let sections = held.sections.iter();
    report.sections = sections
        .map(|log| SectionReport::new(log, reason(&log.end)))
        .collect();
    report.set_used(&held.used);
    report.warnings.extend_from_slice(&held.restarts);
    report.notes.extend_from_slice(&held.corrections);
}

/// The code of findings, said or not, as the diffs have it.
pub(crate) fn code(change: &Change, entries: &[Entry]) -> Code {
    let code = entries.iter().filter_map(|Entry { finding, .. }| {
        let diff = change.diffs.iter().find(|diff| diff.path == finding.file)?;
        let excerpt = Excerpt::new(diff, finding.anchor)?;
        Some((finding.id.to_string(), excerpt))
    });
    code.collect()
}
