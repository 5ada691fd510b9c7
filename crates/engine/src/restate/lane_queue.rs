//! The effects of a lane that have no place: few wait in the process, all others in the server, which is told whom to wake. A pure
//! rule, apart from the gate that obeys it.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// Effects that wait in the process, for each place of their lane: enough to keep the places busy while others are woken.
pub(super) const ROOM: usize = 4;
/// Whoever was woken and has not come after so long has come to another process.
pub(super) const UNDER_WAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct LaneQueue {
    room: usize,
    /// Those in the process.
    inside: usize,
    /// The tickets of those in the server, by their keys.
    tickets: HashMap<String, String>,
    /// Their keys, the first to be woken first. A key without a ticket has come by itself.
    order: VecDeque<String>,
    /// Those that were woken and have not come yet.
    under_way: HashMap<String, Instant>,
    /// Those that may be woken because others have begun. Without it, all in the process would leave after a while and be woken
    /// again at once, for as long as no effect ends.
    credit: usize,
}

impl LaneQueue {
    pub(super) fn new(places: usize) -> Self {
        Self {
            room: places.max(1).saturating_mul(ROOM),
            inside: 0,
            tickets: HashMap::new(),
            order: VecDeque::new(),
            under_way: HashMap::new(),
            credit: 0,
        }
    }

    pub(super) fn inside(&self) -> usize {
        self.inside
    }

    /// The effect of a key has come. True: it was woken.
    pub(super) fn come(&mut self, key: &str) -> bool {
        self.tickets.remove(key);
        self.under_way.remove(key).is_some()
    }

    /// One more waits in the process. False: there is no room. While others wait in the server, half of it is left to those that
    /// are woken.
    pub(super) fn enter(&mut self, was_woken: bool) -> bool {
        let most = if was_woken || self.tickets.is_empty() {
            self.room
        } else {
            self.room / 2
        };
        let has_room = self.inside < most;
        if has_room {
            self.inside += 1;
        }
        has_room
    }

    pub(super) fn leave(&mut self) {
        self.inside -= 1;
    }

    /// One has got a place. Two may follow, so that the room fills.
    pub(super) fn begun(&mut self) {
        self.credit = self.room.min(self.credit + 2);
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.tickets.contains_key(key)
    }

    /// The effect of a key waits in the server. One that waited before, and was not woken, keeps its turn.
    pub(super) fn wait(&mut self, key: &str, ticket: String) {
        self.tickets.insert(key.to_owned(), ticket);
        self.order.push_back(key.to_owned());
    }

    /// The keys and tickets of those to be woken while so many places are free.
    pub(super) fn wake(&mut self, free: usize, now: Instant) -> Vec<(String, String)> {
        self.under_way
            .retain(|_, woken| now.duration_since(*woken) < UNDER_WAY);
        let under_way = self.under_way.len();
        let room = self.room.saturating_sub(self.inside + under_way);
        let most = room.min(self.credit + free.saturating_sub(under_way));
        let mut woken = Vec::new();
        while woken.len() < most
            && let Some(key) = self.order.pop_front()
        {
            if let Some(ticket) = self.tickets.remove(&key) {
                self.under_way.insert(key.clone(), now);
                woken.push((key, ticket));
            }
        }
        self.credit = self.credit.saturating_sub(woken.len());
        woken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lane of one place, for which as many wait as there is room for, and these in the server.
    fn full(keys: &[&str]) -> LaneQueue {
        let mut queue = LaneQueue::new(1);
        while queue.enter(false) {}
        for key in keys {
            queue.wait(key, format!("ticket of {key}"));
        }
        queue
    }

    fn keys(woken: Vec<(String, String)>) -> Vec<String> {
        woken.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn nobody_is_woken_without_room_or_before_somebody_begins() {
        let (mut queue, now) = (full(&["1/1"]), Instant::now());
        assert!(queue.wake(1, now).is_empty());
        queue.leave();
        assert!(queue.wake(0, now).is_empty());
        queue.begun();
        assert_eq!(keys(queue.wake(0, now)), ["1/1"]);
    }

    #[test]
    fn newcomers_leave_half_of_the_room_to_those_who_waited_before() {
        let mut queue = LaneQueue::new(1);
        queue.wait("1/1", "ticket".to_owned());
        let newcomers = (0..ROOM).filter(|_| queue.enter(false)).count();
        assert_eq!(newcomers, ROOM / 2);
        assert_eq!(keys(queue.wake(1, Instant::now())), ["1/1"]);
        let was_woken = queue.come("1/1");
        assert!(was_woken && queue.enter(was_woken));
        assert!(!queue.come("1/1") && queue.enter(false));
    }

    #[test]
    fn whoever_is_under_way_counts_until_it_is_too_late() {
        let (mut queue, now) = (LaneQueue::new(1), Instant::now());
        for key in ["1/1", "1/2", "1/3"] {
            queue.wait(key, "ticket".to_owned());
        }
        assert_eq!(keys(queue.wake(1, now)), ["1/1"]);
        assert!(queue.wake(1, now).is_empty());
        queue.come("1/1");
        assert_eq!(keys(queue.wake(1, now)), ["1/2"]);
        assert_eq!(keys(queue.wake(1, now + UNDER_WAY)), ["1/3"]);
    }

    #[test]
    fn one_that_comes_by_itself_is_not_woken_and_keeps_its_turn() {
        let mut queue = full(&["1/1", "1/2", "1/3"]);
        queue.come("1/1");
        queue.come("1/2");
        queue.wait("1/2", "another".to_owned());
        for _ in 0..2 {
            queue.leave();
            queue.begun();
        }
        let woken = queue.wake(0, Instant::now());
        let ticket = |key: &str, ticket: &str| (key.to_owned(), ticket.to_owned());
        assert_eq!(
            woken,
            [ticket("1/2", "another"), ticket("1/3", "ticket of 1/3")]
        );
    }
}
