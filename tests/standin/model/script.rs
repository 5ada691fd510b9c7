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
/// The same for the session about conversations of people.
const CONVERSATIONS: u8 = 8;

/// The same for the session that fixes.
const FIX: u8 = 10;

/// The pass that writes to the author.
const LAST: u8 = 4;

type Step = Box<dyn FnMut(&Request) -> Vec<Call> + Send>;
type Texts = Box<dyn FnMut(&Request) -> Vec<Value> + Send>;
type Summary = fn(&Request) -> &'static str;

/// What was done in a session.
#[derive(Default)]
struct Session {
    /// By the pass, how many of its steps.
    done: BTreeMap<u8, usize>,
    submitted: Vec<(u8, u32)>,
}

/// Per pass, steps; a pass that is not named has nothing to report.
#[derive(Default)]
pub struct Script {
    passes: BTreeMap<u8, Vec<Step>>,
    results: BTreeMap<u8, Value>,
    texts: Option<Texts>,
    summary: Option<Summary>,
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

    /// One more step of the session about open conversations of people, which comes after the passes. `weigh` gives each of them a
    /// priority by its text, or none.
    pub fn weighs(self, weigh: impl Fn(&str) -> Option<&'static str> + Send + 'static) -> Self {
        self.pass(CONVERSATIONS, move |request| {
            let prompt = request.last_user();
            let texts = prompt.split("\nConversation ").skip(1);
            let answers = texts.filter_map(|text| {
                let id = text.split([',', '\n']).next()?;
                let arguments = json!({
                    "conversation_id": id,
                    "priority": weigh(text)?,
                    "title": "What they ask for.",
                    "description": "As they said.",
                });
                Some(Call::new("submit_conversation", arguments))
            });
            answers.collect()
        })
    }

    /// One more step of the session that fixes.
    pub fn fix(self, step: impl FnMut(&Request) -> Vec<Call> + Send + 'static) -> Self {
        self.pass(FIX, step)
    }

    /// A fixer: `edits` gives the file, the old and the new text for an issue by its words, or none to reject it.
    pub fn fixes(
        self,
        edits: impl Fn(&str) -> Option<(&'static str, &'static str, &'static str)> + Send + 'static,
    ) -> Self {
        self.fix(move |request| {
            let mut calls = Vec::new();
            for (issue, words) in request.issues() {
                let result = match edits(&words) {
                    Some((file, old, new)) => {
                        let edit = json!({ "issue": issue, "file": file, "old": old, "new": new });
                        calls.push(Call::new("fix_edit", edit));
                        json!({ "issue": issue, "result": "fixed", "text": "The code says so now." })
                    }
                    None => {
                        json!({ "issue": issue, "result": "rejected", "text": "It is meant to be so." })
                    }
                };
                calls.push(Call::new("submit_fix_result", result));
            }
            calls
        })
    }

    /// What `submit_pass_results` is called with, in place of "Nothing to report.".
    pub fn results(mut self, pass: u8, arguments: Value) -> Self {
        self.results.insert(pass, arguments);
        self
    }

    /// The summary of the last pass, in place of "Nothing to report.".
    pub fn sums_up(mut self, summary: Summary) -> Self {
        self.summary = Some(summary);
        self
    }

    /// The texts for the author that the last pass is submitted with, in place of the recorded words.
    pub fn texts(mut self, texts: impl FnMut(&Request) -> Vec<Value> + Send + 'static) -> Self {
        self.texts = Some(Box::new(texts));
        self
    }

    /// The pass never submits, however often it is nudged.
    pub fn never_submits(mut self, pass: u8) -> Self {
        self.silent.push(pass);
        self
    }

    /// For `Model::start`. Steps are used up within a session: a nudge, which begins a new turn, goes on where
    /// the pass was. A new session begins the script anew. The sessions of the sections of a large change are at work at the same
    /// time, each with its own script.
    pub fn into_behaviour(mut self) -> impl FnMut(&Request) -> Answer + Send + 'static {
        let mut sessions: BTreeMap<u32, Session> = BTreeMap::new();
        let mut results: Vec<Call> = Vec::new();
        move |request| {
            let beside = match request.last_user() {
                prompt if prompt.starts_with("A check of fixes.") => Some(FIX_CHECK),
                prompt if prompt.starts_with("Open conversations of people") => Some(CONVERSATIONS),
                _ if request.is_fix() => Some(FIX),
                _ => None,
            };
            let Session { done, submitted } = sessions.entry(request.section()).or_default();
            // These sessions are beside the one of the script.
            if request.is_first() && beside.is_none() {
                done.clear();
                submitted.clear();
            }
            // Each fix is a session of its own.
            if request.is_first() && beside == Some(FIX) {
                done.remove(&FIX);
                results.clear();
            }
            let pass = beside.unwrap_or_else(|| request.pass().unwrap_or(0));
            // Whoever was interrupted cannot know what became of the last call, and makes it again.
            let resumed = request.last_user().starts_with("OpenCode was restarted");
            if resumed && request.step() == 0 {
                done.remove(&pass);
                submitted.retain(|(submitted, _)| *submitted != pass);
            }
            if pass == FIX && !results.is_empty() {
                return Answer::calls(std::mem::take(&mut results));
            }
            let next = done.entry(pass).or_default();
            let steps = self.passes.entry(pass).or_default();
            while let Some(step) = steps.get_mut(*next) {
                *next += 1;
                let calls = step(request);
                if !calls.is_empty() {
                    let (edits, said) = results_last(calls);
                    results = said;
                    return Answer::calls(edits);
                }
            }
            if [0, FIX_CHECK, CONVERSATIONS, FIX].contains(&pass) {
                return Answer::text("Ready.");
            }
            let refused = request.last_result();
            let refused = refused.is_some_and(|said| said.starts_with("The pass is not submitted"));
            let submits = refused || !submitted.contains(&(pass, request.part()));
            if !submits || self.silent.contains(&pass) {
                return Answer::text(&format!("Pass {pass} is done."));
            }
            submitted.push((pass, request.part()));
            Answer::call(
                "submit_pass_results",
                self.submission(pass, request, refused),
            )
        }
    }

    /// The results of a pass; the last one has texts for the author, unless these were refused.
    fn submission(&mut self, pass: u8, request: &Request, refused: bool) -> Value {
        let summary = self.summary.filter(|_| pass == LAST);
        let summary = summary.map_or("Nothing to report.", |of| of(request));
        let mut arguments = self.results.get(&pass).cloned().unwrap_or_else(|| {
            json!({
                "pass_number": pass,
                "summary": summary,
                "has_blocking_issues": posted_critical(request),
            })
        });
        if pass == LAST && !refused {
            let texts = match &mut self.texts {
                Some(texts) => texts(request),
                None => recorded_words(request),
            };
            if !texts.is_empty() {
                arguments["texts"] = json!(texts);
            }
        }
        arguments
    }
}

/// The calls of one answer, and those for the next one. OpenCode makes the calls of an answer at the same time, so a result in it may
/// arrive before its edit and be refused.
fn results_last(calls: Vec<Call>) -> (Vec<Call>, Vec<Call>) {
    let is_result = |call: &Call| call.name == "submit_fix_result";
    if calls.iter().all(is_result) {
        return (calls, Vec::new());
    }
    calls.into_iter().partition(|call| !is_result(call))
}

/// A text for each finding that stands, in the words in which it was recorded.
fn recorded_words(request: &Request) -> Vec<Value> {
    let words: BTreeMap<String, String> = request.recorded().into_iter().collect();
    let stand = request.listed().into_iter().filter_map(|(id, claim)| {
        let body = words.get(&id).cloned().unwrap_or(claim);
        let withdrawn = format!("{id} is withdrawn.");
        let results = request.tool_results();
        let stands = !results.iter().any(|result| result.content == withdrawn);
        stands.then(|| json!({ "thread_id": id, "body": body }))
    });
    stand.collect()
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
