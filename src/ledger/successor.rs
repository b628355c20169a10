//! Whether the payment that stands in the place of another one is the one that may: a retry repeats its instruction under the next
//! identifier; a corrected row has one that comes from what it says.

/// What a payment is to the one whose place it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successor {
    /// Its generation is the next one.
    pub is_next: bool,
    /// It is the same instruction.
    pub repeats: bool,
    /// It is of the same row, whatever was mended in it.
    pub corrects: bool,
    /// Its identifier is that of a retry.
    pub has_retrys_identifier: bool,
    /// Its identifier is that of a correction with what it says.
    pub has_corrections_identifier: bool,
    /// Whom the row is of was forgotten, and with it what identifiers come from.
    pub is_forgotten: bool,
}

impl Successor {
    /// Returns whether it takes the place of the payment rightly: it is the same instruction, or the same row corrected.
    #[must_use]
    pub fn takes_its_place(self) -> bool {
        // What the correction said is forgotten; it is still of the same row.
        let is_derived = self.has_corrections_identifier || self.is_forgotten;
        self.is_next && (self.repeats || self.corrects && is_derived)
    }

    /// Returns whether its identifier comes from the payment.
    #[must_use]
    pub fn is_derived(self) -> bool {
        self.has_retrys_identifier || self.has_corrections_identifier || self.is_forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_repeats_a_row_and_a_correction_names_it() {
        const NEXT: Successor = Successor {
            is_next: true,
            repeats: false,
            corrects: false,
            has_retrys_identifier: false,
            has_corrections_identifier: false,
            is_forgotten: false,
        };
        let retry = Successor {
            repeats: true,
            corrects: true,
            has_retrys_identifier: true,
            ..NEXT
        };
        let correction = Successor {
            corrects: true,
            has_corrections_identifier: true,
            ..NEXT
        };
        let forgotten = Successor {
            corrects: true,
            is_forgotten: true,
            ..NEXT
        };
        for (successor, takes_its_place, is_derived) in [
            (retry, true, true),
            (correction, true, true),
            (forgotten, true, true),
            // Another row altogether, whatever it is called.
            (NEXT, false, false),
            (
                Successor {
                    corrects: false,
                    ..correction
                },
                false,
                true,
            ),
            (
                Successor {
                    corrects: false,
                    ..forgotten
                },
                false,
                true,
            ),
            // What it says is not what its identifier came from.
            (
                Successor {
                    has_corrections_identifier: false,
                    ..correction
                },
                false,
                false,
            ),
            (
                Successor {
                    has_retrys_identifier: false,
                    ..retry
                },
                true,
                false,
            ),
            (
                Successor {
                    is_next: false,
                    ..retry
                },
                false,
                true,
            ),
            (
                Successor {
                    is_next: false,
                    ..correction
                },
                false,
                true,
            ),
        ] {
            let found = (successor.takes_its_place(), successor.is_derived());
            assert_eq!(found, (takes_its_place, is_derived), "{successor:?}");
        }
    }
}
