//! What becomes of a row once one of its payments has moved: of its newest generation, and of the questions about those that have ended.

use super::failure::has_ended_unpaid;
use super::generations::Order;
use super::withdrawal::is_due;
use crate::lifecycle::{PaymentState, State};

/// What becomes of the newest generation of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newest {
    /// It ends: the earlier one at this place is paid.
    Ends(usize),
    /// It is kept from being claimed.
    IsHeld,
    /// It may be claimed again.
    IsFree,
    /// Nothing: it is under way, or has ended.
    Stays,
}

/// What becomes of the questions about payments that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Questions {
    /// The earlier generations are asked about: the newest one waits for the answers.
    AskEarlier,
    /// Those that may be paid all the same are asked about, though nothing waits for the answer; the others are not.
    AskInDoubt,
    /// Nobody is asked.
    Forget,
    /// Nothing.
    Leave,
}

/// Returns what becomes of a row with a retry, of which the newest generation stands at `newest`. `is_run`: a run moved it, which asks
/// whatever is to be asked first; what an operator orders is judged at the claim.
#[must_use]
pub fn settling(order: Order, newest: State, is_run: bool) -> (Newest, Questions) {
    let newest = match (newest, order) {
        (State::Ready, Order::Withdraw(paid)) => Newest::Ends(paid),
        (State::Ready, Order::Wait(_) | Order::UntilDone) => Newest::IsHeld,
        (State::Ready, Order::Ask(_)) if is_run => Newest::IsHeld,
        (State::Ready, Order::Ask(_) | Order::Leave | Order::OnlyAsk(_) | Order::Nothing) => {
            Newest::IsFree
        }
        _ => Newest::Stays,
    };
    let questions = match order {
        Order::Ask(_) if is_run => Questions::AskEarlier,
        Order::Nothing => Questions::AskInDoubt,
        Order::Ask(_)
        | Order::Leave
        | Order::Wait(_)
        | Order::UntilDone
        | Order::Withdraw(_)
        | Order::OnlyAsk(_) => Questions::Forget,
    };
    (newest, questions)
}

/// Returns what becomes of the question about a payment without a retry, which stood at `from`. Where it has ended unpaid, and more is said
/// of it, it may have to be asked about again.
#[must_use]
pub fn settling_alone(from: State, life: &PaymentState) -> Questions {
    let had_ended = has_ended_unpaid(from);
    // What was posted once may have been spoken of before it was withdrawn.
    let is_withdrawn = life.state == State::Cancelled && life.attempts > 0;
    if had_ended && life.state == from || is_withdrawn {
        Questions::AskInDoubt
    } else if had_ended {
        Questions::Forget
    } else {
        Questions::Leave
    }
}

/// Returns whether a move of a payment, which stood at `from`, concerns more than itself: other generations of its row, a word that it had
/// ended by, or an order to withdraw it.
#[must_use]
pub fn concerns_more(has_generations: bool, from: State, life: &PaymentState) -> bool {
    has_generations || from.is_finished() || is_due(life)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_generation_is_held_as_long_as_an_earlier_one_may_pay() {
        use Newest::{Ends, IsFree, IsHeld, Stays};
        use Questions::{AskEarlier, AskInDoubt, Forget};
        // The order, then what becomes of one that is ready: in a run, and after an order.
        for (order, in_run, ordered) in [
            (Order::Leave, (IsFree, Forget), (IsFree, Forget)),
            (Order::Wait(1), (IsHeld, Forget), (IsHeld, Forget)),
            (Order::UntilDone, (IsHeld, Forget), (IsHeld, Forget)),
            (Order::Ask(0), (IsHeld, AskEarlier), (IsFree, Forget)),
            (Order::Withdraw(2), (Ends(2), Forget), (Ends(2), Forget)),
        ] {
            assert_eq!(settling(order, State::Ready, true), in_run, "{order:?}");
            assert_eq!(settling(order, State::Ready, false), ordered, "{order:?}");
            // What is under way is not touched, whatever is asked beside it.
            let (newest, questions) = settling(order, State::InDoubt, true);
            assert_eq!((newest, questions), (Stays, in_run.1), "{order:?}");
        }
        let under_way = settling(Order::OnlyAsk(0), State::Acknowledged, true);
        assert_eq!(under_way, (Stays, Forget));
        for is_run in [true, false] {
            let ended = settling(Order::Nothing, State::Failed, is_run);
            assert_eq!(ended, (Stays, AskInDoubt));
        }
    }

    #[test]
    fn what_ended_unpaid_is_asked_about_again_once_more_is_said_of_it() {
        use Questions::{AskInDoubt, Forget, Leave};
        for (from, to, attempts, expected) in [
            (State::Failed, State::Failed, 1, AskInDoubt),
            (State::Cancelled, State::Cancelled, 0, AskInDoubt),
            // It ended otherwise, or a person decides.
            (State::Failed, State::Conflict, 1, Forget),
            (State::Cancelled, State::Conflict, 0, Forget),
            // It was posted once, and is withdrawn now.
            (State::Ready, State::Cancelled, 1, AskInDoubt),
            (State::Ready, State::Cancelled, 0, Leave),
            (State::Acknowledged, State::Failed, 1, Leave),
            (State::Paid, State::Paid, 1, Leave),
            (State::Paid, State::Conflict, 1, Leave),
        ] {
            let life = PaymentState {
                state: to,
                attempts,
                ..PaymentState::NEW
            };
            let found = settling_alone(from, &life);
            assert_eq!(found, expected, "{from:?} {to:?} {attempts}");
        }
    }

    #[test]
    fn most_moves_concern_their_payment_alone() {
        let of = |state, attempts| PaymentState {
            state,
            attempts,
            ..PaymentState::NEW
        };
        for (has_generations, from, life, expected) in [
            (false, State::Posting, of(State::Acknowledged, 1), false),
            (false, State::InDoubt, of(State::Ready, 1), false),
            (true, State::Posting, of(State::Acknowledged, 1), true),
            (false, State::Failed, of(State::Failed, 1), true),
            (false, State::Paid, of(State::Paid, 1), true),
            // An earlier journal may have posted it; its withdrawal may be ordered.
            (false, State::InDoubt, of(State::Ready, 0), true),
        ] {
            let found = concerns_more(has_generations, from, &life);
            assert_eq!(found, expected, "{has_generations} {from:?} {life:?}");
        }
    }
}
