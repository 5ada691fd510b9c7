//! What many seeds have come to, as a table.

use super::Outcome;
use super::faults::Kind;
use super::judge::{Complaint, Wrong};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Default)]
pub struct Tally {
    seeds: usize,
    real: usize,
    forked: usize,
    second_runs: usize,
    /// Of each kind of fault: how many were planned, and how many struck.
    faults: BTreeMap<Kind, (usize, usize)>,
    /// How many pushes of each unseen kind.
    unseen: BTreeMap<&'static str, usize>,
    verdicts: BTreeMap<String, usize>,
    last_verdicts: BTreeMap<String, usize>,
    named: usize,
    complaints: Vec<(u64, Complaint)>,
}

impl Tally {
    pub fn count(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.real += usize::from(outcome.plan.real);
        self.forked += usize::from(outcome.plan.forked);
        self.named += outcome.named;
        let disturbed = &outcome.disturbed;
        for (disturbance, struck) in outcome.plan.disturbances.iter().zip(&disturbed.struck) {
            let (planned, striking) = self.faults.entry(disturbance.kind).or_default();
            *planned += 1;
            *striking += usize::from(*struck > 0);
        }
        for kind in outcome.plan.unseen.kinds() {
            *self.unseen.entry(kind).or_default() += 1;
        }
        for ran in [Some(&disturbed.ran), disturbed.second.as_ref()]
            .into_iter()
            .flatten()
        {
            let verdict = match ran.status() {
                "" => "cancelled",
                status => status,
            };
            *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
        }
        self.second_runs += usize::from(disturbed.second.is_some());
        let last = outcome.after.status().to_owned();
        *self.last_verdicts.entry(last).or_default() += 1;
        let seed = outcome.plan.seed;
        let complaints = outcome.complaints.iter().cloned();
        self.complaints
            .extend(complaints.map(|complaint| (seed, complaint)));
    }

    pub fn count_panic(&mut self, seed: u64) {
        self.seeds += 1;
        let words = "it panicked".to_owned();
        self.complaints.push((seed, (Wrong::Unclassified, words)));
    }

    pub fn seeds(&self) -> usize {
        self.seeds
    }

    pub fn is_clean(&self) -> bool {
        self.complaints.is_empty()
    }

    /// All failures in one line, with their seeds.
    pub fn failures(&self) -> String {
        let counts = Wrong::ALL.map(|(wrong, name)| {
            let of_kind = self.complaints.iter().filter(|(_, one)| one.0 == wrong);
            format!("{name} {}", of_kind.count())
        });
        let mut seeds: Vec<u64> = self.complaints.iter().map(|(seed, _)| *seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let seeds = if seeds.is_empty() {
            String::new()
        } else {
            format!(", seeds {seeds:?}")
        };
        format!("{}{seeds}", counts.join(", "))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seeds,
            real,
            forked,
            second_runs,
            ..
        } = self;
        writeln!(
            f,
            "{seeds} seeds, {real} with the real OpenCode, {forked} of forks, {second_runs} with a second run at once"
        )?;
        writeln!(f, "{:<24} {:>8} {:>8}", "fault", "planned", "struck")?;
        for (kind, (planned, struck)) in &self.faults {
            writeln!(f, "{:<24} {planned:>8} {struck:>8}", format!("{kind:?}"))?;
        }
        let sum =
            |part: fn(&(usize, usize)) -> usize| self.faults.values().map(part).sum::<usize>();
        let (planned, struck) = (sum(|one| one.0), sum(|one| one.1));
        let missed = planned - struck;
        writeln!(
            f,
            "{:<24} {planned:>8} {struck:>8}; {missed} never struck",
            "all"
        )?;
        let pushes: usize = self.unseen.values().sum();
        writeln!(f, "{pushes} unseen pushes: {:?}", self.unseen)?;
        writeln!(f, "disturbed runs: {:?}", self.verdicts)?;
        writeln!(f, "last runs: {:?}", self.last_verdicts)?;
        writeln!(
            f,
            "not posted by a run that said so, and not found again: {}",
            self.named
        )?;
        for (seed, (wrong, words)) in &self.complaints {
            writeln!(f, "seed {seed}: {wrong:?}: {words}")?;
        }
        write!(f, "{}", self.failures())
    }
}
