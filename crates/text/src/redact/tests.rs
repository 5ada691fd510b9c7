//! Tests of redaction as people see it: what is removed, what replaces it, and what stays. Values are put together from
//! parts, so that no scanner takes this file for a leak.

mod own_secrets;
mod unknown_services;

use super::*;

fn clean(text: &str) -> String {
    Redactor::new([]).clean(text).into_owned()
}

/// Letters and digits as a generator of keys gives them.
const BODY: &str = "q7Zt0Xw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2Jc0Tu7Ea3Ri9Wo5Sx1Qz8Bv4Ck6Gl2Dj0Fy";
const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn body(length: usize) -> &'static str {
    &BODY[..length]
}

fn hex(length: usize) -> &'static str {
    &HEX[..length]
}

#[test]
fn no_commit_hash_is_taken_for_a_key() {
    for first in 0..=255_u8 {
        let commit = format!("{first:02x}{}", hex(38));
        let link = format!("At {commit}: https://github.com/octo/shop/blob/{commit}/src/a.ts");
        assert_eq!(clean(&link), link);
    }
    let key = format!("fc-{}", hex(32));
    assert_eq!(clean(&key), "fc-[redacted: API key]");
}

#[test]
fn tokens_of_github_go_in_every_form() {
    let jwt = format!("eyJ{}.eyJ{}.{}", body(40), BODY.repeat(6), BODY);
    for token in [
        format!("ghp_{}", body(36)),
        format!("gho_{}", body(36)),
        format!("ghu_{}", body(36)),
        format!("ghr_{BODY}"),
        format!("ghs_{}", body(36)),
        format!("ghs_1234567_{jwt}"),
        format!("github_pat_{}_{}", body(22), body(59)),
    ] {
        assert_eq!(
            clean(&format!("It prints {token}, always.")),
            "It prints [redacted: GitHub token], always."
        );
    }
}

#[test]
fn a_finding_about_a_committed_secret_keeps_its_kind_and_place() {
    let key = format!("AKIA{}", "Q3ZTB7WXLR5VNS2K");
    let finding =
        format!("`src/deploy.ts:12` commits `{key}`; rotate it and read it from the environment.");
    let cleaned = Redactor::new([]).clean_counted(&finding).counts;
    assert_eq!(
        clean(&finding),
        "`src/deploy.ts:12` commits `[redacted: AWS key]`; rotate it and read it from the environment."
    );
    assert_eq!(cleaned, BTreeMap::from([(SecretKind("AWS key"), 1)]));
    assert_eq!(SecretKind("AWS key").to_string(), "[redacted: AWS key]");
}

#[test]
fn private_keys_go_whole_wherever_their_lines_end() {
    let lines = [body(64), body(64), body(20)];
    for (between, begin) in [("\n", "RSA "), ("\\n", ""), ("\" +\n\"", "OPENSSH ")] {
        let key = |end: &str| {
            let body = lines.join(between);
            format!("x -----BEGIN {begin}PRIVATE KEY-----{between}{body}{between}{end}")
        };
        let closed = key(&format!("-----END {begin}PRIVATE KEY----- y"));
        assert_eq!(clean(&closed), "x [redacted: private key] y");
        let cut = clean(&key(""));
        assert!(cut.starts_with("x [redacted: private key]"), "{cut}");
        assert!(!cut.contains(body(16)), "{cut}");
    }
    let pgp = format!(
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        body(64)
    );
    assert_eq!(clean(&pgp), "[redacted: private key]");
    let mention =
        "It must start with -----BEGIN PRIVATE KEY----- and end with -----END PRIVATE KEY-----.";
    assert_eq!(clean(mention), mention);
}

#[test]
fn known_services_are_named() {
    let uuid = "c55dbac4-e0e8-4a06-b892-75cac2387ce5";
    for (secret, kind) in [
        (
            format!("eyJ{}.eyJ{}.{}", body(20), body(40), body(43)),
            "JSON web token",
        ),
        (format!("ASIA{}", "Q3ZTB7WXLR5VNS2K"), "AWS key"),
        (format!("sk-ant-{}-{}", "api03", body(50)), "Anthropic key"),
        (format!("sk-proj-{}", body(48)), "OpenAI key"),
        (format!("AIza{}", body(35)), "Google key"),
        (
            format!("xoxb-{}-{}", "893582989554", body(24)),
            "Slack token",
        ),
        (format!("npm_{}", body(36)), "npm token"),
        (format!("sk_live_{}", body(24)), "Stripe key"),
        (format!("glpat-{}", body(20)), "GitLab token"),
        (format!("pypi-{}", body(60)), "PyPI token"),
        (format!("hvs.{}{}", BODY, body(40)), "Vault token"),
        (format!("SG.{}.{}", body(22), body(43)), "SendGrid key"),
        (
            format!(
                "AGE-SECRET-KEY-1{}",
                "Q3ZTB7WXLR5VNS2K".repeat(4)[..58].to_owned()
            ),
            "private key",
        ),
        (format!("$2b$10${}", body(53)), "password hash"),
        (format!("px-api-{uuid}"), "API key"),
    ] {
        assert_eq!(
            clean(&format!("a {secret} b")),
            format!("a [redacted: {kind}] b"),
            "{secret}"
        );
    }
}

#[test]
fn a_service_that_nobody_told_us_of_is_known_by_the_shape_of_its_tokens() {
    for secret in [
        format!("newco_{}", body(36)),
        format!("zz-live-{}", body(40)),
        format!("acme_pat_v2_{}", body(32)),
    ] {
        let cleaned = clean(&format!("see {secret}."));
        assert!(!cleaned.contains(body(28)), "{cleaned}");
        assert!(cleaned.contains("[redacted: API key]"), "{cleaned}");
    }
}

#[test]
fn of_an_address_only_the_password_goes() {
    for (text, cleaned) in [
        (
            "postgres://app:s3cr3tpw@db.internal:5432/app",
            "postgres://app:[redacted: password]@db.internal:5432/app",
        ),
        (
            "mongodb+srv://u:p%40ssw0rd@c0.mongodb.net/x",
            "mongodb+srv://u:[redacted: password]@c0.mongodb.net/x",
        ),
        (
            "Server=db;User ID=sa;Password=Tr0ub4dor;Encrypt=True",
            "Server=db;User ID=sa;Password=[redacted: password];Encrypt=True",
        ),
        (
            "Password=Tr0ub4dor; Server=db",
            "Password=[redacted: password]; Server=db",
        ),
        (
            "machine api.example.org login dev password Tr0ub4dor",
            "machine api.example.org login dev password [redacted: password]",
        ),
        (
            "curl -s -u dev:Tr0ub4dor https://example.org",
            "curl -s -u dev:[redacted: password] https://example.org",
        ),
        (
            "<add key=\"MailPassword\" value=\"Tr0ub4dor\"/>",
            "<add key=\"MailPassword\" value=\"[redacted: password]\"/>",
        ),
        (
            "Authorization: Basic ZGV2OlRyMHViNGRvcg==",
            "Authorization: Basic [redacted: authorization]",
        ),
        (
            "arn:aws:iam::003084325827:role/deploy",
            "arn:aws:iam::[redacted: AWS account]:role/deploy",
        ),
    ] {
        assert_eq!(clean(text), cleaned);
    }
}

#[test]
fn the_word_beside_a_value_gives_it_away() {
    let key = body(24);
    for (text, kind) in [
        (format!("token = '{key}'"), "key or token"),
        (format!("\"api_key\": \"{key}\""), "key or token"),
        (format!("\\\"apiKey\\\":\\\"{key}\\\""), "key or token"),
        (format!("CLIENT_SECRET={key}"), "secret"),
        (format!("?access_token={key}&x=1"), "key or token"),
        (format!("env('SERVICE_TOKEN', '{key}')"), "key or token"),
        (format!("tool --api-key {key} run"), "key or token"),
        (format!("the token is `{key}` here"), "key or token"),
        (format!("<secret>{key}</secret>"), "secret"),
        (
            format!("variable \"x_token\" {{\n  default = \"{key}\""),
            "key or token",
        ),
        (format!("client_id: {}", hex(20)), "client id"),
        (format!("SECRET_KEY_BASE={}", hex(64)), "secret"),
        (format!("app.key = '{}'", hex(32)), "key or token"),
        (
            "HEROKU_API_KEY: c55dbac4-e0e8-4a06-b892-75cac2387ce5".into(),
            "key or token",
        ),
        (
            "AccountKey=q7Zt0Xw3+Lr9Vb5Ns1Kd/Yg4Pf6Hm2==".into(),
            "key or token",
        ),
        (
            "session_token: 'q7Zt0Xw3.Lr9Vb5Ns1Kd8Yg4Pf6'".into(),
            "key or token",
        ),
        ("DB_PASSWORD=Summer2024".into(), "password"),
        ("password: 'qx7wz9'".into(), "password"),
        ("DB_PASSWORD=qx7wz93k".into(), "password"),
        ("password: 'hunter2x'".into(), "password"),
        ("password = \"Prestige$\"".into(), "password"),
        ("passphrase: 'x9!aBcQ'".into(), "password"),
        ("secret: \"winter#harvest\"".into(), "secret"),
        ("jwt_secret: '7`D\"}/vYR)T;W5]EBrf;_&k>qX'".into(), "secret"),
    ] {
        let cleaned = Redactor::new([]).clean_counted(&text);
        assert_eq!(
            cleaned.counts,
            BTreeMap::from([(SecretKind(kind), 1)]),
            "{text}"
        );
        assert!(!cleaned.text.contains(&key[..12]), "{}", cleaned.text);
    }
    assert_eq!(
        clean(&format!("token = '{key}';")),
        "token = '[redacted: key or token]';"
    );
    assert_eq!(
        clean("password: 'hunter2x' # dev"),
        "password: '[redacted: password]' # dev"
    );
    assert_eq!(
        clean(&format!("SECRET={key}\nB=1")),
        "SECRET=[redacted: secret]\nB=1"
    );
}

#[test]
fn the_key_of_an_entry_goes_only_where_it_can_be_nothing_but_a_secret() {
    let assigned = |value: &str| format!("row_key = {value}");
    assert_eq!(
        clean(&assigned(body(40))),
        assigned("[redacted: key or token]")
    );
    for name in [body(20), "6f1c2b9e-3d47-4a58-9c0e-1b2d3e4f5a6b"] {
        assert_eq!(clean(&assigned(name)), assigned(name));
    }
}

#[test]
fn what_is_no_secret_stays() {
    let sha512 = "integrity sha512-q7Zt0Xw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2Jc0Tu7Ea3Ri9Wo5Sx1Qz8Bv4Ck6Gl2Dj0Fyq7Zt0Xw3Lr9Vb5Ns1Kd8Yg==";
    let documentation = format!("AKIA{}", "IOSFODNN7EXAMPLE");
    for text in [
        "Commit 4c497faa0c55ad015a3bf4f1b2b0b822cd15d6c1 broke it.",
        "request c55dbac4-e0e8-4a06-b892-75cac2387ce5 failed",
        "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
        "resolved https://r.example.org/a-1.2.4.tgz#3b335d612137949d2f21fcc6c8c8164db7603227",
        sha512,
        &documentation,
        "token: <your-token>",
        "password = 'changeme'",
        "password: 'qx7w9'",
        "password: ${{ secrets.DB_PASSWORD }}",
        "const token = process.env.GITHUB_TOKEN2;",
        "api_key = 'xxxxxxxxxxxxxxxxxxxxxxxx'",
        "api_key = 'a1b2c3d4e5f6g7h8i9j0'",
        "secret = '0123456789abcdef0123456789abcdef'",
        "let token = parser.nextToken2();",
        "The token parseUtf8FromV2HeaderLine is unused.",
        "token: parseUtf8FromV2HeaderLine",
        "password: getUser2Password(id)",
        "password = config2.password",
        "Pass 3: security, pass: 4 of 4",
        "passwordLabel:\"Password:\",rememberMeLabel:\"Remember me:\"",
        "postgres://user:password@localhost/db and postgres://$USER:$PASS@host/db",
        "std::sync::LazyLock and https://example.org:8080/a@b",
        "The key is hashed before the lookup; the secret is rotated.",
        "cache_key = user_id + ':' + page",
        "chunk-q7Zt0Xw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2Jc0 and index-q7Zt0Xw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2Jc0",
        "Bearer tokens are checked; `Authorization: Bearer <token>`",
        "ADMIN_FINE_GRAINED_AUTHZ_V2 and s.getServerAddressByClientCIDRs(req)",
        "",
    ] {
        let cleaned = Redactor::new([]).clean_counted(text);
        assert_eq!(cleaned.text, text);
        assert!(matches!(cleaned.text, Cow::Borrowed(_)), "{text}");
        assert_eq!(cleaned.counts, BTreeMap::new());
    }
}

#[test]
fn hostile_lengths_are_passed_over_once() {
    // Sizes at which anything worse than linear would not end.
    for (unit, whole) in [
        ("a", None),
        ("eyJ", Some("[redacted: token]")),
        ("-----BEGIN PRIVATE KEY-----", None),
        ("token=", None),
        ("password: '", None),
        ("password=", None),
        ("\"password\":\"", None),
        ("secret ", None),
        ("https://", None),
        ("ghs_1_eyJ", Some("[redacted: GitHub token]")),
        ("sk-", None),
        ("a://b:", None),
        ("%25", None),
        ("\\u{", None),
        ("api key ", None),
        ("_key = q7", None),
        ("key is (", None),
        ("acme_live_", None),
        ("12|", None),
        ("name: token value ", None),
        ("token acmeacmeacmeacmeacme ", None),
    ] {
        let text = unit.repeat(20_000 / unit.len());
        assert_eq!(clean(&text), whole.unwrap_or(&text), "{unit}");
    }
}
