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
    /// Names a load: a file of rows that was taken into a batch, by the number that the journal gave it. What was loaded later has a
    /// greater number.
    ///
    /// Unique in a journal, over all of its batches.
    LoadId
}

impl LoadId {
    /// No load: comes before the first one.
    pub const NONE: Self = Self::new(0);
    /// No load: comes after every one.
    pub const AFTER_ALL: Self = Self::new(i64::MAX);

    /// In the place of a load that rows look like: the very file they are in.
    pub const SAME_FILE: Self = Self::new(0);
    /// The same file, by rows that may wait for one bill.
    pub const SAME_BILL: Self = Self::new(-1);
    /// The same file, by references that read alike.
    pub const SAME_REFERENCE: Self = Self::new(-2);
    /// Several people are paid at one number.
    pub const SAME_NUMBER: Self = Self::new(-3);

    /// Returns whether it stands for the very file that is being loaded.
    #[must_use]
    pub const fn is_same_file(self) -> bool {
        self.0 <= Self::SAME_FILE.0
    }
}

number! {
    /// Names a row of evidence, by its place in the journal: what came later has a greater number.
    ///
    /// Unique in a journal; the rows of all batches share the numbers, and each batch has a chain of its own.
    EvidenceId
}

impl EvidenceId {
    /// No row: comes before the first one.
    pub const NONE: Self = Self::new(0);
    /// No row: comes after every one.
    pub const AFTER_ALL: Self = Self::new(i64::MAX);

    /// Returns the number of the row that comes next: the journal leaves none out.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
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
    /// No payment: comes after every one.
    pub const AFTER_ALL: Self = Self::new(i64::MAX);

    /// Returns the number before this one.
    #[must_use]
    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Returns the number behind this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

number! {
    /// Names what a bill said, by the number that the journal gave it. What was said later has a greater number.
    ///
    /// Unique in a journal, over all of its batches.
    BillId
}

impl BillId {
    /// No bill: comes before the first one.
    pub const NONE: Self = Self::new(0);
    /// No bill: comes after every one.
    pub const AFTER_ALL: Self = Self::new(i64::MAX);
}

number! {
    /// Names a policy that evidence was judged by, by the number that the journal gave it.
    ///
    /// Unique in a journal: all batches that were judged alike share a number.
    PolicyId
}

number! {
    /// Names a text that gateways say again and again, by the number that the journal gave it.
    ///
    /// Unique in a journal, over all of its batches; a text that was not heard of late may have several numbers.
    PhraseId
}

number! {
    /// Names a recovery, by the number that the journal gave it when it was noticed. What was noticed later has a greater number.
    ///
    /// Unique in a journal: a recovery is about all of its batches.
    RecoveryId
}

number! {
    /// Names an order of a person that a copy must not forget, by its place in the journal: what was ordered later has a greater
    /// number.
    ///
    /// Unique in a journal, over all of its batches.
    OrderId
}

impl OrderId {
    /// No order: comes before the first one.
    pub const NONE: Self = Self::new(0);
}

number! {
    /// Names a notice, by its place in the journal: what was made later has a greater number.
    ///
    /// Unique in a journal. A receiver never hears it: to the receiver a notice has an identifier of its own.
    NoticeId
}

number! {
    /// Names rows that a person is shown before they are paid, by their place in the journal.
    ///
    /// Unique in a journal, over all of its batches.
    AlikeId
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
        assert!(LoadId::NONE < LoadId::new(1) && LoadId::new(i64::MAX - 1) < LoadId::AFTER_ALL);
        assert!(EvidenceId::NONE < EvidenceId::new(1));
        assert!(EvidenceId::new(i64::MAX - 1) < EvidenceId::AFTER_ALL);
        assert!(BillId::NONE < BillId::new(1) && BillId::new(i64::MAX - 1) < BillId::AFTER_ALL);
        assert!(OrderId::NONE < OrderId::new(1));
    }

    #[test]
    fn what_stands_for_the_file_itself_is_no_load_of_the_journal() {
        let marks = [
            LoadId::SAME_FILE,
            LoadId::SAME_BILL,
            LoadId::SAME_REFERENCE,
            LoadId::SAME_NUMBER,
        ];
        assert_eq!(
            marks.map(LoadId::get),
            [0, -1, -2, -3],
            "temporary tables sort by them"
        );
        assert!(marks.into_iter().all(LoadId::is_same_file));
        assert!(!LoadId::new(1).is_same_file());
        assert!(PaymentId::new(9) < PaymentId::new(10));
    }
}
