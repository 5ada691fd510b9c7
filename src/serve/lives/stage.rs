//! The stage of a life: GitHub, the service on a store in a file, a virtual clock; and the death and the return of the service.

use super::github::GitHub;
use super::github::app::AppKey;
use super::github::webhooks::Webhooks;
use super::plan::{Crash, Plan};
use super::repository::{AGENTS, APP, FIXER, KEEPER, REPOSITORY, prepare, register, token};
use super::script::Script;
use super::watched::Watched;
use crate::serve::accounts::{Accounts, AgentAccount};
use crate::serve::reconcile::reconcile;
use crate::serve::running::Parts;
use crate::serve::service::Service;
use crate::serve::sessions::{Children, SessionId};
use crate::serve::world::SessionSettings;
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{Account, Agent, Policy, PullKey, State};
use reviewer_engine::Limits;
use reviewer_engine::clock::Clock as _;
use reviewer_engine::virtual_clock::VirtualClock;
use reviewer_github::{App, GitHub as Client};
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

const BEGIN_MS: i64 = 1_767_225_600_000;

/// By which sessions sign what they post.
pub(super) const STATE_KEY: &str = "a key that signs states, of 32 bytes";
/// Waits of clients are short.
fn haste() -> Clock {
    Clock::scaled(0.0001)
}

fn addresses(github: &GitHub) -> [String; 2] {
    ["v3", "graphql"].map(|name| format!("{}/api/{name}", github.url()))
}

fn client(github: &GitHub, token: &str) -> Client {
    let [api, graphql] = addresses(github);
    let client = Client::new(&api, &graphql, &SecretString::from(token), haste(), &[]);
    client.expect("a client")
}

/// The service that runs now.
struct Running {
    service: Arc<Service>,
    /// The engine's loop, once it runs.
    turns: Option<JoinHandle<()>>,
}

/// The memory of everybody but the service.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The heads of the pull request, in order.
    pub heads: Vec<String>,
    /// Dispatches, in the order of their first starts.
    pub dispatches: Vec<u64>,
    /// Dispatches by task, agent and head.
    pub attempts: HashMap<String, Vec<u64>>,
    pub sessions: HashMap<SessionId, JoinHandle<()>>,
    /// Events in the middle of sessions that have happened already.
    pub mids: HashSet<u64>,
    pub acts: u64,
    /// The life that is to go on after a close.
    pub reopens: bool,
    pub rounds: u64,
    /// Requests that faults of GitHub have struck.
    pub struck: usize,
    /// The heads of the base, in order.
    pub mains: Vec<String>,
    /// The tokens that sessions were given.
    pub secrets: Vec<String>,
    /// Webhooks that were lost, by their ids, as often as that happened.
    pub losses: HashMap<String, u32>,
}

pub(super) struct Stage {
    pub plan: Plan,
    pub github: GitHub,
    pub hooks: Webhooks,
    pub key: PullKey,
    pub clock: VirtualClock,
    pub folder: TempDir,
    client: Arc<Client>,
    app: Option<AppKey>,
    running: Mutex<Option<Running>>,
    /// Deaths of the service so far.
    pub epoch: watch::Sender<u64>,
    pub dies: Notify,
    dying: Mutex<Option<Crash>>,
    crashes: Mutex<Vec<Crash>>,
    effects: AtomicU64,
    memory: Mutex<Memory>,
    story: Mutex<Vec<String>>,
    calm: AtomicBool,
}

impl Stage {
    pub(super) fn set(plan: Plan) -> Arc<Self> {
        let github = GitHub::start(REPOSITORY);
        prepare(&github, &plan);
        let app = plan.story.app.then(|| register(&github));
        let hooks = Webhooks::new(&github, "http://127.0.0.1:9/webhook", "hook-secret");
        let client = client(&github, &token(KEEPER));
        let key = PullKey {
            repository: github.with(|state| state.repository.id),
            number: 1,
        };
        Arc::new(Self {
            client: Arc::new(client),
            app,
            hooks,
            key,
            clock: VirtualClock::new(BEGIN_MS),
            folder: TempDir::new().expect("a temporary folder"),
            running: Mutex::default(),
            epoch: watch::Sender::new(0),
            dies: Notify::new(),
            dying: Mutex::default(),
            crashes: Mutex::new(plan.crashes.clone()),
            effects: AtomicU64::new(0),
            memory: Mutex::default(),
            story: Mutex::default(),
            calm: AtomicBool::new(false),
            plan,
            github,
        })
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, line: impl AsRef<str>) {
        let ms = self.clock.now_ms() - BEGIN_MS;
        let line = format!(
            "{:>9.3}s {}",
            f64::from(i32::try_from(ms).unwrap_or(i32::MAX)) / 1e3,
            line.as_ref()
        );
        let mut story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        story.push(line);
    }

    pub(super) fn story(&self) -> String {
        let story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        story.join("\n")
    }

    pub(super) fn service(&self) -> Option<Arc<Service>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().map(|one| Arc::clone(&one.service))
    }

    pub(super) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    pub(super) fn effects(&self) -> u64 {
        self.effects.load(Ordering::Relaxed)
    }

    /// The account that comments, requests reviewers and merges.
    pub(super) fn keeper(&self) -> &'static str {
        if self.app.is_some() { APP } else { KEEPER }
    }

    pub(super) fn policy(&self) -> Policy {
        let is_app = self.app.is_some();
        let agents = AGENTS.map(|(name, login)| Agent {
            name: name.into(),
            login: (!is_app).then(|| Login::new(login)),
        });
        let login = Login::new(self.keeper());
        if is_app {
            return Policy {
                fixer: Some(FIXER.into()),
                ..Policy::new(agents.to_vec(), Account::App { login })
            };
        }
        Policy::new(agents.to_vec(), Account::Personal { login })
    }

    fn accounts(&self) -> Accounts {
        let Some(key) = &self.app else {
            let account = |(name, login): (&str, &str)| {
                let account = AgentAccount {
                    login: Login::new(login),
                    token: SecretString::from(token(login)),
                };
                (name.to_owned(), account)
            };
            return Accounts::Personal {
                agents: AGENTS.map(account).into(),
                account: Arc::clone(&self.client),
            };
        };
        let [api, graphql] = addresses(&self.github);
        let secret = SecretString::from(key.private_key.clone());
        let app = App::new(&api, &graphql, key.id, &secret, haste(), &[]);
        Accounts::App {
            app: Box::new(app.expect("an App")),
            redelivered: Mutex::default(),
        }
    }

    /// A client with the token of a session.
    pub(super) fn client_of(&self, token: &str) -> Client {
        client(&self.github, token)
    }

    pub(super) async fn state(&self) -> State {
        let Some(service) = self.service() else {
            return State::default();
        };
        let state = service.state(self.key).await.expect("the store answers");
        state.unwrap_or_default()
    }

    pub(super) fn parts(self: &Arc<Self>) -> Parts {
        let repositories = match self.app {
            Some(_) => Vec::new(),
            None => vec![REPOSITORY.parse().expect("a name")],
        };
        Parts {
            store: format!("sqlite:{}", self.folder.path().join("store").display()).into(),
            policy: self.policy(),
            limits: Limits {
                longest_sleep_ms: u64::MAX,
                purge_every_ms: 1_000_000_000_000,
                history: 100_000,
                ..Limits::default()
            },
            clock: Arc::new(self.clock.clone()),
            accounts: self.accounts(),
            login: Login::new(self.keeper()),
            settings: SessionSettings {
                url: "http://127.0.0.1:9".into(),
                inputs: BTreeMap::new(),
                state_keys: vec![STATE_KEY.into()],
                personas: HashMap::new(),
                mention: "@opencode-reviewer".into(),
            },
            quotas: self.plan.quotas,
            starter: Arc::new(Script(Arc::downgrade(self))),
            most_sessions: 16,
            repositories,
        }
    }

    pub(super) fn children(&self) -> Children {
        let (ended, _) = mpsc::unbounded_channel();
        let folder = self.folder.path();
        Children::new(folder, "/nowhere".into(), Vec::new(), "life".into(), ended)
    }

    /// Starts the service on what the store has.
    pub(super) async fn open(self: &Arc<Self>) {
        const LONGEST: u32 = 1_000;
        let mut attempts = 0;
        let service = loop {
            match Service::open(self.parts()).await {
                Ok(service) => break service,
                // The dead one has not let go of the file yet.
                Err(_) if attempts < LONGEST => tokio::time::sleep(Duration::from_millis(2)).await,
                Err(error) => panic!("the service does not open: {error}"),
            }
            attempts += 1;
        };
        self.end_sessions().await;
        let world = Arc::new(Watched {
            stage: Arc::downgrade(self),
            inner: Arc::clone(&service.world),
        });
        let turns = service.engine.run(world, std::future::pending());
        {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let service = Arc::clone(&service);
            *running = Some(Running {
                service,
                turns: None,
            });
        }
        service.recover(&self.children()).await.expect("a recovery");
        {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(running) = running.as_mut() {
                running.turns = Some(tokio::spawn(turns));
            }
        }
        self.reconcile().await;
    }

    /// Ends all sessions, as the kill of their processes does.
    async fn end_sessions(&self) {
        let sessions = std::mem::take(&mut self.memory().sessions);
        for (_, session) in sessions {
            session.abort();
            let _aborted = session.await;
        }
    }

    /// The end of the service that an effect asked for, and its return.
    pub(super) async fn restart(self: &Arc<Self>) {
        let crash = {
            let mut dying = self.dying.lock().unwrap_or_else(PoisonError::into_inner);
            dying.take()
        };
        let Some(crash) = crash else { return };
        self.stop().await;
        if !crash.orphans {
            self.end_sessions().await;
        }
        let back = self.clock.now_ms() + crash.down_ms;
        self.clock.sleep_until(back).await;
        self.tell("the service is back");
        self.open().await;
    }

    pub(super) async fn stop(&self) {
        let running = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.take()
        };
        self.epoch.send_modify(|deaths| *deaths += 1);
        if let Some(turns) = running.and_then(|running| running.turns) {
            turns.abort();
            let _aborted = turns.await;
        }
    }

    /// An effect begins: its number.
    pub(super) fn count(&self) -> u64 {
        self.effects.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Never returns if the service dies here.
    pub(super) async fn survive(&self, effect: u64, after: bool) {
        let here = {
            let mut crashes = self.crashes.lock().unwrap_or_else(PoisonError::into_inner);
            let is_here = |one: &Crash| one.at == effect && one.after == after;
            let found = crashes.iter().position(is_here);
            found.map(|index| crashes.remove(index))
        };
        let Some(crash) = here else { return };
        self.tell(format!("the service dies: {crash:?}"));
        *self.dying.lock().unwrap_or_else(PoisonError::into_inner) = Some(crash);
        self.dies.notify_one();
        std::future::pending::<()>().await;
    }

    pub(super) async fn reconcile(self: &Arc<Self>) {
        let Some(service) = self.service() else {
            return;
        };
        let round = {
            let mut memory = self.memory();
            memory.rounds += 1;
            memory.rounds.to_string()
        };
        match reconcile(&service, &round, false).await {
            Ok(done) if done.woken > 0 => self.tell("reconciled: woken"),
            Ok(_) => {}
            Err(error) => self.tell(format!("not reconciled: {error}")),
        }
    }

    /// From now on nothing goes wrong.
    pub(super) fn calm(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.memory().struck += self.github.struck().iter().sum::<usize>();
        let mut crashes = self.crashes.lock().unwrap_or_else(PoisonError::into_inner);
        crashes.clear();
    }

    /// Sleeps, but for deaths of the service.
    pub(super) async fn rest(self: &Arc<Self>, ms: i64) {
        let until = self.clock.now_ms() + ms;
        loop {
            tokio::select! {
                biased;
                () = self.dies.notified() => self.restart().await,
                () = self.clock.sleep_until(until) => return,
            }
        }
    }
}
