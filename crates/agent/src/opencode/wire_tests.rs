//! OpenCode's JSON, read.

use super::*;
use serde_json::json;

fn messages(value: Value) -> Vec<Message> {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_turn_is_the_messages_that_answer_one_prompt() {
    let answer = |parent: &str, input: u64, part: Value| {
        json!({"info": {"role": "assistant", "parentID": parent, "cost": 0.5, "finish": "stop",
            "tokens": {"input": input, "output": 1, "cache": {"read": 2}}}, "parts": [part]})
    };
    let tool = json!({"type": "tool", "tool": "read", "state": {"status": "completed"}});
    let text = json!({"type": "text", "text": "done"});
    let listed = json!([
        {"info": {"role": "user", "id": "u1"}, "parts": []},
        answer("u1", 100, tool.clone()),
        {"info": {"role": "user", "id": "u2"}, "parts": []},
        answer("u2", 10, tool),
        answer("u2", 20, text.clone()),
    ]);
    let last = serde_json::from_value(answer("u2", 20, text)).unwrap();
    let session = messages(listed.clone());
    let turn = turn(last, since(&session, "u1"));
    assert!(!turn.shortened);
    assert_eq!((turn.text.as_str(), turn.tool_calls), ("done", 1));
    assert_eq!((turn.usage.requests, turn.usage.tokens.input), (2, 30));
    let whole = usage(&messages(listed));
    assert_eq!((whole.requests, whole.tokens.input), (3, 130));
    assert_eq!(whole.tokens.cache_read, 6);
}

#[test]
fn a_turn_that_nobody_told_of_is_read_from_the_session() {
    let session = |finish: &str| {
        let (tool, step) = (
            json!({"type": "tool", "callID": "c1", "tool": "read", "state":
                {"status": "completed", "input": {"filePath": "a"}}}),
            json!({"type": "step-finish", "id": "prt_1", "reason": finish, "tokens": {"input": 5}}),
        );
        messages(json!([
            {"info": {"role": "user", "id": "u1"}, "parts": []},
            {"info": {"role": "assistant", "parentID": "u1", "finish": "stop", "time": {"completed": 1}},
                "parts": [{"type": "step-finish", "id": "prt_0"}]},
            {"info": {"role": "user", "id": "u2"}, "parts": []},
            {"info": {"role": "assistant", "parentID": "u2", "finish": finish, "time": {"completed": 2},
                "tokens": {"input": 5}}, "parts": [tool, step]},
        ]))
    };
    let ended = ended_turn(&session("stop"), "u1").unwrap();
    assert_eq!((ended.usage.tokens.input, ended.tool_calls), (5, 1));
    assert_eq!(ended_turn(&session("stop"), "u2"), None, "known before");
    assert_eq!(ended_turn(&session("tool-calls"), "u1"), None, "it goes on");
    let of = SessionId::parse("ses_1").unwrap();
    let told = retold(&of, &session("stop"), "u1");
    let SidecarEvent::ToolCall { id, input, .. } = &told[0] else {
        panic!("{told:?}")
    };
    assert_eq!((id.as_str(), input.as_str()), ("c1", r#"{"filePath":"a"}"#));
    assert_eq!(told.len(), 2);
}

#[test]
fn events_that_we_do_not_know_are_nothing_to_worry_about() {
    for odd in ["", "[]", "{}", r#"{"type":"plugin.added","properties":7}"#] {
        assert_eq!(event(odd), SidecarEvent::Other, "{odd}");
    }
    let asked = r#"{"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1"}}"#;
    let expected = SidecarEvent::PermissionAsked {
        id: "per_1".into(),
        session: "ses_1".into(),
    };
    assert_eq!(event(asked), expected);
}

#[test]
fn a_retry_says_what_went_wrong() {
    let data = r#"{"type":"session.status","properties":{"sessionID":"ses_1","status":
        {"type":"retry","attempt":2,"message":"overloaded","next":1}}}"#;
    let expected = SidecarEvent::Retrying {
        session: "ses_1".into(),
        attempt: 2,
        message: "overloaded".into(),
        at_ms: 1,
    };
    assert_eq!(event(data), expected);
}

#[test]
fn a_count_below_zero_is_none() {
    assert_eq!((whole(-3.0), whole(2.7), whole(f64::NAN)), (0, 2, 0));
}
