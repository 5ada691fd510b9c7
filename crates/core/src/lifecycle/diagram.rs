//! The table of transitions, for the diagram in the documents and for explanations. Tests hold it against `step`: each transition
//! that happens is in the table, and each row of the table happens.

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

/// Every transition between two states, apart from the ends `merged` and `closed`, which all states have.
pub const TRANSITIONS: &[Edge] = &[edge(
    "pending",
    "reviewing",
    "ready, and a reviewer has not decided",
)];

/// The causes that move a pull request out of a state.
pub(super) fn moves(state: &str) -> impl Iterator<Item = &'static str> {
    let ends = matches!(state, "merged" | "closed");
    let rows = TRANSITIONS.iter().filter(move |edge| edge.from == state);
    let always = ["a merge", "a close"].into_iter().filter(move |_| !ends);
    rows.map(|edge| edge.by).chain(always)
}

/// The table as a Mermaid state diagram.
#[must_use]
pub fn mermaid() -> String {
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> pending\n");
    for Edge { from, to, by } in TRANSITIONS {
        text.push_str(&format!("    {from} --> {to}: {by}\n"));
    }
    text.push_str("    merged --> [*]\n```\n");
    text
}
