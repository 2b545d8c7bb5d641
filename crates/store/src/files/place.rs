//! Facts from the system about a directory.

use std::path::Path;

/// Whether a directory belongs to the user of this process.
#[cfg(unix)]
pub(crate) fn is_of_this_user(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = std::fs::symlink_metadata(path).map(|found| found.uid());
    owner.is_ok_and(|owner| owner == nix::unistd::geteuid().as_raw())
}

/// Each user has their own temporary directory, and permissions protect it.
#[cfg(not(unix))]
pub(crate) fn is_of_this_user(_path: &Path) -> bool {
    true
}

/// Whether this process sees the locks of everybody who can write there: on file systems that
/// certainly belong to this machine alone. Network file systems may not share locks, depending on
/// their mount options, and FUSE may be a network file system.
#[cfg(target_os = "linux")]
pub(crate) fn has_seen_locks(path: &Path) -> bool {
    use nix::sys::statfs::{self, FsType};
    const LOCAL: [FsType; 8] = [
        statfs::BTRFS_SUPER_MAGIC,
        statfs::ECRYPTFS_SUPER_MAGIC,
        // This is also the number of ext2 and ext3.
        statfs::EXT4_SUPER_MAGIC,
        statfs::F2FS_SUPER_MAGIC,
        statfs::MSDOS_SUPER_MAGIC,
        statfs::OVERLAYFS_SUPER_MAGIC,
        statfs::TMPFS_MAGIC,
        statfs::XFS_SUPER_MAGIC,
    ];
    /// ZFS, bcachefs, exFAT and NTFS, which nix does not define.
    const MORE: [u32; 4] = [0x2fc1_2fc1, 0xca45_1a4e, 0x2011_bab0, 0x7366_746e];
    statfs::statfs(path).is_ok_and(|found| {
        let kind = found.filesystem_type();
        LOCAL.contains(&kind) || MORE.contains(&(kind.0 as u32))
    })
}

#[cfg(target_os = "macos")]
pub(crate) fn has_seen_locks(path: &Path) -> bool {
    use nix::mount::MntFlags;
    nix::sys::statfs::statfs(path).is_ok_and(|found| found.flags().contains(MntFlags::MNT_LOCAL))
}

/// On this system, file servers keep the locks, and they are mandatory.
#[cfg(windows)]
pub(crate) fn has_seen_locks(_path: &Path) -> bool {
    true
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) fn has_seen_locks(_path: &Path) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_is_no_place_for_files_is_not_trusted() {
        assert!(!has_seen_locks(Path::new("/proc")));
        assert!(!has_seen_locks(Path::new("/no/such/place")));
        assert!(has_seen_locks(Path::new("/dev/shm")));
    }
}
