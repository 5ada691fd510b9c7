//! A process that is killed: this program, started again. It takes deliveries as lines of JSON, and says which are durable.
//! It ends with the process that started it, because its input ends then.

use crate::diary::Diary;
use crate::model::Given;
use crate::subject::{Node, Subject};
use crate::toy::Input;
use reviewer_engine::Limits;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

/// The argument that makes this program a child.
pub(crate) const ROLE: &str = "child";
/// A child that only takes deliveries.
pub(crate) const FRONT: &str = "front";
/// A child that only executes effects and timers.
pub(crate) const WORKER: &str = "worker";
/// A child that does both.
pub(crate) const ALL: &str = "all";

/// The limits of a child that differ from those of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lease_ms: u64,
    pub(crate) at_once: usize,
}

/// The life of a child: store, diary, name, role, terms.
pub(crate) async fn live<S: Subject>(arguments: &[String]) {
    let [store, diary, owner, role, lease_ms, at_once] = arguments else {
        panic!("{arguments:?}");
    };
    let terms = Terms {
        lease_ms: lease_ms.parse().unwrap(),
        at_once: at_once.parse().unwrap(),
    };
    let node = Arc::new(S::open(store, limits(terms)).await);
    let _work = (role != FRONT).then(|| node.work(Arc::new(Diary::new(Path::new(diary), owner))));
    println!("ready");
    let (give, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            give.send(line.unwrap()).unwrap();
        }
    });
    while let Some(line) = lines.recv().await {
        let (key, id, input): (String, String, Input) = serde_json::from_str(&line).unwrap();
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            match node.deliver(&key, &id, &input).await {
                Ok(_) => println!("durable {id}"),
                Err(error) => eprintln!("{id} was not delivered: {error}"),
            }
        });
    }
    // Whoever wanted something is gone, so there is nobody to end in order for.
    std::process::exit(0);
}

/// The limits of a child.
pub(crate) fn limits(Terms { lease_ms, at_once }: Terms) -> Limits {
    Limits {
        lease_ms,
        at_once,
        ..crate::stage::limits()
    }
}

/// A child, as its parent sees it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    durable: Arc<Mutex<BTreeSet<String>>>,
}

impl Process {
    /// Starts a child, and waits until it has opened the store.
    pub(crate) async fn start<S: Subject>(
        store: &str,
        diary: &Path,
        (owner, role): (&str, &str),
        terms: Terms,
    ) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([ROLE, S::NAME, store])
            .arg(diary)
            .args([owner, role])
            .args([terms.lease_ms.to_string(), terms.at_once.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.next_line().await.unwrap();
        assert_eq!(ready.as_deref(), Some("ready"), "{owner} did not start");
        let durable = Arc::new(Mutex::new(BTreeSet::new()));
        let said = Arc::clone(&durable);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let id = line.strip_prefix("durable ").unwrap();
                said.lock().unwrap().insert(id.to_owned());
            }
        });
        Self {
            input: child.stdin.take().unwrap(),
            child,
            durable,
        }
    }

    pub(crate) fn pid(&self) -> String {
        self.child.id().unwrap().to_string()
    }

    /// Hands a delivery over. Its answer comes later.
    pub(crate) async fn deliver(&mut self, given: &Given) {
        let mut line = serde_json::to_vec(&(&given.key, &given.id, &given.input)).unwrap();
        line.push(b'\n');
        self.input.write_all(&line).await.unwrap();
        self.input.flush().await.unwrap();
    }

    /// The ids of deliveries that the child has called durable.
    pub(crate) fn durable(&self) -> BTreeSet<String> {
        self.durable.lock().unwrap().clone()
    }

    /// Kills the child with SIGKILL.
    pub(crate) async fn kill(mut self) -> BTreeSet<String> {
        self.child.kill().await.unwrap();
        self.durable()
    }
}
