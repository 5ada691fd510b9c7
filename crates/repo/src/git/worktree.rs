//! The working tree of the person who runs the reviewer, taken as a commit. Everything is written into a repository of
//! the reviewer's own, which borrows the objects of theirs and has a copy of its index; theirs is read and stays as it
//! is, to the byte. `git add` would ask submodules for their state and stumble over repositories within the tree, so
//! the plumbing does it.

use super::Repository;
use super::hardening::{Access, Git, Theirs};
use anyhow::{Context as _, Result, bail};
use reviewer_core::domain::CommitSha;
use reviewer_text::encoding::utf8_text;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tokio::io::AsyncWriteExt as _;

/// The settings of a person's configuration that say how a file of the tree becomes an object, and run nothing.
const PERSONAL: &str =
    r"^core\.(filemode|autocrlf|eol|symlinks|ignorecase|precomposeunicode|trustctime|checkstat)$";

/// The author and the time of a working tree's commit: always the same, so that the same tree is the same commit.
const IDENTITY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "opencode-reviewer"),
    ("GIT_AUTHOR_EMAIL", "opencode-reviewer@localhost"),
    ("GIT_AUTHOR_DATE", "2000-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "opencode-reviewer"),
    ("GIT_COMMITTER_EMAIL", "opencode-reviewer@localhost"),
    ("GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z"),
];

const MOST_COMMITS: &str = "--max-count=250";

/// A working tree, and where git keeps its history.
#[derive(Debug)]
pub struct WorkTree {
    git: Git,
    theirs: Theirs,
    root: PathBuf,
    home: Option<PathBuf>,
}

/// The working tree as a commit.
#[derive(Debug)]
pub struct Taken {
    pub repository: Repository,
    /// The person's own head where nothing is uncommitted; else one that only the reviewer has.
    pub head: CommitSha,
    /// True if it differs from the base.
    pub changed: bool,
    /// Repositories within the tree that are no submodules, and no part of it.
    pub nested: Vec<String>,
}

impl WorkTree {
    /// The tree that `directory` lies in, if there is one. `dir` is where the reviewer's own repository is made, `home`
    /// where the person's configuration is.
    pub async fn find(
        dir: &Path,
        directory: &Path,
        home: Option<&Path>,
        passthrough_env: &[(String, String)],
    ) -> Result<Option<Self>> {
        let git = Git::new(dir, None, passthrough_env)?;
        git.init()?;
        let start = Theirs {
            directory: directory.to_owned(),
            ..Theirs::default()
        };
        let top = ["rev-parse", "--show-toplevel"];
        if !git.succeeds(Access::Theirs(&start), &top).await? {
            return Ok(None);
        }
        let root = path(&git.output(Access::Theirs(&start), &top).await?);
        let git_dir = ["rev-parse", "--absolute-git-dir"];
        let git_dir = path(&git.output(Access::Theirs(&start), &git_dir).await?);
        let theirs = Theirs {
            directory: root.clone(),
            git_dir: Some(git_dir),
            ..Theirs::default()
        };
        Ok(Some(Self {
            git,
            theirs,
            root,
            home: home.map(Path::to_owned),
        }))
    }

    /// The folder at its top.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its objects alone, for whoever reads commits and not the tree.
    pub async fn objects(mut self) -> Result<Repository> {
        let objects = self.inside("objects").await?;
        self.git.borrow(&objects)?;
        Ok(Repository {
            git: self.git,
            fetched: AtomicBool::new(false),
        })
    }

    /// The commit that a name means here.
    pub async fn commit(&self, name: &str) -> Result<Option<CommitSha>> {
        let commit = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let found = self.ask(&[&args[..], &[&commit]].concat()).await?;
        found.map(|id| sha(&id)).transpose()
    }

    /// The branch that the remote calls its default, as far as it was ever told.
    pub async fn default_branch(&self) -> Result<Option<String>> {
        let args = ["symbolic-ref", "--quiet", "--short"];
        self.ask(&[&args[..], &["refs/remotes/origin/HEAD"]].concat())
            .await
    }

    /// The address of the remote `origin`, as the repository's configuration has it.
    pub async fn origin(&self) -> Result<Option<String>> {
        self.ask(&["config", "--local", "--get", "remote.origin.url"])
            .await
    }

    /// The branch that is checked out; `None` for a detached head.
    pub async fn branch(&self) -> Result<Option<String>> {
        self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .await
    }

    /// The person's name, as git would write it into a commit.
    pub async fn person(&self) -> Result<Option<String>> {
        let found = self.configured(&["--get", "user.name"]).await?;
        Ok(found.and_then(|bytes| line(&bytes)))
    }

    /// `None`: their histories have nothing in common.
    pub async fn merge_base(
        &self,
        one: &CommitSha,
        other: &CommitSha,
    ) -> Result<Option<CommitSha>> {
        let found = self
            .ask(&["merge-base", one.as_str(), other.as_str()])
            .await?;
        found.map(|id| sha(&id)).transpose()
    }

    /// Abbreviated id and first line of each commit after `base` up to `head`, oldest first.
    pub async fn commits(
        &self,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Vec<(String, String)>> {
        let range = format!("{base}..{head}");
        let args = ["rev-list", "--reverse", MOST_COMMITS, "--format=%h%x09%s"];
        let args = [&args[..], &[&range, "--"]].concat();
        let listed = self.git.output(Access::Theirs(&self.theirs), &args).await?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let lines = listed.lines().filter_map(|line| line.split_once('\t'));
        Ok(lines
            .map(|(id, subject)| (id.to_owned(), subject.to_owned()))
            .collect())
    }

    /// The tree as it is now, uncommitted and untracked files included, on top of `head`.
    pub async fn take(mut self, head: &CommitSha, base: &CommitSha) -> Result<Taken> {
        let objects = self.inside("objects").await?;
        self.copy_index().await?;
        let exclude = self.inside("info/exclude").await?;
        let info = self.git.dir().join("info");
        std::fs::create_dir_all(&info)?;
        copy(&exclude, &info.join("exclude"))?;
        self.git.borrow(&objects)?;
        let index = Theirs {
            directory: self.root.clone(),
            git_dir: Some(self.git.dir().to_owned()),
            variables: vec![
                ("GIT_WORK_TREE", self.root.clone().into()),
                ("GIT_INDEX_FILE", self.git.dir().join("index").into()),
            ],
            settings: self.personal().await?,
            home: None,
        };
        let nested = self.bring_up_to_date(&index).await?;
        let written = ["write-tree", "--missing-ok"];
        let tree = sha(&text(
            &self.git.output(Access::Theirs(&index), &written).await?,
        ))?;
        let is_as_in = async |commit: &CommitSha| {
            let name = format!("{commit}^{{tree}}");
            let found = self.ask(&["rev-parse", &name]).await?;
            Ok::<_, anyhow::Error>(found.as_deref() == Some(tree.as_str()))
        };
        let changed = !is_as_in(base).await?;
        let head = if is_as_in(head).await? {
            head.clone()
        } else {
            self.commit_tree(&tree, head).await?
        };
        Ok(Taken {
            repository: Repository {
                git: self.git,
                fetched: AtomicBool::new(false),
            },
            head,
            changed,
            nested,
        })
    }

    async fn commit_tree(&self, tree: &CommitSha, parent: &CommitSha) -> Result<CommitSha> {
        let ours = Theirs {
            directory: self.git.dir().to_owned(),
            git_dir: Some(self.git.dir().to_owned()),
            variables: IDENTITY.map(|(name, value)| (name, value.into())).to_vec(),
            ..Theirs::default()
        };
        let args = ["commit-tree", tree.as_str(), "-p", parent.as_str()];
        let args = [&args[..], &["-m", "The working tree"]].concat();
        sha(&text(&self.git.output(Access::Theirs(&ours), &args).await?))
    }

    /// Enters what differs from the index into it. Returns the repositories that are left out.
    async fn bring_up_to_date(&self, index: &Theirs) -> Result<Vec<String>> {
        let access = Access::Theirs(index);
        let changed = ["diff-files", "-z", "--name-status", "--no-renames"];
        let changed = [&changed[..], &["--ignore-submodules=dirty"]].concat();
        let changed = self.git.output(access, &changed).await?;
        let others = ["ls-files", "-z", "--others", "--exclude-standard"];
        let others = self.git.output(access, &others).await?;
        let (mut gone, mut here, mut nested) = (Vec::new(), Vec::new(), Vec::new());
        let mut fields = records(&changed);
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let list = if status == b"D" { &mut gone } else { &mut here };
            list.push(path);
        }
        for path in records(&others) {
            match path.strip_suffix(b"/") {
                Some(path) => nested.push(utf8_text(path)),
                None => here.push(path),
            }
        }
        self.update(index, &["--force-remove"], &gone).await?;
        self.update(index, &["--add", "--remove", "--replace"], &here)
            .await?;
        Ok(nested)
    }

    async fn update(&self, index: &Theirs, how: &[&str], paths: &[&[u8]]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let args = [&["update-index", "-z"], how, &["--stdin"]].concat();
        let mut git = self.git.start(Access::Theirs(index), &args)?;
        if let Some(mut stdin) = git.stdin.take() {
            let mut list = paths.join(&0);
            list.push(0);
            // Where git has ended early, it says why.
            let _ = stdin.write_all(&list).await;
        }
        git.finish().await
    }

    /// With the time of the original: by it git knows which files it has to look into.
    async fn copy_index(&self) -> Result<()> {
        let index = self.inside("index").await?;
        copy(&index, &self.git.dir().join("index"))?;
        // A split index has its larger part beside it.
        let beside = index.parent().map(std::fs::read_dir);
        for entry in beside.into_iter().flatten().flatten() {
            let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            if name.as_bytes().starts_with(b"sharedindex.") {
                copy(&path, &self.git.dir().join(name))?;
            }
        }
        Ok(())
    }

    /// Settings of the person's that decide what an object holds and which files are ignored.
    async fn personal(&self) -> Result<Vec<String>> {
        let listed = self
            .configured(&["--null", "--get-regexp", PERSONAL])
            .await?;
        let listed = listed.unwrap_or_default();
        let mut settings: Vec<String> = records(&listed)
            .map(|setting| String::from_utf8_lossy(setting).replacen('\n', "=", 1))
            .collect();
        let ignored = ["--type=path", "--get", "core.excludesFile"];
        let ignored = self.configured(&ignored).await?;
        let default = self
            .home
            .as_ref()
            .map(|home| home.join(".config/git/ignore"));
        if let Some(file) = ignored.map(|bytes| path(&bytes)).or(default) {
            settings.push(format!("core.excludesFile={}", file.display()));
        }
        Ok(settings)
    }

    /// Reads the person's configuration, theirs and the repository's.
    async fn configured(&self, what: &[&str]) -> Result<Option<Vec<u8>>> {
        let theirs = Theirs {
            home: self.home.clone(),
            ..self.theirs.clone()
        };
        let args = [&["config"], what].concat();
        let access = Access::Theirs(&theirs);
        if !self.git.succeeds(access, &args).await? {
            return Ok(None);
        }
        self.git.output(access, &args).await.map(Some)
    }

    /// A file of the person's git folder, wherever a linked working tree has it.
    async fn inside(&self, name: &str) -> Result<PathBuf> {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", name];
        let found = self.git.output(Access::Theirs(&self.theirs), &args).await?;
        Ok(path(&found))
    }

    /// Returns one line, or `None` where git fails.
    async fn ask(&self, args: &[&str]) -> Result<Option<String>> {
        let access = Access::Theirs(&self.theirs);
        if !self.git.succeeds(access, args).await? {
            return Ok(None);
        }
        Ok(line(&self.git.output(access, args).await?))
    }
}

impl Repository {
    /// True if everything that these commits hold is here.
    pub async fn holds(&self, commits: &[&CommitSha]) -> Result<bool> {
        self.is_complete(commits).await
    }
}

/// The content and its time; nothing where there is no such file.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let told = || format!("cannot copy {}", from.display());
    let Ok(metadata) = std::fs::metadata(from) else {
        return Ok(());
    };
    std::fs::copy(from, to).with_context(told)?;
    let file = File::options().write(true).open(to).with_context(told)?;
    file.set_modified(metadata.modified()?).with_context(told)
}

fn records(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output
        .split(|&b| b == 0)
        .filter(|record| !record.is_empty())
}

/// Returns the output of git without the end of the line.
fn without_end(output: &[u8]) -> &[u8] {
    output.strip_suffix(b"\n").unwrap_or(output)
}

fn path(output: &[u8]) -> PathBuf {
    OsString::from_vec(without_end(output).to_vec()).into()
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(without_end(output)).into_owned()
}

fn line(output: &[u8]) -> Option<String> {
    let text = text(output);
    (!text.is_empty()).then_some(text)
}

fn sha(id: &str) -> Result<CommitSha> {
    if id.len() == 64 {
        bail!("this repository has SHA-256 objects; only those with SHA-1 can be reviewed");
    }
    Ok(id.parse()?)
}
