//! Pages as browsers and people read them.

use super::*;
use crate::domain::{CommitSha, Login};
use crate::html_property::{Node, parse};
use crate::lifecycle::{
    Account, Agent, CallReason, Command, Decision, Facts, MergeAnswer, MergeState, Mergeable,
    Outcome, Phase, PullKey, PullState, SessionResult, Settings, Timer,
};
use std::rc::Rc;

const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) 'onload='\u{202e}`--><svg/onload=alert(1)>&#60;b>";
const GITHUB: &str = "https://github.test";
const NOW: Millis = 1_800_000_000_000;

fn viewer() -> Viewer {
    Viewer {
        name: HOSTILE.into(),
        may_operate: true,
        form_token: "ab".into(),
    }
}

fn policy() -> Policy {
    let agents = ["quality", "security"].map(|name| Agent {
        name: name.into(),
        login: Some(Login::new(&format!("{name}-agent"))),
    });
    let login = Login::new("quality-agent");
    Policy::new(agents.into(), Account::Personal { login })
}

fn sha(letter: &str) -> CommitSha {
    letter.repeat(40).parse().expect("a commit")
}

fn repo() -> RepoName {
    "octo/shop".parse().expect("a name")
}

/// A state of which every text is hostile.
fn state(phase: Phase) -> State {
    let facts = Facts {
        repo: repo(),
        number: 7,
        state: PullState::Open,
        draft: false,
        locked: false,
        head: sha("a"),
        head_branch: HOSTILE.into(),
        from_fork: true,
        base: HOSTILE.into(),
        base_head: None,
        author: Some(Login::new(HOSTILE)),
        author_may_write: false,
        labels: vec![HOSTILE.into()],
        requested: Vec::new(),
        reviews: Vec::new(),
        last_push_by: None,
        resumes: Vec::new(),
        invitations: Vec::new(),
        mergeable: Mergeable::Mergeable,
        merge_state: MergeState::Clean,
        auto_merge_armed: false,
        in_merge_queue: false,
        settings: Settings::default(),
        updated_at: String::new(),
    };
    State {
        phase,
        since: NOW - 90_000,
        facts: Some(facts),
        outcomes: vec![Outcome {
            reviewer: HOSTILE.into(),
            decision: Decision::ChangesRequested,
            comment: HOSTILE.into(),
            escalations: vec![HOSTILE.into()],
            timestamp: HOSTILE.into(),
            commit: sha("a"),
            review: None,
            by_person: false,
        }],
        last_error: Some(HOSTILE.into()),
        ..State::default()
    }
}

fn needs_human() -> Phase {
    Phase::NeedsHuman {
        reason: CallReason::WrongSettings {
            message: HOSTILE.into(),
        },
        logins: vec![Login::new(HOSTILE)],
        seen_review: 0,
        seen_resume: 0,
    }
}

fn entry(n: i64, input: Input, log: &[&str], phase: &str) -> Entry {
    Entry {
        n,
        at: NOW - 60_000 + n,
        input: Some(input),
        log: log.iter().map(|line| (*line).to_owned()).collect(),
        phase: phase.into(),
    }
}

fn woken() -> Input {
    Input::Woken {
        cause: HOSTILE.into(),
    }
}

fn entries() -> Vec<Entry> {
    let reviewed = SessionResult::Reviewed {
        decision: Decision::ChangesRequested,
        comment: HOSTILE.into(),
        escalations: vec![HOSTILE.into()],
    };
    let failed = Input::SessionFailed {
        dispatch: 3,
        error: HOSTILE.into(),
        retry_after_ms: None,
    };
    vec![
        entry(1, woken(), &["woken by a webhook"], "pending"),
        entry(
            2,
            woken(),
            &["pending -> reviewing", "quality is dispatched for aaaaaaa"],
            "reviewing",
        ),
        entry(3, woken(), &["woken by a webhook"], "reviewing"),
        entry(4, woken(), &["woken by a webhook"], "reviewing"),
        entry(5, failed, &["session 3 failed: x", HOSTILE], "reviewing"),
        entry(
            6,
            Input::SessionEnded {
                dispatch: 3,
                result: reviewed,
            },
            &["reviewing -> fixing"],
            "fixing",
        ),
        entry(
            7,
            Input::Command {
                command: Command::Retry,
                by: HOSTILE.into(),
            },
            &[],
            HOSTILE,
        ),
    ]
}

fn shown(phase: Phase) -> PullPage {
    let session = SessionRow {
        dispatch: 3,
        agent: HOSTILE.into(),
        task: HOSTILE.into(),
        asked: NOW - 50_000,
        started: Some(NOW - 40_000),
        ended: Some(NOW - 10_000),
        cost_usd: 0.25,
        error: Some(HOSTILE.into()),
        log: format!("one\n{HOSTILE}\n"),
    };
    let wait = |work| WaitingRow {
        seq: 9,
        work,
        since: NOW - 5_000,
        due: None,
        attempts: Some(2),
        error: HOSTILE.into(),
    };
    PullPage {
        repo: repo(),
        number: 7,
        state: state(phase),
        entries: entries(),
        has_more: true,
        sessions: vec![session],
        waiting: vec![
            wait(Work::Effect(Effect::RequestReviewers {
                logins: vec![Login::new(HOSTILE)],
            })),
            wait(Work::Timer(Input::Timer {
                seq: 9,
                timer: Timer::AskAgain,
            })),
            wait(Work::Unknown),
        ],
        spent: Some(Spent {
            sessions: 2,
            cost_usd: 0.5,
        }),
        ordered: Some(Ordered::Retry),
        once: "one".into(),
    }
}

fn around<'a>(viewer: &'a Viewer, policy: &'a Policy) -> Around<'a> {
    Around {
        viewer,
        policy,
        github: GITHUB,
        now: NOW,
    }
}

fn listing() -> Listing {
    let row = |number, repo| Row {
        key: PullKey {
            repository: 1,
            number,
        },
        repo,
        state: state(needs_human()),
        spent: None,
    };
    Listing {
        counts: vec![
            ("needsHuman".into(), 2),
            ("merged".into(), 1_200),
            (HOSTILE.into(), 1),
        ],
        chosen: None,
        is_later: false,
        groups: vec![Group {
            state: "needsHuman",
            rows: vec![row(7, Some(repo())), row(8, None)],
            more: Some("/ui?state=needsHuman".into()),
        }],
        mark: "abc".into(),
    }
}

/// The tree of a page, of which this holds: one script and one style of ours, no handler, links to ourselves or to GitHub only, forms to
/// ourselves, ids once, headings in their order.
fn hold(page: &str) -> Rc<Node> {
    let document = parse(page);
    let (mut ids, mut level) = (Vec::new(), 0);
    for node in document.all() {
        let name = node.name();
        assert!(
            !["img", "iframe", "object", "embed", "base", "style"].contains(&name),
            "{name}"
        );
        for (attribute, value) in node.attributes() {
            assert!(
                !attribute.starts_with("on") && attribute != "style",
                "{attribute}={value}"
            );
            if ["href", "src", "action"].contains(&attribute.as_str()) {
                let is_ours = value.starts_with("/ui") || value.starts_with('#');
                let is_github = name == "a" && value.starts_with(&format!("{GITHUB}/octo/shop/"));
                assert!(is_ours || is_github, "{name} {value}");
                assert!(
                    value
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "/:.#-_?=&".contains(c)),
                    "{value}"
                );
            }
            if attribute == "id" {
                ids.push(value.clone());
            }
        }
        if let Some(depth) = name
            .strip_prefix('h')
            .and_then(|depth| depth.parse::<u32>().ok())
        {
            assert!(
                depth <= level + 1,
                "a heading is left out before {}",
                node.text()
            );
            level = depth;
        }
    }
    let scripts = document.named("script");
    assert!(scripts.len() <= 1 && scripts.iter().all(|one| one.text().is_empty()));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
    for landmark in ["header", "main", "footer", "h1", "title"] {
        let expected = if landmark == "title" { 1..=2 } else { 1..=1 };
        assert!(
            expected.contains(&document.named(landmark).len()),
            "{landmark}"
        );
    }
    document
}

#[test]
fn text_of_others_is_text_wherever_it_stands() {
    let (viewer, policy) = (viewer(), policy());
    let around = around(&viewer, &policy);
    let error = Phase::Error {
        message: HOSTILE.into(),
        of_settings: false,
    };
    let reviewing = Phase::Reviewing {
        reviewer: HOSTILE.into(),
    };
    for phase in [needs_human(), error, reviewing, Phase::Closed] {
        let page = hold(&pull(&around, &shown(phase)));
        assert!(page.text().contains("<script>alert(1)</script>"));
        assert!(!page.text().contains('\u{202e}'));
    }
    hold(&list(&around, &listing()));
    hold(&sign_in(&SignIn {
        next: HOSTILE.into(),
        refused: Some(HOSTILE.into()),
    }));
    hold(&notice(&Notice {
        viewer: Some(&viewer),
        title: HOSTILE,
        sentence: HOSTILE,
        onward: ("/ui", HOSTILE),
    }));
}

#[test]
fn nothing_leads_to_a_server_that_is_none_of_the_web() {
    let (viewer, policy) = (viewer(), policy());
    let around = Around {
        github: "javascript:alert(1)//",
        ..around(&viewer, &policy)
    };
    let page = hold(&pull(&around, &shown(needs_human())));
    let links = page.named("a");
    assert!(links.iter().all(|link| {
        link.attribute("href")
            .is_some_and(|to| to.starts_with(['/', '#']))
    }));
}

#[test]
fn the_list_says_who_is_waited_for_since_when_and_at_what_cost() {
    let (viewer, policy) = (viewer(), policy());
    let page = hold(&list(&around(&viewer, &policy), &listing()));
    let text = page.text();
    for words in [
        "octo/shop#7",
        "#8 of repository 1",
        "Needs a person",
        "1 min",
        "none yet",
        "1,200",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let main = &page.named("main")[0];
    assert_eq!(
        main.attribute("data-said"),
        Some("2 open: 2 needs a person.")
    );
    let headers: Vec<String> = page.named("thead")[0]
        .named("th")
        .iter()
        .map(Node::text)
        .collect();
    assert_eq!(
        headers,
        ["Pull request", "Waits for", "In this state for", "Cost"]
    );
    let empty = Listing {
        counts: Vec::new(),
        groups: Vec::new(),
        ..listing()
    };
    let text = hold(&list(&around(&viewer, &policy), &empty)).text();
    assert!(
        text.contains("The service knows no pull request yet."),
        "{text}"
    );
}

#[test]
fn a_timeline_tells_what_did_something_and_folds_what_did_not() {
    let (viewer, policy) = (viewer(), policy());
    let page = hold(&pull(&around(&viewer, &policy), &shown(needs_human())));
    let rows: Vec<Rc<Node>> = page.named("ol")[0].named("li").into_iter().collect();
    let events: Vec<String> = page
        .named("p")
        .iter()
        .filter(|p| p.attribute("class") == Some("event"))
        .map(Node::text)
        .collect();
    assert!(events[0].starts_with("Retry, ordered by"), "{events:?}");
    assert!(
        events[1].contains("requested changes and called"),
        "{events:?}"
    );
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(
        rows.iter()
            .any(|row| row.text().contains("2 inputs without a change"))
    );
    let moves: Vec<String> = page
        .named("p")
        .iter()
        .filter(|p| p.attribute("class") == Some("move"))
        .map(Node::text)
        .collect();
    assert_eq!(moves[1], "Reviewing →became Fixing");
}

#[test]
fn a_merge_before_which_something_changed_is_not_blamed_on_the_head() {
    let (viewer, policy) = (viewer(), policy());
    let merge = Input::Merge {
        attempt: 1,
        answer: MergeAnswer::Moved,
    };
    let page = PullPage {
        entries: vec![entry(1, merge, &[], "approved")],
        ..shown(needs_human())
    };
    let text = hold(&pull(&around(&viewer, &policy), &page)).text();
    assert!(text.contains("Something changed before the merge"));
    assert!(!text.contains("head moved"));
}

#[test]
fn the_picture_marks_the_present_state_and_says_so_in_words() {
    let (viewer, policy) = (viewer(), policy());
    let mut page = shown(Phase::Fixing {
        asked_by: "quality".into(),
    });
    page.entries.pop();
    let page = hold(&pull(&around(&viewer, &policy), &page));
    let now: Vec<String> = page
        .named("g")
        .iter()
        .filter(|g| g.attribute("class") == Some("node now"))
        .map(Node::text)
        .collect();
    assert_eq!(now, ["Fixing"]);
    let words = page.named("desc")[0].text();
    assert!(words.starts_with("The pull request is in the state Fixing. Its states so far: Pending, Reviewing, Fixing."), "{words}");
    assert_eq!(page.named("svg")[0].attribute("role"), Some("img"));
}

#[test]
fn whoever_only_reads_has_no_button_that_acts() {
    let policy = policy();
    let reads = Viewer {
        may_operate: false,
        ..viewer()
    };
    let actions = |viewer: &Viewer, phase| {
        let page = hold(&pull(&around(viewer, &policy), &shown(phase)));
        let forms = page.named("form");
        let actions = forms
            .iter()
            .map(|form| form.attribute("action").unwrap_or_default().to_owned());
        actions.collect::<Vec<_>>()
    };
    assert_eq!(actions(&reads, needs_human()), ["/ui/sign-out"]);
    assert_eq!(
        actions(&viewer(), needs_human()),
        ["/ui/sign-out", "/ui/pr/octo/shop/7/retry"]
    );
    assert_eq!(actions(&viewer(), Phase::Closed), ["/ui/sign-out"]);
}

#[test]
fn the_script_has_no_way_to_run_text() {
    for sink in [
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "eval(",
        "Function(",
        "document.write",
    ] {
        assert!(!SCRIPT.contains(sink), "{sink}");
    }
    for foreign in ["http://", "https://", "@import", "url("] {
        assert!(
            !STYLE.contains(foreign) && !SCRIPT.contains(foreign),
            "{foreign}"
        );
    }
}
