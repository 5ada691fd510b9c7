//! A line of a file of pairs, of samples or of comments, as it comes. Separate, because foreign JSON stops here.

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
    /// The rule that the sample is an example of.
    #[serde(default)]
    pub rule: String,
}

/// The text of a comment, or those of a pair.
#[derive(Debug, Deserialize)]
pub(super) struct Texts {
    pub text: Option<String>,
    pub a: Option<String>,
    pub b: Option<String>,
}
