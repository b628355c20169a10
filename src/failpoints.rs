//! Named points at which a test ends the program, as `kill -9` would. Debug builds alone know them.
//!
//! The module is absent from a release build, so that a mention of it that is not `#[cfg(debug_assertions)]` does not
//! compile there.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// `NAME:N`: the N-th passage of the point is the process' last.
const KILL_AT: &str = "TORTURE_KILL_AT";
/// `NAME`: the first passage of the point is a mistake of the program, told with a number of a person in it.
const PANIC_AT: &str = "TORTURE_PANIC_AT";
/// `normal` makes commits that a power loss may undo, to show that a test would notice.
const SYNCHRONOUS: &str = "TORTURE_SYNCHRONOUS";

/// `link` gives a new journal its name by way of the C library, where a test listens.
const NAMES: &str = "TORTURE_NAMES";

/// The name of a guard that the program goes without, to show that a test would notice.
const WITHOUT: &str = "TORTURE_WITHOUT";

/// A number lets loads have happened so many days ago.
const DAYS_AGO: &str = "TORTURE_DAYS_AGO";

struct Armed {
    name: String,
    passages_left: AtomicU64,
}

/// Passes a point; does not return when a test has said that the process ends here.
pub(crate) fn pass(name: &str) {
    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
    static MISTAKEN: OnceLock<Option<Armed>> = OnceLock::new();
    let once = || {
        Some(Armed {
            name: std::env::var(PANIC_AT).ok()?,
            passages_left: AtomicU64::new(1),
        })
    };
    if let Some(mistaken) = MISTAKEN.get_or_init(once) {
        assert!(
            mistaken.name != name || mistaken.passages_left.fetch_sub(1, Ordering::Relaxed) != 1,
            "a mistake about {} at {name}",
            std::hint::black_box("254712345678")
        );
    }
    let Some(armed) = ARMED.get_or_init(armed) else {
        return;
    };
    if armed.name == name && armed.passages_left.fetch_sub(1, Ordering::Relaxed) == 1 {
        let _ = kill_process(getpid(), Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

fn armed() -> Option<Armed> {
    let text = std::env::var(KILL_AT).ok()?;
    let (name, passages) = text.split_once(':')?;
    Some(Armed {
        name: name.to_owned(),
        passages_left: AtomicU64::new(passages.parse().ok()?),
    })
}

/// Whether commits are to be less durable than they must be.
pub(crate) fn commits_may_be_lost() -> bool {
    std::env::var(SYNCHRONOUS).is_ok_and(|value| value == "normal")
}

/// Whether a new journal gets its name as on a file system that cannot rename to nobody's name.
pub(crate) fn names_are_linked() -> bool {
    std::env::var(NAMES).is_ok_and(|value| value == "link")
}

/// Whether the program goes without a guard: `fence` (a run whose session is over, or was closed, goes on), `quarantine` (what was not found
/// is posted again at once) or `recovery` (a journal that lacks its newest rows is taken for whole).
pub(crate) fn is_without(guard: &str) -> bool {
    std::env::var(WITHOUT).is_ok_and(|named| named == guard)
}

/// How many days ago what is loaded now was loaded.
pub(crate) fn days_ago() -> i64 {
    let days = std::env::var(DAYS_AGO).ok();
    days.and_then(|days| days.parse().ok()).unwrap_or_default()
}
