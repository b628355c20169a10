//! Payments per second.

use std::fmt;
use std::num::NonZeroU32;

/// A whole number of payments per second, one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(NonZeroU32);

impl Rate {
    /// Wraps a rate; `None` for zero.
    #[must_use]
    pub fn per_second(payments: u32) -> Option<Self> {
        NonZeroU32::new(payments).map(Self)
    }

    /// Returns payments per second.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Returns payments per second, as a number that is never zero.
    #[must_use]
    pub fn nonzero(self) -> NonZeroU32 {
        self.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}
