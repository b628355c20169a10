//! Why a payment waits for a limit.

/// Why a payment may not leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Its recipient is on the list of those who are not paid.
    Denied,
    /// Its recipient is not on the list of those who are paid.
    NotAllowed,
    /// Its amount is above a ceiling that it can never keep.
    Payment,
    /// Its batch has been paid up to its ceiling.
    Batch,
    /// Its recipient was never paid before, and it was loaded too short a time ago.
    NewRecipient,
    /// Its recipient has been paid up to the ceiling of this month.
    RecipientMonth,
    /// Its recipient has been paid up to the ceiling of today.
    RecipientDay,
    /// Its service has paid up to the ceiling of this month.
    ServiceMonth,
    /// Its service has paid up to the ceiling of today.
    ServiceDay,
}

impl Reason {
    /// All of them, with the names by which the journal keeps them.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Denied, "deny"),
        (Self::NotAllowed, "allow"),
        (Self::Payment, "payment"),
        (Self::Batch, "batch"),
        (Self::NewRecipient, "new_recipient_wait"),
        (Self::RecipientMonth, "recipient_month"),
        (Self::RecipientDay, "recipient_day"),
        (Self::ServiceMonth, "service_month"),
        (Self::ServiceDay, "service_day"),
    ];

    /// Returns its name, which is that of its key in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(reason, _)| *reason == self);
        found.map_or("", |(_, name)| name)
    }

    /// Reads it back.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(reason, _)| *reason)
    }

    /// Returns whether it passes with time alone.
    #[must_use]
    pub fn passes(self) -> bool {
        match self {
            Self::Denied | Self::NotAllowed | Self::Payment | Self::Batch => false,
            Self::NewRecipient
            | Self::RecipientMonth
            | Self::RecipientDay
            | Self::ServiceMonth
            | Self::ServiceDay => true,
        }
    }
}
