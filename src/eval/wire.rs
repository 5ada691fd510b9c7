//! A line of a file of pairs or of samples, as it comes. Separate, because foreign JSON stops here.

use serde::Deserialize;

/// Other fields are none of our business.
#[derive(Debug, Deserialize)]
pub(super) struct Pair {
    pub same: bool,
    pub a: String,
    pub b: String,
}

/// A text, and the secrets in it.
#[derive(Debug, Deserialize)]
pub(super) struct Sample {
    pub text: String,
    pub spans: Vec<String>,
}
