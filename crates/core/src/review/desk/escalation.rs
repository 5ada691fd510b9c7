//! Escalation: the reviewers that the model calls to the pull request. Only names from the configured list count, each once.

use super::{Answer, AuthorText, Desk};

#[derive(Debug, Default)]
pub(super) struct Escalation {
    /// The names that may be called.
    allowed: Vec<String>,
    called: Vec<String>,
}

impl Desk {
    /// The same desk of a reviewer that may call these.
    #[must_use]
    pub fn escalating_to(mut self, allowed: &[String]) -> Self {
        self.escalation.allowed = allowed.to_vec();
        self
    }

    /// The reviewers that were called with submitted passes, in the order of the calls.
    #[must_use]
    pub fn escalations(&self) -> &[String] {
        &self.escalation.called
    }

    /// Submits a pass, and calls these reviewers with it. A wrong name is refused, and then nothing is submitted.
    pub fn submit_and_escalate(
        &mut self,
        (number, summary, claims_blocking): (u64, &str, bool),
        texts: &[AuthorText],
        escalate: &[String],
    ) -> Answer {
        let known = escalate
            .iter()
            .map(|name| self.escalation.known(name))
            .collect::<Result<Vec<_>, _>>()?;
        let answer = self.submit(number, summary, claims_blocking, texts)?;
        for name in known {
            if !self.escalation.called.contains(&name) {
                self.escalation.called.push(name);
            }
        }
        Ok(answer)
    }
}

impl Escalation {
    /// The name as it is configured.
    fn known(&self, name: &str) -> Result<String, String> {
        let wanted = name.trim().trim_start_matches('@');
        let mut allowed = self.allowed.iter();
        let found = allowed.find(|one| one.eq_ignore_ascii_case(wanted));
        found.cloned().ok_or_else(|| {
            if self.allowed.is_empty() {
                return "You may call nobody; leave `escalate` out and submit again.".into();
            }
            format!(
                "`escalate` takes these names only: {}. Nothing was submitted; correct it and call again.",
                self.allowed.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::desk;
    use crate::domain::PASSES;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_configured_names_are_called_and_each_once() {
        let mut desk = desk().escalating_to(&names(&["security", "octocat"]));
        let mut submit = |pass: u64, called: &[&str]| {
            let number = PASSES.all().map(|pass| pass.number);
            let number = number.into_iter().find(|one| u64::from(one.get()) == pass);
            desk.ledger.begin(number.unwrap());
            let pass = (pass, "Nothing to report.", false);
            let answer = desk.submit_and_escalate(pass, &[], &names(called));
            (answer, desk.escalations().to_vec())
        };
        let (answer, called) = submit(1, &["product"]);
        let refusal = answer.unwrap_err();
        assert!(
            refusal.starts_with("`escalate` takes these names only: security, octocat. "),
            "{refusal}"
        );
        assert!(!refusal.contains("product") && called.is_empty());
        assert_eq!(
            submit(1, &["Security", "@octocat"]).1,
            ["security", "octocat"]
        );
        assert_eq!(submit(2, &["security"]).1, ["security", "octocat"]);
    }

    #[test]
    fn a_refused_pass_calls_nobody_and_who_may_call_nobody_is_told_so() {
        let mut calling = desk().escalating_to(&names(&["security"]));
        let first = PASSES.all().next().unwrap().number;
        calling.ledger.begin(first);
        let wrong = calling.submit_and_escalate((2, "", false), &[], &names(&["security"]));
        assert!(wrong.is_err() && calling.escalations().is_empty());
        let mut alone = desk();
        alone.ledger.begin(first);
        let refused = alone.submit_and_escalate((1, "", false), &[], &names(&["security"]));
        assert!(refused.unwrap_err().starts_with("You may call nobody; "));
    }
}
