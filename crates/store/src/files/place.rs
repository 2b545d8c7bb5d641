//! What the system says of a place.

use std::path::Path;

/// Whether a directory is of the user that this process is of.
#[cfg(unix)]
pub(crate) fn is_of_this_user(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = std::fs::symlink_metadata(path).map(|found| found.uid());
    owner.is_ok_and(|owner| owner == nix::unistd::geteuid().as_raw())
}

/// Temporary directories are each user's own, and permissions say the rest.
#[cfg(not(unix))]
pub(crate) fn is_of_this_user(_path: &Path) -> bool {
    true
}

/// Whether the locks of all who can write there are seen: on file systems that are known
/// to be of this machine alone. Network file systems may keep locks to themselves, by
/// how they were mounted, and FUSE may be one.
#[cfg(target_os = "linux")]
pub(crate) fn has_seen_locks(path: &Path) -> bool {
    use nix::sys::statfs::{self, FsType};
    const LOCAL: [FsType; 8] = [
        statfs::BTRFS_SUPER_MAGIC,
        statfs::ECRYPTFS_SUPER_MAGIC,
        // The number of ext2 and ext3 as well.
        statfs::EXT4_SUPER_MAGIC,
        statfs::F2FS_SUPER_MAGIC,
        statfs::MSDOS_SUPER_MAGIC,
        statfs::OVERLAYFS_SUPER_MAGIC,
        statfs::TMPFS_MAGIC,
        statfs::XFS_SUPER_MAGIC,
    ];
    /// ZFS, bcachefs, exFAT and NTFS, of which nix does not know.
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

/// There, file servers keep the locks, and they are binding.
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
