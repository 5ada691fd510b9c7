//! A review from the first prompt to the last comment: desk, passes, outbox, report.

use super::check::CheckRun;
use super::finish::Finished;
use super::meanwhile::Meanwhile;
use super::past::Past;
use super::reading::Reading;
use super::staged::{Staged, publishable};
use super::{Run, Stop, asking, finish, people, words};
use crate::context::brief::{Brief, Excerpt};
use crate::context::suspicion::Suspicions;
use crate::domain::diff::visible;
use crate::domain::{CommentId, CommitSha, FileDiff, Finding, Score, Sensitivity, Thread};
use crate::event::Command;
use crate::opencode::Keeper;
use crate::plan::{self, Question};
use crate::publish::comment::{self, Voice};
use crate::publish::outbox::{Outbox, Sent};
use crate::random;
use crate::report::Report;
use crate::report::document::{
    FindingReport, LeftOutReport, PassReport, SuspicionReport, ThreadReport,
};
use crate::report::verdict::{Evidence, Tally, Verdict};
use crate::review::REVIEWERS;
use crate::review::desk::{Desk, Entry, Subject};
use crate::review::limits::Limits;
use crate::review::policy::Weights;
use crate::review::run::{End, Outcome, Run as Passes, State};
use crate::state::record::Record;
use crate::state::spending::{self, Allowance};
use std::collections::HashMap;

/// Judges the open threads that wait for it, answers the questions, and reviews the change unless a record covers it.
pub async fn review(
    run: &Run<'_>,
    sidecar: &mut Keeper,
    reading: Reading,
    check: &CheckRun,
    covered: Option<Record>,
    questions: &[Question],
) -> Result<Finished, Stop> {
    let diffs = diff_files(&reading).await?;
    let mut to_judge = plan::to_judge(&reading.threads, &reading.pull.head_sha, covered.is_none());
    let later = to_judge.len().saturating_sub(plan::MOST_JUDGED);
    to_judge.truncate(plan::MOST_JUDGED);
    let past = Past::of(run, &reading, &to_judge).await;
    let people = people::who_decides(run, &reading, &to_judge).await?;
    run.desk.open(Desk::new(
        subject(&reading, past.changed_since, people),
        weights(run, reading.change.sensitivity),
        REVIEWERS[0].id,
        random::hex(16)?,
    ));
    run.desk.with(|desk| {
        let findings = reading.carried.findings.iter();
        findings.for_each(|finding| desk.carry(finding.clone()));
    });
    watch(run, &reading);
    let title = format!("Review of {}", run.pr);
    let (opened, ()) = tokio::join!(sidecar.open(&title), check.open(run, &reading));
    opened.map_err(Stop::fail)?;
    let talk = Talk {
        sidecar,
        to_judge: &past.excerpts,
        questions,
        reviews: covered.is_none(),
    };
    let (outcome, suspicions) = passes(run, talk, &reading, &diffs).await?;
    if let End::Refused(why) = &outcome.end {
        return Err(Stop::fail(refusal(run, why)));
    }
    let unanswered = asking::send(run, &reading, &outcome).await;
    let meanwhile = Meanwhile::of(run, &reading, &publishable(run, &reading)).await;
    let misses = covered.is_some() || outcome.end != End::Complete;
    let staged = Staged::of(run, &reading, &meanwhile, misses);
    let mut record = record(run, &reading, &outcome, covered);
    staged.enter_in(&mut record, &reading);
    let all_said = evidence(run, &outcome, &record, &staged, &Sent::default(), 0);
    let outbox = Outbox {
        voice: Voice {
            pr: &run.pr,
            keys: &run.keys,
            head: &reading.pull.head_sha,
            run: &run.id,
        },
        diffs: &reading.change.diffs,
        findings: staged.findings.iter().collect(),
        replies: staged.replies.iter().collect(),
        event: Verdict::of(&all_said).review_event(),
        partial: outcome.end != End::Complete,
        record: (!check.is_open()).then(|| serde_json::to_value(&record).unwrap_or_default()),
    };
    promise(&reading, &staged, &record, check).await;
    let mut sent = outbox.send(&run.github).await;
    let left_behind = meanwhile.left_behind.iter();
    sent.failed
        .extend(left_behind.map(|(_, sentence)| sentence.clone()));
    let can_owe = check.is_open();
    let mut finished = conclude(run, &reading, &outcome, &staged, sent, record, can_owe);
    run.draft.take();
    finished.report.suspicions = suspicions.iter().map(SuspicionReport::from).collect();
    finished.leave_unanswered(unanswered);
    if later > 0 {
        let note = comment::left_for_later(later);
        finished.report.notes.push(note);
    }
    Ok(finished)
}

/// What is about to be posted stands in the check run first. Replies cannot be owed: where there are some, a run that is
/// cut off has to be repeated.
async fn promise(reading: &Reading, staged: &Staged<'_>, record: &Record, check: &CheckRun) {
    let unposted: Vec<&Finding> = staged.unposted(&Sent::default());
    if unposted.is_empty() {
        return;
    }
    let mut promised = record.clone();
    if !reading.carried.settle(&mut promised, &unposted) || !staged.replies.is_empty() {
        promised.passes.clear();
    }
    check.promise(&promised).await;
}

/// From the first finding on, the report says what there is.
fn watch(run: &Run<'_>, reading: &Reading) {
    let threads = reading.threads.iter();
    let open: Vec<&Thread> = threads.filter(|thread| thread.status.is_open()).collect();
    let mut report = report(run, reading, &[], &HashMap::new(), &open);
    report.set_verdict(Verdict::Incomplete, &Tally::default());
    let setup = run.setup;
    let file = finish::report_file(setup);
    let watcher = run
        .draft
        .watcher(report, file, setup.actions.veil().clone());
    run.desk.watch(watcher);
}

/// What a 401 means to the person who configured the run.
pub fn refusal(run: &Run<'_>, why: &str) -> String {
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

/// Writes the numbered diffs that are shown into the snapshot. Returns each diff with its file below our folder.
pub async fn diff_files(reading: &Reading) -> Result<Vec<(FileDiff, String)>, Stop> {
    let snapshot = &reading.change.snapshot;
    let unshown = &reading.change.unshown;
    let diffs = reading.change.diffs.iter();
    let diffs: Vec<&FileDiff> = diffs.filter(|diff| !unshown.contains(&diff.path)).collect();
    let files = diffs.iter().map(|diff| {
        let name = format!("diffs/{}.diff", snapshot.shown_path(&diff.path));
        (name, diff.numbered())
    });
    let shown = snapshot.write_own(files.collect()).await?;
    Ok(diffs.into_iter().cloned().zip(shown).collect())
}

fn subject(
    reading: &Reading,
    changed_since: HashMap<CommitSha, Vec<String>>,
    human_reviewers: Vec<String>,
) -> Subject {
    let snapshot = &reading.change.snapshot;
    let diffs = &reading.change.diffs;
    // The snapshot's name, and the one that the brief spells out.
    let names = diffs.iter().flat_map(|diff| {
        let shown = [snapshot.shown_path(&diff.path), visible(&diff.path).into()];
        shown.map(|shown| (shown, diff.path.clone()))
    });
    let shown_paths = names.filter(|(shown, path)| shown != path).collect();
    Subject {
        head: reading.pull.head_sha.clone(),
        base: reading.merge_base.clone(),
        diffs: diffs.clone(),
        threads: words::shown_threads(&reading.threads),
        root: snapshot.root().display().to_string(),
        shown_paths,
        changed_since,
        human_reviewers,
        others: reading.others.clone(),
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

/// The session, and what it is for.
pub struct Talk<'a> {
    /// With the session open.
    pub sidecar: &'a mut Keeper,
    pub to_judge: &'a [Excerpt],
    pub questions: &'a [Question],
    pub reviews: bool,
}

pub async fn passes(
    run: &Run<'_>,
    talk: Talk<'_>,
    reading: &Reading,
    diffs: &[(FileDiff, String)],
) -> Result<(Outcome, Suspicions), Stop> {
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
    let conversation = words::conversation(run, reading);
    let snapshot = &reading.change.snapshot;
    let left_out: Vec<(String, usize)> = snapshot
        .left_out_by_reason()
        .into_iter()
        .map(|(reason, files)| (reason.to_string(), files.len()))
        .collect();
    let brief = Brief {
        fence: &run.fence,
        folder: snapshot.own_folder(),
        left_out: &left_out,
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
        unshown: reading.change.unshown.len(),
        rules: &reading.change.rules,
        threads: &reading.threads,
        conversation: &conversation,
        sensitivity: reading.change.sensitivity,
    };
    let suspicions = words::suspicions(run, &brief, talk.questions);
    let passes = Passes {
        sidecar: talk.sidecar,
        brief: &brief,
        to_judge: talk.to_judge,
        questions: talk.questions,
        reviews: talk.reviews,
        desk: &run.desk,
        limits: Limits {
            deadline: run.started + run.setup.clock.limit(run.config.timeout),
            allowance: allowance(run, reading),
            max_tokens: run.config.max_tokens,
        },
        gateway: &run.gateway,
        meter: &run.meter,
        actions: &run.setup.actions,
        clock: run.setup.clock,
        state: State::default(),
    };
    Ok((Box::pin(passes.all()).await?, suspicions))
}

/// What this run may cost, given what the pull request has cost today.
fn allowance(run: &Run<'_>, reading: &Reading) -> Allowance {
    let config = &run.config;
    let today = reading.account.on(run.today);
    if today > 0.0 {
        let line = format!("The pull request has cost ${today:.4} today, before this run.");
        run.setup.actions.line(&line);
    }
    spending::allowance(config.max_cost_usd, config.max_cost_usd_per_day, today)
}

/// What the next run finds: the record that covers this head, or a new one, with what this run has cost.
fn record(run: &Run<'_>, reading: &Reading, outcome: &Outcome, covered: Option<Record>) -> Record {
    let usage = &outcome.usage;
    let spent = run.spent(usage.cost);
    let account = reading.account.plus(spent, usage.tokens.total());
    let record = covered.unwrap_or_else(|| made(run, reading, outcome));
    account.entered_in(record, run.today)
}

/// What this run has reviewed.
fn made(run: &Run<'_>, reading: &Reading, outcome: &Outcome) -> Record {
    let finished = outcome.passes.iter().filter(|pass| pass.summary.is_some());
    let passes = finished.map(|pass| pass.number).filter(|n| *n > 0);
    let request = asking::request(run);
    let again = request.filter(|request| request.command == Command::ReviewFull);
    Record {
        head: reading.pull.head_sha.to_string(),
        merge_base: reading.merge_base.to_string(),
        rules: reading.rules_hash.clone(),
        passes: passes.collect(),
        left_out: first(left_out(reading)),
        asked: again.map(|request| request.comment.0),
        ..Record::default()
    }
}

/// Changed files that the model could not see.
fn left_out(reading: &Reading) -> Vec<String> {
    let change = &reading.change;
    let left_out = change.snapshot.left_out().iter();
    let left_out = left_out
        .filter(|file| file.changed && !change.unshown.contains(&file.path))
        .map(|file| format!("{} ({})", visible(&file.path), file.reason));
    let unshown = change.unshown.iter();
    let unshown = unshown.map(|path| format!("{} (the change is too large)", visible(path)));
    left_out.chain(unshown).collect()
}

/// As many as people read, and a record holds; the report has them all.
fn first(mut left_out: Vec<String>) -> Vec<String> {
    const MOST: usize = 50;
    if left_out.len() > MOST {
        let more = comment::plural(left_out.len() - MOST, "more file");
        left_out.truncate(MOST);
        left_out.push(format!("{more}, listed in the report"));
    }
    left_out
}

/// What the verdict rests on, given what was sent.
fn evidence(
    run: &Run<'_>,
    outcome: &Outcome,
    record: &Record,
    staged: &Staged<'_>,
    sent: &Sent,
    unpublished: usize,
) -> Evidence {
    let policy = &run.config.policy;
    let open = staged.open();
    let old = open_scores(&open, &sent.resolved, policy.threshold);
    let new = staged.said().map(|finding| finding.assessment.score);
    Evidence {
        complete: outcome.end == End::Complete,
        left_out: record.left_out.len(),
        unpublished,
        tally: Tally::of(
            old.chain(new).chain(staged.lost.iter().copied()),
            policy.blocking,
        ),
    }
}

fn conclude(
    run: &Run<'_>,
    reading: &Reading,
    outcome: &Outcome,
    staged: &Staged<'_>,
    sent: Sent,
    mut record: Record,
    can_owe: bool,
) -> Finished {
    let is_said = |finding: &&Finding| sent.urls.contains_key(finding.id.as_str());
    let issues_found = staged.said().filter(is_said).count();
    let unpublished = staged.said().count() - issues_found + sent.failed.len();
    let evidence = evidence(run, outcome, &record, staged, &sent, unpublished);
    // What was not said must be said: by the next run, which reviews this head again unless the record holds it all.
    let held = reading.carried.settle(&mut record, &staged.unposted(&sent));
    let answered = sent.unanswered == 0;
    if unpublished > 0 && !(held && can_owe && answered) {
        record.passes.clear();
    }
    let verdict = Verdict::of(&evidence);
    let mut still_open = staged.open();
    still_open.retain(|thread| !sent.resolved.contains(&thread.id));
    let mut report = report(run, reading, &staged.entries, &sent.urls, &still_open);
    report.set_verdict(verdict, &evidence.tally);
    report.passes = outcome.passes.iter().map(PassReport::from).collect();
    report.tokens = outcome.usage.tokens.total();
    report.cost_usd = outcome.usage.cost;
    report.reasons = reasons(outcome, &record, &sent);
    report.warnings.extend(outcome.restarts.iter().cloned());
    report.notes.extend(reading.carried.dropped.iter().cloned());
    report.warnings.extend(sent.warnings);
    report
        .notes
        .extend(sent.left_open.then(comment::conversations_stay_open));
    report.review_url = sent.review_url;
    Finished {
        report,
        verdict,
        tally: evidence.tally,
        issues_found,
        record,
        unanswered: Vec::new(),
        pr: run.pr.clone(),
        keys: run.keys.clone(),
        fail_job: run.config.fail_job,
    }
}

/// The scores of open threads that count: not closed in this run, and at or above the threshold that is set now.
pub fn open_scores<'a>(
    threads: &'a [&Thread],
    resolved: &'a [CommentId],
    threshold: Score,
) -> impl Iterator<Item = Score> + 'a {
    let open = threads
        .iter()
        .filter(|thread| !resolved.contains(&thread.id));
    let scores = open.map(|thread| thread.assessment.score);
    scores.filter(move |score| *score >= threshold)
}

fn reasons(outcome: &Outcome, record: &Record, sent: &Sent) -> Vec<String> {
    let end = match &outcome.end {
        End::Complete | End::Refused(_) => None,
        End::NotAsked(why) => Some(format!("Nothing was asked of the model: {why}.")),
        End::NotJudged(why) => Some(format!("The open threads were not judged: {why}")),
        End::NotSubmitted(pass, why) => Some(format!(
            "Pass {pass} of 4 was never submitted by the model{why}."
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
    let masked = change.diffs.iter().filter(|diff| diff.mask().is_some());
    let mut warnings = reading.warnings.clone();
    if !run.keys.can_sign() {
        warnings.push(
            "Comments are not signed, because there is neither a state_key nor a model key of at least 20 \
             characters: every run reviews anew, blocking findings are closed by people only, and \
             max_cost_usd_per_day does not hold."
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
        model: run.model().to_string(),
        sandbox: None,
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
        left_out_unchanged: LeftOutReport::of(&change.snapshot),
        masked: masked.map(|diff| diff.path.clone()).collect(),
        suspicions: Vec::new(),
        warnings,
        notes: Vec::new(),
        review_url: None,
    }
}
