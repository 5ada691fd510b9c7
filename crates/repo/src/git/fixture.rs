//! Real repositories in temporary directories, and one served over HTTP, for the tests of git and of the
//! snapshot. Separate because both need trees that no `git add` would make.
#![expect(clippy::disallowed_methods, reason = "edge: tests make repositories")]

use super::Repository;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use reviewer_core::domain::CommitSha;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A working repository, as a developer has it.
pub(crate) struct Work {
    dir: TempDir,
}

impl Work {
    pub fn new() -> Self {
        let work = Self {
            dir: TempDir::new().unwrap(),
        };
        work.git(&["init", "--quiet", "--initial-branch=main", "."]);
        work
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(self.path(), args, &[])
    }

    pub(crate) fn write(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.file(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.path().join(path)).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: impl AsRef<[u8]>) -> &Self {
        std::fs::remove_file(self.file(path)).unwrap();
        self
    }

    fn file(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.path().join(std::ffi::OsStr::from_bytes(path.as_ref()))
    }

    pub fn commit(&self) -> CommitSha {
        self.git(&["add", "--all", "--force"]);
        self.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--no-verify",
            "-m",
            "change",
        ]);
        self.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }

    /// A tree with names that git itself would refuse to add.
    pub(crate) fn raw_tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut tree = Vec::new();
        for (mode, name, id) in entries {
            tree.extend([mode.as_bytes(), b" ", name, b"\0"].concat());
            tree.extend(data_encoding::HEXLOWER.decode(id.as_bytes()).unwrap());
        }
        let args = ["hash-object", "-t", "tree", "--literally", "-w", "--stdin"];
        git(self.path(), &args, &tree)
    }

    pub(crate) fn blob(&self, content: &str) -> String {
        git(
            self.path(),
            &["hash-object", "-w", "--stdin"],
            content.as_bytes(),
        )
    }

    pub(crate) fn commit_tree(&self, tree: &str) -> CommitSha {
        self.git(&["commit-tree", tree, "-m", "raw"])
            .parse()
            .unwrap()
    }

    /// The reviewer's repository over this one's objects.
    pub fn open(&self) -> Opened {
        open(Some(self.path()))
    }
}

pub(crate) struct Opened {
    pub(crate) repository: Repository,
    _dir: TempDir,
}

pub fn open(workspace: Option<&Path>) -> Opened {
    let dir = TempDir::new().unwrap();
    Opened {
        repository: Repository::open(dir.path(), workspace, &environment()).unwrap(),
        _dir: dir,
    }
}

pub fn environment() -> Vec<(String, String)> {
    vec![("PATH".to_owned(), std::env::var("PATH").unwrap())]
}

/// A plain command for the test's own repositories.
pub fn command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    let named = |role| [format!("GIT_{role}_NAME"), format!("GIT_{role}_EMAIL")];
    command
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(
            ["AUTHOR", "COMMITTER"]
                .iter()
                .flat_map(named)
                .map(|name| (name, "dev")),
        );
    command
}

pub fn git(dir: &Path, args: &[&str], input: &[u8]) -> String {
    let mut child = command(dir)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// Serves `repo` as GitHub does: smart HTTP, the token by basic authentication. Gives the address.
pub(crate) async fn serve(repo: &Path, token: &str) -> String {
    let root = repo.to_owned();
    let expected = format!(
        "Basic {}",
        data_encoding::BASE64.encode(format!("x-access-token:{token}").as_bytes())
    );
    let app = axum::Router::new().fallback(
        move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| async move {
            if headers
                .get("authorization")
                .is_none_or(|given| given != expected.as_str())
            {
                let ask = [("www-authenticate".to_owned(), "Basic realm=git".to_owned())];
                return (
                    StatusCode::UNAUTHORIZED,
                    axum::response::AppendHeaders(ask.to_vec()),
                    vec![],
                );
            }
            let answer =
                tokio::task::spawn_blocking(move || backend(&root, &method, &uri, &headers, &body));
            let (headers, body) = answer.await.unwrap();
            (StatusCode::OK, axum::response::AppendHeaders(headers), body)
        },
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/repo", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

type Answer = (Vec<(String, String)>, Vec<u8>);

/// `git http-backend` as a CGI program.
fn backend(root: &Path, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Answer {
    let header = |name: &str| {
        headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    };
    let mut child = command(root)
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", method.as_str())
        .env("PATH_INFO", uri.path().trim_start_matches("/repo"))
        .env("QUERY_STRING", uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    (headers.collect(), output[end + 4..].to_vec())
}
