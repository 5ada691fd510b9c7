//! The turns between turn 0 and the passes: one for each question. Separate from the passes, because nothing is
//! submitted here: the model's last words are the answer.

use super::{Answer, End, Outcome, PassLog, Progress, Run, TurnEnd};
use crate::opencode::session::Usage;
use crate::plan::Question;
use crate::publish::comment::{plural, unanswered};
use anyhow::{Context, Result};

/// What became of a question.
enum Reply {
    Text(String),
    Nothing(String),
    /// The endpoint refused us; no further prompt will change that.
    Refused(String),
}

impl Run<'_> {
    /// One turn for each question. One that fails does not keep the others, or the review, from their turn.
    pub(super) async fn answer(&self, outcome: &mut Outcome) -> Result<()> {
        if self.questions.is_empty() {
            return Ok(());
        }
        self.actions.group("Questions");
        let before = outcome.usage;
        let mut progress = Progress::new("questions".into(), before);
        for (index, question) in self.questions.iter().enumerate() {
            let begins = self.to_judge.is_empty() && index == 0;
            match self.ask(question, begins, &mut progress).await? {
                Reply::Text(text) => outcome.answers.push(Answer {
                    question: question.clone(),
                    text,
                }),
                Reply::Nothing(why) => outcome.unanswered.push(unanswered(question.comment, &why)),
                Reply::Refused(why) => {
                    outcome.end = End::Refused(why);
                    break;
                }
            }
        }
        self.actions.line(&progress.line());
        self.actions.end_group();
        outcome.usage = progress.usage();
        outcome
            .passes
            .push(log(outcome, &before, progress.tool_calls));
        Ok(())
    }

    async fn ask(
        &self,
        question: &Question,
        begins: bool,
        progress: &mut Progress,
    ) -> Result<Reply> {
        let text = self
            .brief
            .question(question, begins)
            .context("a prompt is broken")?;
        Ok(match self.turn(&text, progress).await {
            TurnEnd::Turn(Ok(turn)) => {
                progress.settle(&turn);
                match turn.error {
                    Some(error) if error.is_unauthorized() => Reply::Refused(error.to_string()),
                    Some(error) => Reply::Nothing(error.to_string()),
                    None if turn.text.trim().is_empty() => {
                        Reply::Nothing("the model said nothing.".into())
                    }
                    None => Reply::Text(turn.text),
                }
            }
            TurnEnd::Turn(Err(error)) => Reply::Nothing(format!("{error:#}")),
            TurnEnd::OutOfTime => {
                Reply::Nothing("the time ran out; review_timeout_minutes sets it.".into())
            }
            TurnEnd::OverBudget(why) => Reply::Nothing(format!("{why}.")),
        })
    }
}

fn log(outcome: &Outcome, before: &Usage, tool_calls: usize) -> PassLog {
    let (usage, answered) = (&outcome.usage, outcome.answers.len());
    let done = outcome.unanswered.is_empty() && outcome.end == End::Complete;
    PassLog {
        number: 0,
        title: "Questions",
        summary: done.then(|| format!("{} answered.", plural(answered, "question"))),
        tool_calls,
        tokens: usage.tokens.total().saturating_sub(before.tokens.total()),
        cost_usd: (usage.cost - before.cost).max(0.0),
    }
}
