//! The secrets of a run: those that it was given and those that it makes. One place, so that whatever leaves can be
//! searched for all of them.

use crate::host::session::Sessions;
use anyhow::Result;
use reviewer_core::config::Config;
use reviewer_text::redact::Redactor;
use secrecy::SecretString;
use std::sync::Arc;

/// The secrets that the run made for its sidecar, and the redactor that knows all secrets.
#[derive(Debug)]
pub(crate) struct Secrets {
    /// Admits to the sidecar.
    pub password: SecretString,
    pub redactor: Arc<Redactor>,
}

impl Secrets {
    /// `token` is GitHub's, where there is one. Among the `further` ones is the nonce of the fence: who knew it could write the end
    /// of one. Each session has secrets of its own, and the redactor knows them all.
    pub fn new(
        config: &Config,
        token: Option<&SecretString>,
        further: impl Iterator<Item = SecretString>,
        sessions: &Sessions,
    ) -> Result<Self> {
        let password = SecretString::from(reviewer_system::random::hex(32)?);
        let further: Vec<SecretString> = further.collect();
        let of_sessions = std::iter::once(sessions.first())
            .chain(sessions.beside())
            .map(|session| &session.secrets);
        let of_sessions = of_sessions.flat_map(|one| [&one.bearer, &one.placeholder]);
        let given = given(config, token).into_iter();
        let all = given.chain([&password]).chain(&further).chain(of_sessions);
        let redactor = Arc::new(Redactor::new(all));
        Ok(Self { password, redactor })
    }
}

/// The secrets that the workflow handed over.
pub(crate) fn given<'a>(
    config: &'a Config,
    token: Option<&'a SecretString>,
) -> Vec<&'a SecretString> {
    let search_key = config.web.as_ref().and_then(|web| web.search_key.as_ref());
    let keys = config.state_keys.iter().chain(&config.model.key);
    let keys = keys.chain(config.api_keys.values());
    let keys = keys.chain(search_key).chain(&config.fix.push_token);
    keys.chain(token).collect()
}
