//! The order that a service gives to a session, a child process of the same binary, and the session's messages back. The order
//! comes on standard input, because it holds secrets and arguments and environment are readable to others; the messages go to
//! the service's address and, the last one, into a file.

use crate::config::Persona;
use crate::domain::{CommitSha, ReviewDecision};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The largest order, in bytes.
pub const MAX_ORDER: u64 = 256 * 1024;
/// The file in the session's folder that holds its last message.
pub const RESULT_FILE: &str = "session.json";

/// One session: what it is called back with, the head that it is about, and its inputs.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOrder {
    /// The dispatch of the pull request's life that the session belongs to.
    pub dispatch: u64,
    /// The address of the service for messages of this session, and the token of this one session.
    pub callback_url: String,
    pub callback_token: String,
    /// The session ends with an error, before any model is asked, if the pull request has another head.
    pub head: String,
    /// The folder for the report and the last message. It exists, and is the session's own.
    pub folder: String,
    /// The process that gives the order. The session ends with it, because another one starts it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<u32>,
    /// The reviewer of a review; a fix has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<Persona>,
    /// True if the account may write check runs: gate, lease and record are there then. Personal tokens may not.
    #[serde(default)]
    pub check_runs: bool,
    /// True if the review's account is that of several reviewers: an approval on GitHub is of all of them. The decision of each is
    /// in the block of its review.
    #[serde(default)]
    pub shared_account: bool,
    /// True if all others have approved the head, so that the approval of this one is the account's.
    #[serde(default)]
    pub is_last: bool,
    /// Inputs of the action, secrets among them.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
}

impl SessionOrder {
    /// Reads an order, or says what is wrong with it, without a word of its content.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let order: Self = serde_json::from_slice(json).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("The order of the session cannot be read: line {line}, column {column}.")
        })?;
        order.head()?;
        if let Some(reviewer) = &order.reviewer {
            reviewer.check()?;
        }
        if order.callback_token.is_empty() || order.folder.is_empty() {
            return Err("The order of the session lacks its token or its folder.".into());
        }
        Ok(order)
    }

    /// The document for standard input.
    #[must_use]
    pub fn render(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn head(&self) -> Result<CommitSha, String> {
        let wrong = |_| "The order of the session names no commit.".to_owned();
        self.head.parse().map_err(wrong)
    }

    /// True if the review approves nothing on GitHub, whatever its decision is: the account's approval would speak for reviewers who
    /// have not approved, or who are called only now.
    #[must_use]
    pub fn withholds_approval(&self, escalations: &[String]) -> bool {
        self.shared_account && !(self.is_last && escalations.is_empty())
    }

    /// The sentence that ends a session about another head.
    #[must_use]
    pub fn stale(&self, head: &CommitSha) -> Option<String> {
        (self.head != head.as_str()).then(|| {
            format!(
                "The session was ordered for {:.7}, and the head is {} by now.",
                self.head,
                head.short()
            )
        })
    }
}

/// By hand: names only, because tokens and keys are among the values.
impl fmt::Debug for SessionOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOrder")
            .field("dispatch", &self.dispatch)
            .field("head", &self.head)
            .field("reviewer", &self.reviewer.as_ref().map(|one| &one.name))
            .field("inputs", &self.inputs.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// A message of a session to its service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionMessage {
    pub dispatch: u64,
    #[serde(flatten)]
    pub event: SessionEvent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionEvent {
    Started {
        /// The name of the run in blocks.
        session: String,
    },
    Finished {
        result: SessionOutcome,
        #[serde(flatten)]
        cost: SessionCost,
    },
    /// Nothing came of it; it may be tried again.
    Failed {
        error: String,
        /// The time that somebody asked to wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        #[serde(flatten)]
        cost: SessionCost,
    },
}

/// The use of the model by a session.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SessionCost {
    pub cost_usd: f64,
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionOutcome {
    Reviewed {
        #[serde(deserialize_with = "decision")]
        decision: ReviewDecision,
        /// The summary of the review.
        comment: String,
        /// The reviewers that it calls, each once, from its list.
        escalations: Vec<String>,
    },
    /// The commit is the head now.
    Fixed {
        commit: String,
    },
    NothingFixed {
        why: String,
    },
}

fn decision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ReviewDecision, D::Error> {
    let name = String::deserialize(deserializer)?;
    ReviewDecision::parse(&name).ok_or_else(|| D::Error::custom("no decision of a reviewer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn order() -> SessionOrder {
        SessionOrder {
            dispatch: 7,
            callback_url: "http://127.0.0.1:1/pr/octo/shop/1/session".into(),
            callback_token: "token-of-this-session".into(),
            head: "a".repeat(40),
            folder: "/sessions/7".into(),
            service: Some(4_711),
            reviewer: Some(Persona::named("quality")),
            check_runs: false,
            shared_account: false,
            is_last: false,
            inputs: BTreeMap::from([("github_token".to_owned(), "ghp_agent".to_owned())]),
        }
    }

    #[test]
    fn an_order_is_read_back_and_what_is_left_out_is_off() {
        assert_eq!(
            SessionOrder::parse(order().render().as_bytes()),
            Ok(order())
        );
        let short = json!({
            "dispatch": 1, "callback_url": "http://x", "callback_token": "t", "head": "b".repeat(40), "folder": "f",
        });
        let read = SessionOrder::parse(short.to_string().as_bytes()).unwrap();
        assert!(
            !read.check_runs && !read.shared_account && !read.is_last && read.reviewer.is_none()
        );
    }

    #[test]
    fn a_wrong_order_is_refused_without_its_secrets() {
        let with = |name: &str, value: Value| {
            let mut order = serde_json::to_value(order()).unwrap();
            order[name] = value;
            SessionOrder::parse(order.to_string().as_bytes()).unwrap_err()
        };
        let wrong = [
            with("head", json!("main")),
            with("inputs", json!("ghp_agent")),
            with("callback_token", json!("")),
            with("reviewer", json!({ "name": "speed" })),
            with("unknown", json!(1)),
        ];
        for sentence in wrong {
            assert!(
                sentence.ends_with('.') && !sentence.contains("ghp_"),
                "{sentence}"
            );
        }
        let shown = format!("{:?}", order());
        assert!(shown.contains("github_token"), "{shown}");
        assert!(
            !shown.contains("ghp_agent") && !shown.contains("token-of"),
            "{shown}"
        );
    }

    #[test]
    fn a_shared_account_approves_once_the_last_reviewer_approves_and_calls_nobody() {
        let withholds = |shared_account, is_last, called: &[String]| {
            let order = SessionOrder {
                shared_account,
                is_last,
                ..order()
            };
            order.withholds_approval(called)
        };
        let called = ["security".to_owned()];
        assert!(!withholds(false, false, &called));
        assert!(withholds(true, false, &[]));
        assert!(withholds(true, true, &called));
        assert!(!withholds(true, true, &[]));
    }

    #[test]
    fn an_order_for_another_head_is_stale() {
        let head = "a".repeat(40).parse().unwrap();
        assert_eq!(order().stale(&head), None);
        let other = "b".repeat(40).parse().unwrap();
        let why = "The session was ordered for aaaaaaa, and the head is bbbbbbb by now.";
        assert_eq!(order().stale(&other).as_deref(), Some(why));
    }

    #[test]
    fn a_message_is_one_flat_document() {
        let cost = SessionCost {
            cost_usd: 0.5,
            tokens: 12,
        };
        let result = SessionOutcome::Reviewed {
            decision: ReviewDecision::ChangesRequested,
            comment: "One page is lost.".into(),
            escalations: vec!["security".into()],
        };
        let told = SessionMessage {
            dispatch: 7,
            event: SessionEvent::Finished { result, cost },
        };
        let json = serde_json::to_value(&told).unwrap();
        let expected = json!({
            "dispatch": 7,
            "event": "finished",
            "result": {
                "kind": "reviewed",
                "decision": "changes_requested",
                "comment": "One page is lost.",
                "escalations": ["security"],
            },
            "cost_usd": 0.5,
            "tokens": 12,
        });
        assert_eq!(json, expected);
        assert_eq!(
            serde_json::from_value::<SessionMessage>(json).unwrap(),
            told
        );
    }
}
