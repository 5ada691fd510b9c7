//! The ladder for findings whose anchors GitHub refuses: which ones they are, found by halving with drafts, of which
//! nobody is told; and the next place for each: its line alone, the nearest line, the file, the review's text.

use super::Outbox;
use reviewer_core::domain::{Anchor, FileDiff, Finding};
use reviewer_core::publish::comment::{self, Voice};
use reviewer_github::{ApiError, GitHub, NewReview};

/// The place for each finding of a refused review.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub lines: Vec<Finding>,
    pub files: Vec<Finding>,
    pub nowhere: Vec<Finding>,
    pub warnings: Vec<String>,
}

impl Outbox<'_> {
    /// A place for every finding. Where GitHub cannot be asked, it is the review's text.
    pub(super) async fn places(&self, github: &GitHub, findings: &[&Finding]) -> Places {
        let mut places = Places::default();
        let mut parts = vec![findings];
        while let Some(part) = parts.pop() {
            match (self.takes(github, part).await, part) {
                (Ok(true), _) => places.lines.extend(part.iter().map(|one| (*one).clone())),
                (Ok(false), [refused]) => self.try_next_anchor(github, refused, &mut places).await,
                (Ok(false), _) => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                (Err(error), _) => {
                    places
                        .warnings
                        .push(comment::unposted::anchors_unknown(&error));
                    places.nowhere.extend(part.iter().map(|one| (*one).clone()));
                }
            }
        }
        places
    }

    async fn try_next_anchor(&self, github: &GitHub, refused: &Finding, places: &mut Places) {
        let diff = self.diffs.iter().find(|diff| diff.path == refused.file);
        for anchor in next_lines(refused, diff) {
            let moved = moved(refused, anchor);
            if matches!(self.takes(github, &[&moved]).await, Ok(true)) {
                places.lines.push(moved);
                return;
            }
        }
        places.files.push(moved(refused, Anchor::File));
    }

    async fn takes(&self, github: &GitHub, findings: &[&Finding]) -> Result<bool, ApiError> {
        let comments = findings.iter().filter_map(|finding| self.inline(finding));
        let draft = NewReview {
            commit_id: self.voice.head.clone(),
            body: Voice::draft(),
            event: None,
            comments: comments.collect(),
        };
        github.takes(self.voice.pr, &draft).await
    }
}

/// The lines to try in place of a refused anchor: its last line alone, then the nearest that is another.
fn next_lines(refused: &Finding, diff: Option<&FileDiff>) -> Vec<Anchor> {
    let Anchor::Line { side, start, line } = refused.anchor else {
        return Vec::new();
    };
    let alone = Anchor::Line {
        side,
        start: None,
        line,
    };
    let nearest = diff.and_then(|diff| diff.nearest_other(side, line));
    let alone = start.is_some().then_some(alone);
    alone.into_iter().chain(nearest).collect()
}

/// The finding at another place, saying which is meant.
fn moved(finding: &Finding, anchor: Anchor) -> Finding {
    let stays = anchor.line() == finding.line();
    let note = if stays {
        String::new()
    } else {
        Voice::moved_note(&finding.place())
    };
    Finding {
        anchor,
        body: format!("{note}{}", finding.body),
        ..finding.clone()
    }
}
