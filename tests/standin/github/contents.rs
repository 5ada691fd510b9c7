//! The repository's files, commits and branches over REST. The reviewer takes them from git; other tools ask here.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde_json::json;

use super::reply::{Reply, Request};
use super::state::State;
use super::{diff, stacked};

/// By the endings of the examples; GitHub knows more.
const LANGUAGES: [(&str, &str); 2] = [(".ts", "TypeScript"), (".rs", "Rust")];

/// One file; folders are not listed.
pub fn file(state: &State, request: &Request, path: &str) -> Reply {
    let name = request
        .query("ref")
        .unwrap_or(&state.repository.default_branch);
    let Some(commit) = state.git.commit_of(name) else {
        return Reply::error(404, &format!("No commit found for the ref {name}"));
    };
    let object = format!("{commit}:{path}");
    let blob = state
        .git
        .ask(&["rev-parse", "--verify", "--quiet", &object]);
    let content = state.git.feed(&["cat-file", "blob", &object], b"");
    let Some((sha, content)) = blob.zip(content) else {
        return Reply::not_found();
    };
    let sha = sha.trim();
    let (api, web) = (state.api_url(), state.web_url());
    let url = format!("{api}/contents/{path}?ref={name}");
    let git = format!("{api}/git/blobs/{sha}");
    let html = format!("{web}/blob/{name}/{path}");
    Reply::json(
        200,
        &json!({
            "type": "file", "encoding": "base64", "size": content.len(), "content": BASE64.encode(&content),
            "name": path.rsplit('/').next(), "path": path, "sha": sha,
            "url": url, "git_url": git, "html_url": html, "download_url": format!("{web}/raw/{name}/{path}"),
            "_links": { "self": url, "git": git, "html": html },
        }),
    )
}

/// How many bytes of each there are on the default branch.
pub fn languages(state: &State) -> Reply {
    let tree = ["ls-tree", "-r", "-l", &state.repository.default_branch];
    let mut sizes = BTreeMap::<&str, u64>::new();
    for line in state.git.ask(&tree).unwrap_or_default().lines() {
        let Some((about, path)) = line.split_once('\t') else {
            continue;
        };
        let size = about
            .split_whitespace()
            .last()
            .and_then(|size| size.parse::<u64>().ok());
        let known = LANGUAGES.iter().find(|(ending, _)| path.ends_with(ending));
        if let Some((_, language)) = known {
            *sizes.entry(language).or_default() += size.unwrap_or(0);
        }
    }
    Reply::json(200, &json!(sizes))
}

pub fn commit(state: &State, name: &str) -> Reply {
    let sha = state.git.commit_of(name);
    let Some((sha, mut shape)) = sha.and_then(|sha| Some((sha.clone(), state.commit_json(&sha)?)))
    else {
        return Reply::error(422, &format!("No commit found for SHA: {name}"));
    };
    if let Some(parent) = shape["parents"][0]["sha"].as_str() {
        let (web, api) = (state.web_url(), state.api_url());
        let files = diff::between(&state.git, parent, &sha);
        let files = files.iter().map(|file| file.to_json(&web, &api, &sha));
        shape["files"] = files.collect();
    }
    Reply::json(200, &shape)
}

pub fn branch(state: &State, name: &str) -> Reply {
    let sha = state.git.commit_of(&format!("refs/heads/{name}"));
    let Some(commit) = sha.and_then(|sha| state.commit_json(&sha)) else {
        return Reply::error(404, "Branch not found");
    };
    let url = format!("{}/branches/{name}", state.api_url());
    let html = format!("{}/tree/{name}", state.web_url());
    let (protected, protection) = stacked::protection(state, name);
    Reply::json(
        200,
        &json!({
            "name": name, "commit": commit, "protected": protected, "protection": protection,
            "protection_url": format!("{url}/protection"), "_links": { "self": url, "html": html },
        }),
    )
}
