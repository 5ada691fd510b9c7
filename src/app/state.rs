//! `state`: the threads of a pull request as a run would rebuild them, without a run.

use super::{Run, Setup, Stop, finish, reading};
use crate::config::inputs;
use crate::domain::{RepoName, Thread};
use crate::event::{Event, EventKind};
use crate::tools::thread_json;
use serde_json::Value;

/// Prints the threads. Returns the exit code.
pub async fn state(setup: &Setup, repo: RepoName, number: u64, json: bool) -> u8 {
    match rebuilt(setup, repo, number).await {
        Ok((threads, warnings)) => {
            for warning in warnings {
                setup.actions.warning(&warning);
            }
            setup.actions.answer(&render(&threads, json));
            0
        }
        Err(Stop::Skip(reason)) => finish::skipped(setup, &reason),
        Err(Stop::Fail(sentences)) => {
            for sentence in sentences {
                setup.actions.error(&sentence);
            }
            2
        }
    }
}

async fn rebuilt(
    setup: &Setup,
    repo: RepoName,
    number: u64,
) -> Result<(Vec<Thread>, Vec<String>), Stop> {
    let config = inputs::config(&setup.inputs)
        .map_err(|errors| Stop::Fail(errors.iter().map(ToString::to_string).collect()))?;
    let event = Event {
        repo,
        number,
        kind: EventKind::Manual,
        before: None,
        sender: None,
    };
    let run = Run::new(setup, &event, config)?;
    let pull = reading::pull_request(&run).await?;
    reading::threads(&run, pull.author.as_ref()).await
}

fn render(threads: &[Thread], json: bool) -> String {
    if json {
        let threads: Vec<Value> = threads.iter().map(thread_json).collect();
        return serde_json::to_string_pretty(&threads).unwrap_or_default();
    }
    if threads.is_empty() {
        return "No threads.".into();
    }
    let rows = threads.iter().map(|thread| {
        let line = thread
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        format!(
            "{:<12} {:<10} {:<10} {:>2}  {}{line}  {}",
            thread.id.to_string(),
            thread.status.to_string(),
            thread.awaiting.to_string(),
            thread.assessment.score.to_string(),
            thread.file,
            thread.assessment.finding
        )
    });
    let header = format!(
        "{:<12} {:<10} {:<10} {:>2}  FINDING",
        "THREAD", "STATUS", "AWAITING", "SC"
    );
    std::iter::once(header)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}
