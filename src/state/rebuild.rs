//! The fold from comments to threads. Total: it answers with threads and warnings, and never with an error,
//! because a comment that cannot be read must not cost the memory of all the others.

use super::block::{self, Block, Conversation as Closing, Hidden, Kind};
use super::signature::{Keys, Signed, Verdict};
use crate::domain::{
    Awaiting, CommentId, Login, PrKey, Reply, Score, Side, Standing, Status, Thread,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// A review comment as GitHub tells it.
#[derive(Debug, Clone)]
pub struct Comment {
    pub id: CommentId,
    pub in_reply_to: Option<CommentId>,
    pub author: Option<Login>,
    pub standing: Standing,
    pub body: String,
    pub path: String,
    pub line: Option<u32>,
    pub original_line: Option<u32>,
    pub side: Side,
    pub created_at: String,
    pub url: String,
}

/// What GraphQL adds to a thread.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub root: CommentId,
    pub node_id: String,
    pub is_resolved: bool,
    pub is_outdated: bool,
    /// Who resolved it, and what their word weighs.
    pub resolved_by: Option<(Login, Standing)>,
    pub viewer_can_resolve: bool,
}

/// Everything the fold looks at.
#[derive(Debug)]
pub struct Sources<'a> {
    pub pr: &'a PrKey,
    pub keys: &'a Keys,
    /// Our own identity, as GitHub names it, and the other names that we have used.
    pub ours: &'a [Login],
    /// At or above this, only a person with write access may close a thread by hand.
    pub blocking: Option<Score>,
    pub comments: &'a [Comment],
    pub conversations: &'a [Conversation],
}

/// The threads of ours on the pull request, in the order of their comments, and what could not be believed.
#[must_use]
pub fn rebuild(sources: &Sources<'_>) -> (Vec<Thread>, Vec<String>) {
    let conversations: HashMap<CommentId, &Conversation> = sources
        .conversations
        .iter()
        .map(|conversation| (conversation.root, conversation))
        .collect();
    let mut groups: BTreeMap<CommentId, Vec<&Comment>> = BTreeMap::new();
    for comment in sources.comments {
        let root = comment.in_reply_to.unwrap_or(comment.id);
        groups.entry(root).or_default().push(comment);
    }
    let mut warnings = Vec::new();
    let threads = groups
        .into_iter()
        .filter_map(|(root, mut group)| {
            group.sort_by_key(|comment| comment.id);
            group.dedup_by_key(|comment| comment.id);
            let conversation = conversations.get(&root).copied();
            thread(sources, root, &group, conversation, &mut warnings)
        })
        .collect();
    (threads, warnings)
}

fn thread(
    sources: &Sources<'_>,
    root: CommentId,
    group: &[&Comment],
    conversation: Option<&Conversation>,
    warnings: &mut Vec<String>,
) -> Option<Thread> {
    let first = group.iter().find(|comment| comment.id == root)?;
    if !sources.is_ours(first.author.as_ref()) {
        return None;
    }
    let parsed = block::parse(&first.body);
    let assessment = parsed.visible.as_ref()?.assessment()?;
    let verdict = sources.verify(&parsed, None);
    if verdict == Verdict::Forged {
        warnings.push(format!(
            "The block of comment {root} does not match its signature."
        ));
    }
    let hidden = parsed.hidden.filter(|_| verdict != Verdict::Forged);
    let gates = sources.blocking.is_some_and(|b| assessment.score >= b);
    let mut discussion = Discussion {
        gates,
        ..Discussion::default()
    };
    for comment in group.iter().filter(|comment| comment.id != root) {
        discussion.add(sources, root, comment, warnings);
    }
    let status = discussion.status(conversation);
    Some(Thread {
        id: root,
        finding_id: hidden.as_ref().and_then(|h| h.id.as_ref()?.parse().ok()),
        file: first.path.clone(),
        line: first.line.or(first.original_line),
        side: first.side,
        outdated: conversation.is_some_and(|c| c.is_outdated),
        status,
        awaiting: discussion.awaiting(status),
        category: hidden
            .as_ref()
            .and_then(|h| h.category.as_ref()?.parse().ok()),
        head: hidden.as_ref().and_then(|h| h.head.as_ref()?.parse().ok()),
        anchor_hash: hidden.as_ref().and_then(|h| h.anchor.clone()),
        signed: verdict == Verdict::Ours,
        seq: discussion.seq,
        replies: discussion.replies,
        node_id: conversation.map(|c| c.node_id.clone()),
        viewer_can_resolve: conversation.is_some_and(|c| c.viewer_can_resolve),
        url: first.url.clone(),
        assessment,
    })
}

impl Sources<'_> {
    fn is_ours(&self, author: Option<&Login>) -> bool {
        author.is_some_and(|author| self.ours.contains(author))
    }

    fn verify(&self, parsed: &Block, root: Option<CommentId>) -> Verdict {
        let Some(hidden) = &parsed.hidden else {
            return Verdict::Unknown;
        };
        let visible = parsed.visible.as_ref().map(serde_json::to_value);
        let visible = visible.and_then(Result::ok).unwrap_or(Value::Null);
        let value = serde_json::to_value(hidden).unwrap_or(Value::Null);
        let content = Signed {
            pr: self.pr,
            root,
            visible: &visible,
            hidden: &value,
        };
        self.keys
            .verify(&content, hidden.kid.as_deref(), hidden.sig.as_deref())
    }
}

/// What was said below a finding.
#[derive(Default)]
struct Discussion {
    /// The finding blocks: only what is signed, or a person with write access, may close it.
    gates: bool,
    /// The latest decisive reply of ours.
    decision: Option<(Kind, Option<Closing>)>,
    seq: u32,
    replies: Vec<Reply>,
    /// Whether somebody else had the last word.
    unanswered: bool,
}

impl Discussion {
    fn add(
        &mut self,
        sources: &Sources<'_>,
        root: CommentId,
        comment: &Comment,
        warnings: &mut Vec<String>,
    ) {
        if !sources.is_ours(comment.author.as_ref()) {
            self.unanswered = true;
            self.replies.push(Reply {
                id: comment.id,
                author: comment.author.clone(),
                standing: comment.standing,
                body: comment.body.clone(),
                created_at: comment.created_at.clone(),
            });
            return;
        }
        let parsed = block::parse(&comment.body);
        match sources.verify(&parsed, Some(root)) {
            Verdict::Forged => {
                warnings.push(format!(
                    "Reply {} in thread {root} does not match its signature.",
                    comment.id
                ));
            }
            Verdict::Ours => self.ours(&comment.body, &parsed),
            Verdict::Unknown if !self.gates => self.ours(&comment.body, &parsed),
            Verdict::Unknown => warnings.push(format!(
                "Reply {} in thread {root} is not signed by us and cannot decide a blocking finding.",
                comment.id
            )),
        }
    }

    fn ours(&mut self, body: &str, parsed: &Block) {
        match &parsed.hidden {
            // A reply of ours that was copied later repeats its number, and is not heard again.
            Some(hidden) if hidden.seq > self.seq => {
                self.seq = hidden.seq;
                self.unanswered = false;
                self.decide(hidden);
            }
            Some(_) => {}
            None => {
                self.unanswered = false;
                self.decision = Some((older_kind(body, parsed), None));
            }
        }
    }

    fn decide(&mut self, hidden: &Hidden) {
        match hidden.kind {
            Kind::Answer | Kind::Finding | Kind::Manifest => {}
            kind => self.decision = Some((kind, hidden.conversation)),
        }
    }

    fn status(&self, conversation: Option<&Conversation>) -> Status {
        let may_close = |standing: Standing| standing == Standing::Writer || !self.gates;
        let closed_by_person = conversation.is_some_and(|c| {
            c.is_resolved && c.resolved_by.as_ref().is_some_and(|(_, s)| may_close(*s))
        });
        if closed_by_person {
            return Status::Resolved;
        }
        match self.decision {
            None | Some((Kind::Reopen, _)) => Status::Pending,
            Some((Kind::Resolve, Some(Closing::Resolved)))
                if conversation.is_some_and(|c| !c.is_resolved) =>
            {
                Status::Pending
            }
            Some((Kind::Resolve, _)) => Status::Resolved,
            Some((Kind::Escalate, _)) => Status::Escalated,
            Some(_) => Status::Disputed,
        }
    }

    fn awaiting(&self, status: Status) -> Awaiting {
        match status {
            Status::Resolved => Awaiting::Nobody,
            _ if self.unanswered => Awaiting::Us,
            Status::Escalated => Awaiting::People,
            Status::Pending | Status::Disputed => Awaiting::Developer,
        }
    }
}

/// What a reply without our hidden keys meant: the older reviewer wrote markers and a `status`.
fn older_kind(body: &str, parsed: &Block) -> Kind {
    let status = parsed.visible.as_ref().and_then(|v| v.status.as_deref());
    match status {
        Some("RESOLVED") => Kind::Resolve,
        Some("ESCALATED") => Kind::Escalate,
        _ if body.contains(RESOLVED_MARKER) => Kind::Resolve,
        _ if body.contains(ESCALATED_MARKER) => Kind::Escalate,
        _ => Kind::Keep,
    }
}

pub const RESOLVED_MARKER: &str = "✅ **Issue Resolved**";
pub const ESCALATED_MARKER: &str = "🔺 **Escalated to Human Review**";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Assessment;

    const BOT: &str = "github-actions[bot]";

    struct World {
        keys: Keys,
        comments: Vec<Comment>,
        conversations: Vec<Conversation>,
    }

    fn pr() -> PrKey {
        PrKey {
            repo: "acme/shop".parse().unwrap(),
            number: 1,
        }
    }

    impl World {
        /// A pull request with one finding of ours, comment 100, of this score.
        fn with_finding(score: u64) -> Self {
            let keys = Keys::derive(&["secret".into()], None, "acme/shop");
            let assessment = Assessment {
                finding: "Off by one.".into(),
                assessment: "The last page is lost.".into(),
                score: Score::new(score).unwrap(),
            };
            let visible = serde_json::to_value(block::Visible::from(&assessment)).unwrap();
            let mut world = Self {
                keys,
                comments: vec![],
                conversations: vec![],
            };
            let hidden = world.signed(Hidden::new(Kind::Finding), None, &visible);
            let body = format!("{}\n{hidden}", block::render_visible(&assessment));
            world.say(100, None, BOT, Standing::Other, &body);
            world
        }

        fn signed(&self, mut hidden: Hidden, root: Option<u64>, visible: &Value) -> String {
            let value = serde_json::to_value(&hidden).unwrap();
            let root = root.map(CommentId);
            let content = Signed {
                pr: &pr(),
                root,
                visible,
                hidden: &value,
            };
            (hidden.kid, hidden.sig) = self.keys.sign(&content).unzip();
            block::render_hidden(&hidden)
        }

        fn say(&mut self, id: u64, to: Option<u64>, who: &str, standing: Standing, body: &str) {
            self.comments.push(Comment {
                id: CommentId(id),
                in_reply_to: to.map(CommentId),
                author: Some(Login::new(who)),
                standing,
                body: body.to_owned(),
                path: "src/page.rs".into(),
                line: Some(7),
                original_line: Some(7),
                side: Side::Right,
                created_at: "2026-01-01T00:00:00Z".into(),
                url: String::new(),
            });
        }

        fn decide(&mut self, id: u64, kind: Kind, seq: u32) {
            let hidden = Hidden {
                seq,
                ..Hidden::new(kind)
            };
            let body = self.signed(hidden, Some(100), &Value::Null);
            self.say(id, Some(100), BOT, Standing::Other, &body);
        }

        fn closed_by(&mut self, who: &str, standing: Standing) {
            self.conversations.push(Conversation {
                root: CommentId(100),
                node_id: "PRRT_1".into(),
                is_resolved: true,
                is_outdated: false,
                resolved_by: Some((Login::new(who), standing)),
                viewer_can_resolve: true,
            });
        }

        fn only_thread(&self) -> (Thread, Vec<String>) {
            let (mut threads, warnings) = rebuild(&Sources {
                pr: &pr(),
                keys: &self.keys,
                ours: &[Login::new(BOT)],
                blocking: Score::new(9),
                comments: &self.comments,
                conversations: &self.conversations,
            });
            assert_eq!(threads.len(), 1);
            (threads.remove(0), warnings)
        }
    }

    #[test]
    fn a_new_finding_is_pending_and_waits_for_the_developer() {
        let (thread, warnings) = World::with_finding(7).only_thread();
        assert_eq!(
            (thread.status, thread.awaiting),
            (Status::Pending, Awaiting::Developer)
        );
        assert!(thread.signed && warnings.is_empty());
    }

    #[test]
    fn an_objection_waits_for_us_and_our_answer_ends_the_wait() {
        let mut world = World::with_finding(7);
        world.say(101, Some(100), "dev", Standing::Author, "It cannot happen.");
        assert_eq!(world.only_thread().0.awaiting, Awaiting::Us);
        world.decide(102, Kind::Keep, 1);
        let (thread, _) = world.only_thread();
        assert_eq!(
            (thread.status, thread.awaiting),
            (Status::Disputed, Awaiting::Developer)
        );
        assert_eq!(thread.replies.len(), 1);
    }

    #[test]
    fn the_highest_number_decides_and_a_copied_reply_is_not_heard_again() {
        let mut world = World::with_finding(7);
        world.decide(102, Kind::Keep, 1);
        world.decide(103, Kind::Resolve, 2);
        world.decide(104, Kind::Keep, 1);
        assert_eq!(world.only_thread().0.status, Status::Resolved);
    }

    #[test]
    fn a_person_who_may_write_closes_a_blocking_finding_and_its_author_alone_does_not() {
        let mut world = World::with_finding(9);
        world.closed_by("dev", Standing::Author);
        assert_eq!(world.only_thread().0.status, Status::Pending);
        world.conversations.clear();
        world.closed_by("writer", Standing::Writer);
        assert_eq!(world.only_thread().0.status, Status::Resolved);
    }

    #[test]
    fn an_imitated_marker_changes_nothing() {
        let mut world = World::with_finding(7);
        world.say(101, Some(100), "dev", Standing::Author, RESOLVED_MARKER);
        assert_eq!(world.only_thread().0.status, Status::Pending);
    }

    #[test]
    fn another_workflow_under_our_name_cannot_clear_a_blocking_finding() {
        let mut world = World::with_finding(9);
        world.say(101, Some(100), BOT, Standing::Other, RESOLVED_MARKER);
        let (thread, warnings) = world.only_thread();
        assert_eq!(thread.status, Status::Pending);
        assert!(warnings[0].contains("not signed"), "{warnings:?}");
    }

    #[test]
    fn markers_of_the_older_reviewer_are_read() {
        let mut world = World::with_finding(6);
        world.say(101, Some(100), BOT, Standing::Other, ESCALATED_MARKER);
        assert_eq!(world.only_thread().0.status, Status::Escalated);
        world.say(102, Some(100), BOT, Standing::Other, RESOLVED_MARKER);
        assert_eq!(world.only_thread().0.status, Status::Resolved);
    }

    #[test]
    fn a_deleted_root_or_a_stranger_s_block_is_no_thread_of_ours() {
        let mut world = World::with_finding(6);
        let body = world.comments[0].body.clone();
        world.comments[0].author = Some(Login::new("dev"));
        world.say(200, Some(150), BOT, Standing::Other, &body);
        let sources = Sources {
            pr: &pr(),
            keys: &world.keys,
            ours: &[Login::new(BOT)],
            blocking: None,
            comments: &world.comments,
            conversations: &[],
        };
        assert_eq!(rebuild(&sources).0, []);
    }
}
