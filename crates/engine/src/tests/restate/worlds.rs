//! Worlds for stories: one that stops at a gate, and one that writes a diary that outlives its process.
#![expect(clippy::disallowed_methods, reason = "reads and writes the diary")]

use crate::tests::toy::{Input, Toy, Words, answer};
use crate::{EffectError, EffectId, World};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tokio::sync::watch;

/// Executes effects that begin with `wait` only once it is open.
pub(super) struct Gated {
    open: watch::Sender<bool>,
    pub(super) begun: Mutex<Vec<String>>,
}

impl Gated {
    pub(super) fn new() -> Self {
        Self {
            open: watch::Sender::new(false),
            begun: Mutex::default(),
        }
    }

    pub(super) fn open(&self) {
        self.open.send_replace(true);
    }

    pub(super) fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }

    pub(super) fn has_begun(&self, text: &str) -> bool {
        self.begun().iter().any(|begun| begun == text)
    }
}

impl World<Toy> for Gated {
    async fn execute(&self, _: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        self.begun.lock().unwrap().push(words.text.clone());
        if words.text.starts_with("wait") {
            let mut open = self.open.subscribe();
            open.wait_for(|open| *open).await.unwrap();
        }
        Ok(Some(answer(words)))
    }
}

/// Writes down what begins and what ends. The first attempt at `fatal` never ends.
pub(super) struct Diary {
    pub(super) file: PathBuf,
    pub(super) hangs: bool,
}

impl World<Toy> for Diary {
    async fn execute(&self, id: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        write(&self.file, &format!("begin {id}"));
        if self.hangs && words.text == "fatal" {
            std::future::pending::<()>().await;
        }
        write(&self.file, &format!("end {id}"));
        Ok(Some(answer(words)))
    }
}

pub(super) fn write(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    writeln!(file.unwrap(), "{line}").unwrap();
}

pub(super) fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
