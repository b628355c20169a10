//! Which of several payments to one person, of one amount, a line is about: never two payments one line, never two lines one payment.

use std::collections::BTreeMap;

use crate::domain::{Day, PaymentId};
use crate::lifecycle::State;

/// A payment that nothing names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number.
    pub seq: PaymentId,
    /// Where it stands.
    pub state: State,
    /// The first day that a line about it may be dated.
    pub from: Day,
    /// The last.
    pub to: Day,
}

/// A line that names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number.
    pub number: i64,
    /// Its day.
    pub day: Day,
}

/// A payment and the line that is about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The payment.
    pub seq: PaymentId,
    /// The line.
    pub number: i64,
    /// No other payment that stands alike, and has no line, could have it.
    pub is_sure: bool,
}

/// Returns the pairs of payment and line, of payments and lines that have amount and recipient in common.
///
/// What we know to be paid takes its lines first, then what may have been paid, and what has failed last: of two payments
/// alike, one paid and one in doubt, a single line is about the paid one.
#[must_use]
pub fn pair(payments: &[Candidate], lines: &[Line]) -> Vec<Pair> {
    let mut payments: Vec<&Candidate> = payments.iter().collect();
    payments.sort_by_key(|payment| (rank(payment.state), payment.to, payment.seq));
    let mut free: Vec<&Line> = lines.iter().collect();
    free.sort_by_key(|line| (line.day, line.number));
    let mut taken = vec![false; free.len()];
    let mut pairs = Vec::new();
    let mut without: Vec<&Candidate> = Vec::new();
    let (mut of_rank, mut start) = (None, 0);
    for payment in payments {
        if of_rank != Some(rank(payment.state)) {
            (of_rank, start) = (Some(rank(payment.state)), 0);
        }
        // The lines before `start` are taken: many lines of one person are passed over once.
        while taken.get(start) == Some(&true) {
            start += 1;
        }
        let open = (start..free.len())
            .take_while(|index| free[*index].day <= payment.to)
            .find(|index| !taken[*index] && free[*index].day >= payment.from);
        match open {
            Some(index) => {
                taken[index] = planted!(ledger::is_used_up(true));
                pairs.push((payment, free[index]));
            }
            None => without.push(payment),
        }
    }
    let could_have = Windows::of(&without);
    let pairs = pairs.into_iter().map(|(payment, line)| Pair {
        seq: payment.seq,
        number: line.number,
        is_sure: !could_have.contains(rank(payment.state), line.day),
    });
    pairs.collect()
}

/// The days of payments that have no line, by their rank: for each first day, the last day of those that begin by then.
struct Windows(BTreeMap<(u8, Day), Day>);

impl Windows {
    fn of(payments: &[&Candidate]) -> Self {
        let mut windows = BTreeMap::new();
        for payment in payments {
            let to = windows
                .entry((rank(payment.state), payment.from))
                .or_insert(payment.to);
            *to = payment.to.max(*to);
        }
        let mut before: Option<(u8, Day)> = None;
        for ((of_rank, _), to) in &mut windows {
            if let Some((_, last)) = before.filter(|(of, _)| of == of_rank) {
                *to = last.max(*to);
            }
            before = Some((*of_rank, *to));
        }
        Self(windows)
    }

    fn contains(&self, of_rank: u8, day: Day) -> bool {
        let first = Day::from_number(i32::MIN);
        let begun = self.0.range((of_rank, first)..=(of_rank, day)).next_back();
        begun.is_some_and(|(_, to)| day <= *to)
    }
}

fn rank(state: State) -> u8 {
    match state {
        State::Paid => 0,
        State::Conflict => 1,
        State::InDoubt | State::Acknowledged | State::Delivered | State::Posting => 2,
        State::Failed | State::Cancelled | State::Ready => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_sure_where_no_other_payment_could_have_its_line() {
        let day = |day: i32| Day::from_number(20_000 + day);
        let payment = |seq, state, from, to| Candidate {
            seq: PaymentId::new(seq),
            state,
            from: day(from),
            to: day(to),
        };
        let (open, paid, failed) = (State::InDoubt, State::Paid, State::Failed);
        // Payments, the day of the one line, which payment has it, and whether that is sure.
        let cases = [
            ("alone", vec![payment(1, open, 10, 15)], 11, (1, true)),
            (
                "two alike",
                vec![payment(1, open, 10, 15), payment(2, open, 10, 15)],
                11,
                (1, false),
            ),
            (
                "the other is later",
                vec![payment(1, open, 10, 15), payment(2, open, 12, 17)],
                11,
                (1, true),
            ),
            (
                "the other is of those days",
                vec![payment(1, open, 10, 15), payment(2, open, 9, 17)],
                11,
                (1, false),
            ),
            (
                "a long one stands before a short one",
                vec![
                    payment(1, open, 10, 15),
                    payment(2, open, 5, 30),
                    payment(3, open, 9, 16),
                    payment(4, open, 8, 17),
                ],
                14,
                (1, false),
            ),
            (
                "paid before open",
                vec![payment(1, open, 10, 15), payment(2, paid, 10, 15)],
                11,
                (2, true),
            ),
            (
                "open before failed",
                vec![payment(1, failed, 10, 15), payment(2, open, 10, 15)],
                11,
                (2, true),
            ),
        ];
        for (what, payments, on, (seq, is_sure)) in cases {
            let line = Line {
                number: 7,
                day: day(on),
            };
            let pairs = pair(&payments, &[line]);
            let expected = Pair {
                seq: PaymentId::new(seq),
                number: 7,
                is_sure,
            };
            assert_eq!(pairs, [expected], "{what}");
        }
    }
}
