//! The address of a model's endpoint: decided by the gateway's own table and the user's inputs, never by the sidecar.
//! Pure, so that every provider of the catalogue can be asked in a test.

use super::adapters::{ADAPTERS, Adapter, Call, ENDPOINT, ModelIn, OF_AN_ACCOUNT, SIGNING};
use super::wire;
use reqwest::Url;
use reviewer_core::config::{self, ModelChoice};
use secrecy::SecretString;

/// The keys that OpenCode sends to providers with free models when it has none.
const KEYLESS: &[(&str, &str)] = &[("opencode", "public")];

/// One path that the sidecar may ask for.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) path: String,
    /// The address that requests to the path are sent to.
    pub(super) url: Url,
    pub(super) call: Call,
}

/// The endpoint of a run's requests: its routes, the model and the key.
#[derive(Debug, Clone)]
pub(super) struct Upstream {
    pub(super) routes: Vec<Route>,
    /// The model as requests name it.
    pub(super) model: String,
    pub(super) model_in: ModelIn,
    /// `None`: requests go without a key.
    pub(super) credential: Option<SecretString>,
    /// The header that the sidecar sends its placeholder in.
    pub(super) credential_header: &'static str,
}

impl Upstream {
    /// The upstream of a choice, or one sentence that says why there is none.
    pub(super) fn from_choice(choice: &ModelChoice) -> Result<Self, String> {
        let Some(base_url) = &choice.base_url else {
            return of_catalogue(choice);
        };
        Self::at(base_url, &ENDPOINT, &choice.name, choice.key.clone()).ok_or_else(|| {
            format!("Input model_base_url is {base_url:?}; expected an http or https URL.")
        })
    }

    fn at(
        base: &str,
        adapter: &Adapter,
        model: &str,
        credential: Option<SecretString>,
    ) -> Option<Self> {
        let base = base.trim_end_matches('/');
        // Google's adapter takes a name with a slash for a path of its own.
        let named = match adapter.model {
            ModelIn::Path if model.contains('/') => model.to_owned(),
            ModelIn::Path => format!("models/{model}"),
            ModelIn::Body | ModelIn::Header => String::new(),
        };
        let root = Url::parse(&format!("{base}/")).ok()?;
        let route = |call: &Call| {
            let url = Url::parse(&format!("{base}/{named}{}", call.path)).ok()?;
            let path = url.path().strip_prefix(root.path())?.to_owned();
            let call = *call;
            (url.query().is_none() && url.fragment().is_none()).then_some(Route { path, url, call })
        };
        Some(Self {
            routes: adapter.calls.iter().map(route).collect::<Option<_>>()?,
            model: model.to_owned(),
            model_in: adapter.model,
            credential,
            credential_header: adapter.credential,
        })
    }

    /// For sentences about it.
    pub(super) fn host(&self) -> String {
        let url = self.routes.first().map(|route| &route.url);
        let host = url.and_then(Url::host_str).unwrap_or("the model");
        match url.and_then(Url::port) {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

/// Everything that is wrong with a choice of model, as sentences for the person who made it.
#[must_use]
pub fn problems(choice: &ModelChoice) -> Vec<String> {
    Upstream::from_choice(choice).err().into_iter().collect()
}

fn of_catalogue(choice: &ModelChoice) -> Result<Upstream, String> {
    let wanted = &choice.provider;
    let providers = wire::providers();
    let Some(provider) = providers.get(wanted) else {
        return Err(unknown(wanted, providers.keys().map(String::as_str)));
    };
    let adapter = adapter(wanted, &provider.adapter, provider.url.as_deref())?;
    let none = wire::Difference::default();
    let differs = provider.models.get(&choice.name).unwrap_or(&none);
    let url = differs.url.as_deref().or(provider.url.as_deref());
    let adapter = match &differs.adapter {
        Some(npm) => self::adapter(wanted, npm, url)?,
        None => adapter,
    };
    let base = url.filter(|url| !url.is_empty()).or(adapter.url);
    let model = differs.id.as_ref().unwrap_or(&choice.name);
    let credential = credential(choice)?;
    base.and_then(|base| Upstream::at(base, adapter, model, Some(credential)))
        .ok_or_else(|| unreachable(wanted, "its address is not known"))
}

/// The adapter, if the gateway can stand between it and its provider.
fn adapter(provider: &str, npm: &str, url: Option<&str>) -> Result<&'static Adapter, String> {
    if SIGNING.contains(&npm) || SIGNING.contains(&provider) {
        let why = "it takes signed requests or a sign-in where others take a key";
        return Err(unreachable(provider, why));
    }
    if OF_AN_ACCOUNT.contains(&npm) || url.is_some_and(|url| url.contains("${")) {
        let why = "its address depends on your account";
        return Err(unreachable(provider, why));
    }
    ADAPTERS
        .iter()
        .find(|adapter| adapter.npm == npm)
        .ok_or_else(|| unreachable(provider, "OpenCode does not bring its adapter along"))
}

fn credential(choice: &ModelChoice) -> Result<SecretString, String> {
    let wanted = &choice.provider;
    let free = || {
        let keyless = KEYLESS.iter().find(|(id, _)| id == wanted);
        keyless.map(|(_, key)| SecretString::from(*key))
    };
    choice.key.clone().or_else(free).ok_or_else(|| {
        format!(
            "opencode_api_key is not set, and the provider {wanted} needs a key. Pass it as \
             `opencode_api_key: ${{{{ secrets.YOUR_SECRET }}}}`."
        )
    })
}

fn unreachable(provider: &str, why: &str) -> String {
    format!(
        "model names the provider {provider}, which cannot be used directly: {why}. Set model_base_url to an \
         OpenAI-compatible endpoint in front of it, for example a LiteLLM proxy; model is then provider/name with \
         the name that this endpoint knows."
    )
}

fn unknown<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = config::nearest(wanted, known)
        .map(|near| format!(" Did you mean {near}?"))
        .unwrap_or_default();
    format!(
        "model names the provider {wanted:?}, which OpenCode does not know.{near} Expected provider/name with \
         a provider of OpenCode's catalogue, or any name together with model_base_url."
    )
}

#[cfg(test)]
#[path = "upstream_tests.rs"]
mod tests;
