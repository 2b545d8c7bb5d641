//! The kinds of memory of a process, which are equal in kernel events and statistics (rules M5,
//! M6).

/// A kind of memory of a process.
#[derive(Debug)]
pub(super) struct Size {
    pub name: &'static str,
    /// The dimension that distinguishes it, and its value.
    pub dimension: (&'static str, &'static str),
    pub description: &'static str,
}

macro_rules! sizes {
    ($($name:ident $key:literal $description:literal)*) => {
        $(pub(super) static $name: Size = Size {
            name: concat!("mem.", $key),
            dimension: ("process_memory_key", $key),
            description: $description,
        };)*
    };
}

sizes! {
    VIRT "virt" "Address space that the process has reserved, in memory or not"
    RSS "rss" "Memory of the process that is in RAM: the sum of its files, its anonymous and its shared memory"
    RSS_ANON "rss.anon" "Anonymous memory of the process in RAM: heaps, stacks and other memory without a file"
    RSS_FILE "rss.file" "Pages of mapped files that the process has in RAM"
    RSS_SHMEM "rss.shmem" "Shared memory of the process in RAM, without files on a disk"
    SWAP "swap" "Anonymous memory of the process that is swapped out, before any compression"
    LOCKED "locked" "Memory of the process that must stay in RAM"
    WATERMARK "rss.watermark" "The most memory that the process ever had in RAM"
    DMABUF "dmabuf_rss" "Buffers for devices (dma-buf) that the process holds"
    UNRECLAIMABLE "unreclaimable" "Memory of the process that the kernel cannot reclaim"
    UNKNOWN "unknown" "Memory of a kind that has no name here"
}
