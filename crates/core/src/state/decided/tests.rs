//! Decisions that count, and what somebody plants.

use super::*;
use crate::state::block::{self, Hidden, Kind};
use crate::state::signature::Signed;
use serde_json::Value;

const BOT: &str = "github-actions[bot]";
const ROOT: u64 = 100;

fn repo() -> RepoName {
    "acme/shop".parse().unwrap()
}

fn keys(secret: &str) -> Keys {
    Keys::derive(&[secret.into()], None, "acme/shop")
}

fn assessment() -> Assessment {
    Assessment {
        finding: "pages() rounds down and drops the last page.".into(),
        assessment: "Level 7: the last page is lost.".into(),
        score: Score::new(7).unwrap(),
    }
}

/// A block as the reviewer signs it for a pull request.
fn signed(pull: u64, mut hidden: Hidden, root: Option<u64>, visible: &Value) -> String {
    let value = serde_json::to_value(&hidden).unwrap();
    let pr = PrKey {
        repo: repo(),
        number: pull,
    };
    let content = Signed {
        pr: &pr,
        root: root.map(CommentId),
        visible,
        hidden: &value,
    };
    (hidden.kid, hidden.sig) = keys("secret").sign(&content).unzip();
    block::render_hidden(&hidden)
}

/// The comment of the finding.
fn finding(pull: u64) -> String {
    let visible = serde_json::to_value(block::Visible::from(&assessment())).unwrap();
    let hidden = Hidden {
        id: Some("f1".into()),
        anchor: Some(anchor()),
        ..Hidden::new(Kind::Finding)
    };
    let hidden = signed(pull, hidden, None, &visible);
    format!("{}\n{hidden}", block::render_visible(&assessment()))
}

fn anchor() -> String {
    let at = Anchor::Line {
        side: Side::Right,
        start: None,
        line: 2,
    };
    diff("b").anchor_hash(at)
}

/// A diff whose second line is this one.
fn diff(line: &str) -> FileDiff {
    let hunk = format!("@@ -1,2 +1,3 @@\n a\n+{line}\n c\n");
    FileDiff {
        path: "src/page.ts".into(),
        hunks: FileDiff::parse_hunks(&hunk).unwrap(),
        ..FileDiff::default()
    }
}

fn comment(id: u64, who: &str, body: &str) -> ClosedComment {
    ClosedComment {
        id: CommentId(id),
        author: Some(Login::new(who)),
        body: body.to_owned(),
        created_at: "2026-01-01T00:00:00Z".into(),
        url: format!("https://example.test/{id}"),
        edited: None,
        author_may_push: who == "lead",
    }
}

/// Pull request 3 with one finding; `lead` merged it.
fn pull() -> ClosedPull {
    ClosedPull {
        number: 3,
        closed_at: "2026-01-31T10:00:00Z".into(),
        author: Some(Login::new("dev")),
        is_merged: true,
        merged_by: Some(Login::new("lead")),
        writers: Vec::new(),
        threads: vec![ClosedThread {
            path: "src/page.ts".into(),
            line: Some(2),
            is_resolved: false,
            is_outdated: false,
            resolved_by: None,
            comments: vec![comment(ROOT, BOT, &finding(3))],
        }],
    }
}

/// The same after somebody closed the conversation.
fn closed_by(who: &str) -> ClosedPull {
    let mut pull = pull();
    pull.threads[0].is_resolved = true;
    pull.threads[0].resolved_by = Some(Login::new(who));
    pull
}

/// The same after a reply, to which the reviewer answered with this.
fn answered(who: &str, answer: Hidden) -> ClosedPull {
    let mut pull = pull();
    let hidden = Hidden {
        seq: 1,
        answers: Some(101),
        ..answer
    };
    let answer = signed(3, hidden, Some(ROOT), &Value::Null);
    let comments = &mut pull.threads[0].comments;
    comments.push(comment(101, who, "Callers round up."));
    comments.push(comment(102, BOT, &answer));
    pull
}

fn all(pulls: Vec<ClosedPull>) -> Vec<Decided> {
    all_with(pulls, &keys("secret"))
}

fn all_with(pulls: Vec<ClosedPull>, keys: &Keys) -> Vec<Decided> {
    let closed = ClosedPulls {
        viewer: Login::new(BOT),
        owner: Some(Login::new("acme")),
        pulls,
    };
    decided(&closed, &repo(), keys, &[])
}

fn decision(pull: ClosedPull) -> Option<Decision> {
    let all = all(vec![pull]);
    assert!(all.len() < 2, "{all:?}");
    all.first().map(|one| one.decision)
}

fn resolve() -> Hidden {
    Hidden::new(Kind::Resolve)
}

fn dismissed(by: &str) -> Hidden {
    Hidden {
        dismissed: Some(by.into()),
        ..resolve()
    }
}

#[test]
fn a_person_with_write_access_decides_in_three_ways() {
    assert_eq!(decision(closed_by("lead")), Some(Decision::Closed));
    assert_eq!(decision(closed_by("acme")), Some(Decision::Closed));
    let conceded = decision(answered("lead", resolve()));
    assert_eq!(conceded, Some(Decision::Conceded));
    let dismissed = decision(answered("dev", dismissed("lead")));
    assert_eq!(dismissed, Some(Decision::Dismissed));
    let all = all(vec![closed_by("lead")]);
    assert_eq!(
        (all[0].id.to_string().as_str(), all[0].line),
        ("#3/100", Some(2))
    );
    assert_eq!(
        (all[0].since.as_str(), &all[0].assessment),
        ("2026-01-31", &assessment())
    );
}

#[test]
fn nobody_without_write_access_teaches_anything() {
    for who in ["dev", "stranger", "github-actions", "other[bot]"] {
        assert_eq!(decision(closed_by(who)), None, "{who}");
        assert_eq!(decision(answered(who, resolve())), None, "{who}");
        assert_eq!(decision(answered("lead", dismissed(who))), None, "{who}");
    }
    // What the reply of a person with write access decides, no later one of somebody else changes.
    let mut pull = answered("lead", resolve());
    let later = comment(103, "stranger", "I object.");
    pull.threads[0].comments.push(later);
    assert_eq!(decision(pull), Some(Decision::Conceded));
}

#[test]
fn an_open_thread_and_a_fixed_one_decide_nothing() {
    assert_eq!(decision(pull()), None);
    let fixed = Hidden {
        fixed: Some("src/page.ts".into()),
        ..resolve()
    };
    assert_eq!(decision(answered("lead", fixed.clone())), None);
    // Whoever closes what was fixed, or has changed the code, may have fixed it.
    let close = |mut pull: ClosedPull| {
        pull.threads[0].is_resolved = true;
        pull.threads[0].resolved_by = Some(Login::new("lead"));
        pull
    };
    assert_eq!(decision(close(answered("lead", fixed))), None);
    let seems = Hidden {
        seems: Some("line".into()),
        ..Hidden::new(Kind::Answer)
    };
    assert_eq!(decision(close(answered("lead", seems))), None);
    let mut outdated = closed_by("lead");
    outdated.threads[0].is_outdated = true;
    assert_eq!(decision(outdated), None);
    // Nor does closing a pull request that nobody wanted.
    let mut unmerged = closed_by("lead");
    unmerged.is_merged = false;
    unmerged.writers = vec![Login::new("lead")];
    assert_eq!(decision(unmerged), None);
    let mut unmerged = answered("lead", dismissed("lead"));
    unmerged.is_merged = false;
    assert_eq!(decision(unmerged), Some(Decision::Dismissed));
}

#[test]
fn a_reopened_conversation_is_open_again() {
    let hidden = Hidden {
        conversation: Some(block::Conversation::Resolved),
        ..resolve()
    };
    assert_eq!(decision(answered("lead", hidden)), None);
}

#[test]
fn what_was_escalated_is_not_for_the_author_to_decide() {
    let escalated = |closer: &str| {
        let mut pull = answered("dev", Hidden::new(Kind::Escalate));
        pull.writers = vec![Login::new("dev")];
        pull.threads[0].is_resolved = true;
        pull.threads[0].resolved_by = Some(Login::new(closer));
        decision(pull)
    };
    assert_eq!(escalated("dev"), None);
    assert_eq!(escalated("lead"), Some(Decision::Closed));
}

#[test]
fn a_block_that_is_forged_or_copied_or_edited_teaches_nothing() {
    let mut copied = closed_by("lead");
    copied.number = 4;
    assert_eq!(decision(copied), None, "signed for another pull request");
    let mut pasted = closed_by("lead");
    pasted.threads[0].comments[0].author = Some(Login::new("stranger"));
    assert_eq!(decision(pasted), None, "a copy in a comment of one's own");
    let mut forged = closed_by("lead");
    let body = &mut forged.threads[0].comments[0].body;
    *body = body.replace("\"score\": 7", "\"score\": 1");
    assert_eq!(decision(forged), None, "edited, the signature does not fit");
    for edited in [0, 2] {
        let mut pull = answered("lead", resolve());
        pull.threads[0].comments[edited].edited = Some(Some(Login::new("stranger")));
        assert_eq!(
            decision(pull),
            None,
            "comment {edited} was edited by another"
        );
    }
    let mut own = answered("lead", resolve());
    own.threads[0].comments[0].edited = Some(Some(Login::new(BOT)));
    assert_eq!(decision(own), Some(Decision::Conceded));
    let mut unsigned = answered("lead", resolve());
    let comments = &mut unsigned.threads[0].comments;
    comments[2].body = block::render_hidden(&Hidden {
        seq: 1,
        ..resolve()
    });
    assert_eq!(decision(unsigned), None, "a resolution without a signature");
    let other = keys("another secret");
    assert_eq!(all_with(vec![closed_by("lead")], &other), []);
    assert_eq!(all_with(vec![closed_by("lead")], &Keys::default()), []);
}

#[test]
fn a_decision_says_nothing_about_other_code() {
    let all = all(vec![closed_by("lead")]);
    let here = relevant(&all, &[diff("b")]);
    assert_eq!((here.len(), here[0].line()), (1, Some(2)));
    assert_eq!(relevant(&all, &[diff("b + 1")]), [], "the code has changed");
    let elsewhere = FileDiff {
        path: "src/other.ts".into(),
        ..diff("b")
    };
    assert_eq!(relevant(&all, std::slice::from_ref(&elsewhere)), []);
    let renamed = FileDiff {
        previous_path: Some("src/page.ts".into()),
        ..elsewhere
    };
    assert_eq!(relevant(&all, &[renamed])[0].file, "src/other.ts");
}

#[test]
fn of_many_decided_questions_the_latest_are_told() {
    let pulls = (1..=30).map(|number| {
        let mut pull = closed_by("lead");
        pull.number = number;
        pull.threads[0].comments[0].body = finding(number);
        pull
    });
    let here = relevant(&all(pulls.collect()), &[diff("b")]);
    assert_eq!(here.len(), MOST);
    assert_eq!(here[0].decided.id.pull, 1, "as GitHub lists them");
}
