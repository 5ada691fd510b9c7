//! The table as the code has it, and what holds of everybody in it.

use super::*;
use proptest::prelude::*;
use std::fmt::Write as _;

const PEOPLE: [(&str, Person); 5] = [
    ("writer", person(true, false, false)),
    ("author, writer", person(true, true, false)),
    ("author", person(false, true, false)),
    ("other", person(false, false, false)),
    ("bot", person(true, false, true)),
];

const fn person(writes: bool, is_author: bool, is_bot: bool) -> Person {
    Person {
        is_bot,
        writes,
        is_author,
    }
}

const ACTIONS: [(&str, Action); 20] = [
    (
        "start a run by a comment",
        Action::Spend { from_fork: false },
    ),
    (
        "start a run by a comment, on a fork",
        Action::Spend { from_fork: true },
    ),
    ("be told why `dismiss` is refused", Action::AskToDismiss),
    ("`accept` a head", Action::Accept),
    ("have findings fixed", Action::Fix),
    ("have a reply in a thread judged", Action::Discuss),
    ("decide an escalated finding in words", Action::Decide),
    ("get a concession", Action::GetConcession { blocks: false }),
    (
        "get a concession, blocking",
        Action::GetConcession { blocks: true },
    ),
    (
        "have the last word",
        Action::HaveLastWord {
            blocks: false,
            reviewed: false,
        },
    ),
    (
        "have the last word, with human reviewers",
        Action::HaveLastWord {
            blocks: false,
            reviewed: true,
        },
    ),
    (
        "have the last word, blocking",
        Action::HaveLastWord {
            blocks: true,
            reviewed: false,
        },
    ),
    (
        "resolve a conversation",
        Action::CloseConversation(Stake::Minor),
    ),
    (
        "resolve a conversation, blocking",
        Action::CloseConversation(Stake::Blocking),
    ),
    (
        "resolve a conversation, for human reviewers",
        Action::CloseConversation(Stake::ForReviewers),
    ),
    ("`dismiss` a finding", Action::Dismiss(Stake::Minor)),
    (
        "`dismiss` a finding, blocking",
        Action::Dismiss(Stake::Blocking),
    ),
    (
        "`dismiss` a finding, for human reviewers",
        Action::Dismiss(Stake::ForReviewers),
    ),
    ("report a defect before the reviewer", Action::Forestall),
    ("be called as a human reviewer", Action::BeCalled),
];

fn cell(judged: Result<(), Denial>) -> &'static str {
    match judged {
        Ok(()) => "yes",
        Err(Denial::NoAccess) => "no: access",
        Err(Denial::NoPart) => "no: part",
        Err(Denial::OwnWork) => "no: own work",
        Err(Denial::Blocks) => "no: blocks",
        Err(Denial::ForReviewers) => "no: reviewers",
        Err(Denial::Bot) => "no: bot",
    }
}

fn row(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("//! | {} |\n", cells.join(" | "))
}

#[test]
fn the_table_in_the_head_of_the_file_is_what_the_code_decides() {
    let mut table = row(["action"].into_iter().chain(PEOPLE.map(|(name, _)| name)));
    table += &row(["---"; PEOPLE.len() + 1]);
    for (name, action) in ACTIONS {
        let cells = PEOPLE.map(|(_, person)| cell(judge(person, action)));
        table += &row([name].into_iter().chain(cells));
    }
    let source = include_str!("../authority.rs");
    let lines = source.lines().filter(|line| line.starts_with("//! |"));
    let written = lines.fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    });
    assert_eq!(written, table, "the table should be:\n{table}");
}

/// Every combination of facts, the senseless ones too.
fn people() -> impl Strategy<Value = Person> {
    let facts = (any::<bool>(), any::<bool>(), any::<bool>());
    facts.prop_map(|(writes, is_author, is_bot)| person(writes, is_author, is_bot))
}

fn stakes() -> impl Strategy<Value = Stake> {
    let facts = (any::<bool>(), any::<bool>(), any::<bool>());
    facts.prop_map(|(blocks, escalated, reviewed)| Stake::new(blocks, escalated, reviewed))
}

fn actions() -> impl Strategy<Value = Action> {
    let flags = (any::<bool>(), any::<bool>());
    prop_oneof![
        any::<bool>().prop_map(|from_fork| Action::Spend { from_fork }),
        any::<bool>().prop_map(|blocks| Action::GetConcession { blocks }),
        flags.prop_map(|(blocks, reviewed)| Action::HaveLastWord { blocks, reviewed }),
        stakes().prop_map(Action::CloseConversation),
        stakes().prop_map(Action::Dismiss),
        Just(Action::AskToDismiss),
        Just(Action::Accept),
        Just(Action::Fix),
        Just(Action::Discuss),
        Just(Action::Decide),
        Just(Action::Forestall),
        Just(Action::BeCalled),
    ]
}

/// An action that closes a finding which blocks, or turns a head green.
fn clears(action: Action) -> bool {
    match action {
        Action::CloseConversation(stake) | Action::Dismiss(stake) => stake != Stake::Minor,
        Action::GetConcession { blocks } | Action::HaveLastWord { blocks, .. } => blocks,
        Action::Accept | Action::Decide => true,
        Action::Spend { .. }
        | Action::AskToDismiss
        | Action::Fix
        | Action::Discuss
        | Action::Forestall
        | Action::BeCalled => false,
    }
}

proptest! {
    #[test]
    fn nobody_without_write_access_clears_what_blocks(person in people(), action in actions()) {
        let may = judge(person.with_access(false), action).is_ok();
        prop_assert!(!(may && clears(action)));
    }

    #[test]
    fn a_bot_does_nothing_but_close_conversations_below_the_threshold(
        person in people(),
        action in actions(),
    ) {
        let may = judge(Person { is_bot: true, ..person }, action).is_ok();
        prop_assert_eq!(may, action == Action::CloseConversation(Stake::Minor));
    }

    #[test]
    fn the_author_of_a_fork_s_pull_request_spends_nothing_by_words(person in people()) {
        let author = Person { is_author: true, ..person }.with_access(false);
        let spends = judge(author, Action::Spend { from_fork: true });
        prop_assert!(spends.is_err());
    }

    #[test]
    fn write_access_takes_no_right_away(person in people(), action in actions()) {
        let [without, with] = [false, true].map(|writes| judge(person.with_access(writes), action));
        prop_assert!(without.is_err() || with.is_ok());
    }

    #[test]
    fn whoever_is_asked_for_access_only_where_it_is_needed_is_judged_the_same(
        person in people(),
        action in actions(),
    ) {
        let unasked = person.with_access(false);
        let found = unasked.with_access(unasked.needs_access(action) && person.writes);
        let same = judge(found, action).is_ok() == judge(person, action).is_ok();
        prop_assert!(same);
    }

    #[test]
    fn a_higher_stake_gives_no_right(person in people()) {
        for close in [Action::CloseConversation, Action::Dismiss] {
            let stakes = [Stake::Minor, Stake::Blocking, Stake::ForReviewers];
            let may = stakes.map(|stake| judge(person, close(stake)).is_ok());
            prop_assert!(may.is_sorted_by(|lower, higher| lower >= higher));
        }
    }

    #[test]
    fn a_standing_keeps_what_words_in_a_thread_may_do(person in people(), action in actions()) {
        let kept = Person::from_standing(person.standing(), person.is_author);
        prop_assert_eq!(judge(kept, action).is_ok(), judge(person, action).is_ok());
    }
}

#[test]
fn what_is_known_of_an_account_without_asking_is_its_kind_and_whether_it_is_the_author() {
    let author = Login::new("dev");
    let [dev, ci] = ["Dev", "ci[bot]"].map(|name| Person::new(&Login::new(name), Some(&author)));
    assert_eq!(dev, person(false, true, false));
    assert_eq!(ci, person(false, false, true));
    let of_nobody = Person::new(&author, None);
    assert_eq!(of_nobody, Person::default());
}
