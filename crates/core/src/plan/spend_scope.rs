//! The share of the model that a run may use. Separate from what there is to do, because anybody can cause an event on
//! a public repository, and only some of them may cause a bill: `authority.rs` decides who.

use super::Plan;
use crate::authority::{Action, Person, judge};
use crate::config::ForkReviews;
use crate::domain::{Login, RepoName};
use crate::event::{EventKind, SkipReason};

/// The cause of a run, as far as its expense depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    pub kind: &'a EventKind,
    /// The event's own comment asks for a finding to be closed.
    pub dismisses: bool,
    pub repo: &'a RepoName,
    pub from_fork: bool,
    pub forks: ForkReviews,
    pub mention: &'a str,
}

/// The authorization that a run's cost needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sponsor {
    /// The event is enough: only people who may write can cause it, or the operator said so.
    Event,
    /// The person who caused it, if they may [`Action::Spend`].
    Speaker,
    /// Nobody, until somebody asks.
    Nobody,
}

impl Sponsor {
    /// Returns the sponsor of a run that this event starts.
    #[must_use]
    pub(crate) fn from_event(kind: &EventKind, from_fork: bool, forks: ForkReviews) -> Self {
        match kind {
            EventKind::Opened | EventKind::Retargeted | EventKind::Pushed | EventKind::Ready
                if from_fork && forks != ForkReviews::Always =>
            {
                Self::Nobody
            }
            EventKind::Opened
            | EventKind::Retargeted
            | EventKind::Pushed
            | EventKind::Ready
            | EventKind::Dispatch
            | EventKind::Manual => Self::Event,
            EventKind::Mention { .. }
            | EventKind::ThreadReply { .. }
            | EventKind::ReviewSubmitted => Self::Speaker,
        }
    }
}

impl Cause<'_> {
    /// The action that the person who caused the run needs to be authorized for; `None` where the run does not depend
    /// on them.
    #[must_use]
    pub fn needs(&self) -> Option<Action> {
        let from_fork = self.from_fork;
        (self.sponsor() == Sponsor::Speaker).then_some(Action::Spend { from_fork })
    }

    /// Decides how much of the model the run may use, or why it does nothing at all. `speaker` is the person whose
    /// words caused it; `None` where there are no words, or where the account is gone.
    pub fn scope(&self, speaker: Option<(&Login, Person)>) -> Result<SpendScope, SkipReason> {
        match self.sponsor() {
            Sponsor::Event => return Ok(SpendScope::Everything),
            Sponsor::Nobody => return Ok(SpendScope::Nothing(SkipReason::fork(self.mention))),
            Sponsor::Speaker => {}
        }
        let Some((login, person)) = speaker else {
            let ghost = Login::new("ghost");
            return Ok(SpendScope::Nothing(SkipReason::Unauthorized(ghost)));
        };
        let from_fork = self.from_fork;
        if judge(person, Action::Spend { from_fork }).is_ok() {
            return Ok(self.of_authorized());
        }
        // An author who dismisses is told who can.
        let is_told = self.dismisses && judge(person, Action::AskToDismiss).is_ok();
        if matches!(self.kind, EventKind::Mention { .. }) && !is_told {
            return Err(SkipReason::UnauthorizedMention {
                login: login.clone(),
                repo: self.repo.clone(),
            });
        }
        let reason = SkipReason::Unauthorized(login.clone());
        Ok(SpendScope::Nothing(reason))
    }

    /// A stranger's push is looked at when somebody asks for it. Neither a reply asks for it, nor who closes a finding.
    fn of_authorized(&self) -> SpendScope {
        let asks = matches!(self.kind, EventKind::Mention { .. }) && !self.dismisses;
        if self.from_fork && self.forks != ForkReviews::Always && !asks {
            return SpendScope::Discussion(SkipReason::fork(self.mention));
        }
        SpendScope::Everything
    }

    fn sponsor(&self) -> Sponsor {
        Sponsor::from_event(self.kind, self.from_fork, self.forks)
    }
}

/// The share of the model that a run may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpendScope {
    Everything,
    /// Open threads and questions; a review waits for a mention.
    Discussion(SkipReason),
    /// A verdict is computed from what there is, and that is all.
    Nothing(SkipReason),
}

impl SpendScope {
    /// Limits a plan to what can be paid for. A head that nobody has looked at turns green only by the word of somebody
    /// who could have it reviewed; on a branch of the repository, that is whoever pushed it.
    #[must_use]
    pub(crate) fn limit(&self, plan: Plan, from_fork: bool) -> Plan {
        match (self, plan) {
            (Self::Discussion(reason) | Self::Nothing(reason), Plan::Review) => {
                Plan::Skip(reason.clone())
            }
            (Self::Discussion(reason) | Self::Nothing(reason), Plan::Known(record))
                if from_fork || !record.passes.is_empty() =>
            {
                Plan::Skip(reason.clone())
            }
            (_, Plan::Known(record)) => Plan::Recompute(record),
            (_, plan) => plan,
        }
    }

    /// True if threads are judged and questions answered.
    #[must_use]
    pub fn allow_discussion(&self) -> bool {
        !matches!(self, Self::Nothing(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CommentId;
    use crate::event::{Association, CommentPlace};
    use crate::state::record::Record;

    fn mention() -> EventKind {
        EventKind::Mention {
            comment_id: CommentId(1),
            on: CommentPlace::IssueComment,
            body: "@bot".into(),
            author: Login::new("dev"),
            association: Association::Other,
            created_at: String::new(),
        }
    }

    fn reply() -> EventKind {
        EventKind::ThreadReply {
            comment_id: CommentId(2),
            in_reply_to: CommentId(1),
        }
    }

    const ALL: [ForkReviews; 3] = [
        ForkReviews::OnMention,
        ForkReviews::Always,
        ForkReviews::Never,
    ];

    const WRITER: Person = Person {
        is_bot: false,
        writes: true,
        is_author: false,
    };

    const AUTHOR: Person = Person {
        is_bot: false,
        writes: false,
        is_author: true,
    };

    const OTHER: Person = Person {
        is_bot: false,
        writes: false,
        is_author: false,
    };

    struct Case {
        kind: EventKind,
        dismisses: bool,
        from_fork: bool,
        forks: ForkReviews,
    }

    fn case(kind: EventKind, from_fork: bool, forks: ForkReviews) -> Case {
        Case {
            kind,
            dismisses: false,
            from_fork,
            forks,
        }
    }

    impl Case {
        fn needs(&self) -> Option<Action> {
            self.on(|cause| cause.needs())
        }

        fn scope(&self, person: Person) -> Result<SpendScope, SkipReason> {
            self.on(|cause| cause.scope(Some((&Login::new("dev"), person))))
        }

        fn on<T>(&self, ask: impl Fn(Cause<'_>) -> T) -> T {
            ask(Cause {
                kind: &self.kind,
                dismisses: self.dismisses,
                repo: &"acme/shop".parse().unwrap(),
                from_fork: self.from_fork,
                forks: self.forks,
                mention: "@bot",
            })
        }
    }

    #[test]
    fn whoever_can_push_to_the_repository_can_start_a_review() {
        for kind in [
            EventKind::Opened,
            EventKind::Pushed,
            EventKind::Ready,
            EventKind::Dispatch,
            EventKind::Manual,
        ] {
            for forks in ALL {
                let case = case(kind.clone(), false, forks);
                assert_eq!(case.needs(), None);
                let scope = case.on(|cause| cause.scope(None));
                assert_eq!(scope, Ok(SpendScope::Everything), "{kind:?}");
            }
        }
    }

    #[test]
    fn a_fork_s_push_is_paid_for_only_where_the_operator_said_so() {
        let scope = |kind, forks| case(kind, true, forks).on(|cause| cause.scope(None));
        for kind in [EventKind::Opened, EventKind::Pushed, EventKind::Ready] {
            let waits = Ok(SpendScope::Nothing(SkipReason::fork("@bot")));
            assert_eq!(scope(kind.clone(), ForkReviews::OnMention), waits);
            let always = scope(kind, ForkReviews::Always);
            assert_eq!(always, Ok(SpendScope::Everything));
        }
        let dispatch = scope(EventKind::Dispatch, ForkReviews::OnMention);
        let everything = Ok(SpendScope::Everything);
        assert_eq!(dispatch, everything, "only writers can dispatch");
    }

    #[test]
    fn words_are_paid_for_by_who_says_them() {
        let nobody = || SpendScope::Nothing(SkipReason::Unauthorized(Login::new("dev")));
        for kind in [mention(), reply(), EventKind::ReviewSubmitted] {
            for forks in ALL {
                for from_fork in [false, true] {
                    let case = case(kind.clone(), from_fork, forks);
                    assert_eq!(case.needs(), Some(Action::Spend { from_fork }), "{kind:?}");
                    let writer = case.scope(WRITER).unwrap();
                    assert!(writer.allow_discussion(), "{kind:?}");
                    let other = case.scope(OTHER);
                    match kind {
                        EventKind::Mention { .. } => assert_eq!(
                            other.unwrap_err().to_string(),
                            "dev addressed the reviewer without write access to acme/shop; nothing was started."
                        ),
                        _ => assert_eq!(other, Ok(nobody())),
                    }
                    let author = case.scope(AUTHOR);
                    let spends = author.is_ok_and(|scope| scope.allow_discussion());
                    assert_eq!(spends, !from_fork, "{kind:?}");
                }
            }
        }
        let gone = case(reply(), false, ForkReviews::Always).on(|cause| cause.scope(None));
        let ghost = SkipReason::Unauthorized(Login::new("ghost"));
        assert_eq!(gone, Ok(SpendScope::Nothing(ghost)));
    }

    #[test]
    fn an_author_who_dismisses_on_a_fork_s_pull_request_is_told_who_can_and_spends_nothing() {
        let dismisses = |person, forks| {
            let case = Case {
                dismisses: true,
                ..case(mention(), true, forks)
            };
            case.scope(person)
        };
        let told = SpendScope::Nothing(SkipReason::Unauthorized(Login::new("dev")));
        assert_eq!(dismisses(AUTHOR, ForkReviews::OnMention), Ok(told));
        assert!(dismisses(OTHER, ForkReviews::OnMention).is_err());
        let closes = SpendScope::Discussion(SkipReason::fork("@bot"));
        assert_eq!(dismisses(WRITER, ForkReviews::OnMention), Ok(closes));
        let everything = Ok(SpendScope::Everything);
        assert_eq!(dismisses(WRITER, ForkReviews::Always), everything);
    }

    #[test]
    fn a_reply_on_a_fork_s_pull_request_is_answered_and_starts_no_review() {
        let of = |kind, from_fork, forks| case(kind, from_fork, forks).scope(WRITER).unwrap();
        let on_fork = of(reply(), true, ForkReviews::OnMention);
        assert!(matches!(on_fork, SpendScope::Discussion(_)) && on_fork.allow_discussion());
        assert!(matches!(on_fork.limit(Plan::Review, true), Plan::Skip(_)));
        let covered = Plan::Recompute(Box::default());
        assert_eq!(on_fork.limit(covered.clone(), true), covered);
        for everything in [
            of(mention(), true, ForkReviews::OnMention),
            of(reply(), true, ForkReviews::Always),
            of(reply(), false, ForkReviews::OnMention),
        ] {
            assert_eq!(everything.limit(Plan::Review, true), Plan::Review);
        }
    }

    #[test]
    fn without_means_the_verdict_is_still_computed() {
        let nothing = SpendScope::Nothing(SkipReason::fork("@bot"));
        assert!(!nothing.allow_discussion());
        assert!(matches!(nothing.limit(Plan::Review, false), Plan::Skip(_)));
        let covered = Plan::Recompute(Box::default());
        assert_eq!(nothing.limit(covered.clone(), true), covered);
    }

    #[test]
    fn a_new_head_turns_green_without_a_model_only_for_those_who_may_spend() {
        let reviewed = || {
            let record = Record {
                passes: vec![1, 2, 3, 4],
                ..Record::default()
            };
            Plan::Known(Box::new(record))
        };
        let excused = || Plan::Known(Box::default());
        let is_done = |scope: &SpendScope, plan, from_fork| {
            matches!(scope.limit(plan, from_fork), Plan::Recompute(_))
        };
        let waiting = [
            SpendScope::Nothing(SkipReason::fork("@bot")),
            SpendScope::Discussion(SkipReason::fork("@bot")),
        ];
        for scope in &waiting {
            assert!(!is_done(scope, reviewed(), true) && !is_done(scope, reviewed(), false));
            assert!(!is_done(scope, excused(), true));
            assert!(
                is_done(scope, excused(), false),
                "whoever pushed the branch may spend"
            );
        }
        for from_fork in [false, true] {
            assert!(is_done(&SpendScope::Everything, reviewed(), from_fork));
            assert!(is_done(&SpendScope::Everything, excused(), from_fork));
        }
    }
}
