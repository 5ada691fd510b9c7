//! Starts the sidecar for a run, and asks its catalogue whether the chosen model can be reached at all.

use super::{Run, Setup, Stop};
use crate::config::ModelChoice;
use crate::context::brief;
use crate::opencode::{
    Profile, ProviderInfo, Sidecar, Spec, ToolEndpoint, find_opencode, find_ripgrep, profile,
};
use crate::random;
use crate::tools::server::ToolServer;
use std::path::{Path, PathBuf};

/// The sidecar of a run, with a model that its catalogue knows.
pub async fn start(run: &Run<'_>, tools: &ToolServer, snapshot: &Path) -> Result<Sidecar, Stop> {
    let prompt = brief::system_prompt(&run.fence).map_err(anyhow::Error::from)?;
    let endpoint = ToolEndpoint {
        base_url: tools.base_url().to_owned(),
        bearer: tools.bearer().into(),
    };
    let config = profile::config(Profile::Reviewer, run.model(), &prompt, &endpoint);
    let home = run.directory("home")?;
    let spec = spec(run.setup, home, snapshot.to_owned(), config)?;
    let sidecar = Sidecar::start(&spec, &run.setup.clock)
        .await
        .map_err(Stop::fail)?;
    let problems = problems(&sidecar, run.model()).await;
    if problems.is_empty() {
        return Ok(sidecar);
    }
    sidecar.stop().await;
    Err(Stop::Fail(problems))
}

/// What is wrong with a model choice, told when other inputs are wrong, too. A sidecar that does not start is
/// one of the problems.
pub async fn model_problems(setup: &Setup, model: &ModelChoice) -> Vec<String> {
    match catalogue_only(setup, model).await {
        Ok(problems) | Err(Stop::Fail(problems)) => problems,
        Err(Stop::Skip(_)) => Vec::new(),
    }
}

async fn catalogue_only(setup: &Setup, model: &ModelChoice) -> Result<Vec<String>, Stop> {
    let scratch = tempfile::tempdir().map_err(anyhow::Error::from)?;
    let (home, directory) = (scratch.path().join("home"), scratch.path().join("empty"));
    for path in [&home, &directory] {
        std::fs::create_dir(path).map_err(anyhow::Error::from)?;
    }
    let endpoint = ToolEndpoint {
        base_url: "http://127.0.0.1:9".into(),
        bearer: random::hex(32)?.into(),
    };
    let config = profile::config(Profile::Reviewer, model, "", &endpoint);
    let spec = spec(setup, home, directory, config)?;
    let sidecar = Sidecar::start(&spec, &setup.clock)
        .await
        .map_err(Stop::fail)?;
    let problems = problems(&sidecar, model).await;
    sidecar.stop().await;
    Ok(problems)
}

fn spec(
    setup: &Setup,
    home: PathBuf,
    directory: PathBuf,
    config: serde_json::Value,
) -> Result<Spec, Stop> {
    let environment = &setup.environment;
    let given = environment.opencode_bin.as_deref().and_then(Path::to_str);
    let executable = find_opencode(given, &setup.roots, &environment.path).ok_or_else(|| {
        Stop::fail(
            "OpenCode was not found; install it with `npm ci`, or set OPENCODE_BIN to the path of an `opencode` \
             executable of major version 1",
        )
    })?;
    Ok(Spec {
        executable,
        rg_dir: find_ripgrep(&setup.roots, &environment.path),
        home,
        directory,
        config,
        path: environment.path.clone(),
        profile: Profile::Reviewer,
    })
}

async fn problems(sidecar: &Sidecar, model: &ModelChoice) -> Vec<String> {
    if model.base_url.is_some() {
        return Vec::new();
    }
    match sidecar.client().providers().await {
        Ok(providers) => judge(&providers, model),
        Err(error) => vec![format!(
            "OpenCode's catalogue of models could not be read: {error:#}"
        )],
    }
}

/// Providers with models that cost nothing and ask for no key. The catalogue does not tell them: it calls every
/// provider connected that our configuration names.
const KEYLESS: &[&str] = &["opencode"];

/// Whether the catalogue's provider exists and has the key it needs.
fn judge(providers: &[ProviderInfo], model: &ModelChoice) -> Vec<String> {
    let wanted = &model.provider;
    // The provider that our own configuration names is listed, too, but only the catalogue knows its key.
    let mut catalogue = providers.iter().filter(|provider| !provider.env.is_empty());
    let Some(provider) = catalogue.clone().find(|provider| provider.id == *wanted) else {
        let known = catalogue.by_ref().map(|provider| provider.id.as_str());
        let near = nearest(wanted, known)
            .map(|near| format!(" Did you mean {near}?"))
            .unwrap_or_default();
        return vec![format!(
            "model names the provider {wanted:?}, which OpenCode does not know.{near} Accepted is provider/name with \
             a provider of OpenCode's catalogue, or any name together with model_base_url."
        )];
    };
    if model.key.is_none() && !KEYLESS.contains(&provider.id.as_str()) {
        return vec![format!(
            "opencode_api_key is not set, and the provider {wanted} needs a key. Pass it as \
             `opencode_api_key: ${{{{ secrets.YOUR_SECRET }}}}`."
        )];
    }
    Vec::new()
}

/// The known name that is closest to what was typed, if one is close.
fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, _)| *distance <= 3 && *distance < typed.len())
        .min()
        .map(|(_, name)| name)
}

/// Edit distance, row by row.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(id: &str) -> ProviderInfo {
        ProviderInfo {
            id: id.into(),
            name: id.into(),
            env: vec!["KEY".into()],
            connected: true,
            models: vec![],
        }
    }

    fn choice(provider: &str, key: Option<&str>) -> ModelChoice {
        ModelChoice {
            provider: provider.into(),
            name: "m".into(),
            base_url: None,
            key: key.map(Into::into),
        }
    }

    #[test]
    fn a_misspelt_provider_is_told_the_nearest_one() {
        let known = [provider("anthropic"), provider("openai")];
        let problems = judge(&known, &choice("antropic", Some("k")));
        assert!(
            problems[0].contains("Did you mean anthropic?"),
            "{problems:?}"
        );
        let own = ProviderInfo {
            env: vec![],
            ..provider("antropic")
        };
        let listed = judge(&[known[0].clone(), own], &choice("antropic", None));
        assert!(listed[0].contains("Did you mean anthropic?"), "{listed:?}");
        let far = judge(&known, &choice("zzz", Some("k")));
        assert!(!far[0].contains("Did you mean"), "{far:?}");
    }

    #[test]
    fn a_key_is_asked_for_where_one_is_needed() {
        let known = [provider("anthropic"), provider("opencode")];
        assert!(
            judge(&known, &choice("anthropic", None))[0].starts_with("opencode_api_key is not set")
        );
        assert!(judge(&known, &choice("anthropic", Some("k"))).is_empty());
        assert!(judge(&known, &choice("opencode", None)).is_empty());
    }
}
