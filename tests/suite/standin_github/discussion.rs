//! People and the reviewer talk in threads, through REST and GraphQL.

use http::Method;
use serde_json::{Value, json};

use super::{
    REPOSITORY, graphql, numbered, post, posted_finding, pulls, review, small_pull, try_call,
};
use crate::standin::github::{Change, Fault, GitHub, Identity, Write};

const THREADS: &str = "query($owner:String!,$name:String!,$pr:Int!,$after:String){
  repository(owner:$owner,name:$name){pullRequest(number:$pr){id isDraft headRefOid
    threads: reviewThreads(first:2,after:$after){pageInfo{hasNextPage endCursor} nodes{...thread}}}}
  viewer{login} rateLimit{cost remaining resetAt}}
fragment thread on PullRequestReviewThread {id isResolved isOutdated path line originalLine diffSide subjectType
  viewerCanResolve viewerCanReply resolvedBy{login __typename}
  comments(first:100){totalCount pageInfo{hasNextPage endCursor} nodes{id fullDatabaseId body createdAt lastEditedAt
    editor{login __typename} author{__typename login} authorAssociation replyTo{fullDatabaseId}}}}";

fn threads(github: &GitHub, after: Option<&str>) -> Value {
    let answer = graphql(
        github,
        THREADS,
        &json!({ "owner": "octo", "name": "shop", "pr": 1, "after": after }),
    );
    assert!(answer["errors"].is_null(), "{answer}");
    answer["data"].clone()
}

#[test]
fn graphql_shows_the_threads_page_by_page() {
    let (github, _, head) = small_pull();
    let comment =
        |line: u64| json!({ "path": "src/a.ts", "line": line, "body": format!("on {line}") });
    post(
        &github,
        &pulls("1/reviews"),
        &review(&json!([comment(4), comment(5), comment(6)])),
    );
    github.expect_review();
    let root = github.comments()[0].id;
    github.reply(root, "dev", "It is meant so.");

    let first = threads(&github, None);
    assert_eq!(first["viewer"]["login"], "github-actions[bot]");
    let pull = &first["repository"]["pullRequest"];
    assert_eq!(pull["headRefOid"], head);
    let page = &pull["threads"];
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    let thread = &page["nodes"][0];
    assert_eq!(thread["id"], github.threads()[0].id);
    assert_eq!(
        (
            &thread["line"],
            &thread["isResolved"],
            &thread["viewerCanResolve"]
        ),
        (&json!(4), &json!(false), &json!(true))
    );
    let comments = &thread["comments"]["nodes"];
    assert_eq!(comments[0]["fullDatabaseId"], root.to_string());
    assert_eq!(
        comments[0]["author"],
        json!({ "__typename": "Bot", "login": "github-actions" })
    );
    assert_eq!(
        comments[1]["author"],
        json!({ "__typename": "User", "login": "dev" })
    );
    assert_eq!(comments[1]["authorAssociation"], "CONTRIBUTOR");
    assert_eq!(comments[1]["replyTo"]["fullDatabaseId"], root.to_string());

    let second = threads(&github, page["pageInfo"]["endCursor"].as_str());
    let page = &second["repository"]["pullRequest"]["threads"];
    assert_eq!(
        (
            page["nodes"].as_array().unwrap().len(),
            &page["pageInfo"]["hasNextPage"]
        ),
        (1, &json!(false))
    );
    github.finish();
}

#[test]
fn resolving_needs_permission_to_write_contents() {
    let (github, _, _) = small_pull();
    let root = posted_finding(&github);
    let id = github.threads()[0].id.clone();
    let mutation =
        "mutation($id:ID!){resolveReviewThread(input:{threadId:$id}){thread{id isResolved}}}";
    github.token(
        GitHub::TOKEN,
        Identity::github_actions(&["pull-requests:write", "contents:read"]),
    );
    let refused = graphql(&github, mutation, &json!({ "id": id }));
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN");
    assert_eq!(
        refused["errors"][0]["message"],
        "Resource not accessible by integration"
    );
    assert_eq!(
        threads(&github, None)["repository"]["pullRequest"]["threads"]["nodes"][0]["viewerCanResolve"],
        false
    );

    github.token(
        GitHub::TOKEN,
        Identity::github_actions(&["pull-requests:write", "contents:write"]),
    );
    let resolved = graphql(&github, mutation, &json!({ "id": id }));
    assert_eq!(
        resolved["data"]["resolveReviewThread"]["thread"],
        json!({ "id": id, "isResolved": true })
    );
    assert_eq!(github.expect_resolve(), root);
    let unknown = graphql(&github, mutation, &json!({ "id": "PRRT_nothing" }));
    assert_eq!(unknown["errors"][0]["type"], "NOT_FOUND");
    github.finish();
}

#[test]
fn the_other_mutations_are_writes_too() {
    let (github, _, _) = small_pull();
    let root = posted_finding(&github);
    let id = github.threads()[0].id.clone();
    let reply = "mutation($id:ID!,$b:String!){addPullRequestReviewThreadReply(
        input:{pullRequestReviewThreadId:$id,body:$b}){comment{fullDatabaseId}}}";
    graphql(&github, reply, &json!({ "id": id, "b": "Agreed." }));
    assert_eq!(github.expect_reply(), (root, "Agreed.".into()));
    let minimize = "mutation($id:ID!){minimizeComment(input:{subjectId:$id,classifier:OUTDATED}){minimizedComment{isMinimized}}}";
    let answer = graphql(&github, minimize, &json!({ "id": format!("PRRC_{root}") }));
    assert_eq!(
        answer["data"]["minimizeComment"]["minimizedComment"]["isMinimized"],
        true
    );
    assert!(matches!(
        github.take_writes().as_slice(),
        [Write::Minimize { .. }]
    ));
    github.resolve_thread(root, "writer");
    let unresolve =
        "mutation($id:ID!){unresolveReviewThread(input:{threadId:$id}){thread{isResolved}}}";
    graphql(&github, unresolve, &json!({ "id": id }));
    assert!(matches!(
        github.take_writes().as_slice(),
        [Write::Unresolve { .. }]
    ));
    github.finish();
}

#[test]
fn a_query_that_github_would_refuse_is_a_violation() {
    let (github, _, _) = small_pull();
    let answer = graphql(&github, "{viewer{logn}}", &json!({}));
    assert!(
        answer["errors"]
            .to_string()
            .contains("does not have a field `logn`"),
        "{answer}"
    );
    assert!(github.take_violations()[0].contains("logn"));
    let unpaged = "{repository(owner:\"octo\",name:\"shop\"){pullRequest(number:1){reviewThreads{totalCount}}}}";
    assert_eq!(
        graphql(&github, unpaged, &json!({}))["errors"][0]["type"],
        "MISSING_PAGINATION_BOUNDARIES"
    );
    let missing = "{repository(owner:\"octo\",name:\"shop\"){pullRequest(number:9){id}}}";
    let answer = graphql(&github, missing, &json!({}));
    assert_eq!(answer["errors"][0]["type"], "NOT_FOUND");
    assert_eq!(answer["data"]["repository"]["pullRequest"], Value::Null);
    github.finish();
}

#[test]
fn replies_go_to_the_root_of_a_thread() {
    let (github, _, _) = small_pull();
    let root = posted_finding(&github);
    let replies = |id: u64| pulls(&format!("1/comments/{id}/replies"));
    let answer = post(&github, &replies(root), &json!({ "body": "See line 3." }));
    assert_eq!(
        (answer.status, &answer.json["in_reply_to_id"]),
        (201, &json!(root))
    );
    assert_eq!(github.expect_reply(), (root, "See line 3.".into()));
    let nested = answer.json["id"].as_u64().unwrap();
    assert_eq!(
        post(&github, &replies(nested), &json!({ "body": "x" })).status,
        422
    );
    assert_eq!(
        post(&github, &replies(1), &json!({ "body": "x" })).status,
        404
    );
    github.finish();
}

#[test]
fn people_edit_resolve_and_delete() {
    let (github, _, _) = small_pull();
    let root = posted_finding(&github);
    github.edit_comment(root, "writer", "score 1");
    github.resolve_thread(root, "writer");
    let shown = threads(&github, None)["repository"]["pullRequest"]["threads"]["nodes"][0].clone();
    assert_eq!(shown["resolvedBy"]["login"], "writer");
    assert_eq!(shown["comments"]["nodes"][0]["editor"]["login"], "writer");
    assert_eq!(shown["comments"]["nodes"][0]["body"], "score 1");
    github.delete_comment(root);
    assert!(github.threads().is_empty());
    github.finish();
}

#[test]
fn the_reviewer_edits_deletes_and_reacts() {
    let (github, _, _) = small_pull();
    let root = posted_finding(&github);
    let one = pulls(&format!("comments/{root}"));
    let body = json!({ "body": "better" });
    let edited = try_call(&github, GitHub::TOKEN, Method::PATCH, &one, Some(&body)).unwrap();
    assert_eq!(
        (edited.status, &edited.json["body"]),
        (200, &json!("better"))
    );
    assert_eq!(
        try_call(&github, GitHub::TOKEN, Method::DELETE, &one, None)
            .unwrap()
            .status,
        204
    );
    let writes = github.take_writes();
    assert!(
        matches!(
            writes.as_slice(),
            [Write::EditComment { .. }, Write::DeleteComment { .. }]
        ),
        "{writes:?}"
    );
    let said = github.comment(1, "dev", "please look").id;
    let reactions = format!("{REPOSITORY}/issues/comments/{said}/reactions");
    assert_eq!(
        post(&github, &reactions, &json!({ "content": "eyes" })).status,
        201
    );
    assert_eq!(
        post(&github, &reactions, &json!({ "content": "eyes" })).status,
        200
    );
    assert_eq!(github.expect_reaction(), (said, "eyes".into()));
    github.finish();
}

#[test]
fn after_a_push_a_comment_follows_its_line_or_is_outdated() {
    let (github, pull, head) = small_pull();
    let comment = |line: u64| json!({ "path": "src/a.ts", "line": line, "body": "x" });
    post(
        &github,
        &pulls("1/reviews"),
        &review(&json!([comment(5), comment(17)])),
    );
    github.expect_review();
    assert_eq!(
        github.comments()[1].line,
        Some(17),
        "the context of the second hunk reaches it: {:?}",
        github.comments()
    );

    let fixed = format!(
        "new first line\n{}",
        numbered(&[(5, Some("changed again")), (15, None)])
    );
    let next = github.commit("feature", &[&head], &[Change::write("src/a.ts", fixed)]);
    github.push(pull, &next);
    let comments = github.comments();
    assert_eq!(
        (comments[0].line, comments[0].original_line),
        (None, Some(5))
    );
    assert_eq!(
        (comments[1].line, comments[1].original_line),
        (Some(18), Some(17))
    );
    assert_eq!(
        (
            comments[1].commit_id.as_str(),
            comments[1].original_commit_id.as_str()
        ),
        (next.as_str(), head.as_str())
    );
    let outdated: Vec<bool> = github
        .threads()
        .iter()
        .map(|thread| thread.is_outdated)
        .collect();
    assert_eq!(outdated, [true, false]);
    github.finish();
}

#[test]
fn a_fault_can_be_aimed_at_one_mutation() {
    let (github, _, _) = small_pull();
    github.on_graphql("resolveReviewThread", 1, Fault::Status(502, json!({})));
    threads(&github, None);
    let mutation =
        json!({ "query": "mutation{resolveReviewThread(input:{threadId:\"x\"}){thread{id}}}" });
    assert_eq!(post(&github, "/graphql", &mutation).status, 502);
    github.finish();
}

#[test]
fn earlier_check_runs_are_found_in_one_query() {
    let (github, _, head) = small_pull();
    let run = json!({ "name": "OpenCode review", "head_sha": head, "conclusion": "success",
        "output": { "title": "t", "summary": "s", "text": "record" } });
    post(&github, &format!("{REPOSITORY}/check-runs"), &run);
    github.expect_check_run();
    let query = "query($a:GitObjectID!,$b:GitObjectID!){repository(owner:\"octo\",name:\"shop\"){
        a:object(oid:$a){...runs} b:object(oid:$b){...runs}}}
        fragment runs on Commit{oid checkSuites(first:10){nodes{checkRuns(first:5,filterBy:{checkName:\"OpenCode review\"}){
        nodes{databaseId text conclusion}}}}}";
    let answer = graphql(&github, query, &json!({ "a": head, "b": "1".repeat(40) }));
    assert!(answer["errors"].is_null(), "{answer}");
    let repository = &answer["data"]["repository"];
    assert_eq!(
        repository["a"]["checkSuites"]["nodes"][0]["checkRuns"]["nodes"][0]["text"],
        "record"
    );
    assert_eq!(repository["b"], Value::Null);
    github.finish();
}

#[test]
fn a_comment_on_the_conversation_can_be_changed_and_taken_back() {
    let (github, number, _) = small_pull();
    let said = post(
        &github,
        &format!("{REPOSITORY}/issues/{number}/comments"),
        &json!({ "body": "Working." }),
    );
    assert_eq!(github.expect_issue_comment(), "Working.");
    let path = format!("{REPOSITORY}/issues/comments/{}", said.json["id"]);
    let call = |method: Method, body: Option<&Value>| {
        try_call(&github, GitHub::TOKEN, method, &path, body).expect("an answer")
    };
    let edited = call(Method::PATCH, Some(&json!({ "body": "Done." })));
    assert_eq!(
        (edited.status, &edited.json["body"]),
        (200, &json!("Done."))
    );
    assert_eq!(call(Method::GET, None).json["body"], "Done.");
    assert_eq!(
        call(Method::PATCH, Some(&json!({ "body": " " }))).status,
        422
    );
    assert_eq!(call(Method::DELETE, None).status, 204);
    assert_eq!(call(Method::GET, None).status, 404);
    let writes = github.take_writes();
    assert!(
        matches!(
            writes.as_slice(),
            [
                Write::EditIssueComment { .. },
                Write::DeleteIssueComment { .. }
            ]
        ),
        "{writes:?}"
    );
    github.finish();
}

#[test]
fn labels_are_set_all_at_once_by_a_list_with_or_without_a_name() {
    let (github, number, _) = small_pull();
    let path = format!("{REPOSITORY}/issues/{number}/labels");
    for labels in [json!(["bug"]), json!({ "labels": ["bug"] })] {
        github.pull(number, |pull| pull.labels = vec!["old".into()]);
        let answer = try_call(&github, GitHub::TOKEN, Method::PUT, &path, Some(&labels));
        assert_eq!(answer.expect("an answer").json[0]["name"], "bug");
        assert_eq!(github.pull(number, |pull| pull.labels.clone()), ["bug"]);
    }
    assert_eq!(github.take_writes().len(), 2);
    github.finish();
}
