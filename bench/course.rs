//! What every tool reviews: the example pull request in three sizes, and a push to it, with a model that answers at once
//! and says the same to all. Separate, so that nobody gets anything else.

use super::measure::{self, Measured, Times};
use super::standin::github::{Change, events};
use super::standin::model::{Answer, Call, Request};
use super::standin::shop;
use super::standin::world::World;
use super::{pr_agent, script};
use anyhow::Result;
use serde_json::{Value, json};
use std::process::{Command, ExitStatus};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Small,
    Medium,
    Large,
}

impl Size {
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    /// Files beside those of the example, which hold the defects.
    fn parts(self) -> usize {
        match self {
            Self::Small => 0,
            Self::Medium => 25,
            Self::Large => 250,
        }
    }

    /// All that the pull request changes.
    pub fn files(self) -> usize {
        shop::changes().len() + self.parts()
    }

    fn changes(self) -> Vec<Change> {
        let parts = 0..self.parts();
        parts.map(|number| shop::part(number, 1)).collect()
    }
}

/// One pull request between the stand-ins.
pub struct Course {
    pub world: World,
    pub times: Times,
}

impl Course {
    /// The pull request was opened.
    pub fn open(size: Size) -> Self {
        Self::open_with(size, model(None))
    }

    /// The same with another model.
    pub fn open_with(size: Size, model: impl FnMut(&Request) -> Answer + Send + 'static) -> Self {
        let times = Times::default();
        let world = World::with(&size.changes(), times.noting(model));
        Self { world, times }
    }

    pub fn opened(&self) -> Value {
        self.world.opened().payload
    }

    /// The author mends one defect, and changes one line of another file, or adds it. Returns the event of it.
    pub fn push(&self) -> Value {
        let (github, pull) = (&self.world.github, self.world.pull);
        let comments = github.comments();
        let page = comments.iter().find(|one| one.path == "src/page.ts");
        let page = page.map(|one| one.id);
        self.world.model.becomes(self.times.noting(model(page)));
        let before = github.pull(pull, |pull| pull.head.sha.clone());
        let head = github.commit("search", &[&before], &[shop::fixed(), shop::part(3, 2)]);
        github.push(pull, &head);
        events::synchronize_event(github, pull, &before)
    }

    /// A tool that speaks with the stand-ins itself.
    pub fn run(&self, command: Command) -> Result<(Measured, ExitStatus)> {
        measure::run(&self.world, &self.times, command)
    }
}

/// `mended`: the thread that the push settles.
fn model(mended: Option<u64>) -> impl FnMut(&Request) -> Answer + Send + 'static {
    let resolve = move |request: &Request| {
        let asked = mended.filter(|id| request.last_user().contains(&format!("Thread {id}")));
        let call = asked.map(|id| {
            let fix = json!({ "file": "src/page.ts" });
            let arguments = json!({ "thread_id": id.to_string(), "reason": "It rounds up now.", "fixed_by": fix });
            Call::new("github_resolve_thread", arguments)
        });
        call.into_iter().collect()
    };
    let mut reviewer = script::reviewer().threads(resolve).into_behaviour();
    move |request| pr_agent::answers::answer(request).unwrap_or_else(|| reviewer(request))
}
