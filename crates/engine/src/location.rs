//! The place of a store: a file or a server, its name without a password, and the lock that keeps a second service out.

use crate::dialect::{Dialect, POSTGRES, SQLITE};
use crate::error::{EngineError, Result, of_server};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use url::Url;

/// Characters of a path that need no escape in an address.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_');

/// The sign in the place of a password.
const HIDDEN: &str = "***";

/// The place of a store.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The name for messages, without a password.
    pub(crate) name: String,
    /// The address for the driver, with a password.
    pub(crate) url: SecretString,
    pub(crate) dialect: &'static Dialect,
    file: Option<PathBuf>,
}

/// Held as long as a service uses a store. The system takes it back from a dead process.
#[derive(Debug)]
pub(crate) struct ServiceLock(Option<File>);

impl Drop for ServiceLock {
    /// To close the file is not enough: a process that is just being started has a copy until it executes its program.
    fn drop(&mut self) {
        if let Some(file) = &self.0
            && let Err(error) = file.unlock()
        {
            tracing::warn!("the lock of the store was not released: {error}");
        }
    }
}

impl Location {
    /// `postgres://…`, `sqlite:<file>`, or a path.
    pub(crate) fn parse(store: &str) -> Result<Self> {
        if store.starts_with("postgres://") || store.starts_with("postgresql://") {
            // The driver panics on it, because two crates of cryptography are in the program.
            if store.to_lowercase().contains("mode=verify-ca") {
                return Err(EngineError::NoTls {
                    store: without_password(store),
                    why: "sslmode=verify-ca is not supported, verify-full is".to_owned(),
                });
            }
            return Ok(Self {
                name: without_password(store),
                url: store.into(),
                dialect: &POSTGRES,
                file: None,
            });
        }
        let path = store.strip_prefix("sqlite:").unwrap_or(store);
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || path.contains("://") {
            return Err(EngineError::UnknownStore {
                store: without_password(store),
            });
        }
        Ok(Self {
            name: path.to_owned(),
            url: format!("sqlite://{}?mode=rwc", utf8_percent_encode(path, ESCAPED)).into(),
            dialect: &SQLITE,
            file: Some(PathBuf::from(path)),
        })
    }

    /// Creates the file for its owner only. An existing one is left alone: to close it would end SQLite's own locks.
    pub(crate) fn create(&self) -> Result<()> {
        let Some(path) = &self.file else {
            return Ok(());
        };
        match private().create_new(true).open(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(self.not_writable(&error))
            }
            _ => Ok(()),
        }
    }

    /// True for a file that is not there.
    pub(crate) fn is_missing(&self) -> bool {
        self.file.as_ref().is_some_and(|path| !path.exists())
    }

    /// Keeps other services out of a file. A server has leases instead.
    pub(crate) fn lock(&self) -> Result<ServiceLock> {
        let Some(path) = &self.file else {
            return Ok(ServiceLock(None));
        };
        // Two names of one file have one lock.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        let mut beside = path.into_os_string();
        beside.push("-lock");
        let beside = PathBuf::from(beside);
        let opened = private().create(true).truncate(false).open(&beside);
        let file = opened.map_err(|error| self.not_writable(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(ServiceLock(Some(file))),
            Err(TryLockError::WouldBlock) => Err(self.in_use()),
            Err(TryLockError::Error(error)) => Err(self.not_writable(&error)),
        }
    }

    /// The sentence for an error of the driver.
    pub(crate) fn explain(&self, error: sqlx::Error) -> EngineError {
        if self.file.is_none() || matches!(error, sqlx::Error::Configuration(_)) {
            return of_server(&self.name, error);
        }
        let code = match &error {
            sqlx::Error::Database(error) => error.code().and_then(|code| code.parse::<u32>().ok()),
            _ => None,
        };
        // The low byte is SQLite's primary code: busy, locked, read-only, disk full, cannot open, not a database.
        match code.map(|code| code & 0xff) {
            Some(5 | 6) => self.in_use(),
            Some(8 | 13 | 14) => self.not_writable(&error),
            Some(26) => EngineError::NotADatabase {
                store: self.name.clone(),
            },
            _ => EngineError::Sql(error),
        }
    }

    fn in_use(&self) -> EngineError {
        EngineError::InUse {
            store: self.name.clone(),
        }
    }

    fn not_writable(&self, why: &impl ToString) -> EngineError {
        EngineError::NotWritable {
            store: self.name.clone(),
            why: why.to_string(),
        }
    }
}

/// The address of a store with this password, if it is one of PostgreSQL without any.
#[must_use]
pub fn with_password(store: &str, password: &SecretString) -> SecretString {
    let is_postgres = store.starts_with("postgres://") || store.starts_with("postgresql://");
    let Some(mut url) = Url::parse(store).ok().filter(|_| is_postgres) else {
        return store.into();
    };
    let has_one = url.password().is_some() || url.query_pairs().any(|(name, _)| name == "password");
    if has_one || url.set_password(Some(password.expose_secret())).is_err() {
        return store.into();
    }
    String::from(url).into()
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn without_password(store: &str) -> String {
    // Whatever this is, it may hold one.
    let Ok(mut url) = Url::parse(store) else {
        return "(unreadable address)".to_owned();
    };
    if url.password().is_some() {
        let _hidden = url.set_password(Some(HIDDEN));
    }
    if url.query().is_some() {
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let shown = pairs.iter().map(|(key, value)| match key.as_str() {
            "password" => (key, HIDDEN),
            _ => (key, value.as_str()),
        });
        url.query_pairs_mut().clear().extend_pairs(shown);
    }
    url.to_string()
}
