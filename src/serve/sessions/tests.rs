//! Sessions as real processes: a shell in the place of the binary.
#![expect(
    clippy::disallowed_methods,
    reason = "test code: a failure here is a failure of the test"
)]

use super::*;
use reviewer_core::lifecycle::Task;
use std::future;
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;

const STORE: &str = "store";

struct Place {
    folder: TempDir,
    children: Children,
    ends: UnboundedReceiver<Ended>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (children, ends) = children(folder.path(), STORE);
        Self {
            folder,
            children,
            ends,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn end(&mut self) -> Ended {
        self.ends.recv().await.expect("an end")
    }

    /// The folder of a session, whether it is there or not.
    fn of(&self, id: &SessionId) -> PathBuf {
        self.children.folder.join(id.name(STORE))
    }
}

fn children(data: &Path, store: &str) -> (Children, UnboundedReceiver<Ended>) {
    let (sender, ends) = mpsc::unbounded_channel();
    let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let children = Children::new(data, "/bin/sh".into(), environment, store.into(), sender);
    children.make_folders().expect("folders");
    (children, ends)
}

fn id(dispatch: u64) -> SessionId {
    let (repository, number) = (1, 7);
    SessionId {
        key: PullKey { repository, number },
        dispatch,
    }
}

fn ordered(id: &SessionId, script: &str) -> Ordered {
    Ordered {
        arguments: vec!["-c".into(), script.into()],
        order: SessionOrder {
            dispatch: id.dispatch,
            callback_url: "http://127.0.0.1:9/".into(),
            callback_token: "t".into(),
            service: None,
            head: "b".repeat(40),
            folder: "f".into(),
            reviewer: None,
            check_runs: false,
            shared_account: false,
            is_last: false,
            inputs: std::collections::BTreeMap::new(),
        },
    }
}

fn launch(dispatch: u64, script: &str) -> Launch {
    limited(dispatch, script, 600_000)
}

fn limited(dispatch: u64, script: &str, deadline_ms: u64) -> Launch {
    let id = id(dispatch);
    let order = ordered(&id, script);
    Launch {
        effect: Effect::Dispatch {
            dispatch,
            task: Task::Review {
                can_escalate: Vec::new(),
                is_last: false,
            },
            head: "b".repeat(40).parse().expect("a commit"),
            agent: "quality".into(),
            deadline_ms,
            beyond_quota: false,
        },
        order: Box::pin(future::ready(Ok(order))),
        id,
    }
}

/// A process that has started another one, and tells its number in a file.
fn with_grandchild(file: &Path) -> String {
    let file = file.display();
    format!("sleep 600 & echo $! > {file}.new; mv {file}.new {file}; wait")
}

async fn appears(file: &Path) {
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the process is no more, but for its entry where nobody waits for it.
async fn is_gone(file: &Path) {
    let process = fs::read_to_string(file).expect("a number");
    let stat = format!("/proc/{}/stat", process.trim());
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_does_not_read_its_order_is_ended_at_its_deadline() {
    let mut place = Place::new();
    let mut order = ordered(&id(3), "sleep 600");
    // More than a pipe holds.
    let persona = "x".repeat(1 << 20);
    order.order.inputs.insert("persona".into(), persona);
    place.children.start(Launch {
        order: Box::pin(future::ready(Ok(order))),
        ..limited(3, "", 100)
    });
    let ended = tokio::time::timeout(Duration::from_mins(1), place.end()).await;
    let said = ended.expect("a deadline").said.expect("an end");
    let why = said.expect_err("no message");
    assert!(why.contains("has had its time"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_cannot_be_made_is_a_failure_with_its_wait() {
    let mut place = Place::new();
    let error = EffectError {
        retry_after_ms: Some(5_000),
        ..EffectError::temporary("GitHub asks to wait.")
    };
    let refused = Launch {
        order: Box::pin(future::ready(Err(error))),
        ..launch(3, "")
    };
    place.children.start(refused);
    let said = place.end().await.said.expect("an end").expect("a message");
    let SessionEvent::Failed {
        error,
        retry_after_ms,
        ..
    } = said.event
    else {
        panic!("{said:?}");
    };
    assert_eq!(
        (error.as_str(), retry_after_ms),
        ("GitHub asks to wait.", Some(5_000))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn at_its_deadline_a_session_ends_with_all_its_processes_and_its_log_is_kept() {
    let mut place = Place::new();
    let file = place.path("grandchild");
    let script = format!("echo it begins; {}", with_grandchild(&file));
    place.children.start(limited(4, &script, 1_500));
    let ended = place.end().await;
    let why = "The session has had its time and was ended.";
    assert_eq!(ended.said, Some(Err(why.to_owned())));
    is_gone(&file).await;
    place.children.clear(&id(4));
    assert!(!place.of(&id(4)).exists());
    let log = place.children.logs.join("store-1-7-4.log");
    assert_eq!(fs::read_to_string(log).expect("a log"), "it begins\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_life_ends_is_gone_with_its_processes_and_tells_nothing() {
    let mut place = Place::new();
    let file = place.path("grandchild");
    let script = with_grandchild(&file);
    place.children.start(launch(5, &script));
    appears(&file).await;
    place.children.end(&id(5));
    is_gone(&file).await;
    while place.of(&id(5)).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(place.end().await.said, None);
    place.children.start(launch(6, "exit 3"));
    let ended = place.end().await;
    assert_eq!(ended.id, id(6));
    let why = ended.said.expect("an end").expect_err("no result");
    assert!(why.contains("exit status: 3"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_is_ended_and_what_it_said_is_told() {
    let place = Place::new();
    for said in [false, true] {
        let file = place.path(&format!("grandchild-{said}"));
        // The service before, whose process does not wait for the end of its child.
        let (before, _ends) = children(place.folder.path(), STORE);
        before.start(launch(7, &with_grandchild(&file)));
        appears(&file).await;
        appears(&place.of(&id(7)).join(PROCESS_FILE)).await;
        let message = SessionMessage {
            dispatch: 7,
            event: SessionEvent::Started {
                session: "here".into(),
            },
        };
        if said {
            write_json(&place.of(&id(7)).join(RESULT_FILE), &message).expect("a file");
        }
        let left = place.children.left_over();
        is_gone(&file).await;
        let told: Vec<_> = left.into_iter().map(|one| (one.id, one.said)).collect();
        let expected = [(id(7), Some(Ok(message)))];
        assert_eq!(told, expected[..usize::from(said)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_of_another_service_that_is_well_is_left_alone() {
    let place = Place::new();
    let mut other = std::process::Command::new("/bin/sleep")
        .arg("600")
        .spawn()
        .expect("a process");
    let folder = place.of(&id(8));
    private_folder(&folder).expect("a folder");
    let owned = orphans::Owned {
        id: id(8),
        service: orphans::Process::of(Some(other.id())),
    };
    write_json(&folder.join(SESSION_FILE), &owned).expect("a file");
    assert!(place.children.left_over().is_empty());
    assert!(folder.exists());
    other.kill().and_then(|()| other.wait()).expect("its end");
    assert!(place.children.left_over().is_empty());
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_a_store_that_was_lost_is_ended_and_its_number_is_free() {
    let place = Place::new();
    let file = place.path("grandchild");
    let (before, _ends) = children(place.folder.path(), "lost");
    before.start(launch(9, &with_grandchild(&file)));
    appears(&file).await;
    let folder = before.folder.join(id(9).name("lost"));
    appears(&folder.join(PROCESS_FILE)).await;
    let said = SessionMessage {
        dispatch: 9,
        event: SessionEvent::Started {
            session: "old".into(),
        },
    };
    write_json(&folder.join(RESULT_FILE), &said).expect("a file");
    let left = place.children.left_over();
    assert!(left.is_empty(), "{left:?}");
    is_gone(&file).await;
    assert!(!folder.exists());
}

#[test]
fn a_process_without_sessions_needs_no_folder() {
    let (sender, _ends) = mpsc::unbounded_channel();
    let nowhere = Path::new("/proc/none");
    let children = Children::new(nowhere, "/bin/sh".into(), Vec::new(), STORE.into(), sender);
    assert!(children.make_folders().is_err());
    assert!(children.left_over().is_empty());
    children.remove_old_logs(SystemTime::now());
    assert_eq!(children.log(&id(1)), "");
}

#[test]
fn logs_are_kept_for_thirty_days() {
    let place = Place::new();
    let log = place.children.logs.join("store-1-7-1.log");
    fs::write(&log, "told\n").expect("a file");
    let written = fs::metadata(&log).and_then(|data| data.modified());
    let written = written.expect("a time");
    let day = Duration::from_hours(24);
    place.children.remove_old_logs(written + 29 * day);
    assert!(log.exists());
    place.children.remove_old_logs(written + 31 * day);
    assert!(!log.exists());
}
