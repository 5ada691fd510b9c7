//! New numbers for effects, so that worlds which differ in nothing else are one.

use super::World;
use crate::lifecycle::{Effect, Input, Merging, Progress, Reminder, State, Timer};

/// Order-preserving new numbers for effects, so that worlds which differ in nothing else are one.
pub(super) fn renumber(world: &mut World) {
    let mut used: Vec<u64> = Vec::new();
    each_number(world, &mut |number| used.push(*number));
    used.sort_unstable();
    used.dedup();
    used.retain(|number| *number > 0);
    each_number(world, &mut |number| {
        let place = used.iter().position(|one| one == number);
        *number = place.map_or(0, |place| place as u64 + 1);
    });
    world.state.seq = used.len() as u64;
}

fn each_number(world: &mut World, visit: &mut dyn FnMut(&mut u64)) {
    of_state(&mut world.state, visit);
    world.numbers(visit);
}

fn of_state(state: &mut State, visit: &mut dyn FnMut(&mut u64)) {
    visit(&mut state.facts_probe);
    state.probe.iter_mut().for_each(&mut *visit);
    state.request = None;
    for comparison in &mut state.compared {
        visit(&mut comparison.seq);
    }
    if let Some(session) = &mut state.session {
        visit(&mut session.dispatch);
        if let Progress::Pushed { after, .. } = &mut session.progress {
            visit(after);
        }
    }
    match &mut state.merging {
        Merging::Asked { attempt, .. } | Merging::Disarming { attempt, .. } => visit(attempt),
        Merging::Armed { after, .. } => visit(after),
        _ => {}
    }
    if let Some(timer) = &mut state.ask_timer {
        visit(&mut timer.seq);
    }
    if let Reminder::Set { seq } = &mut state.reminder {
        visit(seq);
    }
}

fn of_effect(effect: &mut Effect, visit: &mut dyn FnMut(&mut u64)) {
    match effect {
        Effect::Dispatch { dispatch, .. } | Effect::EndSession { dispatch } => visit(dispatch),
        Effect::Merge { attempt, .. } | Effect::Disarm { attempt } => visit(attempt),
        Effect::Wake { input, .. } => of_input(input, visit),
        _ => {}
    }
}

fn of_input(input: &mut Input, visit: &mut dyn FnMut(&mut u64)) {
    match input {
        Input::Probed { probe, .. } => visit(probe),
        Input::SessionStarted { dispatch, .. }
        | Input::SessionEnded { dispatch, .. }
        | Input::OverQuota { dispatch, .. }
        | Input::SessionFailed { dispatch, .. } => visit(dispatch),
        Input::Merge { attempt, .. } => visit(attempt),
        Input::EffectFailed { seq, .. } => visit(seq),
        Input::Timer { seq, timer } => {
            visit(seq);
            if let Timer::Retry { dispatch }
            | Timer::NextDay { dispatch }
            | Timer::QueueDeadline { dispatch }
            | Timer::Deadline { dispatch } = timer
            {
                visit(dispatch);
            }
        }
        Input::Woken { .. } | Input::Compared { .. } | Input::Command { .. } => {}
    }
}

impl World {
    /// All numbers of effects outside the state.
    fn numbers(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        for task in &mut self.tasks {
            visit(&mut task.seq);
            of_effect(&mut task.effect, visit);
        }
        for input in &mut self.inbox {
            of_input(input, visit);
        }
        self.sessions
            .iter_mut()
            .for_each(|one| visit(&mut one.dispatch));
        self.started.iter_mut().for_each(visit);
    }
}
