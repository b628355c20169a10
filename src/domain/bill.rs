//! What a postpaid service asks of the amount of a row, compared with its bill.

use std::fmt;
use std::str::FromStr;

use super::Amount;

/// How the amount of a row relates to what its bill says is due (`[services.NAME]`, `bill_amount`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BillAmount {
    /// It must be the due amount.
    Exact,
    /// It must not exceed the due amount.
    AtMost,
    /// Any will do: no bill is asked for.
    Any,
}

impl BillAmount {
    /// Every rule with its name in the configuration.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Exact, "exact"),
        (Self::AtMost, "at_most"),
        (Self::Any, "any"),
    ];

    /// Returns whether a row of this amount may be paid when so much is due.
    #[must_use]
    pub fn allows(self, amount: Amount, due: Amount) -> bool {
        match self {
            Self::Exact => amount == due,
            Self::AtMost => amount <= due,
            Self::Any => true,
        }
    }

    /// Returns whether a row that has an amount needs its bill.
    #[must_use]
    pub fn asks(self) -> bool {
        self != Self::Any
    }
}

/// The text names no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of exact, at_most, any")]
pub struct UnknownBillAmount;

impl FromStr for BillAmount {
    type Err = UnknownBillAmount;

    fn from_str(text: &str) -> Result<Self, UnknownBillAmount> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(rule, _)| *rule)
            .ok_or(UnknownBillAmount)
    }
}

impl fmt::Display for BillAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(
            Self::ALL
                .iter()
                .find(|(rule, _)| rule == self)
                .map_or("", |(_, name)| name),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_allows_what_its_name_says() {
        for (rule, under, same, over) in [
            ("exact", false, true, false),
            ("at_most", true, true, false),
            ("any", true, true, true),
        ] {
            let rule: BillAmount = rule.parse().unwrap();
            let due = Amount::from_minor(500).unwrap();
            for (minor, allowed) in [(499, under), (500, same), (501, over)] {
                let amount = Amount::from_minor(minor).unwrap();
                assert_eq!(rule.allows(amount, due), allowed, "{rule} {minor}");
            }
        }
        assert_eq!("roughly".parse::<BillAmount>(), Err(UnknownBillAmount));
    }
}
