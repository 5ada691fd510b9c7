//! Whose turn it is on a head: a check run in progress is a lease, and of two the older one holds it. Pure; all times are
//! GitHub's, so no clock of a runner has to agree with another.

use chrono::DateTime;
use std::time::Duration;

/// A check run of the reviewer on the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub id: u64,
    /// RFC 3339, in UTC, as GitHub gives it.
    pub started_at: Option<String>,
    pub in_progress: bool,
}

/// The run that began before `own` and still works. Who began longer ago than a run can last does not work any more.
#[must_use]
pub fn holder(leases: &[Lease], own: u64, longest: Duration) -> Option<u64> {
    let working = |since: Option<u64>| since.is_some_and(|since| since <= longest.as_secs());
    older(leases, own, working).into_iter().min()
}

/// Abandoned runs: they began longer ago than a run can last, and are still in progress.
#[must_use]
pub fn abandoned(leases: &[Lease], own: u64, longest: Duration) -> Vec<u64> {
    let ended = |since: Option<u64>| since.is_some_and(|since| since > longest.as_secs());
    older(leases, own, ended)
}

/// The runs in progress before `own`, by the seconds from their beginning to its.
fn older(leases: &[Lease], own: u64, is_wanted: impl Fn(Option<u64>) -> bool) -> Vec<u64> {
    let started = |lease: &Lease| seconds(lease.started_at.as_deref()?);
    let own_lease = leases.iter().find(|lease| lease.id == own);
    let Some(now) = own_lease.and_then(started) else {
        return Vec::new();
    };
    let older = leases
        .iter()
        .filter(|lease| lease.in_progress && lease.id < own);
    let since = |lease: &Lease| started(lease).map(|began| now.saturating_sub(began));
    let wanted = older.filter(|lease| is_wanted(since(lease)));
    wanted.map(|lease| lease.id).collect()
}

/// `2026-11-16T16:48:00Z` as seconds since the epoch.
fn seconds(time: &str) -> Option<u64> {
    let time = DateTime::parse_from_rfc3339(time).ok()?;
    time.timestamp().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn lease(id: u64, started_at: &str, in_progress: bool) -> Lease {
        Lease {
            id,
            started_at: Some(started_at.into()),
            in_progress,
        }
    }

    #[test]
    fn times_are_counted_from_the_epoch() {
        for (time, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-11-16T16:48:00Z", Some(1_794_847_680)),
            ("2026-11-16T16:48:00.250Z", Some(1_794_847_680)),
            ("2026-11-16T17:48:00+01:00", Some(1_794_847_680)),
            ("2026-11-16T16:48:00", None),
            ("2026-02-30T00:00:00Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(seconds(time), expected, "{time}");
        }
    }

    #[test]
    fn the_older_run_holds_the_head_while_it_can_be_alive() {
        let own = lease(9, "2026-11-16T17:00:00Z", true);
        let older = lease(3, "2026-11-16T16:40:00Z", true);
        let younger = lease(12, "2026-11-16T17:01:00Z", true);
        let done = lease(2, "2026-11-16T16:50:00Z", false);
        let dead = lease(1, "2026-11-16T12:00:00Z", true);
        let odd = Lease {
            started_at: None,
            ..lease(4, "", true)
        };
        let all = [
            own.clone(),
            older,
            younger,
            done.clone(),
            dead.clone(),
            odd.clone(),
        ];
        assert_eq!(holder(&all, 9, HOUR), Some(3));
        assert_eq!(abandoned(&all, 9, HOUR), [1]);
        assert_eq!(abandoned(&all, 77, HOUR), [0; 0]);
        assert_eq!(holder(&[own, done, dead, odd], 9, HOUR), None);
        assert_eq!(holder(&all, 77, HOUR), None, "run 77 is not among them");
    }

    #[test]
    fn a_run_may_last_to_the_last_second() {
        let own = lease(9, "2026-11-16T17:00:00Z", true);
        let since = |time| [own.clone(), lease(3, time, true)];
        let at_its_end = since("2026-11-16T16:00:00Z");
        assert_eq!(holder(&at_its_end, 9, HOUR), Some(3));
        assert_eq!(abandoned(&at_its_end, 9, HOUR), [0; 0]);
        let past_it = since("2026-11-16T15:59:59Z");
        assert_eq!(holder(&past_it, 9, HOUR), None);
        assert_eq!(abandoned(&past_it, 9, HOUR), [3]);
    }
}
