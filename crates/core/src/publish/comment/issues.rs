//! Words about the issues that a pull request closes.

use crate::context::intent::{Intent, MOST_ISSUES, Names};
use reviewer_text::sentence::code;

/// Says which issues the reviewer did not read, and why.
#[must_use]
pub fn issues_not_read(intent: &Intent) -> Vec<String> {
    let beyond = names_of(&intent.beyond).map(|names| {
        format!(
            "Not read, although the pull request closes them: {names}. A review reads {MOST_ISSUES} issues at most."
        )
    });
    let unread = names_of(&intent.unread).map(|names| {
        format!(
            "Not read, although the description closes it: {names}. GitHub does not list it for this token. The token of a private \
             repository needs `issues: read`; issues of other repositories are read where it may see them, but no private \
             one for a public pull request; and only a pull request into the default branch closes issues."
        )
    });
    beyond.into_iter().chain(unread).collect()
}

/// Names of issues in a sentence; `None` where there are none.
fn names_of(names: &Names) -> Option<String> {
    let first: Vec<String> = names.first.iter().map(|name| code(name)).collect();
    let more = match names.more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!first.is_empty()).then(|| format!("{}{more}", first.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_named_with_the_reason_why_nobody_reads_them() {
        let names = |count: usize| Names::new((1..=count).map(|number| format!("#{number}")));
        let told = issues_not_read(&Intent {
            issues: Vec::new(),
            beyond: names(2),
            unread: names(12),
        });
        assert_eq!(
            told[0],
            "Not read, although the pull request closes them: `#1`, `#2`. A review reads 5 issues at most."
        );
        assert!(
            told[1].contains("`#10` and 2 more. GitHub does not list it"),
            "{told:?}"
        );
        assert!(told[1].contains("needs `issues: read`"), "{told:?}");
        assert_eq!(issues_not_read(&Intent::default()), [""; 0]);
    }
}
