//! The journal in SQLite: all SQL is in this folder.

mod approval;
mod archive;
mod backend;
mod codec;
mod evidence;
mod forget;
mod limits;
mod load;
mod notices;
mod operator;
mod payments;
mod preflight;
mod read;
mod reconcile;
mod recovery;
mod repeats;
mod run;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod verify;
pub(crate) mod writer;

pub use archive::copy::copy_batch;
pub use forget::compact::compact;
pub use read::looked_for::{FOUND_MAX, FoundRow, RejectedFound, SourceFile, Wanted};
pub use read::paid::PaidPayment;
pub use read::reader::{Reader, Snapshot};
pub use read::standing_rows::{PAGE_ROWS, StandingKind, StandingPayment, StandingRejected};
pub use reconcile::desk::StatementDesk;
pub use recovery::backup::{Backup, backup};
pub use recovery::copies::{Copied, backup_into};
pub use recovery::inspect::{Inspected, Pages, inspect};
pub use recovery::ordered::OrderedPayment;
pub use schema::open::is_gone;
pub use schema::open::refuse_reserved;
pub use writer::handle::Journal;
