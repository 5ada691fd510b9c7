//! Tests of the masks: the parts of files with secrets that are shown, and those that never are.

use super::super::tests::file;
use super::*;
use crate::domain::{Anchor, Side};
use proptest::prelude::*;

#[test]
fn the_names_of_secrets_are_known_and_examples_are_not_secrets() {
    for path in [
        ".env",
        "web/.ENV",
        ".env.local",
        ".env.production",
        ".env-prod",
        "deploy/prod.env",
        ".envrc",
        ".dev.vars",
        ".pypirc",
    ] {
        assert_eq!(Mask::from_path(path), Some(Mask::Values), "{path}");
    }
    for path in [
        ".netrc",
        "certs/server.pem",
        "certs/server.key",
        "android/release.keystore",
        "keys/id_rsa",
        "keys/id_ed25519.bak",
        "home/.aws/credentials",
        ".docker/config.json",
        "credentials.json",
        "infra/terraform.tfstate",
        ".git-credentials",
    ] {
        assert_eq!(Mask::from_path(path), Some(Mask::Lines), "{path}");
    }
    for path in [
        ".env.example",
        ".env.local.sample",
        ".env.dist",
        "example.env",
        ".env.template",
        ".env.d.ts",
        ".npmrc",
        "keys/id_rsa.pub",
        "src/env.ts",
        ".env/bin/python",
        "environment",
        "config.json",
        "src/credentials.ts",
        "docs/.aws/credentials.md",
        "monkey",
    ] {
        assert_eq!(Mask::from_path(path), None, "{path}");
    }
}

#[test]
fn keys_and_the_shape_stay_and_values_go() {
    let text = "# Database of the shop, password hunter2\n\
                DB_HOST=db.internal\n\
                export DB_PASSWORD='s3cr3t # not a comment'\n\
                \n\
                \tindented_key = value  # trailing words\n\
                yaml_key: value\n\
                #API_KEY=sk-live-1\r\n\
                CRLF_KEY=secret\r\n\
                EMPTY_KEY=\n\
                ##\n\
                SPACED =\tx\n\
                NO_NEWLINE=at-the-end";
    let shown = "# ***\n\
                 DB_HOST=***\n\
                 export DB_PASSWORD=***\n\
                 \n\
                 \tindented_key = ***\n\
                 yaml_key: ***\n\
                 # ***\r\n\
                 CRLF_KEY=***\r\n\
                 EMPTY_KEY=\n\
                 ##\n\
                 SPACED =\t***\n\
                 NO_NEWLINE=***";
    assert_eq!(Mask::Values.text(text), shown);
}

#[test]
fn a_value_of_many_lines_is_hidden_in_each_of_them() {
    let text = "PRIVATE_KEY=\"-----BEGIN RSA PRIVATE KEY-----\n\
                MIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/x\n\
                AbCdEf0123456789==\n\
                JBSWY3DPEHPK3PXP=\n\
                AQAB=\n\
                -----END RSA PRIVATE KEY-----\"\n\
                JSON='{\n  \"token\": \"abc\",\n  token: abc\n}'\n\
                just words\n\
                user:password\n\
                https://dev:password@host/x?y=z\n\
                - LIST_KEY=value\n\
                export NAKED\n\
                Sk9vZ4bQ7=tail\n\
                AKIA\u{fffd}\u{0}KEY=x";
    let shown = Mask::Values.text(text);
    assert_eq!(
        shown,
        "PRIVATE_KEY=***\n***\n***\n***\n***\n***\nJSON=***\n  ***\n  token: ***\n***\n***\n***\n***\n***\n***\n***\n***"
    );
}

#[test]
fn of_a_key_file_only_the_armour_is_shown_because_it_says_what_was_committed() {
    let text = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nsome_words=\n-----END OPENSSH PRIVATE KEY-----\n";
    assert_eq!(
        Mask::Lines.text(text),
        "-----BEGIN OPENSSH PRIVATE KEY-----\n***\n***\n-----END OPENSSH PRIVATE KEY-----\n"
    );
    assert_eq!(
        Mask::Lines.text("machine host login dev password x\n\n-----BEGIN HUNTER2-----"),
        "***\n\n***"
    );
}

/// The change of an `.env` file: a context line, a value replaced, a value added.
fn diff() -> FileDiff {
    let mut diff = file(
        "@@ -3,2 +3,3 @@ SECTION_KEY=section-secret\n KEPT_KEY=kept-secret\n-API_KEY=old-secret\n+API_KEY=new-secret\n+OTHER_KEY=other-secret\n",
    );
    diff.path = ".env".to_owned();
    diff
}

#[test]
fn a_diff_shows_no_value_on_either_side_and_keeps_its_lines() {
    let masked = diff().masked();
    let shown = masked.numbered();
    assert!(!shown.contains("secret"), "{shown}");
    assert!(
        shown.ends_with(
            "@@\n 3   KEPT_KEY=***\n(4)- API_KEY=***\n 4 + API_KEY=***\n 5 + OTHER_KEY=***\n"
        ),
        "{shown}"
    );
    assert_eq!(
        masked.commentable(Side::Right),
        diff().commentable(Side::Right)
    );
}

#[test]
fn the_model_quotes_what_it_saw_and_the_anchor_is_found() {
    let masked = diff().masked();
    let at = |side, line| Anchor::Line {
        side,
        start: None,
        line,
    };
    assert_eq!(
        masked.resolve(None, Some("API_KEY=***")),
        Ok(at(Side::Right, 4))
    );
    assert_eq!(
        masked.resolve(None, Some("- API_KEY=***")),
        Ok(at(Side::Left, 4))
    );
    assert!(masked.resolve(None, Some("new-secret")).is_err());
    let again = diff().masked();
    let anchor = at(Side::Right, 5);
    assert_eq!(masked.anchor_hash(anchor), again.anchor_hash(anchor));
    assert!(again.holds(&masked.anchor_hash(anchor)));
}

#[test]
fn the_old_name_hides_what_was_there_and_the_new_name_what_is_added() {
    for (path, previous, mask) in [
        ("settings.txt", Some(".env"), Some(Mask::Values)),
        (".env", Some("settings.txt"), Some(Mask::Values)),
        (".env", Some("server.key"), Some(Mask::Lines)),
        ("server.key", Some("notes.txt"), Some(Mask::Lines)),
        ("settings.txt", Some("notes.txt"), None),
        ("settings.js", Some(".env"), None),
        (".env.js", None, None),
    ] {
        let mut diff = diff();
        diff.path = path.to_owned();
        diff.previous_path = previous.map(str::to_owned);
        assert_eq!(diff.mask(), mask, "{path}");
        let shown = diff.masked().numbered();
        let hides = |name: &str| Mask::from_path(name).is_some();
        assert_eq!(shown.contains("new-secret"), !hides(path), "{path}");
        let before = previous.unwrap_or(path);
        for text in ["old-secret", "kept-secret"] {
            assert_eq!(shown.contains(text), !hides(before), "{path}: {text}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_the_value_is_it_is_hidden(
        key in "[A-Z]{1,8}_[A-Z]{1,8}",
        space in "[ \t]{0,2}",
        value in "[^\n\r \t][^\n]{0,40}",
    ) {
        let line = format!("{key}{space}={space}{value}");
        let shown = Mask::Values.text(&line);
        let end = if value.ends_with('\r') { "\r" } else { "" };
        prop_assert_eq!(shown, format!("{key}{space}={space}***{end}"));
    }

    #[test]
    fn any_text_keeps_its_lines_and_shows_nothing_else(text in "(?s)([-A-Za-z0-9_=:# '\"\r\n\t+/.]|.){0,120}") {
        let shape = regex::Regex::new(
            r"^[ \t]*(#+( \*{3})?|(export[ \t]+)?[A-Za-z_][A-Za-z0-9_.-]{0,63}[ \t]*[=:][ \t]*(\*{3})?|\*{3}|-----[A-Z0-9 ]+-----)?\r?$",
        ).unwrap();
        for mask in [Mask::Values, Mask::Lines] {
            let shown = mask.text(&text);
            prop_assert_eq!(shown.split('\n').count(), text.split('\n').count());
            prop_assert_eq!(mask.text(&shown), shown.clone(), "masked twice is masked once");
            for line in shown.split('\n') {
                prop_assert!(shape.is_match(line), "{line:?}");
            }
        }
    }

    #[test]
    fn base64_and_base32_without_a_key_never_pass(
        bytes in proptest::collection::vec(any::<u8>(), 3..48),
    ) {
        for text in [
            data_encoding::BASE64.encode(&bytes),
            data_encoding::BASE32.encode(&bytes),
        ] {
            prop_assert_eq!(Mask::Values.text(&text), "***");
        }
    }
}
