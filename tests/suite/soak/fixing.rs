//! The same for fixes: a `fix` that is disturbed by faults drawn from a seed, then the same event undisturbed. Whatever went
//! wrong, there is one commit for it in the end, and one report of that commit. Where GitHub or a push kept the commit from being made,
//! one report says so instead, and a second `fix` makes the commit.

use super::{faults, given};
use crate::dice::Dice;
use crate::fixing::{CEIL, script};
use crate::standin::github::{Act, Change, Fault, GitHub, Identity, Rule, State, events};
use crate::standin::world::{Job, Ran, Workflow, World};
use crate::watch::signal;
use faults::Kind;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// A pull request with a finding about the lost page, in a repository where the workflow may push.
struct Story {
    world: World,
}

impl Story {
    fn on(world: World) -> Self {
        world.github.permit("writer", "write");
        let permissions = [
            "contents:write",
            "pull-requests:write",
            "checks:write",
            "issues:write",
        ];
        let workflow = Identity::github_actions(&permissions);
        world.github.token(GitHub::TOKEN, workflow);
        Self { world }
    }

    fn says(&self, login: &str, words: &str) -> Workflow {
        let github = &self.world.github;
        let body = format!("@review-my-code-bot {words}");
        let comment = github.comment(self.world.pull, login, &body);
        let payload = events::comment_event("issue_comment", github, self.world.pull, comment.id);
        self.world.workflow("issue_comment", payload)
    }

    /// The event of a comment once more, as GitHub redelivers it.
    fn says_again(&self, asked: &Workflow) -> Workflow {
        self.world.workflow("issue_comment", asked.payload.clone())
    }

    /// The event of the last push.
    fn pushed(&self, before: &str) -> Workflow {
        let payload = events::synchronize_event(&self.world.github, self.world.pull, before);
        self.world.workflow("pull_request", payload)
    }

    fn head(&self) -> String {
        let pull = self.world.pull;
        self.world.github.pull(pull, |pull| pull.head.sha.clone())
    }

    fn file(&self, path: &str) -> String {
        let name = format!("{}:{path}", self.head());
        self.world
            .github
            .with(|state| state.git.must(&["show", &name]))
    }
}

/// The requests at which something happens: method, path and a word of the body, and the least number of them in a run.
const PLACES: [(&str, &str, &str, usize); 11] = [
    // The question if the token may commit, and the commit.
    ("POST", "/graphql", "createCommitOnBranch", 2),
    ("POST", "/graphql", "Review-Finding: ", 1),
    ("POST", "/repos/octo/shop/issues/1/comments", "rmcoc:fix", 1),
    ("POST", "/repos/octo/shop/issues/1/comments", "rmcoc:fix", 1),
    ("PATCH", "/repos/octo/shop/check-runs/", "", 3),
    ("POST", "/repos/octo/shop/check-runs", "", 2),
    ("GET", "/repos/octo/shop/pulls/1", "", 12),
    ("GET", "/repos/octo/shop/issues/1/comments", "", 3),
    ("GET", "/repos/", "", 20),
    ("POST", "/graphql", "history", 1),
    ("POST", "/graphql", "", 8),
];

/// What happens there; `Kind::Cancel` stands for both signals.
const KINDS: [Kind; 13] = [
    Kind::Drop,
    Kind::DropAfterwards,
    Kind::Timeout,
    Kind::TimeoutAfterwards,
    Kind::Forbidden,
    Kind::RateLimit,
    Kind::ServerError,
    Kind::ServerErrorAfterwards,
    Kind::Truncated,
    Kind::Cancel,
    Kind::SidecarKill,
    Kind::HeadMoved,
    Kind::SecondRun,
];

#[derive(Debug, Clone, Copy)]
struct Strike {
    kind: Kind,
    place: (&'static str, &'static str, &'static str, usize),
    after: usize,
    times: usize,
    form: usize,
}

#[derive(Debug)]
struct Plan {
    strikes: Vec<Strike>,
}

impl Plan {
    fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        for _ in 0..8 {
            dice.below(2);
        }
        let turn = usize::try_from(seed).expect("a small seed") % KINDS.len();
        let mut kinds = vec![KINDS[turn]];
        while kinds.len() < 3 && dice.one_in(2) {
            kinds.push(dice.pick(&KINDS));
        }
        let strike = |kind: Kind| {
            let place = dice.pick(&PLACES);
            Strike {
                kind,
                place,
                after: dice.count(place.3),
                times: if is_event(kind) {
                    1
                } else {
                    dice.pick(&[1, 1, 2, 9])
                },
                form: dice.count(12),
            }
        };
        Self {
            strikes: kinds.into_iter().map(strike).collect(),
        }
    }
}

fn is_event(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Cancel | Kind::SidecarKill | Kind::HeadMoved | Kind::SecondRun
    )
}

/// What the events act on.
#[derive(Clone)]
struct Ground {
    pull: u64,
    process: Arc<AtomicI32>,
    temporary: PathBuf,
    next_head: String,
    second: Arc<AtomicBool>,
}

impl Ground {
    fn happens(&self, strike: &Strike, state: &mut State) {
        match strike.kind {
            Kind::Cancel => {
                let signal = if strike.form.is_multiple_of(3) {
                    Signal::SIGTERM
                } else {
                    Signal::SIGKILL
                };
                let process = self.process.load(Ordering::Relaxed);
                // It may just have ended.
                let _gone = kill(Pid::from_raw(process), signal);
            }
            Kind::SidecarKill => signal(&self.temporary, Signal::SIGKILL),
            // Somebody pushes, unless the fix was pushed already.
            Kind::HeadMoved => {
                let parent = state
                    .git
                    .must(&["rev-parse", &format!("{}^", self.next_head)]);
                if state.branch_head("search").as_deref() == Some(parent.trim()) {
                    state.push(self.pull, &self.next_head);
                }
            }
            Kind::SecondRun => self.second.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    fn rule(&self, strike: &Strike) -> Rule {
        let fault = faults::answer(strike.kind, strike.form).unwrap_or_else(|| {
            let (ground, strike) = (self.clone(), *strike);
            Fault::Meanwhile(Act::new(move |state| ground.happens(&strike, state)))
        });
        let (method, path, word, _) = strike.place;
        Rule {
            method: method.parse().expect("a method"),
            path_prefix: path.into(),
            body_contains: word.into(),
            after: strike.after,
            times: strike.times,
            struck: 0,
            fault,
        }
    }
}

struct Outcome {
    plan: Plan,
    /// How often each strike struck.
    struck: Vec<usize>,
    disturbed: Ran,
    after: Vec<Ran>,
    /// The report that nothing was fixed, where GitHub kept the commit from being made.
    refused: Option<String>,
    /// The run that made the commit, and why no earlier one did.
    made: String,
    complaints: Vec<String>,
}

fn run(seed: u64) -> Outcome {
    let plan = Plan::of(seed);
    let story = Story::on(World::shop(script(7)).quick());
    story.world.review();
    let asked = hurried(story.says("writer", "fix"), "4711");
    let head = story.head();
    let github = &story.world.github;
    let next_head = github.commit("aside", &[&head], &[Change::write("NOTES.md", "Words.\n")]);
    let ground = Ground {
        pull: story.world.pull,
        process: Arc::new(AtomicI32::new(0)),
        temporary: story.world.temporary(),
        next_head,
        second: Arc::default(),
    };
    let rules: Vec<Rule> = plan.strikes.iter().map(|one| ground.rule(one)).collect();
    github.with(|state| state.faults.extend(rules));
    let disturbed = run_both(&story, &ground, &asked);
    let struck = github.with(|state| {
        let struck = state.faults.iter().map(|rule| rule.struck).collect();
        state.faults.clear();
        state.rest(8);
        struck
    });
    let wrong = story.judge_disturbed(&disturbed);
    let mut complaints = Vec::from_iter(wrong);
    let mut made = match story.commits().as_slice() {
        [] => story.why_not(&disturbed),
        _ => "at once".to_owned(),
    };
    let mut after = Vec::new();
    // Of a person's push there is an event; of the fix's there is none, because the workflow's own token made it.
    if story.has(&ground.next_head) {
        after.push(story.world.run(&with_run(story.pushed(&head), "4713")));
    }
    // The event once more.
    let again = with_run(story.says_again(&asked), "4714");
    after.push(story.world.run(&again));
    let refused = story.refused();
    if let Some(report) = &refused {
        complaints.extend(story.judge_refusal(&head, report));
        made = format!("after a second request: {}", reason(report));
        let anew = with_run(story.says("writer", "fix"), "4715");
        after.push(story.world.run(&anew));
    }
    complaints.extend(story.judge());
    complaints.extend(after.last().and_then(|ran| story.judge_end(ran)));
    Outcome {
        plan,
        struck,
        disturbed,
        after,
        refused,
        made,
        complaints,
    }
}

/// The reason that a report gives for the finding that it did not fix.
fn reason(report: &str) -> &str {
    let reason = report.split("Not fixed: ").nth(1).unwrap_or("no reason");
    reason.split(" |").next().unwrap_or(reason)
}

fn with_run(mut workflow: Workflow, run: &str) -> Workflow {
    workflow
        .variables
        .insert("GITHUB_RUN_ID".into(), run.into());
    workflow
}

/// Limits that are not waited for.
fn hurried(workflow: Workflow, run: &str) -> Workflow {
    let mut workflow = with_run(workflow, run);
    workflow
        .variables
        .insert("OPENCODE_REVIEWER_LIMIT_SCALE".into(), "0.02".into());
    workflow
}

fn run_both(story: &Story, ground: &Ground, asked: &Workflow) -> Ran {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            if super::stage::wait_for(&ground.second, &over) {
                let job = Job::new();
                let second = with_run(asked.clone(), "4712");
                story.world.run_beside(&job, &second);
            }
        });
        let ran = story.world.run_watched(asked, |id| {
            let id = i32::try_from(id).expect("a process id");
            ground.process.store(id, Ordering::Relaxed);
        });
        over.store(true, Ordering::Relaxed);
        beside.join().expect("the second run");
        ran
    })
}

/// The conclusions of the checks on a commit, the oldest first.
fn ends(state: &State, head: &str) -> Vec<String> {
    let runs = state.check_runs.iter();
    let of_head = runs.filter(|run| run.head_sha == head);
    of_head.filter_map(|run| run.conclusion.clone()).collect()
}

const NOTHING: &str = "### Nothing was fixed of 1 finding";

impl Story {
    fn comments(&self) -> Vec<String> {
        self.world.github.with(|state| {
            let bodies = state.issue_comments.iter().map(|one| one.body.clone());
            bodies.collect()
        })
    }

    /// The commits of a fix on the branch.
    fn commits(&self) -> Vec<String> {
        let range = format!("main..{}", self.head());
        let log = self
            .world
            .github
            .with(|state| state.git.must(&["log", "--format=%H%x00%B%x01", &range]));
        log.split('\u{1}')
            .filter(|commit| commit.contains("\nReview-Finding: "))
            .filter_map(|commit| Some(commit.trim().split('\0').next()?.to_owned()))
            .collect()
    }

    /// The report that nothing was fixed, if there is no commit.
    fn refused(&self) -> Option<String> {
        let found = self
            .comments()
            .into_iter()
            .find(|body| body.contains(NOTHING));
        found.filter(|_| self.commits().is_empty())
    }

    /// True if this commit is on the branch.
    fn has(&self, commit: &str) -> bool {
        let range = format!("main..{}", self.head());
        let log = self
            .world
            .github
            .with(|state| state.git.must(&["log", "--format=%H", &range]));
        log.lines().any(|line| line == commit)
    }

    /// The reason why a run made no commit, as it told people or the log.
    fn why_not(&self, ran: &Ran) -> String {
        let comments = self.comments();
        let mut told = comments.iter().rev();
        if let Some(report) = told.find(|body| body.contains(NOTHING)) {
            return format!("by the event again: {}", reason(report));
        }
        let answered = comments.iter().rev().find_map(|body| {
            let from = body.find("Nothing was fixed: ")?;
            body[from..].lines().next().map(str::to_owned)
        });
        let ended = match ran.code {
            None => "it was killed".to_owned(),
            Some(code) => format!("exit code {code}"),
        };
        format!("by the event again: {}", answered.unwrap_or(ended))
    }

    /// A commit may be missing only if GitHub's answer to it or to the record before it was lost or replaced, or if somebody
    /// pushed; the report gives that very reason, once.
    fn judge_refusal(&self, head: &str, report: &str) -> Vec<String> {
        let mut complaints = Vec::new();
        let struck = self.world.github.with(|state| state.struck.clone());
        let is_the_commit = |(_, body): &(String, String)| {
            body.contains("createCommitOnBranch")
                && body.contains("Review-Finding: ")
                && body.contains(head)
        };
        let reason = reason(report);
        let refused = [
            "GitHub",
            "The token may not",
            "The branch search is protected",
        ];
        let by_answer = refused.iter().any(|begin| reason.starts_with(begin))
            && struck.iter().any(is_the_commit);
        let moved = reason.starts_with("The branch search is not at") && self.head() != head;
        // Without the outcome in the check run nothing is pushed.
        let is_of_check = |(path, _): &(String, String)| path.contains("/check-runs");
        let unrecorded = reason.contains("only after its outcome is in the check run")
            && struck.iter().any(is_of_check);
        if !by_answer && !moved && !unrecorded {
            complaints.push(format!("nothing excuses the missing commit: {reason}"));
        }
        let told = self.comments();
        let told = told.iter().filter(|body| body.contains(NOTHING)).count();
        if told != 1 {
            complaints.push(format!("{told} reports that nothing was fixed"));
        }
        complaints
    }

    /// A run that ends well after its commit has reviewed it, unless no check run could be written.
    fn judge_disturbed(&self, ran: &Ran) -> Option<String> {
        let (head, commits) = (self.head(), self.commits());
        let (ends, no_checks) = self.world.github.with(|state| {
            let mut struck = state.struck.iter();
            let no_checks = struck.any(|(path, _)| path.contains("/check-runs"));
            (ends(state, &head), no_checks)
        });
        let is_open = commits.contains(&head) && ran.code == Some(0) && ends.is_empty();
        (is_open && !no_checks).then(|| "the fixed head has no concluded check".to_owned())
    }

    /// In the end the head is reviewed, and its check says so.
    fn judge_end(&self, ran: &Ran) -> Option<String> {
        let head = self.head();
        let ends = self.world.github.with(|state| ends(state, &head));
        let last = ends.last().map(String::as_str);
        let is_well = (ran.code, ran.status(), last) == (Some(0), "clean", Some("success"));
        (!is_well).then(|| {
            format!(
                "the last run ended with {:?} {}, its check with {ends:?}",
                ran.code,
                ran.status()
            )
        })
    }

    /// One commit of a fix on the branch, one report of it, and the code as the fix has it.
    fn judge(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let (commits, comments) = (self.commits(), self.comments());
        if commits.len() != 1 {
            let number = commits.len();
            complaints.push(format!("{number} commits of a fix: {commits:?}"));
        }
        for commit in &commits {
            let told = format!("\"commit\":\"{commit}\"");
            let reports = comments.iter().filter(|body| body.contains(&told)).count();
            if reports != 1 {
                complaints.push(format!("{reports} reports of {commit}: {comments:#?}"));
            }
        }
        if !self.file("src/page.ts").contains(CEIL) {
            complaints.push("the code is not fixed".into());
        }
        complaints
    }
}

impl Outcome {
    fn story(&self) -> String {
        let after: Vec<&str> = self.after.iter().map(|ran| ran.log.as_str()).collect();
        format!(
            "{:#?}\nstruck: {:?}\nmade: {}\nrefused: {:?}\n--- disturbed run: {:?}\n{}\n--- after\n{}\n{:#?}",
            self.plan,
            self.struck,
            self.made,
            self.refused,
            self.disturbed.code,
            self.disturbed.log,
            after.join("\n---\n"),
            self.complaints
        )
    }
}

/// What many seeds have come to.
#[derive(Debug, Default)]
struct Tally {
    seeds: usize,
    /// Of each kind of fault: how many were planned, and how many struck.
    faults: BTreeMap<Kind, (usize, usize)>,
    /// The seeds by when the commit was made, and why not before.
    made: BTreeMap<String, Vec<u64>>,
    /// The seeds without a commit in the disturbed run, though nothing struck it: they show nothing.
    idle: Vec<u64>,
    failed: Vec<u64>,
}

impl Tally {
    fn count(&mut self, seed: u64, outcome: &Outcome) {
        self.seeds += 1;
        for (strike, struck) in outcome.plan.strikes.iter().zip(&outcome.struck) {
            let (planned, striking) = self.faults.entry(strike.kind).or_default();
            *planned += 1;
            *striking += usize::from(*struck > 0);
        }
        self.made
            .entry(outcome.made.clone())
            .or_default()
            .push(seed);
        if outcome.made != "at once" && outcome.struck.iter().all(|struck| *struck == 0) {
            self.idle.push(seed);
        }
        if !outcome.complaints.is_empty() {
            self.failed.push(seed);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24} {:>8} {:>8}", "fault", "planned", "struck")?;
        for (kind, (planned, struck)) in &self.faults {
            writeln!(f, "{:<24} {planned:>8} {struck:>8}", format!("{kind:?}"))?;
        }
        for (made, seeds) in &self.made {
            writeln!(f, "{:>4} fixes {made}: {seeds:?}", seeds.len())?;
        }
        let Self {
            seeds,
            idle,
            failed,
            ..
        } = self;
        write!(
            f,
            "{seeds} seeds of fixes; late though nothing struck: {idle:?}; failed: {failed:?}"
        )
    }
}

fn soak(seeds: impl Iterator<Item = u64>) {
    let mut tally = Tally::default();
    for seed in seeds {
        let outcome = run(seed);
        assert!(
            outcome.complaints.is_empty(),
            "seed {seed}: {}",
            outcome.story()
        );
        tally.count(seed, &outcome);
    }
    println!("{tally}");
}

#[test]
fn fixes_of_seeds_1_to_6() {
    soak(1..=6);
}

#[test]
fn fixes_of_seeds_7_to_13() {
    soak(7..=13);
}

#[test]
#[ignore = "for the seed in SOAK_SEED"]
fn one_fix() {
    let seed = given("SOAK_SEED").expect("SOAK_SEED");
    let outcome = run(seed);
    println!("{}", outcome.story());
    assert!(outcome.complaints.is_empty());
}

#[test]
#[ignore = "takes most of an hour: make soak FIX=1"]
fn three_hundred_fixes() {
    let (first, count) = (
        given("SOAK_FIRST").unwrap_or(1),
        given("SOAK_SEEDS").unwrap_or(300),
    );
    let mut tally = Tally::default();
    for seed in first..first + count {
        let outcome = run(seed);
        if !outcome.complaints.is_empty() {
            println!("seed {seed}: {}", outcome.story());
        }
        tally.count(seed, &outcome);
    }
    println!("{tally}");
    assert!(tally.failed.is_empty(), "{:?}", tally.failed);
}
