//! The script that most tests want: some tool calls a pass, then the pass's results, then a short text.

use super::{Answer, Request};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub struct Call {
    pub name: String,
    pub arguments: Value,
}

impl Call {
    pub fn new(name: &str, arguments: Value) -> Self {
        Self {
            name: name.to_owned(),
            arguments,
        }
    }
}

/// Stands for the session that checks fixes, where a pass has its number.
const FIX_CHECK: u8 = 9;

type Step = Box<dyn FnMut(&Request) -> Vec<Call> + Send>;

/// Per pass, steps; a pass that is not named has nothing to report.
#[derive(Default)]
pub struct Script {
    passes: BTreeMap<u8, Vec<Step>>,
    results: BTreeMap<u8, Value>,
    silent: Vec<u8>,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// One more step of the pass: the calls are made from what the model has seen so far, such as earlier
    /// tool results. A step without calls is passed over.
    pub fn pass(
        mut self,
        pass: u8,
        step: impl FnMut(&Request) -> Vec<Call> + Send + 'static,
    ) -> Self {
        self.passes.entry(pass).or_default().push(Box::new(step));
        self
    }

    /// One more step of the turn about open threads, which comes before the passes.
    pub fn threads(self, step: impl FnMut(&Request) -> Vec<Call> + Send + 'static) -> Self {
        self.pass(0, step)
    }

    /// One more step of the session that checks fixes, which comes after the turn about open threads.
    pub fn fix_check(self, step: impl FnMut(&Request) -> Vec<Call> + Send + 'static) -> Self {
        self.pass(FIX_CHECK, step)
    }

    /// The same of a model that says this of every fix it is asked about.
    pub fn finds_fixed(self, is_fixed: bool) -> Self {
        self.fix_check(move |request| {
            let prompt = request.last_user();
            let threads = prompt
                .lines()
                .filter_map(|line| line.strip_prefix("Thread "));
            let answer = |thread| {
                let reason = "The code shows it.";
                let arguments =
                    json!({ "thread_id": thread, "is_fixed": is_fixed, "reason": reason });
                Call::new("submit_fix_check", arguments)
            };
            threads.map(answer).collect()
        })
    }

    /// What `submit_pass_results` is called with, in place of "Nothing to report.".
    pub fn results(mut self, pass: u8, arguments: Value) -> Self {
        self.results.insert(pass, arguments);
        self
    }

    /// The pass never submits, however often it is nudged.
    pub fn never_submits(mut self, pass: u8) -> Self {
        self.silent.push(pass);
        self
    }

    /// For `Model::start`. Steps are used up within a session: a nudge, which begins a new turn, goes on where
    /// the pass was. A new session begins the script anew.
    pub fn into_behaviour(mut self) -> impl FnMut(&Request) -> Answer + Send + 'static {
        let mut done: BTreeMap<u8, usize> = BTreeMap::new();
        let mut submitted: Vec<(u8, u32)> = Vec::new();
        move |request| {
            let checks = request.last_user().starts_with("A check of fixes.");
            // The session that checks fixes is beside the one of the script.
            if request.is_first() && !checks {
                done.clear();
                submitted.clear();
            }
            let pass = if checks {
                FIX_CHECK
            } else {
                request.pass().unwrap_or(0)
            };
            // Whoever was interrupted cannot know what became of the last call, and makes it again.
            let resumed = request.last_user().starts_with("OpenCode was restarted");
            if resumed && request.step() == 0 {
                done.remove(&pass);
                submitted.retain(|(submitted, _)| *submitted != pass);
            }
            let next = done.entry(pass).or_default();
            let steps = self.passes.entry(pass).or_default();
            while let Some(step) = steps.get_mut(*next) {
                *next += 1;
                let calls = step(request);
                if !calls.is_empty() {
                    return Answer::calls(calls);
                }
            }
            if [0, FIX_CHECK].contains(&pass) {
                return Answer::text("Ready.");
            }
            if submitted.contains(&(pass, request.part())) || self.silent.contains(&pass) {
                return Answer::text(&format!("Pass {pass} is done."));
            }
            submitted.push((pass, request.part()));
            let arguments = self.results.get(&pass).cloned().unwrap_or_else(|| {
                json!({
                    "pass_number": pass,
                    "summary": "Nothing to report.",
                    "has_blocking_issues": posted_critical(request),
                })
            });
            Answer::call("submit_pass_results", arguments)
        }
    }
}

/// Whether the conversation holds a finding on the level that blocks, as an honest model would remember.
fn posted_critical(request: &Request) -> bool {
    let calls = request
        .messages()
        .iter()
        .filter_map(|message| message["tool_calls"].as_array())
        .flatten();
    calls
        .filter(|call| {
            let name = call["function"]["name"].as_str();
            name.is_some_and(|name| name.ends_with("github_post_review_comment"))
        })
        .filter_map(|call| {
            serde_json::from_str::<Value>(call["function"]["arguments"].as_str()?).ok()
        })
        .any(|arguments| arguments["assessment"]["score"].as_u64() >= Some(9))
}
