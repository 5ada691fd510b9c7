//! A closed pull request: what it held back on the same head is computed anew. No model is asked.

use crate::gather::pull_request;
use crate::host::{Failure, Setup, run_id, run_url};
use crate::run::exits;
use crate::run::same_head::Look;
use reviewer_core::config::inputs;
use reviewer_core::domain::PrKey;
use reviewer_core::publish::comment;
use reviewer_core::state::signature::Keys;
use reviewer_github::{DryRun, GitHub};
use secrecy::ExposeSecret as _;

/// The means of a run that reviews nothing.
pub(crate) struct Aside {
    pub github: GitHub,
    pub keys: Keys,
    pub id: String,
    pub url: Option<String>,
    pub fail_job: bool,
}

impl Aside {
    pub fn new(setup: &Setup, repo: &str, dry_run: &DryRun) -> Result<Self, Failure> {
        let inputs = inputs::memory(&setup.inputs).map_err(|errors| Failure::all(&errors))?;
        let secrets = inputs.state_keys.iter().chain(&inputs.model_key);
        for secret in secrets.chain([&inputs.github_token]) {
            setup.actions.mask(secret.expose_secret());
        }
        let environment = &setup.environment;
        let (api, graphql) = (&environment.api_url, &environment.graphql_url);
        let (token, network) = (&inputs.github_token, &environment.network);
        let github =
            GitHub::new(api, graphql, token, setup.clock, network).map_err(Failure::new)?;
        Ok(Self {
            github: if inputs.dry_run {
                github.with_dry_run(dry_run)
            } else {
                github
            },
            keys: Keys::derive(&inputs.state_keys, inputs.model_key.as_ref(), repo),
            id: run_id(environment)?,
            url: run_url(environment, repo),
            fail_job: inputs.fail_job,
        })
    }
}

/// A pull request was closed: what it held back is computed anew. Returns the exit code.
pub(crate) async fn closed(setup: &Setup, pr: &PrKey) -> u8 {
    let dry_run = DryRun::default();
    let code = match freed(setup, pr, &dry_run).await {
        Ok(others) => exits::skipped(setup, &comment::same_head::closed(&others)),
        Err(Failure(sentences)) => exits::failed(setup, &sentences),
    };
    exits::print_dry_run(setup, &dry_run);
    code
}

/// The pull requests of the same head whose check was computed anew.
async fn freed(setup: &Setup, pr: &PrKey, dry_run: &DryRun) -> Result<Vec<u64>, Failure> {
    let aside = Aside::new(setup, &pr.repo.to_string(), dry_run)?;
    let pull = pull_request::found(&aside.github, pr).await?;
    let look = Look {
        github: &aside.github,
        pr,
        head: &pull.head_sha,
        keys: &aside.keys,
        run: &aside.id,
        url: aside.url.as_deref(),
    };
    let company = look.company().await;
    if let Some(failed) = &company.failed {
        return Err(Failure::new(failed));
    }
    if let Some(unknown) = &company.unknown {
        setup.actions.warning(unknown);
    }
    let mut freed = Vec::new();
    for other in &company.neighbours {
        let holders = company.holders(other.number);
        let holders: Vec<u64> = holders.iter().map(|one| one.number).collect();
        match look.conclude_for(other, &holders).await {
            Ok(true) => freed.push(other.number),
            Ok(false) => {}
            Err(error) => return Err(Failure::new(error)),
        }
    }
    Ok(freed)
}
