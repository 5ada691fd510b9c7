//! Orders in comments, and the requests that they cost.

use super::github::{Change, GitHub, Identity};
use super::repository::{LEAD, REPOSITORY};
use crate::serve::facts::{SETTINGS, facts};
use http::Method;
use reviewer_core::domain::PrKey;
use reviewer_core::state::signature::Keys;
use reviewer_github::GitHub as Client;
use reviewer_system::clock::Clock;
use secrecy::SecretString;

const ORDER: &str = "@opencode-reviewer fix resume";
const TOKEN: &str = "github_pat_0rd3r5";

/// The people whose orders count after these comments, and the requests for people's access that this took.
async fn obeyed(comments: &[&str]) -> (Vec<String>, usize) {
    ordered(ORDER, comments).await
}

async fn ordered(words: &str, comments: &[&str]) -> (Vec<String>, usize) {
    let github = GitHub::start(REPOSITORY);
    github.permit(LEAD, "write");
    github.permit("former", "write");
    github.token(TOKEN, Identity::person("keeper", &["contents:read"]));
    let base = github.commit("main", &[], &[Change::write("a.txt", "a\n")]);
    github.commit("feature", &[&base], &[Change::write("b.txt", "b\n")]);
    let number = github.open_pull("dev", "feature", "main");
    for login in comments {
        github.comment(number, login, words);
    }
    // The association stays on the comments.
    github.permit("former", "read");
    let url = github.url();
    let (api, graphql) = (format!("{url}/api/v3"), format!("{url}/api/graphql"));
    let token = SecretString::from(TOKEN);
    let client = Client::new(&api, &graphql, &token, Clock::scaled(0.001), &[]);
    let client = client.expect("a client");
    let pr = PrKey {
        repo: REPOSITORY.parse().expect("a name"),
        number,
    };
    let id = github.with(|state| state.repository.id);
    let probe = client.probe(id, &pr, SETTINGS).await.expect("a probe");
    let keys = Keys::derive(&[], None, REPOSITORY);
    let facts = facts(&client, &probe, &keys, "@opencode-reviewer").await;
    let facts = facts.expect("facts");
    let orders = facts.resumes.iter().chain(&facts.invitations);
    let by = orders.map(|order| order.by.to_string()).collect();
    let asked = github.count(&Method::GET, &format!("/repos/{REPOSITORY}/collaborators"));
    (by, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_access_of_a_person_is_asked_once_for_all_their_orders() {
    let (by, asked) = obeyed(&[LEAD, "former", LEAD, "former", LEAD]).await;
    assert_eq!(by, [LEAD; 3]);
    assert_eq!(asked, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_to_review_counts_for_pull_requests_of_the_repository_too() {
    let (by, _) = ordered("@opencode-reviewer review", &[LEAD, "former"]).await;
    assert_eq!(by, [LEAD]);
}
