//! What is said about lines: reviews, comments, replies, judged as GitHub judges them. Separate, because here the
//! stand-in refuses, and a reviewer must meet every refusal in a test before it meets one on a pull request.

use serde_json::{Value, json};

use super::diff::{Anchor, FileDiff};
use super::drafts::{SECOND_DRAFT, has_draft};
use super::reply::{BODY_CHARACTERS, Reply, Request, TOO_LONG};
use super::rest::body_refusal;
use super::state::{Identity, PullRequest, Review, ReviewComment, State, Thread};
use super::writes::Write;

const NOT_OF_THE_PULL: &str =
    "Pull request review thread end_commit_oid is not part of the pull request";
const PATH_INVALID: &str = "Pull request review thread path is invalid";
const NO_HUNK: &str = "Pull request review thread diff hunk can't be blank";

const NOT_ALLOWED_TO_DISMISS: &str =
    "You do not have permission to dismiss reviews on this protected branch";
const OUTSIDE: &str = "Pull request review thread line must be part of the diff";

/// A comment that GitHub accepted.
pub struct Placed {
    path: String,
    body: String,
    anchor: Option<Anchor>,
    hunk: String,
}

/// All or nothing: one bad anchor refuses the review, and the answer does not say which.
pub fn create(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
) -> Reply {
    let event = request.text("event");
    let body = request.text("body").unwrap_or_default();
    if let Some(refusal) = event_refusal(state, identity, pull, event, body) {
        return refusal;
    }
    let commit = match commit_of(state, pull, request.text("commit_id")) {
        Ok(commit) => commit,
        Err(message) => return Reply::unprocessable(&[message]),
    };
    if has_draft(state, identity, pull) {
        return Reply::unprocessable(&[SECOND_DRAFT]);
    }
    let files = state.diff_at(pull, &commit);
    let mut placed = Vec::new();
    for comment in request.body["comments"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        match place(state, &files, comment) {
            Ok(one) => placed.push(one),
            Err(messages) => return Reply::unprocessable(&messages),
        }
    }
    let review = state.add_review(pull.number, &identity.login, body, state_of(event), &commit);
    for one in placed {
        state.add_root(&review, pull, one);
    }
    if event.is_none() {
        // Nobody but its author sees a draft, so it is no write that a test has to expect; `finish` wants it gone.
        return Reply::json(200, &state.review_json(&review));
    }
    state.writes.push(Write::Review {
        pull: pull.number,
        id: review.id,
        json: request.body.clone(),
    });
    Reply::json(200, &state.review_json(&review))
}

/// Only an approval or a request for changes can be dismissed, with a message; on a protected branch only by an administrator.
pub fn dismiss(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
    id: u64,
) -> Reply {
    let may =
        !state.repository.restricts_dismissals || state.permission(&identity.login) == "admin";
    let of_pull = |review: &&mut Review| review.id == id && review.pull == pull.number;
    let Some(review) = state.reviews.iter_mut().find(of_pull) else {
        return Reply::not_found();
    };
    if !may {
        return Reply::error(403, NOT_ALLOWED_TO_DISMISS);
    }
    if !matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED") {
        let message = format!(
            "Can not dismiss a {} pull request review",
            review.state.to_lowercase()
        );
        return Reply::unprocessable(&[&message]);
    }
    if request
        .text("message")
        .unwrap_or_default()
        .trim()
        .is_empty()
    {
        return Reply::unprocessable(&["Message can't be blank"]);
    }
    review.state = "DISMISSED".into();
    let review = review.clone();
    state.tick();
    state.announce_review("dismissed", pull.number, id);
    state.writes.push(Write::Dismissal {
        pull: pull.number,
        id,
        json: request.body.clone(),
    });
    Reply::json(200, &state.review_json(&review))
}

pub fn state_of(event: Option<&str>) -> &'static str {
    match event {
        Some("COMMENT") => "COMMENTED",
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        _ => "PENDING",
    }
}

pub fn event_refusal(
    state: &State,
    identity: &Identity,
    pull: &PullRequest,
    event: Option<&str>,
    body: &str,
) -> Option<Reply> {
    let own = pull.author == identity.login;
    let refuse = |message: &str| Some(Reply::unprocessable(&[message]));
    match event {
        _ if body.chars().count() > BODY_CHARACTERS => refuse(TOO_LONG),
        Some("APPROVE")
            if identity.login == "github-actions[bot]" && !state.repository.actions_may_approve =>
        {
            refuse("GitHub Actions is not permitted to approve pull requests.")
        }
        Some("APPROVE") if own => refuse("Can not approve your own pull request"),
        Some("REQUEST_CHANGES") if own => {
            refuse("Can not request changes on your own pull request")
        }
        Some("COMMENT" | "REQUEST_CHANGES") if body.trim().is_empty() => {
            refuse("Body can't be blank")
        }
        _ => None,
    }
}

/// The commit that a comment is on: the head, or another commit of the pull request.
fn commit_of(
    state: &State,
    pull: &PullRequest,
    given: Option<&str>,
) -> Result<String, &'static str> {
    let commit = given.unwrap_or(&pull.head.sha);
    let part = state
        .git
        .has_between(&pull.base.sha, &pull.head.sha, commit);
    if part {
        Ok(commit.into())
    } else {
        Err(NOT_OF_THE_PULL)
    }
}

pub fn place(
    state: &State,
    files: &[FileDiff],
    comment: &Value,
) -> Result<Placed, Vec<&'static str>> {
    let path = comment["path"].as_str().unwrap_or_default();
    let body = comment["body"].as_str().unwrap_or_default();
    if body.chars().count() > BODY_CHARACTERS {
        return Err(vec![TOO_LONG]);
    }
    if body.trim().is_empty() {
        return Err(vec!["Body can't be blank"]);
    }
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return Err(vec![PATH_INVALID, NO_HUNK]);
    };
    let (anchor, hunk) = if comment["subject_type"] == "file" {
        (None, String::new())
    } else {
        let anchor = Anchor::from_json(comment).ok_or_else(|| vec![NO_HUNK])?;
        let hunk = file.judge(&anchor).map_err(|message| vec![message])?;
        let places = [path.to_owned(), format!("{path}:{}", anchor.line)];
        if places.iter().any(|place| state.refused.contains(place)) {
            return Err(vec![OUTSIDE]);
        }
        (Some(anchor), hunk)
    };
    Ok(Placed {
        path: path.into(),
        body: body.into(),
        anchor,
        hunk,
    })
}

pub fn comment(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
) -> Reply {
    if let Some(root) = request.body["in_reply_to"].as_u64() {
        return reply(state, identity, request, pull, root);
    }
    let commit = match commit_of(state, pull, request.text("commit_id")) {
        Ok(commit) => commit,
        Err(message) => return Reply::invalid(&as_objects(&[message])),
    };
    if has_draft(state, identity, pull) {
        return Reply::invalid(&as_objects(&[SECOND_DRAFT]));
    }
    let files = state.diff_at(pull, &commit);
    let placed = match place(state, &files, &request.body) {
        Ok(placed) => placed,
        Err(messages) => return Reply::invalid(&as_objects(&messages)),
    };
    let review = state.add_review(pull.number, &identity.login, "", "COMMENTED", &commit);
    let comment = state.add_root(&review, pull, placed);
    state.writes.push(Write::Comment {
        pull: pull.number,
        id: comment.id,
        json: request.body.clone(),
    });
    Reply::json(201, &state.comment_json(&comment))
}

fn as_objects(messages: &[&str]) -> Value {
    let each = messages.iter().map(|message| {
        json!({ "resource": "PullRequestReviewComment", "code": "custom", "message": message })
    });
    each.collect()
}

pub fn reply(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
    root: u64,
) -> Reply {
    let Some(parent) = state
        .comment(root)
        .filter(|parent| parent.pull == pull.number && !state.is_of_draft(parent))
    else {
        return Reply::not_found();
    };
    if parent.in_reply_to_id.is_some() {
        return Reply::unprocessable(&["in_reply_to must be the top-level comment of a thread"]);
    }
    if has_draft(state, identity, pull) {
        return Reply::unprocessable(&[SECOND_DRAFT]);
    }
    let body = request.text("body").unwrap_or_default();
    if let Some(refusal) = body_refusal(body) {
        return refusal;
    }
    if has_draft(state, identity, pull) {
        return Reply::unprocessable(&[SECOND_DRAFT]);
    }
    let Some(comment) = state.add_reply(root, &identity.login, body) else {
        return Reply::not_found();
    };
    state.writes.push(Write::Reply {
        pull: pull.number,
        root,
        id: comment.id,
        json: request.body.clone(),
    });
    Reply::json(201, &state.comment_json(&comment))
}

impl State {
    pub fn add_review(
        &mut self,
        pull: u64,
        login: &str,
        body: &str,
        status: &str,
        commit: &str,
    ) -> Review {
        let (id, at) = (self.next_id(), self.tick());
        let review = Review {
            id,
            pull,
            body: body.into(),
            state: status.into(),
            commit_id: commit.into(),
            user: login.into(),
            author_association: self.association(login, pull),
            submitted_at: (status != "PENDING").then_some(at),
        };
        self.reviews.push(review.clone());
        if status != "PENDING" {
            self.announce_submitted(login, pull, id);
        }
        review
    }

    pub fn announce_submitted(&mut self, login: &str, pull: u64, id: u64) {
        // A request is answered by any review of that person.
        if let Some(pull) = self.pulls.get_mut(&pull) {
            pull.requested_reviewers.retain(|one| one != login);
        }
        self.announce_review("submitted", pull, id);
        self.settle();
    }

    /// A person's comment on a line of the change.
    pub fn add_remark(&mut self, pull: u64, login: &str, place: (&str, u64), body: &str) -> u64 {
        let pull = self.pulls[&pull].clone();
        let review = self.add_review(pull.number, login, "", "COMMENTED", &pull.head.sha);
        let placed = Placed {
            path: place.0.into(),
            body: body.into(),
            anchor: Some(Anchor {
                line: place.1,
                side: "RIGHT".into(),
                start: None,
            }),
            hunk: String::new(),
        };
        self.add_root(&review, &pull, placed).id
    }

    pub fn add_root(
        &mut self,
        review: &Review,
        pull: &PullRequest,
        placed: Placed,
    ) -> ReviewComment {
        let (id, at) = (self.next_id(), self.now());
        let anchor = placed.anchor.as_ref();
        let line = anchor.map(|anchor| anchor.line);
        let start = anchor.and_then(|anchor| anchor.start.clone());
        let start_line = start.as_ref().map(|(line, _)| *line);
        let comment = ReviewComment {
            id,
            node_id: format!("PRRC_{id}"),
            pull: pull.number,
            review_id: review.id,
            path: placed.path,
            body: placed.body,
            user: Some(review.user.clone()),
            author_association: review.author_association.clone(),
            diff_hunk: placed.hunk,
            commit_id: review.commit_id.clone(),
            original_commit_id: review.commit_id.clone(),
            in_reply_to_id: None,
            line,
            original_line: line,
            start_line,
            original_start_line: start_line,
            side: anchor.map_or("RIGHT", |anchor| anchor.side.as_str()).into(),
            start_side: start.and_then(|(_, side)| side),
            subject_type: if line.is_some() { "line" } else { "file" }.into(),
            created_at: at.clone(),
            updated_at: at,
            editor: None,
            last_edited_at: None,
            minimized: false,
        };
        self.comments.push(comment);
        self.threads.push(Thread {
            id: format!("PRRT_{id}"),
            pull: pull.number,
            root: id,
            is_resolved: false,
            resolved_by: None,
            is_outdated: false,
        });
        // A comment on an older commit of the pull request is shown against the head at once.
        self.move_anchors(pull.number);
        if review.state != "PENDING" {
            self.announce_comment("pull_request_review_comment", pull.number, id);
        }
        self.comment(id).cloned().expect("just added")
    }

    /// A reply stands where its thread stands. Each is a review of its own, as on GitHub.
    pub fn add_reply(&mut self, root: u64, login: &str, body: &str) -> Option<ReviewComment> {
        let parent = self.comment(root)?.clone();
        let review = self.add_review(parent.pull, login, "", "COMMENTED", &parent.commit_id);
        let (id, at) = (self.next_id(), self.now());
        let comment = ReviewComment {
            id,
            node_id: format!("PRRC_{id}"),
            review_id: review.id,
            body: body.into(),
            user: Some(login.into()),
            author_association: review.author_association,
            in_reply_to_id: Some(root),
            created_at: at.clone(),
            updated_at: at,
            editor: None,
            last_edited_at: None,
            minimized: false,
            ..parent
        };
        self.comments.push(comment.clone());
        self.announce_comment("pull_request_review_comment", comment.pull, id);
        Some(comment)
    }
}
