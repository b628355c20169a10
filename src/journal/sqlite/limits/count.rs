//! What counts towards ceilings, folded from the evidence.
//!
//! Nothing is written where no ceiling needs it: what was paid before there was one is counted by the first run that has it. A
//! payment counts on the day of its last intent, or where an earlier journal may have posted it, of its first evidence. What its
//! evidence adds up to says whether it counts still: it is looked up where it stands, so that the failures that others record
//! give back what they must.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{Day, EvidenceId, Instruction, LaneId, PaymentId, Timestamp, WireZone};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::{CLAIMED_TOGETHER, event_numbers};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, payment_of, state_of};
use crate::journal::sqlite::payments::first_claims::ClaimRange;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::ledger::limits::recipient_of;
use crate::lifecycle::{Event, State};

/// Rows of evidence, and payments, that one transaction folds, about: a claim comes back for the rest.
#[cfg(not(test))]
const STEP: (i64, usize) = (20_000, 20_000);
// The simulation is to come back for the rest.
#[cfg(test)]
const STEP: (i64, usize) = (12, 3);

pub(in crate::journal::sqlite) const UP_TO: &str = "counted_up_to";
pub(in crate::journal::sqlite) const ZONE: &str = "counted_zone";

/// What a payment counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal::sqlite) enum Counts {
    Nothing = 0,
    Counted = 1,
    Paid = 2,
}

/// Returns what a payment counts for where it stands: it is given back once it is proven that it was not executed.
pub(in crate::journal::sqlite) fn counts(state: State) -> Counts {
    #[cfg(test)]
    if state == State::InDoubt && crate::seeded_bugs::SeededBug::DoubtGivenBack.is_active() {
        return Counts::Nothing;
    }
    match state {
        // What is ready is to be posted: it never left, or the gateway has said again and again that it does not know it. It counts when
        // it leaves.
        State::Ready | State::Failed | State::Cancelled => Counts::Nothing,
        State::Paid => Counts::Paid,
        State::Posting
        | State::InDoubt
        | State::Acknowledged
        | State::Delivered
        | State::Conflict => Counts::Counted,
    }
}

/// The days that new evidence tells of a payment.
#[derive(Clone, Copy)]
struct Told {
    first: Day,
    intent: Option<Day>,
}

/// Counts what was recorded since the last time; returns whether that was all of it.
pub(in crate::journal::sqlite) fn count(c: &WriteSession, zone: &WireZone) -> Result<bool, Error> {
    c.flush()?;
    let from = counted_up_to(c, zone)?;
    let (told, up_to, is_all) = read(c, from, zone)?;
    if up_to == from {
        return Ok(true);
    }
    let mut moved = Moved::default();
    for (seq, told) in told {
        apply(c, seq, (told, zone), &mut moved)?;
    }
    moved.write(c)?;
    note(c, UP_TO, up_to)?;
    Ok(is_all)
}

/// Returns up to where the evidence is counted. In another zone the days are others: then it is counted anew.
fn counted_up_to(c: &Connection, zone: &WireZone) -> Result<EvidenceId, Error> {
    let known: Option<String> = c
        .prepare_cached("select value from meta where key = ?1")?
        .query_row([ZONE], |row| row.get(0))
        .optional()?;
    if known.as_deref() == Some(zone.name()) {
        return Ok(c
            .prepare_cached("select value from meta where key = ?1")?
            .query_row([UP_TO], |row| row.get(0))
            .optional()?
            .unwrap_or(EvidenceId::NONE));
    }
    c.execute_batch("delete from counted; delete from used;")?;
    note(c, ZONE, zone.name())?;
    note(c, UP_TO, EvidenceId::NONE)?;
    Ok(EvidenceId::NONE)
}

fn note(c: &Connection, key: &str, value: impl rusqlite::ToSql) -> Result<(), Error> {
    c.prepare_cached(
        "insert into meta (key, value) values (?1, ?2) on conflict do update set value = excluded.value",
    )?
    .execute(params![key, value])?;
    Ok(())
}

/// Reads evidence behind a row; returns what it tells of payments, up to which row, and whether there is no more.
fn read(
    c: &Connection,
    from: EvidenceId,
    zone: &WireZone,
) -> Result<(BTreeMap<PaymentId, Told>, EvidenceId, bool), Error> {
    let intent = event_numbers(Event::Claimed).0;
    let mut statement = c.prepare_cached(
        "select evidence_id, seq, at, event, iif(event = ?3, detail, null) from evidence
         where evidence_id > ?1 order by evidence_id limit ?2",
    )?;
    let mut rows = statement.query((from, STEP.0, CLAIMED_TOGETHER))?;
    let (mut told, mut up_to, mut read) = (BTreeMap::new(), from, 0);
    let mut day = (i64::MIN, Day::default());
    while let Some(row) = rows.next()? {
        let (seq, at, event): (PaymentId, i64, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        (up_to, read) = (row.get(0)?, read + 1);
        if day.0 != at {
            day = (at, Day::of(Timestamp::from_millis(at), zone));
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
            let detail = row.get_ref(4)?.as_str_or_null().unwrap_or_default();
            for (first, last) in ClaimRange::parse(detail)?.runs()? {
                (first..=last).for_each(|seq| tell(PaymentId::new(seq), true));
            }
        } else if seq > PaymentId::NONE {
            tell(seq, event == intent);
        }
        if told.len() >= STEP.1 {
            return Ok((told, up_to, false));
        }
    }
    Ok((told, up_to, read < STEP.0))
}

/// What a payment counted for until now.
struct Before {
    realm: i64,
    service_id: LaneId,
    recipient: String,
    currency: String,
    amount: i64,
    day: Day,
    counts: i64,
}

fn apply(
    c: &Connection,
    seq: PaymentId,
    (told, zone): (Told, &WireZone),
    moved: &mut Moved,
) -> Result<(), Error> {
    let stands: Option<(i64, Option<i64>)> = c
        .prepare_cached("select state, posted_at from life where seq = ?1")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((state, posted_at)) = stands else {
        return Ok(());
    };
    let now = counts(state_of(state)?) as i64;
    let Some(before) = before(c, seq)? else {
        if now > 0 {
            // What had counted for nothing, and is spoken of otherwise since, left on the day of its last intent all the same.
            let posted = posted_at.map(|at| Day::of(Timestamp::from_millis(at), zone));
            let day = told.intent.or(posted).unwrap_or(told.first);
            begin(c, seq, day, now, moved)?;
        }
        return Ok(());
    };
    let day = told.intent.unwrap_or(before.day);
    if now == before.counts && day == before.day {
        return Ok(());
    }
    c.prepare_cached("update counted set day = ?2, counts = ?3 where seq = ?1")?
        .execute(params![seq, day.number(), now])?;
    for (counted, day, sign) in [(before.counts, before.day, -1), (now, day, 1)] {
        if counted > 0 {
            let amount = sign * i128::from(before.amount);
            let name = (before.recipient.as_str(), before.service_id);
            moved.add(before.realm, name, &before.currency, day, amount);
        }
    }
    Ok(())
}

fn before(c: &Connection, seq: PaymentId) -> Result<Option<Before>, Error> {
    let found = c
        .prepare_cached(
            "select realm, service_id, recipient, currency, amount, day, counts from counted where seq = ?1",
        )?
        .query_row([seq], |row| {
            Ok(Before {
                realm: row.get(0)?,
                service_id: row.get(1)?,
                recipient: row.get(2)?,
                currency: row.get(3)?,
                amount: row.get(4)?,
                day: Day::from_number(row.get(5)?),
                counts: row.get(6)?,
            })
        })
        .optional()?;
    Ok(found)
}

/// Counts a payment for the first time.
fn begin(
    c: &Connection,
    seq: PaymentId,
    day: Day,
    counts: i64,
    moved: &mut Moved,
) -> Result<(), Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS}, i.service_id, coalesce(b.rehearsal, 0)
         from instruction i cross join service s using (service_id) cross join batch b using (batch_id) where i.seq = ?1"
    ))?;
    let (payment, service_id, realm): (_, LaneId, i64) = statement.query_row([seq], |row| {
        Ok((
            payment_of(row, 0),
            row.get(PAYMENT_WIDTH)?,
            row.get(PAYMENT_WIDTH + 1)?,
        ))
    })?;
    let row: Instruction = payment?.instruction;
    let recipient = recipient_of(&row);
    let (currency, amount) = (row.money.currency.code(), row.money.amount.minor());
    c.prepare_cached(
        "insert into counted (seq, realm, service_id, recipient, currency, amount, day, counts)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        seq,
        realm,
        service_id,
        recipient,
        currency,
        amount,
        day.number(),
        counts
    ])?;
    let name = (recipient.as_str(), service_id);
    moved.add(realm, name, currency, day, i128::from(amount));
    Ok(())
}

/// Returns the names under which the sums of a recipient and of a service are kept.
pub(in crate::journal::sqlite) fn names_of(recipient: &str, service_id: LaneId) -> [String; 2] {
    [format!("r{recipient}"), format!("s{service_id}")]
}

/// What the sums of days move by.
#[derive(Default)]
struct Moved(BTreeMap<(i64, String, String, i32), i128>);

impl Moved {
    fn add(
        &mut self,
        realm: i64,
        (recipient, service_id): (&str, LaneId),
        currency: &str,
        day: Day,
        amount: i128,
    ) {
        for name in names_of(recipient, service_id) {
            let key = (realm, name, currency.to_owned(), day.number());
            *self.0.entry(key).or_default() += amount;
        }
    }

    fn write(self, c: &Connection) -> Result<(), Error> {
        let mut read = c.prepare_cached(
            "select amount from used where realm = ?1 and name = ?2 and currency = ?3 and day = ?4",
        )?;
        let mut write = c.prepare_cached(
            "insert into used (realm, name, currency, day, amount) values (?1, ?2, ?3, ?4, ?5)
             on conflict do update set amount = excluded.amount",
        )?;
        for ((realm, name, currency, day), by) in self.0 {
            if by == 0 {
                continue;
            }
            let was: Option<i64> = read
                .query_row(params![realm, name, currency, day], |row| row.get(0))
                .optional()?;
            write.execute(params![
                realm,
                name,
                currency,
                day,
                moved(was.unwrap_or(0), by)
            ])?;
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
    fn what_may_have_been_paid_counts_and_what_was_proven_not_to_be_is_given_back() {
        for (state, expected) in [
            (State::Ready, Counts::Nothing),
            (State::Posting, Counts::Counted),
            (State::InDoubt, Counts::Counted),
            (State::Acknowledged, Counts::Counted),
            (State::Delivered, Counts::Counted),
            (State::Paid, Counts::Paid),
            (State::Failed, Counts::Nothing),
            (State::Cancelled, Counts::Nothing),
            (State::Conflict, Counts::Counted),
        ] {
            assert_eq!(counts(state), expected, "{state:?}");
        }
    }

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
