//! Commits and their check runs as GraphQL objects: where a later run finds what an earlier one left.

use apollo_compiler::response::{JsonMap, JsonValue};

use super::graphql::{Context, Node, connection};
use super::nodes::{Made, person, text};
use super::queue::pulls_of;
use super::state::{CheckRun, PullRequest};

pub fn commits<'c>(context: &'c Context, pull: &PullRequest) -> Node<'c> {
    let range = format!("{}..{}", pull.base.sha, pull.head.sha);
    let list = context
        .state
        .borrow()
        .git
        .ask(&["rev-list", "--reverse", &range])
        .unwrap_or_default();
    let nodes = list.lines().map(|sha| {
        let fields = vec![
            ("id", format!("PRC_{sha}").into()),
            ("commit", commit(context, sha)),
        ];
        Node::object(context, "PullRequestCommit", fields)
    });
    connection(
        context,
        "PullRequestCommitConnection",
        "commits",
        nodes.collect(),
    )
}

/// Of all that happens on a pull request, the forced pushes: nobody asks for anything else.
pub fn timeline<'c>(context: &'c Context, pull: &PullRequest) -> Node<'c> {
    let events = pull.replaced_heads.iter().enumerate().map(|(index, head)| {
        let fields = vec![
            ("id", format!("HRFPE_{index}").into()),
            ("beforeCommit", commit(context, head)),
        ];
        Node::object(context, "HeadRefForcePushedEvent", fields)
    });
    let list = connection(
        context,
        "PullRequestTimelineItemsConnection",
        "timelineItems",
        events.collect(),
    );
    Node::lazy(move |arguments| {
        let wanted = arguments.get("itemTypes");
        assert_eq!(
            wanted,
            Some(&["HEAD_REF_FORCE_PUSHED_EVENT"].into_iter().collect())
        );
        match &list {
            Node::Lazy(make) => make(arguments),
            other => Ok(other.clone()),
        }
    })
}

/// A commit, or a file of one as `commit:path`.
pub fn object_by_name<'c>(context: &'c Context, arguments: &JsonMap) -> Node<'c> {
    let name = [text(arguments, "oid"), text(arguments, "expression")].concat();
    if name.contains(':') {
        return blob(context, &name);
    }
    object_by_oid(context, &name)
}

/// A commit, if it is there.
pub fn object_by_oid<'c>(context: &'c Context, name: &str) -> Node<'c> {
    let found = context.state.borrow().git.commit_of(name);
    found.map_or_else(Node::null, |sha| commit(context, &sha))
}

fn blob<'c>(context: &'c Context, name: &str) -> Node<'c> {
    let (id, text) = {
        let state = context.state.borrow();
        let id = state.git.ask(&["rev-parse", "--verify", "-q", name]);
        (id, state.git.ask(&["cat-file", "blob", name]))
    };
    let (Some(id), Some(text)) = (id, text) else {
        return Node::null();
    };
    // GitHub gives no text of a file that git takes for binary.
    let binary = text.contains('\0');
    let shown = (!binary).then_some(text.as_str());
    let fields = vec![
        ("id", format!("B_{id}").into()),
        ("oid", id.as_str().into()),
        ("byteSize", text.len().into()),
        ("isBinary", binary.into()),
        ("isTruncated", false.into()),
        ("text", shown.into()),
    ];
    Node::object(context, "Blob", fields)
}

fn commit<'c>(context: &'c Context, sha: &str) -> Node<'c> {
    let message = context
        .state
        .borrow()
        .commit_json(sha)
        .map(|commit| commit["commit"]["message"].clone());
    let tree = context
        .state
        .borrow()
        .git
        .must(&["rev-parse", &format!("{sha}^{{tree}}")]);
    let fields = vec![("id", format!("T_{tree}").into()), ("oid", tree.into())];
    let tree = Node::object(context, "Tree", fields);
    let fields = vec![
        ("id", format!("C_{sha}").into()),
        ("oid", sha.into()),
        ("tree", tree),
        (
            "parents",
            ancestors(context, "CommitConnection", "parents", sha),
        ),
        (
            "history",
            ancestors(context, "CommitHistoryConnection", "history", sha),
        ),
        ("message", message.unwrap_or_default().into()),
        ("author", person_of(context, sha, "author")),
        ("committer", person_of(context, sha, "committer")),
        ("file", file_of(context, sha)),
        ("checkSuites", check_suites(context, sha)),
        ("statusCheckRollup", rollup(context, sha)),
        ("associatedPullRequests", pulls_of(context, sha)),
    ];
    Node::object(context, "Commit", fields)
}

/// The account behind a commit, as REST tells it. GitHub has a `User` here for bots, too, with REST's login.
fn person_of<'c>(context: &'c Context, sha: &str, role: &'static str) -> Node<'c> {
    let sha = sha.to_owned();
    Node::lazy(move |_| {
        let shown = context.state.borrow().commit_json(&sha);
        let login = shown.and_then(|shown| Some(shown[role]["login"].as_str()?.to_owned()));
        let user = login.map(|login| person(context, "User", &login));
        let user = user.unwrap_or_else(Node::null);
        Ok(Node::object(context, "GitActor", vec![("user", user)]))
    })
}

/// A file of a commit, with its mode.
fn file_of<'c>(context: &'c Context, sha: &str) -> Node<'c> {
    let sha = sha.to_owned();
    Node::lazy(move |arguments| {
        let path = text(arguments, "path").to_owned();
        let listed = context
            .state
            .borrow()
            .git
            .ask(&["ls-tree", &sha, "--", &path]);
        let listed = listed.unwrap_or_default();
        let mut words = listed.split_whitespace();
        let (Some(mode), Some(_), Some(oid)) = (words.next(), words.next(), words.next()) else {
            return Ok(Node::null());
        };
        let mode = u32::from_str_radix(mode, 8).unwrap_or_default();
        let fields = vec![
            ("mode", mode.into()),
            ("oid", oid.into()),
            ("object", blob(context, &format!("{sha}:{path}"))),
        ];
        Ok(Node::object(context, "TreeEntry", fields))
    })
}

/// The parents of a commit, or the commit and everything before it, as far as anybody asks. Made when it is asked for:
/// each of them has ancestors, too.
fn ancestors<'c>(
    context: &'c Context,
    typename: &'static str,
    name: &'static str,
    sha: &str,
) -> Node<'c> {
    let sha = sha.to_owned();
    Node::lazy(move |arguments| {
        let list = match name {
            "parents" => ["rev-parse", &format!("{sha}^@")]
                .map(str::to_owned)
                .to_vec(),
            _ => ["rev-list", "--max-count=100", &sha]
                .map(str::to_owned)
                .to_vec(),
        };
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let list = context.state.borrow().git.ask(&list).unwrap_or_default();
        let nodes = list.lines().map(|sha| commit(context, sha));
        match connection(context, typename, name, nodes.collect()) {
            Node::Lazy(make) => make(arguments),
            other => Ok(other),
        }
    })
}

/// A branch, if it is there.
pub fn branch_node<'c>(context: &'c Context, branch: &str) -> Node<'c> {
    let head = context.state.borrow().branch_head(branch);
    let Some(head) = head else {
        return Node::null();
    };
    let fields = vec![
        ("id", format!("REF_{branch}").into()),
        ("name", branch.into()),
        ("prefix", "refs/heads/".into()),
        ("target", commit(context, &head)),
    ];
    Node::object(context, "Ref", fields)
}

/// One suite holds everything that was checked on a commit.
fn check_suites<'c>(context: &'c Context, sha: &str) -> Node<'c> {
    let runs: Vec<CheckRun> = context
        .state
        .borrow()
        .check_runs
        .iter()
        .filter(|run| run.head_sha == sha)
        .cloned()
        .collect();
    let suites = if runs.is_empty() {
        Vec::new()
    } else {
        let fields = vec![
            ("id", "CS_1".into()),
            (
                "checkRuns",
                Node::lazy(move |arguments| check_runs(context, arguments, &runs)),
            ),
        ];
        vec![Node::object(context, "CheckSuite", fields)]
    };
    connection(context, "CheckSuiteConnection", "checkSuites", suites)
}

/// The newest check of each name on a commit; GitHub has none where nothing was checked.
fn rollup<'c>(context: &'c Context, sha: &str) -> Node<'c> {
    let state = context.state.borrow();
    let mut newest: Vec<&CheckRun> = Vec::new();
    for run in state.check_runs.iter().filter(|run| run.head_sha == sha) {
        newest.retain(|one| one.name != run.name);
        newest.push(run);
    }
    let statuses = state.statuses.iter().filter(|one| one.sha == sha);
    let statuses = statuses.map(|one| {
        let fields = vec![
            ("context", one.context.clone().into()),
            ("state", one.state.clone().into()),
            ("description", one.description.clone().into()),
            ("targetUrl", Node::null()),
        ];
        Node::object(context, "StatusContext", fields)
    });
    let runs = newest.into_iter().map(|run| check_run(context, run));
    let nodes: Vec<Node<'c>> = runs.chain(statuses).collect();
    if nodes.is_empty() {
        return Node::null();
    }
    let contexts = connection(
        context,
        "StatusCheckRollupContextConnection",
        "contexts",
        nodes,
    );
    Node::object(context, "StatusCheckRollup", vec![("contexts", contexts)])
}

fn annotations<'c>(context: &'c Context, run: &CheckRun) -> Node<'c> {
    let nodes = run.annotations.iter().map(|one| {
        let line = one["start_line"].as_u64().unwrap_or(1);
        let start = Node::object(
            context,
            "CheckAnnotationPosition",
            vec![("line", line.into())],
        );
        let span = Node::object(context, "CheckAnnotationSpan", vec![("start", start)]);
        let level = one["annotation_level"].as_str().unwrap_or("failure");
        let fields = vec![
            ("annotationLevel", level.to_uppercase().into()),
            ("path", one["path"].as_str().unwrap_or_default().into()),
            (
                "message",
                one["message"].as_str().unwrap_or_default().into(),
            ),
            ("location", span),
        ];
        Node::object(context, "CheckAnnotation", fields)
    });
    let nodes = nodes.collect();
    connection(context, "CheckAnnotationConnection", "annotations", nodes)
}

fn check_run<'c>(context: &'c Context, run: &CheckRun) -> Node<'c> {
    let fields = vec![
        ("id", format!("CR_{}", run.id).into()),
        ("databaseId", run.id.into()),
        ("name", run.name.clone().into()),
        ("status", run.status.to_uppercase().into()),
        (
            "conclusion",
            run.conclusion
                .as_ref()
                .map(|conclusion| conclusion.to_uppercase())
                .into(),
        ),
        ("title", run.title.clone().into()),
        ("summary", run.summary.clone().into()),
        ("text", run.text.clone().into()),
        ("externalId", run.external_id.clone().into()),
        ("startedAt", run.started_at.clone().into()),
        ("completedAt", run.completed_at.clone().into()),
        ("detailsUrl", run.details_url.clone().into()),
        ("annotations", annotations(context, run)),
    ];
    Node::object(context, "CheckRun", fields)
}

fn check_runs<'c>(context: &'c Context, arguments: &JsonMap, runs: &[CheckRun]) -> Made<'c> {
    let wanted = arguments
        .get("filterBy")
        .and_then(|filter| filter.get("checkName"))
        .and_then(JsonValue::as_str);
    let chosen = runs
        .iter()
        .filter(|run| wanted.is_none_or(|name| run.name == name));
    let nodes = chosen.map(|run| check_run(context, run));
    match connection(context, "CheckRunConnection", "checkRuns", nodes.collect()) {
        Node::Lazy(make) => make(arguments),
        other => Ok(other),
    }
}
