//! `providers.json`, which `make providers` takes from the catalogue of the pinned OpenCode. Separate, so that the
//! shape of the file stops here.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A provider's address, and the OpenCode adapter that speaks with it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Provider {
    pub(super) adapter: String,
    /// `None`: the adapter has its own address.
    pub(super) url: Option<String>,
    /// Models that differ from their provider; the others are not listed.
    #[serde(default)]
    pub(super) models: BTreeMap<String, Difference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Difference {
    /// The model's name in requests.
    pub(super) id: Option<String>,
    pub(super) adapter: Option<String>,
    /// The empty string: that of the adapter.
    pub(super) url: Option<String>,
}

/// A file that cannot be read knows no provider; a test sees to it that it can.
pub(super) fn providers() -> BTreeMap<String, Provider> {
    serde_json::from_str(include_str!("providers.json")).unwrap_or_default()
}
