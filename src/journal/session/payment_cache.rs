//! Where payments stand that were touched of late: they need not be read again before they are written.
//!
//! Where they stand is true only as long as nobody else writes: SQLite tells whether another connection did. What was ordered, and by
//! which identifier, stays as it is.

use rustc_hash::FxHashMap;

use super::subject::Subject;
use crate::domain::{
    Amount, BatchId, Country, Currency, LaneId, Money, Msisdn, PayerTransactionId, PaymentId,
    Timestamp,
};
use crate::journal::codec::values::NEVER;
use crate::journal::codec::values::millis;
use crate::journal::{Error, Heard, Transition};
use crate::lifecycle::{PaymentState, State};
use crate::store::Transact;

/// Payments of a generation; two of them are remembered, at 130 bytes each. As many as a table of 8,192 holds before it grows.
const GENERATION_MAX: usize = 7_168;

/// What one connection knows of the open payments that it wrote.
#[derive(Default)]
pub(in crate::journal) struct PaymentCache {
    young: Generation,
    old: Generation,
    places: Vec<Place>,
    version: Option<i64>,
    /// Counts how often others may have moved what is remembered.
    doubts: u32,
}

impl PaymentCache {
    /// Begins a transaction, which has the journal for itself: forgets where payments stand if another connection has written since,
    /// and returns whether that is so.
    pub(in crate::journal) fn begin(&mut self, c: &dyn Transact) -> Result<bool, Error> {
        let version = c.version()?;
        let written = self.version.replace(version) != Some(version);
        if written {
            match c.is_shared() {
                true => self.doubt(),
                // Others write to a file now and then only.
                false => self.forget(),
            }
        }
        Ok(written)
    }

    fn doubt(&mut self) {
        match self.doubts.checked_add(1) {
            Some(doubts) => self.doubts = doubts,
            None => self.forget(),
        }
    }

    pub(in crate::journal) fn get(&self, seq: PaymentId) -> Option<Subject> {
        let kept = self.found(seq)?;
        (kept.doubts == self.doubts).then(|| kept.subject(seq, &self.places))
    }

    /// Returns what was ordered, whoever has moved the payment since: not how it stands. Of a payment with other generations it is read.
    pub(in crate::journal) fn order(&self, seq: PaymentId) -> Option<Order> {
        let kept = self.found(seq)?;
        let Place {
            batch_id,
            lane,
            currency,
        } = self.places[usize::from(kept.place)];
        (!kept.has_generations).then_some(Order {
            batch_id,
            lane,
            money: Money {
                amount: kept.amount,
                currency,
            },
        })
    }

    fn found(&self, seq: PaymentId) -> Option<&Kept> {
        let found = self.young.kept.get(&seq);
        found.or_else(|| self.old.kept.get(&seq))
    }

    /// Finds a payment by the identifier that it was [named](Self::name) by.
    pub(in crate::journal) fn find(&self, id: PayerTransactionId) -> Option<PaymentId> {
        let named = |generation: &Generation| {
            let seq = *generation.seqs.get(&short(id))?;
            let kept = generation.kept.get(&seq)?;
            (kept.id == Some(id)).then_some(seq)
        };
        named(&self.young).or_else(|| named(&self.old))
    }

    pub(in crate::journal) fn put(&mut self, subject: &Subject) {
        let seq = subject.moved.seq;
        // Little more is heard of what has ended.
        let kept = match subject.moved.life.state.is_finished() {
            true => None,
            false => Kept::of(subject, self.doubts, &mut self.places),
        };
        let Some(kept) = kept else {
            self.young.remove(seq);
            self.old.remove(seq);
            return;
        };
        if let Some(before) = self.kept(seq) {
            *before = Kept {
                id: before.id,
                wallet: before.wallet,
                ..kept
            };
            return;
        }
        if self.young.kept.len() >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.kept.insert(seq, kept);
    }

    /// Returns to which number a payment goes that was [named](Self::name), where its account is that number.
    pub(in crate::journal) fn wallet(&self, seq: PaymentId) -> Option<(Msisdn, Country)> {
        self.found(seq)?.wallet
    }

    /// Says by which identifier a payment that was just put is known, and its number, where that is its account.
    pub(in crate::journal) fn name(
        &mut self,
        seq: PaymentId,
        id: PayerTransactionId,
        wallet: Option<(Msisdn, Country)>,
    ) {
        if let Some(kept) = self.young.kept.get_mut(&seq) {
            (kept.id, kept.wallet) = (Some(id), wallet);
            self.young.seqs.insert(short(id), seq);
        }
    }

    pub(in crate::journal) fn change(&mut self, seq: PaymentId, change: impl FnOnce(&mut Subject)) {
        if let Some(mut subject) = self.get(seq) {
            change(&mut subject);
            self.put(&subject);
        }
    }

    pub(in crate::journal) fn forget(&mut self) {
        for generation in [&mut self.young, &mut self.old] {
            generation.kept.clear();
            generation.seqs.clear();
        }
        self.places.clear();
    }

    fn kept(&mut self, seq: PaymentId) -> Option<&mut Kept> {
        let found = self.young.kept.get_mut(&seq);
        found.or_else(|| self.old.kept.get_mut(&seq))
    }
}

/// What was ordered of a payment.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(in crate::journal) struct Order {
    pub(in crate::journal) batch_id: BatchId,
    pub(in crate::journal) lane: LaneId,
    pub(in crate::journal) money: Money,
}

/// Payments that were put at about the same time.
#[derive(Default)]
struct Generation {
    kept: FxHashMap<PaymentId, Kept>,
    /// By the beginnings of their identifiers.
    seqs: FxHashMap<u64, PaymentId>,
}

impl Generation {
    fn remove(&mut self, seq: PaymentId) {
        // Its identifier goes with it: most payments end long before their generation does, and would be remembered for ever.
        if let Some(id) = self.kept.remove(&seq).and_then(|kept| kept.id) {
            self.seqs.remove(&short(id));
        }
    }
}

/// The beginning of an identifier, which is a hash.
fn short(id: PayerTransactionId) -> u64 {
    let text = id.as_str().bytes().take(8);
    text.fold(0, |short, byte| short << 8 | u64::from(byte))
}

/// Where many payments belong.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    batch_id: BatchId,
    lane: LaneId,
    currency: Currency,
}

/// A [`Subject`] in half the memory; one with larger numbers is read where it stands. A time that is not there is [`NEVER`].
#[derive(Clone, Copy)]
struct Kept {
    amount: Amount,
    posted_at: i64,
    quarantine_from: i64,
    due_at: i64,
    code: Option<i16>,
    /// Index of its place.
    place: u16,
    /// How often others may have moved what is remembered when this was so.
    doubts: u32,
    attempts: u16,
    exposures: u16,
    queries: u16,
    not_found: u8,
    callbacks: Option<u8>,
    state: State,
    known: bool,
    taken: bool,
    has_generations: bool,
    id: Option<PayerTransactionId>,
    wallet: Option<(Msisdn, Country)>,
}

impl Kept {
    fn of(subject: &Subject, doubts: u32, places: &mut Vec<Place>) -> Option<Self> {
        let Subject {
            batch_id,
            has_generations,
            callbacks,
            moved: Transition {
                lane, life, money, ..
            },
        } = *subject;
        let place = Place {
            batch_id,
            lane,
            currency: money.currency,
        };
        let index = places.iter().position(|known| *known == place);
        let index = index.unwrap_or_else(|| {
            places.push(place);
            places.len() - 1
        });
        let time = |time| millis(time).unwrap_or(NEVER);
        Some(Self {
            amount: money.amount,
            posted_at: time(life.posted_at),
            quarantine_from: time(life.quarantine_from),
            due_at: time(life.due_at),
            code: life.code.map(i16::try_from).transpose().ok()?,
            place: u16::try_from(index).ok()?,
            doubts,
            attempts: u16::try_from(life.attempts).ok()?,
            exposures: u16::try_from(life.exposures).ok()?,
            queries: u16::try_from(life.queries).ok()?,
            not_found: life.not_found,
            callbacks: callbacks.map(u8::try_from).transpose().ok()?,
            state: life.state,
            known: life.known,
            taken: life.taken,
            has_generations,
            id: None,
            wallet: None,
        })
    }

    fn subject(&self, seq: PaymentId, places: &[Place]) -> Subject {
        let Place {
            batch_id,
            lane,
            currency,
        } = places[usize::from(self.place)];
        let time = |time| (time != NEVER).then(|| Timestamp::from_millis(time));
        Subject {
            batch_id,
            has_generations: self.has_generations,
            callbacks: self.callbacks.map(i64::from),
            moved: Transition {
                seq,
                lane,
                from: self.state,
                life: PaymentState {
                    state: self.state,
                    code: self.code.map(i32::from),
                    attempts: self.attempts.into(),
                    posted_at: time(self.posted_at),
                    exposures: self.exposures.into(),
                    known: self.known,
                    taken: self.taken,
                    not_found: self.not_found,
                    quarantine_from: time(self.quarantine_from),
                    queries: self.queries.into(),
                    due_at: time(self.due_at),
                },
                money: Money {
                    amount: self.amount,
                    currency,
                },
                heard: Heard::Nothing,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payment(seq: i64) -> Subject {
        Subject {
            batch_id: BatchId::new(1),
            has_generations: false,
            callbacks: Some(0),
            moved: Transition {
                seq: PaymentId::new(seq),
                lane: LaneId::new(2),
                from: State::Posting,
                life: PaymentState {
                    state: State::Posting,
                    code: Some(139),
                    attempts: 3,
                    posted_at: Some(Timestamp::from_millis(4)),
                    exposures: 5,
                    known: true,
                    taken: true,
                    not_found: 6,
                    quarantine_from: Some(Timestamp::from_millis(-7)),
                    queries: 8,
                    due_at: None,
                },
                money: Money {
                    amount: Amount::from_minor(i64::MAX).unwrap(),
                    currency: Currency::from_code("KES").unwrap(),
                },
                heard: Heard::Nothing,
            },
        }
    }

    fn changed(seq: i64, change: impl FnOnce(&mut Subject)) -> Subject {
        let mut subject = payment(seq);
        change(&mut subject);
        subject
    }

    fn id(text: &str) -> PayerTransactionId {
        PayerTransactionId::parse(text).unwrap()
    }

    const ONE: &str = "0123456789ABCDEFGHJKMNPQR1";
    const OTHER: &str = "0123456789ABCDEFGHJKMNPQR2";

    #[test]
    fn a_payment_is_remembered_as_it_was_or_not_at_all() {
        let mut recent = PaymentCache::default();
        let of_new_life = changed(2, |s| s.moved.life = PaymentState::NEW);
        let elsewhere = changed(3, |s| {
            (s.batch_id, s.moved.lane, s.has_generations) = (BatchId::new(9), LaneId::new(9), true);
            s.moved.money.currency = Currency::from_code("UGX").unwrap();
            s.callbacks = None;
        });
        for subject in [payment(1), of_new_life, elsewhere] {
            recent.put(&subject);
            let found = recent.get(subject.moved.seq).unwrap();
            let at_its_state = Subject {
                moved: Transition {
                    from: subject.moved.life.state,
                    ..subject.moved
                },
                ..subject
            };
            assert_eq!(found, at_its_state);
        }
        for too_large in [
            changed(1, |s| s.moved.life.code = Some(40_000)),
            changed(1, |s| s.moved.life.attempts = 70_000),
            changed(1, |s| s.moved.life.exposures = 70_000),
            changed(1, |s| s.moved.life.queries = 70_000),
            changed(1, |s| s.moved.life.state = State::Paid),
        ] {
            recent.put(&payment(1));
            recent.put(&too_large);
            assert_eq!(recent.get(PaymentId::new(1)), None, "{too_large:?}");
        }
    }

    #[test]
    fn what_was_ordered_is_known_when_others_may_have_moved_it() {
        let mut recent = PaymentCache::default();
        recent.put(&payment(1));
        recent.name(PaymentId::new(1), id(ONE), None);
        recent.put(&changed(2, |s| s.has_generations = true));
        let moved = payment(1).moved;
        let order = Order {
            batch_id: BatchId::new(1),
            lane: moved.lane,
            money: moved.money,
        };
        assert_eq!(recent.order(PaymentId::new(1)), Some(order));
        recent.doubt();
        assert_eq!(recent.get(PaymentId::new(1)), None);
        assert_eq!(recent.order(PaymentId::new(1)), Some(order));
        assert_eq!(recent.find(id(ONE)), Some(PaymentId::new(1)));
        assert_eq!(recent.order(PaymentId::new(2)), None, "of generations");
        let again = changed(1, |s| s.moved.life.queries = 9);
        recent.put(&again);
        assert_eq!(recent.get(PaymentId::new(1)).unwrap().moved.life.queries, 9);
        assert_eq!(recent.find(id(ONE)), Some(PaymentId::new(1)));
        recent.forget();
        assert_eq!(recent.order(PaymentId::new(1)), None);
    }

    #[test]
    fn a_payment_is_found_by_its_whole_identifier_until_it_has_ended() {
        let mut recent = PaymentCache::default();
        recent.put(&payment(1));
        assert_eq!(recent.find(id(ONE)), None);
        recent.name(PaymentId::new(1), id(ONE), None);
        assert_eq!(recent.wallet(PaymentId::new(1)), None);
        let wallet = Msisdn::from_digits("254712345678").zip(Country::from_code("KE"));
        recent.put(&payment(3));
        recent.name(PaymentId::new(3), id("ABCDEFGHJKMNPQRSTVWXYZ0123"), wallet);
        recent.put(&changed(3, |s| s.moved.life.queries = 9));
        assert_eq!(
            (
                recent.wallet(PaymentId::new(3)),
                recent.wallet(PaymentId::new(4))
            ),
            (wallet, None)
        );
        recent.put(&changed(3, |s| s.moved.life.state = State::Failed));
        assert_eq!(recent.wallet(PaymentId::new(3)), None);
        recent.put(&changed(1, |s| s.moved.life.queries = 9));
        assert_eq!(recent.find(id(ONE)), Some(PaymentId::new(1)));
        assert_eq!(recent.find(id(OTHER)), None, "it begins alike");
        recent.put(&changed(1, |s| s.moved.life.state = State::Failed));
        assert_eq!(recent.find(id(ONE)), None);
    }

    #[test]
    fn nothing_is_left_of_what_has_ended() {
        let mut recent = PaymentCache::default();
        for seq in 0..1000 {
            recent.put(&payment(seq));
            recent.name(
                PaymentId::new(seq),
                id(&format!("{seq:026}").chars().rev().collect::<String>()),
                None,
            );
        }
        assert_eq!(recent.young.seqs.len(), 1000);
        for seq in 0..1000 {
            recent.put(&changed(seq, |s| s.moved.life.state = State::Paid));
        }
        assert!(recent.young.kept.is_empty() && recent.young.seqs.is_empty());
    }

    #[test]
    fn memory_holds_the_last_ones() {
        let mut recent = PaymentCache::default();
        let max = i64::try_from(GENERATION_MAX).unwrap();
        for seq in 0..3 * max {
            recent.put(&payment(seq));
            recent.name(PaymentId::new(seq), id(ONE), None);
        }
        assert_eq!(recent.get(PaymentId::new(max - 1)), None);
        assert!((max..3 * max).all(|seq| recent.get(PaymentId::new(seq)).is_some()));
        let known = recent.young.kept.len() + recent.old.kept.len();
        assert_eq!(known, 2 * GENERATION_MAX);
        recent.forget();
        assert_eq!(recent.get(PaymentId::new(3 * max - 1)), None);
        assert_eq!(recent.find(id(ONE)), None);
    }
}
