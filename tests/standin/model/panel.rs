//! Several reviewers at one endpoint, each with a script of its own. The names of their tools tell them apart, as they do
//! for the reviewer's own server.

use super::{Answer, Request, Script};

/// The number of the reviewer that asks, from 1.
pub fn reviewer(request: &Request) -> usize {
    let tools = request.tools();
    let number = tools.iter().find_map(|tool| {
        let (number, _) = tool.strip_prefix('r')?.split_once("_submit_")?;
        number.parse().ok()
    });
    number.unwrap_or(1)
}

/// An answer with the reviewer's own names of the tools that it calls.
fn named(answer: Answer, number: usize) -> Answer {
    let prefix = match number {
        1 => String::new(),
        number => format!("r{number}_"),
    };
    let is_ours = |name: &str| {
        ["github_", "submit_", "web_"]
            .iter()
            .any(|own| name.starts_with(own))
    };
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
        named(behaviour(request), number)
    }
}
