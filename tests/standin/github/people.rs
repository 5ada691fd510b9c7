//! What people do to a pull request while nobody looks: open, push, reply, resolve, edit. Separate from the routes,
//! because none of it is a write of the reviewer and none of it must be consumed.

use super::GitHub;
use super::diff::{self, Anchor};
use super::git::Change;
use super::state::{
    Base, Head, HeadRepository, IssueComment, PullRequest, Review, ReviewComment, State, Thread,
};

impl GitHub {
    /// Commits on a branch and returns the new commit; no parents make a root commit.
    pub fn commit(&self, branch: &str, parents: &[&str], changes: &[Change]) -> String {
        self.with(|state| {
            state.tick();
            let message = format!("Change {} on {branch}", changes.len());
            state
                .git
                .commit(branch, parents, &message, state.epoch_seconds(), changes)
        })
    }

    /// Opens a pull request between two branches that exist. Its other fields can be changed through `pull`.
    pub fn open_pull(&self, author: &str, head: &str, base: &str) -> u64 {
        self.with(|state| state.open_pull(author, head, base))
    }

    /// Looks at or changes one pull request.
    pub fn pull<T>(&self, number: u64, act: impl FnOnce(&mut PullRequest) -> T) -> T {
        self.with(|state| {
            act(state
                .pulls
                .get_mut(&number)
                .expect("the pull request exists"))
        })
    }

    /// Moves the head. Comments follow their lines, or become outdated.
    pub fn push(&self, number: u64, head: &str) {
        self.with(|state| state.push(number, head));
    }

    pub fn resolve_thread(&self, root: u64, login: &str) {
        self.with(|state| {
            assert!(
                state.set_resolved(root, Some(login)),
                "comment {root} is no root of a thread"
            );
        });
    }

    pub fn unresolve_thread(&self, root: u64) {
        self.with(|state| {
            assert!(
                state.set_resolved(root, None),
                "comment {root} is no root of a thread"
            );
        });
    }

    /// Replies in a thread and returns the comment.
    pub fn reply(&self, root: u64, login: &str, body: &str) -> ReviewComment {
        self.with(|state| {
            state
                .add_reply(root, login, body)
                .expect("the root comment exists")
        })
    }

    /// Begins a thread on a line of the change, and returns its root.
    pub fn remark(&self, pull: u64, login: &str, place: (&str, u64), body: &str) -> u64 {
        self.with(|state| state.add_remark(pull, login, place, body))
    }

    /// Comments on the conversation.
    pub fn comment(&self, pull: u64, login: &str, body: &str) -> IssueComment {
        self.with(|state| state.add_issue_comment(pull, login, body))
    }

    /// Submits a review without comments, in a state such as `APPROVED`.
    pub fn review(&self, pull: u64, login: &str, status: &str, body: &str) -> Review {
        self.with(|state| {
            let commit = state.pulls[&pull].head.sha.clone();
            state.add_review(pull, login, body, status, &commit)
        })
    }

    pub fn edit_comment(&self, id: u64, login: &str, body: &str) {
        self.with(|state| assert!(state.edit(id, login, body), "comment {id} exists"));
    }

    pub fn delete_comment(&self, id: u64) {
        self.with(|state| state.delete(id));
    }

    /// The conversations that everybody sees.
    pub fn threads(&self) -> Vec<Thread> {
        self.with(|state| {
            let is_of_draft = |thread: &&Thread| {
                let root = state.comment(thread.root);
                root.is_some_and(|root| state.is_of_draft(root))
            };
            let threads = state.threads.iter();
            threads.filter(|one| !is_of_draft(one)).cloned().collect()
        })
    }

    /// The review comments that everybody sees, oldest first.
    pub fn comments(&self) -> Vec<ReviewComment> {
        self.with(|state| {
            let comments = state.comments.iter();
            let seen = comments.filter(|one| !state.is_of_draft(one));
            seen.cloned().collect()
        })
    }
}

impl State {
    /// Opens a pull request between two branches that exist.
    pub fn open_pull(&mut self, author: &str, head: &str, base: &str) -> u64 {
        let sha = |branch: &str| self.git.commit_of(branch).expect("the branch exists");
        let (head_sha, base_sha) = (sha(head), sha(base));
        let number = self.pulls.keys().max().map_or(1, |last| last + 1);
        let repository = HeadRepository {
            full_name: self.repository.full_name.clone(),
            id: self.repository.id,
            fork: false,
        };
        let (id, created_at) = (self.next_id(), self.tick());
        let pull = PullRequest {
            number,
            id,
            title: format!("Merge {head}"),
            body: None,
            draft: false,
            state: "open".into(),
            locked: false,
            author: author.into(),
            labels: Vec::new(),
            maintainer_can_modify: false,
            head: Head {
                branch: head.into(),
                sha: head_sha,
                repository: Some(repository),
            },
            base: Base {
                branch: base.into(),
                sha: base_sha,
            },
            requested_reviewers: Vec::new(),
            requested_teams: Vec::new(),
            replaced_heads: Vec::new(),
            merged: None,
            auto_merge: None,
            unsettled: self.mergeability_delay,
            updated_at: created_at.clone(),
            created_at,
        };
        self.point_pull_ref(&pull);
        self.pulls.insert(number, pull);
        self.announce("pull_request", Some("opened"), number, author);
        number
    }

    pub fn push(&mut self, number: u64, head: &str) {
        let pull = self
            .pulls
            .get_mut(&number)
            .expect("the pull request exists");
        let before = std::mem::replace(&mut pull.head.sha, head.into());
        if self.git.merge_base(&before, head).as_ref() != Some(&before) {
            pull.replaced_heads.push(before.clone());
        }
        pull.unsettled = self.mergeability_delay;
        self.tick();
        let pull = &self.pulls[&number];
        self.point_pull_ref(pull);
        if !pull.is_from_fork() {
            let branch = format!("refs/heads/{}", pull.head.branch);
            self.git.write(&["update-ref", &branch, head]);
        }
        self.move_anchors(number);
        let pushed = self.pulls[&number].clone();
        self.announce_push(&pushed.author, &pushed.head.branch, &before, head);
        self.announce_synchronize(number, &before);
    }

    /// GitHub keeps every head, a fork's too, under `refs/pull`.
    fn point_pull_ref(&self, pull: &PullRequest) {
        self.git.write(&[
            "update-ref",
            &format!("refs/pull/{}/head", pull.number),
            &pull.head.sha,
        ]);
    }

    /// Whether there was such a thread.
    pub fn set_resolved(&mut self, root: u64, by: Option<&str>) -> bool {
        self.tick();
        let Some(thread) = self.threads.iter_mut().find(|thread| thread.root == root) else {
            return false;
        };
        thread.is_resolved = by.is_some();
        thread.resolved_by = by.map(str::to_owned);
        let pull = thread.pull;
        let action = if by.is_some() {
            "resolved"
        } else {
            "unresolved"
        };
        let sender = by.unwrap_or("ghost").to_owned();
        self.announce("pull_request_review_thread", Some(action), pull, &sender);
        true
    }

    /// Whether there was such a comment.
    pub fn edit(&mut self, id: u64, login: &str, body: &str) -> bool {
        let at = self.tick();
        let Some(comment) = self.comments.iter_mut().find(|comment| comment.id == id) else {
            return false;
        };
        comment.body = body.into();
        comment.editor = Some(login.into());
        comment.last_edited_at = Some(at.clone());
        comment.updated_at = at;
        true
    }

    /// A thread lives on while it has a comment.
    pub fn delete(&mut self, id: u64) {
        self.tick();
        self.comments.retain(|comment| comment.id != id);
        let comments = &self.comments;
        let alive = |root: u64| {
            comments
                .iter()
                .any(|one| one.id == root || one.in_reply_to_id == Some(root))
        };
        self.threads.retain(|thread| alive(thread.root));
    }

    /// Shows every comment against the head: where its line is still in the diff, or outdated.
    pub fn move_anchors(&mut self, number: u64) {
        let pull = self.pulls[&number].clone();
        let files = self.diff_at(&pull, &pull.head.sha);
        let mut comments = std::mem::take(&mut self.comments);
        for comment in comments
            .iter_mut()
            .filter(|one| one.pull == number && one.commit_id != pull.head.sha)
        {
            let Some(line) = comment.line else { continue };
            let follow = |line: u64| match comment.side.as_str() {
                // The left side is the merge base, which a push leaves alone.
                "LEFT" => Some(line),
                _ => diff::follow(
                    &self.git,
                    &comment.commit_id,
                    &pull.head.sha,
                    &comment.path,
                    line,
                ),
            };
            let anchor = follow(line).map(|line| Anchor {
                line,
                side: comment.side.clone(),
                start: None,
            });
            let file = files.iter().find(|file| file.path == comment.path);
            let shown = anchor.filter(|anchor| file.is_some_and(|file| file.judge(anchor).is_ok()));
            comment.start_line = shown.as_ref().and(comment.start_line).and_then(follow);
            comment.line = shown.map(|anchor| anchor.line);
            if comment.line.is_some() {
                comment.commit_id.clone_from(&pull.head.sha);
            }
        }
        for thread in self
            .threads
            .iter_mut()
            .filter(|thread| thread.pull == number)
        {
            let root = comments.iter().find(|comment| comment.id == thread.root);
            thread.is_outdated =
                root.is_some_and(|root| root.line.is_none() && root.subject_type == "line");
        }
        self.comments = comments;
    }
}
