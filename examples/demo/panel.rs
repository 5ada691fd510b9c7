//! Two more scripted reviewers, for `make demo REVIEWERS=3`: they raise one of the first one's findings by themselves, verify the
//! others, refute one with a quote, and contest one.

use super::findings::{EMPTY_LIST, Finding, INJECTION, OWNERSHIP, PAGE_COUNT};
use super::script;
use super::standin::github::state::ReviewComment;
use super::standin::model::panel::{listed, pairs, verdict};
use super::standin::model::{Call, Request, Script};
use super::standin::shop;
use serde_json::json;

const SAME_PAGE_COUNT: Finding = Finding {
    claim: "pages() rounds down, so the partly filled last page is not counted any more.",
    scenario: "3 entries at 10 a page: `pages` gives 0, and the only page cannot be reached.",
    ..PAGE_COUNT
};

const SAME_INJECTION: Finding = Finding {
    claim: "searchOrders() puts the search text into the SQL statement: an SQL injection by every customer.",
    scenario: "The search for `%' UNION SELECT …` reads any table.",
    ..INJECTION
};

/// Wrong: the code says so.
const EMPTY_TOTAL: Finding = Finding {
    file: "src/ui/cart.ts",
    code: "Number(rows[0].cents)",
    category: "logic",
    score: 6,
    claim: "total() of a customer without orders shows NaN, because SUM gives null.",
    assessment: "Level 6: ugly, and rare.",
    scenario: "A new customer opens the cart and sees NaN where it should say 0.00.",
    body: "Say 0.00 for a customer without orders.",
};

/// The three reviewers, in their order.
pub fn reviewers() -> Vec<Script> {
    let quality = Script::new().pass(1, |_| vec![post(&SAME_PAGE_COUNT), post(&EMPTY_TOTAL)]);
    let security = Script::new().pass(3, |_| vec![post(&SAME_INJECTION)]);
    vec![
        script::reviewer().pass(4, judge),
        quality.pass(4, contest),
        security.pass(4, judge),
    ]
}

fn post(finding: &Finding) -> Call {
    let line = shop::line_of(finding.file, finding.code);
    Call::new("github_post_review_comment", finding.at(line))
}

/// Confirms what holds, and refutes what the code contradicts.
fn judge(request: &Request) -> Vec<Call> {
    let judged = listed(request).into_iter().map(|(name, text)| {
        if text.contains(EMPTY_TOTAL.claim) {
            let reason = "Number(null) is 0, so a customer without orders sees 0.00.";
            let quote = "return money(Number(rows[0].cents));";
            verdict(&name, "refute", reason, Some((EMPTY_TOTAL.file, quote)))
        } else if text.contains(EMPTY_LIST.claim) {
            verdict(&name, "unsure", "I see no input that makes it fail.", None)
        } else {
            let reason =
                "I followed the scenario through the code, and nothing on the way stops it.";
            verdict(&name, "confirm", reason, None)
        }
    });
    judged.chain(compared(request)).collect()
}

/// The same of a reviewer that believes the caller to check the owner.
fn contest(request: &Request) -> Vec<Call> {
    let contested: Vec<Call> = listed(request)
        .into_iter()
        .filter(|(_, text)| text.contains(OWNERSHIP.claim))
        .map(|(name, _)| {
            let reason = "The order comes with its owner, so a caller can compare it.";
            let quote = "userId: Number(row.user_id),";
            verdict(&name, "refute", reason, Some((OWNERSHIP.file, quote)))
        })
        .collect();
    let judged = judge(request).into_iter().filter(|call| {
        let name = &call.arguments["finding_id"];
        contested
            .iter()
            .all(|other| other.arguments["finding_id"] != *name)
            || name.is_null()
    });
    let judged: Vec<Call> = judged.collect();
    [contested, judged].concat()
}

fn compared(request: &Request) -> impl Iterator<Item = Call> {
    let pairs = pairs(request).into_iter();
    pairs.map(|(name, text)| {
        let both = |words: &str| text.matches(words).count() == 2;
        let is_same = both("rounds down") || both("SQL injection");
        Call::new(
            "submit_same_cause",
            json!({ "pair_id": name, "is_same": is_same }),
        )
    })
}

/// Holds the comments against the script: what is shared, verified, refuted and contested.
pub fn judged(comments: &[ReviewComment]) -> Result<(), String> {
    let saying = |claim: &str, words: &str| {
        let said = comments
            .iter()
            .any(|one| one.body.contains(claim) && one.body.contains(words));
        if said {
            Ok(())
        } else {
            Err(format!("no comment on {claim:?} says {words:?}."))
        }
    };
    saying("rounds down", "Raised independently by 2 of 3 reviewers")?;
    saying("SQL injection", "Raised independently by 2 of 3 reviewers")?;
    saying("queries the database itself", "Verified by ")?;
    saying(OWNERSHIP.claim, "**Contested**")?;
    for claim in [EMPTY_TOTAL.claim, EMPTY_LIST.claim] {
        if comments.iter().any(|one| one.body.contains(claim)) {
            return Err(format!(
                "{claim:?} is posted, although it was refuted or withdrawn."
            ));
        }
    }
    Ok(())
}
