//! The review of a change that is too large for one session: a session for each section of it, so many at once, then one
//! consolidation of what all have found. Each section after the first has a sidecar, tools and secrets of its own, so that
//! nothing that is said late or by mistake is taken for another section's. What is decided is decided in `division`,
//! `sections` and `session_outcome`.

use super::collected::{self, Collected};
use super::lead::{self, Held};
use super::outcome::unfinished;
use super::review_session::{self, Concluded, Ground, Matter, SectionMatter, Talk};
use crate::host::sidecar::Running;
use crate::host::{Failure, Host, Work};
use crate::turns::{Consolidation, Prompter, State};
use futures_util::StreamExt as _;
use futures_util::stream;
use reviewer_core::context::brief::OwnSection;
use reviewer_core::context::division::{Division, Section};
use reviewer_core::context::parts::Parts;
use reviewer_core::context::suspicion::Suspicions;
use reviewer_core::domain::{FileDiff, Finding, FindingId, PASSES, Role};
use reviewer_core::review::desk::{Desk, SharedDesk};
use reviewer_core::review::fallback::Portion;
use reviewer_core::review::limits::RunLimits;
use reviewer_core::review::sections::{Assembled, Said};
use reviewer_core::review::session_outcome::{End, Outcome, SectionLog};
use reviewer_core::state::decided::DecidedHere;
use reviewer_core::state::spending::Allowances;
use reviewer_core::static_analysis::Candidate;
use reviewer_system::random;
use reviewer_text::count::plural;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The most sessions at work at the same time. Three sidecars take about 2 GB, which every runner has, and a panel of three asks
/// its providers as much.
const SESSIONS_AT_ONCE: usize = 3;
/// The part of the time after which no section goes on, in percent: the consolidation has the rest.
const SECTIONS: u32 = 90;

/// A change in sections.
pub(super) struct Large<'a> {
    /// The new part of the diffs.
    pub diffs: &'a [Cow<'a, FileDiff>],
    pub division: &'a Division,
    /// The bytes of diffs in a section.
    pub room: usize,
}

impl Large<'_> {
    /// The number of the section that judges each result of static analysis: the one that shows its line.
    fn judges(&self, candidates: &[Candidate]) -> Vec<usize> {
        let lines = candidates.iter().map(|one| (one.path.as_str(), one.line));
        self.division.sections_of(self.diffs, self.room, lines)
    }
}

/// The result of a section.
struct Done {
    log: SectionLog,
    outcome: Outcome,
    suspicions: Suspicions,
    collected: Collected,
}

/// The things that all sections share.
struct Review<'a, 'h> {
    host: &'a Host<'h>,
    talk: Talk<'a>,
    matter: &'a Matter<'a>,
    allowances: &'a Allowances,
    ground: Ground<'a>,
    large: &'a Large<'a>,
    /// The paths that have to be shown.
    required: HashSet<&'a str>,
    /// The files that no section shows.
    beyond: Vec<String>,
    /// The number of the section that judges each result of static analysis.
    judges: Vec<usize>,
    /// The reason why the model cannot be used, once a section knows it.
    refused: Mutex<Option<String>>,
}

/// Reviews all sections, and consolidates what they found.
pub(super) async fn hold(
    host: &Host<'_>,
    talk: Talk<'_>,
    matter: &Matter<'_>,
    allowances: Allowances,
    ground: Ground<'_>,
    large: &Large<'_>,
) -> Result<Concluded, Failure> {
    let required: HashSet<&str> = matter.change.required().map(|diff| &*diff.path).collect();
    let beyond = large.division.beyond.iter();
    let review = Review {
        host,
        talk,
        matter,
        allowances: &allowances,
        ground,
        large,
        beyond: beyond
            .filter(|path| required.contains(path.as_str()))
            .cloned()
            .collect(),
        judges: large.judges(talk.candidates),
        required,
        refused: Mutex::default(),
    };
    let reviewers = host.sessions().reviewers().count();
    let at_once = (SESSIONS_AT_ONCE / reviewers.max(1)).max(1);
    let sections = &large.division.sections;
    host.setup.actions.line(&format!(
        "The change is too large for one session: it is reviewed in {}, {at_once} at a time",
        plural(sections.len(), "section")
    ));
    let done = stream::iter(sections).map(|section| review.section(section));
    let mut done: Vec<Done> = done.buffer_unordered(at_once).collect().await;
    done.sort_by_key(|one| one.log.number);
    let suspicions = done
        .first_mut()
        .map(|one| std::mem::take(&mut one.suspicions));
    let (mut logs, mut all) = (Vec::new(), Vec::new());
    for one in done {
        all.push((one.collected, one.log.is_reviewed()));
        logs.push((one.log, one.outcome));
    }
    let mut outcome = Outcome::of_sections(logs);
    outcome.beyond.clone_from(&review.beyond);
    let assembled = Collected::assembled(&all);
    let said = review.consolidated(assembled, &mut outcome).await;
    Ok(Concluded {
        outcome,
        suspicions: suspicions.unwrap_or_default(),
        collected: Collected::of_sections(all, said, talk.candidates),
    })
}

impl Review<'_, '_> {
    async fn section(&self, section: &Section) -> Done {
        let began = self.host.setup.clock.instant();
        let (held, collected) = match self.not_begun(section) {
            Some(end) => (unheld(end), self.only_carried(section)),
            None => Box::pin(self.held(section, began)).await,
        };
        let (outcome, suspicions) = held;
        if let End::Refused(why) = &outcome.end {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.get_or_insert_with(|| why.clone());
        }
        let log = self.log(section, &outcome, began);
        self.tell(&log);
        Done {
            log,
            outcome,
            suspicions,
            collected,
        }
    }

    /// The reason to leave a section out. The first one finds out for itself.
    fn not_begun(&self, section: &Section) -> Option<End> {
        if section.number == 1 {
            return None;
        }
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = refused.clone() {
            return Some(End::Refused(why));
        }
        let (now, last) = (self.host.setup.clock.instant(), self.last(SECTIONS));
        let limits = self.limits(last);
        let over = limits.exceeded_by(&self.host.usage.total());
        let over = over.or_else(|| limits.nothing_left().map(str::to_owned));
        let late = || (now >= last).then(|| OUT_OF_TIME.to_owned());
        over.or_else(late).map(End::NotAsked)
    }

    /// The moment after which so much of the run's time has passed, in percent.
    fn last(&self, percent: u32) -> Instant {
        let time = self.host.setup.clock.limit(self.host.config.timeout);
        self.host.started + time * percent / 100
    }

    fn limits(&self, last: Instant) -> RunLimits {
        RunLimits {
            deadline: last,
            last,
            allowances: self.allowances.clone(),
        }
    }

    /// Holds the sessions of a section, each desk with what an earlier review has found in its files.
    async fn held(&self, section: &Section, began: Instant) -> (Held, Collected) {
        let result = if section.number == 1 {
            let held = self.in_sidecar(self.host, section, self.talk, began).await;
            // Nothing follows in it, and what it has left of the money is the others'.
            self.talk.sidecar.stop().await;
            self.host.end_sessions();
            held
        } else {
            self.beside(section, began).await
        };
        result.unwrap_or_else(|Failure(why)| {
            let end = End::NotAsked(why.join(" "));
            (unheld(end), self.only_carried(section))
        })
    }

    /// In a sidecar of its own.
    async fn beside(
        &self,
        section: &Section,
        began: Instant,
    ) -> Result<(Held, Collected), Failure> {
        let own = self.host.beside(Work::Section)?;
        let snapshot = self.matter.change.snapshot.root();
        let started = Running::start(&own, snapshot).await;
        let held = match &started {
            Ok(running) => {
                let talk = Talk {
                    sidecar: &running.sidecar,
                    // Threads, disputes, questions and conversations are the first section's.
                    to_judge: &[],
                    questions: &[],
                    conversations: &[],
                    ..self.talk
                };
                self.in_sidecar(&own, section, talk, began).await
            }
            Err(Failure(why)) => Err(Failure(why.clone())),
        };
        if let Ok(running) = started {
            running.stop().await;
        }
        own.end_sessions();
        held
    }

    async fn in_sidecar(
        &self,
        host: &Host<'_>,
        section: &Section,
        talk: Talk<'_>,
        began: Instant,
    ) -> Result<(Held, Collected), Failure> {
        host.sessions().take(Portion::Section(section.number));
        let carried: Vec<Finding> = self.carried(section).cloned().collect();
        let (places, candidates) = self.candidates(section);
        let ground = Ground {
            carried: &carried,
            candidates: &candidates,
            ..self.ground
        };
        review_session::open_desks(host, self.matter.change, &ground)?;
        if section.number > 1 {
            self.ground.draft.watch_too(&collected::desks(host));
        }
        let diffs = section.diffs(self.large.diffs, self.large.room);
        let own = OwnSection {
            number: section.number,
            of: self.large.division.sections.len(),
            diffs: &diffs,
        };
        let decided = self.decided(section);
        let matter = Matter {
            decided: &decided,
            section: Some(SectionMatter {
                own,
                beyond: &self.beyond,
                candidates: &candidates,
            }),
            ..*self.matter
        };
        let title = format!("{}, section {}", talk.title, section.number);
        let talk = Talk {
            title: &title,
            ..talk
        };
        let time = (began, self.last(SECTIONS));
        let held = lead::led(host, talk, &matter, self.allowances.clone(), time).await?;
        Ok((held, Collected::new(host).of_places(&places)))
    }

    /// The findings in a section's files that a review before this one could not post.
    fn carried(&self, section: &Section) -> impl Iterator<Item = &Finding> {
        let carried = self.ground.carried.iter();
        carried.filter(|finding| self.is_of(section, &finding.file))
    }

    /// They are posted although no session looks at the section.
    fn only_carried(&self, section: &Section) -> Collected {
        Collected::carried(self.carried(section).cloned())
    }

    /// The results of static analysis that a section judges, with their places among all.
    fn candidates(&self, section: &Section) -> (Vec<usize>, Arc<[Candidate]>) {
        let all = self.talk.candidates.iter().zip(&self.judges).enumerate();
        let own = all.filter(|(_, (_, judge))| **judge == section.number);
        let own = own.map(|(place, (candidate, _))| (place, candidate.clone()));
        let (places, candidates): (_, Vec<Candidate>) = own.unzip();
        (places, candidates.into())
    }

    /// The questions about a section's files that people decided in other pull requests.
    fn decided(&self, section: &Section) -> Vec<DecidedHere> {
        let shows = |file: &str| {
            let mut paths = section.paths(self.large.diffs);
            paths.any(|path| path == file) || self.is_of(section, file)
        };
        let all = self.matter.decided.iter();
        all.filter(|one| shows(&one.file)).cloned().collect()
    }

    /// True if what was found in a file belongs to a section: to the one that shows it first, or to the first one.
    fn is_of(&self, section: &Section, file: &str) -> bool {
        let mut sections = self.large.division.sections.iter();
        let shows = |one: &&Section| one.paths(self.large.diffs).any(|path| path == file);
        let first = sections.find(shows).map_or(1, |one| one.number);
        first == section.number
    }

    fn log(&self, section: &Section, outcome: &Outcome, began: Instant) -> SectionLog {
        let paths: Vec<&str> = section.paths(self.large.diffs).collect();
        let shown = section.diffs(self.large.diffs, self.large.room);
        let lines = shown
            .iter()
            .map(|one| one.diff.additions() + one.diff.deletions());
        let required = paths.iter().filter(|path| self.required.contains(*path));
        SectionLog {
            number: section.number,
            required: required.map(|path| (*path).to_owned()).collect(),
            files: paths.len(),
            lines: lines.sum(),
            end: outcome.end.clone(),
            passes: outcome.finished_passes(),
            used: outcome.used,
            took: self.host.setup.clock.instant() - began,
        }
    }

    fn tell(&self, log: &SectionLog) {
        let of = self.large.division.sections.len();
        let end = if log.is_reviewed() {
            "is reviewed".to_owned()
        } else {
            let why = unfinished::reason(&log.end);
            format!("was not reviewed to the end. {why}")
        };
        let line = format!("Section {} of {of} {end}", log.number);
        self.host.setup.actions.line(line.trim_end());
    }

    /// The findings of all sections after their consolidation. Without two sections that found something there is none.
    async fn consolidated(&self, assembled: Assembled, outcome: &mut Outcome) -> Said {
        let subjects = match (&outcome.end, assembled.to_consolidate()) {
            (End::Refused(_), _) | (_, None) => return assembled.said,
            (_, Some(subjects)) => subjects.clone(),
        };
        let limits = self.limits(self.last(100));
        let over = limits.exceeded_by(&self.host.usage.total());
        if let Some(why) = over.or_else(|| limits.nothing_left().map(str::to_owned)) {
            outcome.consolidate(Outcome::without_session(End::NotAsked(why)));
            return assembled.said;
        }
        let made = Box::pin(self.consolidate(&assembled, &subjects, limits)).await;
        match made {
            Ok((one, desk)) => {
                outcome.consolidate(one);
                let said = assembled.said.clone();
                let after = desk.with(|desk| assembled.consolidated(desk));
                after.unwrap_or(said)
            }
            Err(Failure(why)) => {
                outcome.consolidate(Outcome::without_session(End::NotAsked(why.join(" "))));
                assembled.said
            }
        }
    }

    async fn consolidate(
        &self,
        assembled: &Assembled,
        subjects: &BTreeSet<FindingId>,
        limits: RunLimits,
    ) -> Result<(Outcome, SharedDesk), Failure> {
        let own = self.host.beside(Work::Consolidation)?;
        own.sessions().take(Portion::Consolidation);
        let (session, change) = (own.session(), self.matter.change);
        let weights = review_session::weights(&own, change);
        let subject = Arc::clone(self.ground.subject);
        let mut desk = Desk::new(subject, weights, &session.reviewer.name, random::hex(16)?);
        desk.lay_down(assembled.said.entries.clone());
        session.desk.open(desk);
        self.ground.draft.watch_instead(&session.desk);
        let running = Running::start(&own, change.snapshot.root()).await?;
        let made = assembled.said.entries.len();
        let held = self.led(&own, &running, (subjects, made), limits).await;
        running.stop().await;
        own.end_sessions();
        Ok((held?, session.desk.clone()))
    }

    async fn led(
        &self,
        own: &Host<'_>,
        running: &Running,
        (subjects, made): (&BTreeSet<FindingId>, usize),
        limits: RunLimits,
    ) -> Result<Outcome, Failure> {
        let (session, setup) = (own.session(), own.setup);
        let title = format!("{}, consolidation", self.talk.title);
        let opened = session.converse(&running.sidecar, &title).await;
        let mut conversation = opened.map_err(Failure::new)?;
        let (prefix, parts) = (session.name.prefix(), Parts::default());
        let brief = lead::brief(own, self.matter, &parts, &[], &prefix);
        let root = self.matter.change.snapshot.root().display().to_string();
        let last = PASSES
            .all()
            .find(|pass| pass.row.role == Role::Consolidation);
        let Some(pass) = last else {
            return Err(Failure::new("there is no pass that consolidates"));
        };
        let consolidation = Consolidation {
            pass,
            of: self.large.division.sections.len(),
            brief: &brief,
            subjects,
            made,
            desk: &session.desk,
        };
        let prompter = Prompter {
            root: &root,
            conversation: &mut conversation,
            limits,
            route: session.route()?,
            session,
            run_usage: &own.usage,
            actions: &setup.actions,
            clock: setup.clock,
            state: State::for_tasks(1),
        };
        Ok(consolidation.carry_out(prompter).await?)
    }
}

const OUT_OF_TIME: &str = "the time ran out; review_timeout_minutes sets it";

fn unheld(end: End) -> Held {
    (Outcome::without_session(end), Suspicions::default())
}
