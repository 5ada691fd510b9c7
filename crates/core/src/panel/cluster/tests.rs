use super::super::claim::fixture::{at, claim};
use super::*;
use crate::domain::Side;
use proptest::prelude::*;

const LOCK: &str = "`drain` takes the lock twice, so shutdown deadlocks.";
const LOCK_AGAIN: &str = "Shutdown deadlocks because drain() locks twice";
const LOCK_THIRD: &str = "drain locks twice and deadlocks on shutdown";
const LOCK_LOOSELY: &str =
    "`drain` can hang forever when the worker stops: its mutex is not reentrant";
const LEAK: &str = "The connection is never returned to the pool on error.";

fn id(seat: usize, number: u32) -> ClaimId {
    ClaimId { seat, number }
}

fn clusters(grouping: &Grouping) -> Vec<Vec<(usize, u32)>> {
    let ids = |ids: &[ClaimId]| ids.iter().map(|id| (id.seat, id.number)).collect();
    grouping.clusters().map(|(_, claims)| ids(claims)).collect()
}

fn pair(a: usize, b: usize) -> Pair {
    (ClusterNumber(a), ClusterNumber(b))
}

fn yes(a: usize, b: usize) -> Answer {
    Answer {
        pair: pair(a, b),
        same: true,
    }
}

fn no(a: usize, b: usize) -> Answer {
    Answer {
        same: false,
        ..yes(a, b)
    }
}

/// A grouping of claims that one reviewer each made, with these questions.
fn asked(seats: &[usize], questions: &[(usize, usize)]) -> Grouping {
    let numbered = seats.iter().zip(1..);
    let mut grouping = Grouping::of(numbered.map(|(seat, number)| vec![id(*seat, number)]));
    grouping.questions = questions.iter().map(|(a, b)| pair(*a, *b)).collect();
    grouping
}

#[test]
fn the_same_cause_in_other_words_at_the_same_place_is_one_cluster() {
    let claims = [
        claim(0, 1, 10, LOCK),
        claim(1, 1, 12, LOCK_AGAIN),
        claim(2, 4, 9, LOCK_THIRD),
        claim(2, 5, 10, LEAK),
    ];
    let grouping = group(&claims);
    let expected = vec![vec![(0, 1), (1, 1), (2, 4)], vec![(2, 5)]];
    assert_eq!(clusters(&grouping), expected);
    assert_eq!(grouping.questions(), []);
    assert_eq!(grouping.cluster(ClusterNumber(1)), [id(2, 5)]);
    assert_eq!(grouping.cluster(ClusterNumber(2)), []);
}

#[test]
fn words_in_between_make_a_question() {
    let grouping = group(&[claim(0, 1, 10, LOCK), claim(1, 1, 10, LOCK_LOOSELY)]);
    assert_eq!(clusters(&grouping).len(), 2);
    assert_eq!(grouping.questions(), [pair(0, 1)]);
}

#[test]
fn the_same_words_elsewhere_in_the_file_make_a_question_and_in_another_file_nothing() {
    let far = group(&[claim(0, 1, 10, LOCK), claim(1, 1, 90, LOCK_AGAIN)]);
    assert_eq!(clusters(&far).len(), 2);
    assert_eq!(far.questions(), [pair(0, 1)]);
    let loosely = group(&[claim(0, 1, 10, LOCK), claim(1, 1, 90, LOCK_LOOSELY)]);
    assert_eq!(loosely.questions(), []);
    let other = claim(1, 1, 10, LOCK_AGAIN).in_file("src/other.ts");
    let other = group(&[claim(0, 1, 10, LOCK), other]);
    assert_eq!((clusters(&other).len(), other.questions()), (2, &[][..]));
}

#[test]
fn near_is_by_the_ends_of_ranges_on_one_side_or_by_the_same_code() {
    let range = |start, line| Anchor::Line {
        side: Side::Right,
        start: Some(start),
        line,
    };
    let removed = Anchor::Line {
        side: Side::Left,
        start: None,
        line: 20,
    };
    for (a, b, near) in [
        (at(20), at(26), true),
        (at(20), at(27), false),
        (range(1, 20), at(26), true),
        (range(1, 20), at(27), false),
        (range(1, 90), at(50), true),
        (at(50), range(57, 60), false),
        (at(20), removed, false),
        (at(20), Anchor::File, true),
    ] {
        let placed = |anchor, hash: &str| {
            let mut finding = claim(0, 1, 1, LOCK).finding;
            finding.anchor = anchor;
            finding.anchor_hash = hash.into();
            finding
        };
        assert_eq!(
            is_near(&placed(a, "a"), &placed(b, "b")),
            near,
            "{a:?} {b:?}"
        );
        assert_eq!(is_near(&placed(b, ""), &placed(a, "")), near, "{a:?} {b:?}");
        assert!(is_near(&placed(a, "same"), &placed(b, "same")));
    }
}

#[test]
fn a_reviewer_that_says_two_things_means_two() {
    let claims = [
        claim(0, 1, 10, LOCK),
        claim(0, 2, 10, LOCK),
        claim(1, 1, 10, LOCK),
    ];
    let grouping = group(&claims);
    assert_eq!(clusters(&grouping), [vec![(0, 1), (1, 1)], vec![(0, 2)]]);
    assert_eq!(grouping.questions(), [], "nor is it asked");
}

#[test]
fn a_chain_of_places_is_no_cluster() {
    let claims = [
        claim(0, 1, 10, LOCK),
        claim(1, 1, 16, LOCK),
        claim(2, 1, 22, LOCK),
    ];
    let grouping = group(&claims);
    assert_eq!(clusters(&grouping), [vec![(0, 1), (1, 1)], vec![(2, 1)]]);
    assert_eq!(grouping.questions(), [pair(0, 1)]);
}

#[test]
fn a_claim_that_is_like_two_different_ones_does_not_join_them() {
    let both = format!("{LOCK} {LEAK}");
    let claims = [
        claim(0, 1, 10, LOCK),
        claim(1, 1, 10, LEAK),
        claim(2, 1, 10, &both),
    ];
    let together = clusters(&group(&claims));
    let joined = |of: &Vec<(usize, u32)>| of.contains(&(0, 1)) && of.contains(&(1, 1));
    assert!(!together.iter().any(joined), "{together:?}");
}

#[test]
fn at_most_so_many_questions_are_asked_and_the_likeliest_first() {
    let mut claims = vec![claim(0, 1, 10, LOCK), claim(1, 99, 90, LOCK_AGAIN)];
    claims.extend((1..40).map(|number| claim(1, number, 10, LOCK_LOOSELY)));
    let grouping = group(&claims);
    assert_eq!(grouping.questions().len(), MOST_QUESTIONS);
    let surest = grouping.questions()[0].1;
    assert_eq!(grouping.cluster(surest), [id(1, 99)]);
}

#[test]
fn findings_are_merged_only_if_every_answer_is_yes_and_there_is_one() {
    let open = asked(&[0, 1], &[(0, 1)]);
    let merged = |answers: &[Answer]| open.merged(answers).clusters.len() == 1;
    assert!(merged(&[yes(0, 1)]));
    assert!(merged(&[yes(0, 1), yes(1, 0)]));
    assert!(!merged(&[]));
    assert!(!merged(&[yes(0, 1), no(0, 1)]));
    assert!(!merged(&[no(1, 0), yes(0, 1)]));
}

#[test]
fn nobody_merges_what_was_not_asked() {
    let open = asked(&[0, 1, 2], &[(0, 1)]);
    let after = open.merged(&[yes(0, 2), yes(7, 9)]);
    assert_eq!(after.clusters, open.clusters);
    assert_eq!(after.questions(), [], "nothing is asked again");
}

#[test]
fn answers_merge_by_way_of_others_but_not_against_a_no_or_one_reviewers_word() {
    let chain = [(0, 1), (1, 2)];
    let three = asked(&[0, 1, 2], &chain);
    assert_eq!(three.merged(&[yes(0, 1), yes(1, 2)]).clusters.len(), 1);

    let with_no = asked(&[0, 1, 2], &[(0, 1), (1, 2), (0, 2)]);
    let merged = with_no.merged(&[yes(0, 1), yes(1, 2), no(0, 2)]);
    assert_eq!(clusters(&merged), [vec![(0, 1), (1, 2)], vec![(2, 3)]]);

    let twice = asked(&[0, 0, 1], &[(0, 2), (1, 2)]);
    let merged = twice.merged(&[yes(0, 2), yes(1, 2)]);
    assert_eq!(clusters(&merged), [vec![(0, 1), (1, 3)], vec![(0, 2)]]);
}

fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
    let texts = [LOCK, LOCK_AGAIN, LOCK_THIRD, LOCK_LOOSELY, LEAK, ""];
    let one = (
        0..4_usize,
        1..30_u32,
        prop::sample::select(texts.to_vec()),
        0..2_usize,
    );
    let claims = prop::collection::vec(one, 0..14);
    claims.prop_map(|claims| {
        let numbered = claims.into_iter().zip(1..);
        let built = numbered.map(|((seat, line, text, file), number)| {
            claim(seat, number, line, text).in_file(["a.rs", "b.rs"][file])
        });
        built.collect()
    })
}

proptest! {
    #[test]
    fn the_grouping_is_the_same_for_every_order(
        (claims, shuffled) in any_claims().prop_flat_map(|claims| {
            let shuffled = Just(claims.clone()).prop_shuffle();
            (Just(claims), shuffled)
        })
    ) {
        prop_assert_eq!(group(&claims), group(&shuffled));
    }

    #[test]
    fn every_claim_is_in_one_cluster_with_at_most_one_of_each_reviewer(
        claims in any_claims(),
        answers in prop::collection::vec(any::<bool>(), MOST_QUESTIONS),
    ) {
        let before = group(&claims);
        let given = before.questions.iter().zip(answers);
        let answers: Vec<Answer> = given.map(|(pair, same)| Answer { pair: *pair, same }).collect();
        let after = before.merged(&answers);
        for grouping in [&before, &after] {
            let mut ids: Vec<ClaimId> = grouping.clusters.iter().flatten().copied().collect();
            ids.sort_unstable();
            let mut expected: Vec<ClaimId> = claims.iter().map(|claim| claim.id).collect();
            expected.sort_unstable();
            prop_assert_eq!(ids, expected);
            for cluster in &grouping.clusters {
                let seats: BTreeSet<usize> = cluster.iter().map(|claim| claim.seat).collect();
                prop_assert_eq!(seats.len(), cluster.len());
            }
        }
        prop_assert!(after.clusters.len() <= before.clusters.len());
    }

    #[test]
    fn answers_merge_the_same_in_every_order(
        claims in any_claims(),
        (answers, shuffled) in prop::collection::vec((0..8_usize, 0..8_usize, any::<bool>()), 0..20)
            .prop_flat_map(|answers| (Just(answers.clone()), Just(answers).prop_shuffle())),
    ) {
        let grouping = group(&claims);
        let read = |answers: Vec<(usize, usize, bool)>| {
            let one = |(a, b, same)| Answer { pair: pair(a, b), same };
            answers.into_iter().map(one).collect::<Vec<Answer>>()
        };
        prop_assert_eq!(grouping.merged(&read(answers)), grouping.merged(&read(shuffled)));
    }
}
