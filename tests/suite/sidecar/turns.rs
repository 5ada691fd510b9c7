//! Turns that go well: what the model may use, what it gets back, what it all cost.

use super::workshop::{KEY, Workshop, endpoint, processes_in};
use crate::standin::model::{Answer, Call, Model, Request, Script};
use futures_util::StreamExt;
use reviewer_agent::opencode::profile::{Surroundings, environment};
use reviewer_agent::opencode::{Sidecar, SidecarEvent, ToolState};
use reviewer_core::config::ModelChoice;
use reviewer_system::clock::Clock;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn the_model_reads_and_searches_and_nothing_else() {
    let workshop = Workshop::open().await;
    let file = workshop.snapshot().join("a.rs");
    let written = workshop.snapshot().join("written.txt");
    let target = written.clone();
    let model = Model::start(move |request| match request.step() {
        0 => Answer::text_and_calls(
            "Looking.",
            vec![
                Call::new("read", json!({ "filePath": file })),
                Call::new("grep", json!({ "pattern": "beta" })),
            ],
        ),
        1 => Answer::calls(vec![
            Call::new("bash", json!({ "command": "id", "description": "id" })),
            Call::new("write", json!({ "filePath": target, "content": "x" })),
            Call::new("read", json!({ "filePath": "/etc/hostname" })),
        ]),
        _ => Answer::text("I have read it."),
    });
    let sidecar = workshop.sidecar(&model).await;
    let client = sidecar.client();
    let session = client.create_session("Review").await.unwrap();
    let turn = client.prompt(&session, "Please look.").await.unwrap();

    assert_eq!(turn.error, None);
    assert_eq!(
        (turn.text.as_str(), turn.finish.as_str()),
        ("I have read it.", "stop")
    );
    assert_eq!((turn.tool_calls, turn.usage.requests), (5, 3));
    assert!(!written.exists());

    let requests = model.requests();
    assert_eq!(requests.len(), 3, "no title, no summary, no second model");
    let last = Request::new(requests[2].clone());
    assert!(last.system().contains("You review pull requests."));
    assert_eq!(last.last_user(), "Please look.");
    let mut tools = last.tools();
    tools.sort();
    let offered = [
        "github_post_review_comment",
        "glob",
        "grep",
        "read",
        "submit_pass_results",
    ];
    assert_eq!(tools, offered);
    let results = last.tool_results();
    assert_eq!(results.len(), 5);
    assert!(
        results[0].content.contains("1: fn alpha() {}"),
        "{results:?}"
    );
    assert!(results[1].content.contains("b.rs"), "{results:?}");
    assert!(
        results[2].content.contains("unavailable tool"),
        "{results:?}"
    );
    assert!(
        results[3].content.contains("unavailable tool"),
        "{results:?}"
    );
    let refused = "a rule which prevents you from using this specific tool call";
    assert!(results[4].content.contains(refused), "{results:?}");
    sidecar.stop().await;
}

#[tokio::test]
async fn what_a_session_costs_adds_up_over_its_turns() {
    let workshop = Workshop::open().await;
    let model = Model::start(|request| match request.step() {
        0 => Answer::call("glob", json!({ "pattern": "*.rs" })),
        _ => Answer::text("Done."),
    });
    let sidecar = workshop.sidecar(&model).await;
    let client = sidecar.client();
    let session = client.create_session("Review").await.unwrap();
    let first = client.prompt(&session, "One.").await.unwrap();
    let second = client.prompt(&session, "Two.").await.unwrap();
    let usage = client.usage(&session).await.unwrap();

    assert_eq!(
        (first.usage.requests, second.usage.requests, usage.requests),
        (2, 2, 4)
    );
    let sent: usize = model
        .requests()
        .iter()
        .map(|r| r.to_string().len() / 4)
        .sum();
    let input = usize::try_from(usage.tokens.input).unwrap();
    assert!(input.abs_diff(sent) <= sent / 20, "{input} of {sent}");
    assert_eq!(
        usage.tokens.input,
        first.usage.tokens.input + second.usage.tokens.input
    );
    assert_eq!(
        client.spent(&session).await.unwrap(),
        (usage.tokens, usage.cost)
    );
    sidecar.stop().await;
}

#[tokio::test]
async fn four_passes_are_submitted_through_our_tools() {
    let workshop = Workshop::open().await;
    let script = Script::new()
        .pass(1, |_| vec![Call::new("glob", json!({ "pattern": "*.rs" }))])
        .pass(1, |request| {
            let seen = request.last_result().unwrap_or_default();
            vec![Call::new(
                "github_post_review_comment",
                json!({ "b": seen.contains("b.rs") }),
            )]
        })
        .results(2, json!({ "pass_number": 2, "summary": "Two." }))
        .never_submits(4);
    let model = Model::start(script.into_behaviour());
    let sidecar = workshop.sidecar(&model).await;
    let client = sidecar.client();
    let session = client.create_session("Review").await.unwrap();
    let mut events = std::pin::pin!(client.events().await.unwrap());
    let ready = client.prompt(&session, "Get ready.").await.unwrap();
    assert_eq!(ready.text, "Ready.");
    for pass in 1..=4 {
        let prompt = format!("Pass {pass} of 4: look.");
        let turn = client.prompt(&session, &prompt).await.unwrap();
        assert_eq!(turn.text, format!("Pass {pass} is done."));
    }
    let nothing = |pass| {
        json!({ "pass_number": pass, "summary": "Nothing to report.",
        "has_blocking_issues": false })
    };
    let called: Vec<Value> = workshop
        .tools
        .calls()
        .iter()
        .map(|c| c["arguments"].clone())
        .collect();
    let expected = [
        json!({ "b": true }),
        nothing(1),
        json!({ "pass_number": 2, "summary": "Two." }),
        nothing(3),
    ];
    assert_eq!(called, expected);

    let mut completed = Vec::new();
    while let Ok(Some(event)) =
        tokio::time::timeout(Duration::from_millis(500), events.next()).await
    {
        if let SidecarEvent::ToolCall {
            tool,
            state: ToolState::Completed,
            ..
        } = event
        {
            completed.push(tool);
        }
    }
    let submit = "submit_pass_results";
    assert_eq!(
        completed,
        ["glob", "github_post_review_comment", submit, submit, submit]
    );
    sidecar.stop().await;
}

#[tokio::test]
async fn files_written_after_the_session_began_are_found() {
    let workshop = Workshop::open().await;
    let model = Model::start(|request| match request.step() {
        0 => Answer::call("grep", json!({ "pattern": "gamma" })),
        _ => Answer::text(&request.last_result().unwrap_or_default()),
    });
    let sidecar = workshop.sidecar(&model).await;
    let client = sidecar.client();
    let session = client.create_session("Review").await.unwrap();
    std::fs::write(workshop.snapshot().join("late.rs"), "fn gamma() {}\n").unwrap();
    let turn = client.prompt(&session, "Find gamma.").await.unwrap();
    assert!(turn.text.contains("late.rs"), "{}", turn.text);
    sidecar.stop().await;
}

#[tokio::test]
async fn the_catalogue_says_which_models_it_knows() {
    let workshop = Workshop::open().await;
    let choice = ModelChoice {
        provider: "anthropic".into(),
        name: "claude-of-tomorrow".into(),
        base_url: None,
        key: Some(KEY.into()),
        context: None,
    };
    let sidecar = Sidecar::start(&workshop.spec(&choice), &Clock::scaled(1.0))
        .await
        .unwrap();
    let providers = sidecar.client().providers().await.unwrap();
    assert!(providers.len() > 100, "{}", providers.len());
    let find = |id: &str| providers.iter().find(|p| p.id == id).unwrap();
    let anthropic = find("anthropic");
    assert!(anthropic.connected && !find("openai").connected);
    assert_eq!(anthropic.env, ["ANTHROPIC_API_KEY"]);
    let limit = |name: &str| {
        anthropic
            .models
            .iter()
            .find(|(id, _)| id == name)
            .map(|(_, n)| *n)
    };
    assert_eq!(limit("claude-haiku-4-5"), Some(Some(200_000)));
    assert_eq!(
        limit("claude-of-tomorrow"),
        Some(None),
        "usable, and known to be unknown"
    );
    sidecar.stop().await;
}

/// OpenCode's own word on what the profile comes to.
#[tokio::test]
async fn opencode_itself_says_that_the_reviewer_only_reads() {
    let workshop = Workshop::open().await;
    let spec = workshop.spec(&endpoint("http://127.0.0.1:9/v1"));
    let variables = environment(Surroundings {
        home: &spec.home,
        programs: &spec.programs,
        password: &"pw".into(),
        config: &spec.config,
    });
    std::fs::create_dir_all(spec.home.join("tmp")).unwrap();
    let run = async |arguments: &[&str]| {
        let output = tokio::process::Command::new(&spec.executable)
            .args(arguments)
            .current_dir(&spec.directory)
            .env_clear()
            .envs(variables.clone())
            .output()
            .await
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let agent: Value = serde_json::from_str(&run(&["debug", "agent", "reviewer"]).await).unwrap();
    let tools = agent["tools"].as_object().unwrap();
    let mut enabled: Vec<&str> = tools
        .iter()
        .filter(|(_, on)| **on == true)
        .map(|(n, _)| n.as_str())
        .collect();
    enabled.sort_unstable();
    assert_eq!(enabled, ["glob", "grep", "read"]);

    let rules = agent["permission"].as_array().unwrap();
    let deny_all = |rule: &Value| rule["permission"] == "*" && rule["action"] == "deny";
    let after = rules
        .iter()
        .rposition(deny_all)
        .expect("everything is denied first");
    let rest = &rules[after + 1..];
    assert!(rest.iter().all(|rule| rule["action"] != "ask"), "{rest:?}");
    let mut allowed: Vec<&str> = rest
        .iter()
        .filter(|rule| rule["action"] == "allow" && rule["pattern"] == "*")
        .filter_map(|rule| rule["permission"].as_str())
        .collect();
    allowed.sort_unstable();
    let expected = [
        "github_get_run_state",
        "github_post_review_comment",
        "github_reply_to_thread",
        "github_resolve_thread",
        "glob",
        "grep",
        "list",
        "read",
        "submit_conversation",
        "submit_fix_check",
        "submit_pass_results",
    ];
    assert_eq!(allowed, expected);

    let listed = run(&["agent", "list"]).await;
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_once(" ("))
        .map(|(n, _)| n)
        .filter(|name| !name.starts_with(' '))
        .collect();
    assert_eq!(names, ["compaction", "reviewer"], "{listed}");
    let other: Value = serde_json::from_str(&run(&["debug", "agent", "compaction"]).await).unwrap();
    let tools = other["tools"].as_object().unwrap();
    assert!(tools.values().all(|on| *on == false), "{tools:?}");
    assert_eq!(processes_in(&workshop.snapshot()), Vec::<String>::new());
}

#[tokio::test]
async fn the_scripted_model_also_answers_without_a_stream() {
    let model = Model::start(|_| Answer::call("read", json!({ "filePath": "a.rs" })));
    let url = format!("{}/chat/completions", model.url());
    let body = json!({ "messages": [{ "role": "user", "content": "Pass 2 of 4" }] });
    let response = reqwest::Client::new()
        .post(url)
        .json(&body)
        .send()
        .await
        .unwrap();
    let answer: Value = response.json().await.unwrap();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(
        choice["message"]["tool_calls"][0]["function"]["name"],
        "read"
    );
    assert_eq!(answer["usage"]["prompt_tokens"], body.to_string().len() / 4);
    assert_eq!(Request::new(model.requests().remove(0)).pass(), Some(2));
}
