//! The life of a served pull request as a table: each entry of the service's history that moved it, with whoever decided, and below
//! it what was posted.

use super::page::{CYAN, DIM, GREEN, Page};
use super::posted::Posted;
use super::standin::serving::AGENTS;
use serde_json::Value;

/// Widths of the columns of events and states.
const EVENT: usize = 48;
const STATES: usize = 24;
/// Lines of the log that name a step of the machine rather than an event.
const STEPS: [&str; 1] = ["checkingApproval"];
const SERVICE: &str = "the service";

/// The table so far.
#[derive(Default)]
pub struct Timeline {
    /// Sessions that were started.
    pub sessions: usize,
    /// Entries that were read.
    read: usize,
    /// Milliseconds since 1970.
    begun: Option<i64>,
    state: String,
    /// The agent at work, and the commit that it works on.
    agent: String,
    commit: String,
    /// Not yet shown.
    posted: Vec<Posted>,
}

/// One line of the table.
struct Row {
    event: String,
    by: String,
}

impl Timeline {
    pub fn heading(page: &Page) {
        page.heading("The life of the pull request, as the service tells it");
        let titles = format!(
            "{:>7}  {:EVENT$}{:STATES$}decided by",
            "after", "event", "state"
        );
        println!("{}", page.paint(DIM, &titles));
    }

    /// Shows the entries of the history that are new, and what was posted since.
    pub fn show(&mut self, page: &Page, history: &Value, posted: Vec<Posted>) {
        self.posted.extend(posted);
        let entries = history["entries"].as_array();
        for entry in entries.into_iter().flatten().skip(self.read) {
            self.read += 1;
            self.show_entry(page, entry);
        }
    }

    fn show_entry(&mut self, page: &Page, entry: &Value) {
        let at = entry["at"].as_i64().unwrap_or_default();
        let after = text(&entry["state"]);
        let before = std::mem::replace(&mut self.state, after.clone());
        let begun = *self.begun.get_or_insert(at);
        let Some(row) = self.row(&entry["input"], &log_of(entry)) else {
            return;
        };
        let is_move = before != after && !before.is_empty();
        let states = match is_move {
            true => format!("{before} → {after}"),
            false => after.clone(),
        };
        let colour = match (is_move, after.as_str()) {
            (false, _) => DIM,
            (true, "approved" | "merged") => GREEN,
            (true, _) => CYAN,
        };
        let states = page.paint(colour, &format!("{states:STATES$}"));
        println!(
            "{}  {:EVENT$}{states}{}",
            since(begun, at),
            row.event,
            row.by
        );
        let is_end = after == "merged";
        let mine = |one: &mut Posted| is_end || (!one.is_merge && row.by == one.by);
        for one in self.posted.extract_if(.., mine) {
            let line = format!("{:>7}  └ {} posted: {}", "", one.by, one.what);
            println!("{}", page.paint(DIM, &line));
        }
    }

    /// The row of an entry; none if it moved nothing.
    fn row(&mut self, input: &Value, log: &[String]) -> Option<Row> {
        if let Some(dispatched) = log
            .iter()
            .find_map(|line| line.split_once(" is dispatched for "))
        {
            (self.agent, self.commit) = (dispatched.0.to_owned(), dispatched.1.to_owned());
        }
        let row = |event: String, by: &str| {
            Some(Row {
                event,
                by: by.to_owned(),
            })
        };
        let (kind, given) = input.as_object()?.iter().next()?;
        match kind.as_str() {
            "woken" if self.agent.is_empty() => {
                row(format!("woken by {}", text(&given["cause"])), "")
            }
            "woken" => None,
            "sessionStarted" => {
                self.sessions += 1;
                None
            }
            "sessionEnded" => row(self.ended(&given["result"]), login(&self.agent)),
            _ => {
                let said: Vec<&str> = log
                    .iter()
                    .map(String::as_str)
                    .filter(|line| is_event(line))
                    .collect();
                match said.is_empty() {
                    true => None,
                    false => row(said.join("; "), SERVICE),
                }
            }
        }
    }

    /// The end of a session in one phrase.
    fn ended(&self, result: &Value) -> String {
        let (agent, commit) = (&self.agent, &self.commit);
        let review = &result["reviewed"];
        if let Some(pushed) = result["fixed"]["commit"].as_str() {
            return format!(
                "{agent} fixes {commit} by {}",
                pushed.get(..7).unwrap_or(pushed)
            );
        }
        if let Some(why) = result["nothingFixed"]["why"].as_str() {
            return format!("{agent} fixes nothing: {why}");
        }
        let decided = match review["decision"].as_str() {
            Some("approved") => "approves",
            _ => "requests changes of",
        };
        let called: Vec<&str> = review["escalations"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        match called.is_empty() {
            true => format!("{agent} {decided} {commit}"),
            false => format!("{agent} {decided} {commit}, calls {}", called.join(", ")),
        }
    }
}

fn is_event(line: &str) -> bool {
    !line.contains(" -> ") && !STEPS.contains(&line)
}

fn since(begun: i64, at: i64) -> String {
    let tenths = (at - begun) / 100;
    format!("{:>3}.{} s", tenths / 10, tenths % 10)
}

fn log_of(entry: &Value) -> Vec<String> {
    let lines = entry["log"].as_array().into_iter().flatten();
    lines.map(text).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The account of an agent.
fn login(agent: &str) -> &str {
    let known = AGENTS.iter().find(|(name, _)| *name == agent);
    known.map_or(agent, |(_, login)| login)
}
