//! Figures as text. Separate, because both tables of the service show them alike.

use std::time::Duration;

pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

pub fn mib(kib: u64) -> f64 {
    super::float(kib) / 1024.0
}

/// The most to the least.
pub fn growth(values: impl Iterator<Item = f64>) -> f64 {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for value in values {
        (least, most) = (least.min(value), most.max(value));
    }
    most / least
}

/// The time that so many of a hundred do not exceed, in milliseconds. The times are sorted.
pub fn percentile(times: &[Duration], percent: usize) -> f64 {
    let at = times.len().saturating_sub(1) * percent / 100;
    let time = times.get(at).copied().unwrap_or_default();
    time.as_secs_f64() * 1e3
}
