//! Starts the sidecar for a run, with our tools and our gateway as all that it can reach.

use super::{Engine, Setup, Stop};
use crate::config::Config;
use crate::context::brief;
use crate::gateway::{Gateway, Limits};
use crate::host::session::{Session, Sessions};
use crate::opencode::{
    ModelEndpoint, Profile, Quota, Spec, Supervisor, ToolEndpoint, find_opencode, find_ripgrep,
    is_script, profile,
};
use crate::review::usage::RunUsage;
use crate::review::{REVIEWERS, Reviewer};
use crate::tools::server::{Offer, ToolServer};
use std::path::Path;
use std::sync::Arc;

/// The sessions of a run, one for each reviewer, in their order: `r1`, `r2`, …
pub fn sessions(
    config: &Config,
    gateway: &Result<Gateway, String>,
    usage: &RunUsage,
) -> anyhow::Result<Sessions> {
    let profile = Profile::reviewer(config.web.is_some());
    let open = |(number, reviewer): (usize, &'static Reviewer)| {
        let name = format!("r{number}");
        let (model, usage) = (config.model.clone(), usage.open());
        Session::new(name, reviewer, profile, model, usage, gateway)
    };
    let [first, others @ ..] = REVIEWERS else {
        anyhow::bail!("there is no reviewer");
    };
    let others = (2..).zip(others).map(open);
    let others = others.collect::<anyhow::Result<_>>()?;
    Ok(Sessions::new(open((1, first))?, others))
}

/// The way from the sidecar to its models.
pub fn gateway(setup: &Setup) -> Result<Gateway, String> {
    let usual = Limits::default();
    let limits = Limits {
        silence: setup.clock.limit(usual.silence),
        ..usual
    };
    Gateway::new(&setup.environment.network, limits)
}

/// The loopback server with everything that the sidecar may use: the tools, and the way to its model.
pub async fn serve(engine: &Engine<'_>) -> Result<(ToolServer, ModelEndpoint), Stop> {
    let session = engine.session();
    let (gateway, route) = (engine.gateway()?, engine.route()?);
    let offer = Offer {
        desk: session.desk.clone(),
        bearer: session.secrets.bearer.clone(),
        redactor: Arc::clone(&engine.secrets.redactor),
        gateway: Some(gateway),
        web: engine.web.clone(),
    };
    let tools = ToolServer::start(offer).await?;
    let endpoint = ModelEndpoint {
        base_url: format!("{}{}", tools.base_url(), route.path()),
        placeholder: route.placeholder().clone(),
    };
    Ok((tools, endpoint))
}

/// The sidecar of a run.
pub async fn start(
    engine: &Engine<'_>,
    tools: &ToolServer,
    model: &ModelEndpoint,
    snapshot: &Path,
) -> Result<Arc<Supervisor>, Stop> {
    let prompt = brief::system_prompt(&engine.fence).map_err(anyhow::Error::from)?;
    let session = engine.session();
    let endpoint = ToolEndpoint {
        base_url: tools.base_url().to_owned(),
        bearer: session.secrets.bearer.clone(),
    };
    let config = profile::config(session.profile, &session.model, &prompt, &endpoint, model);
    let environment = &engine.setup.environment;
    let roots = &engine.setup.roots;
    let given = environment.opencode_bin.as_deref().and_then(Path::to_str);
    let executable = find_opencode(given, roots, &environment.path).ok_or_else(|| {
        Stop::fail(
            "OpenCode was not found; install it with `npm ci`, or set OPENCODE_BIN to the path of an `opencode` \
             executable of major version 1",
        )
    })?;
    if is_script(&executable) {
        let path = executable.display();
        return Err(Stop::fail(format!(
            "OpenCode at {path} is a script, and the sandbox executes no interpreter; set OPENCODE_BIN to the executable \
             in OpenCode's platform package, for example node_modules/opencode-linux-x64/bin/opencode"
        )));
    }
    let spec = Spec {
        launcher: engine.setup.launcher.clone(),
        executable,
        programs: find_ripgrep(roots, &environment.path).into_iter().collect(),
        home: engine.scratch.directory("home")?,
        directory: snapshot.to_owned(),
        config,
        profile: session.profile,
        password: engine.secrets.password.clone(),
        server: tools.port(),
        require_walls: engine.config.require_sandbox,
        quota: Quota::USUAL,
    };
    Supervisor::start(spec, engine.setup.clock)
        .await
        .map_err(Stop::fail)
}
