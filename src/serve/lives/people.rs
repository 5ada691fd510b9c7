//! People, and the checks of the repository: they look at the pull request now and then, and act if it waits for them.

use super::github::Change;
use super::plan::Mid;
use super::repository::{APP, BRANCH, CODER, DEV, LEAD};
use super::stage::Stage;
use reviewer_core::lifecycle::{PendingWait, Phase, State, Wait, wait};
use reviewer_engine::clock::Clock as _;
use std::ops::ControlFlow;
use std::sync::Arc;

impl Stage {
    pub(super) fn head(&self) -> String {
        self.github
            .pull(self.key.number, |pull| pull.head.sha.clone())
    }

    /// The place of a head among those that the pull request had.
    pub(super) fn ordinal(&self, head: &str) -> usize {
        let memory = self.memory();
        let found = memory.heads.iter().position(|one| one == head);
        found.map_or(0, |index| index + 1)
    }

    /// Opens the pull request.
    pub(super) fn begin(self: &Arc<Self>) {
        let story = &self.plan.story;
        let author = match (story.author_is_agent, story.app) {
            (false, _) => DEV,
            (true, false) => CODER,
            (true, true) => APP,
        };
        let number = self.github.open_pull(author, BRANCH, "main");
        assert_eq!(number, self.key.number);
        if story.draft {
            self.github.pull(number, |pull| pull.draft = true);
        }
        let head = self.head();
        self.pushed(&head);
        self.pump();
    }

    /// The head is another one: its checks begin.
    pub(super) fn pushed(self: &Arc<Self>, head: &str) {
        self.memory().heads.push(head.to_owned());
        let Some(after) = self.plan.story.check_after_ms else {
            return;
        };
        let (stage, hold, head) = (Arc::clone(self), self.clock.hold(), head.to_owned());
        let at = self.clock.now_ms() + after;
        tokio::spawn(async move {
            stage.clock.sleep_until(at).await;
            let closed = stage.github.with(|state| {
                let was_open = state.pulls[&stage.key.number].state == "open";
                state.conclude("ci", &head, "success");
                was_open && state.pulls[&stage.key.number].state != "open"
            });
            stage.tell(format!(
                "the check of {head:.7} passes; merged by GitHub: {closed}"
            ));
            stage.pump();
            drop(hold);
        });
    }

    fn push(self: &Arc<Self>, parents: &[&str], changes: &[Change]) {
        let head = self.github.commit(BRANCH, parents, changes);
        self.github.push(self.key.number, &head);
        self.tell(format!("dev pushes {head:.7}"));
        self.pushed(&head);
    }

    fn push_change(self: &Arc<Self>) {
        let head = self.head();
        let text = format!("after {}\n", self.ordinal(&head));
        self.push(&[&head], &[Change::write("dev.txt", text)]);
    }

    fn review(&self, status: &str) {
        self.tell(format!("lead reviews: {status}"));
        self.github.review(self.key.number, LEAD, status, "");
    }

    fn act(&self, action: &'static str) {
        self.tell(format!("dev: {action}"));
        self.github.act(self.key.number, action, DEV);
    }

    fn is_open(&self) -> bool {
        self.github
            .pull(self.key.number, |pull| pull.state == "open")
    }

    /// Makes happen what the plan has for the middle of a session.
    pub(super) fn happen(self: &Arc<Self>, mid: Mid) {
        if !self.is_open() {
            return;
        }
        self.tell(format!("meanwhile: {mid:?}"));
        match mid {
            Mid::Push => self.push_change(),
            Mid::Update => {
                self.push_base();
                let main = self
                    .github
                    .with(|state| state.git.commit_of("refs/heads/main"));
                let (head, main) = (self.head(), main.expect("the base is there"));
                self.push(&[&head, &main], &[Change::write("base.txt", "base\n")]);
            }
            Mid::Draft => self.act("converted_to_draft"),
            Mid::Close => {
                self.act("closed");
                self.memory().reopens = true;
            }
            Mid::Approve => self.review("APPROVED"),
            Mid::Merge => drop(self.github.merge(self.key.number, DEV)),
            Mid::PushBase => self.push_base(),
        }
        self.pump();
    }

    /// Another pull request is merged.
    fn push_base(&self) {
        let after = self.github.with(|state| {
            let before = state.git.commit_of("refs/heads/main").expect("the base");
            state.tick();
            let at = state.epoch_seconds();
            let changes = [Change::write("base.txt", "base\n")];
            let after = state.git.commit("main", &[&before], "Other", at, &changes);
            state.announce_push(DEV, "main", &before, &after);
            after
        });
        self.memory().mains.push(after);
    }

    /// Somebody looks at the pull request, and acts if it waits for people. Breaks when nobody will act any more.
    pub(super) async fn look(self: &Arc<Self>) -> ControlFlow<()> {
        let state = self.state().await;
        let waits = wait(&state, &self.policy());
        let is_people = matches!(waits, Wait::People { .. }) && !self.is_ready_unheard(&state);
        if waits == Wait::Ended {
            let reopens = std::mem::take(&mut self.memory().reopens);
            let is_closed = state.phase == Phase::Closed;
            if !(reopens && is_closed && !self.is_open()) {
                return ControlFlow::Break(());
            }
            self.act("reopened");
        } else if is_people {
            let number = {
                let mut memory = self.memory();
                memory.acts += 1;
                memory.acts
            };
            if number > self.plan.story.acts || !self.is_open() {
                return ControlFlow::Break(());
            }
            self.help(&state, number).await;
        }
        self.pump();
        ControlFlow::Continue(())
    }

    /// The author has done what is waited for, and the service has not heard of it yet. Nobody does it twice.
    fn is_ready_unheard(&self, state: &State) -> bool {
        let wait = PendingWait::Draft;
        state.phase == Phase::Pending { wait }
            && !self.github.pull(self.key.number, |pull| pull.draft)
    }

    async fn help(self: &Arc<Self>, state: &State, number: u64) {
        let mut dice = self.plan.dice(&format!("act {number}"));
        let by_agent = self.plan.story.author_is_agent;
        match &state.phase {
            Phase::Pending {
                wait: PendingWait::Draft,
            } => self.act("ready_for_review"),
            Phase::Fixing { .. } => self.push_change(),
            Phase::Reviewing { .. } if dice.one_in(4) => self.review("CHANGES_REQUESTED"),
            Phase::Reviewing { .. } => self.review("APPROVED"),
            Phase::NeedsHuman { .. } => match dice.below(6) {
                0 => self.push_change(),
                1 => self.review("CHANGES_REQUESTED"),
                2 => self.retry(number).await,
                3 => {
                    self.tell("lead: fix resume");
                    let body = "@opencode-reviewer fix resume";
                    self.github.comment(self.key.number, LEAD, body);
                }
                _ => self.review("APPROVED"),
            },
            Phase::Error { .. } if dice.one_in(3) => self.push_change(),
            Phase::Error { .. } => self.retry(number).await,
            Phase::Approved if self.plan.story.auto_merge || dice.one_in(3) => {
                self.review("APPROVED");
            }
            Phase::Approved if by_agent => {
                let open = self.is_open();
                self.tell("dev merges");
                if open {
                    self.github.merge(self.key.number, DEV);
                }
            }
            _ => {}
        }
    }

    async fn retry(self: &Arc<Self>, number: u64) {
        self.tell("an operator: retry");
        if let Some(service) = self.service() {
            let delivery = format!("retry {number}");
            let done = service.command_retry(self.key, &delivery, "operator").await;
            done.expect("the store takes a command");
        }
    }
}
