//! The service at work: its tasks, and the clean end of them, by a signal or because one of them has failed.

use super::front::Front;
use super::http::{self, HttpSettings};
use super::role::Role;
use super::service::Service;
use super::sessions::{Children, Ended};
use futures_util::future::select_all;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};

/// The time between two reconciliations.
const RECONCILE: Duration = Duration::from_mins(10);

/// A service whose parts are together.
pub(super) struct Running {
    pub role: Role,
    pub rebuild: bool,
    /// `None` where the process is no front.
    pub listener: Option<TcpListener>,
    pub front: Arc<Front>,
    pub settings: HttpSettings,
}

/// The tasks of a service. None ends before the service does.
struct Tasks {
    /// They end by themselves when the service ends.
    polite: Vec<JoinHandle<()>>,
    /// They go on for as long as anybody may need them.
    others: Vec<JoinHandle<()>>,
}

impl Running {
    /// Works until a signal, then ends the sessions and gives them back. `Err`: a task has failed, and nobody would notice what it
    /// does not do any more.
    pub(super) async fn until_end(
        self,
        children: Arc<Children>,
        ends: mpsc::UnboundedReceiver<Ended>,
    ) -> Result<(), String> {
        let (front, service) = (Arc::clone(&self.front), Arc::clone(&self.front.service));
        let (end, ended) = watch::channel(false);
        let mut tasks = self.tasks(&children, ends, &ended);
        let failure = tokio::select! {
            signal = crate::run::exits::stop_signal() => {
                tracing::info!(
                    "The service ends on signal {signal}; its sessions begin again with the next start."
                );
                None
            }
            why = broken(&mut tasks) => Some(why),
        };
        front.ready.store(false, Ordering::Release);
        // Nobody listens any more once all of them have ended.
        let _heard = end.send(true);
        children.end_all().await;
        for task in tasks.polite.into_iter().filter(|one| !one.is_finished()) {
            let _ended = task.await;
        }
        tasks.others.iter().for_each(JoinHandle::abort);
        if let Err(error) = service.world.claims.release().await {
            tracing::warn!("the sessions of this process could not be given back: {error}");
        }
        failure.map_or(Ok(()), Err)
    }

    fn tasks(
        self,
        children: &Arc<Children>,
        ends: mpsc::UnboundedReceiver<Ended>,
        ended: &watch::Receiver<bool>,
    ) -> Tasks {
        let Self { role, front, .. } = self;
        let service = &front.service;
        let mut polite = Vec::new();
        if let Some(listener) = self.listener {
            let end = until(ended.clone());
            let serving = http::serve(listener, Arc::clone(&front), self.settings, end);
            polite.push(tokio::spawn(serving));
        }
        if role.is_front() {
            polite.push(tokio::spawn(look_after(
                Arc::clone(service),
                self.rebuild,
                ended.clone(),
            )));
        }
        if !role.is_worker() {
            // It runs no session, and says that it is there.
            let (claims, ended) = (Arc::clone(&service.world.claims), ended.clone());
            polite.push(tokio::spawn(async move { claims.work(ended).await }));
        }
        let taking = Arc::clone(service).take_ends(Arc::clone(children), ends);
        let mut others = vec![tokio::spawn(taking)];
        if role.is_worker() {
            polite.push(tokio::spawn(execute(Arc::clone(service), ended.clone())));
            let claims = Arc::clone(&service.world.claims);
            others.push(tokio::spawn(async move { claims.guard().await }));
        }
        Tasks { polite, others }
    }
}

/// Ends when a task has, which only a defect can cause. Returns a sentence.
async fn broken(tasks: &mut Tasks) -> String {
    let all = tasks.polite.iter_mut().chain(&mut tasks.others);
    let (ended, ..) = select_all(all).await;
    let why = match ended.map_err(JoinError::try_into_panic) {
        Err(Ok(_)) => "it panicked",
        Ok(()) | Err(Err(_)) => "it has ended",
    };
    format!(
        "A task of the service has failed: {why}. The service ends, so that it can be started again; the lines above tell more."
    )
}

/// Ends with the service.
async fn until(mut ended: watch::Receiver<bool>) {
    // An error means that nobody can end it any more.
    let _ended = ended.wait_for(|ended| *ended).await;
}

/// Executes effects and starts sessions, until the end.
async fn execute(service: Arc<Service>, ended: watch::Receiver<bool>) {
    let world = Arc::clone(&service.world);
    let claims = Arc::clone(&service.world.claims);
    let executing = service.engine.run(world, until(ended.clone()));
    tokio::join!(executing, claims.work(ended));
}

/// Looks for what was missed, until the end.
async fn look_after(service: Arc<Service>, rebuild: bool, ended: watch::Receiver<bool>) {
    let remembering = Arc::clone(&service).remember_until(ended.clone());
    let reconciling = Arc::clone(&service).reconcile_until(RECONCILE, rebuild, ended.clone());
    let forgetting = Arc::clone(&service).forget_until(ended.clone());
    tokio::join!(remembering, reconciling, forgetting);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test]
    async fn a_task_that_fails_ends_the_service() {
        let mut tasks = Tasks {
            polite: vec![tokio::spawn(pending()), tokio::spawn(pending())],
            others: vec![tokio::spawn(async { panic!("a defect") })],
        };
        let told = broken(&mut tasks).await;
        assert!(told.contains("it panicked"), "{told}");
        let mut tasks = Tasks {
            polite: vec![tokio::spawn(async {}), tokio::spawn(pending())],
            others: Vec::new(),
        };
        assert!(broken(&mut tasks).await.contains("it has ended"));
    }
}
