//! Fixing: from open findings to a list of edits with an outcome for each, and the cycles around it. Pure: the caller reads the
//! head's files, writes accepted edits into the copy of the snapshot, commits and posts.
//!
//! `selection` says what is to be fixed, the `desk` takes the model's edits through `file_text`, `edits` and `gate`, `outcome` says
//! what became of each issue, `memory` keeps that in signed reports, and `rounds` decides what comes next.

pub mod brief;
pub mod bundle;
pub mod desk;
pub mod edits;
mod failed_checks;
pub mod file_text;
pub mod gate;
pub mod issue;
pub mod memory;
pub mod outcome;
pub mod patch;
pub mod preflight;
pub mod report;
pub mod reverts;
pub mod rounds;
pub mod selection;

pub use bundle::Bundle;
pub use desk::{EditRequest, FixDesk, Word};
pub use edits::{ChangedFile, EditList, FileEffect};
pub use failed_checks::failed_checks;
pub use file_text::FileText;
pub use gate::{FileFacts, FileKind, Gate, HeadFile, Refusal};
pub use issue::{Issue, IssueId, Source};
pub use memory::Memory;
pub use outcome::{FixPayload, FixResult, Outcome};
pub use preflight::NotFixed;
pub use report::FixReport;
