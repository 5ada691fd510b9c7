//! One process from its start to its end: wall time, processor time of it and its children, and when the model was
//! asked. Separate, because both sides must be measured in the same way.

use super::standin::model::{Answer, Request};
use anyhow::{Context as _, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What one run took, counted from its start.
#[derive(Debug)]
pub struct Measured {
    pub wall: Duration,
    /// User and system time of the process and of every descendant that was waited for.
    pub cpu: Duration,
    pub first_request: Duration,
    pub last_request: Duration,
    /// As the model got them.
    pub requests: Vec<Value>,
    pub github_requests: usize,
    /// Findings that were to be published.
    pub staged: usize,
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

    /// The first and the last request, counted from `begun`.
    pub fn since(&self, begun: Instant) -> Result<(Duration, Duration)> {
        let times = self.0.lock().expect("no panic");
        let first = times.first().context("the model was never asked")?;
        let last = times.last().context("the model was never asked")?;
        Ok((*first - begun, *last - begun))
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

/// The same, with the peak of its memory in KiB. It is looked at while the process lives: afterwards nobody knows it.
pub fn wait_watching(child: Child) -> Result<(Ended, u64)> {
    let path = format!("/proc/{}/status", child.id());
    let over = Arc::new(AtomicBool::new(false));
    let (seen, until) = (Arc::new(AtomicU64::new(0)), Arc::clone(&over));
    let peak = Arc::clone(&seen);
    let watching = std::thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            let status = std::fs::read_to_string(&path).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            seen.fetch_max(number.unwrap_or(0), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let ended = wait(child);
    over.store(true, Ordering::Relaxed);
    let _joined = watching.join();
    Ok((ended?, peak.load(Ordering::Relaxed)))
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
