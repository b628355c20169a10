//! The time of a file's last change, and that of the day it is compared with.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// When a file was changed last, in nanoseconds: by the clock of its file system, which nobody else sets.
pub(super) fn changed(file: &File) -> std::io::Result<u64> {
    let metadata = file.metadata()?;
    let (secs, nanos) = (metadata.ctime(), metadata.ctime_nsec());
    Ok(u64::try_from(secs.saturating_mul(1_000_000_000).saturating_add(nanos)).unwrap_or(0))
}

/// The time of day, in nanoseconds.
pub(super) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let nanos = time
        .tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec);
    u64::try_from(nanos).unwrap_or(0)
}
