//! The stories of PostgreSQL alone: its refusals, its races, its outages. `make engine-test` installs the server and runs them; the
//! suite in tests/engines has everything that is the same on every engine.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start a server of their own"
)]

mod forgetting;
mod logged;
mod migrating;
mod outages;
mod races;
mod refusals;
mod rows;
#[path = "../../tests/engines/server.rs"]
mod server;

use super::ports;
use super::toy::{Toy, ToyEngine};
use crate::Limits;
use crate::clock::SystemClock;
use crate::engine::Engine;
use crate::store::Store;
use server::Server;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The server of tests that run at the same time. It ends with the last of them.
static SHARED: Mutex<Weak<Server>> = Mutex::const_new(Weak::new());

async fn shared() -> Arc<Server> {
    let mut place = SHARED.lock().await;
    if let Some(server) = place.upgrade() {
        return server;
    }
    let server = Arc::new(Server::start().await.unwrap());
    *place = Arc::downgrade(&server);
    server
}

async fn open(store: &str, limits: Limits) -> ToyEngine {
    let clock = Arc::new(SystemClock::default());
    Arc::new(Engine::open(store, Toy, limits, clock).await.unwrap())
}

/// Waits until a question of the database has the answer 1.
async fn until(store: &Store, question: &'static str) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_mins(2) {
        let mut session = store.session().await.unwrap();
        let row = session.optional(sqlx::query(question)).await.unwrap();
        let answer: i64 = sqlx::Row::try_get(&row.unwrap(), 0).unwrap();
        if answer == 1 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("never: {question}");
}

/// The number of statements in this database that wait for a lock.
const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'";
