//! The settings that a run would have, for a terminal and for programs. Pure.

use super::wrap::{piece, wrapped};
use crate::config::file::PATH;
use crate::config::inputs::{Origin, Setting};
use reviewer_text::line::{Line, Style};
use serde_json::{Value, json};

/// Before a value that has lines of its own.
const INDENT: &str = "    ";

/// The settings of a run, and the place that the settings file was read from.
#[derive(Debug)]
pub struct EffectiveSettings {
    pub settings: Vec<Setting>,
    /// Such as `main@8664729`; `None`: no settings file was read.
    pub file: Option<String>,
    /// One sentence for each mistake.
    pub problems: Vec<String>,
}

impl EffectiveSettings {
    /// Every setting: its name, its value, its origin.
    #[must_use]
    pub fn page(&self, width: usize) -> Vec<Line> {
        let from = match &self.file {
            Some(from) => format!("Settings file: {PATH} of {from}."),
            None => "Settings file: none.".to_owned(),
        };
        let mut lines = vec![vec![piece(Style::Plain, from)], Vec::new()];
        for setting in &self.settings {
            lines.extend(row(setting, width));
        }
        lines
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let settings = self.settings.iter().map(|one| {
            let mut row = json!({
                "name": one.name,
                "value": one.value,
                "origin": one.origin.kind(),
                "set": one.set,
                "secret": one.secret,
            });
            if let Origin::Variable(name) = &one.origin {
                row["variable"] = json!(name);
            }
            if let Some(note) = one.note {
                row["note"] = json!(note);
            }
            row
        });
        json!({
            "settings": settings.collect::<Vec<_>>(),
            "file": self.file.as_ref().map(|from| json!({ "path": PATH, "from": from })),
            "problems": self.problems,
        })
    }
}

fn row(setting: &Setting, width: usize) -> Vec<Line> {
    let origin = match setting.note {
        Some(note) => format!("  {}, {note}", setting.origin),
        None => format!("  {}", setting.origin),
    };
    let value = match (setting.set, setting.secret) {
        (false, _) => "not set".to_owned(),
        (true, true) => "set, not shown".to_owned(),
        (true, false) => words(&setting.value),
    };
    let style = if setting.origin == Origin::Default {
        Style::Faint
    } else {
        Style::Plain
    };
    let pieces = [
        piece(Style::Strong, setting.name.clone()),
        piece(Style::Plain, format!("  {value}")),
        piece(style, origin),
    ];
    wrapped(&pieces, INDENT, width)
}

/// A value on one line.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.lines().collect::<Vec<_>>().join(", "),
        Value::Array(items) => joined(items, item, "; "),
        other => other.to_string(),
    }
}

/// A part of a list: a text, a command with its arguments, a reviewer by name, an instruction by its paths.
fn item(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => joined(words, item, " "),
        Value::Object(fields) => {
            let named = fields.get("name").or_else(|| fields.get("paths"));
            named.map(words).unwrap_or_default()
        }
        other => other.to_string(),
    }
}

fn joined(items: &[Value], words: fn(&Value) -> String, between: &str) -> String {
    let items: Vec<String> = items.iter().map(words).collect();
    items.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::RepositoryFile;
    use crate::config::inputs::RawInputs;

    fn settings() -> EffectiveSettings {
        let mut inputs = RawInputs::default();
        inputs.set("model", "openai/gpt-5");
        inputs.set("opencode_api_key", "a key that nobody sees");
        inputs.set("problem_score_threshold", "10");
        let file = "human_reviewers: [ada, octo/core]\nskip:\n  max_changed_files: 300\n\
                    instructions:\n  - paths: ['api/**', 'libs/a b/**']\n    text: x\n  - text: y\n\
                    fix:\n  verify: [[make, lint], [make, test]]\n";
        EffectiveSettings {
            settings: RepositoryFile::parse(file).effective(&inputs),
            file: Some("main@8664729".into()),
            problems: vec!["Input model is missing.".into()],
        }
    }

    #[test]
    fn each_setting_stands_on_a_line_with_its_origin() {
        let lines = settings().page(100);
        let text = |line: &Line| line.iter().map(|piece| piece.text.as_str()).collect();
        let lines: Vec<String> = lines.iter().map(text).collect();
        assert_eq!(
            lines[0],
            "Settings file: .github/opencode-reviewer.yml of main@8664729."
        );
        for expected in [
            "model  openai/gpt-5  flag",
            "opencode_api_key  set, not shown  flag",
            "model_base_url  not set  default",
            "human_reviewers  ada, octo/core  .github/opencode-reviewer.yml",
            "instructions  api/**; libs/a b/**; **  .github/opencode-reviewer.yml",
            "fix.verify  make lint; make test  .github/opencode-reviewer.yml",
            "lifecycle.reviewers  quality  default",
            "blocking_score_threshold  10  default, raised to problem_score_threshold",
            "skip.max_changed_files  300  .github/opencode-reviewer.yml",
            "skip.drafts  true  default",
        ] {
            assert!(
                lines.iter().any(|line| line == expected),
                "{expected}: {lines:#?}"
            );
        }
    }

    #[test]
    fn programs_get_the_same_without_secrets() {
        let json = settings().json();
        let all = json["settings"].as_array().expect("settings");
        let find = |name: &str| {
            all.iter()
                .find(|one| one["name"] == name)
                .expect("a setting")
        };
        assert_eq!(
            *find("model"),
            json!({ "name": "model", "value": "openai/gpt-5", "origin": "flag", "set": true, "secret": false })
        );
        assert_eq!(find("opencode_api_key")["value"], Value::Null);
        assert_eq!(find("skip.max_changed_files")["value"], 300);
        assert_eq!(json["file"]["from"], "main@8664729");
        assert_eq!(json["problems"], json!(["Input model is missing."]));
        assert!(!json.to_string().contains("nobody sees"));
    }
}
