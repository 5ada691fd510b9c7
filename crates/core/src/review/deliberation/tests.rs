use super::*;
use crate::domain::fixture;
use crate::review::policy::Reason;

fn seats(count: usize) -> Vec<Seat> {
    let names = ["general", "quality", "security"].into_iter();
    let seat = |name: &str| Seat {
        name: name.into(),
        model: "standin/one".into(),
    };
    names.take(count).map(seat).collect()
}

fn entry(id: u32, reviewer: &str, line: u32, sentence: &str, score: u8) -> Entry {
    let mut finding = fixture::finding();
    finding.id = format!("{reviewer}-{id}").parse().unwrap();
    finding.reviewer = reviewer.into();
    finding.anchor = crate::domain::Anchor::Line {
        side: crate::domain::Side::Right,
        start: None,
        line,
    };
    finding.anchor_hash = format!("hash-{line}");
    finding.assessment.finding = sentence.into();
    finding.body = sentence.into();
    finding.assessment.score = crate::domain::Score::new(score.into()).unwrap();
    Entry {
        id,
        given: finding.assessment.score,
        finding,
        fate: Fate::Staged,
        carried: false,
        worded: false,
    }
}

fn said(entries: Vec<Entry>) -> Testimony {
    let ids = |entries: &[Entry], keep: fn(&Entry) -> bool| {
        let kept = entries.iter().filter(|entry| keep(entry));
        kept.map(|entry| entry.id).collect()
    };
    Testimony {
        publishable: ids(&entries, |entry| entry.fate == Fate::Staged),
        blocking: ids(&entries, |entry| entry.given.get() >= 9),
        entries,
        ..Testimony::default()
    }
}

const LOST: &str = "The last page of the list is lost because pages rounds down.";

#[test]
fn the_same_cause_is_published_once_with_the_highest_score() {
    let general = said(vec![entry(1, "general", 8, LOST, 7)]);
    let quality = said(vec![entry(1, "quality", 8, LOST, 8)]);
    let concluded = conclude(&seats(2), &[general, quality]);
    assert_eq!(concluded.due.len(), 1);
    let [general, quality] = concluded.entries.as_slice() else {
        panic!("{:?}", concluded.entries);
    };
    assert_eq!((general.id, quality.id), (1, 2), "numbered through");
    assert_eq!(general.fate, Fate::CombinedInto(2));
    assert_eq!(quality.fate, Fate::Staged);
    let support = &quality.finding.support;
    assert_eq!(support.raised_by, ["general", "quality"]);
    assert_eq!(quality.finding.assessment.score.get(), 8);
}

#[test]
fn a_single_finding_goes_to_another_reviewer_and_falls_by_its_refutation() {
    let testimonies = [
        said(vec![entry(1, "general", 8, LOST, 7)]),
        Testimony::default(),
    ];
    let dockets = dockets(&seats(2), &testimonies, &BTreeSet::new());
    assert!(dockets[0].is_empty(), "nobody verifies its own");
    let claim = dockets[1].findings[0].claim;
    let [general, mut quality] = testimonies;
    quality.verdicts.push((
        claim,
        Verdict::Refute {
            reason: "It rounds up.".into(),
            quote: "Math.ceil(count / size)".into(),
        },
    ));
    let concluded = conclude(&seats(2), &[general, quality]);
    assert!(concluded.due.is_empty());
    assert_eq!(
        concluded.entries[0].fate,
        Fate::Withdrawn(
            "another reviewer refuted it. quality: It rounds up. (Math.ceil(count / size))".into()
        )
    );
    assert_eq!(concluded.figures[0].refuted, 1);
}

#[test]
fn what_its_reviewer_withdrew_before_the_others_judged_it_stays_withdrawn() {
    let mut own = entry(1, "general", 8, LOST, 9);
    own.fate = Fate::Withdrawn("It rounds up.".into());
    let testimonies = [said(vec![own]), Testimony::default()];
    let none = BTreeSet::new();
    assert!(dockets(&seats(2), &testimonies, &none)[1].is_empty());
    let concluded = conclude(&seats(2), &testimonies);
    assert!(concluded.due.is_empty() && concluded.joined.is_empty());
    let [general, quality] = testimonies;
    let withdrawn = Testimony {
        withdrawn: BTreeSet::from([1]),
        ..general
    };
    let concluded = conclude(&seats(2), &[withdrawn, quality]);
    let entry = &concluded.entries[0];
    assert_eq!(
        entry.fate,
        Fate::Staged,
        "one voice does not clear what blocks"
    );
    let contest = entry.finding.support.contest.as_ref();
    assert_eq!(contest.expect("a contest").withdrawn_by, ["general"]);
}

#[test]
fn who_is_absent_verifies_nothing_and_what_it_found_is_verified() {
    let absent = BTreeSet::from([1]);
    let testimonies = [
        Testimony::default(),
        said(vec![entry(1, "quality", 8, LOST, 9)]),
        Testimony::default(),
    ];
    let dockets = dockets(&seats(3), &testimonies, &absent);
    let asked: Vec<usize> = dockets.iter().map(|one| one.findings.len()).collect();
    assert_eq!(asked, [1, 0, 1], "two voices for what blocks");
}

#[test]
fn a_finding_of_an_earlier_review_counts_once_and_is_not_judged_again() {
    let earlier = |reviewer| Entry {
        carried: true,
        ..entry(1, reviewer, 8, LOST, 7)
    };
    let testimonies = [
        said(vec![earlier("general")]),
        said(vec![earlier("general")]),
    ];
    let none = BTreeSet::new();
    assert!(
        dockets(&seats(2), &testimonies, &none)
            .iter()
            .all(Docket::is_empty)
    );
    let concluded = conclude(&seats(2), &testimonies);
    assert_eq!(concluded.entries.len(), 1);
    assert_eq!(concluded.due.len(), 1);
}

#[test]
fn what_is_below_the_threshold_stays_so_and_combined_findings_keep_their_whole() {
    let suppressed = Fate::Suppressed(Reason::BelowThreshold {
        score: crate::domain::Score::new(3).unwrap(),
        threshold: crate::domain::Score::new(5).unwrap(),
    });
    let mut small = entry(1, "quality", 3, "A name.", 3);
    small.fate = suppressed.clone();
    let mut part = entry(2, "quality", 4, "Another name.", 3);
    part.fate = Fate::CombinedInto(3);
    let whole = entry(3, "quality", 5, "Names say nothing here.", 5);
    let testimonies = [
        said(vec![entry(1, "general", 8, LOST, 7)]),
        said(vec![small, part, whole]),
    ];
    let concluded = conclude(&seats(2), &testimonies);
    let fates: Vec<&Fate> = concluded.entries.iter().map(|one| &one.fate).collect();
    assert_eq!(
        fates,
        [
            &Fate::Staged,
            &suppressed,
            &Fate::CombinedInto(4),
            &Fate::Staged
        ]
    );
}

const LOCK: &str = "`drain` takes the lock twice, so shutdown deadlocks.";
const LOCK_LOOSELY: &str =
    "`drain` can hang forever when the worker stops: its mutex is not reentrant";

/// The last pass gives the findings other words than those that the reviewers judged.
fn reworded(said: &mut Testimony, words: &str) {
    let entries = said.entries.iter();
    let judged = entries.map(|entry| (entry.id, entry.finding.clone()));
    said.judged = Some(judged.collect());
    for entry in &mut said.entries {
        entry.finding.body = words.into();
    }
}

/// Two findings about which the reviewers were asked, after both have answered and worded theirs anew.
fn asked_about(same: bool, words: [&str; 2]) -> Conclusion {
    let seats = seats(2);
    let mut testimonies = [
        said(vec![entry(1, "general", 8, LOCK, 7)]),
        said(vec![entry(1, "quality", 8, LOCK_LOOSELY, 7)]),
    ];
    let dockets = dockets(&seats, &testimonies, &BTreeSet::new());
    for ((said, docket), words) in testimonies.iter_mut().zip(dockets).zip(words) {
        let [pair] = docket.pairs.as_slice() else {
            panic!("{docket:?}");
        };
        said.compared.push((pair.claims, same));
        reworded(said, words);
    }
    conclude(&seats, &testimonies)
}

#[test]
fn answers_count_whatever_words_the_last_pass_finds() {
    let apart = [
        "Call `try_lock`.",
        "Every connection of the pool is leaked when the query raises an error.",
    ];
    assert_eq!(asked_about(true, apart).due.len(), 1, "said once");
    let alike = [LOCK; 2];
    assert_eq!(asked_about(false, alike).due.len(), 2, "two causes");
}

#[test]
fn what_was_one_cause_stays_one_whatever_words_the_last_pass_finds() {
    let mut testimonies = [
        said(vec![entry(1, "general", 8, LOST, 7)]),
        said(vec![entry(1, "quality", 8, LOST, 7)]),
    ];
    let [general, quality] = &mut testimonies;
    reworded(general, "Use `ceil`, as the neighbouring module does.");
    reworded(
        quality,
        "Customers whose order stands at the very end never see it in their list of orders.",
    );
    assert_eq!(conclude(&seats(2), &testimonies).due.len(), 1);
}

#[test]
fn what_two_reviewers_find_in_the_last_pass_is_said_once() {
    let mut testimonies = [
        said(vec![entry(1, "general", 8, LOST, 7)]),
        said(vec![entry(1, "quality", 90, LOCK, 7)]),
    ];
    for said in &mut testimonies {
        reworded(said, "Words for the author.");
    }
    let [general, quality] = &mut testimonies;
    general.entries.push(entry(2, "general", 90, LOCK, 8));
    quality.entries.push(entry(2, "quality", 40, "A name.", 5));
    for said in &mut testimonies {
        said.publishable.insert(2);
    }
    let concluded = conclude(&seats(2), &testimonies);
    assert_eq!(concluded.due.len(), 3, "{:?}", concluded.joined);
}

#[test]
fn a_blocking_finding_of_an_earlier_review_is_withdrawn_by_two_voices_or_not_at_all() {
    let on_desk = |score, withdrawn: bool| {
        let mut one = entry(1, "general", 8, LOST, score);
        one.carried = true;
        if withdrawn {
            one.fate = Fate::Withdrawn("It rounds up.".into());
        }
        said(vec![one])
    };
    let fate = |score, withdrawn: [bool; 3]| {
        let testimonies = withdrawn.map(|withdrawn| on_desk(score, withdrawn));
        let concluded = conclude(&seats(3), &testimonies);
        assert_eq!(concluded.entries.len(), 1);
        concluded.entries[0].fate == Fate::Staged
    };
    assert!(fate(9, [true, false, false]), "one voice");
    assert!(!fate(9, [true, true, false]), "two voices");
    assert!(!fate(6, [true, false, false]), "it does not block");
    let higher = conclude(&seats(2), &[on_desk(6, false), on_desk(9, false)]);
    assert_eq!(higher.entries[0].finding.assessment.score.get(), 9);
}

#[test]
fn a_problem_that_is_back_is_reopened_whoever_found_it_and_once() {
    let reopened = || StagedReply {
        thread: fixture::thread(),
        effect: Effect::Reopen,
        body: LOST.into(),
        stage: crate::review::ledger::Stage::TurnZero,
    };
    let found = |reopened| Testimony {
        reopened,
        ..Testimony::default()
    };
    for testimonies in [
        [found(vec![]), found(vec![reopened()])],
        [found(vec![reopened()]), found(vec![reopened()])],
    ] {
        assert_eq!(conclude(&seats(2), &testimonies).reopened, [reopened()]);
    }
}

#[test]
fn what_only_an_earlier_review_says_counts_once_however_many_found_it_again() {
    let again = || Testimony {
        still_said: BTreeMap::from([("f-1".parse().unwrap(), Score::new(9).unwrap())]),
        ..Testimony::default()
    };
    let concluded = conclude(&seats(2), &[again(), again()]);
    let still_said: Vec<Score> = concluded.still_said.into_values().collect();
    assert_eq!(still_said, [Score::new(9).unwrap()]);
}
