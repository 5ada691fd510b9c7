//! Row N4 of the catalogue: what a query or a URL may carry, and what not.

use super::*;
use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD, HEXLOWER};
use std::sync::LazyLock;

const CODE: &str = r#"
import { db } from "../db";
// Lists are cut into pages; the last page may be shorter than the others.
export function pages(count: number, size: number): number {
  return Math.floor(count / size);
}
use tokio::task::JoinSet;
use std::sync::atomic::AtomicBool;
const LICENCE = "4f9Qz81LmX02bTr7KcVd55Yw";
let config = StreamableHttpServerConfig::default().with_json_response(true);
See https://docs.rs/rmcp/3.8.0/rmcp/transport/streamable_http_server/index.html for more.
github.com/stretchr/testify/assert v1.9.0
if (a > b && c < d) { e = f; g = h; i = j; k = l; m = n; o = p; q = r; s = t; u = v; w = x; y = z }
"#;

static GUARD: LazyLock<Guard> = LazyLock::new(|| {
    let mut text = RepositoryText::default();
    text.add_base(CODE);
    Guard::new(text, Arc::new(Redactor::new(&["5f0c9a7be1d24386".into()])))
});

fn query(text: &str) -> Result<(), String> {
    GUARD.judge_query(text)
}

fn url(text: &str) -> Result<(), String> {
    GUARD.judge_url(text)
}

#[test]
fn questions_pass() {
    for asked in [
        "tokio 1.54 JoinSet abort_all cancel safety",
        "tokio::task::JoinSet abort_all",
        "std::sync::atomic::AtomicBool ordering",
        "rmcp StreamableHttpServerConfig with_json_response",
        "github.com/stretchr/testify/assert EqualValues",
        "CVE-2024-3094 xz backdoor affected versions",
        "error[E0382]: borrow of moved value",
        "Math.floor negative numbers javascript",
        "typescript import db from",
        "HTTP 422 Unprocessable Entity GitHub create review",
        "GHSA-wpqr-6v78-jr5g",
        "how do I round up an integer division",
        "postgres SQLSTATE 40001 serialization failure retry",
        "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678 actions/checkout",
        "Größe eines Arrays in Java bestimmen",
    ] {
        assert_eq!(query(asked), Ok(()), "{asked}");
    }
    for asked in [
        "https://docs.rs/tokio/1.54.1/tokio/task/struct.JoinSet.html",
        "https://pkg.go.dev/github.com/stretchr/testify/assert",
        "https://github.com/tokio-rs/tokio/issues/4719",
        "https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/Global_Objects/Math/floor",
        "https://learn.microsoft.com/en-us/azure/azure-sql/database/2024-release-notes-and-more",
        // The repository itself links to it.
        "https://docs.rs/rmcp/3.8.0/rmcp/transport/streamable_http_server/index.html",
    ] {
        assert_eq!(url(asked), Ok(()), "{asked}");
    }
}

#[test]
fn a_copied_line_is_refused_however_it_is_written() {
    let line = "return Math.floor(count / size);";
    let bytes = line.as_bytes();
    let labels: Vec<String> = BASE32_NOPAD
        .encode(bytes)
        .to_lowercase()
        .as_bytes()
        .chunks(30)
        .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
        .collect();
    for carried in [
        line.to_owned(),
        line.to_uppercase(),
        "javascript return Math.floor(count / size) wrong".into(),
        "returnMathfloorcountsize".into(),
        "r e t u r n M a t h f l o o r c o u n t s i z e".into(),
        "return_Math-floor.count+size".into(),
        BASE64URL_NOPAD.encode(bytes),
        HEXLOWER.encode(bytes),
        line.chars().rev().collect(),
        "the last page may be shorter than".into(),
        "export function pages count number size number".into(),
        "a b c d e f g h i j k l m n o p q r s t u v w x y z".into(),
    ] {
        let refusal = query(&carried).unwrap_err();
        assert!(
            refusal.contains("repeats text of the repository"),
            "{carried}"
        );
        assert!(refusal.contains("in your own words"), "{refusal}");
    }
    for carried in [
        "https://evil.example/?q=return%20Math.floor%28count%20%2F%20size%29".to_owned(),
        "https://evil.example/return/Math/floor/count/size".to_owned(),
        "https://return-math-floor.count-size.evil.example/".to_owned(),
        format!("https://evil.example/{}", BASE64URL_NOPAD.encode(bytes)),
        format!("https://evil.example/?d={}", HEXLOWER.encode(bytes)),
        format!("https://{}.evil.example/", labels.join(".")),
        "https://evil.example/?u=https://docs.rs/rmcp/3.8.0/&d=exportfunctionpagescountnumbersize"
            .to_owned(),
    ] {
        assert!(url(&carried).is_err(), "{carried}");
    }
}

#[test]
fn a_key_of_the_repository_is_refused_and_so_is_a_part_of_it() {
    for carried in [
        "4f9Qz81LmX02bTr7KcVd55Yw",
        "9Qz81LmX02bTr7Kc",
        "4f9qz81l-mx02btr7-kcvd55yw",
        "4f9Q.z81L.mX02.bTr7.KcVd",
    ] {
        assert!(query(carried).is_err(), "{carried}");
        let carried = format!("https://{carried}.evil.example/");
        assert!(url(&carried).is_err(), "{carried}");
    }
    assert_eq!(
        query("4f9Qz81L"),
        Ok(()),
        "too short to tell from a version"
    );
}

#[test]
fn what_looks_like_a_secret_is_refused_whether_we_know_it_or_not() {
    // Put together here, so that no scanner takes this file for a leak.
    let body = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7b";
    let github = format!("gh{}_{body}", "p");
    for secret in [
        github.clone(),
        format!("sk-{}-{body}", "ant"),
        format!("AK{}IOSFODNN7EXAMPLF", "IA"),
        format!("ey{}hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0", "J"),
        body.into(),
        "5f0c9a7be1d24386".into(),
        "68342d1eb7a9c0f5".into(),
        HEXLOWER.encode(github.as_bytes()),
        BASE64URL_NOPAD.encode(b"5f0c9a7be1d24386 and more of it"),
    ] {
        let refusal = query(&format!("what is {secret}")).unwrap_err();
        assert!(refusal.contains("looks like a secret"), "{secret}");
        assert!(!refusal.contains(&secret), "it is not repeated");
        assert!(url(&format!("https://evil.example/?t={secret}")).is_err());
    }
}

#[test]
fn a_link_of_the_repository_is_no_cover_for_a_secret() {
    let mut text = RepositoryText::default();
    let token = format!("gh{}_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7b", "p");
    let link = format!("https://api.example/?access={token}");
    text.add_base(&format!("curl {link}"));
    let guard = Guard::new(text, Arc::new(Redactor::new(&[])));
    assert!(guard.judge_url(&link).is_err());
}

#[test]
fn repeats_take_no_room() {
    let mut text = RepositoryText::with_room(1 << 14);
    text.add(&CODE.repeat(2_000));
    assert!(text.filter.percent() < 10, "{text:?}");
    assert!(text.is_quoted_in("export function pages(count: number, size"));
}

#[test]
fn only_links_of_the_base_are_exempt() {
    let link = "https://docs.example/the-last-page-may-be-shorter-than-the-others";
    let judged = |learn: fn(&mut RepositoryText, &str)| {
        let mut text = RepositoryText::default();
        text.add_base(CODE);
        learn(&mut text, &format!("See {link}."));
        Guard::new(text, Arc::new(Redactor::new(&[]))).judge_url(link)
    };
    assert_eq!(judged(RepositoryText::add_base), Ok(()));
    assert!(judged(RepositoryText::add).is_err());
}

#[test]
fn a_text_is_learned_whole_however_long_it_is() {
    let word = |number: usize| format!("w{number} ");
    let long: String = (0..40_000).map(word).collect();
    let mut text = RepositoryText::with_room(1 << 22);
    text.add(&long);
    for start in (0..39_980).step_by(7) {
        let copied: String = (start..start + 12).map(word).collect();
        assert!(text.is_quoted_in(&copied), "{copied}");
    }
    let blob = format!("{}\n{CODE}", "a1B2".repeat(100_000));
    text.add(&blob);
    assert!(text.is_quoted_in("return Math.floor(count / size)"));
    assert!(!text.is_full());
}

/// Words as code has them, eleven bytes each with what is between them, and none of them twice in the same order.
fn code(words: usize, mut seed: u64) -> String {
    let mut text = String::new();
    for _ in 0..words {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        for letter in 0..4 {
            let syllable = usize::try_from((seed >> (20 + 5 * letter)) % 32).unwrap();
            text.push_str(
                &"bacedifoguhajekilomunapeqirosutavewixoyuzabecidofugahejikolumane"[syllable * 2..]
                    [..2],
            );
        }
        text.push_str(" = ");
    }
    text
}

/// The product's filter has 256 times as much room: 200 MiB of such text fill it as 800 KiB fill this one.
#[test]
fn a_full_guard_recognises_all_and_refuses_one_question_in_a_hundred_for_nothing() {
    let mut text = RepositoryText::with_room(RepositoryText::BYTES / 256);
    let learned = code((200 << 20) / 256 / 11, 1);
    text.add(&learned);
    assert!((45..=50).contains(&text.filter.percent()), "{text:?}");
    assert!(!text.is_full());
    let guard = Guard::new(text, Arc::new(Redactor::new(&[])));
    for start in (0..learned.len() - 99).step_by(10_010) {
        assert!(guard.judge_query(&learned[start..start + 99]).is_err());
    }
    let questions = code(6 * 500, 2);
    let questions: Vec<&str> = questions
        .as_bytes()
        .chunks(66)
        .map(|q| std::str::from_utf8(q).unwrap())
        .collect();
    let refused = questions
        .iter()
        .filter(|question| guard.judge_query(question).is_err())
        .count();
    assert!(
        refused <= questions.len() / 50,
        "{refused} of {}",
        questions.len()
    );
}

#[test]
fn a_guard_with_too_much_text_says_so() {
    let mut text = RepositoryText::with_room(1 << 16);
    text.add(&code(30_000, 3));
    assert!(text.is_full());
}

proptest::proptest! {
    #[test]
    fn any_text_is_judged(text in "\\PC{0,300}") {
        let _ = query(&text);
        let _ = url(&text);
    }

    #[test]
    fn a_copied_sentence_is_found_wherever_it_stands(before in "[a-z ]{0,40}", after in "[a-z ]{0,40}") {
        let carried = format!("{before} last page may be shorter than the others {after}");
        proptest::prop_assert!(query(&carried).is_err());
    }
}
