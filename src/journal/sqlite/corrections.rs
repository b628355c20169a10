//! Rows of a load that correct what the journal has. The rules are in [`crate::ledger::correction`].

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;
use serde_json::json;

use super::chain::Evidence;
use super::load::Load;
use super::operator::Link;
use super::row::{MENDED, corrupt};
use super::sorted::Sorted;
use super::withdrawn::withdrawal;
use crate::domain::{Currency, Instruction, Money, ServiceCode, Tally};
use crate::journal::{Error, LateError, LoadRefusal, LoadSummary};
use crate::ledger::correction::{
    Candidate, Corrects, RejectedName, changed_columns, corrected, has_error, is_spoilt,
};
use crate::ledger::lost::{lost_in, with_members};
use crate::ledger::unread::{UNREAD, is_unread};
use crate::ledger::{Purpose, replacement};

/// Rows of one file that may correct something: they are held in memory.
const CORRECTIONS_MAX: usize = 100_000;
/// A row of the file that is no payment has no number.
const STILL_BAD: i64 = -1;
/// The rows of a file that say what they correct, in their order.
#[derive(Default)]
pub(super) struct Corrections {
    next: Option<Corrects>,
    pub(super) rows: Vec<Row>,
    /// Places of those without errors, by their numbers as they were read.
    by_number: BTreeMap<i64, usize>,
    /// Rows that have errors again: what they were to correct stays as it is.
    pub(super) still_bad: Tally,
    /// Rejected rows, and the places of their mended rows among the rows.
    mended: Vec<(Place, usize)>,
    /// Of each row that replaces a failed payment, how many rows before it do not.
    others_before: Vec<i64>,
    /// Rows that replace failed payments, by their places among the rows.
    links: Vec<(usize, Link)>,
    /// Payments that are replaced, and the earlier generations of their rows.
    replaced: BTreeSet<i64>,
    /// Rows that are equal to others of the batch, and are payments of their own.
    beside: BTreeSet<i64>,
}

/// A row that corrects something.
pub(super) struct Row {
    pub(super) corrects: Corrects,
    /// It has no errors, and replaces a failed payment.
    pub(super) is_replacement: bool,
    /// The row, where it has an amount.
    pub(super) replacement: Option<Box<Instruction>>,
    pub(super) line: u64,
    /// The payment that it is; none while it has errors.
    payment: Option<i64>,
    /// An earlier load brought that one.
    was_there: bool,
}

/// The place of a rejected row: its load, its line, and which row of that line.
pub(super) type Place = (i64, i64, i64);

/// A rejected row, as it is compared.
pub(super) struct Rejected {
    place: Place,
    errors: String,
    cells: BTreeMap<String, String>,
}

impl Corrections {
    /// The next row corrects this.
    pub(super) fn announce(&mut self, corrects: &Corrects) {
        self.next = Some(corrects.clone());
    }

    /// Takes in the next row of the file; returns whether it corrects something.
    pub(super) fn take(&mut self, line: u64, seq: Option<i64>) -> bool {
        let Some(corrects) = self.next.take() else {
            return false;
        };
        if let Some(seq) = seq {
            self.by_number.insert(seq, self.rows.len());
        }
        self.rows.push(Row {
            corrects,
            is_replacement: false,
            replacement: None,
            line,
            payment: seq,
            was_there: false,
        });
        true
    }

    /// Returns whether the next row replaces a failed payment.
    pub(super) fn is_replacement_next(&self) -> bool {
        matches!(self.next, Some(Corrects::Failed(_)))
    }

    /// Takes in such a row; `others` rows before it are none.
    pub(super) fn take_replacement(&mut self, line: u64, row: Option<&Instruction>, others: i64) {
        if self.take(line, None)
            && let Some(last) = self.rows.last_mut()
        {
            last.is_replacement = true;
            // Beyond that the file is refused, and nothing more is kept of it.
            if self.others_before.len() < CORRECTIONS_MAX {
                last.replacement = row.cloned().map(Box::new);
            }
            self.others_before.push(others);
        }
    }

    /// A row replaces a failed payment.
    pub(super) fn replace(&mut self, place: usize, link: Link, members: Vec<i64>) {
        self.by_number.insert(link.new, place);
        self.rows[place].payment = Some(link.new);
        self.links.push((place, link));
        self.replaced.extend(members);
    }

    /// An earlier load brought the row at this place.
    pub(super) fn is_there(&mut self, place: usize, payment: i64) {
        (self.rows[place].payment, self.rows[place].was_there) = (Some(payment), true);
    }

    /// Returns the failed payments that are replaced, with their successors.
    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        let is_good = |(place, _): &&(usize, Link)| self.rows[*place].payment.is_some();
        self.links.iter().filter(is_good).map(|(_, link)| link)
    }

    /// The same, each with the place of its row.
    pub(super) fn placed_links(&self) -> impl Iterator<Item = (usize, &Link)> {
        self.links.iter().map(|(place, link)| (*place, link))
    }

    /// Returns whether a payment is replaced by this file, or is an earlier generation of one that is.
    pub(super) fn replaces(&self, seq: i64) -> bool {
        self.replaced.contains(&seq)
    }

    /// Returns the number of the first row that replaces a failed payment.
    pub(super) fn first_replacement(&self) -> Option<i64> {
        self.links.first().map(|(_, link)| link.new)
    }

    /// Returns what the rows that replace failed payments come to.
    pub(super) fn replacing(&self) -> impl Iterator<Item = Money> {
        let of = |row: &Row| row.replacement.as_ref().map(|row| row.money);
        self.rows.iter().filter_map(of)
    }

    /// Returns the number of a row among those without errors; `number`: among those of them that replace no payment.
    pub(super) fn good_row(&self, seq: i64, number: i64) -> u64 {
        let place = self.by_number.get(&seq).copied();
        let Some(place) = place.filter(|place| self.rows[*place].is_replacement) else {
            return (number + self.before(number)).unsigned_abs();
        };
        let rows = self.rows[..place].iter();
        let before = rows.filter(|row| row.is_replacement).count();
        self.others_before[before].unsigned_abs() + before as u64 + 1
    }

    fn before(&self, number: i64) -> i64 {
        let before = self
            .others_before
            .partition_point(|others| *others < number);
        i64::try_from(before).unwrap_or(i64::MAX)
    }

    /// Returns whether no row corrects anything.
    pub(super) fn are_none(&self) -> bool {
        self.rows.is_empty()
    }

    /// Counts a row that has errors again.
    pub(super) fn count_still_bad(&mut self, money: Option<Money>) {
        self.still_bad.count += 1;
        if let Some(money) = money {
            self.still_bad.amounts.add(money);
        }
    }

    /// The row with this number is the payment of an earlier load, or none at all; returns whether it corrects something.
    pub(super) fn became(&mut self, seq: i64, payment: Option<i64>) -> bool {
        let Some(row) = self.by_number.get(&seq).map(|at| &mut self.rows[*at]) else {
            return false;
        };
        (row.payment, row.was_there) = (payment, payment.is_some());
        true
    }

    /// Returns whether the row with this number corrects something.
    pub(super) fn corrects(&self, seq: i64) -> bool {
        self.by_number.contains_key(&seq)
    }

    /// Returns what the row with this number corrects.
    pub(super) fn named_by(&self, seq: i64) -> Option<&Corrects> {
        let at = self.by_number.get(&seq)?;
        Some(&self.rows[*at].corrects)
    }

    /// The row with this number is equal to another one of the batch, and a payment of its own.
    pub(super) fn is_beside_its_equal(&mut self, seq: i64) {
        self.beside.insert(seq);
    }

    /// Returns whether it is such a row.
    pub(super) fn stands_beside_its_equal(&self, seq: i64) -> bool {
        self.beside.contains(&seq)
    }

    /// Returns the rejected rows that rows of the file name, and how many name each.
    pub(super) fn rejected_names(&self) -> BTreeMap<RejectedName, u64> {
        let mut names = BTreeMap::new();
        for row in &self.rows {
            if let Corrects::Rejected(written) = &row.corrects
                && let Some(name) = RejectedName::parse(written)
            {
                *names.entry(name).or_default() += 1;
            }
        }
        names
    }

    /// Returns the numbers of the rows that correct something.
    pub(super) fn seqs(&self) -> impl Iterator<Item = i64> {
        self.by_number.keys().copied()
    }

    /// Rejected rows with the payments that their mended rows became; a row may have been set aside since it was judged.
    pub(super) fn mended_rows(&self) -> impl Iterator<Item = (Place, i64)> {
        let payment = |(place, at): &(Place, usize)| Some((*place, self.rows[*at].payment?));
        self.mended.iter().filter_map(payment)
    }

    /// Returns how many rejected rows have their mended row by this file.
    pub(super) fn mended(&self) -> u64 {
        self.mended_rows().count() as u64
    }
}

impl Load<'_> {
    /// Returns why the file is not loaded, if a row cannot correct what it names.
    pub(super) fn refuse_corrections(
        &mut self,
        sorted: &mut Sorted,
    ) -> Result<Option<LoadRefusal>, Error> {
        if self.corrections.are_none() {
            return Ok(None);
        }
        if self.is_checked_alone() {
            let without_amount = self
                .corrections
                .rows
                .iter()
                .filter(|row| row.is_replacement && row.replacement.is_none());
            let errors = without_amount.map(|row| {
                late(
                    row.line,
                    "replaces",
                    replacement::Refusal::NoAmount.to_string(),
                )
            });
            let errors: Vec<_> = errors.take(CORRECTIONS_MAX).collect();
            return Ok((!errors.is_empty()).then_some(LoadRefusal::Corrections(errors)));
        }
        match self.judge_corrections()? {
            None => self.insert_replacements(sorted),
            refusal => Ok(refusal),
        }
    }

    /// Returns whether the file is checked, and added to nothing.
    pub(super) fn is_checked_alone(&self) -> bool {
        !self.existed && self.plan.purpose == Purpose::Unknown
    }

    /// Counts the rows that replace failed payments among those of the file, and names all that correct something.
    pub(super) fn count_corrections(&self, summary: &mut LoadSummary) {
        for row in &self.corrections.rows {
            summary.corrects.push((row.line, row.corrects.clone()));
            let Some(replacement) = &row.replacement else {
                continue;
            };
            let (service, money) = (&replacement.service, replacement.money);
            let same = |(code, currency, _): &&mut (ServiceCode, Currency, Tally)| {
                code == service && *currency == money.currency
            };
            match summary.accepted.iter_mut().find(same) {
                Some((_, _, tally)) => tally.add(money),
                None => {
                    let mut tally = Tally::default();
                    tally.add(money);
                    summary
                        .accepted
                        .push((service.clone(), money.currency, tally));
                }
            }
        }
    }

    /// Finds what each row corrects; returns why the file is not loaded, if one of them cannot.
    fn judge_corrections(&mut self) -> Result<Option<LoadRefusal>, Error> {
        let rows = std::mem::take(&mut self.corrections.rows);
        if rows.len() > CORRECTIONS_MAX {
            let error = late(
                rows[CORRECTIONS_MAX].line,
                rows[CORRECTIONS_MAX].corrects.column(),
                format!("the file has more than {CORRECTIONS_MAX} corrections; cut it in two"),
            );
            return Ok(Some(LoadRefusal::Corrections(vec![error])));
        }
        let mut known: BTreeMap<RejectedName, (Vec<Rejected>, Vec<Candidate>)> = BTreeMap::new();
        let mut errors = Vec::new();
        let is_added = self.existed && self.plan.amend;
        // What an earlier load brought keeps what it corrects.
        let (there, new): (Vec<_>, Vec<_>) =
            rows.iter().enumerate().partition(|(_, row)| row.was_there);
        for (at, row) in there.into_iter().chain(new) {
            let Corrects::Rejected(written) = &row.corrects else {
                continue;
            };
            let name = RejectedName::parse(written);
            if let Some(name) = &name
                && !known.contains_key(name)
            {
                known.insert(name.clone(), self.rejected_rows(name)?);
            }
            let mut of_name = name.as_ref().and_then(|name| known.get_mut(name));
            let candidates = of_name.as_ref().map_or(&[][..], |(_, rows)| rows);
            let found = corrected(
                name.as_ref(),
                &self.plan.batch,
                is_added,
                candidates,
                row.payment,
            );
            let place = match found {
                Ok(place) => place,
                Err(refusal) => {
                    errors.push(late(row.line, "rejected_row", refusal.to_string()));
                    continue;
                }
            };
            let Some((rejected, candidates)) = &mut of_name else {
                return Err(corrupt("a rejected row without a name"));
            };
            let is_known = candidates[place].taken_by == row.payment && row.payment.is_some();
            candidates[place].taken_by = Some(row.payment.unwrap_or(STILL_BAD));
            let Some(seq) = row.payment else { continue };
            if let Some((column, message)) = self.differs(&rejected[place], seq)? {
                errors.push(late(row.line, column, message));
            } else if !is_known {
                self.corrections.mended.push((rejected[place].place, at));
            }
        }
        self.corrections.rows = rows;
        errors.sort_by_key(|error| error.line);
        Ok((!errors.is_empty()).then_some(LoadRefusal::Corrections(errors)))
    }

    /// Reads the rejected rows with a name, and which of them have their mended row.
    pub(super) fn rejected_rows(
        &self,
        name: &RejectedName,
    ) -> Result<(Vec<Rejected>, Vec<Candidate>), Error> {
        let (mut least, mut most) = ([0; 32], [u8::MAX; 32]);
        least[..8].copy_from_slice(&name.digest);
        most[..8].copy_from_slice(&name.digest);
        let mut statement = self.c.prepare_cached(
            "select load_id, line, nth, errors, coalesce(cells, '{}'), replaced_by, withdrawn from rejected
             where batch_id = ?1 and digest between ?2 and ?3 and load_id <> ?4 order by load_id, line, nth",
        )?;
        let mut rows =
            statement.query(params![self.batch_id, &least[..], &most[..], self.load_id])?;
        let (mut rejected, mut candidates) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            let cells: String = row.get(4)?;
            rejected.push(Rejected {
                place: (row.get(0)?, row.get(1)?, row.get(2)?),
                errors: row.get(3)?,
                cells: serde_json::from_str(&cells)
                    .map_err(|_| corrupt("cells of a rejected row that are none"))?,
            });
            candidates.push(Candidate {
                taken_by: row.get(5)?,
                withdrawn: withdrawal(self.c, row.get(6)?)?,
            });
        }
        Ok((rejected, candidates))
    }

    /// Compares a mended row with the rejected one; returns what differs that nobody mended.
    fn differs(
        &self,
        rejected: &Rejected,
        seq: i64,
    ) -> Result<Option<(&'static str, String)>, Error> {
        let mended: BTreeMap<String, String> = self.instruction(seq)?.cells().into_iter().collect();
        let was = with_members(rejected.cells.clone());
        if is_unread(&rejected.errors) && !was.contains_key(UNREAD) {
            // An earlier release has kept what it could read before the break, which may pass as it stands.
            let is_same = changed_columns(&was, &mended, |_| false).is_empty();
            return Ok(is_same.then(|| {
                let message = "names a rejected row that could not be read whole, and nothing of it was mended: what stands here is what was read \
                               before the break. Type its cells anew, as they stand in that line of the file";
                ("rejected_row", message.to_owned())
            }));
        }
        let is_lost = |column: &str, lost, is: &str| {
            is_spoilt(column, has_error(&rejected.errors, column), lost, is)
        };
        let cell = |cells: &BTreeMap<String, String>, column| -> String {
            cells.get(column).map_or("", |cell| cell.trim()).to_owned()
        };
        if let Some((column, lost)) = lost_in(&was, &mended, is_lost) {
            let (was, is) = (cell(&was, column), cell(&mended, column));
            // Numbers of people are not shown.
            let was_there = match column {
                "reference" | "amount" => format!("{was:?}, as it was"),
                _ => "the value as it was".to_owned(),
            };
            let found = match column {
                "extra" => "lacks digits of a member that the rejected row had".to_owned(),
                "amount" => format!("is {is}, and that of the rejected row was another one"),
                _ => format!(
                    "has {} digits, and the rejected row had {}",
                    is.len(),
                    was.len()
                ),
            };
            let message = format!(
                "{found}: {lost}, as a spreadsheet does it. Write {was_there}; if the new one is right, {}",
                self.under_another_name(rejected)
            );
            return Ok(Some((column, message)));
        }
        let (own, reference) = (cell(&was, "reference"), cell(&mended, "reference"));
        let is_other = !own.is_empty() && !reference.is_empty() && own != reference;
        if !is_other || has_error(&rejected.errors, "reference") {
            return Ok(None);
        }
        let message = format!(
            "is not that of the rejected row; write it as it was. If it is to be another one, {}",
            self.under_another_name(rejected)
        );
        Ok(Some(("reference", message)))
    }

    /// Says how a row is paid that does not take the place of its rejected one.
    // Beside a rejected row that stays, it would be mended and paid once more.
    fn under_another_name(&self, rejected: &Rejected) -> String {
        format!(
            "first withdraw the rejected row (disburse cancel {} --rejected {} --reason TEXT), and load this one, without rejected_row, under a \
             batch name of its own",
            self.plan.batch, rejected.place.1
        )
    }

    /// Counts every rejected row that has its mended one there alone, with evidence.
    pub(super) fn carry_out_corrections(&self) -> Result<(), Error> {
        for ((load_id, line, nth), seq) in self.corrections.mended_rows() {
            self.c
                .prepare_cached(
                    "update rejected set replaced_by = ?4 where load_id = ?1 and line = ?2 and nth = ?3 and replaced_by is null and withdrawn is null",
                )?
                .execute([load_id, line, nth, seq])?;
            let id: String = self
                .c
                .prepare_cached("select identifier from instruction where seq = ?1")?
                .query_row([seq], |row| row.get(0))?;
            let detail = json!({"load": load_id, "line": line, "nth": nth, "payment": id});
            self.c.append(&Evidence {
                batch_id: self.batch_id,
                at: self.plan.now,
                kind: (MENDED, None, None),
                detail: Some(&detail.to_string()),
                ..Evidence::default()
            })?;
        }
        Ok(())
    }
}

pub(super) fn late(line: u64, column: &'static str, message: String) -> LateError {
    LateError {
        line,
        good_row: 0,
        column,
        message,
        digest: [0; 32],
    }
}

/// Returns cells by the names of their columns, as they are stored.
pub(super) fn cells_text(cells: Vec<(String, String)>) -> String {
    let cells: serde_json::Map<String, serde_json::Value> = cells
        .into_iter()
        .map(|(name, cell)| (name, cell.into()))
        .collect();
    serde_json::Value::Object(cells).to_string()
}
