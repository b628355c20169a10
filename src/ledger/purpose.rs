//! What a batch was loaded for: for its gateway, or as a rehearsal in the sandbox.
//!
//! A batch that the sandbox has taken looks paid and is not, and one that was only rehearsed must not keep anybody from being
//! paid. So a batch is bound at its load, and neither side counts for the other.

/// What a batch was loaded for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// An earlier release loaded it, and nothing of it was sent so far.
    #[default]
    Unknown,
    /// To be paid through its gateway.
    Gateway,
    /// To be paid through the sandbox: no money moves.
    Rehearsal,
}

/// What the identity of a sandbox begins with, where a batch keeps its gateway.
const SANDBOX: &str = "sandbox ";

impl Purpose {
    /// Returns the purpose of a command, by whether it says `--sandbox`.
    #[must_use]
    pub fn of_command(sandbox: bool) -> Self {
        match sandbox {
            true => Self::Rehearsal,
            false => Self::Gateway,
        }
    }

    /// Returns the purpose of whoever sends to this gateway.
    #[must_use]
    pub fn of_gateway(identity: &str) -> Self {
        Self::of_command(identity.starts_with(SANDBOX))
    }

    /// Returns the purpose of a batch: as it was loaded, or, where an earlier release did that, as it was run.
    #[must_use]
    pub fn of_batch(loaded_for: Self, gateway: Option<&str>) -> Self {
        match loaded_for {
            Self::Unknown => gateway.map_or(Self::Unknown, Self::of_gateway),
            known => known,
        }
    }

    /// Returns whether a command of the other purpose may have the batch, and whether the rows of one count for the other.
    #[must_use]
    pub fn agrees(self, other: Self) -> bool {
        self == other || self == Self::Unknown || other == Self::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::Purpose::{Gateway, Rehearsal, Unknown};
    use super::*;

    #[test]
    fn a_batch_is_what_it_was_loaded_for_and_an_older_one_what_it_was_run_as() {
        let sandbox = Some("sandbox 0123");
        let gateway = Some("https://gateway.example/v1/global-api/payments");
        for (loaded_for, pinned, expected) in [
            (Gateway, None, Gateway),
            (Gateway, gateway, Gateway),
            // What was written down at the load is not taken back by what happened later.
            (Gateway, sandbox, Gateway),
            (Rehearsal, None, Rehearsal),
            (Rehearsal, sandbox, Rehearsal),
            (Rehearsal, gateway, Rehearsal),
            (Unknown, None, Unknown),
            (Unknown, sandbox, Rehearsal),
            (Unknown, gateway, Gateway),
        ] {
            let found = Purpose::of_batch(loaded_for, pinned);
            assert_eq!(found, expected, "{loaded_for:?} {pinned:?}");
        }
    }

    #[test]
    fn a_rehearsal_and_a_payment_never_agree() {
        for (a, b, expected) in [
            (Gateway, Gateway, true),
            (Rehearsal, Rehearsal, true),
            (Gateway, Rehearsal, false),
            (Unknown, Gateway, true),
            (Unknown, Rehearsal, true),
            (Unknown, Unknown, true),
        ] {
            assert_eq!(a.agrees(b), expected, "{a:?} {b:?}");
            assert_eq!(b.agrees(a), expected, "{b:?} {a:?}");
        }
        assert_eq!(Purpose::of_command(true), Rehearsal);
        assert_eq!(Purpose::of_command(false), Gateway);
    }
}
