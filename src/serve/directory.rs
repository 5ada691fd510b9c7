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
    /// Repositories of whose names webhooks disagree.
    doubted: HashSet<u64>,
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
        self.scope.is_empty() || self.scope.iter().any(|one| is_same(one, name))
    }

    /// True if the configuration names a repository of the same owner.
    fn is_of_owner_in_scope(&self, name: &RepoName) -> bool {
        let is_own = |one: &RepoName| one.owner().eq_ignore_ascii_case(name.owner());
        self.scope.iter().any(is_own)
    }

    /// The repository was in scope by the name that it had. Another name of the same owner does not change that.
    pub(crate) fn follow(&self, id: u64) {
        self.inner().followed.insert(id);
    }

    /// Notes where a repository is, as GitHub answered. False: it is not in scope, or has left it to another owner; then nothing is known
    /// of it any more.
    pub(crate) fn note_place(&self, place: Place) -> bool {
        let mut inner = self.inner();
        inner.doubted.remove(&place.id);
        self.put(&mut inner, place)
    }

    /// Notes where a repository is by a webhook or by the store, which can be older than what is known: another repository can have its
    /// name by now. Where the two differ, nothing is known until GitHub has answered. False as in `note_place`.
    pub(crate) fn hear_place(&self, place: Place) -> bool {
        let mut inner = self.inner();
        let id = place.id;
        let known = inner.places.get(&id).cloned();
        let differs = known.as_ref().is_some_and(|known| known.name != place.name);
        let heard = Place {
            installation: place
                .installation
                .or(known.and_then(|known| known.installation)),
            ..place
        };
        let is_in_scope = self.put(&mut inner, heard);
        if differs || inner.doubted.contains(&id) {
            inner.doubted.insert(id);
            inner.places.remove(&id);
        }
        is_in_scope
    }

    fn put(&self, inner: &mut Inner, place: Place) -> bool {
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
            .retain(|id, known| *id == place.id || !is_same(&known.name, &place.name));
        inner.places.insert(place.id, place);
        true
    }

    pub(crate) fn place(&self, id: u64) -> Option<Place> {
        self.inner().places.get(&id).cloned()
    }

    /// The repository that has this name now, as far as is known.
    pub(crate) fn named(&self, name: &RepoName) -> Option<Place> {
        let inner = self.inner();
        let mut places = inner.places.values();
        places.find(|place| is_same(&place.name, name)).cloned()
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

/// GitHub reads names without regard to case.
fn is_same(one: &RepoName, other: &RepoName) -> bool {
    one.to_string().eq_ignore_ascii_case(&other.to_string())
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
        let store = "Octo/STORE".parse().expect("a name");
        assert_eq!(directory.named(&store).map(|one| one.id), Some(2));
    }

    #[test]
    fn a_name_that_was_heard_is_not_believed_against_another_one_until_github_has_answered() {
        let directory = Directory::default();
        assert!(directory.hear_place(place(1, "octo/shop")));
        assert!(directory.place(1).is_some());
        for name in ["octo/store", "octo/shop", "octo/store"] {
            assert!(directory.hear_place(place(1, name)));
            assert_eq!(directory.place(1), None, "{name}");
        }
        directory.note_place(place(1, "octo/store"));
        assert!(directory.hear_place(place(1, "octo/store")));
        assert_eq!(directory.place(1), Some(place(1, "octo/store")));
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
