//! `init`: writes the workflow, and on request the settings file, into the repository. What is there already stays as it is.

use crate::actions::{self, Actions};
use crate::gather::local_change::no_directory;
use reviewer_agent::gateway;
use reviewer_core::config::ModelChoice;
use reviewer_core::config::environment::Environment;
use reviewer_core::config::file;
use reviewer_core::init::{self, Kind, Model, Pin, Workflow};
use reviewer_repo::git::WorkTree;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The workflows to copy, and the settings file.
const BASIC: &str = include_str!("../../examples/basic.yml");
const MENTIONS: &str = include_str!("../../examples/mention-only.yml");
const GATE: &str = include_str!("../../examples/merge-gate.yml");
const FORKS: &str = include_str!("../../examples/forks.yml");
const FIX: &str = include_str!("../../examples/fix.yml");
const SETTINGS: &str = include_str!("../../examples/opencode-reviewer.yml");

/// A file that is there and larger is nobody's workflow.
const MOST_BYTES: u64 = 1 << 20;

/// The person's request.
#[derive(Debug)]
pub struct InitOrder {
    /// Somewhere in the working tree.
    pub directory: PathBuf,
    pub kind: Kind,
    /// True if the settings file is written, too.
    pub settings: bool,
    pub provider: Option<String>,
    pub model: Option<String>,
    /// The release that the workflow names.
    pub pin: Option<String>,
}

/// A file to write, by its path in the repository.
struct Made {
    path: &'static str,
    text: String,
}

/// The state of a place in the repository.
enum Place {
    Free,
    /// The file is there, with the text that is to be written.
    Same,
    /// Another file is there, with this text.
    Taken(String),
}

/// Writes the files and prints the steps after it. Returns the exit code.
pub async fn init(actions: &Actions, environment: &Environment, order: &InitOrder) -> u8 {
    match written(actions, environment, order).await {
        Ok(workflow) => {
            for line in init::steps(&workflow, env!("CARGO_PKG_VERSION")) {
                actions.answer(&line);
            }
            0
        }
        Err(sentences) => {
            for sentence in sentences {
                actions.error(&sentence);
            }
            2
        }
    }
}

async fn written(
    actions: &Actions,
    environment: &Environment,
    order: &InitOrder,
) -> Result<Workflow, Vec<String>> {
    let workflow = workflow(order).map_err(|sentence| vec![sentence])?;
    if let Some(sentence) = no_directory(&order.directory) {
        return Err(vec![sentence]);
    }
    let root = root(environment, &order.directory).await;
    let root = root.map_err(|sentence| vec![sentence])?;
    let mut made = vec![Made {
        path: workflow.kind.path(),
        text: workflow.text.clone(),
    }];
    if order.settings {
        made.push(Made {
            path: file::PATH,
            text: init::settings(SETTINGS),
        });
    }
    let mut places = Vec::new();
    for one in &made {
        places.push(place(&root, one).map_err(|sentence| vec![sentence])?);
    }
    let refused: Vec<String> = made
        .iter()
        .zip(&places)
        .filter_map(|(one, place)| differs(actions, one, place))
        .collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    for (one, place) in made.iter().zip(&places) {
        let line = if matches!(place, Place::Same) {
            format!("{} is there already, and the same.", one.path)
        } else {
            write(&root, one).map_err(|sentence| vec![sentence])?;
            format!("Wrote {}.", one.path)
        };
        actions.answer(&line);
    }
    actions.answer("");
    Ok(workflow)
}

/// The workflow of the request, or what is wrong with it.
fn workflow(order: &InitOrder) -> Result<Workflow, String> {
    let model = Model::choose(order.provider.as_deref(), order.model.as_deref())?;
    let choice = ModelChoice {
        provider: model.provider.clone(),
        name: model.name.clone(),
        key: Some("any".into()),
        ..ModelChoice::default()
    };
    if let Some(problem) = gateway::problems(&choice).into_iter().next() {
        return Err(problem);
    }
    let pin = order.pin.as_deref();
    let pin = pin.map(|pin| Pin::parse(pin, order.kind)).transpose()?;
    let example = match order.kind {
        Kind::Basic => BASIC,
        Kind::Mentions => MENTIONS,
        Kind::Gate => GATE,
        Kind::Forks => FORKS,
        Kind::Fix => FIX,
    };
    Ok(Workflow::new(order.kind, example, &model, pin.as_ref()))
}

/// The top of the working tree.
async fn root(environment: &Environment, directory: &Path) -> Result<PathBuf, String> {
    let found = async {
        let scratch = tempfile::tempdir()?;
        let home = environment.home.as_deref();
        let tree = WorkTree::find(scratch.path(), directory, home, &environment.for_git()).await?;
        anyhow::Ok(tree.map(|tree| tree.root().to_owned()))
    };
    match found.await {
        Ok(Some(root)) => Ok(root),
        Ok(None) => Err(format!(
            "{} is in no git working tree; run this command in the repository that is to be reviewed.",
            directory.display()
        )),
        Err(error) => Err(format!("The repository cannot be read: {error:#}")),
    }
}

/// Looks at a place. A link may lead out of the repository, so nothing is written through one.
fn place(root: &Path, made: &Made) -> Result<Place, String> {
    let mut path = root.to_owned();
    for part in Path::new(made.path).components() {
        path.push(part);
        if path.is_symlink() {
            return Err(format!(
                "{} is a symbolic link, and this command writes through none; replace it by what it leads to.",
                path.strip_prefix(root).unwrap_or(&path).display()
            ));
        }
    }
    let unreadable = |why: &str| {
        format!(
            "{} cannot be read: {why}; move away what is there and run this command again.",
            made.path
        )
    };
    match actions::read_file(&path, MOST_BYTES) {
        Ok(bytes) if bytes == made.text.as_bytes() => Ok(Place::Same),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Place::Taken(text)),
            Err(_) => Err(unreadable("it is not text")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Place::Free),
        Err(error) => Err(unreadable(&error.to_string())),
    }
}

/// Shows the difference to a file that is there, and says that it stays.
fn differs(actions: &Actions, made: &Made, place: &Place) -> Option<String> {
    let Place::Taken(there) = place else {
        return None;
    };
    actions.answer(&init::diff(made.path, there, &made.text));
    Some(format!(
        "{} is there already and differs, as the diff shows; nothing was written. Change it by hand, or move it away and run \
         this command again.",
        made.path
    ))
}

fn write(root: &Path, made: &Made) -> Result<(), String> {
    let path = root.join(made.path);
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path))
        .and_then(|mut file| file.write_all(made.text.as_bytes()));
    written.map_err(|error| format!("{} cannot be written: {error}", made.path))
}
