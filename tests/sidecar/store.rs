//! What the sessions hold, on disk as soon as it is said: OpenCode finds its sessions again when it is started anew in
//! the same home, killed or not. Several may be spoken in at a time.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// In the folder that the sidecar starts in, its home.
const FILE: &str = "session.json";

#[derive(Debug, Clone, Default)]
struct Session {
    /// As they are listed: messages with their parts.
    messages: Vec<Value>,
    /// As it goes to the model.
    conversation: Vec<Value>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: BTreeMap<String, Session>,
    begun: usize,
    forgetful: bool,
}

#[derive(Debug, Default)]
pub struct Store(Mutex<Sessions>);

impl Store {
    /// What an earlier process has left.
    pub fn found() -> Self {
        let text = std::fs::read(FILE).unwrap_or_default();
        let stored: Value = serde_json::from_slice(&text).unwrap_or_default();
        let sessions = stored.as_object().into_iter().flatten();
        let by_id: BTreeMap<String, Session> = sessions
            .map(|(id, one)| {
                let list = |name: &str| one[name].as_array().cloned().unwrap_or_default();
                let session = Session {
                    messages: list("messages"),
                    conversation: list("conversation"),
                };
                (id.clone(), session)
            })
            .collect();
        Self(Mutex::new(Sessions {
            begun: by_id.len(),
            by_id,
            forgetful: false,
        }))
    }

    /// A new session beside those before.
    pub fn begin(&self, system: &Value) -> String {
        self.with(|sessions| {
            sessions.begun += 1;
            let id = format!("ses_{}", sessions.begun);
            let session = Session {
                messages: Vec::new(),
                conversation: vec![json!({ "role": "system", "content": system })],
            };
            sessions.by_id.insert(id.clone(), session);
            sessions.keep();
            id
        })
    }

    pub fn knows(&self, id: &str) -> bool {
        self.with(|sessions| sessions.by_id.contains_key(id))
    }

    pub fn messages(&self, id: &str) -> Vec<Value> {
        self.with(|sessions| sessions.of(id).messages.clone())
    }

    pub fn conversation(&self, id: &str) -> Vec<Value> {
        self.with(|sessions| sessions.of(id).conversation.clone())
    }

    pub fn push(&self, id: &str, message: Value) {
        self.with(|sessions| {
            sessions.of(id).messages.push(message);
            sessions.keep();
        });
    }

    /// Results of tools are kept with the answer that called them.
    pub fn say(&self, id: &str, words: Value) {
        self.with(|sessions| {
            let is_prompt = words["role"] == "user";
            sessions.of(id).conversation.push(words);
            if is_prompt {
                sessions.keep();
            }
        });
    }

    /// From now on nothing outlives the process.
    pub fn forget(&self) {
        self.with(|sessions| sessions.forgetful = true);
        let _none = std::fs::remove_file(FILE);
    }

    fn with<T>(&self, change: impl FnOnce(&mut Sessions) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sessions {
    fn of(&mut self, id: &str) -> &mut Session {
        self.by_id.entry(id.to_owned()).or_default()
    }

    /// Whole or not at all, whenever the process is killed.
    fn keep(&self) {
        if self.forgetful {
            return;
        }
        let sessions = self.by_id.iter().map(|(id, one)| {
            let stored = json!({ "messages": one.messages, "conversation": one.conversation });
            (id.clone(), stored)
        });
        let stored: Value = sessions.collect::<serde_json::Map<_, _>>().into();
        std::fs::write("session.new", stored.to_string()).expect("the home can be written");
        std::fs::rename("session.new", FILE).expect("the home can be written");
    }
}
