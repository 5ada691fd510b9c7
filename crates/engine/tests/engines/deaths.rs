//! Faults: processes and servers that are killed with SIGKILL at random points under load, and a worker that is frozen until
//! it has lost its lease. Nothing is lost, no state is wrong, and only effects that were at work are executed again.

use crate::child::{ALL, FRONT, Process, Terms, WORKER, limits};
use crate::diary::{Line, SLEEP, lines};
use crate::model::{Dice, Given, Plan};
use crate::server::signal;
use crate::stage::{Stage, until};
use crate::subject::Subject;
use crate::toy::{Input, Words, say};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use std::collections::BTreeSet;
use std::future::Future;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A lease long enough for a machine that does many things at once.
const USUAL: Terms = Terms {
    lease_ms: 4_000,
    at_once: 5,
};
/// One place in each lane of a process, for a flood.
const FEW: Terms = Terms {
    at_once: 1,
    ..USUAL
};
/// Keys of a flood: more than wait in two processes.
const FLOOD: u64 = 40;
/// Seeds at the same time.
const TOGETHER: usize = 6;
/// Keys of a plan, so effects that can be at work at the same time.
const KEYS: usize = 3;

/// Makes something with all seeds, several at the same time.
pub(crate) async fn together<F: Future<Output = ()>>(seeds: Range<u64>, one: impl Fn(u64) -> F) {
    let mut all = stream::iter(seeds.map(one)).buffer_unordered(TOGETHER);
    while all.next().await.is_some() {}
}

/// The processes of a service on one store.
struct Cast<S: Subject> {
    store: String,
    diary: PathBuf,
    processes: Vec<(&'static str, Process)>,
    durable: BTreeSet<String>,
    /// Processes so far, to name the next one.
    started: usize,
    terms: Terms,
    subject: std::marker::PhantomData<S>,
}

impl<S: Subject> Cast<S> {
    async fn start(store: String, folder: &Path, terms: Terms) -> Self {
        let mut cast = Self {
            store,
            diary: folder.join("diary"),
            processes: Vec::new(),
            durable: BTreeSet::new(),
            started: 0,
            terms,
            subject: std::marker::PhantomData,
        };
        let roles: &[&str] = if S::SHARED {
            &[FRONT, WORKER, WORKER]
        } else {
            &[ALL]
        };
        for role in roles {
            let process = cast.process(role).await;
            cast.processes.push((role, process));
        }
        cast
    }

    async fn process(&mut self, role: &str) -> Process {
        self.started += 1;
        let owner = format!("{role}{}", self.started);
        let store = match role {
            FRONT => S::front(&self.store),
            _ => self.store.clone(),
        };
        Process::start::<S>(&store, &self.diary, (&owner, role), self.terms).await
    }

    /// Kills a process, and starts another one in its place.
    async fn kill(&mut self, victim: usize) {
        let (role, process) = self.processes.remove(victim);
        self.durable.extend(process.kill().await);
        let process = self.process(role).await;
        self.processes.insert(victim, (role, process));
    }

    /// One process alone is both.
    fn victim(&self, victims: Victims, dice: &mut Dice) -> usize {
        let roles = self.processes.iter().map(|(role, _)| *role);
        let is_victim = |role: &str| role == ALL || (role == FRONT) == (victims == Victims::Front);
        let all: Vec<usize> = roles
            .enumerate()
            .filter(|(_, role)| is_victim(role))
            .map(|(n, _)| n)
            .collect();
        all[usize::try_from(dice.below(all.len() as u64)).unwrap()]
    }

    async fn deliver(&mut self, given: &Given) {
        self.processes[0].1.deliver(given).await;
    }

    /// Delivers again what no process has called durable, until all is.
    async fn deliver_rest(&mut self, inputs: &[Given]) {
        for attempt in 0_u32.. {
            self.durable.extend(self.processes[0].1.durable());
            let rest: Vec<&Given> = inputs
                .iter()
                .filter(|given| !self.durable.contains(&given.id))
                .collect();
            if rest.is_empty() {
                return;
            }
            assert!(attempt < 2_000, "not durable: {rest:?}");
            if attempt % 100 == 0 {
                for given in rest {
                    self.processes[0].1.deliver(given).await;
                }
            }
            pause(30).await;
        }
    }

    async fn end(self) {
        for (_, process) in self.processes {
            process.kill().await;
        }
    }
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Finishes what dead processes left, and compares the end with the model.
async fn aftermath<S: Subject>(
    store: String,
    folder: Arc<TempDir>,
    inputs: &[Given],
    deaths: usize,
) {
    let stage = Stage::<S>::at(store, folder, limits(USUAL)).await;
    let working = stage.work();
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(inputs, deaths * KEYS).await;
    stage.close().await;
}

/// The processes that are killed under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victims {
    /// The process that takes the deliveries.
    Front,
    /// Those that execute effects and timers.
    Workers,
}

/// Kills of a front or of workers at random points, and of all processes in the end.
pub(crate) async fn processes<S: Subject>(subject: &S, victims: Victims, seed: u64) {
    let mut dice = Dice::new(seed);
    let plan = Plan::draw(&mut dice, 8);
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let store = subject.empty().await;
    let mut cast = Cast::<S>::start(store.clone(), folder.path(), USUAL).await;
    let deaths = 1 + dice.below(3);
    let length = u64::try_from(plan.order.len()).unwrap();
    let points: Vec<u64> = (0..deaths).map(|_| dice.below(length)).collect();
    for (n, given) in (0..).zip(&plan.order) {
        cast.deliver(given).await;
        pause(dice.below(12)).await;
        for _ in points.iter().filter(|point| **point == n) {
            pause(dice.below(60)).await;
            let victim = cast.victim(victims, &mut dice);
            cast.kill(victim).await;
        }
    }
    cast.deliver_rest(&plan.inputs).await;
    pause(dice.below(150)).await;
    cast.end().await;
    let deaths = usize::try_from(deaths).unwrap() + 1;
    aftermath::<S>(store.clone(), folder, &plan.inputs, deaths).await;
    subject.remove(&store).await;
}

/// Kills of workers that have few places for many effects, most of which wait elsewhere.
pub(crate) async fn flood<S: Subject>(subject: &S, seed: u64) {
    let mut dice = Dice::new(seed);
    let inputs = (0..FLOOD).map(|n| Given {
        key: format!("1/{n}"),
        id: format!("d{n}"),
        input: Input::Say(Words {
            text: format!("{SLEEP}{}", dice.below(30)),
            slow: dice.below(2) == 0,
            then: 0,
        }),
    });
    let inputs: Vec<Given> = inputs.collect();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let store = subject.empty().await;
    let mut cast = Cast::<S>::start(store.clone(), folder.path(), FEW).await;
    for given in &inputs {
        cast.deliver(given).await;
    }
    let deaths = 1 + dice.below(3);
    for _ in 0..deaths {
        pause(dice.below(600)).await;
        let victim = cast.victim(Victims::Workers, &mut dice);
        cast.kill(victim).await;
    }
    cast.deliver_rest(&inputs).await;
    pause(dice.below(300)).await;
    cast.end().await;
    let deaths = usize::try_from(deaths).unwrap() + 1;
    aftermath::<S>(store.clone(), folder, &inputs, deaths).await;
    subject.remove(&store).await;
}

/// Kills of a server that several stores use, a store per seed. The processes survive, and go on by themselves.
pub(crate) async fn servers<S: Subject>(seeds: Range<u64>) -> u64 {
    let subject = S::start().await.unwrap();
    let all: Vec<u64> = seeds.collect();
    for seeds in all.chunks(TOGETHER) {
        let mut dice = Dice::new(seeds[0]);
        let deaths = 1 + dice.below(2);
        let lives = seeds.iter().map(|seed| Life::start(&subject, *seed));
        let lives = join_all(lives).await.into_iter().map(Life::under_load);
        let kills = async {
            for _ in 0..deaths {
                pause(100 + dice.below(1_500)).await;
                subject.kill_server().await;
            }
        };
        let (lives, ()) = tokio::join!(join_all(lives), kills);
        let deaths = usize::try_from(deaths).unwrap() + 1;
        let ends = lives.into_iter().map(|life| life.end(&subject, deaths));
        join_all(ends).await;
    }
    u64::try_from(all.len()).unwrap()
}

/// A service that goes on while its server dies.
struct Life<S: Subject> {
    dice: Dice,
    plan: Plan,
    folder: Arc<TempDir>,
    cast: Cast<S>,
}

impl<S: Subject> Life<S> {
    async fn start(subject: &S, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let plan = Plan::draw(&mut dice, 20);
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let cast = Cast::<S>::start(subject.empty().await, folder.path(), USUAL).await;
        Self {
            dice,
            plan,
            folder,
            cast,
        }
    }

    async fn under_load(mut self) -> Self {
        for given in &self.plan.order {
            self.cast.deliver(given).await;
            pause(self.dice.below(100)).await;
        }
        self.cast.deliver_rest(&self.plan.inputs).await;
        self
    }

    async fn end(self, subject: &S, deaths: usize) {
        let store = self.cast.store.clone();
        self.cast.end().await;
        aftermath::<S>(store.clone(), self.folder, &self.plan.inputs, deaths).await;
        subject.remove(&store).await;
    }
}

/// A worker that is frozen while it executes an effect loses its lease to another one. When it goes on, its outcome does not
/// count, and it works on.
pub(crate) async fn fences<S: Subject>(subject: &S) {
    const SHORT: Terms = Terms {
        lease_ms: 1_500,
        ..USUAL
    };
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let (store, diary) = (subject.empty().await, folder.path().join("diary"));
    let start = async |owner| Process::start::<S>(&store, &diary, (owner, ALL), SHORT).await;
    let wrote = |begin: bool, owner: &str, key: &str| {
        let of = |line: &Line| line.begin == begin && line.owner == owner && line.key == key;
        lines(&diary).iter().any(of)
    };
    let given = |key: &str, id: &str| Given {
        key: key.to_owned(),
        id: id.to_owned(),
        input: say(&format!("{SLEEP}1200")),
    };
    let mut first = start("first").await;
    first.deliver(&given("1/1", "a")).await;
    first.deliver(&given("1/1", "next")).await;
    until("the first worker", || wrote(true, "first", "1/1")).await;
    signal(&first.pid(), "STOP");
    let second = start("second").await;
    until("the second worker", || wrote(true, "second", "1/1")).await;
    // Its effect ends at once now, while the other worker is at it: the next one of the key must not begin.
    signal(&first.pid(), "CONT");
    until("its end", || wrote(false, "second", "1/1")).await;
    second.kill().await;
    first.deliver(&given("1/2", "b")).await;
    until("the first worker again", || wrote(false, "first", "1/2")).await;
    first.kill().await;

    let stage = Stage::<S>::at(store, folder, limits(SHORT)).await;
    let working = stage.work();
    stage.settled().await;
    stage.stop(working).await;
    let inputs = [given("1/1", "a"), given("1/1", "next"), given("1/2", "b")];
    stage.judge(&inputs, 4).await;
    stage.close().await;
}
