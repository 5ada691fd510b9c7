//! `state`: the threads of a pull request as a run would rebuild them, without a run.

use crate::gather::Memory;
use crate::gather::pull_request;
use crate::host::{Failure, Setup};
use reviewer_agent::tools::thread_json;
use reviewer_core::config::inputs;
use reviewer_core::domain::{PrKey, Thread, Trust};
use reviewer_core::state::rebuild::Rebuilt;
use reviewer_core::state::signature::Keys;
use reviewer_github::GitHub;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;
use serde_json::Value;

/// Prints the threads. Returns the exit code.
pub async fn state(setup: &Setup, pr: &PrKey, form: Form) -> u8 {
    match rebuilt(setup, pr).await {
        Ok((rebuilt, checked)) => {
            for warning in &rebuilt.warnings {
                tracing::warn!("{warning}");
            }
            print(setup, &rebuilt.threads, form, checked);
            0
        }
        Err(Failure(sentences)) => {
            for sentence in sentences {
                setup.actions.error(&sentence);
            }
            2
        }
    }
}

/// The threads, and whether their signatures could be checked.
async fn rebuilt(setup: &Setup, pr: &PrKey) -> Result<(Rebuilt, bool), Failure> {
    let inputs = inputs::memory(&setup.inputs)
        .map_err(|errors| Failure(errors.iter().map(ToString::to_string).collect()))?;
    let environment = &setup.environment;
    let (api, graphql) = (&environment.api_url, &environment.graphql_url);
    let (token, network) = (&inputs.github_token, &environment.network);
    let github = GitHub::new(api, graphql, token, setup.clock, network).map_err(Failure::new)?;
    let keys = Keys::derive(
        &inputs.state_keys,
        inputs.model_key.as_ref(),
        &pr.repo.to_string(),
    );
    let pull = pull_request::found(&github, pr).await?;
    let memory = Memory {
        github: &github,
        pr,
        keys: &keys,
        trusted_bots: &inputs.trusted_bots,
        human_reviewers: &inputs.human_reviewers,
        mention: &setup.inputs.mention(),
        blocking: inputs.blocking,
        weighs_conversations: false,
        rewrites: false,
    };
    let (reviews, files) =
        tokio::try_join!(github.reviews(pr), github.files(pr)).map_err(Failure::new)?;
    let rebuilt = memory.rebuild(pull.author.as_ref(), &reviews, &files);
    Ok((rebuilt.await?.rebuilt, keys.can_sign()))
}

/// The form that the threads are shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Table,
    Json,
    /// The table, with what decided each status below its row.
    Explained,
}

fn print(setup: &Setup, threads: &[Thread], form: Form, checked: bool) {
    if form == Form::Json {
        let threads = threads.iter().map(thread_json).collect();
        setup.actions.answer_json(Value::Array(threads));
    } else {
        setup.actions.answer(&render(threads, form, checked));
    }
}

/// The gravest first.
fn render(threads: &[Thread], form: Form, checked: bool) -> String {
    if threads.is_empty() {
        return "No threads.".into();
    }
    let mut threads: Vec<&Thread> = threads.iter().collect();
    threads.sort_by(|a, b| {
        let score = |thread: &Thread| thread.assessment.score;
        (score(b), &a.file, a.line).cmp(&(score(a), &b.file, b.line))
    });
    let mut lines = vec![row(["THREAD", "STATUS", "AWAITING", "SCORE"], "FINDING")];
    for thread in threads {
        let line = thread
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        lines.push(row(
            [
                &thread.id.to_string(),
                &thread.status.to_string(),
                &thread.awaiting.to_string(),
                &thread.assessment.score.to_string(),
            ],
            &format!(
                "{}{line}  {}",
                visible(&thread.file),
                Prose::line(&thread.assessment.finding)
            ),
        ));
        if form == Form::Explained {
            let trust = trust(thread.trust, checked);
            let raised = match thread.reviewers.as_slice() {
                [] => String::new(),
                by => format!("; raised by {}", by.join(", ")),
            };
            lines.push(format!("             {}; {trust}{raised}", thread.because));
        }
    }
    lines.join("\n")
}

/// Says how far a comment is believed. Without a key nobody can tell whether a signature is right.
fn trust(trust: Trust, checked: bool) -> String {
    match trust {
        Trust::Signed | Trust::Unsigned if !checked => "signature not checked: no key".to_owned(),
        trust => trust.to_string(),
    }
}

fn row([id, status, awaiting, score]: [&str; 4], finding: &str) -> String {
    format!("{id:<12} {status:<10} {awaiting:<10} {score:>5}  {finding}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_key_a_signature_is_neither_right_nor_missing() {
        let told = |checked| [Trust::Unsigned, Trust::Tampered].map(|one| trust(one, checked));
        let unchecked = "signature not checked: no key";
        assert_eq!(told(false), [unchecked, "changed by somebody else"]);
        assert_eq!(told(true), ["not signed", "changed by somebody else"]);
    }
}
