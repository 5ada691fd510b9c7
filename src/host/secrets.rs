//! The secrets of a run: those that it was given and those that it makes. One place, so that whatever leaves can be
//! searched for all of them.

use crate::config::Config;
use crate::redact::Redactor;
use anyhow::Result;
use secrecy::SecretString;
use std::sync::Arc;

/// What the run made for itself, and who knows all of it.
#[derive(Debug)]
pub struct Secrets {
    /// Admits to the tools.
    pub bearer: SecretString,
    /// Stands in the sidecar for the model key, and admits to the gateway.
    pub placeholder: SecretString,
    /// Admits to the sidecar.
    pub password: SecretString,
    pub redactor: Arc<Redactor>,
}

impl Secrets {
    /// `token` is GitHub's, where there is one; `nonce` is that of the fence: who knew it could write the end of one.
    pub fn of(config: &Config, token: Option<&SecretString>, nonce: &str) -> Result<Self> {
        let made = || crate::random::hex(32).map(SecretString::from);
        let (bearer, placeholder, password) = (made()?, made()?, made()?);
        let nonce = SecretString::from(nonce);
        let given = given(config, token);
        let all = given
            .into_iter()
            .chain([&bearer, &placeholder, &password, &nonce]);
        let redactor = Arc::new(Redactor::new(all));
        Ok(Self {
            bearer,
            placeholder,
            password,
            redactor,
        })
    }
}

/// What the workflow handed over.
pub fn given<'a>(config: &'a Config, token: Option<&'a SecretString>) -> Vec<&'a SecretString> {
    let search_key = config.web.as_ref().and_then(|web| web.search_key.as_ref());
    let keys = config.state_keys.iter().chain(&config.model.key);
    let keys = keys.chain(search_key);
    keys.chain(token).collect()
}
