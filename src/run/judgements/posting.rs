//! Reviews without findings: the judgement alone, posted and entered in the report.

use super::CheckRun;
use crate::gather::Facts;
use crate::host::Job;
use crate::run::outcome::Outcome;
use reviewer_core::domain::{ReviewEvent, Tally};
use reviewer_core::publish::comment::judgement::{self, Judged};
use reviewer_core::state::record::Record;
use reviewer_github::{ApiError, NewReview, PullRequest, ReviewRef};

/// Posts a review without findings, and enters it in the report. Returns its event.
pub(super) async fn alone(
    job: &Job<'_>,
    facts: &Facts,
    check: &CheckRun,
    judged: &Judged<'_>,
    outcome: &mut Outcome,
) -> Option<ReviewEvent> {
    let record = Record {
        verdict: outcome.verdict.to_string(),
        ..outcome.record.clone()
    };
    let record = (!check.is_open()).then_some(&record);
    let report = &mut outcome.report;
    match post(job, &facts.pull, judged, &outcome.tally, record).await {
        Ok((event, posted, refusal)) => {
            let url = Some(posted.html_url).filter(|url| !url.is_empty());
            report.review_url = report.review_url.take().or(url);
            report.warnings.extend(refusal);
            Some(event)
        }
        Err(error) => {
            let why = judgement::judgement_not_posted(judged.event, &error.to_string());
            report.warnings.push(why.clone());
            outcome.unstated = Some(why);
            None
        }
    }
}

/// Posts a review without findings. Where GitHub refuses the event, it is a comment, and the last part of the answer says so.
pub(super) async fn post(
    job: &Job<'_>,
    pull: &PullRequest,
    judged: &Judged<'_>,
    tally: &Tally,
    record: Option<&Record>,
) -> Result<(ReviewEvent, ReviewRef, Option<String>), ApiError> {
    let send = async |judged: &Judged<'_>| {
        let record = record.map(|record| serde_json::to_value(record).unwrap_or_default());
        let review = NewReview {
            commit_id: pull.head_sha.clone(),
            body: job.voice(pull).judgement(judged, tally, record),
            event: Some(judged.sent()),
            comments: Vec::new(),
        };
        job.github.create_review(&job.pr, &review).await
    };
    match send(judged).await {
        Err(error) if error.is_refusal() => {
            let why = error.to_string();
            let comment = Judged {
                refused: Some(&why),
                ..*judged
            };
            let posted = send(&comment).await?;
            let warning = judgement::judgement_refused(judged.event, &why);
            Ok((ReviewEvent::Comment, posted, Some(warning)))
        }
        posted => Ok((judged.event, posted?, None)),
    }
}
