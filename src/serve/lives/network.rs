//! The way of webhooks and of sessions' messages to the service: doubled, lost, late, and lost while the service is down.

use super::dice::Dice;
use super::github::webhooks::Delivery;
use super::stage::Stage;
use crate::serve::front::Front;
use crate::serve::http::{self, HttpSettings, UiSettings};
use crate::serve::service::Service;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use reviewer_core::config::service::HttpLimits;
use reviewer_core::session_order::SessionMessage;
use reviewer_engine::clock::Clock as _;
use reviewer_system::clock::Clock;
use secrecy::SecretString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const SECRET: &str = "the secret of the webhook";

fn http_settings() -> HttpSettings {
    HttpSettings {
        limits: HttpLimits::default(),
        webhook_secret: SecretString::from(SECRET),
        clock: Clock::scaled(1.0),
        ui: UiSettings::plain(),
    }
}

/// A delivery as GitHub sends it, signed.
fn request(delivery: &Delivery) -> Request<Body> {
    let request = Request::post("/webhook")
        .header("X-Hub-Signature-256", delivery.signature(SECRET))
        .header("X-GitHub-Delivery", &delivery.guid)
        .header("X-GitHub-Event", &delivery.event)
        .header("Content-Type", "application/json");
    let request = request.body(Body::from(delivery.body.clone()));
    request.expect("a request")
}

/// The way of a webhook that nothing disturbs.
const USUAL_MS: u64 = 50;

impl Stage {
    /// Sends what GitHub has to tell.
    pub(super) fn pump(self: &Arc<Self>) {
        let deliveries = self.hooks.arrange(std::mem::take);
        for delivery in deliveries {
            let network = &self.plan.network;
            let guid = &delivery.guid;
            let losses = self.memory().losses.get(guid).copied().unwrap_or_default();
            let mut dice = match losses {
                0 => self.plan.dice(&format!("delivery {guid}")),
                _ => self
                    .plan
                    .dice(&format!("delivery {guid} after {losses} losses")),
            };
            let is_calm = self.is_calm();
            let is = |of: u64, dice: &mut Dice| of > 0 && !is_calm && dice.one_in(of);
            if is(network.lost, &mut dice) {
                let action = delivery.action.as_deref().unwrap_or("");
                self.tell(format!("lost: {} {action}", delivery.event));
                // GitHub knows of it, and sends it again to an App that asks.
                self.hooks.note(&delivery, 502);
                *self.memory().losses.entry(guid.clone()).or_default() += 1;
                continue;
            }
            let copies = if is(network.doubled, &mut dice) { 2 } else { 1 };
            for _ in 0..copies {
                let late = match network.longest_ms {
                    0 => USUAL_MS,
                    _ if is_calm => USUAL_MS,
                    most => dice.below(most),
                };
                self.send(delivery.clone(), late);
            }
        }
    }

    fn send(self: &Arc<Self>, delivery: Delivery, late: u64) {
        let (stage, hold) = (Arc::clone(self), self.clock.hold());
        let at = self.clock.now_ms().saturating_add_unsigned(late);
        tokio::spawn(async move {
            stage.clock.sleep_until(at).await;
            stage.arrive(&delivery).await;
            drop(hold);
        });
    }

    async fn arrive(self: &Arc<Self>, delivery: &Delivery) {
        let mut epoch = self.epoch.subscribe();
        let Some(service) = self.service() else {
            return self.tell(format!("nobody listens to {}", delivery.event));
        };
        let door = http::router(self.front(service), http_settings());
        let taken = TowerToHyperService::new(door).call(request(delivery));
        tokio::select! {
            biased;
            _ = epoch.changed() => {}
            taken = taken => {
                let status = taken.expect("an answer").status();
                assert_eq!(status, StatusCode::ACCEPTED, "{}", delivery.event);
            }
        }
    }

    fn front(&self, service: Arc<Service>) -> Arc<Front> {
        Arc::new(Front {
            service,
            policy: Arc::new(self.policy()),
            max_sessions: 1,
            ready: AtomicBool::new(true),
        })
    }

    /// The callback of a session.
    pub(super) async fn call_back(self: &Arc<Self>, message: SessionMessage) {
        let lost = self.plan.network.messages_lost;
        let mut dice = self.plan.dice(&format!("message {message:?}"));
        if lost > 0 && !self.is_calm() && dice.one_in(lost) {
            return self.tell(format!("lost: the message of session {}", message.dispatch));
        }
        let mut epoch = self.epoch.subscribe();
        let Some(service) = self.service() else {
            return;
        };
        tokio::select! {
            biased;
            _ = epoch.changed() => {}
            taken = service.take_message(self.key, message) => taken.expect("the store takes a message"),
        }
    }
}
