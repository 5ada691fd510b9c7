//! The engine on a Restate server, for services that outgrow one machine. The server keeps states, calls and timers, repeats
//! what a crash cut off, and lets one call per key write at a time; this driver only puts the machine and the world into the
//! handlers that it calls.
//!
//! | promise of the engine | by what it is kept |
//! | --- | --- |
//! | one commit per delivery | an exclusive handler of an object per key; its journal is the commit |
//! | a delivery once | the delivery's id is the idempotency key of the call |
//! | effects in order, one at a time per key | a second object per key, see `objects.rs` |
//! | timers | delayed calls |
//! | a flood delays nobody else | few effects wait in a process; the others wait in the server until they are woken, without a connection |
//! | attempts and waits | a loop in the handler, each attempt two entries of the journal |
//! | states never wait for writers | a shared handler |
//! | export and import | what waits is a value of its key's object, too, until it has ended |
//!
//! Ids of deliveries are unique within a key here, within the store on the other engines. The history of a key is part of its
//! object, so it is shortened with each step, and nothing is left to purge. The server's ingress has no authentication:
//! whoever reaches it can write to the store. States and journals lie in the server in the clear, and have no secret.

mod address;
mod client;
mod endpoint;
mod exporting;
mod gate;
mod importing;
mod lane_queue;
mod lists;
mod objects;
mod office;
mod overview;
mod registration;
mod registry;
mod rows;
mod steps;
mod wire;

use crate::clock::Clock;
use crate::delivery::{outside, parse};
use crate::engine::Answer;
use crate::error::{EngineError, Result};
use crate::limits::Limits;
use crate::machine::{Machine, World};
use crate::overview::{Recent, Waiting};
use crate::queue::Backlog;
use crate::records::{Entry, Filter, Listed, Status};
use crate::session::Counts;
use client::{Call, Client};
use endpoint::{Bound, Endpoint, Others};
use objects::{Effects, Pull};
use office::Office;
use registration::{Handlers, drain, register};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use steps::{Acting, Stepper, json};
use wire::{Delivery, Kept, PULL, Page, Record, Taken};

pub(crate) use address::Address;
pub(crate) use exporting::export;
pub(crate) use importing::import;
pub(crate) use registry::Registry;

/// Inputs that are read with one call.
const PAGE: i64 = 100;

/// A machine whose states are kept by a Restate server.
pub(crate) struct Restate<M: Machine> {
    machine: Arc<M>,
    client: Client,
    limits: Limits,
    clock: Arc<dyn Clock>,
    office: Arc<Office>,
    endpoint: Option<Endpoint>,
    /// Of this process.
    deployment: Option<String>,
    accepted: AtomicU64,
}

impl<M: Machine> fmt::Debug for Restate<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restate")
            .field("address", &self.client.address)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> Restate<M> {
    /// Listens for the server and registers this process, unless the store says `listen=none`. Inputs are stepped from now
    /// on, effects are executed once `run` has a world.
    pub(crate) async fn open(
        store: &str,
        machine: M,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let client = Client::new(Address::parse(store)?)?;
        if !client.address.is_local() {
            tracing::warn!(
                "the Restate server at {} asks nobody for a password; only this service may reach its ports",
                client.address.ingress
            );
        }
        let import = Registry::of(client.clone()).import().await?;
        if import.as_ref().is_some_and(|import| !import.whole) {
            let store = client.address.ingress.clone();
            return Err(EngineError::HalfImported { store });
        }
        let machine = Arc::new(machine);
        let stepper = Arc::new(Stepper {
            machine: Arc::clone(&machine),
            limits,
            clock: Arc::clone(&clock),
        });
        let process = registry::random()?;
        let office = Office::new(process, limits, Arc::clone(&stepper) as _, client.clone());
        let mut engine = Self {
            machine,
            limits,
            clock,
            office: Arc::new(office),
            endpoint: None,
            deployment: None,
            accepted: AtomicU64::new(0),
            client,
        };
        if let Some(bound) = Bound::new(&engine.client.address, Others::Workers)? {
            let clock = Arc::clone(&stepper.clock);
            engine.listen(bound, stepper).await?;
            if import.is_some() {
                importing::resume(&engine.client, clock.now_ms()).await?;
                engine.registry().forget_import().await?;
            }
        }
        Ok(engine)
    }

    async fn listen(&mut self, bound: Bound, stepper: Arc<Stepper<M>>) -> Result<()> {
        let client = &self.client;
        let pull = Pull { steps: stepper };
        let effects = Effects {
            office: Arc::clone(&self.office),
        };
        let handlers = Handlers {
            service: Some((pull, effects)),
            limits: &self.limits,
            identity: client.address.identity.as_deref(),
        };
        let (address, built) = (bound.address, handlers.build()?);
        self.endpoint = Some(bound.serve(built.endpoint));
        let advertise = &client.address.advertise;
        let deployment = register(client, advertise, &built.manifest).await?;
        drain(client, &deployment).await?;
        tracing::info!("the Restate server calls this process on {address}");
        self.deployment = Some(deployment);
        Ok(())
    }

    pub(crate) async fn deliver(
        &self,
        key: &str,
        delivery: &str,
        input: &M::Input,
    ) -> Result<Answer<M::State>> {
        let id = outside(delivery);
        let delivery = Delivery {
            id: id.clone(),
            input: json(key, input)?,
            caller: registry::random()?,
            known: false,
        };
        let taken: Taken = self
            .pull(key, "deliver", Some(&id), Some(&delivery))
            .await?;
        if taken.caller == delivery.caller {
            self.accepted.fetch_add(1, Ordering::Relaxed);
            return Ok(Answer {
                duplicate: false,
                state: steps::parse("the state", key, taken.state)?,
            });
        }
        let status = self.status(key).await?;
        Ok(Answer {
            duplicate: true,
            state: status.map(|status| status.state).unwrap_or_default(),
        })
    }

    pub(crate) async fn status(&self, key: &str) -> Result<Option<Status<M::State>>> {
        let kept: Option<Kept> = self.pull(key, "status", None, None::<&()>).await?;
        kept.map(|kept| status::<M>(key, kept)).transpose()
    }

    pub(crate) async fn history(&self, key: &str, most: u32) -> Result<Vec<Entry>> {
        self.last_inputs(key, most, self.limits.history_bytes).await
    }

    /// The last inputs of a key, the oldest first: at most so many, and of so many bytes but for the last one.
    async fn last_inputs(&self, key: &str, most: u32, bytes: u64) -> Result<Vec<Entry>> {
        let mut entries = VecDeque::new();
        let (mut last, mut left, mut later) = (i64::MAX, i64::from(most), 0);
        while left > 0 {
            let page = Page {
                last,
                most: left.min(PAGE),
            };
            let records: Vec<Record> = self.pull(key, "history", None, Some(&page)).await?;
            let Some(first) = records.first() else { break };
            last = first.n - 1;
            left -= page.most;
            for entry in records.into_iter().rev().map(entry) {
                if later >= bytes {
                    return Ok(entries.into());
                }
                later = later.saturating_add(entry.input.len() as u64);
                entries.push_front(entry);
            }
        }
        Ok(entries.into())
    }

    pub(crate) async fn replay(&self, key: &str) -> Result<Option<M::State>> {
        let entries = self.last_inputs(key, u32::MAX, u64::MAX).await?;
        if entries.first().is_none_or(|first| first.n != 1) {
            return Ok(None);
        }
        let mut state = M::State::default();
        for entry in entries {
            let input = parse("an input", key, &entry.input)?;
            state = self.machine.step(&state, &input, entry.at).state;
        }
        Ok(Some(state))
    }

    pub(crate) async fn list(&self, filter: &Filter) -> Result<Vec<Listed>> {
        Ok(lists::list(&self.client, filter).await?)
    }

    pub(crate) async fn phases(&self) -> Result<Vec<(String, u64)>> {
        Ok(lists::phases(&self.client).await?)
    }

    pub(crate) async fn recent(&self, wanted: &Recent) -> Result<Vec<Listed>> {
        Ok(overview::recent(&self.client, wanted).await?)
    }

    pub(crate) async fn states(&self, keys: &[String]) -> Result<Vec<(String, Status<M::State>)>> {
        let kept = overview::states(&self.client, keys).await?.into_iter();
        let read = kept.map(|(key, kept)| Ok((key.clone(), status::<M>(&key, kept)?)));
        read.collect()
    }

    pub(crate) async fn waiting(&self, key: &str, most: u32) -> Result<Vec<Waiting>> {
        Ok(overview::waiting(&self.client, key, most).await?)
    }

    /// Requests to the server, and deliveries of this process that it took.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            statements: self.client.requests(),
            commits: self.accepted.load(Ordering::Relaxed),
        }
    }

    pub(crate) async fn backlog(&self) -> Result<Backlog> {
        Ok(lists::backlog(&self.client).await?)
    }

    /// Removes earlier versions that have nothing left to do. Old deliveries and inputs are the server's business.
    pub(crate) async fn purge(&self) -> Result<u64> {
        if let Some(deployment) = &self.deployment {
            drain(&self.client, deployment).await?;
        }
        Ok(0)
    }

    /// An input after the two questions leads to another version, and nothing waits for a key without one.
    pub(crate) async fn forget(&self, key: &str, seen: i64) -> Result<bool> {
        let status = self.status(key).await?;
        let known = i64::try_from(self.limits.inbox_ms).unwrap_or(i64::MAX);
        let oldest = self.clock.now_ms().saturating_sub(known);
        if status.is_none_or(|status| status.version != seen || status.changed >= oldest) {
            return Ok(false);
        }
        if lists::waits(&self.client, key).await? {
            return Ok(false);
        }
        self.pull(key, "forget", None, Some(&seen)).await
    }

    /// The agents and tokens, answered by this process.
    pub(crate) fn registry(&self) -> Registry {
        Registry::of(self.client.clone())
    }

    /// Executes effects until `shutdown` ends, and then gives those that run the grace of the limits.
    pub(crate) async fn run<W: World<M>>(
        &self,
        world: Arc<W>,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let acts = Acting {
            world,
            machine: PhantomData::<fn() -> M>,
        };
        let working = self.office.work(Arc::new(acts), shutdown);
        tokio::select! {
            () = working => {}
            () = self.tidy() => {}
        }
    }

    async fn tidy(&self) {
        let every = Duration::from_millis(self.limits.purge_every_ms);
        loop {
            tokio::time::sleep(every).await;
            if let Err(error) = self.purge().await {
                tracing::warn!("earlier versions were not removed: {error}");
            }
        }
    }

    /// Answers the server no more. It calls another process, or this one's successor.
    pub(crate) async fn close(&self) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.close().await;
        }
    }

    async fn pull<A: DeserializeOwned>(
        &self,
        key: &str,
        handler: &str,
        idempotency: Option<&str>,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<A> {
        let call = Call {
            what: match handler {
                "deliver" => "a delivery",
                "forget" => "a removal",
                _ => "a question",
            },
            service: PULL,
            key,
            handler,
            idempotency,
            body,
        };
        Ok(self.client.call(&call).await?)
    }
}

fn status<M: Machine>(key: &str, kept: Kept) -> Result<Status<M::State>> {
    Ok(Status {
        state: steps::parse("the state", key, kept.state)?,
        version: kept.version,
        phase: kept.phase,
        changed: kept.changed,
    })
}

fn entry(record: Record) -> Entry {
    Entry {
        n: record.n,
        at: record.at,
        delivery: record.delivery,
        input: record.input.to_string(),
        log: record.log,
        phase: record.phase,
    }
}
