//! Takes the repository's own settings into a run's configuration, before anything depends on it.

use crate::host::{Failure, Host, Job, seated};
use reviewer_core::config::file::{PATH, RepositoryFile};
use reviewer_core::config::inputs;
use reviewer_github::{FileAt, PullRequest};

/// From the base branch, never from the head: a pull request must not say how it is judged. Returns why a gate cannot be
/// judged, if its settings cannot be read. Without a gate that is a warning, and the review goes on without them.
pub(crate) async fn take(job: &mut Job<'_>, pull: &PullRequest) -> Result<Option<String>, Failure> {
    let read = job.github.file(&job.pr.repo, &pull.base_sha, PATH).await;
    let unread = match read {
        Ok(FileAt::Text(text)) => {
            let unread = apply(&mut job.host, &text)?;
            return Ok(unread.map(|unread| closed(&unread)));
        }
        Ok(FileAt::Missing) => return Ok(None),
        Ok(FileAt::Unreadable) => {
            unread("it is too large or not text; replace it there by a YAML file.")
        }
        Err(error) => unread(&format!("{error} Run again.")),
    };
    if has_gate(&job.host) {
        return Ok(Some(closed(&unread)));
    }
    job.host.setup.actions.warning(&unread);
    Ok(None)
}

/// Tells what is wrong with the file, and takes the rest. Returns why a gate cannot be judged, if there is no rest.
pub(crate) fn apply(host: &mut Host<'_>, text: &str) -> Result<Option<String>, Failure> {
    let (setup, file) = (host.setup, RepositoryFile::parse(text));
    for problem in &file.problems {
        let actions = &setup.actions;
        actions.warning_at(PATH, problem.line, &problem.sentence);
    }
    if let ([problem, ..], true) = (&*file.problems, file.unreadable && has_gate(host)) {
        let problem = problem.sentence.trim_end_matches('.');
        return Ok(Some(unread(&format!("{problem}; correct the file there."))));
    }
    let merged = inputs::config(&file.under(&setup.inputs));
    // Each value was judged by itself, and none depends on another.
    let config = merged.map_err(|errors| Failure::all(&errors))?;
    let mut config = seated(setup, config).map_err(Failure::new)?;
    if let Some(globs) = file.ignore(&setup.inputs) {
        config.ignore = globs.clone();
    }
    config.instructions = file.instructions;
    config.skip = file.skip;
    config.fix.settings = file.fix;
    host.config = config;
    Ok(None)
}

fn unread(why: &str) -> String {
    format!("The file {PATH} of the base branch could not be read: {why}")
}

fn closed(unread: &str) -> String {
    format!("{unread} Until then the check fails, because this file may say what blocks.")
}

/// True if open findings can fail the check, as far as the workflow says.
fn has_gate(host: &Host<'_>) -> bool {
    host.config.policy.blocking.is_some()
}
