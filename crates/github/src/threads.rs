//! Conversations, by GraphQL: REST knows neither whether one is resolved nor who edited a comment. Comments
//! themselves are read by REST and joined by the id of the first.

use super::client::GitHub;
use super::closed_pulls::CLOSED_PULLS;
use super::error::ApiError;
use super::exchange::Call;
use super::surroundings::SURROUNDINGS;
use super::wire;
use reviewer_core::domain::{CommentId, Login, PrKey};
use serde_json::json;
use std::collections::HashSet;

pub(super) const MOST_PAGES: usize = 400;

const VIEWER: &str = "query { viewer { login } }";

const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id
          isResolved
          isOutdated
          viewerCanResolve
          viewerCanUnresolve
          resolvedBy { __typename login }
          comments(first: 100) {
            pageInfo { hasNextPage endCursor }
            nodes { fullDatabaseId lastEditedAt editor { __typename login } }
          }
        }
      }
    }
  }
}";

const THREAD_COMMENTS: &str = "query($id: ID!, $after: String) {
  node(id: $id) {
    ... on PullRequestReviewThread {
      comments(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { fullDatabaseId author { __typename login } lastEditedAt editor { __typename login } }
      }
    }
  }
}";

const RESOLVE: &str = "mutation($id: ID!) {
  resolveReviewThread(input: { threadId: $id }) { thread { id isResolved } }
}";

const UNRESOLVE: &str = "mutation($id: ID!) {
  unresolveReviewThread(input: { threadId: $id }) { thread { id isResolved } }
}";

/// All requests in GraphQL, so that a test can hold it against GitHub's schema.
pub const QUERIES: &[(&str, &str)] = &[
    ("viewer", VIEWER),
    ("threads", THREADS),
    ("thread comments", THREAD_COMMENTS),
    ("resolve", RESOLVE),
    ("unresolve", UNRESOLVE),
    ("surroundings", SURROUNDINGS),
    ("closed pull requests", CLOSED_PULLS),
];

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub struct ReviewThread {
    /// GraphQL's id of the conversation, another thing than the comment's.
    pub node_id: String,
    pub is_resolved: bool,
    pub is_outdated: bool,
    pub resolved_by: Option<Login>,
    /// False where the token may not, as resolving needs `contents: write`; and where it is resolved.
    pub viewer_can_resolve: bool,
    /// True only where it is resolved and the token may reopen it.
    pub viewer_can_unresolve: bool,
    /// The first comment; `None` where it has no number that can be read.
    pub root_comment: Option<CommentId>,
    pub comments: Vec<CommentId>,
    pub edited: Vec<Edit>,
}

/// A comment that was changed after it was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub comment: CommentId,
    /// `None` where the account was deleted.
    pub editor: Option<Login>,
}

impl GitHub {
    /// Returns the login of the token. `GET /user` refuses an app's token, this does not.
    pub async fn viewer(&self) -> Result<Login, ApiError> {
        let call = Call::query("ask for the login of the token", VIEWER, &json!({}));
        let data: wire::Viewer = self.graphql(call).await?;
        Ok(Login::new(&data.viewer.login))
    }

    /// Returns the login of the token, and every conversation with every comment.
    pub async fn review_threads(
        &self,
        key: &PrKey,
    ) -> Result<(Login, Vec<ReviewThread>), ApiError> {
        let name = "list the review threads";
        let (mut threads, mut known) = (Vec::new(), HashSet::new());
        let mut after: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let variables = json!({
                "owner": key.repo.owner(), "name": key.repo.name(), "number": key.number, "after": after,
            });
            let data: wire::ThreadsData =
                self.graphql(Call::query(name, THREADS, &variables)).await?;
            let pull = data
                .repository
                .and_then(|repository| repository.pull_request);
            let hint = "there is no such pull request, or the token may not see it";
            let page = pull
                .ok_or(ApiError::NotFound { call: name, hint })?
                .review_threads;
            for wire in page.nodes.into_iter().flatten().flatten() {
                let thread = self.whole_thread(wire).await?;
                if known.insert(thread.node_id.clone()) {
                    threads.push(thread);
                }
            }
            match next_cursor(name, page.page_info, after.as_ref())? {
                Some(cursor) => after = Some(cursor),
                None => return Ok((Login::new(&data.viewer.login), threads)),
            }
        }
        Err(endless(name))
    }

    /// A thread with the comments beyond its first hundred.
    async fn whole_thread(&self, wire: wire::Thread) -> Result<ReviewThread, ApiError> {
        let name = "list a thread's comments";
        let mut comments: Vec<wire::ThreadComment> = wire
            .comments
            .nodes
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        let mut after = next_cursor(name, wire.comments.page_info, None)?;
        let mut pages = 0;
        while let Some(cursor) = after {
            pages += 1;
            if pages > MOST_PAGES {
                return Err(endless(name));
            }
            let variables = json!({"id": wire.id, "after": cursor});
            let data: wire::NodeData = self
                .graphql(Call::query(name, THREAD_COMMENTS, &variables))
                .await?;
            let page = data.node.and_then(|node| node.comments);
            let page = page.ok_or(ApiError::NotFound {
                call: name,
                hint: "the thread is gone",
            })?;
            comments.extend(page.nodes.into_iter().flatten().flatten());
            after = next_cursor(name, page.page_info, Some(&cursor))?;
        }
        Ok(ReviewThread {
            node_id: wire.id,
            is_resolved: wire.is_resolved,
            is_outdated: wire.is_outdated,
            resolved_by: wire.resolved_by.as_ref().map(login),
            viewer_can_resolve: wire.viewer_can_resolve,
            viewer_can_unresolve: wire.viewer_can_unresolve,
            root_comment: comments
                .first()
                .and_then(wire::ThreadComment::id)
                .map(CommentId),
            comments: comments
                .iter()
                .filter_map(wire::ThreadComment::id)
                .map(CommentId)
                .collect(),
            edited: comments.iter().filter_map(edit).collect(),
        })
    }

    /// True if nobody but one account has written or edited a comment of a conversation. An account that is deleted is another
    /// one.
    pub async fn has_one_voice(&self, node_id: &str) -> Result<bool, ApiError> {
        let name = "look who speaks in a thread";
        let variables = json!({"id": node_id, "after": null});
        let data: wire::NodeData = self
            .graphql(Call::query(name, THREAD_COMMENTS, &variables))
            .await?;
        let hint = "the thread is gone";
        let page = data.node.and_then(|node| node.comments);
        let page = page.ok_or(ApiError::NotFound { call: name, hint })?;
        let mut voices = HashSet::new();
        for comment in page.nodes.into_iter().flatten().flatten() {
            voices.insert(comment.author.as_ref().map(login));
            voices.extend(edit(&comment).map(|edit| edit.editor));
        }
        Ok(voices.len() == 1 && !voices.contains(&None) && !page.page_info.has_next_page)
    }

    pub async fn resolve(&self, node_id: &str) -> Result<(), ApiError> {
        let call =
            Call::mutation("resolve a conversation", RESOLVE, &json!({"id": node_id})).repeatable();
        self.graphql::<serde_json::Value>(call).await.map(drop)
    }

    pub async fn unresolve(&self, node_id: &str) -> Result<(), ApiError> {
        let call = Call::mutation("reopen a conversation", UNRESOLVE, &json!({"id": node_id}))
            .repeatable();
        self.graphql::<serde_json::Value>(call).await.map(drop)
    }
}

/// A page that claims a next one must say where it begins, and not where this one did.
pub(super) fn next_cursor(
    call: &'static str,
    page: wire::PageInfo,
    current: Option<&String>,
) -> Result<Option<String>, ApiError> {
    match page.end_cursor {
        _ if !page.has_next_page => Ok(None),
        Some(cursor) if Some(&cursor) != current => Ok(Some(cursor)),
        _ => {
            let problem = "a page does not say where the next one begins".to_owned();
            Err(ApiError::Paging { call, problem })
        }
    }
}

pub(super) fn endless(call: &'static str) -> ApiError {
    ApiError::Paging {
        call,
        problem: format!("there are more than {MOST_PAGES}"),
    }
}

pub(super) fn login(actor: &wire::Actor) -> Login {
    actor.account()
}

fn edit(comment: &wire::ThreadComment) -> Option<Edit> {
    let edited = comment.editor.is_some() || comment.last_edited_at.is_some();
    let id = comment.id().filter(|_| edited)?;
    Some(Edit {
        comment: CommentId(id),
        editor: comment.editor.as_ref().map(login),
    })
}
