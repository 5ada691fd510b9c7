//! The fix session: one conversation that edits through the reviewer's tools. This process checks each edit and writes it into
//! the copy of the snapshot that the sidecar reads; the sidecar itself writes nothing.

use super::ground::Ground;
use crate::host::sidecar::Running;
use crate::host::{Failure, Job};
use crate::run::allowances;
use crate::turns::{Assignment, Progress, Prompter, State};
use futures_util::FutureExt as _;
use reviewer_agent::tools::{Answer, FixCall, FixCalls};
use reviewer_core::fix::brief::{self as fix_brief, FixBrief};
use reviewer_core::fix::desk::Fixed;
use reviewer_core::fix::edits::Change;
use reviewer_core::fix::gate::FileKind;
use reviewer_core::fix::issue::Issue;
use reviewer_core::fix::{EditRequest, FileFacts, FixDesk, Gate, HeadFile, Word};
use reviewer_core::review::limits::RunLimits;
use reviewer_core::review::nudges::{Ended, GivenUp};
use reviewer_repo::git::{EntryKind, FileEdit};
use reviewer_text::hidden::visible;
use reviewer_text::template::TemplateError;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A larger file is not edited.
const MAX_FILE: u64 = 1 << 20;

/// The desk of a session, with the files that it is about.
pub(super) struct Bench {
    /// `None` once the session has ended: what is called then changes nothing.
    desk: Arc<Mutex<Option<FixDesk>>>,
    calls: FixCalls,
    ground: Arc<Ground>,
}

impl Bench {
    pub(super) fn new(job: &Job<'_>, ground: &Arc<Ground>, issues: Arc<[Issue]>) -> Self {
        let allow = job.host.config.fix.settings.allow.clone();
        let redactor = Arc::clone(&job.host.secrets.redactor);
        let gate = Gate::new(Arc::clone(&issues), allow, redactor);
        let desk = Arc::new(Mutex::new(Some(FixDesk::new(issues, gate))));
        let (at, files) = (Arc::clone(&desk), Arc::clone(ground));
        let calls = FixCalls::new(move |call| {
            let (desk, ground) = (Arc::clone(&at), Arc::clone(&files));
            async move {
                // One call at a time: an edit and its writing are one step.
                match desk.lock().await.as_mut() {
                    Some(desk) => answer(desk, &ground, call).await,
                    None => Err("The session has ended; end your turn.".into()),
                }
            }
            .boxed()
        });
        Self {
            desk,
            calls,
            ground: Arc::clone(ground),
        }
    }

    /// Prompts until every issue has a result, in a sidecar of its own, which has ended then.
    pub(super) async fn hold(
        &self,
        job: &Job<'_>,
        brief: &FixBrief<'_>,
        stage: Stage<'_>,
    ) -> Result<Held, Failure> {
        let host = &job.host;
        let snapshot = self.ground.facts.change.snapshot.root();
        let running = Running::start_fixer(host, snapshot, &self.calls).await?;
        running.tell_confinement(host);
        let user = running.sandbox().user;
        let ended = self.prompt(job, brief, stage, &running).await;
        running.stop().await;
        Ok(Held {
            ended: ended?,
            user: Some(user),
        })
    }

    async fn prompt(
        &self,
        job: &Job<'_>,
        brief: &FixBrief<'_>,
        stage: Stage<'_>,
        running: &Running,
    ) -> Result<Option<String>, Failure> {
        let (host, session) = (&job.host, job.host.session());
        let title = format!("Fix of {}", job.pr);
        let opened = session.converse_without(&running.sidecar, &title, Vec::new());
        let mut conversation = opened.await.map_err(Failure::new)?;
        let setup = host.setup;
        let now = setup.clock.instant();
        let root = self
            .ground
            .facts
            .change
            .snapshot
            .root()
            .display()
            .to_string();
        let mut prompter = Prompter {
            conversation: &mut conversation,
            limits: limits(job, &self.ground),
            route: session.route()?,
            session,
            run_usage: &host.usage,
            actions: &setup.actions,
            root: &root,
            clock: setup.clock,
            state: State::for_tasks(1),
        };
        if let Some(why) = prompter.limits.nothing_left() {
            return Ok(Some(format!("nothing was asked of the model: {why}")));
        }
        setup.actions.group("Fix");
        let mut progress = Progress::new("fix".into(), now);
        let assignment = FixAssignment {
            brief,
            stage,
            desk: &self.desk,
        };
        let carried_out = prompter.carry_out(&assignment, &mut progress).await;
        prompter.tell(&progress);
        setup.actions.end_group();
        Ok(match carried_out? {
            Ok(_) => None,
            Err(given_up) => Some(told(&given_up)),
        })
    }

    /// Ends the session. What has no result is undone.
    pub(super) async fn finish(self) -> Option<Fixed> {
        let desk = self.desk.lock().await.take();
        desk.map(FixDesk::finish)
    }

    /// The edits that would be published if the session ended now: what has no result is not among them.
    pub(super) async fn edits(&self) -> Vec<FileEdit> {
        let desk = self.desk.lock().await;
        let fixed = desk.as_ref().map(|desk| desk.clone().finish());
        let changed = fixed.map(|fixed| fixed.edits.changed_files());
        file_edits(&changed.unwrap_or_default())
    }
}

/// The limits of a fix that begins now: its own, within those of the run.
fn limits(job: &Job<'_>, ground: &Ground) -> RunLimits {
    let (host, clock) = (&job.host, &job.host.setup.clock);
    let last = host.started + clock.limit(host.config.timeout);
    let own = clock.instant() + clock.limit(host.config.fix.settings.timeout);
    RunLimits {
        deadline: last.min(own),
        last: last.min(own),
        allowances: allowances(job, &ground.facts),
    }
}

/// The reason why the run has no time or no money left for a fix.
pub(super) fn nothing_left(job: &Job<'_>, ground: &Ground) -> Option<String> {
    let limits = limits(job, ground);
    if job.host.setup.clock.instant() >= limits.deadline {
        return Some("the time of the run is over; input review_timeout_minutes sets it".into());
    }
    let used_up = limits.exceeded_by(&job.host.usage.total());
    limits.nothing_left().map(str::to_owned).or(used_up)
}

/// The edits as git takes them.
pub(super) fn file_edits(changed: &[reviewer_core::fix::ChangedFile]) -> Vec<FileEdit> {
    let edit = |file: &reviewer_core::fix::ChangedFile| FileEdit {
        path: file.path.clone(),
        content: file.new.clone(),
    };
    changed.iter().map(edit).collect()
}

/// A session that was held.
pub(super) struct Held {
    /// The reason why it ended early.
    pub ended: Option<String>,
    /// The user that its sidecar had.
    pub user: Option<u32>,
}

/// The reason for the prompt.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage<'a> {
    Begin,
    /// The checks fail because of the edits; what they printed.
    Verify(&'a str),
}

struct FixAssignment<'a> {
    brief: &'a FixBrief<'a>,
    stage: Stage<'a>,
    desk: &'a Mutex<Option<FixDesk>>,
}

impl FixAssignment<'_> {
    fn state(&self) -> String {
        let desk = self.desk.try_lock();
        let Some(desk) = desk.as_ref().ok().and_then(|desk| desk.as_ref()) else {
            return String::new();
        };
        let files = desk.edits().changed_files();
        let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let open: Vec<String> = desk.open().map(|issue| issue.id.to_string()).collect();
        format!(
            "changed: {}\nwithout a result: {}",
            files.join(", "),
            open.join(", ")
        )
    }
}

impl Assignment for FixAssignment<'_> {
    fn begin(&self, _begins: bool) -> Result<String, TemplateError> {
        match self.stage {
            Stage::Begin => self.brief.begin().map(|(text, _)| text),
            Stage::Verify(output) => {
                let anew = self.brief.anew(&self.state())?;
                Ok(format!("{anew}\n---\n\n{}", self.brief.verify(output)?))
            }
        }
    }

    fn nudge(&self, reproach: &str) -> Result<String, TemplateError> {
        fix_brief::nudge(reproach)
    }

    fn resumed(&self) -> Result<String, TemplateError> {
        self.brief.anew(&self.state())
    }

    fn taken_over(&self) -> Result<String, TemplateError> {
        self.brief.anew(&self.state())
    }

    fn anew(&self) -> Result<String, TemplateError> {
        self.brief.anew(&self.state())
    }

    fn is_done(&self, ended: &Ended) -> bool {
        let desk = self.desk.try_lock();
        let Some(desk) = desk.as_ref().ok().and_then(|desk| desk.as_ref()) else {
            return false;
        };
        let all = desk.open().next().is_none();
        match (self.stage, ended) {
            (Stage::Begin, _) => all,
            // The model has to look at what failed, whatever it had said before.
            (Stage::Verify(_), Ended::Turn(turn)) => all && turn.error.is_none(),
            (Stage::Verify(_), _) => false,
        }
    }
}

fn told(given_up: &GivenUp) -> String {
    match given_up {
        GivenUp::Unfinished(why) => format!("the fixer left issues without a result{}", why.told()),
        GivenUp::OutOfTime => "the time of the fix ran out; fix.timeout_minutes sets it".into(),
        GivenUp::OverBudget(why) | GivenUp::Refused(why) | GivenUp::Failed(why) => why.clone(),
    }
}

/// Lets the desk decide about a call, and writes what it accepts.
async fn answer(desk: &mut FixDesk, ground: &Ground, call: FixCall) -> Answer {
    let (answer, edited) = decide(desk, ground, call).await;
    if let Err(why) = write(desk, ground).await {
        // What the copy does not show must not be published either.
        if let Some(issue) = edited {
            desk.undo_unwritten(&issue);
        }
        let rewritten = write(desk, ground).await;
        tracing::debug!("an edit was taken back: {why}; {rewritten:?}");
        return Err(format!("{why} All edits for this issue are undone."));
    }
    answer
}

/// Lets the desk decide about a call. Returns the issue whose files may have changed besides.
async fn decide(desk: &mut FixDesk, ground: &Ground, call: FixCall) -> (Answer, Option<String>) {
    let (issue, file, change, quote) = match call {
        FixCall::Undo { issue } => return (desk.undo(&issue), None),
        FixCall::Submit {
            issue,
            is_fixed,
            text,
        } => {
            let word = if is_fixed {
                Word::Fixed { description: text }
            } else {
                Word::Rejected { reason: text }
            };
            return (desk.submit(&issue, word), None);
        }
        FixCall::Edit {
            issue,
            file,
            old,
            new,
            quote,
        } => (issue, file, Change::Replace { old, new }, quote),
        FixCall::Create {
            issue,
            file,
            content,
        } => (issue, file, Change::Create { content }, None),
        FixCall::Delete { issue, file, quote } => (issue, file, Change::Delete, quote),
    };
    let answer = edit(desk, ground, (issue.clone(), file, quote), change).await;
    (answer, Some(issue))
}

async fn edit(
    desk: &mut FixDesk,
    ground: &Ground,
    (issue, file, depends_on): (String, String, Option<String>),
    change: Change,
) -> Answer {
    let file = repository_path(ground, &file);
    let read = head_file(ground, &file).await.map_err(|error| {
        format!(
            "{} could not be read: {error:#}. Try again.",
            visible(&file)
        )
    })?;
    let Some((bytes, facts)) = read else {
        return Err(format!(
            "{} is larger than 1 MiB, and such a file is not edited. Fix the issue elsewhere, or submit it as rejected.",
            visible(&file)
        ));
    };
    let request = EditRequest {
        issue,
        file,
        change,
        depends_on,
    };
    let head = HeadFile {
        bytes: bytes.as_deref(),
        facts,
    };
    desk.edit(request, &head)
}

/// The name that the repository has for a file, however the model calls it.
fn repository_path(ground: &Ground, given: &str) -> String {
    let snapshot = &ground.facts.change.snapshot;
    let given = given.trim();
    let root = snapshot.root().display().to_string();
    let below = given
        .strip_prefix(&root)
        .map(|rest| rest.trim_start_matches('/'));
    let path = below.unwrap_or(given);
    let path = path.strip_prefix("./").unwrap_or(path);
    let diffs = &ground.facts.change.diffs;
    let shown = diffs
        .iter()
        .find(|diff| diff.path != path && snapshot.shown_path(&diff.path) == path);
    shown.map_or(path, |diff| &diff.path).to_owned()
}

/// The bytes of a file in the head, and the facts that the gate asks for; `None` for a file that is too large to be edited.
pub(super) async fn head_file(
    ground: &Ground,
    file: &str,
) -> anyhow::Result<Option<(Option<Vec<u8>>, FileFacts)>> {
    let change = &ground.facts.change;
    let diff = change.diffs.iter().find(|diff| diff.path == file);
    let is_plain = !file.is_empty() && !file.starts_with('/') && !file.contains('\0');
    let found = if is_plain {
        let repository = &change.repository;
        repository.head_file(ground.head(), file, MAX_FILE).await?
    } else {
        None
    };
    let kind = match found.as_ref().map(|found| &found.kind) {
        None => FileKind::Absent,
        Some(EntryKind::File) => FileKind::Regular,
        Some(EntryKind::Executable) => FileKind::Executable,
        Some(EntryKind::Symlink) => FileKind::Symlink,
        Some(EntryKind::Submodule) => FileKind::Submodule,
    };
    let too_large =
        kind == FileKind::Regular && found.as_ref().is_some_and(|one| one.content.is_none());
    if too_large {
        return Ok(None);
    }
    let mut below = None;
    if kind == FileKind::Absent && is_plain {
        for (at, _) in file.match_indices('/') {
            let parent = &file[..at];
            if change
                .repository
                .head_file(ground.head(), parent, 0)
                .await?
                .is_some()
            {
                below = Some(parent.to_owned());
                break;
            }
        }
    }
    let facts = FileFacts {
        masked: change.snapshot.is_masked(file),
        renamed: change.snapshot.shown_path(file) != file,
        binary: diff.is_some_and(|diff| diff.binary),
        below,
        ..FileFacts::new(kind, diff.is_some())
    };
    Ok(Some((found.and_then(|found| found.content), facts)))
}

/// Writes the accepted edits into the copy that the sidecar reads.
async fn write(desk: &mut FixDesk, ground: &Ground) -> Result<(), String> {
    for effect in desk.take_effects() {
        let edit = FileEdit {
            path: effect.path,
            content: effect.content,
        };
        let written = ground.facts.change.snapshot.edit(&edit).await;
        let written =
            written.map_err(|error| format!("The edit could not be written: {error:#}."))?;
        written
            .map_err(|refusal| format!("{} cannot be edited: {refusal}.", visible(&edit.path)))?;
    }
    Ok(())
}
