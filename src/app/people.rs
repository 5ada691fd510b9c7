//! Who decides where the model and the developer do not agree. Asked of GitHub only when somebody may have to.

use super::reading::Reading;
use super::{Run, Stop};
use crate::domain::{Awaiting, Login, Status, Thread};

/// People and teams as they are mentioned: asked to review, having reviewed with write access, or configured.
/// Not the author, and no bots.
pub async fn who_decides(
    run: &Run<'_>,
    reading: &Reading,
    to_judge: &[&Thread],
) -> Result<Vec<String>, Stop> {
    let undecided =
        |thread: &&&Thread| thread.status == Status::Disputed && thread.awaiting == Awaiting::Us;
    if to_judge.iter().find(undecided).is_none() {
        return Ok(Vec::new());
    }
    let requested = run
        .github
        .requested_reviewers(&run.pr)
        .await
        .map_err(Stop::fail)?;
    let mut names = run.engine.config.human_reviewers.clone();
    names.extend(requested);
    let mut asked: Vec<&Login> = Vec::new();
    for login in reading
        .reviews
        .iter()
        .filter_map(|review| review.author.as_ref())
    {
        if login.is_bot() || asked.contains(&login) {
            continue;
        }
        asked.push(login);
        if run.memory().may_write(login).await? {
            names.push(login.to_string());
        }
    }
    let author = reading
        .pull
        .author
        .as_ref()
        .map(Login::as_str)
        .unwrap_or_default();
    let mut people: Vec<String> = Vec::new();
    for name in names {
        let known = people.iter().any(|known| known.eq_ignore_ascii_case(&name));
        if !known && !name.eq_ignore_ascii_case(author) {
            people.push(name);
        }
    }
    Ok(people)
}
