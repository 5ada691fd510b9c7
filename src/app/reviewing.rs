//! A review from the first prompt to the last comment: desk, passes, outbox, report.

use super::check::CheckRun;
use super::finish::Finished;
use super::reading::Reading;
use super::{Run, Stop};
use crate::context::brief::Brief;
use crate::domain::{Anchor, FileDiff, Finding, Score, Sensitivity, Thread};
use crate::opencode::Sidecar;
use crate::publish::comment::Voice;
use crate::publish::outbox::{Outbox, Sent};
use crate::random;
use crate::report::Report;
use crate::report::document::{FindingReport, PassReport, ThreadReport};
use crate::report::verdict::{Evidence, Tally, Verdict};
use crate::review::REVIEWERS;
use crate::review::desk::{Desk, Entry, Fate, StagedReply, Subject};
use crate::review::policy::Weights;
use crate::review::run::{End, Limits, Outcome, Run as Passes};
use crate::state::record::Record;
use std::collections::HashMap;

pub async fn review(
    run: &Run<'_>,
    sidecar: &Sidecar,
    reading: Reading,
    check: &CheckRun,
) -> Result<Finished, Stop> {
    let diffs = diff_files(&reading).await?;
    run.desk.open(Desk::new(
        subject(&reading),
        weights(run, reading.change.sensitivity),
        REVIEWERS[0].id,
        random::hex(16)?,
    ));
    let outcome = passes(run, sidecar, &reading, &diffs).await?;
    if let End::Refused(why) = &outcome.end {
        return Err(Stop::fail(refusal(run, why)));
    }
    let (entries, replies) = staged(run);
    let complete = outcome.end == End::Complete;
    let record = record(&reading, &outcome);
    let sent = publish(run, &reading, &entries, &replies, complete, &record, check).await;
    Ok(conclude(run, &reading, &outcome, &entries, sent, record))
}

/// What a 401 means to the person who configured the run.
fn refusal(run: &Run<'_>, why: &str) -> String {
    let model = run.model();
    match &model.base_url {
        Some(url) => format!(
            "The model endpoint {url} (model_base_url) refused the request: {why}. Check opencode_api_key."
        ),
        None => format!(
            "The provider {} refused the request: {why}. Check opencode_api_key.",
            model.provider
        ),
    }
}

/// Writes the numbered diffs into the snapshot. Returns each diff with its file below our folder.
async fn diff_files(reading: &Reading) -> Result<Vec<(FileDiff, String)>, Stop> {
    let snapshot = &reading.change.snapshot;
    let mut named = Vec::new();
    for diff in &reading.change.diffs {
        let name = format!("diffs/{}.diff", snapshot.shown_path(&diff.path));
        let shown = snapshot.write_extra(&name, &diff.numbered()).await?;
        named.push((diff.clone(), shown));
    }
    Ok(named)
}

fn subject(reading: &Reading) -> Subject {
    let snapshot = &reading.change.snapshot;
    let diffs = &reading.change.diffs;
    let shown_paths = diffs
        .iter()
        .map(|diff| (snapshot.shown_path(&diff.path), diff.path.clone()))
        .filter(|(shown, path)| shown != path)
        .collect();
    Subject {
        head: reading.pull.head_sha.clone(),
        base: reading.merge_base.clone(),
        diffs: diffs.clone(),
        threads: reading.threads.clone(),
        root: snapshot.root().display().to_string(),
        shown_paths,
    }
}

fn weights(run: &Run<'_>, sensitivity: Sensitivity) -> Weights {
    let policy = &run.config.policy;
    Weights {
        threshold: policy.threshold,
        elevation: policy.elevation,
        blocking: policy.blocking,
        sensitive: sensitivity == Sensitivity::High,
    }
}

async fn passes(
    run: &Run<'_>,
    sidecar: &Sidecar,
    reading: &Reading,
    diffs: &[(FileDiff, String)],
) -> Result<Outcome, Stop> {
    let pull = &reading.pull;
    let commits: Vec<(String, String)> = reading
        .commits
        .iter()
        .map(|commit| {
            (
                commit.sha.short().to_owned(),
                commit.message.lines().next().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let conversation: Vec<(&str, &str)> = reading
        .conversation
        .iter()
        .filter_map(|comment| Some((comment.author.as_ref()?, comment)))
        .filter(|(author, _)| !author.is_bot())
        .map(|(author, comment)| (author.as_str(), comment.body.as_str()))
        .collect();
    let brief = Brief {
        fence: &run.fence,
        folder: reading.change.snapshot.own_folder(),
        title: &pull.title,
        body: &pull.body,
        author: pull
            .author
            .as_ref()
            .map_or("a deleted account", |author| author.as_str()),
        base_ref: &pull.base_ref,
        head: &pull.head_sha,
        commits: &commits,
        diffs,
        rules: &reading.change.rules,
        threads: &reading.threads,
        conversation: &conversation,
        sensitivity: reading.change.sensitivity,
    };
    let client = sidecar.client();
    let session = client
        .create_session(&format!("Review of {}", run.pr))
        .await
        .map_err(Stop::fail)?;
    let passes = Passes {
        client,
        session: &session,
        brief: &brief,
        desk: &run.desk,
        limits: Limits {
            deadline: run.started + run.config.timeout,
            max_cost_usd: run.config.max_cost_usd,
            max_tokens: run.config.max_tokens,
        },
        actions: &run.setup.actions,
        clock: run.setup.clock,
    };
    Ok(passes.all().await?)
}

/// Everything on the desk, and the replies that may be sent.
fn staged(run: &Run<'_>) -> (Vec<Entry>, Vec<StagedReply>) {
    run.desk
        .with(|desk| {
            let replies = desk.publishable().1.into_iter().cloned().collect();
            (desk.entries().to_vec(), replies)
        })
        .unwrap_or_default()
}

fn record(reading: &Reading, outcome: &Outcome) -> Record {
    let finished = outcome.passes.iter().filter(|pass| pass.summary.is_some());
    Record {
        head: reading.pull.head_sha.to_string(),
        merge_base: reading.merge_base.to_string(),
        rules: reading.rules_hash.clone(),
        passes: finished.map(|pass| pass.number.get()).collect(),
        left_out: left_out(reading),
        tokens: reading.spent.0 + outcome.usage.tokens.total(),
        cost_usd: reading.spent.1 + outcome.usage.cost,
    }
}

/// Changed files that the model could not see.
fn left_out(reading: &Reading) -> Vec<String> {
    let left_out = reading.change.snapshot.left_out().iter();
    left_out
        .filter(|file| file.changed)
        .map(|file| format!("{} ({})", file.path, file.reason))
        .collect()
}

async fn publish(
    run: &Run<'_>,
    reading: &Reading,
    entries: &[Entry],
    replies: &[StagedReply],
    complete: bool,
    record: &Record,
    check: &CheckRun,
) -> Sent {
    let publishable: Vec<u32> = run
        .desk
        .with(|desk| desk.publishable().0.iter().map(|entry| entry.id).collect())
        .unwrap_or_default();
    let findings: Vec<Finding> = entries
        .iter()
        .filter(|entry| publishable.contains(&entry.id))
        .map(|entry| placed(&entry.finding, reading))
        .collect();
    let outbox = Outbox {
        voice: Voice {
            pr: &run.pr,
            keys: &run.keys,
            head: &reading.pull.head_sha,
            run: &run.id,
        },
        findings: findings.iter().collect(),
        replies: replies.iter().collect(),
        partial: !complete,
        record: (!check.is_open()).then(|| serde_json::to_value(record).unwrap_or_default()),
    };
    outbox.send(&run.github).await
}

/// GitHub takes line comments only in files whose patch it shows.
fn placed(finding: &Finding, reading: &Reading) -> Finding {
    let mut finding = finding.clone();
    let file = reading.files.iter().find(|file| file.path == finding.file);
    if file.is_some_and(|file| !file.has_patch) && finding.anchor != Anchor::File {
        finding.body = format!("{}{}", Voice::moved_note(&finding.place()), finding.body);
        finding.anchor = Anchor::File;
    }
    finding
}

fn conclude(
    run: &Run<'_>,
    reading: &Reading,
    outcome: &Outcome,
    entries: &[Entry],
    sent: Sent,
    mut record: Record,
) -> Finished {
    let still_open: Vec<&Thread> = reading
        .threads
        .iter()
        .filter(|thread| thread.status.is_open() && !sent.resolved.contains(&thread.id))
        .collect();
    let said: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.fate == Fate::Staged)
        .collect();
    let unpublished = said
        .iter()
        .filter(|entry| !sent.urls.contains_key(entry.finding.id.as_str()))
        .count();
    let threshold = run.config.policy.threshold;
    let open =
        open_scores(&still_open, threshold).chain(said.iter().map(|e| e.finding.assessment.score));
    let evidence = Evidence {
        complete: outcome.end == End::Complete,
        left_out: record.left_out.len(),
        unpublished: unpublished + sent.failed.len(),
        tally: Tally::of(open, run.config.policy.blocking),
    };
    if evidence.unpublished > 0 {
        // What was not said must be said: the next run reviews this head again.
        record.passes.clear();
    }
    let verdict = Verdict::of(&evidence);
    let mut report = report(run, reading, entries, &sent.urls, &still_open);
    report.set_verdict(verdict, &evidence.tally);
    report.passes = outcome.passes.iter().map(PassReport::from).collect();
    report.tokens = outcome.usage.tokens.total();
    report.cost_usd = outcome.usage.cost;
    report.reasons = reasons(outcome, &record, &sent);
    report.warnings.extend(sent.warnings);
    report.review_url = sent.review_url;
    Finished {
        report,
        verdict,
        tally: evidence.tally,
        issues_found: said.len() - unpublished,
        record,
        pr: run.pr.clone(),
        keys: run.keys.clone(),
        fail_job: run.config.fail_job,
    }
}

/// The scores of open threads that count: at or above the threshold that is set now.
pub fn open_scores<'a>(
    threads: &'a [&Thread],
    threshold: Score,
) -> impl Iterator<Item = Score> + 'a {
    let scores = threads.iter().map(|thread| thread.assessment.score);
    scores.filter(move |score| *score >= threshold)
}

fn reasons(outcome: &Outcome, record: &Record, sent: &Sent) -> Vec<String> {
    let end = match &outcome.end {
        End::Complete | End::Refused(_) => None,
        End::NotSubmitted(pass) => Some(format!(
            "Pass {pass} of 4 was never submitted by the model."
        )),
        End::OutOfTime(pass) => Some(format!(
            "The time ran out in pass {pass} of 4; review_timeout_minutes sets it."
        )),
        End::OverBudget(pass, why) => Some(format!(
            "The review was stopped in pass {pass} of 4: {why}."
        )),
        End::Failed(pass, why) => Some(format!("Pass {pass} of 4 failed: {why}")),
    };
    let left_out = record
        .left_out
        .iter()
        .map(|file| format!("Not shown to the model: {file}."));
    end.into_iter()
        .chain(left_out)
        .chain(sent.failed.iter().cloned())
        .collect()
}

/// The report of a run, without its verdict and its costs.
pub fn report(
    run: &Run<'_>,
    reading: &Reading,
    entries: &[Entry],
    urls: &HashMap<String, String>,
    still_open: &[&Thread],
) -> Report {
    let change = &reading.change;
    let mut warnings = reading.warnings.clone();
    if !run.keys.can_sign() {
        warnings.push(
            "Comments are not signed, because there is neither a state_key nor a model key of at least 20 \
             characters: every run reviews anew, and blocking findings are closed by people only."
                .into(),
        );
    }
    Report {
        version: 1,
        pull_request: run.pr.to_string(),
        head: reading.pull.head_sha.to_string(),
        merge_base: reading.merge_base.to_string(),
        verdict: String::new(),
        reasons: Vec::new(),
        open_issues: 0,
        blocking_issues: 0,
        model: format!("{}/{}", run.model().provider, run.model().name),
        tokens: 0,
        cost_usd: 0.0,
        sensitivity: change.sensitivity.to_string(),
        sensitivity_evidence: change.evidence.clone(),
        passes: Vec::new(),
        findings: entries
            .iter()
            .map(|entry| FindingReport::new(entry, urls))
            .collect(),
        threads: still_open
            .iter()
            .map(|thread| ThreadReport::from(*thread))
            .collect(),
        left_out: left_out(reading),
        warnings,
        review_url: None,
    }
}
