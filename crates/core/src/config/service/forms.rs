//! The forms of values in service.yml: from the text to its meaning, or to what is expected instead.

use crate::config::values::{self, InvalidValue};
use crate::domain::{Login, RepoName};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The address by which a process of the same machine reaches the server.
pub(super) fn reachable(listen: SocketAddr) -> SocketAddr {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), listen.port())
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv6Addr::LOCALHOST.into(), listen.port())
        }
        _ => listen,
    }
}

pub(super) fn address(text: &str) -> Result<SocketAddr, InvalidValue> {
    let expected = "an address with its port, for example 127.0.0.1:8787 or [::1]:8787";
    text.parse().map_err(|_| InvalidValue::new(expected))
}

/// A path, or the address of a server. One with a password is refused: the file holds no secret.
pub(super) fn store(text: &str) -> Result<String, InvalidValue> {
    let expected = "the path of a SQLite file, or an address that begins with postgres:// or restate:// and has no \
                    password; PGPASSWORD or a .pgpass file holds that of PostgreSQL";
    let Some((scheme, rest)) = text.split_once("://") else {
        return Ok(text.to_owned());
    };
    let (host, query) = rest.split_once('?').unwrap_or((rest, ""));
    let user = host.rsplit_once('@').map_or("", |(user, _)| user);
    let is_known = matches!(scheme, "postgres" | "postgresql" | "restate");
    let has_password = user.contains(':') || query.to_lowercase().contains("password=");
    if !is_known || has_password || host.is_empty() {
        return Err(InvalidValue::private(expected));
    }
    Ok(text.to_owned())
}

pub(super) fn repository(text: &str) -> Result<RepoName, InvalidValue> {
    let expected = "repositories as owner/name";
    text.parse().map_err(|_| InvalidValue::new(expected))
}

pub(super) fn app_id(text: &str) -> Result<u64, InvalidValue> {
    let expected = "the number that GitHub shows as App ID";
    let number = text.parse().ok().filter(|id| *id > 0);
    number.ok_or(InvalidValue::new(expected))
}

pub(super) fn model(text: &str) -> Result<String, InvalidValue> {
    values::model(text).map(|(provider, name)| format!("{provider}/{name}"))
}

/// The name of an agent, or the slug of an App.
pub(super) fn name(text: &str) -> Result<String, InvalidValue> {
    let expected = "a name of at most 60 letters, digits, - and _";
    values::is_login(text)
        .then(|| text.to_owned())
        .ok_or(InvalidValue::new(expected))
}

pub(super) fn login(text: &str) -> Result<Login, InvalidValue> {
    let expected = "a GitHub login";
    values::is_login(text)
        .then(|| Login::new(text))
        .ok_or(InvalidValue::new(expected))
}
