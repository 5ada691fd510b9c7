//! Secrets of the service, from the files and environment variables that service.yml names.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads the files of secrets"
)]

use reviewer_core::config::service::{SecretSource, ServiceConfig};
use reviewer_engine::sealed::{KeyRing, MasterKey};
use secrecy::{ExposeSecret as _, SecretString};
use std::path::Path;

/// Reads a secret, without the white space around it. `Err`: one sentence, without the secret.
pub(crate) fn read(
    source: &SecretSource,
    vars: &[(String, String)],
) -> Result<SecretString, String> {
    match source {
        SecretSource::File(path) => read_file(path),
        SecretSource::Variable(name) => {
            let mut vars = vars.iter();
            let value = vars
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.trim());
            let value = value.filter(|value| !value.is_empty());
            value.map(SecretString::from).ok_or_else(|| {
                format!(
                    "The environment variable {name} is not set; service.yml names it for a secret."
                )
            })
        }
    }
}

/// Reads the secret in a file.
pub(crate) fn read_file(path: &Path) -> Result<SecretString, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("The file {shown} cannot be read: {error}."))?;
    let text = SecretString::from(text);
    match text.expose_secret().trim() {
        "" => Err(format!("The file {shown} is empty.")),
        secret => Ok(SecretString::from(secret)),
    }
}

/// The keys that seal and open tokens; `None`: the configuration names no master key.
pub(crate) fn key_ring(
    config: &ServiceConfig,
    vars: &[(String, String)],
) -> Result<Option<KeyRing>, String> {
    let Some(source) = &config.master_key else {
        return Ok(None);
    };
    let parse = |secret: SecretString| {
        let key = MasterKey::parse(&secret);
        key.map_err(|error| format!("The master key cannot be used: {error}."))
    };
    let current = parse(read(source, vars)?)?;
    let earlier = config.earlier_master_keys.iter();
    let earlier = earlier.map(|path| parse(read_file(path)?));
    Ok(Some(KeyRing::new(
        current,
        earlier.collect::<Result<_, _>>()?,
    )))
}
