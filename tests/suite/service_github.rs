//! The service's calls of GitHub, made by the real client to the stand-in: what is read, what is refused and why, and
//! that what was done already is recognised.
#![expect(
    clippy::unwrap_used,
    reason = "test code: a failure here is a failure of the test"
)]

mod apps;
mod comparing;
mod merging;
mod probing;
mod reviewers;
mod shapes;
mod webhooks;

use crate::standin::github::{Change, GitHub, Identity};
use reviewer_core::domain::{CommitSha, Login, PrKey};
use reviewer_github::{ApiError, GitHub as Client, Probe};
use reviewer_system::clock::Clock;
use secrecy::SecretString;

const SETTINGS: &str = ".github/opencode-reviewer.yml";
/// The account that merges and asks for reviews.
const KEEPER: &str = "github_pat_k33p3r";
const RIGHTS: &[&str] = &["contents:write", "pull-requests:write"];

/// A pull request by `dev`, where `keeper`, `writer` and `lead` may write.
fn shop() -> (GitHub, u64) {
    let github = GitHub::start("octo/shop");
    for login in ["keeper", "writer", "lead"] {
        github.permit(login, "write");
    }
    github.token(KEEPER, Identity::person("keeper", RIGHTS));
    let settings = Change::write(SETTINGS, "lifecycle:\n  enabled: true\n");
    let base = github.commit("main", &[], &[settings, Change::write("a.txt", "a\n")]);
    github.commit("feature", &[&base], &[Change::write("b.txt", "b\n")]);
    let number = github.open_pull("dev", "feature", "main");
    (github, number)
}

fn client(github: &GitHub, token: &str) -> Client {
    let (api, graphql) = addresses(github);
    let token = SecretString::from(token);
    Client::new(&api, &graphql, &token, Clock::scaled(0.001), &[]).unwrap()
}

fn addresses(github: &GitHub) -> (String, String) {
    let url = github.url();
    (format!("{url}/api/v3"), format!("{url}/api/graphql"))
}

fn key(number: u64) -> PrKey {
    PrKey {
        repo: "octo/shop".parse().unwrap(),
        number,
    }
}

fn head(github: &GitHub, number: u64) -> CommitSha {
    github.pull(number, |pull| pull.head.sha.parse().unwrap())
}

fn login(name: &str) -> Login {
    Login::new(name)
}

/// A further commit on the branch of the pull request.
fn push(github: &GitHub, number: u64, changes: &[Change]) -> CommitSha {
    let before = head(github, number);
    let sha = github.commit("feature", &[before.as_str()], changes);
    github.push(number, &sha);
    sha.parse().unwrap()
}

async fn probe(github: &GitHub, number: u64) -> Result<Probe, ApiError> {
    let id = github.with(|state| state.repository.id);
    let client = client(github, KEEPER);
    client.probe(id, &key(number), SETTINGS).await
}
