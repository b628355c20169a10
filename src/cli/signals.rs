//! Ctrl-C and SIGTERM: the first ends the run in good order, the second at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Error;
use crate::cli::terminal::ask;
use crate::cli::terminal::output;

/// A write beyond a limit on file sizes fails with an error instead of ending the process half way.
pub(super) fn outlive_file_limits() {
    // SIGXFSZ has this number on Linux and on the BSDs. A stream that is dropped leaves the process's handler in place.
    const SIGXFSZ: i32 = 25;
    let _ = signal(SignalKind::from_raw(SIGXFSZ));
}

/// Leaves no picture of the memory behind, which has a password and names in it, however the process ends.
pub(super) fn leave_no_core() {
    let now = getrlimit(Resource::Core);
    // Linux gives a picture to a program that collects them whatever the limit is, but for this one; a file is never as small.
    let least = now.maximum.unwrap_or(u64::MAX).min(1);
    let none = Rlimit {
        current: Some(least),
        maximum: Some(least),
    };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::debug!("core dumps cannot be turned off: {error}");
    }
}

/// Folders that hold what is not to stay, should the process be ended.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a folder removed when the process ends before whoever made it: only SIGKILL leaves it.
pub(super) fn remove_when_left(folder: &Path) {
    folders().push(folder.to_owned());
}

/// Says that whoever made a folder removes it.
pub(super) fn is_removed(folder: &Path) {
    folders().retain(|known| known != folder);
}

/// Removes what is left of such folders.
pub(super) fn remove_folders() {
    let folders = std::mem::take(&mut *folders());
    // Their commands go on beside this, and may put something into a folder once more.
    for folder in folders.iter().chain(&folders) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Has a signal end the process, and remove those folders: for commands that have no other end in good order.
pub(super) fn end_with_signal() {
    static IS_HEARD: AtomicBool = AtomicBool::new(false);
    if Handle::try_current().is_err() || IS_HEARD.swap(true, Ordering::SeqCst) {
        return;
    }
    let heard = signal(SignalKind::interrupt()).and_then(|interrupt| {
        let terminate = signal(SignalKind::terminate())?;
        Ok((interrupt, terminate))
    });
    // Where signals cannot be heard, they end the process as they do without this.
    let Ok((mut interrupt, mut terminate)) = heard else {
        return;
    };
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        output::note("stopped; unfinished files were removed");
        leave();
    });
}

/// Cancels the token on the first signal, with a notice, and ends the process on the second.
pub(super) fn drain_on_signal(drain: CancellationToken, notice: String) -> Result<(), Error> {
    let unavailable = |error| Error::unexpected(format!("signals cannot be heard: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unavailable)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(unavailable)?;
    tokio::spawn(async move {
        let mut heard = 0;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            heard += 1;
            if heard > 1 {
                output::note(
                    "stopped at once; the gateway is asked about what was under way when the run resumes",
                );
                leave();
            }
            drain.cancel();
            // At a question it is an answer, and nothing has begun that would have to end.
            if !ask::is_asking() {
                output::note(&notice);
            }
        }
    });
    Ok(())
}

#[allow(clippy::exit, reason = "the operator asked for it")]
fn leave() -> ! {
    remove_folders();
    std::process::exit(4)
}
