use super::*;
use crate::gateway::shapes;
use proptest::prelude::*;
use serde_json::{Value, json};

fn judged_as(body: &str, model: Option<&str>, wire: &'static Wire) -> Result<(), BodyFault> {
    let wanted = Wanted {
        model,
        wire,
        tools: &["read", "github_get_run_state"].map(str::to_owned),
    };
    judge(body.as_bytes(), &wanted)
}

fn judged(body: &str, model: Option<&str>) -> Result<(), BodyFault> {
    judged_as(body, model, &shapes::CHAT)
}

fn of_m(body: &str) -> Result<(), BodyFault> {
    judged(body, Some("m-1"))
}

#[test]
fn a_request_for_the_configured_model_passes() {
    for body in [
        r#"{"model":"m-1"}"#,
        " \r\n{ \"messages\" : [ {\"model\":\"other\"}, -1.5e+3, true, false, null, {} ], \"model\" : \"m-1\" } \n",
        r#"{"model":"\u006d-1","text":"a \"model\": \\ \n \u00e9 é"}"#,
        r#"{"mo\u0064el":"m-1"}"#,
    ] {
        assert_eq!(of_m(body), Ok(()), "{body}");
    }
}

#[test]
fn another_model_is_noticed_however_it_is_spelt() {
    use BodyFault::{NoModel, OddKey, OtherModel, TwoModels};
    for (body, fault) in [
        (r#"{"model":"m-2"}"#, OtherModel),
        (r#"{"model":"m-11"}"#, OtherModel),
        (r#"{"model":"m-"}"#, OtherModel),
        (r#"{"model":""}"#, OtherModel),
        (r#"{"model":"M-1"}"#, OtherModel),
        (r#"{"model":"m-1\u0000"}"#, OtherModel),
        (r#"{"model":"m\u012d1"}"#, OtherModel),
        (r#"{"model":null}"#, OtherModel),
        (r#"{"model":["m-1"]}"#, OtherModel),
        (r#"{"model":{"model":"m-1"}}"#, OtherModel),
        (r#"{"mod\u0065l":"m-2"}"#, OtherModel),
        (r#"{"model":"m-1","model":"m-2"}"#, TwoModels),
        (r#"{"model":"m-1","\u006Dodel":"m-1"}"#, TwoModels),
        (r#"{"model":"m-1","Model":"m-2"}"#, TwoModels),
        (r#"{"MODEL":"m-1"}"#, TwoModels),
        (r#"{"mod\u200bel":"m-2"}"#, OddKey),
        (r#"{"model\u0000":"m-2"}"#, OddKey),
        (r#"{"model ":"m-2"}"#, OddKey),
        ("{\"mod\u{435}l\":\"m-2\"}", OddKey),
        (r#"{"usage":{"model":"m-1"}}"#, NoModel),
        (r#"{"stop":["model","m-1"]}"#, NoModel),
        ("{}", NoModel),
    ] {
        assert_eq!(of_m(body), Err(fault), "{body}");
    }
}

#[test]
fn keys_that_lead_astray_are_refused_at_the_top_only() {
    for key in [
        "models",
        "fallbacks",
        "api_base",
        "API_KEY",
        "apiKey",
        "previousResponseId",
        "bootstrap_host",
        "bootstrapPort",
        "bootstrap_room",
        "vertex_location",
        "vertex_project",
        "vertex_ai_location",
        "aws_region_name",
        "aws_bedrock_runtime_endpoint",
        "base_url",
        "deployment_id",
        "deployment",
        "engine",
        "draft_model",
        "lora_path",
        "adapter",
        "adapter_id",
        "chat_template",
        "deferred",
        "fallback",
        "custom_llm_provider",
        "organization",
        "project",
    ] {
        let body = format!(r#"{{"model":"m-1","{key}":["m-2"]}}"#);
        assert_eq!(of_m(&body), Err(BodyFault::Never(key.into())), "{body}");
        let body = format!(r#"{{"model":"m-1","{key}":"m-2"}}"#);
        assert_eq!(of_m(&body), Err(BodyFault::Never(key.into())), "{body}");
    }
    let schema = r#"{"model":"m-1","tools":[{"type":"function","function":{"name":"read","parameters":
        {"properties":{"api_key":{},"model":{},"t\u00fcr":[]}}}}]}"#;
    assert_eq!(of_m(schema), Ok(()));
}

#[test]
fn an_object_or_a_list_that_no_table_has_is_refused_wherever_it_stands() {
    for (more, kind, path) in [
        (r#""new":{}"#, "object", "new"),
        (r#""new":[]"#, "list", "new"),
        (r#""stream_options":[]"#, "list", "stream_options"),
        (r#""stream_options":{"a":[]}"#, "list", "stream_options.a"),
        (r#""messages":{}"#, "object", "messages"),
        (r#""messages":[[]]"#, "list", "messages[]"),
        (r#""messages":[{"new":{}}]"#, "object", "messages[].new"),
        (r#""tools":[{"new":[1]}]"#, "list", "tools[].new"),
        (r#""store":{}"#, "object", "store"),
    ] {
        let body = format!(r#"{{"model":"m-1",{more}}}"#);
        let path = path.to_owned();
        let fault = BodyFault::Unknown { kind, path };
        assert_eq!(of_m(&body), Err(fault), "{body}");
    }
    assert_eq!(of_m(r#"{"model":"m-1","new":"word","newer":7.5}"#), Ok(()));
}

#[test]
fn a_key_that_stands_twice_is_refused_at_every_depth() {
    for (body, path) in [
        (r#"{"model":"m-1","a":1,"a":1}"#, "a"),
        (r#"{"model":"m-1","a":1,"\u0061":1}"#, "a"),
        (
            r#"{"model":"m-1","messages":[{"role":"a","r\u006fle":"b"}]}"#,
            "messages[].role",
        ),
        (
            r#"{"model":"m-1","tools":[{"function":{"parameters":{"x":[{"y":1,"y":2}]}}}]}"#,
            "tools[].function.parameters.x[].y",
        ),
    ] {
        assert_eq!(of_m(body), Err(BodyFault::Twice(path.into())), "{body}");
    }
}

#[test]
fn a_listed_key_in_another_spelling_is_refused() {
    for (body, path) in [
        (r#"{"model":"m-1","Tools":"x"}"#, "Tools"),
        (r#"{"model":"m-1","tool_Choice":"x"}"#, "tool_Choice"),
        (r#"{"model":"m-1","toolChoice":"x"}"#, "toolChoice"),
        (
            r#"{"model":"m-1","tools":[{"TYPE":"mcp"}]}"#,
            "tools[].TYPE",
        ),
    ] {
        assert_eq!(
            of_m(body),
            Err(BodyFault::OddSpelling(path.into())),
            "{body}"
        );
    }
    let kelvin = r#"{"model":"m-1","messages":[{"ro\u212ae":1}]}"#;
    assert_eq!(of_m(kelvin), Err(BodyFault::OddKey));
}

#[test]
fn tools_are_functions_with_names_of_the_run() {
    let tool = |kind: &str, name: &str| {
        of_m(
            &json!({ "model": "m-1", "tools": [{ "type": kind, "function": { "name": name } }] })
                .to_string(),
        )
    };
    assert_eq!(tool("function", "read"), Ok(()));
    assert_eq!(tool("custom", "github_get_run_state"), Ok(()));
    for name in [
        "web_search",
        "reader",
        "rea",
        "",
        "x_github_y",
        "github_",
        "github_merge",
    ] {
        let fault = tool("function", name).unwrap_err();
        assert!(matches!(fault, BodyFault::Tool { .. }), "{name}: {fault}");
    }
    assert_eq!(tool("function", "_noop"), Ok(()), "of other versions");
    let fault = tool("mcp", "read").unwrap_err();
    assert_eq!(
        fault.to_string(),
        "its body has the value mcp at tools[].type, which is none of the known values"
    );
}

#[test]
fn a_tool_is_an_object_of_known_keys() {
    for (tools, path) in [
        (json!(["web_search"]), "tools[]"),
        (json!([true]), "tools[]"),
        (json!([null]), "tools[]"),
        (json!("web_search"), "tools"),
        (json!([{ "googleSearch": true }]), "tools[].googleSearch"),
        (json!([{ "function": "read" }]), "tools[].function"),
        (
            json!([{ "function": { "name": "read", "server": "x" } }]),
            "tools[].function.server",
        ),
    ] {
        let body = json!({ "model": "m-1", "tools": tools }).to_string();
        let (kind, path) = ("value", path.to_owned());
        assert_eq!(
            of_m(&body),
            Err(BodyFault::Unknown { kind, path }),
            "{body}"
        );
    }
    let known = json!({ "name": "read", "strict": false });
    let known = json!([{ "type": "function", "function": known, "eager_input_streaming": true }]);
    let body = json!({ "model": "m-1", "tools": known, "tool_choice": "auto" }).to_string();
    assert_eq!(of_m(&body), Ok(()));
    assert_eq!(of_m(r#"{"model":"m-1","tools":null}"#), Ok(()));
}

#[test]
fn an_item_of_a_response_says_what_it_is() {
    let item = |item: Value| {
        let body = json!({ "model": "m-1", "store": false, "input": [item] }).to_string();
        judged_as(&body, Some("m-1"), &shapes::RESPONSES).is_ok()
    };
    for named in [
        json!({ "role": "user", "content": "x" }),
        json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
    ] {
        assert!(item(named.clone()), "{named}");
    }
    for stored in [
        json!({ "id": "msg_1" }),
        json!({ "id": "msg_1", "type": null }),
        json!({ "id": "msg_1", "role": null }),
        json!({ "id": "msg_1", "type": null, "role": "user" }),
        json!({ "id": "msg_1", "role": "other" }),
        json!({}),
        json!("msg_1"),
    ] {
        assert!(!item(stored.clone()), "{stored}");
    }
}

#[test]
fn media_data_is_inline() {
    let audio = |audio: Value| {
        let part = json!({ "type": "input_audio", "input_audio": audio });
        let message = json!({ "role": "user", "content": [part] });
        of_m(&json!({ "model": "m-1", "messages": [message] }).to_string()).is_ok()
    };
    let file = |data: &str| {
        let part = json!({ "type": "file", "mediaType": "image/png", "data": data });
        let body = json!({ "prompt": [{ "role": "user", "content": [part] }] });
        judged_as(&body.to_string(), None, &shapes::VERCEL).is_ok()
    };
    for (data, passes) in [
        ("//uQxAAAAAANIAAAAAExBTUU=", true),
        ("_-A=", true),
        ("data:audio/mp3;base64,//uQ", true),
        ("evil.example/x", false),
        ("//evil.example/x", false),
        ("gs:bucket", false),
        ("https://evil", false),
        ("", false),
    ] {
        assert_eq!(
            audio(json!({ "data": data, "format": "mp3" })),
            passes,
            "{data}"
        );
        assert_eq!(file(data), passes, "{data}");
    }
    assert!(!audio(json!("https://evil")), "an address in its place");
}

#[test]
fn an_address_in_the_place_of_an_object_is_refused() {
    let part = |part: Value| {
        let message = json!({ "role": "user", "content": [part] });
        of_m(&json!({ "model": "m-1", "messages": [message] }).to_string())
    };
    assert!(part(json!({ "type": "file", "file": "https://evil" })).is_err());
    assert!(part(json!({ "type": "file", "file": { "file_data": "data:x" } })).is_ok());
}

#[test]
fn the_headers_for_a_provider_behind_vercel_are_those_of_opencode() {
    let headers = |headers: Value| {
        let body = json!({ "prompt": [], "headers": headers }).to_string();
        judged_as(&body, None, &shapes::VERCEL).is_ok()
    };
    assert!(headers(json!({
        "User-Agent": "opencode/1.18.33",
        "X-Session-Id": "ses_1",
        "x-session-affinity": "ses_1",
        "x-parent-session-id": "ses_0",
    })));
    for name in [
        "authorization",
        "host",
        "Host",
        "x-forwarded-host",
        "x-api-key",
    ] {
        assert!(!headers(json!({ (name): "x" })), "{name}");
    }
    assert!(!headers(json!("authorization: x")));
}

#[test]
fn an_address_is_passed_on_as_words_only() {
    let part = |part: Value| {
        let message = json!({ "role": "user", "content": [part] });
        of_m(&json!({ "model": "m-1", "messages": [message] }).to_string())
    };
    let url = "https://example.com/";
    assert_eq!(part(json!({ "type": "text", "text": url })), Ok(()));
    let data = "data:image/png;base64,AAAA";
    assert_eq!(part(json!({ "image_url": { "url": data } })), Ok(()));
    assert_eq!(part(json!({ "image_url": data })), Ok(()));
    for other in [url, "//example.com", " data:x", "DATA:x", "file:///etc", ""] {
        let fault = part(json!({ "image_url": other })).unwrap_err();
        assert!(matches!(fault, BodyFault::Address(_)), "{other}: {fault}");
    }
    for (value, passes) in [
        (url, false),
        (" gs://bucket/x", false),
        ("WSS://x", false),
        ("ht\ttps://evil", false),
        ("\u{1}https://evil", false),
        (r"https:\\evil\x", false),
        ("https:evil", false),
        ("//evil/x", false),
        ("anthropic/claude", true),
        ("qwen3:8b", true),
        ("see https://example.com/", true),
        ("://", true),
    ] {
        let body = json!({ "model": "m-1", "user": value }).to_string();
        assert_eq!(of_m(&body).is_ok(), passes, "{value}");
    }
}

#[test]
fn names_of_the_sidecars_choice_are_shown_only_if_they_are_plain_and_short() {
    for (key, shown) in [
        ("a::b".to_owned(), "…"),
        ("x".repeat(49), "…"),
        ("plain-1_$.x".to_owned(), "plain-1_$.x"),
    ] {
        let body = format!(r#"{{"model":"m-1","{key}":{{}}}}"#);
        let told = of_m(&body).unwrap_err().to_string();
        assert_eq!(told, format!("its body has an unknown object at {shown}"));
    }
    let key = "k".repeat(48);
    let deep = format!(r#"{{"{key}":"#).repeat(20) + &"}".repeat(20);
    let twice = deep
        .replacen('}', ",\"a\":1,\"a\":1}", 1)
        .replacen(":,", ":1,", 1);
    let body = format!(r#"{{"model":"m-1","tools":[{{"function":{{"parameters":{twice}}}}}]}}"#);
    let told = of_m(&body).unwrap_err().to_string();
    assert!(
        told.contains("more than once") && told.len() < 260,
        "{told}"
    );
}

#[test]
fn an_object_of_very_many_keys_is_refused() {
    let keys: Vec<String> = (0..10_001).map(|key| format!("\"k{key}\":1")).collect();
    let schema = |count: usize| {
        let keys = keys[..count].join(",");
        format!(r#"{{"model":"m-1","tools":[{{"function":{{"parameters":{{{keys}}}}}}}]}}"#)
    };
    assert_eq!(of_m(&schema(10_000)), Ok(()));
    assert_eq!(of_m(&schema(10_001)), Err(BodyFault::ManyKeys));
}

#[test]
fn openai_is_told_to_keep_nothing() {
    let responses = |body: &str| judged_as(body, Some("m-1"), &shapes::RESPONSES);
    assert_eq!(responses(r#"{"model":"m-1","store":false}"#), Ok(()));
    for body in [
        r#"{"model":"m-1"}"#,
        r#"{"model":"m-1","store":true}"#,
        r#"{"model":"m-1","store":null}"#,
        r#"{"model":"m-1","store":"false"}"#,
    ] {
        let fault = BodyFault::NotOff("store".into());
        assert_eq!(responses(body), Err(fault), "{body}");
    }
}

#[test]
fn what_is_no_object_is_refused() {
    for body in [
        "",
        "null",
        "\"model\"",
        "[{\"model\":\"m-1\"}]",
        "\u{feff}{\"model\":\"m-1\"}",
        "model=m-1",
        r#"{"model":"m-1""#,
        r#"{"model":"m-1"}}"#,
        r#"{"model":"m-1"}{"model":"m-2"}"#,
        r#"{"model":"m-1"]"#,
        r#"{"stop":[1,2},"model":"m-1"}"#,
        r#"{"model":"m-1",}"#,
        r#"{model:"m-1"}"#,
        r"{'model':'m-1'}",
        r#"{"model" "m-1"}"#,
        r#"{"a":tru,"model":"m-1"}"#,
        r#"{"stop":[1,],"model":"m-1"}"#,
        r#"{"a":"\x","model":"m-1"}"#,
        r#"{"a":"\u12g4","model":"m-1"}"#,
        "{\"a\":\"\n\",\"model\":\"m-1\"}",
        r#"{/**/"model":"m-1"}"#,
        r#"{"a":01,"model":"m-1"}"#,
        r#"{"a":+1,"model":"m-1"}"#,
        r#"{"a":.5,"model":"m-1"}"#,
        r#"{"a":NaN,"model":"m-1"}"#,
        r#"{"a":"\ud800","model":"m-1"}"#,
    ] {
        assert_eq!(of_m(body), Err(BodyFault::NotAnObject), "{body}");
    }
    for bytes in [&b"{\"a\":\"\xff\"}"[..], b"{\"a\":\"\xed\xa0\x80\"}"] {
        let wanted = Wanted {
            model: None,
            wire: &shapes::CHAT,
            tools: &[],
        };
        assert_eq!(judge(bytes, &wanted), Err(BodyFault::NotAnObject));
    }
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        of_m(&format!(
            r#"{{"model":"m-1","tools":[{{"function":{{"parameters":{open}{close}}}}}]}}"#
        ))
    };
    assert_eq!(nested(100), Ok(()));
    assert_eq!(nested(300), Err(BodyFault::NotAnObject));
}

/// A body in which this stands where any JSON may stand: in the schema of a tool.
fn with_schema(schema: &[u8]) -> Vec<u8> {
    let (start, end) = (
        r#"{"model":"m-1","tools":[{"function":{"parameters":"#,
        "}}]}",
    );
    [start.as_bytes(), schema, end.as_bytes()].concat()
}

fn schema(schema: &[u8]) -> Result<(), BodyFault> {
    let wanted = Wanted {
        model: Some("m-1"),
        wire: &shapes::CHAT,
        tools: &[],
    };
    judge(&with_schema(schema), &wanted)
}

#[test]
fn a_number_that_parsers_read_differently_is_refused_also_in_free_data() {
    for number in [
        "0",
        "-0",
        "-0.0",
        "1e5",
        "1E+5",
        "1e-999",
        "18446744073709551615",
        "0.1",
    ] {
        assert_eq!(schema(number.as_bytes()), Ok(()), "{number}");
    }
    for number in [
        "1e999",
        "-1e999",
        "[1e999]",
        "NaN",
        "nan",
        "-NaN",
        "Infinity",
        "-Infinity",
        "inf",
        "0x10",
        "1.",
        "1.e5",
        "1e",
        "1e+",
        "-",
        "--1",
        "- 1",
        "00",
        "-01",
        "1_000",
        "1,000",
        "\u{661}",
        "1f",
    ] {
        assert_eq!(
            schema(number.as_bytes()),
            Err(BodyFault::NotAnObject),
            "{number}"
        );
    }
}

#[test]
fn a_text_that_parsers_read_differently_is_refused_as_value_and_as_key() {
    for text in [
        r"\ud83d\ude00",
        r"\uD83D\uDE00",
        r"\u0000",
        r"\/",
        "\u{7f}",
        "\u{feff}",
    ] {
        assert_eq!(schema(format!("[\"{text}\"]").as_bytes()), Ok(()), "{text}");
        let key = format!("{{\"{text}\":1}}");
        assert_eq!(schema(key.as_bytes()), Ok(()), "{text}");
    }
    for text in [
        &br"\ud800"[..],
        br"\udc00",
        br"\udc00\ud800",
        br"\ud800\ud800",
        br"\ud800\u0041",
        br"\ud800x",
        br"\ud83d\",
        br"\u{61}",
        br"\u00",
        br"\U0061",
        br"\x61",
        br"\0",
        br"\'",
        b"\0",
        b"\t",
        b"\x1f",
        b"\x80",
        b"\xc0\xaf",
        b"\xed\xa0\xbd\xed\xb8\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
    ] {
        let value = [b"[\"", text, b"\"]"].concat();
        assert_eq!(
            schema(&value),
            Err(BodyFault::NotAnObject),
            "{}",
            value.escape_ascii()
        );
        let key = [b"{\"", text, b"\":1}"].concat();
        assert_eq!(
            schema(&key),
            Err(BodyFault::NotAnObject),
            "{}",
            key.escape_ascii()
        );
    }
}

#[test]
fn keys_are_compared_after_unescaping_also_in_free_data() {
    let path = |key: &str| format!("tools[].function.parameters.{key}");
    for (keys, shown) in [
        (r#"{"a/b":1,"a\/b":1}"#, "…"),
        ("{\"\u{1f600}\":1,\"\\ud83d\\ude00\":1}", "…"),
        (r#"{"\u0000":1,"\u0000":1}"#, "…"),
        (r#"{"":1,"":1}"#, "…"),
        (r#"{"a":{},"b":1,"\u0061":[]}"#, "a"),
    ] {
        let fault = BodyFault::Twice(path(shown));
        assert_eq!(schema(keys.as_bytes()), Err(fault), "{keys}");
    }
    assert_eq!(schema(r#"[{"a":1},{"a":{"a":1}}]"#.as_bytes()), Ok(()));
}

#[test]
fn nothing_but_plain_space_stands_around_the_object() {
    for odd in [
        "\u{feff}", "\0", "\u{b}", "\u{c}", "\u{a0}", "\u{2028}", "//", "#", ",", "1",
    ] {
        for body in [
            format!(r#"{odd}{{"model":"m-1"}}"#),
            format!(r#"{{"model":"m-1"}}{odd}"#),
            format!(r#"{{"model"{odd}:"m-1"}}"#),
        ] {
            assert_eq!(of_m(&body), Err(BodyFault::NotAnObject), "{body:?}");
        }
    }
    assert_eq!(of_m(" \t\r\n{\"model\":\"m-1\"}\n\r\t "), Ok(()));
}

#[test]
fn a_body_may_be_nested_up_to_the_parsers_limit() {
    // The body, the list of tools, the tool and its function are four levels.
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        schema(format!("{open}{close}").as_bytes())
    };
    assert_eq!(nested(123), Ok(()));
    for depth in [124, 125, 1_000_000] {
        assert_eq!(nested(depth), Err(BodyFault::NotAnObject), "{depth}");
    }
}

#[test]
fn a_model_named_elsewhere_is_not_named_here() {
    assert_eq!(
        judged_as(r#"{"contents":[]}"#, None, &shapes::GOOGLE),
        Ok(())
    );
    assert_eq!(
        judged_as(r#"{"model":"models/other"}"#, None, &shapes::GOOGLE),
        Err(BodyFault::OtherModel)
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_json_that_an_adapter_could_write_is_understood(parameters in any_json()) {
        let tool = json!({ "type": "function", "function": { "name": "read", "parameters": parameters } });
        let body = json!({ "tools": [tool], "model": "m-1", "stream": true });
        prop_assert_eq!(of_m(&body.to_string()), Ok(()));
        prop_assert_eq!(of_m(&format!("{body:#}")), Ok(()));
    }

    #[test]
    fn what_it_passes_a_parser_reads_as_the_same_model(text in "[{}\\[\\]\",:a\\\\model1-]{0,40}") {
        let body = format!("{{\"model\":\"m-1\",{text}");
        if of_m(&body) == Ok(()) {
            let read: Value = serde_json::from_str(&body).unwrap();
            prop_assert_eq!(&read["model"], "m-1");
        }
    }
}
