//! The turns between turn 0 and the passes: one for each question. Separate from the passes, because nothing is
//! submitted here: the model's last message is the answer.

use super::{Answer, End, GivenUp, Outcome, PassLog, Progress, Tasks};
use anyhow::Result;
use reviewer_core::context::brief::Task;
use reviewer_core::plan::Question;
use reviewer_core::publish::comment::requests::unanswered;
use reviewer_core::review::limits::Used;
use reviewer_text::count::plural;
use std::time::Duration;

/// The result of a question.
enum QuestionResult {
    Text(String),
    Nothing(String),
    /// The model cannot be used; no further prompt will change that.
    Refused(String),
}

impl Tasks<'_> {
    /// One turn for each question. One that fails does not keep the others, or the review, from their turn.
    pub(super) async fn answer(&mut self, outcome: &mut Outcome) -> Result<()> {
        if self.questions.is_empty() {
            return Ok(());
        }
        self.begin_group("Questions");
        let (before, began) = (outcome.used, self.prompter.clock.instant());
        let mut progress = Progress::new("questions".into(), began).of_reviewer(self.name);
        for question in self.questions {
            match self.ask(question, &mut progress).await? {
                QuestionResult::Text(text) => outcome.answers.push(Answer {
                    question: question.clone(),
                    text,
                }),
                QuestionResult::Nothing(why) => {
                    outcome.unanswered.push(unanswered(question.comment, &why));
                }
                QuestionResult::Refused(why) if self.has_results(outcome) => {
                    outcome.unanswered.push(unanswered(question.comment, &why));
                }
                QuestionResult::Refused(why) => {
                    outcome.end = End::Refused(why);
                    break;
                }
            }
        }
        self.prompter.tell(&progress);
        self.end_group();
        outcome.used = self.prompter.used();
        let log = log(outcome, &before, progress.tool_calls());
        outcome.passes.push(PassLog {
            took: self.prompter.clock.instant() - began,
            ..log
        });
        Ok(())
    }

    async fn ask(
        &mut self,
        question: &Question,
        progress: &mut Progress,
    ) -> Result<QuestionResult> {
        let given_up = match self.carry_out(Task::Question(question), progress).await? {
            Ok(turn) => {
                let text = turn.map(|turn| turn.text).unwrap_or_default();
                return Ok(if text.trim().is_empty() {
                    QuestionResult::Nothing("the model said nothing.".into())
                } else {
                    QuestionResult::Text(text)
                });
            }
            Err(given_up) => given_up,
        };
        Ok(match given_up {
            GivenUp::Refused(why) => QuestionResult::Refused(why),
            GivenUp::Failed(why) => QuestionResult::Nothing(why),
            GivenUp::Unfinished(why) => {
                QuestionResult::Nothing(format!("the model did not answer it{}.", why.told()))
            }
            GivenUp::OutOfTime => {
                QuestionResult::Nothing("the time ran out; review_timeout_minutes sets it.".into())
            }
            GivenUp::OverBudget(why) => QuestionResult::Nothing(format!("{why}.")),
        })
    }
}

fn log(outcome: &Outcome, before: &Used, tool_calls: usize) -> PassLog {
    let (used, answered) = (&outcome.used, outcome.answers.len());
    let done = outcome.unanswered.is_empty() && outcome.end == End::Complete;
    PassLog {
        reviewer: None,
        section: None,
        number: 0,
        title: "Questions",
        summary: done.then(|| format!("{} answered.", plural(answered, "question"))),
        tool_calls,
        tokens: used.since(before),
        cost_usd: used.cost_since(before),
        took: Duration::ZERO,
    }
}
