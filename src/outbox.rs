//! The outbox: sends what the review has to say. Replies and resolutions first, then the new findings as ONE
//! review, so that people get one notification. A finding that cannot stand on its line goes down the ladder
//! and is not lost.

mod ladder;

use ladder::Places;
use reviewer_core::domain::{Anchor, FileDiff, Finding, ReviewEvent, Thread};
use reviewer_core::publish::comment::judgement::{self, Judged};
use reviewer_core::publish::comment::{Figures, Voice};
use reviewer_core::report::findings::Said;
use reviewer_core::review::desk::{Effect, StagedReply};
use reviewer_core::state::block::{self, Conversation};
use reviewer_github::{ApiError, GitHub, NewReview, NewReviewComment, ReviewRef};
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

    async fn send_review(
        &self,
        github: &GitHub,
        judged: &Judged<'_>,
        sent: &mut Sent,
    ) -> Result<(), ApiError> {
        let (on_lines, on_files): (Vec<&Finding>, Vec<&Finding>) = self
            .findings
            .iter()
            .partition(|finding| matches!(finding.anchor, Anchor::Line { .. }));
        let unanchored = self.send_file_comments(github, &on_files, sent).await;
        match self
            .post(github, &on_lines, &unanchored, judged, sent)
            .await
        {
            // GitHub does not say which anchor it refused.
            Err(ApiError::Unprocessable { .. }) if !on_lines.is_empty() => {
                let places = self.places(github, &on_lines).await;
                self.post_anew(github, places, unanchored, judged, sent)
                    .await
            }
            result => result,
        }
    }

    /// The review with every finding where GitHub takes it.
    async fn post_anew(
        &self,
        github: &GitHub,
        places: Places,
        mut unanchored: Vec<&Finding>,
        judged: &Judged<'_>,
        sent: &mut Sent,
    ) -> Result<(), ApiError> {
        sent.warnings.extend(places.warnings);
        let files: Vec<&Finding> = places.files.iter().collect();
        let refused = self.send_file_comments(github, &files, sent).await;
        unanchored.extend(self.with_original_anchor(refused));
        unanchored.extend(self.with_original_anchor(places.nowhere.iter()));
        let lines: Vec<&Finding> = places.lines.iter().collect();
        match self.post(github, &lines, &unanchored, judged, sent).await {
            Err(ApiError::Unprocessable { .. }) if !lines.is_empty() => {
                // What was taken one by one is refused together: no finding is lost if none depends on an anchor.
                unanchored.extend(self.with_original_anchor(lines));
                self.post(github, &[], &unanchored, judged, sent).await
            }
            result => result,
        }
    }

    /// The findings at the places where they were found: in the review's text each can name its own.
    fn with_original_anchor<'f>(
        &self,
        moved: impl IntoIterator<Item = &'f Finding>,
    ) -> Vec<&Finding> {
        let found = |moved: &Finding| self.findings.iter().find(|one| one.id == moved.id).copied();
        moved.into_iter().filter_map(found).collect()
    }

    async fn send_file_comments<'f>(
        &self,
        github: &GitHub,
        findings: &[&'f Finding],
        sent: &mut Sent,
    ) -> Vec<&'f Finding> {
        let mut unanchored = Vec::new();
        for finding in findings {
            let body = self.voice.finding(finding);
            let created = github
                .create_file_comment(self.voice.pr, self.voice.head, &finding.file, &body)
                .await;
            match created {
                Ok(comment) => {
                    let said = Said::at(&comment.html_url);
                    sent.said.insert(finding.id.to_string(), said);
                }
                Err(error) => {
                    sent.warnings.push(format!(
                        "{} took no comment of its own ({error}); the finding is in the review's text.",
                        finding.file
                    ));
                    unanchored.push(*finding);
                }
            }
        }
        unanchored
    }

    /// Posts the review. Where GitHub refuses the event, it is a comment.
    async fn post(
        &self,
        github: &GitHub,
        inline: &[&Finding],
        unanchored: &[&Finding],
        judged: &Judged<'_>,
        sent: &mut Sent,
    ) -> Result<(), ApiError> {
        let mut event = judged.sent();
        let posted = match self.create(github, inline, unanchored, judged).await {
            Err(error) if is_event_refused(&error, event, inline.is_empty()) => {
                let why = error.to_string();
                let comment = Judged {
                    refused: Some(&why),
                    ..*judged
                };
                let posted = self.create(github, inline, unanchored, &comment).await?;
                let warning = judgement::judgement_refused(event, &why);
                sent.warnings.push(warning);
                event = ReviewEvent::Comment;
                posted
            }
            posted => posted?,
        };
        sent.event = Some(event);
        let said = Said::at(&posted.html_url);
        for finding in unanchored.iter().chain(inline) {
            sent.said.insert(finding.id.to_string(), said.clone());
        }
        if let Said::At(url) = said {
            self.link(github, posted.id, sent).await;
            sent.review_url = Some(url);
        }
        Ok(())
    }

    async fn create(
        &self,
        github: &GitHub,
        inline: &[&Finding],
        unanchored: &[&Finding],
        judged: &Judged<'_>,
    ) -> Result<ReviewRef, ApiError> {
        let comments = inline
            .iter()
            .filter_map(|finding| self.inline(finding))
            .collect();
        let review = NewReview {
            commit_id: self.voice.head.clone(),
            body: self.voice.review(
                &self.findings,
                unanchored,
                self.partial,
                self.record.clone(),
                &self.figures,
                judged,
            ),
            event: Some(judged.sent()),
            comments,
        };
        github.create_review(self.voice.pr, &review).await
    }

    /// GitHub's answer names no comments; they are listed to link to them. A list that fails costs the links.
    async fn link(&self, github: &GitHub, review: u64, sent: &mut Sent) {
        let comments = match github.review_comment_ids(self.voice.pr, review).await {
            Ok(comments) => comments,
            Err(error) => {
                sent.warnings.push(format!(
                    "The review's comments could not be listed: {error}"
                ));
                return;
            }
        };
        for comment in comments {
            let block = block::parse(&comment.body);
            if let Some(id) = block.hidden.and_then(|hidden| hidden.id) {
                sent.said.insert(id, Said::at(&comment.html_url));
            }
        }
    }

    fn inline(&self, finding: &Finding) -> Option<NewReviewComment> {
        let Anchor::Line { side, start, line } = finding.anchor else {
            return None;
        };
        Some(NewReviewComment {
            path: finding.file.clone(),
            body: self.voice.finding(finding),
            line,
            side,
            start_line: start,
            start_side: start.map(|_| side),
        })
    }
}

/// True if GitHub refused the event of a review, not its comments. Without comments nothing else can be refused.
fn is_event_refused(error: &ApiError, event: ReviewEvent, alone: bool) -> bool {
    let judges = event != ReviewEvent::Comment;
    judges && (error.refuses_judgement() || (alone && error.is_refusal()))
}
