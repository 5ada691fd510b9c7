//! The names of repositories by their ids, and the heads and bases of pull requests: a memory of what GitHub told, from which
//! everything can be looked up again. Nothing is decided by it.

use reviewer_core::domain::{CommitSha, RepoName};
use reviewer_core::lifecycle::{Facts, PullKey, PullState};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A repository, as it was last called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub id: u64,
    pub name: RepoName,
    /// `None` without an App.
    pub installation: Option<u64>,
}

#[derive(Debug, Clone)]
struct Known {
    head: CommitSha,
    base: String,
}

#[derive(Debug, Default)]
struct Inner {
    places: HashMap<u64, Place>,
    pulls: HashMap<PullKey, Known>,
    /// Repositories that are, or were, in scope by their names.
    followed: HashSet<u64>,
}

/// `scope` has the names that the configuration lists; without one, every repository is in scope.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    scope: Vec<RepoName>,
    inner: Mutex<Inner>,
}

impl Directory {
    pub(crate) fn new(scope: Vec<RepoName>) -> Self {
        Self {
            scope,
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for a repository that the configuration names, or if it names none.
    pub(crate) fn is_in_scope(&self, name: &RepoName) -> bool {
        let text = name.to_string();
        let is_same = |one: &RepoName| one.to_string().eq_ignore_ascii_case(&text);
        self.scope.is_empty() || self.scope.iter().any(is_same)
    }

    /// True if the configuration names a repository of the same owner.
    fn is_of_owner_in_scope(&self, name: &RepoName) -> bool {
        let is_same = |one: &RepoName| one.owner().eq_ignore_ascii_case(name.owner());
        self.scope.iter().any(is_same)
    }

    /// The repository was in scope by the name that it had. Another name of the same owner does not change that.
    pub(crate) fn follow(&self, id: u64) {
        self.inner().followed.insert(id);
    }

    /// Notes where a repository is. False: it is not in scope, or has left it to another owner; then nothing is known of it any more.
    pub(crate) fn note_place(&self, place: Place) -> bool {
        let mut inner = self.inner();
        let is_followed = inner.followed.contains(&place.id);
        let is_renamed = is_followed && self.is_of_owner_in_scope(&place.name);
        if !(self.is_in_scope(&place.name) || is_renamed) {
            inner.places.remove(&place.id);
            inner.pulls.retain(|key, _| key.repository != place.id);
            return false;
        }
        inner.followed.insert(place.id);
        // A name belongs to one repository at a time.
        inner
            .places
            .retain(|id, known| *id == place.id || known.name != place.name);
        inner.places.insert(place.id, place);
        true
    }

    pub(crate) fn place(&self, id: u64) -> Option<Place> {
        self.inner().places.get(&id).cloned()
    }

    /// The repository that has this name now, as far as is known.
    pub(crate) fn named(&self, name: &RepoName) -> Option<Place> {
        let inner = self.inner();
        let found = inner.places.values().find(|place| place.name == *name);
        found.cloned()
    }

    /// Notes an open pull request, and forgets another one.
    pub(crate) fn note_pull(&self, key: PullKey, facts: &Facts) {
        if facts.state != PullState::Open {
            self.inner().pulls.remove(&key);
            return;
        }
        let known = Known {
            head: facts.head.clone(),
            base: facts.base.clone(),
        };
        self.inner().pulls.insert(key, known);
    }

    /// The pull requests of a repository with this head.
    pub(crate) fn with_head(&self, repository: u64, head: &CommitSha) -> Vec<PullKey> {
        self.pulls(repository, |known| known.head == *head)
    }

    /// The pull requests of a repository onto this branch.
    pub(crate) fn onto(&self, repository: u64, base: &str) -> Vec<PullKey> {
        self.pulls(repository, |known| known.base == base)
    }

    fn pulls(&self, repository: u64, is_meant: impl Fn(&Known) -> bool) -> Vec<PullKey> {
        let inner = self.inner();
        let meant = inner
            .pulls
            .iter()
            .filter(|(key, known)| key.repository == repository && is_meant(known));
        let mut keys: Vec<PullKey> = meant.map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(id: u64, name: &str) -> Place {
        Place {
            id,
            name: name.parse().expect("a name"),
            installation: None,
        }
    }

    #[test]
    fn a_name_that_another_repository_has_taken_belongs_to_that_one() {
        let directory = Directory::default();
        directory.note_place(place(1, "octo/shop"));
        directory.note_place(place(1, "octo/store"));
        directory.note_place(place(2, "octo/shop"));
        let shop = "octo/shop".parse().expect("a name");
        assert_eq!(directory.named(&shop).map(|one| one.id), Some(2));
        assert_eq!(
            directory.place(1).map(|one| one.name.to_string()),
            Some("octo/store".to_owned())
        );
        directory.note_place(place(2, "octo/store"));
        assert_eq!(directory.place(1), None);
    }

    #[test]
    fn a_repository_that_is_renamed_stays_in_scope_and_one_that_another_owner_has_leaves_it() {
        let directory = Directory::new(vec!["octo/shop".parse().expect("a name")]);
        assert!(!directory.note_place(place(1, "octo/other")));
        assert!(directory.note_place(place(1, "Octo/Shop")));
        assert!(directory.note_place(place(1, "octo/store")));
        assert!(!directory.note_place(place(1, "eve/store")));
        assert_eq!(directory.place(1), None);
        // Given back.
        assert!(directory.note_place(place(1, "octo/store")));
    }
}
