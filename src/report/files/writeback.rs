//! Brings a file to disk while it is being written, so that little is left to wait for at its end.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A file that somebody writes.
pub(crate) struct Writeback {
    written: Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Writeback {
    /// Begins with a file that is there: what was written is synced as often as this.
    pub(crate) fn of(path: &Path, every: Duration) -> io::Result<Self> {
        let file = File::open(path)?;
        let (written, more) = channel();
        let thread = std::thread::Builder::new()
            .name("writeback".into())
            .spawn(move || {
                loop {
                    match more.recv_timeout(every) {
                        // The kernel tells a failure once: what this sync is told, the last one is not.
                        Err(RecvTimeoutError::Timeout) => file.sync_data()?,
                        Ok(()) => return file.sync_all(),
                        // Nobody wants the file.
                        Err(RecvTimeoutError::Disconnected) => return Ok(()),
                    }
                }
            })?;
        Ok(Self { written, thread })
    }

    /// Waits until all of the file is on disk, now that all of it is written.
    pub(crate) fn finish(self) -> io::Result<()> {
        // A thread that has failed says so itself.
        let _ = self.written.send(());
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that syncs it broke off")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFTEN: Duration = Duration::from_millis(1);

    #[test]
    fn a_file_that_is_synced_while_it_grows_is_whole_at_the_end() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grows");
        let mut file = File::create(&path).unwrap();
        let writeback = Writeback::of(&path, OFTEN).unwrap();
        for _ in 0..3 {
            file.write_all(&[7; 4096]).unwrap();
        }
        writeback.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len(), 3 * 4096);
        assert!(Writeback::of(&folder.path().join("missing"), OFTEN).is_err());
    }
}
