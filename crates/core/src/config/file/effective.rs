//! The settings that only the file has, each with its value and its origin.

use super::RepositoryFile;
use crate::config::Instruction;
use crate::config::fix::FixSettings;
use crate::config::inputs::{Origin, RawInputs, Setting};
use crate::config::lifecycle::{Reviewer, ReviewerKind};
use serde_json::{Value, json};
use std::path::Path;

impl RepositoryFile {
    /// Every setting of a run: the inputs, with what the file says where nothing else does, then what no input has.
    #[must_use]
    pub fn effective(&self, inputs: &RawInputs) -> Vec<Setting> {
        let mut settings = self.under(inputs).effective();
        if let Some(globs) = self.ignore(inputs) {
            let mut all = settings.iter_mut();
            if let Some(setting) = all.find(|one| one.name == "ignore") {
                setting.value = json!(globs.patterns());
                setting.set = true;
                setting.origin = Origin::File;
            }
        }
        settings.extend(self.own());
        settings
    }

    fn own(&self) -> Vec<Setting> {
        let (skip, fix, lifecycle) = (&self.skip, &self.fix, &self.lifecycle);
        let FixSettings {
            verify,
            allow,
            verify_read,
            verify_exec,
            timeout,
        } = fix;
        let instructions = self.instructions.iter().map(instruction);
        let paths = |paths: &[std::path::PathBuf]| {
            let paths = paths.iter().map(|path| shown(path));
            json!(paths.collect::<Vec<_>>())
        };
        let authors = skip.authors.iter().map(ToString::to_string);
        let reviewers = lifecycle.reviewers.iter().map(reviewer);
        let rows = [
            ("instructions", json!(instructions.collect::<Vec<_>>())),
            ("skip.labels", json!(skip.labels)),
            ("skip.authors", json!(authors.collect::<Vec<_>>())),
            ("skip.drafts", json!(skip.drafts)),
            ("skip.max_changed_files", json!(skip.max_files)),
            ("skip.max_changed_lines", json!(skip.max_lines)),
            ("fix.verify", json!(verify)),
            ("fix.allow", json!(allow.patterns())),
            ("fix.verify_read", paths(verify_read)),
            ("fix.verify_exec", paths(verify_exec)),
            ("fix.timeout_minutes", json!(timeout.as_secs() / 60)),
            ("lifecycle.enabled", json!(lifecycle.enabled)),
            ("lifecycle.reviewers", json!(reviewers.collect::<Vec<_>>())),
            ("lifecycle.auto_merge", json!(lifecycle.auto_merge)),
            (
                "lifecycle.require_human_approval",
                json!(lifecycle.require_human_approval),
            ),
            ("lifecycle.max_fix_cycles", json!(lifecycle.max_fix_cycles)),
        ];
        let rows = rows.into_iter();
        rows.map(|(name, value)| self.row(name, value)).collect()
    }

    fn row(&self, name: &str, value: Value) -> Setting {
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        Setting {
            name: name.to_owned(),
            set: !value.is_null() && !is_empty,
            value,
            secret: false,
            origin: if self.named.contains(name) {
                Origin::File
            } else {
                Origin::Default
            },
            note: None,
        }
    }
}

fn instruction(one: &Instruction) -> Value {
    json!({ "paths": one.globs.patterns(), "text": one.text })
}

fn reviewer(one: &Reviewer) -> Value {
    let kind = match one.kind {
        ReviewerKind::Agent => "agent",
        ReviewerKind::Human => "human",
    };
    json!({ "name": one.name, "type": kind, "can_escalate": one.can_escalate })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, name: &str) -> Setting {
        let settings = RepositoryFile::parse(text).effective(&RawInputs::default());
        let mut found = settings.into_iter().filter(|setting| setting.name == name);
        let setting = found.next().expect("a setting");
        assert_eq!(found.next(), None, "{name} stands there once");
        setting
    }

    #[test]
    fn what_only_the_file_has_is_shown_with_its_origin() {
        let text = "ignore: [docs/**]\ninstructions:\n  - paths: ['api/**']\n    text: Check rights.\nskip:\n  labels: [wip]\n\
                    fix:\n  verify: [[make, test]]\nlifecycle:\n  max_fix_cycles: 3\n";
        for (name, value, origin) in [
            ("ignore", json!(["docs/**"]), Origin::File),
            (
                "instructions",
                json!([{ "paths": ["api/**"], "text": "Check rights." }]),
                Origin::File,
            ),
            ("skip.labels", json!(["wip"]), Origin::File),
            ("skip.drafts", json!(true), Origin::Default),
            ("skip.max_changed_files", Value::Null, Origin::Default),
            ("fix.verify", json!([["make", "test"]]), Origin::File),
            ("fix.timeout_minutes", json!(10), Origin::Default),
            ("lifecycle.max_fix_cycles", json!(3), Origin::File),
            ("lifecycle.enabled", json!(true), Origin::Default),
        ] {
            let setting = find(text, name);
            assert_eq!((setting.value, setting.origin), (value, origin), "{name}");
        }
        let usual = find("", "lifecycle.reviewers").value;
        let expected =
            json!([{ "name": "quality", "type": "agent", "can_escalate": ["security"] }]);
        assert_eq!(usual, expected);
        assert!(!find("", "ignore").set);
    }

    #[test]
    fn the_workflow_s_globs_win_over_the_file_s() {
        let mut inputs = RawInputs::default();
        inputs.set("ignore", "vendor/**");
        let file = RepositoryFile::parse("ignore: [docs/**]\n");
        let settings = file.effective(&inputs);
        let ignore = settings.iter().find(|one| one.name == "ignore");
        let ignore = ignore.expect("a setting");
        assert_eq!(ignore.value, json!("vendor/**"));
        assert_eq!(ignore.origin, Origin::Flag);
    }
}
