use super::*;
use crate::domain::{CommentId, Login, Reply, Standing, fixture};
use crate::publish::comment::tests::{finding, with_voice};
use crate::review::ledger::Stage;
use crate::state::block::Kind;

fn fixed(body: &str) -> StagedReply {
    let comment = with_voice(|voice| voice.finding(&finding("It rounds down.")));
    StagedReply {
        thread: Thread {
            comment: Some(comment),
            ..fixture::thread()
        },
        effect: Effect::Fixed {
            file: "src/page.ts".into(),
            commit: None,
        },
        body: body.into(),
        stage: Stage::TurnZero,
    }
}

fn rewritten(reply: &StagedReply) -> Option<String> {
    with_voice(|voice| voice.resolved(reply, Conversation::Resolved))
}

#[test]
fn the_comment_says_by_what_it_is_fixed_above_the_finding_as_it_was() {
    let reply = fixed("It rounds up now.");
    let body = rewritten(&reply).unwrap();
    let (said, rest) = body.split_once("\n\n---\n\n").unwrap();
    assert_eq!(
        said,
        "✅ **Issue Resolved** in `b0d63d1` by `src/page.ts`\n\nIt rounds up now."
    );
    let before = reply.thread.comment.unwrap();
    let words = block::without_hidden(&before).unwrap().trim_end();
    assert!(rest.contains(words), "{rest}");
    let (before, after) = (block::parse(&before), block::parse(&body));
    assert_eq!(before.visible, after.visible);
    let (before, after) = (before.hidden.unwrap(), after.hidden.unwrap());
    assert_eq!((after.kind, after.seq), (Kind::Finding, 1));
    assert_eq!(after.conversation, Some(Conversation::Resolved));
    assert_eq!((before.id, before.anchor), (after.id, after.anchor));
}

#[test]
fn a_reply_says_it_to_whoever_has_spoken_and_where_the_comment_is_not_the_reviewer_s() {
    let mut reply = fixed("Fixed.");
    reply.thread.replies.push(Reply {
        id: CommentId(5),
        author: Some(Login::new("dev")),
        standing: Standing::Author,
        body: "Is it?".into(),
        created_at: String::new(),
    });
    assert_eq!(rewritten(&reply), None);
    let mut reply = fixed("Fixed.");
    reply.thread.comment = None;
    assert_eq!(rewritten(&reply), None);
    let mut reply = fixed("You are right.");
    reply.effect = Effect::Concede;
    assert_eq!(rewritten(&reply), None);
    // A comment without a record, as an older reviewer wrote it.
    let mut reply = fixed("Fixed.");
    reply.thread.comment =
        Some("```rmcoc\n{\"finding\": \"a\", \"assessment\": \"b\", \"score\": 7}\n```".into());
    assert_eq!(rewritten(&reply), None);
}

#[test]
fn a_finding_that_is_back_stands_as_it_was_and_can_be_fixed_again() {
    for words in ["It rounds up now.", "```\n<!-- rmcoc:finding -->\n```"] {
        let mut reply = fixed(words);
        let first = reply.thread.comment.clone().unwrap();
        let mut body = rewritten(&reply).unwrap();
        for _ in 0..2 {
            reply.thread.comment = Some(body);
            reply.thread.seq += 1;
            let back = with_voice(|voice| voice.unresolved(&reply.thread)).unwrap();
            let words_of = |body: &str| block::without_hidden(body).unwrap().trim().to_owned();
            assert_eq!(words_of(&back), words_of(&first));
            assert_eq!(block::parse(&back).hidden.unwrap().fixed, None);
            // Also if nobody took the words back.
            body = rewritten(&reply).unwrap();
            assert_eq!(body.matches("Issue Resolved").count(), 1, "{body}");
        }
    }
    assert_eq!(
        with_voice(|voice| voice.unresolved(&fixed("").thread)),
        None
    );
}

#[test]
fn a_long_explanation_is_cut_and_a_comment_without_room_for_one_is_left() {
    let body = rewritten(&fixed(&"It rounds up now. ".repeat(5_000))).unwrap();
    assert!(body.len() <= 65_000 && body.contains("[truncated]"));
    assert!(block::parse(&body).hidden.is_some());
    let mut reply = fixed("Fixed.");
    let comment = reply.thread.comment.unwrap();
    reply.thread.comment = Some(format!("{}{comment}", "a ".repeat(32_000)));
    assert_eq!(rewritten(&reply), None);
}
