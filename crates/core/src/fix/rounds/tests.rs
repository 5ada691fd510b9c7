//! Tests of the rules, one by one, and of what holds of every loop.

use super::super::report::{Delivery, FixReport};
use super::*;
use proptest::prelude::*;

fn sha(c: char) -> CommitSha {
    c.to_string().repeat(40).parse().unwrap()
}

fn order(at: u32, comment: u64) -> Order {
    Order {
        at: format!("2026-01-01T00:{:02}:{:02}Z", at / 60, at % 60),
        comment,
        by: "ann".into(),
    }
}

/// A cycle on one head, with the commit that it made.
fn cycle(number: u32, head: char, commit: Option<char>) -> FixReport {
    FixReport {
        at: order(number * 10, 0).at,
        cycle: number,
        max: 2,
        head: sha(head).to_string(),
        commit: commit.map(|c| sha(c).to_string()),
        delivery: commit.map(|_| Delivery::Push),
        ..FixReport::default()
    }
}

const OPEN: OpenWork = OpenWork {
    findings: 1,
    conversations: 0,
    consensus: Consensus::RequestChanges,
    fixable: 1,
};

struct Case {
    memory: Memory,
    mode: Mode,
    head: CommitSha,
    ours: bool,
    reviewed: bool,
    open: OpenWork,
    command: Option<FixCommand>,
}

impl Case {
    /// A reviewed head of a person, with something to fix.
    fn new(reports: Vec<FixReport>, head: char) -> Self {
        let memory = Memory::new(reports);
        let head = sha(head);
        Self {
            ours: memory.made(&head),
            memory,
            mode: Mode::Auto,
            head,
            reviewed: true,
            open: OPEN,
            command: None,
        }
    }

    fn next(&self) -> Next {
        next(&Situation {
            memory: &self.memory,
            mode: self.mode,
            max_cycles: 2,
            head: &self.head,
            head_is_ours: self.ours,
            reviewed: self.reviewed,
            open: self.open,
            command: self.command.as_ref(),
        })
    }

    fn asked(mut self, at: u32, comment: u64) -> Self {
        self.command = Some(FixCommand {
            order: order(at, comment),
            thread: None,
        });
        self
    }
}

fn fix(cycle: u32, command: Option<u64>) -> Next {
    Next::Fix {
        cycle,
        command,
        only: None,
    }
}

#[test]
fn an_unreviewed_head_is_reviewed_first() {
    let mut case = Case::new(vec![cycle(1, 'a', Some('b'))], 'b');
    case.reviewed = false;
    assert_eq!(case.next(), Next::Review);
    assert!(case.next().goes_on());
}

#[test]
fn a_review_that_does_not_approve_is_followed_by_a_fix_in_auto_mode_only() {
    let mut case = Case::new(vec![], 'a');
    assert_eq!(case.next(), fix(1, None));
    case.mode = Mode::OnRequest;
    assert_eq!(case.next(), Next::WaitsForCommand(Wait::OnRequest));
    let asked = case.asked(5, 7);
    assert_eq!(asked.next(), fix(1, Some(7)));
}

#[test]
fn an_ordered_fix_counts_the_cycles_in_a_row_and_calls_nobody_at_its_cap() {
    let next = |reports: Vec<FixReport>, head| {
        let mut case = Case::new(reports, head);
        case.mode = Mode::Ordered;
        case.next()
    };
    let at_cap = |cycles| Next::AtCap {
        cycles,
        call: false,
    };
    let two = vec![cycle(1, 'a', Some('b')), cycle(2, 'b', Some('c'))];
    assert_eq!(next(vec![], 'a'), fix(1, None));
    assert_eq!(next(two[..1].to_vec(), 'b'), fix(2, None));
    assert_eq!(next(two.clone(), 'c'), at_cap(2));
    // A person's push begins the row anew, and needs no command.
    assert_eq!(next(two.clone(), 'd'), fix(3, None));
    // A head that was tried is tried again as long as the cap allows it.
    let tried = vec![cycle(1, 'a', None)];
    assert_eq!(next(tried.clone(), 'a'), fix(2, None));
    let twice = [tried, vec![cycle(2, 'a', None)]].concat();
    assert_eq!(next(twice, 'a'), at_cap(2));
    let resumed = FixReport {
        resumes: vec![order(500, 3)],
        ..FixReport::default()
    };
    let more = [two, vec![resumed]].concat();
    assert_eq!(next(more, 'c'), fix(3, None));
}

#[test]
fn an_order_to_stop_holds_for_ordered_fixes_too() {
    let stopped = FixReport {
        stops: vec![order(5, 3)],
        ..FixReport::default()
    };
    let mut case = Case::new(vec![stopped], 'a');
    case.mode = Mode::Ordered;
    assert!(matches!(case.next(), Next::Stopped(_)));
}

#[test]
fn converged_is_nothing_open_of_ours_or_of_people_and_a_consensus_that_approves() {
    let done = OpenWork {
        findings: 0,
        conversations: 0,
        consensus: Consensus::Approve,
        fixable: 0,
    };
    let next = |open| {
        let mut case = Case::new(vec![], 'a');
        case.open = open;
        case.next()
    };
    assert_eq!(next(done), Next::Converged);
    for open in [
        OpenWork {
            findings: 1,
            ..done
        },
        OpenWork {
            conversations: 1,
            ..done
        },
        OpenWork {
            consensus: Consensus::RequestChanges,
            ..done
        },
    ] {
        assert_eq!(next(open), Next::ManualIntervention);
        assert_eq!(next(OpenWork { fixable: 1, ..open }), fix(1, None));
    }
}

#[test]
fn an_approved_change_is_fixed_for_whoever_asks_where_something_may_be_fixed() {
    let mut case = Case::new(vec![], 'a').asked(5, 7);
    case.open = OpenWork {
        findings: 0,
        conversations: 0,
        consensus: Consensus::Approve,
        fixable: 1,
    };
    assert_eq!(case.next(), fix(1, Some(7)));
}

#[test]
fn a_void_cycle_is_not_counted_and_serves_no_command() {
    let void = |command| FixReport {
        void: true,
        command,
        ..cycle(1, 'a', None)
    };
    let pushed = cycle(2, 'b', Some('c'));
    let case = Case::new(vec![void(None), pushed.clone()], 'c');
    assert_eq!(case.next(), fix(3, None), "one of two is left");
    let asked = Case::new(vec![void(Some(7)), pushed], 'c').asked(5, 7);
    assert_eq!(asked.next(), fix(3, Some(7)));
}

#[test]
fn at_the_cap_people_are_called_once() {
    let cycles = vec![cycle(1, 'a', Some('b')), cycle(2, 'b', Some('c'))];
    assert_eq!(Case::new(cycles[..1].to_vec(), 'b').next(), fix(2, None));
    let at_cap = Case::new(cycles.clone(), 'c').next();
    assert_eq!(
        at_cap,
        Next::AtCap {
            cycles: 2,
            call: true
        }
    );
    let mut told = cycles;
    told.push(FixReport {
        at: order(25, 0).at,
        human_review_required: true,
        escalated_at: Some(order(25, 0).at),
        ..FixReport::default()
    });
    let at_cap = Case::new(told.clone(), 'c').next();
    assert_eq!(
        at_cap,
        Next::AtCap {
            cycles: 2,
            call: false
        }
    );
    // Then a person grants one, or as many again.
    assert_eq!(
        Case::new(told.clone(), 'c').asked(30, 9).next(),
        fix(3, Some(9))
    );
    told.push(FixReport {
        at: order(31, 0).at,
        resumes: vec![order(30, 9)],
        ..FixReport::default()
    });
    assert_eq!(Case::new(told.clone(), 'c').next(), fix(3, None));
    told.extend([cycle(4, 'c', Some('d')), cycle(5, 'd', Some('e'))]);
    let again = Case::new(told, 'e').next();
    assert_eq!(
        again,
        Next::AtCap {
            cycles: 4,
            call: true
        }
    );
}

#[test]
fn a_fix_that_was_asked_for_takes_none_of_the_cycles_and_is_made_once() {
    let asked = FixReport {
        command: Some(7),
        ..cycle(1, 'a', Some('b'))
    };
    let case = Case::new(vec![asked.clone()], 'b').asked(5, 7);
    assert_eq!(case.next(), fix(2, None), "two are left");
    let mut case = Case::new(vec![asked], 'b').asked(5, 7);
    case.mode = Mode::OnRequest;
    assert_eq!(case.next(), Next::WaitsForCommand(Wait::OnRequest));
}

#[test]
fn a_commit_of_a_person_on_top_of_a_fix_needs_a_command() {
    let reports = vec![cycle(1, 'a', Some('b'))];
    let case = Case::new(reports.clone(), 'f');
    assert_eq!(case.next(), Next::WaitsForCommand(Wait::PersonOnTop));
    assert_eq!(
        Case::new(reports.clone(), 'f').asked(20, 7).next(),
        fix(2, Some(7))
    );
    let mut resumed = Case::new(reports, 'f');
    resumed.memory = resumed.memory.with_orders(&[], &[order(20, 8)]);
    assert_eq!(resumed.next(), fix(2, None));
}

#[test]
fn an_order_from_before_the_last_cycle_does_not_cover_a_later_commit() {
    let mut case = Case::new(vec![cycle(1, 'a', Some('b'))], 'f');
    case.memory = case.memory.with_orders(&[], &[order(5, 8)]);
    assert_eq!(case.next(), Next::WaitsForCommand(Wait::PersonOnTop));
}

#[test]
fn a_push_of_ours_that_no_report_tells_of_starts_no_new_cycles() {
    let mut case = Case::new(vec![], 'b');
    case.ours = true;
    assert_eq!(case.next(), Next::WaitsForCommand(Wait::UnknownFix));
}

#[test]
fn a_fix_that_failed_or_is_only_a_patch_is_not_repeated_on_its_head() {
    let failed = cycle(1, 'a', None);
    assert_eq!(
        Case::new(vec![failed.clone()], 'a').next(),
        Next::WaitsForCommand(Wait::Tried)
    );
    let patch = FixReport {
        delivery: Some(Delivery::Patch),
        ..failed
    };
    assert_eq!(
        Case::new(vec![patch.clone()], 'a').next(),
        Next::WaitsForCommand(Wait::Tried)
    );
    assert_eq!(
        Case::new(vec![patch.clone()], 'a').asked(20, 7).next(),
        fix(2, Some(7))
    );
    assert_eq!(
        Case::new(vec![patch], 'f').next(),
        fix(2, None),
        "another head"
    );
}

#[test]
fn a_stop_or_a_reverted_commit_ends_fixing_until_it_is_resumed() {
    let stopped = FixReport {
        stops: vec![order(15, 4)],
        ..FixReport::default()
    };
    let reverted = FixReport {
        at: order(15, 0).at,
        reverted_commits: vec![sha('b').to_string()],
        ..FixReport::default()
    };
    for (report, stop) in [
        (stopped, Stop::Ordered(order(15, 4))),
        (reverted, Stop::Reverted(sha('b').to_string())),
    ] {
        let reports = vec![cycle(1, 'a', Some('b')), report];
        let case = Case::new(reports.clone(), 'b');
        assert_eq!(case.next(), Next::Stopped(stop.clone()));
        let asked = Case::new(reports.clone(), 'b').asked(20, 7);
        assert_eq!(
            asked.next(),
            Next::Stopped(stop.clone()),
            "a fix alone does not resume"
        );
        let mut early = Case::new(reports.clone(), 'b');
        early.memory = early.memory.with_orders(&[], &[order(14, 3)]);
        assert_eq!(early.next(), Next::Stopped(stop));
        let mut resumed = Case::new(reports, 'b');
        resumed.memory = resumed.memory.with_orders(&[], &[order(16, 8)]);
        assert_eq!(resumed.next(), fix(2, None));
    }
}

/// The events after a step, drawn at random.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Pushed,
    Failed,
    Patched,
    PersonPushed,
    Asked,
    Resumed,
    Stopped,
    Fixed,
    StuckOnly,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    use Turn::{Asked, Failed, Fixed, Patched, PersonPushed, Pushed, Resumed, Stopped, StuckOnly};
    let turn = prop_oneof![
        12 => Just(Pushed), 2 => Just(Failed), 1 => Just(Patched), 2 => Just(PersonPushed),
        3 => Just(Asked), 1 => Just(Resumed), 1 => Just(Stopped), 1 => Just(Fixed), 1 => Just(StuckOnly),
    ];
    prop::collection::vec(turn, 0..40)
}

/// A pull request on which turns happen.
#[derive(Debug)]
struct World {
    reports: Vec<FixReport>,
    head: u32,
    ours: bool,
    reviewed: bool,
    clock: u32,
    open: OpenWork,
    command: Option<FixCommand>,
    commands: u32,
    resumes: u32,
}

fn head(number: u32) -> CommitSha {
    format!("{number:040x}").parse().unwrap()
}

impl World {
    fn new() -> Self {
        Self {
            reports: Vec::new(),
            head: 1,
            ours: false,
            reviewed: false,
            clock: 0,
            open: OPEN,
            command: None,
            commands: 0,
            resumes: 0,
        }
    }

    fn next(&self, mode: Mode) -> Next {
        let memory = Memory::new(self.reports.iter().cloned());
        next(&Situation {
            memory: &memory,
            mode,
            max_cycles: 2,
            head: &head(self.head),
            head_is_ours: self.ours,
            reviewed: self.reviewed,
            open: self.open,
            command: self.command.as_ref(),
        })
    }

    fn move_head(&mut self, ours: bool) {
        self.head += 1;
        (self.ours, self.reviewed) = (ours, false);
    }

    /// Lets a fix end as the turn says.
    fn fix(&mut self, cycle: u32, command: Option<u64>, turn: Turn) {
        let pushed = matches!(turn, Turn::Pushed | Turn::Fixed | Turn::StuckOnly);
        let before = head(self.head).to_string();
        if pushed {
            self.move_head(true);
        }
        self.reports.push(FixReport {
            at: order(self.clock, 0).at,
            cycle,
            head: before,
            commit: pushed.then(|| head(self.head).to_string()),
            delivery: match turn {
                Turn::Patched => Some(Delivery::Patch),
                _ => pushed.then_some(Delivery::Push),
            },
            command,
            ..FixReport::default()
        });
    }

    /// Lets a person do something between two runs.
    fn person(&mut self, turn: Turn) {
        let given = order(self.clock, self.clock.into());
        self.command = None;
        let mut report = FixReport {
            at: given.at.clone(),
            ..FixReport::default()
        };
        match turn {
            Turn::Asked => {
                self.commands += 1;
                self.command = Some(FixCommand {
                    order: given,
                    thread: None,
                });
                return;
            }
            Turn::PersonPushed => return self.move_head(false),
            Turn::Resumed => {
                self.resumes += 1;
                report.resumes.push(given);
            }
            Turn::Stopped => report.stops.push(given),
            _ => return,
        }
        self.reports.push(report);
    }

    fn cycles(&self, by_command: bool) -> usize {
        let cycles = self.reports.iter().filter(|one| one.cycle > 0);
        cycles
            .filter(|one| one.command.is_some() == by_command)
            .count()
    }
}

proptest! {
    #[test]
    fn rounds_never_exceed_the_cap_and_always_end(turns in turns(), auto in any::<bool>()) {
        let mode = if auto { Mode::Auto } else { Mode::OnRequest };
        let mut world = World::new();
        for turn in turns {
            world.clock += 1;
            world.person(turn);
            let mut steps = 0;
            loop {
                match world.next(mode) {
                    Next::Review => {
                        world.reviewed = true;
                        if matches!(turn, Turn::Fixed) {
                            world.open = OpenWork { findings: 0, conversations: 0, consensus: Consensus::Approve, fixable: 0 };
                        } else if matches!(turn, Turn::StuckOnly) {
                            world.open = OpenWork { fixable: 0, ..OPEN };
                        } else {
                            world.open = OPEN;
                        }
                    }
                    Next::Fix { cycle, command, .. } => {
                        world.clock += 1;
                        world.fix(cycle, command, turn);
                    }
                    Next::AtCap { call, .. } => {
                        // Told once: then the same decision calls nobody.
                        if call {
                            world.clock += 1;
                            world.reports.push(FixReport {
                                at: order(world.clock, 0).at,
                                human_review_required: true,
                                ..FixReport::default()
                            });
                            let again = matches!(world.next(mode), Next::AtCap { call: false, .. });
                            prop_assert!(again);
                        }
                        break;
                    }
                    _ => break,
                }
                steps += 1;
                prop_assert!(steps <= 4 + 2 * (2 * (world.resumes + 1) + world.commands), "{world:?}");
            }
            let granted = if auto { 2 * (world.resumes + 1) } else { 0 };
            prop_assert!(world.cycles(false) <= granted as usize);
            prop_assert!(world.cycles(true) <= world.commands as usize);
        }
    }

    #[test]
    fn one_run_and_a_run_for_each_step_decide_the_same(turns in turns(), order in any::<u64>()) {
        // The memory is a set of reports: any order of them, and any of them twice, decides the same.
        let mut world = World::new();
        for turn in turns {
            world.clock += 1;
            world.person(turn);
            if let Next::Fix { cycle, command, .. } = world.next(Mode::Auto) {
                world.clock += 1;
                world.fix(cycle, command, turn);
            }
            world.reviewed = true;
        }
        let decided = world.next(Mode::Auto);
        let count = world.reports.len().max(1);
        let at = usize::try_from(order % 1000).unwrap() % count;
        world.reports.rotate_left(at);
        let twice = world.reports.first().cloned();
        world.reports.extend(twice);
        world.reports.reverse();
        prop_assert_eq!(world.next(Mode::Auto), decided);
    }
}
