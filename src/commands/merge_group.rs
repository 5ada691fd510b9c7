//! A merge group: the queue asks for a check, which follows from what reviews have left. No model is asked.

use super::closed::Aside;
use crate::gather::pull_request;
use crate::host::{Failure, Setup};
use crate::run::exits;
use reviewer_core::domain::{PrKey, Verdict};
use reviewer_core::event::MergeGroup;
use reviewer_core::plan::neighbours::OnHead;
use reviewer_core::plan::queue::{self, Member};
use reviewer_core::publish::comment;
use reviewer_core::state::check_mark::CHECK_NAME;
use reviewer_github::{CheckOutput, DryRun, NewCheckRun};

/// The judgement of a merge group: its members, and what each of them lacks.
struct Judged {
    members: Vec<u64>,
    lacking: Vec<String>,
}

/// The merge queue wants a verdict on a group. Returns the exit code.
pub(crate) async fn merge_group(setup: &Setup, group: &MergeGroup) -> u8 {
    let dry_run = DryRun::default();
    let code = match decided(setup, group, &dry_run).await {
        Ok(code) => code,
        Err(Failure(sentences)) => exits::failed(setup, &sentences),
    };
    exits::print_dry_run(setup, &dry_run);
    code
}

/// Judges the group and leaves a check on its commit. A group that nobody can judge fails.
async fn decided(setup: &Setup, group: &MergeGroup, dry_run: &DryRun) -> Result<u8, Failure> {
    let aside = Aside::new(setup, &group.repo.to_string(), dry_run)?;
    let judged = judge(&aside, group)
        .await
        .unwrap_or_else(|Failure(lacking)| Judged {
            members: Vec::new(),
            lacking,
        });
    let verdict = if judged.lacking.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Blocking
    };
    for sentence in &judged.lacking {
        setup.actions.warning(sentence);
    }
    let title = comment::merge_group::title(&judged.members, judged.lacking.len());
    let check = NewCheckRun {
        name: CHECK_NAME.into(),
        head_sha: group.head.clone(),
        external_id: format!("opencode-reviewer:{}:merge-group", aside.id),
        details_url: aside.url.clone(),
        output: CheckOutput {
            title: title.clone(),
            summary: page(&title, &judged.lacking),
            text: None,
        },
        conclusion: Some(verdict.conclusion()),
    };
    let created = aside.github.create_check_run(&group.repo, &check).await;
    created.map_err(Failure::new)?;
    Ok(exits::judged(setup, &title, verdict, aside.fail_job))
}

fn page(title: &str, lacking: &[String]) -> String {
    if lacking.is_empty() {
        return format!("{title}.");
    }
    let lines: Vec<String> = lacking.iter().map(|one| format!("- {one}")).collect();
    format!("{}\n\n{}", lines.join("\n"), comment::merge_group::advice())
}

async fn judge(aside: &Aside, group: &MergeGroup) -> Result<Judged, Failure> {
    if !aside.keys.can_sign() {
        return Err(Failure::new(comment::merge_group::without_key()));
    }
    let members = members(aside, group).await?;
    let mut lacking = Vec::new();
    for member in &members {
        let checks = aside
            .github
            .check_runs(&group.repo, &member.head, CHECK_NAME);
        let checks = checks.await.map_err(Failure::new)?;
        let on_head = OnHead {
            repo: &group.repo,
            head: &member.head,
            keys: &aside.keys,
            checks: &checks,
        };
        let obstacle = queue::obstacle(group, member, &on_head);
        lacking.extend(obstacle.map(|why| comment::merge_group::obstacle(member, &why)));
    }
    Ok(Judged {
        members: members.iter().map(|member| member.number).collect(),
        lacking,
    })
}

/// As the queue lists them; the branch names one where the queue has moved on.
async fn members(aside: &Aside, group: &MergeGroup) -> Result<Vec<Member>, Failure> {
    let entries = aside.github.merge_queue(&group.repo, &group.base_ref).await;
    let entries = entries.map_err(Failure::new)?;
    if let Some(members) = queue::members(group, &entries) {
        return Ok(members);
    }
    let number =
        queue::named(group).ok_or_else(|| Failure::new(comment::merge_group::unreadable()))?;
    let pr = PrKey {
        repo: group.repo.clone(),
        number,
    };
    let pull = pull_request::found(&aside.github, &pr).await?;
    Ok(vec![Member {
        number,
        head: pull.head_sha,
    }])
}
