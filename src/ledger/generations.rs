//! Generations of a row: a payment that failed, its retry under an identifier of its own, the retry of that.
//!
//! At most one of them may be on its way or paid. A "failed" is taken back now and then: by a late callback, by a bank
//! statement, by a person. So whether a generation may leave is asked at its claim, just before it leaves, and before each
//! repeat, of all generations before it.

use std::time::Duration;

use crate::domain::{Money, PayerTransactionId, Reference};
use crate::lifecycle::{Class, PaymentState, State};

/// An earlier generation of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Where it stands.
    pub state: State,
    /// Who says so.
    pub word: Word,
    /// The gateway could be asked about it once, whatever the settings are now.
    pub could_ask: bool,
}

/// Who says that a generation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The gateway.
    Gateway,
    /// A person, and the gateway has not agreed since the newest generation was ordered. `expressly`: although it may have
    /// been accepted.
    Person {
        /// By the second word that this takes.
        expressly: bool,
    },
    /// A person, and the gateway has agreed since then, or the person has said expressly since then that it never will.
    Both,
    /// The gateway said so, and has spoken of it otherwise since.
    TakenBack,
    /// A person, and the batch was sent to another place since: who is asked now knows nothing of it. Only a person's word counts, given
    /// expressly since.
    Elsewhere {
        /// Somebody has spoken of it otherwise since.
        taken_back: bool,
    },
}

impl Word {
    /// Returns whether the gateway is asked about a generation that ended by this word, before a retry of its row leaves.
    #[must_use]
    pub fn is_asked_about(self) -> bool {
        match self {
            Self::Person { .. } | Self::TakenBack => true,
            // The answer would be worth nothing.
            Self::Elsewhere { .. } => false,
            Self::Gateway | Self::Both => false,
        }
    }

    /// Returns whether the payment may have been paid all the same, as somebody has spoken of it otherwise since it failed.
    #[must_use]
    pub fn is_taken_back(self) -> bool {
        match self {
            Self::TakenBack => true,
            Self::Elsewhere { taken_back } => taken_back,
            Self::Gateway | Self::Both | Self::Person { .. } => false,
        }
    }
}

/// What a generation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Leave, when it is ready and due.
    Leave,
    /// Wait until it is known what became of the earlier one at this place.
    Wait(usize),
    /// Wait until the gateway has been asked about the earlier one at this place: a person decided that it failed, or what the
    /// gateway said of it is worth nothing any more.
    Ask(usize),
    /// Wait until the recovery of the journal is declared done ([`super::recovery::waits_until_done`]).
    UntilDone,
    /// Never leave again: the earlier one at this place is paid. It is ready, so that nothing of it is under way.
    Withdraw(usize),
    /// Never leave again, for the same reason. It may have left, and is asked about like any other.
    OnlyAsk(usize),
    /// Nothing: it has ended.
    Nothing,
}

/// Returns what the newest generation may do. `can_ask`: the deployment has a status query.
#[must_use]
pub fn order(earlier: &[Earlier], own: &PaymentState, can_ask: bool) -> Order {
    let place = |of: fn(&Earlier) -> bool| earlier.iter().position(of);
    if own.state.is_finished() {
        return Order::Nothing;
    }
    if let Some(paid) = place(|earlier| earlier.state == State::Paid) {
        return match own.state {
            State::Ready => Order::Withdraw(paid),
            _ => Order::OnlyAsk(paid),
        };
    }
    if let Some(open) = place(|earlier| !did_not_pay(earlier.state)) {
        return Order::Wait(open);
    }
    let failed = || (0..).zip(earlier).filter(|(_, e)| e.state == State::Failed);
    let elsewhere = failed().find(|(_, e)| matches!(e.word, Word::Elsewhere { .. }));
    if let Some((place, _)) = elsewhere {
        return Order::Wait(place);
    }
    if can_ask {
        let asked = failed().find(|(_, e)| e.word.is_asked_about());
        return asked.map_or(Order::Leave, |(place, _)| Order::Ask(place));
    }
    let waits = failed().find(|(_, earlier)| match earlier.word {
        Word::Gateway | Word::Both => false,
        // Where nobody could ever be asked, the person who decided has said so expressly.
        Word::Person { expressly } => earlier.could_ask && !expressly,
        Word::TakenBack | Word::Elsewhere { .. } => true,
    });
    waits.map_or(Order::Leave, |(place, _)| Order::Wait(place))
}

fn did_not_pay(state: State) -> bool {
    matches!(state, State::Failed | State::Cancelled)
}

/// Returns whether a status reply agrees with the person who decided that a payment had failed. `patient`: the time to wait
/// for the gateway's end of it is over.
#[must_use]
pub fn agrees(said: Class, patient: bool) -> bool {
    match said {
        Class::Failed | Class::Refused | Class::NoFloat | Class::NotFound => true,
        // It holds what it will not end; the person knew, and decided all the same.
        Class::Acknowledged | Class::Delivered => patient,
        Class::Paid | Class::Duplicate | Class::InDoubt => false,
    }
}

/// Returns whether asking has gone on for so long that what the gateway still holds, it will not end.
#[must_use]
pub fn is_patient(waited: Duration, give_up_after: Duration) -> bool {
    waited >= give_up_after
}

/// Returns which generation stands for the row in every count and report. There is at least one.
#[must_use]
pub fn stands_for(states: &[State]) -> usize {
    let last = states.len().saturating_sub(1);
    let open = |state: &State| !state.is_finished() || *state == State::Conflict;
    // What is still open needs the run, or a person, whatever else is known of the row.
    if states.last().is_none_or(open) {
        return last;
    }
    let newest = |wanted: State| states.iter().rposition(|state| *state == wanted);
    newest(State::Paid)
        .or_else(|| newest(State::Conflict))
        .unwrap_or(last)
}

/// Where a row is counted: which of its generations stands for it, and where that one stands.
pub type Counted = (usize, State);

/// Returns where a row was counted before the generation at `moved` left `from`, and where it is counted now.
#[must_use]
pub fn counted(states: &[State], moved: Option<usize>, from: State) -> (Counted, Counted) {
    let at = |states: &[State]| {
        let place = stands_for(states);
        (place, states[place])
    };
    let mut before = states.to_vec();
    if let Some(moved) = moved {
        before[moved] = from;
    }
    (at(&before), at(states))
}

/// Returns whether the newest generation may have a successor.
#[must_use]
pub fn may_be_retried(states: &[State]) -> bool {
    states.split_last().is_some_and(|(newest, earlier)| {
        *newest == State::Failed && earlier.iter().all(|state| did_not_pay(*state))
    })
}

/// How often a row was paid, when that is more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twice {
    /// So many of its generations are paid.
    Paid(usize),
    /// The gateway has said "paid" of so many, and the opposite too of some.
    Said(usize),
}

/// Returns whether the gateway paid a row more than once, against its own word.
#[must_use]
pub fn paid_twice(states: &[State]) -> Option<Twice> {
    let count = |wanted: State| states.iter().filter(|state| **state == wanted).count();
    let (paid, conflicts) = (count(State::Paid), count(State::Conflict));
    match (paid, paid + conflicts) {
        (_, 0 | 1) => None,
        (paid, all) if paid == all => Some(Twice::Paid(all)),
        (_, all) => Some(Twice::Said(all)),
    }
}

/// Returns whether nobody knows yet whether a row is paid by an earlier payment of it and by its newest one. `states`: how all of them
/// stand, the oldest first.
///
/// What has not left waits for the earlier one. Where that is paid, nothing more is to come of a newest one that has ended.
#[must_use]
pub fn may_be_twice(earlier: State, states: &[State]) -> bool {
    let newest = states.last().copied().unwrap_or(State::Ready);
    let has_left = match earlier {
        State::Paid => !newest.is_finished() && newest != State::Ready,
        State::Conflict => newest != State::Ready,
        _ => false,
    };
    has_left && paid_twice(states).is_none()
}

/// A row that was paid more than once, as far as is known: the gateway broke its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidTwice {
    /// The line of its file.
    pub line: u64,
    /// The payer's own reference.
    pub reference: Option<Reference>,
    /// The payments of it that are paid, or of which the gateway has said so, the oldest first.
    pub ids: Vec<PayerTransactionId>,
    /// What the first of them comes to.
    pub money: Money,
    /// What each of them comes to: of a corrected row not all are the same.
    pub amounts: Vec<Money>,
    /// The batch of each of them; empty where that is the same one.
    pub batches: Vec<String>,
    /// Each of them is on record as paid; otherwise the gateway has said the opposite too, and a person is to decide.
    pub certain: bool,
}

impl PaidTwice {
    /// Returns how often it was paid beyond the once that was ordered.
    #[must_use]
    pub fn surplus(&self) -> usize {
        self.ids.len().saturating_sub(1)
    }

    /// Returns which row it is, what it cost, and by which payments, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let reference = match &self.reference {
            Some(reference) => format!(" (reference {reference})"),
            None => String::new(),
        };
        let ids: Vec<String> = self
            .ids
            .iter()
            .enumerate()
            .map(|(at, id)| match self.batches.get(at) {
                Some(batch) => format!("{id} of batch {batch}"),
                None => id.to_string(),
            })
            .collect();
        let (currency, times) = (self.money.currency, self.ids.len());
        let surplus = match self.surplus() {
            1 => format!("{currency} {}", self.money),
            more => format!("{more} times {currency} {}", self.money),
        };
        let said = match self.certain {
            true => "was paid",
            false => "was paid, according to one answer of the gateway and against another,",
        };
        if self.amounts.iter().any(|amount| *amount != self.money) {
            let parts: Vec<String> = ids
                .iter()
                .zip(&self.amounts)
                .map(|(id, amount)| format!("{currency} {amount} by {id}"))
                .collect();
            return format!(
                "line {}{reference} {said} {times} times, {}: all but one of them too much",
                self.line,
                parts.join(" and ")
            );
        }
        format!(
            "line {}{reference} {said} {times} times, {currency} {} each, by {}: {surplus} too much",
            self.line,
            self.money,
            ids.join(" and ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{
        Acknowledged, Cancelled, Conflict, Delivered, Failed, InDoubt, Paid, Posting, Ready,
    };

    #[test]
    fn a_row_may_be_paid_twice_while_its_newest_payment_has_left_and_has_no_end() {
        for (earlier, newest, expected) in [
            (Conflict, Posting, true),
            (Conflict, InDoubt, true),
            (Conflict, Acknowledged, true),
            (Conflict, Delivered, true),
            // Not twice, but a person decides before it is paid anew.
            (Conflict, Failed, true),
            (Conflict, Cancelled, true),
            // It waits, and says for what.
            (Conflict, Ready, false),
            // Said as such.
            (Conflict, Paid, false),
            (Conflict, Conflict, false),
            (Paid, Acknowledged, true),
            (Paid, InDoubt, true),
            (Paid, Ready, false),
            (Paid, Failed, false),
            (Paid, Cancelled, false),
            (Paid, Paid, false),
            (Failed, Acknowledged, false),
        ] {
            let found = may_be_twice(earlier, &[Failed, earlier, newest]);
            assert_eq!(found, expected, "{earlier:?} {newest:?}");
        }
    }

    #[test]
    fn the_sentence_names_the_row_the_identifiers_and_the_amount() {
        let id = |text: &str| PayerTransactionId::parse(text).unwrap();
        let mut row = PaidTwice {
            line: 4,
            reference: Some(Reference::parse("R-3").unwrap()),
            ids: vec![
                id("0123456789ABCDEFGHJKMNPQR1"),
                id("0123456789ABCDEFGHJKMNPQR2"),
            ],
            money: Money {
                amount: crate::domain::Amount::from_minor(9_000_000).unwrap(),
                currency: crate::domain::Currency::from_code("KES").unwrap(),
            },
            amounts: Vec::new(),
            batches: Vec::new(),
            certain: true,
        };
        assert_eq!(
            row.sentence(),
            "line 4 (reference R-3) was paid 2 times, KES 90000.00 each, by 0123456789ABCDEFGHJKMNPQR1 and \
             0123456789ABCDEFGHJKMNPQR2: KES 90000.00 too much"
        );
        (row.certain, row.reference) = (false, None);
        row.ids.push(id("0123456789ABCDEFGHJKMNPQR3"));
        let said = row.sentence();
        assert!(said.starts_with(
            "line 4 was paid, according to one answer of the gateway and against another, 3 times"
        ));
        assert!(said.ends_with("2 times KES 90000.00 too much"));
        row.ids.pop();
        let corrected = Money {
            amount: crate::domain::Amount::from_minor(8_000_000).unwrap(),
            ..row.money
        };
        (row.amounts, row.certain) = (vec![row.money, corrected], true);
        assert_eq!(
            row.sentence(),
            "line 4 was paid 2 times, KES 90000.00 by 0123456789ABCDEFGHJKMNPQR1 and KES 80000.00 by 0123456789ABCDEFGHJKMNPQR2: all \
             but one of them too much"
        );
    }

    #[test]
    fn a_row_is_counted_once_where_the_generation_stands_that_counts() {
        for (states, moved, from, before, after) in [
            (
                &[Acknowledged][..],
                Some(0),
                Posting,
                (0, Posting),
                (0, Acknowledged),
            ),
            // A retry moves: it stands for its row before and after.
            (
                &[Failed, Acknowledged],
                Some(1),
                Ready,
                (1, Ready),
                (1, Acknowledged),
            ),
            // Its end lets an earlier one stand for the row that is paid.
            (
                &[Paid, Failed],
                Some(1),
                Acknowledged,
                (1, Acknowledged),
                (0, Paid),
            ),
            // A late word about an earlier one moves the row only once the retry has ended.
            (
                &[Paid, Acknowledged],
                Some(0),
                Failed,
                (1, Acknowledged),
                (1, Acknowledged),
            ),
            (&[Paid, Failed], Some(0), Failed, (1, Failed), (0, Paid)),
            (&[Failed, Failed], None, Ready, (1, Failed), (1, Failed)),
        ] {
            let found = counted(states, moved, from);
            assert_eq!(found, (before, after), "{states:?} {moved:?} {from:?}");
        }
    }

    const PERSON: Word = Word::Person { expressly: false };

    fn by(word: Word) -> impl Fn(State) -> Earlier {
        move |state| Earlier {
            state,
            word,
            could_ask: true,
        }
    }

    fn own(state: State) -> PaymentState {
        PaymentState {
            state,
            ..PaymentState::NEW
        }
    }

    #[test]
    fn a_generation_leaves_only_while_every_earlier_one_is_proven_not_to_have_paid() {
        let table: [(&[State], State, Order); 17] = [
            (&[], Ready, Order::Leave),
            (&[Failed], Ready, Order::Leave),
            (&[Failed, Cancelled, Failed], Ready, Order::Leave),
            (&[Failed], Posting, Order::Leave),
            (&[Failed], InDoubt, Order::Leave),
            (&[Conflict], Ready, Order::Wait(0)),
            (&[Failed, Conflict, Failed], Ready, Order::Wait(1)),
            (&[Conflict, Failed], InDoubt, Order::Wait(0)),
            (&[Conflict], Posting, Order::Wait(0)),
            (&[Paid], Ready, Order::Withdraw(0)),
            (&[Conflict, Paid], Ready, Order::Withdraw(1)),
            (&[Paid, Failed], Posting, Order::OnlyAsk(0)),
            (&[Paid], InDoubt, Order::OnlyAsk(0)),
            (&[Paid], Acknowledged, Order::OnlyAsk(0)),
            (&[Paid], Delivered, Order::OnlyAsk(0)),
            (&[Paid], Failed, Order::Nothing),
            (&[Conflict], Cancelled, Order::Nothing),
        ];
        for (states, state, expected) in table {
            let earlier: Vec<Earlier> = states.iter().copied().map(by(Word::Gateway)).collect();
            for can_ask in [false, true] {
                let found = order(&earlier, &own(state), can_ask);
                assert_eq!(found, expected, "{states:?}, then {state:?}");
            }
        }
    }

    #[test]
    fn no_earlier_generation_but_one_that_did_not_pay_lets_any_other_leave() {
        for first in State::ALL {
            for second in State::ALL {
                for state in State::ALL {
                    let earlier = [first, second].map(by(Word::Gateway));
                    let leaves = order(&earlier, &own(state), true) == Order::Leave;
                    let clear = [first, second]
                        .iter()
                        .all(|s| matches!(s, Failed | Cancelled));
                    assert_eq!(leaves, clear && !state.is_finished());
                }
            }
        }
    }

    #[test]
    fn the_gateway_is_asked_about_whatever_a_person_decided_or_it_took_back() {
        let told = by(Word::Gateway)(Failed);
        let decided = by(PERSON)(Failed);
        let expressly = by(Word::Person { expressly: true })(Failed);
        let never = Earlier {
            could_ask: false,
            ..decided
        };
        let taken_back = by(Word::TakenBack)(Failed);
        let confirmed = by(Word::Both)(Failed);
        let elsewhere = by(Word::Elsewhere { taken_back: false })(Failed);
        let (leave, ask, wait) = (Order::Leave, Order::Ask, Order::Wait);
        let table: [(&[Earlier], Order, Order); 15] = [
            // Nobody who is asked now can tell.
            (&[elsewhere], wait(0), wait(0)),
            (&[decided, elsewhere], wait(1), wait(1)),
            (&[told, elsewhere, confirmed], wait(1), wait(1)),
            // What follows where the gateway can be asked, and where it cannot.
            (&[decided], ask(0), wait(0)),
            (&[expressly], ask(0), leave),
            (&[never], ask(0), leave),
            (&[taken_back], ask(0), wait(0)),
            (&[never, taken_back], ask(0), wait(1)),
            (&[decided, told], ask(0), wait(0)),
            (&[told, decided, confirmed], ask(1), wait(1)),
            (&[told, expressly, decided], ask(1), wait(2)),
            (&[confirmed, told], leave, leave),
            (&[decided, by(PERSON)(Conflict)], wait(1), wait(1)),
            (
                &[taken_back, by(PERSON)(Paid)],
                Order::Withdraw(1),
                Order::Withdraw(1),
            ),
            (&[by(PERSON)(Cancelled)], leave, leave),
        ];
        for (earlier, asked, unasked) in table {
            for (can_ask, expected) in [(true, asked), (false, unasked)] {
                let found = order(earlier, &own(Ready), can_ask);
                assert_eq!(found, expected, "{earlier:?}, can ask: {can_ask}");
            }
        }
    }

    #[test]
    fn what_the_gateway_still_holds_agrees_with_nobody_until_it_was_waited_for() {
        for (class, _) in Class::ALL {
            let expected = match class {
                Class::Failed | Class::Refused | Class::NoFloat | Class::NotFound => (true, true),
                Class::Acknowledged | Class::Delivered => (false, true),
                Class::Paid | Class::Duplicate | Class::InDoubt => (false, false),
            };
            assert_eq!((agrees(class, false), agrees(class, true)), expected);
        }
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        assert!(!is_patient(hours(23), hours(24)) && is_patient(hours(24), hours(24)));
    }

    #[test]
    fn a_row_is_counted_once_and_as_paid_where_any_generation_paid() {
        let table: [(&[State], usize); 15] = [
            (&[Ready], 0),
            (&[Paid], 0),
            (&[Failed, Ready], 1),
            (&[Failed, Paid], 1),
            (&[Failed, Failed], 1),
            (&[Failed, Cancelled], 1),
            // The first one paid after all, and the retry did not.
            (&[Paid, Cancelled], 0),
            (&[Paid, Failed], 0),
            (&[Failed, Paid, Cancelled], 1),
            // The retry is still open: it is asked about to its end.
            (&[Paid, InDoubt], 1),
            (&[Paid, Conflict], 1),
            (&[Conflict, Ready], 1),
            // Nobody has decided what became of the first.
            (&[Conflict, Cancelled], 0),
            (&[Conflict, Failed], 0),
            (&[Conflict, Paid], 1),
        ];
        for (states, expected) in table {
            assert_eq!(stands_for(states), expected, "{states:?}");
        }
    }

    #[test]
    fn only_a_row_that_certainly_did_not_pay_is_retried() {
        let table: [(&[State], bool); 10] = [
            (&[], false),
            (&[Failed], true),
            (&[Failed, Failed], true),
            (&[Failed, Cancelled], false),
            (&[Cancelled, Failed], true),
            (&[Conflict, Failed], false),
            (&[Paid, Failed], false),
            (&[Failed, Conflict, Failed], false),
            (&[Failed, InDoubt], false),
            (&[Conflict], false),
        ];
        for (states, expected) in table {
            assert_eq!(may_be_retried(states), expected, "{states:?}");
        }
    }

    #[test]
    fn what_was_paid_twice_is_told() {
        let table: [(&[State], Option<Twice>); 8] = [
            (&[Paid], None),
            (&[Conflict], None),
            (&[Paid, Failed, Cancelled], None),
            (&[Conflict, Ready], None),
            (&[Paid, Paid], Some(Twice::Paid(2))),
            (&[Paid, Failed, Paid, Paid], Some(Twice::Paid(3))),
            (&[Conflict, Paid], Some(Twice::Said(2))),
            (&[Conflict, Conflict], Some(Twice::Said(2))),
        ];
        for (states, expected) in table {
            assert_eq!(paid_twice(states), expected, "{states:?}");
        }
    }
}
