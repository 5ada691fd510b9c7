//! The plan of a life, drawn from a seed: the story that everybody plays, and what disturbs its delivery.

use super::dice::Dice;
use super::github::Fault;
use http::Method;
use reviewer_core::lifecycle::Quotas;
use serde_json::json;

/// Something that happens in the middle of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mid {
    Push,
    /// "Update branch": a merge of the base that changes nothing of the pull request.
    Update,
    Draft,
    Close,
    Approve,
    Merge,
    PushBase,
}

#[expect(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Story {
    /// The agents are personas of a GitHub App.
    pub app: bool,
    /// The check of an App's reviews is required.
    pub gate: bool,
    pub author_is_agent: bool,
    pub security: bool,
    pub human: bool,
    pub escalates_to_person: bool,
    pub auto_merge: bool,
    pub require_human_approval: bool,
    pub max_fix_cycles: u32,
    /// The repository's setting "Allow auto-merge".
    pub arms: bool,
    /// The required check ends so long after each push.
    pub check_after_ms: Option<i64>,
    pub mergeability_delay: u32,
    pub draft: bool,
    /// Reviewers request changes in one of so many reviews.
    pub strict: u64,
    pub fails: bool,
    /// Sessions may die after they have acted.
    pub vanishes: bool,
    /// The event in the middle of the session with this number.
    pub mid: Vec<(u64, Mid)>,
    /// Acts of people, before they leave the pull request alone.
    pub acts: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Network {
    /// One of so many webhooks is lost; none with 0.
    pub lost: u64,
    pub doubled: u64,
    pub longest_ms: u64,
    /// One of so many messages of sessions is lost; none with 0.
    pub messages_lost: u64,
}

/// The service dies at an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Crash {
    /// Effects executed so far, this one included.
    pub at: u64,
    /// After its execution, before that is in the store.
    pub after: bool,
    /// Its sessions go on until the next service ends them.
    pub orphans: bool,
    pub down_ms: i64,
}

/// Requests of GitHub that go wrong.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub method: Method,
    pub path: &'static str,
    pub word: &'static str,
    pub after: usize,
    pub times: usize,
    pub fault: Fault,
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub seed: u64,
    pub story: Story,
    pub network: Network,
    pub crashes: Vec<Crash>,
    pub troubles: Vec<Trouble>,
    pub quotas: Quotas,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let mut dice = shaken(seed);
        let mut story = story(&mut dice);
        // In every second seed nothing but the delivery is disturbed.
        let is_plain = dice.one_in(2);
        if is_plain {
            story.mid.clear();
            story.vanishes = false;
            story.arms |= story.check_after_ms.is_some();
        }
        let network = network(&mut dice);
        let crashes = if dice.one_in(2) {
            crashes(&mut dice)
        } else {
            Vec::new()
        };
        let troubles = if !is_plain && dice.one_in(2) {
            troubles(&mut dice)
        } else {
            Vec::new()
        };
        let mut plan = Self {
            seed,
            story,
            network,
            crashes,
            troubles,
            quotas: Quotas::default(),
        };
        plan.story.app = plan.dice("app").one_in(3);
        plan.story.gate = plan.story.app && plan.dice("gate").one_in(2);
        plan
    }

    /// The same story with nothing in its way.
    pub(super) fn undisturbed(&self) -> Self {
        Self {
            network: Network::default(),
            crashes: Vec::new(),
            troubles: Vec::new(),
            ..self.clone()
        }
    }

    /// True if only the delivery is disturbed, and nothing depends on its time: the end has to be the same then. A late check
    /// does where the service itself asks again and again for the merge.
    pub(super) fn has_one_end(&self) -> bool {
        let story = &self.story;
        let is_timed = story.check_after_ms.is_some() && story.auto_merge && !story.arms;
        self.troubles.is_empty() && story.mid.is_empty() && !story.vanishes && !is_timed
    }

    /// Choices that are the same for the same words, in whatever order things happen.
    pub(super) fn dice(&self, words: &str) -> Dice {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.seed;
        for byte in words.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        shaken(hash)
    }
}

/// Seeds differ in their upper bits; a few throws bring those to the lower ones.
fn shaken(seed: u64) -> Dice {
    const THROWS: u32 = 16;
    let mut dice = Dice::new(seed);
    for _ in 0..THROWS {
        dice.below(2);
    }
    dice
}

fn story(dice: &mut Dice) -> Story {
    let mids = [
        Mid::Push,
        Mid::Push,
        Mid::Update,
        Mid::Draft,
        Mid::Close,
        Mid::Approve,
        Mid::Merge,
        Mid::PushBase,
    ];
    let mid = match dice.below(5) {
        0 | 1 => 0,
        2 | 3 => 1,
        _ => 2,
    };
    let minute = 60_000;
    Story {
        app: false,
        gate: false,
        author_is_agent: !dice.one_in(3),
        security: dice.one_in(3),
        human: dice.one_in(4),
        escalates_to_person: dice.one_in(4),
        auto_merge: !dice.one_in(3),
        require_human_approval: dice.one_in(5),
        max_fix_cycles: u32::try_from(dice.below(3)).unwrap_or(0),
        arms: dice.one_in(2),
        check_after_ms: dice
            .one_in(2)
            .then(|| i64::try_from(dice.below(120)).unwrap_or(0) * minute),
        mergeability_delay: u32::try_from(dice.below(4)).unwrap_or(0),
        draft: dice.one_in(8),
        strict: 2 + dice.below(3),
        fails: dice.one_in(3),
        vanishes: dice.one_in(4),
        mid: (0..mid)
            .map(|_| (1 + dice.below(5), dice.pick(&mids)))
            .collect(),
        acts: 3 + dice.below(6),
    }
}

fn network(dice: &mut Dice) -> Network {
    let one_of = |dice: &mut Dice| match dice.below(3) {
        0 => 0,
        _ => 2 + dice.below(6),
    };
    Network {
        lost: one_of(dice),
        doubled: one_of(dice),
        longest_ms: dice.pick(&[100, 5_000, 600_000]),
        messages_lost: one_of(dice),
    }
}

fn crashes(dice: &mut Dice) -> Vec<Crash> {
    let count = 1 + dice.count(4);
    let crash = |dice: &mut Dice| Crash {
        at: 1 + dice.below(30),
        after: dice.one_in(2),
        orphans: dice.one_in(2),
        down_ms: dice.pick(&[10, 30_000, 1_200_000]),
    };
    (0..count).map(|_| crash(dice)).collect()
}

fn troubles(dice: &mut Dice) -> Vec<Trouble> {
    let count = 1 + dice.count(4);
    (0..count).map(|_| trouble(dice)).collect()
}

fn trouble(dice: &mut Dice) -> Trouble {
    let gone = || Fault::Status(502, json!({ "message": "Server Error" }));
    let after_write = || Fault::ApplyThenStatus(502, json!({ "message": "Server Error" }));
    let fault = match dice.below(5) {
        0 => gone(),
        1 => Fault::Drop,
        2 => Fault::ApplyThenDrop,
        3 => after_write(),
        _ => Fault::Halved,
    };
    let places = [
        (Method::POST, "/graphql", ""),
        (Method::POST, "/graphql", "AutoMerge"),
        (Method::PUT, "/repos", ""),
        (Method::POST, "/repos", ""),
        (Method::GET, "/repos", ""),
    ];
    let (method, path, word) = dice.pick(&places);
    let everything = word.is_empty() && path == "/graphql";
    Trouble {
        method,
        path,
        word,
        after: if everything {
            dice.count(40)
        } else {
            dice.count(3)
        },
        times: 1 + dice.count(if everything { 8 } else { 3 }),
        fault,
    }
}
