//! Several processes on one store, each with a starter that only writes down.

use super::fixture::{self, reviewing, state};
use super::*;
use crate::serve::service::Service;
use crate::serve::sessions::{Children, Ended, Launch, PendingOrder};
use reviewer_core::domain::ReviewDecision;
use reviewer_core::session_order::SessionOutcome;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::task::Poll;
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::watch;

/// The time after which a silent process is gone.
const LEASE: Duration = Duration::from_secs(3);

/// Writes down what is started and ended.
#[derive(Default)]
struct Paper(std::sync::Mutex<Written>);

#[derive(Default)]
struct Written {
    running: Vec<SessionId>,
    starts: Vec<SessionId>,
    orders: Vec<PendingOrder>,
}

impl Paper {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.lock().expect("nobody panics here")
    }

    fn starts(&self) -> Vec<SessionId> {
        self.written().starts.clone()
    }

    /// The token of the session that was started last.
    async fn token(&self) -> SecretString {
        let order = self.written().orders.pop().expect("a start");
        let ordered = order.await.expect("an order");
        SecretString::from(ordered.order.callback_token)
    }
}

impl Starter for Paper {
    fn start(&self, launch: Launch) {
        let mut written = self.written();
        written.running.push(launch.id.clone());
        written.starts.push(launch.id);
        written.orders.push(launch.order);
    }

    fn end(&self, id: &SessionId) {
        self.written().running.retain(|one| one != id);
    }

    fn running(&self) -> Vec<SessionId> {
        self.written().running.clone()
    }

    fn folder(&self, _id: &SessionId) -> PathBuf {
        PathBuf::new()
    }

    fn log(&self, _id: &SessionId) -> String {
        "its log".into()
    }
}

struct Place {
    service: Arc<Service>,
    /// The starter of the service.
    paper: Arc<Paper>,
    folder: TempDir,
}

impl Place {
    async fn new() -> Self {
        let (folder, paper) = (
            tempfile::tempdir().expect("a folder"),
            Arc::new(Paper::default()),
        );
        let parts = fixture::parts(folder.path(), Arc::clone(&paper) as _);
        let service = Service::open(parts).await.expect("a service");
        Self {
            service,
            paper,
            folder,
        }
    }

    /// Puts a session into the store that another version of the program wrote.
    async fn strange(&self) -> SessionId {
        let id = SessionId {
            key: fixture::key(2),
            dispatch: 7,
        };
        let (store, add) = (self.service.engine.store(), CellChange::Add("{}"));
        let added = store.change_cell(&cells::name(&id), add).await;
        assert!(added.expect("the store answers"));
        id
    }

    /// One of the processes that share the store.
    fn process(&self) -> (Claims, Arc<Paper>) {
        let (service, paper) = (&self.service, Arc::new(Paper::default()));
        let mut claims = Claims::new(
            &service.engine,
            service.world.claims.orders.clone(),
            Arc::clone(&paper) as _,
            Arc::clone(&service.clock),
            Arc::clone(&service.counters),
            100,
        );
        let workers = Workers::brief(LEASE);
        claims.patience = workers.patience();
        claims.workers = Mutex::new(workers);
        (claims, paper)
    }

    async fn wanted(&self, number: u64) -> (SessionId, Effect) {
        reviewing(&self.service.engine, number).await
    }
}

/// Works until it has been polled so often, and is dropped then. True: it was done before.
async fn cut_off(work: impl Future<Output = ()>, polls: usize) -> bool {
    let (mut work, mut left) = (pin!(work), polls);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        work.as_mut().poll(context).map(|()| true)
    })
    .await
}

fn approved(id: &SessionId) -> SessionMessage {
    SessionMessage {
        dispatch: id.dispatch,
        event: SessionEvent::Finished {
            result: SessionOutcome::Reviewed {
                decision: ReviewDecision::Approved,
                comment: "Fine.".into(),
                escalations: Vec::new(),
            },
            cost: SessionCost {
                cost_usd: 0.5,
                tokens: 7,
            },
        },
    }
}

/// Looks until the process has started the session.
async fn takes(claims: &Claims, paper: &Paper, id: &SessionId) {
    while !paper.starts().contains(id) {
        claims.look().await;
        tokio::time::sleep(LEASE / 100).await;
    }
}

#[tokio::test]
async fn a_session_whose_start_was_cut_off_anywhere_starts_with_the_next_look() {
    let place = Place::new().await;
    let (claims, paper) = place.process();
    for polls in 1.. {
        let (id, effect) = place.wanted(polls).await;
        let text = json(&Session {
            effect,
            author: None,
            asked: 0,
            starts: 0,
            claim: None,
        });
        let add = CellChange::Add(&text);
        let added = place.service.engine.store();
        let added = added.change_cell(&cells::name(&id), add).await;
        assert!(added.expect("the store answers"));
        let polls = usize::try_from(polls).expect("a few");
        let is_done = cut_off(Box::pin(claims.look()), polls).await;
        claims.look().await;
        let starts = paper.starts().into_iter().filter(|one| *one == id);
        assert_eq!(starts.count(), 1, "cut off after {polls} polls");
        if is_done {
            assert!(polls > 5, "{polls}");
            return;
        }
    }
}

#[tokio::test]
async fn a_process_that_does_not_reach_the_store_ends_its_sessions_before_another_one_has_them() {
    let place = Place::new().await;
    let ((first, first_paper), (second, second_paper)) = (place.process(), place.process());
    let (id, effect) = place.wanted(1).await;
    first.want(&id, &effect).await.expect("the store answers");
    assert!(first_paper.running().contains(&id));
    // A look that the store does not answer.
    let waiting = first.workers.lock().await;
    let (_end, ended) = watch::channel(false);
    tokio::select! {
        () = first.work(ended) => panic!("nobody ended it"),
        () = first.guard() => panic!("it does not end"),
        () = takes(&second, &second_paper, &id) => {}
    }
    assert_eq!(first_paper.running(), []);
    drop(waiting);
    first.dropped(&id).await;
    assert_eq!(first_paper.starts().len(), 1, "it is the other's now");
}

#[tokio::test]
async fn sessions_that_were_ended_for_want_of_the_store_begin_again_and_such_ends_do_not_count() {
    let place = Place::new().await;
    let (claims, paper) = place.process();
    let (id, effect) = place.wanted(1).await;
    claims.want(&id, &effect).await.expect("the store answers");
    for times in 2..6 {
        paper.end(&id);
        claims.look().await;
        assert_eq!(paper.running(), [], "its end is not heard of yet");
        claims.dropped(&id).await;
        assert_eq!(paper.starts().len(), times);
    }
    let session = state(&place.service.engine, 1).await.session;
    assert_eq!(session.expect("a session").failures, 0);
}

#[tokio::test]
async fn a_session_that_its_process_has_ended_without_a_word_begins_again_there() {
    let place = Place::new().await;
    let (id, effect) = place.wanted(1).await;
    let claims = &place.service.world.claims;
    claims.want(&id, &effect).await.expect("the store answers");
    assert_eq!(place.paper.starts().len(), 1);
    // As the guard does, once the store was not reached for long.
    place.paper.end(&id);
    let ended = Ended { id, said: None };
    let taken = place.service.take_end(ended).await;
    taken.expect("the store answers");
    assert_eq!(place.paper.starts().len(), 2, "it is still wanted");
}

#[tokio::test]
async fn a_session_of_another_version_holds_up_no_other() {
    let place = Place::new().await;
    let (claims, paper) = place.process();
    let (id, effect) = place.wanted(1).await;
    let strange = place.strange().await;
    claims.want(&id, &effect).await.expect("the store answers");
    assert_eq!(paper.starts(), [id]);
    assert_eq!(claims.count().await.expect("the store answers"), 2);
    let accounts = claims.accounts(strange.key).await;
    assert_eq!(accounts.expect("the store answers"), []);
}

#[tokio::test]
async fn the_end_of_a_session_that_the_store_does_not_take_holds_up_no_other() {
    let place = Place::new().await;
    let (id, effect) = place.wanted(1).await;
    let claims = &place.service.world.claims;
    claims.want(&id, &effect).await.expect("the store answers");
    let strange = place.strange().await;
    let (ended, ends) = unbounded_channel();
    let folder = place.folder.path();
    let children = Children::new(
        folder,
        PathBuf::new(),
        Vec::new(),
        "s".into(),
        ended.clone(),
    );
    let children = Arc::new(children);
    let taking = Arc::clone(&place.service).take_ends(children, ends);
    for id in [strange, id] {
        let said = Some(Ok(approved(&id)));
        ended.send(Ended { id, said }).expect("somebody listens");
    }
    let told = async {
        while state(&place.service.engine, 1).await.outcomes.is_empty() {
            tokio::time::sleep(LEASE / 100).await;
        }
    };
    tokio::select! {
        () = taking => panic!("more may end"),
        told = tokio::time::timeout(LEASE * 20, told) => told.expect("its end is told"),
    }
}

#[tokio::test]
async fn a_report_is_believed_of_the_process_that_has_the_session() {
    let place = Place::new().await;
    let ((first, first_paper), (second, second_paper)) = (place.process(), place.process());
    let (id, effect) = place.wanted(1).await;
    let remembered = place.service.remember().await;
    remembered.expect("the store answers");
    first.want(&id, &effect).await.expect("the store answers");
    let old = first_paper.token().await;
    let knows = async |token: &SecretString| {
        let known = first.knows(&id, token).await;
        known.expect("the store answers")
    };
    assert!(knows(&old).await);
    takes(&second, &second_paper, &id).await;
    let new = second_paper.token().await;
    assert!(!knows(&old).await && knows(&new).await);
}

#[tokio::test]
async fn a_failure_counts_only_of_the_process_that_has_the_session() {
    let place = Place::new().await;
    let ((first, _), (second, second_paper)) = (place.process(), place.process());
    let (id, effect) = place.wanted(1).await;
    first.want(&id, &effect).await.expect("the store answers");
    takes(&second, &second_paper, &id).await;
    let lost = Err("The session lost GitHub.".to_owned());
    first.ended(&id, lost).await.expect("the store answers");
    second.look().await;
    assert!(second_paper.running().contains(&id));
    let session = state(&place.service.engine, 1).await.session;
    assert_eq!(session.expect("a session").failures, 0);
    // A success counts of whoever had it.
    let said = Ok(approved(&id));
    first.ended(&id, said).await.expect("the store answers");
    second.look().await;
    assert_eq!(second_paper.running(), []);
    let outcomes = state(&place.service.engine, 1).await.outcomes;
    assert_eq!(outcomes.len(), 1, "{outcomes:#?}");
}

#[tokio::test]
async fn a_session_that_is_ending_is_told_once() {
    let place = Place::new().await;
    let (claims, _paper) = place.process();
    let (id, effect) = place.wanted(1).await;
    claims.want(&id, &effect).await.expect("the store answers");
    let told = async || {
        let accounts = claims.accounts(id.key).await;
        accounts.expect("the store answers")
    };
    let account = told().await.remove(0);
    assert_eq!(account.ended, None);
    let account = SessionAccount {
        ended: Some(9),
        ..account
    };
    // The process dies before the session's cell is gone.
    let kept = cells::keep(place.service.engine.store(), id.key, &account).await;
    kept.expect("the store answers");
    assert_eq!(told().await, [account]);
}
