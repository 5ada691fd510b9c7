//! What the sessions hold, on disk as soon as it is said: OpenCode finds its sessions again when it is started anew in
//! the same home, killed or not. One is spoken in at a time.

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
    /// The sessions before it, as they are stored.
    others: Vec<Value>,
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
            others: list("others"),
            forgetful: false,
        }))
    }

    /// A new session beside those before.
    pub fn begin(&self, system: &Value) -> String {
        self.with(|session| {
            if session.number > 0 {
                let before = session.stored();
                session.others.push(before);
            }
            session.number = session.last() + 1;
            session.messages.clear();
            session.conversation = vec![json!({ "role": "system", "content": system })];
            session.keep();
        });
        self.id()
    }

    /// Goes on in this session, if there is one of this name.
    pub fn turn_to(&self, id: &str) -> bool {
        self.with(|session| {
            let named = |stored: &Value| format!("ses_{}", stored["number"]) == id;
            if named(&session.stored()) {
                return true;
            }
            let Some(at) = session.others.iter().position(named) else {
                return false;
            };
            let before = session.stored();
            let other = std::mem::replace(&mut session.others[at], before);
            let list = |name: &str| other[name].as_array().cloned().unwrap_or_default();
            session.number = other["number"].as_u64().unwrap_or_default();
            session.messages = list("messages");
            session.conversation = list("conversation");
            true
        })
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
    fn stored(&self) -> Value {
        json!({ "number": self.number, "messages": self.messages, "conversation": self.conversation })
    }

    /// The highest number that was given.
    fn last(&self) -> u64 {
        let others = self.others.iter().filter_map(|one| one["number"].as_u64());
        others.chain([self.number]).max().unwrap_or_default()
    }

    /// Whole or not at all, whenever the process is killed.
    fn keep(&self) {
        if self.forgetful {
            return;
        }
        let mut stored = self.stored();
        stored["others"] = json!(self.others);
        std::fs::write("session.new", stored.to_string()).expect("the home can be written");
        std::fs::rename("session.new", FILE).expect("the home can be written");
    }
}
