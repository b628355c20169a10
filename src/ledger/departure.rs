//! Whether a payment may be posted, for the first time or again: the one place where that is decided.
//!
//! Asked of every payment that is due, confirmed and open to leave: at its claim, and, where anything may have been heard since, once
//! more just before it leaves. When it is due is said by [`super::schedule`], [`super::calendar`] and [`super::limits`]; what each
//! fact comes to, by the rule that is named beside it. A store looks the facts up, each of them no sooner than it is asked for: most
//! payments cost a look or two.

use super::generations::Order;
use crate::lifecycle::PaymentState;

/// What the answer rests on, of one payment.
pub trait Facts {
    /// Words for what does not fit the chain of evidence.
    type Altered;
    /// Another payment of the same debt.
    type Debt;
    /// Why a fact could not be looked up.
    type Error;

    /// What of the payment, or of what it rests on, is not as its evidence says ([`super::intact`]).
    ///
    /// # Errors
    /// As the store says.
    fn altered(&mut self) -> Result<Option<Self::Altered>, Self::Error>;

    /// What the generations of its row let it do ([`super::generations::order`]), a recovery that is not done included.
    ///
    /// # Errors
    /// As the store says.
    fn order(&mut self) -> Result<Order, Self::Error>;

    /// It may have left before, and the "not found" that it would be posted on is too old ([`super::stale::is_stale`]).
    ///
    /// # Errors
    /// As the store says.
    fn rests_on_stale(&mut self) -> Result<bool, Self::Error>;

    /// A payment of its debt in another load that had failed, and is paid by now, or may be ([`super::repeats`]).
    ///
    /// # Errors
    /// As the store says.
    fn paid_elsewhere(&mut self) -> Result<Option<Self::Debt>, Self::Error>;

    /// With it, no more leaves than was shown when the run was confirmed ([`super::confirmation::Allowance`]). Asked last, of a payment
    /// that leaves: it is taken out of what was shown.
    ///
    /// # Errors
    /// Words for what does not fit.
    fn was_shown(&mut self) -> Result<Result<(), Self::Altered>, Self::Error>;
}

/// What becomes of a payment that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure<A, D> {
    /// It leaves.
    Leaves,
    /// It stays: something about its row is to be heard first, or it has ended.
    Stays(Order),
    /// It stays until the gateway has been asked about it once more.
    IsAskedAgain,
    /// Nothing of the batch leaves: somebody has edited the journal, or more would leave than was shown.
    Altered(A),
    /// Nothing of the batch leaves: its debt may be paid elsewhere.
    PaidElsewhere(D),
}

/// What becomes of a payment that is due, in words of a store's facts.
pub type DepartureOf<F> = Departure<<F as Facts>::Altered, <F as Facts>::Debt>;

/// Returns what becomes of a payment that is due.
///
/// # Errors
/// Of the facts.
pub fn departure<F: Facts>(facts: &mut F) -> Result<DepartureOf<F>, F::Error> {
    if let Some(altered) = facts.altered()? {
        return Ok(Departure::Altered(altered));
    }
    let order = facts.order()?;
    if order != Order::Leave {
        return Ok(Departure::Stays(order));
    }
    if facts.rests_on_stale()? {
        return Ok(Departure::IsAskedAgain);
    }
    if let Some(debt) = facts.paid_elsewhere()? {
        return Ok(Departure::PaidElsewhere(debt));
    }
    Ok(match facts.was_shown()? {
        Ok(()) => Departure::Leaves,
        Err(beyond) => Departure::Altered(beyond),
    })
}

/// Returns whether a payment is looked at once more just before it leaves: something may be heard between its claim and then, of what may
/// have arrived before, of another generation of its row, or of a failed row of its debt (`is_watched`).
#[must_use]
pub fn is_looked_at_last(life: &PaymentState, has_generations: bool, is_watched: bool) -> bool {
    life.is_exposed() || has_generations || is_watched
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts, and which of them were asked for.
    struct Given {
        altered: Option<&'static str>,
        order: Order,
        stale: bool,
        debt: Option<&'static str>,
        shown: bool,
        asked: Vec<&'static str>,
    }

    impl Facts for Given {
        type Altered = &'static str;
        type Debt = &'static str;
        type Error = std::convert::Infallible;

        fn altered(&mut self) -> Result<Option<&'static str>, Self::Error> {
            self.asked.push("altered");
            Ok(self.altered)
        }

        fn order(&mut self) -> Result<Order, Self::Error> {
            self.asked.push("order");
            Ok(self.order)
        }

        fn rests_on_stale(&mut self) -> Result<bool, Self::Error> {
            self.asked.push("stale");
            Ok(self.stale)
        }

        fn paid_elsewhere(&mut self) -> Result<Option<&'static str>, Self::Error> {
            self.asked.push("debt");
            Ok(self.debt)
        }

        fn was_shown(&mut self) -> Result<Result<(), &'static str>, Self::Error> {
            self.asked.push("shown");
            Ok(if self.shown { Ok(()) } else { Err("beyond") })
        }
    }

    fn clean() -> Given {
        Given {
            altered: None,
            order: Order::Leave,
            stale: false,
            debt: None,
            shown: true,
            asked: Vec::new(),
        }
    }

    fn of(mut given: Given) -> (Departure<&'static str, &'static str>, usize) {
        let Ok(found) = departure(&mut given);
        let all = ["altered", "order", "stale", "debt", "shown"];
        assert_eq!(given.asked, all[..given.asked.len()], "in their order");
        (found, given.asked.len())
    }

    #[test]
    fn a_payment_leaves_where_nothing_at_all_speaks_against_it() {
        assert_eq!(of(clean()), (Departure::Leaves, 5));
        // Everything that speaks against it keeps it by itself, and of two it is the graver one that is told.
        let every = [
            Order::Wait(0),
            Order::Ask(1),
            Order::UntilDone,
            Order::Withdraw(0),
            Order::OnlyAsk(0),
            Order::Nothing,
        ];
        for altered in [None, Some("edited")] {
            for order in every.into_iter().chain([Order::Leave]) {
                for (stale, debt, shown) in (0..8).map(|n| {
                    let debt = (n & 2 != 0).then_some("paid");
                    (n & 1 != 0, debt, n & 4 != 0)
                }) {
                    let given = Given {
                        altered,
                        order,
                        stale,
                        debt,
                        shown,
                        ..clean()
                    };
                    let expected = match (altered, order, stale, debt, shown) {
                        (Some(words), ..) => (Departure::Altered(words), 1),
                        (None, Order::Leave, false, None, true) => (Departure::Leaves, 5),
                        (None, Order::Leave, false, None, false) => {
                            (Departure::Altered("beyond"), 5)
                        }
                        (None, Order::Leave, false, Some(debt), _) => {
                            (Departure::PaidElsewhere(debt), 4)
                        }
                        (None, Order::Leave, true, ..) => (Departure::IsAskedAgain, 3),
                        (None, order, ..) => (Departure::Stays(order), 2),
                    };
                    assert_eq!(of(given), expected);
                }
            }
        }
    }

    #[test]
    fn what_may_be_heard_of_meanwhile_is_looked_at_once_more() {
        let exposed = PaymentState {
            exposures: 1,
            ..PaymentState::NEW
        };
        for (life, has_generations, is_watched, expected) in [
            (PaymentState::NEW, false, false, false),
            (exposed, false, false, true),
            (PaymentState::NEW, true, false, true),
            (PaymentState::NEW, false, true, true),
        ] {
            let found = is_looked_at_last(&life, has_generations, is_watched);
            assert_eq!(found, expected, "{life:?} {has_generations} {is_watched}");
        }
    }
}
