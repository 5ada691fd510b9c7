//! What a seed chooses: what there is to find, what was discussed before, and which faults strike where. Separate from
//! what is done with it, so that a failed seed can be read.

use super::faults::{Disturbance, Kind};
use crate::dice::Dice;
use crate::standin::shop;
use crate::unseen::unseen_pushes;

/// A defect of the example, in the words of one run and in those of another.
#[derive(Debug)]
pub struct Defect {
    pub file: &'static str,
    pub code: &'static str,
    pub said: &'static str,
    pub again: &'static str,
}

pub const DEFECTS: [Defect; 6] = [
    Defect {
        file: "src/page.ts",
        code: "Math.floor",
        said: "`pages()` rounds down with `Math.floor`, so the partly filled last page is not counted.",
        again: "Because of `Math.floor`, `pages()` rounds down and does not count the last, partly filled page.",
    },
    Defect {
        file: "src/page.ts",
        code: "return page(items",
        said: "For an empty list, `lastPage` asks for page 0, and the slice begins below zero.",
        again: "`lastPage` asks for page 0 if the list is empty: the slice then begins below zero.",
    },
    Defect {
        file: "src/ui/cart.ts",
        code: "await db()",
        said: "The cart queries the database past the service layer.",
        again: "Past the service layer, the cart itself queries the database.",
    },
    Defect {
        file: "src/ui/cart.ts",
        code: "return money(Number",
        said: "A user without orders is shown NaN, because SUM over no rows is NULL.",
        again: "SUM over no rows is NULL, so NaN is shown to a user without orders.",
    },
    Defect {
        file: "src/orders.ts",
        code: "LIKE",
        said: "`searchOrders` concatenates the search text into its SQL statement, which can be injected.",
        again: "The SQL statement of `searchOrders` can be injected, as the search text is concatenated into it.",
    },
    Defect {
        file: "src/orders.ts",
        code: "return rows.map(toOrder)[0]",
        said: "`orderOf` returns orders of other users, because the owner is not compared any more.",
        again: "The owner is not compared any more, so `orderOf` returns other users' orders.",
    },
];

impl Defect {
    pub fn line(&self) -> u32 {
        shop::line_of(self.file, self.code)
    }
}

/// A finding that a run makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// In `DEFECTS`.
    pub defect: usize,
    pub score: u64,
    pub pass: u8,
}

impl Made {
    pub fn defect(&self) -> &'static Defect {
        &DEFECTS[self.defect]
    }

    /// Whether it belongs on the pull request.
    pub fn counts(&self) -> bool {
        self.score >= 5
    }

    pub fn blocks(&self) -> bool {
        self.score >= 9
    }

    /// Does not block, so that the check can be green.
    fn let_pass(&mut self) {
        self.score = self.score.min(8);
    }
}

/// What becomes of a thread that there is already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discussion {
    Silence,
    /// The developer objects, and is right.
    Conceded,
    /// The developer objects, and is not.
    Kept,
    /// The developer says nothing, and the push fixes it.
    Fixed,
}

impl Discussion {
    /// Whether the developer replied.
    pub fn is_spoken(self) -> bool {
        matches!(self, Self::Conceded | Self::Kept)
    }
}

/// What causes the disturbed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Opened,
    /// Replies, and then a push.
    Pushed,
    /// Replies alone.
    Replied,
}

/// Pushes of files that a name, a mode or an encoding could hide, by their kinds in `unseen_pushes`. Where there is none, a
/// push changes something plain.
#[derive(Debug)]
pub struct Unseen {
    /// The push that causes the disturbed run.
    pub cause: Option<&'static str>,
    /// The one that moves the head meanwhile.
    pub meanwhile: Option<&'static str>,
    /// One more, that causes the last run.
    pub last: Option<&'static str>,
}

impl Unseen {
    fn drawn(dice: &mut Dice, cause: Cause, moves: bool) -> Self {
        let mut kinds: Vec<&str> = unseen_pushes().iter().map(|(kind, _)| *kind).collect();
        dice.shuffle(&mut kinds);
        let mut of_kind = |may_be: bool| {
            let kind = kinds.pop();
            kind.filter(|_| may_be && !dice.one_in(3))
        };
        Self {
            cause: of_kind(cause == Cause::Pushed),
            meanwhile: of_kind(moves),
            last: of_kind(true),
        }
    }

    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        [self.cause, self.meanwhile, self.last]
            .into_iter()
            .flatten()
    }
}

#[derive(Debug)]
pub struct Plan {
    pub seed: u64,
    /// With OpenCode itself.
    pub real: bool,
    pub cause: Cause,
    /// What an undisturbed run found before.
    pub before: Vec<(Made, Discussion)>,
    /// What the disturbed run finds.
    pub findings: Vec<Made>,
    pub disturbances: Vec<Disturbance>,
    /// What the undisturbed run after it finds again, of all that was found.
    pub restated: Vec<Made>,
    pub unseen: Unseen,
    /// The base branch has the files that such pushes change; else the pull request adds them.
    pub settled: bool,
    /// The head is a fork's, and `fork_reviews` is `always`.
    pub forked: bool,
}

/// Every tenth seed, so that any thousand have a hundred of them.
const REAL: u64 = 10;

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        for _ in 0..8 {
            dice.below(2);
        }
        let real = seed.is_multiple_of(REAL);
        let mut defects: Vec<usize> = (0..DEFECTS.len()).collect();
        dice.shuffle(&mut defects);
        let kinds = kinds(&mut dice, seed, real);
        let shifts = kinds.contains(&Kind::PageShift);
        let moves = kinds.contains(&Kind::HeadMoved);
        let cause = if shifts || dice.one_in(2) {
            dice.pick(&[Cause::Pushed, Cause::Pushed, Cause::Replied])
        } else {
            Cause::Opened
        };
        let earlier = match cause {
            Cause::Opened => 0,
            _ => 2 + dice.count(2),
        };
        let (earlier, new) = defects.split_at(earlier);
        let mut before: Vec<_> = earlier
            .iter()
            .map(|defect| discussed(&mut dice, *defect, cause))
            .collect();
        if cause == Cause::Replied && before.iter().all(|(_, discussion)| !discussion.is_spoken()) {
            before[0].1 = Discussion::Kept;
        }
        let count = match cause {
            Cause::Replied => 0,
            _ => (2 + dice.count(5)).min(new.len()),
        };
        let mut findings: Vec<Made> = new[..count]
            .iter()
            .map(|defect| made(&mut dice, *defect))
            .collect();
        let disturbances = kinds
            .into_iter()
            .map(|kind| Disturbance::drawn(&mut dice, kind, cause, &before, &findings))
            .collect();
        let unseen = Unseen::drawn(&mut dice, cause, moves);
        if unseen.last.is_some() {
            let before = before.iter_mut().map(|(made, _)| made);
            before.chain(&mut findings).for_each(Made::let_pass);
        }
        // What is fixed is not found again.
        let stands = |(_, discussion): &&(Made, Discussion)| *discussion != Discussion::Fixed;
        let standing = before.iter().filter(stands);
        let mut restated: Vec<Made> = standing.map(|(made, _)| *made).collect();
        restated.extend(&findings);
        dice.shuffle(&mut restated);
        restated.truncate(restated.len().div_ceil(2));
        Self {
            seed,
            real,
            cause,
            before,
            findings,
            disturbances,
            restated,
            unseen,
            settled: dice.one_in(2),
            forked: cause == Cause::Opened && dice.one_in(4),
        }
    }

    /// Whether pages of listings are cut so small that something can move between two of them.
    pub fn shifts(&self) -> bool {
        let shift = |disturbance: &Disturbance| disturbance.kind == Kind::PageShift;
        self.disturbances.iter().any(shift)
    }
}

/// One to three faults. The first of each seed goes round, so that all have their turn.
fn kinds(dice: &mut Dice, seed: u64, real: bool) -> Vec<Kind> {
    let turn = usize::try_from(seed).expect("a small seed") % Kind::ALL.len();
    let mut kinds = vec![Kind::ALL[turn]];
    while kinds.len() < 3 && dice.one_in(2) {
        kinds.push(dice.pick(&Kind::ALL));
    }
    for kind in &mut kinds {
        // OpenCode does not hang when it is told to; stopped, it does.
        if real && *kind == Kind::SidecarHang {
            *kind = Kind::SidecarStop;
        }
    }
    kinds
}

fn made(dice: &mut Dice, defect: usize) -> Made {
    Made {
        defect,
        score: dice.pick(&[2, 4, 5, 6, 7, 7, 8, 8, 9, 10]),
        pass: 1 + u8::try_from(dice.below(4)).expect("a pass"),
    }
}

/// What is above the threshold, so that there is a thread; a blocking finding is not conceded to its author. Only a push fixes
/// anything, and what blocks is closed by a check of its own.
fn discussed(dice: &mut Dice, defect: usize, cause: Cause) -> (Made, Discussion) {
    let score = dice.pick(&[5, 6, 7, 8, 9]);
    let pass = made(dice, defect).pass;
    let made = Made {
        defect,
        score,
        pass,
    };
    let mut discussion = dice.pick(&[
        Discussion::Silence,
        Discussion::Conceded,
        Discussion::Kept,
        Discussion::Fixed,
    ]);
    if made.blocks() && discussion == Discussion::Conceded {
        discussion = Discussion::Kept;
    }
    if discussion == Discussion::Fixed && (made.blocks() || cause != Cause::Pushed) {
        discussion = Discussion::Silence;
    }
    (made, discussion)
}
