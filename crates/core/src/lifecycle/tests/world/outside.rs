//! The acts of people, of sessions and of GitHub.

use super::{Action, World};
use crate::domain::CommitSha;
use crate::lifecycle::tests::fixture::{login, sha};
use crate::lifecycle::{
    Decision, Input, Policy, PullState, ReviewFact, ReviewState, SessionResult,
};

impl World {
    pub(super) fn act_outside(&mut self, action: Action, policy: &Policy) {
        match action {
            Action::Approve(at) => self.decide(at, Decision::Approved, true, policy),
            Action::Object(at) => {
                self.budget.objections -= 1;
                self.decide(at, Decision::ChangesRequested, true, policy);
            }
            Action::FailPosted(at) => {
                self.budget.failures -= 1;
                self.decide(at, Decision::Approved, false, policy);
            }
            Action::Fixed(at) => self.fixed(at),
            Action::NothingFixed(at) => {
                self.budget.objections -= 1;
                let why = "nothing to do".into();
                self.end_session(at, SessionResult::NothingFixed { why });
            }
            Action::Fail(at) => {
                self.budget.failures -= 1;
                self.fail_session(at);
            }
            Action::OverQuota(at) => {
                self.budget.quotas -= 1;
                let session = self.sessions.remove(at);
                self.allow(&session.head, &session.agent);
                self.inbox.push(Input::OverQuota {
                    dispatch: session.dispatch,
                    quota: "the quota of ann (1 session a day)".into(),
                    until: 0,
                });
            }
            _ => self.act_on_github(action),
        }
    }

    pub(super) fn act_on_github(&mut self, action: Action) {
        let budget = &mut self.budget;
        self.unseen = true;
        match action {
            Action::Push => {
                budget.pushes -= 1;
                let change = self.changes.iter().max().map_or(1, |most| most + 1);
                self.push(change, "ann");
            }
            Action::Update => {
                budget.updates -= 1;
                self.push(self.head_change(), "web-flow");
            }
            Action::Close => {
                budget.closes -= 1;
                self.facts.state = PullState::Closed;
                self.armed = None;
                self.facts.auto_merge_armed = false;
            }
            Action::Reopen => {
                budget.closes -= 1;
                self.dispatched.clear();
                self.facts.state = PullState::Open;
            }
            Action::Draft | Action::Ready => {
                budget.drafts -= 1;
                self.facts.draft = action == Action::Draft;
            }
            Action::PersonApproves => {
                budget.people -= 1;
                self.post("ada", ReviewState::Approved);
                self.note_approval("ada", self.head_change());
            }
            Action::PersonObjects => {
                budget.people -= 1;
                self.post("ada", ReviewState::ChangesRequested);
            }
            Action::ChecksPass => self.merge("quality-bot"),
            _ => {}
        }
    }

    pub(super) fn push(&mut self, change: u8, by: &str) {
        self.changes.push(change);
        self.facts.head = sha(self.changes.len() as u64);
        self.facts.last_push_by = Some(login(by));
    }

    pub(super) fn post(&mut self, by: &str, state: ReviewState) {
        self.post_about(by, state, self.facts.head.clone());
    }

    pub(super) fn post_about(&mut self, by: &str, state: ReviewState, commit: CommitSha) {
        self.facts.reviews.push(ReviewFact {
            id: self.facts.reviews.len() as u64 + 1,
            author: Some(login(by)),
            author_is_bot: false,
            commit: Some(commit),
            state,
            at: String::new(),
            escalations: Vec::new(),
            personas: Vec::new(),
            may_write: true,
        });
    }

    pub(super) fn note_approval(&mut self, by: &str, change: u8) {
        let approval = (by.to_owned(), change);
        if !self.approved.contains(&approval) {
            self.approved.push(approval);
            self.approved.sort();
        }
    }

    /// A session's review is on GitHub; `told`: its callback is on the way.
    pub(super) fn decide(&mut self, at: usize, decision: Decision, told: bool, policy: &Policy) {
        let session = self.sessions[at].clone();
        let by = policy.login_of(&session.agent).unwrap().to_string();
        let (state, is_approval) = match decision {
            Decision::Approved => (ReviewState::Approved, true),
            Decision::ChangesRequested => (ReviewState::ChangesRequested, false),
        };
        if self.posts {
            self.post_about(&by, state, session.head.clone());
            self.unseen = true;
        }
        if is_approval {
            self.note_approval(&session.agent, self.change(&session.head));
        }
        if told {
            let result = SessionResult::Reviewed {
                decision,
                comment: String::new(),
                escalations: Vec::new(),
            };
            self.end_session(at, result);
        } else {
            self.fail_session(at);
        }
    }

    pub(super) fn fixed(&mut self, at: usize) {
        let session = self.sessions[at].clone();
        if session.head != self.facts.head || self.facts.state != PullState::Open {
            let why = "the head has moved".into();
            return self.end_session(at, SessionResult::NothingFixed { why });
        }
        let change = self.changes.iter().max().map_or(1, |most| most + 1);
        self.push(change, "author-bot");
        self.unseen = true;
        let commit = self.facts.head.clone();
        self.end_session(at, SessionResult::Fixed { commit });
    }

    pub(super) fn end_session(&mut self, at: usize, result: SessionResult) {
        let dispatch = self.sessions.remove(at).dispatch;
        self.inbox.push(Input::SessionEnded { dispatch, result });
    }

    pub(super) fn fail_session(&mut self, at: usize) {
        let dispatch = self.sessions.remove(at).dispatch;
        self.inbox.push(Input::SessionFailed {
            dispatch,
            error: "broken".into(),
            retry_after_ms: None,
        });
    }
}
