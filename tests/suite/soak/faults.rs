//! The faults, and the points of a run at which they strike: the n-th request of a kind to GitHub or to the model.
//! Counts and no clocks, so that a seed strikes where it struck before.

use super::plan::{Cause, Discussion, Made};
use crate::dice::Dice;
use crate::standin::github::{Act, Fault, Rule, State};
use crate::watch::signal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Drop,
    DropAfterwards,
    Timeout,
    TimeoutAfterwards,
    Unauthorized,
    Forbidden,
    NotFound,
    Conflict,
    Unprocessable,
    RateLimit,
    ServerError,
    ServerErrorAfterwards,
    Truncated,
    Html,
    PageShift,
    Cancel,
    SidecarKill,
    SidecarStop,
    SidecarHang,
    ModelStall,
    ModelError,
    HeadMoved,
    SecondRun,
}

impl Kind {
    pub const ALL: [Self; 23] = [
        Self::Drop,
        Self::DropAfterwards,
        Self::Timeout,
        Self::TimeoutAfterwards,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::Conflict,
        Self::Unprocessable,
        Self::RateLimit,
        Self::ServerError,
        Self::ServerErrorAfterwards,
        Self::Truncated,
        Self::Html,
        Self::PageShift,
        Self::Cancel,
        Self::SidecarKill,
        Self::SidecarStop,
        Self::SidecarHang,
        Self::ModelStall,
        Self::ModelError,
        Self::HeadMoved,
        Self::SecondRun,
    ];

    /// Whether it is about the model or the sidecar, which nobody watches but the model.
    fn is_beside_the_model(self) -> bool {
        matches!(
            self,
            Self::SidecarStop | Self::SidecarHang | Self::ModelStall | Self::ModelError
        )
    }

    fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::TimeoutAfterwards)
    }

    /// Whether it happens once, and beside the request that it is counted by.
    fn is_event(self) -> bool {
        matches!(
            self,
            Self::PageShift
                | Self::Cancel
                | Self::SidecarKill
                | Self::SidecarStop
                | Self::SidecarHang
                | Self::HeadMoved
                | Self::SecondRun
        )
    }
}

/// What a run must have to do before it makes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Findings,
    Replies,
    Concession,
    Fix,
}

/// A kind of request to GitHub.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    method: &'static str,
    path: &'static str,
    /// In the body: GraphQL has one path for everything.
    word: &'static str,
    /// How many of it every run makes that has the reason.
    count: usize,
    needs: Needs,
    writes: bool,
}

const fn read(path: &'static str, count: usize) -> Class {
    Class {
        method: "GET",
        path,
        word: "",
        count,
        needs: Needs::Nothing,
        writes: false,
    }
}

const fn query(word: &'static str, count: usize) -> Class {
    Class {
        method: "POST",
        word,
        ..read("/graphql", count)
    }
}

const fn write(method: &'static str, path: &'static str, needs: Needs) -> Class {
    Class {
        method,
        needs,
        writes: true,
        ..read(path, 1)
    }
}

const fn about(word: &'static str, class: Class) -> Class {
    Class { word, ..class }
}

/// git gives up after a minute, which no test can shorten.
const GIT: &str = "/octo/shop.git/";
const COMMENTS: &str = "/repos/octo/shop/pulls/1/comments";
const REPLIES: &str = "/repos/octo/shop/pulls/1/comments/";

static CLASSES: [Class; 18] = [
    read(COMMENTS, 1),
    read("/repos/octo/shop/pulls/1", 5),
    read("/repos/octo/shop/pulls/1/reviews", 1),
    read("/repos/octo/shop/commits/", 1),
    read("/repos/octo/shop/compare/", 1),
    read("/repos/", 8),
    read("/octo/shop.git/info/refs", 1),
    query("reviewThreads", 1),
    query("checkSuites", 1),
    query("", 3),
    write("POST", "/octo/shop.git/git-upload-pack", Needs::Nothing),
    write("POST", "/repos/octo/shop/check-runs", Needs::Nothing),
    write("PATCH", "/repos/octo/shop/check-runs/", Needs::Nothing),
    write("POST", "/repos/octo/shop/pulls/1/reviews", Needs::Findings),
    // Twice, because everything hangs on it.
    write("POST", "/repos/octo/shop/pulls/1/reviews", Needs::Findings),
    about("rmcoc", write("POST", REPLIES, Needs::Replies)),
    write("PATCH", "/repos/octo/shop/pulls/comments/", Needs::Fix),
    about(
        "resolveReviewThread",
        write("POST", "/graphql", Needs::Concession),
    ),
];

/// The fewest requests that a run makes to the model: in four passes, and about open threads alone.
const MODEL_REQUESTS: usize = 8;
const TURN_REQUESTS: usize = 2;

#[derive(Debug, Clone, Copy)]
pub enum Place {
    GitHub(&'static Class),
    Model,
}

/// A fault of a seed.
#[derive(Debug, Clone, Copy)]
pub struct Disturbance {
    pub kind: Kind,
    pub place: Place,
    /// So many requests of the kind are left alone first.
    pub after: usize,
    pub times: usize,
    /// Which of its forms, where there are several.
    pub form: usize,
}

impl Disturbance {
    pub fn drawn(
        dice: &mut Dice,
        kind: Kind,
        cause: Cause,
        before: &[(Made, Discussion)],
        findings: &[Made],
    ) -> Self {
        let replies = |wanted: &dyn Fn(Discussion) -> bool| before.iter().any(|(_, d)| wanted(*d));
        let met = |needs: Needs| match needs {
            Needs::Nothing => true,
            Needs::Findings => findings.iter().any(Made::counts),
            Needs::Replies => replies(&Discussion::is_spoken),
            Needs::Concession => replies(&|d| d == Discussion::Conceded),
            Needs::Fix => replies(&|d| d == Discussion::Fixed),
        };
        let at_model = kind.is_beside_the_model() || (kind.is_event() && dice.one_in(2));
        let comments = || CLASSES.iter().find(|one| one.path == COMMENTS);
        let (place, count) = if kind == Kind::PageShift {
            (Place::GitHub(comments().expect("one of the classes")), 1)
        } else if at_model {
            let turns_alone = cause == Cause::Replied;
            let count = if turns_alone {
                TURN_REQUESTS
            } else {
                MODEL_REQUESTS
            };
            (Place::Model, count)
        } else {
            // Most at what is written, because there is most to lose.
            let writes = dice.below(5) < 4;
            let possible: Vec<&Class> = CLASSES
                .iter()
                .filter(|one| met(one.needs) && (one.writes || !writes))
                .filter(|one| !(kind.is_timeout() && one.path.starts_with(GIT)))
                .collect();
            let class = dice.pick(&possible);
            (Place::GitHub(class), class.count)
        };
        let times = dice.pick(&[1, 1, 1, 2, 3, 9]);
        Self {
            kind,
            place,
            after: dice.count(count),
            times: if kind.is_event() { 1 } else { times },
            form: dice.count(12),
        }
    }
}

/// What a disturbance that is an event acts on.
#[derive(Clone)]
pub struct Ground {
    pub pull: u64,
    /// The process of the disturbed run.
    pub process: Arc<AtomicI32>,
    /// Where its sidecar is found.
    pub temporary: PathBuf,
    /// The commit that the head moves to.
    pub next_head: String,
    /// Set, it starts a second run.
    pub second: Arc<AtomicBool>,
}

impl Ground {
    /// What happens, beside any answer.
    pub fn event(&self, disturbance: &Disturbance, state: &mut State) {
        match disturbance.kind {
            Kind::Cancel => {
                let process = self.process.load(Ordering::Relaxed);
                // It may just have ended.
                let _gone = kill(Pid::from_raw(process), Signal::SIGTERM);
            }
            Kind::SidecarKill => signal(&self.temporary, Signal::SIGKILL),
            Kind::SidecarStop => signal(&self.temporary, Signal::SIGSTOP),
            Kind::HeadMoved => state.push(self.pull, &self.next_head),
            Kind::SecondRun => self.second.store(true, Ordering::Relaxed),
            Kind::PageShift => shift(state, self.pull, disturbance.form),
            _ => {}
        }
    }

    /// The rule by which GitHub misbehaves.
    pub fn rule(&self, disturbance: &Disturbance) -> Option<Rule> {
        let Place::GitHub(class) = disturbance.place else {
            return None;
        };
        let fault = answer(disturbance.kind, disturbance.form).unwrap_or_else(|| {
            let (ground, disturbance) = (self.clone(), *disturbance);
            Fault::Meanwhile(Act::new(move |state| ground.event(&disturbance, state)))
        });
        Some(Rule {
            method: class.method.parse().expect("a method"),
            path_prefix: class.path.into(),
            body_contains: class.word.into(),
            after: disturbance.after,
            times: disturbance.times,
            struck: 0,
            fault,
        })
    }
}

/// What a person does between two pages of a listing: takes back the oldest remark, or makes another.
fn shift(state: &mut State, pull: u64, form: usize) {
    let oldest = state
        .comments
        .iter()
        .find(|one| one.user.as_deref() == Some("passerby"));
    match oldest.map(|one| one.id) {
        Some(id) if !form.is_multiple_of(4) => state.delete(id),
        _ => {
            state.add_remark(pull, "passerby", ("src/page.ts", 8), "And another thing.");
        }
    }
}

/// GitHub's answer in place of the right one; `None`: the right one.
pub fn answer(kind: Kind, form: usize) -> Option<Fault> {
    let says = |status: u16, message: &str| Fault::Status(status, json!({ "message": message }));
    Some(match kind {
        Kind::Drop => Fault::Drop,
        Kind::DropAfterwards => Fault::ApplyThenDrop,
        Kind::Timeout => Fault::Hang,
        Kind::TimeoutAfterwards => Fault::ApplyThenHang,
        Kind::Unauthorized => says(401, "Bad credentials"),
        Kind::Forbidden => match form % 2 {
            0 => says(403, "Resource not accessible by integration"),
            _ => says(403, "You have exceeded a secondary rate limit."),
        },
        Kind::NotFound => says(404, "Not Found"),
        Kind::Conflict => says(409, "Conflict"),
        Kind::Unprocessable => match form % 2 {
            0 => says(422, "Validation Failed"),
            _ => Fault::Status(
                422,
                json!({ "message": "Unprocessable Entity", "errors": ["Line could not be resolved"] }),
            ),
        },
        Kind::RateLimit => {
            let wait = ["7", "100", "3600"][form % 3].to_owned();
            Fault::StatusWith(
                429,
                vec![("retry-after", wait)],
                json!({ "message": "slow down" }),
            )
        }
        Kind::ServerError => says([500, 502, 503, 504][form % 4], "Server Error"),
        Kind::ServerErrorAfterwards => Fault::ApplyThenStatus(
            [500, 502, 503, 504][form % 4],
            json!({ "message": "Server Error" }),
        ),
        Kind::Truncated => Fault::Halved,
        Kind::Html => Fault::Raw("<html><body>Bad gateway</body></html>".into()),
        _ => return None,
    })
}
