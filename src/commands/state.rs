//! `state`: the threads of a pull request as a run would rebuild them, without a run.

use crate::gather::Memory;
use crate::gather::pull_request;
use crate::host::{Failure, Setup};
use reviewer_agent::tools::thread_json;
use reviewer_core::config::inputs;
use reviewer_core::domain::{PrKey, Thread};
use reviewer_core::state::rebuild::Rebuilt;
use reviewer_core::state::signature::Keys;
use reviewer_github::GitHub;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;
use serde_json::Value;

/// Prints the threads. Returns the exit code.
pub async fn state(setup: &Setup, pr: &PrKey, form: Form) -> u8 {
    match rebuilt(setup, pr).await {
        Ok(rebuilt) => {
            for warning in &rebuilt.warnings {
                tracing::warn!("{warning}");
            }
            print(setup, &rebuilt.threads, form);
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

async fn rebuilt(setup: &Setup, pr: &PrKey) -> Result<Rebuilt, Failure> {
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
    };
    let (reviews, files) =
        tokio::try_join!(github.reviews(pr), github.files(pr)).map_err(Failure::new)?;
    memory.rebuild(pull.author.as_ref(), &reviews, &files).await
}

/// How the threads are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Table,
    Json,
    /// The table, with what decided each status below its row.
    Explained,
}

fn print(setup: &Setup, threads: &[Thread], form: Form) {
    if form == Form::Json {
        let threads = threads.iter().map(thread_json).collect();
        setup.actions.answer_json(Value::Array(threads));
    } else {
        setup.actions.answer(&render(threads, form));
    }
}

fn render(threads: &[Thread], form: Form) -> String {
    if threads.is_empty() {
        return "No threads.".into();
    }
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
            lines.push(format!("             {}; {}", thread.because, thread.trust));
        }
    }
    lines.join("\n")
}

fn row([id, status, awaiting, score]: [&str; 4], finding: &str) -> String {
    format!("{id:<12} {status:<10} {awaiting:<10} {score:>5}  {finding}")
}
