//! Permissions of the token, in the words of a workflow's `permissions:`. Pure.

/// Something that GitHub lets a token do, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Reading the pull request.
    Read,
    /// Fetching its commits.
    Fetch,
    /// Posting reviews and replies.
    Comment,
    /// Writing check runs.
    Check,
    /// Reading the issues that a pull request of a private repository closes.
    Issues,
    /// Resolving conversations.
    Resolve,
}

impl Right {
    /// The line that grants it.
    #[must_use]
    pub fn line(self) -> &'static str {
        match self {
            Self::Read => "pull-requests: read",
            Self::Fetch => "contents: read",
            Self::Comment => "pull-requests: write",
            Self::Check => "checks: write",
            Self::Issues => "issues: read",
            Self::Resolve => "contents: write",
        }
    }

    /// The consequence for a run without it.
    #[must_use]
    pub fn without(self) -> &'static str {
        match self {
            Self::Read | Self::Fetch | Self::Comment => "no review is begun",
            Self::Check => {
                "there is no check on the pull request, blocking findings fail the job instead, and a head without \
                 findings is reviewed anew by every run"
            }
            Self::Issues => "the issues that a pull request closes are named and not read",
            Self::Resolve => {
                "conversations stay open on GitHub; the reviewer says in a reply that they are resolved, which counts the same"
            }
        }
    }

    /// True if a workflow may do without it on purpose: with the one the job's token may push, and the other one is needed in
    /// private repositories only.
    #[must_use]
    pub fn is_choice(self) -> bool {
        matches!(self, Self::Resolve | Self::Issues)
    }
}

/// The `permissions:` block for these, as a job has it. The right to write includes the one to read.
#[must_use]
pub fn block(rights: &[Right]) -> String {
    let key = |right: Right| right.line().split(':').next();
    let mut rights = rights.to_vec();
    rights.sort_unstable();
    let mut lines = String::from("permissions:");
    for (at, right) in rights.iter().enumerate() {
        if !rights[at + 1..]
            .iter()
            .any(|more| key(*more) == key(*right))
        {
            lines.push_str("\n  ");
            lines.push_str(right.line());
        }
    }
    lines
}

/// One message about the missing rights that a run can do without; `None` if none is missing.
#[must_use]
pub fn lacking(missing: &[Right]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let lost: Vec<String> = missing
        .iter()
        .map(|right| format!("without `{}` {}", right.line(), right.without()))
        .collect();
    let advice = match missing {
        [_] => "To have it, write into the job",
        _ => "To have them, write into the job",
    };
    Some(format!(
        "The token may not do everything: {}. {advice}:\n{}",
        lost.join("; "),
        block(missing)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_once_with_the_lines_to_write() {
        assert_eq!(lacking(&[]), None);
        assert_eq!(
            lacking(&[Right::Check]).unwrap(),
            "The token may not do everything: without `checks: write` there is no check on the pull request, blocking \
             findings fail the job instead, and a head without findings is reviewed anew by every run. To have it, write \
             into the job:\npermissions:\n  checks: write"
        );
    }

    #[test]
    fn the_right_to_write_includes_the_one_to_read() {
        let all = [
            Right::Resolve,
            Right::Read,
            Right::Fetch,
            Right::Comment,
            Right::Check,
        ];
        assert_eq!(
            block(&all),
            "permissions:\n  pull-requests: write\n  checks: write\n  contents: write"
        );
    }
}
