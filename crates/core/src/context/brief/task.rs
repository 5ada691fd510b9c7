//! The prompts of one task: the first one, and those that follow when a turn ended and the task is not done. Separate
//! from the brief, because what they say is about the conversation and not about the pull request.

use super::{Brief, Excerpt, FixToCheck};
use crate::domain::{Pass, prefixed};
use crate::panel::open_conversations::OpenConversation;
use crate::plan::Question;
use crate::review::desk::{Docket, Entry};
use reviewer_text::template::{self, TemplateError};

const NUDGE: &str = include_str!("../../prompts/nudge.md");
const NUDGE_OTHER: &str = include_str!("../../prompts/nudge-other.md");
const RESUMED: &str = include_str!("../../prompts/resumed.md");
const TAKEN_OVER: &str = include_str!("../../prompts/taken-over.md");
const ANEW: &str = include_str!("../../prompts/anew.md");

/// The task of one prompt.
#[derive(Debug, Clone, Copy)]
pub enum Task<'a> {
    Threads(&'a [Excerpt]),
    /// In a session of its own, which has seen nothing of the discussion.
    Fixes(&'a [FixToCheck]),
    /// In a session of its own, too.
    Conversations(&'a [OpenConversation]),
    Question(&'a Question),
    /// With the part of it, counted from 1.
    Pass(&'a Pass, usize),
    /// The last pass of a reviewer among several, with the findings of others.
    Examination(&'a Pass, &'a Docket),
    /// The consolidation of what so many sections found, in a session of its own.
    Sections(&'a Pass, usize),
}

impl Task<'_> {
    /// True if it has a session of its own, which knows nothing of the review.
    fn is_apart(self) -> bool {
        matches!(
            self,
            Task::Fixes(_) | Task::Conversations(_) | Task::Sections(..)
        )
    }
}

/// The prompt after a turn that ended without doing its task. `reproach`: the fault of the turn, or nothing; `prefix`: of
/// the session's tools.
pub fn nudge(task: Task<'_>, reproach: &str, prefix: &str) -> Result<String, TemplateError> {
    match task {
        Task::Pass(pass, _) | Task::Examination(pass, _) | Task::Sections(pass, _) => {
            let [number, total] = numbers(pass);
            let values = [
                ("reproach", reproach),
                ("number", &number),
                ("total", &total),
            ];
            template::render(&prefixed(NUDGE, prefix), &values)
        }
        Task::Threads(_) | Task::Fixes(_) | Task::Conversations(_) | Task::Question(_) => {
            template::render(NUDGE_OTHER, &[("reproach", reproach)])
        }
    }
}

/// The number of a pass, and how many there are.
pub(super) fn numbers(pass: &Pass) -> [String; 2] {
    [pass.number.to_string(), pass.passes.total().to_string()]
}

impl Brief<'_> {
    /// The first prompt of a task; the first one of a session carries the context.
    pub fn task(
        &self,
        task: Task<'_>,
        entries: &[Entry],
        begins: bool,
    ) -> Result<String, TemplateError> {
        let text = match task {
            Task::Threads(excerpts) => self.turn_zero(excerpts)?,
            Task::Fixes(fixes) => return self.fix_check(fixes),
            Task::Conversations(open) => return self.conversations(open),
            Task::Sections(pass, of) => return self.sections(pass, of, entries),
            Task::Question(question) => self.question(question)?,
            Task::Pass(pass, part) => self.pass(pass, part, entries)?,
            Task::Examination(pass, docket) => {
                let own = self.pass(pass, 1, entries)?;
                format!("{own}{}", self.examination(docket)?)
            }
        };
        if !begins {
            return Ok(text);
        }
        Ok(format!(
            "{}\n---\n\n{text}",
            self.context(&self.first_part())?
        ))
    }

    /// After the sidecar was replaced, in the same session.
    pub fn resumed(&self, task: Task<'_>, entries: &[Entry]) -> Result<String, TemplateError> {
        self.again(RESUMED, task, entries)
    }

    /// For another model that goes on in the same session.
    pub fn taken_over(&self, task: Task<'_>, entries: &[Entry]) -> Result<String, TemplateError> {
        self.again(TAKEN_OVER, task, entries)
    }

    fn again(
        &self,
        prompt: &str,
        task: Task<'_>,
        entries: &[Entry],
    ) -> Result<String, TemplateError> {
        let text = self.task(task, entries, false)?;
        if task.is_apart() {
            return Ok(text);
        }
        let staged = self.staged(entries);
        template::render(prompt, &[("staged", &staged), ("task", &text)])
    }

    /// In a session that knows nothing of what was done.
    pub fn anew(&self, task: Task<'_>, entries: &[Entry]) -> Result<String, TemplateError> {
        let text = self.task(task, entries, true)?;
        if task.is_apart() {
            return Ok(text);
        }
        let staged = self.staged_whole(entries);
        template::render(ANEW, &[("staged", &staged), ("task", &text)])
    }
}
