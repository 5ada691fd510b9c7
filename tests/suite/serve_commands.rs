//! `serve agents`, `serve tokens` and `serve check`, with the built binary and the stand-in for GitHub.

use crate::standin::github::{GitHub, Identity};
use reviewer_core::event::webhook::EVENTS;
use std::fmt::Write as _;
use std::io::Write as _;
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
    place.done("agents remove quality", "");
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
    assert!(told.lines().all(|line| line.starts_with("ok ")), "{told}");

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

#[test]
fn a_check_names_the_events_that_an_app_is_not_subscribed_to() {
    let github = GitHub::start("octo/shop");
    let key = github.register_app("reviewer", &["pull-requests:write"]);
    let events = EVENTS.iter().filter(|event| **event != "merge_group");
    github.app(|app| app.events = events.map(ToString::to_string).collect());
    let mut of_github = String::new();
    write!(
        of_github,
        "  app:\n    id: {}\n    private_key_file: app.pem\n",
        key.id
    )
    .unwrap();
    let place = Place::new(github, &of_github, "");
    place.write("app.pem", &key.private_key);
    let told = place.refused("check", "");
    assert!(told.contains("is reviewer[bot] on GitHub."), "{told}");
    assert!(
        told.contains("The App is not subscribed to merge_group;"),
        "{told}"
    );
    place
        .github
        .app(|app| app.events = EVENTS.iter().map(ToString::to_string).collect());
    let told = place.done("check", "");
    assert!(told.contains("subscribed to every event"), "{told}");
    assert!(!told.contains("PRIVATE KEY"), "{told}");
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
