//! The steps after `init`, with commands to copy: the pin, the secrets, the commit, the rule that requires the check.

use super::{Kind, NO_COMMIT, NO_DIGEST, Workflow};
use crate::state::check_mark::CHECK_NAME;
use serde_json::json;

/// Before a command.
const INDENT: &str = "     ";

/// The steps in order, as lines. `version` is the release that this program is of.
#[must_use]
pub fn steps(workflow: &Workflow, version: &str) -> Vec<String> {
    let steps = [
        pin(workflow, version),
        Some(secrets(workflow)),
        Some(commit(workflow)),
        rule(workflow.kind),
    ];
    let mut lines = vec!["Next:".to_owned()];
    for (index, (sentence, commands)) in steps.into_iter().flatten().enumerate() {
        lines.push(format!("{}. {sentence}", index + 1));
        lines.extend(commands.iter().map(|line| format!("{INDENT}{line}")));
    }
    lines
}

/// A sentence, and the commands that do it.
type Step = (String, Vec<String>);

fn pin(workflow: &Workflow, version: &str) -> Option<Step> {
    if workflow.pinned {
        return None;
    }
    let path = workflow.kind.path();
    let text = &workflow.text;
    if let Some(action) = before(text, NO_DIGEST) {
        let repository = action
            .rsplit_once("ghcr.io/")
            .map_or(action, |(_, name)| name);
        let sentence = format!(
            "Put the digest of a release's image in place of the zeros in {path}; action.yml of the release names it:"
        );
        let command = format!(
            "gh api 'repos/{repository}/contents/action.yml?ref=v{version}' --jq .content | base64 --decode | grep 'image:'"
        );
        return Some((sentence, vec![command]));
    }
    let repository = before(text, NO_COMMIT)?;
    let sentence = format!(
        "Put the commit of a release in place of the zeros in {path}; a tag could be moved, a commit cannot:"
    );
    let command = format!("gh api repos/{repository}/commits/v{version} --jq .sha");
    Some((sentence, vec![command]))
}

/// The word that ends with this sign.
fn before<'a>(text: &'a str, sign: &str) -> Option<&'a str> {
    let (before, _) = text.split_once(sign)?;
    before.split_whitespace().next_back()
}

fn secrets(workflow: &Workflow) -> Step {
    let names = workflow.secrets();
    let commands = names.iter().map(|name| {
        if name.ends_with("STATE_KEY") {
            format!("gh secret set {name} --body \"$(openssl rand -hex 24)\"")
        } else {
            format!("gh secret set {name}")
        }
    });
    let sentence = match names.as_slice() {
        [_] => "Add the provider's key as a secret of the repository:",
        _ => {
            "Add the secrets of the repository: the provider's key, and a key that signs what the reviewer remembers:"
        }
    };
    (sentence.to_owned(), commands.collect())
}

fn commit(workflow: &Workflow) -> Step {
    let sentence = match workflow.kind {
        Kind::Basic | Kind::Gate => {
            "Commit the file and open a pull request: it is the first that is reviewed."
        }
        Kind::Forks | Kind::Mentions => {
            "Commit the file to the default branch, whose file GitHub runs."
        }
        Kind::Fix => {
            "Put your own steps into the job `verify`, and commit the file to the default branch, beside a workflow that reviews \
             with the same model and state_key."
        }
    };
    (sentence.to_owned(), Vec::new())
}

/// The rule of the branch that makes the check required.
fn rule(kind: Kind) -> Option<Step> {
    if !kind.has_gate() {
        return None;
    }
    let rule = json!({
        "name": CHECK_NAME,
        "target": "branch",
        "enforcement": "active",
        "conditions": { "ref_name": { "include": ["~DEFAULT_BRANCH"], "exclude": [] } },
        "rules": [{
            "type": "required_status_checks",
            "parameters": {
                "strict_required_status_checks_policy": false,
                "required_status_checks": [{ "context": CHECK_NAME }],
            },
        }],
    });
    // No text of the rule has an apostrophe.
    let command = format!(
        "echo '{rule}' | gh api --method POST 'repos/{{owner}}/{{repo}}/rulesets' --input -"
    );
    let sentence = format!(
        "To hold merges back until the check passes, require the check \"{CHECK_NAME}\" on the default branch:"
    );
    Some((sentence, vec![command]))
}
