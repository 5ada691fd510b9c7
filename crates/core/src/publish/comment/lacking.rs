//! Limits of a run that lacks something: a key, a permission, a sidecar.

/// Says what a run without a key to sign with cannot do. A gate needs one.
#[must_use]
pub fn unsigned(has_gate: bool) -> &'static str {
    if has_gate {
        "The gate is not signed, because there is neither a state_key nor a model key of at least 20 characters; \
         set state_key to a secret of at least 20 random characters. Until then every run reviews anew, blocking \
         findings are closed by people only, no pull request holds back another one of the same head, no merge group \
         passes, and max_per_day does not hold."
    } else {
        "Comments are not signed, because there is neither a state_key nor a model key of at least 20 characters: \
         every run reviews anew, and max_per_day does not hold."
    }
}

/// The warning where the pull request has reviews, and no record of what they cost.
#[must_use]
pub fn half_counts_as_spent() -> &'static str {
    "The pull request has reviews of this reviewer, but no record of what they cost can be read; half of the day's \
     limits counts as spent. Keep an old key as a second state_key to have its records read."
}

/// Says what a token without `contents: write` cannot do, and the price of that permission.
#[must_use]
pub fn conversations_stay_open() -> String {
    "Conversations of resolved threads stay open on GitHub, because this token may not resolve them. `contents: write` \
     would allow it, at the price of a token that may also push; everything else works without."
        .into()
}

/// A run that was to ask a model has no sidecar; only a mistake in the reviewer leads here.
pub const NO_SIDECAR: &str =
    "The model was to be asked, but OpenCode was not started; please report this.";
