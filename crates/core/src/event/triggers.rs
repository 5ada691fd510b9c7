//! One method per event: what must hold for a run, in the order in which a person would ask. Separate from the
//! vocabulary of events, which the rest of the program reads.

use super::{
    Association, CommentPlace, Event, EventError, EventKind, MergeGroup, SkipReason, Trigger,
    TriggerRules, mentions, shown, wire,
};
use crate::domain::{CommentId, CommitSha, Login, PrKey, RepoName};
use crate::state::block;
use serde_json::Value;

/// Reads one event by its name and the rules.
pub(super) struct EventReader<'a> {
    pub(super) name: &'a str,
    pub(super) rules: &'a TriggerRules<'a>,
}

impl EventReader<'_> {
    pub(super) fn read(&self, payload: &Value) -> Result<wire::Payload, EventError> {
        serde::Deserialize::deserialize(payload).map_err(|problem: serde_json::Error| {
            EventError::Shape {
                event: self.name.to_owned(),
                problem: shown(&problem.to_string()),
            }
        })
    }

    pub(super) fn pull_request(&self, payload: wire::Payload) -> Result<Trigger, EventError> {
        let kind = match payload.action.as_deref() {
            Some("opened" | "reopened") => EventKind::Opened,
            Some("synchronize") => EventKind::Pushed,
            Some("ready_for_review") => EventKind::Ready,
            Some("edited") if payload.changes.as_ref().is_some_and(|c| c.base.is_some()) => {
                EventKind::Retargeted
            }
            Some("closed") => return self.closed(&payload),
            other => return Ok(self.other_action(other)),
        };
        self.on_pull_request(payload, kind)
    }

    /// Forks share no check with the repository's own branches, and their events come with a token that only reads.
    fn closed(&self, payload: &wire::Payload) -> Result<Trigger, EventError> {
        let pull = payload.pull_request.as_ref();
        if pull.is_some_and(wire::PullRequest::is_from_fork) {
            return Ok(Trigger::Skip(SkipReason::Closed));
        }
        let number = pull.and_then(|pull| pull.number).or(payload.number);
        Ok(Trigger::Closed(PrKey {
            repo: self.repository(payload.repository.as_ref())?,
            number: self.number(number)?,
        }))
    }

    pub(super) fn merge_group(&self, payload: wire::Payload) -> Result<Trigger, EventError> {
        match payload.action.as_deref() {
            Some("checks_requested") => {}
            other => return Ok(self.other_action(other)),
        }
        let group = payload.merge_group.unwrap_or_default();
        let sha = |sha: Option<String>| sha.and_then(|sha| sha.parse().ok());
        let (head, base) = (sha(group.head_sha), sha(group.base_sha));
        let base_ref = group.base_ref.unwrap_or_default();
        let base_ref = base_ref.strip_prefix("refs/heads/").unwrap_or(&base_ref);
        Ok(Trigger::Merge(MergeGroup {
            repo: self.repository(payload.repository.as_ref())?,
            head: head.ok_or(EventError::NoGroup)?,
            head_ref: group.head_ref.unwrap_or_default(),
            base: base.ok_or(EventError::NoGroup)?,
            base_ref: base_ref.to_owned(),
        }))
    }

    pub(super) fn review(&self, payload: wire::Payload) -> Result<Trigger, EventError> {
        match payload.action.as_deref() {
            Some("submitted") => {}
            other => return Ok(self.other_action(other)),
        }
        let review = payload.review.as_ref();
        let author = review.and_then(|review| review.user.as_ref());
        let body = review.and_then(|review| review.body.as_deref());
        if no_person(author, body, payload.sender.as_ref()) {
            return Ok(Trigger::Skip(SkipReason::Bot));
        }
        self.on_pull_request(payload, EventKind::ReviewSubmitted)
    }

    pub(super) fn issue_comment(&self, payload: wire::Payload) -> Result<Trigger, EventError> {
        if let Some(skip) = self.not_a_persons_new_comment(&payload) {
            return Ok(skip);
        }
        let issue = payload.issue.unwrap_or_default();
        let Some(pull) = issue.pull_request else {
            return Ok(Trigger::Skip(SkipReason::PlainIssue));
        };
        let comment = payload.comment.unwrap_or_default();
        let kind = match self.comment_kind(comment, CommentPlace::IssueComment)? {
            Ok(kind) => kind,
            Err(reason) => return Ok(Trigger::Skip(reason)),
        };
        let merged = pull.merged_at.is_some();
        if let Some(reason) = not_open(issue.state.as_deref(), Some(merged), issue.locked) {
            return Ok(Trigger::Skip(reason));
        }
        self.run(
            payload.repository.as_ref(),
            issue.number,
            kind,
            None,
            payload.sender.as_ref(),
        )
    }

    pub(super) fn review_comment(&self, mut payload: wire::Payload) -> Result<Trigger, EventError> {
        if let Some(skip) = self.not_a_persons_new_comment(&payload) {
            return Ok(skip);
        }
        let comment = payload.comment.take().unwrap_or_default();
        match self.comment_kind(comment, CommentPlace::ReviewComment)? {
            Ok(kind) => self.on_pull_request(payload, kind),
            Err(reason) => Ok(Trigger::Skip(reason)),
        }
    }

    pub(super) fn dispatch(&self, payload: &wire::Payload) -> Result<Trigger, EventError> {
        let given = payload
            .inputs
            .as_ref()
            .and_then(|inputs| inputs.pull_request.as_ref())
            .map(|value| match value {
                Value::String(text) => text.trim().to_owned(),
                other => other.to_string(),
            })
            .filter(|text| !text.is_empty() && text != "null")
            .ok_or(EventError::NoDispatchInput)?;
        let repo = self.repository(payload.repository.as_ref())?;
        let number = dispatched_number(&given, &repo).ok_or_else(|| {
            let (given, repo) = (format!("\"{}\"", shown(&given)), repo.clone());
            EventError::BadDispatchInput { given, repo }
        })?;
        let repository = payload.repository.as_ref();
        let sender = payload.sender.as_ref();
        self.run(repository, Some(number), EventKind::Dispatch, None, sender)
    }

    /// Judges an event that carries the pull request itself.
    fn on_pull_request(
        &self,
        payload: wire::Payload,
        kind: EventKind,
    ) -> Result<Trigger, EventError> {
        let pull = payload.pull_request.unwrap_or_default();
        let merged = pull.merged.or(pull.merged_at.as_ref().map(|_| true));
        if let Some(reason) = not_open(pull.state.as_deref(), merged, pull.locked) {
            return Ok(Trigger::Skip(reason));
        }
        let without = self.without_secrets(&pull, payload.sender.as_ref());
        if let Some(reason @ SkipReason::ForkWithoutSecrets { .. }) = without {
            return Ok(Trigger::Skip(reason));
        }
        let before = payload.before.and_then(|sha| sha.parse().ok());
        let trigger = self.run(
            payload.repository.as_ref(),
            pull.number.or(payload.number),
            kind,
            before,
            payload.sender.as_ref(),
        )?;
        Ok(match (trigger, without) {
            (Trigger::Run(event), Some(reason)) => Trigger::WithoutKey(event, reason),
            (trigger, _) => trigger,
        })
    }

    /// GitHub withholds secrets from forks and from Dependabot: that is not the user's mistake, so it is
    /// not reported as a missing key. Only `pull_request_target` gives a fork's run the secrets.
    fn without_secrets(
        &self,
        pull: &wire::PullRequest,
        sender: Option<&wire::User>,
    ) -> Option<SkipReason> {
        if self.rules.has_model_key {
            return None;
        }
        let mention = self.rules.mention.to_owned();
        let fork = self.name != "pull_request_target" && pull.is_from_fork();
        if fork {
            return Some(SkipReason::ForkWithoutSecrets { mention });
        }
        let dependabot = wire::is_dependabot(sender) || wire::is_dependabot(pull.user.as_ref());
        dependabot.then_some(SkipReason::Dependabot { mention })
    }

    fn not_a_persons_new_comment(&self, payload: &wire::Payload) -> Option<Trigger> {
        match payload.action.as_deref() {
            Some("created") => {}
            other => return Some(self.other_action(other)),
        }
        let comment = payload.comment.as_ref();
        let author = comment.and_then(|comment| comment.user.as_ref());
        let body = comment.and_then(|comment| comment.body.as_deref());
        let no_person = no_person(author, body, payload.sender.as_ref());
        no_person.then_some(Trigger::Skip(SkipReason::Bot))
    }

    /// Parses a person's comment: the inner error is the reason for a skip.
    fn comment_kind(
        &self,
        comment: wire::Comment,
        on: CommentPlace,
    ) -> Result<Result<EventKind, SkipReason>, EventError> {
        let comment_id = comment.id.map(CommentId).ok_or(EventError::NoComment {
            event: self.name.to_owned(),
        })?;
        let body = comment.body.unwrap_or_default();
        if mentions(&body, self.rules.mention) {
            let Some(author) = comment.user.and_then(|user| user.login) else {
                return Ok(Err(SkipReason::Ghost));
            };
            return Ok(Ok(EventKind::Mention {
                comment_id,
                on,
                body,
                author: Login::new(&author),
                association: Association::parse(&comment.author_association.unwrap_or_default()),
                created_at: comment.created_at.unwrap_or_default(),
            }));
        }
        Ok(match comment.in_reply_to_id {
            Some(root) => Ok(EventKind::ThreadReply {
                comment_id,
                in_reply_to: CommentId(root),
            }),
            None => Err(SkipReason::NoMention {
                mention: self.rules.mention.to_owned(),
            }),
        })
    }

    fn run(
        &self,
        repository: Option<&wire::Repository>,
        number: Option<u64>,
        kind: EventKind,
        before: Option<CommitSha>,
        sender: Option<&wire::User>,
    ) -> Result<Trigger, EventError> {
        Ok(Trigger::Run(Event {
            repo: self.repository(repository)?,
            number: self.number(number)?,
            kind,
            before,
            sender: sender
                .and_then(|user| user.login.as_deref())
                .map(Login::new),
        }))
    }

    fn number(&self, number: Option<u64>) -> Result<u64, EventError> {
        number.filter(|n| *n > 0).ok_or(EventError::NoNumber {
            event: self.name.to_owned(),
        })
    }

    fn repository(&self, repository: Option<&wire::Repository>) -> Result<RepoName, EventError> {
        repository
            .and_then(|repo| repo.full_name.as_deref())
            .and_then(|name| name.parse().ok())
            .ok_or(EventError::NoRepository {
                event: self.name.to_owned(),
            })
    }

    fn other_action(&self, action: Option<&str>) -> Trigger {
        Trigger::Skip(SkipReason::action(self.name, action.unwrap_or("none")))
    }
}

/// True if a bot or the reviewer wrote the words. Under a person's token the reviewer's comments come from a person and
/// start workflows: the reviewer must not answer itself.
fn no_person(author: Option<&wire::User>, body: Option<&str>, sender: Option<&wire::User>) -> bool {
    let by_us = body.is_some_and(|body| block::parse(body).hidden.is_some());
    by_us || wire::is_bot(author) || wire::is_bot(sender)
}

fn not_open(state: Option<&str>, merged: Option<bool>, locked: Option<bool>) -> Option<SkipReason> {
    match (state, merged, locked) {
        (_, Some(true), _) => Some(SkipReason::Merged),
        (Some("closed"), _, _) => Some(SkipReason::Closed),
        (_, _, Some(true)) => Some(SkipReason::Locked),
        _ => None,
    }
}

/// `12`, `#12`, or the URL of a pull request of this repository.
fn dispatched_number(given: &str, repo: &RepoName) -> Option<u64> {
    let digits = match given.split_once("://") {
        Some(("http" | "https", rest)) => {
            let mut parts = rest.split(['/', '?', '#']).skip(1);
            let (owner, name, pull) = (parts.next()?, parts.next()?, parts.next()?);
            let ours =
                owner.eq_ignore_ascii_case(repo.owner()) && name.eq_ignore_ascii_case(repo.name());
            if !ours || pull != "pull" {
                return None;
            }
            parts.next()?
        }
        Some(_) => return None,
        None => given.strip_prefix('#').unwrap_or(given),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|n| plain && *n > 0)
}
