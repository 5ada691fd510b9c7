//! `serve agents`, `serve tokens` and `serve check`, with the built binary and the stand-in for GitHub.

use crate::standin::github::webhooks::{HookConfig, RepositoryHook, Webhooks};
use crate::standin::github::{Change, GitHub, Identity};
use reviewer_core::event::webhook::{EVENTS, PERMISSIONS};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const MASTER_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// A folder with a configuration.
struct Place {
    folder: TempDir,
    github: GitHub,
}

/// The end of a command.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    /// With these lines, and the addresses of the stand-in below `github`.
    fn new(github: GitHub, of_github: &str, lines: &str) -> Self {
        let place = Self {
            folder: TempDir::new().unwrap(),
            github,
        };
        let url = place.github.url();
        let config = format!(
            "github:\n  api_url: {url}/api/v3\n  graphql_url: {url}/api/graphql\n{of_github}webhook_secret_env: WEBHOOK_SECRET\nmodel: a/b\n{lines}"
        );
        place.write("service.yml", &config);
        place.write("master.key", MASTER_KEY);
        place
    }

    fn personal(github: GitHub) -> Self {
        let lines = "repositories: [octo/shop]\nmaster_key_file: master.key\nagents: [{ name: quality, login: octo-quality }]\n";
        Self::new(github, "  account: quality\n", lines)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn run(&self, arguments: &str, input: &str) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opencode-reviewer"));
        command
            .arg("serve")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .env("WEBHOOK_SECRET", "a webhook secret")
            .env("OPENCODE_REVIEWER_TIME_SCALE", "0.001")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that reads no input may have closed it.
        let _written = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that succeeds, and returns its output.
    fn done(&self, arguments: &str, input: &str) -> String {
        let ended = self.run(arguments, input);
        assert_eq!(
            ended.code, 0,
            "{arguments}: {}{}",
            ended.stdout, ended.stderr
        );
        ended.stdout
    }

    /// Runs a command that fails, and returns what it says about it.
    fn refused(&self, arguments: &str, input: &str) -> String {
        let ended = self.run(arguments, input);
        assert_eq!(
            ended.code, 2,
            "{arguments}: {}{}",
            ended.stdout, ended.stderr
        );
        ended.stdout + &ended.stderr
    }

    /// Every byte of the store.
    fn store(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let is_store = |path: &std::path::PathBuf| name(path).starts_with("opencode-reviewer.db");
        let stored = files
            .filter(is_store)
            .map(|path| std::fs::read(path).unwrap());
        let stored = stored.collect::<Vec<_>>().concat();
        assert!(!stored.is_empty());
        stored
    }
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

#[test]
fn a_token_of_the_api_is_printed_once_and_stored_as_a_hash() {
    let place = Place::personal(GitHub::start("octo/shop"));
    assert_eq!(place.done("tokens list", ""), "No tokens.\n");
    let first = place.done("tokens add dash --role read", "");
    assert!(
        first.starts_with("ocr_") && first.trim().len() == 68,
        "{first}"
    );
    let told = place.refused("tokens add dash --role operate", "");
    assert!(
        told.contains("There is already a token named dash"),
        "{told}"
    );
    let second = place.done("tokens rotate dash", "");
    assert_ne!(first, second);
    let listed = place.done("tokens list", "");
    assert_eq!(
        listed.split_whitespace().collect::<Vec<_>>(),
        ["dash", "read"]
    );
    for token in [first, second] {
        assert!(!contains(&place.store(), token.trim()));
    }
    place.done("tokens remove dash", "");
    let told = place.refused("tokens remove dash", "");
    assert!(told.contains("There is no token named dash"), "{told}");
    place.github.finish();
}

#[test]
fn the_token_of_an_agent_is_sealed_and_never_shown() {
    let place = Place::personal(GitHub::start("octo/shop"));
    let mut shown = place.done("agents add quality --token-stdin", TOKEN);
    shown += &place.done("agents list", "");
    assert!(shown.contains("octo-quality"), "{shown}");
    shown += &place.refused("agents add quality --token-stdin", TOKEN);
    shown += &place.done("agents rotate quality --token-stdin", TOKEN);
    assert!(!shown.contains(TOKEN), "{shown}");
    assert!(!contains(&place.store(), TOKEN));
    let told = place.refused("agents add other --token-stdin", TOKEN);
    assert!(told.contains("name it with --login"), "{told}");
    let told = place.refused("agents add other --login a --token-stdin", "");
    assert!(told.contains("There is no token"), "{told}");
    // Nobody is asked for a token that would be of no use.
    let told = place.refused("agents rotate qualty", "");
    assert_eq!(
        told,
        "error: There is no agent named qualty; `list` shows them.\n"
    );
    let removed = place.run("agents remove quality", "");
    assert_eq!((removed.code, removed.stdout.as_str()), (0, ""));
    assert!(
        removed.stderr.contains("so restart it."),
        "{}",
        removed.stderr
    );
    assert_eq!(place.done("agents list", ""), "No agents in the store.\n");
    place.github.finish();
}

#[test]
fn a_check_asks_github_who_each_token_is() {
    let github = GitHub::start("octo/shop");
    let identity = Identity::person(
        "octo-quality",
        &["pull-requests:write", "contents:write", "metadata:read"],
    );
    github.token(TOKEN, identity);
    github.permit("octo-quality", "write");
    let place = Place::personal(github);
    let told = place.refused("check", "");
    assert!(told.contains("The agent quality has no token"), "{told}");
    place.done("agents add quality --token-stdin", TOKEN);
    let told = place.done("check", "");
    assert!(
        told.contains("The agent quality is octo-quality on GitHub."),
        "{told}"
    );
    assert!(
        told.contains("octo-quality can write to octo/shop."),
        "{told}"
    );
    // This token may not see webhooks, so a person compares them.
    let other: Vec<&str> = told
        .lines()
        .filter(|line| !line.starts_with("ok "))
        .collect();
    assert!(
        other.len() == 1 && other[0].starts_with("look   "),
        "{told}"
    );
    assert!(
        other[0].contains("the address of the service as GitHub reaches it"),
        "{told}"
    );

    place.github.permit("octo-quality", "read");
    let told = place.refused("check", "");
    assert!(
        told.contains("octo-quality cannot write to octo/shop"),
        "{told}"
    );

    let other = Identity::person("somebody", &["metadata:read"]);
    place.github.token(TOKEN, other);
    let told = place.refused("check", "");
    assert!(
        told.contains("The token of quality is of somebody, not of octo-quality"),
        "{told}"
    );
    place.github.finish();
}

#[test]
fn a_check_tells_a_master_key_that_opens_no_token() {
    let place = Place::personal(GitHub::start("octo/shop"));
    place.done("agents add quality --token-stdin", TOKEN);
    place.write("master.key", &MASTER_KEY.replace("00", "ff"));
    let told = place.refused("check", "");
    assert!(told.contains("was sealed with the master key"), "{told}");
    place.write("master.key", "short");
    let told = place.refused("check", "");
    assert!(told.contains("The master key cannot be used"), "{told}");
    place.github.finish();
}

/// An App with everything that it needs, and its place. `public_url` is that of the service.
fn app(public_url: &str) -> Place {
    let github = GitHub::start("octo/shop");
    let permissions = PERMISSIONS
        .iter()
        .map(|(name, access)| format!("{}:{access}", name.replace('_', "-")));
    let permissions: Vec<String> = permissions.collect();
    let permissions: Vec<&str> = permissions.iter().map(String::as_str).collect();
    let key = github.register_app("reviewer", &permissions);
    github.app(|app| {
        app.events = EVENTS.iter().map(ToString::to_string).collect();
        app.hook = HookConfig::right("https://reviewer.example/webhook");
    });
    let mut of_github = String::new();
    write!(
        of_github,
        "  app:\n    id: {}\n    private_key_file: app.pem\n",
        key.id
    )
    .unwrap();
    let place = Place::new(github, &of_github, &format!("public_url: {public_url}\n"));
    place.write("app.pem", &key.private_key);
    place
}

#[test]
fn a_check_names_the_events_and_permissions_that_an_app_lacks() {
    let place = app("https://reviewer.example");
    let told = place.done("check", "");
    for sentence in [
        "is reviewer[bot] on GitHub.",
        "subscribed to every event",
        "asks for every permission",
        "The webhook of the App goes to https://reviewer.example/webhook.",
        "GitHub has delivered no webhook of the App yet.",
        "Installations of the App: 1.",
    ] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    assert!(told.lines().all(|line| line.starts_with("ok ")), "{told}");
    assert!(!told.contains("PRIVATE KEY"), "{told}");
    place.github.app(|app| {
        app.events.retain(|event| event != "merge_group");
        app.accepted = Some(app.permissions.clone());
        app.permissions.remove("statuses:read");
        app.permissions.remove("contents:write");
        app.permissions.insert("contents:read".into());
    });
    let told = place.refused("check", "");
    for sentence in [
        "The App is not subscribed to merge_group;",
        "The App lacks the permissions contents: write, statuses: read;",
    ] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    place.github.app(|app| {
        app.suspended = true;
        app.accepted.as_mut().unwrap().remove("checks:write");
    });
    let told = place.refused("check", "");
    assert!(
        told.contains("The installation of octo is suspended;"),
        "{told}"
    );
    let accepts = "The installation of octo has not accepted the permissions checks: write;";
    assert!(told.contains(accepts), "{told}");
    place.github.finish();
}

#[test]
fn a_check_looks_at_the_webhook_of_an_app_and_at_its_deliveries() {
    let place = app("https://reviewer.example");
    place.github.app(|app| app.hook = HookConfig::default());
    let told = place.refused("check", "");
    assert!(
        told.contains("The App has no webhook; switch it on"),
        "{told}"
    );
    place.github.app(|app| {
        app.hook = HookConfig {
            content_type: None,
            has_secret: false,
            ..HookConfig::right("https://old.example/webhook")
        };
    });
    let told = place.refused("check", "");
    for sentence in [
        "has the content type form; choose application/json.",
        "has no secret, so the service refuses",
        "goes to https://old.example/webhook, and public_url in service.yml leads to https://reviewer.example/webhook",
    ] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    place
        .github
        .app(|app| app.hook = HookConfig::right("https://reviewer.example/webhook"));
    let base = place
        .github
        .commit("main", &[], &[Change::write("a.txt", "a\n")]);
    let changed = Change::write("a.txt", "b\n");
    place.github.commit("feature", &[&base], &[changed]);
    let number = place.github.open_pull("dev", "feature", "main");
    let hooks = Webhooks::new(&place.github, "http://127.0.0.1:9/webhook", "secret");
    place.github.comment(number, "dev", "one");
    hooks.fail_next().expect("a delivery");
    let told = place.done("check", "");
    assert!(
        told.contains("look   The last webhook, at 2026-01-01T"),
        "{told}"
    );
    assert!(
        told.contains("did not arrive: the answer was 502"),
        "{told}"
    );
    place.github.finish();
}

/// A personal account whose token may see webhooks.
fn personal(lines: &str) -> Place {
    let github = GitHub::start("octo/shop");
    let rights = [
        "pull-requests:write",
        "contents:write",
        "metadata:read",
        "repository-hooks:read",
    ];
    github.token(TOKEN, Identity::person("octo-quality", &rights));
    github.permit("octo-quality", "admin");
    let lines = format!(
        "repositories: [octo/shop]\nmaster_key_file: master.key\nagents: [{{ name: quality, login: octo-quality }}]\n{lines}"
    );
    let place = Place::new(github, "  account: quality\n", &lines);
    place.done("agents add quality --token-stdin", TOKEN);
    place
}

#[test]
fn a_check_looks_at_the_webhooks_of_repositories() {
    let place = personal("public_url: https://reviewer.example\n");
    let told = place.refused("check", "");
    assert!(
        told.contains("octo/shop has no webhook for this service; add one"),
        "{told}"
    );
    let right = RepositoryHook {
        config: HookConfig::right("https://reviewer.example/webhook"),
        active: true,
        events: EVENTS.iter().map(ToString::to_string).collect(),
        answered: Some(202),
    };
    let set = |hook: RepositoryHook| {
        place
            .github
            .with(|state| state.repository.hooks = vec![hook]);
    };
    set(right.clone());
    let told = place.done("check", "");
    let line = "ok     The webhook of octo/shop goes to https://reviewer.example/webhook.";
    assert!(told.contains(line), "{told}");
    for (hook, sentence) in [
        (
            RepositoryHook {
                active: false,
                ..right.clone()
            },
            "is not active; switch it on",
        ),
        (
            RepositoryHook {
                events: vec!["push".into()],
                ..right.clone()
            },
            "lacks the events check_suite, ",
        ),
        (
            RepositoryHook {
                answered: Some(401),
                ..right.clone()
            },
            "its secret is not the one of the webhook",
        ),
        (
            RepositoryHook {
                config: HookConfig {
                    content_type: Some("form"),
                    ..right.config.clone()
                },
                ..right.clone()
            },
            "has the content type form; choose application/json",
        ),
        (
            RepositoryHook {
                config: HookConfig::right("https://old.example/webhook"),
                ..right.clone()
            },
            "goes to https://old.example/webhook, and public_url",
        ),
    ] {
        set(hook);
        let told = place.refused("check", "");
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    set(RepositoryHook {
        answered: Some(0),
        ..right
    });
    let told = place.done("check", "");
    assert!(
        told.contains("look   The last delivery of the webhook of octo/shop did not arrive"),
        "{told}"
    );
    // Whoever is no administrator sees no webhooks.
    place.github.permit("octo-quality", "write");
    let told = place.done("check", "");
    let line = "look   The token may not see the webhooks of octo/shop; compare there";
    assert!(told.contains(line), "{told}");
    place.github.finish();
}

#[test]
fn all_mistakes_of_a_configuration_are_told_at_once() {
    let place = Place::personal(GitHub::start("octo/shop"));
    place.write("service.yml", "listen: here\nmodle: a/b\n");
    let told = place.refused("check", "");
    for sentence in [
        "Line 1: listen is \"here\"",
        "Did you mean model?",
        "webhook_secret_file or webhook_secret_env is missing",
    ] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    let told = place.refused("--config none.yml check", "");
    assert!(told.contains("none.yml cannot be read"), "{told}");
    place.github.finish();
}

#[test]
fn what_keeps_the_service_from_its_start_is_a_sentence_with_a_remedy() {
    let place = Place::personal(GitHub::start("octo/shop"));
    let told = place.refused("--store none/service.db", "");
    assert!(
        told.starts_with("error: The store none/service.db cannot be written (")
            && told.ends_with("); check its folder, its owner and the free space.\n"),
        "{told}"
    );
    std::fs::remove_file(place.folder.path().join("master.key")).unwrap();
    let told = place.refused("check", "");
    assert!(
        told.contains("/master.key cannot be read: No such file or directory (os error 2); ")
            && told.contains("make it, readable for the service only, or name another one."),
        "{told}"
    );
    place.github.finish();
}

#[test]
fn a_store_moves_by_a_file_that_is_whole_private_and_never_overwritten() {
    let place = Place::personal(GitHub::start("octo/shop"));
    place.done("agents add quality --token-stdin", TOKEN);
    let token = place.done("tokens add dash --role read", "");
    let told = place.done("export store.jsonl", "");
    let counts =
        "0 pull requests, 0 effects, 0 timers, 0 sessions, 0 delivery ids, 1 agent, 1 API token";
    assert!(
        told.starts_with("Exported to ") && told.contains(counts),
        "{told}"
    );
    let file = place.folder.path().join("store.jsonl");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = std::fs::read(&file).unwrap();
    assert!(!contains(&bytes, TOKEN) && !contains(&bytes, token.trim()));
    let told = place.refused("export store.jsonl", "");
    assert!(
        told.contains("store.jsonl is there already; name another one."),
        "{told}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), bytes);

    let told = place.done("import store.jsonl --store other.db", "");
    assert!(told.starts_with(&format!("Imported: {counts}.")), "{told}");
    assert_eq!(
        place.done("tokens list --store other.db", ""),
        place.done("tokens list", "")
    );
    assert_eq!(
        place.done("agents list --store other.db", ""),
        place.done("agents list", "")
    );
    let told = place.refused("import store.jsonl --store other.db", "");
    let expected = "other.db is not empty (agents: 1, API tokens: 1); name an empty one";
    assert!(told.contains(expected), "{told}");
    place.github.finish();
}

#[test]
fn a_file_that_cannot_be_imported_says_why_and_makes_no_store() {
    let place = Place::personal(GitHub::start("octo/shop"));
    place.done("tokens add dash --role read", "");
    place.done("export store.jsonl", "");
    let text = std::fs::read_to_string(place.folder.path().join("store.jsonl")).unwrap();
    let newer = text.replacen("\"version\":1", "\"version\":7", 1);
    let files = [
        (
            &text[..text.len() / 2],
            "the file is cut off or was changed",
        ),
        (
            &newer,
            "the file has version 7 of the format, and this program knows 1",
        ),
        ("a,b,c\n", "the file is no exported store"),
    ];
    for (text, sentence) in files {
        place.write("other.jsonl", text);
        let told = place.refused("import other.jsonl --store other.db", "");
        assert!(
            told.contains("other.jsonl: ") && told.contains(sentence),
            "{told}"
        );
    }
    let told = place.refused("import none.jsonl --store other.db", "");
    assert!(told.contains("none.jsonl cannot be read: "), "{told}");
    let told = place.refused("export none/store.jsonl", "");
    assert!(
        told.contains("none/store.jsonl cannot be written: "),
        "{told}"
    );
    let told = place.refused("export new.jsonl --store none.db", "");
    assert!(
        told.contains("none.db has nothing that could be exported"),
        "{told}"
    );
    for name in ["other.db", "none.db", "new.jsonl"] {
        assert!(!place.folder.path().join(name).exists(), "{name}");
    }
    place.github.finish();
}

#[test]
fn a_model_to_fall_back_to_without_a_key_is_named_before_the_service_starts() {
    let lines = "repositories: [octo/shop]\nmaster_key_file: master.key\nagents: [{ name: quality, login: octo-quality }]\n\
                 api_keys_file: further.keys\ninputs: { fallback_model: openai/gpt-5 }\n";
    let place = Place::new(GitHub::start("octo/shop"), "  account: quality\n", lines);
    let sentence = "The input fallback_model names the provider openai, which needs a key; add a line openai=… with it to what \
                    api_keys_file or api_keys_env names.";
    place.write("further.keys", "xai=sk-another-key-0123456789");
    let told = place.refused("check", "");
    assert!(told.contains(&format!("wrong  {sentence}")), "{told}");
    place.write("further.keys", "sk-another-key-0123456789");
    let told = place.refused("check", "");
    assert!(
        told.contains("further.keys has no lines provider=key, one for each provider."),
        "{told}"
    );
    assert!(!told.contains("sk-another"), "{told}");
    place.write("further.keys", "openai=sk-another-key-0123456789");
    let told = place.refused("check", "");
    assert!(
        told.contains("The keys of further providers can be read."),
        "{told}"
    );
    assert!(
        told.contains("The model to fall back to can be asked."),
        "{told}"
    );
    assert!(!told.contains("sk-another"), "{told}");
}
