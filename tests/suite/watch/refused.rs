//! A model that cannot be used: the run ends at once with one sentence that names the cause, and the provider is not asked
//! again. By number of requests, as time says nothing on a busy machine.

use super::{incomplete, quick, reviews};
use crate::review::{lost_page, post};
use crate::standin::model::{Answer, Script};
use crate::standin::world::{Ran, Workflow, World};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The only error of the run is this sentence, and the model was asked so often.
fn ends(world: World, workflow: &Workflow, sentence: &str, requests: usize) {
    let ran = world.run(workflow);
    ran.ended(2, "error");
    assert_eq!(said(&ran), sentence, "{}", ran.log);
    assert!(
        !ran.log.to_lowercase().contains("rate limit"),
        "{}",
        ran.log
    );
    assert!(
        !ran.log.contains("OpenCode asks the model again"),
        "{}",
        ran.log
    );
    assert_eq!(world.model.requests().len(), requests, "{}", ran.log);
    world.github.expect_check_run();
    world.finish();
}

fn said(ran: &Ran) -> String {
    ran.annotations("error").join("\n")
}

fn endpoint(world: &World) -> String {
    format!("The model endpoint {} (model_base_url)", world.model.url())
}

fn error(message: &str, code: &str) -> Value {
    json!({ "error": { "message": message, "type": "error", "code": code } })
}

#[test]
fn an_exhausted_quota_ends_the_run_at_once_under_its_own_name() {
    let body = error("You exceeded your current quota.", "insufficient_quota");
    let world = World::with(&[], move |_| Answer::status(429, body.clone()));
    let sentence = format!(
        "{} does not answer, because the account has no credit or quota left: You exceeded your current quota (HTTP \
         429). Check the billing of the account that the API key belongs to.",
        endpoint(&world)
    );
    let workflow = world.opened();
    ends(world, &workflow, &sentence, 1);
}

#[test]
fn a_model_that_the_endpoint_does_not_know_ends_the_run_at_once() {
    let body = error("The model `scripted` does not exist.", "model_not_found");
    let world = World::with(&[], move |_| Answer::status(404, body.clone()));
    let sentence = format!(
        "{} does not know the model scripted, or its address is wrong: The model `scripted` does not exist (HTTP 404). \
         Check model and model_base_url.",
        endpoint(&world)
    );
    let workflow = world.opened();
    ends(world, &workflow, &sentence, 1);
}

#[test]
fn an_endpoint_that_refuses_connections_ends_the_run_after_three_tries() {
    let world = World::shop(Script::new());
    let mut workflow = world.opened();
    let dead = ("model_base_url".into(), "http://127.0.0.1:1/v1".into());
    workflow.inputs.extend([dead]);
    let sentence = "The model gateway cannot reach http://127.0.0.1:1: connection refused (3 tries). Check \
                    model_base_url, and that the endpoint runs and can be reached from this machine; behind a proxy, set \
                    HTTPS_PROXY.";
    ends(world, &workflow, sentence, 0);
}

#[test]
fn an_endpoint_without_tls_is_connected_to_three_times_and_no_more() {
    let world = World::shop(Script::new());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::default());
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut connection = connection.unwrap();
            let _hello = connection.read(&mut [0; 4096]).unwrap();
            // The other side may have left by now.
            let _gone = connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let mut workflow = world.opened();
    let url = format!("https://{address}/v1");
    workflow.inputs.extend([("model_base_url".into(), url)]);
    let ran = world.run(&workflow);
    ran.ended(2, "error");
    let told = format!("The model gateway cannot reach https://{address}: TLS failed: ");
    assert!(said(&ran).starts_with(&told), "{}", ran.log);
    assert!(said(&ran).contains(" (3 tries). Check"), "{}", ran.log);
    assert_eq!(connections.load(Ordering::Relaxed), 3, "{}", ran.log);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn what_other_providers_say_of_keys_and_credit_ends_the_run_at_once() {
    let credit = "does not answer, because the account has no credit or quota left";
    let cases = [
        (402, "Insufficient Balance", credit),
        (
            400,
            "Your credit balance is too low to access the API",
            credit,
        ),
        (403, "Country not supported", "refused the request"),
        (400, "Incorrect API key provided", "refused the request"),
    ];
    for (status, message, meaning) in cases {
        let body = error(message, "invalid_request_error");
        let world = World::with(&[], move |_| Answer::status(status, body.clone()));
        let ran = world.run(&quick(&world));
        ran.ended(2, "error");
        let told = format!(
            "{} {meaning}: {message} (HTTP {status}). Check",
            endpoint(&world)
        );
        assert!(said(&ran).starts_with(&told), "{}", ran.log);
        assert_eq!(world.model.requests().len(), 1, "{}", ran.log);
        world.github.expect_check_run();
        world.finish();
    }
}

#[test]
fn what_was_found_before_the_credit_ended_is_posted() {
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    let world = World::with(&[], move |request| match request.pass() {
        Some(2) => Answer::status(402, error("Insufficient Balance", "payment")),
        _ => script(request),
    });
    let ran = world.run(&quick(&world));
    let sentence = format!(
        "Pass 2 of 4 failed: {} does not answer, because the account has no credit or quota left: Insufficient Balance \
         (HTTP 402).",
        endpoint(&world)
    );
    incomplete(&ran, &sentence);
    let in_pass_two = world.model.requests();
    let in_pass_two = in_pass_two.iter().filter(|request| {
        let text = request["messages"].to_string();
        text.contains("Pass 2 of 4")
    });
    assert!(in_pass_two.count() <= 1, "{}", ran.log);
    assert_eq!(reviews(&world), 1);
    world.finish();
}
