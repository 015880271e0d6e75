//! The reason why the system does not allow a user to create namespaces.

use std::fs;

use nix::errno::Errno;

use crate::error::ShellError;

/// A setting of the kernel that forbids user namespaces, the value with which it does, and the remedy.
const SETTINGS: [(&str, &str, &str); 3] = [
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
];

/// The usual reason if no setting forbids it.
const CONTAINER: &str = "a container forbids it: start it with --security-opt seccomp=unconfined (Docker, Podman), or \
     --cap-add SYS_ADMIN for root in it";

/// Returns the error of creating a namespace, with the reason as far as the system tells it.
pub(super) fn explain(error: Errno) -> ShellError {
    let forbids = |(name, value, _): &&(&str, &str, &str)| {
        fs::read_to_string(format!("/proc/sys/{name}")).is_ok_and(|found| found.trim() == *value)
    };
    let reason = match error {
        Errno::EPERM | Errno::EACCES | Errno::ENOSPC => {
            SETTINGS.iter().find(forbids).map_or(CONTAINER.to_owned(), |(_, _, remedy)| (*remedy).to_owned())
        }
        Errno::EUSERS => "too many shells are in each other".to_owned(),
        Errno::EINVAL => "this kernel has no user namespaces (CONFIG_USER_NS)".to_owned(),
        other => other.desc().to_owned(),
    };
    ShellError::NotPermitted(reason)
}
