//! The life of a served pull request as a table: each entry of the service's history that moved it, with whoever decided, and below
//! it what was posted.

use super::page::{CYAN, DIM, GREEN, Page};
use super::posted::Posted;
use super::standin::serving::AGENTS;
use serde_json::Value;

/// Widths of the columns of events and states.
const EVENT: usize = 44;
const STATES: usize = 24;
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
            "{:>7}  {:EVENT$}  {:STATES$}decided by",
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

    /// The machine goes on only when somebody does something.
    pub fn needs_people(&self) -> bool {
        ["needsHuman", "closed", "error"].contains(&self.state.as_str())
    }

    fn show_entry(&mut self, page: &Page, entry: &Value) {
        let at = entry["at"].as_i64().unwrap_or_default();
        let after = text(&entry["state"]);
        let before = std::mem::replace(&mut self.state, after.clone());
        let begun = *self.begun.get_or_insert(at);
        let is_move = before != after && !before.is_empty();
        let Some(row) = self.row(&entry["input"], &log_of(entry), is_move) else {
            return;
        };
        let states = if is_move {
            format!("{before} → {after}")
        } else {
            after.clone()
        };
        let colour = match (is_move, after.as_str()) {
            (false, _) => DIM,
            (true, "approved" | "merged") => GREEN,
            (true, _) => CYAN,
        };
        let states = page.paint(colour, &format!("{states:STATES$}"));
        let line = format!(
            "{}  {:EVENT$}  {states}{}",
            since(begun, at),
            row.event,
            row.by
        );
        println!("{}", line.trim_end());
        let is_end = after == "merged";
        self.show_posted(page, |one| is_end || (!one.is_merge && row.by == one.by));
    }

    /// Shows what is not shown yet, by these conditions.
    pub fn show_posted(&mut self, page: &Page, is_shown: impl Fn(&Posted) -> bool) {
        for one in self.posted.extract_if(.., |one| is_shown(one)) {
            let line = format!("{:>7}  └ {} {}", "", one.by, one.what);
            println!("{}", page.paint(DIM, &line));
        }
    }

    /// The row of an entry; none if it moved nothing.
    fn row(&mut self, input: &Value, log: &[String], is_move: bool) -> Option<Row> {
        let mut dispatches = log
            .iter()
            .filter_map(|line| line.split_once(" is dispatched for "));
        if let Some((agent, commit)) = dispatches.next() {
            (self.agent, self.commit) = (agent.to_owned(), commit.to_owned());
        }
        let (kind, given) = input.as_object()?.iter().next()?;
        let (event, by) = match kind.as_str() {
            "woken" if self.agent.is_empty() => (format!("woken by {}", text(&given["cause"])), ""),
            "sessionStarted" => {
                self.sessions += 1;
                return None;
            }
            "sessionEnded" => (self.ended(&given["result"]), login(&self.agent)),
            "woken" => return None,
            _ => {
                let said: Vec<&str> = log.iter().filter_map(|line| event(line)).collect();
                let said = match (said.is_empty(), kind.as_str()) {
                    (false, _) => said.join("; "),
                    (true, "merge") => format!("GitHub's answer: {}", text(&given["answer"])),
                    (true, _) if is_move => "GitHub says so".to_owned(),
                    (true, _) => return None,
                };
                (said, SERVICE)
            }
        };
        let by = by.to_owned();
        Some(Row { event, by })
    }

    /// The end of a session in one phrase.
    fn ended(&self, result: &Value) -> String {
        let (agent, commit) = (&self.agent, &self.commit);
        let review = &result["reviewed"];
        if let Some(pushed) = result["fixed"]["commit"].as_str() {
            let pushed = pushed.get(..7).unwrap_or(pushed);
            return format!("{agent} fixes it in {pushed}");
        }
        if let Some(why) = result["nothingFixed"]["why"].as_str() {
            return format!("{agent}: {why}");
        }
        let decided = match review["decision"].as_str() {
            Some("approved") => "approves",
            _ => "requests changes to",
        };
        let called: Vec<&str> = review["escalations"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut words = format!("{agent} {decided} {commit}");
        if !called.is_empty() {
            words.push_str(", calls ");
            words.push_str(&called.join(", "));
        }
        words
    }
}

/// Some lines of the log only name a step of the machine.
fn event(line: &str) -> Option<&str> {
    let is_step = line.contains(" -> ") || line.starts_with("life ") || line == "checkingApproval";
    (!is_step).then_some(line)
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
