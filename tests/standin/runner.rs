//! The runner's side of a log: which of its lines it would obey, and whether we meant them. The grammar is that of
//! actions/runner (ActionCommand, ActionCommandManager), but for one thing: a name that no runner knows counts as well,
//! because another version may know it.

use std::collections::BTreeMap;

/// Foreign texts of the tests that imitate a command give it this as its data. Ours never begin so.
pub const CANARY: &str = "canary-command";

/// What every annotation of ours is titled.
const SETTINGS: &str = ".github/opencode-reviewer.yml";
const TITLE: &str = "OpenCode review";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub name: String,
    pub properties: BTreeMap<String, String>,
    /// With its escapes undone.
    pub data: String,
    /// The whole line.
    pub line: String,
}

/// What the runner would obey, stops and resumptions included; and the token that it still waits for at the end.
pub fn obeyed(log: &str) -> (Vec<Command>, Option<String>) {
    let mut found = Vec::new();
    let mut stopped: Option<String> = None;
    // As a .NET reader splits lines.
    for line in log.split(['\n', '\r']) {
        let Some(command) = parse(line).or_else(|| parse_legacy(line)) else {
            continue;
        };
        match &stopped {
            Some(token) if command.name.eq_ignore_ascii_case(token) => stopped = None,
            Some(_) => continue,
            None if command.name.eq_ignore_ascii_case("stop-commands") => {
                stopped = Some(command.data.clone());
            }
            None => {}
        }
        found.push(command);
    }
    (found, stopped)
}

/// `::name key=value,…::data`, after any blanks. .NET and Rust trim the same ones. Its comparison skips characters that
/// Unicode ignores, but what it then cuts off is counted in characters, so that such a line has no name it knows.
fn parse(line: &str) -> Option<Command> {
    let (info, data) = line.trim_start().strip_prefix("::")?.split_once("::")?;
    let (name, properties) = info.split_once(' ').unwrap_or((info, ""));
    let unescape = |text: &str| {
        let text = text.replace("%0D", "\r").replace("%0A", "\n");
        text.replace("%25", "%")
    };
    let property = |text: &str| unescape(&text.replace("%3A", ":").replace("%2C", ","));
    Some(Command {
        name: name.to_owned(),
        properties: pairs(properties.trim(), ',', property),
        data: unescape(data),
        line: line.to_owned(),
    })
}

/// `##[name key=value;…]data`, anywhere in the line.
fn parse_legacy(line: &str) -> Option<Command> {
    let (info, data) = line.split_once("##[")?.1.split_once(']')?;
    let (name, properties) = info.split_once(' ').unwrap_or((info, ""));
    let unescape = |text: &str| {
        let text = text.replace("%3B", ";").replace("%0D", "\r");
        let text = text.replace("%0A", "\n").replace("%5D", "]");
        text.replace("%25", "%")
    };
    Some(Command {
        name: name.to_owned(),
        properties: pairs(properties, ';', unescape),
        data: unescape(data),
        line: line.to_owned(),
    })
}

fn pairs(
    text: &str,
    separator: char,
    unescape: impl Fn(&str) -> String,
) -> BTreeMap<String, String> {
    let pairs = text
        .split(separator)
        .filter_map(|pair| pair.split_once('='));
    let named = pairs.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    named
        .map(|(name, value)| (name.to_owned(), unescape(value)))
        .collect()
}

/// What is wrong with a log: a command that we did not mean. `secrets` is what may be masked.
pub fn offences(log: &str, secrets: &[String]) -> Vec<String> {
    let (commands, waiting) = obeyed(log);
    let mut offences: Vec<String> = waiting
        .into_iter()
        .map(|token| format!("the log ends before {token}"))
        .collect();
    let mut tokens: Vec<&str> = Vec::new();
    let mut open: Option<&str> = None;
    for command in &commands {
        let meant = match open.take() {
            // Inside a stop, the runner obeys nothing but the token.
            Some(token) => command.line == format!("::{token}::"),
            None if command.name == "stop-commands" => {
                let fresh = is_token(&command.data) && !tokens.contains(&command.data.as_str());
                tokens.push(&command.data);
                open = Some(&command.data);
                fresh && command.line == format!("::stop-commands::{}", command.data)
            }
            None => is_meant(command, secrets),
        };
        if !meant {
            offences.push(format!("a command that nobody meant: {command:?}"));
        }
    }
    offences
}

/// A command of ours: its name, its shape, and data that cannot have been foreign from its first character on.
fn is_meant(command: &Command, secrets: &[String]) -> bool {
    let titled = BTreeMap::from([("title".to_owned(), TITLE.to_owned())]);
    let plain = command.properties.is_empty();
    let data = command.data.as_str();
    let known = match command.name.as_str() {
        "error" | "warning" | "notice" => {
            let mut properties = command.properties.clone();
            // A place in the one file of the repository that is ours to judge.
            if properties.get("file").map(String::as_str) == Some(SETTINGS) {
                properties.remove("file");
                properties.remove("line");
            }
            properties == titled && !data.is_empty() && !data.starts_with(CANARY)
        }
        "group" => {
            let groups = [
                "Open threads",
                "Check of fixes",
                "Questions",
                "Open conversations of people",
                "Fix",
            ];
            plain && (data.starts_with("Pass ") || groups.contains(&data))
        }
        "endgroup" => plain && data.is_empty(),
        "add-mask" => plain && secrets.iter().any(|secret| secret.trim() == data),
        _ => false,
    };
    let odd = |c: char| c.is_control() && c != '\n';
    let exact = command.line.starts_with("::") && !command.line.contains("##[");
    known && exact && !data.contains(odd)
}

/// 128 random bits.
fn is_token(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}
