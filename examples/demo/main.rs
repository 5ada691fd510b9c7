//! `make demo`: the real binary and the real OpenCode review an example pull request with planted defects, between a
//! stand-in for GitHub and a scripted model; then the review is printed as a person would see it. With `MODEL` (and
//! `KEY`, `BASE_URL`) in the environment a real model takes the scripted one's place. With `FIX=1` what is found is fixed, too; with
//! `SERVE=1` the lifecycle service leads the pull request to its merge, with `SERVE=dashboard` before the eyes of a browser. `DEMO_TEXTS` names a folder for the texts, which
//! `make pictures` renders.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "edge: a program for a terminal, with the stand-ins of the tests inside"
)]

mod dashboard;
mod findings;
mod fixing;
mod page;
mod panel;
mod posted;
mod script;
mod serving;
#[allow(
    unused_imports,
    reason = "each binary that includes the stand-ins uses its own part of them"
)]
#[path = "../../tests/standin/mod.rs"]
mod standin;
mod texts;
mod timeline;

use findings::{INJECTION, LAYER, PAGE_COUNT, POOR_NAME};
use page::Page;
use standin::github::state::ReviewComment;
use standin::shop;
use standin::world::{Ran, Workflow, World};
use std::process::ExitCode;
use std::time::Instant;

/// Fewer inline findings than this, and the scripted review did not work.
const LEAST_FINDINGS: usize = 3;

fn main() -> ExitCode {
    match demo() {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("demo: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn demo() -> Result<(), String> {
    let real = RealModel::from_environment()?;
    find_binary()?;
    let page = Page::for_stdout();
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|given| !given.is_empty());
    if let Some(store) = std::env::var_os("SERVE").filter(|given| !given.is_empty()) {
        let store = store.to_string_lossy();
        if store == "dashboard" {
            return dashboard::demo(&page, is_set("DEMO_QUICK"));
        }
        return serving::demo(&page, &store);
    }
    if is_set("FIX") {
        let put = real
            .as_ref()
            .map(|real| |to: &mut Workflow| real.put_into(to));
        let put = put.as_ref().map(|put| put as &dyn Fn(&mut Workflow));
        return fixing::demo(&page, put).map(drop);
    }
    let reviewers = Reviewers::from_environment(real.is_some())?;
    let world = match &reviewers {
        Reviewers::Three => World::with(&[], standin::model::panel::panel(panel::reviewers())),
        Reviewers::One | Reviewers::Given(_) => World::shop(script::reviewer()),
    };
    let mut workflow = world.opened();
    if let Some(reviewers) = reviewers.input() {
        workflow
            .inputs
            .insert("reviewers".into(), reviewers.to_owned());
    }
    if let Some(real) = &real {
        real.put_into(&mut workflow);
    }
    page.opening(&world, &workflow.inputs["model"]);
    let begun = Instant::now();
    let ran = world.watch(&workflow, &["action"], |line| page.log(line));
    let took = begun.elapsed();
    page.review(&world);
    page.check(&world);
    page.summary(&ran.summary);
    if let Some(refusal) = refusal(&world) {
        page.correction(&refusal);
    }
    page.closing(&world, &ran, took, real.is_none());
    judge(&world, &ran, real.is_none())?;
    if reviewers == Reviewers::Three && real.is_none() {
        panel::judged(&world.github.with(|state| state.comments.clone()))?;
    }
    match std::env::var_os("DEMO_TEXTS").filter(|folder| !folder.is_empty()) {
        Some(folder) => texts::write(folder.as_ref(), &world, &ran)
            .map_err(|error| format!("the texts could not be written to DEMO_TEXTS: {error}")),
        None => Ok(()),
    }
}

/// What must hold before the demo may say that it worked.
fn judge(world: &World, ran: &Ran, scripted: bool) -> Result<(), String> {
    if ran.code != Some(0) {
        let code = ran
            .code
            .map_or("a signal".into(), |code| format!("code {code}"));
        return Err(format!(
            "the action ended with {code} instead of 0; its log above says why."
        ));
    }
    judge_world(world)?;
    if scripted {
        judge_script(world)
    } else {
        Ok(())
    }
}

/// No request that GitHub does not know, and no file left behind.
fn judge_world(world: &World) -> Result<(), String> {
    let violations = world.github.take_violations();
    if !violations.is_empty() {
        return Err(format!(
            "GitHub would not have understood every request: {}",
            violations.join("; ")
        ));
    }
    let left = world.left_over();
    if !left.is_empty() {
        return Err(format!("the run left files behind: {left:?}"));
    }
    Ok(())
}

/// The scripted review is known: what it finds stands at the planted lines, and what it keeps to itself nowhere.
fn judge_script(world: &World) -> Result<(), String> {
    if refusal(world).is_none() {
        return Err("no wrong line was refused, though the script gives one on purpose.".into());
    }
    let comments = world.github.with(|state| state.comments.clone());
    if comments.len() < LEAST_FINDINGS {
        return Err(format!(
            "the review has {} inline findings where at least {LEAST_FINDINGS} were planted and scripted.",
            comments.len()
        ));
    }
    for finding in [PAGE_COUNT, LAYER, INJECTION] {
        let line = u64::from(shop::line_of(finding.file, finding.code));
        let there = |comment: &&ReviewComment| {
            comment.path == finding.file && comment.line == Some(line) && comment.side == "RIGHT"
        };
        if !comments.iter().any(|comment| there(&comment)) {
            return Err(format!(
                "no comment stands at {}:{line}, where a defect is planted.",
                finding.file
            ));
        }
    }
    if comments
        .iter()
        .any(|comment| comment.body.contains(POOR_NAME.claim))
    {
        return Err("a finding below the threshold was published.".into());
    }
    Ok(())
}

/// What the model was told about the line that it got wrong.
fn refusal(world: &World) -> Option<String> {
    let requests = world.model.requests();
    let messages = requests.last()?["messages"].as_array()?;
    let tool = messages.iter().filter(|message| message["role"] == "tool");
    tool.filter_map(|message| message["content"].as_str())
        .find(|text| text.contains("is not in the diff of"))
        .map(str::to_owned)
}

/// The stand-ins start the binary that this names, because an example cannot have it built.
fn find_binary() -> Result<(), String> {
    let given = std::env::var_os("OPENCODE_REVIEWER_BIN").unwrap_or_default();
    if std::path::Path::new(&given).is_file() {
        return Ok(());
    }
    Err(format!(
        "OPENCODE_REVIEWER_BIN is \"{}\", which is no file; run `make demo`, or build with `cargo build` and set it to \
         target/debug/opencode-reviewer.",
        given.display()
    ))
}

/// The reviewers that `REVIEWERS` names.
#[derive(Debug, PartialEq, Eq)]
enum Reviewers {
    One,
    /// Scripted.
    Three,
    /// Of a real model.
    Given(String),
}

impl Reviewers {
    fn from_environment(real: bool) -> Result<Self, String> {
        let given = std::env::var("REVIEWERS").unwrap_or_default();
        match given.as_str() {
            "" | "1" => Ok(Self::One),
            _ if real => Ok(Self::Given(given)),
            "3" => Ok(Self::Three),
            _ => Err("the script has one reviewer or three: REVIEWERS=3, or MODEL=provider/name for any others.".into()),
        }
    }

    fn input(&self) -> Option<&str> {
        match self {
            Self::One => None,
            Self::Three => Some("3"),
            Self::Given(given) => Some(given),
        }
    }
}

/// A model in the scripted one's place.
struct RealModel {
    model: String,
    key: Option<String>,
    base_url: Option<String>,
}

impl RealModel {
    fn from_environment() -> Result<Option<Self>, String> {
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (key, base_url) = (given("KEY"), given("BASE_URL"));
        match given("MODEL") {
            Some(model) => Ok(Some(Self {
                model,
                key,
                base_url,
            })),
            None if key.is_some() || base_url.is_some() => Err(
                "KEY and BASE_URL belong to a model; add MODEL=provider/name, or leave them out for the scripted one."
                    .into(),
            ),
            None => Ok(None),
        }
    }

    fn put_into(&self, workflow: &mut Workflow) {
        let inputs = [
            ("model", Some(&self.model)),
            ("opencode_api_key", self.key.as_ref()),
            ("model_base_url", self.base_url.as_ref()),
        ];
        for (name, value) in inputs {
            workflow
                .inputs
                .insert(name.into(), value.cloned().unwrap_or_default());
        }
        // A real endpoint that asks for patience means it.
        workflow
            .variables
            .insert("OPENCODE_REVIEWER_TIME_SCALE".into(), "1".into());
    }
}
