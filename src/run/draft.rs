//! The draft of a report: the result so far, written to its file as findings are staged, so that a run that is cut off
//! or cannot publish has lost nothing.

use super::exits;
use crate::actions::{self, LogRedactor};
use reviewer_core::report::Report;
use reviewer_core::report::document::FindingReport;
use reviewer_core::review::desk::Watcher;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Shared between the pipeline and whatever ends it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft(Arc<Mutex<Option<Report>>>);

impl Draft {
    /// Keeps this report up to date with the desk, in memory and in the workspace.
    pub(crate) fn watcher(
        &self,
        report: Report,
        file: Option<PathBuf>,
        redactor: LogRedactor,
    ) -> Watcher {
        *self.slot() = Some(report);
        let draft = self.clone();
        Watcher(Box::new(move |desk| {
            let Some(report) = &mut *draft.slot() else {
                return;
            };
            let entries = desk.entries().iter();
            let nowhere = HashMap::new();
            let findings = entries.map(|entry| FindingReport::new(entry, &nowhere));
            report.findings = findings.collect();
            let Some(file) = &file else { return };
            if let Err(error) = actions::write_file(file, &exits::json(report, &redactor)) {
                tracing::debug!("the report could not be written yet: {error}");
            }
        }))
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
