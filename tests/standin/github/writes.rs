//! Every effect on the pull request, in order, and the ways in which a test consumes them. Silence is asserted:
//! what nobody consumed fails the test in `finish`.

use serde_json::Value;

use super::GitHub;
use super::state::CheckRun;

/// One write that GitHub carried out. `json` is the body as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    Review {
        pull: u64,
        id: u64,
        json: Value,
    },
    Dismissal {
        pull: u64,
        /// Of the review.
        id: u64,
        json: Value,
    },
    Comment {
        pull: u64,
        id: u64,
        json: Value,
    },
    Reply {
        pull: u64,
        root: u64,
        id: u64,
        json: Value,
    },
    Resolve {
        root: u64,
        by: String,
    },
    Unresolve {
        root: u64,
        by: String,
    },
    Minimize {
        node_id: String,
        json: Value,
    },
    EditComment {
        id: u64,
        json: Value,
    },
    DeleteComment {
        id: u64,
    },
    IssueComment {
        pull: u64,
        id: u64,
        json: Value,
    },
    EditIssueComment {
        id: u64,
        json: Value,
    },
    DeleteIssueComment {
        id: u64,
    },
    Labels {
        pull: u64,
        json: Value,
    },
    LabelRemoved {
        pull: u64,
        name: String,
    },
    ReviewRequest {
        pull: u64,
        logins: Vec<String>,
    },
    Merge {
        pull: u64,
        /// The head that was merged.
        head: String,
        by: String,
        method: String,
    },
    AutoMergeArmed {
        pull: u64,
        head: String,
        by: String,
    },
    AutoMergeDisarmed {
        pull: u64,
        by: String,
    },
    Enqueued {
        pull: u64,
        head: String,
        by: String,
    },
    Dequeued {
        pull: u64,
        by: String,
    },
    Branch {
        name: String,
        sha: String,
    },
    Pull {
        number: u64,
        json: Value,
    },
    /// `json` is the input of the mutation.
    Commit {
        branch: String,
        sha: String,
        by: String,
        json: Value,
    },
    Reaction {
        comment: u64,
        json: Value,
    },
    CheckRunCreated {
        id: u64,
        json: Value,
    },
    CheckRunUpdated {
        id: u64,
        json: Value,
    },
}

impl GitHub {
    /// Everything written since the last look, in order. Consumes it.
    pub fn take_writes(&self) -> Vec<Write> {
        self.with(|state| std::mem::take(&mut state.writes))
    }

    /// The one review that was posted, as it was sent.
    pub fn expect_review(&self) -> Value {
        self.expect_one("review", |write| match write {
            Write::Review { json, .. } => Some(json.clone()),
            _ => None,
        })
    }

    /// The one review that was dismissed, and the message.
    pub fn expect_dismissal(&self) -> (u64, String) {
        self.expect_one("dismissal", |write| match write {
            Write::Dismissal { id, json, .. } => Some((*id, json["message"].as_str()?.to_owned())),
            _ => None,
        })
    }

    /// The one review comment that was posted outside a review, as it was sent.
    pub fn expect_comment(&self) -> Value {
        self.expect_one("review comment", |write| match write {
            Write::Comment { json, .. } => Some(json.clone()),
            _ => None,
        })
    }

    /// The one reply: the thread's root comment and the text.
    pub fn expect_reply(&self) -> (u64, String) {
        self.expect_one("reply", |write| match write {
            Write::Reply { root, json, .. } => Some((*root, json["body"].as_str()?.to_owned())),
            _ => None,
        })
    }

    /// The root comment of the one thread that was resolved.
    pub fn expect_resolve(&self) -> u64 {
        self.expect_one("resolved thread", |write| match write {
            Write::Resolve { root, .. } => Some(*root),
            _ => None,
        })
    }

    /// The text of the one comment on the conversation.
    pub fn expect_issue_comment(&self) -> String {
        self.expect_one("issue comment", |write| match write {
            Write::IssueComment { json, .. } => Some(json["body"].as_str()?.to_owned()),
            _ => None,
        })
    }

    /// The one commit: its branch, its id and the input of the mutation.
    pub fn expect_commit(&self) -> (String, String, Value) {
        self.expect_one("commit", |write| match write {
            Write::Commit {
                branch, sha, json, ..
            } => Some((branch.clone(), sha.clone(), json.clone())),
            _ => None,
        })
    }

    /// The one branch that was made, and its commit.
    pub fn expect_branch(&self) -> (String, String) {
        self.expect_one("branch", |write| match write {
            Write::Branch { name, sha } => Some((name.clone(), sha.clone())),
            _ => None,
        })
    }

    /// The one pull request that was opened.
    pub fn expect_pull(&self) -> u64 {
        self.expect_one("pull request", |write| match write {
            Write::Pull { number, .. } => Some(*number),
            _ => None,
        })
    }

    /// The labels of the one request that set some.
    pub fn expect_labels(&self) -> Vec<String> {
        self.expect_one("labelling", |write| match write {
            Write::Labels { json, .. } => {
                let names = json.get("labels").unwrap_or(json).as_array()?.iter();
                Some(
                    names
                        .filter_map(|name| name.as_str().map(str::to_owned))
                        .collect(),
                )
            }
            _ => None,
        })
    }

    /// The comment and the content of the one reaction.
    pub fn expect_reaction(&self) -> (u64, String) {
        self.expect_one("reaction", |write| match write {
            Write::Reaction { comment, json } => {
                Some((*comment, json["content"].as_str()?.to_owned()))
            }
            _ => None,
        })
    }

    /// The final state of the one check run that was written to, however often it was updated.
    pub fn expect_check_run(&self) -> CheckRun {
        let ids = self.consume(|write| match write {
            Write::CheckRunCreated { id, .. } | Write::CheckRunUpdated { id, .. } => Some(*id),
            _ => None,
        });
        let mut distinct = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(
            distinct.len(),
            1,
            "expected writes to exactly one check run, got {ids:?}"
        );
        self.with(|state| {
            let run = state.check_runs.iter().find(|run| run.id == distinct[0]);
            run.expect("a written check run exists").clone()
        })
    }

    fn expect_one<T>(&self, what: &str, pick: impl Fn(&Write) -> Option<T>) -> T {
        let before = self.with(|state| format!("{:#?}", state.writes));
        let mut found = self.consume(pick);
        assert_eq!(
            found.len(),
            1,
            "expected exactly one {what}; the writes were {before}"
        );
        found.remove(0)
    }

    fn consume<T>(&self, pick: impl Fn(&Write) -> Option<T>) -> Vec<T> {
        self.with(|state| {
            let mut found = Vec::new();
            state.writes.retain(|write| match pick(write) {
                Some(one) => {
                    found.push(one);
                    false
                }
                None => true,
            });
            found
        })
    }
}
