//! A commit with edits on it, as git objects: no work tree, and an index of its own for each question. What is verified and what
//! is published are compared by the tree id that comes out here.

use super::Repository;
use super::hardening::{Access, Theirs};
use super::objects::{EntryKind, TreeEntry, entry};
use anyhow::{Context as _, Result, bail};
use reviewer_core::domain::CommitSha;
use reviewer_text::hidden::visible;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The whole new content of a file, or its end. Only the list of these is ever published, never a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// As the repository names it.
    pub path: String,
    /// `None` deletes the file.
    pub content: Option<Vec<u8>>,
}

/// The id of a git tree: equal ids are equal files, names and modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeId(String);

impl TreeId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn read(output: &[u8]) -> Result<Self> {
        let id = String::from_utf8_lossy(output).trim_end().to_owned();
        let plain = id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain
            .then_some(Self(id))
            .context("git printed no tree id that can be read")
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path of a commit, byte for byte as git stores it. The snapshot is no source for it, because it masks secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFile {
    pub kind: EntryKind,
    pub id: String,
    /// `None` for a link, for a submodule, and for what is larger than was asked for.
    pub content: Option<Vec<u8>>,
}

/// The mode that GitHub gives to every file of a commit that it makes.
const REGULAR: &str = "100644";
const NO_OBJECT: &str = "0000000000000000000000000000000000000000";
/// Two questions at once have two indexes.
static NEXT_INDEX: AtomicU64 = AtomicU64::new(0);

impl Repository {
    /// The file at `path`; `None` where the commit has none.
    pub async fn head_file(
        &self,
        commit: &CommitSha,
        path: &str,
        max_bytes: u64,
    ) -> Result<Option<HeadFile>> {
        let Some(found) = self.listed(commit.as_str(), path).await? else {
            return Ok(None);
        };
        let regular = matches!(found.kind, EntryKind::File | EntryKind::Executable);
        let fits = regular && found.size.is_some_and(|size| size <= max_bytes);
        let mut content = None;
        if fits {
            let keep = |_: usize, bytes: &[u8]| {
                content = Some(bytes.to_vec());
                Ok(())
            };
            self.read_blobs(&[&found.id], keep).await?;
        }
        Ok(Some(HeadFile {
            kind: found.kind,
            id: found.id,
            content,
        }))
    }

    /// The file, link or submodule at exactly this path.
    async fn listed(&self, tree: &str, path: &str) -> Result<Option<TreeEntry>> {
        let args = ["ls-tree", "-z", "-l", "--full-tree", tree, "--", path];
        let listing = self.git.output(Access::Objects, &args).await?;
        let mut records = listing.split(|&b| b == 0);
        let is_no_folder = |record: &&[u8]| !record.is_empty() && !record.starts_with(b"040000 ");
        let found = records.find(is_no_folder).map(entry).transpose()?;
        Ok(found.filter(|found| found.path == path.as_bytes()))
    }

    /// The tree of a commit.
    pub async fn tree_of(&self, commit: &CommitSha) -> Result<TreeId> {
        let tree = format!("{commit}^{{tree}}");
        let args = ["rev-parse", "--verify", "--end-of-options", &tree];
        TreeId::read(&self.git.output(Access::Objects, &args).await?)
    }

    /// The tree of `head` with these edits, as GitHub would commit them: a file that is new or changed is a regular one, so
    /// what else would lose its mode is refused.
    pub async fn tree_with(&self, head: &CommitSha, edits: &[FileEdit]) -> Result<TreeId> {
        let index = Index::of(self, head).await?;
        let (mut lines, mut ids) = (Vec::new(), Vec::new());
        for edit in edits {
            self.judge(head, edit).await?;
            let id = match &edit.content {
                None => None,
                Some(content) => Some(self.store(content).await?),
            };
            let mode = if id.is_some() { REGULAR } else { "0" };
            let object = id.as_deref().unwrap_or(NO_OBJECT);
            lines.extend(format!("{mode} {object}\t{}\0", edit.path).into_bytes());
            ids.push(id);
        }
        let enter = ["update-index", "-z", "--index-info"];
        index.run(&enter, &lines).await?;
        let tree = index.tree().await?;
        // Git passes over a name that it does not take, and warns only.
        for (edit, id) in edits.iter().zip(ids) {
            let found = self.listed(tree.as_str(), &edit.path).await?;
            if found.map(|found| found.id) != id {
                bail!("git does not take {} as an edit", visible(&edit.path));
            }
        }
        self.touches_only(edits, head, &tree).await?;
        Ok(tree)
    }

    /// A file in the place of a folder, or the other way round, would take others away.
    async fn touches_only(
        &self,
        edits: &[FileEdit],
        head: &CommitSha,
        tree: &TreeId,
    ) -> Result<()> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
        let args = [&args[..], &[head.as_str(), tree.as_str()]].concat();
        let names = self.git.output(Access::Objects, &args).await?;
        let names = names.split(|&b| b == 0).filter(|name| !name.is_empty());
        let is_edited = |name: &&[u8]| edits.iter().any(|edit| edit.path.as_bytes() == *name);
        if let Some(other) = names.into_iter().find(|name| !is_edited(name)) {
            let other = String::from_utf8_lossy(other);
            bail!("the edits would take {} away", visible(&other));
        }
        Ok(())
    }

    /// The tree of `head` with a patch, applied by git itself. An error where the patch does not apply.
    pub async fn tree_of_patch(&self, head: &CommitSha, patch: &[u8]) -> Result<TreeId> {
        let index = Index::of(self, head).await?;
        let apply = ["apply", "--cached", "--whitespace=nowarn", "-"];
        index
            .run(&apply, patch)
            .await
            .context("the patch does not apply to the head")?;
        index.tree().await
    }

    /// The unified diff from a commit to a tree, for people and for `git apply`.
    pub async fn patch_to(&self, head: &CommitSha, tree: &TreeId) -> Result<Vec<u8>> {
        let args = [
            "diff-tree",
            "-p",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--full-index",
            "--binary",
            head.as_str(),
            tree.as_str(),
        ];
        self.git.output(Access::Objects, &args).await
    }

    async fn judge(&self, head: &CommitSha, edit: &FileEdit) -> Result<()> {
        let shown = visible(&edit.path);
        if edit.path.contains('\0') {
            bail!("{shown} is no path of a repository");
        }
        let before = self.head_file(head, &edit.path, 0).await?;
        match (before.map(|file| file.kind), &edit.content) {
            (None, None) => bail!("{shown} cannot be deleted, because the head does not have it"),
            (Some(EntryKind::Symlink | EntryKind::Submodule), _) => {
                bail!("{shown} is no regular file, and only regular files are edited")
            }
            (Some(EntryKind::Executable), Some(_)) => {
                bail!("{shown} is executable, and a commit made on GitHub would take that away")
            }
            _ => Ok(()),
        }
    }

    /// Runs git with an input, and returns its output.
    async fn fed(&self, access: Access<'_>, args: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let mut git = self.git.start(access, args)?;
        let mut stdin = git.stdin.take().context("git has no input")?;
        let mut output = Vec::new();
        let writing = async move {
            // Where git has ended early, it says why.
            let _ = stdin.write_all(input).await;
            Ok::<_, anyhow::Error>(())
        };
        let reading = async { Ok(git.stdout.read_to_end(&mut output).await?) };
        tokio::try_join!(writing, reading)?;
        git.finish().await?;
        Ok(output)
    }
}

/// An index of the reviewer's own, for one question. Dropped, it is removed.
struct Index<'a> {
    repository: &'a Repository,
    file: PathBuf,
    place: Theirs,
}

impl<'a> Index<'a> {
    async fn of(repository: &'a Repository, head: &CommitSha) -> Result<Self> {
        let number = NEXT_INDEX.fetch_add(1, Ordering::Relaxed);
        let dir = repository.git.dir().to_owned();
        let file = dir.join(format!("edits-{number}.index"));
        let place = Theirs {
            directory: dir.clone(),
            git_dir: Some(dir),
            variables: vec![("GIT_INDEX_FILE", file.clone().into())],
            ..Theirs::default()
        };
        let index = Self {
            repository,
            file,
            place,
        };
        index.run(&["read-tree", head.as_str()], b"").await?;
        Ok(index)
    }

    async fn run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let access = Access::Theirs(&self.place);
        self.repository.fed(access, args, input).await
    }

    async fn tree(&self) -> Result<TreeId> {
        TreeId::read(&self.run(&["write-tree"], b"").await?)
    }
}

impl Drop for Index<'_> {
    fn drop(&mut self) {
        let _not_there = std::fs::remove_file(&self.file);
    }
}
