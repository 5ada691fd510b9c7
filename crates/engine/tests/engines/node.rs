//! The engine as a node of the suite. Separate, because it is the same on every store.

use crate::diary::Diary;
use crate::subject::{Node, Work};
use crate::toy::{Input, Sum, Toy};
use reviewer_engine::clock::SystemClock;
use reviewer_engine::{CellChange, Engine, EngineError, Filter, Limits};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The begin of the ids of deliveries that effects and timers cause.
const CAUSED: &str = "effect:";

/// An engine on a store.
#[derive(Debug)]
pub(crate) struct EngineNode(Arc<Engine<Toy>>);

impl EngineNode {
    pub(crate) async fn open(store: &str, limits: Limits) -> Self {
        let clock = Arc::new(SystemClock::default());
        let opened = Engine::open(store, Toy, limits, clock).await;
        Self(Arc::new(opened.unwrap()))
    }

    async fn all_waiting(&self) -> Result<i64, EngineError> {
        let backlog = self.0.backlog().await?;
        let waiting = backlog.effects + backlog.timers;
        if waiting > 0 {
            return Ok(waiting);
        }
        // Restate counts calls, and for an instant one is neither at its sender nor at its receiver. States miss nothing.
        let mut missing = 0;
        for listed in self.0.list(&Filter::default()).await? {
            missing += self.missing(&listed.key).await?;
        }
        Ok(missing)
    }

    /// The number of effects and timers of a key whose outcomes were not stepped.
    async fn missing(&self, key: &str) -> Result<i64, EngineError> {
        let history = self.0.history(key, u32::MAX).await?;
        let Some(status) = self.0.status(key).await? else {
            return Ok(0);
        };
        let caused = history
            .iter()
            .filter(|entry| entry.delivery.starts_with(CAUSED));
        let missing = i64::try_from(status.state.next).unwrap() - count(caused);
        let came_meanwhile = status.version - count(history.iter());
        Ok(missing.max(0) + came_meanwhile)
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> i64 {
    i64::try_from(items.count()).unwrap()
}

impl Node for EngineNode {
    async fn deliver(&self, key: &str, id: &str, input: &Input) -> Result<bool, String> {
        let answer = self.0.deliver(key, id, input).await;
        answer
            .map(|answer| answer.duplicate)
            .map_err(|error| error.to_string())
    }

    async fn state(&self, key: &str) -> Result<Option<(i64, Sum)>, String> {
        let status = self.0.status(key).await;
        let status = status.map_err(|error| error.to_string())?;
        let replayed = self.0.replay(key).await;
        let replayed = replayed.map_err(|error| error.to_string())?;
        let Some(status) = status else {
            return Ok(None);
        };
        // Nobody delivers meanwhile, or the two could differ.
        assert_eq!(replayed.as_ref(), Some(&status.state), "{key} replayed");
        Ok(Some((status.version, status.state)))
    }

    async fn waiting(&self) -> Result<i64, String> {
        self.all_waiting().await.map_err(|error| error.to_string())
    }

    async fn forget(&self, key: &str, seen: i64) -> Result<bool, String> {
        let forgotten = self.0.forget(key, seen).await;
        forgotten.map_err(|error| error.to_string())
    }

    async fn cell(&self, name: &str) -> Option<(i64, String)> {
        let cell = self.0.store().cell(name).await.unwrap();
        cell.map(|cell| (cell.version, cell.text))
    }

    async fn change_cell(&self, name: &str, seen: i64, text: Option<&str>) -> bool {
        let change = match text {
            Some(text) if seen == 0 => CellChange::Add(text),
            Some(text) => CellChange::Replace { seen, text },
            None => CellChange::Remove { seen },
        };
        self.0.store().change_cell(name, change).await.unwrap()
    }

    fn work(&self, world: Arc<Diary>) -> Work {
        let (stop, stopped) = oneshot::channel();
        let stopped = async { stopped.await.unwrap_or(()) };
        let task = tokio::spawn(self.0.run(world, stopped));
        Work { stop, task }
    }

    async fn close(self) {
        let mut engine = self.0;
        loop {
            match Arc::try_unwrap(engine) {
                Ok(engine) => return engine.close().await,
                Err(shared) => engine = shared,
            }
            tokio::task::yield_now().await;
        }
    }
}
