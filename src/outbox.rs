//! The outbox: sends what the review has to say. Replies and resolutions first, then the new findings as ONE
//! review, so that people get one notification. A finding that cannot stand on its line goes down the ladder
//! and is not lost.

mod ladder;
mod posting;

use reviewer_core::domain::{FileDiff, Finding, ReviewEvent, Thread};
use reviewer_core::publish::comment::judgement::Judged;
use reviewer_core::publish::comment::{Figures, Voice};
use reviewer_core::report::findings::Said;
use reviewer_core::review::desk::{Effect, StagedReply};
use reviewer_core::state::block::Conversation;
use reviewer_github::{ApiError, GitHub};
use serde_json::Value;
use std::collections::HashMap;

/// The comments, replies and resolutions to send.
#[derive(Debug)]
pub(crate) struct Outbox<'a> {
    pub voice: Voice<'a>,
    /// The figures of the review's last line.
    pub figures: Figures<'a>,
    /// The diffs that can be commented on, as far as they are known.
    pub diffs: &'a [FileDiff],
    pub findings: Vec<&'a Finding>,
    pub replies: Vec<&'a StagedReply>,
    /// Open threads. None of their comments may go on saying that it is fixed.
    pub open: Vec<&'a Thread>,
    /// The review did not finish; these are what it has.
    pub partial: bool,
    /// The record, where no check run can carry it.
    pub record: Option<Value>,
}

/// The result of sending.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub review_url: Option<String>,
    /// The event of the review that was posted.
    pub event: Option<ReviewEvent>,
    /// The place where each finding was posted, by finding id.
    pub said: HashMap<String, Said>,
    /// Threads that a reply of this run has closed.
    pub resolved: Vec<reviewer_core::domain::CommentId>,
    /// A thread was closed whose conversation the token may not resolve.
    pub left_open: bool,
    pub warnings: Vec<String>,
    /// The number of replies that were not posted.
    pub unanswered: usize,
    pub failed: Vec<String>,
}

impl Outbox<'_> {
    /// Sends the replies. Failures are collected, not thrown: what could be said is said.
    pub(crate) async fn send_replies(&self, github: &GitHub) -> Sent {
        let mut sent = Sent::default();
        for reply in &self.replies {
            if let Err(error) = self.send_reply(github, reply, &mut sent).await {
                sent.unanswered += 1;
                sent.failed.push(format!(
                    "The reply in thread {} was not posted: {error}",
                    reply.thread.id
                ));
            }
        }
        let closing = |thread: &Thread| {
            let mut replies = self.replies.iter();
            replies.any(|reply| reply.thread.id == thread.id && reply.effect.closes())
        };
        for thread in self.open.iter().filter(|thread| !closing(thread)) {
            self.take_back(github, thread, &mut sent).await;
        }
        sent
    }

    /// Sends the findings as one review, if there are any. A failure is collected.
    pub(crate) async fn send_findings(
        &self,
        github: &GitHub,
        judged: &Judged<'_>,
        sent: &mut Sent,
    ) {
        if self.findings.is_empty() {
            return;
        }
        if let Err(error) = self.send_review(github, judged, sent).await {
            sent.failed
                .push(format!("The review was not posted: {error}"));
        }
    }

    /// The conversation first, the marker second: a reply that says "resolved" is then always true.
    async fn send_reply(
        &self,
        github: &GitHub,
        reply: &StagedReply,
        sent: &mut Sent,
    ) -> Result<(), ApiError> {
        let resolves = reply.effect.closes();
        let rewrites = self.may_rewrite(github, reply).await;
        // One that somebody has resolved already needs no request.
        let mut conversation = if reply.thread.viewer_can_unresolve {
            Conversation::Resolved
        } else {
            Conversation::LeftOpen
        };
        if let (true, true, Some(node)) = (
            resolves,
            reply.thread.viewer_can_resolve,
            &reply.thread.node_id,
        ) {
            match github.resolve(node).await {
                Ok(()) => conversation = Conversation::Resolved,
                Err(error) => sent.warnings.push(format!(
                    "The conversation of thread {} was left open: {error}",
                    reply.thread.id
                )),
            }
        }
        if let (Effect::Reopen, true, Some(node)) = (
            &reply.effect,
            reply.thread.viewer_can_unresolve,
            &reply.thread.node_id,
        ) && let Err(error) = github.unresolve(node).await
        {
            sent.warnings.push(format!(
                "The conversation of thread {} was left closed: {error}",
                reply.thread.id
            ));
        }
        if !(rewrites && self.rewrite(github, reply, conversation).await?) {
            let body = self.voice.reply(reply, conversation);
            github.reply(self.voice.pr, reply.thread.id, &body).await?;
        }
        if reply.effect == Effect::Reopen {
            self.take_back(github, &reply.thread, sent).await;
        }
        if resolves {
            sent.left_open |= reply.thread.must_stay_open();
            sent.resolved.push(reply.thread.id);
        }
        Ok(())
    }

    /// Looks at the thread as it is now. Whoever has spoken in it since it was read is told by a reply, and what somebody else has
    /// written into the comment stays.
    async fn may_rewrite(&self, github: &GitHub, reply: &StagedReply) -> bool {
        let says_it = self.voice.resolved(reply, Conversation::Resolved).is_some();
        match &reply.thread.node_id {
            Some(node) if says_it => github.has_one_voice(node).await.unwrap_or(false),
            _ => false,
        }
    }

    /// Says in the finding's own comment that it is fixed, which nobody is told of. False: a reply has to say it.
    async fn rewrite(
        &self,
        github: &GitHub,
        reply: &StagedReply,
        conversation: Conversation,
    ) -> Result<bool, ApiError> {
        let Some(body) = self.voice.resolved(reply, conversation) else {
            return Ok(false);
        };
        let repo = &self.voice.pr.repo;
        match github.edit_comment(repo, reply.thread.id, &body).await {
            Ok(()) => Ok(true),
            Err(error) if error.is_refusal() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the words about a fix that did not hold out of the finding's comment. What decides is the reply before, or the
    /// conversation that somebody reopened.
    async fn take_back(&self, github: &GitHub, thread: &Thread, sent: &mut Sent) {
        let Some(body) = self.voice.unresolved(thread) else {
            return;
        };
        let repo = &self.voice.pr.repo;
        if let Err(error) = github.edit_comment(repo, thread.id, &body).await {
            sent.warnings.push(format!(
                "The comment of thread {} still says that it is fixed: {error}",
                thread.id
            ));
        }
    }
}
