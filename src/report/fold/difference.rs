//! What does not add up, in words.

use std::fmt;

use super::lane::Sum;
use crate::domain::Currency;
use crate::report::words::text;

/// Something that does not add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The entries of a lane do not add up to its control total.
    Lane {
        /// The service.
        service: String,
        /// The currency.
        currency: Currency,
        /// What was recorded when the rows were loaded.
        control: Sum,
        /// What the entries add up to.
        found: Sum,
    },
    /// More or fewer rejected lines than were recorded.
    Rejected {
        /// Recorded when the rows were loaded.
        control: u64,
        /// Found among the entries.
        found: u64,
    },
    /// Payments that were loaded as valid but have no amount.
    WithoutAmount {
        /// How many.
        count: u64,
    },
    /// Entries with the identifier of the entry before them.
    Repeated {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lane {
                service,
                currency,
                control,
                found,
            } => write!(
                f,
                "{service} {currency}: loaded {} for {}, accounted for {} with {}",
                payments(control.count),
                text::amount(control.minor, *currency),
                payments(found.count),
                text::amount(found.minor, *currency),
            ),
            Self::Rejected { control, found } => write!(
                f,
                "rejected lines: {} when loaded, {} accounted for",
                text::count(*control),
                text::count(*found)
            ),
            Self::WithoutAmount { count } => {
                write!(
                    f,
                    "{} loaded as valid, but without an amount",
                    payments(*count)
                )
            }
            Self::Repeated { count } => write!(f, "{} listed more than once", payments(*count)),
        }
    }
}

fn payments(count: u64) -> String {
    let noun = if count == 1 { "payment" } else { "payments" };
    format!("{} {noun}", text::count(count))
}
