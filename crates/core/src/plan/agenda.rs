//! The agenda: what this run does. One value, decided from the facts and from nothing else, so that a run that was
//! cancelled is made good by the next one, whatever its event was.

use super::{Change, MOST_JUDGED, Plan, Question, Request, SpendScope};
use crate::domain::{CommentId, CommitSha, FileDiff, FindingId, Login, Score, Thread};
use crate::event::{Command, SkipReason};
use crate::state::backlog::{Backlog, Now};
use crate::state::rebuild::Lost;
use crate::state::record::{Accepted, Record};

/// The record of a check run on the head.
#[derive(Debug, Clone)]
pub struct HeadRecord {
    pub id: u64,
    pub record: Record,
    /// RFC 3339, as GitHub gave it; `None` while the check is in progress.
    pub concluded_at: Option<String>,
}

/// The reason why a run cannot use a model.
#[derive(Debug, Clone)]
pub enum ModelObstacle {
    /// The settings of the gate cannot be read.
    Settings(String),
    /// There is no model key.
    NoKey(SkipReason),
}

/// A person who asks for something to be accepted.
#[derive(Debug, Clone, Copy)]
pub struct Acceptor<'a> {
    pub login: &'a Login,
    pub may_accept: bool,
    /// When the comment was written; RFC 3339, as GitHub gave it.
    pub written_at: &'a str,
}

/// A comment, and where in which thread the reply to it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyTo {
    pub comment: CommentId,
    /// `None`: below the description.
    pub root: Option<CommentId>,
    /// The reply's number in a thread of the reviewer.
    pub seq: u32,
}

/// The questions of authorized people.
#[derive(Debug, Clone, Default)]
pub struct Inquiries {
    /// Below the description, oldest first.
    pub questions: Vec<Question>,
    /// In the review thread of the event's own comment.
    pub in_thread: Option<Question>,
    /// The comment that the reply to the event's own comment goes to; `None` once it has one.
    pub reply_to: Option<ReplyTo>,
}

/// The facts that an agenda depends on.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    pub change: Change<'a>,
    pub diffs: &'a [FileDiff],
    /// Paths of the changed files that are excused from being seen.
    pub excused: &'a [&'a str],
    /// Hash of what a review depends on besides the code.
    pub rules: &'a str,
    /// The records of the head's own check runs, newest first.
    pub on_head: &'a [HeadRecord],
    /// All records: the head's, then those of manifests and of other heads.
    pub records: &'a [Record],
    /// The record of an earlier review of the same change, made out to this head.
    pub same_change: Option<&'a Record>,
    pub threads: &'a [Thread],
    pub lost: &'a [Lost],
    pub inquiries: &'a Inquiries,
    pub scope: &'a SpendScope,
    pub from_fork: bool,
    /// A draft that is not reviewed as such.
    pub draft: bool,
    pub request: Option<&'a Request>,
    pub acceptor: Option<Acceptor<'a>>,
    pub obstacle: Option<&'a ModelObstacle>,
    pub mention: &'a str,
    pub threshold: Score,
    pub blocking: Option<Score>,
    /// True if more follows on a conclusion than its words: the run approves and requests changes, or a fix may follow.
    pub decides: bool,
}

/// The work of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Nothing but answering questions.
    Skip(String),
    /// Lists the commands.
    Help,
    /// Replies why a head is not accepted.
    Decline(NotAccepted),
    /// Fails the check: the change cannot be judged.
    Fail(String),
    /// Concludes the head from a record, without a model.
    Conclude(Box<Record>),
    /// Asks the model: about open threads, questions and, unless a record covers the change, the change.
    Session { covered: Option<Box<Record>> },
}

/// The reason why a head is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAccepted {
    NoWriteAccess(Login),
    NothingReviewed,
    FindingsToPost,
    NothingToAccept,
    ConcludedSince,
}

/// The decision about this run: its work, and the facts for it.
#[derive(Debug, Clone)]
pub struct Agenda {
    pub task: Task,
    /// The open threads that the model judges, those where people wait first.
    pub judge: Vec<CommentId>,
    /// The number of further threads that a later run judges.
    pub judge_later: usize,
    pub questions: Vec<Question>,
    pub reply_to: Option<ReplyTo>,
    /// True if only the changes since the last review are shown.
    pub only_new: bool,
    /// True if whoever asked is told the state of the head.
    pub tells_state: bool,
    /// Findings of earlier runs that could not be posted.
    pub backlog: Backlog,
    /// Findings whose comments are gone.
    pub lost: Vec<Lost>,
    pub warnings: Vec<String>,
    /// True if the run waits for another run on the head: comments are posted in turn, or two runs post the same.
    pub waits: bool,
}

impl Agenda {
    #[must_use]
    pub fn decide(given: &Given<'_>) -> Self {
        let plan = given.plan();
        let backlog = given.backlog();
        let (lost, warnings) = given.lost_under(&plan, &backlog);
        let mut agenda = Self {
            task: Task::Help,
            judge: Vec::new(),
            judge_later: 0,
            questions: Vec::new(),
            reply_to: given.inquiries.reply_to,
            only_new: given.command() != Some(&Command::ReviewFull),
            tells_state: false,
            backlog,
            lost,
            warnings,
            waits: false,
        };
        if let Some(obstacle) = given.obstacle {
            agenda.task = given.despite(obstacle, given.scope.limit(plan, given.from_fork));
            return agenda;
        }
        let limited = given.limited(plan.clone());
        agenda.questions = given.questions(&plan, &limited);
        agenda.task = agenda.task_of(given, &plan, limited);
        agenda
    }

    fn task_of(&mut self, given: &Given<'_>, plan: &Plan, limited: Plan) -> Task {
        match given.command() {
            Some(Command::Help) => return Task::Help,
            Some(Command::Accept) => {
                let accepted = given.accepted(&self.backlog);
                (self.waits, self.tells_state) = (accepted.is_ok(), accepted.is_ok());
                return accepted.map_or_else(Task::Decline, Task::Conclude);
            }
            _ => {}
        }
        let covered = match limited {
            Plan::Skip(reason) => return Task::Skip(reason.to_string()),
            Plan::Recompute(record) | Plan::Known(record) => Some(record),
            Plan::Review => None,
        };
        self.tells_state = covered.is_some() && given.command() == Some(&Command::Review);
        let mut judge = given.waiting_threads(plan, covered.is_none());
        let speaks =
            self.backlog.has_undelivered() || !judge.is_empty() || !self.questions.is_empty();
        self.judge_later = judge.len().saturating_sub(MOST_JUDGED);
        judge.truncate(MOST_JUDGED);
        self.judge = judge;
        match covered {
            Some(record) if !speaks => {
                self.waits = given.decides;
                Task::Conclude(record)
            }
            covered => {
                self.waits = true;
                Task::Session { covered }
            }
        }
    }

    /// The same without a session: concludes the head from the record that covers it, or says that there is none.
    #[must_use]
    pub fn without_session(self, head: &CommitSha) -> Self {
        let task = match self.task {
            Task::Session {
                covered: Some(record),
            } => Task::Conclude(record),
            Task::Session { covered: None } => Task::Skip(format!(
                "Nothing was fixed: {} is not reviewed to the end with these inputs; let it be reviewed first.",
                head.short()
            )),
            Task::Fail(why) => Task::Skip(why),
            other => other,
        };
        Self {
            task,
            judge: Vec::new(),
            judge_later: 0,
            questions: Vec::new(),
            tells_state: false,
            ..self
        }
    }

    /// The same for a fix that a service ordered: a head that no record of this run's reviewer covers is concluded as this record
    /// has it, because the service knows who reviewed it.
    #[must_use]
    pub fn ordered(self, head: &CommitSha, record: Record) -> Self {
        let task = match &self.task {
            Task::Session { covered: None } => Some(Task::Conclude(Box::new(record))),
            _ => None,
        };
        let agenda = self.without_session(head);
        match task {
            Some(task) => Self { task, ..agenda },
            None => agenda,
        }
    }

    /// True if the run writes comments in its own name, for which it needs the right to.
    #[must_use]
    pub fn posts(&self) -> bool {
        match self.task {
            Task::Session { .. } => true,
            Task::Skip(_) => !self.questions.is_empty(),
            Task::Help | Task::Decline(_) | Task::Fail(_) | Task::Conclude(_) => false,
        }
    }

    /// Scores of the findings of a head whose comments somebody deleted.
    #[must_use]
    pub fn missed(&self, head: &CommitSha) -> Vec<Score> {
        let lost = self.lost.iter().filter(|lost| lost.head == *head);
        lost.map(|lost| lost.score).collect()
    }
}

impl Given<'_> {
    fn command(&self) -> Option<&Command> {
        self.request.map(|request| &request.command)
    }

    /// Plans the work for the head, whoever asks.
    fn plan(&self) -> Plan {
        let plan = super::plan(self.current_records(), &self.change, self.rules);
        match self.same_change {
            Some(record) if plan == Plan::Review => Plan::Known(Box::new(record.clone())),
            _ => plan,
        }
    }

    /// The records that know of everything that is fixed now.
    fn current_records(&self) -> Vec<Record> {
        let current = self.records.iter().filter(|one| self.is_current(one));
        current.cloned().collect()
    }

    fn is_current(&self, record: &Record) -> bool {
        record.knows_of_fixes(self.threads)
    }

    /// Limits a plan to what is asked for and can be paid for.
    fn limited(&self, plan: Plan) -> Plan {
        let plan = super::on_request(plan, self.request, self.draft, self.mention);
        self.scope.limit(plan, self.from_fork)
    }

    /// Without a model a pull request is concluded if nothing of it has to be shown to one.
    fn despite(&self, obstacle: &ModelObstacle, plan: Plan) -> Task {
        match (obstacle, plan) {
            (ModelObstacle::Settings(_), Plan::Skip(reason)) => Task::Skip(reason.to_string()),
            (ModelObstacle::Settings(why), _) => Task::Fail(why.clone()),
            (ModelObstacle::NoKey(_), Plan::Recompute(record)) if self.change.required == 0 => {
                Task::Conclude(record)
            }
            (ModelObstacle::NoKey(reason), _) => Task::Skip(reason.to_string()),
        }
    }

    fn backlog(&self) -> Backlog {
        let (current, outdated): (Vec<&Record>, Vec<&Record>) =
            self.records.iter().partition(|one| self.is_current(one));
        let now = Now {
            head: self.change.head,
            merge_base: self.change.merge_base,
            diffs: self.diffs,
            threads: self.threads,
            lost: self.lost,
            threshold: self.threshold,
            blocking: self.blocking,
        };
        Backlog::from_records(current.into_iter().chain(outdated), &now)
    }

    /// Returns the lost findings, and the sentences about them. Where a record stands in for the review, its findings
    /// count as it has them, whatever became of the comments and of the manifest that listed them.
    fn lost_under(&self, plan: &Plan, backlog: &Backlog) -> (Vec<Lost>, Vec<String>) {
        let (mut all, mut warnings) = (self.lost.to_vec(), Vec::new());
        let (Plan::Recompute(record) | Plan::Known(record)) = plan else {
            return (all, warnings);
        };
        let missing = record.missing(self.threads);
        for (id, score) in missing.filter(|(id, _)| !backlog.has(id)) {
            let head = self.change.head.clone();
            if let Some(lost) = all.iter_mut().find(|lost| lost.id == id) {
                lost.head = head;
            } else {
                let lost = Lost { id, score, head };
                warnings.push(lost.to_string());
                all.push(lost);
            }
        }
        (all, warnings)
    }

    /// The questions that are answered by themselves. In a thread that turn 0 judges, turn 0 gives the reply.
    fn questions(&self, plan: &Plan, limited: &Plan) -> Vec<Question> {
        let judges = !matches!(limited, Plan::Skip(_));
        let waiting = self.waiting_threads(plan, false);
        let in_thread = self.inquiries.in_thread.as_ref().filter(|question| {
            let root = question.thread.as_ref().map(|thread| thread.root);
            !(judges && root.is_some_and(|root| waiting.contains(&root)))
        });
        let questions = self.inquiries.questions.iter();
        questions.chain(in_thread).cloned().collect()
    }

    /// The open threads that the model judges, with the change if it `reviews` that: none where nobody pays for it.
    fn waiting_threads(&self, plan: &Plan, reviews: bool) -> Vec<CommentId> {
        if !self.scope.allow_discussion() {
            return Vec::new();
        }
        let looked_at = |thread: &Thread| reviews || self.may_be_fixed(plan, thread);
        let threads = super::to_judge(self.threads, self.change.head, looked_at);
        threads.into_iter().map(|thread| thread.id).collect()
    }

    /// True if a push that is not reviewed may have fixed a finding: one in an excused file, or one that the review
    /// which stands in for this head does not know, because what it was about was taken back. Looked at once for each
    /// head.
    fn may_be_fixed(&self, plan: &Plan, thread: &Thread) -> bool {
        let (Plan::Known(record), None) = (plan, self.newest_on_head()) else {
            return false;
        };
        let lists = |id: &FindingId| record.findings.iter().any(|one| one.id == id.as_str());
        let is_listed = thread.finding_id.as_ref().is_some_and(lists);
        !is_listed || self.excused.contains(&thread.file.as_str())
    }

    /// The record of the newest run on this head about this change, whether it was finished or not.
    fn newest_on_head(&self) -> Option<&HeadRecord> {
        let (base, head) = (self.change.merge_base, self.change.head);
        self.on_head
            .iter()
            .find(|one| one.record.is_about(base, head, self.rules) && self.is_current(&one.record))
    }

    /// The head's record with the name of the person who accepts it, if there is something in it to accept that could be
    /// seen when the comment was written.
    fn accepted(&self, backlog: &Backlog) -> Result<Box<Record>, NotAccepted> {
        let (Some(acceptor), Some(request)) = (&self.acceptor, self.request) else {
            return Err(NotAccepted::NothingReviewed);
        };
        if !acceptor.may_accept {
            return Err(NotAccepted::NoWriteAccess(acceptor.login.clone()));
        }
        let on_head = self.newest_on_head().ok_or(NotAccepted::NothingReviewed)?;
        let record = &on_head.record;
        if record.unsent > 0 || backlog.has_undelivered() {
            return Err(NotAccepted::FindingsToPost);
        }
        if record.undone().is_empty() {
            return Err(NotAccepted::NothingToAccept);
        }
        // Both times are GitHub's, in the same form.
        let concluded_at = on_head.concluded_at.as_deref();
        if concluded_at.is_some_and(|at| at > acceptor.written_at) {
            return Err(NotAccepted::ConcludedSince);
        }
        let accepted = Accepted {
            by: acceptor.login.to_string(),
            comment: request.comment.0,
        };
        Ok(Box::new(Record {
            accepted: Some(accepted),
            ..record.clone()
        }))
    }
}

/// True if earlier reviews are held against the change: only where no record of the head itself decides.
#[must_use]
pub fn asks_for_prior(given: &Given<'_>) -> bool {
    given.plan() == Plan::Review
}

/// The records that a review of the change can go on from, newest first.
pub fn continuable(given: &Given<'_>) -> impl Iterator<Item = Record> {
    super::finished_under(given.current_records(), given.rules)
}

#[cfg(test)]
mod tests;
