//! The inputs, as the author of a workflow writes them and reads what was wrong.

use super::*;
use crate::config::{FixDelivery, FixMode, ForkReviews, ReviewMode};
use crate::domain::Login;
use secrecy::ExposeSecret;
use serde::Deserialize;
use std::time::Duration;

fn raw(inputs: &[(&str, &str)]) -> RawInputs {
    let vars = inputs.iter().map(|(name, value)| {
        (
            format!("INPUT_{}", name.to_uppercase()),
            (*value).to_owned(),
        )
    });
    RawInputs::from_vars(vars).unwrap()
}

/// A valid configuration with some inputs replaced.
fn with(inputs: &[(&str, &str)]) -> RawInputs {
    let mut all = vec![
        ("model", "anthropic/claude"),
        ("github_token", "ghs_0123456789"),
    ];
    all.retain(|(name, _)| !inputs.iter().any(|(replaced, _)| replaced == name));
    all.extend(inputs);
    raw(&all)
}

fn errors(inputs: &[(&str, &str)]) -> Vec<String> {
    told(&with(inputs))
}

/// All that is wrong, for whoever reviews a pull request.
fn told(raw: &RawInputs) -> Vec<String> {
    let (config, token) = (config(raw).err(), github_token(raw).err());
    let errors = config.into_iter().chain(token).flatten();
    errors.map(|error| error.to_string()).collect()
}

#[test]
fn a_workflow_that_names_only_the_model_gets_the_documented_defaults() {
    // GitHub sets every declared input; those not given are empty.
    let mut inputs: Vec<(&str, &str)> = INPUTS.iter().map(|input| (input.name, "")).collect();
    inputs.retain(|(name, _)| !matches!(*name, "model" | "github_token"));
    let config = config(&with(&inputs)).unwrap();
    assert_eq!(
        (config.model.provider.as_str(), config.model.name.as_str()),
        ("anthropic", "claude")
    );
    assert!(config.model.key.is_none() && config.model.base_url.is_none());
    assert_eq!(config.policy.threshold.get(), 5);
    assert_eq!(config.policy.elevation, 5);
    assert_eq!(config.policy.blocking.map(Score::get), Some(9));
    assert_eq!(config.policy.sensitivity, None);
    assert!(!config.fail_job);
    assert!(config.web.is_none());
    assert_eq!(
        config.trusted_bots,
        [
            Login::new("opencode-reviewer[bot]"),
            Login::new("github-actions[bot]")
        ]
    );
    assert_eq!(config.mention, "@review-my-code-bot");
    assert_eq!(config.skip_label, "skip-review");
    assert_eq!(config.memory, 0);
    assert_eq!(config.timeout, Duration::from_mins(40));
    assert!((config.max_cost_usd - 5.0).abs() < f64::EPSILON);
    assert_eq!(config.max_cost_usd_per_day, Some(20.0));
    assert_eq!(config.fork_reviews, ForkReviews::OnMention);
    assert_eq!(config.review_mode, ReviewMode::Comment);
    let fix = &config.fix;
    assert_eq!((fix.mode, fix.max_cycles), (FixMode::OnRequest, 2));
    assert_eq!(fix.delivery, FixDelivery::Push);
    assert!(fix.push_token.is_none());
    assert_eq!(config.max_tokens, None);
    assert_eq!(config.max_tokens_per_day, None);
    assert!(config.state_keys.is_empty());
}

#[test]
fn the_table_names_each_input_once_and_takes_its_own_defaults() {
    for input in INPUTS {
        let same = INPUTS.iter().filter(|other| other.name == input.name);
        assert_eq!(same.count(), 1, "{}", input.name);
        if !input.default.starts_with("${{") {
            assert_eq!(input.problem(input.default), None, "{}", input.name);
        }
    }
    for name in OF_MODEL.iter().chain(OF_MEMORY).chain([&GITHUB_TOKEN]) {
        assert!(Input::named(name).is_some(), "{name}");
    }
}

#[test]
fn what_rebuilds_the_threads_is_read_without_the_model() {
    let read = memory(&raw(&[
        ("github_token", "ghs_0123456789"),
        ("opencode_api_key", "k"),
        ("problem_score_threshold", "10"),
        ("human_reviewers", "ada"),
        ("dry_run", "true"),
        ("fail_job", "true"),
        ("state_key", "first-key-of-twenty-chars"),
        ("max_tokens", "wrong, and of no matter here"),
    ]))
    .unwrap();
    assert_eq!(read.github_token.expose_secret(), "ghs_0123456789");
    assert_eq!(read.model_key.unwrap().expose_secret(), "k");
    assert_eq!(read.blocking.map(Score::get), Some(10));
    assert_eq!(read.human_reviewers, ["ada"]);
    assert_eq!(read.trusted_bots.len(), 2);
    assert_eq!(read.state_keys.len(), 1);
    assert!(read.dry_run && read.fail_job);
}

#[test]
fn values_mean_what_their_author_meant() {
    let config = config(&with(&[
        ("model", "openrouter/vendor/model:free"),
        ("problem_score_threshold", " 6 "),
        ("blocking_score_threshold", "OFF"),
        ("fail_job", "Yes"),
        ("sensitivity", "High"),
        ("trusted_bots", "@one[bot]\n two , three_x"),
        ("mention", "helper"),
        ("max_cost_usd", "0.50"),
        ("fork_reviews", "Always"),
        ("review_event", "Decide"),
        ("max_tokens", "200000"),
        ("max_per_day", "1000000 Tokens"),
        (
            "static_analysis",
            "./out/semgrep.sarif\n eslint .sarif, codeql.sarif",
        ),
        ("model_base_url", "http://127.0.0.1:8080/v1/"),
        (
            "state_key",
            "first-key-of-twenty-chars\nsecond-key-of-twenty-chars",
        ),
    ]))
    .unwrap();
    assert_eq!(
        (config.model.provider.as_str(), config.model.name.as_str()),
        ("openrouter", "vendor/model:free")
    );
    assert_eq!(
        config.model.base_url.as_deref(),
        Some("http://127.0.0.1:8080/v1")
    );
    assert_eq!(config.policy.threshold.get(), 6);
    assert_eq!(config.policy.blocking, None);
    assert!(config.fail_job);
    assert_eq!(config.policy.sensitivity, Some(Sensitivity::High));
    assert_eq!(
        config.trusted_bots,
        [
            Login::new("one[bot]"),
            Login::new("two"),
            Login::new("three_x")
        ]
    );
    assert_eq!(config.mention, "@helper");
    assert!((config.max_cost_usd - 0.5).abs() < f64::EPSILON);
    assert_eq!(config.max_cost_usd_per_day, None);
    assert_eq!(config.fork_reviews, ForkReviews::Always);
    assert_eq!(config.review_mode, ReviewMode::Decide);
    assert_eq!(config.max_tokens, Some(200_000));
    assert_eq!(config.max_tokens_per_day, Some(1_000_000));
    let files = ["out/semgrep.sarif", "eslint .sarif", "codeql.sarif"];
    assert_eq!(config.static_analysis, files);
    assert_eq!(config.state_keys.len(), 2);
    assert_eq!(
        config.state_keys[0].expose_secret(),
        "first-key-of-twenty-chars"
    );
}

#[test]
fn a_blocking_bar_below_the_threshold_is_the_threshold() {
    let policy = config(&with(&[("problem_score_threshold", "10")]))
        .unwrap()
        .policy;
    assert_eq!(policy.blocking.map(Score::get), Some(10));
}

#[test]
fn wrong_inputs_are_reported_together_each_on_one_line() {
    let errors = errors(&[
        ("model", "claude"),
        ("problem_score_threshold", "high"),
        ("blocking_score_threshold", "11"),
        ("fail_job", "maybe"),
        ("review_event", "approve"),
    ]);
    assert_eq!(
        errors,
        [
            "Input model is \"claude\"; expected provider/name, for example anthropic/claude-sonnet-4-5.",
            "Input problem_score_threshold is \"high\"; expected a whole number from 1 to 10.",
            "Input blocking_score_threshold is \"11\"; expected a whole number from 1 to 10, or off.",
            "Input fail_job is \"maybe\"; expected true or false.",
            "Input review_event is \"approve\"; expected comment or decide.",
        ]
    );
}

#[test]
fn what_is_missing_is_named() {
    let said = told(&raw(&[]));
    assert_eq!(said.len(), 2);
    assert!(said[0].starts_with("Input model is missing; expected provider/name"));
    assert!(said[1].starts_with("Input github_token is missing; pass ${{ github.token }}"));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn each_wrong_value_is_refused_by_name() {
    let long = "x".repeat(1_000_000);
    for (input, values) in [
        (
            "problem_score_threshold",
            vec![
                "0",
                "11",
                "5.5",
                "NaN",
                "-1",
                "+5",
                "５",
                "5 5",
                long.as_str(),
            ],
        ),
        ("score_elevation_threshold", vec!["0", "101", "x"]),
        ("blocking_score_threshold", vec!["0", "none", "on"]),
        ("fail_job", vec!["1", "ja", long.as_str()]),
        ("sensitivity", vec!["medium"]),
        ("review_timeout_minutes", vec!["0", "361", "40m", "1e2"]),
        (
            "max_cost_usd",
            vec!["0", "-1", "NaN", "inf", "1e3", "$5", "1.2.3"],
        ),
        (
            "static_analysis",
            vec![
                "/tmp/a.sarif",
                "../a.sarif",
                "out/../../a.sarif",
                "a\u{7}.sarif",
                ",",
                "1,2,3,4,5,6,7,8,9,10,11",
            ],
        ),
        (
            "max_per_day",
            vec![
                "0",
                "20",
                "-1 USD",
                "none",
                "0 USD",
                "20 EUR",
                "1e6 tokens",
                "20 USD, 30 USD",
                "$",
                "5,000,000 tokens",
                "20 USD 5 tokens",
                "off, 20 USD",
                ",",
            ],
        ),
        ("fork_reviews", vec!["true", "mention", "on mention"]),
        ("review_event", vec!["true", "approve", "APPROVE", "off"]),
        ("fix", vec!["true", "always", "on request"]),
        ("fix_delivery", vec!["commit", "pull request", "off"]),
        ("max_fix_cycles", vec!["0", "11", "two", "-1"]),
        ("memory", vec!["21", "-1", "ten", "1.5"]),
        ("max_tokens", vec!["0", "10k", "99999999999999999999"]),
        (
            "model",
            vec![
                "/x",
                "x/",
                "a/b\nc",
                "a b/c",
                "a//b",
                "a/b c",
                "a/\"b",
                long.as_str(),
            ],
        ),
        (
            "model_base_url",
            vec![
                "llm.example",
                "ftp://x/v1",
                "https://",
                "https://x/?a=b",
                "https://x/#f",
                "https://x y/",
            ],
        ),
        (
            "mention",
            vec!["@", "@a b", "@org/team", "-x", long.as_str()],
        ),
        (
            "trusted_bots",
            vec![",", "a b", "x[bot", "a/b", long.as_str()],
        ),
        ("skip_label", vec!["a\nb", long.as_str()]),
        ("opencode_api_key", vec!["a b", "ключ", long.as_str()]),
        ("github_token", vec!["a\nb", "a\u{7f}"]),
        (
            "state_key",
            vec!["short", "long-enough-for-a-state-key,short", ","],
        ),
    ] {
        for value in values {
            let said = errors(&[(input, value)]);
            assert_eq!(said.len(), 1, "{input}: {said:?}");
            assert!(said[0].starts_with(&format!("Input {input} ")), "{said:?}");
            assert!(
                said[0].len() < 400 && !said[0].contains(char::is_control),
                "{said:?}"
            );
        }
    }
}

#[test]
fn a_secret_is_never_shown_however_wrong_it_is() {
    let shown = format!(
        "{:?} {:?}",
        errors(&[
            ("opencode_api_key", "hunter2 hunter2"),
            ("github_token", "hunter2\t"),
            ("state_key", "hunter2"),
            ("web_search_api_key", "hunter2 hunter2"),
            (
                "web_search_url",
                "https://search.example/mcp?exaApiKey=hunter2"
            )
        ]),
        errors(&[("model_base_url", "https://user:hunter2@llm.example/v1")]),
    );
    assert!(!shown.contains("hunter2"), "{shown}");
    let raw = with(&[
        ("opencode_api_key", "hunter2"),
        ("github_token", "hunter2"),
        ("enable_web", "true"),
        ("web_search_api_key", "hunter2"),
    ]);
    let config = config(&raw).unwrap();
    assert!(!format!("{raw:?} {config:?}").contains("hunter2"));
}

#[test]
fn the_web_is_asked_only_where_it_was_turned_on() {
    let endpoint = ("web_search_url", "http://127.0.0.1:9/mcp/");
    assert!(config(&with(&[endpoint])).unwrap().web.is_none());
    let web = config(&with(&[endpoint, ("enable_web", "on")]))
        .unwrap()
        .web;
    let web = web.expect("turned on");
    assert_eq!(web.search_url.as_deref(), Some("http://127.0.0.1:9/mcp/"));
    assert!(web.search_key.is_none());
    for wrong in [
        "nowhere",
        "ftp://search.example/",
        "https://search.example/?q",
    ] {
        let said = &errors(&[("web_search_url", wrong)])[0];
        assert!(said.contains("https://search.example/mcp."), "{said}");
    }
    assert!(errors(&[("enable_web", "maybe")])[0].contains("true or false"));
}

#[test]
fn a_shown_value_is_cut_and_escaped() {
    let value = format!("\u{1b}[2J\n::error::{}", "y".repeat(100));
    let said = &errors(&[("sensitivity", &value)])[0];
    assert!(said.contains(r"\u{1b}[2J\n::error::yyy"), "{said}");
    assert!(said.contains("y…\""), "{said}");
}

#[test]
fn the_model_can_be_read_although_other_inputs_are_wrong() {
    let reviewers = reviewer_choices(&raw(&[("model", "local/m"), ("fail_job", "maybe")])).unwrap();
    let model = &reviewers[0].model;
    assert_eq!(model.provider, "local");
    let errors =
        reviewer_choices(&raw(&[("model_base_url", "nowhere")])).expect_err("two wrong inputs");
    assert_eq!(
        errors
            .iter()
            .map(|error| error.input.as_str())
            .collect::<Vec<_>>(),
        ["model", "model_base_url"]
    );
}

#[test]
fn a_fallback_is_another_model_and_no_other_review() {
    let without = config(&with(&[])).unwrap();
    assert!(without.reviewers[0].fallback.is_none());
    let given = config(&with(&[("fallback_model", "openai/gpt-5")])).unwrap();
    let fallback = given.reviewers[0].fallback.as_ref().unwrap();
    assert_eq!(fallback.to_string(), "openai/gpt-5");
    assert_eq!(given.fingerprint(), without.fingerprint());
    let same = errors(&[("fallback_model", "anthropic/claude")]);
    let expected = "Input fallback_model is anthropic/claude, the model that reviews already; expected another one.";
    assert_eq!(same, [expected]);
    let nameless = errors(&[("fallback_model", "gpt-5")]);
    assert!(
        nameless[0].starts_with("Input fallback_model is \"gpt-5\"; expected"),
        "{nameless:?}"
    );
    // Of use to one of the reviewers.
    let reviewers = ("reviewers", "general, quality=openai/gpt-5");
    let of_panel = config(&with(&[reviewers, ("fallback_model", "openai/gpt-5")])).unwrap();
    let has: Vec<bool> = of_panel
        .reviewers
        .iter()
        .map(|one| one.fallback.is_some())
        .collect();
    assert_eq!(has, [true, false]);
}

#[test]
fn the_fingerprint_follows_what_matters_to_a_review_and_no_secret() {
    let print = |inputs: &[(&str, &str)]| config(&with(inputs)).unwrap().fingerprint();
    let base = print(&[]);
    assert_eq!(base.len(), 16);
    assert_eq!(
        base,
        print(&[
            ("opencode_api_key", "k"),
            ("github_token", "t"),
            ("skip_label", "x"),
            ("review_event", "decide")
        ])
    );
    for change in [
        ("model", "anthropic/other"),
        ("problem_score_threshold", "6"),
        ("score_elevation_threshold", "6"),
        ("blocking_score_threshold", "off"),
        ("sensitivity", "low"),
        ("enable_web", "true"),
        ("static_analysis", "semgrep.sarif"),
        ("memory", "10"),
    ] {
        assert_ne!(base, print(&[change]), "{change:?}");
    }
}

#[derive(Deserialize)]
struct ActionFile {
    inputs: BTreeMap<String, ActionInput>,
    outputs: BTreeMap<String, ActionOutput>,
    runs: Runs,
}

#[derive(Deserialize)]
struct ActionInput {
    description: String,
    #[serde(default)]
    default: String,
    required: bool,
}

#[derive(Deserialize)]
struct ActionOutput {
    description: String,
}

#[derive(Deserialize)]
struct Runs {
    using: String,
    image: String,
}

#[test]
fn action_yml_says_what_the_table_says() {
    let text = include_str!("../../../../action.yml");
    let file: ActionFile = serde_yaml::from_str(text).unwrap();
    for input in INPUTS {
        let row = file
            .inputs
            .get(input.name)
            .unwrap_or_else(|| panic!("{} is not in action.yml", input.name));
        assert_eq!(row.default, input.default, "{}", input.name);
        assert_eq!(row.required, input.is_required(), "{}", input.name);
        assert_eq!(row.description, input.help, "{}", input.name);
    }
    assert_eq!(file.inputs.len(), INPUTS.len());
    let order: Vec<usize> = INPUTS
        .iter()
        .map(|input| text.find(&format!("\n  {}:\n", input.name)).unwrap())
        .collect();
    assert!(
        order.is_sorted(),
        "action.yml lists the inputs in the order of the table"
    );
    let outputs: Vec<&str> = file.outputs.keys().map(String::as_str).collect();
    assert_eq!(
        outputs,
        [
            "blocking_issues",
            "cost_usd",
            "human_review_required",
            "issues_found",
            "open_issues",
            "patch_file",
            "report_file",
            "report_html",
            "review_status",
            "sarif_file",
            "tokens"
        ]
    );
    assert!(
        file.outputs
            .values()
            .all(|output| !output.description.is_empty())
    );
    assert_eq!(
        (file.runs.using.as_str(), file.runs.image.as_str()),
        ("docker", "Dockerfile")
    );
}

#[test]
fn a_name_that_is_no_input_is_refused_together_with_wrong_values() {
    assert_eq!(
        errors(&[("modell", "x/y"), ("colour", "red"), ("fail_job", "maybe")]),
        [
            "Input colour is not known; action.yml and `opencode-reviewer inputs` list the inputs.",
            "Input modell is not known; did you mean model?",
            "Input fail_job is \"maybe\"; expected true or false.",
        ]
    );
    let typed = with(&[("max-tokens", "5")]);
    let said = memory(&typed).unwrap_err();
    assert_eq!(
        said[0].to_string(),
        "Input max-tokens is not known; did you mean max_tokens?"
    );
}

#[test]
fn what_the_runner_takes_for_the_container_is_no_mistake() {
    assert_eq!(
        errors(&[("args", "action"), ("entrypoint", "/bin/x")]),
        [""; 0]
    );
}

#[test]
fn a_shell_may_hold_variables_of_other_programs_but_no_wrong_argument() {
    let mut inputs = with(&[("rc", "~/.inputrc")]).of_shell();
    assert!(config(&inputs).is_ok());
    inputs.set("modell", "x/y");
    assert_eq!(
        told(&inputs),
        ["Input modell is not known; did you mean model?"]
    );
}

#[test]
fn a_shell_gets_advice_for_shells() {
    assert_eq!(
        told(&RawInputs::default().of_shell()),
        [
            "Input model is missing; add --model provider/name, for example --model anthropic/claude-sonnet-4-5.",
            "Input github_token is missing; run `export GITHUB_TOKEN=$(gh auth token)`.",
        ]
    );
}

#[test]
fn the_limits_of_a_day_are_dollars_tokens_both_or_none() {
    let limits = |text: &str| {
        let config = config(&with(&[("max_per_day", text)])).unwrap();
        (config.max_cost_usd_per_day, config.max_tokens_per_day)
    };
    for (text, usd, tokens) in [
        ("20 USD", Some(20.0), None),
        ("$0.50", Some(0.5), None),
        ("$ 20, 5000000 tokens", Some(20.0), Some(5_000_000)),
        ("5000000tokens\n20usd", Some(20.0), Some(5_000_000)),
        ("1 token", None, Some(1)),
        ("Off", None, None),
        ("false", None, None),
    ] {
        assert_eq!(limits(text), (usd, tokens), "{text}");
    }
    assert_eq!(
        errors(&[("max_per_day", "20")]),
        [
            "Input max_per_day is \"20\"; expected an amount in US dollars, in tokens or both, each once, for example 20 USD, \
          5000000 tokens; or off."
        ]
    );
}

#[test]
fn a_name_of_before_is_refused_with_the_name_of_now() {
    assert_eq!(
        errors(&[
            ("max_cost_usd_per_day", "20"),
            ("max_tokens_per_day", "off")
        ]),
        [
            "Input max_cost_usd_per_day is part of max_per_day now; give max_per_day, for example 20 USD.",
            "Input max_tokens_per_day is part of max_per_day now; give max_per_day, for example 5000000 tokens."
        ]
    );
}

#[test]
fn only_a_name_that_is_close_is_suggested() {
    let known = ["model", "ofox", "anthropic"];
    let nearest = |typed| crate::config::nearest(typed, known.into_iter());
    assert_eq!(nearest("modle"), Some("model"));
    assert_eq!(nearest("antropic"), Some("anthropic"));
    assert_eq!(nearest("foo"), None);
}
