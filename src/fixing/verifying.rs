//! Verifies a fix by the project's own checks, where the base branch's settings name some: on the unchanged head, on the fix, and
//! on its tests alone. Nothing of the run is running then but this process.

use super::ground::Ground;
use crate::host::{Failure, Job};
use crate::verify::Verifier;
use reviewer_core::config::FixSettings;
use reviewer_core::publish::comment::fixing::Verified;
use reviewer_core::verification::{CommandRun, Verification};
use reviewer_repo::git::FileEdit;
use std::path::PathBuf;

/// The checks of a fix.
pub(super) struct Checks<'a> {
    job: &'a Job<'a>,
    ground: &'a Ground,
    /// As the base branch has them, with the time of this run.
    settings: FixSettings,
    /// The folder of all runs, and the checks on the unchanged head, once.
    begun: Option<(PathBuf, CommandRun)>,
}

/// The result of the checks on one state of the edits.
#[derive(Default)]
pub(super) struct Checked {
    pub verified: Verified,
    /// What the commands printed that fail because of the fix; empty where none does.
    pub failure: String,
    /// The tree that was checked.
    pub tree: Option<String>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(job: &'a Job<'a>, ground: &'a Ground) -> Self {
        let settings = &job.host.config.fix.settings;
        let timeout = job.host.setup.clock.limit(settings.timeout);
        Self {
            job,
            ground,
            settings: FixSettings {
                timeout,
                ..settings.clone()
            },
            begun: None,
        }
    }

    /// Runs the checks on the edits. Nothing is run for a fork, where the base names no command, or where nothing is changed.
    pub(super) async fn run(&mut self, edits: &[FileEdit]) -> Result<Checked, Failure> {
        let from_fork = self.ground.facts.pull.from_fork;
        if self.settings.verify.is_empty() || from_fork || edits.is_empty() {
            return Ok(Checked::default());
        }
        let host = &self.job.host;
        host.setup.actions.glimpse("verifying the fix", "");
        let (scratch, baseline) = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let scratch = host.scratch.directory("verify")?;
                let baseline = self.verifier(&scratch).baseline().await?;
                (scratch, baseline)
            }
        };
        let verification = self.verifier(&scratch).verify(&baseline, edits).await?;
        self.begun = Some((scratch, baseline));
        let failure: Vec<String> = verification
            .broken()
            .map(|result| format!("{}\n{}", result.sentence(), result.output))
            .collect();
        Ok(Checked {
            verified: verified(&verification),
            failure: failure.join("\n\n"),
            tree: Some(verification.tree),
        })
    }

    fn verifier<'b>(&'b self, scratch: &'b PathBuf) -> Verifier<'b> {
        let (host, facts) = (&self.job.host, &self.ground.facts);
        Verifier {
            repository: &facts.change.repository,
            head: &facts.pull.head_sha,
            settings: &self.settings,
            launcher: &host.setup.launcher,
            scratch,
            redactor: &host.secrets.redactor,
            require_sandbox: host.config.require_sandbox,
            sidecar_user: None,
        }
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
