//! The webhooks of an app and of repositories, as GitHub has them.

use super::app::App;
use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use super::wire;
use reviewer_core::domain::RepoName;
use reviewer_core::event::hooks::{Answer, Attempt, Hook, RepositoryHook};

impl App {
    /// Asks for the webhook of the app.
    pub async fn hook(&self) -> Result<Hook, ApiError> {
        let call = Call::get(
            "ask for the webhook of the app",
            "/app/hook/config".to_owned(),
        );
        let wire: wire::HookConfig = self.json(call).await?;
        Ok(hook(wire))
    }

    /// Lists the last hundred attempts to deliver, newest first.
    pub async fn recent_attempts(&self) -> Result<Vec<Attempt>, ApiError> {
        let route = "/app/hook/deliveries?per_page=100".to_owned();
        let call = Call::get("list the deliveries of webhooks", route);
        let wire: Vec<wire::HookDelivery> = self.json(call).await?;
        let attempts = wire.into_iter().map(|one| Attempt {
            guid: one.guid,
            at: one.delivered_at,
            answer: Answer {
                code: code(one.status_code),
                words: one.status,
            },
        });
        Ok(attempts.collect())
    }
}

impl GitHub {
    /// Lists the webhooks of a repository. Few tokens may see them.
    pub async fn hooks(&self, repo: &RepoName) -> Result<Vec<RepositoryHook>, ApiError> {
        let route = format!("/repos/{repo}/hooks?per_page=100");
        let all = |page: Vec<wire::RepositoryHook>| page;
        let name = "list the webhooks of the repository";
        let found = self.pages(name, route, all, |one| one.id).await?;
        Ok(found.into_iter().map(repository_hook).collect())
    }
}

fn repository_hook(wire: wire::RepositoryHook) -> RepositoryHook {
    let last = wire.last_response.filter(|last| last.code.is_some());
    RepositoryHook {
        hook: hook(wire.config),
        active: wire.active,
        events: wire.events,
        last: last.map(|last| Answer {
            code: code(last.code),
            words: last.message.or(last.status).unwrap_or_default(),
        }),
    }
}

fn hook(wire: wire::HookConfig) -> Hook {
    // GitHub gives a text or a number, and sets the check where it gives nothing.
    let is_off = wire.insecure_ssl.is_some_and(|off| off == "1" || off == 1);
    Hook {
        url: wire.url.filter(|url| !url.is_empty()),
        content_type: wire.content_type,
        has_secret: wire.secret.is_some_and(|secret| !secret.is_empty()),
        verifies_tls: !is_off,
    }
}

/// The status of an answer; 0 where there was none.
fn code(code: Option<i64>) -> u16 {
    code.and_then(|code| u16::try_from(code).ok()).unwrap_or(0)
}
