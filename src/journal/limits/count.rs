//! What counts towards ceilings, folded from the evidence.
//!
//! Nothing is written where no ceiling needs it: what was paid before there was one is counted by the first run that has it. A
//! payment counts on the day of its last intent, or where an earlier journal may have posted it, of its first evidence. What its
//! evidence adds up to says whether it counts still: it is looked up where it stands, so that the failures that others record
//! give back what they must.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::domain::{BatchId, Currency, Day, EvidenceId, LaneId, PaymentId, Timestamp, WireZone};
use crate::journal::Error;
use crate::journal::codec::catalog::of_batch;
use crate::journal::codec::events::{CLAIMED_TOGETHER, event_numbers};
use crate::journal::codec::facts::{fact, note};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::payments::first_claims::ClaimRange;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::limits::{counts, recipient_of};
use crate::lifecycle::{Event, State};
use crate::store::tables::{batch, counted, evidence, life, used};
use crate::store::{Read, Reads, Scan, Value, Write, Writes, shape};

/// Rows of evidence, and payments, that one transaction folds, about: a claim comes back for the rest.
#[cfg(not(test))]
const STEP: (usize, usize) = (20_000, 20_000);
// The simulation is to come back for the rest.
#[cfg(test)]
const STEP: (usize, usize) = (12, 3);

pub(in crate::journal) const UP_TO: &str = "counted_up_to";
pub(in crate::journal) const ZONE: &str = "counted_zone";

/// The days that new evidence tells of a payment.
#[derive(Clone, Copy)]
struct Told {
    first: Day,
    intent: Option<Day>,
}

/// Counts what was recorded since the last time; returns whether that was all of it.
pub(in crate::journal) fn count(c: &WriteSession, zone: &WireZone) -> Result<bool, Error> {
    c.flush()?;
    let from = counted_up_to(c, zone)?;
    let (told, up_to, is_all) = read(c, from, zone)?;
    if up_to == from {
        return Ok(true);
    }
    let mut folding = Folding::of(c, zone);
    for (seq, told) in told {
        folding.apply(seq, told)?;
    }
    folding.moved.write(c)?;
    note(c, UP_TO, &up_to)?;
    Ok(is_all)
}

/// Returns up to where the evidence is counted. In another zone the days are others: then it is counted anew.
fn counted_up_to(c: &dyn Write, zone: &WireZone) -> Result<EvidenceId, Error> {
    let known: Option<String> = fact(c, ZONE)?;
    if known.as_deref() == Some(zone.name()) {
        return Ok(fact(c, UP_TO)?.unwrap_or(EvidenceId::NONE));
    }
    c.remove(&Scan::of(&counted::TABLE))?;
    c.remove(&Scan::of(&used::TABLE))?;
    note(c, ZONE, &zone.name())?;
    note(c, UP_TO, &EvidenceId::NONE)?;
    Ok(EvidenceId::NONE)
}

/// Reads evidence behind a row; returns what it tells of payments, up to which row, and whether there is no more.
fn read(
    c: &dyn Read,
    from: EvidenceId,
    zone: &WireZone,
) -> Result<(BTreeMap<PaymentId, Told>, EvidenceId, bool), Error> {
    let intent = event_numbers(Event::Claimed).0;
    let next = Scan::of(&evidence::TABLE).after(&from).limit(STEP.0);
    let columns = [
        evidence::evidence_id,
        evidence::seq,
        evidence::at,
        evidence::event,
        evidence::detail,
    ];
    let (mut told, mut up_to, mut read) = (BTreeMap::new(), from, 0);
    let mut day = (Timestamp::from_millis(i64::MIN), Day::default());
    c.each_row(&next, &columns, |row| {
        let (seq, at, event): (PaymentId, Timestamp, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        (up_to, read) = (row.get(0)?, read + 1);
        if day.0 != at {
            day = (at, Day::of(at, zone));
        }
        let mut tell = |seq, is_intent: bool| {
            let told = told.entry(seq).or_insert(Told {
                first: day.1,
                intent: None,
            });
            if is_intent {
                told.intent = Some(day.1);
            }
        };
        if event == CLAIMED_TOGETHER {
            let detail = row.value(4)?;
            let detail = match &detail {
                Value::Text(detail) => Some(&**detail),
                _ => None,
            };
            for (first, last) in ClaimRange::parse(detail)?.runs()? {
                (first..=last).for_each(|seq| tell(PaymentId::new(seq), true));
            }
        } else if seq > PaymentId::NONE {
            tell(seq, event == intent);
        }
        Ok::<_, Error>(match told.len() >= STEP.1 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    let is_all = read < STEP.0 && told.len() < STEP.1;
    Ok((told, up_to, is_all))
}

shape! {
    /// Where a payment stands.
    struct Stands of life { state: State, posted_at: Option<Timestamp> }
}
shape! {
    /// What a payment counts for.
    struct Counted of counted {
        seq: PaymentId, realm: i64, service_id: LaneId, recipient: String, currency: Currency, amount: i64, day: Day,
        counts: i64,
    }
}
shape! {
    /// What of it moves.
    struct CountedAnew of counted { day: Day, counts: i64 }
}
shape! {
    /// A sum of a day.
    struct Used of used { realm: i64, name: String, currency: Currency, day: Day, amount: i64 }
}

/// Folds what was told of payments.
struct Folding<'c> {
    c: &'c dyn Write,
    zone: &'c WireZone,
    instructions: Instructions<'c>,
    realms: BTreeMap<BatchId, i64>,
    moved: Moved,
}

impl<'c> Folding<'c> {
    fn of(c: &'c dyn Write, zone: &'c WireZone) -> Self {
        Self {
            c,
            zone,
            instructions: Instructions::of(c),
            realms: BTreeMap::new(),
            moved: Moved::default(),
        }
    }

    fn apply(&mut self, seq: PaymentId, told: Told) -> Result<(), Error> {
        let c = self.c;
        let stands: Option<Stands> = c.first(&Scan::of(&life::TABLE).at(&seq))?;
        let Some(stands) = stands else {
            return Ok(());
        };
        let now = counts(stands.state) as i64;
        let own = Scan::of(&counted::TABLE).at(&seq);
        let Some(before) = c.first::<Counted>(&own)? else {
            if now > 0 {
                // What had counted for nothing, and is spoken of otherwise since, left on the day of its last intent all the same.
                let posted = stands.posted_at.map(|at| Day::of(at, self.zone));
                let day = told.intent.or(posted).unwrap_or(told.first);
                self.begin(seq, day, now)?;
            }
            return Ok(());
        };
        let day = told.intent.unwrap_or(before.day);
        if now == before.counts && day == before.day {
            return Ok(());
        }
        c.change(&own, &CountedAnew { day, counts: now })?;
        for (counted, day, sign) in [(before.counts, before.day, -1), (now, day, 1)] {
            if counted > 0 {
                let amount = sign * i128::from(before.amount);
                self.moved.add(&before, day, amount);
            }
        }
        Ok(())
    }

    /// Counts a payment for the first time.
    fn begin(&mut self, seq: PaymentId, day: Day, counts: i64) -> Result<(), Error> {
        let found = self.instructions.find(seq)?;
        let found = found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
        let (service_id, realm) = (found.lane, self.realm(found.batch_id)?);
        let row = found.payment()?.instruction;
        let counted = Counted {
            seq,
            realm,
            service_id,
            recipient: recipient_of(&row),
            currency: row.money.currency,
            amount: row.money.amount.minor(),
            day,
            counts,
        };
        self.c.insert(&counted)?;
        self.moved.add(&counted, day, i128::from(counted.amount));
        Ok(())
    }

    /// Returns in which realm a batch counts; it is looked up once.
    fn realm(&mut self, batch_id: BatchId) -> Result<i64, Error> {
        if let Some(realm) = self.realms.get(&batch_id) {
            return Ok(*realm);
        }
        let rehearsal: Option<i64> = of_batch(self.c, batch_id, batch::rehearsal)?;
        let realm = rehearsal.unwrap_or(0);
        self.realms.insert(batch_id, realm);
        Ok(realm)
    }
}

/// Returns the names under which the sums of a recipient and of a service are kept.
pub(in crate::journal) fn names_of(recipient: &str, service_id: LaneId) -> [String; 2] {
    [format!("r{recipient}"), format!("s{service_id}")]
}

/// What the sums of days move by: the realm, the name, the code of the currency, the day.
#[derive(Default)]
struct Moved(BTreeMap<(i64, String, &'static str, Day), (Currency, i128)>);

impl Moved {
    fn add(&mut self, counted: &Counted, day: Day, amount: i128) {
        let currency = counted.currency;
        for name in names_of(&counted.recipient, counted.service_id) {
            let key = (counted.realm, name, currency.code(), day);
            self.0.entry(key).or_insert((currency, 0)).1 += amount;
        }
    }

    fn write(self, c: &dyn Write) -> Result<(), Error> {
        for ((realm, name, _, day), (currency, by)) in self.0 {
            if by == 0 {
                continue;
            }
            let own = Scan::of(&used::TABLE)
                .at(&realm)
                .at(&name)
                .at(&currency)
                .at(&day);
            let was = c.value(&own, used::amount)?;
            let amount = moved(was.unwrap_or(0), by);
            c.put(&Used {
                realm,
                name,
                currency,
                day,
                amount,
            })?;
        }
        Ok(())
    }
}

/// Moves a sum. One that can no longer be told stays at its end, so that nothing is ever let pass by an overflow.
fn moved(was: i64, by: i128) -> i64 {
    match was {
        i64::MAX => i64::MAX,
        was => i64::try_from((i128::from(was) + by).max(0)).unwrap_or(i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_beyond_all_bounds_stay_there() {
        for (was, by, expected) in [
            (0, 5, 5),
            (5, -5, 0),
            (5, -6, 0),
            (i64::MAX - 1, 1, i64::MAX),
            (i64::MAX - 1, i128::MAX / 2, i64::MAX),
            (i64::MAX, -5, i64::MAX),
        ] {
            assert_eq!(moved(was, by), expected, "{was} {by}");
        }
    }
}
