//! A store with its nodes in this process, and the diary of what they execute.

use crate::checks::world;
use crate::model::Given;
use crate::subject::{Node, Subject, Work};
use crate::toy::Sum;
use futures_util::future::join_all;
use reviewer_engine::Limits;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing that a test waits for takes longer.
const LONGEST: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(20);

/// A store and its nodes.
pub(crate) struct Stage<S: Subject> {
    pub(crate) store: String,
    limits: Limits,
    nodes: Vec<S::Node>,
    folder: Arc<TempDir>,
}

/// Leases that nobody loses by being slow.
pub(crate) fn limits() -> Limits {
    Limits {
        at_once: 5,
        attempts: 30,
        longest_sleep_ms: 50,
        ..Limits::default()
    }
}

impl<S: Subject> Stage<S> {
    /// A new store with two nodes, or with one where a store has one process.
    pub(crate) async fn set(subject: &S, limits: Limits) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::at(subject.empty().await, folder, limits).await
    }

    /// A store that was used before, with its diary.
    pub(crate) async fn at(store: String, folder: Arc<TempDir>, limits: Limits) -> Self {
        let count = if S::SHARED { 2 } else { 1 };
        let nodes = join_all((0..count).map(|_| S::open(&store, limits))).await;
        Self {
            store,
            limits,
            nodes,
            folder,
        }
    }

    pub(crate) fn node(&self, n: usize) -> &S::Node {
        &self.nodes[n % self.nodes.len()]
    }

    pub(crate) fn diary(&self) -> PathBuf {
        self.folder.path().join("diary")
    }

    pub(crate) fn work(&self) -> Vec<Work> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .map(|(n, node)| node.work(world(&self.diary(), &format!("node{n}"))))
            .collect()
    }

    pub(crate) async fn stop(&self, working: Vec<Work>) {
        join_all(working.into_iter().map(Work::stop)).await;
    }

    pub(crate) async fn deliver_all(&self, given: &[Given]) {
        let all = given.iter().enumerate();
        let all = all.map(|(n, one)| self.node(n).deliver(&one.key, &one.id, &one.input));
        for answer in join_all(all).await {
            answer.unwrap();
        }
    }

    /// Waits until nothing is left to do.
    pub(crate) async fn settled(&self) {
        let begun = Instant::now();
        loop {
            let waiting = self.node(0).waiting().await;
            if waiting == Ok(0) {
                return;
            }
            assert!(begun.elapsed() < LONGEST, "still waiting: {waiting:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub(crate) async fn state(&self, key: &str) -> (i64, Sum) {
        self.node(0).state(key).await.unwrap().unwrap()
    }

    pub(crate) async fn close(self) {
        for node in self.nodes {
            node.close().await;
        }
    }

    /// Closes the nodes; the diary and the address of the store.
    pub(crate) async fn leave(self) -> (Arc<TempDir>, String) {
        let left = (Arc::clone(&self.folder), self.store.clone());
        self.close().await;
        left
    }

    pub(crate) async fn restart(self) -> Self {
        let limits = self.limits;
        self.restart_with(limits).await
    }

    pub(crate) async fn restart_with(self, limits: Limits) -> Self {
        let (store, folder) = (self.store.clone(), Arc::clone(&self.folder));
        self.close().await;
        Self::at(store, folder, limits).await
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONGEST, "waited for {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
