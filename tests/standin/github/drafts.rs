//! Drafts of reviews: seen by their author only, one for each pull request, and told of when they are submitted. Separate from
//! reviews that are posted at once, because most of their rules are about who sees them.

use serde_json::{Value, json};

use super::reply::{Reply, Request};
use super::reviews::{event_refusal, place, state_of};
use super::state::{Identity, PullRequest, Review, ReviewComment, State};
use super::writes::Write;

pub const SECOND_DRAFT: &str = "user_id can only have one pending review per pull request";

/// An account has one draft for each pull request, and nothing of it is posted beside it.
pub fn has_draft(state: &State, identity: &Identity, pull: &PullRequest) -> bool {
    let of_pull = |review: &&Review| review.pull == pull.number && review.state == "PENDING";
    let mut drafts = state.reviews.iter().filter(of_pull);
    drafts.any(|review| review.user == identity.login)
}

/// Deletes a draft. Nothing else can be deleted, and by nobody but its author.
pub fn delete(state: &mut State, identity: &Identity, id: u64) -> Reply {
    let submitted = state.review(id).is_some_and(|one| one.state != "PENDING");
    if submitted {
        return Reply::unprocessable(&["Can not delete a non-pending pull request review"]);
    }
    let mine = |review: &Review| {
        review.id == id && review.state == "PENDING" && review.user == identity.login
    };
    let Some(index) = state.reviews.iter().position(mine) else {
        return Reply::not_found();
    };
    let review = state.reviews.remove(index);
    let gone = |root: u64, comments: &[ReviewComment]| {
        let root = comments.iter().find(|comment| comment.id == root);
        root.is_some_and(|root| root.review_id == id)
    };
    let comments = std::mem::take(&mut state.comments);
    state.threads.retain(|thread| !gone(thread.root, &comments));
    let others = comments.into_iter().filter(|one| one.review_id != id);
    state.comments = others.collect();
    Reply::json(200, &state.review_json(&review))
}

/// Only a draft can be submitted, once and by its author. A text that is given takes the place of the draft's.
pub fn submit(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
    id: u64,
) -> Reply {
    let seen = |review: &&Review| {
        review.id == id && review.pull == pull.number && review.is_seen_by(&identity.login)
    };
    let Some(review) = state.reviews.iter().find(seen).cloned() else {
        return Reply::not_found();
    };
    if review.state != "PENDING" {
        return Reply::unprocessable(&["Could not submit pull request review."]);
    }
    let (event, body) = (request.text("event"), request.text("body"));
    let body = body
        .filter(|body| !body.is_empty())
        .unwrap_or(&review.body)
        .to_owned();
    if let Some(refusal) = event_refusal(state, identity, pull, event, &body) {
        return refusal;
    }
    let at = state.tick();
    for one in state.reviews.iter_mut().filter(|one| one.id == id) {
        one.body.clone_from(&body);
        one.state = state_of(event).into();
        one.submitted_at = Some(at.clone());
    }
    state.announce_submitted(&identity.login, pull.number, id);
    let of_review = |comment: &&ReviewComment| comment.review_id == id;
    let comments: Vec<ReviewComment> = state.comments.iter().filter(of_review).cloned().collect();
    for comment in &comments {
        state.announce_comment("pull_request_review_comment", pull.number, comment.id);
    }
    // As one request would have been, with the comments on files that none can hold.
    let json = json!({
        "commit_id": review.commit_id, "body": body, "event": event,
        "comments": comments.iter().map(as_sent).collect::<Vec<_>>(),
    });
    let (pull, review) = (pull.number, state.review(id).cloned());
    state.writes.push(Write::Review { pull, id, json });
    review.map_or_else(Reply::not_found, |review| {
        Reply::json(200, &state.review_json(&review))
    })
}

fn as_sent(comment: &ReviewComment) -> Value {
    let mut sent = json!({ "path": comment.path, "body": comment.body });
    if comment.subject_type == "file" {
        sent["subject_type"] = json!("file");
        return sent;
    }
    sent["line"] = json!(comment.original_line);
    sent["side"] = json!(comment.side);
    if let Some(start) = comment.original_start_line {
        sent["start_line"] = json!(start);
        sent["start_side"] = json!(comment.start_side);
    }
    sent
}

/// Adds a comment on a file as a whole to a draft. An error has a type and a message.
pub fn comment(
    state: &mut State,
    identity: &Identity,
    node_id: &str,
    comment: &Value,
) -> Result<u64, (&'static str, String)> {
    let seen = |review: &&Review| review.node_id() == node_id && review.is_seen_by(&identity.login);
    let Some(review) = state.reviews.iter().find(seen).cloned() else {
        let message = format!("Could not resolve to a node with the global id of '{node_id}'");
        return Err(("NOT_FOUND", message));
    };
    if review.state != "PENDING" || review.user != identity.login {
        let message = "Pull request review has already been submitted".to_owned();
        return Err(("UNPROCESSABLE", message));
    }
    let pull = state.pulls[&review.pull].clone();
    let files = state.diff_at(&pull, &review.commit_id);
    let placed = place(state, &files, comment);
    let placed = placed.map_err(|messages| ("UNPROCESSABLE", messages.join(", ")))?;
    Ok(state.add_root(&review, &pull, placed).id)
}

impl State {
    pub fn review(&self, id: u64) -> Option<&Review> {
        self.reviews.iter().find(|review| review.id == id)
    }

    /// True if the comment is one of a draft, which only its author sees.
    pub fn is_hidden_from(&self, login: &str, comment: &ReviewComment) -> bool {
        let review = self.review(comment.review_id);
        review.is_some_and(|review| !review.is_seen_by(login))
    }

    pub fn is_of_draft(&self, comment: &ReviewComment) -> bool {
        let review = self.review(comment.review_id);
        review.is_some_and(|review| review.state == "PENDING")
    }
}
