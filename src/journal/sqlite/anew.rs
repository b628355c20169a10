//! Rows whose debt another load has by now: judged when a failure is ordered to be paid anew, and when a row leaves that was
//! loaded while the other one had failed.

use rusqlite::{Connection, params};

use super::fingerprints::{Key, entry_of, join};
use super::on_record::{OnRecord, Other, loads_on_record, other};
use super::repeats::day;
use super::row::{PAYMENT_COLUMNS, PAYMENT_WIDTH, Stored, corrupt, stored_of};
use crate::domain::{Instruction, Timestamp};
use crate::journal::{Error, RepeatPlan};
use crate::ledger::repeats::{Likeness, References, Standing, is_same_payment, judge, likeness};

/// What the rows of failures are compared with.
pub(super) struct Anew<'a> {
    c: &'a Connection,
    plan: &'a RepeatPlan,
    key: Key,
    loads: Vec<OnRecord>,
    now: Timestamp,
}

/// What other loads have of the debt of a row.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// The batch of a row that is paid, or may be.
    pub(super) counts: Option<String>,
    /// Rows that have failed as well.
    pub(super) failed: Vec<i64>,
}

impl<'a> Anew<'a> {
    /// Begins with the failures of a batch; `None` where nothing is to be compared: a rehearsal repeats nothing.
    pub(super) fn begin(
        c: &'a Connection,
        batch_id: i64,
        judged: Option<&'a (RepeatPlan, Timestamp)>,
    ) -> Result<Option<Self>, Error> {
        let Some((plan, now)) = judged else {
            return Ok(None);
        };
        let now = *now;
        let is_rehearsal: bool = c.query_row(
            "select coalesce(rehearsal, gateway like 'sandbox %', false) from batch where batch_id = ?1",
            [batch_id],
            |row| row.get(0),
        )?;
        if is_rehearsal {
            return Ok(None);
        }
        let Some(key) = Key::of(c)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            c,
            plan,
            key,
            loads: loads_on_record(c, plan, now)?,
            now,
        }))
    }

    /// Looks for the debt of a row in all loads but its own.
    pub(super) fn find(&self, seq: i64) -> Result<Elsewhere, Error> {
        let (load_id, row) = self.row(seq)?;
        let mut entries: Vec<u64> = self
            .key
            .hashes(&row, row.money.written())
            .into_iter()
            .map(entry_of)
            .collect();
        entries.sort_unstable();
        let mut found = Elsewhere::default();
        for load in self.loads.iter().filter(|load| load.load_id != load_id) {
            join(self.c, load.load_id, &entries, |_, seqs| {
                for (seq, _) in seqs {
                    if let Some(other) = load.other(self.c, *seq)? {
                        self.take_in(&row, &other, &mut found)?;
                    }
                }
                Ok(())
            })?;
            if found.counts.is_some() {
                break;
            }
        }
        Ok(found)
    }

    fn row(&self, seq: i64) -> Result<(i64, Instruction<Stored>), Error> {
        let mut statement = self.c.prepare_cached(&format!(
            "select {PAYMENT_COLUMNS}, i.load_id from instruction i join service s using (service_id) where i.seq = ?1"
        ))?;
        let mut rows = statement.query([seq])?;
        let row = rows
            .next()?
            .ok_or_else(|| corrupt("a payment without its instruction"))?;
        Ok((row.get(PAYMENT_WIDTH)?, stored_of(row, 0)?.instruction))
    }

    fn take_in(
        &self,
        row: &Instruction<Stored>,
        other: &Other,
        found: &mut Elsewhere,
    ) -> Result<(), Error> {
        let terms = self.plan.terms.of(&row.service);
        let reference = row.reference.as_ref().map(|reference| reference.as_str());
        let references = References::of(reference, other.reference());
        let same = is_same_payment(row, &other.row);
        let age = self.now.since(other.newest);
        if judge(references, same, other.standing, age, &terms) == Likeness::Repeat {
            if found.counts.is_none() {
                found.counts = Some(batch_of(self.c, other.seq)?);
            }
        } else if other.standing == Standing::Failed
            && likeness(references, same, &terms) == Likeness::Repeat
        {
            found.failed.push(other.seq);
        }
        Ok(())
    }
}

fn batch_of(c: &Connection, seq: i64) -> Result<String, Error> {
    Ok(c.prepare_cached(
        "select b.name from instruction i join batch b on b.batch_id = i.batch_id where i.seq = ?1",
    )?
    .query_row([seq], |row| row.get(0))?)
}

/// Has a payment looked at again before it leaves, because of rows of its debt that have failed for now.
pub(super) fn watch(c: &Connection, seq: i64, failed: &[i64]) -> Result<(), Error> {
    for other in failed {
        c.prepare_cached("insert or ignore into watched (seq, other) values (?1, ?2)")?
            .execute([seq, *other])?;
    }
    Ok(())
}

/// Says of payments that are about to be claimed, in their order, which of them another row has paid by now, or may have: it
/// had failed when the payment was loaded.
// Of most journals nothing is watched: then this is a look at an empty table.
pub(super) fn paid_elsewhere(c: &Connection, seqs: &[i64]) -> Result<Option<String>, Error> {
    let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else {
        return Ok(None);
    };
    let mut statement = c.prepare_cached(
        "select seq, other from watched where seq between ?1 and ?2 order by seq, other",
    )?;
    let mut rows = statement.query(params![first, last])?;
    while let Some(row) = rows.next()? {
        let (seq, seq_of_other): (i64, i64) = (row.get(0)?, row.get(1)?);
        if seqs.binary_search(&seq).is_err() {
            continue;
        }
        let Some(other) = other(c, seq_of_other)? else {
            continue;
        };
        if !matches!(other.standing, Standing::Failed | Standing::Cancelled) {
            return told(c, seq, &other).map(Some);
        }
    }
    Ok(None)
}

fn told(c: &Connection, seq: i64, other: &Other) -> Result<String, Error> {
    let place = |seq: i64| -> Result<(String, i64, String, String, i64), Error> {
        Ok(c.prepare_cached(
            "select i.identifier, i.line, l.source, b.name, l.loaded_at from instruction i
             join load l on l.load_id = i.load_id join batch b on b.batch_id = i.batch_id where i.seq = ?1",
        )?
        .query_row([seq], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?)
    };
    let (id, line, source, ..) = place(seq)?;
    let (of, other_line, other_source, batch, loaded_at) = place(other.seq)?;
    let day = day(Timestamp::from_millis(loaded_at));
    Ok(format!(
        "payment {id}, line {line} of {source}, is of the same debt as {of}, line {other_line} of {other_source} of batch {batch}, \
         loaded {day}, which had failed then and is {} now",
        other.state
    ))
}
