//! Orders of people that a journal has lost with the time that it missed.

use super::{Found, JournalId, Mark, Marked, Traces, judge, newest};
use crate::domain::Timestamp;
use crate::ledger::confirmation::Bound;

/// So many orders are kept beside a journal one by one: those that were given last.
pub const ORDERS_MAX: usize = 32;

/// An order of a person that a copy must not forget, as it is kept beside the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// How many there were with it.
    pub number: u64,
    /// When it was given.
    pub at: Timestamp,
    /// Its command.
    pub act: String,
    /// The batch that it is about, as names are kept.
    pub batch: String,
    /// How many payments it was about; 0: the batch as a whole. Of a move: how many it left behind that had no end yet.
    pub payments: u64,
    /// What tells these payments, and what was ordered of them, from any others.
    pub digest: String,
    /// Who gave it, as names are kept.
    pub user: String,
}

impl Order {
    /// Writes it as one line of a mark.
    #[must_use]
    pub fn to_line(&self) -> String {
        format!(
            "order {} {} {} {} {} {} {}\n",
            self.number,
            self.at.as_millis(),
            self.act.replace(' ', "_"),
            self.batch,
            self.payments,
            self.digest,
            self.user
        )
    }

    /// Reads it, without the first word.
    #[must_use]
    pub fn read(value: &str) -> Option<Self> {
        let mut words = value.split(' ');
        let mut next = || words.next();
        Some(Self {
            number: next()?.parse().ok()?,
            at: Timestamp::from_millis(next()?.parse().ok()?),
            act: next()?.replace('_', " "),
            batch: next()?.to_owned(),
            payments: next()?.parse().ok()?,
            digest: next()?.to_owned(),
            user: next()?.to_owned(),
        })
    }

    /// Returns whether the other one orders the same of the same payments.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.act, &self.batch, &self.digest) == (&other.act, &other.batch, &other.digest)
    }

    /// Returns whether it may have had payments of this batch paid anew that had failed, or may say that one of them was paid after all.
    /// What is paid in place of one of them waits until it was given again: under no other name is the gateway asked about it.
    #[must_use]
    pub fn may_have_paid_failures(&self, batch: &str) -> bool {
        matches!(self.act.as_str(), "retry" | "resolve") && self.batch == batch
    }

    /// Returns whether it has sent a batch to another address of its gateway, or to another account.
    #[must_use]
    pub fn is_move(&self) -> bool {
        matches!(self.act.as_str(), "gateway-moved" | "account-moved")
    }

    /// Returns whether it has sent a batch elsewhere while payments of it had no end in the old place.
    #[must_use]
    pub fn left_payments_behind(&self) -> bool {
        self.is_move() && self.payments > 0
    }

    /// Says it to a person.
    #[must_use]
    pub fn sentence(&self) -> String {
        let what = match self.payments {
            _ if self.is_move() => String::new(),
            0 => String::new(),
            1 => "of 1 payment ".to_owned(),
            count => format!("of {count} payments "),
        };
        let at = self.at.to_string().replacen('T', " ", 1);
        let minute: String = at.chars().take("2026-11-20 09:12".len()).collect();
        // The command has no such option: it is what the order came to.
        let act = self.act.strip_suffix(" --held").unwrap_or(&self.act);
        format!(
            "{act} {what}of batch {}, on {minute} UTC by {}",
            self.batch, self.user
        )
    }
}

/// Returns the orders that lie beside a journal and that it does not know, as far as they are kept one by one.
#[must_use]
pub fn missing_orders(traces: &Traces, found: &Found) -> Vec<Order> {
    let Mark::Read(marked) = &traces.mark else {
        return Vec::new();
    };
    match marked.journal == found.journal {
        true => {
            let later = marked
                .given
                .iter()
                .filter(|order| order.number > found.orders);
            later.cloned().collect()
        }
        false => not_given(&marked.given, &found.given),
    }
}

/// Returns which orders nobody has given again. One that is like it is enough for several.
#[must_use]
pub fn not_given(lost: &[Order], given: &[Order]) -> Vec<Order> {
    let mut missing: Vec<Order> = Vec::new();
    for order in lost {
        let like = |known: &Order| known.is_like(order);
        if !given.iter().any(like) && !missing.iter().any(like) {
            missing.push(order.clone());
        }
    }
    missing
}

/// Returns the lost order that is to be given again before this one, `act`: a retry of a row that was corrected before cannot be told
/// from one of the row as it was, and a row that is corrected in place of a retry hides what the retry has paid. `missing`: in their order.
#[must_use]
pub fn given_first<'o>(missing: &'o [Order], batch: &str, act: &str) -> Option<&'o Order> {
    let of_failures = |order: &&Order| {
        order.batch == batch
            && (order.act == "correct" || order.may_have_paid_failures(&order.batch))
    };
    let first = missing.iter().find(of_failures)?;
    let corrects = |act: &str| act == "correct";
    (corrects(&first.act) != corrects(act)).then_some(first)
}

/// Returns whether a person's word is taken that the lost orders were given again, where so many are known that were not: the
/// person says so many.
#[must_use]
pub fn may_be_declared_given(missing: u64, without: Option<u64>) -> bool {
    without.unwrap_or(0) == missing
}

/// Returns the orders that are kept beside a journal: those that were given last.
#[must_use]
pub fn kept_orders(before: &[Order], later: &[Order]) -> Vec<Order> {
    let mut kept = before.to_vec();
    for order in later {
        if !kept.contains(order) {
            kept.push(order.clone());
        }
    }
    kept.sort_by_key(|order| order.number);
    let surplus = kept.len().saturating_sub(ORDERS_MAX);
    kept.split_off(surplus)
}

/// Orders of people that a journal does not know of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrdersLost {
    /// So many were on record in its place.
    pub count: u64,
    /// Nothing tells whether there were more: what lies beside it may be as old as it is, or is gone.
    pub unknown: bool,
}

impl OrdersLost {
    /// Returns whether none is lost, as far as anybody can know.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Returns what people ordered in this place that the journal knows nothing of.
///
/// Of another journal it may know none: each may have withdrawn a payment that would be paid now.
#[must_use]
pub fn orders_lost(traces: &Traces, found: &Found) -> OrdersLost {
    let lost = |(journal, orders): (JournalId, u64)| match journal == found.journal {
        true => orders.saturating_sub(found.orders),
        false => orders,
    };
    let marked = match &traces.mark {
        Mark::Read(marked) => Some((marked.journal, marked.orders)),
        Mark::Missing | Mark::Unreadable => None,
    };
    let witness = traces.witness.map(|seen| (seen.journal, seen.orders));
    let all = marked.into_iter().chain(witness);
    let lost = OrdersLost {
        count: all.map(lost).max().unwrap_or(0),
        unknown: judge(traces, found).cause().is_some() && newest(traces, found).is_none(),
    };
    planted!(ledger::orders_lost(lost))
}

/// Returns the mark that a journal is to have which knows of more orders than its mark; `None`: it knows of them all. Whoever
/// gave the last one ended between its commit and the mark: a copy from before would be taken for whole.
#[must_use]
pub fn with_orders(traces: &Traces, found: &Found) -> Option<Marked> {
    let Mark::Read(marked) = &traces.mark else {
        return None;
    };
    let lacks_some = marked.journal == found.journal && marked.orders < found.orders;
    lacks_some.then(|| Marked {
        orders: found.orders,
        given: kept_orders(&marked.given, &found.given),
        ..marked.clone()
    })
}

/// Returns whether a copy that does not know of an order would pay somebody whom it kept from being paid.
#[must_use]
pub fn must_not_be_forgotten(act: &str) -> bool {
    matches!(
        act,
        "cancel"
            | "resolve"
            | "retry"
            | "correct"
            | "schedule"
            | "reconcile --held"
            | "load --allow-repeats"
            | "account-moved"
            | "gateway-moved"
            | "recover --nothing-ran-since"
    )
}

/// Returns how far a run may post that was confirmed up to `bound`: nothing, while orders of people are lost.
///
/// It may ask. What was withdrawn, or decided, is not known to this journal.
#[must_use]
pub fn held_back(bound: Bound, orders_lost: OrdersLost) -> Bound {
    match orders_lost.is_none() {
        true => bound,
        false => Bound::NOTHING,
    }
}
