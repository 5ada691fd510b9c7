//! Sessions of an App: its personas share one account. They act with the token, the keys and the words of their orders, decide as
//! sessions do, and have a check on the head.

use super::github::Identity;
use super::repository::REPOSITORY;
use super::stage::Stage;
use crate::run::given_review;
use reviewer_core::domain::{
    CommitSha, Conclusion, PrKey, ReviewDecision, ReviewEvent, Tally, Verdict,
};
use reviewer_core::panel::consensus::Consensus;
use reviewer_core::panel::decision::{Alone, Circumstances, Grounds};
use reviewer_core::panel::own_reviews::{Diff, OwnReviews};
use reviewer_core::publish::comment::judgement::{Judged, no_longer_approved, nothing_blocks};
use reviewer_core::publish::comment::{Stated, Voice};
use reviewer_core::session_order::SessionOrder;
use reviewer_core::state::check_mark::CHECK_NAME;
use reviewer_core::state::signature::Keys;
use reviewer_github::{ApiError, CheckOutput, GitHub, NewCheckRun, NewReview};
use secrecy::SecretString;

/// A session of a persona that reviews.
pub(super) struct Persona<'a> {
    stage: &'a Stage,
    order: &'a SessionOrder,
    github: GitHub,
    pr: PrKey,
    head: CommitSha,
    check: u64,
}

/// The decision of a session, and whom it calls.
pub(super) struct Decided {
    pub approves: bool,
    pub escalations: Vec<String>,
}

/// The name of a session in the blocks of what it posts.
pub(super) fn run_of(dispatch: u64) -> String {
    format!("run-{dispatch}")
}

pub(super) fn keys(secret: &str) -> Keys {
    Keys::derive(&[SecretString::from(secret)], None, REPOSITORY)
}

impl Stage {
    /// The rights of a session's token: those of its task, in its repository.
    pub(super) fn assert_rights(&self, order: &SessionOrder, fixes: bool) {
        let token = &order.inputs["github_token"];
        let (own, identity): (u64, Option<Identity>) = self.github.with(|state| {
            let identity = state.identities.get(token);
            (state.repository.id, identity.cloned())
        });
        let identity = identity.expect("GitHub has made the token");
        assert_eq!(identity.repositories, Some(vec![own]));
        assert_eq!(identity.may("contents:write"), fixes, "{identity:?}");
        assert!(identity.may("pull-requests:write") && identity.may("checks:write"));
        assert!(order.check_runs && order.shared_account, "{order:?}");
    }
}

impl<'a> Persona<'a> {
    /// Begins: the check of the head is in progress.
    pub(super) async fn begin(stage: &'a Stage, order: &'a SessionOrder) -> Result<Self, ApiError> {
        stage.assert_rights(order, false);
        let github = stage.client_of(&order.inputs["github_token"]);
        let pr = PrKey {
            repo: REPOSITORY.parse().expect("a name"),
            number: stage.key.number,
        };
        let head: CommitSha = order.head.parse().expect("a commit");
        let check = NewCheckRun {
            name: CHECK_NAME.into(),
            head_sha: head.clone(),
            external_id: run_of(order.dispatch),
            details_url: None,
            output: output("Reviewing"),
            conclusion: None,
        };
        Ok(Self {
            check: github.create_check_run(&pr.repo, &check).await?,
            stage,
            order,
            github,
            pr,
            head,
        })
    }

    /// Brings the reviews of the persona in line with its decision, and concludes the check.
    pub(super) async fn decide(&self, decided: &Decided) -> Result<(), ApiError> {
        let (verdict, conclusion) = if decided.approves {
            (Verdict::Clean, Conclusion::Success)
        } else {
            (Verdict::Blocking, Conclusion::Failure)
        };
        self.judge(verdict, &decided.escalations).await?;
        let told = output(&verdict.to_string());
        let repo = &self.pr.repo;
        self.github
            .conclude(repo, self.check, conclusion, &told)
            .await
    }

    async fn judge(&self, verdict: Verdict, escalations: &[String]) -> Result<(), ApiError> {
        let name = &self.order.reviewer.as_ref().expect("a persona").name;
        let viewer = self.github.viewer().await?;
        let author = self.github.pull_request(&self.pr).await?.author;
        let reviews = self.github.reviews(&self.pr).await?;
        let own = OwnReviews::read(reviews.iter().map(given_review), &viewer).of_reviewer(name);
        let grounds = Grounds {
            verdict,
            consensus: Some(Consensus::Approve),
            reviewed: true,
            own_pull_request: author.as_ref() == Some(&viewer),
            withholds_approval: self.order.withholds_approval(escalations),
        };
        let merge_base = self.merge_base();
        let diff = Diff {
            head: &self.head,
            merge_base: Some(&merge_base),
        };
        let outdated = grounds.outdated_approvals(&own, diff);
        let message = no_longer_approved(&self.head);
        let withdrawn = self.dismiss(&outdated, &message).await?;
        let mut circumstances = Circumstances {
            own: &own,
            diff,
            event: grounds.event(),
            outdated: &outdated,
            dismissed: &withdrawn,
            unchanged: false,
            states: Some((grounds.decision(), escalations)),
        };
        let requests = circumstances.requests_to_dismiss(&grounds);
        let message = nothing_blocks(&self.head);
        let ended = self.dismiss(&requests, &message).await?;
        let dismissed = [withdrawn.as_slice(), &ended].concat();
        circumstances.dismissed = &dismissed;
        let event = match circumstances.alone() {
            Alone::Nothing => return Ok(()),
            Alone::Post(event) => event,
            Alone::ReplaceApproval => panic!("GitHub lets the App dismiss its approvals"),
        };
        let stated = Stated {
            reviewer: name,
            decision: grounds.decision(),
            escalations,
        };
        self.post(event, stated, &merge_base).await
    }

    async fn dismiss(&self, reviews: &[u64], message: &str) -> Result<Vec<u64>, ApiError> {
        for id in reviews {
            self.github.dismiss_review(&self.pr, *id, message).await?;
        }
        Ok(reviews.to_vec())
    }

    async fn post(
        &self,
        event: ReviewEvent,
        stated: Stated<'_>,
        merge_base: &CommitSha,
    ) -> Result<(), ApiError> {
        let run = run_of(self.order.dispatch);
        let voice = Voice {
            pr: &self.pr,
            keys: &keys(&self.order.inputs["state_key"]),
            head: &self.head,
            run: &run,
            fork: false,
            mention: &self.order.inputs["mention"],
            blocking: None,
            page: "",
            rounds: false,
        };
        let judged = Judged {
            merge_base: (event == ReviewEvent::Approve).then_some(merge_base),
            stated: Some(stated),
            ..Judged::new(event)
        };
        let blocking = usize::from(stated.decision == ReviewDecision::ChangesRequested);
        let tally = Tally {
            open: blocking,
            blocking,
        };
        let review = NewReview {
            commit_id: self.head.clone(),
            body: voice.judgement(&judged, &tally, None),
            event: Some(judged.sent()),
            comments: Vec::new(),
        };
        let posted = self.github.create_review(&self.pr, &review).await?;
        self.stage.tell(format!(
            "{}: {event:?}, {:?} {:?} ({})",
            stated.reviewer, stated.decision, stated.escalations, posted.id
        ));
        Ok(())
    }

    fn merge_base(&self) -> CommitSha {
        let found = self.stage.github.with(|state| {
            let main = state.git.commit_of("refs/heads/main")?;
            state.git.merge_base(&main, self.head.as_str())
        });
        let found = found.expect("a merge base");
        found.parse().expect("a commit")
    }
}

fn output(title: &str) -> CheckOutput {
    CheckOutput {
        title: title.into(),
        summary: title.into(),
        text: None,
    }
}
