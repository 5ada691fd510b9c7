//! The evidence for a verdict, counted from what is open, and the ways to turn its check green.

use crate::gather::Facts;
use crate::host::Job;
use crate::outbox::Sent;
use crate::run::staged::Staged;
use reviewer_core::domain::{CommentId, Evidence, Score, Tally, Thread, Verdict};
use reviewer_core::panel::consensus::Totals;
use reviewer_core::publish::comment::gate::{self, Closing};
use reviewer_core::review::session_outcome::End;
use reviewer_core::state::record::Record;

/// Collects the evidence for the verdict, given how the session ended, if there was one, and what was sent.
pub(crate) fn evidence(
    job: &Job<'_>,
    end: Option<&End>,
    record: &Record,
    staged: &Staged<'_>,
    sent: &Sent,
    unpublished: usize,
) -> Evidence {
    // On a head that was reviewed, a thread that could not be judged stays open, and that is all.
    let unjudged = matches!(end, Some(End::NotJudged(_) | End::NotAsked(_)));
    Evidence {
        complete: end.is_none_or(|end| *end == End::Complete)
            || (unjudged && record.stands_by_itself()),
        left_out: record.unexcused(),
        unpublished,
        tally: Tally::count(standing(job, staged, sent), job.host.config.policy.blocking),
    }
}

/// The scores of all findings that are open: on the pull request before the run, new, and those whose comments are gone.
pub(super) fn standing(job: &Job<'_>, staged: &Staged<'_>, sent: &Sent) -> Vec<Score> {
    let open = staged.open();
    let old = open_scores(&open, &sent.resolved, job.host.config.policy.threshold);
    let new = staged.said().map(|finding| finding.assessment.score);
    old.chain(new).chain(staged.lost.iter().copied()).collect()
}

pub(super) fn raised(staged: &Staged<'_>) -> Totals {
    let entries = staged.entries.iter();
    entries
        .map(|entry| entry.finding.assessment.score)
        .collect()
}

/// The scores of open threads that count: not closed in this run, and at or above the threshold that is set now.
fn open_scores<'a>(
    threads: &'a [&Thread],
    resolved: &'a [CommentId],
    threshold: Score,
) -> impl Iterator<Item = Score> + 'a {
    let open = threads
        .iter()
        .filter(|thread| !resolved.contains(&thread.id));
    let scores = open.map(|thread| thread.assessment.score);
    scores.filter(move |score| *score >= threshold)
}

/// The ways to turn a red check green; `None` where it is green.
pub(super) fn way_to_green(
    job: &Job<'_>,
    facts: &Facts,
    verdict: Verdict,
    tally: &Tally,
    record: &Record,
) -> Option<String> {
    let mention = &job.host.config.mention;
    match verdict {
        Verdict::Blocking => Some(gate::by_closing(&Closing {
            blocking: tally.blocking,
            threshold: job.host.config.policy.blocking?.get(),
            mention,
            fork: facts.pull.from_fork,
            can_sign: job.keys.can_sign(),
        })),
        Verdict::Incomplete => {
            // What is just to be posted is not accepted, and an acceptance has to be signed.
            let acceptable = record.unsent == 0 && !record.undone().is_empty();
            Some(if acceptable && job.keys.can_sign() {
                gate::by_accepting(mention)
            } else {
                gate::by_running_again().into()
            })
        }
        Verdict::Clean | Verdict::Findings | Verdict::Skipped | Verdict::Error => None,
    }
}
