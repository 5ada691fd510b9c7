//! Everything a run knows before it decides: the pull request and its discussion from GitHub, the change and the rules from
//! git objects. The two sources are read side by side. One value, never changed: what is read again is another one.

mod agenda;
mod code;
mod github;

pub(crate) use github::head_records;

use super::change::Change;
use super::excerpts;
use super::memory::Memory;
use super::mentions;
use super::prior_reviews::{self, Prior};
use crate::host::{Failure, Job, both};
use github::{Discussion, merge_base};
use reviewer_core::authority::{Action, judge};
use reviewer_core::context::coverage::Excuse;
use reviewer_core::context::failed_checks::FailedCheck;
use reviewer_core::context::intent::Intent;
use reviewer_core::context::since::Since;
use reviewer_core::domain::{Awaiting, CommentId, CommitSha, Login, Resolution, Status, Thread};
use reviewer_core::event::Command;
use reviewer_core::fix::FixReport;
use reviewer_core::panel::analysis::{self, Analysis, Weighed};
use reviewer_core::panel::open_conversations::{OpenConversation, PeopleConversations};
use reviewer_core::plan::agenda::{Agenda, HeadRecord, Inquiries, ModelObstacle};
use reviewer_core::plan::{self, Request, SpendScope};
use reviewer_core::publish::comment::lacking;
use reviewer_core::state::rebuild::{Lost, Remark};
use reviewer_core::state::record::Record;
use reviewer_core::state::spending::Account;
use reviewer_github::{ChangedFile, CommitInfo, IssueComment, PullRequest, Review};
use std::path::Path;
use std::time::Duration;

/// The pull request as the run found it.
pub(crate) struct Facts {
    pub pull: PullRequest,
    /// The login of the token.
    pub viewer: Login,
    pub merge_base: CommitSha,
    pub change: Change,
    /// Hash of what a review depends on besides the code.
    pub rules_hash: String,
    pub files: Vec<ChangedFile>,
    pub commits: Vec<CommitInfo>,
    pub threads: Vec<Thread>,
    lost: Vec<Lost>,
    pub others: Vec<Remark>,
    pub conversation: Vec<IssueComment>,
    pub reviews: Vec<Review>,
    /// A run that was ended has left a draft of a review behind.
    pub has_draft: bool,
    /// The issues that the pull request closes.
    pub intent: Intent,
    /// The checks of others that failed on the head.
    pub checks: Vec<FailedCheck>,
    /// The conversations of people on lines of the change.
    people: PeopleConversations,
    pub warnings: Vec<String>,
    /// The records of earlier runs on this head, newest first.
    on_head: Vec<HeadRecord>,
    /// These, and what is left in manifests and on other heads.
    records: Vec<Record>,
    /// The result of an earlier review for the change as it is now.
    prior: Option<Prior>,
    /// The cost of the pull request before this run.
    pub account: Account,
    inquiries: Inquiries,
    request: Option<Request>,
    /// True if the person who asks for an acceptance may accept.
    may_accept: bool,
    unreadable: Vec<String>,
    scope: SpendScope,
    obstacle: Option<ModelObstacle>,
}

/// The facts about a run before its pull request is read.
pub(crate) struct Frame {
    pub pull: PullRequest,
    pub scope: SpendScope,
    pub obstacle: Option<ModelObstacle>,
}

impl Facts {
    pub(crate) async fn gather(
        job: &Job<'_>,
        frame: Frame,
        snapshot: &Path,
    ) -> Result<Self, Failure> {
        let pull = &frame.pull;
        let merge_base = merge_base(job, pull).await?;
        let (discussion, change) = tokio::join!(
            Discussion::read(job, pull),
            code::change(job, pull, &merge_base, snapshot)
        );
        let (discussion, change) = both(discussion, change)?;
        Self::complete(job, frame, merge_base, change, discussion).await
    }

    /// The same; `None` if the discussion cannot be read in this time. The code may take longer: it grows with the repository.
    pub(crate) async fn gather_within(
        job: &Job<'_>,
        frame: Frame,
        snapshot: &Path,
        most: Duration,
    ) -> Result<Option<Self>, Failure> {
        let pull = &frame.pull;
        let merge_base = merge_base(job, pull).await?;
        let read = async {
            let read = tokio::time::timeout(most, Discussion::read(job, pull)).await;
            read.map_or(Ok(None), |read| read.map(Some))
        };
        let (discussion, change) =
            tokio::join!(read, code::change(job, pull, &merge_base, snapshot));
        let (discussion, change) = both(discussion, change)?;
        let Some(discussion) = discussion else {
            return Ok(None);
        };
        let facts = Self::complete(job, frame, merge_base, change, discussion).await?;
        Ok(Some(facts))
    }

    /// The discussion once more, after another run has worked on this head.
    pub(crate) async fn again(self, job: &Job<'_>) -> Result<Self, Failure> {
        let discussion = Discussion::read(job, &self.pull).await?;
        let frame = Frame {
            pull: self.pull,
            scope: self.scope,
            obstacle: self.obstacle,
        };
        Self::complete(job, frame, self.merge_base, self.change, discussion).await
    }

    async fn complete(
        job: &Job<'_>,
        frame: Frame,
        merge_base: CommitSha,
        change: Change,
        mut discussion: Discussion,
    ) -> Result<Self, Failure> {
        let pull = frame.pull;
        let code = excerpts::Code {
            change: &change,
            merge_base: &merge_base,
            head: &pull.head_sha,
        };
        excerpts::follow_renames(job, &code, &mut discussion.rebuilt.threads).await;
        let rebuilt = discussion.rebuilt;
        let on_head = discussion.on_head;
        let mut records: Vec<Record> = on_head.iter().map(|one| one.record.clone()).collect();
        records.extend(discussion.of_manifests);
        records.extend(prior_reviews::records(job, &pull, &rebuilt).await?);
        let mut facts = Self {
            account: Account::from_records(&records),
            rules_hash: code::rules_hash(job, &change.rules),
            unreadable: change.unreadable().collect(),
            prior: None,
            inquiries: Inquiries::default(),
            request: job.request(),
            may_accept: false,
            files: discussion.files,
            commits: discussion.commits,
            threads: rebuilt.threads,
            lost: rebuilt.lost,
            others: rebuilt.others,
            warnings: rebuilt.warnings,
            viewer: discussion.viewer,
            conversation: discussion.conversation,
            reviews: discussion.reviews,
            has_draft: discussion.has_draft,
            intent: discussion.intent,
            checks: discussion.checks,
            people: discussion.people,
            scope: frame.scope,
            obstacle: frame.obstacle,
            on_head,
            records,
            merge_base,
            change,
            pull,
        };
        if facts.records.is_empty() && rebuilt.has_reviews {
            facts.assume_half(job);
        }
        facts.prior = facts.compared(job).await;
        if facts.obstacle.is_none() {
            facts.may_accept = facts.accepts(job).await?;
            facts.inquiries = mentions::inquiries(job, &facts).await?;
        }
        Ok(facts)
    }

    async fn compared(&self, job: &Job<'_>) -> Option<Prior> {
        let records: Vec<Record> = {
            let excused = self.excused_paths();
            let given = self.given(job, &excused);
            if !plan::agenda::asks_for_prior(&given) {
                return None;
            }
            plan::agenda::continuable(&given).collect()
        };
        prior_reviews::compare(job, self, records).await
    }

    async fn accepts(&self, job: &Job<'_>) -> Result<bool, Failure> {
        let accepts = self.request.as_ref().map(|one| &one.command) == Some(&Command::Accept);
        let Some(speaker) = job.event.speaker().filter(|_| accepts) else {
            return Ok(false);
        };
        let (memory, author) = (Memory::from_job(job), self.pull.author.as_ref());
        let person = memory.person(speaker, author, Action::Accept).await?;
        Ok(judge(person, Action::Accept).is_ok())
    }

    /// Counts half of the day's limits as spent, because the cost of earlier reviews cannot be read.
    fn assume_half(&mut self, job: &Job<'_>) {
        let config = &job.host.config;
        let (usd, tokens) = (config.max_cost_usd_per_day, config.max_tokens_per_day);
        self.account.assume_half(job.today, usd, tokens);
        let limited = usd.is_some() || tokens.is_some();
        // Without keys no record is ever read, which is told by itself.
        if limited && job.keys.can_sign() {
            self.warnings.push(lacking::half_counts_as_spent().into());
        }
    }
}

impl Facts {
    /// The reasons why files of the change are excused, where they are.
    pub(crate) fn excuses(&self) -> impl Iterator<Item = Excuse> {
        self.change.excused().map(|(_, excuse)| excuse)
    }

    /// The changes since the last review; `None`: everything is new.
    pub fn since(&self, agenda: &Agenda) -> Option<&Since> {
        let since = self.prior.as_ref().and_then(Prior::since);
        since.filter(|_| agenda.only_new)
    }

    /// The change, to compare it with what it was.
    pub fn code(&self) -> excerpts::Code<'_> {
        excerpts::Code {
            change: &self.change,
            merge_base: &self.merge_base,
            head: &self.pull.head_sha,
        }
    }

    /// The open conversations of people that the model is to weigh; none where the run comes to no consensus.
    pub(crate) fn conversations_to_weigh(&self, job: &Job<'_>) -> Vec<OpenConversation> {
        if !job.host.weighs_conversations() {
            return Vec::new();
        }
        analysis::to_weigh(&self.people, self.pull.from_fork, &self.records)
    }

    /// The open conversations of people, with what the model said about them in this run or in an earlier one.
    pub(crate) fn analysis(&self, weighed: &[Weighed]) -> Analysis {
        Analysis::new(&self.people, self.pull.from_fork, weighed, &self.records)
    }

    /// The open conversations of people.
    pub(crate) fn open_conversations(&self) -> impl Iterator<Item = &OpenConversation> {
        self.people.open.iter()
    }

    /// The reports of fixes that records hold, those of other heads included.
    pub(crate) fn fix_reports(&self) -> impl Iterator<Item = FixReport> {
        let told = self.records.iter().filter_map(|record| record.fix.clone());
        told.filter_map(|report| serde_json::from_value(report).ok())
    }

    pub(crate) fn thread(&self, id: CommentId) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.id == id)
    }

    /// The threads that an agenda has judged, in its order.
    pub(crate) fn to_judge(&self, agenda: &Agenda) -> Vec<&Thread> {
        let ids = agenda.judge.iter();
        ids.filter_map(|id| self.thread(*id)).collect()
    }

    pub(crate) fn open_threads(&self) -> impl Iterator<Item = &Thread> {
        let threads = self.threads.iter();
        threads.filter(|thread| thread.status.is_open())
    }

    pub(crate) fn allows_discussion(&self) -> bool {
        self.scope.allow_discussion()
    }

    pub(crate) fn can_ask_model(&self) -> bool {
        self.obstacle.is_none()
    }

    /// The verdict of the last run on this diff that reached one.
    pub(crate) fn last_verdict(&self) -> Option<&str> {
        let records = self.on_head.iter().map(|one| &one.record);
        let same = records.filter(|record| record.merge_base == self.merge_base.as_str());
        let mut verdicts = same.map(|record| record.verdict.as_str());
        verdicts.find(|verdict| !verdict.is_empty())
    }

    /// True if a check run of the reviewer on this head was concluded before the discussion was read.
    pub(crate) fn has_read(&self, check: u64) -> bool {
        let mut read = self.on_head.iter();
        read.any(|one| one.id == check && one.concluded_at.is_some())
    }

    /// The same facts after a person has closed a thread through the reviewer.
    pub(crate) fn with_closed(mut self, thread: CommentId, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        let mut threads = self.threads.iter_mut();
        if let Some(thread) = threads.find(|one| one.id == thread) {
            thread.status = Status::Resolved;
            thread.awaiting = Awaiting::Nobody;
            thread.resolution = Some(Resolution::ByPerson);
        }
        self
    }
}
