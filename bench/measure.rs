//! One process from its start to its end: wall time, processor time and memory of it and its children, and what it asked
//! of GitHub and the model meanwhile. Separate, because all tools must be measured in the same way.

use super::findings::{EMPTY_LIST, Finding, INJECTION, LAYER, OWNERSHIP, PAGE_COUNT, POOR_NAME};
use super::standin::github::Write;
use super::standin::model::{Answer, Request};
use super::standin::world::World;
use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What one run took, counted from its start.
#[derive(Debug)]
pub struct Measured {
    pub wall: Duration,
    /// User and system time of the process and of every descendant that was waited for.
    pub cpu: Duration,
    /// Resident memory of the process and its descendants together, at most, in KiB.
    pub peak_kib: u64,
    pub first_request: Duration,
    pub last_request: Duration,
    /// As the model got them.
    pub requests: Vec<Value>,
    pub github_requests: usize,
    /// How often a finding of the script was stated on the pull request; with bare OpenCode, would be.
    pub findings: usize,
    /// Mails that everybody gets who watches the pull request.
    pub notifications: usize,
}

/// Runs a tool that speaks with the stand-ins itself. Nothing of what went before counts.
pub fn run(world: &World, times: &Times, mut command: Command) -> Result<(Measured, ExitStatus)> {
    world.github.forget_requests();
    world.github.take_writes();
    times.forget();
    let asked = world.model.requests().len();
    let begun = Instant::now();
    let child = command.spawn().context("starting the tool")?;
    let (ended, peak_kib) = wait_watching(child, tree_kib)?;
    let (first_request, last_request) = times.since(begun);
    let writes = world.github.take_writes();
    let measured = Measured {
        wall: ended.at - begun,
        cpu: ended.cpu,
        peak_kib,
        first_request,
        last_request,
        requests: world.model.requests().split_off(asked),
        github_requests: world.github.requests().len(),
        findings: writes.iter().map(stated).sum(),
        notifications: writes.iter().filter(|write| notifies(write)).count(),
    };
    Ok((measured, ended.status))
}

/// Two runs of different length prove nothing about each other. `other`: how the second one differs from ours.
pub fn comparable(ours: &Measured, theirs: &Measured, other: &str) -> Result<()> {
    ensure!(
        ours.requests.len() == theirs.requests.len() && ours.findings == theirs.findings,
        "the two runs differ: {} model requests and {} findings here, {} and {} {other}",
        ours.requests.len(),
        ours.findings,
        theirs.requests.len(),
        theirs.findings
    );
    Ok(())
}

/// Whether GitHub tells people of it. A review is one mail, whatever it holds; of edits, reactions, resolved
/// conversations and checks that run there is none.
fn notifies(write: &Write) -> bool {
    matches!(
        write,
        Write::Review { .. }
            | Write::Comment { .. }
            | Write::Reply { .. }
            | Write::IssueComment { .. }
    )
}

/// All that the script can say.
const FINDINGS: [&Finding; 6] = [
    &PAGE_COUNT,
    &POOR_NAME,
    &EMPTY_LIST,
    &LAYER,
    &INJECTION,
    &OWNERSHIP,
];

/// How often a text on the pull request, new or changed, states a finding.
fn stated(write: &Write) -> usize {
    let (Write::Review { json, .. }
    | Write::Comment { json, .. }
    | Write::Reply { json, .. }
    | Write::IssueComment { json, .. }
    | Write::EditComment { json, .. }
    | Write::EditIssueComment { json, .. }) = write
    else {
        return 0;
    };
    let inline = json["comments"].as_array().into_iter().flatten();
    let texts = inline.chain([json]).filter_map(|one| one["body"].as_str());
    texts
        .map(|text| {
            // PR-Agent breaks lines in the middle of sentences, and keeps a list of what is done with.
            let open = text.split("Resolved findings").next().unwrap_or_default();
            // The table of a review lists what its comments say.
            let lines = open.lines().filter(|line| !line.starts_with("| "));
            let words = lines.collect::<Vec<_>>().join("\n").replace("<br>", "");
            let claims = FINDINGS.iter().map(|finding| finding.claim);
            claims.filter(|claim| words.contains(claim)).count()
        })
        .sum()
}

/// When the model was asked.
#[derive(Debug, Clone, Default)]
pub struct Times(Arc<Mutex<Vec<Instant>>>);

impl Times {
    /// The same model, with every request noted.
    pub fn noting(
        &self,
        mut model: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> impl FnMut(&Request) -> Answer + Send + 'static {
        let times = Arc::clone(&self.0);
        move |request| {
            times.lock().expect("no panic").push(Instant::now());
            model(request)
        }
    }

    pub fn forget(&self) {
        self.0.lock().expect("no panic").clear();
    }

    /// The first and the last request, counted from `begun`; nothing where there was none.
    pub fn since(&self, begun: Instant) -> (Duration, Duration) {
        let times = self.0.lock().expect("no panic");
        let after = |time: Option<&Instant>| time.map(|time| *time - begun).unwrap_or_default();
        (after(times.first()), after(times.last()))
    }
}

/// How a process ended.
pub struct Ended {
    pub status: ExitStatus,
    pub at: Instant,
    pub cpu: Duration,
    /// Of the process alone.
    pub own_cpu: Duration,
}

/// The same, with the most of what `memory` sees, in KiB. It is looked at while the process lives: afterwards nobody
/// knows it.
pub fn wait_watching(child: Child, memory: fn(u32) -> u64) -> Result<(Ended, u64)> {
    let pid = child.id();
    let over = Arc::new(AtomicBool::new(false));
    let (seen, until) = (Arc::new(AtomicU64::new(0)), Arc::clone(&over));
    let peak = Arc::clone(&seen);
    let watching = std::thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            seen.fetch_max(memory(pid), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let ended = wait(child);
    over.store(true, Ordering::Relaxed);
    let _joined = watching.join();
    Ok((ended?, peak.load(Ordering::Relaxed)))
}

/// The peak of one process so far.
pub fn own_peak_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:")
}

/// What a process and all its descendants hold now. A child that has not begun its own program yet still shows the memory of its
/// parent, which is counted once.
pub fn tree_kib(pid: u32) -> u64 {
    let program = program(pid);
    let begun = children(pid)
        .into_iter()
        .filter(|child| program.is_none() || self::program(*child) != program);
    status_kib(pid, "VmRSS:") + begun.map(tree_kib).sum::<u64>()
}

/// What all descendants of a process hold now, memory that several share by its parts.
pub fn descendants_kib(pid: u32) -> u64 {
    let of = |child: u32| {
        let rollup = std::fs::read_to_string(format!("/proc/{child}/smaps_rollup"));
        kib(&rollup.unwrap_or_default(), "Pss:") + descendants_kib(child)
    };
    children(pid).into_iter().map(of).sum()
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    children.filter_map(|child| child.parse().ok()).collect()
}

fn program(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

fn status_kib(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    kib(&status, name)
}

fn kib(lines: &str, name: &str) -> u64 {
    let line = lines.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// Waits for the end. The dead process is looked at before it is reaped: afterwards its times are gone among those of
/// all our children, git behind the stand-in for GitHub included.
pub fn wait(mut child: Child) -> Result<Ended> {
    let pid = i32::try_from(child.id()).context("a process id")?;
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(Pid::from_raw(pid)), flags).context("waiting for the process")?;
    let at = Instant::now();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("its statistics")?;
    Ok(Ended {
        cpu: cpu(&stat, 4).context("its statistics are not understood")?,
        own_cpu: cpu(&stat, 2).context("its statistics are not understood")?,
        status: child.wait()?,
        at,
    })
}

/// User and system time of this process so far, by a finer clock than that of the files above.
pub fn own_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("our own times")?;
    let microseconds = (usage.user_time() + usage.system_time()).num_microseconds();
    Ok(Duration::from_micros(microseconds.try_into()?))
}

/// Fields 14 to 17 of `/proc/PID/stat`, in hundredths of a second: two of the process, two of its children. The second
/// field is a name that may hold anything, so counting begins behind its parenthesis.
fn cpu(stat: &str, fields_taken: usize) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = 0_u64;
    for field in fields.split_whitespace().skip(11).take(fields_taken) {
        ticks += field.parse::<u64>().ok()?;
    }
    Some(Duration::from_millis(ticks * 10))
}
