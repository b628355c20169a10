//! What became of the payments that were presumed posted.

use crate::domain::{EvidenceId, PaymentId};
use crate::journal::Reader;
use crate::journal::codec::catalog::{batches, of_batch, purpose};
use crate::journal::codec::events::{PRESUMED_POSTED, RELEASED};
use crate::journal::{Error, Presumed};
use crate::ledger::recovery::Since;
use crate::lifecycle::PaymentState;
use crate::store::tables::{batch, evidence, life};
use crate::store::{Read, Reads, Scan, Test, shape};

impl Reader {
    /// Returns what is known of the payments that were presumed posted, batch by batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn presumed(&self) -> Result<Vec<Presumed>, Error> {
        presumptions(self.store())
    }
}

shape! {
    /// That a payment was presumed posted.
    struct Presumption of evidence { evidence_id: EvidenceId, seq: PaymentId }
}
shape! {
    /// What happened to it.
    struct Happened of evidence { event: i64 }
}

/// Returns what is known of the payments that were presumed posted, batch by batch.
pub(in crate::journal) fn presumptions(c: &dyn Read) -> Result<Vec<Presumed>, Error> {
    let mut found = Vec::new();
    for batch_id in batches(c)? {
        let mut presumed: Option<Presumed> = None;
        let of_payments = Scan::by(&evidence::presumed)
            .at(&batch_id)
            .only(evidence::seq, Test::at_least(&1_i64));
        c.each(&of_payments, |presumption: Presumption| {
            let own = Scan::of(&life::TABLE).at(&presumption.seq);
            let Some((since, life)) = since(c, &presumption)?.zip(c.first(&own)?) else {
                return Ok(());
            };
            let life: PaymentState = life;
            let batch = match &mut presumed {
                Some(batch) => batch,
                none => none.insert(Presumed::none_of(
                    of_batch(c, batch_id, batch::name)?,
                    purpose(c, batch_id)?,
                )),
            };
            batch.count(&life, since);
            Ok::<_, Error>(())
        })?;
        found.extend(presumed);
    }
    Ok(found)
}

/// Returns what happened to a payment since it was presumed posted; `None`: it was presumed again since.
fn since(c: &dyn Read, presumption: &Presumption) -> Result<Option<Since>, Error> {
    let later = Scan::by(&evidence::evidence_by_payment)
        .at(&presumption.seq)
        .after(&presumption.evidence_id);
    let mut since = Some(Since::default());
    c.each(&later, |Happened { event }| {
        if let Some(so_far) = &mut since {
            match event {
                5 | 6 | 8 => so_far.answered = true,
                0 => so_far.posted = true,
                9..=11 => so_far.decided = true,
                RELEASED => so_far.released = true,
                PRESUMED_POSTED => since = None,
                _ => {}
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok(since)
}
