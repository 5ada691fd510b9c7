//! A GitHub App: the key that it signs with, its one installation, tokens with the rights that were asked for, and the
//! deliveries of its webhook.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Value, json};

use super::GitHub;
use super::reply::{FORBIDDEN, Reply, Request};
use super::rest::number;
use super::state::{Identity, State};
use super::webhooks::HookConfig;

/// The kind of identity that a signature of the app gives.
pub const APP: &str = "App";

const INSTALLATION: u64 = 77;
/// GitHub takes no signature that lives longer.
const LONGEST_LIFE: u64 = 600;

/// What GitHub hands to whoever registers an app.
#[derive(Debug, Clone)]
pub struct AppKey {
    pub id: u64,
    /// PEM.
    pub private_key: String,
    pub installation: u64,
}

/// The app, as GitHub knows it.
#[derive(Debug, Clone)]
pub struct Registration {
    id: u64,
    slug: String,
    public_key: Vec<u8>,
    /// `contents:write` and the like.
    pub permissions: BTreeSet<String>,
    pub events: Vec<String>,
    pub suspended: bool,
    pub installed: bool,
    /// The permissions that the owner has accepted; `None`: all.
    pub accepted: Option<BTreeSet<String>>,
    pub hook: HookConfig,
    /// Seconds.
    pub token_life: u64,
    minted: u64,
}

impl GitHub {
    /// Registers an app with these permissions, and installs it on the repository.
    pub fn register_app(&self, slug: &str, permissions: &[&str]) -> AppKey {
        let (private_key, public_key) = keys().clone();
        self.with(|state| {
            let id = state.next_id();
            state.app = Some(Registration {
                id,
                slug: slug.into(),
                public_key,
                permissions: permissions.iter().map(ToString::to_string).collect(),
                events: Vec::new(),
                suspended: false,
                installed: true,
                accepted: None,
                hook: HookConfig::default(),
                token_life: 3_600,
                minted: 0,
            });
            AppKey {
                id,
                private_key,
                installation: INSTALLATION,
            }
        })
    }

    /// Changes the app: its events, the life of its tokens, whether it is suspended.
    pub fn app(&self, act: impl FnOnce(&mut Registration)) {
        self.with(|state| act(state.app.as_mut().expect("an app is registered")));
    }

    /// Tokens that were made for the installation end now.
    pub fn revoke_installation_tokens(&self) {
        self.with(|state| {
            state
                .identities
                .retain(|token, _| !token.starts_with(TOKEN));
        });
    }
}

const TOKEN: &str = "ghs_1nst4ll4t10n";

/// PEM of the private key, and the public one. One for all tests: making one takes long.
fn keys() -> &'static (String, Vec<u8>) {
    static KEYS: OnceLock<(String, Vec<u8>)> = OnceLock::new();
    KEYS.get_or_init(|| {
        let pair = KeyPair::generate(KeySize::Rsa2048).expect("a key");
        let der: Pkcs8V1Der<'_> = pair.as_der().expect("its bytes");
        let text = BASE64.encode(der.as_ref());
        let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
        for line in text.as_bytes().chunks(64) {
            pem.push_str(&String::from_utf8_lossy(line));
            pem.push('\n');
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        (pem, pair.public_key().as_ref().to_vec())
    })
}

/// Whoever signed the token with the app's key, for now.
pub fn signed(state: &State, token: &str) -> Option<Identity> {
    let app = state.app.as_ref()?;
    let (message, signature) = token.rsplit_once('.')?;
    let (header, claims) = message.split_once('.')?;
    let decoded = |part: &str| -> Option<Value> {
        serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).ok()?).ok()
    };
    let (header, claims) = (decoded(header)?, decoded(claims)?);
    let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).ok()?;
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &app.public_key);
    key.verify(message.as_bytes(), &signature).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let (begins, ends) = (claims["iat"].as_u64()?, claims["exp"].as_u64()?);
    let issuer = claims["iss"].as_u64();
    let issuer = issuer.or_else(|| claims["iss"].as_str()?.parse().ok());
    let valid = header["alg"] == "RS256"
        && issuer == Some(app.id)
        && begins <= now
        && ends > now
        && ends <= now + LONGEST_LIFE;
    valid.then(|| Identity {
        login: format!("{}[bot]", app.slug),
        typename: APP.into(),
        permissions: BTreeSet::new(),
        repositories: None,
    })
}

/// True if only the app itself may ask this.
pub fn is_for_app(request: &Request) -> bool {
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    matches!(
        segments.as_slice(),
        ["app", ..] | ["repos", _, _, "installation"]
    )
}

pub fn answer(state: &mut State, identity: &Identity, request: &Request) -> Reply {
    if !is_for_app(request) {
        return Reply::error(403, FORBIDDEN);
    }
    let app = state.app.clone().filter(|_| identity.typename == APP);
    let Some(app) = app else {
        return Reply::error(401, "A JSON web token could not be decoded");
    };
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    let size = |name: &str, default: usize| {
        let given = request.query(name).and_then(|size| size.parse().ok());
        given.unwrap_or(default)
    };
    match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["app"]) => Reply::json(200, &app_json(state, &app)),
        ("GET", ["repos", ..]) if app.installed => {
            Reply::json(200, &installation_json(state, &app))
        }
        ("GET", ["app", "installations"]) => {
            let all: Vec<Value> = app
                .installed
                .then(|| installation_json(state, &app))
                .into_iter()
                .collect();
            Reply::json(200, &json!(all))
        }
        ("POST", ["app", "installations", id, "access_tokens"]) if app.installed => {
            mint(state, &app, request, number(id))
        }
        ("GET", ["app", "hook", "config"]) => Reply::json(200, &app.hook.shown()),
        ("GET", ["app", "hook", "deliveries"]) => {
            let from = size("cursor", 0);
            state.hooks.page(
                &state.base_url,
                from,
                size("per_page", 30).min(state.page_size),
            )
        }
        ("POST", ["app", "hook", "deliveries", id, "attempts"]) => state.hooks.again(number(id)),
        _ => Reply::not_found(),
    }
}

fn mint(state: &mut State, app: &Registration, request: &Request, installation: u64) -> Reply {
    if installation != INSTALLATION {
        return Reply::not_found();
    }
    if app.suspended {
        return Reply::error(403, "This installation has been suspended");
    }
    let ids = request.body["repository_ids"].as_array();
    let ids: Option<Vec<u64>> = ids.map(|ids| ids.iter().filter_map(Value::as_u64).collect());
    let own = state.repository.id;
    if ids.iter().flatten().any(|id| *id != own) || (ids.is_some() && state.repository.deleted) {
        let words = "There is at least one repository that does not exist or is not accessible to the parent installation.";
        return Reply::error(422, words);
    }
    let asked = asked_permissions(request);
    let whole = Identity {
        permissions: app.permissions.clone(),
        ..Identity::app(&app.slug, &[])
    };
    let has = |one: &String| whole.may(one) || one == "metadata:read";
    if !asked.iter().flatten().all(has) {
        return Reply::error(
            422,
            "The permissions requested are not granted to this installation.",
        );
    }
    let minted = app.minted + 1;
    if let Some(app) = &mut state.app {
        app.minted = minted;
    }
    let token = format!("{TOKEN}{minted:020}");
    let permissions = asked.unwrap_or_else(|| app.permissions.clone());
    let shown: serde_json::Map<String, Value> = permissions
        .iter()
        .filter_map(|one| one.split_once(':'))
        .map(|(name, level)| (name.replace('-', "_"), json!(level)))
        .collect();
    state.identities.insert(
        token.clone(),
        Identity {
            permissions,
            repositories: Some(ids.clone().unwrap_or_else(|| vec![own])),
            ..whole
        },
    );
    let selection = if ids.is_some() { "selected" } else { "all" };
    Reply::json(
        201,
        &json!({
            "token": token, "expires_at": time(app.token_life), "permissions": shown,
            "repository_selection": selection,
        }),
    )
}

/// The permissions of a request, as identities hold them; `None`: all that the app has.
fn asked_permissions(request: &Request) -> Option<BTreeSet<String>> {
    let asked = request.body["permissions"].as_object()?;
    let pairs = asked.iter().map(|(name, level)| {
        let level = level.as_str().unwrap_or_default();
        format!("{}:{level}", name.replace('_', "-"))
    });
    Some(pairs.collect())
}

/// The moment in so many seconds, by the machine's clock, as clients have no other.
fn time(life: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let at = i64::try_from(now.as_secs() + life).unwrap_or_default();
    let at = chrono::DateTime::from_timestamp(at, 0).unwrap_or_default();
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `GET /installation/repositories`, with a token of the installation.
pub fn repositories(state: &State, identity: &Identity, request: &Request) -> Reply {
    let granted = identity.repositories.as_ref();
    let Some(granted) = granted.filter(|_| request.method == http::Method::GET) else {
        return Reply::error(403, FORBIDDEN);
    };
    let own = granted.contains(&state.repository.id) && !state.repository.deleted;
    let shown: Vec<Value> = own.then(|| state.repository_json()).into_iter().collect();
    Reply::json(
        200,
        &json!({ "total_count": shown.len(), "repositories": shown }),
    )
}

fn permissions_json(permissions: &BTreeSet<String>) -> Value {
    let each = permissions.iter().filter_map(|one| one.split_once(':'));
    let each = each.map(|(name, level)| (name.replace('-', "_"), json!(level)));
    Value::Object(each.collect())
}

fn app_json(state: &State, app: &Registration) -> Value {
    let at = "2026-01-01T00:00:00Z";
    json!({
        "id": app.id, "slug": app.slug, "node_id": "A_1", "owner": state.user_json("octo"), "name": app.slug,
        "description": null, "external_url": state.base_url, "html_url": format!("{}/apps/{}", state.base_url, app.slug),
        "created_at": at, "updated_at": at, "permissions": permissions_json(&app.permissions), "events": app.events,
    })
}

fn installation_json(state: &State, app: &Registration) -> Value {
    let (at, base) = ("2026-01-01T00:00:00Z", &state.base_url);
    let account = state.user_json(state.repository.owner());
    json!({
        "id": INSTALLATION, "app_id": app.id, "app_slug": app.slug, "target_id": account["id"], "target_type": "User",
        "account": account, "single_file_name": null, "repository_selection": "selected",
        "access_tokens_url": format!("{base}/api/v3/app/installations/{INSTALLATION}/access_tokens"),
        "html_url": format!("{base}/settings/installations/{INSTALLATION}"),
        "repositories_url": format!("{base}/api/v3/installation/repositories"),
        "events": app.events, "permissions": permissions_json(app.accepted.as_ref().unwrap_or(&app.permissions)), "created_at": at, "updated_at": at,
        "suspended_by": null, "suspended_at": app.suspended.then_some(at),
    })
}

impl State {
    /// What webhooks of an app say about its installation.
    pub fn installation_mark(&self) -> Option<Value> {
        self.app.as_ref()?;
        Some(json!({ "id": INSTALLATION, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uNzc=" }))
    }
}
