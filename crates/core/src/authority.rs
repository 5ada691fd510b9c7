//! Rights on a pull request: the one place that decides who may do what. Edges ask GitHub for the facts about a
//! [`Person`], and [`judge`] holds them against an [`Action`]. A test renders this table from the code and compares.
//!
//! | action | writer | author, writer | author | other | bot |
//! | --- | --- | --- | --- | --- | --- |
//! | start a run by a comment | yes | yes | yes | no: part | no: bot |
//! | start a run by a comment, on a fork | yes | yes | no: access | no: access | no: bot |
//! | be told why `dismiss` is refused | yes | yes | yes | no: part | no: bot |
//! | `accept` a head | yes | yes | no: access | no: access | no: bot |
//! | have findings fixed | yes | yes | no: access | no: access | no: bot |
//! | have a reply in a thread judged | yes | yes | yes | no: part | no: bot |
//! | decide an escalated finding in words | yes | no: own work | no: own work | no: access | no: bot |
//! | get a concession | yes | yes | yes | no: part | no: bot |
//! | get a concession, blocking | yes | yes | no: access | no: access | no: bot |
//! | have the last word | yes | yes | yes | no: part | no: bot |
//! | have the last word, with human reviewers | no: reviewers | no: reviewers | no: reviewers | no: reviewers | no: bot |
//! | have the last word, blocking | no: blocks | no: blocks | no: blocks | no: blocks | no: bot |
//! | resolve a conversation | yes | yes | yes | yes | yes |
//! | resolve a conversation, blocking | yes | yes | no: access | no: access | no: bot |
//! | resolve a conversation, for human reviewers | yes | no: reviewers | no: access | no: access | no: bot |
//! | `dismiss` a finding | yes | yes | yes | no: part | no: bot |
//! | `dismiss` a finding, blocking | yes | yes | no: access | no: access | no: bot |
//! | `dismiss` a finding, for human reviewers | yes | no: reviewers | no: access | no: access | no: bot |
//! | report a defect before the reviewer | yes | no: own work | no: own work | no: access | no: bot |
//! | be called as a human reviewer | yes | no: own work | no: own work | no: access | no: bot |
//!
//! A writer has write access to the repository; the author opened the pull request. A finding is blocking at or above the
//! blocking threshold; one that was escalated is for human reviewers, if there are any. The word after "no" stands for a
//! [`Denial`]: access (`NoAccess`), part (`NoPart`), own work (`OwnWork`), blocks (`Blocks`), reviewers (`ForReviewers`),
//! bot (`Bot`).
//!
//! GitHub lets only writers and the author resolve a conversation, so below the threshold nobody is refused. An order in a
//! thread, such as `review`, is no word about its finding, whoever gives it. Comments of bots start nothing: their events
//! end in `event/triggers.rs`.

#[cfg(test)]
mod tests;

use crate::domain::{Login, Standing};

/// The facts about somebody on a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Person {
    pub is_bot: bool,
    /// Has write access to the repository. False, too, while GitHub was not asked.
    pub writes: bool,
    /// Opened the pull request.
    pub is_author: bool,
}

impl Person {
    /// An account on the pull request of `author`, as far as it is known without asking for its access.
    #[must_use]
    pub fn new(login: &Login, author: Option<&Login>) -> Self {
        Self {
            is_bot: login.is_bot(),
            writes: false,
            is_author: Some(login) == author,
        }
    }

    /// Somebody by the standing that a comment or a conversation keeps of them. A writer may be the author, too.
    #[must_use]
    pub(crate) fn from_standing(standing: Standing, is_author: bool) -> Self {
        match standing {
            Standing::Writer => Self {
                writes: true,
                is_author,
                is_bot: false,
            },
            Standing::Author => Self {
                is_author: true,
                ..Self::default()
            },
            Standing::Other => Self::default(),
        }
    }

    /// The standing that is kept of them. Bots have none.
    #[must_use]
    pub fn standing(self) -> Standing {
        match self {
            Self { is_bot: true, .. } => Standing::Other,
            Self { writes: true, .. } => Standing::Writer,
            Self {
                is_author: true, ..
            } => Standing::Author,
            _ => Standing::Other,
        }
    }

    /// The same person with write access, or without it.
    #[must_use]
    pub fn with_access(self, writes: bool) -> Self {
        Self { writes, ..self }
    }

    /// True if the person's write access decides about an action. Where it does not, GitHub need not be asked for it:
    /// access never takes a right away.
    #[must_use]
    pub fn needs_access(self, action: Action) -> bool {
        let may = |writes| judge(self.with_access(writes), action).is_ok();
        !may(false) && may(true)
    }
}

/// The weight of closing a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stake {
    /// The finding is below the blocking threshold.
    Minor,
    Blocking,
    /// It blocks, and was escalated to human reviewers.
    ForReviewers,
}

impl Stake {
    /// `escalated`: the reviewer has left the finding to others to decide. `reviewed`: there are human reviewers who
    /// can.
    #[must_use]
    pub fn new(blocks: bool, escalated: bool, reviewed: bool) -> Self {
        match (blocks, escalated && reviewed) {
            (false, _) => Self::Minor,
            (true, false) => Self::Blocking,
            (true, true) => Self::ForReviewers,
        }
    }
}

/// An act of a person, directly or by their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Starts a run by a comment or a review, at the repository's expense: a review, an answer, a judgement.
    Spend { from_fork: bool },
    /// Is told why their `dismiss` closes nothing, although they may not spend.
    AskToDismiss,
    /// Has a head turn green although not everything was done.
    Accept,
    /// Has findings fixed by a commit, or what they request in a review.
    Fix,
    /// Has their objection or question in a finding's thread judged.
    Discuss,
    /// Decides in words what was escalated.
    Decide,
    /// Has the model give a finding up, or has human reviewers called, where it does not.
    GetConcession { blocks: bool },
    /// Has the last word about a finding that the reviewer does not give up.
    HaveLastWord { blocks: bool, reviewed: bool },
    /// Closes a finding by resolving its conversation on GitHub.
    CloseConversation(Stake),
    /// Closes a finding by `dismiss`.
    Dismiss(Stake),
    /// Keeps the reviewer from saying what they have said on a line of the change.
    Forestall,
    /// Is called as a human reviewer, having reviewed without being asked.
    BeCalled,
}

/// The reason why a person may not do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// They have no write access to the repository.
    NoAccess,
    /// They have neither write access nor opened the pull request.
    NoPart,
    /// They opened the pull request, and somebody else has to do it.
    OwnWork,
    /// The finding blocks.
    Blocks,
    /// The human reviewers decide.
    ForReviewers,
    /// They are a bot.
    Bot,
}

/// Decides if a person may do something, and gives the reason if not.
pub fn judge(person: Person, action: Action) -> Result<(), Denial> {
    if person.is_bot && action != Action::CloseConversation(Stake::Minor) {
        return Err(Denial::Bot);
    }
    match action {
        Action::CloseConversation(Stake::Minor) => Ok(()),
        Action::Spend { from_fork: false }
        | Action::AskToDismiss
        | Action::Discuss
        | Action::GetConcession { blocks: false }
        | Action::HaveLastWord {
            blocks: false,
            reviewed: false,
        }
        | Action::Dismiss(Stake::Minor) => takes_part(person),
        Action::Spend { from_fork: true }
        | Action::Accept
        | Action::Fix
        | Action::GetConcession { blocks: true }
        | Action::CloseConversation(Stake::Blocking)
        | Action::Dismiss(Stake::Blocking) => has_access(person),
        Action::HaveLastWord { blocks: true, .. } => Err(Denial::Blocks),
        Action::HaveLastWord { reviewed: true, .. } => Err(Denial::ForReviewers),
        Action::CloseConversation(Stake::ForReviewers) | Action::Dismiss(Stake::ForReviewers) => {
            has_access(person)?;
            is_not_author(person, Denial::ForReviewers)
        }
        Action::Decide | Action::Forestall | Action::BeCalled => {
            is_not_author(person, Denial::OwnWork)?;
            has_access(person)
        }
    }
}

fn has_access(person: Person) -> Result<(), Denial> {
    if person.writes {
        Ok(())
    } else {
        Err(Denial::NoAccess)
    }
}

fn takes_part(person: Person) -> Result<(), Denial> {
    if person.writes || person.is_author {
        Ok(())
    } else {
        Err(Denial::NoPart)
    }
}

fn is_not_author(person: Person, denial: Denial) -> Result<(), Denial> {
    if person.is_author {
        Err(denial)
    } else {
        Ok(())
    }
}
