//! The `GITHUB_*` variables, as the runner gave them. Separate from the inputs, because the user writes those and the
//! runner writes these.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

/// Variables that a child process or an HTTP client needs to reach the outside through a company's proxy.
const NETWORK_VARIABLES: [&str; 12] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
];

/// The environment of the run. An empty variable counts as unset, as everywhere in Actions.
#[derive(Clone, PartialEq)]
pub struct Environment {
    /// True if a runner reads the output.
    pub in_actions: bool,
    pub event_name: Option<String>,
    pub event_path: Option<PathBuf>,
    pub repository: Option<String>,
    pub api_url: String,
    /// Never derived from `api_url`: the two differ in more than a suffix on GitHub Enterprise Server.
    pub graphql_url: String,
    pub server_url: String,
    pub workspace: Option<PathBuf>,
    pub output: Option<PathBuf>,
    pub step_summary: Option<PathBuf>,
    pub run_id: Option<String>,
    pub run_attempt: Option<String>,
    pub runner_temp: Option<PathBuf>,
    /// The folder around the workspace, as the runner sees it outside of a container.
    pub runner_workspace: Option<PathBuf>,
    /// The folder in which temporary folders are made.
    pub temporary: Option<PathBuf>,
    pub debug: bool,
    pub opencode_bin: Option<PathBuf>,
    /// Tests shorten every wait by it; 1 outside them.
    pub time_scale: f64,
    /// Tests shorten every limit by it; 1 outside them.
    pub limit_scale: f64,
    pub path: String,
    pub home: Option<PathBuf>,
    /// Proxy and certificate variables, as given. A proxy's address may hold a password.
    pub network: Vec<(String, String)>,
}

impl Environment {
    /// Pure: `main` passes the process's variables, tests pass theirs.
    #[must_use]
    pub fn from_vars(vars: impl IntoIterator<Item = (String, String)>) -> Self {
        let vars: HashMap<String, String> = vars
            .into_iter()
            .filter(|(_, value)| !value.trim().is_empty())
            .collect();
        let text = |name: &str| vars.get(name).cloned();
        let path = |name: &str| vars.get(name).map(PathBuf::from);
        let url = |name: &str, default: &str| {
            let given = vars.get(name).map_or(default, |value| value.trim());
            given.trim_end_matches('/').to_owned()
        };
        let server = url("GITHUB_SERVER_URL", DOT_COM);
        let (api, graphql) = addresses(&server);
        Self {
            in_actions: text("GITHUB_ACTIONS").as_deref() == Some("true"),
            event_name: text("GITHUB_EVENT_NAME"),
            event_path: path("GITHUB_EVENT_PATH"),
            repository: text("GITHUB_REPOSITORY"),
            api_url: url("GITHUB_API_URL", &api),
            graphql_url: url("GITHUB_GRAPHQL_URL", &graphql),
            server_url: server,
            workspace: path("GITHUB_WORKSPACE"),
            output: path("GITHUB_OUTPUT"),
            step_summary: path("GITHUB_STEP_SUMMARY"),
            run_id: text("GITHUB_RUN_ID"),
            run_attempt: text("GITHUB_RUN_ATTEMPT"),
            runner_temp: path("RUNNER_TEMP"),
            runner_workspace: path("RUNNER_WORKSPACE"),
            temporary: path("TMPDIR"),
            debug: text("RUNNER_DEBUG").as_deref() == Some("1"),
            opencode_bin: path("OPENCODE_BIN"),
            time_scale: text("OPENCODE_REVIEWER_TIME_SCALE")
                .map_or(1.0, |scale| time_scale(&scale)),
            limit_scale: text("OPENCODE_REVIEWER_LIMIT_SCALE")
                .map_or(1.0, |scale| time_scale(&scale)),
            path: text("PATH").unwrap_or_default(),
            home: path("HOME"),
            network: NETWORK_VARIABLES
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), text(name)?)))
                .collect(),
        }
    }
}

impl Environment {
    /// The variables that git needs: the program path and the network settings.
    #[must_use]
    pub fn for_git(&self) -> Vec<(String, String)> {
        let path = ("PATH".to_owned(), self.path.clone());
        std::iter::once(path)
            .chain(self.network.iter().cloned())
            .collect()
    }
}

const DOT_COM: &str = "https://github.com";

/// The addresses of REST and of GraphQL that belong to a server. A runner gives all three; a shell may give the server
/// alone.
fn addresses(server: &str) -> (String, String) {
    let host = server.strip_prefix("https://").unwrap_or_default();
    if server == DOT_COM || host.ends_with(".ghe.com") {
        let api = format!("https://api.{host}");
        let graphql = format!("{api}/graphql");
        return (api, graphql);
    }
    (format!("{server}/api/v3"), format!("{server}/api/graphql"))
}

/// A scale that is no shortening is ignored: no wait may become longer, or endless, by accident.
fn time_scale(given: &str) -> f64 {
    let scale = given.trim().parse().unwrap_or(1.0);
    if (0.0..=1.0).contains(&scale) {
        scale
    } else {
        1.0
    }
}

/// By hand, because the network variables may hold a password.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network: Vec<&str> = self.network.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Environment")
            .field("event_name", &self.event_name)
            .field("event_path", &self.event_path)
            .field("repository", &self.repository)
            .field("api_url", &self.api_url)
            .field("graphql_url", &self.graphql_url)
            .field("workspace", &self.workspace)
            .field("run_id", &self.run_id)
            .field("network", &network)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(vars: &[(&str, &str)]) -> Environment {
        let owned = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Environment::from_vars(owned)
    }

    #[test]
    fn nothing_set_means_github_dot_com_from_a_shell() {
        let environment = environment(&[("GITHUB_API_URL", ""), ("GITHUB_WORKSPACE", "")]);
        assert_eq!(environment.api_url, "https://api.github.com");
        assert_eq!(environment.graphql_url, "https://api.github.com/graphql");
        assert_eq!(environment.server_url, "https://github.com");
        assert_eq!(environment.workspace, None);
        assert!(!environment.in_actions && !environment.debug);
        assert!((environment.time_scale - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn an_enterprise_server_has_its_own_addresses() {
        let given = |vars: &[(&str, &str)]| {
            let environment = environment(vars);
            [
                environment.server_url,
                environment.api_url,
                environment.graphql_url,
            ]
        };
        let server = ("GITHUB_SERVER_URL", "https://ghe.example/");
        assert_eq!(
            given(&[server]),
            [
                "https://ghe.example",
                "https://ghe.example/api/v3",
                "https://ghe.example/api/graphql"
            ]
        );
        let other = [server, ("GITHUB_API_URL", "https://api.ghe.example/")];
        assert_eq!(given(&other)[1], "https://api.ghe.example");
        assert_eq!(
            given(&[("GITHUB_SERVER_URL", "https://octo.ghe.com")]),
            [
                "https://octo.ghe.com",
                "https://api.octo.ghe.com",
                "https://api.octo.ghe.com/graphql"
            ]
        );
    }

    #[test]
    fn only_a_shorter_time_is_believed() {
        for (given, expected) in [
            ("0.001", 0.001),
            ("0", 0.0),
            ("2", 1.0),
            ("-1", 1.0),
            ("NaN", 1.0),
            ("x", 1.0),
        ] {
            let scale = environment(&[("OPENCODE_REVIEWER_TIME_SCALE", given)]).time_scale;
            assert!((scale - expected).abs() < f64::EPSILON, "{given}");
        }
    }

    #[test]
    fn a_proxys_password_is_passed_on_but_never_printed() {
        let environment = environment(&[("HTTPS_PROXY", "http://u:hunter2@proxy"), ("OTHER", "x")]);
        assert_eq!(
            environment.network,
            [(
                "HTTPS_PROXY".to_owned(),
                "http://u:hunter2@proxy".to_owned()
            )]
        );
        assert!(!format!("{environment:?}").contains("hunter2"));
    }
}
