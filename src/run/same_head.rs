//! The other pull requests of a head: looked up when a check is about to be concluded, and concluded anew when what
//! holds them back has changed.

use reviewer_core::domain::{CommitSha, Conclusion, PrKey};
use reviewer_core::plan::neighbours::{Neighbour, OnHead};
use reviewer_core::publish::comment;
use reviewer_core::state::check_mark::{CHECK_NAME, Place};
use reviewer_core::state::record;
use reviewer_core::state::signature::Keys;
use reviewer_github::{ApiError, CheckOutput, GitHub, NewCheckRun};

/// The commit to look at, and the run that looks.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    pub github: &'a GitHub,
    /// The pull request that the run is about.
    pub pr: &'a PrKey,
    pub head: &'a CommitSha,
    pub keys: &'a Keys,
    pub run: &'a str,
    pub url: Option<&'a str>,
}

/// The other pull requests and checks on the head.
#[derive(Debug, Default)]
pub(crate) struct Company {
    pub neighbours: Vec<Neighbour>,
    /// Apps whose checks have the name of the reviewer's.
    pub strangers: Vec<String>,
    /// The reason why nothing is known of other pull requests: the token may not look.
    pub unknown: Option<String>,
    /// The reason why they could not be looked up now; a verdict that depends on them waits for another run.
    pub failed: Option<String>,
}

impl Company {
    /// The pull requests that keep this head's check from being green, besides one of them.
    pub(crate) fn holders(&self, besides: u64) -> Vec<&Neighbour> {
        let others = self.neighbours.iter();
        others
            .filter(|one| one.number != besides && one.holds_back())
            .collect()
    }
}

impl Look<'_> {
    /// Two requests, whatever there is to find.
    pub(crate) async fn company(&self) -> Company {
        self.found().await.unwrap_or_else(|error| {
            let may_not = error.is_permission() || error.is_not_found();
            Company {
                unknown: may_not.then(|| comment::same_head::unknown(&error)),
                failed: (!may_not).then(|| comment::same_head::failed(&error)),
                ..Company::default()
            }
        })
    }

    async fn found(&self) -> Result<Company, ApiError> {
        let (github, repo) = (self.github, &self.pr.repo);
        let checks = github.check_runs(repo, self.head, CHECK_NAME).await?;
        let on_head = OnHead {
            repo,
            head: self.head,
            keys: self.keys,
            checks: &checks,
        };
        let mut known = on_head.numbers();
        known.retain(|number| *number != self.pr.number);
        let pulls = github.pulls_of(repo, self.head, &known).await?;
        Ok(Company {
            neighbours: on_head.neighbours(self.pr.number, &pulls),
            strangers: on_head.strangers(self.pr),
            unknown: None,
            failed: None,
        })
    }

    /// Concludes a check for another pull request of the head, from its record alone. Returns false if it has none.
    pub(crate) async fn conclude_for(
        &self,
        other: &Neighbour,
        held_by: &[u64],
    ) -> Result<bool, ApiError> {
        let merge_base = |record: &record::Record| record.merge_base.parse().ok();
        let Some((record, merge_base)) = other
            .record
            .as_ref()
            .and_then(|record| Some((record, merge_base(record)?)))
        else {
            return Ok(false);
        };
        let place = Place {
            head: self.head.clone(),
            base_ref: record.base_ref.clone(),
            merge_base,
        };
        let pr = PrKey {
            repo: self.pr.repo.clone(),
            number: other.number,
        };
        let held = !held_by.is_empty();
        let (title, conclusion) = match (held, record.succeeded()) {
            (true, _) => (
                comment::same_head::held_back_title(held_by),
                Conclusion::Failure,
            ),
            (false, true) => (comment::check::title_of(record), Conclusion::Success),
            (false, false) => (comment::check::title_of(record), Conclusion::Failure),
        };
        let check = NewCheckRun {
            name: CHECK_NAME.into(),
            head_sha: self.head.clone(),
            external_id: place.external_id(self.run, other.number),
            details_url: self.url.map(str::to_owned),
            output: CheckOutput {
                title: place.titled(&title),
                summary: comment::same_head::computed_anew(other.number, record, self.pr.number),
                text: Some(record::render(record, &pr, self.keys)),
            },
            conclusion: Some(conclusion),
        };
        let created = self.github.create_check_run(&pr.repo, &check).await;
        created.map(|_| true)
    }
}
