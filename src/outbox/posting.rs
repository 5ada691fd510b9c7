//! Posts the findings as one review: on lines by its request, on whole files by a draft that is submitted. Where GitHub takes a
//! finding at neither, it is a comment of its own on the file, and then a part of the review's text.

use super::ladder::Places;
use super::{Outbox, Sent};
use reviewer_core::domain::{Anchor, Finding, ReviewEvent};
use reviewer_core::publish::comment::judgement::{self, Judged};
use reviewer_core::report::findings::Said;
use reviewer_core::state::block;
use reviewer_github::{ApiError, GitHub, NewFileComment, NewReview, NewReviewComment, Posted};

/// The findings of a review by their places in it.
#[derive(Default)]
struct Layout<'f> {
    lines: Vec<&'f Finding>,
    files: Vec<&'f Finding>,
    text: Vec<&'f Finding>,
}

impl Outbox<'_> {
    pub(super) async fn send_review(
        &self,
        github: &GitHub,
        judged: &Judged<'_>,
        sent: &mut Sent,
    ) -> Result<(), ApiError> {
        let is_on_line = |finding: &&Finding| matches!(finding.anchor, Anchor::Line { .. });
        let (lines, files): (Vec<_>, Vec<_>) = self.findings.iter().copied().partition(is_on_line);
        let layout = Layout {
            lines: lines.clone(),
            files: files.clone(),
            text: Vec::new(),
        };
        match self.post(github, layout, judged, sent).await {
            // GitHub does not say which anchor it refused.
            Err(ApiError::Unprocessable { .. }) if !lines.is_empty() => {
                let places = self.places(github, &lines).await;
                self.post_anew(github, places, files, judged, sent).await
            }
            result => result,
        }
    }

    /// The review with every finding where GitHub takes it.
    async fn post_anew(
        &self,
        github: &GitHub,
        places: Places,
        mut files: Vec<&Finding>,
        judged: &Judged<'_>,
        sent: &mut Sent,
    ) -> Result<(), ApiError> {
        sent.warnings.extend(places.warnings);
        files.extend(&places.files);
        let layout = Layout {
            lines: places.lines.iter().collect(),
            files: files.clone(),
            text: self.with_original_anchor(&places.nowhere),
        };
        match self.post(github, layout, judged, sent).await {
            Err(ApiError::Unprocessable { .. }) if !places.lines.is_empty() => {
                // What was taken one by one is refused together: no finding is lost if none depends on an anchor.
                let moved = places.nowhere.iter().chain(&places.lines);
                let layout = Layout {
                    lines: Vec::new(),
                    files,
                    text: self.with_original_anchor(moved),
                };
                self.post(github, layout, judged, sent).await
            }
            result => result,
        }
    }

    /// The findings at the places where they were found: in the review's text each can name its own.
    fn with_original_anchor<'f>(
        &self,
        moved: impl IntoIterator<Item = &'f Finding>,
    ) -> Vec<&Finding> {
        let found = |moved: &Finding| self.findings.iter().find(|one| one.id == moved.id).copied();
        moved.into_iter().filter_map(found).collect()
    }

    /// Posts the review. Where GitHub refuses the event, it is a comment; a finding on a file that cannot be part of it is posted
    /// before.
    async fn post<'f>(
        &'f self,
        github: &GitHub,
        mut layout: Layout<'f>,
        judged: &Judged<'_>,
        sent: &mut Sent,
    ) -> Result<(), ApiError> {
        // What was tried before may have put some on their files.
        let is_said = |finding: &Finding| sent.said.contains_key(&finding.id.to_string());
        layout.files.retain(|finding| !is_said(finding));
        let mut why: Option<String> = None;
        let (posted, event) = loop {
            let judged = Judged {
                refused: why.as_deref().or(judged.refused),
                ..*judged
            };
            let event = judged.sent();
            match self.create(github, &layout, &judged).await {
                Ok(Posted::Review(posted)) => break (posted, event),
                Ok(Posted::Not(refused)) => {
                    self.put_elsewhere(github, &mut layout, refused, sent).await;
                }
                Err(error) if is_event_refused(&error, event, layout.lines.is_empty()) => {
                    why = Some(error.to_string());
                }
                Err(error) => return Err(error),
            }
        };
        if let Some(why) = why {
            let warning = judgement::judgement_refused(judged.sent(), &why);
            sent.warnings.push(warning);
        }
        sent.event = Some(event);
        let said = Said::at(&posted.html_url);
        let all = layout.text.iter().chain(&layout.lines).chain(&layout.files);
        for finding in all {
            sent.said.insert(finding.id.to_string(), said.clone());
        }
        if let Said::At(url) = said {
            self.link(github, posted.id, sent).await;
            sent.review_url = Some(url);
        }
        Ok(())
    }

    async fn create(
        &self,
        github: &GitHub,
        layout: &Layout<'_>,
        judged: &Judged<'_>,
    ) -> Result<Posted, ApiError> {
        let lines = layout.lines.iter();
        let review = NewReview {
            commit_id: self.voice.head.clone(),
            body: self.voice.review(
                &self.findings,
                &layout.text,
                self.partial,
                self.record.clone(),
                &self.figures,
                judged,
            ),
            event: Some(judged.sent()),
            comments: lines.filter_map(|finding| self.inline(finding)).collect(),
        };
        if layout.files.is_empty() {
            let posted = github.create_review(self.voice.pr, &review).await;
            return posted.map(Posted::Review);
        }
        let files = layout.files.iter().map(|finding| NewFileComment {
            path: finding.file.clone(),
            body: self.voice.finding(finding),
        });
        let files: Vec<NewFileComment> = files.collect();
        github
            .create_review_on_files(self.voice.pr, &review, &files)
            .await
    }

    /// Puts findings on files that cannot be part of the review into comments of their own; where GitHub does not take these either,
    /// into the review's text.
    async fn put_elsewhere<'f>(
        &'f self,
        github: &GitHub,
        layout: &mut Layout<'f>,
        refused: Vec<(usize, ApiError)>,
        sent: &mut Sent,
    ) {
        let mut unsaid = Vec::new();
        for (number, why) in &refused {
            let Some(finding) = layout.files.get(*number).copied() else {
                continue;
            };
            let file = &finding.file;
            match self.comment_on_file(github, finding).await {
                Ok(said) => {
                    sent.warnings.push(format!(
                        "The review took no comment on {file} ({why}); it is a comment of its own."
                    ));
                    sent.said.insert(finding.id.to_string(), said);
                }
                Err(error) => {
                    sent.warnings.push(format!(
                        "{file} took no comment of its own ({error}); the finding is in the review's text."
                    ));
                    unsaid.push(finding);
                }
            }
        }
        layout.text.extend(self.with_original_anchor(unsaid));
        let mut number = 0..;
        layout.files.retain(|_| {
            let number = number.next();
            !refused.iter().any(|(one, _)| Some(*one) == number)
        });
    }

    /// People are told of it by itself.
    async fn comment_on_file(&self, github: &GitHub, finding: &Finding) -> Result<Said, ApiError> {
        let (pr, head, body) = (self.voice.pr, self.voice.head, self.voice.finding(finding));
        let created = github.create_file_comment(pr, head, &finding.file, &body);
        created.await.map(|comment| Said::at(&comment.html_url))
    }

    /// GitHub's answer names no comments; they are listed to link to them. A list that fails costs the links.
    async fn link(&self, github: &GitHub, review: u64, sent: &mut Sent) {
        let comments = match github.review_comment_ids(self.voice.pr, review).await {
            Ok(comments) => comments,
            Err(error) => {
                sent.warnings.push(format!(
                    "The review's comments could not be listed: {error}"
                ));
                return;
            }
        };
        for comment in comments {
            let block = block::parse(&comment.body);
            if let Some(id) = block.hidden.and_then(|hidden| hidden.id) {
                sent.said.insert(id, Said::at(&comment.html_url));
            }
        }
    }

    pub(super) fn inline(&self, finding: &Finding) -> Option<NewReviewComment> {
        let Anchor::Line { side, start, line } = finding.anchor else {
            return None;
        };
        Some(NewReviewComment {
            path: finding.file.clone(),
            body: self.voice.finding(finding),
            line,
            side,
            start_line: start,
            start_side: start.map(|_| side),
        })
    }
}

/// True if GitHub refused the event of a review, not its comments. Without comments on lines nothing else can be refused.
fn is_event_refused(error: &ApiError, event: ReviewEvent, alone: bool) -> bool {
    let judges = event != ReviewEvent::Comment;
    judges && (error.refuses_judgement() || (alone && error.is_refusal()))
}
