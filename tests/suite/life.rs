//! The life of a pull request's discussions, told over several runs with the real OpenCode: what the reviewer
//! remembers, when it gives in, and who has the last word.

use crate::review::{finding, layer_bypassed, lost_page, post};
use crate::standin::github::{Change, GitHub, Identity, Write, events};
use crate::standin::model::{Call, Request, Script};
use crate::standin::shop;
use crate::standin::world::{Ran, World};
use serde_json::{Value, json};

const ROUNDS_DOWN: &str =
    "`pages()` rounds down with `Math.floor`, so the partly filled last page is not counted.";
const IN_OTHER_WORDS: &str = "Because of `Math.floor`, `pages()` rounds down and does not count the last, partly filled page.";

/// A pull request with three findings on it: the page, the cart, the search. In the diff, the search comes first.
struct Life {
    world: World,
    page: u64,
    cart: u64,
    search: u64,
}

/// What a run said.
#[derive(Debug, Default)]
struct Said {
    findings: usize,
    replies: Vec<(u64, String)>,
    /// Comments of findings, as they were rewritten.
    rewritten: Vec<(u64, String)>,
    resolved: Vec<u64>,
    unresolved: Vec<u64>,
}

impl Life {
    /// `personal`: with the token of a person, who may write no check.
    fn begin(personal: bool, cart_score: u64) -> Self {
        Self::in_world(World::quick, personal, cart_score)
    }

    fn in_world(kind: fn(World) -> World, personal: bool, cart_score: u64) -> Self {
        let page = shop::line_of("src/page.ts", "Math.floor");
        let sql = shop::line_of("src/orders.ts", "LIKE");
        let search = "A search without text returns every order.";
        let world = kind(World::shop(Script::new().pass(1, move |_| {
            vec![
                post(finding("src/page.ts", page, 7, ROUNDS_DOWN)),
                post(layer_bypassed(cart_score)),
                post(finding("src/orders.ts", sql, 7, search)),
            ]
        })));
        if personal {
            let permissions = ["contents:write", "pull-requests:write", "issues:write"];
            let identity = Identity::person("review-account", &permissions);
            world.github.token(GitHub::TOKEN, identity);
        }
        world.github.permit("dev", "read");
        let mut life = Self {
            world,
            page: 0,
            cart: 0,
            search: 0,
        };
        life.world.review();
        assert_eq!(life.said().findings, 3);
        let ids: Vec<u64> = life.world.github.comments().iter().map(|c| c.id).collect();
        [life.search, life.page, life.cart] = [ids[0], ids[1], ids[2]];
        life
    }

    fn head(&self) -> String {
        self.world
            .github
            .with(|state| state.pulls[&self.world.pull].head.sha.clone())
    }

    /// Takes everything that the last run wrote.
    fn said(&self) -> Said {
        let mut said = Said::default();
        for write in self.world.github.take_writes() {
            match write {
                Write::Review { json, .. } => {
                    said.findings += json["comments"].as_array().map_or(0, Vec::len);
                }
                Write::Reply { root, json, .. } => {
                    said.replies
                        .push((root, json["body"].as_str().expect("a body").to_owned()));
                }
                // Nobody else has spoken there, so the finding's own comment says it.
                Write::EditComment { id, json } => {
                    let body = json["body"].as_str().expect("a body");
                    said.rewritten.push((id, body.to_owned()));
                }
                Write::Resolve { root, .. } => said.resolved.push(root),
                Write::Unresolve { root, .. } => said.unresolved.push(root),
                Write::CheckRunCreated { .. } | Write::CheckRunUpdated { .. } => {}
                other => panic!("nobody expected {other:?}"),
            }
        }
        said.replies.sort();
        said
    }

    fn becomes(&self, script: Script) {
        self.world.model.becomes(script.into_behaviour());
    }

    /// In the turn about open threads, the model does this.
    fn judges(&self, step: impl FnMut(&Request) -> Vec<Call> + Send + 'static) {
        self.becomes(Script::new().threads(step));
    }

    fn pushed(&self, head: &str) -> Ran {
        let before = self.head();
        self.world.github.push(self.world.pull, head);
        let payload = events::synchronize_event(&self.world.github, self.world.pull, &before);
        let ran = self
            .world
            .run(&self.world.workflow("pull_request", payload));
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        ran
    }

    /// Somebody replies in a thread, and the action runs.
    fn reply(&self, thread: u64, who: &str, text: &str) -> Ran {
        let github = &self.world.github;
        let comment = github.reply(thread, who, text);
        let name = "pull_request_review_comment";
        let payload = events::comment_event(name, github, self.world.pull, comment.id);
        let ran = self.world.run(&self.world.workflow(name, payload));
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        ran
    }

    /// Status and `awaiting` of each thread, as `state` shows them: page, cart, search.
    fn state(&self) -> Vec<String> {
        let mut workflow = self.world.opened();
        workflow
            .variables
            .insert("GITHUB_ACTIONS".into(), String::new());
        let arguments = ["state", "--repo", "octo/shop", "--pr", "1", "--json"];
        let shown = self.world.spawn(&workflow, &arguments);
        let threads: Value = serde_json::from_str(&shown.log).expect("JSON");
        let threads = threads.as_array().expect("threads").iter();
        let told = threads.map(|thread| {
            let text = |key: &str| thread[key].as_str().expect("a text").to_owned();
            format!("{} {}", text("status"), text("awaiting"))
        });
        let mut told: Vec<String> = told.collect();
        told.rotate_left(1);
        told
    }
}

fn word(thread: u64, body: &str, kind: &str) -> Call {
    let arguments = json!({
        "thread_id": thread.to_string(),
        "body": body,
        "is_concession": kind == "concession",
        "is_answer": kind == "answer",
    });
    Call::new("github_reply_to_thread", arguments)
}

/// A push that fixes the search in another file: the resolution names file and commit.
fn fixed_elsewhere(life: &Life) {
    let search = life.search;
    let guard = Change::write(
        "src/guard.ts",
        "export const guard = (text: string) => text.length > 2;\n",
    );
    let head = life
        .world
        .github
        .commit("search", &[&life.head()], &[guard]);
    let short = head[..7].to_owned();
    let fix = move |file: &str| {
        let by = json!({ "file": file, "commit": short });
        let reason = "Empty texts are refused now.";
        let arguments =
            json!({ "thread_id": search.to_string(), "reason": reason, "fixed_by": by });
        Call::new("github_resolve_thread", arguments)
    };
    let script = Script::new()
        .threads(move |request| {
            let prompt = request.last_user();
            assert!(
                prompt.contains(&format!("Thread {search}: the code has changed since")),
                "{prompt}"
            );
            assert!(prompt.contains("LIKE '%${text}%'"), "the code then and now");
            vec![fix("src/db.ts"), fix("src/guard.ts")]
        })
        .threads(|request| {
            let results = request.tool_results();
            assert!(
                results[0].content.contains("has not changed since"),
                "{results:?}"
            );
            vec![]
        });
    life.becomes(script);
    life.pushed(&head);
    let said = life.said();
    assert_eq!((said.findings, &said.resolved[..]), (0, &[search][..]));
    let (root, body) = &said.rewritten[0];
    assert_eq!((*root, said.replies.len()), (search, 0), "{said:?}");
    let lead = format!(
        "✅ **Issue Resolved** in `{}` by `src/guard.ts`",
        &head[..7]
    );
    assert!(body.starts_with(&lead), "{body}");
    assert_eq!(
        life.state(),
        ["PENDING developer", "PENDING developer", "RESOLVED nobody"]
    );
}

/// A good objection is conceded, a bad one is not; a stranger's word is only context.
fn objections(life: &Life) {
    let (page, cart) = (life.page, life.cart);
    life.world.github.reply(page, "passerby", "I like it.");
    assert_eq!(life.state()[0], "PENDING developer");
    life.world
        .github
        .reply(page, "dev", "Callers add one page for the rest.");
    assert_eq!(life.state()[0], "PENDING us");
    life.judges(move |request| {
        assert!(
            request
                .last_user()
                .contains("reply by passerby (no standing)")
        );
        vec![
            word(page, "Right, `pager.ts` adds it.", "concession"),
            word(cart, "Speed is no exception from the rule.", "argument"),
        ]
    });
    life.reply(cart, "dev", "It is faster.");
    let said = life.said();
    assert_eq!(said.resolved, [page]);
    assert!(
        said.replies[0].1.starts_with("✅ **Issue Resolved**"),
        "{said:?}"
    );
    assert!(
        said.replies[1].1.starts_with("Speed is no exception"),
        "{said:?}"
    );
    assert_eq!(life.state()[..2], ["RESOLVED nobody", "DISPUTED developer"]);
}

fn question(life: &Life) {
    let cart = life.cart;
    life.judges(move |_| vec![word(cart, "`ordersOf` in `src/orders.ts`.", "answer")]);
    life.reply(cart, "dev", "Which service should it call?");
    assert_eq!(life.said().replies.len(), 1);
    assert_eq!(life.state()[1], "DISPUTED developer");
}

/// The developer insists: people decide, and are called once.
fn insistence(life: &Life) {
    let cart = life.cart;
    life.judges(move |_| vec![word(cart, "The rule is clear.", "argument")]);
    life.reply(cart, "dev", "I insist.");
    let body = &life.said().replies[0].1;
    assert!(
        body.starts_with("🔺 **Escalated to Human Review**\n\n@lead: please decide"),
        "{body}"
    );
    assert_eq!(life.state()[1], "ESCALATED people");
}

/// The same change on a newer base: no review, no model request.
fn rebase(life: &Life, remembers: bool) {
    let github = &life.world.github;
    let asked = life.world.model.requests().len();
    life.becomes(Script::new());
    let base = github.with(|state| state.pulls[&life.world.pull].base.sha.clone());
    let base = github.commit("main", &[&base], &[Change::write("docs.md", "Words.\n")]);
    let changes = shop::changes();
    let guard = Change::write(
        "src/guard.ts",
        "export const guard = (text: string) => text.length > 2;\n",
    );
    let head = github.commit("search", &[&base], &[&changes[..], &[guard]].concat());
    github.pull(life.world.pull, |pull| pull.base.sha = base);
    let ran = life.pushed(&head);
    assert_eq!(ran.status(), "findings", "{}", ran.log);
    assert_eq!(life.said().findings, 0);
    let again = life.world.model.requests().len() - asked;
    assert_eq!(again == 0, remembers, "{again} model requests");
    assert_eq!(life.state()[..2], ["RESOLVED nobody", "ESCALATED people"]);
}

/// The conceded finding in other words, two lines off, in the renamed file.
fn restated(life: &Life) {
    let page = life.page;
    let script = Script::new()
        .pass(1, |_| {
            vec![post(finding("src/paging.ts", 10, 7, IN_OTHER_WORDS))]
        })
        .pass(1, move |request| {
            let refusal = request.last_result().expect("a refusal");
            assert!(
                refusal.contains(&format!("Already said in thread {page}")),
                "{refusal}"
            );
            vec![]
        });
    life.becomes(script);
    let rename = Change::rename("src/page.ts", "src/paging.ts");
    let head = life
        .world
        .github
        .commit("search", &[&life.head()], &[rename]);
    let ran = life.pushed(&head);
    assert_eq!(ran.status(), "findings", "{}", ran.log);
    assert_eq!(life.said().findings, 0);
    assert_eq!(life.state()[..2], ["RESOLVED nobody", "ESCALATED people"]);
}

/// The author's further words move nothing; the reviewer's decision does.
fn decision(life: &Life, remembers: bool) {
    let cart = life.cart;
    let asked = life.world.model.requests().len();
    life.becomes(Script::new());
    life.reply(cart, "dev", "Well?");
    assert_eq!(life.world.model.requests().len() == asked, remembers);
    life.said();
    life.judges(move |request| {
        assert!(
            request
                .last_user()
                .contains("a person has answered the escalation")
        );
        let arguments =
            json!({ "thread_id": cart.to_string(), "reason": "The lead accepts it for now." });
        vec![Call::new("github_resolve_thread", arguments)]
    });
    let ran = life.reply(cart, "lead", "Fine for now, we move it next week.");
    assert_eq!(ran.status(), "clean", "{}", ran.log);
    assert_eq!(life.said().resolved, [cart]);
    assert_eq!(
        life.state(),
        ["RESOLVED nobody", "RESOLVED nobody", "RESOLVED nobody"]
    );
}

/// A head without findings is remembered in its check run only, which a personal token cannot write.
fn whole_life(life: &Life, personal: bool) {
    life.world.github.permit("lead", "write");
    life.world.github.pull(life.world.pull, |pull| {
        pull.requested_reviewers.push("lead".into());
    });
    fixed_elsewhere(life);
    objections(life);
    question(life);
    insistence(life);
    rebase(life, !personal);
    restated(life);
    decision(life, !personal);
}

#[test]
fn a_whole_life_as_the_workflow_s_own_identity() {
    let life = Life::in_world(|with_opencode| with_opencode, false, 8);
    whole_life(&life, false);
    life.world.finish();
}

#[test]
fn a_whole_life_with_a_personal_token() {
    let life = Life::begin(true, 8);
    whole_life(&life, true);
    life.world.finish();
}

/// The page's text on the branch, with one word in place of another.
fn page_with(life: &Life, from: &str, to: &str) -> String {
    let ask = ["show", "search:src/page.ts"];
    let text = life.world.github.with(|state| state.git.ask(&ask));
    let text = text.expect("the file");
    assert!(text.contains(from), "{text}");
    let page = Change::write("src/page.ts", text.replace(from, to));
    life.world.github.commit("search", &[&life.head()], &[page])
}

#[test]
fn a_finding_that_is_back_is_reopened_and_so_is_its_conversation() {
    let life = Life::begin(false, 8);
    let page = life.page;
    let head = page_with(&life, "Math.floor", "Math.ceil");
    life.judges(move |_| {
        let with = json!({ "thread_id": page.to_string(), "reason": "It rounds up now.",
            "fixed_by": { "file": "src/page.ts" } });
        vec![Call::new("github_resolve_thread", with)]
    });
    life.pushed(&head);
    assert_eq!(life.said().resolved, [page]);

    let head = page_with(&life, "Math.ceil", "Math.floor");
    let floor = shop::line_of("src/page.ts", "Math.floor");
    life.becomes(Script::new().pass(1, move |_| {
        vec![post(finding("src/page.ts", floor, 7, ROUNDS_DOWN))]
    }));
    let ran = life.pushed(&head);
    let said = life.said();
    assert!(
        said.replies[0].1.starts_with("The problem is back."),
        "{said:?}"
    );
    assert_eq!(
        (said.findings, &said.unresolved[..]),
        (0, &[page][..]),
        "{}",
        ran.log
    );
    assert!(!ran.log.contains("resolve conversations"), "{}", ran.log);
    assert_eq!(life.state()[0], "PENDING developer");
    life.world.finish();
}

/// GitHub lists such a file as added under its new name, and says nothing of the old one.
#[test]
fn a_finding_in_a_new_file_stays_one_finding_when_a_push_renames_the_file() {
    const TAKEN: &str =
        "`take()` lets the stock fall below zero, because nothing compares `left` with `count`.";
    let text = "export function take(left: number, count: number) {\n  return left - count;\n}\n\n\
                export function put(left: number, count: number) {\n  return left + count;\n}\n";
    let stock = Change::write("src/stock.ts", text);
    let script = Script::new().pass(1, |_| vec![post(finding("src/stock.ts", 2, 7, TAKEN))]);
    let world = World::with(&[stock], script.into_behaviour()).quick();
    world.review();
    let root = world.github.comments()[0].id;
    let (page, cart, search) = (0, 0, 0);
    let life = Life {
        world,
        page,
        cart,
        search,
    };
    assert_eq!(life.said().findings, 1);

    let rename = Change::rename("src/stock.ts", "src/warehouse.ts");
    let edit = Change::write("src/warehouse.ts", format!("// What is in store.\n{text}"));
    let head = life
        .world
        .github
        .commit("search", &[&life.head()], &[rename, edit]);
    let script = Script::new()
        .threads(move |request| {
            let prompt = request.last_user();
            let place = format!("Thread {root}: the code has changed since");
            assert!(prompt.contains(&place), "{prompt}");
            assert!(prompt.contains("src/warehouse.ts"), "{prompt}");
            assert!(
                prompt.contains("    3    return left - count;"),
                "the code now: {prompt}"
            );
            vec![]
        })
        .pass(1, |_| vec![post(finding("src/warehouse.ts", 3, 7, TAKEN))])
        .pass(1, move |request| {
            let refusal = request.last_result().expect("a refusal");
            let said = format!("Already said in thread {root}");
            assert!(refusal.contains(&said), "{refusal}");
            vec![]
        });
    life.becomes(script);
    let ran = life.pushed(&head);
    assert_eq!(life.said().findings, 0, "{}", ran.log);
    let report = ran.report.expect("a report");
    assert_eq!(
        report["threads"][0]["file"], "src/warehouse.ts",
        "{report:#}"
    );
    life.world.finish();
}

/// The cart's finding is kept, and the developer insists. What the last reply says.
fn insisted(life: &Life) -> (Said, Ran) {
    let cart = life.cart;
    life.judges(move |_| vec![word(cart, "The rule is clear.", "argument")]);
    life.reply(cart, "dev", "It is faster.");
    assert_eq!(life.state()[1], "DISPUTED developer");
    life.said();
    let ran = life.reply(cart, "dev", "I insist.");
    (life.said(), ran)
}

#[test]
fn without_human_reviewers_the_developer_s_word_stands() {
    let life = Life::begin(false, 8);
    let (said, _) = insisted(&life);
    assert_eq!(said.resolved, [life.cart]);
    assert!(
        said.replies[0].1.contains("the developer's word stands"),
        "{said:?}"
    );
    assert_eq!(life.state()[1], "RESOLVED nobody");
    life.world.finish();
}

#[test]
fn an_author_without_write_access_does_not_talk_a_blocking_finding_away() {
    let life = Life::begin(false, 9);
    let (said, ran) = insisted(&life);
    assert_eq!((said.resolved.len(), ran.status()), (0, "blocking"));
    assert!(
        said.replies[0].1.contains("A maintainer decides"),
        "{said:?}"
    );
    let called = said.replies[0]
        .1
        .replace("`@review-my-code-bot dismiss`", "");
    assert!(!called.contains('@'), "nobody is called: {said:?}");
    assert_eq!(life.state()[1], "ESCALATED people");
    life.world.finish();
}

#[test]
fn what_a_writer_edits_or_deletes_does_not_open_the_gate() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(9))])).quick();
    let ran = world.review();
    assert_eq!(ran.status(), "blocking");
    world.github.take_writes();
    let root = world.github.comments()[0].id;
    let body = world.github.comments()[0]
        .body
        .replace("\"score\": 9", "\"score\": 1");
    world.github.edit_comment(root, "writer", &body);
    let edited = world.review();
    assert_eq!(edited.status(), "blocking", "{}", edited.log);
    assert!(
        edited.annotations("warning")[0].contains("changed by somebody else"),
        "{}",
        edited.log
    );
    world.github.delete_comment(root);
    let deleted = world.review();
    assert_eq!(deleted.status(), "blocking", "{}", deleted.log);
    assert!(
        deleted.annotations("warning")[0].contains("is gone"),
        "{}",
        deleted.log
    );
    world.github.take_writes();
    world.finish();
}
