//! The repository of a life: its accounts, its settings for the service, its rules.

use super::github::{Change, GitHub, Identity, Protection, Rule};
use super::plan::Plan;

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
const RIGHTS: &[&str] = &["contents:write", "pull-requests:write", "issues:write"];
pub(super) const SETTINGS: &str = ".github/opencode-reviewer.yml";

pub(super) fn token(login: &str) -> String {
    format!("github_pat_{login}")
}

pub(super) fn identity(login: &str) -> Identity {
    Identity::person(login, RIGHTS)
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
    if story.check_after_ms.is_some() {
        let protection = Protection {
            required_checks: vec!["ci".into()],
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
