//! The questions that people have decided on closed pull requests: findings of the reviewer that somebody with write access
//! rejected, and whose code did not have to change for it. Separate from rebuilding, because on an open pull request more people
//! have a word: here nobody without write access teaches the reviewer to be silent.

#[cfg(test)]
mod tests;

use super::rebuild::{self, Comment, Conversation, Sources};
use super::signature::Keys;
use crate::domain::{
    Anchor, Assessment, Category, CommentId, DecidedId, Decider, FileDiff, Login, PrKey, RepoName,
    Score, Side, Standing, Status, Thread, Trust,
};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Decided questions that a review is told of.
const MOST: usize = 20;

/// The last closed pull requests of a repository, as one answer of GitHub tells them. The latest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedPulls {
    /// The login of the token.
    pub viewer: Login,
    /// The account that the repository belongs to; a person or an organisation.
    pub owner: Option<Login>,
    pub pulls: Vec<ClosedPull>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedPull {
    pub number: u64,
    /// RFC 3339, as GitHub gave it.
    pub closed_at: String,
    pub author: Option<Login>,
    pub is_merged: bool,
    /// `None`, too, where the account was deleted.
    pub merged_by: Option<Login>,
    /// Authors of reviews whom GitHub says to have write access.
    pub writers: Vec<Login>,
    pub threads: Vec<ClosedThread>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedThread {
    pub path: String,
    pub line: Option<u32>,
    pub is_resolved: bool,
    pub is_outdated: bool,
    pub resolved_by: Option<Login>,
    /// All of them, the first one first. A thread with more than one answer tells is left out.
    pub comments: Vec<ClosedComment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedComment {
    pub id: CommentId,
    pub author: Option<Login>,
    pub body: String,
    pub created_at: String,
    pub url: String,
    /// The last editor, if it was edited; `None` inside: a deleted account.
    pub edited: Option<Option<Login>>,
    /// True if GitHub says that the author has write access.
    pub author_may_push: bool,
}

/// The way in which a person decided against a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The reviewer gave it up after their reply.
    Conceded,
    /// They dismissed it by a command.
    Dismissed,
    /// They closed its conversation, and the code was merged as it was.
    Closed,
}

impl Decision {
    /// As the report and `state` name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Conceded => "conceded",
            Self::Dismissed => "dismissed",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conceded => "the reviewer gave it up after a reply by somebody with write access",
            Self::Dismissed => "somebody with write access dismissed it",
            Self::Closed => {
                "somebody with write access closed it, and the code was merged as it was"
            }
        })
    }
}

/// A question that was decided on a closed pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    pub id: DecidedId,
    pub file: String,
    pub line: Option<u32>,
    pub assessment: Assessment,
    pub category: Option<Category>,
    /// Of the code that it is about.
    pub anchor_hash: String,
    pub decision: Decision,
    /// The day on which the pull request was closed, as `2026-01-31`.
    pub since: String,
    pub url: String,
}

/// A decided question about code that stands in a change as it stood then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedHere {
    pub decided: Decided,
    /// The file's name in the change.
    pub file: String,
    /// The place of the code in the change.
    pub anchor: Anchor,
}

impl DecidedHere {
    /// The line of the code in the change.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.anchor.line()
    }
}

/// The questions that people decided, the latest first. Only what the reviewer signed for its pull request counts.
#[must_use]
pub fn decided(
    closed: &ClosedPulls,
    repo: &RepoName,
    keys: &Keys,
    trusted_bots: &[Login],
) -> Vec<Decided> {
    if !keys.can_sign() {
        return Vec::new();
    }
    let ours = [trusted_bots, std::slice::from_ref(&closed.viewer)].concat();
    let writers = writers(closed, &ours);
    let pulls = closed.pulls.iter();
    let fold = |pull| {
        Folding {
            pull,
            ours: &ours,
            writers: &writers,
        }
        .decided(repo, keys)
    };
    pulls.flat_map(fold).collect()
}

/// The people who have write access, as far as the answer shows it: GitHub says it of authors of reviews and comments, and nobody
/// else merges or owns the repository.
fn writers<'a>(closed: &'a ClosedPulls, ours: &[Login]) -> HashSet<&'a Login> {
    let of_pull = |pull: &'a ClosedPull| {
        let comments = pull.threads.iter().flat_map(|thread| &thread.comments);
        let speakers = comments.filter(|comment| comment.author_may_push);
        let speakers = speakers.filter_map(|comment| comment.author.as_ref());
        speakers.chain(&pull.writers).chain(&pull.merged_by)
    };
    let people = closed.pulls.iter().flat_map(of_pull).chain(&closed.owner);
    people
        .filter(|login| !login.is_bot() && !ours.contains(login))
        .collect()
}

/// A closed pull request on its way from comments to decisions.
struct Folding<'a> {
    pull: &'a ClosedPull,
    ours: &'a [Login],
    writers: &'a HashSet<&'a Login>,
}

impl Folding<'_> {
    fn decided(&self, repo: &RepoName, keys: &Keys) -> Vec<Decided> {
        let threads = self.pull.threads.iter();
        let threads: Vec<&ClosedThread> = threads.filter(|one| self.is_untouched(one)).collect();
        let comments = threads.iter().flat_map(|thread| self.comments(thread));
        let comments: Vec<Comment> = comments.collect();
        let conversations = threads.iter().filter_map(|one| self.conversation(one));
        let conversations: Vec<Conversation> = conversations.collect();
        let pr = PrKey {
            repo: repo.clone(),
            number: self.pull.number,
        };
        let rebuilt = rebuild::rebuild(&Sources {
            pr: &pr,
            keys,
            ours: self.ours,
            editor: None,
            author: self.pull.author.as_ref(),
            // Of every finding, as of one that blocks: only what is signed decides it, or a person with write access, and of one
            // that was escalated not the author.
            reviewed_by_people: true,
            blocking: Score::new(1),
            comments: &comments,
            conversations: &conversations,
            reviews: &[],
            renames: &HashMap::new(),
        });
        let threads = rebuilt.threads.into_iter();
        threads.filter_map(|thread| self.question(thread)).collect()
    }

    /// True if the reviewer began the thread, and nobody else has edited what it wrote there.
    fn is_untouched(&self, thread: &ClosedThread) -> bool {
        let is_ours = |login: Option<&Login>| login.is_some_and(|login| self.ours.contains(login));
        let edited =
            |one: &ClosedComment| one.edited.as_ref().is_some_and(|by| !is_ours(by.as_ref()));
        let mut own = thread.comments.iter();
        let mut own = own.by_ref().filter(|one| is_ours(one.author.as_ref()));
        let begun = thread.comments.first();
        begun.is_some_and(|one| is_ours(one.author.as_ref())) && !own.any(edited)
    }

    fn standing(&self, login: &Login) -> Standing {
        if self.writers.contains(login) {
            Standing::Writer
        } else {
            Standing::Other
        }
    }

    fn comments(&self, thread: &ClosedThread) -> Vec<Comment> {
        let root = thread.comments.first().map(|one| one.id);
        let comments = thread.comments.iter().map(|one| Comment {
            id: one.id,
            in_reply_to: root.filter(|root| *root != one.id),
            author: one.author.clone(),
            standing: one
                .author
                .as_ref()
                .map_or(Standing::Other, |login| self.standing(login)),
            body: one.body.clone(),
            path: thread.path.clone(),
            line: thread.line,
            original_line: None,
            original_start: None,
            side: Side::Right,
            created_at: one.created_at.clone(),
            url: one.url.clone(),
        });
        comments.collect()
    }

    fn conversation(&self, thread: &ClosedThread) -> Option<Conversation> {
        let closer = thread.resolved_by.as_ref();
        let closer = closer.filter(|login| self.ours.iter().all(|own| !own.may_be_called(login)));
        Some(Conversation {
            root: thread.comments.first()?.id,
            node_id: String::new(),
            is_resolved: thread.is_resolved,
            is_outdated: thread.is_outdated,
            resolved_by: closer.map(|login| (login.clone(), self.standing(login))),
            viewer_can_resolve: false,
            viewer_can_unresolve: false,
            edited: Vec::new(),
        })
    }

    fn question(&self, thread: Thread) -> Option<Decided> {
        if thread.trust != Trust::Signed || thread.status != Status::Resolved {
            return None;
        }
        Some(Decided {
            decision: self.decision(&thread)?,
            id: DecidedId {
                pull: self.pull.number,
                root: thread.id,
            },
            anchor_hash: thread.anchor_hash?,
            file: thread.file,
            line: thread.line,
            assessment: thread.assessment,
            category: thread.category,
            since: self.pull.closed_at.chars().take(10).collect(),
            url: thread.url,
        })
    }

    /// The decision of a person with write access; `None` where it was somebody else's, or where nobody knows.
    fn decision(&self, thread: &Thread) -> Option<Decision> {
        match thread.decider.as_ref()? {
            // Where the code has changed since, closing may say that it is fixed; where it was not merged, that nobody wants it.
            Decider::Closed(login) => {
                let stays = self.pull.is_merged && !thread.outdated;
                let decides = stays && self.writers.contains(login);
                decides.then_some(Decision::Closed)
            }
            Decider::Dismissed(login) => {
                let decides = self.writers.contains(login);
                decides.then_some(Decision::Dismissed)
            }
            Decider::Reply(id) => {
                let reply = thread.replies.iter().find(|reply| reply.id == *id)?;
                let decides = reply.standing == Standing::Writer;
                decides.then_some(Decision::Conceded)
            }
        }
    }
}

/// The decided questions about code that stands unchanged in the diffs: a decision says nothing about other code.
#[must_use]
pub fn relevant(decided: &[Decided], diffs: &[FileDiff]) -> Vec<DecidedHere> {
    let mut here = Vec::new();
    for diff in diffs {
        let is_of_file = |one: &&Decided| {
            one.file == diff.path || Some(&one.file) == diff.previous_path.as_ref()
        };
        let of_file: Vec<(usize, &Decided)> = decided
            .iter()
            .enumerate()
            .filter(|(_, one)| is_of_file(one))
            .collect();
        let hashes = of_file.iter().map(|(_, one)| one.anchor_hash.as_str());
        let places = diff.places_of(&hashes.collect());
        here.extend(of_file.into_iter().filter_map(|(order, one)| {
            let anchor = *places.get(&one.anchor_hash)?;
            let file = diff.path.clone();
            let decided = one.clone();
            Some((
                order,
                DecidedHere {
                    decided,
                    file,
                    anchor,
                },
            ))
        }));
    }
    here.sort_by_key(|(order, _)| *order);
    here.truncate(MOST);
    here.into_iter().map(|(_, one)| one).collect()
}
