//! Real git: the repository behind the stand-in, its commits, and fetches over smart HTTP. Separate, because it is
//! the one place that starts processes.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    /// What git has answered since something was last written: a review asks for the same diff many times.
    answers: Arc<Mutex<HashMap<Vec<String>, Answer>>>,
}

/// Standard output, or what git said of its failure.
type Answer = Result<String, String>;

/// Settings of the repository: what GitHub allows a client to ask for, and one process less for each commit.
const SETTINGS: &str = "\
[uploadpack]
\tallowAnySHA1InWant = true
\tallowFilter = true
[fastimport]
\tunpackLimit = 1
";

/// One entry of a commit that a test makes.
#[derive(Debug, Clone)]
pub struct Change {
    /// As git stores it: bytes, of whatever encoding.
    path: Vec<u8>,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Blob { mode: &'static str, bytes: Vec<u8> },
    Submodule(String),
    Remove,
    RenameFrom(String),
}

impl Change {
    pub fn write(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self::write_at(path.as_bytes(), content)
    }

    /// With a path that need not be text.
    pub fn write_at(path: &[u8], content: impl Into<Vec<u8>>) -> Self {
        Self::blob(path, "100644", content.into())
    }

    pub fn executable(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self::blob(path.as_ref(), "100755", content.into())
    }

    pub fn symlink(path: &str, target: &str) -> Self {
        Self::blob(path.as_ref(), "120000", target.into())
    }

    /// A submodule at this commit, which nobody has to have.
    pub fn submodule(path: &str, commit: &str) -> Self {
        Self {
            path: path.into(),
            what: What::Submodule(commit.into()),
        }
    }

    pub fn remove(path: &str) -> Self {
        Self {
            path: path.into(),
            what: What::Remove,
        }
    }

    pub fn rename(from: &str, to: &str) -> Self {
        Self {
            path: to.into(),
            what: What::RenameFrom(from.into()),
        }
    }

    /// Its path, with a sign for what is no text.
    pub fn path_text(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    fn blob(path: &[u8], mode: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            path: path.into(),
            what: What::Blob { mode, bytes },
        }
    }

    /// The change in the language of `git fast-import`.
    fn instruction(&self) -> Vec<u8> {
        let path = quoted(&self.path);
        match &self.what {
            What::Remove => format!("D {path}\n").into_bytes(),
            What::RenameFrom(from) => {
                format!("R {} {path}\n", quoted(from.as_bytes())).into_bytes()
            }
            What::Submodule(commit) => format!("M 160000 {commit} {path}\n").into_bytes(),
            What::Blob { mode, bytes } => {
                let mut text =
                    format!("M {mode} inline {path}\ndata {}\n", bytes.len()).into_bytes();
                text.extend_from_slice(bytes);
                text.push(b'\n');
                text
            }
        }
    }
}

/// Every byte but plain ones by its number, as fast-import reads it.
fn quoted(path: &[u8]) -> String {
    let byte = |byte: &u8| match byte {
        b'"' | b'\\' | ..=b' ' | 0x7f.. => format!("\\{byte:03o}"),
        plain => char::from(*plain).to_string(),
    };
    format!("\"{}\"", path.iter().map(byte).collect::<String>())
}

impl Git {
    pub fn new(dir: PathBuf) -> Self {
        let answers = Arc::default();
        Self { dir, answers }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the bare repository.
    pub fn init(&self) {
        let bare = ["--bare", "--template=", "--initial-branch=main"];
        self.write(&[&["init", "--quiet"], &bare[..]].concat());
        let mut config = std::fs::OpenOptions::new()
            .append(true)
            .open(self.dir.join("config"))
            .expect("a new repository has settings");
        config.write_all(SETTINGS.as_bytes()).expect("settings");
    }

    /// Commits on `branch` and returns the new commit. No parents make a root commit, two make a merge.
    pub fn commit(
        &self,
        branch: &str,
        parents: &[&str],
        message: &str,
        at: u64,
        changes: &[Change],
    ) -> String {
        let people = ["dev <dev@example.com>"; 2];
        self.commit_by(people, branch, parents, message, at, changes)
    }

    /// The same by this author and this committer.
    pub fn commit_by(
        &self,
        [author, committer]: [&str; 2],
        branch: &str,
        parents: &[&str],
        message: &str,
        at: u64,
        changes: &[Change],
    ) -> String {
        let mut script = format!(
            "commit refs/heads/{branch}\nmark :1\nauthor {author} {at} +0000\n\
             committer {committer} {at} +0000\ndata {}\n{message}\n",
            message.len()
        )
        .into_bytes();
        for (index, parent) in parents.iter().enumerate() {
            let word = if index == 0 { "from" } else { "merge" };
            script.extend_from_slice(format!("{word} {parent}\n").as_bytes());
        }
        for change in changes {
            script.extend(change.instruction());
        }
        script.extend_from_slice(b"get-mark :1\n");
        let commit = self.feed(&["fast-import", "--quiet", "--force"], &script);
        self.forget();
        let commit =
            commit.unwrap_or_else(|| panic!("git fast-import refused the commit on {branch}"));
        String::from_utf8_lossy(&commit).trim_end().into()
    }

    /// A command that changes something; a panic says what git said.
    pub fn write(&self, args: &[&str]) {
        let output = self.command(args).output().expect("git starts");
        self.forget();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
    }

    /// Something was written, so git may answer otherwise.
    fn forget(&self) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.clear();
    }

    /// Standard output, trimmed; a panic says what git said.
    pub fn must(&self, args: &[&str]) -> String {
        let answer = self.answer(args);
        let answer = answer.unwrap_or_else(|errors| panic!("git {args:?}: {errors}"));
        answer.trim_end().into()
    }

    /// Standard output, or `None` where git does not know what was asked for.
    pub fn ask(&self, args: &[&str]) -> Option<String> {
        self.answer(args).ok()
    }

    fn answer(&self, args: &[&str]) -> Answer {
        let asked = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.entry(asked).or_insert_with(|| {
            let output = self.command(args).output().expect("git starts");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            if output.status.success() {
                Ok(text(&output.stdout))
            } else {
                Err(text(&output.stderr))
            }
        });
        answer.clone()
    }

    /// The full hash of a commit named by hash or branch.
    pub fn commit_of(&self, name: &str) -> Option<String> {
        let found = self.ask(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{commit}}"),
        ])?;
        Some(found.trim().into())
    }

    pub fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        Some(self.ask(&["merge-base", one, other])?.trim().into())
    }

    /// Is `commit` one of the commits between the merge base and the head?
    pub fn has_between(&self, base: &str, head: &str, commit: &str) -> bool {
        self.ask(&["rev-list", &format!("{base}..{head}")])
            .is_some_and(|list| list.lines().any(|line| line == commit))
    }

    /// Answers one request of the smart HTTP protocol with git's own CGI program: (status, headers, body).
    pub fn http_backend(&self, request: &Cgi<'_>) -> (u16, Vec<(String, String)>, Vec<u8>) {
        let mut command = self.command(&["http-backend"]);
        command
            .env("GIT_PROJECT_ROOT", &self.dir)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", request.path)
            .env("QUERY_STRING", request.query)
            .env("REQUEST_METHOD", request.method)
            .env("CONTENT_LENGTH", request.body.len().to_string());
        for (variable, value) in request.headers {
            command.env(variable, value);
        }
        let Some(output) = run_with_input(command, request.body) else {
            return (500, Vec::new(), b"git http-backend failed".to_vec());
        };
        split_cgi(&output)
    }

    pub fn feed(&self, args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
        run_with_input(self.command(args), input)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .arg("--git-dir")
            .arg(&self.dir)
            .args(["-c", "core.quotePath=false"])
            .args(args)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::null());
        command
    }
}

/// What `git http-backend` wants to know about a request.
#[derive(Debug)]
pub struct Cgi<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
    /// Variable and value, such as `CONTENT_TYPE`, `HTTP_CONTENT_ENCODING` and `GIT_PROTOCOL`.
    pub headers: &'a [(&'static str, String)],
    pub body: &'a [u8],
}

fn run_with_input(mut command: Command, input: &[u8]) -> Option<Vec<u8>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // A thread, because git may answer before it has read everything.
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("git ends");
    let _closed_early = feeder.join();
    output.status.success().then_some(output.stdout)
}

fn split_cgi(output: &[u8]) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let end = output
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap_or(output.len());
    let mut status = 200;
    let mut headers = Vec::new();
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        if name == "Status" {
            status = value
                .split(' ')
                .next()
                .and_then(|code| code.parse().ok())
                .unwrap_or(500);
        } else {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    (
        status,
        headers,
        output.get(end + 4..).unwrap_or_default().to_vec(),
    )
}
