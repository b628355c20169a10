//! Where the page is served, and how its address is told.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::watch;

use super::reading::Pages;
use crate::cli::Error;
use crate::cli::files::scratch;
use crate::cli::session::Session;
use crate::domain::BatchName;
use crate::engine::Progress;
use crate::watch::{Serving, is_loopback};

/// A page that is being served.
pub(in crate::cli) struct Watched {
    pages: Arc<Pages>,
    serving: Serving,
}

impl Watched {
    /// Returns the address for a browser.
    pub(in crate::cli) fn address(&self) -> &str {
        self.serving.address()
    }

    /// Shows what a run says of itself, beside what the journal has of it.
    pub(in crate::cli) fn follow(&self, batch: &BatchName, progress: watch::Receiver<Progress>) {
        *self.pages.live() = Some((batch.clone(), progress));
    }

    /// Ends it.
    pub(in crate::cli) fn end(self) {
        self.serving.end();
    }
}

/// Begins to serve the page, on loopback alone.
pub(in crate::cli) fn start(session: &Session, address: SocketAddr) -> Result<Watched, Error> {
    if !is_loopback(address) {
        return Err(Error::refused(format!(
            "the page shows whom the batches pay, and is served to this machine alone: {address} is an address that others reach"
        ))
        .hint(
            "listen on 127.0.0.1, and reach it from another machine through ssh: ssh -L 8470:127.0.0.1:PORT HOST, then open the address \
             that is printed, with localhost:8470 in the place of its host and port",
        ));
    }
    scratch::remove_temporary_leftovers(scratch::Use::Page);
    let pages = Arc::new(Pages::new(session));
    let source: Arc<dyn crate::watch::Source> = Arc::clone(&pages) as _;
    let serving = Serving::start(address, source).map_err(|error| {
        Error::refused(format!("page.listen {address}: {error}"))
            .hint("choose another port, or 0 for any that is free")
    })?;
    Ok(Watched { pages, serving })
}
