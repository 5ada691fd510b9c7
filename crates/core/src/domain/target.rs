//! A pull request or a repository as people write it in a shell: a number, a name, an address that was copied from a
//! browser, or git's remote.

use super::RepoName;
use std::str::FromStr;

/// A repository, and the server that it is on where that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoRef {
    /// Such as `github.com`, with the port of an address that has one.
    pub host: Option<String>,
    pub name: RepoName,
}

/// A pull request, and its repository where that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRef {
    pub repo: Option<RepoRef>,
    pub number: u64,
}

/// A text that names neither.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    #[error(
        "expected a number, such as 12 or #12, or the address of a pull request, such as https://github.com/owner/name/pull/12"
    )]
    Pull,
    #[error(
        "expected owner/name, or the address of a repository, such as https://github.com/owner/name"
    )]
    Repo,
}

impl FromStr for RepoRef {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let text = text.trim();
        let (host, path) = match located(text) {
            Some((host, path)) => (host, path.trim_matches('/')),
            None => (None, text),
        };
        let mut parts = path.split('/');
        let (Some(owner), Some(name)) = (parts.next(), parts.next()) else {
            return Err(NoTarget::Repo);
        };
        // An address may lead to a page of the repository, a bare name to nothing more.
        if host.is_none() && parts.next().is_some() {
            return Err(NoTarget::Repo);
        }
        let name = name.strip_suffix(".git").unwrap_or(name);
        let name = format!("{owner}/{name}").parse();
        let name = name.map_err(|_| NoTarget::Repo)?;
        Ok(Self { host, name })
    }
}

impl FromStr for PullRef {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let text = text.trim();
        if let Some((host @ Some(_), path)) = located(text) {
            let path = path.split(['?', '#']).next().unwrap_or_default();
            let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
            let [owner, name, "pull", digits, ..] = parts.as_slice() else {
                return Err(NoTarget::Pull);
            };
            let name = format!("{owner}/{name}").parse();
            let name = name.map_err(|_| NoTarget::Pull)?;
            let repo = Some(RepoRef { host, name });
            let number = number(digits)?;
            return Ok(Self { repo, number });
        }
        let (repo, digits) = match text.split_once('#') {
            Some(("", digits)) => (None, digits),
            Some((repo, digits)) => {
                let name = repo.parse().map_err(|_| NoTarget::Pull)?;
                (Some(RepoRef { host: None, name }), digits)
            }
            None => (None, text),
        };
        let number = number(digits)?;
        Ok(Self { repo, number })
    }
}

fn number(digits: &str) -> Result<u64, NoTarget> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|number| plain && *number > 0);
    number.ok_or(NoTarget::Pull)
}

/// Host and path of an address; `None` for a bare name. SSH's port says nothing about the server's address.
fn located(text: &str) -> Option<(Option<String>, &str)> {
    let (host, path) = match text.split_once("://") {
        Some(("https" | "http", rest)) => {
            let (host, path) = rest.split_once('/')?;
            (without_user(host), path)
        }
        Some(("ssh" | "git" | "git+ssh", rest)) => {
            let (host, path) = rest.split_once('/')?;
            let host = without_user(host);
            (host.split(':').next().unwrap_or(host), path)
        }
        Some(_) => return None,
        None => {
            // As scp writes it: user@host:path.
            let (host, path) = text.split_once(':')?;
            (without_user(host), path)
        }
    };
    let host = match host.to_ascii_lowercase() {
        // GitHub's SSH behind the port of HTTPS.
        alias if alias == "ssh.github.com" || alias == "www.github.com" => "github.com".to_owned(),
        host => host,
    };
    // A message may show it as part of a command.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
    (!host.is_empty() && host.chars().all(is_plain)).then_some((Some(host), path))
}

fn without_user(host: &str) -> &str {
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

impl RepoRef {
    /// Returns true if it can be on the server of this address.
    #[must_use]
    pub fn is_on(&self, server_url: &str) -> bool {
        let server = server_url
            .split_once("://")
            .map_or(server_url, |(_, rest)| rest);
        let server = server.trim_end_matches('/');
        let same = |host: &String| host.eq_ignore_ascii_case(server);
        self.host.as_ref().is_none_or(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(text: &str) -> Option<(Option<String>, String)> {
        let repo: RepoRef = text.parse().ok()?;
        Some((repo.host, repo.name.to_string()))
    }

    #[test]
    fn a_repository_is_a_name_an_address_or_a_remote_of_git() {
        assert_eq!(repo("octo/shop"), Some((None, "octo/shop".into())));
        for text in [
            "https://github.com/octo/shop",
            "https://github.com/octo/shop.git",
            "https://github.com/octo/shop/",
            "https://x-access-token:secret@GitHub.com/octo/shop.git",
            "https://github.com/octo/shop/pulls?q=is%3Aopen",
            "git@github.com:octo/shop.git",
            "github.com:octo/shop",
            "ssh://git@github.com/octo/shop.git",
            "ssh://git@ssh.github.com:443/octo/shop.git",
            "git://github.com/octo/shop.git",
        ] {
            let expected = Some((Some("github.com".into()), "octo/shop".into()));
            assert_eq!(repo(text), expected, "{text}");
        }
        let enterprise = Some((Some("ghe.example:8443".into()), "octo/shop".into()));
        assert_eq!(repo("https://ghe.example:8443/octo/shop"), enterprise);
        for text in [
            "",
            "shop",
            "octo/",
            "octo/shop/x",
            "/srv/shop.git",
            "https://github.com/octo",
            "https://x$(id)/octo/shop",
            "evil.example;id:octo/shop",
        ] {
            assert_eq!(repo(text), None, "{text}");
        }
    }

    fn pull(text: &str) -> Option<(Option<String>, u64)> {
        let pull: PullRef = text.parse().ok()?;
        let repo = pull.repo.map(|repo| match repo.host {
            Some(host) => format!("{host} {}", repo.name),
            None => repo.name.to_string(),
        });
        Some((repo, pull.number))
    }

    #[test]
    fn a_pull_request_is_a_number_or_an_address() {
        assert_eq!(pull("12"), Some((None, 12)));
        assert_eq!(pull("#12"), Some((None, 12)));
        assert_eq!(pull("octo/shop#12"), Some((Some("octo/shop".into()), 12)));
        for text in [
            "https://github.com/octo/shop/pull/12",
            "https://github.com/octo/shop/pull/12/files?w=1#diff-1",
        ] {
            let expected = Some((Some("github.com octo/shop".into()), 12));
            assert_eq!(pull(text), expected, "{text}");
        }
        for text in [
            "",
            "0",
            "-1",
            "+5",
            "twelve",
            "#",
            "https://github.com/octo/shop/issues/12",
        ] {
            assert_eq!(pull(text), None, "{text}");
        }
    }

    #[test]
    fn a_repository_is_on_the_server_that_it_names() {
        let named: RepoRef = "https://ghe.example/octo/shop".parse().unwrap();
        assert!(named.is_on("https://ghe.example") && !named.is_on("https://github.com"));
        let bare: RepoRef = "octo/shop".parse().unwrap();
        assert!(bare.is_on("https://ghe.example"));
    }
}
