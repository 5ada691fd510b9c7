//! The script of each reviewer of the panel: the whole example review, and one finding that nobody else raises, so that there is
//! something to examine.

use super::super::findings::{EMPTY_LIST, Finding};
use super::super::script;
use super::super::standin::model::panel::{listed, pairs, verdict};
use super::super::standin::model::{Call, Request, Script};
use serde_json::{Value, json};

/// The findings that one reviewer alone raises, each in a file of its own. They share no cause, so they share few words.
const ALONE: [(&str, &str); 5] = [
    (
        "src/parts/part0.ts",
        "A negative count is multiplied without a check.",
    ),
    (
        "src/parts/part5.ts",
        "Amounts beyond 2^53 lose their last digits.",
    ),
    (
        "src/parts/part10.ts",
        "The names of these exports hide their currency.",
    ),
    ("src/parts/part15.ts", "Nothing tests this table of prices."),
    (
        "src/parts/part20.ts",
        "Callers cannot tell a discount from a surcharge here.",
    ),
];

/// The script of a reviewer, by its number from 0.
pub fn reviewer(number: usize) -> Script {
    script::reviewer()
        .pass(3, move |_| {
            let (file, claim) = ALONE[number % ALONE.len()];
            vec![Call::new(
                "github_post_review_comment",
                alone(file, claim).at(3),
            )]
        })
        .texts(texts)
        .pass(4, judge)
}

fn alone(file: &'static str, claim: &'static str) -> Finding {
    Finding {
        file,
        code: "price1",
        category: "logic",
        score: 6,
        claim,
        assessment: "Level 6: it needs an unusual call.",
        scenario: claim,
        body: claim,
    }
}

/// A text for the author of each finding that stands, in the words in which it was recorded.
fn texts(request: &Request) -> Vec<Value> {
    let stands = |(id, claim): (String, String)| {
        let text = json!({ "thread_id": id, "body": claim });
        (claim != EMPTY_LIST.claim).then_some(text)
    };
    request.listed().into_iter().filter_map(stands).collect()
}

/// Confirms every finding of others, in one turn. None has the cause of another.
fn judge(request: &Request) -> Vec<Call> {
    let findings = listed(request).into_iter();
    let findings = findings.map(|(name, _)| {
        verdict(
            &name,
            "confirm",
            "I followed the scenario through the code.",
            None,
        )
    });
    let pairs = pairs(request).into_iter().map(|(name, _)| {
        Call::new(
            "submit_same_cause",
            json!({ "pair_id": name, "is_same": false }),
        )
    });
    findings.chain(pairs).collect()
}
