//! Secrets that are known by their own shape: a table, a line each. Separate from the words beside a secret, because
//! these need none.

use super::judge;
use super::{Hit, SecretKind, Source};
use regex::Regex;
use std::sync::LazyLock;

/// A condition on a match beyond its shape.
#[derive(Clone, Copy)]
enum Ask {
    /// The shape says it all; only values of documentation are left.
    Known,
    /// The group `v` must look random as well.
    Random,
    /// It must, in capitals and small letters.
    Mixed,
    /// The group `v` must have the length of a key, and not be a digest by name.
    Hexadecimal,
    /// The group `v` must be in disorder, however short.
    Disordered,
    /// The match must be the whole of a key.
    KeyBody,
    /// The group `v` must not stand for something else.
    NoPlaceholder,
}

/// Kind, pattern, and what is asked. Where there is a group `v`, only that is replaced. Every repetition is greedy or
/// ends at a literal, so that each search passes over the text once.
#[rustfmt::skip]
const TABLE: &[(&str, &str, Ask)] = &[
    // GitHub's tokens first: they are what a workflow holds. Installation tokens carry a JSON web token since 2026.
    ("GitHub token", r"gh[pousr]_(?:\d+_eyJ[\w-]+(?:\.[\w-]+){0,2}|[A-Za-z0-9]{30,})|github_pat_\w{30,}", Ask::Known),
    ("private key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----", Ask::KeyBody),
    ("private key", r#"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[\s"'+,>]|\\[nr])*[A-Za-z0-9+/=]{16,})+"#, Ask::KeyBody),
    ("private key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b", Ask::Known),
    ("JSON web token", r"\beyJ[\w-]{10,}=*\.[\w-]{10,}=*(?:\.[\w-]*)?", Ask::Known),
    // An opaque token that is JSON in base64.
    ("token", r"\beyJ[A-Za-z0-9_-]{60,}=*", Ask::Known),
    ("AWS key", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", Ask::Known),
    ("AWS secret key", r#"(?i)aws[_-]?(?:secret)?[_-]?(?:access)?[_-]?key["']?\s*(?::|=>|=|,)\s*["']?(?P<v>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#, Ask::Known),
    ("AWS secret key", r#"\b(?:A3T[A-Z0-9]|AKIA|ASIA)[A-Z0-9]{16}[\s"',:;|]{1,20}(?P<v>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#, Ask::Known),
    ("AWS account", r"\barn:aws[\w-]*:[\w-]+:[\w-]*:(?P<v>\d{12}):", Ask::Known),
    ("password", r#"(?i)\b[a-z][a-z0-9+.-]*://[^\s:/@"'`<>]*:(?P<v>[^\s/@"'`<>]+)@[\w\[]"#, Ask::NoPlaceholder),
    ("password", r#"(?i);[ ]?(?:password|pwd)=(?P<v>[^;"'\s{}]{4,})"#, Ask::NoPlaceholder),
    ("password", r#"(?i)\b(?:password|pwd)=(?P<v>[^;"'\s{}]{4,});[ ]?[a-z]"#, Ask::NoPlaceholder),
    ("password", r"(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<v>\S+)", Ask::NoPlaceholder),
    ("password", r#"(?i)<add\s+key="[^"]*(?:password|secret|token|apikey)[^"]*"\s+value="(?P<v>[^"]{6,})""#, Ask::NoPlaceholder),
    ("password", r#"\bcurl(?:\s[^\n]*?)?\s(?:-u|--user)[\s=]+["']?[^\s:"']+:(?P<v>[^\s"']{6,})"#, Ask::NoPlaceholder),
    ("password", r#"\s(?:-u|--user(?:name)?|--login|--auth)[\s=]+["']?[^\s:"'/]+:(?P<v>[\w-]{10,})"#, Ask::Disordered),
    ("password hash", r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|\$[156]\$[^$\s]{1,16}\$[./A-Za-z0-9]{22,86}|\$argon2(?:id|i|d)\$[^\s]{40,}|\$krb5\w*\$[^\s]{40,}", Ask::Known),
    ("authorization", r#"(?i)\bauthorization["'`]?\s*[:=,]\s*["'`]?(?:basic|digest|apikey|ssws|token)\s+(?P<v>[\w.~+/=:-]{8,})"#, Ask::NoPlaceholder),
    ("authorization", r#"(?i)\bauthorization["'`]?\s*[:=,]\s*["'`]?(?P<v>[\w-]{20,})"#, Ask::Random),
    ("bearer token", r"(?i)\bbearer\s+(?P<v>[\w.~+/=-]*\d[\w.~+/=-]*)", Ask::NoPlaceholder),
    // Services whose tokens start with a name, a word or a letter of theirs.
    ("Anthropic key", r"\bsk-ant-[\w-]{20,}", Ask::Known),
    ("OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9][\w-]{19,}", Ask::Random),
    ("Google key", r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}|\b1//0[\w-]{30,}", Ask::Known),
    ("Google client id", r"\b\d+-[a-z0-9]{32}\.apps\.googleusercontent\.com", Ask::Known),
    ("Slack token", r"\bxox[a-z](?:\.xox[a-z])?-[\w-]{10,}|\bxapp-[\w/-]{10,}", Ask::Known),
    ("webhook", r"\bhooks\.slack\.com/(?:services|workflows)/(?P<v>[\w/]{20,})", Ask::Known),
    ("webhook", r"\bdiscord(?:app)?\.com/api/webhooks/\d+/(?P<v>[\w-]{20,})", Ask::Known),
    ("webhook", r"\.office\.com/webhook[\w/]*/(?P<v>[\w@-]{30,}/IncomingWebhook/[\w/-]{20,})", Ask::Known),
    ("Stripe key", r"\b(?:[sr]k|whsec)_(?:live_|test_)?[A-Za-z0-9]{20,}", Ask::Known),
    ("GitLab token", r"\bgl[a-z]{2,6}-[\w-]{20,}|\bGR1348941[\w-]{20,}", Ask::Known),
    ("npm token", r"\bnpm_[A-Za-z0-9]{30,}", Ask::Known),
    ("crates.io token", r"\bcio[A-Za-z0-9]{32}\b", Ask::Mixed),
    ("registry login", r#""auth"\s*:\s*"(?P<v>[A-Za-z0-9+/]{16,}=*)""#, Ask::Known),
    ("signature", r"[?&]sig=(?P<v>[A-Za-z0-9%/+=]{30,})", Ask::Known),
    ("PyPI token", r"\bpypi-[\w-]{50,}", Ask::Known),
    ("NuGet key", r"\boy2[a-z0-9]{43}\b", Ask::Known),
    ("Azure token", r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b", Ask::Known),
    ("Vault token", r"\bhv[sbr]\.[\w-]{90,}", Ask::Known),
    ("Vault token", r"\b[sbr]\.(?P<v>[A-Za-z0-9]{24})\b", Ask::Random),
    ("Atlassian token", r"\bAT[A-Z]TT3[\w=-]{50,}|\bATBB[A-Za-z0-9]{28,}", Ask::Known),
    ("Artifactory key", r"\bAKC[A-Za-z0-9]{60,}", Ask::Known),
    ("New Relic key", r"\bNR(?:AK|AA|II|IQ|RA|JS|BR|MA)-[\w-]{18,}|\b(?:[a-z]{2}\d\dxx)?[0-9a-f]{30,36}NRAL\b", Ask::Known),
    ("Okta token", r#"(?i)(?:\bssws\s+|okta[\w-]*["']?\s*(?:[:=]|\{\s*default\s*=)\s*["']?)(?P<v>00[\w-]{39}\w)(?:[^\w-]|$)"#, Ask::Known),
    ("SendGrid key", r"\bSG\.[\w-]{16,}\.[\w-]{30,}", Ask::Known),
    ("Twilio key", r"\bSK[0-9a-f]{32}\b", Ask::Known),
    ("Mailchimp key", r"\b[0-9a-f]{32}-us\d{1,2}\b", Ask::Known),
    ("Mailgun key", r"\bkey-[0-9a-f]{32}\b", Ask::Known),
    ("Telegram token", r"\b\d{8,10}:AA[\w-]{32,}", Ask::Known),
    ("Facebook token", r"\bEAA[A-Za-z0-9]{60,}", Ask::Known),
    ("Dropbox token", r"\bsl\.[\w-]{60,}", Ask::Known),
    ("Salesforce token", r"\b00D[A-Za-z0-9]{9,15}![\w.]{60,}", Ask::Known),
    ("Square token", r"\bsq0[a-z]{3}-[\w-]{20,}", Ask::Known),
    ("Twitch key", r"\blive_\d{5,}_[A-Za-z0-9]{30}\b", Ask::Known),
    ("Amazon token", r"\bamzn\.mws\.[0-9a-f-]{36}", Ask::Known),
    ("Django key", r#"['"](?P<v>django-insecure-[^'"\s]{20,})['"]"#, Ask::Known),
    ("Auth0 tenant", r"\b(?P<v>[a-z0-9-]+)\.(?:us|eu|au|jp)\.auth0\.com", Ask::Known),
    ("device token", r"\bthingsboard\.[\w.]+/api/v\d/(?P<v>[a-z0-9]{20})/", Ask::Known),
    ("API key", r"\b\d{1,4}-[A-Za-z0-9]{64}\b", Ask::Known),
    // Any service: a name, one or two short words, and a long body. Hexadecimal needs a name that is known not to be
    // that of a digest or of a build.
    ("API key", r"\b(?:(?:dop_v1|doo_v1|dor_v1|dapi|shp[a-z]{2}|sgp(?:_local|_[0-9a-f]{16})?|glptt|rubygems|sq[apu]|oauth|secret|key|api|token|sk|pk)[_-]?|fc[_-])(?P<v>[0-9a-fA-F]{32,}(?:-\d)?)\b", Ask::Known),
    ("API key", r"\bda2-[0-9a-z]{26}\b|\bpx-(?:api|dep)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\boa2-client-id_[\w-]{32}|\bhf_[A-Za-z0-9]{30,}|\bdp\.[a-z]+\.(?:[\w-]+\.)?[A-Za-z0-9]{40,}", Ask::Known),
    ("API key", r"\b(?P<p>[a-z]{2,9})(?:_[a-z0-9]{1,8})?_(?P<v>[0-9a-f]{32,64})\b", Ask::Hexadecimal),
    ("API key", r"\b(?P<p>[a-z][a-z0-9]{1,9}|[A-Z][A-Z0-9]{1,9})(?:[_-][a-z0-9]{1,8}){0,2}[_-](?P<v>[A-Za-z0-9]{26,}(?:[_-][A-Za-z0-9]{8,})*)", Ask::Random),
    ("API key", r"\b(?P<p>[a-z][a-z0-9]{1,9}|[A-Z][A-Z0-9]{1,9})(?:[_-][a-z0-9]{1,8}){0,2}[_-](?P<v>[\w-]{36,})", Ask::Mixed),
    ("API key", r"\b(?P<p>[a-z][a-z0-9]{1,9})(?:\.[a-z0-9]{1,8}){0,2}\.(?P<v>[\w-]{40,})", Ask::Mixed),
    ("API key", r"\b(?P<p>[a-z][a-z0-9]{1,9})\.(?P<v>[\w-]{20,}\.[\w-]{20,})", Ask::Random),
    ("API key", r"\b(?P<p>[A-Z][A-Za-z0-9]{1,9})\.(?P<v>[\w-]{20,}\.[\w-]{20,})", Ask::Random),
    ("API key", r"\b(?P<p>[A-Z]{2,8})[_-](?P<v>[0-9a-f]{24,64})\b", Ask::Known),
    ("API key", r"\b(?P<p>[a-z]{2,6}|[A-Z]{2,6})(?P<v>[0-9a-f]{32})\b", Ask::Hexadecimal),
    // The word between a name and a short body says that it is a key.
    ("API key", r"\b[A-Za-z][A-Za-z0-9]{0,11}[_-](?:live|test|prod|sandbox|pat|secret|sec|key|api|token|tkn|sk|pk|access|refresh|oauth|auth|app|bot|user|admin|svc|personal)[_-](?P<v>[A-Za-z0-9]{16,})", Ask::Random),
    // The number of an account or a key, and its secret.
    ("API key", r"\b\d{1,16}[:|-](?P<v>[\w-]{30,})", Ask::Mixed),
];

struct Shape {
    kind: SecretKind,
    regex: Regex,
    ask: Ask,
}

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let shape = |&(kind, pattern, ask): &(&'static str, &str, Ask)| Shape {
        kind: SecretKind(kind),
        regex: compiled(pattern),
        ask,
    };
    TABLE.iter().map(shape).collect()
});

/// Boundaries and classes of ASCII: those of Unicode cannot be searched for in one pass.
#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, and every test compiles them all"
)]
pub(super) fn compiled(pattern: &str) -> Regex {
    let ascii = pattern
        .replace(r"\b", r"(?-u:\b)")
        .replace(r"\w", "[0-9A-Za-z_]")
        .replace(r"\d", "[0-9]");
    Regex::new(&ascii).expect("a pattern of this table")
}

/// Adds every secret that its shape gives away.
pub(super) fn find(text: &str, hits: &mut Vec<Hit>) {
    // Nearly no text has any of them, and to ask whether it has one is far cheaper than to ask for its groups.
    for shape in SHAPES.iter().filter(|shape| shape.regex.is_match(text)) {
        for captures in shape.regex.captures_iter(text) {
            let Some(whole) = captures.get(0) else {
                continue;
            };
            let value = captures.name("v").unwrap_or(whole);
            let name = captures.name("p").map_or("", |name| name.as_str());
            let rest = &text[value.end()..];
            if shape.ask.holds(value.as_str(), name, rest) {
                hits.push(Hit {
                    span: value.range(),
                    kind: shape.kind,
                    source: Source::Shape,
                });
            }
        }
    }
}

impl Ask {
    fn holds(self, value: &str, name: &str, rest: &str) -> bool {
        match self {
            Self::Known => !judge::documented(value),
            Self::Random => of_its_own(value, name, rest) && judge::random(&value.replace('.', "")),
            Self::Mixed => of_its_own(value, name, rest) && judge::mixed(value),
            Self::Hexadecimal => of_its_own(value, name, rest) && judge::hexadecimal(value),
            Self::Disordered => {
                !judge::placeholder(value) && (judge::disordered(value) || judge::random(value))
            }
            Self::KeyBody => key_body(value),
            Self::NoPlaceholder => {
                !judge::placeholder(value) && !value.starts_with(['$', '{', '%', '[', '*', '&'])
            }
        }
    }
}

/// True if it is neither the digest of something nor a part of something longer.
fn of_its_own(value: &str, name: &str, rest: &str) -> bool {
    !judge::digest(name) && !goes_on(rest) && !judge::placeholder(value)
}

/// True if the rest makes a path, a digest, a call or a member of it.
pub(super) fn goes_on(rest: &str) -> bool {
    let member = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    rest.starts_with(['+', '/', '=', '(']) || rest.strip_prefix('.').is_some_and(member)
}

/// A mention of both lines of a key in one sentence has no body between them.
fn key_body(block: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    block.split(|c| !letter(c)).any(|run| run.len() >= 24)
}
