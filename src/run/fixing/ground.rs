//! Everything that a fix is decided on: a fresh look at the pull request, the memory of earlier fixes, the words of people who
//! request changes, and the issues that follow from them.

use crate::gather::excerpts::Excerpts;
use crate::gather::{Facts, Frame, Memory as Discussion};
use crate::host::{Failure, Job};
use reviewer_core::authority::Action;
use reviewer_core::domain::{CommentId, CommitSha, Login, Thread};
use reviewer_core::fix::brief::ShownIssue;
use reviewer_core::fix::issue::{ChangeRequest, Issue, IssueId, Source};
use reviewer_core::fix::memory::Memory;
use reviewer_core::fix::report::{self, Delivery, FixReport, Order};
use reviewer_core::fix::reverts::Reverts;
use reviewer_core::fix::selection::{self, Selection, Sources};
use reviewer_core::panel::review_state::{Machines, ReviewState};
use reviewer_core::plan::SpendScope;
use reviewer_core::publish::comment::fixing::MARKER;
use reviewer_github::{CommitInfo, IssueComment, PullRequest, Review};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

/// The largest file whose lines are compared with what a fix left.
const MAX_FILE: u64 = 1 << 20;
/// The longest that reading all pages may take.
const MOST_READING: Duration = Duration::from_secs(30);
/// Lines shown on each side of a person's comment.
const AROUND: usize = 4;
/// The texts of `.specify` that say what a change is meant to do.
const SPECIFICATION: [&str; 3] = ["spec.md", "plan.md", "tasks.md"];
const MOST_SPECIFICATIONS: usize = 9;
const MAX_SPECIFICATION: usize = 24_000;

pub(super) struct Ground {
    pub facts: Facts,
    pub memory: Memory,
    /// Fixes that somebody took back since the last report.
    pub reverts: Reverts,
    requests: Vec<ChangeRequest>,
}

impl Ground {
    /// Reads the pull request anew: the review before it has posted, and minutes have passed. `None` if the comments take too
    /// long: what is fixed must be everything that is open.
    pub(super) async fn gather(
        job: &Job<'_>,
        pull: PullRequest,
        snapshot: &Path,
    ) -> Result<Option<Self>, Failure> {
        let frame = Frame {
            pull,
            scope: SpendScope::Everything,
            obstacle: None,
        };
        let most = job.host.setup.clock.limit(MOST_READING);
        let Some(facts) = Facts::gather_within(job, frame, snapshot, most).await? else {
            return Ok(None);
        };
        let Ok(requests) = tokio::time::timeout(most, requests(job, &facts)).await else {
            return Ok(None);
        };
        let requests = requests?;
        let memory = memory_of(job, &facts);
        let reverts = reverts(&facts, &memory).await?;
        Ok(Some(Self {
            facts,
            memory,
            reverts,
            requests,
        }))
    }

    /// The issues to fix, given orders that no report tells yet.
    pub(super) fn select(&self, memory: &Memory, only: Option<CommentId>) -> Selection {
        selection::select(&Sources {
            threads: &self.facts.threads,
            requests: &self.requests,
            diffs: &self.facts.change.diffs,
            memory,
            reviewed: Some(&self.facts.pull.head_sha),
            only,
        })
    }

    /// The memory with this order of a person.
    pub(super) fn remembered(&self, stop: Option<Order>, resume: Option<Order>) -> Memory {
        let (stops, resumes): (Vec<_>, Vec<_>) =
            (stop.into_iter().collect(), resume.into_iter().collect());
        self.memory.clone().with_orders(&stops, &resumes)
    }

    /// The head of the pull request.
    pub(super) fn head(&self) -> &CommitSha {
        &self.facts.pull.head_sha
    }

    /// The issues with the code that they are about, then and now, and what was said.
    pub(super) async fn shown<'a>(
        &self,
        job: &Job<'_>,
        issues: &'a [Issue],
    ) -> Result<Vec<ShownIssue<'a>>, Failure> {
        let threads: Vec<&Thread> = issues
            .iter()
            .filter_map(|issue| self.thread(issue))
            .collect();
        let excerpts = Excerpts::read(job, &self.facts.code(), &threads).await;
        let mut shown = Vec::new();
        for issue in issues {
            let thread = self.thread(issue);
            let excerpt = thread.and_then(|thread| {
                let mut excerpts = excerpts.code.iter();
                excerpts.find(|one| one.thread == thread.id)
            });
            let replies = match thread {
                Some(thread) => replies_of(thread),
                None => self.replies_to(issue),
            };
            shown.push(match excerpt {
                Some(excerpt) => ShownIssue {
                    issue,
                    then: excerpt.then.clone(),
                    now: excerpt.now.clone(),
                    replies,
                },
                None => ShownIssue {
                    issue,
                    then: None,
                    now: self.lines_now(issue).await?,
                    replies,
                },
            });
        }
        Ok(shown)
    }

    fn thread(&self, issue: &Issue) -> Option<&Thread> {
        match &issue.source {
            Source::Finding { thread, .. } => self.facts.thread(*thread),
            Source::Person { .. } => None,
        }
    }

    /// The replies of people to a person's comment, each with who wrote it.
    fn replies_to(&self, issue: &Issue) -> Vec<(String, String)> {
        let mut open = self.facts.open_conversations();
        let found = open.find(|open| IssueId::Comment(open.root) == issue.id);
        let words = found.map(|open| open.words.as_slice()).unwrap_or_default();
        let replies = words.iter().skip(1).map(|words| {
            let who = format!("{} ({})", words.author, words.person.standing());
            (who, words.body.clone())
        });
        replies.collect()
    }

    /// The lines of the head around an issue.
    async fn lines_now(&self, issue: &Issue) -> Result<Option<String>, Failure> {
        let (Some(file), Some(line)) = (&issue.file, issue.line) else {
            return Ok(None);
        };
        let Some(text) = text_of(&self.facts, file).await? else {
            return Ok(None);
        };
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let first = line.saturating_sub(AROUND + 1);
        let lines = text.lines().skip(first).take(2 * AROUND + 1);
        Ok(Some(lines.collect::<Vec<_>>().join("\n")))
    }

    /// The texts of `.specify` in the head.
    pub(super) async fn specification(&self) -> Result<Vec<(String, String)>, Failure> {
        let repository = &self.facts.change.repository;
        let tree = repository.tree(self.head()).await?;
        let mut texts = Vec::new();
        for entry in &tree {
            let Ok(path) = std::str::from_utf8(&entry.path) else {
                continue;
            };
            let is_one = |name: &str| path.rsplit('/').next() == Some(name);
            if !path.starts_with(".specify/") || !SPECIFICATION.iter().any(|name| is_one(name)) {
                continue;
            }
            if let Some(text) = repository.beginning(entry, MAX_SPECIFICATION).await? {
                texts.push((path.to_owned(), text));
            }
            if texts.len() == MOST_SPECIFICATIONS {
                break;
            }
        }
        Ok(texts)
    }

    /// The text of the last review of the reviewer, without its block, and its address.
    pub(super) fn review(&self) -> (String, String) {
        let own = self.facts.reviews.iter().rev();
        let mut own = own.filter(|review| review.author.as_ref() == Some(&self.facts.viewer));
        let last = own.find(|review| !review.body.trim().is_empty());
        let said = last.map(|review| {
            let text = review.body.replace(MARKER, "");
            let text = text.split("<!-- rmcoc:").next().unwrap_or_default();
            (text.trim().to_owned(), review.html_url.clone())
        });
        said.unwrap_or_default()
    }
}

/// The replies in a thread of the reviewer, each with who wrote it.
fn replies_of(thread: &Thread) -> Vec<(String, String)> {
    let replies = thread.replies.iter().map(|reply| {
        let who = reply.author.as_ref();
        let who = who.map_or("a deleted account", |login| login.as_str());
        (format!("{who} ({})", reply.standing), reply.body.clone())
    });
    replies.collect()
}

/// The memory of fixing: the signed reports in comments, and those that only the records of check runs hold, where one is written
/// before its push. One that was neither delivered nor told is of a run that was cut off: it did nothing.
pub(super) fn memory_of(job: &Job<'_>, facts: &Facts) -> Memory {
    let told: Vec<FixReport> = told(job, facts).collect();
    let untold = facts.fix_reports().filter(|report| !is_told(&told, report));
    let kept = untold.filter_map(|report| match landed(facts, &report) {
        Some(commit) => Some(pushed(report, commit)),
        None => report.delivery.is_some().then_some(report),
    });
    let kept: Vec<FixReport> = kept.collect();
    Memory::new(told.into_iter().chain(kept))
}

/// True if a comment tells this cycle.
pub(super) fn is_told(told: &[FixReport], report: &FixReport) -> bool {
    told.iter()
        .any(|one| one.cycle == report.cycle && one.head == report.head)
}

/// The commit of a cycle: on top of the head that was fixed, with the trailers of its findings.
pub(super) fn landed<'a>(facts: &'a Facts, report: &FixReport) -> Option<&'a CommitInfo> {
    facts.commits.iter().find(|commit| {
        let mut parents = commit.parents.iter();
        parents.any(|parent| parent.as_str() == report.head) && report.is_of(&commit.message)
    })
}

/// A report of a cycle whose commit is on the branch.
pub(super) fn pushed(report: FixReport, commit: &CommitInfo) -> FixReport {
    FixReport {
        commit: Some(commit.sha.to_string()),
        delivery: Some(Delivery::Push),
        ..report
    }
}

/// The reports that comments tell, with GitHub's time in place of the runner's: orders of people have GitHub's, too.
pub(super) fn told<'a>(job: &'a Job<'_>, facts: &'a Facts) -> impl Iterator<Item = FixReport> + 'a {
    told_in(job, &facts.conversation)
}

/// The same of comments that were read otherwise. Anybody can copy a signed report, and then it says the same at a later time;
/// the first comment with it counts. An account tells nothing: the reviewer's can change.
pub(super) fn told_in<'a>(
    job: &'a Job<'_>,
    comments: &'a [IssueComment],
) -> impl Iterator<Item = FixReport> + 'a {
    let mut oldest: Vec<&IssueComment> = comments.iter().collect();
    oldest.sort_by_key(|comment| comment.id);
    let mut known = BTreeSet::new();
    oldest.into_iter().filter_map(move |comment| {
        let report = report::read(&comment.body, &job.pr, &job.keys)?;
        if !known.insert(serde_json::to_string(&report).ok()?) {
            return None;
        }
        let at = comment.created_at.clone();
        Some(FixReport {
            escalated_at: report.escalated_at.map(|_| at.clone()),
            at,
            ..report
        })
    })
}

/// The words of people who request changes now.
async fn requests(job: &Job<'_>, facts: &Facts) -> Result<Vec<ChangeRequest>, Failure> {
    let machines = Machines {
        own: &facts.viewer,
        agents: &job.host.config.trusted_bots,
    };
    let given = facts.reviews.iter().map(crate::run::given_review);
    let state = ReviewState::read(given, machines);
    let (memory, author) = (Discussion::from_job(job), facts.pull.author.as_ref());
    let mut requests = Vec::new();
    for requester in state.changes_requested_by() {
        let login = &requester.login;
        let person = memory.person(login, author, Action::Fix).await?;
        for review in standing_requests(&facts.reviews, login) {
            requests.push(ChangeRequest {
                id: IssueId::Review(review.id),
                author: login.clone(),
                person,
                body: review.body.clone(),
                file: None,
                line: None,
                created_at: review.submitted_at.clone().unwrap_or_default(),
                url: review.html_url.clone(),
                weighed: None,
                resolved: false,
            });
        }
        for open in facts.open_conversations() {
            let Some(first) = open.words.first().filter(|words| words.author == *login) else {
                continue;
            };
            requests.push(ChangeRequest {
                id: IssueId::Comment(open.root),
                author: login.clone(),
                person,
                body: first.body.clone(),
                file: Some(open.file.clone()),
                line: open.line,
                created_at: first.created_at.clone(),
                url: open.url.clone(),
                weighed: None,
                resolved: false,
            });
        }
    }
    Ok(requests)
}

/// The reviews in which a person requests changes and that no later judgement of theirs took back.
fn standing_requests<'a>(reviews: &'a [Review], login: &Login) -> impl Iterator<Item = &'a Review> {
    let theirs = reviews
        .iter()
        .filter(|review| review.author.as_ref() == Some(login));
    let theirs: Vec<&Review> = theirs.collect();
    let ended = |review: &&Review| matches!(review.state.as_str(), "APPROVED" | "DISMISSED");
    let first = theirs.iter().rposition(ended).map_or(0, |last| last + 1);
    let standing = theirs.into_iter().skip(first);
    standing.filter(|review| review.state == "CHANGES_REQUESTED")
}

/// Looks for fixes that somebody took back. A head that a fix made shows none.
pub(super) async fn reverts(facts: &Facts, memory: &Memory) -> Result<Reverts, Failure> {
    if memory.commits().next().is_none() || memory.made(&facts.pull.head_sha) {
        return Ok(Reverts::default());
    }
    let marks = memory.commits().flat_map(|(_, kept)| kept);
    let marks = marks.flat_map(|kept| &kept.marks);
    let files: BTreeSet<&str> = marks.map(|marks| marks.file.as_str()).collect();
    let mut texts: HashMap<&str, String> = HashMap::new();
    for file in files {
        if let Some(text) = text_of(facts, file).await? {
            texts.insert(file, text);
        }
    }
    let messages = facts.commits.iter().filter(|one| !memory.made(&one.sha));
    let messages: Vec<&str> = messages.map(|one| one.message.as_str()).collect();
    Ok(Reverts::find(memory, &messages, |file| {
        texts.get(file).cloned()
    }))
}

/// The text of a file in the head.
async fn text_of(facts: &Facts, file: &str) -> Result<Option<String>, Failure> {
    let repository = &facts.change.repository;
    let found = repository
        .head_file(&facts.pull.head_sha, file, MAX_FILE)
        .await?;
    let bytes = found.and_then(|found| found.content);
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
