//! The judgement of a life that has come to rest: its invariants, from the history of inputs and from what GitHub holds.

use super::github::Write;
use super::repository::{AGENTS, LEAD};
use super::said::{APPROVED, Said};
use super::stage::Stage;
use reviewer_core::lifecycle::{
    CallReason, Effect, Facts, Input, MergeType, Millis, Phase, ReviewFact, State, Wait, step, wait,
};
use std::collections::BTreeMap;

/// The end of a life, in words that are the same for the same end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct End {
    pub phase: String,
    pub generation: u32,
    pub cycles: u32,
    pub escalated: Vec<String>,
    /// The commits of the branch by what they change.
    pub heads: usize,
    /// Reviews with their heads, in order.
    pub reviews: Vec<String>,
    /// Comments of the service without their marks.
    pub calls: Vec<String>,
    pub merged: Option<String>,
    /// Requests for reviews, and everything about merges, with their heads.
    pub writes: Vec<String>,
    pub complaints: Vec<String>,
}

impl Stage {
    pub(super) async fn judge(&self) -> End {
        let mut judge = Judge {
            stage: self,
            complaints: Vec::new(),
            asked: BTreeMap::new(),
        };
        let state = self.state().await;
        judge.history(&state).await;
        judge.rest(&state).await;
        judge.reviews(&state);
        let writes = judge.merge(&state);
        let violations = self.github.take_violations();
        for violation in violations {
            judge.complain(format!("GitHub does not know this request: {violation}"));
        }
        let complaints = judge.complaints;
        let mut end = self.end(&state);
        (end.complaints, end.writes) = (complaints, writes);
        end
    }

    fn end(&self, state: &State) -> End {
        let number = self.key.number;
        let reviews = self.said().into_iter();
        let (calls, merged) = self.github.with(|github| {
            let comments = github.issue_comments.iter();
            let comments = comments.filter(|one| one.user == self.keeper());
            let calls: Vec<String> = comments.map(|one| one.body.clone()).collect();
            let pull = &github.pulls[&number];
            let merged = pull.merged.as_ref().map(|one| one.by.clone());
            (calls, merged)
        });
        let review = |one: Said| {
            let at = self.ordinal(&one.commit);
            format!("{} {} at {at}", one.by, one.decision)
        };
        let call = |body: String| {
            let (words, _) = body.split_once("<!--").unwrap_or((&body, ""));
            words.lines().nth(2).unwrap_or_default().to_owned()
        };
        let heads = self.memory().heads.len();
        let escalated = state.escalated.iter();
        let phase = match &state.phase {
            Phase::NeedsHuman { reason, .. } => format!("needsHuman: {}", reason.sentence()),
            Phase::Merged { merge_type } => format!("merged: {merge_type:?}"),
            other => format!("{other:?}"),
        };
        End {
            phase,
            generation: state.generation,
            cycles: state.cycles,
            escalated: escalated.map(|one| one.to.clone()).collect(),
            heads,
            reviews: reviews.map(review).collect(),
            calls: calls.into_iter().map(call).collect(),
            merged,
            writes: Vec::new(),
            complaints: Vec::new(),
        }
    }
}

/// The reviews and orders of people that the facts hold.
fn acts_of_people(state: &State) -> usize {
    let facts = state.facts.iter();
    let count = |facts: &Facts| {
        let reviews = facts.reviews.iter();
        let of_person =
            |one: &&ReviewFact| one.author.as_ref().is_some_and(|by| by.as_str() == LEAD);
        reviews.filter(of_person).count() + facts.resumes.len()
    };
    facts.map(count).sum()
}

struct Judge<'a> {
    stage: &'a Stage,
    complaints: Vec<String>,
    /// Requests for reviews, merges and their ends that the life has asked for, by what they are.
    asked: BTreeMap<String, usize>,
}

impl Judge<'_> {
    fn complain(&mut self, complaint: impl Into<String>) {
        self.complaints.push(complaint.into());
    }

    /// Steps the history again: the same state, no cycle too many, every call once on GitHub.
    async fn history(&mut self, end: &State) {
        let service = self.stage.service().expect("the service runs");
        let key = self.stage.key.to_string();
        let entries = service.engine.history(&key, u32::MAX).await;
        let entries = entries.expect("the store answers");
        let policy = self.stage.policy();
        let mut state = State::default();
        let mut called: BTreeMap<String, u32> = BTreeMap::new();
        let (mut ended, mut acts) = (None, 0);
        for entry in entries {
            let input: Input = serde_json::from_str(&entry.input).expect("an input");
            let next = step(&state, &input, &policy, entry.at);
            let commands = u32::from(matches!(input, Input::Command { .. }));
            acts += commands + u32::from(acts_of_people(&next.state) != acts_of_people(&state));
            for numbered in &next.effects {
                if let Effect::Call { reason, .. } = &numbered.effect {
                    let id = format!("{key}/{}", numbered.seq);
                    self.call(&id, end.born, reason);
                    let head = next.state.facts.as_ref().map(|facts| facts.head.clone());
                    let name = format!("{} {head:?} {reason:?}", next.state.generation);
                    if !matches!(reason, CallReason::StillWaiting { .. }) {
                        *called.entry(format!("{name} {acts}")).or_default() += 1;
                    }
                    let is_known = |phase: &Phase| matches!(phase, Phase::NeedsHuman { reason: known, .. } if known == reason);
                    if is_known(&state.phase) {
                        self.complain(format!("called again: {name}"));
                    }
                }
                self.count(&numbered.effect, &next.state);
            }
            let facts = next.state.facts.as_ref();
            let most = facts.map_or(0, |facts| facts.settings.max_fix_cycles);
            if next.state.cycles > most + next.state.granted {
                self.complain(format!("{} fix cycles of {most}", next.state.cycles));
            }
            if wait(&next.state, &policy) == Wait::Lost {
                self.complain(format!("{:?} waits for nothing", next.state.phase));
            }
            let terminal = |one: &State| match one.phase {
                Phase::Merged { .. } => Some((one.generation, one.phase.name())),
                _ => None,
            };
            if ended.is_some() && terminal(&next.state) != ended {
                self.complain("a merged life went on");
            }
            ended = terminal(&next.state);
            state = next.state;
        }
        if state != *end {
            self.complain("the history leads to another state");
        }
        for (name, count) in called.into_iter().filter(|one| one.1 > 1) {
            self.complain(format!("{count} calls: {name}"));
        }
    }

    /// Counts what GitHub is asked for once.
    fn count(&mut self, effect: &Effect, state: &State) {
        let asked = match effect {
            Effect::Merge { head, .. } => {
                self.merge_of(state, head.as_str());
                vec![format!("merge {head}")]
            }
            Effect::RequestReviewers { logins } => {
                let logins = logins.iter();
                logins.map(|login| format!("request {login}")).collect()
            }
            Effect::Disarm { .. } => vec!["disarm".to_owned()],
            _ => Vec::new(),
        };
        for name in asked {
            *self.asked.entry(name).or_default() += 1;
        }
    }

    fn call(&mut self, id: &str, born: Millis, reason: &CallReason) {
        let service = self.stage.service().expect("the service runs");
        let marker = service.world.mark(id, born);
        let count = self.stage.github.with(|state| {
            let comments = state.issue_comments.iter();
            comments.filter(|one| one.body.contains(&marker)).count()
        });
        if count != 1 {
            self.complain(format!("{count} comments for the call {id}: {reason:?}"));
        }
    }

    /// Nothing is left to do, and the wait has a name.
    async fn rest(&mut self, state: &State) {
        let service = self.stage.service().expect("the service runs");
        let backlog = service.engine.backlog().await.expect("the store answers");
        if backlog.effects > 0 {
            self.complain(format!("{} effects are left", backlog.effects));
        }
        match wait(state, &self.stage.policy()) {
            Wait::Ended | Wait::People { .. } => {}
            other => self.complain(format!("{:?} waits for {other:?}", state.phase)),
        }
        let pull = self
            .stage
            .github
            .pull(1, |pull| (pull.state.clone(), pull.merged.is_some()));
        let is_right = match state.phase {
            Phase::Merged { .. } => pull.1,
            Phase::Closed => pull.0 == "closed" && !pull.1,
            _ => pull.0 == "open",
        };
        if !is_right {
            self.complain(format!("{:?}, and GitHub has {pull:?}", state.phase));
        }
        let facts = state.facts.as_ref().map(|facts| facts.head.to_string());
        if facts.as_deref() != Some(&self.stage.head()) {
            self.complain("the head is not the one on GitHub");
        }
    }

    /// At most one review of an agent for each head and life, and for each session.
    fn reviews(&mut self, state: &State) {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for said in self.stage.said() {
            let Some(session) = &said.session else {
                continue;
            };
            let session = format!("{} {session} (session)", said.by);
            *seen.entry(session).or_default() += 1;
            let head = format!("{} {}", said.by, said.commit);
            *seen.entry(head).or_default() += 1;
        }
        for (name, count) in seen {
            let is_session = name.contains("(session");
            if count > if is_session { 1 } else { state.generation } {
                self.complain(format!("{count} reviews: {name}"));
            }
        }
    }

    fn merge(&mut self, state: &State) -> Vec<String> {
        let by_service = matches!(
            state.phase,
            Phase::Merged {
                merge_type: MergeType::Auto
            }
        );
        if by_service || state.phase == Phase::Approved {
            let head = self.stage.head();
            self.merge_of(state, &head);
        }
        let writes = self.stage.github.take_writes();
        self.doubled(&writes);
        if self.stage.plan.story.app {
            self.complaints.extend(self.stage.formal(state, &writes));
        }
        let ordinal = |head: &str| self.stage.ordinal(head);
        let told = |write: &Write| match write {
            Write::ReviewRequest { logins, .. } => Some(format!("asked {logins:?}")),
            Write::Merge { head, by, .. } => Some(format!("{by} merged {}", ordinal(head))),
            Write::AutoMergeArmed { head, .. } => Some(format!("armed {}", ordinal(head))),
            Write::AutoMergeDisarmed { .. } => Some("disarmed".to_owned()),
            Write::Enqueued { head, .. } => Some(format!("queued {}", ordinal(head))),
            Write::Dequeued { .. } => Some("dequeued".to_owned()),
            _ => None,
        };
        let told: Vec<String> = writes.iter().filter_map(told).collect();
        let merges = told.iter().filter(|one| one.contains(" merged "));
        if merges.count() > 1 {
            self.complain("merged twice");
        }
        told
    }

    /// Each effect is on GitHub once at most, however often it was begun.
    fn doubled(&mut self, writes: &[Write]) {
        let mut done: BTreeMap<String, usize> = BTreeMap::new();
        for write in writes {
            let names = match write {
                // The client repeats a request whose answer is lost: GitHub asks nobody twice who is asked already.
                Write::ReviewRequest { .. } if self.stage.memory().struck > 0 => Vec::new(),
                Write::ReviewRequest { logins, .. } => {
                    let logins = logins.iter();
                    logins.map(|login| format!("request {login}")).collect()
                }
                Write::Merge { head, by, .. } if by == self.stage.keeper() => {
                    vec![format!("merge {head}")]
                }
                Write::AutoMergeArmed { head, .. } | Write::Enqueued { head, .. } => {
                    vec![format!("merge {head}")]
                }
                Write::AutoMergeDisarmed { .. } | Write::Dequeued { .. } => {
                    vec!["disarm".to_owned()]
                }
                _ => Vec::new(),
            };
            for name in names {
                *done.entry(name).or_default() += 1;
            }
        }
        for (name, count) in done {
            let asked = self.asked.get(&name).copied().unwrap_or_default();
            if count > asked {
                self.complain(format!(
                    "{name}: done {count} times, asked for {asked} times"
                ));
            }
        }
    }

    /// Every required reviewer has approved this head or one with the same change, as GitHub holds it.
    fn merge_of(&mut self, state: &State, head: &str) {
        let Some(facts) = &state.facts else {
            return self.complain("merged without facts");
        };
        let author = facts.author.as_ref().map(|one| one.as_str().to_owned());
        let is_author = |name: &str| {
            let account = AGENTS.iter().find(|one| one.0 == name);
            author.as_deref() == Some(account.map_or(name, |one| one.1))
        };
        let reviewers = facts.settings.reviewers.iter();
        let escalated = state.escalated.iter();
        let mut required: Vec<&str> = reviewers.map(|one| one.name.as_str()).collect();
        required.extend(escalated.map(|one| one.to.as_str()));
        required.retain(|name| !is_author(name));
        let said = self.stage.said().into_iter();
        let same: Vec<String> = said
            .filter(|one| one.decision == APPROVED && !one.dismissed)
            .filter(|one| {
                one.commit == head || self.stage.change(&one.commit) == self.stage.change(head)
            })
            .map(|one| one.by)
            .collect();
        if same.is_empty() {
            self.complain(format!("{head:.7} is approved by nobody"));
        }
        for name in required {
            if !same.iter().any(|one| one == name) {
                self.complain(format!("{name} has not approved {head:.7}"));
            }
        }
    }
}
