//! The world of the suite. It writes down what it executes, in a file that outlives every process, as GitHub's memory does.
//! The text of an effect says how it behaves.

use crate::toy::{Input, Toy, Words, answer};
use reviewer_engine::{EffectError, EffectId, World};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The begin of the text of an effect that takes so many milliseconds.
pub(crate) const SLEEP: &str = "sleep ";
/// The begin of the text of an effect that fails so many times first, with a message that not every database takes.
pub(crate) const FAIL: &str = "fail ";
/// The text of an effect that always fails.
pub(crate) const GONE: &str = "gone";
pub(crate) const GONE_MESSAGE: &str = "gone for good";
/// The begin of the keys whose slow effects are held back while there is a reserve.
pub(crate) const HELD: &str = "9/";
const HOLD_MS: u64 = 100;

/// The world of one process.
#[derive(Debug)]
pub(crate) struct Diary {
    file: PathBuf,
    /// Names the process.
    owner: String,
}

/// The end or the begin of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) begin: bool,
    pub(crate) owner: String,
    pub(crate) key: String,
    pub(crate) seq: u64,
}

impl Diary {
    pub(crate) fn new(file: &Path, owner: &str) -> Self {
        Self {
            file: file.to_owned(),
            owner: owner.to_owned(),
        }
    }

    /// One write, so that lines of several processes do not mix.
    fn write(&self, word: &str, id: &EffectId) {
        let line = format!("{word} {} {} {}\n", self.owner, id.key, id.seq);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn earlier_attempts(&self, id: &EffectId) -> usize {
        let lines = lines(&self.file);
        let of_it = |line: &&Line| line.begin && line.key == id.key && line.seq == id.seq;
        lines.iter().filter(of_it).count() - 1
    }
}

impl World<Toy> for Diary {
    async fn execute(&self, id: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        self.write("begin", id);
        if let Some(ms) = words.text.strip_prefix(SLEEP) {
            tokio::time::sleep(Duration::from_millis(ms.parse().unwrap())).await;
        }
        let fails = self.earlier_attempts(id) < failures(&words.text);
        self.write("end", id);
        if fails {
            return Err(EffectError {
                retry_after_ms: Some(10),
                ..EffectError::temporary("busy\0for now")
            });
        }
        if words.text == GONE {
            return Err(EffectError::permanent(GONE_MESSAGE));
        }
        Ok(Some(answer(words)))
    }

    async fn holds_back(&self, key: &str) -> Option<u64> {
        let held = key.starts_with(HELD) && reserve(&self.file).exists();
        held.then_some(HOLD_MS)
    }
}

/// While this file exists, the slow effects of some keys are held back.
pub(crate) fn reserve(diary: &Path) -> PathBuf {
    diary.with_extension("reserve")
}

/// The number of failures with which the execution of an effect begins.
pub(crate) fn failures(text: &str) -> usize {
    let failures = text.strip_prefix(FAIL);
    failures.map_or(0, |text| text.parse().unwrap())
}

/// The lines of a diary.
pub(crate) fn lines(file: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let parsed = text.lines().map(|line| {
        let parts: Vec<&str> = line.split(' ').collect();
        let [word, owner, key, seq] = parts[..] else {
            panic!("{line}");
        };
        Line {
            begin: word == "begin",
            owner: owner.to_owned(),
            key: key.to_owned(),
            seq: seq.parse().unwrap(),
        }
    });
    parsed.collect()
}

/// Executions by key and number.
pub(crate) type Executions = BTreeMap<(String, u64), usize>;

/// Counts the executions. Effects of a key were executed one at a time, in the order of their numbers: none begins while
/// another one of its key is at work, or after one with a higher number. The same one may begin again, when its worker died.
pub(crate) fn judge(lines: &[Line]) -> Executions {
    let mut executions = Executions::new();
    let mut open: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    let mut highest: BTreeMap<&str, u64> = BTreeMap::new();
    for line in lines {
        let (key, owner) = (line.key.as_str(), line.owner.as_str());
        if !line.begin {
            if open.get(key) == Some(&(owner, line.seq)) {
                open.remove(key);
            }
            continue;
        }
        if let Some((_, other)) = open.insert(key, (owner, line.seq)) {
            assert_eq!(other, line.seq, "two effects of {key} at once: {lines:#?}");
        }
        let highest = highest.entry(key).or_default();
        assert!(line.seq >= *highest, "{key} went back: {lines:#?}");
        *highest = line.seq;
        *executions.entry((line.key.clone(), line.seq)).or_default() += 1;
    }
    executions
}
