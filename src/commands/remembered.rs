//! `state` without a pull request: what people decided in the last closed ones, as a review would remember it.

use crate::host::{Failure, Setup};
use reviewer_core::config::inputs::{self, MemoryInputs};
use reviewer_core::domain::RepoName;
use reviewer_core::report::memory::DecidedReport;
use reviewer_core::state::decided::{self, Decided};
use reviewer_core::state::signature::Keys;
use reviewer_github::GitHub;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;
use serde_json::json;

/// Read where neither a flag nor the input says how many.
const USUAL: u8 = 10;

/// The closed pull requests as they were read.
struct Memory {
    /// The number of closed pull requests that a review reads.
    of_reviews: u8,
    pulls: usize,
    /// False without a key.
    checked: bool,
    decided: Vec<Decided>,
}

/// Prints the decided questions. Returns the exit code.
pub async fn remembered(setup: &Setup, repo: &RepoName, most: Option<u8>, as_json: bool) -> u8 {
    match read(setup, repo, most).await {
        Ok(memory) if as_json => {
            setup.actions.answer_json(json!({
                "pull_requests": memory.pulls,
                "signatures_checked": memory.checked,
                "decided": memory.decided.iter().map(DecidedReport::from).collect::<Vec<_>>(),
            }));
            0
        }
        Ok(memory) => {
            setup.actions.answer(&memory.table());
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

async fn read(setup: &Setup, repo: &RepoName, most: Option<u8>) -> Result<Memory, Failure> {
    let inputs = inputs::memory(&setup.inputs).map_err(|errors| Failure::all(&errors))?;
    let environment = &setup.environment;
    let (api, graphql) = (&environment.api_url, &environment.graphql_url);
    let (token, network) = (&inputs.github_token, &environment.network);
    let github = GitHub::new(api, graphql, token, setup.clock, network).map_err(Failure::new)?;
    let keys = keys(&inputs, repo);
    let of_reviews = inputs.memory;
    let usual = if of_reviews > 0 { of_reviews } else { USUAL };
    let closed = github.closed_pulls(repo, most.unwrap_or(usual)).await;
    let closed = closed.map_err(Failure::new)?;
    Ok(Memory {
        of_reviews,
        pulls: closed.pulls.len(),
        checked: keys.can_sign(),
        decided: decided::decided(&closed, repo, &keys, &inputs.trusted_bots),
    })
}

fn keys(inputs: &MemoryInputs, repo: &RepoName) -> Keys {
    let model_key = inputs.model_key.as_ref();
    Keys::derive(&inputs.state_keys, model_key, &repo.to_string())
}

impl Memory {
    fn table(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        if !self.decided.is_empty() {
            let titles = ["DECIDED", "HOW", "SINCE", "SCORE"].map(str::to_owned);
            lines.push(row(&titles, "FINDING"));
        }
        lines.extend(self.decided.iter().map(line));
        lines.push(self.summary());
        lines.join("\n")
    }

    fn summary(&self) -> String {
        let read = plural(self.pulls, "closed pull request");
        let found = match self.decided.len() {
            _ if !self.checked => {
                return format!(
                    "Signatures not checked: no key. Without one nothing of {read} is remembered; set OPENCODE_API_KEY, or \
                     state_key by --input."
                );
            }
            0 => "nothing is decided".to_owned(),
            1 => "1 question is decided".to_owned(),
            count => format!("{count} questions are decided"),
        };
        let reviews = match self.of_reviews {
            0 => " Reviews do not remember it: input memory is 0.".to_owned(),
            most => format!(" Reviews read {most}."),
        };
        format!("{read} read, {found}.{reviews}")
    }
}

fn line(decided: &Decided) -> String {
    let at = decided.line.map(|line| format!(":{line}"));
    let cells = [
        decided.id.to_string(),
        decided.decision.name().to_owned(),
        decided.since.clone(),
        decided.assessment.score.to_string(),
    ];
    let file = visible(&decided.file);
    let finding = Prose::line(&decided.assessment.finding);
    row(
        &cells,
        &format!("{file}{}  {finding}", at.unwrap_or_default()),
    )
}

fn row([id, how, since, score]: &[String; 4], finding: &str) -> String {
    format!("{id:<16} {how:<10} {since:<10} {score:>5}  {finding}")
}
