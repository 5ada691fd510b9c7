//! Requests for reviews: whom GitHub asks, and whom it refuses to ask. All or nobody.

use super::reply::{Reply, Request};
use super::state::{Identity, PullRequest, State};
use super::writes::Write;

const OF_AUTHOR: &str = "Review cannot be requested from pull request author.";

pub fn create(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
) -> Reply {
    let given = request.body["reviewers"].as_array();
    let given = given.into_iter().flatten().filter_map(|one| one.as_str());
    let logins: Vec<String> = given.map(str::to_owned).collect();
    if logins.contains(&pull.author) {
        return Reply::error(422, OF_AUTHOR);
    }
    let collaborates = |login: &String| {
        let known = state.repository.permissions.get(login);
        known.is_some_and(|permission| permission != "none") || login == state.repository.owner()
    };
    if !logins.iter().all(collaborates) {
        let words = format!(
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not \
             a collaborator of the {} repository.",
            state.repository.full_name
        );
        return Reply::error(422, &words);
    }
    state.tick();
    if let Some(pull) = state.pulls.get_mut(&pull.number) {
        for login in &logins {
            if !pull.requested_reviewers.contains(login) {
                pull.requested_reviewers.push(login.clone());
            }
        }
    }
    state.announce(
        "pull_request",
        Some("review_requested"),
        pull.number,
        &identity.login,
    );
    state.writes.push(Write::ReviewRequest {
        pull: pull.number,
        logins,
    });
    Reply::json(201, &state.pull_basics(&state.pulls[&pull.number]))
}
