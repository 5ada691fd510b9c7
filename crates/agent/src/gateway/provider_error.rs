//! Errors of providers that no repeat can help: which they are, by status, code and words. Pure, so that the answer of
//! every provider can be tried.

use reviewer_text::hidden::visible;
use serde_json::Value;

/// The longest quote of a provider.
const MOST_WORDS: usize = 200;
/// Later words of a message may quote the request.
const OPENING: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The key is wrong, or may not be used for this.
    Key,
    /// The model, or the address, is not known.
    Model,
    /// The account has no credit left, or has reached a limit of spending. Not a rate limit, which passes.
    Quota,
}

/// The marks by which a provider's error is known to be of a kind, where the status alone does not tell.
struct Shape {
    kind: Kind,
    statuses: &'static [u16],
    /// Codes or types of the error, in small letters.
    codes: &'static [&'static str],
    /// Parts of its message, in small letters.
    says: &'static [&'static str],
}

/// The first that fits counts. Quotas come first: some providers tell them with the status of a wrong key or of a rate limit.
const SHAPES: &[Shape] = &[
    Shape {
        kind: Kind::Quota,
        statuses: &[400, 401, 403, 404, 412, 429],
        codes: &[
            "insufficient_quota",
            "billing_not_active",
            "billing_hard_limit_reached",
            "billing_error",
            "exceeded_current_quota_error",
            "insufficient_balance",
            "insufficient_funds",
            "insufficient_credits",
            "creditserror",
            "budget_exceeded",
            // Zhipu's number for an account in arrears.
            "1113",
        ],
        says: &[
            "credit balance is too low",
            "insufficient balance",
            "insufficient credit",
            "insufficient funds",
            "used all available credits",
            "monthly spending limit",
            "budget has been exceeded",
            "no payment method",
        ],
    },
    Shape {
        kind: Kind::Model,
        statuses: &[400, 401, 403],
        codes: &["model_not_found", "invalid_model", "modelerror"],
        says: &[
            "is not a valid model id",
            "model not exist",
            "model not found",
            "no endpoints found for",
            "does not have access to model",
        ],
    },
    Shape {
        kind: Kind::Key,
        statuses: &[400],
        codes: &["invalid_api_key", "api_key_invalid", "authentication_error"],
        says: &[
            "incorrect api key",
            "invalid api key",
            "api key not valid",
            "api key expired",
        ],
    },
];

/// The kind of an error that no repeat can help; `None` for one that may pass, or that OpenCode knows how to treat. After an
/// answer (`answered`) only an empty account is beyond help: a proxy may stumble, a filter may refuse one request, and some
/// providers tell a rate limit with the words for a quota.
pub(super) fn kind(status: u16, body: &[u8], answered: bool) -> Option<Kind> {
    let kind = kind_at_first(status, body)?;
    let is_final = kind == Kind::Quota && status != 429;
    (is_final || !answered).then_some(kind)
}

fn kind_at_first(status: u16, body: &[u8]) -> Option<Kind> {
    let body = serde_json::from_slice(body).unwrap_or(Value::Null);
    let error = error(&body);
    let codes = codes(&body, error);
    let message = message(&body).unwrap_or_default().to_lowercase();
    let opening: String = message.chars().take(OPENING).collect();
    let fits = |shape: &&Shape| {
        shape.statuses.contains(&status)
            && (shape
                .codes
                .iter()
                .any(|code| codes.iter().any(|one| one == code))
                || shape.says.iter().any(|part| opening.contains(part)))
    };
    match (SHAPES.iter().find(fits), status) {
        (Some(shape), _) => Some(shape.kind),
        (None, 401 | 403) => Some(Kind::Key),
        (None, 402) => Some(Kind::Quota),
        (None, 404) => Some(Kind::Model),
        (None, _) => None,
    }
}

/// The provider's own words, short and on one line, without a period; empty where it has none.
pub(super) fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let parsed = serde_json::from_str(&text).unwrap_or(Value::Null);
    let message = match message(&parsed) {
        Some(message) => message,
        None if parsed.is_null() && !text.trim_start().starts_with('<') => &text,
        None => "",
    };
    let line: Vec<&str> = message.split_whitespace().collect();
    let line = line.join(" ");
    let shown = visible(&line);
    let mut short: String = shown.chars().take(MOST_WORDS).collect();
    if short.len() < shown.len() {
        short.push('…');
    }
    short.trim_end_matches('.').to_owned()
}

/// The object that describes the error: Google sends a list of one, others the error itself.
fn error(body: &Value) -> &Value {
    let body = body.get(0).unwrap_or(body);
    body.get("error")
        .filter(|error| error.is_object())
        .unwrap_or(body)
}

fn message(body: &Value) -> Option<&str> {
    let whole = body.get(0).unwrap_or(body);
    let said = [
        &error(body)["message"],
        &whole["error"],
        &whole["message"],
        &whole["detail"],
    ];
    said.into_iter().find_map(Value::as_str)
}

fn codes(body: &Value, error: &Value) -> Vec<String> {
    let details = error["details"].as_array().into_iter().flatten();
    let reasons = details.map(|detail| &detail["reason"]);
    let named = ["code", "type", "status"].map(|name| &error[name]);
    let outer = ["code", "type"].map(|name| &body[name]);
    let all = named.into_iter().chain(outer).chain(reasons);
    all.filter_map(Value::as_str)
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as providers give them.
    const FOR_GOOD: &[(u16, &str, Kind)] = &[
        // OpenAI
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-x. You can find your API key at …","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            Kind::Key,
        ),
        (
            403,
            r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}"#,
            Kind::Key,
        ),
        (
            403,
            r#"{"error":{"message":"Project `p` does not have access to model `gpt-9`","type":"invalid_request_error","code":"model_not_found"}}"#,
            Kind::Model,
        ),
        (
            404,
            r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            Kind::Model,
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            Kind::Quota,
        ),
        (
            429,
            r#"{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","code":"billing_not_active"}}"#,
            Kind::Quota,
        ),
        // Anthropic
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."}}"#,
            Kind::Quota,
        ),
        (
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            Kind::Key,
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
            Kind::Model,
        ),
        // OpenRouter
        (
            400,
            r#"{"error":{"message":"a/b is not a valid model ID","code":400},"user_id":"u"}"#,
            Kind::Model,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}"#,
            Kind::Quota,
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found for a/b.","code":404}}"#,
            Kind::Model,
        ),
        // DeepSeek
        (
            400,
            r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            Kind::Model,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            Kind::Quota,
        ),
        // Google
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
            Kind::Key,
        ),
        (
            404,
            r#"{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta","status":"NOT_FOUND"}}"#,
            Kind::Model,
        ),
        // xAI
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: na***ys."}"#,
            Kind::Key,
        ),
        (
            429,
            r#"{"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}"#,
            Kind::Quota,
        ),
        // OpenCode Zen
        (
            401,
            r#"{"type":"error","error":{"type":"CreditsError","message":"No payment method. Add one in your workspace."}}"#,
            Kind::Quota,
        ),
        (
            401,
            r#"{"type":"error","error":{"type":"ModelError","message":"Model x not supported"}}"#,
            Kind::Model,
        ),
        // Zhipu, Moonshot, LiteLLM, vLLM
        (
            429,
            r#"{"error":{"code":"1113","message":"Your account is in arrears"}}"#,
            Kind::Quota,
        ),
        (
            429,
            r#"{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended"}}"#,
            Kind::Quota,
        ),
        (
            400,
            r#"{"error":{"message":"Budget has been exceeded! Current cost: 2.0, Max budget: 1.0","type":"budget_exceeded","param":null,"code":"400"}}"#,
            Kind::Quota,
        ),
        (
            404,
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
            Kind::Model,
        ),
        (404, "<html>Not Found</html>", Kind::Model),
        (401, "", Kind::Key),
    ];

    const MAY_PASS: &[(u16, &str)] = &[
        (
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-5 on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}"#,
        ),
        // Google says this of a limit a minute, too, and tells how long to wait.
        (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}"#,
        ),
        (
            503,
            r#"{"error":{"code":"insufficient_quota","message":"model not found"}}"#,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        (500, ""),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid schema for function 'read'","code":"invalid_function_parameters"}}"#,
        ),
        (413, ""),
    ];

    #[test]
    fn what_no_repeat_can_help_is_known_by_the_answers_of_providers() {
        for (status, body, expected) in FOR_GOOD {
            assert_eq!(
                kind(*status, body.as_bytes(), false),
                Some(*expected),
                "{body}"
            );
        }
        for (status, body) in MAY_PASS {
            assert_eq!(
                kind(*status, body.as_bytes(), false),
                None,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_message_that_quotes_the_request_decides_nothing() {
        let quoted = format!("Cannot read: {} credit balance is too low", "x".repeat(500));
        let body = serde_json::json!({ "error": { "message": quoted } });
        assert_eq!(kind(400, body.to_string().as_bytes(), false), None);
    }

    #[test]
    fn the_words_of_a_provider_are_short_and_on_one_line() {
        let said = |body: &str| words(body.as_bytes());
        assert_eq!(said(r#"{"error":{"message":"Not\n  now."}}"#), "Not now");
        assert_eq!(said(r#"[{"error":{"message":"Not here"}}]"#), "Not here");
        assert_eq!(said(r#"{"error":"no such key"}"#), "no such key");
        assert_eq!(said("go away"), "go away");
        assert_eq!(said("<html>It works!</html>"), "");
        assert_eq!(said(r#"{"ok":false}"#), "");
        let long = said(&"a ".repeat(500));
        assert_eq!(long.chars().count(), MOST_WORDS + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn after_an_answer_only_an_empty_account_is_beyond_help() {
        let quota = br#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#;
        let flagged = br#"{"error":{"code":403,"message":"Your input was flagged"}}"#;
        let gone = br#"{"error":{"message":"Item with id 'rs_1' not found."}}"#;
        for (status, body) in [(429, &quota[..]), (403, flagged), (404, gone), (401, b"")] {
            assert!(kind(status, body, false).is_some(), "{status}");
            assert_eq!(kind(status, body, true), None, "{status}");
        }
        assert_eq!(kind(402, b"", true), Some(Kind::Quota));
    }
}
