//! Takes the repository's own settings into a run's configuration, before anything depends on it.

use super::{Engine, Run, Stop};
use crate::config::file::{PATH, RepositoryFile};
use crate::config::inputs;
use crate::github::PullRequest;

/// From the base branch, never from the head: a pull request must not say how it is judged. A file that cannot be read is
/// a warning; the review goes on without.
pub async fn take(run: &mut Run<'_>, pull: &PullRequest) -> Result<(), Stop> {
    let read = run.github.file(&run.pr.repo, &pull.base_sha, PATH).await;
    let setup = run.engine.setup;
    let text = match read {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(()),
        Err(error) => {
            let message = format!("The settings in {PATH} could not be read: {error}");
            setup.actions.warning(&message);
            return Ok(());
        }
    };
    apply(&mut run.engine, &text)
}

/// Tells what is wrong with the file, and takes the rest.
pub fn apply(engine: &mut Engine<'_>, text: &str) -> Result<(), Stop> {
    let (setup, file) = (engine.setup, RepositoryFile::parse(text));
    for problem in &file.problems {
        let actions = &setup.actions;
        actions.warning_at(PATH, problem.line, &problem.sentence);
    }
    let merged = inputs::config(&file.under(&setup.inputs));
    // Each value was judged by itself, and none depends on another.
    let mut config = merged.map_err(|errors| Stop::fail_all(&errors))?;
    if let Some(globs) = file.ignore(&setup.inputs) {
        config.ignore = globs.clone();
    }
    config.instructions = file.instructions;
    config.skip = file.skip;
    engine.config = config;
    Ok(())
}
