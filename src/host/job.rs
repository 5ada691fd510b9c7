//! A run for one pull request: who asked for it, how GitHub is reached, under which name and keys it writes.

use super::{Budget, Failure, Host, Setup, Work};
use reviewer_core::config::environment::Environment;
use reviewer_core::config::{Config, Persona, ReviewMode};
use reviewer_core::domain::PrKey;
use reviewer_core::event::{self, Event, EventKind};
use reviewer_core::fix::Bundle;
use reviewer_core::plan::Request;
use reviewer_core::publish::comment::Voice;
use reviewer_core::session_order::SessionOrder;
use reviewer_core::state::signature::Keys;
use reviewer_core::state::spending::{Day, Spent};
use reviewer_github::{DryRun, GitHub, PullRequest};
use reviewer_repo::git::Remote;
use reviewer_system::random;
use secrecy::SecretString;
use std::path::Path;
use std::sync::Arc;

/// The work that a command asks for, besides its event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Aim<'a> {
    #[default]
    Review,
    /// Reviews and fixes in turns, in this run, whatever else a push starts.
    Loop,
    /// A review, and a fix of what it leaves open.
    Fix,
    /// A fix in a signed file. Nothing is written to GitHub.
    PatchOut(&'a Path),
    /// The fix in such a file as a commit. Nothing is run, and no model is asked.
    Publish(&'a Bundle),
}

pub(crate) struct Job<'a> {
    pub host: Host<'a>,
    pub event: &'a Event,
    pub aim: Aim<'a>,
    pub pr: PrKey,
    pub github: Arc<GitHub>,
    token: SecretString,
    pub keys: Keys,
    pub id: String,
    /// The name under which its cost is entered, and the day of it.
    receipt: String,
    pub today: Day,
}

impl<'a> Job<'a> {
    /// A run that reviews. In a dry run, nothing is written to GitHub.
    pub fn new(
        setup: &'a Setup,
        event: &'a Event,
        (config, token): (Config, SecretString),
        dry_run: &DryRun,
        budget: Budget,
    ) -> Result<Self, Failure> {
        let host = Host::new(setup, config, Some(&token), (Work::Review, budget))?;
        Self::on(host, event, token, dry_run)
    }

    /// The same run, to fix: another sidecar, and secrets of its own.
    pub(crate) fn fixing(&self, dry_run: &DryRun) -> Result<Self, Failure> {
        let (setup, config) = (self.host.setup, self.host.config.clone());
        let work = (Work::Fix, self.host.budget());
        let host = Host::new(setup, config, Some(&self.token), work)?;
        let job = Self::on(host, self.event, self.token.clone(), dry_run)?;
        Ok(Self {
            aim: self.aim,
            id: self.id.clone(),
            ..job
        })
    }

    fn on(
        host: Host<'a>,
        event: &'a Event,
        token: SecretString,
        dry_run: &DryRun,
    ) -> Result<Self, Failure> {
        let (setup, config) = (host.setup, &host.config);
        let environment = &setup.environment;
        let github = GitHub::new(
            &environment.api_url,
            &environment.graphql_url,
            &token,
            setup.clock,
            &environment.network,
        )
        .map_err(Failure::new)?;
        let github = match &config.fix.push_token {
            Some(token) => github.with_push_token(token).map_err(Failure::new)?,
            None => github,
        };
        let github = github.guarded(&host.secrets.redactor);
        let keys = Keys::derive(
            &config.state_keys,
            config.model.key.as_ref(),
            &event.repo.to_string(),
        );
        Ok(Self {
            event,
            aim: Aim::default(),
            pr: PrKey {
                repo: event.repo.clone(),
                number: event.number,
            },
            github: Arc::new(if config.dry_run {
                github.with_dry_run(dry_run)
            } else {
                github
            }),
            token,
            keys,
            id: match &setup.session {
                Some(session) => session.id.clone(),
                None => run_id(environment)?,
            },
            receipt: host.receipt()?,
            today: Day::from_time(setup.clock.now()),
            host,
        })
    }

    /// The order of a service, where one started this run.
    pub(crate) fn order(&self) -> Option<&SessionOrder> {
        let session = self.host.setup.session.as_ref();
        session.map(|session| &session.order)
    }

    /// True unless a service ordered the run for an account that may not write check runs: it serialises its sessions itself.
    pub(crate) fn uses_check_runs(&self) -> bool {
        self.order().is_none_or(|order| order.check_runs)
    }

    /// True if a service ordered a fix: the findings of its reviewers are fixed as they are.
    pub(crate) fn is_ordered_fix(&self) -> bool {
        self.order().is_some() && matches!(self.aim, Aim::Fix)
    }

    /// True if the review of the head has to be there already.
    pub(crate) fn takes_review_as_it_is(&self) -> bool {
        matches!(self.aim, Aim::PatchOut(_) | Aim::Publish(_)) || self.is_ordered_fix()
    }

    /// The reviewer with a name of its own whose decision the run's reviews state.
    pub(crate) fn persona(&self) -> Option<&Persona> {
        let config = &self.host.config;
        let persona = config.reviewers.first()?.persona.as_ref();
        persona.filter(|_| config.review_mode == ReviewMode::Decide)
    }

    /// The request in the event's own comment. A mention in the middle of a line is no command.
    pub(crate) fn request(&self) -> Option<Request> {
        let EventKind::Mention {
            comment_id, body, ..
        } = &self.event.kind
        else {
            return None;
        };
        Some(Request {
            comment: *comment_id,
            command: event::command(body, &self.host.config.mention)?,
        })
    }

    /// The pull request's page.
    pub(crate) fn page(&self) -> String {
        let server = &self.host.setup.environment.server_url;
        format!("{server}/{}/pull/{}", self.pr.repo, self.pr.number)
    }

    /// The workflow run's page, where there is one.
    pub(crate) fn url(&self) -> Option<String> {
        run_url(&self.host.setup.environment, &self.pr.repo.to_string())
    }

    /// The voice in which the run speaks about a head of the pull request.
    pub(crate) fn voice<'r>(&'r self, pull: &'r PullRequest) -> Voice<'r> {
        Voice {
            pr: &self.pr,
            keys: &self.keys,
            head: &pull.head_sha,
            run: &self.id,
            fork: pull.from_fork,
            mention: &self.host.config.mention,
            blocking: self.host.config.policy.blocking,
            page: &pull.html_url,
            rounds: self.host.in_rounds(),
        }
    }

    /// The repository from which the commits can be fetched.
    pub(crate) fn remote(&self) -> Remote {
        let server = &self.host.setup.environment.server_url;
        Remote {
            url: format!("{server}/{}.git", self.pr.repo),
            token: Some(self.token.clone()),
        }
    }

    /// The run's line in the pull request's account.
    pub(crate) fn spent(&self, cost_usd: f64, tokens: u64) -> Spent {
        Spent {
            run: self.receipt.clone(),
            day: self.today,
            cost_usd,
            tokens,
        }
    }
}

pub(crate) fn run_url(environment: &Environment, repo: &str) -> Option<String> {
    let id = environment.run_id.as_deref()?;
    let server = &environment.server_url;
    Some(format!("{server}/{repo}/actions/runs/{id}"))
}

/// The workflow run that this is, or a random name from a shell.
pub(crate) fn run_id(environment: &Environment) -> Result<String, Failure> {
    match (&environment.run_id, &environment.run_attempt) {
        (Some(id), Some(attempt)) => Ok(format!("{id}.{attempt}")),
        (Some(id), None) => Ok(id.clone()),
        (None, _) => Ok(random::hex(8)?),
    }
}
