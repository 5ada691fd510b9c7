//! A GitHub App: who it is, where it is installed, and tokens for one installation that may do no more than is asked
//! for. Tokens live in memory only, and are made anew shortly before GitHub ends them.

use super::client::GitHub;
use super::error::{ApiError, SetupError};
use super::exchange::{Call, not_understood};
use super::rate::Rates;
use super::wire;
use chrono::DateTime;
use octocrab::auth::{EncodingKey, create_jwt};
use octocrab::models::AppId;
use reviewer_core::domain::{Login, RepoName};
use reviewer_system::clock::Clock;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;

/// GitHub takes a signature of the app for ten minutes; octocrab asks for nine.
const SIGNATURE_LIFE: Duration = Duration::from_mins(5);
/// A token that ends sooner is not handed out any more.
const TOKEN_MARGIN: Duration = Duration::from_mins(5);

/// A GitHub App with its private key.
pub struct App {
    id: u64,
    key: EncodingKey,
    clock: Clock,
    /// The client that the app's own requests are made with, and when its signature was made.
    signed: Mutex<(Arc<GitHub>, SystemTime)>,
    tokens: Mutex<HashMap<Grant, Kept>>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("id", &self.id)
            .field("key", &"***")
            .finish_non_exhaustive()
    }
}

/// The rights of a token, and the repositories that it holds for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    pub installation: u64,
    /// Ids; empty: every repository of the installation.
    pub repositories: Vec<u64>,
    /// GitHub's name of a permission, such as `pull_requests`.
    pub permissions: Vec<(&'static str, Access)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    Read,
    Write,
}

struct Kept {
    token: SecretString,
    until: SystemTime,
    /// Kept with the token, because it paces its writes and knows what GitHub still takes.
    client: Option<Arc<GitHub>>,
}

/// An account on which the app is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    pub id: u64,
    /// `None` where GitHub does not tell it.
    pub account: Option<Login>,
    pub suspended: bool,
    /// The permissions that its owner has accepted, by GitHub's names.
    pub permissions: BTreeMap<String, String>,
}

/// The hour of an installation at GitHub, which all of its tokens share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallationRate {
    pub installation: u64,
    pub left: u64,
    /// `None`: work without hurry may go on.
    pub wait: Option<Duration>,
}

/// The app, as GitHub knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppIdentity {
    /// The account that acts for it.
    pub login: Login,
    /// The events that it is subscribed to.
    pub events: Vec<String>,
    /// The permissions that it asks for, by GitHub's names.
    pub permissions: BTreeMap<String, String>,
}

impl App {
    /// `private_key` is the PEM that GitHub made; the other values are those of `GitHub::new`.
    pub fn new(
        api_url: &str,
        graphql_url: &str,
        id: u64,
        private_key: &SecretString,
        clock: Clock,
        network: &[(String, String)],
    ) -> Result<Self, SetupError> {
        let key = EncodingKey::from_rsa_pem(private_key.expose_secret().as_bytes())
            .map_err(|problem| SetupError::AppKey(problem.to_string()))?;
        let signature = sign(id, &key)?;
        let client = GitHub::new(api_url, graphql_url, &signature, clock, network)?;
        Ok(Self {
            id,
            key,
            clock,
            signed: Mutex::new((Arc::new(client), clock.now())),
            tokens: Mutex::default(),
        })
    }

    /// Returns the account of the app, and what it is subscribed to.
    pub async fn identity(&self) -> Result<AppIdentity, ApiError> {
        let name = "ask who the app is";
        let wire: wire::AppIdentity = self.json(Call::get(name, "/app".to_owned())).await?;
        let slug = wire
            .slug
            .ok_or_else(|| not_understood(name, &"it names no app"))?;
        Ok(AppIdentity {
            login: Login::new(&format!("{slug}[bot]")),
            events: wire.events,
            permissions: wire.permissions,
        })
    }

    /// Finds the installation that may use a repository.
    pub async fn installation_of(&self, repo: &RepoName) -> Result<Installation, ApiError> {
        let route = format!("/repos/{repo}/installation");
        let call = Call::get("find the app's installation", route);
        let hint = "the app is not installed there, or there is no such repository";
        let wire: wire::Installation = self.json(call.or_hint(hint)).await?;
        Ok(domain_installation(wire))
    }

    /// Lists every installation of the app.
    pub async fn installations(&self) -> Result<Vec<Installation>, ApiError> {
        let name = "list the app's installations";
        let route = "/app/installations?per_page=100".to_owned();
        let all = |page: Vec<wire::Installation>| page;
        let client = self.client().await?;
        let found = client.pages(name, route, all, |one| one.id).await?;
        Ok(found.into_iter().map(domain_installation).collect())
    }

    /// The client with a token of this grant, and no more rights than that: the same one as long as its token lasts.
    pub async fn github(&self, grant: &Grant) -> Result<Arc<GitHub>, ApiError> {
        let token = self.token(grant).await?;
        let app = self.client().await?;
        let mut tokens = self.tokens.lock().await;
        let kept = tokens.get_mut(grant);
        let kept = kept.filter(|kept| kept.token.expose_secret() == token.expose_secret());
        if let Some(client) = kept.as_ref().and_then(|kept| kept.client.as_ref()) {
            return Ok(Arc::clone(client));
        }
        let unusable = |problem: SetupError| not_understood(MINT, &problem);
        let client = Arc::new(app.with_token(&token).map_err(unusable)?);
        if let Some(kept) = kept {
            kept.client = Some(Arc::clone(&client));
        }
        Ok(client)
    }

    /// Requests that GitHub still takes of each installation in this hour, and the time for which work without hurry waits there.
    pub async fn rates(&self) -> Vec<InstallationRate> {
        let mut rates = BTreeMap::<u64, Rates>::new();
        for (grant, kept) in self.tokens.lock().await.iter() {
            let Some(client) = &kept.client else { continue };
            let of_client = client.rates().await;
            rates
                .entry(grant.installation)
                .or_default()
                .merge(&of_client);
        }
        let now = self.signed.lock().await.0.seconds();
        let known = rates.into_iter().filter_map(|(installation, rates)| {
            Some(InstallationRate {
                installation,
                left: rates.left(now)?,
                wait: rates.wait(now).map(Duration::from_secs),
            })
        });
        known.collect()
    }

    /// A token of this grant: one that is kept, or a new one.
    pub async fn token(&self, grant: &Grant) -> Result<SecretString, ApiError> {
        let mut tokens = self.tokens.lock().await;
        let now = self.clock.now();
        tokens.retain(|_, kept| kept.until > now + TOKEN_MARGIN);
        if let Some(kept) = tokens.get(grant) {
            return Ok(kept.token.clone());
        }
        let kept = self.mint(grant).await?;
        let token = kept.token.clone();
        tokens.insert(grant.clone(), kept);
        Ok(token)
    }

    /// A new token of this grant, which lasts as long as GitHub lets one: for work that outlives the margin of a kept one.
    pub async fn fresh_token(&self, grant: &Grant) -> Result<SecretString, ApiError> {
        Ok(self.mint(grant).await?.token)
    }

    /// Drops the tokens of an installation: it was removed or suspended, or has other rights or repositories now.
    pub async fn forget(&self, installation: u64) {
        let mut tokens = self.tokens.lock().await;
        tokens.retain(|grant, _| grant.installation != installation);
    }

    async fn mint(&self, grant: &Grant) -> Result<Kept, ApiError> {
        let route = format!("/app/installations/{}/access_tokens", grant.installation);
        let permissions = grant.permissions.iter().map(|(name, access)| {
            let access = match access {
                Access::Read => "read",
                Access::Write => "write",
            };
            ((*name).to_owned(), json!(access))
        });
        let mut body = json!({ "permissions": permissions.collect::<Map<String, Value>>() });
        if !grant.repositories.is_empty() {
            body["repository_ids"] = json!(grant.repositories);
        }
        // A token that nobody knows of ends by itself.
        let call = Call::post(MINT, route, body).repeatable();
        let hint = "the app is not installed there any more";
        let wire: wire::InstallationToken = self.json(call.or_hint(hint)).await?;
        let until = DateTime::parse_from_rfc3339(&wire.expires_at)
            .map_err(|problem| not_understood(MINT, &problem))?;
        let seconds = u64::try_from(until.timestamp()).unwrap_or_default();
        Ok(Kept {
            token: SecretString::from(wire.token),
            until: UNIX_EPOCH + Duration::from_secs(seconds),
            client: None,
        })
    }

    pub(super) async fn json<T: serde::de::DeserializeOwned>(
        &self,
        call: Call,
    ) -> Result<T, ApiError> {
        self.client().await?.json(call).await
    }

    /// The app's own client, with a signature that GitHub still takes.
    pub(super) async fn client(&self) -> Result<Arc<GitHub>, ApiError> {
        let mut signed = self.signed.lock().await;
        let now = self.clock.now();
        // A clock that went back makes a signature of the future.
        let fresh = now
            .duration_since(signed.1)
            .is_ok_and(|age| age < SIGNATURE_LIFE);
        if !fresh {
            let unusable = |problem: SetupError| not_understood("sign as the app", &problem);
            let signature = sign(self.id, &self.key).map_err(unusable)?;
            let client = signed.0.with_token(&signature).map_err(unusable)?;
            *signed = (Arc::new(client), now);
        }
        Ok(Arc::clone(&signed.0))
    }
}

const MINT: &str = "make a token of the installation";

fn sign(id: u64, key: &EncodingKey) -> Result<SecretString, SetupError> {
    let signature = create_jwt(AppId(id), key);
    let signature = signature.map_err(|problem| SetupError::AppKey(problem.to_string()))?;
    Ok(SecretString::from(signature))
}

fn domain_installation(wire: wire::Installation) -> Installation {
    Installation {
        id: wire.id,
        account: wire.account.map(|account| Login::new(&account.login)),
        suspended: wire.suspended_at.is_some(),
        permissions: wire.permissions,
    }
}
