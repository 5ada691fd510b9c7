//! Replies as people read them: the decision first, and below the words the same for machines.

use super::*;
use crate::domain::{CommentId, fixture};
use crate::publish::comment::tests::with_voice;
use crate::review::ledger::Stage;
use crate::state::block;

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn a_reply_begins_with_what_it_decides_and_holds_it_for_machines() {
    let said = |effect| {
        let reply = StagedReply {
            thread: fixture::thread(),
            effect,
            body: "It rounds up now.".into(),
            stage: Stage::TurnZero,
        };
        let body = with_voice(|voice| voice.reply(&reply, Conversation::Resolved));
        let hidden = block::parse(&body).hidden.unwrap();
        let (text, _) = body.split_once("\n\n<!-- rmcoc:1").unwrap();
        (hidden.kind, hidden.conversation, text.to_owned())
    };
    let resolved = Some(Conversation::Resolved);
    let people = || vec!["ann".to_owned(), "org/team".to_owned()];
    let fixed = |commit: Option<&str>| Effect::Fixed {
        file: "src/page.ts".into(),
        commit: commit.map(str::to_owned),
    };
    for (effect, kind, conversation, text) in [
        (Effect::Keep, Kind::Keep, None, "It rounds up now."),
        (Effect::Answer, Kind::Answer, None, "It rounds up now."),
        (
            Effect::Concede,
            Kind::Resolve,
            resolved,
            "✅ **Issue Resolved**\n\nIt rounds up now.",
        ),
        (
            fixed(None),
            Kind::Resolve,
            resolved,
            "✅ **Issue Resolved**\n\nFixed in `src/page.ts`. It rounds up now.",
        ),
        (
            fixed(Some("b0d63d1")),
            Kind::Resolve,
            resolved,
            "✅ **Issue Resolved**\n\nFixed in `src/page.ts` (b0d63d1). It rounds up now.",
        ),
        (
            Effect::Reopen,
            Kind::Reopen,
            None,
            "The problem is back. It rounds up now.",
        ),
    ] {
        let expected = (kind, conversation, text.to_owned());
        assert_eq!(said(effect.clone()), expected, "{effect:?}");
    }
    let (kind, conversation, text) = said(Effect::DevelopersWord);
    assert_eq!((kind, conversation), (Kind::Resolve, resolved));
    assert!(
        text.contains("developer's word stands. It rounds"),
        "{text}"
    );
    let (kind, conversation, text) = said(Effect::Escalate { people: people() });
    assert_eq!((kind, conversation), (Kind::Escalate, None));
    assert!(
        text.starts_with("🔺 **Escalated to Human Review**"),
        "{text}"
    );
    assert!(
        people().iter().all(|one| text.contains(&format!("@{one}"))),
        "{text}"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn a_thread_that_stays_open_says_who_closes_it_and_how() {
    let said = |effect, fork| {
        let reply = StagedReply {
            thread: Thread {
                url: "https://github.com/octo/shop/pull/1#discussion_r55".into(),
                ..fixture::thread()
            },
            effect,
            body: "It rounds up now.".into(),
            stage: Stage::TurnZero,
        };
        let voice =
            |voice: &Voice<'_>| Voice { fork, ..*voice }.reply(&reply, Conversation::LeftOpen);
        let body = with_voice(voice);
        let kind = block::parse(&body).hidden.unwrap().kind;
        assert!(!crate::event::mentions(&body, "@bot"), "{body}");
        let (text, _) = body.split_once("\n\n<!-- rmcoc:1").unwrap();
        (kind, text.to_owned())
    };
    let seems = |objection: Option<&str>| Effect::SeemsFixed {
        fix: Fix {
            file: "src/page.ts".into(),
            line: Some((8, "  return up(`a`);".into())),
        },
        commit: None,
        objection: objection.map(str::to_owned),
    };
    let close = "Somebody with write access closes this thread by resolving the conversation, or with `@bot dismiss` \
                 here.";
    let lead =
        "This line seems to fix it, `src/page.ts:8`: `` return up(`a`); `` It rounds up now.";
    assert_eq!(
        said(seems(None), false),
        (
            Kind::Answer,
            format!("{lead}\n\nNo second look at the code has confirmed it.\n\n{close}")
        )
    );
    let (_, refuted) = said(seems(Some("It is not called.")), false);
    assert!(
        refuted.contains("alone does not confirm it: It is not called.\n\n"),
        "{refuted}"
    );
    let (kind, text) = said(Effect::GiveUp, true);
    assert_eq!(kind, Kind::Concede);
    assert!(
        text.ends_with(
            "or with `@bot dismiss https://github.com/octo/shop/pull/1#discussion_r55` in the pull request's \
             conversation."
        ),
        "{text}"
    );
    let dismissed = Effect::Dismissed {
        by: crate::domain::Login::new("lead"),
        comment: CommentId(7),
    };
    let (kind, text) = said(dismissed, false);
    assert_eq!(
        (kind, &*text),
        (
            Kind::Resolve,
            "✅ **Issue Resolved**\n\n`lead` dismissed this finding."
        )
    );
}
