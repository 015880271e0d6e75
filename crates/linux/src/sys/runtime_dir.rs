//! The folder for locks and sockets of running routers.

use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::{geteuid, getuid};

use super::secure::has_rights_by_file;

/// The folders for the state of running programs: of Linux (hier(7)), and of systems without the first.
const RUN: [&str; 2] = ["/run", "/var/run"];

/// Returns the folder for files of running routers, and creates it if it is not there: `/run/fairlane`; or
/// `$XDG_RUNTIME_DIR/fairlane` where `/run` cannot be written to, or has another user's folder, as in a user namespace;
/// or `fairlane-UID-NAMESPACE` in the folder for temporary files without that variable. A program that has rights by
/// its file (capabilities) takes nothing from its caller: its folder is `/run/user/UID/fairlane` then. Nobody else can
/// write to it.
///
/// # Errors
/// Neither can be created, or another user can write to the folder.
pub fn runtime_folder() -> io::Result<PathBuf> {
    let system = RUN.into_iter().find(|run| Path::new(run).is_dir()).unwrap_or(RUN[0]);
    let folder = Path::new(system).join("fairlane");
    match own(&folder) {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            let folder = if has_rights_by_file() {
                Path::new(system).join("user").join(getuid().to_string()).join("fairlane")
            } else if let Some(of_user) = std::env::var_os("XDG_RUNTIME_DIR") {
                PathBuf::from(of_user).join("fairlane")
            } else {
                // Users of several user namespaces may have the same number.
                let namespace = fs::metadata("/proc/self/ns/user").map_or(0, |found| found.ino());
                std::env::temp_dir().join(format!("fairlane-{}-{namespace}", getuid()))
            };
            own(&folder).map(|()| folder)
        }
        result => result.map(|()| folder),
    }
}

/// Returns the path of a file in the [`runtime_folder`] for this network namespace, in which names are unique.
///
/// # Errors
/// As for [`runtime_folder`].
pub fn runtime_file(name: &str) -> io::Result<PathBuf> {
    let namespace = fs::metadata("/proc/thread-self/ns/net")?.ino();
    Ok(runtime_folder()?.join(format!("{namespace}-{name}")))
}

/// Creates the folder, and checks that it belongs to this user alone.
fn own(folder: &Path) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        // A system that has only just started, such as a container, may have no folder above it.
        Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir_all(folder).map_err(named)?,
        result => result.map_err(named)?,
    }
    let found = fs::symlink_metadata(folder).map_err(named)?;
    if is_private(&found, geteuid().as_raw()) {
        return Ok(());
    }
    let message = format!("{}: another user can write to it, or it is no folder", folder.display());
    Err(io::Error::new(ErrorKind::PermissionDenied, message))
}

fn is_private(found: &Metadata, user: u32) -> bool {
    found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Would catch a folder in which another user can put a lock or a socket, and a link to such a folder.
    #[test]
    fn a_folder_of_others_is_refused() {
        let top = std::env::temp_dir().join(format!("fairlane-runtime-{}", std::process::id()));
        let folder = top.join("fairlane");
        own(&folder).unwrap();
        own(&folder).unwrap();
        for mode in [0o777, 0o775] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(own(&folder).unwrap_err().kind(), ErrorKind::PermissionDenied, "{mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!is_private(&fs::metadata(&folder).unwrap(), geteuid().as_raw() + 1));
        let link = top.join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(own(&link).is_err());
        fs::remove_dir_all(&top).unwrap();
    }
}
