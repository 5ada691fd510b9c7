//! The fold from comments to threads. Total: it answers with threads and warnings, and never with an error,
//! because a comment that cannot be read must not cost the memory of all the others.

mod status;
#[cfg(test)]
mod tests;

use super::block::{self, Block, Hidden, Kind};
use super::signature::{Keys, SignatureCheck, Signed};
use crate::authority::{Action, Person, judge};
use crate::domain::{
    Assessment, CommentId, CommitSha, FindingId, Login, PrKey, Score, Side, Standing, Thread, Trust,
};
use serde_json::Value;
use status::Discussion;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

pub(crate) const RESOLVED_MARKER: &str = "✅ **Issue Resolved**";
pub(crate) const ESCALATED_MARKER: &str = "🔺 **Escalated to Human Review**";

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
    /// The first line of a range that ends in `original_line`.
    pub original_start: Option<u32>,
    pub side: Side,
    pub created_at: String,
    pub url: String,
}

/// The facts that GraphQL adds to a thread.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub struct Conversation {
    pub root: CommentId,
    pub node_id: String,
    pub is_resolved: bool,
    pub is_outdated: bool,
    /// The person who resolved it, and the weight of their word; `None` where it was the reviewer.
    pub resolved_by: Option<(Login, Standing)>,
    pub viewer_can_resolve: bool,
    pub viewer_can_unresolve: bool,
    /// Comments of the thread that were edited, and by whom (`None`: a deleted account).
    pub edited: Vec<(CommentId, Option<Login>)>,
}

/// A review of the reviewer, whose body may carry a manifest.
#[derive(Debug, Clone)]
pub struct ReviewBody {
    pub author: Option<Login>,
    pub body: String,
}

/// Everything the fold looks at.
#[derive(Debug)]
pub struct Sources<'a> {
    pub pr: &'a PrKey,
    pub keys: &'a Keys,
    /// The reviewer's identity, as GitHub names it, and the other names that it has used.
    pub ours: &'a [Login],
    /// The account that rewrites its own comments, where they may be rewritten.
    pub editor: Option<&'a Login>,
    /// The person who opened the pull request.
    pub author: Option<&'a Login>,
    /// True if somebody else than the author reviews, who decides what was escalated.
    pub reviewed_by_people: bool,
    /// At or above this, only a person with write access may close a thread by hand.
    pub blocking: Option<Score>,
    pub comments: &'a [Comment],
    pub conversations: &'a [Conversation],
    pub reviews: &'a [ReviewBody],
    /// Renamed files since then: old path to new path.
    pub renames: &'a HashMap<String, String>,
}

/// A finding that a manifest lists and whose comment is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub id: FindingId,
    pub score: Score,
    /// The head whose review made it.
    pub head: CommitSha,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "The comment of finding {} (score {}) is gone; the finding stays open.",
            self.id, self.score
        )
    }
}

/// The memory of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rebuilt {
    /// The reviewer's threads, in the order of their comments.
    pub threads: Vec<Thread>,
    pub lost: Vec<Lost>,
    /// Comments of human reviewers on lines of their own accord, and the text of the reviewer's own reviews.
    pub others: Vec<Remark>,
    /// Warnings about text that could not be trusted.
    pub warnings: Vec<String>,
    /// True if the reviewer has posted a review, signed or not.
    pub has_reviews: bool,
    /// The heads that the reviewer's signed manifests name, the newest first.
    pub heads: Vec<CommitSha>,
}

/// A comment by somebody else at a place of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub author: Login,
    pub file: String,
    pub line: Option<u32>,
    pub body: String,
    /// The finding that it is, where the text of an earlier review says it.
    pub own: Option<(FindingId, Score)>,
}

/// Folds all that was said into threads.
#[must_use]
pub fn rebuild(sources: &Sources<'_>) -> Rebuilt {
    let manifest = Manifest::read(sources);
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
    let mut rebuilt = Rebuilt::default();
    for (root, mut group) in groups {
        group.sort_by_key(|comment| comment.id);
        group.dedup_by_key(|comment| comment.id);
        let folded = Folding {
            sources,
            manifest: &manifest,
            root,
            conversation: conversations.get(&root).copied(),
        };
        rebuilt
            .threads
            .extend(folded.thread(&group, &mut rebuilt.warnings));
        rebuilt.others.extend(folded.remark(&group));
    }
    drop_copies(&mut rebuilt, sources);
    rebuilt.lost = manifest.lost(&rebuilt.threads);
    let is_there = |lost: &Lost| {
        let mut said = manifest.unanchored.iter().flat_map(|one| &one.own);
        said.any(|(id, _)| *id == lost.id)
    };
    let gone = rebuilt.lost.iter().filter(|lost| !is_there(lost));
    let gone: Vec<String> = gone.map(ToString::to_string).collect();
    rebuilt.warnings.extend(gone);
    rebuilt.others.extend(manifest.unanchored);
    rebuilt.has_reviews = manifest.any;
    rebuilt.heads = manifest.heads;
    rebuilt
}

/// A signed finding that somebody pasted into a comment of their own is the same finding, and not another. The comment
/// under the reviewer's name is the finding, even if theirs is older: an old comment can be edited.
fn drop_copies(rebuilt: &mut Rebuilt, sources: &Sources<'_>) {
    let under_our_name: HashSet<CommentId> = sources
        .comments
        .iter()
        .filter(|comment| sources.is_ours(comment.author.as_ref()))
        .map(|comment| comment.id)
        .collect();
    let mut originals: HashMap<FindingId, CommentId> = HashMap::new();
    for thread in &rebuilt.threads {
        if let Some(id) = &thread.finding_id {
            let original = originals.entry(id.clone()).or_insert(thread.id);
            if !under_our_name.contains(original) && under_our_name.contains(&thread.id) {
                *original = thread.id;
            }
        }
    }
    let warnings = &mut rebuilt.warnings;
    rebuilt.threads.retain(|thread| {
        let original = thread.finding_id.as_ref().and_then(|id| originals.get(id));
        let is_original = original.is_none_or(|original| *original == thread.id);
        if !is_original {
            warnings.push(format!("Comment {} is a copy of a finding.", thread.id));
        }
        is_original
    });
}

/// The findings that the signed manifests list.
#[derive(Default)]
struct Manifest {
    /// The findings that must be there.
    listed: HashMap<FindingId, (Score, CommitSha)>,
    /// Findings in the text of a review, as remarks at their place.
    unanchored: Vec<Remark>,
    /// The heads that were reviewed, the newest first.
    heads: Vec<CommitSha>,
    /// True if there is a manifest, signed or not.
    any: bool,
}

impl Manifest {
    fn read(sources: &Sources<'_>) -> Self {
        let ours = sources
            .reviews
            .iter()
            .filter(|review| sources.is_ours(review.author.as_ref()));
        let mut manifest = Self::default();
        for review in ours {
            let parsed = Block {
                visible: None,
                ..block::parse(&review.body)
            };
            let is_one = |hidden: &Hidden| hidden.kind == Kind::Manifest;
            manifest.any |= parsed.hidden.as_ref().is_some_and(is_one);
            let hidden = sources.believed(&parsed, None);
            let Some(hidden) = hidden.filter(|hidden| is_one(hidden)) else {
                continue;
            };
            let Some(head) = hidden
                .head
                .as_ref()
                .and_then(|head| head.parse::<CommitSha>().ok())
            else {
                continue;
            };
            for finding in &hidden.findings {
                if let (Ok(id), Some(score)) =
                    (finding.id.parse(), Score::new(finding.score.into()))
                {
                    manifest.listed.insert(id, (score, head.clone()));
                }
            }
            manifest.heads.insert(0, head);
            for one in &hidden.unanchored {
                let id = one.id.parse::<FindingId>().ok();
                let own = id.and_then(|id| Some((id.clone(), manifest.listed.get(&id)?.0)));
                let author = review.author.clone().zip(own);
                manifest
                    .unanchored
                    .extend(author.map(|(author, own)| Remark {
                        author,
                        file: followed(&one.file, sources.renames),
                        line: one.line,
                        body: one.finding.clone(),
                        own: Some(own),
                    }));
            }
        }
        manifest
    }

    fn score(&self, id: Option<&FindingId>) -> Option<Score> {
        self.listed.get(id?).map(|(score, _)| *score)
    }

    fn lost(&self, threads: &[Thread]) -> Vec<Lost> {
        let found: HashSet<&FindingId> = threads
            .iter()
            .filter_map(|thread| thread.finding_id.as_ref())
            .collect();
        let mut lost: Vec<Lost> = self
            .listed
            .iter()
            .filter(|(id, _)| !found.contains(id))
            .map(|(id, (score, head))| Lost {
                id: id.clone(),
                score: *score,
                head: head.clone(),
            })
            .collect();
        lost.sort_by(|a, b| a.id.cmp(&b.id));
        lost
    }
}

/// One thread on its way from comments.
struct Folding<'a> {
    sources: &'a Sources<'a>,
    manifest: &'a Manifest,
    root: CommentId,
    conversation: Option<&'a Conversation>,
}

impl Folding<'_> {
    fn thread(&self, group: &[&Comment], warnings: &mut Vec<String>) -> Option<Thread> {
        let (sources, root) = (self.sources, self.root);
        let first = group.iter().find(|comment| comment.id == root)?;
        let parsed = block::parse(&first.body);
        let verdict = sources.verify(&parsed, parsed.rewritten(root));
        // What the reviewer signed is its own, whatever account it had then.
        if !sources.is_ours(first.author.as_ref()) && verdict != SignatureCheck::Ours {
            return None;
        }
        let hidden = parsed.hidden.clone();
        let key = |read: fn(&Hidden) -> Option<String>| hidden.as_ref().and_then(read);
        let finding_id: Option<FindingId> = key(|h| h.id.clone()).and_then(|id| id.parse().ok());
        let listed = self.manifest.score(finding_id.as_ref());
        let tampered = verdict == SignatureCheck::Forged
            || (verdict == SignatureCheck::Unknown && listed.is_some())
            || self.edited_by_another(root);
        let assessment = assessment(&parsed, listed, tampered)?;
        if tampered {
            warnings.push(format!(
                "Comment {root} was changed by somebody else; the finding stays open with the score of {}.",
                assessment.score
            ));
        }
        let mut discussion = Discussion::new(sources.gates(assessment.score));
        if !tampered {
            discussion.begin(first, &parsed, verdict, warnings);
        }
        let replies = group.iter().filter(|comment| comment.id != root);
        replies.for_each(|comment| discussion.add(sources, root, comment, warnings));
        let outcome = discussion.outcome(self.conversation, sources);
        Some(Thread {
            id: root,
            finding_id,
            file: followed(&first.path, sources.renames),
            line: first.line.or(first.original_line),
            original_line: first.original_line,
            original_start: first.original_start,
            side: first.side,
            outdated: self.conversation.is_some_and(|c| c.is_outdated),
            status: outcome.status,
            awaiting: outcome.awaiting,
            category: key(|h| h.category.clone()).and_then(|text| text.parse().ok()),
            reviewers: hidden.iter().flat_map(|h| h.reviewers.clone()).collect(),
            head: key(|h| h.head.clone()).and_then(|text| text.parse().ok()),
            anchor_hash: key(|h| h.anchor.clone()),
            trust: trust(tampered, verdict),
            resolution: outcome.resolution,
            decider: outcome.decider,
            because: outcome.because,
            seq: discussion.seq(sources.keys.can_sign()),
            seems_fixed: discussion.seems_fixed(),
            answered: discussion.answered(),
            replies: discussion.into_replies(),
            node_id: self.conversation.map(|c| c.node_id.clone()),
            viewer_can_resolve: self.conversation.is_some_and(|c| c.viewer_can_resolve),
            viewer_can_unresolve: self.conversation.is_some_and(|c| c.viewer_can_unresolve),
            url: first.url.clone(),
            comment: self.rewritable(first, tampered),
            assessment,
        })
    }

    fn remark(&self, group: &[&Comment]) -> Option<Remark> {
        let first = group.iter().find(|comment| comment.id == self.root)?;
        let author = first.author.clone()?;
        // Not the author's: the author could report a defect first to keep the reviewer from reporting it.
        let parsed = block::parse(&first.body);
        let place = parsed.rewritten(self.root);
        if self.sources.believed(&parsed, place).is_some() {
            return None;
        }
        let is_author = Some(&author) == self.sources.author;
        let person = Person {
            is_bot: author.is_bot(),
            ..Person::from_standing(first.standing, is_author)
        };
        let theirs = !self.sources.is_ours(Some(&author));
        (theirs && judge(person, Action::Forestall).is_ok()).then(|| Remark {
            author,
            file: followed(&first.path, self.sources.renames),
            line: first.line.or(first.original_line),
            body: first.body.clone(),
            own: None,
        })
    }

    /// The text of a finding's comment that the reviewer may rewrite: of its own account, and as it left it.
    fn rewritable(&self, first: &Comment, tampered: bool) -> Option<String> {
        let is_own = self.sources.editor.is_some() && first.author.as_ref() == self.sources.editor;
        (is_own && !tampered).then(|| first.body.clone())
    }

    fn edited_by_another(&self, comment: CommentId) -> bool {
        let edited = self.conversation.map_or(&[][..], |c| &c.edited);
        edited
            .iter()
            .any(|(id, editor)| *id == comment && !self.sources.is_ours(editor.as_ref()))
    }
}

/// Decides how far a thread's own words are trusted.
fn trust(tampered: bool, verdict: SignatureCheck) -> Trust {
    match (tampered, verdict) {
        (true, _) => Trust::Tampered,
        (false, SignatureCheck::Ours) => Trust::Signed,
        (false, _) => Trust::Unsigned,
    }
}

/// The assessment in the comment, with the manifest's score where the comment cannot be trusted.
fn assessment(parsed: &Block, listed: Option<Score>, tampered: bool) -> Option<Assessment> {
    let said = parsed.visible.as_ref().and_then(block::Visible::assessment);
    match (said, listed.filter(|_| tampered)) {
        (Some(said), Some(score)) => Some(Assessment {
            score: said.score.max(score),
            ..said
        }),
        (None, Some(score)) => Some(Assessment {
            finding: "(the comment was changed and says nothing any more)".into(),
            assessment: String::new(),
            score,
        }),
        (said, None) => said,
    }
}

/// Follows a path through one rename after the other, and never in a circle.
fn followed(path: &str, renames: &HashMap<String, String>) -> String {
    let mut path = path;
    for _ in 0..renames.len() {
        match renames.get(path) {
            Some(next) => path = next,
            None => break,
        }
    }
    path.to_owned()
}

impl Sources<'_> {
    /// True if a finding of this score blocks.
    fn gates(&self, score: Score) -> bool {
        self.blocking.is_some_and(|blocking| score >= blocking)
    }

    fn is_ours(&self, author: Option<&Login>) -> bool {
        author.is_some_and(|author| self.ours.contains(author))
    }

    /// The hidden keys, if the reviewer signed them for this place.
    fn believed<'b>(&self, parsed: &'b Block, root: Option<CommentId>) -> Option<&'b Hidden> {
        parsed
            .hidden
            .as_ref()
            .filter(|_| self.verify(parsed, root) == SignatureCheck::Ours)
    }

    fn verify(&self, parsed: &Block, root: Option<CommentId>) -> SignatureCheck {
        let Some(hidden) = &parsed.hidden else {
            return SignatureCheck::Unknown;
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
