//! All pending work, decided from what is on the pull request and not from what the event was: runs get
//! cancelled, and the next one must pick up what the last one dropped.

pub mod agenda;
pub mod lease;
pub mod neighbours;
pub mod permissions;
pub mod queue;
mod spend_scope;

pub use spend_scope::{Cause, SpendScope};

use crate::config::{ForkReviews, Skip};
use crate::domain::{Awaiting, CommentId, CommitSha, Login, Thread};
use crate::event::{self, Command, EventKind, SkipReason};
use crate::state::block;
use crate::state::record::Record;

/// The work that is left for a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    Skip(SkipReason),
    /// This head was reviewed under these rules: the verdict is recomputed from the threads, without a model.
    Recompute(Box<Record>),
    /// The same, but the change was reviewed on another head, or nothing of it has to be shown: a green check follows
    /// only where somebody may spend.
    Known(Box<Record>),
    Review,
}

/// The pull request, as far as a plan depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    pub kind: &'a EventKind,
    pub open: bool,
    pub draft: bool,
    pub from_fork: bool,
    pub forks: ForkReviews,
    pub labels: &'a [String],
    pub skip_label: &'a str,
    /// The repository's own rules for skipping.
    pub skip: &'a Skip,
    pub author: Option<&'a Login>,
    pub files: Option<u64>,
    pub lines: Option<u64>,
    pub mention: &'a str,
}

impl Situation<'_> {
    /// Returns the reason to leave the pull request alone, before anything else is read of it.
    #[must_use]
    pub fn skip_reason(&self) -> Option<SkipReason> {
        if !self.open {
            return Some(SkipReason::ClosedSince);
        }
        if self.from_fork && self.forks == ForkReviews::Never {
            return Some(SkipReason::NoForks);
        }
        if self.draft && self.skip.drafts && !self.kind.accepts_draft() {
            let mention = self.mention.to_owned();
            return Some(SkipReason::Draft { mention });
        }
        let skips = |label: &&String| {
            let labels = self.skip.labels.iter().map(String::as_str);
            let mut labels = labels.chain([self.skip_label]);
            labels.any(|skip| label.eq_ignore_ascii_case(skip))
        };
        if let Some(label) = self.labels.iter().find(skips) {
            return Some(SkipReason::Label(label.clone()));
        }
        let asked = matches!(self.kind, EventKind::Mention { .. } | EventKind::Manual);
        if asked { None } else { self.unwanted() }
    }

    /// Returns the reason if the repository does not want a review unless somebody asks for one.
    fn unwanted(&self) -> Option<SkipReason> {
        let mention = self.mention.to_owned();
        if let Some(author) = self.author.filter(|one| self.skip.authors.contains(one)) {
            let author = author.clone();
            return Some(SkipReason::Author { author, mention });
        }
        let sizes = [
            (self.files, self.skip.max_files, "files"),
            (self.lines, self.skip.max_lines, "lines"),
        ];
        sizes.into_iter().find_map(|(changed, most, what)| {
            let (changed, most) = changed.zip(most).filter(|(changed, most)| changed > most)?;
            let mention = mention.clone();
            Some(SkipReason::TooLarge {
                changed,
                what,
                most,
                mention,
            })
        })
    }
}

/// A change, as far as a plan depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    pub merge_base: &'a CommitSha,
    pub head: &'a CommitSha,
    /// The number of files that it changes.
    pub files: usize,
    /// The number of files that have to be shown to the model.
    pub required: usize,
    /// The files that nobody can show.
    pub unreadable: &'a [String],
}

/// Decides what is left to do for a head, given the records that earlier runs have left on it.
#[must_use]
pub fn plan(records: Vec<Record>, change: &Change<'_>, rules: &str) -> Plan {
    let (base, head) = (change.merge_base, change.head);
    if change.files == 0 {
        return Plan::Skip(SkipReason::NoChanges);
    }
    if change.required == 0 {
        let accepted = records
            .into_iter()
            .find(|record| record.is_about(base, head, rules))
            .and_then(|record| record.accepted);
        return Plan::Known(Box::new(Record {
            head: head.to_string(),
            merge_base: base.to_string(),
            rules: rules.to_owned(),
            left_out: change.unreadable.to_vec(),
            unshown: Some(0),
            accepted,
            ..Record::default()
        }));
    }
    let covering = records
        .into_iter()
        .find(|record| record.covers(base, head, rules));
    covering.map_or(Plan::Review, |record| Plan::Recompute(Box::new(record)))
}

/// The records that a review under these rules can go on from, newest first, whatever the head was.
pub(crate) fn finished_under(records: Vec<Record>, rules: &str) -> impl Iterator<Item = Record> {
    let rules = rules.to_owned();
    records
        .into_iter()
        .filter(move |record| record.can_be_continued() && record.rules == rules)
}

/// The open threads that the model has to judge: those where somebody whose word counts waits for the reviewer, and
/// those that a push since may have fixed, where that is looked at.
#[must_use]
pub(crate) fn to_judge<'a>(
    threads: &'a [Thread],
    head: &CommitSha,
    is_looked_at: impl Fn(&Thread) -> bool,
) -> Vec<&'a Thread> {
    let pushed_since =
        |thread: &Thread| thread.head.as_ref().is_some_and(|made_at| made_at != head);
    let open = threads.iter().filter(|thread| thread.status.is_open());
    let mut waiting: Vec<&Thread> = open
        .filter(|thread| {
            thread.awaiting == Awaiting::Us || (is_looked_at(thread) && pushed_since(thread))
        })
        .collect();
    waiting.sort_by_key(|thread| thread.awaiting != Awaiting::Us);
    waiting
}

/// The maximum number of threads in one turn; each takes its code, then and now, and a judgement. People who wait come
/// first.
pub(crate) const MOST_JUDGED: usize = 50;

/// The request in the event's own comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub comment: CommentId,
    pub command: Command,
}

/// Adds a person's request to the plan: a full review is made again, once for each comment that asks for it, and a
/// question about a draft is answered, or a finding dismissed, without a review.
#[must_use]
pub(crate) fn on_request(
    plan: Plan,
    request: Option<&Request>,
    draft: bool,
    mention: &str,
) -> Plan {
    let Some(request) = request else {
        return plan;
    };
    match (plan, &request.command) {
        (Plan::Recompute(record) | Plan::Known(record), Command::ReviewFull)
            if !record.passes.is_empty() && record.asked != Some(request.comment.0) =>
        {
            Plan::Review
        }
        (Plan::Review, Command::Question(_) | Command::Dismiss(_)) if draft => {
            Plan::Skip(SkipReason::Draft {
                mention: mention.to_owned(),
            })
        }
        (plan, _) => plan,
    }
}

/// A comment below the description or in a review thread.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    pub id: CommentId,
    /// `None` where the account was deleted.
    pub author: Option<&'a Login>,
    pub body: &'a str,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub comment: CommentId,
    pub author: Login,
    pub text: String,
    /// The review thread it was asked in; `None`: below the description.
    pub thread: Option<QuestionThread>,
}

/// A review thread in which something is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionThread {
    pub root: CommentId,
    /// The number that the reply gets in a thread of the reviewer, 0 in others'.
    pub seq: u32,
    /// The file, and the line where there is one.
    pub place: String,
    /// The earlier comments there: author and text.
    pub before: Vec<(String, String)>,
}

/// No run answers more questions than this; nobody asks as many in earnest.
pub const MOST_QUESTIONS: usize = 10;

/// The questions among comments that nobody has answered, oldest first. A comment with a block of the reviewer is its
/// own, whoever's token posted it.
#[must_use]
pub fn unanswered(comments: &[Said<'_>], answered: &[CommentId], mention: &str) -> Vec<Question> {
    let questions = comments.iter().filter_map(|said| {
        let Some(Command::Question(text)) = event::command(said.body, mention) else {
            return None;
        };
        let author = said.author.filter(|author| !author.is_bot())?;
        let ours = block::parse(said.body).hidden.is_some();
        (!ours && !answered.contains(&said.id)).then(|| Question {
            comment: said.id,
            author: author.clone(),
            text,
            thread: None,
        })
    });
    questions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Status, fixture};

    #[test]
    fn a_person_s_request_changes_the_plan() {
        let done = Plan::Recompute(Box::new(Record {
            passes: vec![1, 2, 3, 4],
            ..Record::default()
        }));
        let asked = |plan: &Plan, command: Option<&Command>, draft| {
            let request = command.map(|command| Request {
                comment: CommentId(7),
                command: command.clone(),
            });
            on_request(plan.clone(), request.as_ref(), draft, "@bot")
        };
        let question = Command::Question("why?".into());
        assert_eq!(
            asked(&done, Some(&Command::ReviewFull), false),
            Plan::Review
        );
        assert_eq!(asked(&done, Some(&Command::Review), false), done);
        assert_eq!(asked(&done, Some(&question), true), done);
        assert_eq!(asked(&Plan::Review, Some(&question), false), Plan::Review);
        assert!(matches!(
            asked(&Plan::Review, Some(&question), true),
            Plan::Skip(SkipReason::Draft { .. })
        ));
        let review = asked(&Plan::Review, Some(&Command::Review), true);
        assert_eq!(review, Plan::Review, "a request reviews drafts too");
        assert_eq!(asked(&done, None, false), done);
    }

    #[test]
    fn x3_one_comment_asks_for_one_full_review_however_often_its_event_comes() {
        let request = |comment| Request {
            comment: CommentId(comment),
            command: Command::ReviewFull,
        };
        let reviewed = Plan::Recompute(Box::new(Record {
            asked: Some(7),
            passes: vec![1, 2, 3, 4],
            ..Record::default()
        }));
        let again = on_request(reviewed.clone(), Some(&request(7)), false, "@bot");
        assert_eq!(again, reviewed);
        let another = on_request(reviewed, Some(&request(8)), false, "@bot");
        assert_eq!(another, Plan::Review);
    }

    #[test]
    fn questions_wait_until_they_are_answered() {
        let [dev, bot] = ["dev", "ci[bot]"].map(Login::new);
        let hidden = block::render_hidden(&block::Hidden::new(block::Kind::Answer));
        let ours = format!("@bot said so.\n\n{hidden}");
        let said = |id, author, body| Said {
            id: CommentId(id),
            author,
            body,
        };
        let comments = [
            said(1, Some(&dev), "@bot why?"),
            said(2, Some(&dev), "@bot review"),
            said(3, Some(&dev), "Nice."),
            said(4, Some(&bot), "@bot who?"),
            said(5, None, "@bot where?"),
            said(6, Some(&dev), &ours),
            said(7, Some(&dev), "@bot when?"),
        ];
        let waiting = |answered: &[CommentId]| -> Vec<u64> {
            let questions = unanswered(&comments, answered, "@bot");
            questions.iter().map(|q| q.comment.0).collect()
        };
        assert_eq!(waiting(&[]), [1, 7]);
        assert_eq!(waiting(&[CommentId(1)]), [7]);
    }

    static SKIP: std::sync::LazyLock<Skip> = std::sync::LazyLock::new(|| Skip {
        labels: vec!["wip".into()],
        authors: vec![Login::new("renovate[bot]")],
        drafts: true,
        max_files: Some(300),
        max_lines: None,
    });

    fn situation<'a>(kind: &'a EventKind, labels: &'a [String]) -> Situation<'a> {
        Situation {
            skip: &SKIP,
            author: None,
            files: Some(300),
            lines: Some(1_000_000),
            kind,
            open: true,
            draft: false,
            from_fork: false,
            forks: ForkReviews::OnMention,
            labels,
            skip_label: "skip-review",
            mention: "@bot",
        }
    }

    fn mention() -> EventKind {
        use crate::event::{Association, CommentPlace};
        EventKind::Mention {
            comment_id: crate::domain::CommentId(1),
            on: CommentPlace::IssueComment,
            body: "@bot".into(),
            author: crate::domain::Login::new("dev"),
            association: Association::Owner,
            created_at: String::new(),
        }
    }

    #[test]
    fn what_the_repository_leaves_alone_is_reviewed_when_somebody_asks() {
        let renovate = Login::new("renovate[bot]");
        let of_bot = |kind| Situation {
            author: Some(&renovate),
            ..situation(kind, &[])
        };
        let large = |kind| Situation {
            files: Some(301),
            ..situation(kind, &[])
        };
        let told = |situation: Situation<'_>| situation.skip_reason().map(|why| why.to_string());
        let opened = &EventKind::Opened;
        assert_eq!(
            told(of_bot(opened)).as_deref(),
            Some(
                "Pull requests of renovate[bot] are not reviewed, as skip.authors says, unless somebody mentions @bot."
            )
        );
        assert_eq!(
            told(large(opened)).as_deref(),
            Some(
                "The pull request changes 301 files, more than skip.max_changed_files (300); it is reviewed when somebody mentions @bot."
            )
        );
        for kind in [&mention(), &EventKind::Manual] {
            assert_eq!(told(of_bot(kind)), None);
            assert_eq!(told(large(kind)), None);
        }
        let labels = ["WIP".to_owned()];
        let labelled = situation(&mention(), &labels).skip_reason();
        assert_eq!(labelled, Some(SkipReason::Label("WIP".into())));
        let ready = Skip {
            drafts: false,
            ..Skip::default()
        };
        let draft = Situation {
            draft: true,
            skip: &ready,
            ..situation(opened, &[])
        };
        assert_eq!(draft.skip_reason(), None);
    }

    #[test]
    fn a_draft_waits_for_a_mention() {
        let mention = mention();
        let draft = |kind| {
            Situation {
                draft: true,
                ..situation(kind, &[])
            }
            .skip_reason()
        };
        assert!(matches!(
            draft(&EventKind::Opened),
            Some(SkipReason::Draft { .. })
        ));
        assert_eq!(draft(&mention), None);
    }

    #[test]
    fn closed_and_labelled_pull_requests_are_left_alone() {
        let closed = Situation {
            open: false,
            ..situation(&EventKind::Pushed, &[])
        };
        assert_eq!(closed.skip_reason(), Some(SkipReason::ClosedSince));
        let labels = ["Skip-Review".to_owned()];
        let labelled = situation(&EventKind::Pushed, &labels).skip_reason();
        assert_eq!(labelled, Some(SkipReason::Label("Skip-Review".into())));
    }

    #[test]
    fn forks_can_be_left_out_altogether() {
        let never = |from_fork| {
            Situation {
                from_fork,
                forks: ForkReviews::Never,
                ..situation(&EventKind::Dispatch, &[])
            }
            .skip_reason()
        };
        assert_eq!(never(true), Some(SkipReason::NoForks));
        assert_eq!(never(false), None);
    }

    fn thread(id: u64, awaiting: Awaiting, head: Option<&CommitSha>) -> Thread {
        Thread {
            id: CommentId(id),
            awaiting,
            head: head.cloned(),
            ..fixture::thread()
        }
    }

    #[test]
    fn a_push_has_threads_judged_again_only_where_it_is_reviewed_and_people_who_wait_come_first() {
        let [head, before]: [CommitSha; 2] = ["a", "b"].map(|c| c.repeat(40).parse().unwrap());
        let threads = [
            thread(1, Awaiting::Developer, Some(&head)),
            thread(2, Awaiting::Developer, Some(&before)),
            thread(3, Awaiting::Developer, None),
            thread(4, Awaiting::Us, Some(&head)),
            Thread {
                status: Status::Resolved,
                ..thread(5, Awaiting::Developer, Some(&before))
            },
        ];
        let judged = |reviews: bool| {
            let judged = to_judge(&threads, &head, |_| reviews);
            judged.iter().map(|thread| thread.id.0).collect::<Vec<_>>()
        };
        assert_eq!(judged(true), [4, 2]);
        assert_eq!(judged(false), [4]);
    }

    #[test]
    fn a_head_is_reviewed_until_a_record_covers_it() {
        let [head, base]: [CommitSha; 2] = ["a", "b"].map(|c| c.repeat(40).parse().unwrap());
        let of = |records, rules, files, required| {
            let change = Change {
                merge_base: &base,
                head: &head,
                files,
                required,
                unreadable: &["x.bin (binary)".to_owned()],
            };
            plan(records, &change, rules)
        };
        let record = Record {
            head: head.to_string(),
            merge_base: "b".repeat(40),
            rules: "r".into(),
            passes: vec![1, 2, 3, 4],
            ..Record::default()
        };
        assert_eq!(of(vec![], "r", 1, 1), Plan::Review);
        let partial = Record {
            passes: vec![1, 2],
            ..record.clone()
        };
        assert_eq!(of(vec![partial.clone()], "r", 1, 1), Plan::Review);
        let found = of(vec![partial, record.clone()], "r", 1, 1);
        assert_eq!(found, Plan::Recompute(Box::new(record.clone())));
        assert_eq!(of(vec![record], "changed", 1, 1), Plan::Review);
        let nothing = of(vec![], "r", 0, 0);
        assert_eq!(nothing, Plan::Skip(SkipReason::NoChanges));
        let Plan::Known(excused) = of(vec![], "r", 2, 0) else {
            panic!("nothing has to be shown");
        };
        assert_eq!(excused.left_out, ["x.bin (binary)"]);
    }
}
