//! A session with the model about a change, wherever the change comes from: what it is given, and how it is led.

use crate::gather::change::Change;
use crate::gather::discussion;
use crate::host::session::Session;
use crate::host::{Failure, Host};
use crate::run::collected::{self, Collected};
use crate::run::draft::Draft;
use crate::run::{large_change, outcome};
use crate::turns::{Meeting, Place, Prompter, Second, State, Tasks};
use futures_util::future::join_all;
use reviewer_agent::opencode::{Client, Supervisor, profile};
use reviewer_core::config::ModelChoice;
use reviewer_core::context::brief::{Brief, Excerpt, OwnSection, Words};
use reviewer_core::context::division::{self, Division};
use reviewer_core::context::failed_checks::FailedCheck;
use reviewer_core::context::intent::Intent;
use reviewer_core::context::parts::{self, Parts};
use reviewer_core::context::sensitivity;
use reviewer_core::context::since::Since;
use reviewer_core::context::suspicion::Suspicions;
use reviewer_core::domain::{CommitSha, FileDiff, Finding, Sensitivity, Thread};
use reviewer_core::panel::open_conversations::OpenConversation;
use reviewer_core::plan::Question;
use reviewer_core::review::desk::{Desk, Subject};
use reviewer_core::review::limits::RunLimits;
use reviewer_core::review::policy::Weights;
use reviewer_core::review::session_outcome::Outcome;
use reviewer_core::state::spending::Allowances;
use reviewer_repo::snapshot::Snapshot;
use reviewer_system::random;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The sessions of a run, and what they are for.
#[derive(Clone, Copy)]
pub(crate) struct Talk<'a> {
    pub sidecar: &'a Arc<Supervisor>,
    pub title: &'a str,
    pub to_judge: &'a [Excerpt],
    pub questions: &'a [Question],
    /// The open conversations of people to weigh.
    pub conversations: &'a [OpenConversation],
    pub reviews: bool,
}

/// Opens the desk of every session, with the findings that a review before this one could not post.
pub(crate) fn open_desks(
    host: &Host<'_>,
    change: &Change,
    subject: &Arc<Subject>,
    carried: &[Finding],
) -> Result<(), Failure> {
    for session in host.sessions().reviewers() {
        let mut desk = Desk::new(
            Arc::clone(subject),
            weights(host, change),
            &session.reviewer.name,
            random::hex(16)?,
        )
        .escalating_to(session.reviewer.can_escalate());
        for finding in carried {
            desk.carry(finding.clone());
        }
        session.desk.open(desk);
    }
    Ok(())
}

/// The change under review and what is said about it, wherever it comes from.
#[derive(Clone, Copy)]
pub(crate) struct Matter<'a> {
    pub title: &'a str,
    pub body: &'a str,
    pub intent: &'a Intent,
    pub checks: &'a [FailedCheck],
    pub author: &'a str,
    pub base_ref: &'a str,
    pub head: &'a CommitSha,
    /// Abbreviated id and first line of each commit.
    pub commits: &'a [(String, String)],
    pub change: &'a Change,
    /// Each changed file that is shown, with the path of its diff in the snapshot.
    pub diffs: &'a [(FileDiff, String)],
    pub since: Option<&'a Since>,
    pub threads: &'a [Thread],
    pub conversation: &'a [Words<'a>],
    /// The section that is reviewed, and the files that no section shows; `None`: the whole change is reviewed.
    pub section: Option<(OwnSection<'a>, &'a [String])>,
}

/// What lies on the desks before anything is said, and who is told of the rest.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub subject: &'a Arc<Subject>,
    /// The findings that a review before this one could not post.
    pub carried: &'a [Finding],
    pub draft: &'a Draft,
}

/// The end of all sessions: what they came to, and what they have said.
pub(crate) struct Concluded {
    pub outcome: Outcome,
    pub suspicions: Suspicions,
    pub collected: Collected,
}

/// Leads the sessions to their end: one, or, where several reviewers review, all at the same time; of a change that is too
/// large for one session, those of each section. `ground`: of the open desks; `None` where nothing is reviewed.
pub(crate) async fn hold(
    host: &Host<'_>,
    talk: Talk<'_>,
    matter: &Matter<'_>,
    allowances: Allowances,
    ground: Option<Ground<'_>>,
) -> Result<Concluded, Failure> {
    let new = new_diffs(matter);
    let (division, room) = if talk.reviews {
        divided(host, talk.sidecar, &new).await
    } else {
        (Division::default(), usize::MAX)
    };
    let mut concluded = match ground.filter(|_| division.sections.len() > 1) {
        Some(ground) => {
            let large = large_change::Large {
                diffs: &new,
                division: &division,
                room,
            };
            large_change::hold(host, talk, matter, allowances, ground, &large).await?
        }
        None => {
            let last = host.started + host.setup.clock.limit(host.config.timeout);
            let time = (host.started, last);
            let (outcome, suspicions) = led(host, talk, matter, allowances, time).await?;
            Concluded {
                outcome,
                suspicions,
                collected: Collected::new(host),
            }
        }
    };
    if let Some(check) = host.sessions().fix_check() {
        concluded.outcome.used += check.usage.used();
    }
    Ok(concluded)
}

/// The new part of the diffs.
fn new_diffs<'a>(matter: &Matter<'a>) -> Vec<Cow<'a, FileDiff>> {
    let since = matter.since;
    let diffs = matter.diffs.iter().map(|(diff, _)| diff);
    let new = diffs.filter(|diff| !since.is_some_and(|since| since.is_known(diff)));
    new.map(|diff| since.map_or(Cow::Borrowed(diff), |since| since.new_in(diff)))
        .collect()
}

/// The change in sections that each reviewer can be shown whole, and the room of such a section.
async fn divided(
    host: &Host<'_>,
    sidecar: &Supervisor,
    new: &[Cow<'_, FileDiff>],
) -> (Division, usize) {
    let is_large = parts::is_large(new);
    let process = sidecar.process();
    let mut least = usize::MAX;
    for session in host.sessions().reviewers() {
        least = least.min(room(&session.reviewer.model, is_large, process.client()).await);
    }
    if least == usize::MAX {
        return (Division::default(), least);
    }
    (division::divide(new, least), least)
}

/// The bytes of diffs that a model can be shown in one session.
async fn room(model: &ModelChoice, is_large: bool, client: &Client) -> usize {
    match model.context {
        Some(declared) => parts::room(declared),
        None if is_large => parts::room(context(model, client).await),
        None => usize::MAX,
    }
}

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
        let is_first = self.seat.0 == 0 && matter.section.is_none_or(|(own, _)| own.number == 1);
        if talk.reviews && is_first {
            tell_unshown(host, change, &parts.beyond);
        }
        let prefix = session.name.prefix();
        let brief = brief(host, matter, &parts, &left_out, &prefix);
        let fix_check = host.sessions().fix_check().filter(|_| is_first);
        let check_prefix = fix_check.map(|session| session.name.prefix());
        let check_brief = Brief {
            prefix: check_prefix.as_deref().unwrap_or_default(),
            ..brief
        };
        let suspicions = if is_first {
            discussion::suspicions(host, &brief, talk.questions)
        } else {
            Suspicions::default()
        };
        let setup = host.setup;
        let root = change.snapshot.root().display().to_string();
        let name = self.name(matter);
        let prompter = Prompter {
            root: &root,
            conversation: &mut conversation,
            limits: self.limits(allowances),
            route: session.route()?,
            usage: &session.usage,
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

    /// The name in the log; `None`: one session reviews everything.
    fn name(&self, matter: &Matter<'_>) -> Option<String> {
        let reviewer = self.place.map(|_| self.session.reviewer.name.as_str());
        match (matter.section, reviewer) {
            (None, reviewer) => reviewer.map(str::to_owned),
            (Some((own, _)), None) => Some(format!("section {}", own.number)),
            (Some((own, _)), Some(reviewer)) => Some(format!("section {}, {reviewer}", own.number)),
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
        author: matter.author,
        base_ref: matter.base_ref,
        head: matter.head,
        commits: matter.commits,
        diffs: matter.diffs,
        parts,
        section: matter.section.map(|(own, _)| own),
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

/// Tells what is reviewed, before anything is asked. `place` is a pull request, or empty for a working tree.
pub(crate) fn announce(host: &Host<'_>, place: &str, change: &Change, base: &str) {
    let shown: Vec<&FileDiff> = change.shown().collect();
    let added: usize = shown.iter().map(|diff| diff.additions()).sum();
    let removed: usize = shown.iter().map(|diff| diff.deletions()).sum();
    let of = match place {
        "" => String::new(),
        place => format!(" of {place}"),
    };
    let reviewers: Vec<&str> = host
        .sessions()
        .reviewers()
        .map(|session| session.reviewer.name.as_str())
        .collect();
    let by = if host.is_panel() {
        format!("{} of ", reviewers.join(", "))
    } else {
        String::new()
    };
    host.setup.actions.line(&format!(
        "Reviewing {}{of} (+{added} −{removed}) against {base}@{} with {by}{}",
        plural(shown.len(), "file"),
        change.commits[0].short(),
        host.models()
    ));
}

/// Tells what the model will not see, before it is asked and paid.
pub(super) fn tell_unshown(host: &Host<'_>, change: &Change, beyond: &[String]) {
    let files: Vec<String> = outcome::unshown(change, beyond).collect();
    if files.is_empty() {
        return;
    }
    let actions = &host.setup.actions;
    let list = if actions.is_runner() {
        "the report lists them"
    } else if actions.is_verbose() {
        "they are"
    } else {
        "-v lists them"
    };
    actions.line(&unshown(
        beyond.len(),
        files.len() - beyond.len(),
        change.diffs.len(),
        list,
    ));
    if actions.is_verbose() {
        for file in &files {
            actions.line(&format!("  {file}"));
        }
    }
}

fn unshown(beyond: usize, unreadable: usize, all: usize, list: &str) -> String {
    let too_large = (beyond > 0).then(|| {
        let verb = if beyond == 1 { "does" } else { "do" };
        format!("{beyond} {verb} not fit the model's context")
    });
    let unreadable_words = (unreadable > 0).then(|| format!("{unreadable} cannot be shown"));
    let why: Vec<String> = too_large.into_iter().chain(unreadable_words).collect();
    format!(
        "{} of {} ({}) will not be shown to the model; {list}",
        beyond + unreadable,
        plural(all, "changed file"),
        why.join(", ")
    )
}

impl Lead<'_> {
    /// The diffs as the prompts show them: what is new of them, in parts that fit the model's context. Each of several
    /// reviewers begins with another file, because attention fades towards the end.
    async fn parts(&self, client: &Client, matter: &Matter<'_>) -> Parts {
        let mut parts = match &matter.section {
            Some((own, beyond)) => {
                let diffs: Vec<&FileDiff> = own.diffs.iter().map(|one| one.diff.as_ref()).collect();
                let mut parts = parts::cut(&diffs, usize::MAX);
                parts.beyond.extend_from_slice(beyond);
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
        let room = room(&self.session.reviewer.model, is_large, client).await;
        if !is_large {
            let (seat, of) = self.seat;
            let first = seat * new.len() / of.max(1);
            new.rotate_left(first);
        }
        parts::cut(&new, room)
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
        .unwrap_or(profile::DEFAULT_CONTEXT)
}

/// Writes the numbered diffs that are shown into the snapshot. Returns each diff with its file below the reviewer's
/// folder.
pub(crate) async fn diff_files(change: &Change) -> Result<Vec<(FileDiff, String)>, Failure> {
    let snapshot = &change.snapshot;
    let diffs: Vec<&FileDiff> = change.shown().collect();
    let files = diffs.iter().map(|diff| {
        let name = format!("diffs/{}.diff", snapshot.shown_path(&diff.path));
        (name, diff.numbered())
    });
    let shown = snapshot.write_own(files.collect()).await?;
    Ok(diffs.into_iter().cloned().zip(shown).collect())
}

/// The subject of the desk, before anything was said on it.
pub(crate) fn subject(change: &Change, [base, head]: [&CommitSha; 2]) -> Subject {
    let snapshot = &change.snapshot;
    // The snapshot's name, and the one that the brief spells out.
    let names = change.diffs.iter().flat_map(|diff| {
        let shown = [snapshot.shown_path(&diff.path), visible(&diff.path).into()];
        shown.map(|shown| (shown, diff.path.clone()))
    });
    Subject {
        head: head.clone(),
        base: base.clone(),
        diffs: change.diffs.clone(),
        threads: Vec::new(),
        root: snapshot.root().display().to_string(),
        shown_paths: names.filter(|(shown, path)| shown != path).collect(),
        changed_since: HashMap::new(),
        removed_lines: HashMap::new(),
        human_reviewers: Vec::new(),
        others: Vec::new(),
    }
}

/// The reasons why files are not in the snapshot, with the number of files for each.
fn left_out(snapshot: &Snapshot) -> Vec<(String, usize)> {
    let reasons = snapshot.left_out_by_reason().into_iter();
    reasons
        .map(|(reason, files)| (reason.to_string(), files.len()))
        .collect()
}

pub(crate) fn weights(host: &Host<'_>, change: &Change) -> Weights {
    let policy = &host.config.policy;
    Weights {
        threshold: policy.threshold,
        elevation: policy.elevation,
        blocking: policy.blocking,
        sensitive: (change.sensitivity == Sensitivity::High)
            .then(|| sensitivity::reason(&change.evidence)),
    }
}

#[cfg(test)]
mod tests {
    use super::unshown;

    #[test]
    fn what_will_not_be_shown_is_one_line() {
        assert_eq!(
            unshown(10, 2, 300, "-v lists them"),
            "12 of 300 changed files (10 do not fit the model's context, 2 cannot be shown) will not be shown to the \
             model; -v lists them"
        );
        assert!(unshown(1, 0, 1, "").starts_with("1 of 1 changed file (1 does not fit"));
    }
}
