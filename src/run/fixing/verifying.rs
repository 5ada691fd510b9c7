//! The project's checks on a fix, where the base branch's settings name some. Nothing of the run is running then but this process.

use super::ground::Ground;
use crate::host::{Failure, Job};
use crate::verify::Verifier;
use reviewer_core::config::FixSettings;
use reviewer_core::publish::comment::fixing::Verified;
use reviewer_core::verification::{CommandRun, Verification};
use reviewer_repo::git::FileEdit;

/// The checks of a fix.
pub(super) struct Checks<'a> {
    job: &'a Job<'a>,
    ground: &'a Ground,
    /// The checks on the unchanged head, once.
    baseline: Option<CommandRun>,
}

/// The result of the checks on one state of the edits.
#[derive(Default)]
pub(super) struct Checked {
    pub verified: Verified,
    /// The output of the commands that fail because of the fix; empty where none does.
    pub failure: String,
    /// The id of the tree that was checked; `None` where nothing was.
    pub tree: Option<String>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(job: &'a Job<'a>, ground: &'a Ground) -> Self {
        Self {
            job,
            ground,
            baseline: None,
        }
    }

    /// Runs the checks on the edits. Nothing is run for a fork, without edits, or where the base names no command. `sidecar_user`:
    /// the user that the sidecar had.
    pub(super) async fn run(
        &mut self,
        edits: &[FileEdit],
        sidecar_user: Option<u32>,
    ) -> Result<Checked, Failure> {
        let (host, facts) = (&self.job.host, &self.ground.facts);
        let settings = FixSettings {
            timeout: host.setup.clock.limit(host.config.fix.settings.timeout),
            ..host.config.fix.settings.clone()
        };
        if settings.verify.is_empty() || facts.pull.from_fork || edits.is_empty() {
            return Ok(Checked::default());
        }
        host.setup.actions.glimpse("verifying the fix", "");
        let verifier = Verifier {
            repository: &facts.change.repository,
            head: self.ground.head(),
            settings: &settings,
            launcher: &host.setup.launcher,
            scratch: host.scratch.path(),
            redactor: &host.secrets.redactor,
            require_sandbox: host.config.require_sandbox,
            clock: host.setup.clock,
            last: host.started + host.setup.clock.limit(host.config.timeout),
            sidecar_user,
        };
        let baseline = match self.baseline.take() {
            Some(baseline) => baseline,
            None => verifier.baseline().await?,
        };
        let verification = verifier.verify(&baseline, edits).await?;
        self.baseline = Some(baseline);
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
}

fn verified(verification: &Verification) -> Verified {
    let fixed = &verification.fixed;
    let commands = fixed.results.iter().zip(&verification.standings);
    let gaps = fixed.gaps.iter();
    let gaps = gaps.map(|gap| format!("The sandbox had a gap: {gap}."));
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
