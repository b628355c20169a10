//! What became of the payments that were presumed posted.

use rusqlite::Connection;

use crate::domain::BatchName;
use crate::journal::sqlite::Reader;
use crate::journal::sqlite::codec::catalog::purpose;
use crate::journal::sqlite::codec::events::PRESUMED_POSTED;
use crate::journal::sqlite::codec::values::{LIFE_COLUMNS, corrupt, life_of};
use crate::journal::{Error, Presumed};
use crate::ledger::recovery::Since;

impl Reader {
    /// Returns what is known of the payments that were presumed posted, batch by batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn presumed(&self) -> Result<Vec<Presumed>, Error> {
        presumptions(&self.connection)
    }
}

/// Whether evidence of one of these kinds came after the presumption `p`.
fn happened(kinds: &str) -> String {
    format!(
        "exists (select 1 from evidence a indexed by evidence_by_payment
             where a.seq = p.seq and a.evidence_id > p.evidence_id and a.event in ({kinds}))"
    )
}

/// Returns what is known of the payments that were presumed posted, batch by batch.
pub(in crate::journal::sqlite) fn presumptions(c: &Connection) -> Result<Vec<Presumed>, Error> {
    let mut statement = c.prepare(&format!(
        "select b.name, {LIFE_COLUMNS}, {}, {}, {}, {}, b.batch_id
         from (select seq, batch_id, max(evidence_id) as evidence_id from evidence where event = ?1 and seq > 0 group by seq, batch_id) p
         cross join life l on l.seq = p.seq cross join batch b on b.batch_id = p.batch_id
         order by b.batch_id, p.seq",
        happened("5, 6, 8"),
        happened("0"),
        happened("9, 10, 11"),
        happened("52"),
    ))?;
    let mut rows = statement.query([PRESUMED_POSTED])?;
    let mut found: Vec<Presumed> = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let life = life_of(row, 1)?;
        let since = Since {
            answered: row.get(11)?,
            posted: row.get(12)?,
            decided: row.get(13)?,
            released: row.get(14)?,
        };
        if found.last().is_none_or(|last| last.batch.as_str() != name) {
            let batch = BatchName::parse(&name).map_err(|_| corrupt("a batch name"))?;
            found.push(Presumed::none_of(batch, purpose(c, row.get(15)?)?));
        }
        if let Some(batch) = found.last_mut() {
            batch.count(&life, since);
        }
    }
    Ok(found)
}
