use super::super::claim::fixture::claim;
use super::super::cluster::group;
use super::super::seats::fixture::seats;
use super::*;
use proptest::prelude::*;

const CLAUDE: &str = "a/claude";
const GPT: &str = "b/gpt-5";
const NONE: Vec<usize> = Vec::new();

fn assigned(models: &[&str], claims: &[Claim]) -> Vec<Vec<usize>> {
    assigned_without(models, claims, &[])
}

fn assigned_without(models: &[&str], claims: &[Claim], absent: &[usize]) -> Vec<Vec<usize>> {
    let absent = absent.iter().copied().collect();
    let lists = assign(&seats(models), claims, &group(claims), &absent);
    let numbers = |list: Vec<ClusterNumber>| list.into_iter().map(|number| number.0).collect();
    lists.into_iter().map(numbers).collect()
}

/// Claims of one reviewer with nothing in common, at a score.
fn claims(seat: usize, count: u32, score: u64) -> Vec<Claim> {
    let far = |number| claim(seat, number, number * 100, "The last page is lost.").scored(score);
    (1..=count).map(far).collect()
}

#[test]
fn a_reviewer_alone_verifies_nothing() {
    assert_eq!(assigned(&[CLAUDE], &claims(0, 3, 9)), [NONE]);
}

#[test]
fn with_two_each_verifies_the_singles_of_the_other() {
    let mut both = claims(0, 2, 4);
    both.push(claim(1, 1, 900, "Another cause altogether").scored(8));
    assert_eq!(assigned(&[CLAUDE, CLAUDE], &both), [vec![2], vec![0, 1]]);
}

#[test]
fn a_blocking_single_is_verified_by_two_others_where_there_are_two() {
    let blocking = claims(0, 1, 9);
    assert_eq!(
        assigned(&[CLAUDE; 3], &blocking),
        [vec![], vec![0], vec![0]]
    );
    assert_eq!(assigned(&[CLAUDE; 2], &blocking), [vec![], vec![0]]);
}

#[test]
fn agreement_of_two_is_verified_only_where_it_blocks() {
    let agreed = |score| {
        let text = "`pages` rounds down, so the last page is lost";
        [
            claim(0, 1, 10, text).scored(score),
            claim(1, 1, 10, text).scored(2),
        ]
    };
    assert_eq!(assigned(&[CLAUDE; 3], &agreed(4)), [NONE; 3]);
    assert_eq!(
        assigned(&[CLAUDE; 3], &agreed(9)),
        [vec![], vec![], vec![0]]
    );
    let none_left = assigned(&[CLAUDE; 2], &agreed(9));
    assert_eq!(none_left, [NONE; 2], "nobody verifies its own");
}

#[test]
fn two_of_one_vendor_are_one_voice_and_another_vendor_verifies() {
    let text = "`pages` rounds down, so the last page is lost";
    let agreed = [
        claim(0, 1, 10, text).scored(4),
        claim(1, 1, 10, text).scored(4),
    ];
    let models = [CLAUDE, CLAUDE, CLAUDE, GPT];
    assert_eq!(
        assigned(&models, &agreed),
        [vec![], vec![], vec![], vec![0]]
    );
    let blocking = claims(3, 1, 9);
    let lists = assigned(&[GPT, CLAUDE, GPT, GPT, "c/gemini"], &blocking);
    assert_eq!(lists, [vec![], vec![0], vec![], vec![], vec![0]]);
}

#[test]
fn singles_come_first_then_what_blocks_then_the_score() {
    let text = "`pages` rounds down, so the last page is lost";
    let mut all = vec![
        claim(0, 1, 10, text).scored(9),
        claim(1, 1, 10, text).scored(9),
    ];
    all.push(claim(0, 2, 100, "The session never expires").scored(2));
    all.push(claim(0, 3, 200, "Uploads overwrite each other").scored(5));
    all.push(claim(0, 4, 300, "A password is logged").scored(8));
    let lists = assigned_without(&[CLAUDE, CLAUDE, CLAUDE], &all, &[1]);
    assert_eq!(lists, [vec![], vec![], vec![3, 2, 1, 0]]);
}

#[test]
fn the_limit_drops_what_scores_least_and_never_what_blocks() {
    let most = u32::try_from(MOST_EACH).unwrap();
    let mut many = claims(0, most, 3);
    many.push(claim(0, 50, 9000, "Uploads overwrite each other").scored(5));
    let lists = assigned(&[CLAUDE, CLAUDE], &many);
    assert_eq!(lists[1].len(), MOST_EACH);
    assert_eq!(lists[1][0], MOST_EACH, "the highest score");
    let blocking = assigned(&[CLAUDE, CLAUDE], &claims(0, most + 5, 9));
    assert_eq!(blocking[1].len(), MOST_EACH + 5);
}

#[test]
fn work_is_divided_about_evenly_and_nobody_absent_gets_any() {
    let mut all = claims(0, 4, 3);
    all.extend(
        claims(1, 4, 3)
            .into_iter()
            .map(|claim| claim.in_file("b.rs")),
    );
    all.extend(
        claims(2, 4, 3)
            .into_iter()
            .map(|claim| claim.in_file("c.rs")),
    );
    let sizes = |lists: Vec<Vec<usize>>| lists.iter().map(Vec::len).collect::<Vec<_>>();
    let even = sizes(assigned(&[CLAUDE; 3], &all));
    assert_eq!(even.iter().sum::<usize>(), 12);
    assert!(even.iter().all(|size| (3..=5).contains(size)), "{even:?}");
    let without = assigned_without(&[CLAUDE; 3], &all, &[1]);
    assert_eq!(sizes(without), [8, 0, 4]);
}

#[test]
fn a_harmless_claim_that_its_reviewer_withdrew_is_settled_and_a_blocking_one_is_not() {
    let harmless = claim(0, 1, 1, "a").scored(3).withdrawn();
    let blocking = claim(0, 2, 100, "b").scored(9).withdrawn();
    assert_eq!(
        assigned(&[CLAUDE; 2], &[harmless, blocking]),
        [vec![], vec![1]]
    );
}

proptest! {
    #[test]
    fn nobody_verifies_its_own_and_every_blocking_single_is_verified_in_any_order(
        drawn in prop::collection::vec((0..5_usize, 1..11_u64), 0..60),
        models in prop::collection::vec(prop::sample::select(vec![CLAUDE, GPT, "c/gemini"]), 5),
    ) {
        let numbered = drawn.into_iter().zip(1_u32..);
        let mut all: Vec<Claim> = numbered
            .map(|((seat, score), number)| claim(seat, number, number * 100, "x").scored(score))
            .collect();
        let seats = seats(&models);
        let grouping = group(&all);
        let lists = assign(&seats, &all, &grouping, &BTreeSet::new());
        for (seat, list) in lists.iter().enumerate() {
            let raised = |number: &ClusterNumber| grouping.cluster(*number).iter().any(|id| id.seat == seat);
            prop_assert!(!list.iter().any(raised));
        }
        for (number, ids) in grouping.clusters() {
            let blocks = all.iter().any(|claim| ids.contains(&claim.id) && claim.blocks);
            let verified = lists.iter().filter(|list| list.contains(&number)).count();
            let expected = if blocks { 2..=2 } else { 0..=1 };
            prop_assert!(expected.contains(&verified));
        }
        all.reverse();
        prop_assert_eq!(lists, assign(&seats, &all, &grouping, &BTreeSet::new()));
    }
}
