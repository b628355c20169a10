//! What earlier statements showed of the payments: a payment may have left twice, come back, or left in parts, over several statements.

use std::collections::BTreeMap;

use rusqlite::{Row, params};

use super::desk::StatementDesk;
use super::lines::{lines_of, movement_in, movement_of};
use super::matching::{
    FACTS, FACTS_WIDTH, Facts, LINE, SHOWN, SHOWN_WIDTH, by_of, line_of, shown_of,
};
use super::said::{Said, detail_of};
use crate::domain::{EvidenceId, PaymentId};
use crate::journal::codec::events::{RECONCILED, STATEMENT_LINES};
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Snapshot;
use crate::journal::{Error, StatementFacts};
use crate::ledger::reconciliation::{
    MOVEMENTS_MAX, MatchedBy, Moved, Movement, ShownBefore, not_among, take_statement,
};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan};

/// An earlier comparison that counts.
#[derive(Clone, Copy)]
struct Earlier {
    /// Which kind its statement is of; 0: the same as this one, in which the same field holds the same.
    kind: i64,
    /// Its place among them.
    statement: i64,
}

impl Snapshot<'_> {
    /// Reads what earlier statements showed of the payments, and adds up what this one does not show as well.
    pub(super) fn read_before(
        &self,
        desk: &StatementDesk,
        facts: &StatementFacts,
    ) -> Result<(), Error> {
        let counting = self.counting(facts)?;
        if counting.values().all(Option::is_none) {
            return Ok(());
        }
        let mut put = desk
            .c
            .prepare("insert into before (seq, kind, statement, line) values (?1, ?2, ?3, ?4)")?;
        let lines = Scan::by(&evidence::about_batch)
            .at(&STATEMENT_LINES)
            .at(&self.batch_id);
        self.c.each(&lines, |said: Said| {
            // They stand before the row of their comparison.
            let of = counting.range(said.evidence_id..).next();
            let Some(Earlier { kind, statement }) = of.and_then(|(_, earlier)| *earlier) else {
                return Ok::<_, Error>(());
            };
            for line in lines_of(&detail_of(&said)?)? {
                put.execute(params![line.seq, kind, statement, line.about()])?;
            }
            Ok(())
        })?;
        desk.c.execute_batch(
            "create index before_by_payment on before (seq, kind, statement);
             create index if not exists entry_by_payment on entry (seq, n) where seq is not null;",
        )?;
        desk.meet_before()
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
        let mut kinds = vec![facts.kind.clone()];
        let mut all = BTreeMap::new();
        self.c.each(&summaries, |said: Said| {
            let summary = detail_of(&said)?;
            let text = |name: &str| summary[name].as_str().unwrap_or_default();
            let is_this = text("digest") == facts.digest;
            let kind = kinds.iter().position(|kind| kind == text("kind"));
            let kind = kind.unwrap_or_else(|| {
                kinds.push(text("kind").to_owned());
                kinds.len() - 1
            });
            let earlier = Earlier {
                kind: as_number(kind),
                statement: as_number(all.len()),
            };
            if let Some(before) = last.insert(text("digest").to_owned(), said.evidence_id) {
                all.insert(before, None);
            }
            all.insert(said.evidence_id, (!is_this).then_some(earlier));
            Ok::<_, Error>(())
        })?;
        Ok(all)
    }
}

fn as_number(place: usize) -> i64 {
    i64::try_from(place).expect("a row of evidence for each")
}

/// What earlier statements showed of one payment.
struct Before {
    facts: Facts,
    /// By the kinds of statements.
    known: BTreeMap<i64, Vec<Movement>>,
    /// What the statement shows that is being read, and which one that is.
    of_one: Vec<Movement>,
    at: (i64, i64),
}

impl Before {
    fn of(facts: Facts) -> Self {
        Self {
            facts,
            known: BTreeMap::new(),
            of_one: Vec::new(),
            at: (0, 0),
        }
    }

    fn take(&mut self, at: (i64, i64), movement: Movement) {
        if self.at != at {
            self.end_statement();
            self.at = at;
        }
        if self.of_one.len() < MOVEMENTS_MAX {
            self.of_one.push(movement);
        }
    }

    fn end_statement(&mut self) {
        let known = self.known.entry(self.at.0).or_default();
        take_statement(known, std::mem::take(&mut self.of_one));
    }

    fn has_unnamed(&self) -> bool {
        let mut all = self.known.values().flatten();
        all.any(|movement| !movement.is_named)
    }
}

impl StatementDesk {
    /// Adds up, for each payment, the movements of earlier statements that this one does not show.
    fn meet_before(&self) -> Result<(), Error> {
        let mut found = self.c.prepare(&format!(
            "select {FACTS}, before.kind, before.statement, before.line
             from before cross join payment p using (seq) order by before.seq, before.kind, before.statement, before.rowid"
        ))?;
        let mut rows = found.query([])?;
        let mut one: Option<Before> = None;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
            if one.as_ref().is_none_or(|before| before.facts.seq != seq) {
                self.note_before(one.take())?;
                one = Some(Before::of(Facts::of(row)?));
            }
            let line = row.get_ref(FACTS_WIDTH + 2)?.as_str().unwrap_or_default();
            let movement = movement_in(line).ok_or_else(|| corrupt("a line that is gone"))?;
            let at = (row.get(FACTS_WIDTH)?, row.get(FACTS_WIDTH + 1)?);
            if let Some(before) = &mut one {
                before.take(at, movement);
            }
        }
        self.note_before(one)
    }

    fn note_before(&self, before: Option<Before>) -> Result<(), Error> {
        let Some(mut before) = before else {
            return Ok(());
        };
        before.end_statement();
        let shown = self.movements(&before.facts, before.has_unnamed())?;
        let (mut sum, mut had_line) = (ShownBefore::default(), false);
        for (kind, known) in before.known {
            let left = not_among(known, shown.clone());
            match kind {
                0 => {
                    sum.add_alike(&left);
                    had_line |= left.iter().any(|movement| movement.moved == Moved::Out);
                }
                _ => sum.add_of_another_kind(&left),
            }
        }
        // What had its line takes no other one.
        self.c
            .prepare_cached(
                "update payment set before_paid = ?2, before_returned = ?3, before_elsewhere = ?4, before_otherwise = ?5, had_line = ?6 where seq = ?1",
            )?
            .execute(params![before.facts.seq, sum.paid, sum.returned, sum.returned_elsewhere, sum.otherwise, had_line])?;
        Ok(())
    }

    /// Returns the movements of a payment that this statement shows; `with_unnamed`: and those without a name that may be its own.
    fn movements(&self, facts: &Facts, with_unnamed: bool) -> Result<Vec<Movement>, Error> {
        let mut shown = Vec::new();
        let mut named = self.c.prepare_cached(&format!(
            "select {LINE}, e.marks from entry e where e.seq = ?1 order by e.n limit ?2"
        ))?;
        let mut rows = named.query(params![facts.seq, as_number(MOVEMENTS_MAX)])?;
        while let Some(row) = rows.next()? {
            let by = by_of(row.get(11)?).unwrap_or(MatchedBy::AmountAndRecipient);
            shown.extend(self.movement(facts, row, by)?);
        }
        if !with_unnamed {
            return Ok(shown);
        }
        let mut unnamed = self.c.prepare_cached(&format!(
            "select {LINE}, e.marks from payment p cross join entry e using (rkey, minor, currency)
             where p.seq = ?1 and pays = 1 and e.seq is null and several = 0 and elsewhere = 0 and batch = 0 and e.rkey is not null limit ?2"
        ))?;
        let mut rows = unnamed.query(params![facts.seq, as_number(MOVEMENTS_MAX)])?;
        while let Some(row) = rows.next()? {
            shown.extend(self.movement(facts, row, MatchedBy::AmountAndRecipient)?);
        }
        Ok(shown)
    }

    fn movement(
        &self,
        facts: &Facts,
        row: &Row<'_>,
        by: MatchedBy,
    ) -> Result<Option<Movement>, Error> {
        movement_of(facts, &line_of(row, 0)?, by, &row.get::<_, String>(12)?)
    }

    /// Adds it to what this statement shows.
    pub(super) fn add_before(&self) -> Result<(), Error> {
        let mut found = self.c.prepare(&format!(
            "select {FACTS}, {SHOWN}, before_paid, before_returned, before_elsewhere, before_otherwise from payment p
             where foreign_batch = 0 and (before_paid > 0 or before_returned > 0 or before_elsewhere > 0 or before_otherwise <> 0) order by seq"
        ))?;
        let mut note = self
            .c
            .prepare("update payment set earlier = 1 where seq = ?1")?;
        let mut rows = found.query([])?;
        while let Some(row) = rows.next()? {
            let facts = Facts::of(row)?;
            let mut shown = shown_of(row, FACTS_WIDTH)?;
            let at = FACTS_WIDTH + SHOWN_WIDTH;
            let before = ShownBefore {
                paid: row.get(at)?,
                returned: row.get(at + 1)?,
                returned_elsewhere: row.get(at + 2)?,
                otherwise: row.get(at + 3)?,
            };
            if shown.add_before(before) {
                note.execute([facts.seq])?;
                self.save(Some((facts, shown)))?;
            }
        }
        Ok(())
    }
}
