//! The checks of others that failed on a commit of a fix: the repository's own CI, where the push started it.

use crate::domain::NamedCheck;
use crate::state::check_mark::failed_of_others;
use std::collections::BTreeSet;

/// The most checks that are named.
const MOST: usize = 20;

/// The names of the checks that ended and failed.
#[must_use]
pub fn failed_checks(checks: &[NamedCheck]) -> Vec<String> {
    let failed = failed_of_others(checks).into_iter();
    let names: BTreeSet<String> = failed.map(|check| check.name.clone()).collect();
    names.into_iter().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::check_mark::CHECK_NAME;

    fn check(name: &str, conclusion: Option<&str>, url: &str) -> NamedCheck {
        NamedCheck {
            name: name.into(),
            conclusion: conclusion.map(str::to_owned),
            details_url: (!url.is_empty()).then(|| url.to_owned()),
            title: None,
            annotations: Vec::new(),
        }
    }

    #[test]
    fn only_checks_of_others_that_ended_and_failed_are_named() {
        let run = "https://github.test/o/r/actions/runs/47";
        let checks = [
            check(CHECK_NAME, Some("failure"), run),
            check("review", Some("failure"), &format!("{run}/job/9")),
            check("build", Some("failure"), &format!("{run}11/job/9")),
            check("deploy", Some("timed_out"), ""),
            check("build", Some("failure"), ""),
            check("lint", Some("success"), ""),
            check("docs", Some("skipped"), ""),
            check("old", Some("cancelled"), ""),
            check("slow", None, ""),
        ];
        assert_eq!(failed_checks(&checks), ["build", "deploy"]);
        assert_eq!(failed_checks(&[]), [""; 0]);
    }
}
