//! What earlier statements showed of the payments: a payment may have left twice, come back, or left in parts, over several statements.

use std::collections::BTreeMap;

use rusqlite::{Row, params};

use super::desk::StatementDesk;
use super::lines::{lines_of, movement_in, movement_of};
use super::matching::{
    FACTS, FACTS_WIDTH, Facts, LINE, SHOWN, SHOWN_WIDTH, by_of, line_of, paid_before_number,
    shown_of,
};
use super::said::{Said, detail_of};
use crate::domain::{BatchId, EvidenceId, PaymentId};
use crate::journal::codec::events::{RECONCILED, STATEMENT_LINES};
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Snapshot;
use crate::journal::{Error, StatementFacts};
use crate::ledger::reconciliation::{
    Kinship, MOVEMENTS_MAX, MatchedBy, Moved, Movement, PaidBefore, Period, ShownBefore, Source,
    is_apart, matched, not_among, take_statement,
};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan};

/// Lines of earlier statements that are told of one payment.
const LINES_TOLD_MAX: usize = 8;

/// An earlier comparison that counts.
#[derive(Clone, Copy)]
struct Earlier {
    /// The place of its source.
    source: usize,
    /// Its own place among the statements.
    statement: usize,
}

/// The earlier comparisons of a batch.
#[derive(Default)]
pub(super) struct Comparisons {
    /// By their rows of evidence; `None`: it does not count.
    all: BTreeMap<EvidenceId, Option<Earlier>>,
    /// Where the statements come from; all that come from where this one does are the first.
    sources: Vec<(Source, Kinship)>,
    /// The names of the statements.
    names: Vec<String>,
    /// The days of this statement.
    period: Option<Period>,
}

impl Comparisons {
    /// Returns the place of a source, which is taken in if it is not known.
    fn place(&mut self, source: Source) -> usize {
        let this = &self.sources[0].0;
        let kinship = this.kinship(&source);
        let is_it = |(known, _): &(Source, Kinship)| known.kinship(&source) == Kinship::Same;
        match kinship {
            Kinship::Same => 0,
            Kinship::Near | Kinship::Other => {
                let known = self.sources.iter().skip(1).position(is_it);
                known.map_or_else(
                    || {
                        self.sources.push((source.clone(), kinship));
                        self.sources.len() - 1
                    },
                    |place| place + 1,
                )
            }
        }
    }

    /// Returns where a statement shows movements, for a person.
    fn told(&self, movements: &[Movement]) -> Vec<String> {
        let told = movements.iter().map(|movement| {
            let statement = usize::try_from(movement.statement).unwrap_or_default();
            let name = self.names.get(statement).map_or("", String::as_str);
            format!("{name} of {}", movement.day)
        });
        told.collect()
    }
}

impl Snapshot<'_> {
    /// Reads what earlier statements showed of the payments, and adds up what this one does not show as well.
    pub(super) fn read_before(
        &self,
        desk: &StatementDesk,
        facts: &StatementFacts,
    ) -> Result<Option<Comparisons>, Error> {
        let this = Source {
            kind: facts.kind.clone(),
            account: facts.account.clone(),
        };
        let mut comparisons = Comparisons {
            sources: vec![(this, Kinship::Same)],
            period: facts.period,
            ..Comparisons::default()
        };
        // Lines of other batches' payments are on record with their batches.
        let mut batches = vec![self.batch_id];
        batches.extend(desk.foreign_batches()?);
        for batch_id in &batches {
            self.add_comparisons(&mut comparisons, *batch_id, &facts.digest)?;
        }
        if comparisons.all.values().all(Option::is_none) {
            return Ok(None);
        }
        for batch_id in batches {
            self.put_lines(desk, &comparisons, batch_id)?;
        }
        desk.c.execute_batch(
            "create index before_by_payment on before (seq, source, statement);
             create index key_by_payment on key (seq);
             create index if not exists entry_by_payment on entry (seq, n) where seq is not null;
             create index paying_alike on entry (rkey, minor, currency) where pays = 1 and rkey is not null;",
        )?;
        desk.each_before(&mut |before| desk.claim(&before, &comparisons))?;
        desk.give_claimed()?;
        desk.each_before(&mut |before| desk.note_before(&before, &comparisons))?;
        Ok(Some(comparisons))
    }

    fn put_lines(
        &self,
        desk: &StatementDesk,
        comparisons: &Comparisons,
        batch_id: BatchId,
    ) -> Result<(), Error> {
        let mut put = desk.c.prepare_cached(
            "insert into before (seq, source, statement, line) values (?1, ?2, ?3, ?4)",
        )?;
        let lines = Scan::by(&evidence::about_batch)
            .at(&STATEMENT_LINES)
            .at(&batch_id);
        self.c.each(&lines, |said: Said| {
            // They stand before the row of their comparison.
            let of = comparisons.all.range(said.evidence_id..).next();
            let Some(earlier) = of.and_then(|(_, earlier)| *earlier) else {
                return Ok::<_, Error>(());
            };
            let (source, statement) = (as_number(earlier.source), as_number(earlier.statement));
            for line in lines_of(&detail_of(&said)?)? {
                put.execute(params![line.seq, source, statement, line.about()])?;
            }
            Ok(())
        })
    }

    /// Adds the earlier comparisons of a batch; of each statement the last one counts, and not of this one.
    fn add_comparisons(
        &self,
        comparisons: &mut Comparisons,
        batch_id: BatchId,
        this: &str,
    ) -> Result<(), Error> {
        let summaries = Scan::by(&evidence::about_batch)
            .at(&RECONCILED)
            .at(&batch_id);
        let mut last: BTreeMap<String, EvidenceId> = BTreeMap::new();
        self.c.each(&summaries, |said: Said| {
            let summary = detail_of(&said)?;
            let text = |name: &str| summary[name].as_str().map(str::to_owned);
            let digest = text("digest").unwrap_or_default();
            let is_this = digest == this;
            let earlier = Earlier {
                source: comparisons.place(Source {
                    kind: text("kind").unwrap_or_default(),
                    account: text("account"),
                }),
                statement: comparisons.names.len(),
            };
            comparisons
                .names
                .push(text("statement").unwrap_or_default());
            if let Some(before) = last.insert(digest, said.evidence_id) {
                comparisons.all.insert(before, None);
            }
            comparisons
                .all
                .insert(said.evidence_id, (!is_this).then_some(earlier));
            Ok::<_, Error>(())
        })
    }
}

fn as_number(place: usize) -> i64 {
    i64::try_from(place).expect("a row of evidence for each")
}

/// What earlier statements showed of one payment.
struct Before {
    facts: Facts,
    /// What names the payment.
    names: Vec<String>,
    /// By the places of the sources.
    known: BTreeMap<usize, Vec<Movement>>,
    /// What the statement shows that is being read, and which one that is: the places of its source and its own.
    of_one: Vec<Movement>,
    at: (usize, i64),
}

impl Before {
    fn take(&mut self, at: (usize, i64), movement: Movement) {
        if self.at != at {
            self.end_statement();
            self.at = at;
        }
        if self.of_one.len() < MOVEMENTS_MAX {
            self.of_one.push(Movement {
                marks: movement.marks.with_own_names(&self.names),
                statement: at.1,
                ..movement
            });
        }
    }

    fn end_statement(&mut self) {
        let known = self.known.entry(self.at.0).or_default();
        take_statement(known, std::mem::take(&mut self.of_one));
    }

    fn ended(mut self) -> Self {
        self.end_statement();
        self
    }

    /// Returns what a line tells of the payment.
    fn movement(&self, row: &Row<'_>, by: MatchedBy) -> Result<Option<Movement>, Error> {
        let marks: String = row.get(12)?;
        let movement = movement_of(&self.facts, &line_of(row, 0)?, by, &marks)?;
        Ok(movement.map(|movement| Movement {
            marks: movement.marks.with_own_names(&self.names),
            ..movement
        }))
    }
}

impl StatementDesk {
    /// Returns the other batches of payments that a line without a name may be about.
    fn foreign_batches(&self) -> Result<Vec<BatchId>, Error> {
        let mut batches = self.c.prepare(
            "select distinct foreign_batch from payment where foreign_batch > 0 order by 1",
        )?;
        let batches = batches.query_map([], |row| row.get(0).map(BatchId::new))?;
        Ok(batches.collect::<Result<_, _>>()?)
    }

    /// Hands out what earlier statements showed, payment by payment.
    fn each_before(&self, each: &mut dyn FnMut(Before) -> Result<(), Error>) -> Result<(), Error> {
        let mut found = self.c.prepare(&format!(
            "select {FACTS}, before.source, before.statement, before.line
             from before cross join payment p using (seq) order by before.seq, before.source, before.statement, before.rowid"
        ))?;
        let mut rows = found.query([])?;
        let mut one: Option<Before> = None;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
            if one.as_ref().is_none_or(|before| before.facts.seq != seq) {
                let next = Before {
                    facts: Facts::of(row)?,
                    names: self.names(seq)?,
                    known: BTreeMap::new(),
                    of_one: Vec::new(),
                    at: (0, 0),
                };
                if let Some(before) = one.replace(next) {
                    each(before.ended())?;
                }
            }
            let line = row.get_ref(FACTS_WIDTH + 2)?.as_str().unwrap_or_default();
            let movement = movement_in(line).ok_or_else(|| corrupt("a line that is gone"))?;
            let source: i64 = row.get(FACTS_WIDTH)?;
            let at = usize::try_from(source).unwrap_or_default();
            if let Some(before) = &mut one {
                before.take((at, row.get(FACTS_WIDTH + 1)?), movement);
            }
        }
        one.map_or(Ok(()), |before| each(before.ended()))
    }

    /// Returns what names a payment, and no movement of it.
    fn names(&self, seq: PaymentId) -> Result<Vec<String>, Error> {
        let mut names = self
            .c
            .prepare_cached("select key from key where seq = ?1 and rank < 2")?;
        let names = names.query_map([seq], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Notes which lines without a name a payment claims, because earlier statements show that they are its movements.
    fn claim(&self, before: &Before, comparisons: &Comparisons) -> Result<(), Error> {
        let seq = before.facts.seq;
        let is_named = |one: &&Movement| one.moved == Moved::Out && one.is_named;
        let counts = before
            .known
            .values()
            .map(|known| known.iter().filter(is_named).count());
        let known_out = counts.max().unwrap_or_default();
        if known_out == 0 {
            return Ok(());
        }
        self.c
            .prepare_cached("update payment set known_out = ?2 where seq = ?1")?
            .execute(params![seq, as_number(known_out)])?;
        let mut put = self
            .c
            .prepare_cached("insert into claim (n, score, seq) values (?1, ?2, ?3)")?;
        for (n, line) in self.lines_alike(before, true)? {
            let known = before.known.iter().flat_map(|(source, movements)| {
                let kinship = comparisons.sources[*source].1;
                movements.iter().map(move |movement| (kinship, movement))
            });
            let score = known.filter_map(|(kinship, movement)| movement.claims(&line, kinship));
            if let Some(score) = score.max() {
                put.execute(params![n, score, seq])?;
            }
        }
        Ok(())
    }

    /// Gives each line without a name to the payment that claims it best. A payment gets as many as it is known to have movements, less
    /// those that this statement shows by name.
    fn give_claimed(&self) -> Result<(), Error> {
        self.c
            .execute_batch("create index claim_by_line on claim (n, score)")?;
        // Of several that claim it as well, nobody knows which one has it: they are paired like all others.
        let mut claims = self.c.prepare(
            "select n, seq from claim
             where (select count(*) from claim other where other.n = claim.n and other.score = claim.score) = 1 order by score desc, n",
        )?;
        let mut has_room = self.c.prepare(
            "select e.seq is null and e.elsewhere = 0 and p.known_out > p.paid from entry e cross join payment p where e.n = ?1 and p.seq = ?2",
        )?;
        // What a payment of this batch is given is counted with what it has.
        let mut count = self.c.prepare(
            "update payment set known_out = known_out - 1 where seq = ?1 and foreign_batch > 0",
        )?;
        let mut rows = claims.query([])?;
        while let Some(row) = rows.next()? {
            let (n, seq): (i64, PaymentId) = (row.get(0)?, row.get(1)?);
            if has_room.query_row((n, seq), |row| row.get(0))? && self.give(seq, n, false)? {
                count.execute([seq])?;
            }
        }
        Ok(())
    }

    /// Returns the lines to the recipient of a payment that have its amount; `free`: those without a name alone that no payment has.
    fn lines_alike(&self, before: &Before, free: bool) -> Result<Vec<(i64, Movement)>, Error> {
        let condition = match free {
            true => {
                "pays = 1 and e.seq is null and several = 0 and elsewhere = 0 and batch = 0 and e.rkey is not null"
            }
            false => "pays = 1 and e.rkey is not null",
        };
        let mut alike = self.c.prepare_cached(&format!(
            "select {LINE}, e.marks from payment p cross join entry e using (rkey, minor, currency) where p.seq = ?1 and {condition} limit ?2"
        ))?;
        let mut rows = alike.query(params![before.facts.seq, as_number(MOVEMENTS_MAX)])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            let line = before.movement(row, MatchedBy::AmountAndRecipient)?;
            lines.extend(line.map(|line| (row.get(0), line)));
        }
        let lines = lines.into_iter().map(|(n, line)| Ok((n?, line)));
        lines.collect()
    }

    fn note_before(&self, before: &Before, comparisons: &Comparisons) -> Result<(), Error> {
        let shown = self.movements(before)?;
        let (mut sum, mut had_line) = (ShownBefore::default(), false);
        let (mut lines, mut own, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (source, known) in &before.known {
            let left = not_among(known, &matched(known, &shown));
            lines.extend(comparisons.told(&left));
            match comparisons.sources[*source].1 {
                Kinship::Same => {
                    sum.add_alike(&left);
                    // A guess whose line is here is made again, beside all that is known by now.
                    let alike = self.lines_alike(before, false)?;
                    let is_here = |one: &Movement| {
                        !one.is_named && alike.iter().any(|(_, line)| one.can_be(line))
                    };
                    let mut out = left.iter().filter(|one| one.moved == Moved::Out);
                    had_line |= out.any(|one| !is_here(one));
                    own = left;
                }
                Kinship::Near | Kinship::Other => {
                    sum.add_of_another_kind(known, &left);
                    others.push(known.as_slice());
                }
            }
        }
        let period = comparisons.period;
        let shows = |day| period.is_some_and(|period| (period.from..=period.to).contains(&day));
        let paid_before = PaidBefore::of(&own, &others, shows);
        if let Some(more) = lines
            .len()
            .checked_sub(LINES_TOLD_MAX)
            .filter(|more| *more > 0)
        {
            lines.truncate(LINES_TOLD_MAX);
            lines.push(format!("and {more} more"));
        }
        // What had its line takes no other one.
        self.c
            .prepare_cached(
                "update payment set before_paid = ?2, before_returned = ?3, before_paid_elsewhere = ?4, before_elsewhere = ?5, before_otherwise = ?6,
                     had_line = ?7, before_lines = ?8, paid_before = ?9 where seq = ?1",
            )?
            .execute(params![
                before.facts.seq,
                sum.paid,
                sum.returned,
                sum.paid_elsewhere,
                sum.returned_elsewhere,
                sum.otherwise,
                had_line,
                lines.join("\n"),
                paid_before_number(paid_before)
            ])?;
        Ok(())
    }

    /// Finds the payments that this statement and one of another source show by movements which can hardly be one.
    pub(super) fn find_apart(&self, comparisons: &Comparisons) -> Result<(), Error> {
        self.each_before(&mut |before| {
            let shown = self.movements(&before)?;
            let mut known = before.known.iter();
            let is_found = known.any(|(source, known)| {
                let kinship = comparisons.sources[*source].1;
                let left = not_among(known, &matched(known, &shown));
                kinship != Kinship::Same && is_apart(kinship, &left, &shown)
            });
            if is_found {
                self.c
                    .prepare_cached("update payment set apart = 1 where seq = ?1")?
                    .execute([before.facts.seq])?;
            }
            Ok(())
        })
    }

    /// Returns the movements of a payment that this statement shows.
    fn movements(&self, before: &Before) -> Result<Vec<Movement>, Error> {
        let mut lines = self.c.prepare_cached(&format!(
            "select {LINE}, e.marks from entry e where e.seq = ?1 order by e.n limit ?2"
        ))?;
        let mut rows = lines.query(params![before.facts.seq, as_number(MOVEMENTS_MAX)])?;
        let mut shown = Vec::new();
        while let Some(row) = rows.next()? {
            let by = by_of(row.get(11)?).unwrap_or(MatchedBy::AmountAndRecipient);
            shown.extend(before.movement(row, by)?);
        }
        Ok(shown)
    }

    /// Adds it to what this statement shows.
    pub(super) fn add_before(&self) -> Result<(), Error> {
        let mut found = self.c.prepare(&format!(
            "select {FACTS}, {SHOWN}, before_paid, before_returned, before_paid_elsewhere, before_elsewhere, before_otherwise from payment p
             where foreign_batch = 0
                 and (before_paid > 0 or before_returned > 0 or before_paid_elsewhere > 0 or before_elsewhere > 0 or before_otherwise <> 0)
             order by seq"
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
                paid_elsewhere: row.get(at + 2)?,
                returned_elsewhere: row.get(at + 3)?,
                otherwise: row.get(at + 4)?,
            };
            if shown.add_before(before) {
                note.execute([facts.seq])?;
                self.save(Some((facts, shown)))?;
            }
        }
        Ok(())
    }
}
