//! The durable record of all that was loaded, sent, learned and decided; its operations, called verbs, take and return domain types.
//!
//! [`Journal`] owns the only connection that writes, on a thread of its own. Its verbs are async; those that arrive together
//! share one transaction, and each returns only after the commit. [`Reader`] reads at the same time. [`crate::store`] keeps the
//! rows, in SQLite or PostgreSQL. Only a few modules, which a test lists, use what SQLite alone has: its file, schema and copies.

mod approval;
mod archive;
mod backend;
mod codec;
mod evidence;
mod file_time;
mod forget;
mod limits;
mod load;
mod location;
mod lock;
mod mark;
mod notices;
mod opening;
mod operator;
mod payments;
mod preflight;
mod read;
mod reconcile;
mod recovery;
mod relocation;
mod repeats;
mod run;
mod schema;
pub mod server;
mod session;
pub mod survey;
#[cfg(test)]
mod tests;
mod types;
mod verify;
pub(crate) mod writer;

pub use archive::copy::copy_batch;
pub use forget::compact::compact;
pub use location::{Location, LocationError, ServerAddress};
pub use lock::{RunLock, holder};
pub use read::looked_for::{FOUND_MAX, FoundRow, RejectedFound, SourceFile, Wanted};
pub use read::paid::PaidPayment;
pub use read::posted_from::PostedFrom;
pub use read::reader::{Reader, Snapshot};
pub use read::ready::Outline;
pub use read::standing_rows::{PAGE_ROWS, StandingKind, StandingPayment, StandingRejected};
pub use reconcile::desk::StatementDesk;
pub use recovery::backup::{Backup, backup};
pub use recovery::copies::{Copied, backup_into};
pub use recovery::inspect::{Inspected, Pages, inspect};
pub use recovery::ordered::OrderedPayment;
pub use relocation::notice::assert_in_use;
pub use relocation::relocate::{Relocated, relocate};
pub use run::sessions::LEASE;
pub use schema::names::{making_name, of_making, rename_to_nobodys_name};
pub use schema::open::is_gone;
pub use schema::open::refuse_reserved;
pub use types::*;
#[cfg(test)]
pub(crate) use writer::fuse::clock as own_clock;
pub use writer::handle::Journal;
#[cfg(test)]
pub(crate) use writer::simulated;
#[cfg(test)]
pub(crate) use writer::weather;
