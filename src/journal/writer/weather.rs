//! What lies between a process and a server, for simulated time.

use std::time::Duration;

/// Says for how long something is so from now on, if it is.
pub(crate) type While = Box<dyn Fn() -> Option<Duration> + Send + Sync>;

/// What lies between a process and the server.
pub(crate) struct Path {
    /// The process stands still.
    pub stands: While,
    /// Nothing of it comes to the server.
    pub is_cut_off: While,
    /// What its next transaction meets; `None`: this process has the patience, and the luck, to get everything done.
    pub next: Option<Box<dyn Fn() -> Weather + Send + Sync>>,
    /// Told what went wrong.
    pub met: Box<dyn Fn(&'static str) + Send + Sync>,
}

/// What a transaction meets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    /// So long it takes from its first statement to its last one.
    pub within: Duration,
    /// So long the word of its commit takes.
    pub back: Duration,
    pub heard: Heard,
    /// The server is lost so long after a commit that no other machine has, and another one takes over.
    pub failover: Option<Duration>,
    /// So long the server takes to notice that the process is dead.
    pub noticed: Duration,
}

/// What a process hears of its commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Heard {
    #[default]
    Done,
    /// That it was done, and a warning: the server stopped waiting for another machine to have it.
    Warning,
    /// Nothing: the connection was lost before the server had it.
    NothingSent,
    /// Nothing, and it was committed.
    NothingBack,
    /// Nothing, and it was committed, but no other machine has it.
    NothingKept,
}
