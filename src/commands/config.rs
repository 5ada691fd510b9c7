//! `config`: the settings that a run here would have, each with its origin, and everything that is wrong with them.

use crate::actions;
use crate::gather::local_change::{self, no_directory};
use crate::host::{Failure, Setup, configured};
use reviewer_core::config::file::{MOST_BYTES, PATH, RepositoryFile};
use reviewer_core::report::table_of_settings::EffectiveSettings;
use reviewer_repo::git::WorkTree;
use std::path::{Path, PathBuf};

/// The person's request.
#[derive(Debug)]
pub struct ConfigOrder {
    /// Somewhere in the working tree.
    pub directory: PathBuf,
    /// `None`: the default branch.
    pub base: Option<String>,
    /// A settings file to read in place of the base branch's.
    pub file: Option<PathBuf>,
    pub json: bool,
}

/// A settings file: its text, and where it was read.
struct Read {
    text: String,
    /// Such as `main@8664729`; `None`: there is none.
    from: Option<String>,
    /// The name of the file in sentences about its lines.
    shown: String,
}

/// Prints the settings. Returns the exit code.
pub async fn config(setup: &Setup, order: &ConfigOrder) -> u8 {
    let read = match &order.file {
        Some(path) => given(path),
        None => of_base(setup, order).await,
    };
    let Failure(mut problems) = configured(setup, true).err().unwrap_or(Failure(Vec::new()));
    let (file, from) = match read {
        Ok(read) => {
            let file = RepositoryFile::parse(&read.text);
            let told = |problem: &reviewer_core::config::file::Problem| {
                format!("{}:{}: {}", read.shown, problem.line, problem.sentence)
            };
            problems.extend(file.problems.iter().map(told));
            (file, read.from)
        }
        Err(Failure(sentences)) => {
            problems.extend(sentences);
            (RepositoryFile::default(), None)
        }
    };
    let effective = EffectiveSettings {
        settings: file.effective(&setup.inputs),
        file: from,
        problems,
    };
    let actions = &setup.actions;
    if order.json {
        actions.answer_json(effective.json());
    } else {
        let look = actions.look();
        actions.answer_page(&effective.page(look.width), look.colours);
    }
    for problem in &effective.problems {
        actions.error(problem);
    }
    if effective.problems.is_empty() { 0 } else { 2 }
}

/// The file that the person names.
fn given(path: &Path) -> Result<Read, Failure> {
    let shown = path.display().to_string();
    let text = actions::read_file(path, MOST_BYTES as u64)
        .map_err(|error| error.to_string())
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not text".to_owned()));
    match text {
        Ok(text) => Ok(Read {
            text,
            from: Some(shown.clone()),
            shown,
        }),
        Err(why) => Err(Failure::new(format!(
            "--file {shown} cannot be read: {why}"
        ))),
    }
}

/// The file as `local` would read it: where the branch left the base. Without a repository there is none.
async fn of_base(setup: &Setup, order: &ConfigOrder) -> Result<Read, Failure> {
    let nothing = || Read {
        text: String::new(),
        from: None,
        shown: PATH.to_owned(),
    };
    if let Some(sentence) = no_directory(&order.directory) {
        return Err(Failure::new(sentence));
    }
    let environment = &setup.environment;
    let scratch = tempfile::tempdir().map_err(anyhow::Error::from)?;
    let home = environment.home.as_deref();
    let variables = environment.for_git();
    let tree = WorkTree::find(scratch.path(), &order.directory, home, &variables).await?;
    let Some(tree) = tree else {
        return match &order.base {
            Some(base) => Err(Failure::new(format!(
                "--base {base} names nothing, because {} is in no git working tree.",
                order.directory.display()
            ))),
            None => Ok(nothing()),
        };
    };
    let compared = local_change::compared(&tree, order.base.as_deref()).await?;
    let objects = tree.objects().await?;
    let text = objects.file(&compared.merge_base, PATH, MOST_BYTES).await?;
    Ok(match text {
        Some(text) => Read {
            text,
            from: Some(format!("{}@{}", compared.base, compared.merge_base.short())),
            ..nothing()
        },
        None => nothing(),
    })
}
