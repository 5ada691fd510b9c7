//! A step with the invariants that hold for every transition.

use crate::lifecycle::{
    Effect, FROM_OPEN, Input, Millis, Phase, Policy, Progress, State, TRANSITIONS, Transition,
    Wait, step, wait,
};

/// The step, or the invariant that it breaks.
pub(super) fn checked_step(
    state: &State,
    input: &Input,
    policy: &Policy,
    now: Millis,
) -> Result<Transition, String> {
    let made = step(state, input, policy, now);
    numbers(state, &made)?;
    ends(state, &made)?;
    sessions(state, &made)?;
    cycles(&made)?;
    in_table(state, &made)?;
    if wait(&made.state, policy) == Wait::Lost {
        return Err(format!("it waits for nothing: {:#?}", made.state));
    }
    repeated(input, &made, policy, now)?;
    Ok(made)
}

/// Numbers grow and never repeat; dispatches and attempts are numbers of their own effects.
fn numbers(before: &State, made: &Transition) -> Result<(), String> {
    let mut last = before.seq;
    for one in &made.effects {
        let own = match &one.effect {
            Effect::Dispatch { dispatch, .. } => *dispatch,
            Effect::Merge { attempt, .. } | Effect::Disarm { attempt } => *attempt,
            _ => one.seq,
        };
        if one.seq != last + 1 || own != one.seq {
            return Err(format!("{one:?} follows number {last}"));
        }
        last = one.seq;
    }
    (made.state.seq == last)
        .then_some(())
        .ok_or_else(|| format!("the state counts {}, not {last}", made.state.seq))
}

/// Ends are final within a generation.
fn ends(before: &State, made: &Transition) -> Result<(), String> {
    let after = &made.state;
    let is_final = match before.phase {
        Phase::Merged { .. } => after == before && made.effects.is_empty(),
        Phase::Closed if after.generation == before.generation => {
            let is_end = matches!(after.phase, Phase::Closed | Phase::Merged { .. });
            is_end && after.session.is_none()
        }
        _ => after.generation >= before.generation,
    };
    is_final
        .then_some(())
        .ok_or_else(|| format!("{} is left: {after:#?}", before.phase.name()))
}

/// One session at a time, and only where somebody is at work.
fn sessions(before: &State, made: &Transition) -> Result<(), String> {
    let is_dispatch = |one: &&Effect| matches!(one, Effect::Dispatch { .. });
    let effects = || made.effects.iter().map(|one| &one.effect);
    let dispatches = effects().filter(is_dispatch).count();
    let running = before.session.as_ref();
    let running = running.filter(|session| matches!(session.progress, Progress::Running { .. }));
    let is_ended = running.is_none_or(|session| {
        let dispatch = session.dispatch;
        effects().any(|one| *one == Effect::EndSession { dispatch })
    });
    if dispatches > 1 || dispatches == 1 && !is_ended {
        return Err(format!(
            "a second session is dispatched: {:?}",
            made.effects
        ));
    }
    let works = matches!(
        made.state.phase,
        Phase::Reviewing { .. } | Phase::Fixing { .. }
    );
    if made.state.session.is_some() && !works {
        return Err(format!("{} has a session", made.state.phase.name()));
    }
    Ok(())
}

fn cycles(made: &Transition) -> Result<(), String> {
    let facts = made.state.facts.as_ref();
    let configured = facts.map_or(0, |facts| facts.settings.max_fix_cycles);
    let cap = configured + made.state.granted;
    (made.state.cycles <= cap)
        .then_some(())
        .ok_or_else(|| format!("{} fix cycles of {cap}", made.state.cycles))
}

/// The transition of a step, by the names of its states; `None`: the state stays. A new life begins with `pending`.
pub(super) fn transition(before: &State, after: &State) -> Option<(&'static str, &'static str)> {
    let is_new_life = before.phase == Phase::Closed && after.generation > before.generation;
    let from = if is_new_life {
        "pending"
    } else {
        before.phase.name()
    };
    let to = after.phase.name();
    (from != to).then_some((from, to))
}

/// Every transition has a row in the table of the documents.
fn in_table(before: &State, made: &Transition) -> Result<(), String> {
    let Some((from, to)) = transition(before, &made.state) else {
        return Ok(());
    };
    let mut rows = TRANSITIONS.iter();
    let mut open = FROM_OPEN.iter();
    let known = rows.any(|row| row.from == from && row.to == to) || open.any(|row| row.0 == to);
    known
        .then_some(())
        .ok_or_else(|| format!("{from} -> {to} is in no table"))
}

/// An answer or a timer that comes twice changes nothing the second time.
fn repeated(input: &Input, made: &Transition, policy: &Policy, now: Millis) -> Result<(), String> {
    if matches!(input, Input::Woken { .. } | Input::Command { .. }) {
        return Ok(());
    }
    let again = step(&made.state, input, policy, now);
    let mut state = again.state.clone();
    // A session's name may be told twice; an effect that failed for good is remembered as the last error.
    state.last_error.clone_from(&made.state.last_error);
    (state == made.state && again.effects.is_empty())
        .then_some(())
        .ok_or_else(|| format!("{input:?} counts twice: {:?}", again.effects))
}
