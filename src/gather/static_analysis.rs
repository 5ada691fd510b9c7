//! Reads the SARIF files that earlier steps wrote into the workspace. The tools ran over the pull request's code, and a checkout may put
//! anything in the place of a file, so nothing outside of the workspace is read, nothing that is no regular file, and nothing large.
//! A file that cannot be read is told and keeps no review away.

use crate::host::{Failure, Host};
use nix::fcntl::OFlag;
use reviewer_core::context::since::Since;
use reviewer_core::domain::{FileDiff, ToolRule};
use reviewer_core::publish::comment::analysis;
use reviewer_core::report::static_analysis::StaticAnalysisReport;
use reviewer_core::review::candidate_outcomes::CandidateOutcome;
use reviewer_core::static_analysis::{
    self, Candidate, Candidates, MOST_MEGABYTES, ToolResult, ToolResults, Unread,
};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MOST_BYTES: u64 = MOST_MEGABYTES * 1_000_000;

/// The folders in which files are looked for.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Nothing outside of it is read.
    pub root: PathBuf,
    /// The folder that the paths of the input are relative to: the root, or one below it.
    pub from: PathBuf,
}

/// The results in the files about the change under review. Empty where the input names none.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    files: Vec<(String, Result<ToolResults, Unread>)>,
    candidates: Candidates,
    /// The candidates, as desks share them.
    shared: Arc<[Candidate]>,
}

impl Workspace {
    /// The workspace of the job; in a shell, the current folder.
    pub(crate) fn of_job(host: &Host<'_>) -> Self {
        let workspace = host.setup.environment.workspace.clone();
        let root = workspace.unwrap_or_else(|| PathBuf::from("."));
        Self {
            from: root.clone(),
            root,
        }
    }
}

impl Workspace {
    /// The files of the input that lie in the workspace, by their paths from its root. They are no part of the change.
    pub(crate) fn named(&self, host: &Host<'_>) -> Vec<String> {
        let Ok(root) = self.root.canonicalize() else {
            return Vec::new();
        };
        let named = host.config.static_analysis.iter();
        let named = named.filter_map(|path| {
            let place = self.from.join(path).canonicalize().ok()?;
            let below = place.strip_prefix(&root).ok()?;
            below.to_str().map(str::to_owned)
        });
        named.collect()
    }
}

impl Analysis {
    /// Reads the files of the input. The candidates are on lines that the new part of these diffs adds.
    pub(crate) fn read(
        host: &Host<'_>,
        workspace: &Workspace,
        diffs: &[(FileDiff, String)],
        since: Option<&Since>,
    ) -> Result<Self, Failure> {
        let named = &host.config.static_analysis;
        if named.is_empty() {
            return Ok(Self::default());
        }
        let roots = roots(host, workspace);
        let mut files = Vec::new();
        for path in named {
            let read = match load(workspace, path) {
                Ok(bytes) => static_analysis::read(&bytes, &roots),
                Err(Refusal::Unread(why)) => Err(why),
                Err(Refusal::Directory) => return Err(Failure::new(analysis::directory(path))),
            };
            files.push((path.clone(), read));
        }
        let new = diffs.iter().map(|(diff, _)| diff);
        let new = new.filter(|diff| !since.is_some_and(|since| since.is_known(diff)));
        let new: Vec<Cow<'_, FileDiff>> = new
            .map(|diff| since.map_or(Cow::Borrowed(diff), |since| since.new_in(diff)))
            .collect();
        let new: Vec<&FileDiff> = new.iter().map(AsRef::as_ref).collect();
        let read = files.iter().filter_map(|(_, read)| read.as_ref().ok());
        let results: Vec<ToolResult> = read.flat_map(|read| read.results.clone()).collect();
        let mut candidates = Candidates::new(&results, &new);
        for candidate in &mut candidates.first {
            without_secrets(host, candidate);
        }
        Ok(Self {
            files,
            shared: candidates.first.clone().into(),
            candidates,
        })
    }

    pub(crate) fn candidates(&self) -> &Arc<[Candidate]> {
        &self.shared
    }

    /// A sentence for each file that was not read, and for each tool that did not finish.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let told = |(path, read): &(String, Result<ToolResults, Unread>)| match read {
            Err(why) => vec![analysis::unread(path, why)],
            Ok(read) => {
                let tools = read.unfinished.iter();
                tools.map(|tool| analysis::unfinished(tool, path)).collect()
            }
        };
        self.files.iter().flat_map(told).collect()
    }

    /// The part of the report; `None` where the input names no file.
    pub(crate) fn report(&self, outcomes: &[CandidateOutcome]) -> Option<StaticAnalysisReport> {
        let report = || StaticAnalysisReport::new(&self.files, &self.candidates, outcomes);
        (!self.files.is_empty()).then(report)
    }
}

/// The whole paths of the repository's root as tools may have seen it: here, on the runner outside of this container, and in the
/// container of a job.
fn roots(host: &Host<'_>, workspace: &Workspace) -> Vec<String> {
    let mut roots = vec![workspace.root.clone()];
    roots.extend(workspace.root.canonicalize());
    if let Some(outside) = &host.setup.environment.runner_workspace
        && let Some(name) = outside.file_name()
    {
        roots.push(outside.join(name));
        roots.push(Path::new("/__w").join(name).join(name));
    }
    let absolute = roots.into_iter().filter(|root| root.is_absolute());
    absolute
        .filter_map(|root| root.to_str().map(str::to_owned))
        .collect()
}

/// The words of tools are shown to the model and in the report. Some tools repeat the secrets that they find.
fn without_secrets(host: &Host<'_>, candidate: &mut Candidate) {
    let clean = |text: &str| host.secrets.redactor.clean(text).into_owned();
    candidate.rule = ToolRule::new(&clean(&candidate.rule.tool), &clean(&candidate.rule.rule));
    candidate.message = clean(&candidate.message);
    candidate.help = clean(&candidate.help);
}

enum Refusal {
    Unread(Unread),
    /// The setting is wrong, and not the file.
    Directory,
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Unread(match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unread::Missing,
            kind => Unread::Refused(kind.to_string()),
        })
    }
}

/// The bytes of a file below the workspace.
fn load(workspace: &Workspace, path: &str) -> Result<Vec<u8>, Refusal> {
    let place = workspace.from.join(path).canonicalize()?;
    if !place.starts_with(workspace.root.canonicalize()?) {
        return Err(Refusal::Unread(Unread::Outside));
    }
    let file = open(&place)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(Refusal::Directory);
    }
    if !found.is_file() {
        return Err(Refusal::Unread(Unread::NotRegular));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    let bytes_read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if bytes_read > MOST_BYTES {
        let bytes = found.len().max(bytes_read);
        return Err(Refusal::Unread(Unread::TooLarge { bytes }));
    }
    Ok(bytes)
}

/// Opens what the path leads to, without following a link that took its place since, and without waiting for the other end of a pipe.
fn open(place: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(place)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn told(workspace: &Workspace, path: &str) -> Result<usize, Unread> {
        match load(workspace, path) {
            Ok(bytes) => Ok(bytes.len()),
            Err(Refusal::Unread(why)) => Err(why),
            Err(Refusal::Directory) => Err(Unread::Refused("a directory".into())),
        }
    }

    #[test]
    fn only_regular_files_below_the_workspace_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        std::fs::create_dir_all(root.join("out")).unwrap();
        std::fs::write(folder.path().join("secret"), "0123456789").unwrap();
        std::fs::write(root.join("out/a.sarif"), "{}").unwrap();
        symlink("out/a.sarif", root.join("inside.sarif")).unwrap();
        symlink("../secret", root.join("outside.sarif")).unwrap();
        symlink(folder.path(), root.join("above")).unwrap();
        symlink("/dev/zero", root.join("device.sarif")).unwrap();
        nix::unistd::mkfifo(&root.join("pipe.sarif"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let workspace = Workspace {
            from: root.clone(),
            root,
        };
        for (path, expected) in [
            ("out/a.sarif", Ok(2)),
            ("inside.sarif", Ok(2)),
            ("outside.sarif", Err(Unread::Outside)),
            ("above/secret", Err(Unread::Outside)),
            ("device.sarif", Err(Unread::Outside)),
            ("pipe.sarif", Err(Unread::NotRegular)),
            ("none.sarif", Err(Unread::Missing)),
            ("out/a.sarif/none", Err(Unread::Missing)),
            ("out", Err(Unread::Refused("a directory".into()))),
        ] {
            assert_eq!(told(&workspace, path), expected, "{path}");
        }
    }

    #[test]
    fn a_file_of_ten_megabytes_is_read_and_a_larger_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace {
            root: folder.path().to_owned(),
            from: folder.path().to_owned(),
        };
        let file = File::create(folder.path().join("a.sarif")).unwrap();
        file.set_len(MOST_BYTES).unwrap();
        assert_eq!(told(&workspace, "a.sarif"), Ok(10_000_000));
        file.set_len(MOST_BYTES + 1).unwrap();
        let bytes = 10_000_001;
        assert_eq!(told(&workspace, "a.sarif"), Err(Unread::TooLarge { bytes }));
    }
}
