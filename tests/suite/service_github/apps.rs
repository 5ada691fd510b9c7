//! A GitHub App: it signs, finds its installation, and gets tokens that may do no more than was asked for.

use super::*;
use crate::standin::github::app::AppKey;
use reviewer_github::{Access, App, Grant, InstallationRate};
use secrecy::ExposeSecret as _;

fn registered() -> (GitHub, u64, AppKey, App) {
    let (github, number) = shop();
    let key = github.register_app(
        "reviewer",
        &["contents:write", "pull-requests:write", "checks:write"],
    );
    let app = app(&github, key.id, &key.private_key).unwrap();
    (github, number, key, app)
}

fn app(github: &GitHub, id: u64, pem: &str) -> Result<App, reviewer_github::SetupError> {
    let (api, graphql) = addresses(github);
    App::new(
        &api,
        &graphql,
        id,
        &SecretString::from(pem),
        Clock::scaled(0.001),
        &[],
    )
}

fn grant(github: &GitHub, permissions: &[(&'static str, Access)]) -> Grant {
    Grant {
        installation: 77,
        repositories: vec![github.with(|state| state.repository.id)],
        permissions: permissions.to_vec(),
    }
}

#[tokio::test]
async fn an_app_finds_itself_and_its_installation() {
    let (github, _, key, app) = registered();
    github.app(|app| app.events = vec!["pull_request".into()]);
    let identity = app.identity().await.unwrap();
    assert_eq!(
        (identity.login, identity.events),
        (login("reviewer[bot]"), vec!["pull_request".to_owned()])
    );
    let found = app
        .installation_of(&"octo/shop".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(
        (found.id, found.account, found.suspended),
        (key.installation, Some(login("octo")), false)
    );
    assert_eq!(app.installations().await.unwrap()[0].id, key.installation);
    let error = app
        .installation_of(&"octo/other".parse().unwrap())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not installed"), "{error}");
    github.app(|app| app.installed = false);
    assert!(app.installations().await.unwrap().is_empty());
    github.finish();
}

#[tokio::test]
async fn a_token_has_the_rights_that_were_asked_for_and_no_others() {
    let (github, number, _, app) = registered();
    let reading = grant(
        &github,
        &[("pull_requests", Access::Read), ("contents", Access::Read)],
    );
    let reader = app.github(&reading).await.unwrap();
    let id = reading.repositories[0];
    let probe = reader.probe(id, &key(number), SETTINGS).await.unwrap();
    assert_eq!(probe.number, number);
    let refused = reader.comment(&key(number), "Hello.").await.unwrap_err();
    assert!(refused.is_permission(), "{refused}");
    let writing = grant(&github, &[("pull_requests", Access::Write)]);
    app.github(&writing)
        .await
        .unwrap()
        .comment(&key(number), "Hello.")
        .await
        .unwrap();
    github.expect_issue_comment();
    let installed = reader.installed_repositories().await.unwrap();
    assert_eq!(
        (installed[0].id, installed[0].name.to_string().as_str()),
        (id, "octo/shop")
    );
    github.finish();
}

#[tokio::test]
async fn a_token_is_kept_until_shortly_before_it_ends() {
    let (github, _, _, app) = registered();
    let reading = grant(&github, &[("contents", Access::Read)]);
    let first = app.token(&reading).await.unwrap();
    let again = app.token(&reading).await.unwrap();
    assert_eq!(first.expose_secret(), again.expose_secret());
    let other = grant(&github, &[("contents", Access::Write)]);
    let other = app.token(&other).await.unwrap();
    assert_ne!(first.expose_secret(), other.expose_secret());
    app.forget(77).await;
    let anew = app.token(&reading).await.unwrap();
    assert_ne!(first.expose_secret(), anew.expose_secret());
    // One that ends within minutes is handed out once, and not again.
    github.app(|app| app.token_life = 200);
    app.forget(77).await;
    let short = app.token(&reading).await.unwrap();
    let next = app.token(&reading).await.unwrap();
    assert_ne!(short.expose_secret(), next.expose_secret());
    github.finish();
}

#[tokio::test]
async fn a_fresh_token_is_never_one_that_was_kept() {
    let (github, _, _, app) = registered();
    let reading = grant(&github, &[("contents", Access::Read)]);
    let kept = app.token(&reading).await.unwrap();
    let fresh = app.fresh_token(&reading).await.unwrap();
    let next = app.fresh_token(&reading).await.unwrap();
    assert_ne!(kept.expose_secret(), fresh.expose_secret());
    assert_ne!(fresh.expose_secret(), next.expose_secret());
    let again = app.token(&reading).await.unwrap();
    assert_eq!(kept.expose_secret(), again.expose_secret());
    github.finish();
}

#[tokio::test]
async fn what_the_installation_does_not_have_is_refused() {
    let (github, _, _, app) = registered();
    let beyond = grant(&github, &[("administration", Access::Write)]);
    let refused = app.token(&beyond).await.unwrap_err();
    assert!(refused.to_string().contains("not granted"), "{refused}");
    let elsewhere = Grant {
        repositories: vec![1],
        ..grant(&github, &[("contents", Access::Read)])
    };
    let refused = app.token(&elsewhere).await.unwrap_err();
    assert!(refused.to_string().contains("not accessible"), "{refused}");
    github.app(|app| app.suspended = true);
    let refused = app.token(&grant(&github, &[])).await.unwrap_err();
    assert!(refused.to_string().contains("suspended"), "{refused}");
    github.app(|app| app.installed = false);
    let refused = app.token(&grant(&github, &[])).await.unwrap_err();
    assert!(refused.to_string().contains("not installed"), "{refused}");
    github.finish();
}

#[tokio::test]
async fn a_key_that_is_none_or_of_another_app_is_refused() {
    let (github, _, key, app_of_key) = registered();
    let error = app(&github, key.id, "no key").unwrap_err();
    assert!(error.to_string().contains("RSA key in PEM"), "{error}");
    let other = app(&github, key.id + 1, &key.private_key).unwrap();
    let error = other.identity().await.unwrap_err();
    assert!(matches!(error, ApiError::Unauthorized { .. }), "{error}");
    let shown = format!("{app_of_key:?}");
    assert!(
        shown.contains("***") && !shown.contains("PRIVATE"),
        "{shown}"
    );
    github.finish();
}

#[tokio::test]
async fn a_token_of_a_renamed_repository_stays_and_of_a_reused_name_sees_nothing() {
    let (github, number, _, app) = registered();
    let reading = grant(
        &github,
        &[("pull_requests", Access::Read), ("contents", Access::Read)],
    );
    let reader = app.github(&reading).await.unwrap();
    github.rename("octo/store", "octo");
    github.take_name("octo/shop");
    let id = reading.repositories[0];
    let probe = reader.probe(id, &key(number), SETTINGS).await.unwrap();
    assert_eq!(probe.repo.to_string(), "octo/store");
    let error = reader
        .open_pulls(&"octo/shop".parse().unwrap())
        .await
        .unwrap_err();
    assert!(error.is_not_found(), "{error}");
    github.revoke_installation_tokens();
    let error = reader.probe(id, &key(number), SETTINGS).await.unwrap_err();
    assert!(matches!(error, ApiError::Unauthorized { .. }), "{error}");
    github.finish();
}

#[tokio::test]
async fn a_client_is_kept_with_its_token_and_tells_what_github_still_takes() {
    let (github, number, _, app) = registered();
    let reading = grant(&github, &[("pull_requests", Access::Read)]);
    assert!(app.rates().await.is_empty());
    let first = app.github(&reading).await.unwrap();
    first.pull_request(&key(number)).await.unwrap();
    let again = app.github(&reading).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &again));
    assert_eq!(first.rate_left().await, Some(990));
    let whole = InstallationRate {
        installation: reading.installation,
        left: 990,
        wait: None,
    };
    assert_eq!(app.rates().await, [whole]);
    app.forget(reading.installation).await;
    assert!(app.rates().await.is_empty());
    github.finish();
}

#[tokio::test]
async fn the_tokens_of_an_installation_share_its_hour() {
    let (github, number, _, app) = registered();
    let reading = grant(&github, &[("pull_requests", Access::Read)]);
    let writing = grant(&github, &[("pull_requests", Access::Write)]);
    let first = app.github(&reading).await.unwrap();
    first.pull_request(&key(number)).await.unwrap();
    github.with(|state| state.rate.left = 199);
    let second = app.github(&writing).await.unwrap();
    second.pull_request(&key(number)).await.unwrap();
    assert_eq!(first.rate_left().await, Some(990));
    let rates = app.rates().await;
    assert_eq!((rates.len(), rates[0].left), (1, 199));
    assert!(rates[0].wait.is_some());
    github.finish();
}
