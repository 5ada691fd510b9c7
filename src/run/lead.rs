//! One session of a review, or that of each reviewer: the brief, the diffs in parts, the time, and the tasks that it is given.

use super::review_session::{Matter, Talk, tell_unshown};
use crate::gather::discussion;
use crate::host::session::Session;
use crate::host::{Failure, Host};
use crate::run::collected;
use crate::turns::{Meeting, Place, Prompter, Second, State, Tasks};
use futures_util::future::join_all;
use reviewer_agent::opencode::{Client, DEFAULT_CONTEXT};
use reviewer_core::config::ModelChoice;
use reviewer_core::context::brief::Brief;
use reviewer_core::context::parts::{self, Parts};
use reviewer_core::context::suspicion::Suspicions;
use reviewer_core::domain::FileDiff;
use reviewer_core::review::limits::RunLimits;
use reviewer_core::review::session_outcome::Outcome;
use reviewer_core::state::spending::Allowances;
use reviewer_repo::snapshot::Snapshot;
use std::borrow::Cow;
use std::time::Instant;

/// Leads the sessions of the host's reviewers to their end. `time`: when it began, and when all of it has to end.
pub(super) async fn led(
    host: &Host<'_>,
    talk: Talk<'_>,
    matter: &Matter<'_>,
    allowances: Allowances,
    time: (Instant, Instant),
) -> Result<Held, Failure> {
    if !(talk.reviews && host.is_panel()) {
        let lead = Lead {
            session: host.session(),
            seat: (0, 1),
            talk,
            place: None,
            time,
        };
        return lead.hold(host, matter, allowances).await;
    }
    let meeting = Meeting::new(collected::seats(host), collected::desks(host));
    let of = meeting.seats().len();
    let leads = host
        .sessions()
        .reviewers()
        .enumerate()
        .map(|(seat, session)| {
            let talk = match seat {
                0 => talk,
                // Threads, disputes, questions and conversations are the first reviewer's.
                _ => Talk {
                    to_judge: &[],
                    questions: &[],
                    conversations: &[],
                    ..talk
                },
            };
            let place = Place {
                meeting: &meeting,
                seat,
            };
            let (lead, allowances) = (
                Lead {
                    session,
                    seat: (seat, of),
                    talk,
                    place: Some(place),
                    time,
                },
                allowances.clone(),
            );
            async move {
                let held = lead.hold(host, matter, allowances).await;
                // Its share of the budget returns, also if it could not begin.
                session.usage.end();
                place.leave();
                (session.reviewer.name.clone(), held)
            }
        });
    joined(join_all(leads).await)
}

/// The outcome of a session, and the suspicious text in what it was given.
pub(super) type Held = (Outcome, Suspicions);

/// The outcome of all reviewers. One that could not even begin counts as one that did not finish, unless none could.
fn joined(held: Vec<(String, Result<Held, Failure>)>) -> Result<Held, Failure> {
    if held.iter().all(|(_, held)| held.is_err()) {
        let failures = held.into_iter().filter_map(|(_, held)| held.err());
        let mut sentences: Vec<String> = failures.flat_map(|Failure(why)| why).collect();
        sentences.dedup();
        return Err(Failure(sentences));
    }
    let mut suspicions = Suspicions::default();
    let mut outcomes = Vec::new();
    for (seat, (name, held)) in held.into_iter().enumerate() {
        let outcome = match held {
            Ok((outcome, found)) => {
                if seat == 0 {
                    suspicions = found;
                }
                outcome
            }
            Err(Failure(why)) => Outcome::failed(&why.join(" ")),
        };
        outcomes.push((name, outcome));
    }
    let others = outcomes.split_off(1);
    let first = outcomes.into_iter().next();
    let first = first.ok_or_else(|| Failure::new("there is no reviewer"))?;
    Ok((Outcome::of_panel(first, others), suspicions))
}

/// The part of the time after which the reviewers of a panel meet, in percent.
const MEETING: u32 = 60;

/// One session, with what it takes to lead it.
struct Lead<'a> {
    session: &'a Session,
    /// The reviewer's number, from 0, and how many there are.
    seat: (usize, usize),
    talk: Talk<'a>,
    place: Option<Place<'a>>,
    /// When it began, and when it has to end.
    time: (Instant, Instant),
}

impl Lead<'_> {
    async fn hold(
        &self,
        host: &Host<'_>,
        matter: &Matter<'_>,
        allowances: Allowances,
    ) -> Result<Held, Failure> {
        let (session, talk, change) = (self.session, self.talk, matter.change);
        let opened = session.converse(talk.sidecar, talk.title).await;
        let mut conversation = opened.map_err(Failure::new)?;
        let left_out = left_out(&change.snapshot);
        let parts = self.parts(conversation.client(), matter).await;
        let is_first = self.is_first(matter);
        if talk.reviews && is_first {
            tell_unshown(host, change, &parts.beyond);
        }
        let prefix = session.name.prefix();
        let own = matter.section.map(|section| section.candidates);
        let brief = Brief {
            candidates: own.unwrap_or(talk.candidates),
            ..brief(host, matter, &parts, &left_out, &prefix)
        };
        let fix_check = host.sessions().fix_check().filter(|_| is_first);
        let check_prefix = fix_check.map(|session| session.name.prefix());
        let check_brief = Brief {
            prefix: check_prefix.as_deref().unwrap_or_default(),
            ..brief
        };
        let suspicions = self.suspicions(host, matter, &brief);
        let setup = host.setup;
        let root = change.snapshot.root().display().to_string();
        let name = self.name(matter);
        let prompter = Prompter {
            root: &root,
            conversation: &mut conversation,
            limits: self.limits(allowances),
            route: session.route()?,
            session,
            run_usage: &host.usage,
            actions: &setup.actions,
            clock: setup.clock,
            state: State::default(),
        };
        let tasks = Tasks {
            prompter,
            brief: &brief,
            to_judge: talk.to_judge,
            questions: talk.questions,
            reviews: talk.reviews,
            conversations: talk.conversations,
            place: self.place,
            session: session.name,
            second: fix_check.map(|session| Second {
                session,
                brief: &check_brief,
                sidecar: talk.sidecar,
                title: talk.title,
            }),
            name: name.as_deref(),
            desk: &session.desk,
        };
        Ok((Box::pin(tasks.all()).await?, suspicions))
    }

    /// True for the first session of the run.
    fn is_first(&self, matter: &Matter<'_>) -> bool {
        let section = matter.section;
        self.seat.0 == 0 && section.is_none_or(|section| section.own.number == 1)
    }

    /// The suspicious text in what all sessions are given, from the first of them.
    fn suspicions(&self, host: &Host<'_>, matter: &Matter<'_>, brief: &Brief<'_>) -> Suspicions {
        if !self.is_first(matter) {
            return Suspicions::default();
        }
        let of_all = Brief {
            candidates: self.talk.candidates,
            ..*brief
        };
        discussion::suspicions(host, &of_all, self.talk.questions)
    }

    /// The name in the log; `None`: one session reviews everything.
    fn name(&self, matter: &Matter<'_>) -> Option<String> {
        let reviewer = self.place.map(|_| self.session.reviewer.name.as_str());
        match (matter.section, reviewer) {
            (None, reviewer) => reviewer.map(str::to_owned),
            (Some(section), None) => Some(format!("section {}", section.own.number)),
            (Some(section), Some(reviewer)) => {
                Some(format!("section {}, {reviewer}", section.own.number))
            }
        }
    }

    fn limits(&self, allowances: Allowances) -> RunLimits {
        let (began, last) = self.time;
        RunLimits {
            deadline: match self.place {
                Some(_) => began + last.saturating_duration_since(began) * MEETING / 100,
                None => last,
            },
            last,
            allowances,
        }
    }
}

pub(super) fn brief<'a>(
    host: &'a Host<'_>,
    matter: &'a Matter<'_>,
    parts: &'a Parts,
    left_out: &'a [(String, usize)],
    prefix: &'a str,
) -> Brief<'a> {
    let change = matter.change;
    Brief {
        fence: &host.fence,
        folder: change.snapshot.own_folder(),
        left_out,
        title: matter.title,
        body: matter.body,
        intent: matter.intent,
        checks: matter.checks,
        candidates: &[],
        decided: matter.decided,
        author: matter.author,
        base_ref: matter.base_ref,
        head: matter.head,
        commits: matter.commits,
        diffs: matter.diffs,
        parts,
        section: matter.section.map(|section| section.own),
        excused: change.hidden(),
        unreadable: change.unreadable().count(),
        since: matter.since,
        rules: &change.rules,
        threads: matter.threads,
        conversation: matter.conversation,
        sensitivity: change.sensitivity,
        prefix,
    }
}

impl Lead<'_> {
    /// The diffs as the prompts show them: what is new of them, in parts that fit the model's context. Each of several
    /// reviewers begins with another file, because attention fades towards the end.
    async fn parts(&self, client: &Client, matter: &Matter<'_>) -> Parts {
        let mut parts = match &matter.section {
            Some(section) => {
                let shown = section.own.diffs.iter();
                let diffs: Vec<&FileDiff> = shown.map(|one| one.diff.as_ref()).collect();
                let mut parts = parts::cut(&diffs, usize::MAX);
                parts.beyond.extend_from_slice(section.beyond);
                parts
            }
            None => self.parts_of_all(client, matter).await,
        };
        parts
            .beyond
            .retain(|path| matter.change.required().any(|diff| diff.path == *path));
        parts
    }

    async fn parts_of_all(&self, client: &Client, matter: &Matter<'_>) -> Parts {
        let new = new_diffs(matter);
        let mut new: Vec<&FileDiff> = new.iter().map(AsRef::as_ref).collect();
        let is_large = parts::is_large(&new);
        let room = room(self.session.model(), is_large, client).await;
        if !is_large {
            let (seat, of) = self.seat;
            let first = seat * new.len() / of.max(1);
            new.rotate_left(first);
        }
        parts::cut(&new, room)
    }
}

/// The new part of the diffs.
pub(super) fn new_diffs<'a>(matter: &Matter<'a>) -> Vec<Cow<'a, FileDiff>> {
    let since = matter.since;
    let diffs = matter.diffs.iter().map(|(diff, _)| diff);
    let new = diffs.filter(|diff| !since.is_some_and(|since| since.is_known(diff)));
    new.map(|diff| since.map_or(Cow::Borrowed(diff), |since| since.new_in(diff)))
        .collect()
}

/// The bytes of diffs that a model can be shown in one session.
pub(super) async fn room(model: &ModelChoice, is_large: bool, client: &Client) -> usize {
    match model.context {
        Some(declared) => parts::room(declared),
        None if is_large => parts::room(context(model, client).await),
        None => usize::MAX,
    }
}

/// The number of tokens that the model takes at once, as far as OpenCode knows.
async fn context(model: &ModelChoice, client: &Client) -> u64 {
    let providers = match &model.base_url {
        None => client.providers().await.unwrap_or_default(),
        Some(_) => Vec::new(),
    };
    let provider = providers.into_iter().find(|one| one.id == model.provider);
    let models = provider.into_iter().flat_map(|one| one.models);
    let mut contexts = models.filter(|(name, _)| *name == model.name);
    contexts
        .find_map(|(_, context)| context)
        .unwrap_or(DEFAULT_CONTEXT)
}

/// The reasons why files are not in the snapshot, with the number of files for each.
fn left_out(snapshot: &Snapshot) -> Vec<(String, usize)> {
    let reasons = snapshot.left_out_by_reason().into_iter();
    reasons
        .map(|(reason, files)| (reason.to_string(), files.len()))
        .collect()
}
