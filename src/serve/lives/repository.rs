//! The repository of a life: its accounts, its settings for the service, its rules.

use super::github::app::AppKey;
use super::github::{Change, GitHub, Identity, Protection, Rule};
use super::plan::Plan;
use reviewer_core::state::check_mark::CHECK_NAME;

pub(super) const REPOSITORY: &str = "octo/shop";
pub(super) const KEEPER: &str = "octo-keeper";
pub(super) const CODER: &str = "octo-coder";
pub(super) const DEV: &str = "dev";
pub(super) const LEAD: &str = "lead";
/// The agents and their accounts.
pub(super) const AGENTS: [(&str, &str); 3] = [
    ("quality", "octo-quality"),
    ("security", "octo-security"),
    ("coder", CODER),
];
pub(super) const BRANCH: &str = "feature";
/// The name of the App in its address, and its account.
pub(super) const SLUG: &str = "octo-app";
pub(super) const APP: &str = "octo-app[bot]";
/// The agent that fixes what the App has opened.
pub(super) const FIXER: &str = "coder";
const RIGHTS_OF_APP: &[&str] = &[
    "checks:write",
    "contents:write",
    "issues:write",
    "metadata:read",
    "pull-requests:write",
];
const RIGHTS: &[&str] = &["contents:write", "pull-requests:write", "issues:write"];
pub(super) const SETTINGS: &str = ".github/opencode-reviewer.yml";

pub(super) fn token(login: &str) -> String {
    format!("github_pat_{login}")
}

pub(super) fn identity(login: &str) -> Identity {
    Identity::person(login, RIGHTS)
}

/// Registers the App.
pub(super) fn register(github: &GitHub) -> AppKey {
    github.permit(APP, "write");
    github.register_app(SLUG, RIGHTS_OF_APP)
}

/// The App, where it acts as git's author.
pub(super) fn app() -> Identity {
    Identity::app(SLUG, RIGHTS_OF_APP)
}

pub(super) fn prepare(github: &GitHub, plan: &Plan) {
    let logins = AGENTS.map(|(_, login)| login);
    for login in logins.into_iter().chain([KEEPER]) {
        github.token(&token(login), identity(login));
        github.permit(login, "write");
    }
    github.permit(DEV, "write");
    github.permit(LEAD, "write");
    let settings = settings(plan);
    let files = [
        Change::write(SETTINGS, settings),
        Change::write("a.txt", "a\n"),
    ];
    let base = github.commit("main", &[], &files);
    github.commit(BRANCH, &[&base], &[Change::write("b.txt", "b\n")]);
    let story = &plan.story;
    github.with(|state| {
        state.repository.auto_merge_allowed = story.arms;
        state.mergeability_delay = story.mergeability_delay;
        state.faults = plan
            .troubles
            .iter()
            .map(|one| Rule {
                method: one.method.clone(),
                path_prefix: one.path.into(),
                body_contains: one.word.into(),
                after: one.after,
                times: one.times,
                struck: 0,
                fault: one.fault.clone(),
            })
            .collect();
    });
    let checks = [
        story.check_after_ms.is_some().then_some("ci"),
        story.gate.then_some(CHECK_NAME),
    ];
    let checks: Vec<String> = checks.into_iter().flatten().map(Into::into).collect();
    if !checks.is_empty() {
        let protection = Protection {
            required_checks: checks,
            ..Protection::default()
        };
        github.protect("main", protection);
    }
}

fn settings(plan: &Plan) -> String {
    let story = &plan.story;
    let to = if story.escalates_to_person {
        format!("{{name: {LEAD}, type: human}}")
    } else {
        "security".to_owned()
    };
    let mut reviewers = vec![format!("{{name: quality, can_escalate: [{to}]}}")];
    if story.security {
        reviewers.push("{name: security}".into());
    }
    if story.human {
        reviewers.push(format!("{{name: {LEAD}, type: human}}"));
    }
    format!(
        "lifecycle:\n  enabled: true\n  reviewers: [{}]\n  auto_merge: {}\n  require_human_approval: {}\n  max_fix_cycles: {}\n",
        reviewers.join(", "),
        story.auto_merge,
        story.require_human_approval,
        story.max_fix_cycles
    )
}
