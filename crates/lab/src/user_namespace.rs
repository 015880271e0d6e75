//! User namespaces, in which a user has the rights to create network namespaces.

use std::fs;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getegid, geteuid};

/// A setting of the kernel that forbids user namespaces, the value with which it does, and the remedy.
const SETTINGS: [(&str, &str, &str); 4] = [
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor gives programs without a profile no rights in a user namespace (Ubuntu 23.10 and later): install \
         the profile of docs/shell.md, or as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "only root may create user namespaces: as root, sysctl kernel.unprivileged_userns_clone=1",
    ),
    ("user/max_user_namespaces", "0", "user namespaces are disabled: as root, sysctl user.max_user_namespaces=15000"),
    ("user/max_net_namespaces", "0", "network namespaces are disabled: as root, sysctl user.max_net_namespaces=15000"),
];

/// The usual reason if no setting forbids it.
const CONTAINER: &str = "a container forbids it: start it with --security-opt seccomp=unconfined (Docker, Podman), or \
     --cap-add SYS_ADMIN for root in it";

/// Moves this process to a new user namespace in which it has all rights, and its user and group are these.
///
/// # Errors
/// The reason why the system does not allow it, with the remedy.
pub fn enter_user_namespace(user: Uid, group: Gid) -> Result<(), String> {
    let (user_outside, group_outside) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(namespace_refusal)?;
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(|error| {
            error.raw_os_error().map_or(error.to_string(), |code| namespace_refusal(Errno::from_raw(code)))
        })
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user_outside} 1"))?;
    write("gid_map", format!("{group} {group_outside} 1"))
}

/// Returns the reason why a namespace could not be created, as far as the system tells it, with the remedy.
#[must_use]
pub fn namespace_refusal(error: Errno) -> String {
    let forbids = |(name, value, _): &&(&str, &str, &str)| {
        fs::read_to_string(format!("/proc/sys/{name}")).is_ok_and(|found| found.trim() == *value)
    };
    match error {
        Errno::EPERM | Errno::EACCES | Errno::ENOSPC => {
            SETTINGS.iter().find(forbids).map_or(CONTAINER.to_owned(), |(_, _, remedy)| (*remedy).to_owned())
        }
        Errno::EUSERS => "too many user namespaces are in each other".to_owned(),
        Errno::EINVAL => {
            "this kernel has no user namespaces (CONFIG_USER_NS), or the process has several threads".to_owned()
        }
        other => other.desc().to_owned(),
    }
}
