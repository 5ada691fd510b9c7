//! Several reviewers at one endpoint, each with a script of its own. The names of their tools tell them apart, as they do
//! for the reviewer's own server.

use super::{Answer, Call, Request, Script};
use serde_json::json;

/// The prefix of the tools of the session that asks: empty for the first reviewer.
fn prefix(request: &Request) -> String {
    let tools = request.tools();
    let prefix = |tool: &String| {
        let at = tool.find("submit_")?;
        Some(tool[..at].to_owned())
    };
    tools.iter().find_map(prefix).unwrap_or_default()
}

/// The number of the reviewer that asks, from 1. The second one checks fixes.
pub fn reviewer(request: &Request) -> usize {
    match prefix(request).as_str() {
        "" => 1,
        "check_" => 2,
        other => other.trim_matches(['r', '_']).parse().expect("a number"),
    }
}

/// An answer with the session's own names of the tools that it calls.
fn named(answer: Answer, prefix: &str) -> Answer {
    let own = ["github_", "submit_", "web_"];
    let is_ours = |name: &str| own.iter().any(|own| name.starts_with(own));
    match answer {
        Answer::Say { text, mut calls } => {
            for call in &mut calls {
                if is_ours(&call.name) {
                    call.name = format!("{prefix}{}", call.name);
                }
            }
            Answer::Say { text, calls }
        }
        other => other,
    }
}

type Behaviour = Box<dyn FnMut(&Request) -> Answer + Send>;

/// The behaviour of a panel: one script for each reviewer.
pub fn panel(scripts: Vec<Script>) -> impl FnMut(&Request) -> Answer + Send + 'static {
    let scripts = scripts.into_iter();
    let behaviours = scripts.map(|script| Box::new(script.into_behaviour()) as Behaviour);
    of_behaviours(behaviours.collect())
}

/// The same with reviewers that may do anything.
pub fn of_behaviours(
    mut behaviours: Vec<Behaviour>,
) -> impl FnMut(&Request) -> Answer + Send + 'static {
    move |request| {
        let number = reviewer(request);
        let behaviour = behaviours.get_mut(number - 1).expect("a script");
        named(behaviour(request), &prefix(request))
    }
}

/// What a prompt lists under names with this beginning, such as `f-` or `pair-`: each name with its text.
fn under(request: &Request, beginning: &str) -> Vec<(String, String)> {
    let prompt = request.last_user();
    let Some((_, all)) = prompt.split_once("# Findings of other reviewers") else {
        return Vec::new();
    };
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in all.lines() {
        if let Some(number) = line.strip_prefix(beginning) {
            found.push((format!("{beginning}{number}"), String::new()));
            inside = true;
        } else if line.starts_with("For each call") {
            inside = false;
        } else if let Some((_, text)) = found.last_mut().filter(|_| inside) {
            text.push_str(line);
        }
    }
    found
}

/// The findings of others that a prompt lists.
pub fn listed(request: &Request) -> Vec<(String, String)> {
    under(request, "f-")
}

/// The pairs that a prompt lists.
pub fn pairs(request: &Request) -> Vec<(String, String)> {
    under(request, "pair-")
}

pub fn verdict(finding: &str, verdict: &str, reason: &str, quote: Option<(&str, &str)>) -> Call {
    let mut arguments = json!({ "finding_id": finding, "verdict": verdict, "reason": reason });
    if let Some((file, quote)) = quote {
        arguments["file"] = json!(file);
        arguments["quote"] = json!(quote);
    }
    Call::new("submit_finding_verdict", arguments)
}
