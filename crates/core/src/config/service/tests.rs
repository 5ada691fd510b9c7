use super::*;

const PERSONAL: &str = "\
github:
  account: quality
repositories: [octo/shop]
webhook_secret_env: WEBHOOK_SECRET
master_key_file: master.key
model: anthropic/claude-sonnet-4-5
";

const APP: &str = "\
github:
  app:
    id: 12
    private_key_file: /etc/reviewer/app.pem
webhook_secret_file: webhook.secret
model: anthropic/claude-sonnet-4-5
";

fn read(text: &str) -> ServiceConfig {
    ServiceConfig::parse(text).unwrap_or_else(|wrong| panic!("{wrong:#?}"))
}

/// The mistakes of a right file with further lines.
fn wrong(base: &str, lines: &str) -> Vec<String> {
    ServiceConfig::parse(&format!("{base}{lines}\n")).expect_err("a mistake")
}

#[test]
fn a_short_file_has_safe_defaults() {
    let config = read(PERSONAL);
    assert!(config.listen.ip().is_loopback());
    assert_eq!(config.public_url, "http://127.0.0.1:8787");
    assert_eq!(config.store, "./opencode-reviewer.db");
    assert_eq!(config.api_url, "https://api.github.com");
    assert_eq!(config.sessions.most, 2);
    assert_eq!(config.limits, HttpLimits::default());
    let account = "quality".to_owned();
    assert_eq!(config.identity, Identity::Personal { account });
    let secret = SecretSource::Variable("WEBHOOK_SECRET".to_owned());
    assert_eq!(config.webhook_secret, secret);
}

#[test]
fn an_app_needs_neither_repositories_nor_a_master_key() {
    let config = read(APP);
    assert_eq!(config.master_key, None);
    assert!(config.repositories.is_empty());
    assert!(matches!(config.identity, Identity::App { id: 12, .. }));
}

#[test]
fn the_defaults_of_the_table_are_those_of_the_reader() {
    let config = read(APP);
    let default = |name: &str| {
        let mut settings = SETTINGS.iter();
        settings
            .find(|setting| setting.name == name)
            .expect(name)
            .default
    };
    let limits = config.limits;
    for (name, value) in [
        ("listen", config.listen.to_string()),
        ("store", config.store),
        ("github.api_url", config.api_url),
        ("github.graphql_url", config.graphql_url),
        ("max_sessions", config.sessions.most.to_string()),
        (
            "review_minutes",
            (config.sessions.review.as_secs() / 60).to_string(),
        ),
        (
            "fix_minutes",
            (config.sessions.fix.as_secs() / 60).to_string(),
        ),
        (
            "log_directory",
            config.sessions.log_directory.display().to_string(),
        ),
        (
            "limits.requests_per_minute",
            limits.requests_per_minute.to_string(),
        ),
        (
            "limits.requests_per_minute_per_address",
            limits.requests_per_minute_per_address.to_string(),
        ),
        ("limits.connections", limits.connections.to_string()),
        (
            "limits.sessions_per_author_per_day",
            config.quotas.per_author.to_string(),
        ),
        (
            "limits.sessions_per_repository_per_day",
            config.quotas.per_repository.to_string(),
        ),
    ] {
        assert_eq!(default(name), value, "{name}");
    }
}

#[test]
fn an_empty_file_is_told_everything_that_is_missing_at_once() {
    let told = ServiceConfig::parse("").expect_err("mistakes");
    let missing: Vec<&str> = told
        .iter()
        .filter_map(|one| one.split(" is missing; ").next())
        .collect();
    assert_eq!(
        missing,
        [
            "model",
            "webhook_secret_file or webhook_secret_env",
            "github.app or github.account",
            "repositories",
            "master_key_file or master_key_env",
        ]
    );
}

#[test]
fn all_mistakes_are_told_in_the_order_of_the_file() {
    let told = wrong(
        PERSONAL,
        "listen: 8787\nmax_sessions: 0\nrevew_minutes: 5\nlimits:\n  connections: many\n  conections: 5",
    );
    let starts = [
        "Line 7: listen is \"8787\"; expected an address with its port",
        "Line 8: max_sessions is \"0\"; expected a whole number from 1 to 64.",
        "Line 9: \"revew_minutes\" is no setting. Did you mean review_minutes?",
        "Line 11: limits.connections is \"many\"; expected a whole number",
        "Line 12: \"conections\" is no setting. Did you mean connections? Expected one of requests_per_minute, ",
    ];
    assert_eq!(told.len(), starts.len(), "{told:#?}");
    for (sentence, start) in told.iter().zip(starts) {
        assert!(sentence.starts_with(start), "{sentence}");
    }
}

#[test]
fn a_file_that_is_no_yaml_is_told_as_such_and_nothing_else() {
    let told = ServiceConfig::parse("model: [").expect_err("a mistake");
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("The file is no YAML that can be read"),
        "{told:?}"
    );
    let told = ServiceConfig::parse("- model").expect_err("a mistake");
    assert!(
        told[0].starts_with("Line 1: The file takes the keys listen, public_url, store, github,"),
        "{told:?}"
    );
}

#[test]
fn a_secret_in_the_file_is_refused_and_not_shown() {
    let told = wrong(APP, "model_key_env: sk-ant-secret-value");
    assert_eq!(told.len(), 1);
    assert!(!told[0].contains("sk-ant"), "{told:?}");
    for with_password in [
        "postgres://me:hidden@db/reviewer",
        "postgresql://me@db/reviewer?Password=hidden",
        "mysql://me:hidden@db/reviewer",
    ] {
        let told = wrong(APP, &format!("store: {with_password}"));
        assert!(!told[0].contains("hidden"), "{told:?}");
        assert!(told[0].contains("has no password"), "{told:?}");
    }
    let told = wrong(APP, "inputs: { api_keys: openai=sk-ant-secret-value }");
    assert!(!told[0].contains("sk-ant"), "{told:?}");
    let told = wrong(APP, "api_keys_env: openai=sk-ant-secret-value");
    assert!(!told[0].contains("sk-ant"), "{told:?}");
    let told = wrong(APP, "inputs: { opencode_api_key: sk-ant-secret-value }");
    assert!(!told[0].contains("sk-ant"), "{told:?}");
    assert!(told[0].contains("cannot stand below inputs"), "{told:?}");
}

#[test]
fn a_secret_has_one_place() {
    let told = wrong(PERSONAL, "master_key_env: MASTER_KEY");
    assert_eq!(
        told,
        ["Line 7: master_key_file and master_key_env are both set; leave one out."]
    );
}

#[test]
fn an_app_and_an_account_exclude_each_other() {
    let both = APP.replace("  app:", "  account: quality\n  app:");
    let told = ServiceConfig::parse(&both).expect_err("a mistake");
    assert_eq!(
        told,
        ["Line 2: github.account and github.app are both set; leave one out."]
    );
}

#[test]
fn addresses_of_an_enterprise_server_come_in_pairs() {
    let one = PERSONAL.replace(
        "repositories:",
        "  api_url: https://ghe.example/api/v3\nrepositories:",
    );
    let told = ServiceConfig::parse(&one).expect_err("a mistake");
    assert!(told[0].contains("belong together"), "{told:?}");
    let both = one.replace(
        "repositories:",
        "  graphql_url: https://ghe.example/api/graphql/\nrepositories:",
    );
    assert_eq!(read(&both).graphql_url, "https://ghe.example/api/graphql");
}

#[test]
fn agents_are_judged_one_by_one_and_together() {
    let config = read(&format!(
        "{PERSONAL}agents:\n  - name: quality\n    login: octo-quality\n    persona_file: quality.md\n"
    ));
    assert_eq!(config.agents[0].login, Some(Login::new("octo-quality")));

    let told = wrong(
        PERSONAL,
        "agents:\n  - name: security\n    login: octo\n    tokn: x\n  - login: other\n  - name: security\n    login: octo\n  - name: bare",
    );
    let expected = [
        "Line 10: agents: \"tokn\" is no setting. Expected one of name, login, persona_file.",
        "Line 11: An agent needs a name.",
        "Line 12: The agent security stands there twice.",
        "github.account is quality, but agents has no agent of this name.",
        "The agent bare needs a login, because there is no GitHub App.",
    ];
    assert_eq!(told, expected);

    let told = wrong(APP, "agents:\n  - name: quality\n    login: octo");
    assert!(
        told[0].starts_with("The agent quality has a login"),
        "{told:?}"
    );
}

#[test]
fn inputs_of_sessions_are_judged_as_the_action_judges_them() {
    let config = read(&format!("{APP}inputs:\n  max_cost_usd: 3\n"));
    assert_eq!(config.inputs["max_cost_usd"], "3");
    let told = wrong(
        APP,
        "inputs:\n  max_cost_usd: much\n  max_cost_us: 3\n  model: a/b",
    );
    assert!(
        told[0].starts_with("Line 8: max_cost_usd is \"much\"; expected"),
        "{told:?}"
    );
    assert!(told[1].contains("Did you mean max_cost_usd?"), "{told:?}");
    assert!(
        told[2].contains("model cannot stand below inputs"),
        "{told:?}"
    );
}

#[test]
fn sessions_reach_a_service_that_listens_everywhere_by_loopback() {
    let config = read(&format!("{APP}listen: 0.0.0.0:80\n"));
    assert_eq!(config.public_url, "http://127.0.0.1:80");
    let config = read(&format!(
        "{APP}listen: '[::]:80'\npublic_url: https://reviewer.example/\n"
    ));
    assert_eq!(config.public_url, "https://reviewer.example");
}

#[test]
fn relative_paths_are_below_the_folder_of_the_file() {
    let config = read(APP).below(Path::new("/etc/other"));
    let secret = SecretSource::File("/etc/other/webhook.secret".into());
    assert_eq!(config.webhook_secret, secret);
    assert_eq!(config.store, "/etc/other/opencode-reviewer.db");
    for server in ["postgres://me@db/reviewer", "restate://127.0.0.1:8080"] {
        let config = read(&format!("{APP}store: {server}\n"));
        let store = config.below(Path::new("/etc/other")).store;
        assert_eq!(store, server);
    }
    let Identity::App {
        private_key_file, ..
    } = config.identity
    else {
        panic!("no app");
    };
    assert_eq!(private_key_file, Path::new("/etc/reviewer/app.pem"));
}

#[test]
fn a_session_of_an_app_does_not_outlive_its_token() {
    let told = wrong(APP, "review_minutes: 51\nfix_minutes: 360");
    let expected = [
        "review_minutes is 51, but the tokens of a GitHub App last an hour; give at most 50.",
        "fix_minutes is 360, but the tokens of a GitHub App last an hour; give at most 50.",
    ];
    assert_eq!(told, expected);
    let personal = read(&format!("{PERSONAL}review_minutes: 360\n"));
    assert_eq!(personal.sessions.review.as_secs(), 360 * 60);
}

#[test]
fn keys_of_further_providers_are_lines_and_a_mistake_shows_none() {
    let keys = api_keys("openai=first-key\nxai=second-key\n").expect("keys");
    assert_eq!(keys.len(), 2);
    let problem = api_keys("sk-ant-secret-value").expect_err("a mistake");
    assert_eq!(problem, "has no lines provider=key, one for each provider.");
}
