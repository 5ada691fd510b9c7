//! A cycle in two jobs: the one that fixes writes a signed bundle and nothing to GitHub; the one that publishes runs nothing,
//! and decides everything anew from GitHub and the bundle.

use super::{Cycle, Made};
use crate::actions;
use crate::host::Failure;
use crate::run::CheckRun;
use crate::run::fixing::session::{file_edits, head_file};
use crate::run::fixing::{Fixing, delivery};
use crate::run::outcome::Outcome;
use reviewer_core::fix::ChangedFile;
use reviewer_core::fix::bundle::{Bundle, BundleEdit, BundleOutcome};
use reviewer_core::fix::gate::{Gate, Ground};
use reviewer_core::fix::issue::{Issue, IssueId};
use reviewer_core::fix::outcome::Settled;
use reviewer_core::fix::reverts::LineMarks;
use reviewer_core::publish::comment::fixing::{self, Verified};
use reviewer_core::report::events::EventKind;
use reviewer_core::state::spending::Spent;
use reviewer_repo::git::TreeId;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The edits of a session with what they were made for.
pub(super) fn bundled(
    changed: &[ChangedFile],
    quotes: &BTreeMap<String, String>,
) -> Vec<BundleEdit> {
    let edit = |file: &ChangedFile| BundleEdit {
        quote: quotes.get(&file.path).cloned(),
        ..BundleEdit::new(&file.path, file.new.as_deref(), &file.issues)
    };
    changed.iter().map(edit).collect()
}

impl Cycle<'_> {
    /// Fixes, and writes the fix as a bundle; and as a patch beside it, if files are changed.
    pub(in crate::run::fixing) async fn hand_over(
        &self,
        path: &Path,
        outcome: &mut Outcome,
        fixing: &mut Fixing,
    ) -> Result<(), Failure> {
        self.created(outcome, fixing);
        let made = self.make().await;
        self.enter_cost(outcome);
        let made = made?;
        let repository = &self.ground.facts.change.repository;
        let head = self.ground.head();
        let base = repository.tree_with(head, &[]).await?;
        let tree = repository.tree_with(head, &made.edits).await?;
        let is_verified =
            made.edits.is_empty() || made.tree.as_ref().is_none_or(|one| one == tree.as_str());
        if !is_verified {
            return Err(Failure::new(
                "the files of the fix are not the ones that were verified; no bundle was written",
            ));
        }
        let bundle = self.bundle(&made, (&base, &tree));
        let text = bundle.render(&self.job.pr, &self.job.keys);
        let text = text.ok_or_else(|| Failure::new("the bundle could not be signed"))?;
        write(path, text.as_bytes())?;
        let shown = path.display().to_string();
        let shown = visible(&shown);
        let fixed = made.settled.iter().filter(|one| one.outcome.is_fixed());
        let fixed = fixed.count();
        let told = if made.edits.is_empty() {
            let why = made.ended.as_deref().unwrap_or("the fixer changed nothing");
            format!("Nothing was fixed: {why}. {shown} holds the reasons, to be published.")
        } else {
            let lines = repository.patch_to(head, &tree).await?;
            let file = patch_beside(path);
            write(&file, &lines)?;
            self.name_patch(&file);
            let count = plural(fixed, "finding");
            format!("{shown} holds a fix of {count}. `fix --publish` makes a commit of it.")
        };
        outcome.report.notes.push(told);
        let result = self.result(&made);
        let details = json!({ "cycle": self.number, "fixed": fixed, "result": result });
        fixing.event(self.job, EventKind::FixCompleted, details);
        Ok(())
    }

    fn bundle(&self, made: &Made, (base, tree): (&TreeId, &TreeId)) -> Bundle {
        let outcomes = made.settled.iter().map(|one| {
            let id = one.issue.id.to_string();
            let kept = made.report.outcomes.iter().find(|kept| kept.id == id);
            let marks = kept.map(|kept| kept.marks.clone());
            BundleOutcome::new(one, marks.unwrap_or_default())
        });
        let used = self.job.host.session().usage.used();
        Bundle {
            base_tree: base.to_string(),
            tree: tree.to_string(),
            cycle: self.number,
            command: self.command,
            edits: made.bundled.clone(),
            outcomes: outcomes.collect(),
            checks: fixing::check_lines(&made.verified),
            beyond: made.beyond.clone(),
            fallback: made.fallback.clone(),
            cost_micros: micros(used.told.cost),
            tokens: used.tokens().number,
            ..Bundle::new(&self.job.pr, self.ground.head())
        }
    }

    /// Names the patch to the steps after this one.
    fn name_patch(&self, file: &Path) {
        let setup = self.job.host.setup;
        let workspace = setup.environment.workspace.as_deref();
        let below = workspace.and_then(|workspace| file.strip_prefix(workspace).ok());
        let named = below.unwrap_or(file).display().to_string();
        delivery::set_patch_file(setup, &named);
    }

    /// Delivers the fix of a bundle. It was signed for this pull request and head; everything else is looked at again.
    pub(in crate::run::fixing) async fn publish(
        &self,
        bundle: &Bundle,
        outcome: &mut Outcome,
        check: &CheckRun,
        fixing: &mut Fixing,
    ) -> Result<(), Failure> {
        self.created(outcome, fixing);
        // The job that spent it could write no account.
        let spent = Spent {
            run: bundle.receipt(),
            ..self.job.spent(bundle.cost_usd(), bundle.tokens)
        };
        self.enter(spent, outcome);
        let made = self.unpacked(bundle).await?;
        if self.delivers_by_push() && !made.edits.is_empty() {
            delivery::warn(self.job, self.ground).await;
        }
        self.bring(made, outcome, check, fixing).await
    }

    async fn unpacked(&self, bundle: &Bundle) -> Result<Made, Failure> {
        let (job, head) = (self.job, self.ground.head());
        if (self.number, self.command) != (bundle.cycle, bundle.command) {
            return Err(Failure::new(
                "another fix was asked for or made since the bundle was written; ask for a fix again",
            ));
        }
        let settled = self.settled(bundle)?;
        let issues: Arc<[Issue]> = settled.iter().map(|one| one.issue.clone()).collect();
        let settings = &job.host.config.fix.settings;
        let redactor = Arc::clone(&job.host.secrets.redactor);
        let gate = Gate::new(issues, settings.allow.clone(), redactor);
        let (changed, ground) = self.changed(bundle).await?;
        gate.judge(&changed, &ground).map_err(Failure::new)?;
        let edits = file_edits(&changed);
        let repository = &self.ground.facts.change.repository;
        let base = repository.tree_with(head, &[]).await?;
        let tree = repository.tree_with(head, &edits).await?;
        if base.as_str() != bundle.base_tree || tree.as_str() != bundle.tree {
            return Err(Failure::new(
                "the files of the bundle do not make the tree that it names; ask for a fix again",
            ));
        }
        let marks = |id: &IssueId| -> Vec<LineMarks> {
            let id = id.to_string();
            let found = bundle.outcomes.iter().find(|one| one.id == id);
            found.map(|one| one.marks.clone()).unwrap_or_default()
        };
        let (_, review_url) = self.ground.review();
        Ok(Made {
            report: self.kept(&settled, marks),
            settled,
            edits,
            bundled: Vec::new(),
            verified: Verified {
                notes: bundle.checks.clone(),
                ..Verified::default()
            },
            tree: Some(tree.to_string()),
            beyond: bundle.beyond.clone(),
            fallback: bundle.fallback.clone(),
            gate,
            review_url,
            ended: None,
        })
    }

    /// The outcomes, for issues that are to be fixed now as they were then.
    fn settled(&self, bundle: &Bundle) -> Result<Vec<Settled>, Failure> {
        let mut settled = Vec::new();
        for one in &bundle.outcomes {
            let mut issues = self.selection.issues.iter();
            let Some(issue) = issues.find(|issue| issue.id.to_string() == one.id) else {
                let id = &one.id;
                let told = format!("{id} is not to be fixed any more; ask for a fix again");
                return Err(Failure::new(told));
            };
            let is_for = |edit: &BundleEdit| edit.issues.contains(&one.id);
            if one.outcome().is_fixed() && !bundle.edits.iter().any(is_for) {
                let id = &one.id;
                let told = format!("the bundle calls {id} fixed and changes no file for it");
                return Err(Failure::new(told));
            }
            settled.push(Settled {
                issue: issue.clone(),
                outcome: one.outcome(),
            });
        }
        Ok(settled)
    }

    /// The files that the bundle changes, and what the head has in their place.
    async fn changed(&self, bundle: &Bundle) -> Result<(Vec<ChangedFile>, Ground), Failure> {
        let (mut changed, mut ground) = (Vec::new(), Ground::default());
        for edit in &bundle.edits {
            let Some((old, facts)) = head_file(self.ground, &edit.path).await? else {
                let path = visible(&edit.path);
                let why =
                    format!("Nothing was fixed: {path} is larger than 1 MiB, and is not edited.");
                return Err(Failure::new(why));
            };
            ground.facts.insert(edit.path.clone(), facts);
            if let Some(quote) = &edit.quote {
                ground.quotes.insert(edit.path.clone(), quote.clone());
            }
            changed.push(ChangedFile {
                path: edit.path.clone(),
                old,
                new: edit.bytes(),
                issues: edit.issue_ids(),
            });
        }
        Ok((changed, ground))
    }
}

/// Dollars as millionths, which JSON keeps exactly.
fn micros(usd: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast saturates, and no cost is negative"
    )]
    let micros = (usd * 1e6).round() as u64;
    micros
}

/// The patch for people and their tools, beside a bundle.
fn patch_beside(bundle: &Path) -> PathBuf {
    let mut name = bundle.as_os_str().to_owned();
    name.push(".patch");
    name.into()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    actions::write_file(path, bytes).map_err(|error| {
        let shown = path.display().to_string();
        let shown = visible(&shown);
        Failure::new(format!("{shown} could not be written: {error}"))
    })
}
