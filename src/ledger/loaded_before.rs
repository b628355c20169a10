//! A batch that was loaded before: what became of it decides what a person is told who brings its file again.

/// What became of the payments of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Became {
    /// Paid.
    pub paid: u64,
    /// Left, and may be paid: under way, unknown, at the gateway, in conflict.
    pub left: u64,
    /// Waiting to leave.
    pub waiting: u64,
    /// Failed.
    pub failed: u64,
    /// Withdrawn before they left.
    pub cancelled: u64,
}

/// What is true of everybody in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Withdrawn as a whole: nobody was paid, and no run will pay anybody.
    Cancelled,
    /// Each has ended, and nobody was paid.
    NobodyPaid,
    /// Nobody was paid so far; a run will pay those who wait.
    NobodyYet,
    /// Somebody was paid, or may have been.
    SomebodyPaid,
}

impl Became {
    /// Returns how many payments they are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.paid + self.left + self.waiting + self.failed + self.cancelled
    }

    /// Returns what is true of all of them.
    #[must_use]
    pub fn told(&self) -> Before {
        match *self {
            Self { paid, left, .. } if paid + left > 0 => Before::SomebodyPaid,
            Self { waiting, .. } if waiting > 0 => Before::NobodyYet,
            Self {
                failed: 0,
                cancelled,
                ..
            } if cancelled > 0 => Before::Cancelled,
            _ => Before::NobodyPaid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_said_to_be_unpaid_who_was_or_may_be_paid() {
        let table = [
            ([0, 0, 0, 0, 5], Before::Cancelled),
            ([0, 0, 0, 1, 4], Before::NobodyPaid),
            ([0, 0, 0, 5, 0], Before::NobodyPaid),
            ([0, 0, 0, 0, 0], Before::NobodyPaid),
            ([0, 0, 1, 0, 4], Before::NobodyYet),
            ([0, 0, 5, 0, 0], Before::NobodyYet),
            ([0, 1, 0, 0, 4], Before::SomebodyPaid),
            ([1, 0, 0, 0, 4], Before::SomebodyPaid),
            ([1, 1, 1, 1, 1], Before::SomebodyPaid),
        ];
        for ([paid, left, waiting, failed, cancelled], expected) in table {
            let became = Became {
                paid,
                left,
                waiting,
                failed,
                cancelled,
            };
            assert_eq!(became.told(), expected, "{became:?}");
        }
    }
}
