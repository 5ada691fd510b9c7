//! The system calls that the sidecar is refused. Landlock's rules for the network know TCP only, and a process
//! that can make namespaces, trace others or talk to io_uring has ways around every other wall.

use nix::libc;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

/// Refused whatever their arguments are.
const REFUSED: [i64; 44] = [
    // Asks the kernel for I/O past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Leaving the process group, by which it is measured and ended.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Another view of the file system.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    // Keys of the session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_personality,
];

/// `clone` may make processes and threads, but no namespaces.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // CLONE_NEWTIME shares its bit with the exit signal and works in `clone3` only.
    libc::CLONE_PTRACE,
];

/// The filters to apply, in this order; `architecture` is the processor's, as Rust names it.
pub(super) fn filters(architecture: &str) -> Result<[BpfProgram; 2], Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, sockets()?);
    rules.insert(libc::SYS_clone, namespaces()?);
    // What `clone3` is asked for lies in memory, where no filter can look. Told that the kernel does not know
    // it, the C library falls back on `clone`.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([
        program(architecture, rules, libc::EPERM)?,
        program(architecture, unknown, libc::ENOSYS)?,
    ])
}

fn program(
    architecture: &str,
    mut rules: BTreeMap<i64, Vec<SeccompRule>>,
    answer: libc::c_int,
) -> Result<BpfProgram, Error> {
    rules.extend(under_x32(&rules));
    let refused = SeccompAction::Errno(answer.unsigned_abs());
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        refused,
        architecture.try_into()?,
    )?;
    Ok(filter.try_into()?)
}

/// A 64-bit kernel may also take calls under x32's numbers. (Those of 32-bit programs end the process: the filter
/// is for one architecture.)
#[cfg(target_arch = "x86_64")]
fn under_x32(rules: &BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    const X32: i64 = 0x4000_0000;
    // The calls that have a number of their own there: ptrace, process_vm_readv, process_vm_writev, kexec_load.
    const RENUMBERED: [i64; 4] = [521, 539, 540, 528];
    let same = rules.iter().map(|(call, rule)| (call | X32, rule.clone()));
    let renumbered = RENUMBERED.map(|call| (call | X32, Vec::new()));
    same.chain(renumbered).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn under_x32(_: &BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    BTreeMap::new()
}

/// `socket` is refused unless it is for TCP over IPv4 or IPv6: no UDP, no MPTCP, no Unix sockets, no raw ones.
fn sockets() -> Result<Vec<SeccompRule>, Error> {
    const KIND: u64 = 0xf;
    let condition =
        |argument, operator, value| SeccompCondition::new(argument, Dword, operator, value);
    let is_not = |argument, values: [libc::c_int; 2]| {
        let conditions = values
            .map(|value| condition(argument, SeccompCmpOp::Ne, u64::from(value.unsigned_abs())));
        let conditions = conditions.into_iter().collect::<Result<Vec<_>, _>>()?;
        SeccompRule::new(conditions)
    };
    let mut rules = vec![
        is_not(0, [libc::AF_INET, libc::AF_INET6])?,
        is_not(2, [0, libc::IPPROTO_TCP])?,
    ];
    let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
    for kind in (0..=KIND).filter(|kind| *kind != stream) {
        rules.push(SeccompRule::new(vec![condition(
            1,
            SeccompCmpOp::MaskedEq(KIND),
            kind,
        )?])?);
    }
    Ok(rules)
}

fn namespaces() -> Result<Vec<SeccompRule>, Error> {
    let rules = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        let asked = SeccompCondition::new(0, Dword, SeccompCmpOp::MaskedEq(flag), flag)?;
        SeccompRule::new(vec![asked])
    });
    Ok(rules.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_can_be_made() {
        let [refusals, clone3] = filters("x86_64").unwrap();
        assert!(refusals.len() > REFUSED.len());
        assert!(!clone3.is_empty());
    }

    #[test]
    fn no_call_is_listed_twice() {
        let listed: std::collections::HashSet<i64> = REFUSED.into_iter().collect();
        assert_eq!(listed.len(), REFUSED.len());
    }
}
