//! `state`: the threads of a pull request as a run would rebuild them, without a run.

use super::reading::{self, Memory};
use super::{Setup, Stop};
use crate::config::inputs;
use crate::domain::{PrKey, Thread};
use crate::github::GitHub;
use crate::state::signature::Keys;
use crate::tools::thread_json;
use serde_json::Value;

/// Prints the threads. Returns the exit code.
pub async fn state(setup: &Setup, pr: &PrKey, json: bool) -> u8 {
    match rebuilt(setup, pr).await {
        Ok((threads, warnings)) => {
            for warning in warnings {
                tracing::warn!("{warning}");
            }
            setup.actions.answer(&render(&threads, json));
            0
        }
        Err(Stop::Skip(sentence)) => {
            setup.actions.error(&sentence);
            2
        }
        Err(Stop::Fail(sentences)) => {
            for sentence in sentences {
                setup.actions.error(&sentence);
            }
            2
        }
    }
}

async fn rebuilt(setup: &Setup, pr: &PrKey) -> Result<(Vec<Thread>, Vec<String>), Stop> {
    let inputs = inputs::memory(&setup.inputs)
        .map_err(|errors| Stop::Fail(errors.iter().map(ToString::to_string).collect()))?;
    let environment = &setup.environment;
    let (api, graphql) = (&environment.api_url, &environment.graphql_url);
    let github =
        GitHub::new(api, graphql, &inputs.github_token, setup.clock).map_err(Stop::fail)?;
    let keys = Keys::derive(
        &inputs.state_keys,
        inputs.model_key.as_ref(),
        &pr.repo.to_string(),
    );
    let pull = reading::found(&github, pr).await?;
    let memory = Memory {
        github: &github,
        pr,
        keys: &keys,
        trusted_bots: &inputs.trusted_bots,
        blocking: inputs.blocking,
    };
    reading::threads(&memory, pull.author.as_ref()).await
}

fn render(threads: &[Thread], json: bool) -> String {
    if json {
        let threads: Vec<Value> = threads.iter().map(thread_json).collect();
        return serde_json::to_string_pretty(&threads).unwrap_or_default();
    }
    if threads.is_empty() {
        return "No threads.".into();
    }
    let header = row(["THREAD", "STATUS", "AWAITING", "SCORE"], "FINDING");
    let rows = threads.iter().map(|thread| {
        let line = thread
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        row(
            [
                &thread.id.to_string(),
                &thread.status.to_string(),
                &thread.awaiting.to_string(),
                &thread.assessment.score.to_string(),
            ],
            &format!("{}{line}  {}", thread.file, thread.assessment.finding),
        )
    });
    std::iter::once(header)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

fn row([id, status, awaiting, score]: [&str; 4], finding: &str) -> String {
    format!("{id:<12} {status:<10} {awaiting:<10} {score:>5}  {finding}")
}
