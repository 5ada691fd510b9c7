//! The mark of the reviewer's check runs: whose run opened them, for which pull request and diff. The lease in the text
//! is signed, because a check run in progress that is taken for the reviewer's makes every other run on the head wait.

use super::signature::{Keys, SignatureCheck, Signed};
use crate::domain::{CommitSha, NamedCheck, PrKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The name of the reviewer's check on a pull request.
pub const CHECK_NAME: &str = "OpenCode review";
/// The prefix of the external id of the reviewer's check runs.
const OURS: &str = "opencode-reviewer";
/// The maximum length of a branch's name that is shown.
const LONGEST_REF: usize = 100;

/// The diff that a check run is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub head: CommitSha,
    pub base_ref: String,
    pub merge_base: CommitSha,
}

impl Place {
    /// The external id of a check run for this diff.
    #[must_use]
    pub fn external_id(&self, run: &str, number: u64) -> String {
        let base = shortened(&self.base_ref);
        format!("{OURS}:{run}:{number}:{base}:{}", self.merge_base)
    }

    /// The title of a check run, with the diff that it is about.
    #[must_use]
    pub fn titled(&self, title: &str) -> String {
        let base = shortened(&self.base_ref);
        format!("{title} · {base}@{}", self.merge_base.short())
    }
}

/// The checks that ended and failed. The reviewer's own, and the jobs of the workflow runs that made it, are none of them: they judge
/// the findings.
#[must_use]
pub fn failed_of_others(checks: &[NamedCheck]) -> Vec<&NamedCheck> {
    let (ours, others): (Vec<&NamedCheck>, Vec<&NamedCheck>) =
        checks.iter().partition(|check| check.name == CHECK_NAME);
    let is_own_job = |check: &NamedCheck| {
        let url = check.details_url.as_deref().unwrap_or_default();
        let mut runs = ours.iter().filter_map(|one| one.details_url.as_deref());
        runs.any(|run| {
            let rest = url.strip_prefix(run);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let others = others.into_iter();
    let failed = others.filter(|check| check.has_failed() && !is_own_job(check));
    failed.collect()
}

fn shortened(base_ref: &str) -> String {
    base_ref.chars().take(LONGEST_REF).collect()
}

/// The workflow run and the pull request that an external id names. A branch's name holds no colon.
#[must_use]
pub(crate) fn named(external_id: &str) -> Option<(&str, u64)> {
    let mut parts = external_id.split(':');
    let ours = parts.next() == Some(OURS);
    let (run, number) = (parts.next()?, parts.next()?.parse().ok()?);
    ours.then_some((run, number))
}

#[derive(Serialize, Deserialize)]
struct Lease {
    head: String,
    run: String,
    kid: String,
    sig: String,
}

const OPEN: &str = "<!-- rmcoc:lease ";
const CLOSE: &str = " -->";

fn content(head: &CommitSha, run: &str) -> Value {
    json!({ "kind": "lease", "head": head.as_str(), "run": run })
}

fn signed<'a>(pr: &'a PrKey, hidden: &'a Value) -> Signed<'a> {
    Signed {
        pr,
        root: None,
        visible: &Value::Null,
        hidden,
    }
}

/// The lease as a hidden line of the check run's text; without a key there is none.
#[must_use]
pub fn render(pr: &PrKey, head: &CommitSha, run: &str, keys: &Keys) -> Option<String> {
    let (kid, sig) = keys.sign(&signed(pr, &content(head, run)))?;
    let lease = Lease {
        head: head.to_string(),
        run: run.to_owned(),
        kid,
        sig,
    };
    let json = serde_json::to_string(&lease).ok()?;
    Some(format!("{OPEN}{json}{CLOSE}"))
}

/// True if a check run's text holds a lease that the reviewer signed for this pull request, this head and the run that
/// its external id names.
#[must_use]
pub(crate) fn holds(
    text: &str,
    external_id: &str,
    pr: &PrKey,
    head: &CommitSha,
    keys: &Keys,
) -> bool {
    let json = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE));
    let lease = json.and_then(|json| serde_json::from_str::<Lease>(json).ok());
    lease.is_some_and(|lease| {
        let content = content(head, &lease.run);
        let verdict = keys.verify(&signed(pr, &content), Some(&lease.kid), Some(&lease.sig));
        named(external_id) == Some((&lease.run, pr.number)) && verdict == SignatureCheck::Ours
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    fn keys(secret: &str) -> Keys {
        Keys::derive(&[SecretString::from(secret)], None, "acme/shop")
    }

    fn pr(number: u64) -> PrKey {
        PrKey {
            repo: "acme/shop".parse().unwrap(),
            number,
        }
    }

    fn place(base_ref: &str) -> Place {
        Place {
            head: "a".repeat(40).parse().unwrap(),
            base_ref: base_ref.into(),
            merge_base: "b".repeat(40).parse().unwrap(),
        }
    }

    #[test]
    fn a_check_run_names_its_run_its_pull_request_and_its_diff() {
        let id = place("main").external_id("4711.1", 7);
        let expected = format!("opencode-reviewer:4711.1:7:main:{}", "b".repeat(40));
        assert_eq!(id, expected);
        assert_eq!(named(&id), Some(("4711.1", 7)));
        for other in [
            "4711.1",
            "other:4711.1:7:main:b",
            "opencode-reviewer:4711.1:x",
        ] {
            assert_eq!(named(other), None, "{other}");
        }
        assert_eq!(place("main").titled("Done"), "Done · main@bbbbbbb");
        let long = place(&"r".repeat(300));
        assert!(long.external_id("123456789012.10", 1_234_567).len() < 250);
        assert!(long.titled("Nothing to report").chars().count() < 150);
    }

    #[test]
    fn a_lease_counts_for_its_pull_request_head_and_run_only() {
        let place = place("main");
        let (head, id) = (&place.head, place.external_id("4711.1", 7));
        let text = render(&pr(7), head, "4711.1", &keys("k")).unwrap();
        let text = format!("{text}\n<!-- rmcoc:record {{}} -->");
        assert!(holds(&text, &id, &pr(7), head, &keys("k")));
        assert!(!holds(&text, &id, &pr(8), head, &keys("k")));
        assert!(!holds(&text, &id, &pr(7), &place.merge_base, &keys("k")));
        assert!(!holds(&text, &id, &pr(7), head, &keys("other")));
        let copied = place.external_id("4712.1", 7);
        assert!(!holds(&text, &copied, &pr(7), head, &keys("k")));
        let edited = text.replace("4711.1", "4712.1");
        assert!(!holds(&edited, &copied, &pr(7), head, &keys("k")));
        assert!(!holds("", &id, &pr(7), head, &keys("k")));
        assert_eq!(render(&pr(7), head, "4711.1", &Keys::default()), None);
    }
}
