//! The store as an address of Restate: where the server takes calls, where it is administered, and where it calls us.

use crate::restate_error::RestateError;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use url::{Host, Url};

const SCHEME: &str = "restate://";
const INGRESS_PORT: u16 = 8080;
const ADMIN_PORT: u16 = 9070;
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9080);

/// The addresses of a store in Restate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Takes calls; without a slash at its end, as the others.
    pub(crate) ingress: String,
    pub(crate) admin: String,
    /// The address of our endpoint; none in a process that only sends.
    pub(crate) listen: Option<SocketAddr>,
    /// The address by which the server reaches the endpoint.
    pub(crate) advertise: String,
    /// The server's public key, if it signs its requests.
    pub(crate) identity: Option<String>,
}

impl Address {
    /// True for a store that is one of Restate.
    pub(crate) fn is_meant(store: &str) -> bool {
        store.starts_with(SCHEME)
    }

    /// Reads `restate://<host>[:port][?admin=…&listen=…&advertise=…&identity=…]`.
    pub(crate) fn parse(store: &str) -> Result<Self, RestateError> {
        let url = Url::parse(store);
        let url = url.map_err(|error| bad(without_query(store), error.to_string()))?;
        let shown = without_query(store);
        let wrong = |why: String| bad(shown, why);
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| wrong("it names no host".to_owned()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad(
                "restate://…",
                "it has a password, and the server takes none".to_owned(),
            ));
        }
        if !matches!(url.path(), "" | "/") {
            return Err(wrong(format!("it has the path {}", url.path())));
        }
        let mut parts = Parts::default();
        for (name, value) in url.query_pairs() {
            parts.take(&name, &value).map_err(wrong)?;
        }
        let port = url.port().unwrap_or(INGRESS_PORT);
        parts
            .finish(host, port)
            .map_err(|why| bad(without_query(store), why))
    }

    /// True if the ingress is on this machine. Elsewhere, whoever reaches it can write to the store.
    pub(crate) fn is_local(&self) -> bool {
        let url = Url::parse(&self.ingress).ok();
        match url.as_ref().and_then(Url::host) {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

/// The parts of the query as they come.
#[derive(Default)]
struct Parts {
    admin: Option<String>,
    listen: Option<Listen>,
    advertise: Option<String>,
    identity: Option<String>,
}

/// `listen=`: an address, or none.
#[derive(Clone, Copy)]
enum Listen {
    At(SocketAddr),
    Nowhere,
}

impl Parts {
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let twice = match name {
            "admin" => self.admin.replace(http(name, value)?).is_some(),
            "listen" => self.listen.replace(listen(value)?).is_some(),
            "advertise" => self.advertise.replace(http(name, value)?).is_some(),
            "identity" => self.identity.replace(value.to_owned()).is_some(),
            _ => return Err(format!("it has the unknown part {name}")),
        };
        if twice {
            return Err(format!("it has the part {name} twice"));
        }
        Ok(())
    }

    fn finish(self, host: &str, port: u16) -> Result<Address, String> {
        let listen = match self.listen.unwrap_or(Listen::At(LISTEN)) {
            Listen::At(address) => Some(address),
            Listen::Nowhere => None,
        };
        let advertise = match (self.advertise, listen) {
            (Some(advertise), _) => advertise,
            (None, Some(listen)) if listen.ip().is_unspecified() || listen.port() == 0 => {
                return Err(format!(
                    "the server cannot reach {listen}, so advertise= has to say by which address it does"
                ));
            }
            (None, Some(listen)) => format!("http://{listen}"),
            (None, None) => String::new(),
        };
        Ok(Address {
            ingress: format!("http://{host}:{port}"),
            admin: self
                .admin
                .unwrap_or_else(|| format!("http://{host}:{ADMIN_PORT}")),
            listen,
            advertise,
            identity: self.identity,
        })
    }
}

fn http(name: &str, value: &str) -> Result<String, String> {
    let url = Url::parse(value).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.filter(|url| url.query().is_none() && url.username().is_empty());
    let url = url.ok_or_else(|| {
        format!("{name}={value} is no address, for example http://127.0.0.1:{ADMIN_PORT}")
    })?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn listen(value: &str) -> Result<Listen, String> {
    if value == "none" {
        return Ok(Listen::Nowhere);
    }
    let address = value.parse().map(Listen::At);
    address.map_err(|_| format!("listen={value} is no address, for example {LISTEN}, or none"))
}

fn without_query(store: &str) -> &str {
    store.split_once('?').map_or(store, |(address, _)| address)
}

fn bad(store: &str, why: String) -> RestateError {
    RestateError::BadAddress {
        store: store.to_owned(),
        why,
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
