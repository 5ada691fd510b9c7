//! The addresses that the page leads to: pages of the server that the pull request is on, and nothing else.

use crate::domain::Side;
use crate::report::Report;
use crate::report::uri;
use url::{Origin, Url};

/// The server and the repository of a report; without a pull request there is none.
#[derive(Debug)]
pub(super) struct Links {
    server: Option<Origin>,
    pull: Option<Url>,
    head: Option<String>,
    base: Option<String>,
}

impl Links {
    pub(super) fn new(report: &Report) -> Self {
        let pull = report.pull_request_url.as_deref().and_then(web_address);
        Self {
            server: pull.as_ref().map(Url::origin),
            pull,
            head: commit(&report.head),
            base: commit(&report.merge_base),
        }
    }

    /// The pull request's page.
    pub(super) fn pull(&self) -> Option<String> {
        self.pull.as_ref().map(Url::to_string)
    }

    /// The address, if it is one of the server's.
    pub(super) fn of_server(&self, address: &str) -> Option<String> {
        let address = web_address(address)?;
        let is_ours = self.server.as_ref() == Some(&address.origin());
        is_ours.then(|| address.to_string())
    }

    /// The page of the head commit.
    pub(super) fn head(&self) -> Option<String> {
        Some(format!(
            "{}/commit/{}",
            self.repository()?,
            self.head.as_ref()?
        ))
    }

    /// A line of a file, in the version that it is a line of.
    pub(super) fn line(&self, path: &str, side: Side, line: u32) -> Option<String> {
        let commit = match side {
            Side::Right => self.head.as_ref()?,
            Side::Left => self.base.as_ref()?,
        };
        let (repository, path) = (self.repository()?, uri::relative(path));
        Some(format!("{repository}/blob/{commit}/{path}#L{line}"))
    }

    /// A conversation on the pull request, by the id of its first comment.
    pub(super) fn conversation(&self, id: u64) -> Option<String> {
        Some(format!("{}#discussion_r{id}", self.pull()?))
    }

    fn repository(&self) -> Option<String> {
        let pull = self.pull()?;
        let (repository, _) = pull.rsplit_once("/pull/")?;
        Some(repository.to_owned())
    }
}

/// An address of the web without a name and a password in it.
fn web_address(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let is_web = matches!(url.scheme(), "https" | "http");
    let is_plain = url.username().is_empty() && url.password().is_none();
    (is_web && is_plain).then_some(url)
}

/// The id of a commit, if it is one.
fn commit(id: &str) -> Option<String> {
    let is_id = id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::sample;

    #[test]
    fn a_link_leads_to_the_server_of_the_pull_request_or_nowhere() {
        let mut report = sample();
        let links = Links::new(&report);
        let comment = "https://example.test/octo/shop/pull/1#discussion_r5";
        assert_eq!(links.of_server(comment).as_deref(), Some(comment));
        assert_eq!(links.conversation(5).as_deref(), Some(comment));
        for other in [
            "javascript:alert(1)",
            "JavaScript://example.test/%0aalert(1)",
            "data:text/html,x",
            "https://evil.example/",
            "https://example.test@evil.example/",
            "https://user:secret@example.test/",
            "http://example.test/",
            "//evil.example",
            "/octo/shop",
            "",
        ] {
            assert_eq!(links.of_server(other), None, "{other}");
        }
        report.pull_request_url = Some("javascript:alert(1)".into());
        assert_eq!(Links::new(&report).pull(), None);
        report.pull_request_url = None;
        assert_eq!(Links::new(&report).of_server(comment), None);
    }

    #[test]
    fn a_file_is_linked_at_the_commit_that_was_reviewed() {
        let mut report = sample();
        let line = |report: &Report, path: &str, side| Links::new(report).line(path, side, 8);
        let head = &report.head;
        assert_eq!(
            line(&report, "src/a b#\"><x>.ts", Side::Right),
            Some(format!(
                "https://example.test/octo/shop/blob/{head}/src/a%20b%23%22%3E%3Cx%3E.ts#L8"
            ))
        );
        assert_eq!(line(&report, "a", Side::Left), None, "no merge base");
        report.head = "\"><script>".into();
        assert_eq!(line(&report, "a", Side::Right), None);
        assert_eq!(Links::new(&report).head(), None);
    }
}
