//! Starts the sidecar for a run, with the reviewer's tools and gateway as all that it can reach.

use super::session::{Session, Sessions};
use super::{Budget, Failure, Host, Setup, Work};
use anyhow::Context as _;
use reviewer_agent::gateway::{Gateway, Limits, SessionRoute};
use reviewer_agent::opencode::{
    ModelEndpoint, Profile, Quota, SessionConfig, SessionName, Spec, Supervisor, ToolEndpoint,
    find_opencode, find_ripgrep, install_command, is_script, profile,
};
use reviewer_agent::tools::server::{Offer, ToolServer};
use reviewer_agent::tools::{
    BoundTool, FixCalls, candidate_names, candidate_tools, fix_names, fix_tools, review_names,
    review_tools, with_escalation,
};
use reviewer_core::config::{Config, ReviewerChoice};
use reviewer_core::context::brief::{self, Part};
use reviewer_core::fix::brief as fix_brief;
use reviewer_core::report::document::SandboxReport;
use std::path::Path;
use std::sync::Arc;

/// The sessions of a run: one for each reviewer, in their order, `r1`, `r2`, …; or the one that fixes, with the model of the first.
pub(crate) fn sessions(
    work: Work,
    config: &Config,
    gateway: &Result<Gateway, String>,
    budget: &Budget,
) -> anyhow::Result<Sessions> {
    match work {
        Work::Review | Work::Section | Work::Consolidation => {
            reviewing(work, config, gateway, budget)
        }
        Work::Fix => fixing(config, gateway, budget),
    }
}

fn fixing(
    config: &Config,
    gateway: &Result<Gateway, String>,
    budget: &Budget,
) -> anyhow::Result<Sessions> {
    let reviewer = config.reviewers.first().context("there is no reviewer")?;
    let session = Session::new(
        SessionName::Fix,
        reviewer.clone(),
        (Profile::Fixer, fix_names()),
        budget,
        gateway,
    )?;
    Ok(Sessions::new(session, Vec::new(), None))
}

fn reviewing(
    work: Work,
    config: &Config,
    gateway: &Result<Gateway, String>,
    budget: &Budget,
) -> anyhow::Result<Sessions> {
    let reviewers = match work {
        Work::Consolidation => config.reviewers.get(..1).unwrap_or_default(),
        Work::Review | Work::Section | Work::Fix => config.reviewers.as_slice(),
    };
    let is_panel = reviewers.len() > 1;
    let mut tools = review_names(config.web.is_some(), is_panel);
    if judges_candidates(work, config) {
        tools.extend(candidate_names());
    }
    let open = |name: SessionName, reviewer: &ReviewerChoice| {
        Session::new(
            name,
            reviewer.clone(),
            (Profile::Reviewer, tools.clone()),
            budget,
            gateway,
        )
    };
    let [first, others @ ..] = reviewers else {
        anyhow::bail!("there is no reviewer");
    };
    // Threads, and with them fixes, are the first session's.
    let second = others.first().filter(|_| work == Work::Review);
    let fix_check = second.map(|second| open(SessionName::FixCheck, second));
    let others = (2..).zip(others);
    let others = others.map(|(number, reviewer)| open(SessionName::Review(number), reviewer));
    let others = others.collect::<anyhow::Result<_>>()?;
    let first = open(SessionName::Review(1), first)?;
    Ok(Sessions::new(first, others, fix_check.transpose()?))
}

/// Returns true if the sessions judge results of static analysis. Whoever consolidates sections has not seen their code.
fn judges_candidates(work: Work, config: &Config) -> bool {
    work != Work::Consolidation && !config.static_analysis.is_empty()
}

/// The way from the sidecar to its models.
pub fn gateway(setup: &Setup) -> Result<Gateway, String> {
    let usual = Limits::default();
    let limits = Limits {
        silence: setup.clock.limit(usual.silence),
        tries_at: usual.tries_at.map(|at| setup.clock.shortened(at)),
        ..usual
    };
    Gateway::new(&setup.environment.network, limits)
}

/// A sidecar at work, and the server that it reaches the reviewer by.
pub(crate) struct Running {
    pub sidecar: Arc<Supervisor>,
    /// Serves as long as it is there.
    _tools: ToolServer,
}

impl Running {
    pub async fn start(host: &Host<'_>, snapshot: &Path) -> Result<Self, Failure> {
        let quoted = (snapshot, &host.secrets.redactor);
        let examines = host.is_panel().then_some(quoted);
        let of = |session: &Session| {
            let mut tools = review_tools(&session.desk, host.web.as_ref(), examines);
            if session.judges_candidates() {
                tools.extend(candidate_tools(&session.desk, quoted));
            }
            match session.reviewer.can_escalate() {
                [] => tools,
                names => with_escalation(tools, names),
            }
        };
        Self::start_with(host, snapshot, of).await
    }

    /// A sidecar for the one session that fixes.
    pub(crate) async fn start_fixer(
        host: &Host<'_>,
        snapshot: &Path,
        calls: &FixCalls,
    ) -> Result<Self, Failure> {
        Self::start_with(host, snapshot, |_| fix_tools(calls)).await
    }

    async fn start_with(
        host: &Host<'_>,
        snapshot: &Path,
        tools: impl Fn(&Session) -> Vec<BoundTool>,
    ) -> Result<Self, Failure> {
        let tools = serve(host, tools).await?;
        let sidecar = start(host, &tools, snapshot).await?;
        Ok(Self {
            sidecar,
            _tools: tools,
        })
    }

    /// The same where a model may be asked.
    pub(crate) async fn start_if(
        asks_model: bool,
        host: &Host<'_>,
        snapshot: &Path,
    ) -> Result<Option<Self>, Failure> {
        if !asks_model {
            return Ok(None);
        }
        Self::start(host, snapshot).await.map(Some)
    }

    /// Before anything is asked of the model: who wants the whole sandbox or nothing learns it in time.
    pub(crate) fn tell_confinement(&self, host: &Host<'_>) {
        let actions = &host.setup.actions;
        let process = self.sidecar.process();
        let confinement = process.confinement();
        match confinement.missing() {
            Some(missing) => actions.warning(&missing),
            None => actions.detail(&confinement.to_string()),
        }
    }

    /// The restrictions of the process that is at work now.
    pub fn sandbox(&self) -> SandboxReport {
        self.sidecar.process().confinement().into()
    }

    pub async fn stop(self) {
        self.sidecar.stop().await;
    }
}

/// The loopback server with everything that the sidecar may use: the tools of each session, and the ways to the models.
async fn serve(
    host: &Host<'_>,
    tools: impl Fn(&Session) -> Vec<BoundTool>,
) -> Result<ToolServer, Failure> {
    let offer = |session: &Session| Offer {
        session: session.name,
        bearer: session.secrets.bearer.clone(),
        redactor: Arc::clone(&host.secrets.redactor),
        tools: tools(session),
    };
    let all = std::iter::once(host.session()).chain(host.sessions().beside());
    let offers = all.map(offer).collect();
    Ok(ToolServer::start(offers, Some(host.gateway()?)).await?)
}

/// A session as the sidecar's configuration has it.
fn session_config<'s>(
    host: &Host<'_>,
    session: &'s Session,
    tools: &ToolServer,
) -> Result<SessionConfig<'s>, Failure> {
    let route = session.route()?;
    let endpoint = |route: &SessionRoute| ModelEndpoint {
        base_url: format!("{}{}", tools.base_url(), route.path()),
        placeholder: route.placeholder().clone(),
        credential: route.credential_header(),
    };
    let fallback = session.reviewer.fallback.as_ref().zip(route.fallback());
    let prompt = match session.profile {
        Profile::Reviewer => {
            let persona = session.reviewer.persona.as_ref().map(Part::Persona);
            let focus = host.is_panel().then_some(session.reviewer.focus);
            let part = persona.or(focus.map(Part::Focus));
            brief::system_prompt(&host.fence, part, &session.name.prefix())
        }
        Profile::Fixer => fix_brief::system_prompt(&host.fence),
    };
    Ok(SessionConfig {
        name: session.name,
        profile: session.profile,
        model: &session.reviewer.model,
        system_prompt: prompt.map_err(anyhow::Error::from)?,
        tools: ToolEndpoint {
            base_url: tools.tools_url(session.name),
            bearer: session.secrets.bearer.clone(),
            tools: session.tools.clone(),
        },
        endpoint: endpoint(route),
        fallback: fallback.map(|(model, route)| (model, endpoint(route))),
    })
}

/// The sidecar of a run.
async fn start(
    host: &Host<'_>,
    tools: &ToolServer,
    snapshot: &Path,
) -> Result<Arc<Supervisor>, Failure> {
    let first = session_config(host, host.session(), tools)?;
    let others = host.sessions().beside();
    let others = others.map(|session| session_config(host, session, tools));
    let config = profile::config(&first, &others.collect::<Result<Vec<_>, _>>()?);
    let environment = &host.setup.environment;
    let roots = &host.setup.roots;
    let given = environment.opencode_bin.as_deref().and_then(Path::to_str);
    let install = install_command(roots);
    let executable = find_opencode(given, roots, &environment.path).ok_or_else(|| {
        Failure::new(format!(
            "OpenCode was not found; install it with `{install}`, or set OPENCODE_BIN to the path of an `opencode` \
             executable of major version 1"
        ))
    })?;
    if is_script(&executable) {
        let path = executable.display();
        return Err(Failure::new(format!(
            "OpenCode at {path} is a script, and the sandbox executes no interpreter; OpenCode's platform package was not \
             found beside it. Install it with `{install}`, or set OPENCODE_BIN to the executable in the platform package, \
             for example node_modules/opencode-linux-x64/bin/opencode"
        )));
    }
    let ripgrep = find_ripgrep(roots, &environment.path);
    if ripgrep.is_none() {
        host.setup.actions.warning(
            "ripgrep was not found on PATH, so the model can read files but not search them; install it, for example with \
             `apt-get install ripgrep` or `brew install ripgrep`.",
        );
    }
    let spec = Spec {
        launcher: host.setup.launcher.clone(),
        executable,
        programs: ripgrep.into_iter().collect(),
        home: host.scratch.fresh("home")?,
        directory: snapshot.to_owned(),
        config,
        profile: first.profile,
        password: host.secrets.password.clone(),
        server: tools.port(),
        require_sandbox: host.config.require_sandbox,
        quota: Quota::USUAL,
    };
    Supervisor::start(spec, host.setup.clock)
        .await
        .map_err(Failure::new)
}
