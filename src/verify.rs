//! Verifies a fix on this machine: the repository's commands on the head, on the head with the fix, and on the head with the
//! tests of the fix alone. It decides nothing: `reviewer_core::verification` judges the results. The driver calls it after the
//! sidecar has ended, and publishes only the tree that was verified.

use anyhow::{Context as _, Result};
use reviewer_agent::opencode::Quota;
use reviewer_agent::verify::{CheckSpec, run};
use reviewer_core::config::FixSettings;
use reviewer_core::domain::CommitSha;
use reviewer_core::verification::{
    CommandOutcome, CommandRun, Verification, is_test_path, standings,
};
use reviewer_repo::export::{self, Export, ExportCaps};
use reviewer_repo::git::{FileEdit, Repository};
use reviewer_system::clock::Clock;
use reviewer_text::redact::Redactor;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

/// Everything that the fixes of one head are verified with.
#[derive(Debug, Clone, Copy)]
pub struct Verifier<'a> {
    pub repository: &'a Repository,
    pub head: &'a CommitSha,
    /// Of the base branch.
    pub settings: &'a FixSettings,
    /// This program, as which every command begins.
    pub launcher: &'a Path,
    /// A folder that other users can pass through. Every run makes a folder of its own in it, and removes it.
    pub scratch: &'a Path,
    pub redactor: &'a Redactor,
    pub require_sandbox: bool,
    pub clock: Clock,
    /// The end of the run, which ends the commands, too.
    pub last: Instant,
    /// The user that the sidecar had.
    pub sidecar_user: Option<u32>,
}

impl Verifier<'_> {
    /// Runs the commands on the unchanged head. Once for all fixes of this head.
    pub async fn baseline(&self) -> Result<CommandRun> {
        Ok(self.run_on(&[]).await?.1)
    }

    /// Runs the commands on the head with the fix, and judges them by the baseline.
    pub async fn verify(&self, baseline: &CommandRun, edits: &[FileEdit]) -> Result<Verification> {
        let (export, fixed) = self.run_on(edits).await?;
        let without_fix = self.without_fix(baseline, &fixed, edits).await?;
        let tree = export.tree.as_str().to_owned();
        let baseline = baseline.clone();
        Ok(Verification::new(
            tree,
            baseline,
            fixed,
            without_fix.as_ref(),
        ))
    }

    /// The commands on the head with the tests of the fix alone; `None` where it adds none. Nothing is run where the result is
    /// known.
    async fn without_fix(
        &self,
        baseline: &CommandRun,
        fixed: &CommandRun,
        edits: &[FileEdit],
    ) -> Result<Option<CommandRun>> {
        let is_test = |edit: &&FileEdit| edit.content.is_some() && is_test_path(&edit.path);
        let tests: Vec<FileEdit> = edits.iter().filter(is_test).cloned().collect();
        if tests.is_empty() {
            return Ok(None);
        }
        if tests.len() == edits.len() {
            return Ok(Some(fixed.clone()));
        }
        let passes = |run: &CommandRun| {
            let mut results = run.results.iter();
            results.any(|one| one.outcome == CommandOutcome::Passed)
        };
        if standings(baseline, fixed).is_empty() || !passes(baseline) || !passes(fixed) {
            return Ok(Some(CommandRun::default()));
        }
        Ok(Some(self.run_on(&tests).await?.1))
    }

    async fn run_on(&self, edits: &[FileEdit]) -> Result<(Export, CommandRun)> {
        let folder = tempfile::Builder::new()
            .prefix("verify-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(self.scratch)
            .with_context(|| format!("no folder could be made in {}", self.scratch.display()))?;
        let tree = folder.path().join("tree");
        std::fs::create_dir(&tree).with_context(|| tree.display().to_string())?;
        let caps = ExportCaps::default();
        let export = export::write(self.repository, self.head, edits, &tree, &caps).await?;
        let left = self.last.saturating_duration_since(self.clock.instant());
        let spec = CheckSpec {
            launcher: self.launcher.to_owned(),
            commands: self.settings.verify.clone(),
            folder: folder.path().to_owned(),
            read: self.settings.verify_read.clone(),
            execute: self.settings.verify_exec.clone(),
            timeout: self.settings.timeout.min(left),
            require_sandbox: self.require_sandbox,
            quota: Quota::BUILD,
            other_than: self.sidecar_user,
        };
        let mut ran = run(&spec, self.redactor).await?;
        ran.left_out.clone_from(&export.left_out);
        Ok((export, ran))
    }
}
