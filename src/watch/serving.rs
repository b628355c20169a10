//! A page that is served on a thread of its own, so that it takes no turn from whatever runs beside it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio_util::sync::CancellationToken;

use super::server::Listener;
use super::view::Source;

/// Threads that read the journal for the page.
const READERS: usize = 2;

/// How much less this thread counts than the others, where the system may choose: as `nice` has it.
const NICE: i32 = 10;

/// A page that is being served, until it is told to stop.
#[derive(Debug)]
pub struct Serving {
    address: String,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Takes the port, and serves from a thread of its own.
    ///
    /// # Errors
    /// The port is taken, or may not be; the system gives no thread, or no random numbers.
    pub fn start(address: SocketAddr, source: Arc<dyn Source>) -> std::io::Result<Self> {
        let listener = Listener::bind(address)?;
        let address = listener.address()?;
        let stop = CancellationToken::new();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS)
            .build()?;
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("page".into())
            .spawn(move || {
                // On Linux of this thread alone, and of the readers that it begins. Where it is refused, the page is as quick
                // as the rest.
                let _ = rustix::process::setpriority_process(None, NICE);
                runtime.block_on(listener.serve(source, stopped));
                // A reading that still goes on holds nothing up.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            address,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the address for a browser. Whoever has it sees what the page shows.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends it; whoever looks is shown how everything stands last.
    pub fn end(mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
