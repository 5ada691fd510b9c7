//! A store with many pull requests, made by the engine itself and not by the service: nothing of it is measured.

#[path = "../../src/serve/machine.rs"]
mod machine;

use anyhow::{Context as _, Result};
use futures_util::future::try_join_all;
use machine::Lifecycle;
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{
    Account, Effect, Facts, Input, MergeState, Mergeable, Policy, PullKey, PullState, Settings,
};
use reviewer_engine::clock::SystemClock;
use reviewer_engine::{EffectError, EffectId, Engine, Limits, World};
use std::sync::Arc;
use std::time::Duration;

/// Deliveries at the same time.
const AT_ONCE: usize = 32;

/// A repository that only the store knows, by its id and its name.
pub const MANY: (u64, &str) = (4_711, "octo/many");

/// Puts pull requests `numbers` of `MANY` into a store, all of them drafts.
pub async fn fill(store: &str, numbers: std::ops::Range<u64>) -> Result<()> {
    let login = Login::new("quality-agent");
    let machine = Lifecycle {
        policy: Policy::new(Vec::new(), Account::Personal { login }),
        given_up: Arc::default(),
    };
    let clock = Arc::new(SystemClock::default());
    let engine = Arc::new(Engine::open(store, machine, Limits::default(), clock).await?);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let until_end = async move {
        let _ended = ended.await;
    };
    let running = tokio::spawn(engine.run(Arc::new(Drafts), until_end));
    let numbers: Vec<u64> = numbers.collect();
    for numbers in numbers.chunks(AT_ONCE) {
        try_join_all(numbers.iter().map(|number| wake(&engine, *number))).await?;
    }
    while engine.backlog().await?.effects > 0 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    drop(end);
    running.await?;
    Arc::into_inner(engine)
        .context("an engine in use")?
        .close()
        .await;
    Ok(())
}

async fn wake(engine: &Engine<Lifecycle>, number: u64) -> Result<()> {
    let key = PullKey {
        repository: MANY.0,
        number,
    };
    let cause = "filling".to_owned();
    let delivery = format!("filling-{number}");
    let woken = Input::Woken { cause };
    engine.deliver(&key.to_string(), &delivery, &woken).await?;
    Ok(())
}

/// A GitHub on which everything is a draft.
struct Drafts;

impl World<Lifecycle> for Drafts {
    async fn execute(&self, id: &EffectId, effect: Effect) -> Result<Option<Input>, EffectError> {
        let Effect::Probe = effect else {
            return Ok(None);
        };
        let number = id.key.rsplit('/').next().and_then(|text| text.parse().ok());
        let facts = draft(number.unwrap_or_default());
        let facts = facts.map_err(|error| EffectError::permanent(error.to_string()))?;
        Ok(Some(Input::Probed {
            probe: id.seq,
            facts: Box::new(facts),
        }))
    }
}

fn draft(number: u64) -> Result<Facts> {
    Ok(Facts {
        updated_at: String::new(),
        repo: MANY.1.parse()?,
        number,
        state: PullState::Open,
        draft: true,
        locked: false,
        head: format!("{number:040x}").parse()?,
        head_branch: format!("topic-{number}"),
        from_fork: false,
        author_may_write: true,
        invitations: Vec::new(),
        base: "main".to_owned(),
        base_head: None,
        author: Some(Login::new("dev")),
        labels: Vec::new(),
        requested: Vec::new(),
        reviews: Vec::new(),
        last_push_by: Some(Login::new("dev")),
        resumes: Vec::new(),
        mergeable: Mergeable::Mergeable,
        merge_state: MergeState::Draft,
        auto_merge_armed: false,
        in_merge_queue: false,
        settings: Settings::default(),
    })
}
