//! A repository that is renamed, transferred or deleted, and whose name another one takes. Its id stays; a name is
//! followed until somebody else has it.

use super::GitHub;
use super::state::State;

impl GitHub {
    /// Renames the repository, or gives it to another owner: `owner/name`.
    pub fn rename(&self, full_name: &str, login: &str) {
        self.with(|state| {
            let before = std::mem::replace(&mut state.repository.full_name, full_name.into());
            state.repository.former_names.push(before.clone());
            state.tick();
            state.announce_move(&before, login);
        });
    }

    /// Another repository takes a name, also one that this repository had: returns its id.
    pub fn take_name(&self, full_name: &str) -> u64 {
        self.with(|state| {
            let id = state.next_id();
            let repository = &mut state.repository;
            repository.former_names.retain(|name| name != full_name);
            repository.strangers.insert(full_name.into(), id);
            id
        })
    }

    /// Deletes the repository: nothing of it is found any more, by any name or by its id.
    pub fn delete_repository(&self) {
        self.with(|state| state.repository.deleted = true);
    }
}

/// The repository that a name or a number leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    Own,
    /// Under a name that it had before.
    Former,
    /// Another one, with this id.
    Stranger(u64),
    Nothing,
}

impl State {
    pub fn find(&self, full_name: &str) -> Found {
        let repository = &self.repository;
        let former = repository.former_names.iter().any(|name| name == full_name);
        match repository.strangers.get(full_name) {
            Some(id) => Found::Stranger(*id),
            None if repository.deleted => Found::Nothing,
            None if repository.full_name == full_name => Found::Own,
            None if former => Found::Former,
            None => Found::Nothing,
        }
    }
}
