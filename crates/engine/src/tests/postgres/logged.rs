//! The log during an outage, as an operator reads it.

use super::open;
use super::server::Server;
use crate::Limits;
use crate::engine::Engine;
use crate::tests::toy::{Input, Mouth, Running, deliver, limits, state};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The lines of this crate, with their levels.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("reviewer_engine")
            && *metadata.level() <= tracing::Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let line = format!("{} {}", event.metadata().level(), message.0);
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

async fn until(lines: &Lines, count: usize) {
    for _ in 0..6_000 {
        if lines.all().len() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", lines.all());
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn an_outage_is_told_once_and_so_is_its_end() {
    let lines = Lines::default();
    // All tasks of this test are on its thread.
    let _logged = tracing::subscriber::set_default(lines.clone());
    let server = Server::start().await.unwrap();
    let polling = Limits {
        longest_sleep_ms: 20,
        ..limits()
    };
    let engine = open(&server.empty().await, polling).await;
    let running = Running::start(&engine, &Arc::new(Mouth::default()));
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    server.down();
    until(&lines, 1).await;
    // The loop and a delivery meet the same outage.
    let refused = Engine::deliver(&engine, "1/7", "b", &Input::Add(1)).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("cannot be reached"), "{refused}");
    server.up().await;
    until(&lines, 2).await;
    deliver(&engine, "1/7", "b", Input::Add(1)).await;
    assert_eq!(state(&engine, "1/7").await.total, 2);
    running.stop_with(&engine).await;
    let lines = lines.all();
    let [lost, back] = &lines[..] else {
        panic!("{lines:#?}");
    };
    let begin = "WARN the server of the store postgres://postgres:***@127.0.0.1:";
    assert!(lost.starts_with(begin), "{lost}");
    assert!(
        lost.contains(" does not answer, and is tried again: "),
        "{lost}"
    );
    assert!(
        back.starts_with("INFO the server of the store postgres://"),
        "{back}"
    );
    assert!(back.ends_with(" answers again"), "{back}");
}
