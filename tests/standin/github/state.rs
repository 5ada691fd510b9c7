//! What GitHub knows about one repository, as plain data. Separate from the routes, so that a test can set up and
//! look at anything without going through HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::app::Registration;
use super::faults::Rule;
use super::git::Git;
use super::graphql_cost::Cost;
use super::pushing::Happening;
use super::reply::FORBIDDEN;
use super::webhooks::{Hooks, RepositoryHook};
use super::writes::Write;

#[derive(Debug)]
pub struct State {
    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub base_url: String,
    pub repository: Repository,
    pub git: Git,
    /// Who a token is.
    pub identities: BTreeMap<String, Identity>,
    pub pulls: BTreeMap<u64, PullRequest>,
    pub comments: Vec<ReviewComment>,
    pub reviews: Vec<Review>,
    pub threads: Vec<Thread>,
    pub issue_comments: Vec<IssueComment>,
    pub statuses: Vec<CommitStatus>,
    /// The issues that pull requests close.
    pub issues: Vec<Issue>,
    pub check_runs: Vec<CheckRun>,
    /// The merge queue, first come first.
    pub queue: Vec<QueueEntry>,
    pub reactions: Vec<Reaction>,
    /// Places, `path` or `path:line`, whose lines take no comment whatever git's diff says.
    pub refused: Vec<String>,
    /// The most that a page of a listing holds, however many are asked for.
    pub page_size: usize,
    /// GraphQL does not tell the commits of reviews, as happens on GitHub.
    pub hides_review_commits: bool,
    /// Right after a push GitHub does not know whether a pull request can be merged: so many questions long.
    pub mergeability_delay: u32,
    /// The one app, once it is registered.
    pub(super) app: Option<Registration>,
    /// What is delivered to whoever listens.
    pub(super) hooks: Hooks,
    pub(super) writes: Vec<Write>,
    pub(super) happenings: Vec<Happening>,
    pub(super) violations: Vec<String>,
    pub(super) requests: Vec<(http::Method, String, u16)>,
    /// Path and body of each request whose answer was lost or replaced.
    pub struck: Vec<(String, String)>,
    pub faults: Vec<Rule>,
    pub rate: Rate,
    /// What the queries cost that were executed, in their order.
    pub queries: Vec<Cost>,
    next_id: u64,
    seconds: u64,
}

/// GitHub's limit of requests an hour, as every answer tells it. The same for REST and for GraphQL, which GitHub counts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub limit: u64,
    pub left: u64,
    /// The end of the hour in seconds since the epoch, by the machine's clock, as clients have no other.
    pub reset: u64,
}

impl Default for Rate {
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            limit: 1_000,
            left: 990,
            reset: now.unwrap_or_default().as_secs() + 3_600,
        }
    }
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "settings of GitHub's")]
pub struct Repository {
    pub full_name: String,
    pub id: u64,
    /// Names that it had before, unless another repository has them now.
    pub former_names: Vec<String>,
    /// Names of other repositories, and their ids.
    pub strangers: BTreeMap<String, u64>,
    pub deleted: bool,
    pub default_branch: String,
    pub private: bool,
    /// The setting "Allow auto-merge".
    pub auto_merge_allowed: bool,
    /// `merge`, `squash` and `rebase`.
    pub merge_methods: BTreeSet<String>,
    /// Branches that only a merge queue merges into.
    pub queued_branches: BTreeSet<String>,
    /// `admin`, `write`, `read` or `none` by login.
    pub permissions: BTreeMap<String, String>,
    /// "Allow GitHub Actions to create and approve pull requests".
    pub actions_may_approve: bool,
    /// The base branch is protected: only an administrator dismisses reviews.
    pub restricts_dismissals: bool,
    /// By branch.
    pub protections: BTreeMap<String, Protection>,
    /// Labels that somebody has used.
    pub labels: BTreeSet<String>,
    pub hooks: Vec<RepositoryHook>,
}

/// The rules of a branch.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// They are a ruleset's, not those of branch protection: GitHub shows and refuses otherwise.
    pub ruleset: bool,
    pub needs_pull_request: bool,
    pub required_checks: Vec<String>,
    /// So many people with write access have to approve.
    pub required_reviews: usize,
    /// Logins that the rules do not hold for.
    pub bypass: Vec<String>,
}

impl Repository {
    pub fn owner(&self) -> &str {
        self.full_name
            .split_once('/')
            .map_or("", |(owner, _)| owner)
    }

    pub fn name(&self) -> &str {
        self.full_name.split_once('/').map_or("", |(_, name)| name)
    }
}

/// Who a token acts as. The login is REST's form: a bot's ends in `[bot]`.
#[derive(Debug, Clone)]
pub struct Identity {
    pub login: String,
    pub typename: String,
    /// `pull-requests:write` and the like; write includes read.
    pub permissions: BTreeSet<String>,
    /// Ids of the repositories that the token is for; `None`: all that its account sees.
    pub repositories: Option<Vec<u64>>,
}

impl Identity {
    /// The identity of `GITHUB_TOKEN` in a workflow with these permissions.
    pub fn github_actions(permissions: &[&str]) -> Self {
        Self {
            login: "github-actions[bot]".into(),
            typename: "Bot".into(),
            permissions: permissions.iter().map(ToString::to_string).collect(),
            repositories: None,
        }
    }

    /// The identity of an app's installation token.
    pub fn app(slug: &str, permissions: &[&str]) -> Self {
        Self {
            login: format!("{slug}[bot]"),
            ..Self::github_actions(permissions)
        }
    }

    pub fn person(login: &str, permissions: &[&str]) -> Self {
        Self {
            login: login.into(),
            typename: "User".into(),
            ..Self::github_actions(permissions)
        }
    }

    pub fn may(&self, permission: &str) -> bool {
        self.permissions.contains(permission)
            || permission
                .strip_suffix(":read")
                .is_some_and(|scope| self.permissions.contains(&format!("{scope}:write")))
    }

    /// GitHub starts no workflow for what `GITHUB_TOKEN` does.
    pub fn starts_workflows(&self) -> bool {
        self.login != "github-actions[bot]"
    }

    /// GitHub's words where the token lacks a permission.
    pub fn refusal(&self) -> &'static str {
        if self.typename == "Bot" {
            FORBIDDEN
        } else {
            "Resource not accessible by personal access token"
        }
    }

    pub fn may_resolve(&self) -> bool {
        self.may("contents:write") && self.may("pull-requests:write")
    }
}

#[derive(Debug, Clone)]
pub struct PullRequest {
    pub number: u64,
    pub id: u64,
    pub title: String,
    pub body: Option<String>,
    pub draft: bool,
    /// `open` or `closed`.
    pub state: String,
    pub locked: bool,
    pub author: String,
    pub labels: Vec<String>,
    /// People with write access to the base may push to the fork's branch.
    pub maintainer_can_modify: bool,
    pub head: Head,
    pub base: Base,
    pub requested_reviewers: Vec<String>,
    /// Slugs.
    pub requested_teams: Vec<String>,
    /// Heads that a forced push replaced, oldest first.
    pub replaced_heads: Vec<String>,
    pub merged: Option<Merged>,
    /// Armed by this login, for this method.
    pub auto_merge: Option<(String, String)>,
    /// Questions that are still answered with "unknown".
    pub unsettled: u32,
    pub created_at: String,
    pub updated_at: String,
}

/// A status of a commit, as older CI systems set it.
#[derive(Debug, Clone)]
pub struct CommitStatus {
    pub sha: String,
    pub context: String,
    /// `SUCCESS`, `FAILURE`, `ERROR` or `PENDING`.
    pub state: String,
    pub description: String,
}

/// An issue that a pull request closes.
#[derive(Debug, Clone)]
pub struct Issue {
    pub pull: u64,
    /// `owner/name`.
    pub repository: String,
    /// True if it is of another repository, a private one, that the token may see.
    pub seen: bool,
    pub number: u64,
    pub title: String,
    pub body: String,
}

/// How a pull request ended.
#[derive(Debug, Clone)]
pub struct Merged {
    pub by: String,
    /// The commit on the base branch.
    pub sha: String,
    pub at: String,
}

impl PullRequest {
    pub fn is_from_fork(&self) -> bool {
        self.head.repository.as_ref().is_none_or(|one| one.fork)
    }
}

#[derive(Debug, Clone)]
pub struct Head {
    pub branch: String,
    pub sha: String,
    /// `None`: the fork was deleted.
    pub repository: Option<HeadRepository>,
}

#[derive(Debug, Clone)]
pub struct HeadRepository {
    pub full_name: String,
    pub id: u64,
    pub fork: bool,
}

#[derive(Debug, Clone)]
pub struct Base {
    pub branch: String,
    pub sha: String,
}

#[derive(Debug, Clone)]
pub struct ReviewComment {
    pub id: u64,
    pub node_id: String,
    pub pull: u64,
    pub review_id: u64,
    pub path: String,
    pub body: String,
    /// `None`: the account was deleted.
    pub user: Option<String>,
    pub author_association: String,
    pub diff_hunk: String,
    pub commit_id: String,
    pub original_commit_id: String,
    pub in_reply_to_id: Option<u64>,
    /// `None` on a file comment and on an outdated one.
    pub line: Option<u64>,
    pub original_line: Option<u64>,
    pub start_line: Option<u64>,
    pub original_start_line: Option<u64>,
    pub side: String,
    pub start_side: Option<String>,
    /// `line` or `file`.
    pub subject_type: String,
    pub created_at: String,
    pub updated_at: String,
    pub editor: Option<String>,
    pub last_edited_at: Option<String>,
    pub minimized: bool,
}

#[derive(Debug, Clone)]
pub struct Review {
    pub id: u64,
    pub pull: u64,
    pub body: String,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `PENDING` or `DISMISSED`.
    pub state: String,
    pub commit_id: String,
    pub user: String,
    pub author_association: String,
    pub submitted_at: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Thread {
    /// `PRRT_…`
    pub id: String,
    pub pull: u64,
    pub root: u64,
    pub is_resolved: bool,
    pub resolved_by: Option<String>,
    pub is_outdated: bool,
}

#[derive(Debug, Clone)]
pub struct IssueComment {
    pub id: u64,
    pub pull: u64,
    pub body: String,
    pub user: String,
    pub author_association: String,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Debug, Clone, Default)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    pub head_sha: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<serde_json::Value>,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    pub started_at: String,
    pub completed_at: Option<String>,
    pub app: String,
}

impl CheckRun {
    /// The title without the diff that it ends with.
    pub fn verdict(&self) -> Option<&str> {
        let title = self.title.as_deref()?;
        Some(title.split(" · ").next().unwrap_or(title))
    }
}

/// A pull request in the merge queue, and the commit that GitHub made of it.
#[derive(Debug, Clone)]
pub struct QueueEntry {
    pub pull: u64,
    /// The branch it is to be merged into.
    pub base: String,
    pub base_sha: String,
    pub head_sha: String,
    pub branch: String,
}

#[derive(Debug, Clone)]
pub struct Reaction {
    pub id: u64,
    /// A review comment or an issue comment: their ids share one sequence here.
    pub comment: u64,
    pub user: String,
    pub content: String,
    pub created_at: String,
}

impl State {
    pub fn new(base_url: String, full_name: &str, git_dir: PathBuf) -> Self {
        let repository = Repository {
            full_name: full_name.into(),
            id: 4_242,
            former_names: Vec::new(),
            strangers: BTreeMap::new(),
            deleted: false,
            default_branch: "main".into(),
            private: false,
            auto_merge_allowed: false,
            merge_methods: ["merge", "squash", "rebase"].map(str::to_owned).into(),
            queued_branches: BTreeSet::new(),
            permissions: BTreeMap::new(),
            actions_may_approve: false,
            restricts_dismissals: false,
            protections: BTreeMap::new(),
            labels: BTreeSet::new(),
            hooks: Vec::new(),
        };
        Self {
            base_url,
            repository,
            git: Git::new(git_dir),
            identities: BTreeMap::new(),
            pulls: BTreeMap::new(),
            comments: Vec::new(),
            reviews: Vec::new(),
            threads: Vec::new(),
            issue_comments: Vec::new(),
            check_runs: Vec::new(),
            queue: Vec::new(),
            refused: Vec::new(),
            page_size: 100,
            reactions: Vec::new(),
            hides_review_commits: false,
            statuses: Vec::new(),
            issues: Vec::new(),
            mergeability_delay: 0,
            app: None,
            hooks: Hooks::default(),
            writes: Vec::new(),
            happenings: Vec::new(),
            violations: Vec::new(),
            requests: Vec::new(),
            struck: Vec::new(),
            faults: Vec::new(),
            rate: Rate::default(),
            queries: Vec::new(),
            next_id: 1_000,
            seconds: 0,
        }
    }

    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }

    pub fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Advances the clock: one second a write, so that order in time is order of writing.
    pub fn tick(&mut self) -> String {
        self.seconds += 1;
        self.now()
    }

    /// Everything that the reviewer ever said is gone.
    pub fn forget(&mut self) {
        self.comments.clear();
        self.reviews.clear();
        self.threads.clear();
        self.check_runs.clear();
    }

    /// Nothing happens for hours.
    pub fn rest(&mut self, hours: u64) {
        self.seconds += hours * 3_600;
    }

    pub fn now(&self) -> String {
        let (day, rest) = (self.seconds / 86_400, self.seconds % 86_400);
        let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
        format!("2026-01-{:02}T{hour:02}:{minute:02}:{second:02}Z", day + 1)
    }

    /// The same moment as git wants it.
    pub fn epoch_seconds(&self) -> u64 {
        1_767_225_600 + self.seconds
    }

    pub fn comment(&self, id: u64) -> Option<&ReviewComment> {
        self.comments.iter().find(|comment| comment.id == id)
    }

    pub fn thread_of(&self, root: u64) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.root == root)
    }

    /// `admin`, `write`, `read` or `none`; on a public repository everybody may read.
    pub fn permission(&self, login: &str) -> String {
        let nobody = if self.repository.private {
            "none"
        } else {
            "read"
        };
        match self.repository.permissions.get(login) {
            Some(permission) => permission.clone(),
            None if login == self.repository.owner() => "admin".into(),
            None => nobody.into(),
        }
    }

    pub fn association(&self, login: &str, pull: u64) -> String {
        let authored = self
            .pulls
            .get(&pull)
            .is_some_and(|pull| pull.author == login);
        match self.permission(login).as_str() {
            _ if login == self.repository.owner() => "OWNER",
            "admin" | "write" => "COLLABORATOR",
            _ if authored => "CONTRIBUTOR",
            _ => "NONE",
        }
        .into()
    }
}
