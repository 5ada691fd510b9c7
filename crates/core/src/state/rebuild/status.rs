//! Folds the comments below a finding into the state of the discussion and whose turn it is.

use super::{Comment, Conversation, ESCALATED_MARKER, RESOLVED_MARKER, Sources};
use crate::authority::{Action, Person, Stake, judge};
use crate::domain::{Awaiting, CommentId, Decider, Login, Reply, Resolution, Status};
use crate::state::block::{self, Block, Conversation as Closing, Kind};
use crate::state::signature::SignatureCheck;

/// The state of a thread.
pub(super) struct ThreadState {
    pub(super) status: Status,
    pub(super) awaiting: Awaiting,
    pub(super) resolution: Option<Resolution>,
    pub(super) decider: Option<Decider>,
    pub(super) because: String,
}

/// A decisive reply of the reviewer.
#[derive(Clone)]
struct Decision {
    kind: Kind,
    closing: Option<Closing>,
    comment: CommentId,
    /// The way in which it was resolved, if it was.
    resolution: Resolution,
    /// The person or the reply that decided against the finding, as far as it says so.
    decider: Option<Decider>,
}

pub(super) struct Discussion {
    /// The finding blocks: only what is signed, or a person with write access, may close it.
    gates: bool,
    /// The latest decisive reply of the reviewer.
    decision: Option<Decision>,
    /// A resolution that no key of the reviewer verifies: it goes back to the model.
    unverified: Option<CommentId>,
    /// The highest number of the reviewer's replies that are signed.
    seq: u32,
    /// The highest of those that are not. It counts among them alone: anybody who speaks under the reviewer's name
    /// could otherwise give the last number there is, and no reply of the reviewer would count again.
    claimed: u32,
    replies: Vec<Reply>,
    /// The number of replies before the reviewer's last comment.
    answered: usize,
    /// The line that the reviewer's last word says to seem the fix.
    seems_fixed: Option<String>,
}

impl Discussion {
    pub(super) fn new(gates: bool) -> Self {
        Self {
            gates,
            decision: None,
            unverified: None,
            seq: 0,
            claimed: 0,
            replies: Vec::new(),
            answered: 0,
            seems_fixed: None,
        }
    }

    /// The highest number of the reviewer's replies that the next one has to exceed.
    pub(super) fn seq(&self, signs: bool) -> u32 {
        if signs { self.seq } else { self.claimed }
    }

    pub(super) fn seems_fixed(&self) -> Option<String> {
        self.seems_fixed.clone()
    }

    pub(super) fn answered(&self) -> usize {
        self.answered
    }

    pub(super) fn into_replies(self) -> Vec<Reply> {
        self.replies
    }

    pub(super) fn add(
        &mut self,
        sources: &Sources<'_>,
        root: CommentId,
        comment: &Comment,
        warnings: &mut Vec<String>,
    ) {
        let parsed = block::parse(&comment.body);
        let verdict = sources.verify(&parsed, Some(root));
        // What the reviewer signed is its own, whatever account it had then; a copy of it by somebody else is theirs.
        let news = parsed
            .hidden
            .as_ref()
            .is_some_and(|hidden| hidden.seq > self.seq);
        // A finding's own comment is no reply: somebody has copied it.
        let is_copy = parsed.rewritten(root).is_some();
        let ours = !is_copy
            && (sources.is_ours(comment.author.as_ref())
                || (verdict == SignatureCheck::Ours && news));
        if !ours {
            self.replies.push(Reply {
                id: comment.id,
                author: comment.author.clone(),
                standing: comment.standing,
                body: comment.body.clone(),
                created_at: comment.created_at.clone(),
            });
            return;
        }
        self.weigh(root, (comment, &parsed, verdict), warnings);
    }

    /// Takes what the finding's own comment says of its end, where the reviewer rewrote it.
    pub(super) fn begin(
        &mut self,
        first: &Comment,
        parsed: &Block,
        verdict: SignatureCheck,
        warnings: &mut Vec<String>,
    ) {
        if parsed.rewritten(first.id).is_some() {
            self.weigh(first.id, (first, parsed, verdict), warnings);
        }
    }

    /// Applies a comment of the reviewer, as far as it is believed.
    fn weigh(
        &mut self,
        root: CommentId,
        (comment, parsed, verdict): (&Comment, &Block, SignatureCheck),
        warnings: &mut Vec<String>,
    ) {
        match verdict {
            SignatureCheck::Forged => warnings.push(format!(
                "Reply {} in thread {root} does not match its signature.",
                comment.id
            )),
            SignatureCheck::Ours => self.apply(comment, parsed, true),
            SignatureCheck::Unknown if !self.gates => self.apply(comment, parsed, false),
            SignatureCheck::Unknown => {
                if kind_of(&comment.body, parsed) == Kind::Resolve {
                    self.unverified = Some(comment.id);
                }
                warnings.push(format!(
                    "Reply {} in thread {root} is not signed by the reviewer and cannot decide a blocking finding.",
                    comment.id
                ));
            }
        }
    }

    fn apply(&mut self, comment: &Comment, parsed: &Block, signed: bool) {
        let closing = match &parsed.hidden {
            // A reply of the reviewer that was copied later repeats its number, and is not applied again.
            Some(hidden) if hidden.seq <= self.seq => return,
            Some(hidden) if !signed && hidden.seq <= self.claimed => return,
            Some(hidden) => {
                let last = if signed {
                    &mut self.seq
                } else {
                    &mut self.claimed
                };
                *last = hidden.seq;
                hidden.conversation
            }
            None => None,
        };
        self.answered = self.replies.len();
        self.seems_fixed = parsed
            .hidden
            .as_ref()
            .and_then(|hidden| hidden.seems.clone());
        let kind = kind_of(&comment.body, parsed);
        let undecisive = [Kind::Answer, Kind::Concede, Kind::Finding, Kind::Manifest];
        if undecisive.contains(&kind) {
            return;
        }
        self.unverified = None;
        let resolution = match &parsed.hidden {
            Some(hidden) if hidden.dismissed.is_some() => Resolution::ByPerson,
            Some(hidden) if hidden.fixed.is_some() => Resolution::Fixed,
            _ => Resolution::Conceded,
        };
        let decider = parsed.hidden.as_ref().and_then(|hidden| {
            let reply = || hidden.answers.map(|id| Decider::Reply(CommentId(id)));
            let dismissed = hidden.dismissed.as_deref();
            dismissed.map_or_else(reply, |by| Some(Decider::Dismissed(Login::new(by))))
        });
        self.decision = Some(Decision {
            kind,
            closing,
            comment: comment.id,
            resolution,
            decider,
        });
    }

    pub(super) fn outcome(
        &self,
        conversation: Option<&Conversation>,
        sources: &Sources<'_>,
    ) -> ThreadState {
        let closer = self.closer(conversation, sources);
        let (status, because) = self.status(conversation, closer);
        let resolution = match (closer, &self.decision) {
            (Some(_), _) => Resolution::ByPerson,
            (None, Some(decision)) => decision.resolution,
            (None, None) => Resolution::Conceded,
        };
        let resolved = status == Status::Resolved;
        ThreadState {
            status,
            awaiting: self.awaiting(status, sources.author),
            resolution: resolved.then_some(resolution),
            decider: resolved.then(|| self.decider(closer)).flatten(),
            because,
        }
    }

    /// The evidence of who decided against the finding. Whoever closes the conversation of one that is fixed, or seems to be, decides nothing.
    fn decider(&self, closer: Option<&Login>) -> Option<Decider> {
        let resolved = self.decision.as_ref();
        match resolved.filter(|decision| decision.kind == Kind::Resolve) {
            Some(decision) if decision.resolution == Resolution::Fixed => None,
            Some(decision) => decision.decider.clone(),
            None if self.seems_fixed.is_some() => None,
            None => closer.cloned().map(Decider::Closed),
        }
    }

    /// The person who closed the conversation, if it is one who may.
    fn closer<'c>(
        &self,
        conversation: Option<&'c Conversation>,
        sources: &Sources<'_>,
    ) -> Option<&'c Login> {
        let conversation = conversation.filter(|c| c.is_resolved)?;
        let (login, standing) = conversation.resolved_by.as_ref()?;
        let escalated = self.decision.as_ref();
        let escalated = escalated.is_some_and(|one| one.kind == Kind::Escalate);
        let stake = Stake::new(self.gates, escalated, sources.reviewed_by_people);
        let person = Person::from_standing(*standing, sources.author == Some(login));
        let closes = judge(person, Action::CloseConversation(stake));
        closes.is_ok().then_some(login)
    }

    fn status(
        &self,
        conversation: Option<&Conversation>,
        closer: Option<&Login>,
    ) -> (Status, String) {
        if let Some(login) = closer {
            return (
                Status::Resolved,
                format!("{login} resolved the conversation"),
            );
        }
        let reopened = conversation.is_some_and(|c| !c.is_resolved);
        let Some(Decision {
            kind,
            closing,
            comment,
            ..
        }) = &self.decision
        else {
            return (Status::Pending, self.undecided());
        };
        match kind {
            Kind::Resolve if *closing == Some(Closing::Resolved) && reopened => {
                let because = format!(
                    "comment {comment} resolved it, and somebody reopened the conversation"
                );
                (Status::Pending, because)
            }
            Kind::Resolve => (Status::Resolved, format!("comment {comment} resolved it")),
            Kind::Escalate => (Status::Escalated, format!("comment {comment} escalated it")),
            Kind::Reopen => (Status::Pending, format!("comment {comment} reopened it")),
            _ => (
                Status::Disputed,
                format!("comment {comment} kept the finding"),
            ),
        }
    }

    fn undecided(&self) -> String {
        match self.unverified {
            Some(comment) => {
                format!("comment {comment} resolved it, but no known key verifies that")
            }
            None => "no reply of the reviewer has decided it".into(),
        }
    }

    fn awaiting(&self, status: Status, author: Option<&Login>) -> Awaiting {
        let unanswered = &self.replies[self.answered..];
        let waits = |action| {
            let mut people = unanswered.iter().map(|reply| {
                Person::from_standing(reply.standing, reply.author.as_ref() == author)
            });
            people.any(|person| judge(person, action).is_ok())
        };
        match status {
            Status::Resolved => Awaiting::Nobody,
            Status::Escalated if waits(Action::Decide) => Awaiting::Us,
            Status::Escalated => Awaiting::People,
            Status::Pending | Status::Disputed => {
                if waits(Action::Discuss) || self.unverified.is_some() {
                    Awaiting::Us
                } else {
                    Awaiting::Developer
                }
            }
        }
    }
}

/// Classifies a reply: by its hidden keys, or by the markers and the `status` that the older reviewer wrote.
fn kind_of(body: &str, parsed: &Block) -> Kind {
    if let Some(hidden) = &parsed.hidden {
        // A finding whose own comment says that it is fixed.
        let is_fixed = hidden.kind == Kind::Finding && hidden.fixed.is_some();
        return if is_fixed { Kind::Resolve } else { hidden.kind };
    }
    let status = parsed.visible.as_ref().and_then(|v| v.status.as_deref());
    match status {
        Some("RESOLVED") => Kind::Resolve,
        Some("ESCALATED") => Kind::Escalate,
        _ if body.contains(RESOLVED_MARKER) => Kind::Resolve,
        _ if body.contains(ESCALATED_MARKER) => Kind::Escalate,
        _ => Kind::Keep,
    }
}
