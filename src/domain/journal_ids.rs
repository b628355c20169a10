//! The numbers by which the journal names its rows, each a type of its own: a payment handed over where a lane is asked for does not
//! compile.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i64);

        impl $name {
            /// Wraps the number as it is stored.
            #[must_use]
            pub const fn new(number: i64) -> Self {
                Self(number)
            }

            /// Returns the number as it is stored.
            #[must_use]
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        // A trace of values names a row by its number alone, as every list of the journal does.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number! {
    /// Names a lane: a service code, by the number that the journal gave it.
    ///
    /// Unique in a journal. All batches of the journal share the numbers, so a lane of one batch is named by the batch and this.
    LaneId
}

number! {
    /// Names a run by its number: the first is 1, and each that begins, of whichever batch, has the next one.
    ///
    /// Unique in a journal. A run whose number is not the last one has been taken over, and may do nothing more.
    Epoch
}

impl Epoch {
    /// No run has begun.
    pub const NONE: Self = Self::new(0);
}

number! {
    /// Names a batch, beside its name: by the number that the journal gave it when its first file was loaded.
    ///
    /// Unique in a journal; another journal has another batch by the same number.
    BatchId
}

number! {
    /// Names a payment: one generation of a row, by the number that the journal gave it. What was loaded later has a greater number.
    ///
    /// Unique in a journal, over all of its batches. A gateway never hears it: to the gateway a payment is its
    /// [`PayerTransactionId`](super::PayerTransactionId).
    PaymentId
}

impl PaymentId {
    /// No payment: the number in evidence that is about a batch as a whole.
    pub const NONE: Self = Self::new(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_as_it_is_stored() {
        for number in [i64::MIN, -1, 0, 7, i64::MAX] {
            let id = PaymentId::new(number);
            assert_eq!(id.get(), number);
            assert_eq!(id.to_string(), number.to_string());
            assert_eq!(format!("{id:?}"), number.to_string(), "traces too");
            assert_eq!(format!("{id:>4}"), format!("{number:>4}"));
        }
    }

    #[test]
    fn what_came_later_is_greater() {
        assert!(Epoch::NONE < Epoch::new(1));
        assert!(PaymentId::NONE < PaymentId::new(1));
        assert!(PaymentId::new(9) < PaymentId::new(10));
    }
}
