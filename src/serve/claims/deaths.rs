//! Processes that are killed while they take the end of a session, and while they recover from the death of another one: at each
//! step of both in turn. Sessions are real processes, which go on after the death of the service. Nothing is lost or doubled.
#![expect(
    clippy::disallowed_methods,
    reason = "starts itself as a process that dies, and reads the files that it leaves"
)]

use super::fixture::{key, parts, reviewing, state};
use crate::serve::service::Service;
use crate::serve::sessions::{Children, Ended};
use nix::sys::signal::{Signal, raise};
use reviewer_core::lifecycle::Decision;
use std::fs;
use std::future::poll_fn;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::pin::pin;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const PLACE: &str = "DEATHS_PLACE";
const PART: &str = "DEATHS_PART";
const STEP: &str = "DEATHS_STEP";
const RECOVER: &str = "recover";
const TAKE_ENDS: &str = "take_ends";
/// The process dies once its session is at work.
const AT_WORK: &str = "at_work";

/// A session that looks for what it did before. Two at the same time would be seen. The first ones never end, as many
/// as the file `slow` says.
const SESSION: &str = r#"#!/bin/sh
order=$(cat)
dispatch=$(printf %s "$order" | sed 's/.*"dispatch":\([0-9]*\).*/\1/')
cd "$DEATHS_PLACE" || exit 1
exec 9>>lock
flock -w 30 9 || echo overlap >> acts
first=$(grep -c begin acts)
echo begin >> acts
[ "$first" -lt "$(cat slow)" ] && sleep 600
grep -q "review $dispatch" acts || echo "review $dispatch" >> acts
folder=$(ls -d "sessions/"*"-$dispatch")
said='"event":"finished","result":{"kind":"reviewed","decision":"approved","comment":"","escalations":[]},"cost_usd":0.5,"tokens":7'
echo "{\"dispatch\":$dispatch,$said}" > "$folder/said"
mv "$folder/said" "$folder/session.json"
"#;

/// A service with real child processes.
async fn open(place: &Path) -> (Arc<Service>, Arc<Children>, UnboundedReceiver<Ended>) {
    let (sender, ends) = unbounded_channel();
    let environment = [
        ("PATH", "/usr/bin:/bin"),
        (PLACE, place.to_str().expect("text")),
    ];
    let environment = environment.map(|(name, value)| (name.into(), value.into()));
    let program = place.join("session.sh");
    let children = Children::new(place, program, environment.to_vec(), "store".into(), sender);
    children.make_folders().expect("folders");
    let children = Arc::new(children);
    let service = Service::open(parts(place, Arc::clone(&children) as _)).await;
    (service.expect("a service"), children, ends)
}

/// Kills this process before the work goes on for so many times.
async fn dying<T>(work: impl Future<Output = T>, mut steps: Option<u64>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Some(left) = &mut steps {
            if *left == 0 {
                raise(Signal::SIGKILL).expect("the end");
            }
            *left -= 1;
        }
        work.as_mut().poll(context)
    })
    .await
}

#[tokio::test]
#[ignore = "the process that dies"]
async fn a_process_that_dies() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (part, step) = (variable(PART), variable(STEP).parse().ok());
    let at = |name: &str| step.filter(|_| part == name);
    let place = Path::new(&place);
    let (service, children, ends) = open(place).await;
    let recovered = dying(Box::pin(service.recover(&children)), at(RECOVER)).await;
    recovered.expect("a recovery");
    if state(&service.engine, 1).await.facts.is_none() {
        let (id, effect) = reviewing(&service.engine, 1).await;
        service.remember().await.expect("the store answers");
        let wanted = service.world.claims.want(&id, &effect).await;
        wanted.expect("the store answers");
    }
    let taking = Arc::clone(&service).take_ends(children, ends);
    tokio::spawn(dying(taking, at(TAKE_ENDS)));
    let begun = || read(place, "acts").matches("begin").count();
    let before = begun();
    let resting = async {
        while !is_at_rest(&service, place).await {
            if part == AT_WORK && begun() > before {
                raise(Signal::SIGKILL).expect("the end");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let rested = tokio::time::timeout(Duration::from_mins(1), resting).await;
    rested.expect("an end of all work");
}

fn read(place: &Path, name: &str) -> String {
    fs::read_to_string(place.join(name)).unwrap_or_default()
}

/// No session runs or waits, and nothing is left of one.
async fn is_at_rest(service: &Service, place: &Path) -> bool {
    let count = service.world.claims.count().await;
    let mut folders = fs::read_dir(place.join("sessions")).expect("a folder");
    count.expect("the store answers") == 0 && folders.next().is_none()
}

/// A place with the session's program. So many sessions never end.
fn place(slow: u32) -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    fs::write(place.path().join("slow"), slow.to_string()).expect("a file");
    fs::write(place.path().join("acts"), "").expect("a file");
    let program = place.path().join("session.sh");
    fs::write(&program, SESSION).expect("a program");
    let mode = fs::Permissions::from_mode(0o700);
    fs::set_permissions(&program, mode).expect("its mode");
    place
}

/// Runs the service in a process of its own. True: it died where it was to die; false: it came to rest.
fn dies(place: &TempDir, part: &str, step: u64) -> bool {
    let name = "serve::claims::deaths::a_process_that_dies";
    let status: ExitStatus = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(PLACE, place.path())
        .env(PART, part)
        .env(STEP, step.to_string())
        .stdout(Stdio::null())
        .status()
        .expect("a process");
    assert!(
        status.success() || status.signal() == Some(9),
        "{part} {step}: {status}"
    );
    !status.success()
}

/// The end of a session.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    /// Reviewed, as if nothing had happened.
    Reviewed,
    /// Two processes died during it, so it failed; the life begins it anew later.
    GivenUp,
}

/// Judges what is left when everything is at rest.
fn judge(place: &TempDir) -> Came {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (service, ..) = open(place.path()).await;
        assert!(is_at_rest(&service, place.path()).await);
        let state = state(&service.engine, 1).await;
        let accounts = service.world.claims.accounts(key(1)).await;
        let accounts = accounts.expect("the store answers");
        let acts = read(place.path(), "acts");
        let count = |word: &str| acts.lines().filter(|line| line.starts_with(word)).count();
        let told = format!("{state:#?}\n{accounts:#?}\n{acts}");
        assert_eq!(count("overlap"), 0, "{told}");
        assert!(count("begin") <= 2, "{told}");
        assert_eq!(accounts.len(), 1, "{told}");
        assert!(accounts[0].ended.is_some(), "{told}");
        if let Some(error) = &accounts[0].error {
            assert_eq!(error, "The service ended twice during the session.");
            let failures = state.session.map(|session| session.failures);
            assert_eq!((state.outcomes.len(), failures), (0, Some(1)), "{told}");
            return Came::GivenUp;
        }
        assert_eq!(count("review"), 1, "{told}");
        let decided = state.outcomes.iter().map(|one| one.decision);
        assert_eq!(decided.collect::<Vec<_>>(), [Decision::Approved], "{told}");
        let cost = format!("{:.1}", accounts[0].cost_usd);
        assert_eq!((state.session, cost.as_str()), (None, "0.5"), "{told}");
        Came::Reviewed
    })
}

/// Lets a life die at each step in turn, two lives at a time, until some do not die any more: how many steps there are depends on
/// the machine. Returns how they came out.
fn at_each_step(live: impl Fn(u64) -> Option<Came> + Sync) -> Vec<Came> {
    const MOST_ALIVE: u64 = 4;
    let (next, alive) = (AtomicU64::new(1), AtomicU64::new(0));
    let work = || {
        let mut came = Vec::new();
        while alive.load(Ordering::Relaxed) < MOST_ALIVE {
            match live(next.fetch_add(1, Ordering::Relaxed)) {
                Some(one) => came.push(one),
                None => drop(alive.fetch_add(1, Ordering::Relaxed)),
            }
        }
        came
    };
    let came = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut came = work();
        came.extend(other.join().expect("it does not panic"));
        came
    });
    println!("{} steps", came.len());
    assert!(came.len() > 3, "{}", came.len());
    came
}

#[test]
fn killed_anywhere_while_it_takes_the_end_of_a_session_the_service_loses_and_doubles_nothing() {
    let came = at_each_step(|step| {
        let place = place(0);
        let has_died = dies(&place, TAKE_ENDS, step);
        assert!(!(has_died && dies(&place, "", 0)));
        let came = judge(&place);
        has_died.then_some(came)
    });
    assert!(came.iter().all(|one| *one == Came::Reviewed));
}

#[test]
fn killed_anywhere_while_it_recovers_what_a_session_said_the_service_loses_and_doubles_nothing() {
    let came = at_each_step(|step| {
        let place = place(0);
        // The session has said its end, and nobody has heard it.
        assert!(dies(&place, TAKE_ENDS, 1));
        let has_died = dies(&place, RECOVER, step);
        assert!(!(has_died && dies(&place, "", 0)));
        let came = judge(&place);
        has_died.then_some(came)
    });
    assert!(came.iter().all(|one| *one == Came::Reviewed));
}

#[test]
fn killed_anywhere_while_it_recovers_an_orphan_the_service_never_runs_it_twice_at_once() {
    let came = at_each_step(|step| {
        let place = place(1);
        assert!(dies(&place, AT_WORK, 0));
        let has_died = dies(&place, RECOVER, step);
        assert!(!(has_died && dies(&place, "", 0)));
        let came = judge(&place);
        has_died.then_some(came)
    });
    // One that died between its claim and its start has had its turn, too.
    assert!(came.contains(&Came::Reviewed), "{came:?}");
}

#[test]
fn a_session_during_which_two_services_died_has_failed_and_people_are_told_why() {
    let place = place(2);
    assert!(dies(&place, AT_WORK, 0));
    assert!(dies(&place, AT_WORK, 0));
    assert!(!dies(&place, "", 0));
    assert_eq!(judge(&place), Came::GivenUp);
}
