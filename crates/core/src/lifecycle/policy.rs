//! The operator's side: agents, accounts, delays and deadlines. The same for all pull requests of a service.

use crate::domain::Login;

/// An agent of the service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Agent {
    pub name: String,
    /// `None` where all agents are personas of one App.
    pub login: Option<Login>,
}

/// The account that reads, requests reviewers and merges.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Account {
    /// Agents have accounts of their own.
    Personal { login: Login },
    /// Agents are personas of this App; their decisions are in signed blocks.
    App { login: Login },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Policy {
    pub agents: Vec<Agent>,
    pub account: Account,
    /// The persona that fixes pull requests of the App itself.
    pub fixer: Option<String>,
    /// The waits before a failed session is repeated; after the last one the state is `error`.
    pub retry_delays_ms: Vec<u64>,
    /// No `Retry-After` counts for longer.
    pub max_retry_after_ms: u64,
    /// The time in which a dispatched session has to start. It may wait for a free place for long.
    pub queue_deadline_ms: u64,
    /// The time of a session from its start.
    pub review_deadline_ms: u64,
    pub fix_deadline_ms: u64,
    /// The time after a session's deadline in which its own end may still arrive.
    pub deadline_grace_ms: u64,
    /// The wait after a probe that failed; each further failure doubles it.
    pub probe_again_ms: u64,
    /// The longest such wait.
    pub max_probe_again_ms: u64,
    /// The wait while GitHub settles: mergeability, a head that was just pushed.
    pub ask_again_ms: u64,
    /// The number of such waits in a row.
    pub ask_again: u32,
    /// The wait before a merge that GitHub refused or has armed is looked at again.
    pub merge_again_ms: u64,
    /// Refusals of one head, after which a person is called.
    pub merge_refusals: u32,
    /// People are reminded once after this time.
    pub reminder_ms: u64,
}

impl Policy {
    /// Usual delays for these agents.
    #[must_use]
    pub fn new(agents: Vec<Agent>, account: Account) -> Self {
        const SECOND: u64 = 1_000;
        const MINUTE: u64 = 60 * SECOND;
        Self {
            agents,
            account,
            fixer: None,
            retry_delays_ms: vec![SECOND, 2 * SECOND, 4 * SECOND],
            max_retry_after_ms: 60 * MINUTE,
            queue_deadline_ms: 24 * 60 * MINUTE,
            review_deadline_ms: 60 * MINUTE,
            fix_deadline_ms: 60 * MINUTE,
            deadline_grace_ms: MINUTE,
            probe_again_ms: MINUTE,
            max_probe_again_ms: 6 * 60 * MINUTE,
            ask_again_ms: 3 * SECOND,
            ask_again: 3,
            merge_again_ms: 10 * MINUTE,
            // Checks may take a day.
            merge_refusals: 144,
            reminder_ms: 24 * 60 * MINUTE,
        }
    }

    /// The wait after a probe that failed, if so many had failed before it.
    pub(crate) fn probe_delay_ms(&self, failures: u32) -> u64 {
        let factor = 2_u64.saturating_pow(failures);
        let delay = self.probe_again_ms.saturating_mul(factor);
        delay.min(self.max_probe_again_ms)
    }

    pub(crate) fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// The account that an agent's reviews have.
    pub(crate) fn login_of(&self, name: &str) -> Option<&Login> {
        match &self.account {
            Account::App { login } => Some(login),
            Account::Personal { .. } => self.agent(name)?.login.as_ref(),
        }
    }

    pub(crate) fn has_personas(&self) -> bool {
        matches!(self.account, Account::App { .. })
    }

    pub(crate) fn account(&self) -> &Login {
        let (Account::App { login } | Account::Personal { login }) = &self.account;
        login
    }

    /// True for the accounts of the service: they are never counted as people.
    pub(crate) fn is_own(&self, login: &Login) -> bool {
        let mut agents = self.agents.iter().filter_map(|agent| agent.login.as_ref());
        self.account() == login || agents.any(|agent| agent == login)
    }

    /// True for an account that acts for a person. GitHub commits in its own name for people and for programs, so it tells nothing.
    pub(crate) fn is_person(&self, login: &Login) -> bool {
        !login.is_bot() && !self.is_own(login) && *login != Login::new("web-flow")
    }

    /// The agent that fixes pull requests of this author.
    pub(crate) fn author_agent(&self, author: &Login) -> Option<&str> {
        if self.has_personas() && author == self.account() {
            return self.fixer.as_deref();
        }
        let is_author = |agent: &&Agent| agent.login.as_ref() == Some(author);
        let agent = self.agents.iter().find(is_author)?;
        Some(&agent.name)
    }
}
