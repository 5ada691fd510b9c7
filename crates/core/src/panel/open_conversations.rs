//! The unresolved conversations of people on lines of the change, with their words and places: the material of the comments
//! analyzer. Conversations that the reviewer, a bot or an agent began are none.

use super::review_state::{Machines, is_marked};
use crate::authority::{Action, Person, judge};
use crate::domain::{CommentId, Login};
use crate::state::rebuild::{Comment, Conversation};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};

/// An unresolved conversation that a person began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenConversation {
    /// The first comment.
    pub root: CommentId,
    pub file: String,
    /// `None` where it is about the file as a whole.
    pub line: Option<u32>,
    /// True if the line is no longer part of the change.
    pub outdated: bool,
    pub url: String,
    /// The words of people, oldest first.
    pub words: Vec<Words>,
}

impl OpenConversation {
    /// True if the model may be asked about it: somebody who may spend takes part in it. The words of anybody else neither
    /// cost anything nor keep a change from being approved.
    #[must_use]
    pub fn counts(&self, from_fork: bool) -> bool {
        let may = |words: &Words| judge(words.person, Action::Spend { from_fork }).is_ok();
        self.words.iter().any(may)
    }

    /// A hash of what was said, by which a later run knows that nothing was added or edited.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for words in &self.words {
            for text in [words.author.as_str(), &words.body] {
                hash.update(text.len().to_le_bytes());
                hash.update(text);
            }
        }
        data_encoding::HEXLOWER.encode(&hash.finalize()[..8])
    }
}

/// A comment of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub author: Login,
    pub person: Person,
    pub body: String,
    pub created_at: String,
}

/// The conversations of people, and how many of them are resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeopleConversations {
    pub open: Vec<OpenConversation>,
    pub resolved: usize,
}

impl PeopleConversations {
    /// Reads the review comments and what GitHub says about their conversations. A conversation that GitHub says nothing about
    /// counts as open.
    #[must_use]
    pub fn read(
        comments: &[Comment],
        conversations: &[Conversation],
        speakers: &Speakers<'_>,
    ) -> Self {
        let mut threads: BTreeMap<CommentId, Vec<&Comment>> = BTreeMap::new();
        for comment in comments {
            let root = comment.in_reply_to.unwrap_or(comment.id);
            threads.entry(root).or_default().push(comment);
        }
        let mut read = Self::default();
        for (root, mut thread) in threads {
            thread.sort_by_key(|comment| comment.id);
            let Some(first) = beginning(root, &thread, speakers) else {
                continue;
            };
            let is_it = |one: &&Conversation| {
                one.root == root || thread.iter().any(|comment| comment.id == one.root)
            };
            let conversation = conversations.iter().find(is_it);
            if conversation.is_some_and(|one| one.is_resolved) {
                read.resolved += 1;
                continue;
            }
            read.open.push(OpenConversation {
                root: first.id,
                file: first.path.clone(),
                line: first.line.or(first.original_line),
                outdated: conversation.is_some_and(|one| one.is_outdated),
                url: first.url.clone(),
                words: thread
                    .iter()
                    .filter_map(|comment| speakers.words(comment))
                    .collect(),
            });
        }
        read
    }
}

/// The comment that stands for a conversation of people: the first one. Where it was deleted, or its account was, nobody knows
/// who began the conversation, and the first comment of a person stands for it: whoever began it cannot take the words of
/// others out of the consensus. A conversation with a word of the reviewer was the reviewer's.
fn beginning<'c>(
    root: CommentId,
    thread: &[&'c Comment],
    speakers: &Speakers<'_>,
) -> Option<&'c Comment> {
    let by_person = |comment: &&Comment| speakers.words(comment).is_some();
    let mut all = thread.iter().copied();
    match all.clone().find(|comment| comment.id == root) {
        Some(first) if first.author.is_some() => Some(first).filter(by_person),
        Some(first) if is_marked(&first.body) => None,
        _ if all.any(|one| one.author.as_ref() == Some(speakers.machines.own)) => None,
        _ => thread.iter().copied().find(by_person),
    }
}

/// Those who take part in conversations.
#[derive(Debug, Clone, Copy)]
pub struct Speakers<'a> {
    pub machines: Machines<'a>,
    /// The author of the pull request.
    pub author: Option<&'a Login>,
    /// The comments with the weight of somebody with write access. Their standing does not tell: an order to the reviewer
    /// says nothing about the reviewer's findings, and the words beside it still ask for something.
    pub of_writers: &'a HashSet<CommentId>,
}

impl Speakers<'_> {
    /// The comment's words, if a person wrote it.
    fn words(&self, comment: &Comment) -> Option<Words> {
        let author = comment.author.as_ref()?;
        let by_person = self.machines.wrote_none_of(author, &comment.body);
        by_person.then(|| Words {
            person: Person::new(author, self.author)
                .with_access(self.of_writers.contains(&comment.id)),
            author: author.clone(),
            body: comment.body.clone(),
            created_at: comment.created_at.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Side, Standing};

    fn comment(id: u64, root: Option<u64>, author: &str, body: &str) -> Comment {
        Comment {
            id: CommentId(id),
            in_reply_to: root.map(CommentId),
            author: Some(Login::new(author)),
            standing: Standing::Other,
            body: body.into(),
            path: "src/page.ts".into(),
            line: None,
            original_line: Some(8),
            original_start: None,
            side: Side::Right,
            created_at: "2026-01-01T00:00:00Z".into(),
            url: format!("https://github.test/r{id}"),
        }
    }

    fn conversation(root: u64, is_resolved: bool) -> Conversation {
        Conversation {
            root: CommentId(root),
            node_id: String::new(),
            is_resolved,
            is_outdated: true,
            resolved_by: None,
            viewer_can_resolve: false,
            viewer_can_unresolve: false,
            edited: vec![],
        }
    }

    fn read(comments: &[Comment], conversations: &[Conversation]) -> PeopleConversations {
        let own = Login::new("reviewer[bot]");
        let agents = [Login::new("agent")];
        let machines = Machines {
            own: &own,
            agents: &agents,
        };
        let of_writers = comments.iter();
        let of_writers = of_writers.filter(|comment| comment.standing == Standing::Writer);
        let of_writers = of_writers.map(|comment| comment.id).collect();
        let speakers = Speakers {
            machines,
            author: Some(&Login::new("dev")),
            of_writers: &of_writers,
        };
        PeopleConversations::read(comments, conversations, &speakers)
    }

    #[test]
    fn a_person_s_conversation_is_open_with_the_words_of_people_and_its_place() {
        let comments = [
            comment(3, Some(1), "agent", "Done."),
            comment(2, Some(1), "dev", "Is it?"),
            comment(1, None, "ann", "This loses a page."),
            comment(4, Some(1), "ann", "Yes."),
        ];
        let read = read(&comments, &[conversation(1, false)]);
        let [open] = read.open.as_slice() else {
            panic!("{read:?}")
        };
        assert_eq!(
            (open.file.as_str(), open.line, open.outdated),
            ("src/page.ts", Some(8), true)
        );
        assert_eq!(open.url, "https://github.test/r1");
        let words: Vec<(&str, &str)> = open
            .words
            .iter()
            .map(|one| (one.author.as_str(), one.body.as_str()))
            .collect();
        assert_eq!(
            words,
            [
                ("ann", "This loses a page."),
                ("dev", "Is it?"),
                ("ann", "Yes.")
            ]
        );
    }

    #[test]
    fn resolved_ones_are_counted_and_those_of_machines_are_none() {
        let block = "A finding.\n\n<!-- rmcoc:1 {\"kind\":\"finding\"} -->";
        let comments = [
            comment(1, None, "ann", "Settled."),
            comment(2, None, "reviewer[bot]", "Mine."),
            comment(3, None, "linter[bot]", "Semicolon."),
            comment(4, None, "agent", "Look here."),
            comment(5, None, "ann", block),
            comment(6, None, "ann", "<!-- pr-review-loop-marker -->\nReport."),
            comment(8, Some(7), "reviewer[bot]", "The first comment is gone."),
            comment(9, Some(7), "ann", "It was the reviewer's."),
        ];
        let read = read(&comments, &[conversation(1, true)]);
        assert_eq!((read.open.as_slice(), read.resolved), (&[][..], 1));
    }

    #[test]
    fn whoever_began_a_conversation_cannot_take_it_away_from_those_who_replied() {
        let reply = comment(2, Some(1), "ann", "This leaks a key.");
        let nobody = Comment {
            author: None,
            ..comment(1, None, "dev", "I am not sure here.")
        };
        for comments in [vec![reply.clone()], vec![nobody.clone(), reply.clone()]] {
            let roots = |read: PeopleConversations| -> Vec<u64> {
                read.open.iter().map(|one| one.root.0).collect()
            };
            assert_eq!(roots(read(&comments, &[])), [2]);
            // GitHub names the first comment that is left.
            for root in [1, 2] {
                let resolved = read(&comments, &[conversation(root, true)]);
                assert_eq!((resolved.resolved, roots(resolved)), (1, vec![]));
            }
        }
        let marked = Comment {
            body: "<!-- pr-review-loop-marker -->\nReport.".into(),
            ..nobody
        };
        assert_eq!(read(&[marked, reply], &[]).open, []);
    }

    #[test]
    fn a_conversation_that_github_is_silent_about_is_open() {
        assert_eq!(read(&[comment(1, None, "ann", "Why?")], &[]).open.len(), 1);
    }

    #[test]
    fn a_conversation_counts_by_the_rights_of_those_in_it() {
        let writes = |one: Comment| Comment {
            standing: Standing::Writer,
            ..one
        };
        let comments = [
            writes(comment(1, None, "ann", "This loses a page.")),
            comment(2, None, "stranger", "I want a pony."),
            comment(3, None, "dev", "I am not sure here."),
            comment(4, None, "stranger", "This leaks a key."),
            writes(comment(5, Some(4), "ann", "Right, please fix it.")),
        ];
        let counts = |from_fork| {
            let open = read(&comments, &[]).open;
            let counting = open.into_iter().filter(|one| one.counts(from_fork));
            counting.map(|one| one.root.0).collect::<Vec<_>>()
        };
        assert_eq!(counts(false), [1, 3, 4]);
        assert_eq!(counts(true), [1, 4], "the author of a fork may not spend");
    }

    #[test]
    fn another_word_gives_another_digest() {
        let digest = |comments: &[Comment]| read(comments, &[]).open[0].digest();
        let first = comment(1, None, "ann", "This loses a page.");
        let before = digest(std::slice::from_ref(&first));
        assert_eq!(before, digest(std::slice::from_ref(&first)));
        let reply = comment(2, Some(1), "dev", "Fixed.");
        assert_ne!(before, digest(&[first.clone(), reply]));
        let edited = comment(1, None, "ann", "This loses two pages.");
        assert_ne!(before, digest(&[edited]));
    }
}
