//! Restricts this very process and turns it into the sidecar. A command of our own binary, because a process can
//! only give up its own rights, and between `fork` and `exec` of a larger one this could not be done safely.
#![expect(clippy::disallowed_methods, reason = "edge: becomes the sidecar")]

use super::{Announcement, Confinement, DEVICES, Gap, LOADERS, SYSTEM, Walls, calls};
use caps::CapSet;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, NetPort,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, chown, geteuid, setgroups, setresgid, setresuid};
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What this program knows of Landlock; a kernel that knows less gives less, and that is told.
const KNOWN: ABI = ABI::V7;

/// Enters the walls and becomes `program`. Returns only where that was not possible, with the reason.
#[must_use]
pub fn become_confined(walls: &Walls, program: &Path, arguments: &[OsString]) -> String {
    let confinement = match enter(walls) {
        Ok(confinement) => confinement,
        Err(error) => return format!("The sandbox could not be entered: {error}"),
    };
    let refused = walls.required && !confinement.is_complete();
    let announcement = if refused {
        Announcement::Refused(confinement)
    } else {
        Announcement::Entered(confinement)
    };
    let mut stdout = std::io::stdout();
    let told = writeln!(stdout, "{}", announcement.line()).and_then(|()| stdout.flush());
    if let Err(error) = told {
        return format!("The sandbox could not be announced: {error}");
    }
    if refused {
        return "The sandbox is required, and it is not complete.".into();
    }
    let error = Command::new(program).args(arguments).exec();
    format!("{} cannot be executed: {error}", program.display())
}

/// Each wall on its own, so that one that the kernel lacks does not take the others along. Paths are opened while
/// we may still open them.
fn enter(walls: &Walls) -> Result<Confinement, Errno> {
    prctl::set_no_new_privs()?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let ruleset = ruleset(walls);
    // It needs a capability itself, so it comes first; where it fails, the sets cleared below are what counts.
    let _not_permitted = caps::clear(None, CapSet::Bounding);
    let changed = walls.user.map(change_user);
    let other_user = changed == Some(Ok(()));
    let mut gaps: Vec<Gap> = Vec::new();
    if let Some(Err(error)) = changed {
        take_back(walls);
        gaps.push(Gap::User(error.to_string()));
    }
    gaps.extend(drop_capabilities());
    let landlock = match ruleset.and_then(RulesetCreated::restrict_self) {
        Ok(status) => version(&status),
        Err(error) => Err(error.to_string()),
    };
    gaps.extend(landlock_gaps(landlock.as_ref(), other_user));
    if let Err(error) = filter_calls() {
        gaps.push(Gap::Calls(error.to_string()));
    }
    Ok(Confinement {
        gaps,
        user: geteuid().as_raw(),
        landlock: landlock.ok(),
    })
}

fn change_user(id: u32) -> nix::Result<()> {
    let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}

/// Folders that were given to the other user: without capabilities, not even the superuser writes what is not his.
/// Where this fails, the sidecar says so when it starts.
fn take_back(walls: &Walls) {
    for folder in &walls.write {
        for folder in [folder.clone(), folder.join("tmp")] {
            let _not_permitted = chown(&folder, Some(geteuid()), None);
        }
    }
}

fn drop_capabilities() -> Option<Gap> {
    let sets = [
        CapSet::Ambient,
        CapSet::Effective,
        CapSet::Inheritable,
        CapSet::Permitted,
    ];
    sets.into_iter()
        .find_map(|set| caps::clear(None, set).err())
        .map(|error| Gap::Capabilities(error.to_string()))
}

fn filter_calls() -> Result<(), seccompiler::Error> {
    for filter in calls::filters(std::env::consts::ARCH)? {
        seccompiler::apply_filter(&filter)?;
    }
    Ok(())
}

fn ruleset(walls: &Walls) -> Result<RulesetCreated, RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let running = AccessFs::ReadFile | AccessFs::Execute;
    let writing = AccessFs::ReadFile | AccessFs::WriteFile;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    let system = SYSTEM.iter().map(PathBuf::from);
    let loaders = LOADERS.iter().map(PathBuf::from);
    let devices = DEVICES.iter().map(PathBuf::from);
    // Nothing that is written can be executed.
    let everything = AccessFs::from_all(KNOWN) & !AccessFs::Execute;
    ruleset
        .add_rules(path_beneath_rules(
            walls.read.iter().cloned().chain(system),
            reading,
        ))?
        .add_rules(path_beneath_rules(
            walls.execute.iter().cloned().chain(loaders),
            running,
        ))?
        .add_rules(path_beneath_rules(walls.write.iter().cloned(), everything))?
        .add_rules(path_beneath_rules(devices, writing))?
        .add_rule(NetPort::new(walls.listen, AccessNet::BindTcp))?
        .add_rules(
            walls
                .connect
                .iter()
                .map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp))),
        )
}

/// The version of Landlock that holds, or why none does.
fn version(status: &RestrictionStatus) -> Result<i32, String> {
    match status.landlock {
        LandlockStatus::NotEnabled => Err("the kernel has it, but it is not enabled".into()),
        LandlockStatus::NotImplemented => Err("this kernel does not have it".into()),
        LandlockStatus::Available { .. } if status.ruleset == RulesetStatus::NotEnforced => {
            Err("the kernel enforces none of it".into())
        }
        LandlockStatus::Available { effective_abi, .. } => Ok(effective_abi as i32),
    }
}

fn landlock_gaps(version: Result<&i32, &String>, other_user: bool) -> Vec<Gap> {
    let version = match version {
        Ok(version) => *version,
        Err(why) => return vec![Gap::Landlock(why.clone())],
    };
    let tcp = (version < ABI::V4 as i32).then_some(Gap::Tcp);
    // Another user cannot signal our processes in any case.
    let signals = (version < ABI::V6 as i32 && !other_user).then_some(Gap::Signals);
    tcp.into_iter().chain(signals).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_landlock_is_told_by_what_it_lacks() {
        assert_eq!(landlock_gaps(Ok(&7), false), []);
        assert_eq!(landlock_gaps(Ok(&5), true), []);
        assert_eq!(landlock_gaps(Ok(&5), false), [Gap::Signals]);
        assert_eq!(landlock_gaps(Ok(&3), true), [Gap::Tcp]);
        let none = "this kernel does not have it".to_owned();
        assert_eq!(
            landlock_gaps(Err(&none), true),
            [Gap::Landlock(none.clone())]
        );
    }
}
