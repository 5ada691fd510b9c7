//! `serve`: the lifecycle service, and the commands that configure it.
#![expect(clippy::disallowed_methods, reason = "edge: reads service.yml")]

mod agents;
mod check;
mod moving;
mod tokens;

pub use agents::AgentsOrder;
pub use tokens::TokensOrder;

use crate::host::{Failure, Setup};
pub use crate::serve::Role;
use crate::serve::{self, Start};
use reviewer_core::config::service::ServiceConfig;
use reviewer_engine::Store;
use reviewer_engine::clock::{Clock as _, SystemClock};
use reviewer_text::capital::full_sentence;
use secrecy::{ExposeSecret as _, SecretString};
use std::path::{Path, PathBuf};

/// The work that `serve` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServeOrder {
    Run { rebuild: bool, role: Role },
    Agents(AgentsOrder),
    Tokens(TokensOrder),
    Check,
    Export(PathBuf),
    Import(PathBuf),
}

/// The place of a command: its configuration, its store and what it was started with.
struct Place<'a> {
    setup: &'a Setup,
    config: ServiceConfig,
    vars: &'a [(String, String)],
}

impl Place<'_> {
    async fn store(&self) -> Result<Store, Failure> {
        let address = self.address();
        Store::open(address.expose_secret()).await.map_err(sentence)
    }

    /// The address of the store, with its password.
    fn address(&self) -> SecretString {
        serve::secrets::store(&self.config, self.vars)
    }
}

/// Carries out an order, with the configuration of this file, and another store where one is named. Returns the exit code.
pub async fn serve(
    setup: &Setup,
    (config, store): (&Path, Option<&str>),
    vars: &[(String, String)],
    order: &ServeOrder,
) -> u8 {
    let done = match read(config, store) {
        Ok(config) => {
            let place = Place {
                setup,
                config,
                vars,
            };
            carry_out(place, order).await
        }
        Err(failure) => Err(failure),
    };
    let Err(Failure(sentences)) = done else {
        return 0;
    };
    for sentence in sentences {
        setup.actions.error(&sentence);
    }
    2
}

async fn carry_out(place: Place<'_>, order: &ServeOrder) -> Result<(), Failure> {
    match order {
        ServeOrder::Run { rebuild, role } => {
            let start = Start {
                setup: place.setup,
                config: place.config,
                vars: place.vars,
                rebuild: *rebuild,
                role: *role,
            };
            serve::run(start).await
        }
        ServeOrder::Agents(order) => agents::agents(&place, order).await,
        ServeOrder::Tokens(order) => tokens::tokens(&place, order).await,
        ServeOrder::Check => check::check(&place).await,
        ServeOrder::Export(file) => moving::export(&place, file).await,
        ServeOrder::Import(file) => moving::import(&place, file).await,
    }
}

/// Reads service.yml. Relative paths in it are below its folder.
fn read(path: &Path, store: Option<&str>) -> Result<ServiceConfig, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(format!(
            "The configuration {shown} cannot be read: {error}. Name another file with --config."
        ))
    })?;
    let config = ServiceConfig::parse(&text).map_err(|wrong| {
        let told = wrong.iter().map(|sentence| format!("{shown}: {sentence}"));
        Failure(told.collect())
    })?;
    let config = config.below(path.parent().unwrap_or(Path::new(".")));
    match store {
        // Below the current folder, as all files of a command line.
        Some(store) => config.with_store(store).map_err(Failure::new),
        None => Ok(config),
    }
}

/// An error of the store as a sentence.
fn sentence(error: impl std::fmt::Display) -> Failure {
    Failure::new(full_sentence(&error.to_string()))
}

fn now_ms() -> i64 {
    SystemClock::default().now_ms()
}

/// Refuses a name that would not do as an agent's or a token's.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.len() <= 60 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Failure::new(
        "A name has at most 60 letters, digits, - and _, and begins with a letter or a digit.",
    ))
}

fn no_such(what: &str, name: &str) -> Failure {
    Failure::new(format!(
        "There is no {what} named {}; `list` shows them.",
        name.escape_debug()
    ))
}

/// The rows of a list, or the sentence that there are none.
fn listed(rows: &[String], none: &str) -> String {
    if rows.is_empty() {
        return none.to_owned();
    }
    rows.join("\n")
}
