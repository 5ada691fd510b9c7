//! The progress of a stage: its tool calls, the last thing that the model did, and what the session has taken so far.

use crate::actions::Actions;
use reviewer_core::domain::{Pass, Role};
use reviewer_core::review::limits::Used;
use reviewer_core::review::sidecar_events::{SidecarEvent, ToolState, Turn};
use reviewer_text::count::{cost, minutes, plural};
use serde_json::Value;
use std::time::Instant;

pub(crate) struct Progress {
    /// The reviewer's name with a comma, or nothing.
    reviewer: String,
    /// For sentences, such as `pass 1 of 4`.
    stage: String,
    /// For the line, such as `1/4 diff`.
    label: String,
    began: Instant,
    /// The last thing that the model did.
    act: String,
    settled_calls: usize,
    running_calls: usize,
}

impl Progress {
    pub(crate) fn new(stage: String, began: Instant) -> Self {
        Self {
            reviewer: String::new(),
            label: stage.clone(),
            stage,
            began,
            act: "waiting for the model".to_owned(),
            settled_calls: 0,
            running_calls: 0,
        }
    }

    pub(crate) fn of_pass(pass: &Pass, began: Instant) -> Self {
        Self {
            label: label(pass),
            ..Self::new(format!("pass {}", pass.place()), began)
        }
    }

    /// Names the reviewer before the stage, where there are several.
    pub(crate) fn of_reviewer(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            self.reviewer = format!("{name}, ");
        }
        self
    }

    /// Goes on to another part of the stage with the same account.
    pub(crate) fn enter(&mut self, pass: &Pass, part: usize, parts: usize) {
        let part = format!("part {part} of {parts}");
        self.stage = format!("pass {}, {part}", pass.place());
        self.label = format!("{}, {part}", label(pass));
    }

    pub(crate) fn stage(&self) -> &str {
        &self.stage
    }

    /// Says something about the stage; nothing where there is nothing to say.
    pub(crate) fn say(&self, actions: &Actions, what: &str) {
        if !what.is_empty() {
            actions.line(&format!("{}{}{what}", self.reviewer, self.stage));
        }
    }

    /// Takes note of an event, each once. `root` is the snapshot, below which paths are shown.
    pub(crate) fn heed(&mut self, event: &SidecarEvent, root: &str) {
        let SidecarEvent::ToolCall {
            tool, input, state, ..
        } = event
        else {
            return;
        };
        match state {
            ToolState::Completed | ToolState::Failed => self.running_calls += 1,
            ToolState::Pending | ToolState::Running => {}
        }
        self.act = act(tool, input, root);
    }

    /// The turn's own account replaces what the events told.
    pub(crate) fn settle(&mut self, turn: &Turn) {
        self.settled_calls += turn.tool_calls;
        self.running_calls = 0;
    }

    /// The turn gives no account; what the events told was done.
    pub(crate) fn break_off(&mut self) {
        self.settled_calls += self.running_calls;
        self.running_calls = 0;
    }

    pub(crate) fn tool_calls(&self) -> usize {
        self.settled_calls + self.running_calls
    }

    /// Shows it on a terminal.
    pub(crate) fn show(&self, actions: &Actions) {
        actions.glimpse(&format!("{}{}", self.reviewer, self.label), &self.act);
    }

    /// Returns the line of the log about the stage. `used`: by the session so far.
    pub(crate) fn line(&self, used: &Used, now: Instant) -> String {
        let took = now.saturating_duration_since(self.began);
        let tokens = used.tokens();
        let line = format!(
            "{}{} · {} · {}",
            self.reviewer,
            self.label,
            minutes(took.as_secs()),
            plural(self.tool_calls(), "tool call"),
        );
        // A request that nothing answered costs nothing.
        if tokens.estimated && used.passed.answered == 0 {
            return line;
        }
        format!(
            "{line} · {tokens} · {}",
            cost(used.told.cost, tokens.number)
        )
    }
}

/// A pass in a few characters.
fn label(pass: &Pass) -> String {
    let topic = match pass.row.role {
        Role::Diffs => "diff",
        Role::Structure => "structure",
        Role::Security => "security",
        Role::Consolidation => "consolidation",
    };
    format!("{} {topic}", pass.place().replace(" of ", "/"))
}

/// The longest text that the model chose and that is shown.
const LONGEST: usize = 60;

/// A tool call in words.
fn act(tool: &str, input: &str, root: &str) -> String {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| input[*name].as_str());
        let found = found.map(|text| shown(text, root));
        found.filter(|text| !text.is_empty())
    };
    let (verb, object) = match tool {
        "read" => ("reading", text(&["filePath", "path"])),
        "grep" => ("searching for", text(&["pattern"])),
        "glob" => ("looking for", text(&["pattern"])),
        "list" => ("listing", text(&["path"])),
        _ if tool.ends_with("post_review_comment") => ("noting a finding in", text(&["file"])),
        _ if tool.ends_with("submit_pass_results") => return "finishing the pass".to_owned(),
        _ if tool.ends_with("web_search") => ("searching the web for", text(&["query"])),
        _ if tool.ends_with("web_fetch") => ("fetching", text(&["url"])),
        other => return other.replace('_', " "),
    };
    match object {
        Some(object) => format!("{verb} {object}"),
        None => verb
            .trim_end_matches(" for")
            .trim_end_matches(" in")
            .to_owned(),
    }
}

/// A path below the snapshot, or another text, in short.
fn shown(text: &str, root: &str) -> String {
    let below = text.strip_prefix(root).unwrap_or(text);
    let below = below.trim_start_matches('/');
    // The diff of a file has its name in a folder of the reviewer.
    let file = below
        .split_once("/diffs/")
        .and_then(|(_, file)| file.strip_suffix(".diff"));
    let below = file.map_or(below.to_owned(), |file| format!("the diff of {file}"));
    match below.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &below[..end]),
        None => below,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_core::domain::PASSES;
    use std::time::Duration;

    #[test]
    fn a_tool_call_is_told_in_words() {
        let told = |tool, input: Value| act(tool, &input.to_string(), "/tmp/run/snapshot");
        let json = |name: &str, value: &str| serde_json::json!({ name: value });
        let page = json("filePath", "/tmp/run/snapshot/src/page.ts");
        assert_eq!(told("read", page), "reading src/page.ts");
        let diff = json(
            "filePath",
            "/tmp/run/snapshot/.review/diffs/src/page.ts.diff",
        );
        assert_eq!(told("read", diff), "reading the diff of src/page.ts");
        assert_eq!(
            told("grep", json("pattern", "floor")),
            "searching for floor"
        );
        let noted = told("github_post_review_comment", json("file", "src/page.ts"));
        assert_eq!(noted, "noting a finding in src/page.ts");
        assert_eq!(told("read", Value::Null), "reading");
        assert_eq!(act("grep", "no JSON", ""), "searching");
        assert_eq!(
            told("submit_submit_pass_results", Value::Null),
            "finishing the pass"
        );
        let long = told("grep", json("pattern", &"é".repeat(200)));
        assert_eq!(
            long.chars().count(),
            "searching for …".chars().count() + LONGEST
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn a_pass_is_one_line_with_its_time_and_what_it_took() {
        let began = Instant::now();
        let pass = PASSES.all().next().unwrap();
        let mut progress = Progress::of_pass(&pass, began);
        let call = SidecarEvent::ToolCall {
            session: String::new(),
            id: "1".into(),
            tool: "read".into(),
            input: r#"{"filePath":"src/page.ts"}"#.into(),
            state: ToolState::Completed,
        };
        progress.heed(&call, "/nowhere");
        assert_eq!(progress.act, "reading src/page.ts");
        let now = began + Duration::from_secs(42);
        assert_eq!(
            progress.line(&Used::default(), now),
            "1/4 diff · 0:42 · 1 tool call · 0 tokens · $0.0000"
        );
        progress.enter(&pass, 2, 3);
        assert!(
            progress
                .line(&Used::default(), now)
                .starts_with("1/4 diff, part 2 of 3 · ")
        );
        assert_eq!(progress.stage(), "pass 1 of 4, part 2 of 3");
    }
}
