//! The prompt of the session that checks fixes: finding, code then and now, and what changed since. Separate from the
//! other prompts, because nothing that people said may stand in it.

use super::{Brief, cut, place};
use crate::context::risk;
use crate::domain::{DiffLine, FileDiff, Thread, prefixed};
use crate::review::desk::Fix;
use reviewer_text::hidden::visible;
use reviewer_text::template::{self, TemplateError};

const FIX_CHECK: &str = include_str!("../../prompts/fix-check.md");

/// The maximum size of the diffs that are shown for one fix, in bytes.
const MAX_DIFF: usize = 20_000;

/// A finding that blocks and seems to be fixed.
#[derive(Debug, Clone)]
pub struct FixToCheck {
    pub thread: Thread,
    pub fix: Fix,
    /// The code that the finding hangs on, when it was made and now.
    pub then: Option<String>,
    pub now: Option<String>,
    /// The changes since then in the finding's file and in that of the fix.
    pub diffs: Vec<FileDiff>,
}

impl Brief<'_> {
    /// The whole prompt: it begins a conversation of its own, without the context of the review.
    pub(super) fn fix_check(&self, fixes: &[FixToCheck]) -> Result<String, TemplateError> {
        let fixes: Vec<String> = fixes.iter().map(|fix| self.fix(fix)).collect();
        template::render(
            &prefixed(FIX_CHECK, self.prefix),
            &[("fixes", &fixes.join("\n\n"))],
        )
    }

    fn fix(&self, check: &FixToCheck) -> String {
        let FixToCheck { thread, fix, .. } = check;
        let finding = format!(
            "{}\nFinding: {}\nAssessment: {}",
            place(thread),
            thread.assessment.finding,
            thread.assessment.assessment
        );
        let code = |text: &Option<String>| text.clone().unwrap_or_else(|| "(not there)".into());
        let seems = match &fix.line {
            Some((number, text)) => format!("{}:{number}: {text}", visible(&fix.file)),
            None => format!("{}: the code is not there any more", visible(&fix.file)),
        };
        let shown: Vec<String> = check.diffs.iter().map(|diff| shown(diff, check)).collect();
        let parts = [
            format!("Thread {}", thread.id),
            self.fence.prose("finding", &finding),
            self.fence.code("code then", &code(&check.then)),
            self.fence.code("code now", &code(&check.now)),
            self.fence.code("what seems to fix it", &seems),
            self.fence
                .code("changed since", cut(&shown.join("\n"), MAX_DIFF)),
        ];
        parts.join("\n")
    }
}

/// The diff; of a large one only the parts that the finding and the fix stand in.
fn shown(diff: &FileDiff, check: &FixToCheck) -> String {
    if risk::weight(diff) <= MAX_DIFF {
        return diff.numbered();
    }
    let (thread, fix) = (&check.thread, &check.fix);
    let anchored = |line: &DiffLine| line.old.is_some() && line.old == thread.original_line;
    let fixing = |line: &DiffLine| {
        let number = fix.line.as_ref().map(|(number, _)| *number);
        fix.file == diff.path && line.new.is_some() && line.new == number
    };
    let mut part = diff.clone();
    part.hunks.retain(|hunk| {
        let mut lines = hunk.lines.iter();
        lines.any(|line| anchored(line) || fixing(line))
    });
    part.numbered()
}
