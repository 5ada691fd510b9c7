//! Runs that review nothing: the merge queue asks for a group, or a pull request was closed. They read what reviews have
//! left, write checks, and need neither a model nor the sidecar.

use super::check::NAME;
use super::neighbours::Look;
use super::{Setup, Stop, finish, reading, run_id, run_url};
use crate::config::inputs;
use crate::domain::{PrKey, Verdict};
use crate::event::MergeGroup;
use crate::github::{CheckOutput, GitHub, NewCheckRun, Rehearsal};
use crate::plan::neighbours::OnHead;
use crate::plan::queue::{self, Member};
use crate::publish::comment;
use crate::state::signature::Keys;
use secrecy::ExposeSecret as _;

/// What such a run works with.
struct Aside {
    github: GitHub,
    keys: Keys,
    id: String,
    url: Option<String>,
    fail_job: bool,
}

impl Aside {
    fn new(setup: &Setup, repo: &str, rehearsal: &Rehearsal) -> Result<Self, Stop> {
        let inputs = inputs::memory(&setup.inputs).map_err(|errors| Stop::fail_all(&errors))?;
        let secrets = inputs.state_keys.iter().chain(&inputs.model_key);
        for secret in secrets.chain([&inputs.github_token]) {
            setup.actions.mask(secret.expose_secret());
        }
        let environment = &setup.environment;
        let (api, graphql) = (&environment.api_url, &environment.graphql_url);
        let (token, network) = (&inputs.github_token, &environment.network);
        let github = GitHub::new(api, graphql, token, setup.clock, network).map_err(Stop::fail)?;
        Ok(Self {
            github: if inputs.dry_run {
                github.rehearsing(rehearsal)
            } else {
                github
            },
            keys: Keys::derive(&inputs.state_keys, inputs.model_key.as_ref(), repo),
            id: run_id(environment)?,
            url: run_url(environment, repo),
            fail_job: inputs.fail_job,
        })
    }
}

/// A pull request was closed: what it held back is computed anew. Returns the exit code.
pub async fn closed(setup: &Setup, pr: &PrKey) -> u8 {
    let rehearsal = Rehearsal::default();
    let code = match freed(setup, pr, &rehearsal).await {
        Ok(others) => finish::skipped(setup, &comment::closed(&others)),
        Err(Stop::Skip(reason)) => finish::skipped(setup, &reason),
        Err(Stop::Fail(sentences)) => finish::failed(setup, &sentences),
    };
    finish::rehearsed(setup, &rehearsal);
    code
}

/// The pull requests of the same head whose check was computed anew.
async fn freed(setup: &Setup, pr: &PrKey, rehearsal: &Rehearsal) -> Result<Vec<u64>, Stop> {
    let aside = Aside::new(setup, &pr.repo.to_string(), rehearsal)?;
    let pull = reading::found(&aside.github, pr).await?;
    let look = Look {
        github: &aside.github,
        pr,
        head: &pull.head_sha,
        keys: &aside.keys,
        run: &aside.id,
        url: aside.url.as_deref(),
    };
    let company = look.company().await;
    if let Some(failed) = &company.failed {
        return Err(Stop::fail(failed));
    }
    if let Some(unknown) = &company.unknown {
        setup.actions.warning(unknown);
    }
    let mut freed = Vec::new();
    for other in &company.neighbours {
        let holders = company.holders(other.number);
        let holders: Vec<u64> = holders.iter().map(|one| one.number).collect();
        match look.conclude_for(other, &holders).await {
            Ok(true) => freed.push(other.number),
            Ok(false) => {}
            Err(error) => return Err(Stop::fail(error)),
        }
    }
    Ok(freed)
}

/// What became of a merge group: who is in it, and what each of them lacks.
struct Judged {
    members: Vec<u64>,
    lacking: Vec<String>,
}

/// The merge queue wants a verdict on a group. Returns the exit code.
pub async fn merge_group(setup: &Setup, group: &MergeGroup) -> u8 {
    let rehearsal = Rehearsal::default();
    let code = match decided(setup, group, &rehearsal).await {
        Ok(code) => code,
        Err(Stop::Skip(reason)) => finish::skipped(setup, &reason),
        Err(Stop::Fail(sentences)) => finish::failed(setup, &sentences),
    };
    finish::rehearsed(setup, &rehearsal);
    code
}

/// Judges the group and leaves a check on its commit. A group that nobody can judge fails.
async fn decided(setup: &Setup, group: &MergeGroup, rehearsal: &Rehearsal) -> Result<u8, Stop> {
    let aside = Aside::new(setup, &group.repo.to_string(), rehearsal)?;
    let judged = judge(&aside, group).await.unwrap_or_else(|stop| Judged {
        members: Vec::new(),
        lacking: match stop {
            Stop::Skip(sentence) => vec![sentence],
            Stop::Fail(sentences) => sentences,
        },
    });
    let verdict = if judged.lacking.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Blocking
    };
    for sentence in &judged.lacking {
        setup.actions.warning(sentence);
    }
    let title = comment::queue_title(&judged.members, judged.lacking.len());
    let check = NewCheckRun {
        name: NAME.into(),
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
    created.map_err(Stop::fail)?;
    Ok(finish::judged(setup, &title, verdict, aside.fail_job))
}

fn page(title: &str, lacking: &[String]) -> String {
    if lacking.is_empty() {
        return format!("{title}.");
    }
    let lines: Vec<String> = lacking.iter().map(|one| format!("- {one}")).collect();
    format!("{}\n\n{}", lines.join("\n"), comment::queue_advice())
}

async fn judge(aside: &Aside, group: &MergeGroup) -> Result<Judged, Stop> {
    if !aside.keys.can_sign() {
        return Err(Stop::fail(comment::queue_without_key()));
    }
    let members = members(aside, group).await?;
    let mut lacking = Vec::new();
    for member in &members {
        let checks = aside.github.check_runs(&group.repo, &member.head, NAME);
        let checks = checks.await.map_err(Stop::fail)?;
        let on_head = OnHead {
            repo: &group.repo,
            head: &member.head,
            keys: &aside.keys,
            checks: &checks,
        };
        let obstacle = queue::obstacle(group, member, &on_head);
        lacking.extend(obstacle.map(|why| comment::queue_obstacle(member, &why)));
    }
    Ok(Judged {
        members: members.iter().map(|member| member.number).collect(),
        lacking,
    })
}

/// As the queue lists them; the branch names one where the queue has moved on.
async fn members(aside: &Aside, group: &MergeGroup) -> Result<Vec<Member>, Stop> {
    let entries = aside.github.merge_queue(&group.repo, &group.base_ref).await;
    let entries = entries.map_err(Stop::fail)?;
    if let Some(members) = queue::members(group, &entries) {
        return Ok(members);
    }
    let number = queue::named(group).ok_or_else(|| Stop::fail(comment::queue_unreadable()))?;
    let pr = PrKey {
        repo: group.repo.clone(),
        number,
    };
    let pull = reading::found(&aside.github, &pr).await?;
    Ok(vec![Member {
        number,
        head: pull.head_sha,
    }])
}
