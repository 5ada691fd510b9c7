//! The gateway with the real OpenCode on one side of it: whole reviews, and the sentences that a user meets.

use crate::standin::model::{Answer, Script};
use crate::standin::world::{KEY, World};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

#[test]
fn a_review_reaches_its_model_with_the_key_and_the_sidecar_never_holds_it() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let looked = Arc::clone(&seen);
    let world = World::shop(Script::new());
    let runner = world.workspace().parent().unwrap().display().to_string();
    let script = Script::new().pass(2, move |_| {
        *looked.lock().unwrap() = environments_of_sidecars(&runner);
        vec![]
    });
    world.model.becomes(script.into_behaviour());
    let ran = world.review();
    ran.ended(0, "clean");
    let environments = seen.lock().unwrap().clone();
    assert!(!environments.is_empty(), "a sidecar was running");
    let placeholders: Vec<&str> = environments
        .iter()
        .filter_map(|all| placeholder(all))
        .collect();
    assert!(!placeholders.is_empty(), "it has a placeholder");
    for environment in &environments {
        assert!(!environment.contains(KEY), "the key is in its environment");
    }
    let headers = world.model.headers();
    assert!(headers.len() >= 4, "four passes");
    for head in headers {
        assert_eq!(head["authorization"], format!("Bearer {KEY}"));
        let all = format!("{head:?}");
        assert!(!placeholders.iter().any(|one| all.contains(one)), "{all}");
    }
    for request in world.model.requests() {
        let request = request.to_string();
        assert!(!request.contains(KEY));
        assert!(!placeholders.iter().any(|one| request.contains(one)));
    }
    world.github.expect_check_run();
    world.finish();
}

/// What the processes of this run's OpenCode hold: their home is below the runner's folders.
fn environments_of_sidecars(runner: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("environ")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .filter(|environment| environment.contains("OPENCODE_CONFIG_CONTENT="))
        .filter(|environment| environment.contains(runner))
        .collect()
}

fn placeholder(environment: &str) -> Option<&str> {
    let (_, rest) = environment.split_once("\"apiKey\":\"")?;
    rest.split('"').next()
}

#[test]
fn an_endpoint_may_serve_a_model_that_the_catalogue_has_under_that_name() {
    let world = World::shop(Script::new());
    let mut workflow = world.opened();
    // To OpenAI itself this one goes by another name, and to another path.
    let model = "openai/gpt-5.4-fast";
    workflow.inputs.insert("model".into(), model.into());
    let ran = world.run(&workflow);
    ran.ended(0, "clean");
    let asked = world.model.requests().pop().unwrap();
    assert_eq!(asked["model"], "gpt-5.4-fast");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn providers_that_no_gateway_can_stand_before_are_refused_with_the_way_out() {
    let world = World::shop(Script::new());
    let mut workflow = world.opened();
    workflow.inputs.remove("model_base_url");
    for (model, sentence) in [
        (
            "amazon-bedrock/anthropic.claude-sonnet-4-5",
            "model names the provider amazon-bedrock, which cannot be used directly: it takes signed requests or a \
             sign-in where others take a key. Set model_base_url to an OpenAI-compatible endpoint in front of it, for \
             example a LiteLLM proxy; model is then provider/name with the name that this endpoint knows.",
        ),
        (
            "google-vertex/gemini-2.5-pro",
            "model names the provider google-vertex, which cannot be used directly: it takes signed requests or",
        ),
        (
            "azure/gpt-5",
            "model names the provider azure, which cannot be used directly: its address depends on your account. Set",
        ),
    ] {
        workflow.inputs.insert("model".into(), model.into());
        let ran = world.run(&workflow);
        ran.ended(2, "error");
        let errors = ran.annotations("error");
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains(sentence), "{errors:?}");
    }
    assert!(world.github.requests().is_empty(), "nothing has begun");
    world.finish();
}

#[test]
fn a_proxy_that_cannot_be_used_is_named_and_its_password_is_not() {
    let world = World::shop(Script::new());
    let mut workflow = world.opened();
    let proxy = "socks5://user:hunter2@proxy.example";
    workflow
        .variables
        .insert("HTTPS_PROXY".into(), proxy.into());
    let ran = world.run(&workflow);
    ran.ended(2, "error");
    let errors = ran.annotations("error");
    assert!(
        errors[0].starts_with("HTTPS_PROXY holds an address that cannot be used; expected"),
        "{errors:?}"
    );
    assert!(!ran.log.contains("hunter2"), "{}", ran.log);
    world.finish();
}

#[test]
fn a_refused_key_is_told_as_before() {
    let world = World::with(&[], |_| {
        let body = serde_json::json!({ "error": { "message": format!("{KEY} is wrong") } });
        Answer::status(401, body)
    });
    let ran = world.review();
    ran.ended(2, "error");
    let errors = ran.annotations("error");
    assert!(
        errors[0].contains("refused the request: *** is wrong (HTTP 401). Check the API key."),
        "{errors:?}"
    );
    world.github.expect_check_run();
    world.finish();
}

/// OpenCode's version has moved, or somebody edited the file by hand: `make providers`.
#[test]
fn our_table_of_providers_is_the_catalogue_of_the_pinned_opencode() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checked = Command::new("node")
        .arg(root.join("tests/providers/make.mjs"))
        .arg("--check")
        .output()
        .expect("node is installed");
    let told = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}");
}
