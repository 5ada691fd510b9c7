//! How rebuilding the threads scales with what was said on the pull request. Separate from the review beside it,
//! because nothing but the fold is measured here: no process, no network, no model.

use super::measure;
use anyhow::{Context as _, Result, ensure};
use reviewer_core::domain::{
    Anchor, Assessment, Category, CommentId, CommitSha, Finding, Login, PassNumber, PrKey, Score,
    Side, Standing, Support, Thread,
};
use reviewer_core::publish::comment::judgement::Judged;
use reviewer_core::publish::comment::{Figures, Voice};
use reviewer_core::review::desk::{Effect, StagedReply};
use reviewer_core::review::ledger::Stage;
use reviewer_core::state::block::Conversation as Closing;
use reviewer_core::state::rebuild::{Comment, Conversation, Rebuilt, ReviewBody, Sources, rebuild};
use reviewer_core::state::signature::Keys;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

const SIZES: [u32; 5] = [1_000, 2_000, 4_000, 8_000, 10_000];
/// Each size is rebuilt this often, in turn with the others, and the least time counts: whatever else the machine does
/// only adds to it.
const ROUNDS: usize = 7;
/// What 10,000 comments should stay under. Printed, never enforced, as everything here.
const TARGET: Duration = Duration::from_secs(1);

/// A thread: the finding, an objection, our reply, the developer's last word.
const IN_A_THREAD: u32 = 4;
const IN_A_REVIEW: usize = 10;
const BOT: &str = "github-actions[bot]";

/// Rebuilds pull requests of growing size. Returns the table.
pub fn run() -> Result<String> {
    let pulls: Vec<PullRequest> = SIZES
        .into_iter()
        .map(PullRequest::with)
        .collect::<Result<_>>()?;
    let mut least = [Duration::MAX; SIZES.len()];
    for _ in 0..ROUNDS {
        for (pull, least) in pulls.iter().zip(&mut least) {
            *least = measured(pull)?.min(*least);
        }
    }
    Ok(table(&least))
}

/// The processor time of one rebuild.
fn measured(pull: &PullRequest) -> Result<Duration> {
    let begun = measure::own_cpu()?;
    let rebuilt = pull.rebuilt();
    let spent = measure::own_cpu()?.saturating_sub(begun);
    pull.check(&rebuilt)?;
    Ok(spent)
}

fn table(times: &[Duration]) -> String {
    let mut out = format!(
        "\nRebuilding the threads: {IN_A_THREAD} comments in each, {IN_A_REVIEW} threads in a review, everything signed\n\n\
         {:>10}{:>10}{:>18}{:>10}{:>12}{:>14}\n",
        "comments", "threads", "processor time", "ratio", "of sizes", "comments/s"
    );
    let mut before: Option<(u32, f64)> = None;
    for (size, time) in SIZES.into_iter().zip(times) {
        let seconds = time.as_secs_f64();
        let ratios = before.map_or(format!("{:>10}{:>12}", "", ""), |(smaller, less)| {
            let sizes = f64::from(size) / f64::from(smaller);
            format!("{:>10.2}{sizes:>12.2}", seconds / less)
        });
        let _ = writeln!(
            out,
            "{size:>10}{:>10}{:>15.1} ms{ratios}{:>14.0}",
            size / IN_A_THREAD,
            seconds * 1e3,
            f64::from(size) / seconds
        );
        before = Some((size, seconds));
    }
    let _ = writeln!(
        out,
        "\nleast of {ROUNDS} each; target: the last in less than {} ms",
        TARGET.as_millis()
    );
    out
}

/// A pull request with a long discussion, as GitHub would tell it.
struct PullRequest {
    pr: PrKey,
    keys: Keys,
    head: CommitSha,
    ours: Vec<Login>,
    author: Login,
    comments: Vec<Comment>,
    conversations: Vec<Conversation>,
    reviews: Vec<ReviewBody>,
    renames: HashMap<String, String>,
}

impl PullRequest {
    /// Grown as a real one grows: findings, objections, our replies by what was rebuilt until then, last words.
    fn with(comments: u32) -> Result<Self> {
        let secret = "a secret of more than twenty characters".into();
        let mut pull = Self {
            pr: PrKey {
                repo: "octo/shop".parse()?,
                number: 1,
            },
            keys: Keys::derive(&[secret], None, "octo/shop"),
            head: "b0d63d1e3554f51be51c63421a254d61288447e6".parse()?,
            ours: vec![Login::new(BOT)],
            author: Login::new("dev"),
            comments: Vec::new(),
            conversations: Vec::new(),
            reviews: Vec::new(),
            renames: HashMap::from([("src/old.ts".into(), "src/page.ts".into())]),
        };
        pull.review(comments / IN_A_THREAD)?;
        for thread in pull.rebuilt().threads {
            pull.say(thread.id.0 + 1, Some(thread.id), "dev", OBJECTION.into());
        }
        for thread in pull.rebuilt().threads {
            pull.reply(thread);
        }
        for thread in pull.rebuilt().threads {
            pull.say(thread.id.0 + 3, Some(thread.id), "dev", OBJECTION.into());
        }
        Ok(pull)
    }

    fn voice(&self) -> Voice<'_> {
        Voice {
            rounds: false,
            pr: &self.pr,
            keys: &self.keys,
            head: &self.head,
            run: "4711.1",
            fork: false,
            mention: "@review-my-code-bot",
            blocking: Score::new(9),
            page: "https://github.com/octo/shop/pull/1",
        }
    }

    /// Our reviews, with this many findings in all.
    fn review(&mut self, findings: u32) -> Result<()> {
        let findings: Vec<Finding> = (1..=findings).map(finding).collect::<Result<_>>()?;
        for (number, finding) in (1..).zip(&findings) {
            let root = CommentId(number * 10);
            let body = self.voice().finding(finding);
            self.say(root.0, None, BOT, body);
            self.conversations.push(Conversation {
                root,
                node_id: format!("PRRT_{number}"),
                is_resolved: number % 5 == 0,
                is_outdated: number % 3 == 0,
                resolved_by: (number % 5 == 0).then(|| (Login::new("lead"), Standing::Writer)),
                viewer_can_resolve: true,
                viewer_can_unresolve: false,
                edited: Vec::new(),
            });
        }
        let figures = Figures {
            files: 3,
            model: "anthropic/claude-sonnet-4-5",
            fallback: None,
            cost_usd: Some(0.17),
            seconds: 100,
            details: None,
        };
        for findings in findings.chunks(IN_A_REVIEW) {
            let listed: Vec<&Finding> = findings.iter().collect();
            let body = self
                .voice()
                .review(&listed, &[], false, None, &figures, &Judged::COMMENT);
            self.reviews.push(ReviewBody {
                author: Some(Login::new(BOT)),
                body,
            });
        }
        Ok(())
    }

    fn reply(&mut self, thread: Thread) {
        let effects = [Effect::Keep, Effect::Answer, Effect::Concede];
        let root = thread.id;
        let index = usize::try_from(root.0 / 10).unwrap_or_default() % effects.len();
        let staged = StagedReply {
            effect: effects[index].clone(),
            thread,
            body: "The rule has no exception for speed; `ordersOf` in `src/orders.ts` does it."
                .into(),
            stage: Stage::TurnZero,
        };
        let body = self.voice().reply(&staged, Closing::LeftOpen);
        self.say(root.0 + 2, Some(root), BOT, body);
    }

    fn say(&mut self, id: u64, to: Option<CommentId>, who: &str, body: String) {
        self.comments.push(Comment {
            id: CommentId(id),
            in_reply_to: to,
            author: Some(Login::new(who)),
            standing: if who == BOT {
                Standing::Other
            } else {
                Standing::Author
            },
            body,
            path: "src/old.ts".into(),
            line: Some(8),
            original_line: Some(8),
            original_start: None,
            side: Side::Right,
            created_at: "2026-01-01T00:00:00Z".into(),
            url: format!("https://github.com/octo/shop/pull/1#discussion_r{id}"),
        });
    }

    fn rebuilt(&self) -> Rebuilt {
        rebuild(&Sources {
            pr: &self.pr,
            keys: &self.keys,
            ours: &self.ours,
            editor: None,
            author: Some(&self.author),
            reviewed_by_people: false,
            blocking: Score::new(9),
            comments: &self.comments,
            conversations: &self.conversations,
            reviews: &self.reviews,
            renames: &self.renames,
        })
    }

    /// What is measured must be the whole fold: every thread there, every signature believed, every reply heard.
    fn check(&self, rebuilt: &Rebuilt) -> Result<()> {
        let heard = |thread: &Thread| thread.seq == 1 && thread.replies.len() == 2;
        ensure!(
            rebuilt.threads.len() == self.conversations.len()
                && rebuilt.threads.iter().all(heard)
                && rebuilt.lost.is_empty()
                && rebuilt.warnings.is_empty(),
            "the pull request of the measurement was not understood: {} threads of {}, {:?}",
            rebuilt.threads.len(),
            self.conversations.len(),
            rebuilt.warnings.first()
        );
        Ok(())
    }
}

const OBJECTION: &str = "I do not think so: callers of `pages` add one page for the rest, see `src/pager.ts`, line 12. \
    It has been so since the first release, and nobody has missed an item.";

fn finding(number: u32) -> Result<Finding> {
    let score = u64::from(5 + number % 6);
    Ok(Finding {
        id: format!("{number:016x}").parse()?,
        file: "src/page.ts".into(),
        anchor: Anchor::Line {
            side: Side::Right,
            start: None,
            line: 8,
        },
        anchor_hash: "689c49197975c92d".into(),
        body: "`pages` now rounds down, so a list whose length is no multiple of `size` loses its last page. With 11 \
               items in pages of 5 it answers 2, `lastPage` shows items 6 to 10, and item 11 can be reached from \
               nowhere. Round up, as before:\n\n```ts\nreturn Math.ceil(count / size);\n```"
            .into(),
        assessment: Assessment {
            finding: format!("pages() rounds down and drops the last page, case {number}."),
            assessment: "Every list that does not fill its last page is cut, silently.".into(),
            score: Score::new(score).context("a score")?,
        },
        category: Some(Category::Logic),
        pass: PassNumber::FIRST,
        reviewer: "reviewer-1".into(),
        support: Support::default(),
    })
}
