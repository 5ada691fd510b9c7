//! The order in which waiting sessions start: the authors of a repository take turns, and so do repositories. A flood of pull requests
//! of one of them delays the others by one session each. Pure.

use super::cells::Found;
use std::collections::HashMap;

/// Whose turn a session takes.
type Owner = (u64, Option<String>);

fn owner(found: &Found) -> Owner {
    (found.id.key.repository, found.session.author.clone())
}

/// The waiting sessions in their order. Each comes behind as many rounds as its owner has sessions before it, those at work
/// included; within a round, whoever has waited longest is first.
pub(super) fn in_turn(mut waiting: Vec<Found>, at_work: &[Found]) -> Vec<Found> {
    let mut before: HashMap<Owner, usize> = HashMap::new();
    for one in at_work {
        *before.entry(owner(one)).or_default() += 1;
    }
    waiting.sort_by_key(|one| one.session.asked);
    let rounds = waiting.into_iter().map(|one| {
        let before = before.entry(owner(&one)).or_default();
        *before += 1;
        (*before, one)
    });
    let mut rounds: Vec<(usize, Found)> = rounds.collect();
    // The sort keeps the order of those in the same round.
    rounds.sort_by_key(|(round, _)| *round);
    rounds.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::claims::cells::Session;
    use crate::serve::sessions::SessionId;
    use reviewer_core::lifecycle::{Effect, PullKey};

    fn session(repository: u64, author: &str, asked: i64) -> Found {
        let key = PullKey {
            repository,
            number: 1,
        };
        Found {
            id: SessionId { key, dispatch: 1 },
            version: 1,
            session: Session {
                effect: Effect::Probe,
                author: Some(author.to_owned()),
                asked,
                starts: 0,
                claim: None,
            },
        }
    }

    fn order(waiting: Vec<Found>, at_work: &[Found]) -> Vec<i64> {
        let order = in_turn(waiting, at_work).into_iter();
        order.map(|one| one.session.asked).collect()
    }

    #[test]
    fn a_flood_of_one_author_delays_others_by_one_session() {
        let mut waiting: Vec<Found> = (0..100).map(|asked| session(1, "bot", asked)).collect();
        waiting.push(session(1, "ada", 200));
        waiting.push(session(2, "bot", 201));
        waiting.push(session(1, "ada", 202));
        let order = order(waiting, &[]);
        assert_eq!(order[..5], [0, 200, 201, 1, 202]);
        assert_eq!(order[5..8], [2, 3, 4]);
    }

    #[test]
    fn whoever_has_a_session_at_work_lets_others_go_first() {
        let waiting = vec![
            session(1, "bot", 1),
            session(1, "ada", 2),
            session(1, "bot", 3),
        ];
        assert_eq!(order(waiting, &[session(1, "bot", 0)]), [2, 1, 3]);
    }

    #[test]
    fn of_one_author_whoever_has_waited_longest_is_first() {
        let waiting = [7, 3, 5].map(|asked| session(1, "ada", asked));
        assert_eq!(order(waiting.into(), &[]), [3, 5, 7]);
    }
}
