//! The run's own secrets, in every encoding that a hostile text may ask for. Separate from other secrets, because of
//! these nothing may be left.

use super::super::*;
use crate::forms::FORMS;
use proptest::prelude::*;

fn redactor(secrets: &[&str]) -> Redactor {
    let secrets: Vec<SecretString> = secrets.iter().map(|&secret| secret.into()).collect();
    Redactor::new(&secrets)
}

fn clean(secret: &str, text: &str) -> String {
    redactor(&[secret]).clean(text).into_owned()
}

const KEY: &str = "mk-Q7zt0Xw3_Lr9Vb5Ns1Kd8/Yg4Pf6+Hm2Jc0";

fn each(text: &str, form: impl Fn(char) -> String) -> String {
    text.chars().map(form).collect()
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

#[test]
fn every_encoding_of_a_secret_is_gone() {
    for (name, form) in FORMS {
        let form = form(KEY);
        let cleaned = clean(KEY, &format!("before {form} after"));
        let left = cleaned.replace("[redacted: secret of this run]", "#");
        assert!(
            left.starts_with("before ") && left.ends_with(" after"),
            "{name}: {left}"
        );
        assert!(left.contains('#') && left.len() <= 26, "{name}: {left}");
    }
}

#[test]
fn the_replacement_says_whose_secret_it_was() {
    let cleaned = redactor(&[KEY, "other-5ecret-value"]);
    let cleaned =
        cleaned.clean_counted("a mk-Q7zt0Xw3_Lr9Vb5Ns1Kd8/Yg4Pf6+Hm2Jc0 b other-5ecret-value c");
    assert_eq!(
        cleaned.text,
        "a [redacted: secret of this run] b [redacted: secret of this run] c"
    );
    assert_eq!(cleaned.counts, BTreeMap::from([(SecretKind::OWN, 2)]));
    assert_eq!(
        SecretKind::OWN.to_string(),
        "[redacted: secret of this run]"
    );
}

#[test]
fn a_run_secret_is_called_so_even_where_its_shape_is_known() {
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    assert_eq!(
        clean(&token, &format!("token = '{token}'")),
        "token = '[redacted: secret of this run]'"
    );
}

#[test]
fn cutting_its_ends_does_not_hide_a_secret() {
    for cut in 1..=7 {
        for part in [
            &KEY[cut..],
            &KEY[..KEY.len() - cut],
            &KEY[cut..KEY.len() - cut],
        ] {
            assert_eq!(
                clean(KEY, &format!("<{part}>")),
                "<[redacted: secret of this run]>"
            );
        }
    }
    let short = "q7Zt0Xw3Lr9Vb5";
    assert_eq!(clean(short, &short[..8]), "[redacted: secret of this run]");
    assert_eq!(clean(short, &short[..7]), &short[..7]);
    assert_eq!(
        clean(KEY, "mk-Q7zt0Xw3_Lr9V"),
        "[redacted: secret of this run]",
        "sixteen"
    );
    assert_eq!(clean(KEY, "mk-Q7zt0Xw3_Lr9"), "mk-Q7zt0Xw3_Lr9", "fifteen");
}

#[test]
fn words_of_a_passphrase_may_be_said() {
    let phrase = "correct horse battery staple wins";
    for text in ["The horse battery stap", "correct horse battery"] {
        assert_eq!(
            clean(phrase, text),
            text.replace("correct horse battery", "[redacted: secret of this run]")
        );
    }
    assert_eq!(clean(phrase, "the horse battery"), "the horse battery");
    assert_eq!(
        clean(phrase, &format!("it is {phrase}!")),
        "it is [redacted: secret of this run]!"
    );
}

#[test]
fn a_secret_of_symbols_is_found_as_well() {
    let secret = "§!$%&/()=?`´#";
    for form in [
        secret.to_owned(),
        each(secret, |c| format!("{c} ")),
        backwards(secret),
    ] {
        let cleaned = clean(secret, &format!("x {form} y"));
        assert!(
            !cleaned.contains("()") && !cleaned.contains(")("),
            "{cleaned}"
        );
        assert!(
            cleaned.contains("[redacted: secret of this run]"),
            "{cleaned}"
        );
    }
}

#[test]
fn short_and_common_values_are_not_masked() {
    for (secret, text) in [
        ("abc12", "abc12 is a version"),
        ("true", "this is true"),
        ("github", "see github"),
        ("GitHub", "see github"),
        ("production", "in production"),
        ("aaaaaaaa", "aaaaaaaaaaaa"),
        ("", "nothing"),
        ("      ", "a        b"),
    ] {
        assert_eq!(clean(secret, text), text);
    }
    assert_eq!(
        clean("abc123", "abc123 is one"),
        "[redacted: secret of this run] is one"
    );
    assert_eq!(
        clean(" abc123\n", "abc123"),
        "[redacted: secret of this run]"
    );
}

#[test]
fn text_that_comes_together_again_is_not_kept() {
    let secret = "runQ7x2k";
    let hostile = format!("{secret}{}", "Q7x2k".repeat(20));
    let cleaned = redactor(&[secret]).clean_counted(&hostile);
    assert_eq!(cleaned.text, "[redacted: text that hides secrets]");
    assert_eq!(cleaned.counts[&SecretKind::ENTANGLED], 1);
    assert_eq!(clean(secret, &cleaned.text), cleaned.text);
}

#[test]
fn a_redactor_does_not_show_what_it_knows() {
    assert_eq!(format!("{:?}", redactor(&[KEY])), "Redactor(***)");
}

#[test]
fn a_text_full_of_the_secret_is_passed_over_once() {
    let text = KEY.repeat(1_000);
    assert_eq!(clean(KEY, &text), "[redacted: secret of this run]");
    let seeds = KEY[..12].repeat(5_000);
    assert!(clean(KEY, &seeds).len() <= seeds.len() * 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_telling_part_of_a_secret_is_gone(
        secret in "[A-Z][A-Za-z0-9]{30,60}[0-9]",
        from in 0_usize..16,
        length in 16_usize..30,
    ) {
        let end = secret.len().min(from + length);
        let part = &secret[from..end];
        prop_assume!(part.len() >= 16);
        let cleaned = clean(&secret, &format!("({part})"));
        prop_assert_eq!(cleaned, "([redacted: secret of this run])");
    }
}
