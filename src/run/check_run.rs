//! The check run of a review: progress while it works, the gate when it is done. Once opened it is concluded on
//! every way out.

use super::same_head::{Company, Look};
use crate::gather::Facts;
use crate::host::{Failure, Job};
use reviewer_core::domain::{
    CheckRunInfo, CommitSha, Conclusion, PrKey, RepoName, Tally, Thread, Verdict,
};
use reviewer_core::plan::lease::{self, Lease};
use reviewer_core::plan::neighbours::OnHead;
use reviewer_core::plan::permissions::{self, Right};
use reviewer_core::publish::comment::{self, gate};
use reviewer_core::review::usage::RunUsage;
use reviewer_core::state::check_mark::{self as mark, CHECK_NAME, Place};
use reviewer_core::state::record::{self, Record};
use reviewer_core::state::signature::Keys;
use reviewer_core::state::spending::{Account, Spent};
use reviewer_github::{ApiError, CheckOutput, GitHub, NewCheckRun};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const BETWEEN_LOOKS: Duration = Duration::from_secs(15);
/// The maximum time that a run takes beside the model's.
const BESIDES: Duration = Duration::from_mins(10);

/// The check runs of the reviewer's name on this head. A list that fails is no reason to wait.
async fn checks(job: &Job<'_>, head: &CommitSha) -> Vec<CheckRunInfo> {
    let runs = job.github.check_runs(&job.pr.repo, head, CHECK_NAME).await;
    runs.unwrap_or_default()
}

/// The check runs that the reviewer signed for this pull request: nobody waits for a check that only has its name.
fn leased(job: &Job<'_>, head: &CommitSha, checks: &[CheckRunInfo]) -> Vec<CheckRunInfo> {
    let on_head = OnHead {
        repo: &job.pr.repo,
        head,
        keys: &job.keys,
        checks: &[],
    };
    let ours = checks.iter().filter(|check| on_head.leases(check, &job.pr));
    ours.cloned().collect()
}

/// True if a run has concluded its check after the discussion was read: what it posted was not read.
fn has_overtaken(job: &Job<'_>, facts: &Facts, checks: &[CheckRunInfo]) -> bool {
    let mut unread = checks
        .iter()
        .filter(|check| check.conclusion.is_some() && !facts.has_read(check.id));
    unread.any(|check| {
        let text = check.text.as_deref().unwrap_or_default();
        record::read(text, &job.pr, &job.keys).is_some()
    })
}

fn leases(checks: &[CheckRunInfo]) -> Vec<Lease> {
    let leases = checks.iter().map(|check| Lease {
        id: check.id,
        started_at: check.started_at.clone(),
        in_progress: check.conclusion.is_none(),
    });
    leases.collect()
}

/// The longest that a run can be at work.
fn longest(job: &Job<'_>) -> Duration {
    job.host.config.timeout + BESIDES
}

/// The check run of an older run that still works on this head.
async fn holder(job: &Job<'_>, head: &CommitSha, own: u64) -> Option<u64> {
    let ours = leased(job, head, &checks(job, head).await);
    lease::holder(&leases(&ours), own, longest(job))
}

/// Concludes what runs have left in progress that GitHub did not let conclude it, or that were killed. Nobody else
/// would. What they remember stays.
async fn conclude_abandoned(job: &Job<'_>, checks: &[CheckRunInfo], own: u64) {
    let (title, summary) = comment::check::abandoned();
    for id in lease::abandoned(&leases(checks), own, longest(job)) {
        let check = checks.iter().find(|check| check.id == id);
        let output = CheckOutput {
            title: title.into(),
            summary: summary.into(),
            text: check.and_then(|check| check.text.clone()),
        };
        let (repo, cancelled) = (&job.pr.repo, Conclusion::Cancelled);
        if let Err(error) = job.github.conclude(repo, id, cancelled, &output).await {
            tracing::debug!("check run {id} is still in progress: {error}");
        }
    }
}

/// Told before the model is asked, once: a mistake as a warning, what may be a choice as a line of the log.
fn tell_lacking(job: &Job<'_>, facts: &Facts, check: Option<Right>) {
    let stays_open = facts.open_threads().any(Thread::must_stay_open);
    let resolve = stays_open.then_some(Right::Resolve);
    let missing: Vec<Right> = check.into_iter().chain(resolve).collect();
    let actions = &job.host.setup.actions;
    match permissions::lacking(&missing) {
        Some(message) if check.is_some() => actions.warning(&message),
        Some(message) => message.lines().for_each(|line| actions.line(line)),
        None => {}
    }
}

/// Creates a check run. Where GitHub fails, it is asked once more, a little later: the record of the run is kept there.
async fn created(job: &Job<'_>, check: &NewCheckRun) -> Result<u64, ApiError> {
    match job.github.create_check_run(&job.pr.repo, check).await {
        Err(error) if !error.is_permission() => {
            job.host.setup.clock.sleep(BETWEEN_LOOKS).await;
            job.github.create_check_run(&job.pr.repo, check).await
        }
        answered => answered,
    }
}

/// Returns the address of a check run's page on GitHub.
fn page(job: &Job<'_>, id: u64) -> Option<String> {
    let server = &job.host.setup.environment.server_url;
    let is_there = !job.host.config.dry_run;
    is_there.then(|| format!("{server}/{}/runs/{id}", job.pr.repo))
}

/// Open, or not (yet). Shared between the pipeline and whatever ends it.
#[derive(Default)]
pub(crate) struct CheckRun {
    open: Mutex<Option<Open>>,
}

#[derive(Clone)]
struct Open {
    github: Arc<GitHub>,
    repo: RepoName,
    id: u64,
    bill: Bill,
    /// The record with the findings that are about to be posted: it stays if the run is cut off.
    undelivered: Option<String>,
    place: Place,
    run: String,
    url: Option<String>,
    /// The check's own page; `None` in a dry run, whose check is nowhere.
    page: Option<String>,
    /// Stands in the text until the check is concluded.
    lease: Option<String>,
    /// The older run that was at work when the check was opened.
    holder: Option<u64>,
    /// True if another run ended between the reading and the opening.
    overtaken: bool,
}

impl Open {
    fn look(&self) -> Look<'_> {
        Look {
            github: &self.github,
            pr: &self.bill.pr,
            head: &self.place.head,
            keys: &self.bill.keys,
            run: &self.run,
            url: self.url.as_deref(),
        }
    }
}

/// The record of a run that is cut off: nothing was reviewed, and this much was spent.
#[derive(Clone)]
struct Bill {
    pr: PrKey,
    keys: Keys,
    account: Account,
    spent: Spent,
    usage: Arc<RunUsage>,
}

impl Bill {
    fn new(job: &Job<'_>, facts: &Facts) -> Self {
        Self {
            pr: job.pr.clone(),
            keys: job.keys.clone(),
            account: facts.account.clone(),
            spent: job.spent(0.0, 0),
            usage: Arc::clone(&job.host.usage),
        }
    }

    fn text(&self) -> String {
        let total = self.usage.total();
        let spent = Spent {
            cost_usd: total.cost,
            tokens: total.tokens.number,
            ..self.spent.clone()
        };
        let today = spent.day;
        let account = self.account.plus(spent);
        let record = account.entered_in(Record::default(), today);
        record::render(&record, &self.pr, &self.keys)
    }
}

impl CheckRun {
    /// Opens it, and says what the run has to go on without. Without permission the review goes on, and
    /// the job's exit code is the gate.
    pub async fn open(&self, job: &Job<'_>, facts: &Facts) {
        if !job.uses_check_runs() {
            return tell_lacking(job, facts, None);
        }
        let head = &facts.pull.head_sha;
        let place = Place {
            head: head.clone(),
            base_ref: facts.pull.base_ref.clone(),
            merge_base: facts.merge_base.clone(),
        };
        let (title, summary) = comment::check::in_progress();
        let lease = mark::render(&job.pr, head, &job.id, &job.keys);
        let check = NewCheckRun {
            name: CHECK_NAME.into(),
            head_sha: head.clone(),
            external_id: place.external_id(&job.id, job.pr.number),
            details_url: job.url(),
            output: CheckOutput {
                title: title.into(),
                summary,
                text: lease.clone(),
            },
            conclusion: None,
        };
        match created(job, &check).await {
            Ok(id) => {
                *self.slot() = Some(Open {
                    github: Arc::clone(&job.github),
                    repo: job.pr.repo.clone(),
                    id,
                    bill: Bill::new(job, facts),
                    undelivered: None,
                    place,
                    run: job.id.clone(),
                    url: check.details_url,
                    page: page(job, id),
                    lease,
                    holder: None,
                    overtaken: false,
                });
                let checks = checks(job, head).await;
                let ours = leased(job, head, &checks);
                conclude_abandoned(job, &ours, id).await;
                if let Some(open) = self.slot().as_mut() {
                    open.holder = lease::holder(&leases(&ours), id, longest(job));
                    open.overtaken = has_overtaken(job, facts, &checks);
                }
                tell_lacking(job, facts, None);
            }
            Err(error) if error.is_permission() => {
                tell_lacking(job, facts, Some(Right::Check));
            }
            Err(error) => job.host.setup.actions.warning(&format!(
                "No check run could be opened ({error}); blocking findings fail the job instead."
            )),
        }
    }

    /// The check's page, while it is open.
    pub(crate) fn page(&self) -> Option<String> {
        self.slot().as_ref()?.page.clone()
    }

    /// Waits while an older run works on the same head. Returns true if another run may have posted something since
    /// the discussion was read. Without a check of its own there is no queue to stand in.
    pub(crate) async fn wait_for_turn(
        &self,
        job: &Job<'_>,
        head: &CommitSha,
    ) -> Result<bool, Failure> {
        let opened = self.slot().clone();
        let Some((own, mut waits_for, overtaken)) =
            opened.map(|open| (open.id, open.holder, open.overtaken))
        else {
            return Ok(false);
        };
        let clock = &job.host.setup.clock;
        let mut waited = Duration::ZERO;
        while let Some(holder) = waits_for {
            if waited.is_zero() {
                job.host
                    .setup
                    .actions
                    .line(&comment::check::waiting_for(holder));
            }
            if waited >= job.host.config.timeout {
                return Err(Failure::new(comment::check::waited_in_vain(holder)));
            }
            clock.sleep(BETWEEN_LOOKS).await;
            waited += BETWEEN_LOOKS;
            waits_for = self::holder(job, head, own).await;
        }
        Ok(overtaken || !waited.is_zero())
    }

    /// True if a run that began before this one on `head` still works on another head. Without a check of its own this one has no
    /// time to compare, so whatever works there counts.
    pub(crate) async fn is_held_elsewhere(
        &self,
        job: &Job<'_>,
        head: &CommitSha,
        other: &CommitSha,
    ) -> bool {
        let own = self.slot().as_ref().map(|open| open.id);
        let mut ours = leased(job, other, &checks(job, other).await);
        let Some(own) = own else {
            return leases(&ours).iter().any(|lease| lease.in_progress);
        };
        let here = checks(job, head).await;
        ours.extend(here.into_iter().filter(|check| check.id == own));
        lease::holder(&leases(&ours), own, longest(job)).is_some()
    }

    pub fn is_open(&self) -> bool {
        self.slot().is_some()
    }

    /// Writes down what is about to be posted. Whatever ends the run from here on, the next one finds it. Without a check of its
    /// own there is no place for it.
    pub(crate) async fn write_undelivered(&self, record: &Record) -> Result<(), ApiError> {
        let noted = self.slot().as_mut().map(|open| {
            // Whatever an earlier run concluded, this one has not yet.
            let record = Record {
                verdict: String::new(),
                ..record.clone()
            };
            open.undelivered = Some(record::render(&record, &open.bill.pr, &open.bill.keys));
            open.clone()
        });
        let Some(open) = noted else { return Ok(()) };
        let (title, summary) = comment::check::in_progress();
        let output = CheckOutput {
            title: title.into(),
            summary,
            text: Some(
                [open.lease, open.undelivered]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
        };
        open.github.note(&open.repo, open.id, &output).await
    }

    /// Returns the other checks on the head, and the diff that the check is about, just before it is concluded. A
    /// verdict that is not green turns the green checks of the same head red: whichever is the newest, it must not open
    /// the gate.
    pub(crate) async fn company(&self, verdict: Verdict) -> Option<(Place, Company)> {
        let open = self.slot().clone()?;
        let (look, own) = (open.look(), open.bill.pr.number);
        let company = look.company().await;
        if verdict.conclusion() != Conclusion::Success {
            for other in company.neighbours.iter().filter(|one| one.shows_success) {
                if let Err(error) = look.conclude_for(other, &[own]).await {
                    tracing::debug!("the check of #{} stays green: {error}", other.number);
                }
            }
        }
        Some((open.place, company))
    }

    /// Concludes it with the record that is given, or else with the one of undelivered findings or the bill. Returns
    /// false if no check is open.
    pub async fn conclude(
        &self,
        conclusion: Conclusion,
        output: &CheckOutput,
    ) -> Result<bool, String> {
        let open = self.slot().clone();
        let Some(open) = open else {
            return Ok(false);
        };
        let text = output.text.clone().or(open.undelivered);
        let text = text.unwrap_or_else(|| open.bill.text());
        let output = CheckOutput {
            title: open.place.titled(&output.title),
            text: Some(text),
            ..output.clone()
        };
        // Still open until GitHub says otherwise: whoever ends the run meanwhile concludes it.
        let concluded = open
            .github
            .conclude(&open.repo, open.id, conclusion, &output)
            .await;
        concluded.map_err(|error| error.to_string())?;
        self.slot().take();
        Ok(true)
    }

    /// Concludes it for a run that could not review.
    pub(crate) async fn fail(&self, sentences: &[String]) {
        let output = CheckOutput {
            title: comment::check::title(Verdict::Error, &Tally::default()),
            summary: gate::after_an_error(sentences),
            text: None,
        };
        if let Err(error) = self.conclude(Verdict::Error.conclusion(), &output).await {
            tracing::error!("the check run could not be concluded: {error}");
        }
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
