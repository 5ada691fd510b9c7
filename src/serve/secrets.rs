//! Secrets of the service, from the files and environment variables that service.yml names.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads the files of secrets"
)]

use reviewer_core::config::service::{self, SecretSource, ServiceConfig};
use reviewer_engine::sealed::{KeyRing, MasterKey};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
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
                    "The environment variable {name} is not set; service.yml names it for a secret: set it, or name another one."
                )
            })
        }
    }
}

/// Reads the secret in a file.
pub(crate) fn read_file(path: &Path) -> Result<SecretString, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| {
        format!(
            "The file {shown} cannot be read: {error}; service.yml names it for a secret: make it, readable for the service only, or name another one."
        )
    })?;
    let text = SecretString::from(text);
    match text.expose_secret().trim() {
        "" => Err(format!(
            "The file {shown} is empty; service.yml names it for a secret: write the secret into it."
        )),
        secret => Ok(SecretString::from(secret)),
    }
}

/// The keys of further providers, as the input `api_keys` takes them.
pub(crate) fn api_keys(
    config: &ServiceConfig,
    vars: &[(String, String)],
) -> Result<Option<SecretString>, String> {
    let Some(source) = &config.api_keys else {
        return Ok(None);
    };
    let text = read(source, vars)?;
    let place = match source {
        SecretSource::File(path) => format!("The file {}", path.display()),
        SecretSource::Variable(name) => format!("The environment variable {name}"),
    };
    let keys = service::api_keys(text.expose_secret());
    keys.map_err(|problem| format!("{place} {problem}"))?;
    Ok(Some(text))
}

/// The keys that sign states, the first one, and that are accepted, all of them. Without own ones they are made of the master key and
/// the earlier ones, or of the webhook's secret.
pub(crate) fn state_keys(
    config: &ServiceConfig,
    vars: &[(String, String)],
) -> Result<Vec<SecretString>, String> {
    if let Some(source) = &config.state_key {
        let keys = service::state_keys(read(source, vars)?.expose_secret());
        return keys.map_err(|problem| format!("The state key {problem}"));
    }
    let source = config.master_key.as_ref().unwrap_or(&config.webhook_secret);
    let mut keys = vec![derived(&read(source, vars)?)];
    for path in &config.earlier_master_keys {
        keys.push(derived(&read_file(path)?));
    }
    Ok(keys)
}

/// The secrets from which the keys of the dashboard's sessions are made: all that have signed before still verify.
pub(crate) fn session_keys(
    config: &ServiceConfig,
    vars: &[(String, String)],
) -> Result<Vec<SecretString>, String> {
    let source = config.master_key.as_ref().unwrap_or(&config.webhook_secret);
    let mut keys = vec![read(source, vars)?];
    for path in &config.earlier_master_keys {
        keys.push(read_file(path)?);
    }
    Ok(keys)
}

fn derived(source: &SecretString) -> SecretString {
    let mut hash = Sha256::new();
    hash.update(b"opencode-reviewer state key\0");
    hash.update(source.expose_secret().as_bytes());
    data_encoding::HEXLOWER.encode(&hash.finalize()).into()
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

/// The address of the store, with the password that PostgreSQL's own variable holds. The driver would look for it in the
/// environment, which is empty.
pub(crate) fn store(config: &ServiceConfig, vars: &[(String, String)]) -> SecretString {
    match store_password(vars) {
        Some(password) => reviewer_engine::with_password(&config.store, &password),
        None => config.store.as_str().into(),
    }
}

pub(crate) fn store_password(vars: &[(String, String)]) -> Option<SecretString> {
    let mut named = vars.iter().filter(|(name, _)| name == "PGPASSWORD");
    let (_, password) = named.find(|(_, password)| !password.is_empty())?;
    Some(password.as_str().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "github: { account: quality }\nrepositories: [octo/shop]\nwebhook_secret_env: A\nmodel: a/b\n";

    fn keys(lines: &str, vars: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let config = ServiceConfig::parse(&format!("{CONFIG}{lines}\n"));
        let config = config.unwrap_or_else(|wrong| panic!("{wrong:?}"));
        let vars: Vec<(String, String)> = vars
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let keys = state_keys(&config, &vars)?;
        Ok(keys
            .iter()
            .map(|key| key.expose_secret().to_owned())
            .collect())
    }

    #[test]
    fn after_a_new_master_key_states_that_the_earlier_one_signed_still_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let (old, new) = ("a".repeat(64), "b".repeat(64));
        let file = folder.path().join("old");
        std::fs::write(&file, format!("{old}\n")).expect("a file");
        let before = keys("master_key_env: KEY", &[("KEY", &old)]).expect("keys");
        let rotated = format!(
            "master_key_env: KEY\nearlier_master_key_files: [{}]",
            file.display()
        );
        let after = keys(&rotated, &[("KEY", &new)]).expect("keys");
        assert_eq!((before.len(), after.len()), (1, 2));
        assert_ne!(after[0], before[0]);
        assert_eq!(after[1], before[0]);
    }

    #[test]
    fn several_state_keys_are_several_for_the_service_as_for_its_sessions() {
        let lines = "master_key_env: KEY\nstate_key_env: STATE";
        let (one, two) = ("x".repeat(20), "y".repeat(20));
        let both = format!("{one}, {two}");
        assert_eq!(keys(lines, &[("STATE", &both)]), Ok(vec![one, two]));
        let problem = keys(lines, &[("STATE", "too short")]).expect_err("a mistake");
        assert_eq!(
            problem,
            "The state key has a value that cannot be used; expected one or several keys by comma or newline, each of at least 20 characters."
        );
    }
}
