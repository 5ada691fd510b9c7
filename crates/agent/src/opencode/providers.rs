//! The models of the sessions as OpenCode's configuration has them: a provider with an address of the gateway and a placeholder
//! for each way from a session to a model. Separate from the permissions, which do not depend on models.

use super::session_name::SessionName;
use reviewer_core::config::ModelChoice;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// For a model that no catalogue knows.
pub const DEFAULT_CONTEXT: u64 = 200_000;
const DEFAULT_OUTPUT: u64 = 32_000;

/// The model, as the sidecar reaches it: through the gateway.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    /// Without a slash at the end.
    pub base_url: String,
    /// Stands where the key would. The key itself never enters the sidecar.
    pub placeholder: SecretString,
    /// The header in which the provider's adapter sends the key.
    pub credential: &'static str,
}

impl ModelEndpoint {
    /// The value of the credential header.
    fn header(&self) -> String {
        let placeholder = self.placeholder.expose_secret();
        if self.credential.eq_ignore_ascii_case("authorization") {
            format!("Bearer {placeholder}")
        } else {
            placeholder.to_owned()
        }
    }
}

/// A model by its name in OpenCode's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    pub provider: String,
    pub model: String,
}

impl ModelName {
    /// The model that a session may fall back to.
    #[must_use]
    pub fn fallback(session: SessionName, model: &ModelChoice) -> Self {
        Self {
            provider: model.provider.clone(),
            model: own_name(model, &fallback_of(session)),
        }
    }
}

/// The name of a model among others of its provider that are reached in other ways.
fn own_name(model: &ModelChoice, way: &str) -> String {
    format!("{}@{way}", model.name)
}

fn fallback_of(session: SessionName) -> String {
    format!("{session}-fallback")
}

/// A session with its models.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached<'s> {
    pub session: SessionName,
    pub own: (&'s ModelChoice, &'s ModelEndpoint),
    pub fallback: Option<(&'s ModelChoice, &'s ModelEndpoint)>,
}

/// The way from a session to one of its models.
struct Way<'s> {
    name: String,
    model: &'s ModelChoice,
    endpoint: &'s ModelEndpoint,
    is_fallback: bool,
}

/// The ways of all sessions.
pub(super) struct Ways<'s>(Vec<Way<'s>>);

impl<'s> Ways<'s> {
    pub(super) fn of(sessions: impl Iterator<Item = Reached<'s>>) -> Self {
        let ways = sessions.flat_map(|one| {
            let way = |name: String, (model, endpoint), is_fallback| Way {
                name,
                model,
                endpoint,
                is_fallback,
            };
            let own = way(one.session.to_string(), one.own, false);
            let fallback = one.fallback;
            let fallback = fallback.map(|other| way(fallback_of(one.session), other, true));
            std::iter::once(own).chain(fallback)
        });
        Self(ways.collect())
    }

    fn to(&self, provider: &str) -> Vec<&Way<'s>> {
        let ways = self.0.iter();
        ways.filter(|way| way.model.provider == provider).collect()
    }

    /// The only way to a provider, on which its models keep their names.
    fn only(&self, provider: &str) -> Option<&Way<'s>> {
        match self.to(provider).as_slice() {
            [one] if !one.is_fallback => Some(one),
            _ => None,
        }
    }

    /// The session's own model as OpenCode knows it.
    pub(super) fn model_of(&self, session: SessionName, model: &ModelChoice) -> String {
        let name = match self.only(&model.provider) {
            Some(_) => model.name.clone(),
            None => own_name(model, &session.to_string()),
        };
        format!("{}/{name}", model.provider)
    }

    pub(super) fn providers(&self) -> Value {
        let ids = self.0.iter().map(|way| way.model.provider.as_str());
        ids.map(|id| {
            let entry = match self.only(id) {
                Some(way) => provider(way.model, way.endpoint),
                None => shared(&self.to(id)),
            };
            (id.to_owned(), entry)
        })
        .collect()
    }
}

/// A provider that is reached in several ways. Each has an entry among its models, with an address and a placeholder of its own.
/// OpenCode takes limits and prices from the catalogue by the entry's `id`.
fn shared(ways: &[&Way<'_>]) -> Value {
    let mut entry = json!({
        // An adapter wants one; the header of the model's entry takes its place.
        "options": { "apiKey": "none" },
    });
    for way in ways {
        let one = provider(way.model, way.endpoint);
        let mut model = one["models"][way.model.name.as_str()].clone();
        model["id"] = json!(way.model.name);
        model["provider"] = json!({ "api": way.endpoint.base_url });
        model["headers"] = json!({ way.endpoint.credential: way.endpoint.header() });
        entry["models"][own_name(way.model, &way.name)] = model;
        for shared in ["npm", "name"] {
            if !one[shared].is_null() {
                entry[shared] = one[shared].clone();
            }
        }
    }
    entry
}

fn provider(model: &ModelChoice, endpoint: &ModelEndpoint) -> Value {
    let options = json!({
        "baseURL": endpoint.base_url,
        "apiKey": endpoint.placeholder.expose_secret(),
    });
    if model.base_url.is_none() {
        // An empty entry keeps what the catalogue knows of the model, and makes one that it does not
        // know usable.
        let known = match model.context {
            Some(context) => json!({ "limit": { "context": context, "output": DEFAULT_OUTPUT } }),
            None => json!({}),
        };
        return json!({ "options": options, "models": { model.name.as_str(): known } });
    }
    let context = model.context.unwrap_or(DEFAULT_CONTEXT);
    json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": model.provider,
        "options": options,
        "models": {
            model.name.as_str(): {
                // The name goes to the endpoint as it is, even where the catalogue has another for it.
                "id": model.name,
                "name": model.name,
                "tool_call": true,
                "limit": { "context": context, "output": DEFAULT_OUTPUT.min(context / 4) },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(provider: &str, name: &str) -> ModelChoice {
        ModelChoice {
            provider: provider.into(),
            name: name.into(),
            ..ModelChoice::default()
        }
    }

    fn endpoint(way: &str) -> ModelEndpoint {
        ModelEndpoint {
            base_url: format!("http://127.0.0.1:7/model/{way}"),
            placeholder: "placeholder".into(),
            credential: "x-api-key",
        }
    }

    fn made(own: &ModelChoice, fallback: &ModelChoice) -> (String, Value) {
        let session = SessionName::Review(1);
        let endpoints = [endpoint("r1"), endpoint("r1-fallback")];
        let reached = Reached {
            session,
            own: (own, &endpoints[0]),
            fallback: Some((fallback, &endpoints[1])),
        };
        let ways = Ways::of(std::iter::once(reached));
        (ways.model_of(session, own), ways.providers())
    }

    #[test]
    fn a_fallback_of_another_provider_leaves_the_model_as_it_is() {
        let (own, other) = (model("anthropic", "claude"), model("openai", "gpt-5"));
        let (name, made) = made(&own, &other);
        assert_eq!(name, "anthropic/claude");
        assert_eq!(
            made["anthropic"]["options"]["baseURL"],
            "http://127.0.0.1:7/model/r1"
        );
        let name = ModelName::fallback(SessionName::Review(1), &other);
        assert_eq!(name.provider, "openai");
        assert_eq!(name.model, "gpt-5@r1-fallback");
        let entry = &made["openai"]["models"][name.model.as_str()];
        assert_eq!(entry["id"], "gpt-5");
        assert_eq!(
            entry["provider"]["api"],
            "http://127.0.0.1:7/model/r1-fallback"
        );
    }

    #[test]
    fn a_fallback_of_the_same_provider_has_an_entry_beside_the_model() {
        let (own, other) = (model("openai", "gpt-5"), model("openai", "gpt-5-mini"));
        let (name, made) = made(&own, &other);
        assert_eq!(name, "openai/gpt-5@r1");
        let models = &made["openai"]["models"];
        assert_eq!(
            models["gpt-5@r1"]["provider"]["api"],
            "http://127.0.0.1:7/model/r1"
        );
        assert_eq!(models["gpt-5-mini@r1-fallback"]["id"], "gpt-5-mini");
    }
}
