//! Clusters of comments that have places and no labels: how many are merged, and examples for a person to judge.

use super::{claim, percent, wire};
use anyhow::Result;
use reviewer_core::domain::{Anchor, Side};
use reviewer_core::panel::cluster::group;
use reviewer_core::panel::{Claim, ClaimId};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The number of pairs to print: merges and, where they are fewer, questions.
const EXAMPLES: usize = 30;

pub fn report(comments: &[wire::Located], shown: bool) -> String {
    let mut changes: BTreeMap<&str, Vec<&wire::Located>> = BTreeMap::new();
    for comment in comments {
        changes.entry(&comment.change).or_default().push(comment);
    }
    let (mut clusters, mut shared) = (0, 0);
    let (mut merges, mut questions): (Vec<Two>, Vec<Two>) = Default::default();
    for comments in changes.values() {
        let Ok(claims) = claims(comments) else {
            return "places: the comments cannot be read\n".to_owned();
        };
        let grouping = group(&claims);
        let of = |id: &ClaimId| {
            claims
                .iter()
                .position(|claim| claim.id == *id)
                .map(|at| comments[at])
        };
        let first = |number| grouping.cluster(number).first().and_then(of);
        let asked = grouping
            .questions()
            .iter()
            .filter_map(|(a, b)| Some([first(*a)?, first(*b)?]));
        questions.extend(asked);
        for (_, ids) in grouping.clusters() {
            clusters += 1;
            shared += usize::from(ids.len() > 1);
            let together: Vec<&wire::Located> = ids.iter().filter_map(of).collect();
            merges.extend(together.windows(2).map(|two| [two[0], two[1]]));
        }
    }
    let all = comments.len();
    let mut out = format!(
        "places, located-comments: {all} comments on {} changes\n  {clusters} clusters, {shared} of several reviewers; {} merges \
         ({} of the comments), {} questions\n",
        changes.len(),
        merges.len(),
        percent(merges.len(), all),
        questions.len(),
    );
    if shown {
        let first = sample(&merges, EXAMPLES);
        let asked = sample(&questions, EXAMPLES - first.len());
        let named = first.into_iter().map(|two| ("merge", two));
        for (number, (name, two)) in named
            .chain(asked.into_iter().map(|two| ("question", two)))
            .enumerate()
        {
            let _ = writeln!(out, "\n  {}. {name} of {}", number + 1, two[0].change);
            for comment in two {
                let _ = writeln!(out, "    {}", line(comment));
            }
        }
    }
    out
}

type Two<'a> = [&'a wire::Located; 2];

/// Every so many of the pairs, so that all changes take part.
fn sample<'a>(pairs: &[Two<'a>], most: usize) -> Vec<Two<'a>> {
    let count = most.min(pairs.len());
    (0..count)
        .map(|at| pairs[at * pairs.len() / count])
        .collect()
}

fn line(comment: &wire::Located) -> String {
    let text = comment
        .text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let (from, to) = (comment.from_line.unwrap_or(0), comment.to_line.unwrap_or(0));
    let text: String = text.chars().take(600).collect();
    format!("{} {}:{from}-{to}: {text}", comment.reviewer, comment.path)
}

fn claims(comments: &[&wire::Located]) -> Result<Vec<Claim>> {
    let mut reviewers: Vec<&str> = comments
        .iter()
        .map(|comment| comment.reviewer.as_str())
        .collect();
    reviewers.sort_unstable();
    reviewers.dedup();
    let one = |(number, comment): (usize, &&wire::Located)| {
        let seat = reviewers
            .binary_search(&comment.reviewer.as_str())
            .unwrap_or(0);
        let mut claim = claim(seat, number, &comment.path, &comment.text)?;
        claim.finding.anchor = anchor(comment);
        Ok(claim)
    };
    comments.iter().enumerate().map(one).collect()
}

fn anchor(comment: &wire::Located) -> Anchor {
    let side = match comment.side.as_str() {
        "left" => Side::Left,
        _ => Side::Right,
    };
    let first = comment.from_line.or(comment.to_line);
    match (first, comment.to_line.or(first)) {
        (Some(first), Some(line)) => Anchor::Line {
            side,
            start: (first < line).then_some(first),
            line,
        },
        _ => Anchor::File,
    }
}
