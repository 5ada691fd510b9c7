//! A service without GitHub: lives that are brought to their first review by hand.

use crate::serve::accounts::{Accounts, AgentAccount};
use crate::serve::machine::Lifecycle;
use crate::serve::running::Parts;
use crate::serve::sessions::{SessionId, Starter};
use crate::serve::world::SessionSettings;
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{
    Account, Agent, Effect, Facts, Input, MergeState, Mergeable, Policy, PullKey, PullState,
    Quotas, Settings, State,
};
use reviewer_engine::clock::SystemClock;
use reviewer_engine::{Engine, Limits};
use reviewer_github::GitHub;
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

pub(super) const REPOSITORY: u64 = 1;
const NAME: &str = "octo/shop";
const AGENT: &str = "quality";

/// The parts of a service whose store is a file of this folder.
pub(super) fn parts(folder: &Path, starter: Arc<dyn Starter>) -> Parts {
    let login = Login::new("octo-quality");
    let token = SecretString::from("github_pat_quality");
    let nowhere = "http://127.0.0.1:9";
    let account = GitHub::new(nowhere, nowhere, &token, Clock::scaled(1.0), &[]);
    let agent = AgentAccount {
        login: login.clone(),
        token,
    };
    let known = Agent {
        name: AGENT.into(),
        login: Some(login.clone()),
    };
    let own = Account::Personal {
        login: login.clone(),
    };
    Parts {
        store: format!("sqlite:{}", folder.join("store").display()).into(),
        policy: Policy::new(vec![known], own),
        limits: Limits::default(),
        quotas: Quotas::default(),
        clock: Arc::new(SystemClock::default()),
        accounts: Accounts::Personal {
            agents: HashMap::from([(AGENT.to_owned(), agent)]),
            account: Arc::new(account.expect("a client")),
        },
        login,
        settings: SessionSettings {
            url: nowhere.into(),
            inputs: BTreeMap::new(),
            state_keys: vec!["a key that signs states, of 32 bytes".into()],
            personas: HashMap::new(),
            mention: "@opencode-reviewer".into(),
        },
        starter,
        most_sessions: 100,
        repositories: vec![NAME.parse().expect("a name")],
    }
}

pub(super) fn key(number: u64) -> PullKey {
    PullKey {
        repository: REPOSITORY,
        number,
    }
}

fn facts(number: u64) -> Facts {
    Facts {
        repo: NAME.parse().expect("a name"),
        number,
        state: PullState::Open,
        draft: false,
        locked: false,
        head: "b".repeat(40).parse().expect("a commit"),
        head_branch: "feature".into(),
        from_fork: false,
        base: "main".into(),
        base_head: None,
        author: Some(Login::new("dev")),
        author_may_write: true,
        labels: Vec::new(),
        requested: Vec::new(),
        reviews: Vec::new(),
        last_push_by: None,
        resumes: Vec::new(),
        invitations: Vec::new(),
        mergeable: Mergeable::Mergeable,
        merge_state: MergeState::Clean,
        auto_merge_armed: false,
        in_merge_queue: false,
        settings: Settings::default(),
        updated_at: String::new(),
    }
}

pub(super) async fn state(engine: &Engine<Lifecycle>, number: u64) -> State {
    let status = engine.status(&key(number).to_string()).await;
    let status = status.expect("the store answers");
    status.map(|status| status.state).unwrap_or_default()
}

/// Brings a life to its review. Returns the session that it wants. A second time changes nothing.
pub(super) async fn reviewing(engine: &Engine<Lifecycle>, number: u64) -> (SessionId, Effect) {
    let key = key(number);
    let give = async |delivery: &str, input: Input| {
        let delivery = format!("{delivery}/{key}");
        let given = engine.deliver(&key.to_string(), &delivery, &input).await;
        given.expect("the store takes an input").state
    };
    let cause = "webhook pull_request".into();
    let woken = give("woken", Input::Woken { cause }).await;
    let probed = Input::Probed {
        probe: woken.probe.unwrap_or(1),
        facts: Box::new(facts(number)),
    };
    let state = give("probed", probed).await;
    let session = state.session.expect("a session is wanted");
    let dispatch = session.dispatch;
    let effect = Effect::Dispatch {
        dispatch,
        task: session.task,
        head: session.head,
        agent: session.agent,
        deadline_ms: 600_000,
        beyond_quota: false,
    };
    (SessionId { key, dispatch }, effect)
}
