//! The payments of a batch beside the lines of a statement. What a line says, and which payment it is about, the rules say.

use rusqlite::{Row, params};

use super::desk::{StatementDesk, money_of, standing_of};
use super::said::{Said, detail_of, last_comparison};
use crate::domain::{BatchId, BatchName, Day, PaymentId, Tally, WireZone};
use crate::journal::codec::catalog::{batch_of, of_batch};
use crate::journal::codec::events::RECONCILED;
use crate::journal::codec::values::{corrupt, country_of, identifier_of, msisdn_of, state_of};
use crate::journal::read::reader::Snapshot;
use crate::journal::{Apart, Error, Reconciled, StatedPayment, StatementFacts, StatementFinding};
use crate::ledger::reconciliation::{
    Candidate, FindingKind, Flow, Line, MatchedBy, PaidBefore, Pair, PaymentView, Period, Settle,
    Shown, StatementEntry, is_to, kind, pair, settle,
};
use crate::lifecycle::State;
use crate::store::tables::{batch, evidence, identifier};
use crate::store::{Reads, Scan};

/// Payments that are told one by one which may have left by two statements.
const APART_TOLD_MAX: usize = 20;

/// Lines about one payment that are told beside the one that is shown.
const OTHER_LINES_MAX: usize = 8;

/// Other batches that are told, at most.
const BATCHES_TOLD_MAX: usize = 20;

/// Takes findings, one by one, the worst kind first.
pub(super) type Each<'a> = dyn FnMut(StatementFinding) -> Result<(), Error> + 'a;

impl Snapshot<'_> {
    /// Holds the lines of a statement against the payments of the batch.
    ///
    /// # Errors
    /// Faults of the journal, and of `each`.
    pub fn reconcile(
        &self,
        desk: &mut StatementDesk,
        facts: &StatementFacts,
        zone: &WireZone,
        each: &mut Each<'_>,
    ) -> Result<Reconciled, Error> {
        self.lay_out(desk, zone)?;
        desk.meet()?;
        desk.read_shown()?;
        self.find_elsewhere(desk)?;
        self.add_others(desk, facts.period, zone)?;
        let comparisons = self.read_before(desk, facts)?;
        desk.pair_alike()?;
        desk.add_before()?;
        if let Some(comparisons) = &comparisons {
            desk.find_apart(comparisons)?;
        }
        desk.judge(facts.period)?;
        Ok(Reconciled {
            elsewhere: self.not_compared(desk, &facts.digest)?,
            after: last_comparison(self.c, self.batch_id)?,
            ..desk.tell(each)?
        })
    }

    /// Returns the other batches of which a line tells, and that the file with this SHA-256 was not compared with.
    fn not_compared(&self, desk: &StatementDesk, digest: &str) -> Result<Vec<BatchName>, Error> {
        let mut others = desk.c.prepare(
            "select distinct other_batch from entry where other_batch is not null order by 1",
        )?;
        let mut rows = others.query([])?;
        let mut names = Vec::new();
        while let Some(row) = rows.next()? {
            let batch_id = BatchId::new(row.get(0)?);
            let summaries = Scan::by(&evidence::about_batch)
                .at(&RECONCILED)
                .at(&batch_id);
            let mut is_compared = false;
            self.c.each(&summaries, |said: Said| {
                is_compared |= detail_of(&said)?["digest"] == digest;
                Ok::<_, Error>(())
            })?;
            if !is_compared && names.len() < BATCHES_TOLD_MAX {
                names.push(of_batch(self.c, batch_id, batch::name)?);
            }
        }
        Ok(names)
    }

    /// Finds lines about payments of other batches: they are nobody's here.
    fn find_elsewhere(&self, desk: &StatementDesk) -> Result<(), Error> {
        let mut names = desk.c.prepare(
            "select name.key, name.n from name join entry using (n) where entry.seq is null and several = 0 and length(name.key) = 26",
        )?;
        let mut found = Vec::new();
        let mut rows = names.query([])?;
        while let Some(row) = rows.next()? {
            let name = row.get_ref(0)?.as_str().unwrap_or_default();
            let one = Scan::of(&identifier::TABLE).at(&name);
            if let Some(seq) = self.c.value(&one, identifier::seq)? {
                found.push((row.get::<_, i64>(1)?, batch_of(self.c, seq)?));
            }
        }
        let mut note = desk
            .c
            .prepare_cached("update entry set elsewhere = 1, other_batch = ?2 where n = ?1")?;
        for (n, batch_id) in found {
            note.execute(params![n, batch_id])?;
        }
        Ok(())
    }
}

pub(super) fn by_of(rank: Option<i64>) -> Option<MatchedBy> {
    let place = usize::try_from(rank?).ok()?;
    MatchedBy::ALL.get(place).copied()
}

fn by_number(by: MatchedBy) -> i64 {
    match by {
        MatchedBy::Identifier => 0,
        MatchedBy::GatewayId => 1,
        MatchedBy::Receipt => 2,
        MatchedBy::AmountAndRecipient => 3,
    }
}

/// The columns of a [`PaymentView`], as [`Facts::of`] reads them.
pub(super) const FACTS: &str = "p.seq, p.state, p.posted, p.minor, p.currency, p.msisdn, p.account, p.country, p.from_day, p.to_day, p.last_day";
pub(super) const FACTS_WIDTH: usize = 11;
/// The columns of a line.
pub(super) const LINE: &str = "e.n, e.place, e.day, e.flow, e.reversal, e.minor, e.currency, e.standing, e.recipient, e.charge, e.batch, e.by";

/// What was added up of a payment, as [`shown_of`] reads it.
pub(super) const SHOWN: &str =
    "paid, returned, pending, other_amount, other, p.by, entry, otherwise, p.minor, among, unsure";
pub(super) const SHOWN_WIDTH: usize = 11;

/// Recipient, amount and currency, with the payments and the lines that have them in common.
type Group = (Option<(String, i64, String)>, Vec<Candidate>, Vec<Line>);

pub(super) struct Facts {
    pub(super) seq: PaymentId,
    account: String,
    view: PaymentView<'static>,
}

impl Facts {
    pub(super) fn of(row: &Row<'_>) -> Result<Self, Error> {
        let day = |at: usize| row.get(at).map(Day::from_number);
        Ok(Self {
            seq: row.get(0)?,
            account: row.get(6)?,
            view: PaymentView {
                state: state_of(row.get(1)?)?,
                was_posted: row.get(2)?,
                money: money_of(row.get(3)?, &row.get::<_, String>(4)?)?,
                msisdn: msisdn_of(&row.get::<_, String>(5)?)?,
                account: "",
                country: country_of(&row.get::<_, String>(7)?)?,
                from: day(8)?,
                to: day(9)?,
                last: day(10)?,
            },
        })
    }

    pub(super) fn view(&self) -> PaymentView<'_> {
        PaymentView {
            account: &self.account,
            ..self.view
        }
    }
}

pub(super) fn line_of(row: &Row<'_>, at: usize) -> Result<StatementEntry, Error> {
    Ok(StatementEntry {
        place: row.get(at + 1)?,
        day: Day::from_number(row.get(at + 2)?),
        flow: if row.get(at + 3)? {
            Flow::In
        } else {
            Flow::Out
        },
        reversal: row.get(at + 4)?,
        money: money_of(row.get(at + 5)?, &row.get::<_, String>(at + 6)?)?,
        standing: standing_of(row.get(at + 7)?),
        references: Vec::new(),
        text: String::new(),
        recipient: row.get(at + 8)?,
        fee: None,
        is_charge: row.get(at + 9)?,
        is_batch: row.get(at + 10)?,
    })
}

impl StatementDesk {
    /// Finds which line names which payment. One that names several by what tells them best names none.
    fn meet(&self) -> Result<(), Error> {
        self.c.execute_batch(
            // Both indexes hold all that is asked for, and are walked side by side: a look-up here and there would read a page for
            // each of a million lines.
            "create index key_by_key on key (key, rank, seq);
             -- What several payments share tells none of them.
             delete from key where rank > 0 and key in (select key from key group by key having count(distinct seq) > 1);
             create index name_by_key on name (key, n);
             insert into hit select name.n, key.rank, key.seq
                 from key indexed by key_by_key cross join name indexed by name_by_key using (key) order by key.key;",
        )?;
        let mut hits = self
            .c
            .prepare("select n, rank, seq from hit order by n, rank, seq")?;
        let mut name = self
            .c
            .prepare("update entry set seq = ?2, by = ?3 where n = ?1")?;
        let mut several = self
            .c
            .prepare("update entry set several = 1, seq = null, by = null where n = ?1")?;
        let mut rows = hits.query([])?;
        let mut before: Option<(i64, i64, PaymentId)> = None;
        while let Some(row) = rows.next()? {
            let (n, rank, seq): (i64, i64, PaymentId) = (row.get(0)?, row.get(1)?, row.get(2)?);
            match before {
                Some((same, best, first)) if same == n => {
                    if rank == best && seq != first {
                        several.execute([n])?;
                    }
                }
                _ => {
                    name.execute((n, seq, rank))?;
                    before = Some((n, rank, seq));
                }
            }
        }
        self.c.execute("update entry set several = 1, seq = null, by = null where batch = 1 and seq is not null", [])?;
        // Each of those that a line names may be among what left with it.
        self.c.execute(
            "update payment set among = found.n
             from (select hit.seq, min(hit.n) as n from hit join entry using (n)
                 where several = 1 and flow = 0 and reversal = 0 and charge = 0 and standing = 0 group by hit.seq) as found
             where found.seq = payment.seq",
            [],
        )?;
        Ok(())
    }

    /// Adds up what the lines say that name payments.
    fn read_shown(&self) -> Result<(), Error> {
        let mut lines = self.c.prepare(&format!(
            "select {FACTS}, {LINE} from entry e cross join payment p on p.seq = e.seq where e.seq is not null order by p.seq, e.n"
        ))?;
        let mut rows = lines.query([])?;
        let mut known: Option<(Facts, Shown)> = None;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
            if known.as_ref().is_none_or(|(facts, _)| facts.seq != seq) {
                self.save(known.take())?;
                let facts = Facts::of(row)?;
                let shown = Shown::about(&facts.view());
                known = Some((facts, shown));
            }
            let entry = line_of(row, FACTS_WIDTH)?;
            let by = by_of(row.get(FACTS_WIDTH + 11)?);
            if let (Some((facts, shown)), Some(by)) = (&mut known, by) {
                shown.take(&facts.view(), &entry, by, row.get(FACTS_WIDTH)?);
            }
        }
        self.save(known)
    }

    pub(super) fn save(&self, known: Option<(Facts, Shown)>) -> Result<(), Error> {
        let Some((facts, shown)) = known else {
            return Ok(());
        };
        let [paid, returned, pending, other_amount, other] = shown.counts();
        self.c
            .prepare_cached(
                "update payment set paid = ?2, returned = ?3, pending = ?4, other_amount = ?5, other = ?6, by = ?7, entry = ?8, otherwise = ?9, unsure = ?10 where seq = ?1",
            )?
            .execute(params![facts.seq, paid, returned, pending, other_amount, other, shown.by.map(by_number), shown.entry, shown.otherwise, shown.unsure])?;
        Ok(())
    }

    /// Pairs what has amount and recipient in common, and no name.
    fn pair_alike(&self) -> Result<(), Error> {
        let mut both = self.c.prepare(
            "select rkey, minor, currency, 0, seq, state, from_day, to_day from payment
             where posted = 1 and rkey is not null and paid + returned = 0 and had_line = 0
             union all
             select rkey, minor, currency, 1, n, 0, day, day from entry
             where pays = 1 and seq is null and several = 0 and elsewhere = 0 and batch = 0 and rkey is not null
             order by 1, 2, 3",
        )?;
        let mut rows = both.query([])?;
        let mut group = Group::default();
        while let Some(row) = rows.next()? {
            let key = (row.get(0)?, row.get(1)?, row.get(2)?);
            if group.0.as_ref() != Some(&key) {
                self.pair_group(&group.1, &group.2)?;
                group = (Some(key), Vec::new(), Vec::new());
            }
            let (number, from) = (row.get(4)?, Day::from_number(row.get(6)?));
            match row.get(3)? {
                0 => group.1.push(Candidate {
                    seq: PaymentId::new(number),
                    state: state_of(row.get(5)?)?,
                    from,
                    to: Day::from_number(row.get(7)?),
                }),
                _ => group.2.push(Line { number, day: from }),
            }
        }
        self.pair_group(&group.1, &group.2)
    }

    fn pair_group(&self, payments: &[Candidate], lines: &[Line]) -> Result<(), Error> {
        if payments.is_empty() || lines.is_empty() {
            return Ok(());
        }
        for Pair {
            seq,
            number: n,
            is_sure,
        } in pair(payments, lines)
        {
            self.give(seq, n, !is_sure)?;
        }
        Ok(())
    }

    /// Gives a payment a line that does not name it; one of another batch keeps it for itself. Returns whether the line is to it.
    pub(super) fn give(&self, seq: PaymentId, n: i64, unsure: bool) -> Result<bool, Error> {
        let by = MatchedBy::AmountAndRecipient;
        let mut statement = self.c.prepare_cached(&format!("select {FACTS}, {LINE}, e.told, {SHOWN}, p.foreign_batch from payment p cross join entry e where p.seq = ?1 and e.n = ?2"))?;
        let mut rows = statement.query((seq, n))?;
        let row = rows.next()?.ok_or_else(|| corrupt("a line that is gone"))?;
        let (facts, entry) = (Facts::of(row)?, line_of(row, FACTS_WIDTH)?);
        if !is_to(&facts.view(), &row.get::<_, String>(FACTS_WIDTH + 12)?) {
            return Ok(false);
        }
        let foreign: i64 = row.get(FACTS_WIDTH + 24)?;
        if foreign != 0 {
            self.c
                .prepare_cached(
                    "update entry set elsewhere = 1, other_seq = ?2, other_batch = ?3 where n = ?1",
                )?
                .execute((n, seq, foreign))?;
            return Ok(true);
        }
        let mut shown = shown_of(row, FACTS_WIDTH + 13)?;
        shown.unsure |= unsure;
        shown.take(&facts.view(), &entry, by, n);
        self.save(Some((facts, shown)))?;
        self.c
            .prepare_cached("update entry set seq = ?2, by = ?3 where n = ?1")?
            .execute((n, seq, by_number(by)))?;
        Ok(true)
    }

    /// Writes down what is found of each payment.
    fn judge(&self, period: Option<Period>) -> Result<(), Error> {
        let mut payments = self.c.prepare("select seq, state, posted, last_day, paid, returned, pending, other_amount, other, by, entry, otherwise, minor, among, unsure, replaced, paid_before from payment where foreign_batch = 0 order by seq")?;
        let mut note = self
            .c
            .prepare("update payment set kind = ?2 where seq = ?1")?;
        let mut rows = payments.query([])?;
        while let Some(row) = rows.next()? {
            let last = Day::from_number(row.get(3)?);
            let covered = period.is_some_and(|period| period.covers(last));
            let state = state_of(row.get(1)?)?;
            let found =
                kind(state, row.get(2)?, &shown_of(row, 4)?, covered).where_replaced(row.get(15)?);
            let found = paid_before_of(row.get(16)?).with(found, state);
            note.execute(params![row.get::<_, i64>(0)?, place_of(found)])?;
        }
        self.c.execute_batch(
            "create index payment_by_kind on payment (kind, seq);
             create index if not exists entry_by_payment on entry (seq, n) where seq is not null",
        )?;
        Ok(())
    }

    /// Tells all findings, the worst kind first.
    fn tell(&self, each: &mut Each<'_>) -> Result<Reconciled, Error> {
        let mut told = Reconciled {
            payments: self.c.query_row("select count(*) from payment where foreign_batch = 0", [], |row| row.get::<_, i64>(0))?.unsigned_abs(),
            shares_currency: self.c.query_row("select exists (select 1 from entry where currency in (select distinct currency from payment where foreign_batch = 0))", [], |row| row.get(0))?,
            ..Reconciled::default()
        };
        let mut also_twice = 0;
        for kind in FindingKind::ALL {
            let mut tally = Tally::default();
            let mut add = |finding: StatementFinding| -> Result<(), Error> {
                also_twice += u64::from(finding.is_twice && kind != FindingKind::TwiceThere);
                if let Some(money) = finding.money() {
                    tally.add_many(1, money.currency, i128::from(money.amount.minor()));
                }
                each(finding)
            };
            self.tell_payments(kind, &mut add)?;
            if let Some(condition) = condition(kind) {
                self.tell_lines(kind, condition, &mut add)?;
            }
            let about_payments = condition(kind).is_none();
            told.shares_days |= about_payments
                && !matches!(
                    kind,
                    FindingKind::NotCovered
                        | FindingKind::AgreedBefore
                        | FindingKind::Unpaid
                        | FindingKind::Replaced
                )
                && tally.count > 0;
            if tally.count > 0 {
                told.found.push((kind, tally));
            }
        }
        told.also_twice = also_twice;
        told.apart = self.apart()?;
        (told.only_back, told.has_left) = self.c.query_row(
            "select coalesce(sum(returned > 0 and paid = 0 and otherwise <= 0), 0), coalesce(sum(paid > 0 or otherwise > 0), 0) from payment where foreign_batch = 0",
            [],
            |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs())),
        )?;
        Ok(told)
    }

    /// Returns the payments that left here, and by another source on another day or under other references.
    fn apart(&self) -> Result<Apart, Error> {
        let mut found = self.c.prepare(
            "select id, before_lines from payment where apart = 1 and paid = 1 and foreign_batch = 0 order by seq",
        )?;
        let mut rows = found.query([])?;
        let mut apart = Apart::default();
        while let Some(row) = rows.next()? {
            apart.count += 1;
            if apart.first.len() < APART_TOLD_MAX {
                let id = identifier_of(&row.get::<_, String>(0)?)?;
                let lines = told_lines(&row.get::<_, String>(1)?);
                apart.first.push((id, lines));
            }
        }
        Ok(apart)
    }

    fn tell_payments(&self, kind: FindingKind, add: &mut Each<'_>) -> Result<(), Error> {
        let mut payments = self.c.prepare_cached(
            "select seq, state, minor, currency, id, reference, line, paid, returned, pending, other_amount, other, by, entry, otherwise, minor, among,
                 unsure, earlier, iif(earlier = 1 or apart = 1, before_lines, '') from payment where kind = ?1 order by seq",
        )?;
        let mut rows = payments.query([place_of(kind)])?;
        while let Some(row) = rows.next()? {
            let state: State = state_of(row.get(1)?)?;
            let shown = shown_of(row, 7)?;
            add(StatementFinding {
                kind,
                payment: Some(StatedPayment {
                    seq: row.get(0)?,
                    id: identifier_of(&row.get::<_, String>(4)?)?,
                    reference: row.get(5)?,
                    line: row.get::<_, i64>(6)?.unsigned_abs(),
                    state,
                    money: money_of(row.get(2)?, &row.get::<_, String>(3)?)?,
                }),
                entry: shown.entry.map(|n| self.stated(n)).transpose()?,
                other_lines: self.other_lines(row.get(0)?, &shown)?,
                by: shown.by,
                settle: settle(state, &shown),
                is_out: shown.is_out() || shown.contradicts(state),
                is_twice: shown.is_twice(),
                is_unsure: shown.unsure,
                is_earlier: row.get(18)?,
                earlier_lines: told_lines(&row.get::<_, String>(19)?),
            })?;
        }
        Ok(())
    }

    /// Returns where the lines about a payment stand, but for the one that is told with it.
    fn other_lines(&self, seq: PaymentId, shown: &Shown) -> Result<Vec<String>, Error> {
        if shown.counts().iter().sum::<u32>() < 2 {
            return Ok(Vec::new());
        }
        let mut lines = self
            .c
            .prepare_cached("select n from entry where seq = ?1 and n is not ?2 order by n")?;
        let mut rows = lines.query(params![seq, shown.entry])?;
        let mut places = Vec::new();
        while let Some(row) = rows.next()? {
            if places.len() == OTHER_LINES_MAX {
                places.push("and more".to_owned());
                break;
            }
            places.push(self.stated(row.get(0)?)?.place);
        }
        Ok(places)
    }

    fn tell_lines(
        &self,
        kind: FindingKind,
        condition: &str,
        add: &mut Each<'_>,
    ) -> Result<(), Error> {
        let mut lines = self.c.prepare(&format!(
            "select n from entry where seq is null and {condition} order by n"
        ))?;
        let mut rows = lines.query([])?;
        while let Some(row) = rows.next()? {
            add(StatementFinding {
                kind,
                payment: None,
                entry: Some(self.stated(row.get(0)?)?),
                other_lines: Vec::new(),
                by: None,
                settle: Settle::No,
                is_out: false,
                is_twice: false,
                is_unsure: false,
                is_earlier: false,
                earlier_lines: Vec::new(),
            })?;
        }
        Ok(())
    }
}

pub(super) fn shown_of(row: &Row<'_>, at: usize) -> Result<Shown, Error> {
    let mut counts = [0; 5];
    for (place, count) in counts.iter_mut().enumerate() {
        *count = row.get(at + place)?;
    }
    let otherwise = (row.get(at + 7)?, row.get(at + 8)?);
    let (by, entry): (_, Option<i64>) = (by_of(row.get(at + 5)?), row.get(at + 6)?);
    let among: Option<i64> = row.get(at + 9)?;
    let mut shown = Shown::of(counts, otherwise, by, entry.or(among));
    shown.among = among.is_some();
    shown.unsure = row.get(at + 10)?;
    Ok(shown)
}

pub(super) fn paid_before_number(before: PaidBefore) -> i64 {
    match before {
        PaidBefore::No => 0,
        PaidBefore::Elsewhere => 1,
        PaidBefore::OnOtherDays => 2,
    }
}

fn paid_before_of(number: i64) -> PaidBefore {
    match number {
        1 => PaidBefore::Elsewhere,
        2 => PaidBefore::OnOtherDays,
        _ => PaidBefore::No,
    }
}

/// Returns lines of earlier statements, as they were put together.
fn told_lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn place_of(kind: FindingKind) -> i64 {
    let place = FindingKind::ALL.iter().position(|known| *known == kind);
    place
        .and_then(|place| i64::try_from(place).ok())
        .unwrap_or(-1)
}

/// Which lines that belong to no payment are a finding of this kind.
fn condition(kind: FindingKind) -> Option<&'static str> {
    match kind {
        FindingKind::NamesSeveral => Some("several = 1"),
        FindingKind::UnknownThere => Some(
            "several = 0 and elsewhere = 0 and (pays = 1 or standing = 3) and currency in (select distinct currency from payment where foreign_batch = 0)",
        ),
        FindingKind::OtherBatch => Some("several = 0 and elsewhere = 1"),
        FindingKind::Charge => {
            Some("several = 0 and elsewhere = 0 and charge = 1 and standing = 0 and pays = 0")
        }
        FindingKind::Credit => {
            Some("several = 0 and elsewhere = 0 and charge = 0 and pays = 0 and standing = 0")
        }
        FindingKind::Aside => Some(
            "several = 0 and elsewhere = 0 and (standing in (1, 2) or (pays = 1 or standing = 3) and currency not in (select distinct currency from payment where foreign_batch = 0))",
        ),
        _ => None,
    }
}
