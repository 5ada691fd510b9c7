//! The memory of a pull request, read from GitHub: what it takes to rebuild the threads, with or without a run.

use crate::host::{Failure, Job};
use reviewer_core::authority::{Action, Person, judge};
use reviewer_core::domain::{CommentId, Login, PrKey, Score, Standing};
use reviewer_core::event::{self, Association, Command};
use reviewer_core::panel::open_conversations::{PeopleConversations, Speakers};
use reviewer_core::panel::review_state::Machines;
use reviewer_core::state::block;
use reviewer_core::state::rebuild::{self, Comment, Conversation, Rebuilt, ReviewBody, Sources};
use reviewer_core::state::signature::Keys;
use reviewer_github::{ApiError, ChangedFile, GitHub, Review, ReviewComment, ReviewThread};
use std::collections::{HashMap, HashSet};

/// The maximum number of people with threads of their own whose access is asked for, the latest first: the reviewer
/// does not repeat a reviewer with write access.
const MOST_REVIEWERS: usize = 3;
/// The same where their conversations count in a consensus, those of the repository first.
const MOST_IN_CONSENSUS: usize = 20;

/// The pull request to read, and the keys and accounts to trust.
pub struct Memory<'a> {
    pub github: &'a GitHub,
    pub pr: &'a PrKey,
    pub keys: &'a Keys,
    pub trusted_bots: &'a [Login],
    /// As they are configured.
    pub human_reviewers: &'a [String],
    /// With its `@`.
    pub mention: &'a str,
    pub blocking: Option<Score>,
    /// True if the conversations of people count in a consensus.
    pub weighs_conversations: bool,
    /// True if the reviewer rewrites its own comments.
    pub rewrites: bool,
}

/// The memory of a pull request.
pub struct Remembered {
    pub rebuilt: Rebuilt,
    pub people: PeopleConversations,
    /// The login of the token.
    pub viewer: Login,
}

impl<'a> Memory<'a> {
    pub(crate) fn from_job(job: &'a Job<'_>) -> Self {
        let config = &job.host.config;
        Self {
            github: &job.github,
            pr: &job.pr,
            keys: &job.keys,
            trusted_bots: &config.trusted_bots,
            human_reviewers: &config.human_reviewers,
            mention: &config.mention,
            blocking: config.policy.blocking,
            weighs_conversations: job.host.weighs_conversations(),
            // Other programs that speak for the reviewer, and readers of rounds, look for replies.
            rewrites: config.has_usual_bots() && !job.host.in_rounds(),
        }
    }
}

impl Memory<'_> {
    /// The reviewer's threads on the pull request, rebuilt from its comments, and the conversations of people.
    pub async fn rebuild(
        &self,
        author: Option<&Login>,
        reviews: &[Review],
        files: &[ChangedFile],
    ) -> Result<Remembered, Failure> {
        let (viewer, comments, conversations) = self.discussion(!reviews.is_empty()).await?;
        let ours = [self.trusted_bots, std::slice::from_ref(&viewer)].concat();
        let standings = self
            .standings(author, &ours, &comments, &conversations)
            .await?;
        let standing = |login: &Login| standings.get(login).copied().unwrap_or(Standing::Other);
        let closed_by_author = conversations.iter().any(|thread| {
            let closer = thread.resolved_by.as_ref();
            closer.is_some() && closer == author
        });
        // Asked only where the answer decides something.
        let reviewed_by_people =
            closed_by_author && !self.human_reviewers(author, reviews).await?.is_empty();
        let comments: Vec<Comment> = comments
            .into_iter()
            .map(|c| comment(c, self.mention, standing))
            .collect();
        let conversations: Vec<Conversation> = conversations
            .into_iter()
            .filter_map(|thread| conversation(thread, &ours, standing))
            .collect();
        let rebuilt = rebuild::rebuild(&Sources {
            pr: self.pr,
            keys: self.keys,
            ours: &ours,
            editor: self.rewrites.then_some(&viewer),
            author,
            reviewed_by_people,
            blocking: self.blocking,
            comments: &comments,
            conversations: &conversations,
            reviews: &reviews.iter().map(review_body).collect::<Vec<_>>(),
            renames: &files.iter().filter_map(rename).collect(),
        });
        let machines = Machines {
            own: &viewer,
            agents: self.trusted_bots,
        };
        let writes = |comment: &Comment| {
            let is_writer = |login: &Login| standing(login) == Standing::Writer;
            comment.author.as_ref().is_some_and(is_writer)
                && !is_only_order(&comment.body, self.mention)
        };
        let of_writers = comments.iter().filter(|comment| writes(comment));
        let speakers = Speakers {
            machines,
            author,
            of_writers: &of_writers.map(|comment| comment.id).collect(),
        };
        let people = PeopleConversations::read(&comments, &conversations, &speakers);
        Ok(Remembered {
            rebuilt,
            people,
            viewer,
        })
    }

    /// The login of the token, every comment on the change, and every conversation. Each comment belongs to a review and to a
    /// conversation: where there is neither, none is asked for.
    async fn discussion(
        &self,
        is_reviewed: bool,
    ) -> Result<(Login, Vec<ReviewComment>, Vec<ReviewThread>), Failure> {
        let (github, pr) = (self.github, self.pr);
        let read = async {
            if is_reviewed {
                let read = tokio::try_join!(github.review_threads(pr), github.review_comments(pr));
                let ((viewer, conversations), comments) = read?;
                return Ok((viewer, comments, conversations));
            }
            let (viewer, conversations) = github.review_threads(pr).await?;
            let comments = if conversations.is_empty() {
                Vec::new()
            } else {
                github.review_comments(pr).await?
            };
            Ok((viewer, comments, conversations))
        };
        read.await.map_err(|error: ApiError| Failure::new(error))
    }

    /// The names that the reviewer has spoken under: its own identity, as GitHub tells it, and the trusted bots.
    pub(crate) async fn ours(&self) -> Result<Vec<Login>, Failure> {
        let mut ours = self.trusted_bots.to_vec();
        ours.push(self.github.viewer().await.map_err(Failure::new)?);
        Ok(ours)
    }

    /// Looks up the standing of everybody on whom something depends. The permission endpoint is asked once for each,
    /// because associations call members collaborators who may only read.
    async fn standings(
        &self,
        author: Option<&Login>,
        ours: &[Login],
        comments: &[ReviewComment],
        conversations: &[ReviewThread],
    ) -> Result<HashMap<Login, Standing>, Failure> {
        let mut standings = HashMap::new();
        let weighs = self.weighs_conversations;
        for login in people(author, ours, comments, conversations, weighs) {
            if ours.contains(login) || login.is_bot() || standings.contains_key(login) {
                continue;
            }
            let writes = self.may_write(login).await?;
            let person = Person::new(login, author).with_access(writes);
            standings.insert(login.clone(), person.standing());
        }
        Ok(standings)
    }

    /// People and teams as they are mentioned: asked to review, having reviewed with write access, or configured.
    /// Not the author, and no bots.
    pub(crate) async fn human_reviewers(
        &self,
        author: Option<&Login>,
        reviews: &[Review],
    ) -> Result<Vec<String>, Failure> {
        let requested = self.github.requested_reviewers(self.pr).await;
        let mut names = self.human_reviewers.to_vec();
        names.extend(requested.map_err(Failure::new)?);
        let mut asked: Vec<&Login> = Vec::new();
        for login in reviews.iter().filter_map(|review| review.author.as_ref()) {
            if asked.contains(&login) {
                continue;
            }
            asked.push(login);
            let person = self.person(login, author, Action::BeCalled).await?;
            if judge(person, Action::BeCalled).is_ok() {
                names.push(login.to_string());
            }
        }
        let author = author.map(Login::as_str).unwrap_or_default();
        let mut people: Vec<String> = Vec::new();
        for name in names {
            let known = people.iter().any(|known| known.eq_ignore_ascii_case(&name));
            if !known && !name.eq_ignore_ascii_case(author) {
                people.push(name);
            }
        }
        Ok(people)
    }

    /// The facts about a person on the pull request of `author` that an action depends on.
    pub(crate) async fn person(
        &self,
        login: &Login,
        author: Option<&Login>,
        action: Action,
    ) -> Result<Person, Failure> {
        let person = Person::new(login, author);
        let writes = person.needs_access(action) && self.may_write(login).await?;
        Ok(person.with_access(writes))
    }

    async fn may_write(&self, login: &Login) -> Result<bool, Failure> {
        match self.github.permission(&self.pr.repo, login).await {
            Ok(permission) => Ok(permission.may_write()),
            Err(error) if error.is_not_found() || error.is_permission() => Ok(false),
            Err(error) => Err(Failure::new(error)),
        }
    }
}

/// The people who spoke in the reviewer's threads or resolved one, and those who opened the latest of the others. Where these
/// count in a consensus, everybody who spoke in them.
fn people<'a>(
    author: Option<&Login>,
    ours: &[Login],
    comments: &'a [ReviewComment],
    conversations: &'a [ReviewThread],
    weighs_conversations: bool,
) -> Vec<&'a Login> {
    let ours: HashSet<CommentId> = comments
        .iter()
        .filter(|comment| may_be_ours(comment, ours))
        .map(|comment| comment.id)
        .collect();
    let (in_ours, elsewhere): (Vec<_>, Vec<_>) = comments
        .iter()
        .partition(|comment| ours.contains(&comment.in_reply_to.unwrap_or(comment.id)));
    let closed = conversations.iter().filter(|thread| {
        let root = thread.root_comment.as_ref();
        root.is_some_and(|root| ours.contains(root))
    });
    let mut reviewers: Vec<&Login> = Vec::new();
    for comment in elsewhere.into_iter().rev() {
        let opened = comment
            .author
            .as_ref()
            .filter(|_| weighs_conversations || comment.in_reply_to.is_none());
        let opened =
            opened.filter(|login| Person::new(login, author).needs_access(Action::Forestall));
        reviewers.extend(opened.filter(|login| !reviewers.contains(login)));
    }
    if weighs_conversations {
        // A crowd of strangers must not keep the word of somebody of the repository from being heard.
        let inside = comments.iter();
        let inside = inside.filter(|comment| comment.association != Association::Other);
        let inside: HashSet<&Login> = inside.filter_map(|one| one.author.as_ref()).collect();
        reviewers.sort_by_key(|login| !inside.contains(login));
    }
    reviewers.truncate(if weighs_conversations {
        MOST_IN_CONSENSUS
    } else {
        MOST_REVIEWERS
    });
    let speakers = in_ours.into_iter().filter_map(|one| one.author.as_ref());
    let closers = closed.filter_map(|thread| thread.resolved_by.as_ref());
    speakers.chain(closers).chain(reviewers).collect()
}

/// True if a thread may turn out to be the reviewer's: under its name, or with a block.
fn may_be_ours(first: &ReviewComment, ours: &[Login]) -> bool {
    let author = first.author.as_ref();
    let by_us = author.is_some_and(|author| ours.contains(author));
    first.in_reply_to.is_none() && (by_us || block::parse(&first.body).hidden.is_some())
}

fn review_body(review: &Review) -> ReviewBody {
    ReviewBody {
        author: review.author.clone(),
        body: review.body.clone(),
    }
}

fn rename(file: &ChangedFile) -> Option<(String, String)> {
    Some((file.previous.clone()?, file.path.clone()))
}

fn comment(
    comment: ReviewComment,
    mention: &str,
    standing: impl Fn(&Login) -> Standing,
) -> Comment {
    // "@bot review" in a thread is an order, and no word about the finding there.
    let order = is_order(&comment.body, mention);
    let standing = |login: &Login| {
        if order {
            Standing::Other
        } else {
            standing(login)
        }
    };
    Comment {
        id: comment.id,
        in_reply_to: comment.in_reply_to,
        standing: comment.author.as_ref().map_or(Standing::Other, standing),
        author: comment.author,
        body: comment.body,
        path: comment.path,
        line: comment.line,
        original_line: comment.original_line,
        original_start: comment.original_start_line,
        side: comment.side,
        created_at: comment.created_at,
        url: comment.html_url,
    }
}

/// True if a comment gives the reviewer an order.
fn is_order(body: &str, mention: &str) -> bool {
    matches!(
        event::command(body, mention),
        Some(
            Command::Review
                | Command::ReviewFull
                | Command::Help
                | Command::Accept
                | Command::Fix
                | Command::FixStop
                | Command::FixResume
                | Command::Dismiss(_)
        )
    )
}

/// True if it does nothing else.
fn is_only_order(body: &str, mention: &str) -> bool {
    body.trim().lines().count() == 1 && is_order(body, mention)
}

fn conversation(
    thread: ReviewThread,
    ours: &[Login],
    standing: impl Fn(&Login) -> Standing,
) -> Option<Conversation> {
    Some(Conversation {
        root: thread.root_comment?,
        node_id: thread.node_id,
        is_resolved: thread.is_resolved,
        is_outdated: thread.is_outdated,
        // A thread that the reviewer resolved itself is told by its reply.
        resolved_by: thread
            .resolved_by
            .filter(|login| ours.iter().all(|own| !own.may_be_called(login)))
            .map(|login| {
                let weight = standing(&login);
                (login, weight)
            }),
        viewer_can_resolve: thread.viewer_can_resolve,
        viewer_can_unresolve: thread.viewer_can_unresolve,
        edited: thread
            .edited
            .into_iter()
            .map(|edit| (edit.comment, edit.editor))
            .collect(),
    })
}
