//! The files of `init`, from the examples that people copy.

use super::*;
use crate::config::file::RepositoryFile;
use serde_json::Value;

const BASIC: &str = include_str!("../../../../examples/basic.yml");
const GATE: &str = include_str!("../../../../examples/merge-gate.yml");
const FIX: &str = include_str!("../../../../examples/fix.yml");
const SETTINGS: &str = include_str!("../../../../examples/opencode-reviewer.yml");

const COMMIT: &str = "b0d63d1e3554f51be51c63421a254d61288447e6";
const DIGEST: &str = "sha256:b0d63d1e3554f51be51c63421a254d61288447e6b0d63d1e3554f51be51c6342";

fn usual() -> Model {
    Model::choose(None, None).expect("a model")
}

#[test]
fn without_a_choice_the_workflow_is_the_example_to_the_letter() {
    let workflow = Workflow::new(Kind::Basic, BASIC, &usual(), None);
    assert_eq!(workflow.text, BASIC);
    assert_eq!(workflow.secrets(), ["ANTHROPIC_API_KEY"]);
    assert!(!workflow.pinned);
}

#[test]
fn another_model_brings_its_provider_s_secret_along() {
    let model = Model::choose(None, Some("openai/gpt-5")).expect("a model");
    for example in [BASIC, GATE, FIX] {
        let text = Workflow::new(Kind::Gate, example, &model, None).text;
        assert!(text.contains("model: openai/gpt-5\n"), "{text}");
        assert!(text.contains("${{ secrets.OPENAI_API_KEY }}"), "{text}");
        assert!(
            !text.contains("anthropic") && !text.contains("ANTHROPIC"),
            "{text}"
        );
        let lines = text.lines().zip(example.lines());
        let changed = lines.filter(|(made, there)| made != there).count();
        assert_eq!(text.lines().count(), example.lines().count());
        let named = example.matches(MODEL).count() + example.matches(SECRET).count();
        assert_eq!(changed, named, "nothing else changes");
    }
}

#[test]
fn a_pin_takes_the_place_of_the_zeros_and_of_the_version_behind_them() {
    let pin = Pin::parse(COMMIT, Kind::Basic).expect("a commit");
    let workflow = Workflow::new(Kind::Basic, BASIC, &usual(), Some(&pin));
    assert!(
        workflow
            .text
            .contains(&format!("- uses: org/opencode-reviewer@{COMMIT}\n"))
    );
    let pin = Pin::parse(DIGEST, Kind::Fix).expect("a digest");
    let workflow = Workflow::new(Kind::Fix, FIX, &usual(), Some(&pin));
    assert_eq!(
        workflow
            .text
            .matches(&format!("opencode-reviewer@{DIGEST}\n"))
            .count(),
        3
    );
    assert!(!workflow.text.contains("00000000"));
}

#[test]
fn a_pin_that_is_none_is_refused() {
    for (text, kind) in [
        ("v1", Kind::Basic),
        (DIGEST, Kind::Basic),
        (COMMIT, Kind::Fix),
        (&COMMIT.to_uppercase(), Kind::Basic),
        (&COMMIT[1..], Kind::Gate),
        ("", Kind::Forks),
        ("b0d63d1e3554f51be51c63421a254d612884\n47e", Kind::Basic),
    ] {
        let refused = Pin::parse(text, kind).expect_err(text);
        assert!(
            refused.starts_with("--pin is \"") && !refused.contains('\n'),
            "{refused}"
        );
    }
}

#[test]
fn a_model_is_asked_for_where_none_can_be_guessed() {
    let choose = |provider, model| Model::choose(provider, model).map(|model| model.to_string());
    assert_eq!(choose(Some("anthropic"), None).as_deref(), Ok(MODEL));
    let together = choose(Some("openai"), Some("gpt-5"));
    assert_eq!(together.as_deref(), Ok("openai/gpt-5"));
    let nested = choose(Some("openrouter"), Some("openrouter/z-ai/glm"));
    assert_eq!(nested.as_deref(), Ok("openrouter/z-ai/glm"));
    assert_eq!(
        choose(Some("openai"), None).expect_err("no model"),
        "--provider openai needs a model; add --model openai/NAME. `opencode models openai` lists the names."
    );
    assert_eq!(
        choose(Some("openai"), Some("anthropic/claude")).expect_err("two providers"),
        "--provider openai and --model anthropic/claude name two providers; leave one of the flags out."
    );
    let wrong = choose(None, Some("gpt-5")).expect_err("no provider");
    assert!(wrong.starts_with("Input model is \"gpt-5\""), "{wrong}");
}

#[test]
fn a_provider_without_a_usual_secret_gets_one_of_its_name() {
    let secret = |provider: &str| {
        let name = "x".to_owned();
        let provider = provider.to_owned();
        Model { provider, name }.secret()
    };
    assert_eq!(secret("google"), "GEMINI_API_KEY");
    assert_eq!(secret("fireworks-ai"), "FIREWORKS_AI_API_KEY");
    assert_eq!(secret("302ai"), "AI_API_KEY");
}

#[test]
fn the_settings_are_those_of_the_example_and_none_of_them_counts() {
    let written = settings(SETTINGS);
    let file = RepositoryFile::parse(&written);
    assert_eq!(file.problems, []);
    let settings = file.effective(&RawInputs::default());
    let usual = RepositoryFile::default().effective(&RawInputs::default());
    assert_eq!(settings, usual);
    let schema = SETTINGS.lines().next().expect("a line");
    assert!(written.starts_with(schema), "{written}");
    let taken: Vec<&str> = written
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with([' ', '#']) && !setting.is_empty() => setting,
            Some(deeper) if deeper.starts_with("  ") => deeper,
            _ => line,
        })
        .collect();
    let taken = RepositoryFile::parse(&taken.join("\n"));
    assert_eq!(taken.problems, []);
    let example = RepositoryFile::parse(SETTINGS);
    let all = |file: &RepositoryFile| file.effective(&RawInputs::default());
    assert_eq!(all(&taken), all(&example));
}

#[test]
fn the_difference_to_a_file_that_is_there_is_a_diff() {
    let mine = BASIC.replace("timeout-minutes: 60", "timeout-minutes: 30");
    let diff = diff(Kind::Basic.path(), &mine, BASIC);
    let expected =
        "--- .github/workflows/review.yml (there)\n+++ .github/workflows/review.yml (init)\n@@ ";
    assert!(diff.starts_with(expected), "{diff}");
    assert!(
        diff.contains("\n-    timeout-minutes: 30\n+    timeout-minutes: 60\n"),
        "{diff}"
    );
}

#[test]
fn the_steps_name_the_pin_the_secrets_and_the_rule() {
    let workflow = Workflow::new(Kind::Gate, GATE, &usual(), None);
    let steps = steps(&workflow, "1.2.3");
    let text = steps.join("\n");
    for told in [
        "1. Put the commit of a release in place of the zeros in .github/workflows/review.yml;",
        "     gh api repos/org/opencode-reviewer/commits/v1.2.3 --jq .sha",
        "     gh secret set ANTHROPIC_API_KEY\n     gh secret set REVIEW_STATE_KEY --body \"$(openssl rand -hex 24)\"",
        "3. Commit the file and open a pull request",
        "4. To hold merges back until the check passes, require the check \"OpenCode review\"",
        "' | gh api --method POST 'repos/{owner}/{repo}/rulesets' --input -",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let rule = text.split('\'').find(|part| part.starts_with("{\""));
    let rule: Value = serde_json::from_str(rule.expect("a rule")).expect("JSON");
    let check = &rule["rules"][0]["parameters"]["required_status_checks"][0];
    assert_eq!(check["context"], "OpenCode review");
}

#[test]
fn a_check_that_not_every_pull_request_gets_is_not_required() {
    let pin = Pin::parse(COMMIT, Kind::Mentions).expect("a commit");
    let workflow = Workflow::new(Kind::Mentions, BASIC, &usual(), Some(&pin));
    let text = steps(&workflow, "1.2.3").join("\n");
    assert!(
        text.starts_with("Next:\n1. Add the provider's key"),
        "{text}"
    );
    assert!(
        !text.contains("rulesets") && !text.contains("zeros"),
        "{text}"
    );
    let workflow = Workflow::new(Kind::Fix, FIX, &usual(), None);
    let text = steps(&workflow, "1.2.3").join("\n");
    let digest =
        "gh api 'repos/org/opencode-reviewer/contents/action.yml?ref=v1.2.3' --jq .content";
    assert!(text.contains(digest), "{text}");
}
