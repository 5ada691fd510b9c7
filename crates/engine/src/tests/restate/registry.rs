use super::server::{Running, Server, close, deliver, free_port, limits, open};
use crate::agents::Agent;
use crate::sealed::{KeyRing, MasterKey};
use crate::tests::toy::{Input, Mouth, Toy};
use crate::tokens::{ApiToken, Role, TokenHash};
use crate::{EngineError, Store};
use secrecy::{ExposeSecret, SecretString};
use std::sync::Arc;

fn ring() -> KeyRing {
    let key = MasterKey::parse(&SecretString::from("ab".repeat(32)));
    KeyRing::new(key.unwrap(), Vec::new())
}

fn agent(name: &str) -> Agent {
    let token = SecretString::from("ghp_first");
    Agent {
        name: name.to_owned(),
        login: Some("octocat".to_owned()),
        token: Some(ring().seal(name, &token).unwrap()),
        persona: "Reads tests first.".to_owned(),
        created: 5,
    }
}

#[tokio::test]
async fn agents_are_kept_with_sealed_tokens() {
    let Some(server) = Server::start() else {
        return;
    };
    let store = Store::open(&server.store(free_port())).await.unwrap();
    let quality = agent("quality");
    let product = Agent {
        name: "product".to_owned(),
        login: None,
        token: None,
        ..quality.clone()
    };
    assert!(store.agents().await.unwrap().is_empty());
    let id = store.id().await.unwrap();
    assert_eq!(store.id().await.unwrap(), id);
    store.add_agent(&quality).await.unwrap();
    store.add_agent(&product).await.unwrap();
    let error = store.add_agent(&quality).await.unwrap_err();
    assert!(matches!(error, EngineError::Exists { .. }), "{error}");
    let second = ring().seal("quality", &SecretString::from("ghp_second"));
    let second = second.unwrap();
    assert!(store.rotate_agent("quality", &second).await.unwrap());
    assert!(!store.rotate_agent("nobody", &second).await.unwrap());
    let listed = store.agents().await.unwrap();
    assert_eq!(listed[0], product);
    let opened = ring().open("quality", listed[1].token.as_ref().unwrap());
    assert_eq!(opened.unwrap().expose_secret(), "ghp_second");
    assert!(store.remove_agent("product").await.unwrap());
    assert!(!store.remove_agent("product").await.unwrap());
}

#[tokio::test]
async fn api_tokens_are_found_by_their_hash() {
    let Some(server) = Server::start() else {
        return;
    };
    let store = Store::open(&server.store(free_port())).await.unwrap();
    let (first, second) = (SecretString::from("first"), SecretString::from("second"));
    let token = ApiToken {
        name: "dashboard".to_owned(),
        hash: TokenHash::new(&first),
        role: Role::Read,
        created: 5,
    };
    store.add_token(&token).await.unwrap();
    assert!(store.add_token(&token).await.is_err());
    let found = store.token(&TokenHash::new(&first)).await.unwrap();
    assert_eq!(found.as_ref(), Some(&token));
    let hash = TokenHash::new(&second);
    assert!(store.rotate_token("dashboard", &hash).await.unwrap());
    assert_eq!(store.token(&TokenHash::new(&first)).await.unwrap(), None);
    assert_eq!(store.tokens().await.unwrap(), [ApiToken { hash, ..token }]);
    assert!(store.agents().await.unwrap().is_empty());
    assert!(store.remove_token("dashboard").await.unwrap());
    assert!(store.tokens().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_service_at_another_address_starts_with_the_agents_that_there_are() {
    let Some(server) = Server::start() else {
        return;
    };
    let before = Store::open(&server.store(free_port())).await.unwrap();
    assert!(before.agents().await.unwrap().is_empty());
    before.add_agent(&agent("quality")).await.unwrap();
    before.close().await;
    let name = server.store(free_port());
    let store = Store::open(&name).await.unwrap();
    assert_eq!(store.agents().await.unwrap().len(), 1);
    let engine = open(&name, Toy, limits()).await;
    engine.store().add_agent(&agent("product")).await.unwrap();
    let names = store.agents().await.unwrap().into_iter();
    let names: Vec<String> = names.map(|agent| agent.name).collect();
    assert_eq!(names, ["product", "quality"]);
}

#[tokio::test]
async fn commands_work_before_beside_and_after_a_service() {
    let Some(server) = Server::start() else {
        return;
    };
    let name = server.store(free_port());
    let before = Store::open(&name).await.unwrap();
    before.add_agent(&agent("quality")).await.unwrap();
    before.close().await;

    let engine = open(&name, Toy, limits()).await;
    let running = Running::start(&engine, &Arc::new(Mouth::default()));
    assert_eq!(engine.store().agents().await.unwrap().len(), 1);
    let beside = Store::open(&name).await.unwrap();
    beside.add_agent(&agent("product")).await.unwrap();
    assert_eq!(engine.store().agents().await.unwrap().len(), 2);
    beside.close().await;
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    close(engine, running).await;

    let after = Store::open(&name).await.unwrap();
    assert!(after.remove_agent("quality").await.unwrap());
    after.close().await;
    let engine = open(&name, Toy, limits()).await;
    assert_eq!(engine.store().agents().await.unwrap().len(), 1);
    assert!(deliver(&engine, "1/7", "a", Input::Add(1)).await.duplicate);
}
