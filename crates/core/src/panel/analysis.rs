//! The comments analyzer: each open conversation of people as a finding with a priority. The model gives the priority; where it
//! gave none, the conversation counts as critical. The findings count in the consensus and are never posted.

use super::consensus::Priority;
use super::open_conversations::{OpenConversation, PeopleConversations};
use crate::domain::CommentId;
use crate::state::record::{Record, WeighedConversation};

/// The priority of a conversation that the model did not weigh.
const UNWEIGHED: Priority = Priority::P1;

/// The number of conversations that the model weighs in one run, the latest first.
const MOST: usize = 20;
/// The size of their words, in bytes, at which no further one is added.
const ROOM: usize = 60_000;

/// The model's word on a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    pub root: CommentId,
    pub priority: Priority,
    /// The request of the people, in one sentence.
    pub title: String,
    pub description: String,
    /// Empty where there is none.
    pub suggestion: String,
}

/// An open conversation as a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingIssue {
    pub conversation: OpenConversation,
    pub priority: Priority,
    /// `None` where an earlier run weighed it, or none did.
    pub weighed: Option<Weighed>,
    /// True if a model gave the priority, now or in an earlier run.
    pub is_known: bool,
}

/// The conversations of people on a pull request, weighed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Analysis {
    pub resolved: usize,
    /// Open conversations in which nobody takes part who may spend. They count for nothing.
    pub uncounted: usize,
    pub issues: Vec<PendingIssue>,
}

/// Returns the conversations that the model is asked about: those that count, and that no record knows as they are now.
#[must_use]
pub fn to_weigh(
    people: &PeopleConversations,
    from_fork: bool,
    records: &[Record],
) -> Vec<OpenConversation> {
    let open = people.open.iter().rev();
    let unknown = open.filter(|one| one.counts(from_fork) && remembered(one, records).is_none());
    let mut taken = 0;
    let fitting = unknown.take_while(|one| {
        let before = taken;
        taken += one
            .words
            .iter()
            .map(|words| words.body.len())
            .sum::<usize>();
        before < ROOM
    });
    fitting.take(MOST).cloned().collect()
}

impl Analysis {
    /// Joins the open conversations with what the model said about them in this run, and what records know.
    #[must_use]
    pub fn new(
        people: &PeopleConversations,
        from_fork: bool,
        weighed: &[Weighed],
        records: &[Record],
    ) -> Self {
        let (counting, uncounted): (Vec<_>, Vec<_>) = people
            .open
            .iter()
            .cloned()
            .partition(|one| one.counts(from_fork));
        let issues = counting.into_iter().map(|conversation| {
            let weighed = weighed.iter().find(|one| one.root == conversation.root);
            let given = weighed.map(|one| one.priority);
            let given = given.or_else(|| remembered(&conversation, records));
            PendingIssue {
                weighed: weighed.cloned(),
                priority: given.unwrap_or(UNWEIGHED),
                is_known: given.is_some(),
                conversation,
            }
        });
        Self {
            resolved: people.resolved,
            uncounted: uncounted.len(),
            issues: issues.collect(),
        }
    }

    /// Their priorities, which count in the consensus.
    pub fn priorities(&self) -> impl Iterator<Item = Priority> {
        self.issues.iter().map(|issue| issue.priority)
    }

    /// A conversation that counts now and did not when this was made, or in which something was said since.
    #[must_use]
    pub fn new_in<'a>(
        &self,
        now: &'a PeopleConversations,
        from_fork: bool,
    ) -> Option<&'a OpenConversation> {
        let is_known = |one: &OpenConversation| {
            let mut issues = self.issues.iter().map(|issue| &issue.conversation);
            issues.any(|known| known.root == one.root && known.words == one.words)
        };
        let mut counting = now.open.iter().filter(|one| one.counts(from_fork));
        counting.find(|one| !is_known(one))
    }

    /// The number of conversations that no model has weighed.
    #[must_use]
    pub fn unweighed(&self) -> usize {
        self.issues.iter().filter(|issue| !issue.is_known).count()
    }

    /// The priorities for the next run. Those that no model gave are left out: the next run asks again.
    #[must_use]
    pub fn remembered(&self) -> Vec<WeighedConversation> {
        let known = self.issues.iter().filter(|issue| issue.is_known);
        known
            .map(|issue| WeighedConversation {
                root: issue.conversation.root.0,
                words: issue.conversation.digest(),
                priority: issue.priority.name().to_owned(),
            })
            .collect()
    }
}

/// The priority that a record has of a conversation, if nothing was said in it since.
fn remembered(conversation: &OpenConversation, records: &[Record]) -> Option<Priority> {
    let words = conversation.digest();
    let mut known = records.iter().flat_map(|record| &record.conversations);
    let known = known.find(|one| one.root == conversation.root.0 && one.words == words)?;
    known.priority.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Person;
    use crate::domain::Login;
    use crate::panel::open_conversations::Words;

    /// A conversation that somebody with write access began, or a stranger.
    fn conversation(root: u64, writes: bool, body: &str) -> OpenConversation {
        OpenConversation {
            root: CommentId(root),
            file: "src/page.ts".into(),
            line: Some(8),
            outdated: false,
            url: String::new(),
            words: vec![Words {
                author: Login::new("ann"),
                person: Person::default().with_access(writes),
                body: body.into(),
                created_at: String::new(),
            }],
        }
    }

    fn people(open: Vec<OpenConversation>) -> PeopleConversations {
        PeopleConversations { open, resolved: 2 }
    }

    fn weighed(root: u64, priority: Priority) -> Weighed {
        Weighed {
            root: CommentId(root),
            priority,
            title: "The last page is lost".into(),
            description: String::new(),
            suggestion: String::new(),
        }
    }

    fn record(conversations: Vec<WeighedConversation>) -> Record {
        Record {
            conversations,
            ..Record::default()
        }
    }

    #[test]
    fn the_model_gives_the_priority_and_what_it_leaves_out_is_critical() {
        let open = vec![
            conversation(1, true, "This loses a page."),
            conversation(2, true, "Rename it?"),
            conversation(3, false, "I want a pony."),
        ];
        let analysis = Analysis::new(&people(open), false, &[weighed(2, Priority::P3)], &[]);
        let priorities: Vec<Priority> = analysis.priorities().collect();
        assert_eq!(priorities, [Priority::P1, Priority::P3]);
        assert_eq!((analysis.resolved, analysis.uncounted), (2, 1));
        assert_eq!(analysis.unweighed(), 1);
    }

    #[test]
    fn the_same_words_are_weighed_once() {
        let open = people(vec![conversation(1, true, "Rename it?")]);
        let first = Analysis::new(&open, false, &[weighed(1, Priority::P3)], &[]);
        let records = [record(first.remembered())];
        assert_eq!(to_weigh(&open, false, &records), []);
        let later = Analysis::new(&open, false, &[], &records);
        assert_eq!(later.priorities().collect::<Vec<_>>(), [Priority::P3]);
        assert_eq!(later.remembered(), first.remembered());

        let changed = people(vec![conversation(1, true, "It leaks a key.")]);
        assert_eq!(to_weigh(&changed, false, &records).len(), 1);
        let unheard = Analysis::new(&changed, false, &[], &records);
        assert_eq!(unheard.priorities().collect::<Vec<_>>(), [Priority::P1]);
        assert_eq!(unheard.remembered(), [], "the next run asks again");
    }

    #[test]
    fn what_is_said_while_the_model_works_is_noticed() {
        let known = conversation(1, true, "Rename it?");
        let analysis = Analysis::new(&people(vec![known.clone()]), false, &[], &[]);
        let new_in = |open| analysis.new_in(&people(open), false).map(|one| one.root.0);
        let stranger = conversation(3, false, "I want a pony.");
        assert_eq!(new_in(vec![known.clone(), stranger]), None);
        assert_eq!(new_in(vec![]), None, "somebody has resolved it");
        let another = conversation(2, true, "This loses a page.");
        assert_eq!(new_in(vec![known, another]), Some(2));
        let edited = conversation(1, true, "Rename it, please.");
        assert_eq!(new_in(vec![edited]), Some(1));
    }

    #[test]
    fn a_priority_that_no_version_wrote_is_none() {
        let open = people(vec![conversation(1, true, "Rename it?")]);
        let forged = WeighedConversation {
            root: 1,
            words: open.open[0].digest(),
            priority: "P9".into(),
        };
        assert_eq!(to_weigh(&open, false, &[record(vec![forged])]).len(), 1);
    }

    #[test]
    fn one_run_asks_about_the_latest_and_strangers_cost_nothing() {
        let mut open: Vec<OpenConversation> = (1..=30)
            .map(|root| conversation(root, true, "Why?"))
            .collect();
        open.push(conversation(31, false, "I want a pony."));
        let open = people(open);
        let asked: Vec<u64> = to_weigh(&open, false, &[])
            .iter()
            .map(|one| one.root.0)
            .collect();
        assert_eq!(asked, (11..=30).rev().collect::<Vec<_>>());
        let analysis = Analysis::new(&open, false, &[], &[]);
        assert_eq!(analysis.unweighed(), 30, "those beyond count all the same");
        let long = "word ".repeat(10_000);
        let open = people(
            (1..=3)
                .map(|root| conversation(root, true, &long))
                .collect(),
        );
        assert_eq!(to_weigh(&open, false, &[]).len(), 2);
    }
}
