//! What later loads repeat of a batch that is still open: a person who allowed that may have meant it to be paid once.

use super::on_record::has_unfinished;
use crate::domain::{BatchId, LoadId, Timestamp};
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Snapshot;
use crate::journal::{Alike, AlikeKind, Error, RepeatedLoad};
use crate::lifecycle::State;
use crate::store::tables::{alike, batch, load, tally};
use crate::store::{Read, Reads, Scan, Test, shape};

impl Snapshot<'_> {
    /// Returns which rows of other batches, loaded since, repeat rows of this one, or look like them.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn repeated_since(&self) -> Result<Vec<Alike>, Error> {
        repeated_since(self.c, self.batch_id)
    }
}

/// Returns what later loads of other batches repeat of a batch: what those pay is its debt, too, unless a person knows better.
pub(super) fn repeated_since(c: &dyn Read, batch_id: BatchId) -> Result<Vec<Alike>, Error> {
    shape! {
        struct Kept of alike { load_id: LoadId, kind: i64, source: String, count: i64 }
    }
    shape! {
        struct Later of load { batch_id: BatchId, source: String, loaded_at: Timestamp }
    }
    let name = batch_name(c, batch_id)?;
    let of_batch = Scan::of(&alike::TABLE).only(alike::batch, Test::is(&name));
    let mut found = Vec::new();
    for kept in c.list::<Kept>(&of_batch)? {
        let known = usize::try_from(kept.kind).ok();
        let kind = match known.and_then(|kind| AlikeKind::ALL.get(kind)) {
            Some(AlikeKind::Allowed) => AlikeKind::AllowedSince,
            Some(AlikeKind::OtherLoad) => AlikeKind::LoadedSince,
            _ => continue,
        };
        let own = Scan::of(&load::TABLE).at(&kept.load_id);
        let later: Later = c
            .first(&own)?
            .ok_or_else(|| corrupt("rows of a load that is not there"))?;
        if later.batch_id == batch_id {
            continue;
        }
        let (paid, may_be_paid) = paid_in(c, later.batch_id)?;
        if may_be_paid {
            let rows = kept.count.unsigned_abs();
            let other = RepeatedLoad {
                batch: batch_name(c, later.batch_id)?,
                source: later.source,
                loaded_at: later.loaded_at,
                rows,
            };
            found.push(Alike {
                kind,
                file: kept.source,
                other,
                lines: Vec::new(),
                paid,
                others: Vec::new(),
            });
        }
    }
    Ok(found)
}

/// Returns how many payments of a batch are paid, and whether any is or may still be.
fn paid_in(c: &dyn Read, batch_id: BatchId) -> Result<(u64, bool), Error> {
    let paid = Scan::of(&tally::TABLE)
        .at(&batch_id)
        .only(tally::state, Test::is(&State::Paid));
    let counts: Vec<i64> = c.values(&paid, tally::count)?;
    let paid = counts.iter().map(|count| count.unsigned_abs()).sum();
    Ok((paid, paid > 0 || has_unfinished(c, batch_id)?))
}

fn batch_name(c: &dyn Read, batch_id: BatchId) -> Result<String, Error> {
    let name = c.value(&Scan::of(&batch::TABLE).at(&batch_id), batch::name)?;
    name.ok_or_else(|| corrupt("a load of a batch that is not there"))
}
