use super::*;
use reviewer_core::config::ModelChoice;

const HOST: &str = "127.0.0.1:4000";
const PLACEHOLDER: &str = "0123456789abcdef0123456789abcdef";
const KEY: &str = "sk-real-0123456789abcdef";

fn admission(provider: &str, name: &str, key: Option<&str>, base_url: Option<&str>) -> Admission {
    let choice = ModelChoice {
        provider: provider.into(),
        name: name.into(),
        base_url: base_url.map(str::to_owned),
        key: key.map(Into::into),
        context: None,
    };
    Admission {
        prefix: "/model/".into(),
        upstream: Upstream::from_choice(&choice).unwrap(),
        placeholder: PLACEHOLDER.into(),
    }
}

fn anthropic() -> Admission {
    admission("anthropic", "claude-sonnet-4-5", Some(KEY), None)
}

fn headers(more: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("host", HeaderValue::from_static(HOST));
    for (name, value) in more {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn judged(
    admission: &Admission,
    path: &str,
    more: &[(&'static str, &str)],
) -> Result<Admitted, Refusal> {
    let uri: Uri = path.parse().unwrap();
    admission.judge(HOST, &Method::POST, &uri, &headers(more))
}

fn sent<'a>(admitted: &'a Admitted, name: &str) -> Option<&'a str> {
    admitted.headers.get(name).map(|v| v.to_str().unwrap())
}

#[test]
fn the_key_takes_the_placeholders_place_in_the_header_of_each_adapter() {
    let messages = judged(
        &anthropic(),
        "/model/messages",
        &[
            ("x-api-key", PLACEHOLDER),
            ("anthropic-version", "2023-06-01"),
        ],
    )
    .unwrap();
    assert_eq!(sent(&messages, "x-api-key"), Some(KEY));
    assert_eq!(sent(&messages, "anthropic-version"), Some("2023-06-01"));
    assert_eq!(
        messages.url.as_str(),
        "https://api.anthropic.com/v1/messages"
    );

    let bearer = format!("Bearer {PLACEHOLDER}");
    let openai = admission("openai", "gpt-5", Some(KEY), None);
    let responses = judged(&openai, "/model/responses", &[("authorization", &bearer)]).unwrap();
    let expected = format!("Bearer {KEY}");
    assert_eq!(sent(&responses, "authorization"), Some(expected.as_str()));

    let google = admission("google", "gemini-2.5-pro", Some(KEY), None);
    let path = "/model/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    let stream = judged(&google, path, &[("x-goog-api-key", PLACEHOLDER)]).unwrap();
    assert_eq!(sent(&stream, "x-goog-api-key"), Some(KEY));
    assert!(
        stream
            .url
            .as_str()
            .ends_with("gemini-2.5-pro:streamGenerateContent?alt=sse")
    );
}

#[test]
fn without_the_placeholder_nothing_is_admitted() {
    let wrong = PLACEHOLDER.replace('0', "1");
    let mixed = format!("Bearer x{PLACEHOLDER}");
    for given in [
        [].as_slice(),
        &[("x-api-key", wrong.as_str())],
        &[("authorization", mixed.as_str())],
        &[("x-api-key", "")],
        &[("x-title", PLACEHOLDER)],
    ] {
        let refusal = judged(&anthropic(), "/model/messages", given).unwrap_err();
        assert_eq!(refusal, Refusal::NotAdmitted, "{given:?}");
    }
}

#[test]
fn headers_that_no_adapter_sends_stay_here() {
    let admitted = judged(
        &anthropic(),
        "/model/messages",
        &[
            ("x-api-key", PLACEHOLDER),
            ("authorization", "Bearer of-the-sidecar"),
            ("cookie", "a=b"),
            ("x-forwarded-host", "evil.example"),
            ("helicone-target-url", "https://evil.example"),
            ("proxy-authorization", "Basic x"),
            ("transfer-encoding", "chunked"),
            ("content-encoding", "gzip"),
            ("accept-encoding", "gzip, br"),
            ("x-title", PLACEHOLDER),
            ("user-agent", "opencode/1"),
            ("content-length", "12"),
        ],
    )
    .unwrap();
    let mut names: Vec<&str> = admitted.headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["accept-encoding", "content-type", "user-agent", "x-api-key"]
    );
    assert_eq!(sent(&admitted, "accept-encoding"), Some("identity"));
    assert_eq!(admitted.length, Some(12));
}

#[test]
fn an_endpoint_without_a_key_gets_none() {
    let admission = admission("local", "m", None, Some("http://127.0.0.1:9/v1"));
    let bearer = format!("Bearer {PLACEHOLDER}");
    let path = "/model/chat/completions";
    let admitted = judged(&admission, path, &[("authorization", &bearer)]).unwrap();
    assert_eq!(sent(&admitted, "authorization"), None);
}

#[test]
fn another_way_to_write_a_path_is_another_path() {
    for path in [
        "/model/models",
        "/model/messages/",
        "/model//messages",
        "/model/./messages",
        "/model/x/../messages",
        "/model/%2e%2e/messages",
        "/model/messages%2f..",
        "/model/%6dessages",
        "/model/Messages",
        "/model/messages/batches",
        "/model/messages?key=x",
        "/model/messages?alt=sse&beta=true",
        "/model/messages;x",
        "/model/https://evil.example/messages",
        "/model/@evil.example/messages",
        "/modelmessages",
    ] {
        let refusal = judged(&anthropic(), path, &[("x-api-key", PLACEHOLDER)]).unwrap_err();
        assert_eq!(refusal, Refusal::Path, "{path}");
    }
    let google = admission("google", "gemini-2.5-pro", Some(KEY), None);
    let other = "/model/models/gemini-2.5-flash:streamGenerateContent?alt=sse";
    let refusal = judged(&google, other, &[("x-goog-api-key", PLACEHOLDER)]).unwrap_err();
    assert_eq!(refusal, Refusal::Path, "the model is in the path");
}

#[test]
fn a_harmless_beta_of_other_versions_passes() {
    let betas = "claude-code-20250219,interleaved-thinking-2025-05-14";
    let given = [("x-api-key", PLACEHOLDER), ("anthropic-beta", betas)];
    let admitted = judged(&anthropic(), "/model/messages", &given).unwrap();
    assert_eq!(sent(&admitted, "anthropic-beta"), Some(betas));
}

#[test]
fn another_host_and_a_browser_are_turned_away() {
    let key = ("x-api-key", PLACEHOLDER);
    let absolute = judged(&anthropic(), "http://evil.example/model/messages", &[key]);
    assert_eq!(absolute.unwrap_err(), Refusal::Elsewhere);
    let origin = judged(
        &anthropic(),
        "/model/messages",
        &[key, ("origin", "http://127.0.0.1:4000")],
    );
    assert_eq!(origin.unwrap_err(), Refusal::Elsewhere);
    let two = judged(&anthropic(), "/model/messages", &[key, ("host", HOST)]);
    assert_eq!(two.unwrap_err(), Refusal::Elsewhere);
    let uri: Uri = "/model/messages".parse().unwrap();
    let mut given = headers(&[key]);
    given.insert("host", HeaderValue::from_static("localhost:4000"));
    let rebound = anthropic().judge(HOST, &Method::POST, &uri, &given);
    assert_eq!(rebound.unwrap_err(), Refusal::Elsewhere);
    let get = anthropic().judge(HOST, &Method::GET, &uri, &headers(&[key]));
    assert_eq!(get.unwrap_err(), Refusal::Method);
}

#[test]
fn a_model_in_the_header_is_the_configured_one() {
    let vercel = admission("vercel", "anthropic/claude-sonnet-4.5", Some(KEY), None);
    let bearer = format!("Bearer {PLACEHOLDER}");
    let asked = |names: &[&'static str]| {
        let mut given = vec![("authorization", bearer.as_str())];
        given.extend(names.iter().map(|name| ("ai-language-model-id", *name)));
        judged(&vercel, "/model/language-model", &given).map(|_| ())
    };
    assert_eq!(asked(&["anthropic/claude-sonnet-4.5"]), Ok(()));
    for other in [
        ["openai/gpt-5"].as_slice(),
        &[],
        &["anthropic/claude-sonnet-4.5", "openai/gpt-5"],
    ] {
        assert_eq!(asked(other), Err(Refusal::ModelHeader), "{other:?}");
    }
}

#[test]
fn of_an_answers_headers_only_harmless_ones_come_back_and_without_the_key() {
    let mut given = HeaderMap::new();
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("retry-after", "7"),
        ("anthropic-ratelimit-requests-remaining", "3"),
        ("x-request-id", "id of sk-real-0123456789abcdef"),
        ("set-cookie", "a=b"),
        ("location", "https://evil.example"),
        ("content-length", "9"),
        ("www-authenticate", "Bearer"),
    ] {
        given.insert(name, HeaderValue::from_static(value));
    }
    let back = coming_back(&given, &Spellings::new(Some(&KEY.into())));
    let mut lines: Vec<String> = back
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "anthropic-ratelimit-requests-remaining: 3",
            "content-type: text/event-stream",
            "retry-after: 7",
            "x-request-id: id of ***",
        ]
    );
}
