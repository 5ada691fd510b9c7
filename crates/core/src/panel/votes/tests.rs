use super::super::claim::fixture::claim;
use super::super::cluster::{Answer, group};
use super::super::seats::fixture::seats;
use super::*;
use proptest::prelude::*;

const C: &str = "a/claude";
const O: &str = "b/gpt-5";
const G: &str = "c/gemini";

/// The role of a seat in a table: raises (`R`), raises and withdraws (`W`), confirms (`+`), refutes (`-`), is unsure (`?`) or
/// gives no verdict (`.`).
fn outcome(models: &[&str], roles: &str, score: u64) -> Outcome {
    let mut claims = Vec::new();
    let mut votes = Vec::new();
    for (seat, role) in roles.chars().enumerate() {
        let raised = claim(seat, 1, 10, "The last page is lost.").scored(score);
        let verdict = match role {
            'R' => {
                claims.push(raised);
                continue;
            }
            'W' => {
                claims.push(raised.withdrawn());
                continue;
            }
            '+' => confirm("twenty-five orders"),
            '-' => refute("it rounds up"),
            '?' => Verdict::Unsure,
            _ => continue,
        };
        votes.push((seat, verdict));
    }
    let about = claims[0].id;
    let vote = |(seat, verdict)| Vote {
        seat,
        claim: about,
        verdict,
    };
    let votes: Vec<Vote> = votes.into_iter().map(vote).collect();
    let cluster: Vec<&Claim> = claims.iter().collect();
    decide(&seats(models), &cluster, &votes)
}

fn confirm(reason: &str) -> Verdict {
    Verdict::Confirm {
        reason: reason.into(),
    }
}

fn refute(reason: &str) -> Verdict {
    Verdict::Refute {
        reason: reason.into(),
        quote: "Math.ceil(count / size)".into(),
    }
}

/// One word for each outcome.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Stands => "stands",
        Outcome::Contested { .. } => "contested",
        Outcome::Withdrawn { why, .. } => match why {
            Withdrawal::ByRaiser => "withdrawn",
            Withdrawal::Refuted => "refuted",
            Withdrawal::Outvoted => "outvoted",
        },
    }
}

#[test]
fn the_rules_as_a_table() {
    // Models, roles, then the outcome at score 4 and at score 9, which blocks.
    let table: &[(&[&str], &str, &str, &str)] = &[
        // One reviewer: everything stands unless it is withdrawn.
        (&[C], "R", "stands", "stands"),
        (&[C], "W", "withdrawn", "withdrawn"),
        // Two of one vendor: sessions are voices.
        (&[C, C], "R.", "stands", "stands"),
        (&[C, C], "R?", "stands", "stands"),
        (&[C, C], "R+", "stands", "stands"),
        (&[C, C], "R-", "refuted", "contested"),
        (&[C, C], "RR", "stands", "stands"),
        (&[C, C], "W.", "withdrawn", "contested"),
        (&[C, C], "W?", "withdrawn", "contested"),
        (&[C, C], "W-", "outvoted", "outvoted"),
        (&[C, C], "W+", "stands", "contested"),
        (&[C, C], "RW", "stands", "contested"),
        (&[C, C], "WW", "withdrawn", "withdrawn"),
        // Three.
        (&[C, C, C], "R-.", "refuted", "contested"),
        (&[C, C, C], "R-?", "refuted", "contested"),
        (&[C, C, C], "R-+", "stands", "contested"),
        (&[C, C, C], "R--", "outvoted", "outvoted"),
        (&[C, C, C], "RR-", "stands", "contested"),
        (&[C, C, C], "RW-", "outvoted", "outvoted"),
        (&[C, C, C], "RW.", "stands", "contested"),
        (&[C, C, C], "W-+", "outvoted", "outvoted"),
        (&[C, C, C], "W++", "stands", "contested"),
        // Five.
        (&[C; 5], "R++--", "stands", "contested"),
        (&[C; 5], "R+--.", "stands", "contested"),
        (&[C; 5], "R+---", "outvoted", "outvoted"),
        (&[C; 5], "RR--.", "stands", "contested"),
        (&[C; 5], "RR---", "outvoted", "outvoted"),
        (&[C; 5], "R----", "outvoted", "outvoted"),
        (&[C; 5], "R-???", "refuted", "contested"),
        // Two of one vendor and one of another: vendors are voices, and who disagrees with itself supports.
        (&[C, C, O], "R-.", "stands", "stands"),
        (&[C, C, O], "R--", "refuted", "contested"),
        (&[C, C, O], "W..", "withdrawn", "contested"),
        (&[C, C, O], "WW.", "withdrawn", "contested"),
        (&[C, C, O], "W-.", "withdrawn", "contested"),
        (&[C, C, O], "W.-", "outvoted", "outvoted"),
        (&[C, C, O], "W+-", "refuted", "contested"),
        (&[C, C, O], "--R", "refuted", "contested"),
        (&[C, C, O], "-+R", "stands", "stands"),
        (&[C, C, O], "RR-", "refuted", "contested"),
        // Three vendors, two of them twice.
        (&[C, C, O, O, G], "R.-.-", "outvoted", "outvoted"),
        (&[C, C, O, O, G], "R.-+-", "stands", "contested"),
        (&[C, C, O, O, G], "R.--.", "refuted", "contested"),
        (&[C, C, O, O, G], "R.--+", "stands", "contested"),
    ];
    for (models, roles, below, blocking) in table {
        assert_eq!(
            word(&outcome(models, roles, 4)),
            *below,
            "{models:?} {roles}"
        );
        let outcome = outcome(models, roles, 9);
        assert_eq!(word(&outcome), *blocking, "{models:?} {roles} blocking");
    }
}

#[test]
fn a_contested_finding_carries_both_arguments() {
    let Outcome::Contested {
        support,
        objections,
    } = outcome(&[C, C, C], "R+-", 9)
    else {
        panic!("one voice cannot withdraw what blocks");
    };
    let argument = |seat, reason: Option<&str>, quote: Option<&str>| Argument {
        seat,
        reason: reason.map(Into::into),
        quote: quote.map(Into::into),
    };
    let confirmed = argument(1, Some("twenty-five orders"), None);
    assert_eq!(support, [argument(0, None, None), confirmed]);
    let quote = Some("Math.ceil(count / size)");
    assert_eq!(objections, [argument(2, Some("it rounds up"), quote)]);
}

#[test]
fn a_cluster_blocks_if_one_of_its_claims_does() {
    let claims = [
        claim(0, 1, 10, "The last page is lost.").scored(3),
        claim(1, 1, 10, "The last page is lost.").scored(9),
    ];
    let refuted = [2, 3, 4].map(|seat| Vote {
        seat,
        claim: claims[0].id,
        verdict: refute("no"),
    });
    let cluster: Vec<&Claim> = claims.iter().collect();
    let seats = seats(&[C; 5]);
    assert_eq!(word(&decide(&seats, &cluster, &refuted[..1])), "contested");
    assert_eq!(word(&decide(&seats, &cluster, &refuted)), "outvoted");
}

#[test]
fn a_joined_finding_names_who_raised_and_who_verified_it_and_where() {
    let text = "`pages` rounds down, so the last page is lost";
    let claims = [
        claim(2, 3, 12, text).scored(5),
        claim(0, 1, 10, text).scored(8).on_file(),
        claim(1, 2, 10, text).scored(3).withdrawn(),
    ];
    let vote = |seat, verdict| Vote {
        seat,
        claim: claims[0].id,
        verdict,
    };
    let votes = [
        vote(3, confirm("seen")),
        vote(4, Verdict::Unsure),
        vote(0, confirm("its own")),
    ];
    let joined = join(&seats(&[C; 5]), &claims, &group(&claims), &votes);
    let [one] = joined.as_slice() else {
        panic!("one cause: {joined:?}");
    };
    assert_eq!(one.lead, claims[0].id, "a line before a file");
    assert_eq!(one.raised_by, ["r0", "r1", "r2"]);
    assert_eq!(one.withdrawn_by, ["r1"]);
    assert_eq!(one.verified_by, ["r3"], "nobody verifies its own");
    assert_eq!(one.score.get(), 8, "the highest");
    let scores: Vec<(&str, u8)> = one
        .scores
        .iter()
        .map(|(name, score)| (name.as_str(), score.get()))
        .collect();
    assert_eq!(scores, [("r0", 8), ("r1", 3), ("r2", 5)]);
    assert_eq!(one.places, ["src/page.ts", "src/page.ts:10"]);
}

#[test]
fn votes_on_what_nobody_raised_and_by_nobody_count_for_nothing() {
    let claims = [claim(0, 1, 10, "a").scored(4)];
    let elsewhere = ClaimId { seat: 0, number: 9 };
    let vote = |seat, claim| Vote {
        seat,
        claim,
        verdict: refute("no"),
    };
    let votes = [vote(1, elsewhere), vote(7, claims[0].id)];
    let joined = join(&seats(&[C, C]), &claims, &group(&claims), &votes);
    assert_eq!(joined[0].outcome, Outcome::Stands);
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![Just(confirm("a")), Just(refute("b")), Just(Verdict::Unsure)]
}

fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
    let texts = [
        "`drain` locks twice and deadlocks",
        "drain locks twice, a deadlock",
        "leak",
    ];
    let text = prop::sample::select(texts.to_vec());
    let one = (0..4_usize, 1..20_u32, text, 1..11_u64, any::<bool>());
    prop::collection::vec(one, 1..10).prop_map(|claims| {
        let built =
            claims
                .into_iter()
                .zip(1..)
                .map(|((seat, line, text, score, withdrawn), number)| {
                    let claim = claim(seat, number, line, text).scored(score);
                    if withdrawn { claim.withdrawn() } else { claim }
                });
        built.collect()
    })
}

fn any_votes() -> impl Strategy<Value = Vec<(usize, usize, Verdict)>> {
    prop::collection::vec((0..4_usize, 0..10_usize, any_verdict()), 0..12)
}

fn cast(votes: Vec<(usize, usize, Verdict)>, claims: &[Claim]) -> Vec<Vote> {
    let cast = |(seat, about, verdict): (usize, usize, Verdict)| Vote {
        seat,
        claim: claims[about % claims.len()].id,
        verdict,
    };
    votes.into_iter().map(cast).collect()
}

fn any_models() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec![C, O, G]), 4)
}

proptest! {
    #[test]
    fn the_result_is_the_same_for_every_order_of_claims_and_votes(
        models in any_models(),
        (claims, shuffled_claims, votes, shuffled_votes) in (any_claims(), any_votes()).prop_flat_map(|(claims, votes)| {
            let votes = cast(votes, &claims);
            let shuffled = (Just(claims.clone()).prop_shuffle(), Just(votes.clone()).prop_shuffle());
            (Just(claims), shuffled.0, Just(votes), shuffled.1)
        }),
    ) {
        let seats = seats(&models);
        let first = join(&seats, &claims, &group(&claims), &votes);
        let second = join(&seats, &shuffled_claims, &group(&shuffled_claims), &shuffled_votes);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn no_vote_and_no_merge_lowers_a_score(
        models in any_models(),
        claims in any_claims(),
        votes in any_votes(),
        answers in prop::collection::vec(any::<bool>(), 24),
    ) {
        let before = group(&claims);
        let given = before.questions().iter().zip(answers);
        let answers: Vec<Answer> = given.map(|(pair, same)| Answer { pair: *pair, same }).collect();
        let joined = join(&seats(&models), &claims, &before.merged(&answers), &cast(votes, &claims));
        for claim in &claims {
            let of = joined.iter().find(|joined| joined.claims.contains(&claim.id));
            prop_assert!(of.is_some_and(|joined| joined.score >= claim.score()));
        }
    }

    #[test]
    fn what_blocks_is_withdrawn_by_two_voices_or_not_at_all(
        models in any_models(),
        claims in any_claims(),
        votes in any_votes(),
    ) {
        let seats = seats(&models);
        let votes = cast(votes, &claims);
        for joined in join(&seats, &claims, &group(&claims), &votes) {
            let Outcome::Withdrawn { objections, .. } = &joined.outcome else { continue };
            let of = Voices::new(&seats).of_all(objections.iter().map(|argument| argument.seat));
            let blocks = claims.iter().any(|claim| claim.blocks && joined.claims.contains(&claim.id));
            prop_assert!(!blocks || of.len() >= 2);
        }
    }
}
