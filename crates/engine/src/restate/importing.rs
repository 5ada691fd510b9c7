//! A file as a store in Restate. An import answers the server's calls, so that handlers put everything in its place. They step
//! nothing and send nothing: what is due waits for the first process of the service.

use super::address::Address;
use super::client::{Call, Client};
use super::endpoint::{Bound, Others};
use super::objects::{Effects, Pull};
use super::office::Office;
use super::registration::{Handlers, query, register};
use super::registry::{AGENTS, ALL, CELLS, IMPORT, Registry, STORE, TOKENS, random};
use super::steps::Steps;
use super::wire::{
    CellRow, Change, Delivery, ImportRow, KEPT, Kept, Order, PENDING, PULL, Pending, REGISTRY,
    Record, Restored, Row, Stepped, StoreRow, Taken, Work,
};
use crate::archive::wire::{
    CellLine, DeliveryLine, EffectLine, InputLine, LifeLine, Line, TimerLine,
};
use crate::archive::{Moved, Reader};
use crate::error::{EngineError, Result};
use crate::limits::Limits;
use crate::restate_error::RestateError;
use futures_util::future::try_join_all;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Lines that are sent at the same time.
const AT_ONCE: usize = 32;
/// Inputs that are sent with one call, because the server bounds the size of a call.
const RECORDS: usize = 50;

/// Steps nothing.
#[derive(Debug)]
struct Waiting {
    store: String,
}

impl Waiting {
    fn error(&self) -> EngineError {
        EngineError::HalfImported {
            store: self.store.clone(),
        }
    }
}

impl Steps for Waiting {
    fn step(&self, _key: &str, _kept: Option<&Kept>, _delivery: &Delivery) -> Result<Stepped> {
        Err(self.error())
    }

    fn failed(&self, _key: &str, _order: &Order, _error: &str) -> Result<Value> {
        Err(self.error())
    }
}

/// Puts all of a file into an empty store. What was cut off is repeated with the same file: the server recognises each call.
pub(crate) async fn import(store: &str, file: &mut Reader<'_>) -> Result<Moved> {
    let client = Client::new(Address::parse(store)?)?;
    check_empty(&client, &file.sha256).await?;
    let bound = Bound::new(&client.address, Others::Nobody)?;
    let bound = bound.ok_or_else(|| RestateError::BadAddress {
        store: client.address.ingress.clone(),
        why: "it has listen=none, and the server has to reach an import".to_owned(),
    })?;
    let steps: Arc<dyn Steps> = Arc::new(Waiting {
        store: client.address.ingress.clone(),
    });
    let limits = Limits::default();
    let office = Office::new(random()?, limits, Arc::clone(&steps), client.clone());
    let handlers = Handlers {
        service: Some((
            Pull { steps },
            Effects {
                office: Arc::new(office),
            },
        )),
        limits: &limits,
        identity: client.address.identity.as_deref(),
    };
    let built = handlers.build()?;
    let endpoint = bound.serve(built.endpoint);
    register(&client, &client.address.advertise, &built.manifest).await?;
    let filled = Filling {
        client: &client,
        file: file.sha256.clone(),
    };
    let filled = filled.fill(file).await;
    endpoint.close().await;
    filled?;
    Ok(file.moved())
}

/// Refuses a store with anything in it, unless a part of this file is.
async fn check_empty(client: &Client, sha256: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Found {
        found: i64,
    }
    let begun = Registry::of(client.clone()).import().await?;
    if let Some(import) = begun.filter(|import| !import.whole) {
        return if import.file == sha256 {
            Ok(())
        } else {
            Err(EngineError::HalfImported {
                store: client.address.ingress.clone(),
            })
        };
    }
    let mut has = Vec::new();
    for (condition, words) in [
        (
            format!("service_name = '{PULL}' AND key = '{KEPT}'"),
            "pull requests",
        ),
        (
            format!("service_name = '{REGISTRY}' AND starts_with(key, '{AGENTS}')"),
            "agents",
        ),
        (
            format!("service_name = '{REGISTRY}' AND starts_with(key, '{TOKENS}')"),
            "API tokens",
        ),
        (
            format!("service_name = '{REGISTRY}' AND starts_with(key, '{CELLS}')"),
            "sessions",
        ),
    ] {
        let question = format!("SELECT COUNT(*) AS found FROM state WHERE {condition}");
        let counted: Vec<Found> = query(client, &question).await?;
        let found = counted.first().map_or(0, |counted| counted.found);
        if found > 0 {
            has.push(format!("{words}: {found}"));
        }
    }
    if has.is_empty() {
        return Ok(());
    }
    Err(EngineError::NotEmpty {
        store: client.address.ingress.clone(),
        has: has.join(", "),
    })
}

/// An import at work.
struct Filling<'a> {
    client: &'a Client,
    /// The hash of the file, by which the server recognises calls that are repeated.
    file: String,
}

impl Filling<'_> {
    async fn fill(&self, file: &mut Reader<'_>) -> Result<()> {
        let import = ImportRow {
            file: self.file.clone(),
            whole: false,
        };
        self.add(IMPORT.to_owned(), &import).await?;
        let mut number = 0;
        loop {
            let mut lines = Vec::new();
            while lines.len() < AT_ONCE
                && let Some(line) = file.next()?
            {
                lines.push((number, line));
                number += 1;
            }
            if lines.is_empty() {
                break;
            }
            let sent = lines
                .into_iter()
                .map(|(number, line)| self.put(number, line));
            try_join_all(sent).await?;
        }
        self.name(&file.head.store).await?;
        let change = Change {
            key: IMPORT.to_owned(),
            field: "whole".to_owned(),
            value: true.into(),
        };
        let _was_there: bool = self.registry("change", &self.id("end"), &change).await?;
        Ok(())
    }

    fn id(&self, part: &str) -> String {
        format!("import/{}/{part}", self.file)
    }

    async fn put(&self, number: u64, line: Line) -> Result<()> {
        match line {
            Line::Agent(agent) => self.add(format!("{AGENTS}{}", agent.name), &agent).await,
            Line::Token(token) => self.add(format!("{TOKENS}{}", token.name), &token).await,
            Line::Cell(CellLine {
                name,
                version,
                text,
            }) => {
                self.add(format!("{CELLS}{name}"), &CellRow { version, text })
                    .await
            }
            Line::Life(whole) => self.restore(number, *whole).await,
            Line::Delivery(delivery) => self.recognise(delivery).await,
        }
    }

    async fn add(&self, key: String, fields: &(impl Serialize + Sync)) -> Result<()> {
        let id = self.id(&key);
        let row = Row {
            key,
            fields: json!(fields),
        };
        let _is_new: bool = self.registry("add", &id, &row).await?;
        Ok(())
    }

    /// Gives the store the name of the one that was exported, also where it has one already.
    async fn name(&self, name: &str) -> Result<()> {
        let key = format!("{STORE}id");
        let id = self.id("name");
        let _was_there: bool = self.registry("remove", &id, &key).await?;
        let name = name.to_owned();
        self.add(key, &StoreRow { id: name }).await
    }

    async fn registry<T: DeserializeOwned>(
        &self,
        handler: &str,
        id: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T> {
        let call = Call {
            what: "an import",
            service: REGISTRY,
            key: ALL,
            handler,
            idempotency: Some(id),
            body: Some(body),
        };
        Ok(self.client.call(&call).await?)
    }

    async fn restore(&self, number: u64, life: LifeLine) -> Result<()> {
        let LifeLine {
            key,
            version,
            state,
            phase,
            changed,
            history,
            effects,
            timers,
        } = life;
        let first = history.first().map_or(version + 1, |input| input.n);
        let mut records = history.into_iter().map(record).peekable();
        let mut part = 0;
        while records.peek().is_some() {
            let records = records.by_ref().take(RECORDS).collect();
            self.part(&key, (number, part), records, None, Vec::new())
                .await?;
            part += 1;
        }
        let last_of = |slow: bool| {
            let lane = effects.iter().filter(|one| one.slow == slow);
            lane.map(|one| one.seq).max()
        };
        let (last_fast, last_slow) = (last_of(false), last_of(true));
        let pending = pending(effects, timers);
        let kept = Kept {
            version,
            state,
            phase,
            changed,
            last: pending.last().map(Pending::seq),
            last_fast,
            last_slow,
            first,
        };
        self.part(&key, (number, part), Vec::new(), Some(kept), pending)
            .await
    }

    async fn part(
        &self,
        key: &str,
        (number, part): (u64, u64),
        records: Vec<Record>,
        kept: Option<Kept>,
        pending: Vec<Pending>,
    ) -> Result<()> {
        let restored = Restored {
            records,
            kept,
            pending,
        };
        let id = self.id(&format!("{number}/{part}"));
        let call = Call {
            what: "an import",
            service: PULL,
            key,
            handler: "restore",
            idempotency: Some(&id),
            body: Some(&restored),
        };
        let _nothing: Value = self.client.call(&call).await?;
        Ok(())
    }

    /// Has the server note a delivery.
    async fn recognise(&self, delivery: DeliveryLine) -> Result<()> {
        let known = Delivery {
            id: delivery.id,
            input: Value::Null,
            caller: "import".to_owned(),
            known: true,
        };
        let call = Call {
            what: "an import",
            service: PULL,
            key: &delivery.key,
            handler: "deliver",
            idempotency: Some(&known.id),
            body: Some(&known),
        };
        let _taken: Taken = self.client.call(&call).await?;
        Ok(())
    }
}

fn record(input: InputLine) -> Record {
    Record {
        n: input.n,
        at: input.at,
        delivery: input.delivery,
        input: input.input,
        log: input.log,
        phase: input.phase,
    }
}

/// In the order of their numbers, because the server keeps the order of calls.
fn pending(effects: Vec<EffectLine>, timers: Vec<TimerLine>) -> Vec<Pending> {
    let effects = effects.into_iter().map(|one| Pending {
        at: one.created,
        work: Work::Effect(Order {
            seq: one.seq,
            slow: one.slow,
            effect: one.effect,
        }),
    });
    let timers = timers.into_iter().map(|one| Pending {
        at: one.created,
        work: Work::Timer {
            seq: one.seq,
            after_ms: u64::try_from(one.due.saturating_sub(one.created)).unwrap_or(0),
            input: one.input,
        },
    });
    let mut all: Vec<Pending> = effects.chain(timers).collect();
    all.sort_by_key(Pending::seq);
    all
}

/// Sends again what the lives of an import wait for. The first process of the service does so, and any other one may, too.
pub(super) async fn resume(client: &Client, now: i64) -> Result<()> {
    #[derive(Deserialize)]
    struct Key {
        service_key: String,
    }
    let question = format!(
        "SELECT DISTINCT service_key FROM state
         WHERE service_name = '{PULL}' AND starts_with(key, '{PENDING}') ORDER BY service_key"
    );
    let keys: Vec<Key> = query(client, &question).await?;
    for keys in keys.chunks(AT_ONCE) {
        let sent = keys.iter().map(|key| async move {
            let call = Call {
                what: "an import",
                service: PULL,
                key: &key.service_key,
                handler: "resume",
                idempotency: None,
                body: Some(&now),
            };
            client.call::<_, Value>(&call).await
        });
        try_join_all(sent).await?;
    }
    Ok(())
}
