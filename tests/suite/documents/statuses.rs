//! The table of statuses, held against the code: everything that we and others can do to a thread is done, at the desk
//! and on GitHub's side, until nothing new comes of it; the table must tell exactly what was seen.

use super::{quoted, rows, section, text};
use reviewer_core::domain::{
    Assessment, CommentId, CommitSha, FileDiff, Finding, Login, PassNumber, PrKey, Reply, Score,
    Side, Standing, Status, Thread, ThreadId,
};
use reviewer_core::publish::comment::Voice;
use reviewer_core::review::desk::{Claim, Desk, Draft, Effect, StagedReply, Subject, Word};
use reviewer_core::review::ledger::Stage;
use reviewer_core::review::policy::Weights;
use reviewer_core::state::block::{self, Conversation as Closing, Kind};
use reviewer_core::state::rebuild::{Comment, Conversation, Sources, rebuild};
use reviewer_core::state::signature::Keys;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

const BOT: &str = "github-actions[bot]";
const ROOT: CommentId = CommentId(100);
/// Our replies that leave a thread as it is.
const UNDECISIVE: [Kind; 2] = [Kind::Answer, Kind::Concede];

/// A finding of ours on a pull request, and all that was said below it.
#[derive(Clone)]
struct Discussion {
    comments: Vec<Comment>,
    conversation: Conversation,
    heads: u8,
    /// Who decides where we and the developer do not agree.
    people: Vec<String>,
    score: u64,
}

/// The comment of a finding, as the reviewer posts it.
pub(super) fn posted(finding: &Finding) -> String {
    Discussion::opened(false, &[], 7).speak(|voice| voice.finding(finding))
}

pub(super) fn pr() -> PrKey {
    PrKey {
        repo: "octo/shop".parse().expect("a repository"),
        number: 1,
    }
}

pub(super) fn keys() -> Keys {
    Keys::derive(&["the key of this test".into()], None, "octo/shop")
}

fn commit(number: u8) -> CommitSha {
    format!("{number:040x}").parse().expect("a commit")
}

fn draft(score: u64) -> Draft {
    Draft {
        file: "src/a.rs".into(),
        line: Some(11),
        body: "The counter overflows on the last page.".into(),
        assessment: Assessment {
            finding: "The page counter overflows on the last page.".into(),
            assessment: "Level 7.".into(),
            score: Score::new(score).expect("a score"),
        },
        category: None,
        quote: None,
        distinct_from: None,
        combines: Vec::new(),
    }
}

impl Discussion {
    fn opened(may_close: bool, people: &[&str], score: u64) -> Self {
        let mut discussion = Self {
            comments: Vec::new(),
            conversation: Conversation {
                root: ROOT,
                node_id: "PRRT_1".into(),
                is_resolved: false,
                is_outdated: false,
                resolved_by: None,
                viewer_can_resolve: may_close,
                viewer_can_unresolve: false,
                edited: Vec::new(),
            },
            heads: 1,
            people: people.iter().map(ToString::to_string).collect(),
            score,
        };
        let mut desk = discussion.desk();
        desk.ledger.begin(PassNumber::FIRST);
        desk.post(draft(score)).expect("a finding");
        let finding = desk.entries()[0].finding.clone();
        let body = discussion.speak(|voice| voice.finding(&finding));
        discussion.say(BOT, Standing::Other, body);
        discussion
    }

    fn speak(&self, speak: impl FnOnce(&Voice<'_>) -> String) -> String {
        speak(&Voice {
            rounds: false,
            pr: &pr(),
            keys: &keys(),
            head: &commit(self.heads),
            run: "4711.1",
            fork: false,
            mention: "@bot",
            blocking: None,
            page: "",
        })
    }

    fn say(&mut self, who: &str, standing: Standing, body: String) {
        let id = CommentId(ROOT.0 + self.comments.len() as u64);
        self.comments.push(Comment {
            id,
            in_reply_to: (id != ROOT).then_some(ROOT),
            author: Some(Login::new(who)),
            standing,
            body,
            path: "src/a.rs".into(),
            line: Some(11),
            original_line: Some(11),
            original_start: None,
            side: Side::Right,
            created_at: "2026-01-01T00:00:00Z".into(),
            url: String::new(),
        });
    }

    fn threads(&self) -> Vec<Thread> {
        let rebuilt = rebuild(&Sources {
            pr: &pr(),
            keys: &keys(),
            ours: &[Login::new(BOT)],
            editor: None,
            author: Some(&Login::new("dev")),
            reviewed_by_people: !self.people.is_empty(),
            blocking: Score::new(9),
            comments: &self.comments,
            conversations: std::slice::from_ref(&self.conversation),
            reviews: &[],
            renames: &HashMap::new(),
        });
        assert_eq!(rebuilt.warnings, Vec::<String>::new());
        rebuilt.threads
    }

    fn thread(&self) -> Thread {
        self.threads().remove(0)
    }

    fn desk(&self) -> Desk {
        let hunk = "@@ -10,3 +10,4 @@ fn page()\n let a = 1;\n-let old = 2;\n+let b = 2;\n+let c = 3;\n let d = 4;\n";
        let diff = FileDiff {
            path: "src/a.rs".into(),
            hunks: FileDiff::parse_hunks(hunk).expect("a diff"),
            ..FileDiff::default()
        };
        // Since each earlier head, the line of the finding has changed.
        let mended = FileDiff {
            hunks: FileDiff::parse_hunks("@@ -11 +11 @@\n-let b = 2;\n+let b = capped(2);\n")
                .expect("a diff"),
            ..diff.clone()
        };
        let earlier = (1..self.heads).map(|head| (commit(head), vec![mended.clone()]));
        let subject = Subject {
            head: commit(self.heads),
            base: commit(0),
            diffs: vec![diff],
            threads: self.threads(),
            root: String::new(),
            shown_paths: HashMap::new(),
            changed_since: earlier.collect(),
            removed_lines: HashMap::new(),
            others: Vec::new(),
            decided: Vec::new(),
            human_reviewers: self.people.clone(),
        };
        let weights = Weights {
            threshold: Score::new(5).expect("a score"),
            elevation: 5,
            blocking: Score::new(9),
            sensitive: None,
        };
        Desk::new(subject, weights, "reviewer-1", "run".into())
    }

    /// What the model does at the desk, published. A refusal changes nothing.
    fn judged(&mut self, act: impl FnOnce(&mut Desk)) {
        let mut desk = self.desk();
        act(&mut desk);
        if let Some(reply) = desk.replies().first() {
            self.publish(reply);
        }
    }

    fn publish(&mut self, reply: &StagedReply) {
        let mut closing = Closing::LeftOpen;
        if reply.effect.closes() && self.conversation.viewer_can_resolve {
            self.conversation.is_resolved = true;
            closing = Closing::Resolved;
        }
        if reply.effect == Effect::Reopen && self.conversation.viewer_can_resolve {
            self.conversation.is_resolved = false;
        }
        let body = self.speak(|voice| voice.reply(reply, closing));
        self.say(BOT, Standing::Other, body);
    }

    /// A push, the model says that it fixes the finding, and the check answers so, or not at all.
    fn mended(&mut self, confirmed: Option<bool>) {
        self.heads += 1;
        self.judged(|desk| {
            desk.ledger.begin_turn_zero();
            let claim = Claim {
                file: "src/a.rs".into(),
                commit: None,
                quote: None,
            };
            let root = ThreadId::Published(ROOT);
            let _refusal = desk.resolve(root, "It is capped now.", Some(claim));
            desk.begin_fix_check();
            if let Some(confirmed) = confirmed {
                let _refusal = desk.check_fix(root, confirmed, "It is capped.");
            }
        });
    }

    /// A person who may dismisses the finding.
    fn dismissed(&mut self) {
        let thread = self.thread();
        if thread.status == Status::Resolved {
            return;
        }
        self.say("lead", Standing::Other, "@bot dismiss".into());
        self.publish(&StagedReply {
            thread,
            effect: Effect::Dismissed {
                by: Login::new("lead"),
                comment: ROOT,
            },
            body: String::new(),
            stage: Stage::TurnZero,
        });
    }

    fn replied(&mut self, word: Word) {
        self.judged(|desk| {
            desk.ledger.begin_turn_zero();
            let _refusal = desk.reply(ThreadId::Published(ROOT), "It is so.", word);
        });
    }

    /// What decides about everything that can still happen.
    fn key(&self, thread: &Thread) -> String {
        let blocks = self.comments.iter().rev();
        let mut ours = blocks.filter_map(|comment| block::parse(&comment.body).hidden);
        let decision = ours.find(|hidden| !UNDECISIVE.contains(&hidden.kind));
        let decision = decision.map(|h| (h.kind, h.conversation, h.fixed.is_some(), h.dismissed));
        let counted = |reply: &Reply| reply.standing != Standing::Other;
        let closed = (
            self.conversation.is_resolved,
            &self.conversation.resolved_by,
        );
        let heard = thread.replies.iter().any(counted);
        let mut waiting = thread.unanswered().iter();
        let waits = waiting.any(|reply| reply.standing == Standing::Writer);
        format!(
            "{:?}",
            (
                thread.status,
                thread.awaiting,
                decision,
                closed,
                heard,
                waits
            )
        )
    }
}

type Move = fn(&mut Discussion);

/// What anybody can do.
const MOVES: &[Move] = &[
    |d| d.say("dev", Standing::Author, "It cannot happen.".into()),
    |d| d.say("lead", Standing::Writer, "Leave it.".into()),
    |d| d.say("passerby", Standing::Other, "I like it.".into()),
    |d| d.replied(Word::Argument),
    |d| d.replied(Word::Answer),
    |d| d.replied(Word::Concession),
    |d| d.say("dev", Standing::Writer, "It cannot happen.".into()),
    |d| d.mended(Some(true)),
    |d| d.mended(Some(false)),
    |d| d.mended(None),
    Discussion::dismissed,
    // A review finds the same at the same code.
    |d| {
        let score = d.score;
        d.judged(|desk| {
            desk.ledger.begin(PassNumber::FIRST);
            let _refusal = desk.post(draft(score));
        });
    },
    // A person closes the conversation.
    |d| {
        d.conversation.is_resolved = true;
        d.conversation.resolved_by = Some((Login::new("lead"), Standing::Writer));
    },
    // The author closes it, and may write.
    |d| {
        d.conversation.is_resolved = true;
        d.conversation.resolved_by = Some((Login::new("dev"), Standing::Writer));
    },
    // A person reopens it.
    |d| {
        d.conversation.is_resolved = false;
        d.conversation.resolved_by = None;
    },
];

/// All that was seen.
#[derive(Default)]
struct Seen {
    /// Where each status can go.
    leaves: BTreeMap<String, BTreeSet<String>>,
    /// Whom it can wait for.
    awaiting: BTreeMap<String, BTreeSet<String>>,
    /// Which status follows each kind of our replies.
    kinds: BTreeMap<String, BTreeSet<String>>,
}

impl Seen {
    fn explore(&mut self, start: Discussion) {
        let thread = start.thread();
        let mut known = BTreeSet::from([start.key(&thread)]);
        // The shortest stories first: a long one costs more to tell, and leads nowhere else.
        let mut open = VecDeque::from([(start, thread)]);
        while let Some((before, was)) = open.pop_front() {
            let awaiting = self.awaiting.entry(was.status.to_string()).or_default();
            awaiting.insert(was.awaiting.to_string());
            for happen in MOVES {
                let mut after = before.clone();
                happen(&mut after);
                let is = after.thread();
                let said = &after.comments[before.comments.len()..];
                self.note(was.status, is.status, said);
                if known.insert(after.key(&is)) {
                    open.push_back((after, is));
                }
            }
        }
    }

    fn note(&mut self, from: Status, to: Status, said: &[Comment]) {
        for hidden in said.iter().filter_map(|c| block::parse(&c.body).hidden) {
            if UNDECISIVE.contains(&hidden.kind) {
                assert_eq!(from, to, "{:?} decides nothing", hidden.kind);
                continue;
            }
            let kind = serde_json::to_value(hidden.kind).expect("a name");
            let kind = kind.as_str().expect("a name").to_owned();
            self.kinds.entry(kind).or_default().insert(to.to_string());
        }
        let leaves = self.leaves.entry(from.to_string()).or_default();
        if from != to {
            leaves.insert(to.to_string());
        }
    }
}

fn set<'a>(words: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_table_of_statuses_tells_what_threads_do() {
    let mut seen = Seen::default();
    for people in [&[][..], &["lead"]] {
        for may_close in [false, true] {
            for score in [7, 9] {
                let start = Discussion::opened(may_close, people, score);
                assert_eq!(start.thread().status, Status::Pending);
                seen.explore(start);
            }
        }
    }
    let protocol = text("docs/protocol.md");
    let table = rows(section(&protocol, "Threads"));
    let named = set(table.iter().map(|row| row[0]));
    assert_eq!(named, seen.leaves.keys().cloned().collect());
    assert!(table[0][1].starts_with("nothing yet"), "{:?}", table[0]);
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &table {
        let [status, when, awaiting, leaves] = row[..] else {
            panic!("four columns: {row:?}");
        };
        for kind in quoted(when) {
            let statuses = kinds.entry(kind.to_owned()).or_default();
            statuses.insert(status.to_owned());
        }
        assert_eq!(set(quoted(awaiting)), seen.awaiting[status], "{row:?}");
        let words = leaves.split(|c: char| !c.is_alphabetic());
        let told = set(words.filter(|word| named.contains(*word)));
        assert_eq!(told, seen.leaves[status], "{row:?}");
    }
    assert_eq!(kinds, seen.kinds);
}
