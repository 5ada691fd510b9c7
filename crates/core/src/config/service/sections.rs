//! The sections of service.yml, one function each.

use super::forms::{app_id, login, name};
use super::reader::{Given, Reader};
use super::{ConfiguredAgent, HttpLimits, Identity, Quotas, SessionLimits};
use crate::config::file::node::Node;
use crate::config::file::unknown;
use crate::config::inputs::{INPUTS, Input};
use crate::config::values;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const MOST_AGENTS: usize = 100;
/// Inputs that have a setting of their own, that the service itself decides, or that need a workflow.
const OWN_INPUTS: [&str; 7] = [
    "model",
    "model_base_url",
    "review_event",
    "reviewers",
    "fix",
    "dry_run",
    "static_analysis",
];

pub(super) fn identity(reader: &mut Reader) -> Option<Identity> {
    let account = reader.text("github.account");
    if !reader.has_section("github.app") {
        let (line, account) = account?;
        return match name(&account) {
            Ok(account) => Some(Identity::Personal { account }),
            Err(refusal) => {
                let problem = refusal.sentence(&account, false);
                reader.problem(line, format!("github.account {problem}"));
                None
            }
        };
    }
    if let Some((line, _)) = account {
        reader.problem(
            line,
            "github.account and github.app are both set; leave one out.",
        );
    }
    let id = reader.value("github.app.id", app_id);
    let private_key_file = reader.path("github.app.private_key_file");
    let slug = reader.value("github.app.slug", name);
    let fixer = reader.value("github.app.fixer", name);
    Some(Identity::App {
        id: id?,
        private_key_file: private_key_file?,
        slug,
        fixer,
    })
}

/// The addresses of REST and GraphQL. Neither follows from the other.
pub(super) fn github(reader: &mut Reader) -> (String, String) {
    let api = reader.value("github.api_url", values::base_url);
    let graphql = reader.value("github.graphql_url", values::base_url);
    if api.is_some() != graphql.is_some() {
        reader.complain(
            "github.api_url and github.graphql_url belong together; set both, or neither for github.com.",
        );
    }
    (
        api.unwrap_or_else(|| "https://api.github.com".to_owned()),
        graphql.unwrap_or_else(|| "https://api.github.com/graphql".to_owned()),
    )
}

pub(super) fn agents(reader: &mut Reader) -> Vec<ConfiguredAgent> {
    let Some(value) = reader.take("agents") else {
        return Vec::new();
    };
    let line = value.referenced.line();
    let items = match value.value {
        Node::List(items) if items.len() <= MOST_AGENTS => items,
        _ => {
            let sentence = format!(
                "agents takes a list of at most {MOST_AGENTS} entries, each with name, login and persona_file."
            );
            reader.problem(line, sentence);
            return Vec::new();
        }
    };
    let mut read: Vec<ConfiguredAgent> = Vec::new();
    for item in items {
        let line = item.referenced.line();
        let Some(agent) = agent(reader, item) else {
            continue;
        };
        if read.iter().any(|one| one.name == agent.name) {
            reader.problem(
                line,
                format!("The agent {} stands there twice.", agent.name),
            );
        } else {
            read.push(agent);
        }
    }
    read
}

fn agent(reader: &mut Reader, item: Given) -> Option<ConfiguredAgent> {
    let line = item.referenced.line();
    let mut of_agent = Reader::nested("agents", item);
    let agent_name = of_agent.value("name", name);
    let login = of_agent.value("login", login);
    let persona_file = of_agent.path("persona_file");
    let is_right = reader.take_problems(of_agent, "agents");
    if agent_name.is_none() && is_right {
        reader.problem(line, "An agent needs a name.");
    }
    Some(ConfiguredAgent {
        name: agent_name?,
        login,
        persona_file,
    })
}

pub(super) fn sessions(reader: &mut Reader) -> SessionLimits {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let most = reader.whole("max_sessions", 2, 1..=64);
    SessionLimits {
        most: usize::try_from(most).unwrap_or(2),
        review: minutes(reader.whole("review_minutes", 50, 1..=360)),
        fix: minutes(reader.whole("fix_minutes", 50, 1..=360)),
        log_directory: reader
            .path("log_directory")
            .unwrap_or_else(|| PathBuf::from("./opencode-reviewer-logs")),
    }
}

pub(super) fn limits(reader: &mut Reader) -> HttpLimits {
    let usual = HttpLimits::default();
    let mut per_minute = |name: &str, default: u32| {
        let number = reader.whole(name, u64::from(default), 1..=1_000_000);
        u32::try_from(number).unwrap_or(default)
    };
    let requests_per_minute = per_minute("limits.requests_per_minute", usual.requests_per_minute);
    let requests_per_minute_per_address = per_minute(
        "limits.requests_per_minute_per_address",
        usual.requests_per_minute_per_address,
    );
    let connections = reader.whole("limits.connections", usual.connections as u64, 1..=100_000);
    HttpLimits {
        requests_per_minute,
        requests_per_minute_per_address,
        connections: usize::try_from(connections).unwrap_or(usual.connections),
    }
}

pub(super) fn quotas(reader: &mut Reader) -> Quotas {
    let usual = Quotas::default();
    let mut a_day = |name: &str, default: u32| {
        let number = reader.whole(name, u64::from(default), 0..=10_000);
        u32::try_from(number).unwrap_or(default)
    };
    Quotas {
        per_author: a_day("limits.sessions_per_author_per_day", usual.per_author),
        per_repository: a_day(
            "limits.sessions_per_repository_per_day",
            usual.per_repository,
        ),
    }
}

/// Further inputs of the action, judged as the action judges them.
pub(super) fn inputs(reader: &mut Reader) -> BTreeMap<String, String> {
    let mut inputs = BTreeMap::new();
    let Some(value) = reader.take("inputs") else {
        return inputs;
    };
    let line = value.referenced.line();
    let Node::Map(entries) = value.value else {
        reader.problem(line, "inputs takes names and values of inputs.");
        return inputs;
    };
    for (key, value) in entries {
        let (name, line) = (key.value.as_str(), key.referenced.line());
        let (input, text) = (Input::named(name), value.value);
        let problem = match (input, &text) {
            (None, _) => unknown(name, own_inputs()),
            (Some(input), _) if !is_free(input) => {
                format!(
                    "{name} cannot stand below inputs: it is a secret, belongs to a workflow, or the service sets it."
                )
            }
            (Some(input), Node::Text(text)) => {
                let Some(problem) = input.problem(text) else {
                    inputs.insert(name.to_owned(), text.clone());
                    continue;
                };
                format!("{name} {problem}")
            }
            (Some(_), _) => format!("{name} takes one value."),
        };
        reader.problem(line, problem);
    }
    inputs
}

fn is_free(input: &Input) -> bool {
    !input.secret && !OWN_INPUTS.contains(&input.name)
}

fn own_inputs() -> impl Iterator<Item = &'static str> + Clone {
    let free = INPUTS.iter().filter(|input| is_free(input));
    free.map(|input| input.name)
}
