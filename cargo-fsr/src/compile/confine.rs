//! What the compiler process does to itself before it sees a candidate: limits on memory and time, no core dumps, no
//! written files, and (where Linux offers Landlock) no file to read outside the toolkit.
//!
//! The include check in `source` is the wall that every platform has; this is the one behind it.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::protocol::Limits;

/// Processor time that a compiler process may use over its whole life. Its parent replaces it long before; this ends
/// one whose parent was killed.
pub(super) const CPU_SECONDS: u64 = 3600;

/// Sets the limits on resources. Called before the library is loaded.
///
/// # Errors
/// When the system refuses one: without limits no candidate is compiled.
#[cfg(unix)]
pub(super) fn limit(limits: &Limits) -> std::io::Result<()> {
    use rlimit::Resource;

    Resource::CORE.set(0, 0)?;
    Resource::FSIZE.set(0, 0)?;
    lower(Resource::CPU, CPU_SECONDS)?;
    lower(Resource::AS, limits.memory)
}

/// Sets a limit, but never above the one that the user's shell or cluster set.
#[cfg(unix)]
fn lower(resource: rlimit::Resource, value: u64) -> std::io::Result<()> {
    let (_, hard) = resource.get()?;
    let value = value.min(hard);
    resource.set(value, value)
}

/// Windows has no such limits for a process by itself: the parent's deadline remains.
#[cfg(not(unix))]
pub(super) fn limit(_limits: &Limits) -> std::io::Result<()> {
    Ok(())
}

/// Closes the file system but for reading below `readable`; says whether it did. Called after the library is loaded.
#[cfg(target_os = "linux")]
pub(super) fn close_files(readable: &[&Path]) -> bool {
    use landlock::{
        ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, path_beneath_rules,
    };

    // The newest set of rights that the crate knows; older kernels restrict what they can.
    let abi = ABI::V5;
    let closed = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.add_rules(path_beneath_rules(readable, AccessFs::from_read(abi))))
        .and_then(|rules| rules.restrict_self());
    closed.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

/// Other systems have no such means for a process by itself.
#[cfg(not(target_os = "linux"))]
pub(super) fn close_files(_readable: &[&Path]) -> bool {
    false
}

/// Runs `work`, and ends the process when it takes longer than `limit`: the parent kills at the same deadline, unless
/// it was killed itself.
pub(super) fn watched<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let (done, over) = mpsc::channel::<()>();
    thread::spawn(move || {
        if over.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            std::process::abort();
        }
    });
    let result = work();
    drop(done);
    result
}
