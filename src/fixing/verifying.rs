//! Verifies a fix by the project's own checks, where the base branch's settings name some: on the unchanged head, on the fix, and
//! on its tests alone. Nothing of the run is running then but this process.

use super::ground::Ground;
use crate::host::{Failure, Job};
use reviewer_agent::opencode::Quota;
use reviewer_agent::verify::{self, CheckSpec};
use reviewer_core::publish::comment::fixing::Verified;
use reviewer_core::verification::{CommandRun, Verification, is_test_path};
use reviewer_repo::export::{self, ExportCaps};
use reviewer_repo::git::{FileEdit, TreeId};

/// The checks of a fix.
pub(super) struct Checks<'a> {
    job: &'a Job<'a>,
    ground: &'a Ground,
    /// The checks on the unchanged head, once.
    baseline: Option<CommandRun>,
    runs: u32,
}

/// The result of the checks on one state of the edits.
pub(super) struct Checked {
    pub verified: Verified,
    /// What the commands printed that fail because of the fix; empty where none does.
    pub failure: String,
    /// The tree that was checked.
    pub tree: Option<TreeId>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(job: &'a Job<'a>, ground: &'a Ground) -> Self {
        Self {
            job,
            ground,
            baseline: None,
            runs: 0,
        }
    }

    /// Runs the checks on the edits. Nothing is run for a fork, or where the base names no command.
    pub(super) async fn run(&mut self, edits: &[FileEdit]) -> Result<Checked, Failure> {
        let settings = &self.job.host.config.fix.settings;
        if settings.verify.is_empty() || self.ground.facts.pull.from_fork {
            return Ok(Checked {
                verified: Verified::default(),
                failure: String::new(),
                tree: None,
            });
        }
        self.job.host.setup.actions.glimpse("verifying the fix", "");
        let baseline = match self.baseline.take() {
            Some(baseline) => baseline,
            None => self.on(&[]).await?.0,
        };
        let (fixed, tree) = self.on(edits).await?;
        let tests: Vec<FileEdit> = edits
            .iter()
            .filter(|edit| edit.content.is_some() && is_test_path(&edit.path))
            .cloned()
            .collect();
        let tests_alone = if tests.is_empty() || tests.len() == edits.len() {
            None
        } else {
            Some(self.on(&tests).await?.0)
        };
        self.baseline = Some(baseline.clone());
        let id = tree.to_string();
        let verification = Verification::new(id, baseline, fixed, tests_alone.as_ref());
        let failure: Vec<String> = verification
            .broken()
            .map(|result| format!("{}\n{}", result.sentence(), result.output))
            .collect();
        Ok(Checked {
            verified: verified(&verification),
            failure: failure.join("\n\n"),
            tree: Some(tree),
        })
    }

    /// Runs the commands on a fresh export of the head with these edits.
    async fn on(&mut self, edits: &[FileEdit]) -> Result<(CommandRun, TreeId), Failure> {
        let (host, facts) = (&self.job.host, &self.ground.facts);
        self.runs += 1;
        let folder = host.scratch.directory(&format!("verify-{}", self.runs))?;
        let repository = &facts.change.repository;
        let (head, caps) = (&facts.pull.head_sha, ExportCaps::default());
        let tree = folder.join("tree");
        let export = export::write(repository, head, edits, &tree, &caps).await?;
        let settings = &host.config.fix.settings;
        let spec = CheckSpec {
            launcher: host.setup.launcher.clone(),
            commands: settings.verify.clone(),
            folder,
            read: settings.verify_read.clone(),
            execute: settings.verify_exec.clone(),
            timeout: host.setup.clock.limit(settings.timeout),
            require_sandbox: host.config.require_sandbox,
            quota: Quota::USUAL,
            other_than: None,
        };
        let mut run = verify::run(&spec, &host.secrets.redactor).await?;
        run.left_out = export.left_out;
        Ok((run, export.tree))
    }
}

fn verified(verification: &Verification) -> Verified {
    let fixed = &verification.fixed;
    let commands = fixed.results.iter().zip(&verification.standings);
    let gaps = fixed
        .gaps
        .iter()
        .map(|gap| format!("The sandbox had a gap: {gap}."));
    let network = fixed.no_loopback.iter();
    let network = network.map(|why| format!("The checks could use no socket: {why}."));
    Verified {
        commands: commands
            .map(|(result, standing)| (result.line(), standing.clone()))
            .collect(),
        witness: Some(verification.witness.clone()),
        notes: gaps.chain(network).collect(),
    }
}
