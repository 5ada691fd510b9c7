//! A process that dies at every boundary: before each statement, after each commit, before and after each effect, the
//! opening of the store included. The next process ends as an undisturbed one would.
#![expect(
    clippy::disallowed_methods,
    reason = "starts itself as a process that dies, and reads the files that it leaves"
)]

use super::toy::{Input, Place, Running, Sum, Toy, Words, answer, deliver, say, settle, state};
use crate::session::BOUNDARY;
use crate::{EffectError, EffectId, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const FOLDER: &str = "ENGINE_TEST_FOLDER";
const BOUNDARIES: &str = "ENGINE_TEST_BOUNDARIES";
/// Boundaries that are still to be passed alive.
static LEFT: AtomicU64 = AtomicU64::new(0);

fn script() -> Vec<(&'static str, &'static str, Input)> {
    let chain = Words {
        text: "chain".to_owned(),
        slow: false,
        then: 2,
    };
    let later = Input::Later {
        after_ms: 60_000,
        add: 7,
    };
    vec![
        ("1/7", "a", Input::Say(chain)),
        ("1/7", "b", later),
        ("1/8", "c", say("other")),
    ]
}

/// Writes each execution down. Its memory outlives the process, as GitHub's does.
struct Diary(PathBuf);

impl World<Toy> for Diary {
    async fn execute(&self, id: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        write(&self.0, &id.to_string());
        Ok(Some(answer(words)))
    }
}

fn write(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    writeln!(file.unwrap(), "{line}").unwrap();
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Delivers what was not acknowledged, while effects are executed.
async fn live(place: &Place) {
    let (diary, acknowledged) = files(place.folder.path());
    let engine = place.open().await;
    let diary = Arc::new(Diary(diary));
    let running = Running::start(&engine, &diary);
    let done = lines(&acknowledged);
    for (key, id, input) in script() {
        if !done.iter().any(|line| line == id) {
            deliver(&engine, key, id, input).await;
            write(&acknowledged, id);
        }
    }
    running.stop_with(&engine).await;
    settle(engine, &diary, &place.clock).await;
}

fn files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("diary"), folder.join("acknowledged"))
}

async fn outcome(place: &Place) -> BTreeMap<&'static str, Sum> {
    let engine = place.open().await;
    let mut states = BTreeMap::new();
    for key in ["1/7", "1/8"] {
        let mut sum = state(&engine, key).await;
        sum.seen.sort();
        states.insert(key, sum);
    }
    assert_eq!(engine.backlog().await.unwrap(), crate::Backlog::default());
    super::toy::close(engine).await;
    states
}

/// The process that dies; not a test by itself.
#[tokio::test]
#[ignore = "started by the test below"]
async fn a_process_that_dies() {
    let (Ok(folder), Ok(boundaries)) = (std::env::var(FOLDER), std::env::var(BOUNDARIES)) else {
        return;
    };
    LEFT.store(boundaries.parse().unwrap(), Ordering::SeqCst);
    let die = || {
        if LEFT.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    };
    BOUNDARY.set(die).unwrap();
    live(&Place::at(Path::new(&folder))).await;
}

#[tokio::test]
async fn a_death_at_any_boundary_loses_nothing_and_doubles_only_what_was_under_way() {
    let undisturbed = Place::new();
    live(&undisturbed).await;
    let expected = outcome(&undisturbed).await;
    let effects: BTreeSet<String> = lines(&files(undisturbed.folder.path()).0)
        .into_iter()
        .collect();
    assert_eq!(effects.len(), 4);

    let (mut deaths, mut doubled) = (0, 0);
    for boundary in 1.. {
        let place = Place::new();
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "tests::crashes::a_process_that_dies",
                "--ignored",
            ])
            .env(FOLDER, place.folder.path())
            .env(BOUNDARIES, boundary.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let survived = child.unwrap().success();
        live(&place).await;
        assert_eq!(outcome(&place).await, expected, "boundary {boundary}");
        let executed = lines(&files(place.folder.path()).0);
        let distinct: BTreeSet<String> = executed.iter().cloned().collect();
        assert_eq!(distinct, effects, "boundary {boundary}");
        // Two keys, so two effects at most were under way.
        assert!(executed.len() <= effects.len() + 2, "{executed:?}");
        doubled += usize::from(executed.len() > effects.len());
        if survived {
            break;
        }
        deaths += 1;
    }
    println!("{deaths} deaths, {doubled} of them with an effect that was executed twice");
    assert!(deaths > 50 && doubled > 0, "{deaths} deaths, {doubled}");
}
