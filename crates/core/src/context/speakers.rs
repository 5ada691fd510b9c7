//! The standing of people who write comments, as far as it is known without asking again. Separate because people say
//! things about themselves: beside each comment stands what GitHub says.

use crate::domain::{Login, Standing, Thread};
use crate::event::Association;

/// The facts about the people on a pull request.
#[derive(Debug, Clone)]
pub struct Speakers<'a> {
    author: Option<&'a Login>,
    writers: Vec<&'a Login>,
}

impl<'a> Speakers<'a> {
    /// The author, and who has shown in the threads to have write access.
    #[must_use]
    pub fn new(author: Option<&'a Login>, threads: &'a [Thread]) -> Self {
        let replies = threads.iter().flat_map(|thread| &thread.replies);
        let writers = replies.filter(|reply| reply.standing == Standing::Writer);
        Self {
            author,
            writers: writers.filter_map(|reply| reply.author.as_ref()).collect(),
        }
    }

    /// A name with its standing, such as `dev (author of the pull request)`.
    #[must_use]
    pub fn who(&self, login: Option<&Login>, association: Association) -> String {
        let Some(login) = login else {
            return NOBODY.into();
        };
        let standing = match association {
            _ if login.is_bot() => "bot",
            _ if self.author == Some(login) => "author of the pull request",
            _ if self.writers.contains(&login) => "write access",
            Association::Owner => "owner of the repository",
            Association::Member => "member of the organisation",
            Association::Collaborator => "collaborator",
            Association::Other => "no standing",
        };
        format!("{login} ({standing})")
    }
}

/// Whoever wrote it has left.
pub(crate) const NOBODY: &str = "a deleted account";

/// The note beside a reply in one of the reviewer's threads.
#[must_use]
pub(crate) fn replier(author: Option<&Login>, standing: Standing) -> String {
    match author {
        None => NOBODY.into(),
        Some(login) if login.is_bot() => format!("{login} (bot)"),
        Some(login) => format!("{login} ({standing})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_a_name_stands_what_github_says_of_it() {
        let author = Login::new("dev");
        let speakers = Speakers::new(Some(&author), &[]);
        let who = |login: &str, association| speakers.who(Some(&Login::new(login)), association);
        assert_eq!(
            who("Dev", Association::Member),
            "Dev (author of the pull request)"
        );
        assert_eq!(
            who("writer", Association::Collaborator),
            "writer (collaborator)"
        );
        assert_eq!(
            who("writer", Association::Member),
            "writer (member of the organisation)"
        );
        assert_eq!(
            who("octocat", Association::Owner),
            "octocat (owner of the repository)"
        );
        assert_eq!(who("octocat", Association::Other), "octocat (no standing)");
        assert_eq!(who("ci[bot]", Association::Member), "ci[bot] (bot)");
        assert_eq!(speakers.who(None, Association::Other), NOBODY);
        assert_eq!(
            replier(Some(&author), Standing::Author),
            "dev (author of the pull request)"
        );
        assert_eq!(
            replier(Some(&Login::new("x[bot]")), Standing::Other),
            "x[bot] (bot)"
        );
    }
}
