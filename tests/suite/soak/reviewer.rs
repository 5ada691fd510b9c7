//! The model of a seed: what it finds and says in each run, and what disturbs it. Separate from the runs, which do not
//! know what is said in them.

use super::faults::{Disturbance, Ground, Kind};
use super::plan::{Discussion, Made};
use super::stage::Old;
use crate::review::{finding, post};
use crate::standin::github::Handle;
use crate::standin::model::{Answer, Call, Request, Script};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a run finds, and in which words it says so.
pub type Voice = (Vec<Made>, Words);

/// A pass that the model has submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The prompt of a run, which no other has.
    pub run: String,
    /// The first digits of the commit.
    pub head: String,
    pub pass: u64,
}

type Behaviour = Box<dyn FnMut(&Request) -> Answer + Send>;

/// In which of its two wordings a run puts a finding.
#[derive(Debug, Clone)]
pub enum Words {
    First,
    Again,
    /// Other words for these, the first ones for the rest.
    AgainFor(Vec<usize>),
}

impl Words {
    fn of(&self, made: &Made) -> &'static str {
        let again = match self {
            Self::First => false,
            Self::Again => true,
            Self::AgainFor(old) => old.contains(&made.defect),
        };
        let defect = made.defect();
        if again { defect.again } else { defect.said }
    }
}

/// One pass after the other with its findings, after a word in each thread that waits for one.
fn script(found: &[Made], words: &Words, old: &[Old]) -> Script {
    let mut script = Script::new();
    for made in found {
        let defect = made.defect();
        let call = post(finding(
            defect.file,
            defect.line(),
            made.score,
            words.of(made),
        ));
        script = script.pass(made.pass, move |_| vec![call.clone()]);
    }
    let judged: Vec<Old> = old
        .iter()
        .filter(|one| one.discussion != Discussion::Silence)
        .copied()
        .collect();
    script.threads(move |request| {
        let prompt = request.last_user();
        let asked = judged
            .iter()
            .filter(|one| prompt.contains(&format!("Thread {}:", one.root)));
        asked.map(judgement).collect()
    })
}

/// The file by which a push fixes what is fixed.
pub const FIXED_BY: &str = "src/fixed.ts";

fn judgement(old: &Old) -> Call {
    if old.discussion == Discussion::Fixed {
        let arguments = json!({
            "thread_id": old.root.to_string(),
            "reason": "The new file keeps it from happening.",
            "fixed_by": { "file": FIXED_BY },
        });
        return Call::new("github_resolve_thread", arguments);
    }
    let concession = old.discussion == Discussion::Conceded;
    let body = if concession {
        "Right, that is how it is meant."
    } else {
        "The purpose does not change what happens."
    };
    let thread = old.root.to_string();
    let arguments = json!({ "thread_id": thread, "body": body, "is_concession": concession });
    Call::new("github_reply_to_thread", arguments)
}

fn passes_in(answer: &Answer) -> Vec<u64> {
    let Answer::Say { calls, .. } = answer else {
        return Vec::new();
    };
    let submitted = calls
        .iter()
        .filter(|call| call.name == "submit_pass_results");
    submitted
        .filter_map(|call| call.arguments["pass_number"].as_u64())
        .collect()
}

/// The commit that a run reviews, as its first prompt names it.
pub fn head_in(request: &Value) -> String {
    let words = "Head commit: ";
    let text = request["messages"].to_string();
    let at = text.find(words).map(|at| at + words.len());
    at.map_or(String::new(), |at| text[at..at + 7].to_owned())
}

/// The model with what disturbs it or happens while it is asked.
pub fn disturbed(
    mut honest: impl FnMut(&Request) -> Answer + Send + 'static,
    disturbances: Vec<Disturbance>,
    struck: Arc<Vec<AtomicUsize>>,
    (ground, github): (Ground, Handle),
) -> impl FnMut(&Request) -> Answer + Send + 'static {
    let mut requests = 0;
    move |request| {
        let number = requests;
        requests += 1;
        let due = disturbances
            .iter()
            .zip(struck.iter())
            .filter(|(one, _)| (one.after..one.after + one.times).contains(&number));
        let mut answer = None;
        for (one, struck) in due {
            struck.fetch_add(1, Ordering::Relaxed);
            github.with(|state| ground.event(one, state));
            answer = answer.or(misbehaviour(one));
        }
        answer.unwrap_or_else(|| honest(request))
    }
}

/// What the model says instead of what it should; `None`: what it should.
fn misbehaviour(disturbance: &Disturbance) -> Option<Answer> {
    match disturbance.kind {
        Kind::ModelStall => Some(Answer::Stall),
        Kind::ModelError => Some(match disturbance.form {
            form @ 0..8 => {
                let status = [400, 401, 402, 403, 429, 500, 502, 529][form];
                Answer::status(status, json!({ "error": { "message": "Not now" } }))
            }
            8 => Answer::text(""),
            9 => Answer::Raw("<html>Bad gateway</html>"),
            _ => Answer::Ends {
                text: "And so".into(),
                why: "length",
            },
        }),
        Kind::SidecarHang => Some(Answer::call("sidecar_hang", json!({}))),
        _ => None,
    }
}

/// Speaks for each run with the next of these voices, and with the last for all that follow.
pub fn reviewer(
    voices: Vec<Voice>,
    old: Vec<Old>,
    submitted: Arc<Mutex<Vec<Submitted>>>,
) -> impl FnMut(&Request) -> Answer + Send + 'static {
    let mut runs: HashMap<String, Behaviour> = HashMap::new();
    move |request| {
        let run = request.system();
        let number = runs.len().min(voices.len() - 1);
        let behaviour = runs.entry(run.clone()).or_insert_with(|| {
            let (found, words) = &voices[number];
            Box::new(script(found, words, &old).into_behaviour())
        });
        let answer = behaviour(request);
        let passes = passes_in(&answer);
        let head = head_in(request.raw());
        let made = passes.into_iter().map(|pass| Submitted {
            run: run.clone(),
            head: head.clone(),
            pass,
        });
        submitted.lock().expect("no panic").extend(made);
        answer
    }
}
