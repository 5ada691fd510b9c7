//! The draft of a report: the result so far, written to its file as findings are staged, so that a run that is cut off
//! or cannot publish has lost nothing.

use super::exits;
use crate::actions::{self, LogRedactor};
use reviewer_core::report::Report;
use reviewer_core::report::findings::FindingReport;
use reviewer_core::review::desk::{Entry, SharedDesk, Watcher};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Shared between the pipeline and whatever ends it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft(Arc<Mutex<Option<Report>>>);

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
        let by_desk = Arc::new(Mutex::new(vec![Vec::new(); desks.len()]));
        for (number, desk) in desks.iter().enumerate() {
            let (draft, by_desk) = (self.clone(), Arc::clone(&by_desk));
            let (file, redactor) = (file.cloned(), redactor.clone());
            desk.watch(Watcher(Box::new(move |desk| {
                let mut by_desk = by_desk.lock().unwrap_or_else(PoisonError::into_inner);
                // A finding of an earlier review lies on every desk.
                let own = desk.entries().iter();
                let own = own.filter(|entry| number == 0 || !entry.carried);
                by_desk[number] = own.cloned().collect();
                draft.update(&by_desk.concat(), file.as_ref(), &redactor);
            })));
        }
    }

    fn update(&self, entries: &[Entry], file: Option<&PathBuf>, redactor: &LogRedactor) {
        let Some(report) = &mut *self.slot() else {
            return;
        };
        let nowhere = HashMap::new();
        let findings = entries.iter();
        let findings = findings.map(|entry| FindingReport::new(entry, &nowhere));
        report.findings = findings.collect();
        let Some(file) = file else { return };
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
