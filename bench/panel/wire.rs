//! The lines of the published files, as they come. Separate, because foreign JSON stops here.

use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
pub struct Pair {
    pub same: bool,
    pub a: String,
    pub b: String,
}

impl Pair {
    /// Each two texts once. Two findings that share one of two known defects are listed as the same and as different; they are
    /// the same.
    pub fn once(pairs: &[Self]) -> Vec<Self> {
        let mut once: BTreeMap<(&str, &str), Self> = BTreeMap::new();
        for pair in pairs {
            let (a, b) = (pair.a.as_str(), pair.b.as_str());
            let kept = once
                .entry((a.min(b), a.max(b)))
                .or_insert_with(|| pair.clone());
            kept.same |= pair.same;
        }
        once.into_values().collect()
    }
}

/// A line about a change: its known defects, or a finding of a tool.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    Gold {
        change: String,
        ids: Vec<serde_json::Value>,
    },
    Finding {
        change: String,
        reviewer: String,
        text: String,
        gold: Option<String>,
    },
}

/// A comment with its place.
#[derive(Debug, Deserialize)]
pub struct Located {
    pub change: String,
    pub path: String,
    pub side: String,
    pub from_line: Option<u32>,
    pub to_line: Option<u32>,
    pub reviewer: String,
    pub text: String,
}
