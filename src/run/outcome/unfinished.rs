//! The unfinished parts of a review: files that it did not look at, and the reasons why it ended early.

use crate::gather::change::Change;
use reviewer_core::domain::{PASSES, PassNumber};
use reviewer_core::publish::comment::{coverage, passes};
use reviewer_core::review::session_outcome::{End, Outcome as Held};
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;

/// Changed files that the model had to see and did not: those that nobody can show, those with a line that no prompt holds, and
/// those of sections that were not reviewed to the end.
pub(crate) fn left_out(change: &Change, held: &Held) -> Vec<String> {
    let of = held.sections.len();
    let unreviewed = held.unreviewed();
    let unreviewed =
        unreviewed.map(|(path, section)| passes::unreviewed(&visible(path), section, of));
    unshown(change, &held.beyond).chain(unreviewed).collect()
}

/// The files among them that are not shown at all.
pub(crate) fn unshown(change: &Change, beyond: &[String]) -> impl Iterator<Item = String> {
    let beyond = beyond.iter();
    let beyond = beyond.map(|path| format!("{} (a line of it is too long)", visible(path)));
    change.unreadable().chain(beyond)
}

/// As many as people read, and a record holds; the report has them all.
pub(crate) fn first(mut left_out: Vec<String>) -> Vec<String> {
    const MOST: usize = 50;
    if left_out.len() > MOST {
        let more = plural(left_out.len() - MOST, "more file");
        left_out.truncate(MOST);
        left_out.push(format!("{more}, listed in the report"));
    }
    left_out
}

/// Returns what keeps a review from being whole.
pub(crate) fn why_incomplete(held: &Held, left_out: &[String]) -> Vec<String> {
    let left_out = left_out.iter();
    let left_out = left_out.map(|file| coverage::not_shown(file));
    why_ended(held).into_iter().chain(left_out).collect()
}

/// Returns why a review ended early.
pub(crate) fn why_ended(held: &Held) -> Option<String> {
    why(&held.end)
}

fn why(end: &End) -> Option<String> {
    let place = |pass: &PassNumber| PASSES.place(*pass);
    match end {
        End::Complete | End::Refused(_) => None,
        End::Panel(ends) => {
            let ends = ends.iter().map(|(name, end)| (name.as_str(), reason(end)));
            Some(passes::unfinished_reviewers(ends))
        }
        End::Sections(ends) => {
            let of = ends.first().map_or(0, |one| one.of);
            let ends = ends.iter().map(|one| (one.number, reason(&one.end)));
            Some(passes::unfinished_sections(of, ends))
        }
        End::NotAsked(why) => Some(format!("Nothing was asked of the model: {why}.")),
        End::NotJudged(why) => Some(format!("The open threads were not judged: {why}")),
        End::NotSubmitted(pass, why) => Some(format!(
            "Pass {} was never submitted by the model{why}.",
            place(pass)
        )),
        End::OutOfTime(pass) => Some(format!(
            "The time ran out in pass {}; review_timeout_minutes sets it.",
            place(pass)
        )),
        End::OverBudget(pass, why) => Some(format!(
            "The review was stopped in pass {}: {why}.",
            place(pass)
        )),
        End::Failed(pass, why) => Some(format!("Pass {} failed: {why}", place(pass))),
    }
}

/// The same of one of several sessions, where a model that could not be used is told of, too.
pub(crate) fn reason(end: &End) -> String {
    let refused = match end {
        End::Refused(why) => Some(why.clone()),
        _ => None,
    };
    why(end).or(refused).unwrap_or_default()
}
