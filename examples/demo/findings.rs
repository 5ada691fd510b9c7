//! What the scripted reviewer has to say about the example pull request. Separate from how it gets there, because
//! these are texts: defect, consequence, remedy.

use serde_json::{Value, json};

/// One finding, but for its place: that is looked up in tool results.
#[derive(Debug)]
pub struct Finding {
    pub file: &'static str,
    /// Part of the line that is meant.
    pub code: &'static str,
    pub category: &'static str,
    pub score: u64,
    /// In one sentence.
    pub claim: &'static str,
    pub assessment: &'static str,
    /// The words of the pass that finds it.
    pub scenario: &'static str,
    /// The text for the author, which the last pass writes if the finding stands.
    pub body: &'static str,
}

impl Finding {
    /// The arguments of the tool, for this line.
    pub fn at(&self, line: u32) -> Value {
        json!({
            "file": self.file,
            "line": line,
            "body": self.scenario,
            "category": self.category,
            "assessment": {
                "finding": self.claim,
                "assessment": self.assessment,
                "score": self.score,
            },
        })
    }
}

pub const PAGE_COUNT: Finding = Finding {
    file: "src/page.ts",
    code: "Math.floor(count / size)",
    category: "logic",
    score: 7,
    claim: "pages() rounds down, so a partly filled last page is not counted.",
    assessment: "Level 7: correct only when the list fills its pages exactly. Not 6, because entries become \
                 unreachable rather than slow.",
    scenario: "25 orders at 10 a page: `pages` gives 2 where it should give 3, and the last five cannot be reached.",
    body: "`pages` now rounds down, so a partly filled last page is not counted: 25 orders at 10 a page give 2 \
           instead of 3. The last five cannot be reached, and a list shorter than one page has no page at all.\n\n\
           Round up again, with `Math.ceil(count / size)` as on the base branch. A test with a remainder (25 and 10) \
           and one below a single page (3 and 10) would keep it that way.",
};

pub const POOR_NAME: Finding = Finding {
    file: "src/page.ts",
    code: "const d = pages",
    category: "style",
    score: 2,
    claim: "The name d does not say that it is the number of the last page.",
    assessment: "Level 2: the function is two lines long and reads well enough.",
    scenario: "A reader of `lastPage` has to look up what `d` is.",
    body: "`d` holds the number of the last page; `last` would say so.",
};

/// Plausible at first sight; the last pass finds out that it is wrong.
pub const EMPTY_LIST: Finding = Finding {
    file: "src/page.ts",
    code: "return page(items, d, size)",
    category: "logic",
    score: 5,
    claim: "lastPage() of an empty list asks for page 0, and pages begin with 1.",
    assessment: "Level 5: brittle, as it leans on how slice treats a negative start.",
    scenario: "`lastPage([], 10)` asks for page 0, where pages are numbered from 1.",
    body: "For an empty list this asks for page 0, though pages are numbered from 1. Return an empty list early.",
};

pub const LAYER: Finding = Finding {
    file: "src/ui/cart.ts",
    code: "await db().query(",
    category: "rules",
    score: 8,
    claim: "The UI component cart.ts queries the database itself, which AGENTS.md forbids.",
    assessment: "Level 8: a direct violation of a written rule of the repository. Not 7, because it is certain and \
                 not a matter of circumstances.",
    scenario: "`total` queries the table of orders itself; the rule wants `src/orders.ts` to do it.",
    body: "`total` queries the database from a UI component. AGENTS.md rules that out: \"UI components never query \
           the database; they call the service layer in `src/orders.ts`.\" The sum becomes a second place that knows \
           the table, so that a change of what counts as an order, such as leaving out cancelled ones, reaches the \
           list in `cart` and not the total under it.\n\n\
           Move the query into `src/orders.ts`, as a `totalOf(userId)` that returns integer cents; here, format what \
           it returns and drop the import of `db`.",
};

pub const INJECTION: Finding = Finding {
    file: "src/orders.ts",
    code: "note LIKE '%${text}%'",
    category: "security",
    score: 9,
    claim: "searchOrders() puts the search text into the SQL statement, which is an SQL injection.",
    assessment: "Level 9: exploitable by every customer through the search box, without any further condition.",
    scenario: "A customer searches for `' OR true --` and gets the orders of every customer instead of none.",
    body: "The search text becomes part of the SQL statement, so whoever types into the search box writes the query. \
           The text `' OR true --` returns the orders of every customer, and a `UNION` reads any other table, in a \
           shop that takes card payments.\n\n\
           Pass both values as parameters, as `ordersOf` above does: `WHERE user_id = $1 AND note LIKE $2`, with the \
           text between its percent signs as the second value. Escape `%` and `_` in it if they are to be found \
           literally.",
};

pub const OWNERSHIP: Finding = Finding {
    file: "src/orders.ts",
    code: "order.userId !== userId",
    category: "security",
    score: 9,
    claim: "orderOf() no longer checks that the order belongs to the user.",
    assessment: "Level 9: a missing authorisation check on customers' data. Not 8, because nothing further down \
                 restricts the query to the user.",
    scenario: "A signed-in customer asks for the number of a foreign order and gets it, where it should be undefined.",
    body: "With these lines gone, nothing ties the order to the user any more: the query asks for the order's number \
           alone, and `userId` is not used. A signed-in customer who counts the numbers up reads everybody's orders, \
           while the comment above the function still promises \"if it belongs to the user\".\n\n\
           Put the check back, or better let the query decide, with `WHERE id = $1 AND user_id = $2`; then a foreign \
           order never leaves the database.",
};

/// Why `EMPTY_LIST` does not stand.
pub const WITHDRAWAL: &str = "Page 0 makes page() slice up to index 0, which is empty: lastPage([]) returns [], as it \
                              should. No input makes this line fail by itself.";

/// What each pass is submitted with.
pub const SUMMARIES: [(u8, &str, bool); 4] = [
    (
        1,
        "Read all three diffs. The page count loses the last page; two smaller remarks in the same file.",
        false,
    ),
    (
        2,
        "Followed the changed functions to their callers. The new total in the cart bypasses the service layer.",
        false,
    ),
    (
        3,
        "The search is open to SQL injection, and an order is no longer checked against its owner.",
        true,
    ),
    (
        4,
        "Looked again at each finding. Withdrew the one about empty lists; the others hold on this head.",
        true,
    ),
];
