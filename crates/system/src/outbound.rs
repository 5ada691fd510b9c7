//! HTTP clients for all that leaves the machine: through the proxies that the run's environment names, and only
//! through those. Separate, because GitHub and the model are reached alike, and because nothing may be read from the
//! process's own environment, which is emptied once the run has begun.

use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Url};

/// A proxy variable that no request can be made with. Its value is not shown: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable} holds an address that cannot be used; expected an http or https URL, for example \
     http://proxy.example:3128."
)]
pub struct ProxyError {
    variable: String,
}

/// A client to configure further. `network` are the proxy variables as `Environment` holds them.
pub fn client(network: &[(String, String)]) -> Result<ClientBuilder, ProxyError> {
    let mut builder = Client::builder().no_proxy();
    let exempt = variable(network, "no_proxy").and_then(|(_, hosts)| NoProxy::from_string(hosts));
    for scheme in ["http", "https"] {
        let named = variable(network, &format!("{scheme}_proxy"));
        let Some((name, address)) = named.or_else(|| variable(network, "all_proxy")) else {
            continue;
        };
        let proxy = proxy(scheme, address).ok_or_else(|| ProxyError {
            variable: name.to_owned(),
        })?;
        builder = builder.proxy(proxy.no_proxy(exempt.clone()));
    }
    Ok(builder)
}

/// True if requests leave through a proxy.
#[must_use]
pub fn is_proxied(network: &[(String, String)]) -> bool {
    let exempt = variable(network, "no_proxy").is_some_and(|(_, hosts)| hosts == "*");
    let named = ["http_proxy", "https_proxy", "all_proxy"];
    !exempt && named.iter().any(|name| variable(network, name).is_some())
}

/// The variable of this name in either spelling; the small one wins, as it does for curl and git.
fn variable<'a>(network: &'a [(String, String)], name: &str) -> Option<(&'a str, &'a str)> {
    let upper = name.to_ascii_uppercase();
    let find = |name: &str| network.iter().find(|(key, _)| key == name);
    find(name)
        .or_else(|| find(&upper))
        .map(|(key, value)| (key.as_str(), value.trim()))
        .filter(|(_, value)| !value.is_empty())
}

fn proxy(scheme: &str, address: &str) -> Option<Proxy> {
    // People leave the scheme away, and curl lets them.
    let full = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    let url = Url::parse(&full)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
    let made = if scheme == "http" {
        Proxy::http(url)
    } else {
        Proxy::https(url)
    };
    made.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(vars: &[(&str, &str)]) -> Vec<(String, String)> {
        vars.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn the_small_spelling_wins_and_a_missing_scheme_is_forgiven() {
        let both = network(&[("HTTPS_PROXY", "http://a"), ("https_proxy", "b:3128")]);
        assert_eq!(
            variable(&both, "https_proxy"),
            Some(("https_proxy", "b:3128"))
        );
        assert!(client(&both).is_ok());
        assert!(client(&[]).is_ok());
    }

    #[test]
    fn n8_the_variables_of_a_company_are_understood() {
        assert!(!is_proxied(&[]));
        assert!(!is_proxied(&network(&[("SSL_CERT_FILE", "/ca.pem")])));
        assert!(is_proxied(&network(&[("HTTPS_PROXY", "http://p:1")])));
        assert!(is_proxied(&network(&[("all_proxy", "http://p:1")])));
        let exempt = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "*")];
        assert!(!is_proxied(&network(&exempt)));
    }

    #[test]
    fn an_address_that_is_none_is_named_and_its_password_is_not() {
        for bad in ["socks5://u:hunter2@proxy", "http://u:hunter2@", "ht tp://x"] {
            let error = client(&network(&[("HTTPS_PROXY", bad)])).unwrap_err();
            let told = error.to_string();
            assert!(
                told.starts_with("HTTPS_PROXY holds an address that cannot be used"),
                "{told}"
            );
            assert!(!told.contains("hunter2"), "{told}");
        }
        let error = client(&network(&[("ALL_PROXY", "socks5://p")])).unwrap_err();
        assert!(error.to_string().starts_with("ALL_PROXY"), "{error}");
    }
}
