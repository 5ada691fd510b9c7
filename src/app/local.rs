//! `local`: a review of the working tree, for the person who sits before it. Sidecar, sandbox, passes and desk are those of
//! a pull request; where the change comes from and where the findings go is different, and GitHub is not asked.

use super::change::Change;
use super::concluding::{first, left_out, of_change, why_incomplete};
use super::draft::Draft;
use super::session::{self, Talk};
use super::{
    Engine, Setup, Stop, both, configured, finish, settings, sidecar, tell_confinement, web,
};
use crate::actions::Actions;
use crate::config::file;
use crate::context::brief::Brief;
use crate::domain::CommitSha;
use crate::git::{Repository, WorkTree};
use crate::opencode::Supervisor;
use crate::publish::comment;
use crate::random;
use crate::report::document::{PassReport, Said, SuspicionReport};
use crate::report::summary::{self, Page};
use crate::report::text::{self, Code};
use crate::report::verdict::{Evidence, Tally, Verdict};
use crate::report::{Report, sarif};
use crate::review::desk::{Desk, Entry, Fate};
use crate::review::run::{End, Outcome};
use crate::state::spending::{self, Allowances};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// How the result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Sarif,
    Markdown,
}

/// What the person asked for.
#[derive(Debug)]
pub struct Order {
    /// Somewhere in the working tree.
    pub directory: PathBuf,
    /// `None`: the default branch.
    pub base: Option<String>,
    pub format: Format,
    pub colours: bool,
    /// Takes the result and nothing else.
    pub out: Actions,
}

/// What is reviewed, and how it is called.
struct Work {
    base: String,
    merge_base: CommitSha,
    head: CommitSha,
    title: String,
    author: String,
    commits: Vec<(String, String)>,
    nested: Vec<String>,
}

/// A review that came to its end.
struct Reviewed {
    report: Report,
    verdict: Verdict,
    code: Code,
}

/// Reviews the working tree and prints the findings. Returns the exit code.
pub async fn local(setup: &Setup, order: &Order) -> u8 {
    let draft = Draft::default();
    tokio::select! {
        ended = Box::pin(reviewed(setup, order, &draft)) => tell(setup, order, ended),
        signal = finish::stop_signal() => interrupted(setup, order, &draft, signal),
    }
}

fn tell(setup: &Setup, order: &Order, ended: Result<Reviewed, Stop>) -> u8 {
    match ended {
        Ok(reviewed) => {
            setup.actions.settle();
            print(order, &reviewed.report, &reviewed.code);
            reviewed.verdict.exit_code(true, true)
        }
        Err(Stop::Skip(sentence)) => {
            setup.actions.line(&sentence);
            Verdict::Skipped.exit_code(true, true)
        }
        Err(Stop::Fail(sentences)) => {
            for sentence in sentences {
                setup.actions.error(&sentence);
            }
            Verdict::Error.exit_code(true, true)
        }
    }
}

/// Ended by a signal: what was found by then was paid for.
fn interrupted(setup: &Setup, order: &Order, draft: &Draft, signal: u8) -> u8 {
    const INTERRUPTED: &str = "The review was interrupted.";
    setup.actions.settle();
    match draft.take() {
        Some(mut report) => {
            report.reasons.push(INTERRUPTED.into());
            let found = report.findings.iter();
            report.open_issues = found.filter(|one| one.fate == "unpublished").count();
            print(order, &report, &Code::new());
        }
        None => setup.actions.line(INTERRUPTED),
    }
    128 + signal
}

fn print(order: &Order, report: &Report, code: &Code) {
    let out = &order.out;
    match order.format {
        Format::Text => {
            let clean = |text: &str| out.clean(text).into_owned();
            out.answer_page(&text::page(report, code, &clean), order.colours);
        }
        Format::Json => out.answer_json(serde_json::to_value(report).unwrap_or_default()),
        Format::Sarif => out.answer_json(sarif::log(report)),
        Format::Markdown => out.answer(&summary::markdown(report, Page::Step)),
    }
}

async fn reviewed(setup: &Setup, order: &Order, draft: &Draft) -> Result<Reviewed, Stop> {
    let mut engine = Engine::new(setup, configured(setup, true)?, None)?;
    let (work, repository) = taken(&engine, order).await?;
    let own = repository.file(&work.merge_base, file::PATH, file::MOST_BYTES);
    if let Some(text) = own.await?
        && let Some(unread) = settings::apply(&mut engine, &text)?
    {
        return Err(Stop::fail(unread));
    }
    setup.actions.glimpse("Starting OpenCode");
    let (tools, model) = sidecar::serve(&engine).await?;
    let snapshot = engine.scratch.directory("snapshot")?;
    let commits = [&work.merge_base, &work.head];
    let (sidecar, change) = tokio::join!(
        sidecar::start(&engine, &tools, &model, &snapshot),
        Change::of(&engine, repository, commits, &snapshot),
    );
    let (sidecar, change) = both(sidecar, change)?;
    if change.owed().next().is_none() {
        sidecar.stop().await;
        let excused = change.excused().map(|(_, excuse)| excuse);
        let unreadable: Vec<String> = change.unreadable().collect();
        return Err(Stop::Skip(comment::nothing_to_show(excused, &unreadable)));
    }
    tell_confinement(&engine, &sidecar);
    let no_web = web::open(&engine, &change).await?;
    let mut reviewed = Box::pin(review(&engine, &sidecar, &work, &change, draft)).await;
    if let Ok(reviewed) = &mut reviewed {
        reviewed.report.sandbox = Some(sidecar.process().confinement().into());
        reviewed.report.notes.extend(no_web);
    }
    sidecar.stop().await;
    reviewed
}

/// The working tree as a commit, and the one that it is compared with.
async fn taken(engine: &Engine<'_>, order: &Order) -> Result<(Work, Repository), Stop> {
    let environment = &engine.setup.environment;
    let objects = engine.scratch.directory("objects")?;
    let home = environment.home.as_deref();
    let directory = &order.directory;
    let tree = WorkTree::find(&objects, directory, home, &environment.for_git()).await?;
    let Some(tree) = tree else {
        return Err(Stop::fail(format!(
            "{} is in no git working tree; run this command in the repository that is to be reviewed.",
            directory.display()
        )));
    };
    let (base, target) = base(&tree, order.base.as_deref()).await?;
    let Some(own) = tree.commit("HEAD").await? else {
        return Err(Stop::fail(
            "The branch has no commit yet; there is nothing to compare with.",
        ));
    };
    let Some(merge_base) = tree.merge_base(&own, &target).await? else {
        return Err(Stop::fail(format!(
            "HEAD and {base} have no commit in common; name another --base, or fetch more of the history."
        )));
    };
    let branch = tree.branch().await?;
    let author = tree.person().await?;
    let commits = tree.commits(&merge_base, &own).await?;
    let taken = tree.take(&own, &merge_base).await?;
    if !taken.changed {
        return Err(Stop::Skip(format!(
            "Nothing has changed since {base}; there is nothing to review."
        )));
    }
    let repository = taken.repository;
    if !repository.holds(&[&merge_base, &taken.head]).await? {
        return Err(Stop::fail(format!(
            "The repository does not hold everything of {}; it may be a shallow or partial clone: fetch the rest first.",
            merge_base.short()
        )));
    }
    let work = Work {
        base,
        merge_base,
        head: taken.head,
        title: branch.unwrap_or_else(|| own.short().to_owned()),
        author: author.unwrap_or_else(|| "you".to_owned()),
        commits,
        nested: taken.nested,
    };
    Ok((work, repository))
}

/// What to compare with, as it is called and as a commit.
async fn base(tree: &WorkTree, given: Option<&str>) -> Result<(String, CommitSha), Stop> {
    if let Some(name) = given {
        let commit = tree.commit(name).await?.ok_or_else(|| {
            Stop::fail(format!(
                "--base {name} names no commit of this repository; accepted is a branch, a tag or a commit, for \
                 example main, origin/main or HEAD~3."
            ))
        })?;
        return Ok((name.to_owned(), commit));
    }
    let usual = ["main", "master"].map(str::to_owned);
    for name in tree.default_branch().await?.into_iter().chain(usual) {
        if let Some(commit) = tree.commit(&name).await? {
            return Ok((name, commit));
        }
    }
    Err(Stop::fail(
        "There is neither a branch main nor a branch master, and the default branch of origin is not known; name a \
         branch, a tag or a commit with --base.",
    ))
}

async fn review(
    engine: &Engine<'_>,
    sidecar: &Arc<Supervisor>,
    work: &Work,
    change: &Change,
    draft: &Draft,
) -> Result<Reviewed, Stop> {
    let diffs = session::diff_files(change).await?;
    engine.session().desk.open(Desk::new(
        session::subject(change, [&work.merge_base, &work.head]),
        session::weights(engine, change.sensitivity),
        engine.session().reviewer.id,
        random::hex(16)?,
    ));
    watch(engine, work, change, draft);
    let mut conversation = session::open(engine, sidecar, "Review of the working tree").await?;
    let left_out = session::left_out(&change.snapshot);
    let parts = session::parts(engine, conversation.client(), change, (&diffs, None)).await;
    let brief = Brief {
        fence: &engine.fence,
        folder: change.snapshot.own_folder(),
        left_out: &left_out,
        title: &work.title,
        body: "",
        author: &work.author,
        base_ref: &work.base,
        head: &work.head,
        commits: &work.commits,
        diffs: &diffs,
        parts: &parts,
        excused: change.hidden(),
        unreadable: change.unreadable().count(),
        since: None,
        rules: &change.rules,
        threads: &[],
        conversation: &[],
        sensitivity: change.sensitivity,
    };
    let talk = Talk {
        conversation: &mut conversation,
        to_judge: &[],
        questions: &[],
        reviews: true,
    };
    let config = &engine.config;
    let allowances = Allowances {
        usd: spending::allowance("max_cost_usd", Some(config.max_cost_usd), None, 0.0),
        tokens: spending::allowance("max_tokens", config.max_tokens, None, 0),
    };
    let (outcome, suspicions) = session::hold(engine, talk, &brief, allowances).await?;
    if let End::Refused(why) = &outcome.end {
        return Err(Stop::fail(session::refusal(engine, why)));
    }
    draft.take();
    let mut reviewed = concluded(engine, work, change, &outcome);
    let suspicions = suspicions.iter().map(SuspicionReport::from);
    reviewed.report.suspicions = suspicions.collect();
    Ok(reviewed)
}

/// From the first finding on, there is something to print.
fn watch(engine: &Engine<'_>, work: &Work, change: &Change, draft: &Draft) {
    let commits = [&work.merge_base, &work.head];
    let mut report = of_change(engine, change, commits, &[], &HashMap::new());
    report.set_verdict(Verdict::Incomplete, &Tally::default());
    let redactor = engine.setup.actions.redactor().clone();
    engine
        .session()
        .desk
        .watch(draft.watcher(report, None, redactor));
}

fn concluded(engine: &Engine<'_>, work: &Work, change: &Change, outcome: &Outcome) -> Reviewed {
    let entries = engine.session().desk.with(|desk| desk.entries().to_vec());
    let entries: Vec<Entry> = entries.unwrap_or_default();
    let findings = entries.iter().filter(|entry| entry.fate == Fate::Staged);
    let findings: Vec<_> = findings.map(|entry| &entry.finding).collect();
    let left_out = left_out(change, &outcome.beyond);
    let evidence = Evidence {
        complete: outcome.end == End::Complete,
        left_out: left_out.len(),
        unpublished: 0,
        tally: Tally::of(
            findings.iter().map(|finding| finding.assessment.score),
            engine.config.policy.blocking,
        ),
    };
    let verdict = Verdict::of(&evidence);
    let said = findings.iter().map(|one| (one.id.to_string(), Said::Here));
    let commits = [&work.merge_base, &work.head];
    let mut report = of_change(engine, change, commits, &entries, &said.collect());
    report.set_verdict(verdict, &evidence.tally);
    report.left_out.clone_from(&left_out);
    report.passes = outcome.passes.iter().map(PassReport::from).collect();
    report.set_used(&outcome.used);
    report.reasons = why_incomplete(outcome, &first(left_out));
    report.warnings.clone_from(&outcome.restarts);
    report.notes.extend(not_part(&work.nested));
    let code = findings.iter().filter_map(|finding| {
        let diff = change.diffs.iter().find(|diff| diff.path == finding.file)?;
        let code = text::excerpt(diff, finding.anchor);
        Some((finding.id.to_string(), code))
    });
    Reviewed {
        code: code.collect(),
        report,
        verdict,
    }
}

fn not_part(nested: &[String]) -> Option<String> {
    (!nested.is_empty()).then(|| {
        let names = nested.join(", ");
        format!("Not reviewed, as each is a repository of its own: {names}.")
    })
}
