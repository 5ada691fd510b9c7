//! The draft of a report: the result so far, written to its file as findings are staged, so that a run that is cut off
//! or cannot publish has lost nothing.

use super::exits;
use crate::actions::{self, LogRedactor};
use reviewer_core::report::Report;
use reviewer_core::report::findings::FindingReport;
use reviewer_core::review::desk::{Entry, SharedDesk, Watcher};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Shared between the pipeline and whatever ends it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    report: Arc<Mutex<Option<Report>>>,
    /// The entries of each desk, by the number under which it is watched.
    desks: Arc<Mutex<Desks>>,
}

#[derive(Debug, Default)]
struct Desks {
    watched: usize,
    entries: BTreeMap<usize, Vec<Entry>>,
    file: Option<PathBuf>,
    redactor: Option<LogRedactor>,
}

impl Draft {
    /// Keeps this report up to date with the desks, in memory and in the workspace.
    pub(crate) fn watch(
        &self,
        report: Report,
        desks: &[SharedDesk],
        file: Option<&PathBuf>,
        redactor: &LogRedactor,
    ) {
        *self.slot() = Some(report);
        *self.desks() = Desks {
            file: file.cloned(),
            redactor: Some(redactor.clone()),
            ..Desks::default()
        };
        self.watch_too(desks);
    }

    /// The same with further desks.
    pub(crate) fn watch_too(&self, desks: &[SharedDesk]) {
        for desk in desks {
            let number = {
                let mut watched = self.desks();
                watched.watched += 1;
                watched.watched
            };
            let draft = self.clone();
            desk.watch(Watcher(Box::new(move |desk| {
                draft.update(number, desk.entries());
            })));
        }
    }

    /// The desk that holds what all others held.
    pub(crate) fn watch_instead(&self, desk: &SharedDesk) {
        self.desks().entries.clear();
        self.watch_too(std::slice::from_ref(desk));
        desk.work(|_| ());
    }

    fn update(&self, number: usize, entries: &[Entry]) {
        let mut desks = self.desks();
        desks.entries.insert(number, entries.to_vec());
        let Some(report) = &mut *self.slot() else {
            return;
        };
        let nowhere = HashMap::new();
        // A finding of an earlier review lies on every desk.
        let mut known = HashSet::new();
        let entries = desks.entries.values().flatten();
        let entries = entries.filter(|entry| known.insert(&entry.finding.id));
        let findings = entries.map(|entry| FindingReport::new(entry, &nowhere));
        report.findings = findings.collect();
        let (Some(file), Some(redactor)) = (&desks.file, &desks.redactor) else {
            return;
        };
        if let Err(error) = actions::write_file(file, &exits::json(report, redactor)) {
            tracing::debug!("the report could not be written yet: {error}");
        }
    }

    /// The last state, for whoever ends the run early. `None`: the report that counts is made by then, or nothing was
    /// staged.
    pub(crate) fn take(&self) -> Option<Report> {
        self.slot()
            .take()
            .filter(|report| !report.findings.is_empty())
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Report>> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn desks(&self) -> std::sync::MutexGuard<'_, Desks> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
