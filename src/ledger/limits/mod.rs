//! How much may be paid, to whom, and when: ceilings, lists of recipients, the wait of new recipients, and the share of failures
//! that stops a service.
//!
//! Everything here is a pure function: the amounts that were used are counted elsewhere and passed in.

pub mod ahead;
pub mod ceilings;
pub mod counted;
pub mod failures;
pub mod judge;
pub mod names;
pub mod period;
pub mod reason;
#[cfg(test)]
mod tests;
pub mod told;

pub use ceilings::{Ceilings, Limits, OfService};
pub use counted::{Counts, counts};
pub use failures::{Outcomes, StopRule};
pub use judge::{Row, Seen, Verdict, judge};
pub use names::{Entries, NameList, recipient_of};
pub use period::Period;
pub use reason::Reason;
pub use told::Ceiling;
