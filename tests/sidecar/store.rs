//! What a session holds, on disk as soon as it is said: OpenCode finds its sessions again when it is started anew in
//! the same home, killed or not.

use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// In the folder that the sidecar starts in, its home.
const FILE: &str = "session.json";

#[derive(Debug, Clone, Default)]
struct Session {
    number: u64,
    /// As they are listed: messages with their parts.
    messages: Vec<Value>,
    /// As it goes to the model.
    conversation: Vec<Value>,
    forgetful: bool,
}

#[derive(Debug, Default)]
pub struct Store(Mutex<Session>);

impl Store {
    /// What an earlier process has left.
    pub fn found() -> Self {
        let text = std::fs::read(FILE).unwrap_or_default();
        let stored: Value = serde_json::from_slice(&text).unwrap_or_default();
        let list = |name: &str| stored[name].as_array().cloned().unwrap_or_default();
        Self(Mutex::new(Session {
            number: stored["number"].as_u64().unwrap_or_default(),
            messages: list("messages"),
            conversation: list("conversation"),
            forgetful: false,
        }))
    }

    /// A new session in place of the one before.
    pub fn begin(&self, system: &Value) -> String {
        self.with(|session| {
            session.number += 1;
            session.messages.clear();
            session.conversation = vec![json!({ "role": "system", "content": system })];
            session.keep();
        });
        self.id()
    }

    pub fn id(&self) -> String {
        self.with(|session| format!("ses_{}", session.number))
    }

    pub fn messages(&self) -> Vec<Value> {
        self.with(|session| session.messages.clone())
    }

    pub fn conversation(&self) -> Vec<Value> {
        self.with(|session| session.conversation.clone())
    }

    pub fn push(&self, message: Value) {
        self.with(|session| {
            session.messages.push(message);
            session.keep();
        });
    }

    /// Results of tools are kept with the answer that called them.
    pub fn say(&self, words: Value) {
        self.with(|session| {
            let is_prompt = words["role"] == "user";
            session.conversation.push(words);
            if is_prompt {
                session.keep();
            }
        });
    }

    /// From now on nothing outlives the process.
    pub fn forget(&self) {
        self.with(|session| session.forgetful = true);
        let _none = std::fs::remove_file(FILE);
    }

    fn with<T>(&self, change: impl FnOnce(&mut Session) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    /// Whole or not at all, whenever the process is killed.
    fn keep(&self) {
        if self.forgetful {
            return;
        }
        let stored = json!({
            "number": self.number, "messages": self.messages, "conversation": self.conversation,
        });
        std::fs::write("session.new", stored.to_string()).expect("the home can be written");
        std::fs::rename("session.new", FILE).expect("the home can be written");
    }
}
