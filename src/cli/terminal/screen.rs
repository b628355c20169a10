//! What draws on the terminal, and what is printed beside it.

use std::sync::Mutex;

use indicatif::MultiProgress;

pub(in crate::cli) static SCREEN: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Does something that prints, without tearing the bar.
pub(in crate::cli) fn suspended<T>(work: impl FnOnce() -> T) -> T {
    // Taken out of the lock first: the work may print again.
    let screen = SCREEN.lock().ok().and_then(|screen| screen.clone());
    match screen {
        Some(screen) => screen.suspend(work),
        None => work(),
    }
}
