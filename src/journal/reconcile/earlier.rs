//! What earlier statements showed of the payments: a payment may have left twice, come back, or left in parts, over several statements.

use std::collections::BTreeMap;

use rusqlite::params;

use super::desk::StatementDesk;
use super::lines::{Told, lines_of};
use super::matching::{FACTS, FACTS_WIDTH, Facts, SHOWN, SHOWN_WIDTH, shown_of};
use super::said::{Said, detail_of};
use crate::domain::{EvidenceId, PaymentId};
use crate::journal::codec::events::{RECONCILED, STATEMENT_LINES};
use crate::journal::read::reader::Snapshot;
use crate::journal::{Error, StatementFacts};
use crate::ledger::reconciliation::{Shown, ShownBefore};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan};

/// An earlier comparison that counts.
#[derive(Clone, Copy)]
struct Earlier {
    /// Its statement is of the same kind as this one, in which the same line looks the same.
    is_alike: bool,
}

impl Snapshot<'_> {
    /// Reads what earlier statements showed of the payments, but for lines that this one has as well.
    pub(super) fn read_before(
        &self,
        desk: &StatementDesk,
        facts: &StatementFacts,
    ) -> Result<(), Error> {
        let counting = self.counting(facts)?;
        if counting.values().all(Option::is_none) {
            return Ok(());
        }
        let mut put = desk.c.prepare(
            "insert or ignore into before (seq, day, mark, alike, told, minor) values (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let lines = Scan::by(&evidence::about_batch)
            .at(&STATEMENT_LINES)
            .at(&self.batch_id);
        self.c.each(&lines, |said: Said| {
            // They stand before the row of their comparison.
            let of = counting.range(said.evidence_id..).next();
            let Some(Earlier { is_alike }) = of.and_then(|(_, earlier)| *earlier) else {
                return Ok::<_, Error>(());
            };
            for line in lines_of(&detail_of(&said)?)? {
                let (told, minor) = match line.told {
                    Told::Paid => (0, 0),
                    Told::PaidUnnamed => (1, 0),
                    Told::Returned => (2, 0),
                    Told::Otherwise(minor) => (3, minor),
                };
                put.execute(params![
                    line.seq,
                    line.day.number(),
                    line.mark,
                    is_alike,
                    told,
                    minor
                ])?;
            }
            Ok(())
        })?;
        desk.c.execute_batch(
            "create index entry_by_mark on entry (day, mark, seq);
             delete from before where exists (
                 select 1 from entry e where e.day = before.day and e.mark = before.mark and (before.told = 1 or e.seq = before.seq));
             -- It has its line, and takes no other one.
             update payment set had_line = 1 where seq in (select before.seq from before where before.told in (0, 1) and before.alike = 1)",
        )?;
        Ok(())
    }

    /// Returns the earlier comparisons, by their rows of evidence; of each statement the last one counts, and not of this one.
    fn counting(
        &self,
        facts: &StatementFacts,
    ) -> Result<BTreeMap<EvidenceId, Option<Earlier>>, Error> {
        let summaries = Scan::by(&evidence::about_batch)
            .at(&RECONCILED)
            .at(&self.batch_id);
        let mut last: BTreeMap<String, EvidenceId> = BTreeMap::new();
        let mut all = BTreeMap::new();
        self.c.each(&summaries, |said: Said| {
            let summary = detail_of(&said)?;
            let text = |name: &str| summary[name].as_str().unwrap_or_default();
            let is_this = text("digest") == facts.digest;
            let is_alike = text("kind") == facts.kind;
            if let Some(before) = last.insert(text("digest").to_owned(), said.evidence_id) {
                all.insert(before, None);
            }
            all.insert(said.evidence_id, (!is_this).then_some(Earlier { is_alike }));
            Ok::<_, Error>(())
        })?;
        Ok(all)
    }
}

impl StatementDesk {
    /// Adds it to what this statement shows.
    pub(super) fn add_before(&self) -> Result<(), Error> {
        let mut found = self.c.prepare(&format!(
            "select {FACTS}, {SHOWN}, before.told = 0 and alike = 1, before.told = 2 and alike = 1, before.told = 2 and alike = 0, iif(before.told = 3, before.minor, 0)
             from before cross join payment p using (seq) where foreign_batch = 0 order by seq"
        ))?;
        let mut rows = found.query([])?;
        let mut known: Option<(Facts, Shown, ShownBefore)> = None;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
            if known.as_ref().is_none_or(|(facts, ..)| facts.seq != seq) {
                self.save_with(known.take())?;
                let shown = shown_of(row, FACTS_WIDTH)?;
                known = Some((Facts::of(row)?, shown, ShownBefore::default()));
            }
            let at = FACTS_WIDTH + SHOWN_WIDTH;
            if let Some((.., before)) = &mut known {
                before.paid += row.get::<_, u32>(at)?;
                before.returned += row.get::<_, u32>(at + 1)?;
                before.returned_elsewhere += row.get::<_, u32>(at + 2)?;
                before.otherwise = before.otherwise.saturating_add(row.get(at + 3)?);
            }
        }
        self.save_with(known)
    }

    fn save_with(&self, known: Option<(Facts, Shown, ShownBefore)>) -> Result<(), Error> {
        let Some((facts, mut shown, before)) = known else {
            return Ok(());
        };
        if !shown.add_before(before) {
            return Ok(());
        }
        let mut note = self
            .c
            .prepare_cached("update payment set earlier = 1 where seq = ?1")?;
        note.execute([facts.seq])?;
        self.save(Some((facts, shown)))
    }
}
