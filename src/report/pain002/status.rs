//! What our states are in a pain.002, and the reasons that are told with them.

use crate::report::StateName;

/// The status of a transfer (`ExternalPaymentTransactionStatus1Code`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferStatus {
    /// Settled on the account of the creditor, as far as the gateway says so.
    Acsc,
    /// Accepted, and under way.
    Acsp,
    /// Open: not sent yet, or its outcome is unknown.
    Pdng,
    /// Not paid.
    Rjct,
}

impl TransferStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Acsc, Self::Acsp, Self::Pdng, Self::Rjct];

    /// Returns its code.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Acsc => "ACSC",
            Self::Acsp => "ACSP",
            Self::Pdng => "PDNG",
            Self::Rjct => "RJCT",
        }
    }
}

/// Returns the status of a transfer in one of our states.
///
/// What is in conflict may have been paid: it is neither settled nor rejected until a person has decided.
#[must_use]
pub fn status_of(state: StateName) -> TransferStatus {
    match state {
        StateName::Paid => TransferStatus::Acsc,
        StateName::Acknowledged | StateName::Delivered => TransferStatus::Acsp,
        StateName::Unpriced
        | StateName::Ready
        | StateName::Posting
        | StateName::InDoubt
        | StateName::Conflict => TransferStatus::Pdng,
        StateName::Failed
        | StateName::Rejected
        | StateName::Withdrawn
        | StateName::Skipped
        | StateName::Cancelled => TransferStatus::Rjct,
    }
}

/// Returns why a transfer is rejected (`ExternalStatusReason1Code`), where the gateway has given this status code (section 3); `None`
/// for a transfer that is not rejected.
#[must_use]
pub fn reason_of(state: StateName, code: Option<i64>) -> Option<&'static str> {
    match state {
        StateName::Cancelled | StateName::Withdrawn | StateName::Skipped => Some("DS02"),
        StateName::Failed => Some(match code {
            Some(109 | 110 | 120) => "AC01",
            Some(111) => "AM09",
            Some(115) => "AM11",
            Some(229) => "AM05",
            Some(230) => "AM04",
            Some(231 | 232) => "AM02",
            _ => NARRATIVE,
        }),
        StateName::Rejected => Some(NARRATIVE),
        _ => None,
    }
}

/// The reason is told in words.
const NARRATIVE: &str = "NARR";

/// How many transfers have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; TransferStatus::ALL.len()]);

impl Counts {
    /// Counts a transfer.
    pub fn add(&mut self, status: TransferStatus) {
        self.0[status as usize] += 1;
    }

    /// Returns how many have a status.
    #[must_use]
    pub fn of(&self, status: TransferStatus) -> u64 {
        self.0[status as usize]
    }

    /// Returns how many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the status of all of them together (`ExternalPaymentGroupStatus1Code`): the one that they have in common, or that a
    /// part of them has been accepted.
    #[must_use]
    pub fn group(&self) -> &'static str {
        use TransferStatus::{Acsc, Acsp};
        let common = TransferStatus::ALL
            .into_iter()
            .find(|status| self.of(*status) == self.total());
        match common {
            Some(status) => status.code(),
            // What is settled is accepted, too.
            None if self.of(Acsc) + self.of(Acsp) == self.total() => Acsp.code(),
            None => "PART",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_one_status_and_nothing_that_may_be_paid_is_rejected() {
        for (state, status, reason) in [
            (StateName::Unpriced, "PDNG", None),
            (StateName::Ready, "PDNG", None),
            (StateName::Posting, "PDNG", None),
            (StateName::InDoubt, "PDNG", None),
            (StateName::Acknowledged, "ACSP", None),
            (StateName::Delivered, "ACSP", None),
            (StateName::Paid, "ACSC", None),
            (StateName::Failed, "RJCT", Some("NARR")),
            (StateName::Rejected, "RJCT", Some("NARR")),
            (StateName::Withdrawn, "RJCT", Some("DS02")),
            (StateName::Skipped, "RJCT", Some("DS02")),
            (StateName::Cancelled, "RJCT", Some("DS02")),
            (StateName::Conflict, "PDNG", None),
        ] {
            assert_eq!(status_of(state).code(), status, "{state}");
            assert_eq!(reason_of(state, None), reason, "{state}");
        }
    }

    #[test]
    fn codes_of_the_gateway_are_reasons_of_a_rejection() {
        for (code, reason) in [
            (110, "AC01"),
            (120, "AC01"),
            (111, "AM09"),
            (115, "AM11"),
            (229, "AM05"),
            (230, "AM04"),
            (231, "AM02"),
            (232, "AM02"),
            (106, "NARR"),
            (999, "NARR"),
        ] {
            assert_eq!(
                reason_of(StateName::Failed, Some(code)),
                Some(reason),
                "{code}"
            );
            // The code of what is not rejected is no reason.
            assert_eq!(reason_of(StateName::Paid, Some(code)), None, "{code}");
        }
    }

    #[test]
    fn a_group_has_the_status_that_its_transfers_share() {
        use TransferStatus::{Acsc, Acsp, Pdng, Rjct};
        for (statuses, expected) in [
            (&[Acsc, Acsc][..], "ACSC"),
            (&[Acsp], "ACSP"),
            (&[Acsc, Acsp], "ACSP"),
            (&[Pdng, Pdng], "PDNG"),
            (&[Rjct], "RJCT"),
            (&[Acsc, Rjct], "PART"),
            (&[Pdng, Acsp], "PART"),
            (&[Pdng, Rjct], "PART"),
        ] {
            let mut counts = Counts::default();
            statuses.iter().for_each(|status| counts.add(*status));
            assert_eq!(counts.group(), expected, "{statuses:?}");
            assert_eq!(counts.total(), statuses.len() as u64);
        }
    }
}
