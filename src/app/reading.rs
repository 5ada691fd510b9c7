//! Everything a run reads before it works: the pull request and its discussion from GitHub, the change and the
//! rules from git objects. The two sources are read side by side.

use super::{Run, Stop};
use crate::context::rules::{self, RuleFile};
use crate::context::sensitivity::{self, MANIFESTS};
use crate::domain::{CommitSha, FileDiff, Login, PrKey, Score, Sensitivity, Standing, Thread};
use crate::event::EventKind;
use crate::git::{Remote, Repository};
use crate::github::{
    ApiError, ChangedFile, CommitInfo, GitHub, IssueComment, PullRequest, PullState, ReviewComment,
    ReviewThread,
};
use crate::plan::{self, Plan, Situation};
use crate::snapshot::{self, Caps, Snapshot};
use crate::state::rebuild::{self, Comment, Conversation, Sources};
use crate::state::record::{self, Record};
use crate::state::signature::Keys;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;

/// The pull request as the run found it.
pub struct Reading {
    pub pull: PullRequest,
    pub merge_base: CommitSha,
    pub files: Vec<ChangedFile>,
    pub commits: Vec<CommitInfo>,
    pub threads: Vec<Thread>,
    pub conversation: Vec<IssueComment>,
    pub warnings: Vec<String>,
    pub change: Change,
    /// Hash of what a review depends on besides the code.
    pub rules_hash: String,
    pub plan: Plan,
    /// What the pull request had cost before this run.
    pub spent: (u64, f64),
}

/// What git says about the change.
pub struct Change {
    pub diffs: Vec<FileDiff>,
    pub rules: Vec<RuleFile>,
    pub sensitivity: Sensitivity,
    pub evidence: Vec<String>,
    pub snapshot: Snapshot,
}

impl Reading {
    pub async fn of(run: &Run<'_>, snapshot: &Path) -> Result<Self, Stop> {
        let pull = pull_request(run).await?;
        let merge_base = run
            .github
            .merge_base(&run.pr.repo, &pull.base_sha, &pull.head_sha)
            .await
            .map_err(Stop::fail)?;
        let (talk, change) = tokio::join!(
            Talk::of(run, &pull),
            Change::of(run, &pull, &merge_base, snapshot)
        );
        let (talk, change) = super::both(talk, change)?;
        let rules_hash = rules_hash(run, &change.rules);
        let spent = talk
            .records
            .first()
            .map_or((0, 0.0), |r| (r.tokens, r.cost_usd));
        let plan = plan::plan(
            talk.records,
            (&merge_base, &pull.head_sha),
            &rules_hash,
            change.diffs.len(),
        );
        Ok(Self {
            plan,
            spent,
            rules_hash,
            merge_base,
            files: talk.files,
            commits: talk.commits,
            threads: talk.threads,
            conversation: talk.conversation,
            warnings: talk.warnings,
            change,
            pull,
        })
    }
}

/// The pull request, or a sentence about why there is none.
pub async fn found(github: &GitHub, pr: &PrKey) -> Result<PullRequest, Stop> {
    github.pull_request(pr).await.map_err(|error| {
        if error.is_not_found() {
            return Stop::fail(format!(
                "The pull request {pr} was not found; check its number, and that github_token may read {}.",
                pr.repo
            ));
        }
        Stop::fail(error)
    })
}

async fn pull_request(run: &Run<'_>) -> Result<PullRequest, Stop> {
    let pull = found(&run.github, &run.pr).await?;
    let situation = Situation {
        kind: &run.event.kind,
        open: pull.state == PullState::Open,
        draft: pull.draft,
        labels: &pull.labels,
        skip_label: &run.config.skip_label,
        mention: &run.config.mention,
    };
    if let Some(reason) = situation.not_now() {
        return Err(Stop::Skip(reason.to_string()));
    }
    may_ask(run, &pull).await?;
    Ok(pull)
}

/// A mention costs money, so it is heard from people with write access, and from the author of a pull request
/// that does not come from a fork.
async fn may_ask(run: &Run<'_>, pull: &PullRequest) -> Result<(), Stop> {
    let EventKind::Mention { author, .. } = &run.event.kind else {
        return Ok(());
    };
    let own_work = pull.author.as_ref() == Some(author) && !pull.from_fork;
    if own_work || may_write(&run.memory(), author).await? {
        return Ok(());
    }
    Err(Stop::Skip(format!(
        "{author} asked for a review without write access to {}; nothing was started.",
        run.pr.repo
    )))
}

async fn may_write(memory: &Memory<'_>, login: &Login) -> Result<bool, Stop> {
    match memory.github.permission(&memory.pr.repo, login).await {
        Ok(permission) => Ok(permission.may_write()),
        Err(error) if error.is_not_found() || error.is_permission() => Ok(false),
        Err(error) => Err(Stop::fail(error)),
    }
}

/// What GitHub holds of the discussion.
struct Talk {
    files: Vec<ChangedFile>,
    commits: Vec<CommitInfo>,
    threads: Vec<Thread>,
    warnings: Vec<String>,
    conversation: Vec<IssueComment>,
    /// What runs before have left on this head, newest first.
    records: Vec<Record>,
}

impl Talk {
    async fn of(run: &Run<'_>, pull: &PullRequest) -> Result<Self, Stop> {
        let github = &run.github;
        let (files, commits, conversation, reviews, checks) = tokio::try_join!(
            github.files(&run.pr),
            github.commits(&run.pr),
            github.issue_comments(&run.pr),
            github.reviews(&run.pr),
            check_texts(github, run, pull),
        )
        .map_err(Stop::fail)?;
        let (threads, warnings) = threads(&run.memory(), pull.author.as_ref()).await?;
        let from_checks = checks
            .iter()
            .filter_map(|text| record::read(text, &run.pr, &run.keys));
        let from_reviews = reviews
            .iter()
            .rev()
            .filter_map(|review| record::from_manifest(&review.body, &run.pr, &run.keys));
        Ok(Self {
            records: from_checks.chain(from_reviews).collect(),
            files,
            commits,
            threads,
            warnings,
            conversation,
        })
    }
}

/// What it takes to rebuild the threads, with or without a run.
pub struct Memory<'a> {
    pub github: &'a GitHub,
    pub pr: &'a PrKey,
    pub keys: &'a Keys,
    pub trusted_bots: &'a [Login],
    pub blocking: Option<Score>,
}

/// Our threads on the pull request, rebuilt from its comments.
pub async fn threads(
    memory: &Memory<'_>,
    author: Option<&Login>,
) -> Result<(Vec<Thread>, Vec<String>), Stop> {
    let github = memory.github;
    let (comments, conversations, viewer) = tokio::try_join!(
        github.review_comments(memory.pr),
        github.review_threads(memory.pr),
        github.viewer(),
    )
    .map_err(Stop::fail)?;
    let mut ours = memory.trusted_bots.to_vec();
    ours.push(viewer);
    let standings = standings(memory, author, &ours, &comments, &conversations).await?;
    let standing = |login: &Login| standings.get(login).copied().unwrap_or(Standing::Other);
    let comments: Vec<Comment> = comments.into_iter().map(|c| comment(c, standing)).collect();
    let conversations: Vec<Conversation> = conversations
        .into_iter()
        .filter_map(|thread| conversation(thread, &ours, standing))
        .collect();
    Ok(rebuild::rebuild(&Sources {
        pr: memory.pr,
        keys: memory.keys,
        ours: &ours,
        blocking: memory.blocking,
        comments: &comments,
        conversations: &conversations,
    }))
}

fn comment(comment: ReviewComment, standing: impl Fn(&Login) -> Standing) -> Comment {
    Comment {
        id: comment.id,
        in_reply_to: comment.in_reply_to,
        standing: comment.author.as_ref().map_or(Standing::Other, standing),
        author: comment.author,
        body: comment.body,
        path: comment.path,
        line: comment.line,
        original_line: comment.original_line,
        side: comment.side,
        created_at: comment.created_at,
        url: comment.html_url,
    }
}

fn conversation(
    thread: ReviewThread,
    ours: &[Login],
    standing: impl Fn(&Login) -> Standing,
) -> Option<Conversation> {
    Some(Conversation {
        root: thread.root_comment?,
        node_id: thread.node_id,
        is_resolved: thread.is_resolved,
        is_outdated: thread.is_outdated,
        // What we resolved ourselves is told by our reply.
        resolved_by: thread
            .resolved_by
            .filter(|login| !ours.contains(login))
            .map(|login| {
                let weight = standing(&login);
                (login, weight)
            }),
        viewer_can_resolve: thread.viewer_can_resolve,
    })
}

/// What the word of everybody who spoke or decided in the threads weighs. The permission endpoint is asked once
/// for each, because associations call members collaborators who may only read.
async fn standings(
    memory: &Memory<'_>,
    author: Option<&Login>,
    ours: &[Login],
    comments: &[ReviewComment],
    conversations: &[ReviewThread],
) -> Result<HashMap<Login, Standing>, Stop> {
    let speakers = comments
        .iter()
        .filter_map(|comment| comment.author.as_ref());
    let closers = conversations
        .iter()
        .filter_map(|thread| thread.resolved_by.as_ref());
    let mut standings = HashMap::new();
    for login in speakers.chain(closers) {
        if ours.contains(login) || login.is_bot() || standings.contains_key(login) {
            continue;
        }
        let may_write = may_write(memory, login).await?;
        let standing = match (may_write, Some(login) == author) {
            (true, _) => Standing::Writer,
            (false, true) => Standing::Author,
            (false, false) => Standing::Other,
        };
        standings.insert(login.clone(), standing);
    }
    Ok(standings)
}

/// The texts of our check runs on this head, newest first. Without the right to read them there is no memory there.
async fn check_texts(
    github: &GitHub,
    run: &Run<'_>,
    pull: &PullRequest,
) -> Result<Vec<String>, ApiError> {
    let runs = github
        .check_runs(&run.pr.repo, &pull.head_sha, super::check::NAME)
        .await;
    match runs {
        Ok(mut runs) => {
            runs.sort_by_key(|check| std::cmp::Reverse(check.id));
            Ok(runs.into_iter().filter_map(|check| check.text).collect())
        }
        Err(error) if error.is_permission() || error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl Change {
    async fn of(
        run: &Run<'_>,
        pull: &PullRequest,
        merge_base: &CommitSha,
        snapshot: &Path,
    ) -> Result<Self, Stop> {
        let environment = &run.setup.environment;
        let directory = run.directory("objects")?;
        let workspace = environment.workspace.as_deref();
        let repository = Repository::open(&directory, workspace, &environment.for_git())?;
        let remote = Remote {
            url: format!("{}/{}.git", environment.server_url, run.pr.repo),
            token: Some(run.config.github_token.clone()),
        };
        repository
            .ensure(&[merge_base, &pull.head_sha], &remote)
            .await?;
        let diffs = repository.diff(merge_base, &pull.head_sha).await?;
        let rules = rule_files(&repository, merge_base, &diffs).await?;
        let (sensitivity, evidence) = match run.config.policy.sensitivity {
            Some(set) => (set, vec!["set by the sensitivity input".into()]),
            None => sensitivity::judge(&manifests(&repository, merge_base).await?),
        };
        let snapshot = snapshot::write(
            &repository,
            &pull.head_sha,
            &diffs,
            snapshot,
            &Caps::default(),
        )
        .await?;
        Ok(Self {
            diffs,
            rules,
            sensitivity,
            evidence,
            snapshot,
        })
    }
}

/// No rules file of a sane repository is larger.
const MAX_TEXT: usize = 256 * 1024;

async fn rule_files(
    repository: &Repository,
    base: &CommitSha,
    diffs: &[FileDiff],
) -> Result<Vec<RuleFile>, Stop> {
    let changed: Vec<&str> = diffs.iter().map(|diff| diff.path.as_str()).collect();
    let tree = repository.tree(base).await?;
    let mut rules = Vec::new();
    let paths = tree
        .iter()
        .filter_map(|entry| std::str::from_utf8(&entry.path).ok());
    for path in paths {
        if rules::applies(path, &changed)
            && let Some(text) = repository.file(base, path, MAX_TEXT).await?
        {
            rules.push(RuleFile {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(rules)
}

async fn manifests(
    repository: &Repository,
    base: &CommitSha,
) -> Result<Vec<(String, String)>, Stop> {
    let mut found = Vec::new();
    for name in MANIFESTS {
        if let Some(text) = repository.file(base, name, MAX_TEXT).await? {
            found.push(((*name).to_owned(), text));
        }
    }
    Ok(found)
}

fn rules_hash(run: &Run<'_>, rules: &[RuleFile]) -> String {
    let mut hash = Sha256::new();
    hash.update(run.config.fingerprint());
    for rule in rules {
        hash.update(format!("\n{}\n{}\n", rule.path, rule.text.len()));
        hash.update(&rule.text);
    }
    data_encoding::HEXLOWER.encode(&hash.finalize()[..8])
}
