//! Counts the requests and bytes that a session and its run ask of their models, and refuses those above the limits.
//! Pure apart from its lock, which makes parallel requests count one after the other.

use super::refusal::Refusal;
use reviewer_core::review::limits::Traffic;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Requests are held in memory until they are sent: together no more than this many of the largest.
const MOST_HELD: u64 = 4;
/// OpenCode asks again after a silence, and would wait for hours.
const MOST_SILENCES: u64 = 2;

/// Far beyond any review: they end a sidecar that has run wild, and spare the user its bill.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub requests: u64,
    pub request_bytes: u64,
    pub answer_bytes: u64,
    /// Of all requests together.
    pub total_bytes: u64,
    /// Between two pieces of an answer, and before the first: a model may think for minutes without a word.
    pub silence: Duration,
    /// When a connection that failed is tried again, counted from the first try. After the last try the run ends.
    pub tries_at: [Duration; 2],
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 2_000,
            request_bytes: 32 << 20,
            answer_bytes: 64 << 20,
            total_bytes: 2 << 30,
            silence: Duration::from_mins(10),
            tries_at: [1, 3].map(Duration::from_secs),
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    taken: Traffic,
    silences: u64,
    /// The reason why nothing more is passed on: OpenCode would ask for the same again.
    closed: Option<Refusal>,
    /// The first limit that was reached.
    reached: Option<Refusal>,
}

#[derive(Debug)]
pub(super) struct Meter {
    limits: Limits,
    counts: Mutex<Counts>,
    /// Counts along for the whole run, in the meter of a session.
    run: Option<Arc<Meter>>,
    /// Bytes of requests that are in memory, for all sidecars of a run.
    held: Arc<Mutex<u64>>,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            counts: Mutex::default(),
            run: None,
            held: Arc::default(),
        }
    }

    /// The meter of another sidecar of the run: its limits are its own, the memory is the same.
    pub(super) fn beside(&self) -> Self {
        Self {
            held: Arc::clone(&self.held),
            ..Self::new(self.limits)
        }
    }

    /// The meter of a session: what it counts, its run's counts, too.
    pub(super) fn of_session(limits: Limits, run: &Arc<Self>) -> Self {
        Self {
            run: Some(Arc::clone(run)),
            ..Self::new(limits)
        }
    }

    pub(super) fn taken(&self) -> Traffic {
        self.with(|counts| counts.taken)
    }

    /// The first limit that was reached, by the session or by all of the run.
    pub(super) fn reached(&self) -> Option<Refusal> {
        let reached = self.with(|counts| counts.reached.clone());
        reached.or_else(|| self.run.as_ref()?.reached())
    }

    /// One more request, of this length if it says so.
    pub(super) fn request(&self, length: Option<u64>) -> Result<(), Refusal> {
        let limits = self.limits;
        self.within(|counts| {
            let length = length.unwrap_or_default();
            if let Some(closed) = &counts.closed {
                return Err(closed.clone());
            }
            if counts.taken.requests >= limits.requests {
                return Err(Refusal::Requests(limits.requests));
            }
            if length > limits.request_bytes {
                return Err(Refusal::RequestBytes(limits.request_bytes));
            }
            if counts.taken.sent.saturating_add(length) > limits.total_bytes {
                return Err(Refusal::TotalBytes(limits.total_bytes));
            }
            counts.taken.requests += 1;
            Ok(())
        })?;
        self.of_run(|run| run.request(length))
    }

    /// More bytes of a request, to be kept with those before them.
    fn sends(&self, bytes: u64, so_far: u64) -> Result<(), Refusal> {
        let limits = self.limits;
        self.within(|counts| {
            if so_far > limits.request_bytes {
                return Err(Refusal::RequestBytes(limits.request_bytes));
            }
            counts.taken.sent = counts.taken.sent.saturating_add(bytes);
            if counts.taken.sent > limits.total_bytes {
                return Err(Refusal::TotalBytes(limits.total_bytes));
            }
            Ok(())
        })?;
        self.of_run(|run| run.sends(bytes, so_far))
    }

    /// Room for one request's bytes, until it is dropped.
    pub(super) fn room(&self) -> Room<'_> {
        Room {
            meter: self,
            so_far: 0,
        }
    }

    /// The memory is that of the run, whichever session fills it.
    fn hold(&self, bytes: u64) -> Result<(), Refusal> {
        if let Some(run) = &self.run {
            return run.hold(bytes);
        }
        let most = self.limits.request_bytes.saturating_mul(MOST_HELD);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.saturating_add(bytes) > most {
            return Err(Refusal::HeldBytes(most));
        }
        *held += bytes;
        Ok(())
    }

    /// More bytes of an answer that has brought `so_far`, these included. Past the limit it is cut, and it was the last.
    pub(super) fn brings(&self, bytes: u64, so_far: u64) -> Result<(), Refusal> {
        let most = self.limits.answer_bytes;
        self.within(|counts| {
            counts.taken.answered = counts.taken.answered.saturating_add(bytes);
            if so_far <= most {
                return Ok(());
            }
            let refusal = Refusal::AnswerBytes(most);
            counts.closed = Some(refusal.clone());
            Err(refusal)
        })?;
        // An answer that is too large closes the session that it is for, and no other.
        self.of_run(|run| run.brings(bytes, bytes))
    }

    /// The model of this session said nothing for as long as it may.
    pub(super) fn was_silent(&self) {
        let refusal = Refusal::Silent(self.limits.silence);
        let _told_later = self.within(|counts| {
            counts.silences += 1;
            if counts.silences < MOST_SILENCES {
                return Ok(());
            }
            counts.closed = Some(refusal.clone());
            Err(refusal)
        });
    }

    fn of_run(&self, count: impl FnOnce(&Self) -> Result<(), Refusal>) -> Result<(), Refusal> {
        self.run.as_deref().map_or(Ok(()), count)
    }

    fn release(&self, bytes: u64) {
        match &self.run {
            Some(run) => run.release(bytes),
            None => *self.held.lock().unwrap_or_else(PoisonError::into_inner) -= bytes,
        }
    }

    /// Judges, and remembers the first limit that was reached.
    fn within(
        &self,
        judge: impl FnOnce(&mut Counts) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.with(|counts| {
            let judged = judge(counts);
            if let Err(refusal) = &judged
                && counts.reached.is_none()
            {
                counts.reached = Some(refusal.clone());
            }
            judged
        })
    }

    fn with<T>(&self, count: impl FnOnce(&mut Counts) -> T) -> T {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The bytes of one request that are in memory.
#[derive(Debug)]
pub(super) struct Room<'a> {
    meter: &'a Meter,
    so_far: u64,
}

impl Room<'_> {
    /// For this many bytes more.
    pub(super) fn takes(&mut self, bytes: u64) -> Result<(), Refusal> {
        let so_far = self.so_far.saturating_add(bytes);
        self.meter.sends(bytes, so_far)?;
        self.meter.hold(bytes)?;
        self.so_far = so_far;
        Ok(())
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.meter.release(self.so_far);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Meter {
        Meter::new(Limits {
            requests: 3,
            request_bytes: 10,
            answer_bytes: 20,
            total_bytes: 25,
            silence: Duration::from_secs(90),
            ..Limits::default()
        })
    }

    #[test]
    fn requests_are_counted() {
        let meter = meter();
        for _ in 0..3 {
            assert_eq!(meter.request(None), Ok(()));
        }
        assert_eq!(meter.request(None), Err(Refusal::Requests(3)));
    }

    #[test]
    fn a_request_is_too_large_by_its_word_or_by_its_bytes() {
        let meter = meter();
        assert_eq!(meter.request(Some(11)), Err(Refusal::RequestBytes(10)));
        assert_eq!(meter.sends(4, 4), Ok(()));
        assert_eq!(meter.sends(7, 11), Err(Refusal::RequestBytes(10)));
    }

    #[test]
    fn all_requests_together_have_a_limit_too() {
        let meter = meter();
        assert_eq!(meter.sends(10, 10), Ok(()));
        assert_eq!(meter.sends(10, 10), Ok(()));
        assert_eq!(meter.request(Some(6)), Err(Refusal::TotalBytes(25)));
        assert_eq!(meter.request(Some(5)), Ok(()));
        assert_eq!(meter.sends(6, 6), Err(Refusal::TotalBytes(25)));
    }

    #[test]
    fn requests_that_are_held_at_once_have_a_limit_until_they_are_sent() {
        let meter = Meter::new(Limits {
            request_bytes: 10,
            ..Limits::default()
        });
        let mut rooms: Vec<Room<'_>> = (0..5).map(|_| meter.room()).collect();
        let (last, first) = rooms.split_last_mut().unwrap();
        for room in first {
            assert_eq!(room.takes(10), Ok(()));
        }
        assert_eq!(last.takes(1), Err(Refusal::HeldBytes(40)));
        assert_eq!(meter.reached(), None, "it passes");
        rooms.remove(0);
        assert_eq!(rooms.last_mut().unwrap().takes(10), Ok(()));
    }

    #[test]
    fn an_answer_past_its_limit_was_the_last() {
        let meter = meter();
        assert_eq!(meter.brings(20, 20), Ok(()));
        assert_eq!(meter.reached(), None);
        assert_eq!(meter.brings(1, 21), Err(Refusal::AnswerBytes(20)));
        assert_eq!(meter.request(None), Err(Refusal::AnswerBytes(20)));
        assert_eq!(meter.reached(), Some(Refusal::AnswerBytes(20)));
        assert_eq!((meter.taken().answered, meter.taken().tokens()), (21, 5));
    }

    #[test]
    fn the_limits_hold_for_each_session_and_for_all_of_a_run() {
        let run = Arc::new(meter());
        let sessions = [(); 2].map(|()| Meter::of_session(run.limits, &run));
        let [one, two] = &sessions;
        assert_eq!((one.request(None), one.request(None)), (Ok(()), Ok(())));
        assert_eq!(two.request(None), Ok(()));
        let requests = |meter: &Meter| meter.taken().requests;
        assert_eq!((requests(one), requests(two), requests(&run)), (2, 1, 3));
        assert_eq!(two.request(None), Err(Refusal::Requests(3)));
        for session in &sessions {
            assert_eq!(session.reached(), Some(Refusal::Requests(3)));
        }
        let run = Arc::new(meter());
        let [one, two] = [(); 2].map(|()| Meter::of_session(run.limits, &run));
        assert_eq!((one.sends(10, 10), two.sends(10, 10)), (Ok(()), Ok(())));
        assert_eq!(one.sends(6, 6), Err(Refusal::TotalBytes(25)));
        assert_eq!((one.taken().sent, two.taken().sent), (16, 10));
    }

    #[test]
    fn the_memory_of_a_run_is_shared_by_its_sessions() {
        let limits = Limits {
            request_bytes: 10,
            ..Limits::default()
        };
        let run = Arc::new(Meter::new(limits));
        let [one, two] = [(); 2].map(|()| Meter::of_session(limits, &run));
        let mut rooms = [one.room(), one.room(), two.room(), two.room()];
        for room in &mut rooms {
            assert_eq!(room.takes(10), Ok(()));
        }
        assert_eq!(one.room().takes(1), Err(Refusal::HeldBytes(40)));
        // Another sidecar has limits of its own, in the same memory.
        let beside = run.beside();
        assert_eq!(beside.room().takes(1), Err(Refusal::HeldBytes(40)));
        assert_eq!((beside.taken().requests, beside.request(None)), (0, Ok(())));
        drop(rooms);
        assert_eq!(one.room().takes(10), Ok(()));
        assert_eq!(*run.held.lock().unwrap(), 0);
    }

    #[test]
    fn what_closes_one_session_closes_no_other() {
        let run = Arc::new(meter());
        let [one, two] = [(); 2].map(|()| Meter::of_session(run.limits, &run));
        assert_eq!(one.brings(11, 11), Ok(()));
        assert_eq!(one.brings(11, 22), Err(Refusal::AnswerBytes(20)));
        assert_eq!(one.request(None), Err(Refusal::AnswerBytes(20)));
        assert_eq!((two.request(None), two.reached()), (Ok(()), None));
        two.was_silent();
        two.was_silent();
        assert!(two.request(None).is_err());
        assert_eq!((run.request(None), run.reached()), (Ok(()), None));
    }

    #[test]
    fn a_second_silence_was_the_last() {
        let meter = meter();
        meter.was_silent();
        assert_eq!((meter.request(None), meter.reached()), (Ok(()), None));
        meter.was_silent();
        let silent = Refusal::Silent(Duration::from_secs(90));
        assert_eq!(meter.request(None), Err(silent.clone()));
        assert_eq!(
            silent.limit().unwrap(),
            "the model said nothing for 90 s, twice"
        );
    }
}
