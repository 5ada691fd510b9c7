//! Whose money a run may spend. Separate from what there is to do, because anybody can cause an event on a public
//! repository, and only some of them may cause a bill.

use super::{NotNow, Plan};
use crate::config::ForkReviews;
use crate::event::EventKind;

/// Who has to stand behind what a run costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payer {
    /// The event is enough: only people who may write can cause it, or the operator said so.
    Event,
    /// The person who caused it, if they are heard.
    Person,
    /// Nobody, until somebody asks.
    Nobody,
}

/// Who pays for a run that this event starts.
#[must_use]
pub fn payer(kind: &EventKind, from_fork: bool, forks: ForkReviews) -> Payer {
    match kind {
        EventKind::Opened | EventKind::Retargeted | EventKind::Pushed | EventKind::Ready
            if from_fork && forks != ForkReviews::Always =>
        {
            Payer::Nobody
        }
        EventKind::Opened
        | EventKind::Retargeted
        | EventKind::Pushed
        | EventKind::Ready
        | EventKind::Dispatch
        | EventKind::Manual => Payer::Event,
        EventKind::Mention { .. } | EventKind::ThreadReply { .. } | EventKind::ReviewSubmitted => {
            Payer::Person
        }
    }
}

/// How much of the model a run may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    Everything,
    /// Open threads and questions; a review waits for a mention.
    Discussion(NotNow),
    /// A verdict is computed from what there is, and that is all.
    Nothing(NotNow),
}

impl Means {
    /// Of a person who is heard. A stranger's push is looked at when somebody asks for it, and a reply does not ask.
    #[must_use]
    pub fn of_person(kind: &EventKind, from_fork: bool, forks: ForkReviews, mention: &str) -> Self {
        let asks = matches!(kind, EventKind::Mention { .. });
        if from_fork && forks != ForkReviews::Always && !asks {
            return Self::Discussion(NotNow::fork(mention));
        }
        Self::Everything
    }

    /// What of a plan can be paid for. A head that nobody has looked at turns green only by the word of somebody who could
    /// have it reviewed; on a branch of the repository, that is whoever pushed it.
    #[must_use]
    pub fn limit(&self, plan: Plan, from_fork: bool) -> Plan {
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

    /// Whether threads are judged and questions answered.
    #[must_use]
    pub fn allow_discussion(&self) -> bool {
        !matches!(self, Self::Nothing(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CommentId, Login};
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
                assert_eq!(payer(&kind, false, forks), Payer::Event, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_fork_s_push_is_paid_for_only_where_the_operator_said_so() {
        for kind in [EventKind::Opened, EventKind::Pushed, EventKind::Ready] {
            assert_eq!(payer(&kind, true, ForkReviews::OnMention), Payer::Nobody);
            assert_eq!(payer(&kind, true, ForkReviews::Always), Payer::Event);
        }
        let dispatch = payer(&EventKind::Dispatch, true, ForkReviews::OnMention);
        assert_eq!(dispatch, Payer::Event, "only writers can dispatch");
    }

    #[test]
    fn words_are_paid_for_by_who_says_them() {
        for kind in [mention(), reply(), EventKind::ReviewSubmitted] {
            for forks in ALL {
                for from_fork in [false, true] {
                    assert_eq!(payer(&kind, from_fork, forks), Payer::Person, "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn a_reply_on_a_fork_s_pull_request_is_answered_and_starts_no_review() {
        let of = |kind, from_fork, forks| Means::of_person(&kind, from_fork, forks, "@bot");
        let on_fork = of(reply(), true, ForkReviews::OnMention);
        assert!(matches!(on_fork, Means::Discussion(_)) && on_fork.allow_discussion());
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
        let nothing = Means::Nothing(NotNow::fork("@bot"));
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
        let is_done = |means: &Means, plan, from_fork| {
            matches!(means.limit(plan, from_fork), Plan::Recompute(_))
        };
        let waiting = [
            Means::Nothing(NotNow::fork("@bot")),
            Means::Discussion(NotNow::fork("@bot")),
        ];
        for means in &waiting {
            assert!(!is_done(means, reviewed(), true) && !is_done(means, reviewed(), false));
            assert!(!is_done(means, excused(), true));
            assert!(
                is_done(means, excused(), false),
                "whoever pushed the branch may spend"
            );
        }
        for from_fork in [false, true] {
            assert!(is_done(&Means::Everything, reviewed(), from_fork));
            assert!(is_done(&Means::Everything, excused(), from_fork));
        }
    }
}
