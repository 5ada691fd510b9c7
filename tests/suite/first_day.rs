//! The first day of somebody new: the README's workflow as pasted, in a private repository that has nothing of ours; one
//! review appears. Then each line of its permissions taken away in turn: the message names it.

use crate::review::{comments, layer_bypassed, lost_page, post};
use crate::standin::github::{GitHub, Identity};
use crate::standin::model::Script;
use crate::standin::world::{KEY, Ran, Workflow, World};
use serde_json::Value;

/// The first workflow of the README.
fn pasted() -> Value {
    let readme = include_str!("../../README.md");
    let first = readme.split("```yaml\n").nth(1).expect("a workflow");
    let text = first.split("```").next().expect("its end");
    serde_yaml::from_str(text).expect("YAML")
}

/// What its job may do, as `scope:level`.
fn permissions(job: &Value) -> Vec<String> {
    let lines = job["permissions"].as_object().expect("permissions");
    let level = |level: &Value| level.as_str().expect("a level").to_owned();
    lines
        .iter()
        .map(|(scope, given)| format!("{scope}:{}", level(given)))
        .collect()
}

fn world() -> World {
    let script = Script::new().pass(1, |_| vec![post(lost_page(7)), post(layer_bypassed(6))]);
    let world = World::shop(script);
    world.github.with(|state| state.repository.private = true);
    world
}

/// The step as the runner would start it: expressions filled in, and the model of the stand-in for the provider's.
fn started(world: &World, job: &Value) -> Workflow {
    let mut workflow = world.opened();
    let given = job["steps"][0]["with"].as_object().expect("inputs");
    let base_url = ("model_base_url".to_owned(), world.model.url().to_owned());
    let token = ("github_token".to_owned(), GitHub::TOKEN.to_owned());
    workflow.inputs = [base_url, token].into_iter().collect();
    for (name, value) in given {
        let value = value.as_str().expect("a text");
        let is_secret = value.starts_with("${{ secrets.");
        let filled = if is_secret { KEY } else { value };
        workflow.inputs.insert(name.clone(), filled.to_owned());
    }
    workflow
}

fn run_with(world: &World, job: &Value, permissions: &[String]) -> Ran {
    let permissions: Vec<&str> = permissions.iter().map(String::as_str).collect();
    let identity = Identity::github_actions(&permissions);
    world.github.token(GitHub::TOKEN, identity);
    world.run(&started(world, job))
}

#[test]
fn the_readmes_workflow_reviews_as_pasted_and_every_missing_permission_is_named() {
    let workflow = pasted();
    let job = &workflow["jobs"]["review"];
    let all = permissions(job);
    assert_eq!(
        all,
        ["checks:write", "contents:read", "pull-requests:write"]
    );

    let first = world();
    let ran = run_with(&first, job, &all);
    ran.ended(0, "findings");
    assert_eq!(comments(&first.github.expect_review()).len(), 2);
    first.github.expect_check_run();
    first.finish();

    for missing in &all {
        let kept: Vec<String> = all.iter().filter(|one| *one != missing).cloned().collect();
        let world = world();
        let ran = run_with(&world, job, &kept);
        let line = missing.replace(':', ": ");
        assert!(ran.log.contains(&line), "{line} is not named: {}", ran.log);
        let goes_on = missing == "checks:write";
        assert_eq!(ran.code == Some(0), goes_on, "{missing}: {}", ran.log);
        let asked = world.model.requests().len();
        assert_eq!(
            asked > 0,
            goes_on,
            "{missing}: {asked} requests to the model"
        );
        world.github.take_writes();
        world.finish();
    }
}
