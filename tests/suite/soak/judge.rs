//! The judge of a seed: what finished reviews found is on the pull request once, every status is the true one, nothing
//! is green without a review, and every run says how it ended.

use super::plan::{DEFECTS, Discussion, Made};
use super::reviewer::head_in;
use super::stage::{Disturbed, Stage};
use crate::standin::world::Ran;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    Duplicate,
    Lost,
    Status,
    FalseGreen,
    Unclassified,
}

impl Wrong {
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Duplicate, "duplicates"),
        (Self::Lost, "lost"),
        (Self::Status, "wrong statuses"),
        (Self::FalseGreen, "false greens"),
        (Self::Unclassified, "unclassified ends"),
    ];
}

/// What is wrong, in words.
pub type Complaint = (Wrong, String);

pub struct Judge<'a> {
    pub stage: &'a Stage<'a>,
    pub disturbed: &'a Disturbed,
    pub after: &'a Ran,
    /// When the last run began.
    pub before: Glance,
    pub complaints: Vec<Complaint>,
    /// Findings of passes that were finished and could not be posted: reports name them.
    pub named: usize,
}

/// How things are at a moment.
pub struct Glance {
    /// How often each defect is told on the pull request.
    said: Vec<usize>,
    /// How many passes were submitted, of all runs so far.
    submitted: usize,
    /// How many requests the model got so far.
    requests: usize,
    /// Head and id of check runs that are green.
    green: Vec<(String, u64)>,
    /// The defects that a check run remembers whole.
    carried: Vec<usize>,
}

pub fn glance(stage: &Stage<'_>) -> Glance {
    let green = stage.world.github.with(|state| {
        let green = state
            .check_runs
            .iter()
            .filter(|run| run.conclusion.as_deref() == Some("success"));
        green.map(|run| (run.head_sha.clone(), run.id)).collect()
    });
    Glance {
        said: said(stage),
        carried: carried(stage),
        submitted: stage.submitted.lock().expect("no panic").len(),
        requests: stage.world.model.requests().len(),
        green,
    }
}

/// What check runs remember, about code that the head still has.
fn carried(stage: &Stage<'_>) -> Vec<usize> {
    let texts: Vec<String> = stage.world.github.with(|state| {
        let checks = state.check_runs.iter();
        checks.filter_map(|run| run.text.clone()).collect()
    });
    let is_carried = |words: &str| texts.iter().any(|text| text.contains(words));
    let stands = |file: &str| !stage.has_changed(file);
    let defects = DEFECTS.iter().enumerate();
    defects
        .filter(|(_, one)| stands(one.file) && (is_carried(one.said) || is_carried(one.again)))
        .map(|(index, _)| index)
        .collect()
}

/// A review's text without the table, which lists what is told elsewhere.
fn below_the_table(body: &str) -> String {
    let lines = body.lines().filter(|line| !line.starts_with("| "));
    lines.collect::<Vec<_>>().join("\n")
}

/// How often a defect is told on the pull request: in a thread, on a file, or in a review's text.
fn said(stage: &Stage<'_>) -> Vec<usize> {
    stage.world.github.with(|state| {
        let roots = state
            .comments
            .iter()
            .filter(|one| one.in_reply_to_id.is_none() && one.user.as_deref() != Some("passerby"));
        let drafts: Vec<u64> = state
            .reviews
            .iter()
            .filter(|review| review.state == "PENDING")
            .map(|review| review.id)
            .collect();
        let comments = roots
            .filter(|one| !drafts.contains(&one.review_id))
            .map(|one| one.body.as_str());
        let reviews = state.reviews.iter().filter(|one| one.state != "PENDING");
        let texts: Vec<String> = comments
            .map(str::to_owned)
            .chain(reviews.map(|one| below_the_table(&one.body)))
            .collect();
        let told = |text: &&String, words: &str| text.contains(words);
        let count = |defect: &super::plan::Defect| {
            let texts = texts.iter();
            texts
                .filter(|text| told(text, defect.said) || told(text, defect.again))
                .count()
        };
        DEFECTS.iter().map(count).collect()
    })
}

impl Judge<'_> {
    pub fn judge(&mut self) {
        let disturbed = self.disturbed;
        self.classified("the disturbed run", &disturbed.ran);
        if let Some(second) = &disturbed.second {
            self.classified("the second run", second);
        }
        self.the_last_run_is_whole();
        self.heads_are_named();
        self.everything_once();
        self.statuses();
        self.no_false_green();
        self.nothing_half_done();
    }

    fn complain(&mut self, wrong: Wrong, words: impl Into<String>) {
        self.complaints.push((wrong, words.into()));
    }

    /// Every end is one of the known ones, and a bad one says why.
    fn classified(&mut self, name: &str, ran: &Ran) {
        let explained = !ran.annotations("error").is_empty();
        let known = match (ran.code, ran.status()) {
            // No seed has a reason to skip anything.
            (Some(0), "clean" | "findings") | (Some(0 | 1), "blocking") => true,
            (Some(2), "incomplete") => explained && ran.report.is_some(),
            (Some(2), "error") => explained,
            (Some(143), "") => ran.log.contains("The run was cancelled"),
            _ => false,
        };
        if !known {
            let end = format!("{name} ended with {:?} {:?}", ran.code, ran.status());
            self.complain(Wrong::Unclassified, end);
        }
        let verdict = ran
            .report
            .as_ref()
            .and_then(|report| report["verdict"].as_str());
        let agrees = match (ran.code, verdict) {
            (Some(143 | 2), Some(verdict)) => verdict == "incomplete",
            (Some(0 | 1), Some(verdict)) => verdict == ran.status(),
            _ => true,
        };
        if !agrees {
            let words = format!("{name} is {:?}, its report {verdict:?}", ran.status());
            self.complain(Wrong::Status, words);
        }
    }

    /// Every report names the commit that it is about.
    fn heads_are_named(&mut self) {
        let runs = self.disturbed_runs().chain([self.after]);
        let heads = runs.filter_map(|ran| ran.report.as_ref()?["head"].as_str());
        let unknown: Vec<String> = heads
            .filter(|head| !self.stage.has_commit(head))
            .map(|head| format!("a report is about {head:?}, which is no commit"))
            .collect();
        for words in unknown {
            self.complain(Wrong::Status, words);
        }
    }

    /// What is open on the pull request makes the last verdict.
    fn the_last_run_is_whole(&mut self) {
        let said = said(self.stage);
        let conceded = |made: &Made| {
            let old = self.stage.old.iter();
            let mut old = old.filter(|one| one.made.defect == made.defect);
            old.any(|one| matches!(one.discussion, Discussion::Conceded | Discussion::Fixed))
        };
        let all = self.all_made();
        let open: Vec<&Made> = all
            .iter()
            .filter(|made| said[made.defect] > 0 && !conceded(made))
            .collect();
        let expected = if open.iter().any(|made| made.blocks()) {
            "blocking"
        } else if open.is_empty() {
            "clean"
        } else {
            "findings"
        };
        let after = self.after;
        if (after.code, after.status()) != (Some(0), expected) {
            let words = format!(
                "the last run ended with {:?} {:?}, not {expected}",
                after.code,
                after.status()
            );
            self.complain(Wrong::Status, words);
        }
    }

    /// Everything that any run of the seed could find.
    fn all_made(&self) -> Vec<Made> {
        let plan = self.stage.plan;
        let before = plan.before.iter().map(|(made, _)| *made);
        before.chain(plan.findings.iter().copied()).collect()
    }

    fn everything_once(&mut self) {
        let said = said(self.stage);
        for made in self.all_made() {
            let count = said[made.defect];
            let words = made.defect().said;
            if count > 1 {
                self.complain(Wrong::Duplicate, format!("{count} times: {words}"));
            }
            if count > 0 && !made.counts() {
                self.complain(Wrong::Status, format!("below the threshold: {words}"));
            }
        }
        for made in self.required() {
            if said[made.defect] == 0 {
                self.complain(Wrong::Lost, made.defect().said);
            }
        }
        for old in &self.stage.old {
            let replies = self.replies(old.root) + self.rewritten(old.root);
            let wanted = usize::from(old.discussion != Discussion::Silence);
            if replies > wanted {
                let words = format!("{replies} replies in thread {}", old.root);
                self.complaints.push((Wrong::Duplicate, words));
            } else if replies < wanted {
                let words = format!("no reply in thread {}", old.root);
                self.complaints.push((Wrong::Lost, words));
            }
        }
        self.named = self.unpublished();
    }

    /// How often the comment of a finding says that it is fixed.
    fn rewritten(&self, root: u64) -> usize {
        let comments = self.stage.world.github.comments();
        let mut comments = comments.iter();
        let comment = comments.find(|one| one.id == root);
        comment.map_or(0, |one| one.body.matches("Issue Resolved").count())
    }

    fn replies(&self, root: u64) -> usize {
        let comments = self.stage.world.github.comments();
        let ours = comments
            .iter()
            .filter(|one| one.user.as_deref() == Some("github-actions[bot]"));
        ours.filter(|one| one.in_reply_to_id == Some(root)).count()
    }

    /// What has to be on the pull request: what was there, what a finished review found, what a run said that it had
    /// posted, what it has left for the next one to post, and what the last run found again, if it had to look.
    fn required(&self) -> Vec<Made> {
        let plan = self.stage.plan;
        let mut required: Vec<Made> = plan.before.iter().map(|(made, _)| *made).collect();
        if glance(self.stage).submitted > self.before.submitted {
            required.extend(&plan.restated);
        }
        let carried = |made: &&Made| self.before.carried.contains(&made.defect);
        required.extend(plan.findings.iter().filter(carried));
        for ran in self.disturbed_runs() {
            let findings = &plan.findings;
            required.extend(findings.iter().filter(|made| {
                let fates = fates(ran, made);
                fates.contains(&"published") || (is_finished(ran) && !fates.is_empty())
            }));
        }
        required.retain(Made::counts);
        required
    }

    fn disturbed_runs(&self) -> impl Iterator<Item = &Ran> {
        [Some(&self.disturbed.ran), self.disturbed.second.as_ref()]
            .into_iter()
            .flatten()
    }

    fn unpublished(&self) -> usize {
        let mut named = BTreeSet::new();
        for ran in self.disturbed_runs() {
            for made in &self.stage.plan.findings {
                if fates(ran, made).contains(&"unpublished") {
                    named.insert(made.defect);
                }
            }
        }
        let said = said(self.stage);
        named.iter().filter(|defect| said[**defect] == 0).count()
    }

    /// `state --json` shows every thread as its discussion left it.
    fn statuses(&mut self) {
        let shown = self.stage.state();
        // Warnings follow it.
        let mut values = serde_json::Deserializer::from_str(&shown.log).into_iter::<Value>();
        let threads = values.next().and_then(Result::ok).unwrap_or_default();
        let Some(threads) = threads.as_array() else {
            return self.complain(Wrong::Status, format!("no state: {}", shown.log));
        };
        for thread in threads {
            let root = thread["id"].as_str().and_then(|id| id.parse::<u64>().ok());
            let old = self.stage.old.iter().find(|old| Some(old.root) == root);
            let expected = match old.map(|old| old.discussion) {
                Some(Discussion::Conceded | Discussion::Fixed) => ["RESOLVED", "nobody"],
                Some(Discussion::Kept) => ["DISPUTED", "developer"],
                Some(Discussion::Silence) | None => ["PENDING", "developer"],
            };
            let told = [&thread["status"], &thread["awaiting"]];
            if told != expected {
                let words = format!("thread {} is {told:?}, not {expected:?}", thread["id"]);
                self.complain(Wrong::Status, words);
            }
        }
    }

    fn no_false_green(&mut self) {
        let now = glance(self.stage);
        let disturbed = self.disturbed;
        let mut complaints = self.green("the disturbed run", &disturbed.ran, &self.before);
        if let Some(second) = &disturbed.second {
            complaints.extend(self.green("the second run", second, &self.before));
        }
        complaints.extend(self.green("the last run", self.after, &now));
        let first = self.stage.first.as_ref();
        for moment in first.into_iter().chain([&self.before, &now]) {
            for (head, id) in &moment.green {
                let missing = self.missing(head, moment);
                let words =
                    |missing| format!("check run {id} on {head} is green without {missing}");
                complaints.extend(missing.into_iter().map(words));
            }
        }
        let blocks = |made: &Made| made.blocks() && self.before.said[made.defect] > 0;
        let verdict = self.after.status();
        if verdict != "blocking" && self.all_made().iter().any(blocks) {
            complaints.push(format!(
                "the last run is {verdict} in spite of a blocking thread"
            ));
        }
        let complaints = complaints
            .into_iter()
            .map(|words| (Wrong::FalseGreen, words));
        self.complaints.extend(complaints);
    }

    /// What is wrong with a run that is green, given what the model had submitted by then.
    fn green(&self, name: &str, ran: &Ran, by_then: &Glance) -> Vec<String> {
        let mut complaints = Vec::new();
        if !["clean", "findings"].contains(&ran.status()) {
            return complaints;
        }
        let report = ran.report.as_ref();
        let head = report.and_then(|report| report["head"].as_str());
        let missing = match head {
            Some(head) if self.stage.has_commit(head) => self.missing(head, by_then),
            // What the check run on that head says is judged all the same.
            Some(_) => Vec::new(),
            None => vec!["a head in its report".to_owned()],
        };
        let words = |missing| format!("{name} is {} without {missing}", ran.status());
        complaints.extend(missing.into_iter().map(words));
        let stood = self.stage.old.iter().any(|old| old.made.blocks());
        let found = |made: &Made| made.blocks() && !fates(ran, made).is_empty();
        if stood || self.all_made().iter().any(found) {
            let words = format!("{name} is {} in spite of a blocking finding", ran.status());
            complaints.push(words);
        }
        complaints
    }

    /// What a green head lacks: a review, and each file that the model has to see and had not seen by then.
    fn missing(&self, head: &str, by_then: &Glance) -> Vec<String> {
        let base = self.stage.tree("main");
        let mut requests = self.stage.world.model.requests();
        requests.truncate(by_then.requests);
        let owed = self.owed(head);
        let changed = owed
            .iter()
            .filter(|(path, object)| base.get(*path) != Some(*object));
        let unseen = changed.filter(|(path, object)| !self.was_seen(head, path, object, &requests));
        let mut missing: Vec<String> = unseen
            .map(|(path, _)| format!("{path} in a request to the model"))
            .collect();
        if !self.was_reviewed(head, by_then) {
            missing.push("a review".into());
        }
        missing
    }

    /// What a head holds, but for files whose changes the model need not see: a key, whose values are masked, and a lock
    /// file that names no source of packages.
    fn owed(&self, head: &str) -> BTreeMap<String, String> {
        let mut tree = self.stage.tree(head);
        let names_source = |path: &str| self.stage.text(head, path).contains("https://");
        tree.retain(|path, _| match path.as_str() {
            "a.key" => false,
            "package-lock.json" => names_source(path),
            _ => true,
        });
        tree
    }

    /// Whether a file's headline stood in a request about a head that has the same object in its place, and each line that
    /// the change adds to it in any.
    fn was_seen(&self, head: &str, path: &str, object: &str, requests: &[Value]) -> bool {
        let headline = format!("# {path}: ");
        let is_about = |request: &Value| {
            let reviewed = head_in(request);
            let tree = (!reviewed.is_empty()).then(|| self.stage.tree(&reviewed));
            tree.is_some_and(|tree| tree.get(path).is_some_and(|then| then == object))
        };
        let texts: Vec<String> = requests.iter().map(Value::to_string).collect();
        let mut shown = texts.iter().zip(requests);
        let stands = |line: &str| {
            let line = Value::from(format!("+ {line}")).to_string();
            texts
                .iter()
                .any(|text| text.contains(line.trim_matches('"')))
        };
        shown.any(|(text, request)| text.contains(&headline) && is_about(request))
            && self.stage.added(head, path).iter().all(|line| stands(line))
    }

    /// Whether the model had submitted all passes of one run about this change.
    fn was_reviewed(&self, head: &str, by_then: &Glance) -> bool {
        let owed = self.owed(head);
        let submitted = self.stage.submitted.lock().expect("no panic");
        let submitted = &submitted[..by_then.submitted];
        submitted.iter().any(|first| {
            let of_run = submitted.iter().filter(|one| one.run == first.run);
            let passes: BTreeSet<u64> = of_run.map(|one| one.pass).collect();
            passes == BTreeSet::from([1, 2, 3, 4]) && self.owed(&first.head) == owed
        })
    }

    /// No draft, no check in progress, no folder, no request that GitHub does not know.
    fn nothing_half_done(&mut self) {
        let github = &self.stage.world.github;
        let head = self.stage.head();
        let (drafts, open) = github.with(|state| {
            let drafts = state.reviews.iter().filter(|one| one.state == "PENDING");
            let checks = state.check_runs.iter();
            let open = checks.filter(|run| run.conclusion.is_none() && run.head_sha == head);
            (drafts.count(), open.count())
        });
        let left = self.disturbed.left_over + self.stage.world.left_over().len();
        let violations = github.take_violations();
        for (count, what) in [
            (drafts, "drafts are left"),
            (open, "check runs are left in progress"),
            (left, "temporary folders are left"),
        ] {
            if count > 0 {
                self.complain(Wrong::Status, format!("{count} {what}"));
            }
        }
        if !violations.is_empty() {
            self.complain(Wrong::Unclassified, violations.join("\n"));
        }
    }
}

/// A review that ended with a verdict about the whole change.
fn is_finished(ran: &Ran) -> bool {
    ["clean", "findings", "blocking"].contains(&ran.status())
}

/// What became of a finding, as the report of a run has it.
fn fates<'r>(ran: &'r Ran, made: &Made) -> Vec<&'r str> {
    let findings = ran
        .report
        .as_ref()
        .and_then(|report| report["findings"].as_array());
    let same = findings.into_iter().flatten().filter(|finding| {
        let words = finding["finding"].as_str().unwrap_or_default();
        words == made.defect().said || words == made.defect().again
    });
    same.filter_map(|finding| finding["fate"].as_str())
        .collect()
}
