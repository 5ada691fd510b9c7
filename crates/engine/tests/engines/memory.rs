//! The reference: the machine with its queue in the memory of this process, as simple as can be. It shows that the checks ask
//! nothing of an engine but its duties.

use crate::diary::Diary;
use crate::subject::{Node, Subject, Work};
use crate::toy::{Input, Sum, Toy, Words};
use reviewer_engine::{EffectError, EffectId, Limits, Machine, Planned, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The time between two looks at what is due.
const PAUSE: Duration = Duration::from_millis(5);
/// All stores of this process by their names.
static STORES: Mutex<BTreeMap<String, Store>> = Mutex::new(BTreeMap::new());

type Store = Arc<Mutex<Inside>>;

/// Stores in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    stores: AtomicU32,
}

#[derive(Debug, Default)]
struct Inside {
    keys: BTreeMap<String, Key>,
    inbox: BTreeSet<String>,
    cells: BTreeMap<String, (i64, String)>,
}

#[derive(Debug, Default)]
struct Key {
    version: i64,
    state: Sum,
    effects: BTreeMap<u64, Effect>,
    timers: BTreeMap<(Instant, u64), Input>,
    /// An effect is at work.
    busy: bool,
    /// The time of the last input.
    changed: Option<Instant>,
}

#[derive(Debug)]
struct Effect {
    words: Words,
    slow: bool,
    attempt: u32,
    due: Instant,
}

impl Subject for Memory {
    const NAME: &'static str = "memory";
    const FENCES: Option<&'static str> = Self::MORTAL;
    const SHARED: bool = true;
    const FRONTS: Option<&'static str> = Self::MORTAL;
    const MORTAL: Option<&'static str> = Some("nothing outlives the process");
    const SERVER: bool = false;
    const TABLES: bool = false;
    type Node = MemoryNode;

    async fn start() -> Result<Self, String> {
        Ok(Self::default())
    }

    async fn empty(&self) -> String {
        self.stores.fetch_add(1, Ordering::Relaxed).to_string()
    }

    async fn open(store: &str, limits: Limits) -> MemoryNode {
        let mut stores = STORES.lock().unwrap();
        MemoryNode {
            store: Arc::clone(stores.entry(store.to_owned()).or_default()),
            limits,
        }
    }

    async fn kill_server(&self) {
        unreachable!("memory has no server");
    }
}

/// A part of a process that uses a store.
#[derive(Debug)]
pub(crate) struct MemoryNode {
    store: Store,
    limits: Limits,
}

impl Inside {
    fn step(&mut self, key: &str, input: &Input) {
        let key = self.keys.entry(key.to_owned()).or_default();
        let step = Toy.step(&key.state, input, 0);
        key.version += 1;
        key.state = step.state;
        let now = Instant::now();
        key.changed = Some(now);
        if step.hurries {
            for effect in key.effects.values_mut().filter(|effect| effect.slow) {
                (effect.slow, effect.due) = (false, now);
            }
        }
        for planned in step.planned {
            match planned {
                Planned::Effect { seq, effect, .. } => {
                    let effect = Effect {
                        slow: effect.slow,
                        words: effect,
                        attempt: 0,
                        due: now,
                    };
                    key.effects.insert(seq, effect);
                }
                Planned::Timer {
                    seq,
                    after_ms,
                    input,
                } => {
                    let due = now + Duration::from_millis(after_ms);
                    key.timers.insert((due, seq), input);
                }
            }
        }
    }

    fn fire(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for (name, key) in &mut self.keys {
            while let Some(timer) = key.timers.first_entry()
                && timer.key().0 <= now
            {
                due.push((name.clone(), timer.remove()));
            }
        }
        for (key, input) in due {
            self.step(&key, &input);
        }
    }

    /// Gives back a slow effect that was not begun, unless something hurries it.
    fn hold_back(&mut self, id: &EffectId, wait_ms: u64) -> bool {
        let key = self.keys.get_mut(&id.key).unwrap();
        let effect = key.effects.get_mut(&id.seq).unwrap();
        if effect.slow {
            effect.attempt -= 1;
            effect.due = Instant::now() + Duration::from_millis(wait_ms);
            key.busy = false;
        }
        effect.slow
    }

    /// The first effect of a key of which none is at work.
    fn take(&mut self) -> Option<(EffectId, Words, u32)> {
        let now = Instant::now();
        self.keys.iter_mut().find_map(|(name, key)| {
            let (seq, effect) = key.effects.iter_mut().next()?;
            if key.busy || effect.due > now {
                return None;
            }
            key.busy = true;
            effect.attempt += 1;
            let id = EffectId {
                key: name.clone(),
                seq: *seq,
            };
            Some((id, effect.words.clone(), effect.attempt))
        })
    }

    fn end(&mut self, id: &EffectId, ended: Result<Option<Input>, EffectError>, is_last: bool) {
        let key = self.keys.get_mut(&id.key).unwrap();
        key.busy = false;
        let input = match ended {
            Err(error) if !error.permanent && !is_last => {
                let wait = Duration::from_millis(error.retry_after_ms.unwrap_or(100));
                key.effects.get_mut(&id.seq).unwrap().due = Instant::now() + wait;
                return;
            }
            Err(error) => {
                let words = &key.effects[&id.seq].words;
                Some(Toy.failed(id.seq, words, &error.message))
            }
            Ok(input) => input,
        };
        key.effects.remove(&id.seq);
        if let Some(input) = input {
            self.step(&id.key, &input);
        }
    }
}

impl MemoryNode {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.store.lock().unwrap()
    }
}

impl Node for MemoryNode {
    async fn deliver(&self, key: &str, id: &str, input: &Input) -> Result<bool, String> {
        let mut inside = self.inside();
        let is_new = inside.inbox.insert(id.to_owned());
        if is_new {
            inside.step(key, input);
        }
        Ok(!is_new)
    }

    async fn state(&self, key: &str) -> Result<Option<(i64, Sum)>, String> {
        let inside = self.inside();
        let key = inside.keys.get(key);
        Ok(key.map(|key| (key.version, key.state.clone())))
    }

    async fn waiting(&self) -> Result<i64, String> {
        let inside = self.inside();
        let all = inside.keys.values();
        let waiting: usize = all.map(|key| key.effects.len() + key.timers.len()).sum();
        Ok(i64::try_from(waiting).unwrap())
    }

    async fn forget(&self, name: &str, seen: i64) -> Result<bool, String> {
        let mut inside = self.inside();
        let Some(key) = inside.keys.get(name).filter(|key| key.version == seen) else {
            return Ok(false);
        };
        let still = key
            .changed
            .is_some_and(|changed| changed.elapsed() > Duration::from_millis(self.limits.inbox_ms));
        let is_done = key.effects.is_empty() && key.timers.is_empty();
        if still && is_done {
            inside.keys.remove(name);
        }
        Ok(still && is_done)
    }

    async fn cell(&self, name: &str) -> Option<(i64, String)> {
        self.inside().cells.get(name).cloned()
    }

    async fn change_cell(&self, name: &str, seen: i64, text: Option<&str>) -> bool {
        let mut inside = self.inside();
        if inside.cells.get(name).map_or(0, |cell| cell.0) != seen {
            return false;
        }
        match text {
            Some(text) => drop(
                inside
                    .cells
                    .insert(name.to_owned(), (seen + 1, text.to_owned())),
            ),
            None => drop(inside.cells.remove(name)),
        }
        true
    }

    fn work(&self, world: Arc<Diary>) -> Work {
        let (stop, mut stopped) = oneshot::channel();
        let (store, limits) = (Arc::clone(&self.store), self.limits);
        let task = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while matches!(stopped.try_recv(), Err(oneshot::error::TryRecvError::Empty)) {
                while running.try_join_next().is_some() {}
                store.lock().unwrap().fire();
                while running.len() < limits.at_once {
                    let Some((id, words, attempt)) = store.lock().unwrap().take() else {
                        break;
                    };
                    let (store, world) = (Arc::clone(&store), Arc::clone(&world));
                    running.spawn(async move {
                        let wait = world.holds_back(&id.key).await;
                        if wait.is_some_and(|wait| store.lock().unwrap().hold_back(&id, wait)) {
                            return;
                        }
                        let ended = world.execute(&id, words).await;
                        let is_last = attempt >= limits.attempts;
                        store.lock().unwrap().end(&id, ended, is_last);
                    });
                }
                tokio::time::sleep(PAUSE).await;
            }
            running.join_all().await;
        });
        Work { stop, task }
    }

    async fn close(self) {}
}
