//! Which lane starts its next effect. A pure rule, apart from the loop that obeys it.

use crate::machine::Lane;

/// Slots for effects that run at the same time, and the order in which the lanes get them.
#[derive(Debug)]
pub(crate) struct Lanes {
    fast_slots: usize,
    slow_slots: usize,
    fast: usize,
    slow: usize,
    /// A slow effect was started ahead of fast ones that wait, and none of those has been started since.
    slow_is_ahead: bool,
}

impl Lanes {
    pub(crate) fn new(fast_slots: usize, slow_slots: usize) -> Self {
        Self {
            fast_slots: fast_slots.max(1),
            slow_slots: slow_slots.max(1),
            fast: 0,
            slow: 0,
            slow_is_ahead: false,
        }
    }

    /// The number of fast effects that may start now.
    pub(crate) fn free_for_fast(&self) -> usize {
        self.fast_slots.saturating_sub(self.fast)
    }

    /// The number of slow effects that may start now. They have slots of their own, so that a flood of fast ones does not
    /// stop them; but while fast ones wait, one slow effect starts per fast one.
    pub(crate) fn free_for_slow(&self, fast_wait: bool) -> usize {
        let free = self.slow_slots.saturating_sub(self.slow);
        match (fast_wait, self.slow_is_ahead) {
            (false, _) => free,
            (true, false) => free.min(1),
            (true, true) => 0,
        }
    }

    pub(crate) fn start(&mut self, lane: Lane, fast_wait: bool) {
        match lane {
            Lane::Fast => {
                self.fast += 1;
                self.slow_is_ahead = false;
            }
            Lane::Slow => {
                self.slow += 1;
                self.slow_is_ahead = fast_wait;
            }
        }
    }

    pub(crate) fn end(&mut self, lane: Lane) {
        match lane {
            Lane::Fast => self.fast -= 1,
            Lane::Slow => self.slow -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_fast_effect_is_overtaken_by_one_slow_effect_at_most() {
        let mut lanes = Lanes::new(1, 3);
        lanes.start(Lane::Fast, false);
        assert_eq!(lanes.free_for_fast(), 0);
        assert_eq!(lanes.free_for_slow(true), 1);
        lanes.start(Lane::Slow, true);
        assert_eq!(lanes.free_for_slow(true), 0);
        lanes.end(Lane::Slow);
        assert_eq!(lanes.free_for_slow(true), 0);
        lanes.end(Lane::Fast);
        lanes.start(Lane::Fast, true);
        assert_eq!(lanes.free_for_slow(true), 1);
    }

    #[test]
    fn the_slow_lane_uses_its_slots_when_nothing_else_waits() {
        let mut lanes = Lanes::new(2, 2);
        assert_eq!(lanes.free_for_slow(false), 2);
        lanes.start(Lane::Slow, false);
        assert_eq!(lanes.free_for_slow(false), 1);
        assert_eq!(lanes.free_for_fast(), 2);
    }
}
