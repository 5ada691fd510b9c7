use super::*;
use crate::domain::{Assessment, Awaiting, Status, fixture};
use crate::plan::QuestionThread;
use crate::state::block::Listed;
use crate::state::undelivered::Undelivered;
use proptest::prelude::*;

const RULES: &str = "rules";

/// The facts of a run in one place, so that a test changes only what it is about.
struct World {
    head: CommitSha,
    merge_base: CommitSha,
    files: usize,
    required: usize,
    on_head: Vec<HeadRecord>,
    elsewhere: Vec<Record>,
    same_change: Option<Record>,
    threads: Vec<Thread>,
    lost: Vec<Lost>,
    inquiries: Inquiries,
    scope: SpendScope,
    from_fork: bool,
    draft: bool,
    request: Option<Request>,
    acceptor: Option<(Login, bool, &'static str)>,
    obstacle: Option<ModelObstacle>,
    decides: bool,
}

impl World {
    /// A change of one file that nobody has reviewed, in a run that may spend.
    fn new() -> Self {
        Self {
            head: sha("a"),
            merge_base: sha("b"),
            files: 1,
            required: 1,
            on_head: Vec::new(),
            elsewhere: Vec::new(),
            same_change: None,
            threads: Vec::new(),
            lost: Vec::new(),
            inquiries: Inquiries::default(),
            scope: SpendScope::Everything,
            from_fork: false,
            draft: false,
            request: None,
            acceptor: None,
            obstacle: None,
            decides: false,
        }
    }

    fn reviewed() -> Self {
        Self::new().with_record(|_| {})
    }

    fn with_record(mut self, edit: impl FnOnce(&mut Record)) -> Self {
        let mut record = Record {
            head: self.head.to_string(),
            merge_base: self.merge_base.to_string(),
            rules: RULES.into(),
            passes: vec![1, 2, 3, 4],
            ..Record::default()
        };
        edit(&mut record);
        self.on_head.push(HeadRecord {
            id: 9,
            record,
            concluded_at: Some("2026-11-01T10:00:00Z".into()),
        });
        self
    }

    fn asking(mut self, command: Command) -> Self {
        self.request = Some(Request {
            comment: CommentId(70),
            command,
        });
        self
    }

    fn accepting(self, may_accept: bool, written_at: &'static str) -> Self {
        let mut world = self.asking(Command::Accept);
        world.acceptor = Some((Login::new("dev"), may_accept, written_at));
        world
    }

    fn decide(&self) -> Agenda {
        let records: Vec<Record> = self
            .on_head
            .iter()
            .map(|one| one.record.clone())
            .chain(self.elsewhere.iter().cloned())
            .collect();
        let acceptor = self.acceptor.as_ref();
        Agenda::decide(&Given {
            change: Change {
                merge_base: &self.merge_base,
                head: &self.head,
                files: self.files,
                required: self.required,
                unreadable: &[],
            },
            diffs: &[],
            excused: &[],
            rules: RULES,
            on_head: &self.on_head,
            records: &records,
            same_change: self.same_change.as_ref(),
            threads: &self.threads,
            lost: &self.lost,
            inquiries: &self.inquiries,
            scope: &self.scope,
            from_fork: self.from_fork,
            draft: self.draft,
            request: self.request.as_ref(),
            acceptor: acceptor.map(|(login, may_accept, written_at)| Acceptor {
                login,
                may_accept: *may_accept,
                written_at,
            }),
            obstacle: self.obstacle.as_ref(),
            mention: "@bot",
            threshold: score(5),
            blocking: Some(score(8)),
            decides: self.decides,
        })
    }
}

fn sha(digit: &str) -> CommitSha {
    digit.repeat(40).parse().unwrap()
}

fn score(number: u64) -> Score {
    Score::new(number).unwrap()
}

fn question(thread: Option<CommentId>) -> Question {
    Question {
        comment: CommentId(70),
        author: Login::new("dev"),
        text: "why?".into(),
        thread: thread.map(|root| QuestionThread {
            root,
            seq: 1,
            place: "src/page.ts:2".into(),
            before: Vec::new(),
        }),
    }
}

fn waiting_thread() -> Thread {
    Thread {
        awaiting: Awaiting::Us,
        ..fixture::thread()
    }
}

fn reviews(agenda: &Agenda) -> bool {
    matches!(agenda.task, Task::Session { covered: None })
}

#[test]
fn a_change_without_a_record_is_reviewed_in_turn() {
    let agenda = World::new().decide();
    assert!(reviews(&agenda) && agenda.waits && agenda.posts());
    assert!(agenda.only_new && !agenda.tells_state);
}

#[test]
fn a_reviewed_head_is_concluded_from_its_record_and_nothing_is_posted() {
    let agenda = World::reviewed().decide();
    assert!(matches!(agenda.task, Task::Conclude(_)));
    assert!(!agenda.waits && !agenda.posts());
}

#[test]
fn a_run_that_may_approve_takes_its_turn_even_if_it_asks_no_model() {
    let mut world = World::reviewed();
    world.decides = true;
    let agenda = world.decide();
    assert!(matches!(agenda.task, Task::Conclude(_)));
    assert!(agenda.waits && !agenda.posts());
}

#[test]
fn a_thread_that_waits_for_us_is_judged_without_a_review() {
    let mut world = World::reviewed();
    world.threads = vec![waiting_thread()];
    let agenda = world.decide();
    assert!(matches!(agenda.task, Task::Session { covered: Some(_) }));
    assert_eq!(agenda.judge, [CommentId(55)]);
    assert!(agenda.waits);
}

#[test]
fn where_nobody_pays_for_words_a_waiting_thread_stays() {
    let mut world = World::reviewed();
    world.threads = vec![waiting_thread()];
    world.scope = SpendScope::Nothing(SkipReason::fork("@bot"));
    let agenda = world.decide();
    assert!(matches!(agenda.task, Task::Conclude(_)));
    assert!(agenda.judge.is_empty());
}

#[test]
fn a_fork_s_new_head_waits_for_a_mention_even_if_its_change_was_reviewed_elsewhere() {
    let mut world = World::new();
    world.scope = SpendScope::Nothing(SkipReason::fork("@bot"));
    world.from_fork = true;
    assert!(matches!(world.decide().task, Task::Skip(_)));
    world.same_change = World::reviewed().on_head.pop().map(|one| one.record);
    assert!(matches!(world.decide().task, Task::Skip(_)));
    world.scope = SpendScope::Everything;
    assert!(matches!(world.decide().task, Task::Conclude(_)));
}

#[test]
fn a_command_to_review_again_is_obeyed_once_and_shows_everything() {
    let agenda = World::reviewed().asking(Command::ReviewFull).decide();
    assert!(reviews(&agenda) && !agenda.only_new);
    let again = World::new().with_record(|record| record.asked = Some(70));
    let agenda = again.asking(Command::ReviewFull).decide();
    assert!(matches!(agenda.task, Task::Conclude(_)));
}

#[test]
fn who_asks_for_a_review_that_was_made_is_told_how_the_head_stands() {
    let agenda = World::reviewed().asking(Command::Review).decide();
    assert!(matches!(agenda.task, Task::Conclude(_)) && agenda.tells_state);
    let agenda = World::new().asking(Command::Review).decide();
    assert!(reviews(&agenda) && !agenda.tells_state);
}

#[test]
fn a_question_in_a_thread_that_turn_0_judges_gets_its_reply_there() {
    let mut world = World::reviewed();
    world.threads = vec![waiting_thread()];
    world.inquiries.in_thread = Some(question(Some(CommentId(55))));
    assert!(world.decide().questions.is_empty());
    world.threads = vec![fixture::thread()];
    assert_eq!(world.decide().questions.len(), 1);
}

#[test]
fn a_question_about_a_draft_is_answered_without_a_review() {
    let mut world = World::new().asking(Command::Question("why?".into()));
    world.draft = true;
    world.inquiries.questions = vec![question(None)];
    let agenda = world.decide();
    assert!(matches!(agenda.task, Task::Skip(_)));
    assert!(agenda.posts() && !agenda.waits);
}

#[test]
fn without_a_key_only_what_needs_no_model_is_concluded() {
    let mut world = World::new();
    world.obstacle = Some(ModelObstacle::NoKey(SkipReason::ForkWithoutSecrets {
        mention: "@bot".into(),
    }));
    assert!(matches!(world.decide().task, Task::Skip(_)));
    world.required = 0;
    assert!(matches!(world.decide().task, Task::Conclude(_)));
    let world = world.asking(Command::Help);
    assert!(matches!(world.decide().task, Task::Conclude(_)));
}

#[test]
fn a_gate_whose_settings_cannot_be_read_fails_unless_there_is_nothing_to_judge() {
    let mut world = World::reviewed();
    world.obstacle = Some(ModelObstacle::Settings("The file cannot be read.".into()));
    let failed = Task::Fail("The file cannot be read.".into());
    assert_eq!(world.decide().task, failed);
    world.files = 0;
    assert!(matches!(world.decide().task, Task::Skip(_)));
    let mut draft = World::new().asking(Command::Question("why?".into()));
    (draft.obstacle, draft.draft) = (world.obstacle, true);
    assert_eq!(draft.decide().task, failed, "a question changes nothing");
}

fn incomplete() -> World {
    World::new().with_record(|record| {
        record.passes = vec![1, 2];
        record.ended = Some("The time ran out.".into());
    })
}

#[test]
fn a_person_with_write_access_accepts_what_was_not_done() {
    let after = "2026-11-01T10:00:01Z";
    let agenda = incomplete().accepting(true, after).decide();
    let Task::Conclude(record) = &agenda.task else {
        panic!("{:?}", agenda.task);
    };
    let accepted = record.accepted.as_ref().unwrap();
    assert_eq!((accepted.by.as_str(), accepted.comment), ("dev", 70));
    assert!(agenda.waits && agenda.tells_state && !agenda.posts());
}

#[test]
fn nothing_is_accepted_that_nobody_could_see_or_that_is_still_to_be_posted() {
    let (before, after) = ("2026-11-01T09:59:59Z", "2026-11-01T10:00:01Z");
    let why = |world: World| match world.decide().task {
        Task::Decline(why) => why,
        other => panic!("{other:?}"),
    };
    let login = Login::new("dev");
    assert_eq!(
        why(incomplete().accepting(false, after)),
        NotAccepted::NoWriteAccess(login)
    );
    assert_eq!(
        why(World::new().accepting(true, after)),
        NotAccepted::NothingReviewed
    );
    assert_eq!(
        why(World::reviewed().accepting(true, after)),
        NotAccepted::NothingToAccept
    );
    assert_eq!(
        why(incomplete().accepting(true, before)),
        NotAccepted::ConcludedSince
    );
    let unsent = World::new().with_record(|record| {
        record.ended = Some("The time ran out.".into());
        record.unsent = 1;
    });
    assert_eq!(
        why(unsent.accepting(true, after)),
        NotAccepted::FindingsToPost
    );
}

#[test]
fn a_listed_finding_whose_comment_is_gone_counts_for_the_head() {
    let id = "0123456789abcdef";
    let mut world = World::new().with_record(|record| {
        record.findings = vec![Listed {
            id: id.into(),
            score: 9,
        }];
    });
    let agenda = world.decide();
    assert_eq!(agenda.missed(&world.head), [score(9)]);
    assert_eq!(agenda.warnings.len(), 1);
    world.threads = vec![Thread {
        finding_id: Some(id.parse().unwrap()),
        status: Status::Pending,
        assessment: Assessment {
            score: score(9),
            ..fixture::thread().assessment
        },
        ..fixture::thread()
    }];
    assert!(world.decide().lost.is_empty());
}

fn any_command() -> impl Strategy<Value = Option<Command>> {
    prop_oneof![
        Just(None),
        Just(Some(Command::Review)),
        Just(Some(Command::ReviewFull)),
        Just(Some(Command::Help)),
        Just(Some(Command::Accept)),
        Just(Some(Command::Question("why?".into()))),
        Just(Some(Command::Dismiss(None))),
    ]
}

proptest! {
    /// Whoever asks for whatever: without a right to spend, no model is asked.
    #[test]
    fn nobody_who_may_not_spend_gets_a_session(
        command in any_command(),
        reviewed: bool, from_fork: bool, draft: bool, waiting: bool, asks: bool,
    ) {
        let mut world = if reviewed { World::reviewed() } else { World::new() };
        world.scope = SpendScope::Nothing(SkipReason::fork("@bot"));
        (world.from_fork, world.draft) = (from_fork, draft);
        world.threads = waiting.then(waiting_thread).into_iter().collect();
        // What may not be asked is not gathered.
        world.inquiries.reply_to = asks.then_some(ReplyTo { comment: CommentId(70), root: None, seq: 0 });
        world.request = command.map(|command| Request { comment: CommentId(70), command });
        let agenda = world.decide();
        prop_assert!(!matches!(agenda.task, Task::Session { .. }), "{:?}", agenda.task);
        prop_assert!(agenda.judge.is_empty());
    }

    /// A head is concluded without a model only from a record of it, or where nothing of it has to be shown.
    #[test]
    fn no_head_is_concluded_without_a_record(
        command in any_command(), required in 0_usize..2, from_fork: bool, draft: bool, key: bool,
    ) {
        let mut world = World::new();
        (world.required, world.from_fork, world.draft) = (required, from_fork, draft);
        let reason = SkipReason::ForkWithoutSecrets { mention: "@bot".into() };
        world.obstacle = (!key).then_some(ModelObstacle::NoKey(reason));
        world.request = command.map(|command| Request { comment: CommentId(70), command });
        if matches!(world.decide().task, Task::Conclude(_)) {
            prop_assert_eq!(required, 0);
        }
    }
}

#[test]
fn what_an_earlier_run_could_not_post_is_posted_without_a_review() {
    let undelivered = Undelivered::from(&fixture::finding());
    let world = World::new().with_record(|record| record.undelivered = vec![undelivered]);
    let agenda = world.decide();
    assert!(matches!(agenda.task, Task::Session { covered: Some(_) }));
    assert_eq!(agenda.backlog.findings.len(), 1);
}

#[test]
fn without_a_session_a_head_is_concluded_from_its_record_or_left_alone() {
    let head: CommitSha = "a".repeat(40).parse().unwrap();
    let record = || Box::new(Record::default());
    let agenda = |task| Agenda {
        task,
        judge: vec![CommentId(1)],
        judge_later: 1,
        questions: Vec::new(),
        reply_to: None,
        only_new: true,
        tells_state: true,
        backlog: Backlog::default(),
        lost: Vec::new(),
        warnings: Vec::new(),
        waits: true,
    };
    let covered = Some(record());
    let concluded = agenda(Task::Session { covered }).without_session(&head);
    assert_eq!(concluded.task, Task::Conclude(record()));
    assert_eq!((concluded.judge.len(), concluded.judge_later), (0, 0));
    assert!(!concluded.tells_state && !concluded.posts());
    let unknown = agenda(Task::Session { covered: None }).without_session(&head);
    let Task::Skip(why) = unknown.task else {
        panic!("{:?}", unknown.task);
    };
    assert!(
        why.starts_with("Nothing was fixed: aaaaaaa is not reviewed"),
        "{why}"
    );
    let failed = agenda(Task::Fail("The file is no YAML.".into())).without_session(&head);
    assert_eq!(failed.task, Task::Skip("The file is no YAML.".into()));
    let ordered = |task| agenda(task).ordered(&head, Record::default()).task;
    let unreviewed = ordered(Task::Session { covered: None });
    assert_eq!(unreviewed, Task::Conclude(Box::default()));
    let covered = Some(record());
    assert_eq!(ordered(Task::Session { covered }), Task::Conclude(record()));
    let skipped = Task::Skip("A draft.".into());
    assert_eq!(ordered(skipped.clone()), skipped);
}
