//! A payment as a statement can speak of it, and how its lines are found.

use crate::domain::{Country, Day, Money, Msisdn};
use crate::lifecycle::State;

/// Days that a line may be dated before its payment: clocks and zones differ.
pub const DAYS_BEFORE: i32 = 1;

/// Days that a line may be dated after its payment was last heard of: a settlement over a weekend.
pub const DAYS_AFTER: i32 = 5;

/// How a line of a statement was found to be about a payment, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchedBy {
    /// It names our identifier.
    Identifier,
    /// It names the gateway's.
    GatewayId,
    /// It names the receipt.
    Receipt,
    /// It has the amount and the recipient, and names nothing.
    AmountAndRecipient,
}

impl MatchedBy {
    /// All of them, the surest first.
    pub const ALL: [Self; 4] = [
        Self::Identifier,
        Self::GatewayId,
        Self::Receipt,
        Self::AmountAndRecipient,
    ];

    /// Returns whether the line can be about no other payment.
    #[must_use]
    pub fn is_proof(self) -> bool {
        self != Self::AmountAndRecipient
    }

    /// Returns it in words.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Identifier => "by our identifier",
            Self::GatewayId => "by the gateway's identifier",
            Self::Receipt => "by its receipt",
            Self::AmountAndRecipient => "by amount and recipient only",
        }
    }
}

/// One of our payments, as far as a statement can speak of it.
#[derive(Clone, Copy, Debug)]
pub struct PaymentView<'a> {
    /// Where it stands.
    pub state: State,
    /// Something of it may have reached the gateway.
    pub was_posted: bool,
    /// How much.
    pub money: Money,
    /// Its wallet, or the number beside its account.
    pub msisdn: Msisdn,
    /// Its account.
    pub account: &'a str,
    /// Its country.
    pub country: Country,
    /// No line about it is dated before.
    pub from: Day,
    /// A line with nothing but its amount and its recipient is not taken for it when it is dated later.
    pub to: Day,
    /// When it was last heard of.
    pub last: Day,
}

/// The days that a statement shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first.
    pub from: Day,
    /// The last.
    pub to: Day,
}

impl Period {
    /// Returns whether another statement shows some of the same days.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    /// Returns whether the statement should show what happened on a day.
    #[must_use]
    pub fn covers(&self, day: Day) -> bool {
        (self.from..=self.to).contains(&day)
    }
}
