//! A machine that adds numbers and has sentences said, the world that says them, and a folder for their store.

use crate::clock::{Clock, SystemClock};
use crate::virtual_clock::VirtualClock;
use crate::{
    Answer, EffectError, EffectId, Engine, Lane, Limits, Machine, Planned, Step, Store, World,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

#[derive(Debug, Clone, Copy)]
pub(super) struct Toy;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) next: u64,
    pub(super) total: i64,
    /// A word for each input, in their order.
    pub(super) seen: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Input {
    Add(i64),
    Say(Words),
    Later { after_ms: u64, add: i64 },
    Said(String),
    Failed { seq: u64, error: String },
}

/// An effect. `then` further ones follow, each after the answer of the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Words {
    pub(super) text: String,
    pub(super) slow: bool,
    pub(super) then: u32,
}

pub(super) fn say(text: &str) -> Input {
    Input::Say(Words {
        text: text.to_owned(),
        slow: false,
        then: 0,
    })
}

impl Machine for Toy {
    type State = Sum;
    type Input = Input;
    type Effect = Words;

    fn step(&self, state: &Sum, input: &Input, _now: i64) -> Step<Self> {
        let mut state = state.clone();
        let seq = state.next + 1;
        let mut planned = Vec::new();
        match input {
            Input::Add(amount) => state.total += amount,
            Input::Say(words) => {
                let lane = if words.slow { Lane::Slow } else { Lane::Fast };
                planned.push(Planned::Effect {
                    seq,
                    effect: words.clone(),
                    lane,
                });
            }
            Input::Later { after_ms, add } => planned.push(Planned::Timer {
                seq,
                after_ms: *after_ms,
                input: Input::Add(*add),
            }),
            Input::Said(_) => state.total += 1,
            Input::Failed { .. } => state.total -= 1,
        }
        state.next += u64::try_from(planned.len()).unwrap();
        state.seen.push(word(input));
        Step {
            log: vec![word(input)],
            state,
            planned,
            hurries: matches!(input, Input::Add(_)),
        }
    }

    fn failed(&self, seq: u64, _effect: &Words, error: &str) -> Input {
        Input::Failed {
            seq,
            error: error.to_owned(),
        }
    }

    fn phase(&self, state: &Sum) -> String {
        let phase = if state.total < 0 { "owing" } else { "solvent" };
        phase.to_owned()
    }
}

fn word(input: &Input) -> String {
    match input {
        Input::Add(amount) => format!("add {amount}"),
        Input::Say(words) => format!("say {}", words.text),
        Input::Later { .. } => "later".to_owned(),
        Input::Said(text) => format!("said {text}"),
        Input::Failed { error, .. } => format!("failed: {error}"),
    }
}

/// The answer to a said sentence.
pub(super) fn answer(words: Words) -> Input {
    match words.then {
        0 => Input::Said(words.text),
        then => Input::Say(Words {
            then: then - 1,
            ..words
        }),
    }
}

/// The world's memory: the effects in the order in which they were started, with the times.
#[derive(Debug, Default)]
pub(super) struct Mouth {
    pub(super) said: Mutex<Vec<(String, String, i64)>>,
    /// Errors for the next attempts, by text.
    pub(super) errors: Mutex<BTreeMap<String, Vec<EffectError>>>,
    pub(super) clock: Option<VirtualClock>,
}

impl Mouth {
    pub(super) fn texts(&self) -> Vec<String> {
        let said = self.said.lock().unwrap();
        said.iter().map(|(_, text, _)| text.clone()).collect()
    }

    pub(super) fn times(&self) -> Vec<i64> {
        let said = self.said.lock().unwrap();
        said.iter().map(|(_, _, at)| *at).collect()
    }
}

impl World<Toy> for Mouth {
    async fn execute(&self, id: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        let now = self.clock.as_ref().map_or(0, Clock::now_ms);
        let said = (id.to_string(), words.text.clone(), now);
        self.said.lock().unwrap().push(said);
        let mut errors = self.errors.lock().unwrap();
        match errors.get_mut(&words.text).and_then(Vec::pop) {
            Some(error) => Err(error),
            None => Ok(Some(answer(words))),
        }
    }
}

/// A folder with a store.
pub(super) struct Place {
    pub(super) folder: Folder,
    pub(super) clock: VirtualClock,
}

/// A folder that is removed in the end, or one of somebody else.
pub(super) enum Folder {
    Own(TempDir),
    Shared(PathBuf),
}

impl Folder {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Own(folder) => folder.path(),
            Self::Shared(folder) => folder,
        }
    }
}

pub(super) type ToyEngine = Arc<Engine<Toy>>;

/// An engine that runs, and how to stop it.
pub(super) struct Running {
    pub(super) engine: ToyEngine,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Place {
    pub(super) fn new() -> Self {
        Self {
            folder: Folder::Own(tempfile::tempdir().unwrap()),
            clock: VirtualClock::new(1_000_000),
        }
    }

    /// The place of another process.
    pub(super) fn at(folder: &Path) -> Self {
        Self {
            folder: Folder::Shared(folder.to_owned()),
            ..Self::new()
        }
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("life.db")
    }

    pub(super) fn name(&self) -> String {
        self.file().to_str().unwrap().to_owned()
    }

    pub(super) async fn open(&self) -> ToyEngine {
        self.open_with(limits()).await
    }

    pub(super) async fn open_with(&self, limits: Limits) -> ToyEngine {
        let clock = Arc::new(self.clock.clone());
        let name = self.name();
        let engine = Engine::open(&name, Toy, limits, clock);
        Arc::new(engine.await.unwrap())
    }

    /// For the system's time.
    pub(super) async fn open_in_real_time(&self, limits: Limits) -> ToyEngine {
        let clock = Arc::new(SystemClock::default());
        let name = self.name();
        let engine = Engine::open(&name, Toy, limits, clock);
        Arc::new(engine.await.unwrap())
    }

    pub(super) async fn rows(&self) -> Store {
        Store::open(&self.name()).await.unwrap()
    }

    pub(super) fn mouth(&self) -> Arc<Mouth> {
        Arc::new(Mouth {
            clock: Some(self.clock.clone()),
            ..Mouth::default()
        })
    }
}

/// Without polls, so that a virtual clock comes to rest.
pub(super) fn limits() -> Limits {
    Limits {
        longest_sleep_ms: u64::MAX,
        ..Limits::default()
    }
}

impl Running {
    pub(super) fn start<W: World<Toy>>(engine: &ToyEngine, world: &Arc<W>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (engine, world) = (Arc::clone(engine), Arc::clone(world));
        let stopped = async { stopped.await.unwrap_or(()) };
        let task = tokio::spawn(engine.run(world, stopped));
        Self { engine, stop, task }
    }

    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
        close(self.engine).await;
    }

    /// Stops an engine that the caller goes on using.
    pub(super) async fn stop_with(self, engine: &ToyEngine) {
        assert!(Arc::ptr_eq(engine, &self.engine));
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }

    /// Ends everything at once, as a dead process would.
    pub(super) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
        close(self.engine).await;
    }
}

/// Closes an engine as soon as its last worker has let it go.
pub(super) async fn close(mut engine: ToyEngine) {
    loop {
        match Arc::try_unwrap(engine) {
            Ok(engine) => return engine.close().await,
            Err(shared) => engine = shared,
        }
        tokio::task::yield_now().await;
    }
}

/// Runs an engine until nothing is left to do or to wait for.
pub(super) async fn settle<W: World<Toy>>(engine: ToyEngine, world: &Arc<W>, clock: &VirtualClock) {
    let running = Running::start(&engine, world);
    drop(engine);
    clock.settled().await;
    running.stop().await;
}

pub(super) async fn deliver(engine: &ToyEngine, key: &str, id: &str, input: Input) -> Answer<Sum> {
    engine.deliver(key, id, &input).await.unwrap()
}

pub(super) async fn state(engine: &ToyEngine, key: &str) -> Sum {
    engine.status(key).await.unwrap().unwrap().state
}
