//! The world that says what the toy machine wants said, and a folder for their store.

#[path = "../../tests/engines/toy.rs"]
mod machine;

use crate::clock::{Clock, SystemClock};
use crate::engine::Engine;
use crate::store::Store;
use crate::virtual_clock::VirtualClock;
use crate::{Answer, EffectError, EffectId, Limits, World};
pub(super) use machine::{Input, Sum, Toy, Words, answer, say};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

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
