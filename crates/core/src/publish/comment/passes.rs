//! The passes of a review: their topics, those that were not finished, and a wrong claim about one.

use crate::domain::Passes;

/// Counts the passes and lists their topics.
pub(super) fn listed(passes: Passes) -> String {
    const WORDS: [&str; 9] = [
        "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine",
    ];
    let total = usize::from(passes.total());
    let count = WORDS.get(total.wrapping_sub(1));
    let count = count.map_or_else(|| total.to_string(), |word| (*word).to_owned());
    let noun = if total == 1 { "pass" } else { "passes" };
    let topics: Vec<&str> = passes.all().map(|pass| pass.row.topic).collect();
    format!("{count} {noun}: {}.", topics.join(", "))
}

/// The model was wrong about blocking issues when it submitted a pass. `place` is the pass, as in "3 of 4".
#[must_use]
pub fn corrected_claim(place: &str, claimed: bool) -> String {
    let (said, recorded) = if claimed {
        ("there are blocking issues", "no recorded finding is")
    } else {
        ("there are no blocking issues", "a recorded finding is")
    };
    format!(
        "Pass {place} was submitted with the claim that {said}, but {recorded} scored 9 or 10. The claim was corrected; \
         the recorded findings count."
    )
}

/// The sentence about reviewers of a panel that did not finish, each with the reason.
#[must_use]
pub fn unfinished_reviewers<'a>(ends: impl Iterator<Item = (&'a str, String)>) -> String {
    let each = ends.map(|(name, why)| format!("The reviewer {name} did not finish. {why}"));
    each.collect::<Vec<_>>().join(" ")
}

/// The sentences about sections of a large change that were not reviewed to the end, each with the reason; without a number, about
/// the consolidation of all. Neighbours with the same reason share a sentence.
#[must_use]
pub fn unfinished_sections(
    of: usize,
    ends: impl Iterator<Item = (Option<usize>, String)>,
) -> String {
    let mut groups: Vec<(Option<(usize, usize)>, String)> = Vec::new();
    for (number, why) in ends {
        match (number, groups.last_mut()) {
            (Some(number), Some((Some((_, last)), same)))
                if *same == why && *last + 1 == number =>
            {
                *last = number;
            }
            _ => groups.push((number.map(|number| (number, number)), why)),
        }
    }
    let sentence = |(numbers, why): (Option<(usize, usize)>, String)| {
        let what = match numbers {
            None => "The consolidation of all sections was not finished.".to_owned(),
            Some((first, last)) if first == last => {
                format!("Section {first} of {of} was not reviewed to the end.")
            }
            Some((first, last)) => {
                format!("Sections {first} to {last} of {of} were not reviewed to the end.")
            }
        };
        format!("{what} {why}").trim_end().to_owned()
    };
    let sentences: Vec<String> = groups.into_iter().map(sentence).collect();
    sentences.join(" ")
}

/// A changed file in the list of what was not reviewed, with the section that shows it.
#[must_use]
pub fn unreviewed(path: &str, section: usize, of: usize) -> String {
    format!("{path} (section {section} of {of} was not reviewed to the end)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::comment::check::in_progress;

    #[test]
    fn the_check_lists_the_passes_of_the_table() {
        assert_eq!(
            in_progress().1,
            "Four passes: the diff, the structure around it, security and rules, consolidation."
        );
        assert!(
            listed(crate::domain::passes::FIVE).starts_with("Five passes: the diff, the tests, ")
        );
    }

    #[test]
    fn sections_that_ended_for_one_reason_share_a_sentence() {
        let ends = [
            (Some(2), "It ended."),
            (Some(4), "No money."),
            (Some(5), "No money."),
            (None, "No money."),
        ];
        let ends = ends.map(|(number, why)| (number, why.to_owned()));
        assert_eq!(
            unfinished_sections(5, ends.into_iter()),
            "Section 2 of 5 was not reviewed to the end. It ended. Sections 4 to 5 of 5 were not reviewed to the end. \
             No money. The consolidation of all sections was not finished. No money."
        );
    }
}
