//! Several sessions at one gateway: each has its own placeholder, model, key and count, and none of another's.

use super::bench::{Bench, Provider, refused};
use reqwest::{Method, RequestBuilder};
use reviewer_agent::gateway::{Limits, Models};
use reviewer_core::config::ModelChoice;

const SESSIONS: [[&str; 4]; 2] = [
    ["r1", "m-1", "placeholder-one", "key-of-the-first-model"],
    ["r2", "m-2", "placeholder-two", "key-of-the-second-model"],
];

struct Panel {
    providers: [Provider; 2],
    bench: Bench,
}

impl Panel {
    async fn open(limits: Limits) -> Self {
        let providers = [Provider::says("one").await, Provider::says("two").await];
        let model = |at: usize| {
            let [_, name, _, key] = SESSIONS[at];
            ModelChoice {
                provider: "standin".into(),
                name: name.into(),
                base_url: Some(providers[at].url()),
                key: Some(key.into()),
                context: None,
            }
        };
        let models = [model(0), model(1)];
        let sessions = [0, 1].map(|at| (SESSIONS[at][0], &models[at], SESSIONS[at][2]));
        Self {
            bench: Bench::between(&sessions, &[], limits).await,
            providers,
        }
    }

    fn asks(&self, session: &str, placeholder: &str, model: &str) -> RequestBuilder {
        let path = format!("/model/{session}/chat/completions");
        let request = self.bench.plain(Method::POST, &path);
        request
            .bearer_auth(placeholder)
            .header("content-type", "application/json")
            .body(format!(r#"{{"model":"{model}"}}"#))
    }

    fn got(&self) -> [usize; 2] {
        self.providers.each_ref().map(|one| one.got().len())
    }
}

#[tokio::test]
async fn each_session_reaches_its_own_model_with_its_own_key() {
    let panel = Panel::open(Limits::default()).await;
    for ([session, model, placeholder, key], provider) in SESSIONS.iter().zip(&panel.providers) {
        let answer = panel.asks(session, placeholder, model).send().await;
        assert_eq!(answer.unwrap().status(), 200, "{session}");
        let got = &provider.got()[0];
        assert_eq!(got.headers["authorization"], format!("Bearer {key}"));
        assert_eq!(got.body, format!(r#"{{"model":"{model}"}}"#));
    }
    assert_eq!(panel.got(), [1, 1]);
}

#[tokio::test]
async fn the_placeholder_of_one_session_opens_no_other_route() {
    let panel = Panel::open(Limits::default()).await;
    let [[one, m1, first, _], [two, m2, second, _]] = SESSIONS;
    for (session, placeholder, model) in [
        (two, first, m2),
        (two, first, m1),
        (one, second, m1),
        ("r3", first, m1),
        ("r11", first, m1),
        ("", first, m1),
    ] {
        let (status, message) = refused(panel.asks(session, placeholder, model)).await;
        assert_eq!(status, 401, "{session}: {message}");
    }
    let without = panel.bench.plain(Method::POST, "/model/chat/completions");
    assert_eq!(refused(without.bearer_auth(first)).await.0, 401);
    assert_eq!(panel.got(), [0, 0]);
}

#[tokio::test]
async fn a_session_may_not_ask_the_model_of_another() {
    let panel = Panel::open(Limits::default()).await;
    let (status, message) = refused(panel.asks("r1", "placeholder-one", "m-2")).await;
    assert_eq!(status, 403, "{message}");
    assert_eq!(panel.got(), [0, 0]);
}

#[tokio::test]
async fn a_session_reaches_its_other_model_after_it_has_fallen_back_and_not_before() {
    let panel = Panel::open(Limits::default()).await;
    let model = |at: usize| ModelChoice {
        provider: "standin".into(),
        name: SESSIONS[at][1].into(),
        base_url: Some(panel.providers[at].url()),
        key: Some(SESSIONS[at][3].into()),
        context: None,
    };
    let (own, other) = (model(0), model(1));
    let models = Models {
        model: &own,
        fallback: Some(&other),
    };
    let gateway = &panel.bench.gateway;
    let route = gateway.open("r9", models, &"placeholder".into(), &[]);
    let route = route.unwrap();
    let unused = |name: &'static str, model: &'static str| {
        let request = panel.asks(name, "placeholder", model);
        async move {
            let (status, message) = refused(request).await;
            assert_eq!(status, 403, "{name}: {message}");
            assert!(message.contains("does not use this model"), "{message}");
        }
    };
    let answers = |name: &'static str, model: &'static str| {
        let request = panel.asks(name, "placeholder", model).send();
        async move { assert_eq!(request.await.unwrap().status(), 200, "{name}") }
    };
    unused("r9-fallback", "m-2").await;
    answers("r9", "m-1").await;
    assert!(route.fall_back());
    assert!(!route.fall_back(), "once");
    unused("r9", "m-1").await;
    answers("r9-fallback", "m-2").await;
    assert_eq!(panel.got(), [1, 1]);
    let got = &panel.providers[1].got()[0];
    assert_eq!(
        got.headers["authorization"],
        "Bearer key-of-the-second-model"
    );
    assert_eq!(route.taken().requests, 2, "both count");
}

#[tokio::test]
async fn the_requests_of_all_sessions_are_counted_together() {
    let limits = Limits {
        requests: 3,
        ..Limits::default()
    };
    let panel = Panel::open(limits).await;
    for at in [0, 1, 1] {
        let [session, model, placeholder, _] = SESSIONS[at];
        let answer = panel.asks(session, placeholder, model).send().await;
        assert_eq!(answer.unwrap().status(), 200);
    }
    assert_eq!(panel.bench.gateway.taken().requests, 3);
    for [session, model, placeholder, _] in SESSIONS {
        let (status, message) = refused(panel.asks(session, placeholder, model)).await;
        assert_eq!(status, 403, "{message}");
        assert!(message.contains("made 3 requests"), "{message}");
    }
    assert_eq!(panel.got(), [1, 2]);
}

#[tokio::test]
async fn a_name_is_given_to_one_session() {
    let panel = Panel::open(Limits::default()).await;
    let model = ModelChoice {
        provider: "standin".into(),
        name: "m-3".into(),
        base_url: Some(panel.providers[0].url()),
        key: None,
        context: None,
    };
    let again = panel
        .bench
        .gateway
        .open("r1", (&model).into(), &"placeholder-one".into(), &[]);
    assert_eq!(again.unwrap_err(), "The session r1 has its model already.");
}
