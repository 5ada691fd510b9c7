use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Fed in chunks of every size: where the cuts are must not matter.
fn judged(body: &str, model: Option<&str>) -> Result<(), BodyFault> {
    let mut verdicts = [1, 2, 3, 7, body.len().max(1)].map(|size| {
        let mut scanner = Scanner::new(model.map(str::to_owned));
        let mut chunks = body.as_bytes().chunks(size);
        chunks.try_for_each(|chunk| scanner.feed(chunk))?;
        scanner.finish()
    });
    verdicts.rotate_left(1);
    let [first, rest @ ..] = verdicts;
    assert!(rest.iter().all(|other| *other == first), "{body}");
    first
}

fn of_m(body: &str) -> Result<(), BodyFault> {
    judged(body, Some("m-1"))
}

#[test]
fn a_request_for_the_configured_model_passes() {
    for body in [
        r#"{"model":"m-1"}"#,
        " \r\n{ \"messages\" : [ {\"model\":\"other\"}, -1.5e+3, true, false, null, [], {} ], \"model\" : \"m-1\" } \n",
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
        (r#"{"body":{"model":"m-1"}}"#, NoModel),
        (r#"{"a":["model","m-1"]}"#, NoModel),
        ("{}", NoModel),
    ] {
        assert_eq!(of_m(body), Err(fault), "{body}");
    }
}

#[test]
fn keys_that_lead_astray_are_refused_at_the_top_only() {
    for key in ["models", "fallbacks", "api_base", "API_KEY"] {
        let body = format!(r#"{{"model":"m-1","{key}":["m-2"]}}"#);
        let fault = of_m(&body).unwrap_err();
        assert!(matches!(fault, BodyFault::Astray(_)), "{body}");
    }
    let schema = r#"{"model":"m-1","tools":[{"properties":{"api_key":{},"model":{}}}]}"#;
    assert_eq!(of_m(schema), Ok(()));
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
        r#"{"a":[1,2},"model":"m-1"}"#,
        r#"{"model":"m-1",}"#,
        r#"{model:"m-1"}"#,
        r"{'model':'m-1'}",
        r#"{"model" "m-1"}"#,
        r#"{"a":tru,"model":"m-1"}"#,
        r#"{"a":[1,],"model":"m-1"}"#,
        r#"{"a":"\x","model":"m-1"}"#,
        r#"{"a":"\u12g4","model":"m-1"}"#,
        "{\"a\":\"\n\",\"model\":\"m-1\"}",
        r#"{/**/"model":"m-1"}"#,
    ] {
        assert_eq!(of_m(body), Err(BodyFault::NotAnObject), "{body}");
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(300), "]".repeat(300));
    assert_eq!(of_m(&deep), Err(BodyFault::NotAnObject));
}

#[test]
fn a_model_named_elsewhere_is_not_named_here() {
    assert_eq!(judged(r#"{"contents":[]}"#, None), Ok(()));
    assert_eq!(
        judged(r#"{"model":"models/other"}"#, None),
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
    fn every_json_that_an_adapter_could_write_is_understood(messages in any_json()) {
        let body = json!({ "messages": messages, "model": "m-1", "stream": true });
        prop_assert_eq!(of_m(&body.to_string()), Ok(()));
        prop_assert_eq!(of_m(&format!("{body:#}")), Ok(()));
    }

    #[test]
    fn what_it_passes_a_parser_reads_as_the_same_model(text in "[{}\\[\\]\",:a\\\\model1-]{0,40}") {
        let body = format!("{{\"model\":\"m-1\",{text}");
        if of_m(&body) == Ok(()) {
            // Numbers are the one thing that it does not look at closely.
            if let Ok(read) = serde_json::from_str::<Value>(&body) {
                prop_assert_eq!(&read["model"], "m-1");
            }
        }
    }
}
