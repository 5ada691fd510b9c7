//! The diagram of states as a picture in the page, drawn from the table of transitions that also makes the diagram of the documents.
//! The present state is marked by its frame and its weight, and the text of the picture says everything that it shows.

use super::label;
use crate::lifecycle::{Edge, FROM_OPEN, TRANSITIONS};
use maud::{Markup, html};

const WIDTH: f64 = 168.0;
const HEIGHT: f64 = 48.0;
/// The distance between the arrows of two states that lead to each other.
const APART: f64 = 9.0;
/// The height of an arrow over the state between its ends.
const OVER: f64 = 100.0;

/// The states with the middles of their boxes.
const PLACES: [(&str, f64, f64); 8] = [
    ("pending", 92.0, 76.0),
    ("reviewing", 318.0, 76.0),
    ("approved", 544.0, 76.0),
    ("merged", 766.0, 76.0),
    ("error", 92.0, 236.0),
    ("fixing", 318.0, 236.0),
    ("needsHuman", 544.0, 236.0),
    ("closed", 766.0, 236.0),
];

/// The transition that the table has for every open state, and that the picture always shows here.
const MERGED: Edge = Edge {
    from: "approved",
    to: "merged",
    by: "merged on GitHub",
};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

/// The picture. `path` are the states so far, the present one last.
pub(super) fn diagram(path: &[&str]) -> Markup {
    let now = known(path.last().copied().unwrap_or_default());
    let is_taken = |edge: &Edge| {
        path.windows(2)
            .any(|two| two[0] == edge.from && two[1] == edge.to)
    };
    let (ahead, others): (Vec<Edge>, Vec<Edge>) =
        edges(now).into_iter().partition(|edge| edge.from == now);
    let (taken, others): (Vec<Edge>, Vec<Edge>) = others.into_iter().partition(is_taken);
    html! {
        svg class="diagram" viewBox="0 0 860 312" role="img" aria-labelledby="diagram-title diagram-text" {
            title id="diagram-title" { "States of a pull request" }
            desc id="diagram-text" { (text(path)) }
            defs {
                @for kind in ["other", "taken", "ahead"] {
                    marker id={ "head-" (kind) } class={ "head " (kind) } viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
                        orient="auto-start-reverse" { path d="M0 0 8 4 0 8z" {} }
                }
            }
            @for (kind, edges) in [("other", &others), ("taken", &taken), ("ahead", &ahead)] {
                @for edge in edges.iter() {
                    @if let Some(line) = line(edge) {
                        path class={ "edge " (kind) } d=(line) marker-end={ "url(#head-" (kind) ")" } {}
                    }
                }
            }
            @for (state, x, y) in PLACES { (node(state, Point { x, y }, path)) }
        }
    }
}

/// The state of this name, as the table has it.
fn known(state: &str) -> &'static str {
    let found = PLACES.iter().find(|(one, _, _)| *one == state);
    found.map_or("", |(one, _, _)| *one)
}

/// All edges of the table, and those that every open state has, from the present state.
fn edges(now: &'static str) -> Vec<Edge> {
    let is_open = !crate::lifecycle::ENDS.contains(&now);
    let from_now = FROM_OPEN.iter().map(|(to, by)| Edge { from: now, to, by });
    let from_now = from_now.filter(|edge| is_open && edge.to != now && *edge != MERGED);
    let mut edges = TRANSITIONS.to_vec();
    edges.push(MERGED);
    edges.extend(from_now);
    edges
}

fn node(state: &str, at: Point, path: &[&str]) -> Markup {
    let is_now = path.last() == Some(&state);
    let class = match (is_now, path.contains(&state)) {
        (true, _) => "node now",
        (false, true) => "node been",
        (false, false) => "node",
    };
    let (left, top) = (at.x - WIDTH / 2.0, at.y - HEIGHT / 2.0);
    html! {
        g class=(class) {
            rect x=(left) y=(top) width=(WIDTH) height=(HEIGHT) rx="8" {}
            // A second frame marks the present state without a colour.
            @if is_now { rect class="ring" x=(left - 5.0) y=(top - 5.0) width=(WIDTH + 10.0) height=(HEIGHT + 10.0) rx="12" {} }
            text x=(at.x) y=(at.y + 7.0) text-anchor="middle" { (label(state)) }
        }
    }
}

/// The picture in words.
fn text(path: &[&str]) -> String {
    let now = path.last().copied().unwrap_or_default();
    let mut sentences = vec![format!("The pull request is in the state {}.", label(now))];
    if path.len() > 1 {
        let path: Vec<&str> = path.iter().map(|state| label(state)).collect();
        sentences.push(format!("Its states so far: {}.", path.join(", ")));
    }
    let mut ahead: Vec<&str> = Vec::new();
    for (to, _) in onward(now) {
        if !ahead.contains(&label(to)) {
            ahead.push(label(to));
        }
    }
    sentences.push(match ahead.len() {
        0 => "No state follows.".to_owned(),
        _ => format!("From here it can become: {}.", ahead.join(", ")),
    });
    sentences.join(" ")
}

/// The states that follow on a state, each with its causes.
pub(super) fn onward(now: &str) -> Vec<(&'static str, &'static str)> {
    let is_open = !crate::lifecycle::ENDS.contains(&now);
    let own = TRANSITIONS.iter().filter(|edge| edge.from == now);
    let open = FROM_OPEN.iter().filter(|(to, _)| is_open && *to != now);
    let own = own.map(|edge| (edge.to, edge.by));
    own.chain(open.copied()).collect()
}

fn place(state: &str) -> Option<Point> {
    let found = PLACES.iter().find(|(one, _, _)| *one == state);
    found.map(|(_, x, y)| Point { x: *x, y: *y })
}

/// The curve from one box to another, as the data of a path.
fn line(edge: &Edge) -> Option<String> {
    let (from, to) = (place(edge.from)?, place(edge.to)?);
    let bend = bend(from, to);
    let curve = |t: f64| Point {
        x: along(from.x, bend.x, to.x, t),
        y: along(from.y, bend.y, to.y, t),
    };
    let steps = || (0..=200).map(|step| f64::from(step) / 200.0);
    let begin = steps().find(|t| is_outside(curve(*t), from, 2.0))?;
    let end = steps().rev().find(|t| is_outside(curve(*t), to, 3.0))?;
    if begin >= end {
        return None;
    }
    // The bend of the part between the boxes.
    let part = |a: f64, b: f64, c: f64| {
        (1.0 - begin) * (1.0 - end) * a
            + ((1.0 - begin) * end + begin * (1.0 - end)) * b
            + begin * end * c
    };
    let middle = Point {
        x: part(from.x, bend.x, to.x),
        y: part(from.y, bend.y, to.y),
    };
    let (begin, end) = (curve(begin), curve(end));
    Some(format!(
        "M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
        begin.x, begin.y, middle.x, middle.y, end.x, end.y
    ))
}

/// The point that a curve is drawn to on its way: to the right of the straight line, or around a box that is in between.
fn bend(from: Point, to: Point) -> Point {
    let (wide, high) = (to.x - from.x, to.y - from.y);
    let long = wide.hypot(high).max(1.0);
    let is_row = high == 0.0;
    let outwards = if from.y < 150.0 { -1.0 } else { 1.0 };
    let middle = Point {
        x: from.x + wide / 2.0,
        y: from.y + high / 2.0,
    };
    if is_row && wide.abs() > 300.0 {
        return Point {
            x: middle.x,
            y: middle.y + outwards * OVER,
        };
    }
    Point {
        x: middle.x - high / long * APART * 2.0,
        y: middle.y + wide / long * APART * 2.0,
    }
}

fn along(a: f64, b: f64, c: f64, t: f64) -> f64 {
    let rest = 1.0 - t;
    rest * rest * a + 2.0 * rest * t * b + t * t * c
}

fn is_outside(point: Point, of: Point, gap: f64) -> bool {
    (point.x - of.x).abs() > WIDTH / 2.0 + gap || (point.y - of.y).abs() > HEIGHT / 2.0 + gap
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::ENDS;

    #[test]
    fn every_state_has_its_place_and_every_transition_its_line() {
        for state in super::super::STATES {
            assert!(place(state).is_some(), "{state}");
            for edge in edges(state) {
                assert!(line(&edge).is_some(), "{edge:?}");
            }
        }
        assert_eq!(PLACES.len(), super::super::STATES.len());
    }

    #[test]
    fn the_words_of_the_picture_say_the_state_the_way_and_what_can_follow() {
        let said = text(&["pending", "reviewing", "fixing"]);
        assert_eq!(
            said,
            "The pull request is in the state Fixing. Its states so far: Pending, Reviewing, Fixing. \
             From here it can become: Reviewing, Approved, Needs a person, Error, Pending, Merged, Closed."
        );
        assert!(text(&["merged"]).ends_with("No state follows."));
        assert!(ENDS.contains(&"closed") && text(&["closed"]).ends_with("become: Pending."));
    }
}
