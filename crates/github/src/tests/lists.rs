//! Lists that change while they are read, and answers that need not be given again.

use super::super::*;
use super::{Asked, Server, key};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The page of a conversation that was asked for, marked as GitHub marks it.
fn page(asked: &Asked, ids: &[u64]) -> Response {
    let number = asked.at.split("&page=").nth(1);
    let number: usize = number.map_or(1, |text| text.parse().unwrap());
    let pages: Vec<&[u64]> = ids.chunks(100).collect();
    let shown = pages.get(number - 1).copied().unwrap_or_default();
    let mark = format!("W/\"{shown:?} of {}\"", pages.len());
    if asked.header("if-none-match") == mark {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let comment = |id: &u64| {
        json!({"id": id, "body": "a", "user": {"login": "dev", "type": "User"}, "author_association": "NONE",
            "created_at": "2026-01-01T00:00:00Z", "html_url": ""})
    };
    let body = Value::Array(shown.iter().map(comment).collect()).to_string();
    let link =
        |page: usize, rel: &str| format!("<http://x/a?per_page=100&page={page}>; rel=\"{rel}\"");
    let links = [link(number + 1, "next"), link(pages.len(), "last")].join(", ");
    if number < pages.len() {
        ([("etag", mark), ("link", links)], body).into_response()
    } else {
        ([("etag", mark)], body).into_response()
    }
}

async fn read(client: &GitHub) -> Vec<u64> {
    let comments = client.issue_comments(&key()).await.unwrap();
    comments.iter().map(|comment| comment.id.0).collect()
}

#[tokio::test]
async fn what_is_deleted_meanwhile_hides_nothing_that_stays() {
    for deletion in 1..=5 {
        let server = Server::answering(move |turn, asked| {
            let stays = |id: &u64| turn < deletion || *id != 5;
            page(asked, &(1..=350).filter(stays).collect::<Vec<_>>())
        })
        .await;
        let mut seen = read(&server.client()).await;
        let sorted = seen.is_sorted();
        assert!(sorted, "oldest first");
        seen.retain(|id| *id != 5);
        let all: Vec<u64> = (1..=350).filter(|id| *id != 5).collect();
        assert_eq!(seen, all, "deleted before request {deletion}");
        assert_eq!(server.count(), 5, "four pages, and the first once more");
    }
}

#[tokio::test]
async fn what_is_known_is_asked_for_with_its_mark() {
    let server = Server::answering(|turn, asked| {
        let newest = if turn < 6 { 150 } else { 151 };
        page(asked, &(1..=newest).collect::<Vec<_>>())
    })
    .await;
    let client = server.client();
    for newest in [150, 150, 151] {
        assert_eq!(read(&client).await, (1..=newest).collect::<Vec<u64>>());
    }
    let asked = server.asked();
    let marked: Vec<bool> = asked
        .iter()
        .map(|asked| !asked.header("if-none-match").is_empty())
        .collect();
    assert_eq!(
        marked,
        [false, false, true, true, true, true, true, true, true]
    );
}
