//! The two traits by which the suite uses an engine. Another engine takes part by implementing them, and by a line in
//! `main.rs`.

use crate::diary::Diary;
use crate::toy::{Input, Sum};
use reviewer_engine::Limits;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// An engine under test: its servers, and the stores on them.
pub(crate) trait Subject: Sized + Send + Sync + 'static {
    /// The name in the table, and in the arguments of child processes.
    const NAME: &'static str;
    /// The reason why a frozen worker does not lose its effect to another one, if it does not.
    const FENCES: Option<&'static str>;
    /// Several processes can use a store at the same time.
    const SHARED: bool;
    /// The reason why a process that only takes deliveries cannot be killed, if it cannot.
    const FRONTS: Option<&'static str>;
    /// The reason why nothing outlives a process, if nothing does.
    const MORTAL: Option<&'static str> = None;
    /// The engine has a server that can be killed.
    const SERVER: bool;
    /// The tables of a store were others in earlier versions.
    const TABLES: bool;
    type Node: Node;

    /// Starts what it needs. The error says what is missing.
    fn start() -> impl Future<Output = Result<Self, String>> + Send;

    /// The address of a new, empty store.
    fn empty(&self) -> impl Future<Output = String> + Send;

    /// Opens a store. Child processes do so with nothing but its address.
    fn open(store: &str, limits: Limits) -> impl Future<Output = Self::Node> + Send;

    /// The address of a store for a process that only delivers.
    fn front(store: &str) -> String {
        store.to_owned()
    }

    /// Kills the server of all stores with SIGKILL, and starts it again.
    fn kill_server(&self) -> impl Future<Output = ()> + Send;

    /// Removes a store that nobody uses any more, if it takes more than a place on a disk.
    fn remove(&self, _store: &str) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// A process that uses a store, or a part of one.
pub(crate) trait Node: Sized + Send + Sync + 'static {
    /// Delivers an input; true for a duplicate. It is durable when this returns.
    fn deliver(
        &self,
        key: &str,
        id: &str,
        input: &Input,
    ) -> impl Future<Output = Result<bool, String>> + Send;

    /// The number of inputs that a key has seen, and its state.
    fn state(&self, key: &str) -> impl Future<Output = Result<Option<(i64, Sum)>, String>> + Send;

    /// The number of effects and timers of all keys that are not done.
    fn waiting(&self) -> impl Future<Output = Result<i64, String>> + Send;

    /// Removes a key that is at this version, still and without work. False: it is kept.
    fn forget(&self, key: &str, seen: i64) -> impl Future<Output = Result<bool, String>> + Send;

    /// The version and the text of a cell.
    fn cell(&self, name: &str) -> impl Future<Output = Option<(i64, String)>> + Send;

    /// Changes a cell from the version that was seen, 0 for none; removes it without a text. False: somebody was faster.
    fn change_cell(
        &self,
        name: &str,
        seen: i64,
        text: Option<&str>,
    ) -> impl Future<Output = bool> + Send;

    /// Starts to execute effects and timers.
    fn work(&self, world: Arc<Diary>) -> Work;

    /// Lets the store go.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// The execution of effects and timers by a node.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) task: JoinHandle<()>,
}

impl Work {
    /// Lets what runs finish.
    pub(crate) async fn stop(self) {
        let _gone = self.stop.send(());
        self.task.await.unwrap();
    }
}
