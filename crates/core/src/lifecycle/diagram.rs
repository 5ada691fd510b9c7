//! The table of transitions, for the diagram in the documents and for explanations. Tests hold it against `step`: each transition
//! that happens is in the table, and each row of the table happens.

use std::fmt::Write as _;

/// A transition from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    pub from: &'static str,
    pub to: &'static str,
    /// The cause, in a few words.
    pub by: &'static str,
}

const fn edge(from: &'static str, to: &'static str, by: &'static str) -> Edge {
    Edge { from, to, by }
}

const UNDECIDED: &str = "a required reviewer has not decided about this head";
const CHANGES: &str = "a required reviewer requests changes of this head";
const APPROVED: &str = "every required reviewer has approved this head";
const RELEASED: &str = "a new head, other settings or retry";
const FAILED: &str = "a session has failed and its retries are used up";

/// The transitions between two states, apart from those that every open state has.
pub const TRANSITIONS: &[Edge] = &[
    edge("pending", "reviewing", UNDECIDED),
    edge("pending", "fixing", CHANGES),
    edge("pending", "approved", APPROVED),
    edge("pending", "needsHuman", "only a person can decide"),
    edge("reviewing", "fixing", CHANGES),
    edge("reviewing", "approved", APPROVED),
    edge(
        "reviewing",
        "needsHuman",
        "an escalation to a person, or a dismissed review",
    ),
    edge("reviewing", "error", FAILED),
    edge(
        "fixing",
        "reviewing",
        "a new head, or an order to review this one again",
    ),
    edge("fixing", "approved", "whoever requested changes approves"),
    edge(
        "fixing",
        "needsHuman",
        "fix cycles are used up, nothing was fixed, or the author can fix nothing",
    ),
    edge("fixing", "error", FAILED),
    edge("approved", "reviewing", "another required reviewer"),
    edge("approved", "fixing", CHANGES),
    edge(
        "approved",
        "needsHuman",
        "GitHub refuses the merge, or somebody took it back",
    ),
    edge("needsHuman", "reviewing", "a push, or a person's review"),
    edge("needsHuman", "fixing", "a person's review, or `fix resume`"),
    edge("needsHuman", "approved", "a person approves"),
    edge("error", "reviewing", RELEASED),
    edge("error", "fixing", RELEASED),
    edge("error", "approved", RELEASED),
    edge("error", "needsHuman", RELEASED),
    edge("closed", "pending", "reopened: the next life begins"),
];

/// The transitions that every open state has: where to, and the cause.
pub const FROM_OPEN: &[(&str, &str)] = &[
    (
        "pending",
        "a draft, a head to compare, a stranger's head that nobody has asked to review, the command retry, or settings that do not enable the service",
    ),
    ("error", "wrong settings"),
    ("merged", "merged on GitHub"),
    ("closed", "closed on GitHub"),
];

/// The causes that move a pull request out of a state.
pub(super) fn moves(state: &'static str) -> impl Iterator<Item = &'static str> {
    let is_open = !matches!(state, "merged" | "closed");
    let rows = TRANSITIONS.iter().filter(move |edge| edge.from == state);
    let open = FROM_OPEN
        .iter()
        .filter(move |(to, _)| is_open && *to != state);
    rows.map(|edge| edge.by).chain(open.map(|(_, by)| *by))
}

/// The table as a Mermaid state diagram, and a list of the transitions that every open state has.
#[must_use]
pub fn mermaid() -> String {
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> pending\n");
    for Edge { from, to, by } in TRANSITIONS {
        // A colon would end the label.
        let by = by.replace(": ", ", ").replace('`', "");
        let _ = writeln!(text, "    {from} --> {to}: {by}");
    }
    text.push_str("    approved --> merged: merged on GitHub\n    merged --> [*]\n```\n\nEvery open state also leads to:\n\n");
    for (to, by) in FROM_OPEN {
        let _ = writeln!(text, "- `{to}`: {by}");
    }
    text
}
