//! What a postpaid service asks of the amount of a row, compared with its bill.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_allows_what_its_name_says() {
        for (rule, under, same, over) in [
            (BillAmount::Exact, false, true, false),
            (BillAmount::AtMost, true, true, false),
            (BillAmount::Any, true, true, true),
        ] {
            let due = Amount::from_minor(500).unwrap();
            for (minor, allowed) in [(499, under), (500, same), (501, over)] {
                let amount = Amount::from_minor(minor).unwrap();
                assert_eq!(rule.allows(amount, due), allowed, "{rule:?} {minor}");
            }
        }
    }
}
