//! The merge queue, and the pull requests of a commit, as GraphQL objects.

use super::GitHub;
use super::graphql::{Context, Node, connection};
use super::history_nodes::object_by_oid;
use super::nodes::{pull_request, text};
use super::pushing::Refusal;
use super::state::{Identity, PullRequest, QueueEntry, State};
use super::writes::Write;
use apollo_compiler::response::JsonMap;

impl GitHub {
    /// Puts a pull request at the end of its base's queue: GitHub makes a commit of it on top of the entry before it, or
    /// of the branch, under a branch of its own.
    pub fn enqueue(&self, number: u64) -> QueueEntry {
        self.with(|state| state.enqueue(number))
    }

    /// The queue merges its first entry, which is this pull request, as one whose checks passed.
    pub fn merge_queued(&self, number: u64) {
        self.with(|state| {
            let first = state.queue.first().map(|entry| entry.pull);
            assert_eq!(first, Some(number), "not the first of the queue");
            state.queue.remove(0);
            state.merge(number, "github-merge-queue[bot]", "merge");
        });
    }

    /// The queue drops a pull request, as one whose checks failed.
    pub fn dequeue(&self, number: u64) {
        self.with(|state| state.dequeue(number, "github-merge-queue[bot]"));
    }
}

impl State {
    pub fn enqueue(&mut self, number: u64) -> QueueEntry {
        let pull = self.pulls[&number].clone();
        let last = self.queue.iter().rev();
        let last = last.filter(|entry| entry.base == pull.base.branch);
        let base_sha = last.map(|entry| entry.head_sha.clone()).next();
        let base_sha = base_sha
            .or_else(|| self.git.commit_of(&pull.base.branch))
            .expect("the base exists");
        let branch = format!(
            "gh-readonly-queue/{}/pr-{number}-{base_sha}",
            pull.base.branch
        );
        self.tick();
        let parents = [base_sha.as_str(), pull.head.sha.as_str()];
        let (message, at) = (format!("Merge #{number}"), self.epoch_seconds());
        let head_sha = self.git.commit(&branch, &parents, &message, at, &[]);
        let entry = QueueEntry {
            pull: number,
            base: pull.base.branch,
            base_sha,
            head_sha,
            branch,
        };
        self.queue.push(entry.clone());
        self.announce_group(&entry);
        entry
    }

    fn dequeue(&mut self, number: u64, sender: &str) {
        self.queue.retain(|entry| entry.pull != number);
        self.announce("pull_request", Some("dequeued"), number, sender);
    }

    /// A person takes a pull request out of the queue.
    pub fn take_out_of_queue(&mut self, identity: &Identity, number: u64) -> Result<(), Refusal> {
        if !self.queue.iter().any(|entry| entry.pull == number) {
            let words = "Pull request is not in the merge queue.";
            return Err(("UNPROCESSABLE", words.into()));
        }
        self.tick();
        let by = identity.login.clone();
        self.dequeue(number, &by);
        self.writes.push(Write::Dequeued { pull: number, by });
        Ok(())
    }
}

/// A branch without a queue has none; one with an empty queue looks the same here.
pub fn merge_queue<'c>(context: &'c Context, arguments: &JsonMap) -> Node<'c> {
    let branch = text(arguments, "branch");
    let of_branch = |state: &State| -> Vec<(QueueEntry, Option<PullRequest>)> {
        let entries = state.queue.iter().filter(|entry| entry.base == branch);
        entries
            .map(|entry| (entry.clone(), state.pulls.get(&entry.pull).cloned()))
            .collect()
    };
    let entries = of_branch(&context.state.borrow());
    if entries.is_empty() {
        return Node::null();
    }
    let nodes = entries.iter().enumerate().map(|(index, (entry, pull))| {
        let pull = pull.as_ref();
        let fields = vec![
            ("id", format!("MQE_{}", entry.pull).into()),
            ("position", (index + 1).into()),
            ("state", "AWAITING_CHECKS".into()),
            ("baseCommit", object_by_oid(context, &entry.base_sha)),
            ("headCommit", object_by_oid(context, &entry.head_sha)),
            (
                "pullRequest",
                pull.map_or_else(Node::null, |pull| pull_request(context, pull)),
            ),
        ];
        Node::object(context, "MergeQueueEntry", fields)
    });
    let entries = connection(
        context,
        "MergeQueueEntryConnection",
        "entries",
        nodes.collect(),
    );
    let fields = vec![("id", "MQ_1".into()), ("entries", entries)];
    Node::object(context, "MergeQueue", fields)
}

/// Of a commit that is in the default branch, GitHub names only the pull request that brought it there.
pub fn pulls_of<'c>(context: &'c Context, sha: &str) -> Node<'c> {
    let sha = sha.to_owned();
    // Made when it is asked for: a pull request has commits, too.
    Node::lazy(move |arguments| {
        let holding = |state: &State| -> Vec<PullRequest> {
            let default = state.git.commit_of(&state.repository.default_branch);
            let brought =
                default.is_some_and(|tip| state.git.merge_base(&tip, &sha).as_ref() == Some(&sha));
            let pulls = state.pulls.values().filter(|pull| {
                let head = &pull.head.sha;
                !brought && (*head == sha || state.git.has_between(&pull.base.sha, head, &sha))
            });
            pulls.cloned().collect()
        };
        let pulls = holding(&context.state.borrow());
        let nodes = pulls.iter().map(|pull| pull_request(context, pull));
        let name = "associatedPullRequests";
        match connection(context, "PullRequestConnection", name, nodes.collect()) {
            Node::Lazy(make) => make(arguments),
            other => Ok(other),
        }
    })
}
