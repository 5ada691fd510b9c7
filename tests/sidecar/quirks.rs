//! The ways in which the quick sidecar misbehaves when the model calls them as tools. Each is named by what it does; the
//! tests kill and stop the process from outside.

use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

#[derive(Debug)]
pub struct Quirks {
    /// Nobody hears its events any more.
    pub silent: watch::Sender<bool>,
    /// A turn's end is not told to the one who prompted.
    pub mute: AtomicBool,
    /// What waits for a person.
    pub pending: Mutex<Vec<String>>,
    pub answered: Notify,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            silent: watch::channel(false).0,
            mute: AtomicBool::default(),
            pending: Mutex::default(),
            answered: Notify::new(),
        }
    }
}

impl Quirks {
    pub fn waiting(&self) -> Vec<String> {
        self.pending.lock().expect("no panic").clone()
    }

    /// Somebody answered what waited.
    pub fn answer(&self, id: &str) {
        self.pending
            .lock()
            .expect("no panic")
            .retain(|one| one != id);
        self.answered.notify_waiters();
    }

    /// Carries out a misbehaviour by its name; `None` for a tool that is none.
    pub async fn carry_out(&self, name: &str, arguments: &Value) -> Option<String> {
        match name {
            "sidecar_print" => {
                let line = arguments["line"].as_str().unwrap_or_default();
                for _ in 0..arguments["times"].as_u64().unwrap_or(1) {
                    println!("{line}");
                    eprintln!("{line}");
                }
                Some("Printed.".into())
            }
            "sidecar_exit" => std::process::exit(3),
            // The whole program: it has one thread.
            "sidecar_hang" => loop {
                std::thread::sleep(Duration::from_mins(1));
            },
            "sidecar_lose_events" => {
                self.silent.send_replace(true);
                Some("Nobody hears it.".into())
            }
            "sidecar_never_answer" => {
                self.mute.store(true, Ordering::Relaxed);
                Some("The prompt stays open.".into())
            }
            "sidecar_ask_permission" => {
                self.pending.lock().expect("no panic").push("per_1".into());
                while !self.waiting().is_empty() {
                    let answered = self.answered.notified();
                    let _again = tokio::time::timeout(Duration::from_millis(100), answered).await;
                }
                Some("The permission was rejected.".into())
            }
            _ => None,
        }
    }
}
