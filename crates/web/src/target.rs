//! Judges if a URL may be fetched, by its look. Pure, and a value with one production setting: the tests bring a
//! setting of their own instead of a switch in the product.

use super::public_address;
use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const LONGEST_URL: usize = 1_024;
const LONGEST_QUERY: usize = 256;
/// No page of documentation has a longer name; names that carry data do.
const LONGEST_HOST: usize = 100;
const LONGEST_LABEL: usize = 40;

/// Names that are never public, whatever a resolver says (RFC 6761, 6762, 7686, 8375, and ICANN's `internal`).
const CLOSED_NAMES: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "home.arpa",
    "onion",
    "invalid",
];

/// The targets that a fetch may reach.
#[derive(Debug, Clone)]
pub struct Reach {
    ports: Vec<u16>,
    admits: fn(IpAddr) -> bool,
}

impl Reach {
    /// The public web. The product knows no other.
    #[must_use]
    pub(crate) fn public() -> Self {
        Self {
            ports: vec![80, 443],
            admits: public_address::is_public,
        }
    }

    /// Another part of the network, for tests that bring their own servers.
    #[cfg(test)]
    pub(crate) fn only(ports: Vec<u16>, admits: fn(IpAddr) -> bool) -> Self {
        Self { ports, admits }
    }

    /// Every address of a name has to be admitted: of a mixed answer, any one may be the next.
    pub(crate) fn vet(&self, host: &str, addresses: &[IpAddr]) -> Result<(), String> {
        if addresses.is_empty() {
            return Err(format!(
                "{host} has no address. Check the name, or search for the page."
            ));
        }
        if addresses.iter().all(|address| (self.admits)(*address)) {
            return Ok(());
        }
        Err(format!(
            "{host} does not lead to a public address, and only public pages are fetched. Use another source."
        ))
    }
}

/// A URL that may be asked, as far as its look tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target(Url);

impl Target {
    pub fn parse(text: &str, reach: &Reach) -> Result<Self, String> {
        let text = text.trim();
        // The parser forgives white space and control characters inside; nobody means them.
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(not_a_url());
        }
        let url = Url::parse(text).map_err(|_| not_a_url())?;
        Self::judge(url, reach)
    }

    /// Returns the target of a redirection, judged like any other URL.
    pub(crate) fn redirected(&self, location: &str, reach: &Reach) -> Result<Self, String> {
        let url = self.0.join(location).map_err(|_| {
            "The page redirects to something that is no URL. Use another source.".to_owned()
        })?;
        if self.0.scheme() == "https" && url.scheme() == "http" {
            return Err(
                "The page redirects from https to http, which is not followed. Use another source."
                    .into(),
            );
        }
        Self::judge(url, reach).map_err(|refusal| format!("The page redirects. {refusal}"))
    }

    fn judge(mut url: Url, reach: &Reach) -> Result<Self, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(not_a_url());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "A URL with a user name or a password is not fetched. Leave them out.".into(),
            );
        }
        url.set_fragment(None);
        let host = host(&url)?;
        url.set_host(Some(&host)).map_err(|_| not_a_url())?;
        let port = url.port_or_known_default().unwrap_or_default();
        if !reach.ports.contains(&port) {
            return Err(format!(
                "Port {port} is not fetched; only the usual ports of http and https are. Leave the port out."
            ));
        }
        if url.as_str().len() > LONGEST_URL || url.query().unwrap_or_default().len() > LONGEST_QUERY
        {
            return Err(format!(
                "The URL is too long: at most {LONGEST_URL} characters, of them {LONGEST_QUERY} in the query, are \
                 fetched. Use a shorter one."
            ));
        }
        Ok(Self(url))
    }

    #[must_use]
    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    #[must_use]
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    #[must_use]
    pub(crate) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }
}

fn not_a_url() -> String {
    "url is not a URL that can be fetched; expected http or https with a host name, for example \
     https://docs.rs/tokio."
        .into()
}

/// The host as a public name. The parser has turned every spelling of an address (`2130706433`, `0x7f.1`, full-width
/// digits) into the usual one, and every international name into ASCII.
fn host(url: &Url) -> Result<String, String> {
    let given = url.host_str().ok_or_else(not_a_url)?;
    let host = given.strip_suffix('.').unwrap_or(given);
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    if literal.parse::<Ipv4Addr>().is_ok() || literal.parse::<Ipv6Addr>().is_ok() {
        return Err(
            "An address in place of a host name is not fetched. Use the name of a public site."
                .into(),
        );
    }
    let labels: Vec<&str> = host.split('.').collect();
    let fits = |label: &&str| (1..=LONGEST_LABEL).contains(&label.len());
    if host.len() > LONGEST_HOST || !labels.iter().all(fits) {
        return Err(
            "The host name is longer than those of public sites are. Use another source.".into(),
        );
    }
    let is_below = |closed: &&str| {
        host == *closed
            || host
                .strip_suffix(*closed)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    if labels.len() < 2 || CLOSED_NAMES.iter().any(is_below) {
        return Err(format!(
            "{host} is not the name of a public site, and only those are fetched. Use another source."
        ));
    }
    Ok(host.to_owned())
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
