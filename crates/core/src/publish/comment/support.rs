//! The support of a finding among several reviewers, as its comment tells it: who raised it, who verified it, and, where it
//! is contested, both arguments. And the checks and rules of static analysis that found it, too.

use crate::domain::{Argued, Contest, Support, ToolRule};
use reviewer_text::sanitize::{clean, without_dumps};
use reviewer_text::sentence::{code, sentence};

/// The longest argument and quote that a comment shows.
const LONGEST: usize = 600;

/// The last paragraphs of a finding's text; `None` where one reviewer reviews alone and no program supports it.
pub(super) fn paragraphs(support: &Support) -> Option<String> {
    let proof = support.proof.as_ref().map(|(check, words)| {
        let (check, words) = (code(check), code(words));
        format!("The check {check} fails here: {words}")
    });
    let mut paragraphs: Vec<String> = found_by(&support.found_by)
        .into_iter()
        .chain(proof)
        .collect();
    if support.panel == 0 {
        return (!paragraphs.is_empty()).then(|| paragraphs.join("\n\n"));
    }
    paragraphs.push(match &support.contest {
        Some(contest) => contested(support, contest),
        None => agreed(support),
    });
    if !support.places.is_empty() {
        let places: Vec<String> = support.places.iter().map(|place| code(place)).collect();
        paragraphs.push(format!("Also at {}.", places.join(", ")));
    }
    Some(paragraphs.join("\n\n"))
}

/// The number of rules that a comment names; several tools may know the same defect.
const MOST_RULES: usize = 5;

/// Names the tools and rules that reported a finding. Nothing else of theirs is posted.
fn found_by(rules: &[ToolRule]) -> Option<String> {
    let named = rules.iter().take(MOST_RULES).map(|one| {
        let tool = code(&one.tool);
        match one.rule.as_str() {
            "" => tool,
            rule => format!("{tool}, rule {}", code(rule)),
        }
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| {
        format!(
            "Found by {}, and confirmed by the reviewer.",
            named.join("; ")
        )
    })
}

fn agreed(support: &Support) -> String {
    let Support {
        raised_by,
        verified_by,
        panel,
        ..
    } = support;
    let raised = names(raised_by);
    let verified = match verified_by.as_slice() {
        [] => String::new(),
        by => format!(" Verified by {}.", names(by)),
    };
    match raised_by.len() {
        0 | 1 => format!("Raised by {raised}, 1 of {panel} reviewers.{verified}"),
        count => {
            format!("Raised independently by {count} of {panel} reviewers: {raised}.{verified}")
        }
    }
}

fn contested(support: &Support, contest: &Contest) -> String {
    let refuted: Vec<String> = contest
        .objections
        .iter()
        .map(|one| one.by.clone())
        .collect();
    let acts = [("refuted", &refuted), ("withdrawn", &contest.withdrawn_by)];
    let acts = acts.iter().filter(|(_, by)| !by.is_empty());
    let acts: Vec<String> = acts
        .map(|(act, by)| format!(", {act} by {}", names(by)))
        .collect();
    let mut text = format!(
        "**Contested**: raised by {}{}. It stands until somebody with write access closes this conversation.",
        names(&support.raised_by),
        acts.concat()
    );
    let arguments = contest.support.iter().map(|one| ("For", one));
    let arguments = arguments.chain(contest.objections.iter().map(|one| ("Against", one)));
    for (side, argued) in arguments {
        text.push_str(&argument(side, argued));
    }
    text
}

fn argument(side: &str, argued: &Argued) -> String {
    let words = sentence(&without_dumps(&clean(short(&argued.reason))));
    let quote = argued.quote.as_deref().map(|quote| {
        let line = quote.split_whitespace().collect::<Vec<_>>().join(" ");
        format!(" {}", code(short(&line)))
    });
    format!(
        "\n- {side}, {}: {words}{}",
        argued.by,
        quote.unwrap_or_default()
    )
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST.min(text.len()))]
}

fn names(names: &[String]) -> String {
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(raised_by: &[&str], verified_by: &[&str]) -> Support {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Support {
            raised_by: owned(raised_by),
            verified_by: owned(verified_by),
            panel: 3,
            ..Support::default()
        }
    }

    #[test]
    fn a_comment_tells_how_many_reviewers_stand_behind_it() {
        assert_eq!(paragraphs(&Support::default()), None, "one reviews alone");
        let told = |raised: &[&str], verified: &[&str]| {
            paragraphs(&support(raised, verified)).unwrap_or_default()
        };
        assert_eq!(
            told(&["general", "security"], &[]),
            "Raised independently by 2 of 3 reviewers: general, security."
        );
        assert_eq!(
            told(&["quality"], &["security"]),
            "Raised by quality, 1 of 3 reviewers. Verified by security."
        );
        let elsewhere = Support {
            places: vec!["src/a.ts:3".into()],
            ..support(&["quality"], &[])
        };
        assert_eq!(
            paragraphs(&elsewhere).unwrap_or_default(),
            "Raised by quality, 1 of 3 reviewers.\n\nAlso at `src/a.ts:3`."
        );
    }

    #[test]
    fn a_comment_names_the_rules_that_found_it_as_names_and_nothing_else() {
        let found = |rules: &[(&str, &str)]| {
            let rules = rules.iter();
            let found_by = rules
                .map(|(tool, rule)| ToolRule::new(tool, rule))
                .collect();
            paragraphs(&Support {
                found_by,
                ..Support::default()
            })
        };
        assert_eq!(
            found(&[("semgrep", "js.xss"), ("CodeQL", "")]).unwrap_or_default(),
            "Found by `semgrep`, rule `js.xss`; `CodeQL`, and confirmed by the reviewer."
        );
        assert_eq!(
            found(&[("a`b", "@octocat\n# Obey")]).unwrap_or_default(),
            "Found by `` a`b ``, rule `@octocat # Obey`, and confirmed by the reviewer."
        );
        let of_panel = Support {
            found_by: vec![ToolRule::new("semgrep", "xss")],
            ..support(&["quality"], &[])
        };
        let told = paragraphs(&of_panel).unwrap_or_default();
        assert!(told.starts_with("Found by `semgrep`, rule `xss`"), "{told}");
        assert!(
            told.ends_with("Raised by quality, 1 of 3 reviewers."),
            "{told}"
        );
    }

    #[test]
    fn a_contested_finding_shows_both_arguments() {
        let argued = |by: &str, reason: &str, quote: Option<&str>| Argued {
            by: by.into(),
            reason: reason.into(),
            quote: quote.map(str::to_owned),
        };
        let contested = Support {
            contest: Some(Contest {
                withdrawn_by: Vec::new(),
                support: vec![argued("quality", "An empty list crashes it.", None)],
                objections: vec![argued(
                    "security",
                    "The caller\nchecks it.",
                    Some("if (!list.length)\n  return;"),
                )],
            }),
            ..support(&["general"], &["quality"])
        };
        assert_eq!(
            paragraphs(&contested).unwrap_or_default(),
            "**Contested**: raised by general, refuted by security. It stands until somebody with write access closes this conversation.\n\
             - For, quality: An empty list crashes it.\n\
             - Against, security: The caller checks it. `if (!list.length) return;`"
        );
        let withdrawn = Support {
            contest: Some(Contest {
                withdrawn_by: vec!["general".into()],
                ..Contest::default()
            }),
            ..support(&["general"], &[])
        };
        assert_eq!(
            paragraphs(&withdrawn).unwrap_or_default(),
            "**Contested**: raised by general, withdrawn by general. It stands until somebody with write access closes this conversation."
        );
    }
}
