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
use crate::domain::{EvidenceId, PaymentId};
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
struct Comparisons {
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
    ) -> Result<(), Error> {
        let comparisons = self.comparisons(facts)?;
        if comparisons.all.values().all(Option::is_none) {
            return Ok(());
        }
        let mut put = desk
            .c
            .prepare("insert into before (seq, source, statement, line) values (?1, ?2, ?3, ?4)")?;
        let lines = Scan::by(&evidence::about_batch)
            .at(&STATEMENT_LINES)
            .at(&self.batch_id);
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
        })?;
        desk.c.execute_batch(
            "create index before_by_payment on before (seq, source, statement);
             create index key_by_payment on key (seq);
             create index if not exists entry_by_payment on entry (seq, n) where seq is not null;",
        )?;
        desk.meet_before(&comparisons)
    }

    /// Returns the earlier comparisons; of each statement the last one counts, and not of this one.
    fn comparisons(&self, facts: &StatementFacts) -> Result<Comparisons, Error> {
        let summaries = Scan::by(&evidence::about_batch)
            .at(&RECONCILED)
            .at(&self.batch_id);
        let this = Source {
            kind: facts.kind.clone(),
            account: facts.account.clone(),
        };
        let mut comparisons = Comparisons {
            sources: vec![(this, Kinship::Same)],
            period: facts.period,
            ..Comparisons::default()
        };
        let mut last: BTreeMap<String, EvidenceId> = BTreeMap::new();
        self.c.each(&summaries, |said: Said| {
            let summary = detail_of(&said)?;
            let text = |name: &str| summary[name].as_str().map(str::to_owned);
            let digest = text("digest").unwrap_or_default();
            let is_this = digest == facts.digest;
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
        })?;
        Ok(comparisons)
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
}

/// A movement that this statement shows.
struct Now {
    /// The number of its line.
    n: i64,
    /// The line does not name the payment, and may be about another one.
    is_free: bool,
    movement: Movement,
}

impl StatementDesk {
    /// Adds up, for each payment, the movements of earlier statements that this one does not show.
    fn meet_before(&self, comparisons: &Comparisons) -> Result<(), Error> {
        let mut found = self.c.prepare(&format!(
            "select {FACTS}, before.source, before.statement, before.line
             from before cross join payment p using (seq) order by before.seq, before.source, before.statement, before.rowid"
        ))?;
        let mut rows = found.query([])?;
        let mut one: Option<Before> = None;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
            if one.as_ref().is_none_or(|before| before.facts.seq != seq) {
                self.note_before(one.take(), comparisons)?;
                one = Some(Before {
                    facts: Facts::of(row)?,
                    names: self.names(seq)?,
                    known: BTreeMap::new(),
                    of_one: Vec::new(),
                    at: (0, 0),
                });
            }
            let line = row.get_ref(FACTS_WIDTH + 2)?.as_str().unwrap_or_default();
            let movement = movement_in(line).ok_or_else(|| corrupt("a line that is gone"))?;
            let source: i64 = row.get(FACTS_WIDTH)?;
            let at = usize::try_from(source).unwrap_or_default();
            if let Some(before) = &mut one {
                before.take((at, row.get(FACTS_WIDTH + 1)?), movement);
            }
        }
        self.note_before(one, comparisons)
    }

    /// Returns what names a payment.
    fn names(&self, seq: PaymentId) -> Result<Vec<String>, Error> {
        let mut names = self
            .c
            .prepare_cached("select key from key where seq = ?1")?;
        let names = names.query_map([seq], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    fn note_before(&self, before: Option<Before>, comparisons: &Comparisons) -> Result<(), Error> {
        let Some(mut before) = before else {
            return Ok(());
        };
        before.end_statement();
        let seq = before.facts.seq;
        let shown = self.give_lines(&before)?;
        let (mut sum, mut had_line, mut apart) = (ShownBefore::default(), false, false);
        let (mut lines, mut own, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (source, known) in &before.known {
            let kinship = comparisons.sources[*source].1;
            let left = not_among(known, &matched(known, &shown));
            if kinship == Kinship::Same {
                sum.add_alike(&left);
                had_line |= left.iter().any(|movement| movement.moved == Moved::Out);
            } else {
                sum.add_of_another_kind(known, &left);
                apart |= is_apart(kinship, &left, &shown);
            }
            lines.extend(comparisons.told(&left));
            match kinship {
                Kinship::Same => own = left,
                Kinship::Near | Kinship::Other => others.push(known.as_slice()),
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
                     had_line = ?7, apart = ?8, before_lines = ?9, paid_before = ?10 where seq = ?1",
            )?
            .execute(params![
                seq,
                sum.paid,
                sum.returned,
                sum.paid_elsewhere,
                sum.returned_elsewhere,
                sum.otherwise,
                had_line,
                apart,
                lines.join("\n"),
                paid_before_number(paid_before)
            ])?;
        Ok(())
    }

    /// Gives a payment the lines without a name that are movements which it is known to have; returns all that this statement shows.
    fn give_lines(&self, before: &Before) -> Result<Vec<Movement>, Error> {
        let shown = self.movements(before)?;
        let own = before.known.get(&0).map_or(&[][..], Vec::as_slice);
        let movements: Vec<Movement> = shown.iter().map(|now| now.movement.clone()).collect();
        let mut own_ones = Vec::new();
        for (now, place) in shown.into_iter().zip(matched(own, &movements)) {
            match (now.is_free, place) {
                (false, _) => own_ones.push(now.movement),
                (true, Some(_)) => {
                    if self.give(before.facts.seq, now.n, false)? {
                        own_ones.push(now.movement);
                    }
                }
                (true, None) => {}
            }
        }
        Ok(own_ones)
    }

    /// Returns the movements of a payment that this statement shows, and those without a name that may be its own.
    fn movements(&self, before: &Before) -> Result<Vec<Now>, Error> {
        let facts = &before.facts;
        let read = |row: &Row<'_>, is_free: bool| -> Result<Option<Now>, Error> {
            let by = by_of(row.get(11)?).unwrap_or(MatchedBy::AmountAndRecipient);
            let marks: String = row.get(12)?;
            let movement = movement_of(facts, &line_of(row, 0)?, by, &marks)?;
            let n = row.get(0)?;
            Ok(movement.map(|movement| Now {
                n,
                is_free,
                movement: Movement {
                    marks: movement.marks.with_own_names(&before.names),
                    ..movement
                },
            }))
        };
        let mut shown = Vec::new();
        let mut named = self.c.prepare_cached(&format!(
            "select {LINE}, e.marks from entry e where e.seq = ?1 order by e.n limit ?2"
        ))?;
        let mut rows = named.query(params![facts.seq, as_number(MOVEMENTS_MAX)])?;
        while let Some(row) = rows.next()? {
            shown.extend(read(row, false)?);
        }
        let mut free = self.c.prepare_cached(&format!(
            "select {LINE}, e.marks from payment p cross join entry e using (rkey, minor, currency)
             where p.seq = ?1 and pays = 1 and e.seq is null and several = 0 and elsewhere = 0 and batch = 0 and e.rkey is not null limit ?2"
        ))?;
        let mut rows = free.query(params![facts.seq, as_number(MOVEMENTS_MAX)])?;
        while let Some(row) = rows.next()? {
            shown.extend(read(row, true)?);
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
