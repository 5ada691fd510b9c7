//! Runs a program on a kernel that lacks what the sandbox is made of: `lacking landlock,user,calls program …`. The
//! kernel itself refuses the calls, as an older or a locked-down one would, so the product needs no switch for it.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a tool of the tests: stops at the first surprise"
)]

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let lacking = arguments.next().expect("what is lacking, by comma");
    let program = arguments.next().expect("a program");
    for feature in lacking.to_string_lossy().split(',') {
        let filter = match feature {
            "landlock" => refusing(&[libc::SYS_landlock_create_ruleset], libc::ENOSYS),
            "user" => refusing(&[libc::SYS_setresuid, libc::SYS_setuid], libc::EPERM),
            "calls" => refusing(&[libc::SYS_seccomp], libc::EINVAL),
            "notifications" => without_listeners(),
            // As costly as the others, and in nobody's way.
            "nothing" => refusing(&[libc::SYS_swapoff], libc::EPERM),
            other => panic!("unknown: {other}"),
        };
        apply(&filter);
    }
    panic!("{}", Command::new(program).args(arguments).exec());
}

fn apply(filter: &BpfProgram) {
    seccompiler::apply_filter(filter).expect("a filter that the kernel takes");
}

fn refusing(calls: &[i64], answer: libc::c_int) -> BpfProgram {
    filter(calls.iter().map(|call| (*call, Vec::new())), answer)
}

/// A kernel whose filters cannot hand calls to another process.
fn without_listeners() -> BpfProgram {
    let flag = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let asked = SeccompCondition::new(1, Dword, SeccompCmpOp::MaskedEq(flag), flag);
    let rule = SeccompRule::new(vec![asked.expect("a condition")]).expect("a rule");
    filter([(libc::SYS_seccomp, vec![rule])], libc::EINVAL)
}

fn filter(
    calls: impl IntoIterator<Item = (i64, Vec<SeccompRule>)>,
    answer: libc::c_int,
) -> BpfProgram {
    let calls: BTreeMap<i64, Vec<SeccompRule>> = calls.into_iter().collect();
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Allow,
        SeccompAction::Errno(answer.unsigned_abs()),
        std::env::consts::ARCH
            .try_into()
            .expect("a known architecture"),
    );
    filter.expect("a filter").try_into().expect("a program")
}
