//! The pull request of a seed, its reviewer, and its runs: one before the faults where the plan wants it, those that are
//! disturbed, and the undisturbed one after them.

use super::faults::{Disturbance, Ground, Kind, Place};
use super::judge::{self, Glance};
use super::plan::{Cause, Discussion, Made, Plan};
use super::reviewer::{self, FIXED_BY, Submitted, Voice, Words};
use crate::standin::github::state::HeadRepository;
use crate::standin::github::{Change, events};
use crate::standin::model::{Answer, Request, Script};
use crate::standin::shop;
use crate::standin::world::{Job, Ran, Workflow, World};
use crate::unseen::{unseen_before, unseen_pushes};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A thread that there was before the disturbed run.
#[derive(Debug, Clone, Copy)]
pub struct Old {
    pub root: u64,
    pub made: Made,
    pub discussion: Discussion,
}

pub struct Stage<'p> {
    pub plan: &'p Plan,
    pub world: World,
    pub old: Vec<Old>,
    pub submitted: Arc<Mutex<Vec<Submitted>>>,
    /// After the run before the disturbed one, where the plan wants it.
    pub first: Option<Glance>,
    next_head: String,
    cause: Workflow,
}

/// What the disturbed runs have left.
pub struct Disturbed {
    pub ran: Ran,
    pub second: Option<Ran>,
    /// How often each disturbance struck.
    pub struck: Vec<usize>,
    pub left_over: usize,
}

impl<'p> Stage<'p> {
    /// The pull request as the disturbed run will find it.
    pub fn set(plan: &'p Plan) -> Self {
        let world = world(plan);
        world.github.permit("dev", "read");
        if plan.shifts() {
            world.github.with(|state| state.page_size = 2);
            let remark = "I would write this otherwise.";
            world
                .github
                .remark(world.pull, "passerby", ("src/page.ts", 8), remark);
        }
        let cause = world.opened();
        let mut stage = Self {
            plan,
            world,
            old: Vec::new(),
            submitted: Arc::default(),
            first: None,
            next_head: String::new(),
            cause,
        };
        stage.cause = stage.event("opened");
        if plan.cause != Cause::Opened {
            stage.review_before();
            stage.first = Some(judge::glance(&stage));
            stage.discuss();
        }
        stage.next_head = stage.commit_next();
        stage
    }

    pub fn head(&self) -> String {
        self.world
            .github
            .pull(self.world.pull, |pull| pull.head.sha.clone())
    }

    /// What a commit holds, with modes and objects. Two with the same are one and the same change.
    pub fn tree(&self, commit: &str) -> BTreeMap<String, String> {
        let listing = self.git(&["ls-tree", "-r", commit]);
        let entries = listing.lines().filter_map(|line| line.split_once('\t'));
        entries
            .map(|(object, path)| (path.to_owned(), object.to_owned()))
            .collect()
    }

    /// Whether the head has another text of a file than the example.
    pub fn has_changed(&self, file: &str) -> bool {
        self.text(&self.head(), file) != shop::head_of(file).trim_end()
    }

    /// A file of a commit, without the end of its last line.
    pub fn text(&self, commit: &str, file: &str) -> String {
        self.git(&["show", &format!("{commit}:{file}")])
    }

    /// The lines that a commit adds to a file of the base branch, without blank ones.
    pub fn added(&self, commit: &str, file: &str) -> Vec<String> {
        let diff = self.git(&["diff", "-U0", "--no-renames", "main", commit, "--", file]);
        let lines = diff.lines().filter(|line| !line.starts_with("+++"));
        let added = lines.filter_map(|line| line.strip_prefix('+'));
        let written = added.filter(|line| !line.trim().is_empty());
        written.map(str::to_owned).collect()
    }

    pub fn has_commit(&self, name: &str) -> bool {
        let found = self.world.github.with(|state| state.git.commit_of(name));
        found.is_some()
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.world.github.with(|state| state.git.must(arguments))
    }

    fn review_before(&mut self) {
        let found: Vec<Made> = self.plan.before.iter().map(|(made, _)| *made).collect();
        self.speaks(vec![(found, Words::First)]);
        // What is not disturbed yet needs no OpenCode.
        let ran = self.world.run(&self.cause.clone().quick());
        assert!(
            ["findings", "blocking"].contains(&ran.status()),
            "before the faults: {}",
            ran.log
        );
        let comments = self.world.github.comments();
        for (made, discussion) in &self.plan.before {
            let mut ours = comments
                .iter()
                .filter(|one| one.user.as_deref() != Some("passerby"));
            let root = ours.find(|one| one.body.contains(made.defect().said));
            self.old.push(Old {
                root: root.expect("every finding has its thread").id,
                made: *made,
                discussion: *discussion,
            });
        }
    }

    /// The developer objects, and perhaps pushes.
    fn discuss(&mut self) {
        let github = &self.world.github;
        let mut last = None;
        for old in &self.old {
            if old.discussion.is_spoken() {
                last = Some(github.reply(old.root, "dev", "That is on purpose.").id);
            }
        }
        let pull = self.world.pull;
        self.cause = if let (Cause::Replied, Some(comment)) = (self.plan.cause, last) {
            let name = "pull_request_review_comment";
            let payload = events::comment_event(name, github, pull, comment);
            self.world.workflow(name, payload)
        } else {
            let words = || Change::write("NOTES.md", "Words.\n");
            let mut changes = vec![self.plan.unseen.cause.map_or_else(words, unseen)];
            let is_fixed = |old: &Old| old.discussion == Discussion::Fixed;
            if self.old.iter().any(is_fixed) {
                changes.push(Change::write(FIXED_BY, "export {};\n"));
            }
            self.pushed(&changes)
        };
    }

    fn pushed(&self, changes: &[Change]) -> Workflow {
        let (github, before) = (&self.world.github, self.head());
        let head = github.commit("search", &[&before], changes);
        github.push(self.world.pull, &head);
        self.synchronize(&before)
    }

    fn synchronize(&self, before: &str) -> Workflow {
        let mut workflow = self.event("synchronize");
        workflow.payload["before"] = before.into();
        workflow
    }

    /// An event of the pull request, as the workflow for its kind of head takes it.
    fn event(&self, action: &str) -> Workflow {
        let (github, pull) = (&self.world.github, self.world.pull);
        let name = if self.plan.forked {
            "pull_request_target"
        } else {
            "pull_request"
        };
        let payload = events::event(name, Some(action), github, pull);
        let mut workflow = self.world.workflow(name, payload);
        let always = ("fork_reviews".into(), "always".into());
        workflow.inputs.extend([always]);
        workflow
    }

    /// The commit that the head may move to: it changes what a name, a mode or an encoding could hide, adds a file, changes
    /// one that is reviewed, or is the same change anew.
    fn commit_next(&self) -> String {
        let (github, head) = (&self.world.github, self.head());
        if let Some(kind) = self.plan.unseen.meanwhile {
            return github.commit("search", &[&head], &[unseen(kind)]);
        }
        let mut disturbances = self.plan.disturbances.iter();
        let moved = disturbances.find(|one| one.kind == Kind::HeadMoved);
        match moved.map_or(0, |one| one.form % 3) {
            0 => github.commit("search", &[&head], &[Change::write("src/guard.ts", GUARD)]),
            1 => {
                let page = format!("{}\n{GUARD}", shop::head_of("src/page.ts"));
                github.commit("search", &[&head], &[Change::write("src/page.ts", page)])
            }
            _ => {
                let base = github.with(|state| state.git.commit_of("main"));
                let base = base.expect("the base branch");
                let mut changes = shop::changes();
                changes.extend(unseen_before());
                github.commit("search", &[&base], &changes)
            }
        }
    }

    fn workflow(&self, cause: &Workflow, run: &str) -> Workflow {
        let mut workflow = cause.clone();
        if !self.plan.real {
            workflow = workflow.quick();
        }
        let longest = ("review_timeout_minutes".into(), "360".into());
        workflow.inputs.extend([longest]);
        let run = ("GITHUB_RUN_ID".into(), run.into());
        workflow.variables.extend([run]);
        workflow
    }

    /// The same with limits that are not waited for: three seconds of silence in place of ten minutes.
    fn hurried(&self, run: &str) -> Workflow {
        let mut workflow = self.workflow(&self.cause, run);
        let scale = ("OPENCODE_REVIEWER_LIMIT_SCALE".into(), "0.005".into());
        workflow.variables.extend([scale]);
        workflow
    }

    /// The model of the runs to come: each finds what the next of these has, the last for all that follow.
    fn speaks(&self, voices: Vec<Voice>) {
        self.world.model.becomes(self.reviewer(voices));
    }

    fn reviewer(&self, voices: Vec<Voice>) -> impl FnMut(&Request) -> Answer + Send + 'static {
        reviewer::reviewer(voices, self.old.clone(), Arc::clone(&self.submitted))
    }

    /// The disturbed run, and a second one beside it if one of the disturbances is that.
    pub fn disturb(&self) -> Disturbed {
        let ground = Ground {
            pull: self.world.pull,
            process: Arc::new(AtomicI32::new(0)),
            temporary: self.world.temporary(),
            next_head: self.next_head.clone(),
            second: Arc::default(),
        };
        let github = &self.world.github;
        let rules = self
            .plan
            .disturbances
            .iter()
            .filter_map(|one| ground.rule(one));
        let rules: Vec<_> = rules.collect();
        github.with(|state| state.faults.extend(rules));
        let at_model: Vec<Disturbance> = self
            .plan
            .disturbances
            .iter()
            .filter(|one| matches!(one.place, Place::Model))
            .copied()
            .collect();
        let counts: Arc<Vec<AtomicUsize>> =
            Arc::new(at_model.iter().map(|_| AtomicUsize::new(0)).collect());
        self.world.model.becomes(reviewer::disturbed(
            self.reviewer(self.disturbed_voices()),
            at_model,
            Arc::clone(&counts),
            (ground.clone(), github.handle()),
        ));
        let (ran, second) = self.run_both(&ground);
        let mut by_github = github.struck().into_iter();
        let mut by_model = counts.iter().map(|count| count.load(Ordering::Relaxed));
        let struck = self.plan.disturbances.iter().map(|one| match one.place {
            Place::GitHub(_) => by_github.next(),
            Place::Model => by_model.next(),
        });
        Disturbed {
            ran,
            second,
            struck: struck.map(Option::unwrap_or_default).collect(),
            left_over: self.world.left_over().len(),
        }
    }

    /// The disturbed run restates what was said before the push; a second one says everything in other words.
    fn disturbed_voices(&self) -> Vec<Voice> {
        let mut found = self.plan.findings.clone();
        if self.plan.cause == Cause::Pushed {
            found.extend(self.plan.before.iter().map(|(made, _)| *made));
        }
        let old: Vec<usize> = self
            .plan
            .before
            .iter()
            .map(|(made, _)| made.defect)
            .collect();
        vec![(found.clone(), Words::AgainFor(old)), (found, Words::Again)]
    }

    fn run_both(&self, ground: &Ground) -> (Ran, Option<Ran>) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| {
                wait_for(&ground.second, &over).then(|| {
                    let job = Job::new();
                    self.world.run_beside(&job, &self.hurried("4712"))
                })
            });
            let ran = self.world.run_watched(&self.hurried("4711"), |id| {
                let id = i32::try_from(id).expect("a process id");
                ground.process.store(id, Ordering::Relaxed);
            });
            over.store(true, Ordering::Relaxed);
            (ran, beside.join().expect("the second run"))
        })
    }

    /// The undisturbed run, later: it finds one half again in other words, and not the other.
    pub fn run_after(&self, head_before: &str) -> Ran {
        self.world.github.with(|state| state.rest(8));
        let restated = (self.plan.restated.clone(), Words::Again);
        self.speaks(vec![restated]);
        let cause = if let Some(kind) = self.plan.unseen.last {
            self.pushed(&[unseen(kind)])
        } else if self.head() == head_before {
            self.cause.clone()
        } else {
            self.synchronize(head_before)
        };
        self.world.run(&self.workflow(&cause, "4713"))
    }

    /// The threads as `state --json` shows them.
    pub fn state(&self) -> Ran {
        let mut workflow = self.world.opened();
        let actions = ("GITHUB_ACTIONS".into(), String::new());
        workflow.variables.extend([actions]);
        let arguments = ["state", "--repo", "octo/shop", "--pr", "1", "--json"];
        self.world.spawn(&workflow, &arguments)
    }
}

/// The example pull request, a fork's or an own branch's, with the files that some pushes change.
fn world(plan: &Plan) -> World {
    let (files, model) = (unseen_before(), Script::new().into_behaviour());
    let world = if plan.settled {
        World::settled(&files, &[], model)
    } else {
        World::with(&files, model)
    };
    if plan.forked {
        let fork = HeadRepository {
            full_name: "dev/shop".into(),
            id: 777,
            fork: true,
        };
        world
            .github
            .pull(world.pull, |pull| pull.head.repository = Some(fork));
    }
    world
}

/// What a push of this kind changes.
fn unseen(kind: &str) -> Change {
    let mut pushes = unseen_pushes().into_iter();
    let found = pushes.find(|(name, _)| *name == kind);
    found.expect("a kind of push").1
}

const GUARD: &str = "export const guard = (text: string) => text.length > 2;\n";

/// Whether a second run is asked for before the first is over.
pub fn wait_for(asked: &AtomicBool, over: &AtomicBool) -> bool {
    loop {
        let ended = over.load(Ordering::Relaxed);
        if asked.load(Ordering::Relaxed) || ended {
            return asked.load(Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
