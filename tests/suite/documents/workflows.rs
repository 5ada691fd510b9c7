//! The workflows that people copy: each is valid, asks for little, and names what there is. Separate, because they are
//! code that no compiler sees.

use super::{files_below, quoted, rows, section, text, yaml};
use reviewer_core::config::inputs::INPUTS;
use reviewer_core::event::{self, SkipReason, Trigger, TriggerRules};
use serde_json::{Value, json};
use std::path::Path;

/// The files of YAML among the examples that are no workflows.
const CONFIGURATION: &str = "examples/opencode-reviewer.yml";
const SERVICE: &str = "examples/service.yml";
const COMPOSE: &str = "examples/compose/";

/// The one workflow that has other jobs than a review.
const FIX: &str = "examples/fix.yml";
/// The example in which a tool runs before the review, in a job of its own.
const STATIC_ANALYSIS: &str = "examples/static-analysis.yml";

fn examples() -> Vec<String> {
    let is_workflow = |path: &String| {
        let is_yaml = Path::new(path).extension().is_some_and(|ext| ext == "yml");
        let is_other = [CONFIGURATION, SERVICE, FIX, STATIC_ANALYSIS].contains(&path.as_str());
        is_yaml && !is_other && !path.starts_with(COMPOSE)
    };
    let found: Vec<String> = files_below("examples")
        .into_iter()
        .filter(is_workflow)
        .collect();
    assert!(found.len() >= 8, "{found:?}");
    found
}

/// The secret that holds the provider's key, by the provider's own name.
const PROVIDERS_KEY: &str = "${{ secrets.ANTHROPIC_API_KEY }}";

#[test]
fn the_readme_opens_with_the_basic_workflow() {
    let readme = text("README.md");
    let first = readme.split("```yaml\n").nth(1).expect("a workflow");
    let first = first.split("```").next().unwrap_or_default();
    assert_eq!(first, text("examples/basic.yml"));
    assert!(first.lines().count() <= 32, "it stays short");
    let wide = first.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "it stays readable");
    let flow: Vec<&str> = first.lines().filter(|line| line.contains(": {")).collect();
    assert_eq!(flow, ["permissions: {}"], "it is in block style");
}

#[test]
fn the_examples_call_the_secret_by_the_providers_name() {
    for path in examples() {
        for job in yaml(&path)["jobs"].as_object().expect("jobs").values() {
            let with = &job["steps"][0]["with"];
            let model = with["model"].as_str().expect("a model");
            if model.starts_with("anthropic/") {
                assert_eq!(with["opencode_api_key"], PROVIDERS_KEY, "{path}");
            }
        }
    }
}

#[test]
fn the_examples_listen_to_what_changes_a_verdict_and_only_a_push_ends_a_review() {
    for path in examples() {
        let workflow = yaml(&path);
        let on = &workflow["on"];
        let pull = ["pull_request", "pull_request_target"].map(|event| &on[event]["types"]);
        let types = pull.iter().find_map(|types| types.as_array());
        let types = types.unwrap_or_else(|| panic!("{path}: no pull requests"));
        for action in ["edited", "closed"] {
            assert!(types.contains(&json!(action)), "{path}: {action}");
        }
        for event in ["issue_comment", "pull_request_review_comment"] {
            assert_eq!(on[event]["types"], json!(["created"]), "{path}: {event}");
        }
        let gates = path.ends_with("/merge-gate.yml");
        assert_eq!(on["merge_group"].is_object(), gates, "{path}");
        for job in workflow["jobs"].as_object().expect("jobs").values() {
            let condition = job["if"].as_str().expect("a condition");
            let new_base = "(github.event.action != 'edited' || github.event.changes.base)";
            assert!(condition.contains(new_base), "{path}: {condition}");
            let cancels = &job["concurrency"]["cancel-in-progress"];
            let push = "${{ github.event.action == 'synchronize' }}";
            assert_eq!(cancels, push, "{path}");
        }
    }
}

#[test]
fn the_examples_use_inputs_that_there_are_and_no_others() {
    for path in examples() {
        let workflow = yaml(&path);
        let jobs = workflow["jobs"].as_object().expect("jobs");
        for job in jobs.values() {
            let steps = job["steps"].as_array().expect("steps");
            assert!(
                is_pinned(&steps[0], "org/opencode-reviewer@"),
                "{path}: {}",
                steps[0]["uses"]
            );
            for step in &steps[1..] {
                assert!(may_follow(step), "{path}: {step}");
            }
            let with = steps[0]["with"].as_object().expect("inputs");
            for (name, value) in with {
                let input = INPUTS.iter().find(|input| input.name == name);
                let input = input.unwrap_or_else(|| panic!("{path}: {name} is no input"));
                let from_secrets = value
                    .as_str()
                    .is_some_and(|v| v.starts_with("${{ secrets."));
                assert_eq!(from_secrets, input.secret, "{path}: {name}");
            }
            for input in INPUTS.iter().filter(|input| input.is_required()) {
                assert!(with.contains_key(input.name), "{path}: {}", input.name);
            }
        }
    }
}

#[test]
fn no_job_of_a_fix_both_runs_changed_code_and_may_write() {
    let workflow = yaml(FIX);
    let jobs = workflow["jobs"].as_object().expect("jobs");
    let named: Vec<&String> = jobs.keys().collect();
    assert_eq!(named.len(), 4, "{named:?}");
    assert_eq!(workflow["permissions"], json!({}));
    for (name, job) in jobs {
        let (whole, permissions) = (job.to_string(), job["permissions"].to_string());
        let pushes = permissions.contains("\"contents\":\"write\"");
        assert_eq!(pushes, name == "publish", "{name}: {permissions}");
        let asks = whole.contains("secrets.ANTHROPIC_API_KEY");
        assert_eq!(asks, name == "fix" || name == "review", "{name}");
        let own = job["concurrency"]["group"].as_str().expect("a group");
        assert!(own.starts_with("fix-"), "{name}: {own}");
        assert_eq!(job["concurrency"]["cancel-in-progress"], false, "{name}");
    }
    let fix = jobs["fix"]["permissions"].as_object().expect("rights");
    assert!(fix.values().all(|level| level == "read"), "{fix:?}");
    assert_eq!(jobs["verify"]["permissions"], json!({}));
    let verify = jobs["verify"].to_string();
    assert!(!verify.contains("secrets.") && !verify.contains("github.token"));
    let publish = jobs["publish"]["steps"].as_array().expect("steps");
    assert!(publish.iter().all(|step| step["run"].is_null()));
    assert_eq!(jobs["publish"]["needs"], json!(["fix", "verify"]));
    let asks = jobs["fix"]["if"].as_str().expect("a condition");
    assert!(asks.contains("contains(github.event.comment.body, '@review-my-code-bot fix')"));
    assert!(asks.contains("github.event.comment.author_association"));
}

#[test]
fn the_jobs_of_a_fix_give_flags_and_inputs_that_there_are() {
    let workflow = yaml(FIX);
    let jobs = workflow["jobs"].as_object().expect("jobs");
    let steps = jobs.values().filter_map(|job| job["steps"].as_array());
    let image = "docker://ghcr.io/org/opencode-reviewer@sha256:";
    let ours = |step: &&Value| {
        let uses = step["uses"].as_str().unwrap_or_default();
        uses.starts_with(image)
    };
    let mut models = Vec::new();
    let ours: Vec<&Value> = steps.flatten().filter(ours).collect();
    for step in &ours {
        let with = step["with"].as_object().expect("inputs");
        let args = with["args"].as_str().expect("arguments");
        let words: Vec<&str> = args.split(' ').collect();
        let help = super::commands::help(words[0]).expect("a command");
        let flags = words.iter().filter(|word| word.starts_with("--"));
        for flag in flags {
            assert!(super::commands::lists(&help, flag), "{args}");
        }
        for name in with.keys().filter(|name| *name != "args") {
            assert!(INPUTS.iter().any(|input| input.name == name), "{name}");
        }
        // Of the same model and key, or the record of the review does not count and the signature does not fit.
        models.push((&with["model"], &with["state_key"]));
    }
    assert_eq!(ours.len(), 3);
    models.dedup();
    assert_eq!(models.len(), 1, "{models:?}");
    let others = jobs.values().filter_map(|job| job["steps"].as_array());
    for step in others.flatten() {
        let uses = step["uses"].as_str().unwrap_or_default();
        if uses.is_empty() || uses.starts_with(image) {
            continue;
        }
        let (action, _) = uses.split_once('@').expect("pinned");
        assert!(is_pinned(step, &format!("{action}@")), "{uses}");
    }
}

/// Nothing of the pull request is fetched or run beside a review, and what is run cannot change.
fn may_follow(step: &Value) -> bool {
    is_pinned(step, "github/codeql-action/upload-sarif@")
}

/// Whether a step uses this action, by a commit.
fn is_pinned(step: &Value, action: &str) -> bool {
    let uses = step["uses"].as_str().unwrap_or_default();
    uses.strip_prefix(action).is_some_and(|commit| {
        commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[test]
fn a_comment_starts_a_job_only_if_its_author_belongs_here() {
    for path in examples() {
        for job in yaml(&path)["jobs"].as_object().expect("jobs").values() {
            let condition = job["if"].as_str().expect("a condition");
            let asks = condition
                .split(" || ")
                .find(|part| part.contains("issue.pull_request"));
            let asks = asks.unwrap_or_else(|| panic!("{path}: no comments"));
            let authors = "contains(fromJSON('[\"OWNER\", \"MEMBER\", \"COLLABORATOR\"]'), \
                           github.event.comment.author_association)";
            let after = &condition[condition.find(asks).unwrap_or_default()..];
            let mention = "contains(github.event.comment.body, '@review-my-code-bot')";
            assert!(
                after.contains(mention) && after.ends_with(authors),
                "{path}: {after}"
            );
        }
    }
}

#[test]
fn a_new_opencode_is_proposed_as_it_was_before_it_ran() {
    let workflow = yaml(".github/workflows/opencode.yml");
    // Each of these installs or starts what npm brings.
    let executes = ["npm ci", "make providers", "make test", "npx "];
    for (name, job) in workflow["jobs"].as_object().expect("jobs") {
        let script = job["steps"].to_string();
        let runs = executes.iter().any(|command| script.contains(command));
        assert_eq!(runs, name == "test", "{name}");
        let permissions = job["permissions"].to_string();
        let may_write = permissions.contains("write");
        assert_eq!(may_write, name == "propose", "{name}: {permissions}");
    }
    let propose = &workflow["jobs"]["propose"];
    assert_eq!(propose["needs"], json!(["resolve", "test"]));
    let steps = propose["steps"].as_array().expect("steps");
    let compared = steps.iter().any(|step| {
        step["env"]["DIGEST"] == "${{ needs.resolve.outputs.digest }}"
            && step["run"]
                .as_str()
                .is_some_and(|run| run.contains("sha256sum"))
    });
    assert!(compared, "{propose}");
}

#[test]
fn a_tool_that_runs_over_the_head_sees_no_secret_and_the_review_takes_its_file_alone() {
    let workflow = yaml(STATIC_ANALYSIS);
    let (analyze, review) = (&workflow["jobs"]["analyze"], &workflow["jobs"]["review"]);
    assert!(!analyze.to_string().contains("secrets."), "{analyze}");
    assert_eq!(analyze["permissions"], json!({ "contents": "read" }));
    let file = analyze["steps"][2]["with"]["path"]
        .as_str()
        .expect("a file");
    let command = analyze["steps"][1]["run"].as_str().expect("a command");
    assert!(command.ends_with(&format!(" --output {file}")), "{command}");
    assert!(!review.to_string().contains("actions/checkout"), "{review}");
    let with = review["steps"][1]["with"].as_object().expect("inputs");
    assert_eq!(with["static_analysis"], file);
    assert_eq!(with["opencode_api_key"], PROVIDERS_KEY);
    let known = |name: &String| INPUTS.iter().any(|input| input.name == *name);
    assert!(with.keys().all(known), "{with:?}");
}

#[test]
fn the_examples_read_outputs_that_there_are() {
    let outputs = yaml("action.yml")["outputs"].clone();
    let mut read = 0;
    for path in examples() {
        for use_of in text(&path).split("steps.review.outputs.").skip(1) {
            let end = use_of.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            let name = &use_of[..end.unwrap_or(use_of.len())];
            assert!(outputs[name].is_object(), "{path}: {name} is no output");
            read += 1;
        }
    }
    assert!(read > 0);
}

#[test]
fn the_documents_name_the_examples_and_the_keys_of_the_configuration() {
    let readme = text("README.md");
    for path in examples()
        .iter()
        .filter(|path| !path.ends_with("/basic.yml"))
    {
        assert!(readme.contains(&format!("]({path})")), "{path}");
    }
    for path in [FIX, STATIC_ANALYSIS] {
        assert!(readme.contains(&format!("]({path})")), "{path}");
    }
    let page = text("docs/configuration.md");
    let explained = section(&page, "Configuration file");
    assert!(explained.contains(&format!("](../{CONFIGURATION})")));
    let sample = yaml(CONFIGURATION);
    for key in sample.as_object().expect("keys").keys() {
        assert!(quoted(explained).any(|word| word == key), "{key}");
    }
    // What editors complete by, the same in both places.
    let first = text(CONFIGURATION);
    let first = first.lines().next().expect("a line");
    assert!(
        first.starts_with("# yaml-language-server: $schema="),
        "{first}"
    );
    assert!(explained.contains(first), "{first}");
}

#[test]
fn the_examples_ask_for_no_more_than_the_configuration_page_explains() {
    let page = text("docs/configuration.md");
    let explained = section(&page, "Permissions");
    for path in examples() {
        let workflow = yaml(&path);
        for job in workflow["jobs"].as_object().expect("jobs").values() {
            let permissions = job["permissions"].as_object().expect("permissions");
            for (name, level) in permissions {
                let row = format!("| `{name}: {}` |", level.as_str().expect("a level"));
                assert!(explained.contains(&row), "{path}: {row}");
            }
            // An unrelated comment must cancel nothing, so the group stands behind a condition.
            assert!(
                job["if"].is_string() && job["concurrency"].is_object(),
                "{path}"
            );
            assert_eq!(workflow["concurrency"], Value::Null, "{path}");
        }
    }
}

/// Whether the event, with this action, is looked at at all.
fn is_taken(event: &str, action: &str) -> bool {
    let rules = TriggerRules {
        mention: "@review-my-code-bot",
        has_model_key: true,
    };
    let payload = json!({ "action": action, "changes": { "base": {} } });
    let answer = event::parse(event, &payload, &rules);
    !matches!(
        answer,
        Ok(Trigger::Skip(
            SkipReason::UnknownEvent { .. } | SkipReason::OtherAction { .. }
        ))
    )
}

#[test]
fn the_examples_and_the_usage_page_name_events_that_start_a_review() {
    assert!(!is_taken("push", "") && !is_taken("pull_request", "labeled"));
    for path in examples() {
        for (event, options) in yaml(&path)["on"].as_object().expect("events") {
            if event == "workflow_dispatch" {
                let input = &options["inputs"]["pull_request"];
                assert_eq!(input["required"], true, "{path}");
                continue;
            }
            let types = options["types"].as_array().expect("explicit types");
            for action in types {
                let action = action.as_str().expect("a type");
                assert!(is_taken(event, action), "{path}: {event} {action}");
            }
        }
    }
    let page = text("docs/usage.md");
    let events = rows(section(&page, "Events"));
    assert!(events.len() > 5, "{events:?}");
    for row in events {
        for event in quoted(row[0]).filter(|event| *event != "workflow_dispatch") {
            for action in quoted(row[1]) {
                assert!(is_taken(event, action), "{row:?}");
            }
        }
    }
}
