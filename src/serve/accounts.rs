//! The accounts of the service on GitHub: agents with tokens of their own, or one App whose tokens are made for one repository.

use super::directory::{Directory, Place};
use super::reserve::AccountRate;
use reviewer_core::domain::{Login, RepoName};
use reviewer_core::lifecycle::PullKey;
use reviewer_engine::EffectError;
use reviewer_github::{Access, ApiError, App, FailedDelivery, GitHub, Grant, InstallationRate};
use secrecy::SecretString;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// An agent with its own account.
#[derive(Debug)]
pub(crate) struct AgentAccount {
    pub login: Login,
    pub token: SecretString,
}

/// The accounts that read, review, fix and merge.
pub(crate) enum Accounts {
    Personal {
        /// By the agents' names.
        agents: HashMap<String, AgentAccount>,
        /// The client of the account that reads, requests reviewers and merges.
        account: Arc<GitHub>,
    },
    App {
        app: Box<App>,
        /// Deliveries that GitHub was asked to send again.
        redelivered: Mutex<Redelivered>,
    },
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Personal { agents, .. } => {
                f.debug_tuple("Personal").field(&agents.keys()).finish()
            }
            Self::App { app, .. } => f.debug_tuple("App").field(app).finish(),
        }
    }
}

/// A delivery that fails again is asked for so often.
const MOST_REDELIVERIES: u32 = 5;

/// By the ids of deliveries: the failed attempt for which GitHub was asked last, and how often it was asked.
#[derive(Debug, Default)]
pub(crate) struct Redelivered(HashMap<String, (u64, u32)>);

impl Redelivered {
    /// The deliveries to ask for, of all that failed: those with an attempt that nobody has asked for yet.
    fn due(&mut self, failed: Vec<FailedDelivery>) -> Vec<FailedDelivery> {
        let listed: HashSet<&str> = failed.iter().map(|one| one.guid.as_str()).collect();
        self.0.retain(|guid, _| listed.contains(guid.as_str()));
        let is_due = |one: &FailedDelivery| {
            let (attempt, asked) = self.0.entry(one.guid.clone()).or_default();
            let is_new = *asked == 0 || *attempt != one.id;
            if !is_new || *asked >= MOST_REDELIVERIES {
                return false;
            }
            (*attempt, *asked) = (one.id, *asked + 1);
            true
        };
        failed.into_iter().filter(is_due).collect()
    }
}

/// The service's own permissions.
const SERVICE: [(&str, Access); 5] = [
    ("checks", Access::Write),
    ("contents", Access::Write),
    ("issues", Access::Write),
    ("metadata", Access::Read),
    ("pull_requests", Access::Write),
];

/// Those of a session that reviews; one that fixes also writes contents.
const SESSION: [(&str, Access); 4] = [
    ("checks", Access::Write),
    ("issues", Access::Write),
    ("metadata", Access::Read),
    ("pull_requests", Access::Write),
];

impl Accounts {
    /// True if all agents are one account, so reviews state their decisions in blocks.
    pub(crate) fn is_app(&self) -> bool {
        matches!(self, Self::App { .. })
    }

    /// The client of the service for a repository.
    pub(crate) async fn github(
        &self,
        place: &Place,
        directory: &Directory,
    ) -> Result<Arc<GitHub>, ApiError> {
        match self {
            Self::Personal { account, .. } => Ok(Arc::clone(account)),
            Self::App { app, .. } => {
                let grant = grant(app, place, directory, SERVICE.to_vec()).await?;
                app.github(&grant).await
            }
        }
    }

    /// The token of a session of this agent, for one repository where it can be limited to one. An App's is new, because
    /// a session may last as long as a token does.
    pub(crate) async fn session_token(
        &self,
        agent: &str,
        place: &Place,
        directory: &Directory,
        writes_contents: bool,
    ) -> Result<SecretString, EffectError> {
        match self {
            Self::Personal { agents, .. } => agents
                .get(agent)
                .map(|one| one.token.clone())
                .ok_or_else(|| {
                    EffectError::permanent(format!(
                        "The agent {agent} has no token; add it by `serve agents add {agent}`."
                    ))
                }),
            Self::App { app, .. } => {
                let contents = if writes_contents {
                    Access::Write
                } else {
                    Access::Read
                };
                let mut permissions = SESSION.to_vec();
                permissions.push(("contents", contents));
                let grant = grant(app, place, directory, permissions).await;
                let grant = grant.map_err(|error| effect_error(&error))?;
                app.fresh_token(&grant)
                    .await
                    .map_err(|error| effect_error(&error))
            }
        }
    }

    /// The repository of this id, which a life has, by the name that GitHub has for it now.
    pub(crate) async fn find(&self, id: u64, directory: &Directory) -> Result<Place, ApiError> {
        if let Some(place) = directory.place(id) {
            return Ok(place);
        }
        directory.follow(id);
        let gone = |hint| ApiError::NotFound {
            call: "find the repository of a pull request",
            hint,
        };
        match self {
            Self::Personal { account, .. } => {
                let place = Place {
                    id,
                    name: account.repository_name(id).await?,
                    installation: None,
                };
                let is_in_scope = directory.note_place(place.clone());
                let gone = gone("it has another owner now, whom service.yml does not name");
                is_in_scope.then_some(place).ok_or(gone)
            }
            Self::App { .. } => {
                self.list(&[], directory).await?;
                let gone = gone(
                    "the App is not installed there any more, or service.yml does not name it",
                );
                directory.place(id).ok_or(gone)
            }
        }
    }

    /// Looks up a name that nobody knows yet: one request where there is no such repository in scope.
    pub(crate) async fn look_up(
        &self,
        name: &RepoName,
        directory: &Directory,
    ) -> Result<(), ApiError> {
        let found = match self {
            Self::Personal { account, .. } => {
                let found = account.repository_called(name).await;
                found.map(|found| {
                    vec![Place {
                        id: found.id,
                        name: found.name,
                        installation: None,
                    }]
                })
            }
            Self::App { app, .. } => match app.installation_of(name).await {
                Ok(installation) => installed(app, installation.id).await,
                Err(error) => Err(error),
            },
        };
        match found {
            Ok(places) => {
                for place in places {
                    directory.note_place(place);
                }
            }
            Err(ApiError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The repository of a pull request.
    pub(crate) async fn place(
        &self,
        key: PullKey,
        directory: &Directory,
    ) -> Result<Place, EffectError> {
        let found = self.find(key.repository, directory).await;
        found.map_err(|error| effect_error(&error))
    }

    /// Asks GitHub to send again what did not arrive. Only an App may.
    pub(crate) async fn redeliver(&self) -> Result<usize, ApiError> {
        let Self::App { app, redelivered } = self else {
            return Ok(0);
        };
        let failed = app.failed_deliveries().await?;
        let due = {
            let mut redelivered = redelivered.lock().unwrap_or_else(PoisonError::into_inner);
            redelivered.due(failed)
        };
        for delivery in &due {
            app.redeliver(delivery).await?;
        }
        Ok(due.len())
    }

    /// GitHub's hour of the account, or of each installation that was used in it.
    pub(crate) async fn rates(&self) -> Vec<AccountRate> {
        match self {
            Self::Personal { account, .. } => {
                let wait = account.rate_wait().await;
                let rate = account.rate_left().await.map(|left| AccountRate {
                    installation: None,
                    left,
                    wait,
                });
                rate.into_iter().collect()
            }
            Self::App { app, .. } => {
                let rates = app.rates().await.into_iter();
                let rate = |one: InstallationRate| AccountRate {
                    installation: Some(one.installation),
                    left: one.left,
                    wait: one.wait,
                };
                rates.map(rate).collect()
            }
        }
    }

    /// The rights or the repositories of an installation are others now.
    pub(crate) async fn forget(&self, installation: u64) {
        if let Self::App { app, .. } = self {
            app.forget(installation).await;
        }
    }

    /// The repositories in scope: those of the installations, or these.
    pub(crate) async fn list(
        &self,
        named: &[RepoName],
        directory: &Directory,
    ) -> Result<Vec<Place>, ApiError> {
        let mut places = Vec::new();
        match self {
            Self::Personal { account, .. } => {
                for name in named {
                    match account.repository_called(name).await {
                        Ok(found) => {
                            // GitHub follows the name that it had.
                            directory.follow(found.id);
                            places.push(Place {
                                id: found.id,
                                name: found.name,
                                installation: None,
                            });
                        }
                        Err(error) => tracing::warn!("{name} cannot be read: {error}"),
                    }
                }
            }
            Self::App { app, .. } => {
                for installation in app.installations().await? {
                    if installation.suspended {
                        continue;
                    }
                    match installed(app, installation.id).await {
                        Ok(listed) => places.extend(listed),
                        Err(error) => tracing::warn!(
                            "The installation {} cannot be read: {error}",
                            installation.id
                        ),
                    }
                }
            }
        }
        places.retain(|place| {
            let is_in_scope = directory.note_place(place.clone());
            if !(is_in_scope || self.is_app()) {
                tracing::warn!(
                    "A repository of service.yml is {} now, which service.yml does not name; it is not served any more.",
                    place.name
                );
            }
            is_in_scope
        });
        Ok(places)
    }
}

/// The repositories of an installation.
async fn installed(app: &App, installation: u64) -> Result<Vec<Place>, ApiError> {
    let grant = Grant {
        installation,
        repositories: Vec::new(),
        permissions: vec![("metadata", Access::Read)],
    };
    let listed = app.github(&grant).await?.installed_repositories().await?;
    let places = listed.into_iter().map(|one| Place {
        id: one.id,
        name: one.name,
        installation: Some(installation),
    });
    Ok(places.collect())
}

async fn grant(
    app: &App,
    place: &Place,
    directory: &Directory,
    permissions: Vec<(&'static str, Access)>,
) -> Result<Grant, ApiError> {
    let installation = if let Some(installation) = place.installation {
        installation
    } else {
        let found = app.installation_of(&place.name).await?.id;
        directory.note_place(Place {
            installation: Some(found),
            ..place.clone()
        });
        found
    };
    Ok(Grant {
        installation,
        repositories: vec![place.id],
        permissions,
    })
}

/// An error of GitHub as one of an effect: whether another attempt may help, and when.
pub(crate) fn effect_error(error: &ApiError) -> EffectError {
    match error {
        ApiError::RateLimited { wait, .. } => EffectError {
            retry_after_ms: u64::try_from(wait.as_millis()).ok(),
            ..EffectError::temporary(error.to_string())
        },
        ApiError::Unauthorized { .. }
        | ApiError::Forbidden { .. }
        | ApiError::NotFound { .. }
        | ApiError::Unprocessable { .. } => EffectError::permanent(error.to_string()),
        _ => EffectError::temporary(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redelivery_that_fails_is_asked_for_again_but_not_for_ever() {
        let failed = |guid: &str, id: u64| FailedDelivery {
            id,
            guid: guid.into(),
            event: "push".into(),
            action: None,
            at: String::new(),
        };
        let mut redelivered = Redelivered::default();
        let mut asked = |failed: Vec<FailedDelivery>| redelivered.due(failed).len();
        assert_eq!(asked(vec![failed("a", 1), failed("b", 2)]), 2);
        // GitHub has not tried yet.
        assert_eq!(asked(vec![failed("a", 1), failed("b", 2)]), 0);
        assert_eq!(asked(vec![failed("a", 3)]), 1);
        for attempt in 4..=6 {
            assert_eq!(asked(vec![failed("a", attempt)]), 1);
        }
        assert_eq!(asked(vec![failed("a", 7)]), 0);
        assert_eq!(redelivered.0.len(), 1);
    }
}
