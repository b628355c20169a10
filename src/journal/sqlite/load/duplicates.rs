//! Rows of a file that are there already, or twice in it.

use super::corrections::cells_text;
use super::external_sort::{Entry, Order};
use super::job::Load;
use super::nameless::NamelessRows;
use super::prepare::identifier;
use super::sorted::LATE_MAX;
use super::sorted::Sorted;
use crate::domain::{AmountField, Instruction, PaymentId};
use crate::journal::sqlite::codec::insert::Appender;
use crate::journal::sqlite::codec::values::{Stored, state_number};
use crate::journal::{CrossRowError, Difference, Error, LoadRefusal, RejectedRow};
use crate::ledger::amendment::{self, Amendment};
use crate::ledger::forgetting::forgotten;
use crate::ledger::repeats::may_be_same_person;
use crate::lifecycle::State;
use rusqlite::{OptionalExtension, params};

impl Load<'_> {
    /// Goes through the new rows in the order of their identifiers and gives each its place in the index.
    pub(in crate::journal::sqlite) fn sort_out(&mut self, order: Order) -> Result<Sorted, Error> {
        let mut sorted = Sorted::default();
        if self.existed {
            self.c.execute_batch(
                "drop table if exists temp.kept; create temp table kept (seq integer primary key);
                 drop table if exists temp.mended; create temp table mended (seq integer primary key);",
            )?;
            for seq in self.corrections.seqs() {
                self.c
                    .prepare_cached("insert into temp.mended values (?1)")?
                    .execute([seq])?;
            }
        }
        let mut entries = order.sorted()?.begin()?;
        // As for instructions: a failure ends the whole transaction.
        let head = "insert or fail into identifier (identifier, seq)";
        let mut insert = Appender::new(self.c, head, 2)?;
        let mut nameless = NamelessRows::default();
        // The first row with an identifier.
        let mut first: Option<Entry> = None;
        let mut above = 0;
        while let Some(entry) = entries.next()? {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("in-load");
            let placed = |place| PaymentId::new(self.base.saturating_add_unsigned(place) + 1);
            let seq = placed(entry.place);
            // What it was to correct says which payment it is, before its content does.
            if self.existed && nameless.take(self, seq)? {
                continue;
            }
            if let Some(first) = first.filter(|first| first.id == entry.id) {
                self.assert_same_key(seq, placed(first.place))?;
                above += 1;
                self.repeated(first.line, seq, above, &mut sorted)?;
                continue;
            }
            above = 0;
            first = Some(entry);
            if self.existed && self.was_there(seq, entry.id.as_str(), &mut sorted)? {
                continue;
            }
            insert.text(Some(entry.id.as_str()))?;
            insert.number(Some(seq.get()))?;
        }
        insert.flush()?;
        drop(insert);
        nameless.sort_out(self, &mut sorted)?;
        Ok(sorted)
    }

    /// Deals with a row that has the identifier of one above it, on line `other`.
    // Of that one only the line is asked for: when an earlier load brought it, it is gone from this one.
    pub(in crate::journal::sqlite) fn repeated(
        &mut self,
        other: u64,
        seq: PaymentId,
        above: u32,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let row = self.instruction(seq)?;
        let line = row.line;
        if let Some(reference) = &row.reference {
            let message = format!(
                "{reference:?} is the reference of line {other} too; each row needs its own",
                reference = reference.as_str()
            );
            return self.set_aside(
                seq,
                &row,
                CrossRowError {
                    line,
                    good_row: self.good_row(seq),
                    column: "reference",
                    message,
                    digest: row.content_hash(),
                },
                sorted,
            );
        }
        if !self.plan.allow_equal_rows {
            let message = format!(
                "equal to line {other}: one mistake or two payments? Give each row a reference, or add --allow-equal-rows"
            );
            return self.set_aside(
                seq,
                &row,
                CrossRowError {
                    line,
                    good_row: self.good_row(seq),
                    column: "",
                    message,
                    digest: row.content_hash(),
                },
                sorted,
            );
        }
        let hash = row.content_hash();
        let id = identifier(&self.scheme, self.plan, &row, hash, above);
        self.altered = true;
        self.c
            .prepare_cached("update instruction set identifier = ?2 where seq = ?1")?
            .execute(params![seq, id.as_str()])?;
        if self.existed && self.was_there(seq, id.as_str(), sorted)? {
            return Ok(());
        }
        self.c
            .prepare_cached("insert into identifier (identifier, seq) values (?1, ?2)")?
            .execute(params![id.as_str(), seq])?;
        Ok(())
    }

    /// Returns a row as it is compared with another one: by pseudonyms, where the person of that one was forgotten.
    fn as_comparable_with(
        &self,
        row: Instruction<Stored>,
        other: &Instruction<Stored>,
    ) -> Instruction<Stored> {
        match other.msisdn.is_forgotten() {
            true => forgotten(&row, |parts| self.key.pseudonym(parts)),
            false => row,
        }
    }

    /// Refuses two rows that would be one payment to the gateway although their keys differ: short identifiers can collide.
    fn assert_same_key(&self, seq: PaymentId, other: PaymentId) -> Result<(), Error> {
        let row = self.instruction(seq)?;
        // An earlier load may have brought the other one: it is gone from this one then, and was compared.
        let Some(other) = self.instruction_if_there(other)? else {
            return Ok(());
        };
        let row = self.as_comparable_with(row, &other);
        let is_same = match (&row.reference, &other.reference) {
            (Some(row), Some(other)) => row == other,
            (None, None) => row.content_hash() == other.content_hash(),
            (Some(_), None) | (None, Some(_)) => false,
        };
        match is_same {
            true => Ok(()),
            false => Err(Error::IdentifiersCollide {
                line: row.line,
                other: other.line,
                form: self.scheme.form.to_string(),
            }),
        }
    }

    pub(in crate::journal::sqlite) fn good_row(&self, seq: PaymentId) -> u64 {
        // Rows are numbered in the order of the file.
        self.corrections.good_row(seq, seq.get() - self.base)
    }

    /// Returns whether an earlier load brought this row; then it is dropped from this one.
    pub(in crate::journal::sqlite) fn was_there(
        &mut self,
        seq: PaymentId,
        identifier: &str,
        sorted: &mut Sorted,
    ) -> Result<bool, Error> {
        let earlier: Option<PaymentId> = self
            .c
            .prepare_cached("select seq from identifier where identifier = ?1 and seq <= ?2")?
            .query_row(params![identifier, self.base], |row| row.get(0))
            .optional()?;
        match earlier {
            Some(earlier) => {
                self.assert_same_key(seq, earlier)?;
                self.is_there(seq, earlier, sorted)?;
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    /// An earlier load brought this row as that payment: it is dropped from this one.
    pub(in crate::journal::sqlite) fn is_there(
        &mut self,
        seq: PaymentId,
        earlier: PaymentId,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let (row, known) = (self.instruction(seq)?, self.instruction(earlier)?);
        let is_forgotten = known.msisdn.is_forgotten();
        let row = self.as_comparable_with(row, &known);
        if row.content_hash() == known.content_hash() {
            // The document of one who was forgotten is gone.
            if !is_forgotten {
                self.exchange_document(seq, earlier, sorted)?;
            }
            match known.money.money() {
                Some(money) => sorted.unchanged.add(money),
                None => {
                    sorted.unchanged.count += 1;
                    sorted.unpriced += u64::from(!self.has_life(earlier)?);
                }
            }
        } else if let Some(error) = self.has_anothers_reference(seq, &row, (earlier, &known))? {
            sorted.changed += 1;
            if sorted.anothers.len() < LATE_MAX {
                sorted.anothers.push(error);
            }
        } else {
            sorted.changed += 1;
            sorted.changed_person += u64::from(!may_be_same_person(&row, &known));
            if sorted.examples.len() < EXAMPLES_MAX {
                let label = row
                    .reference
                    .as_ref()
                    .map_or("", |reference| reference.as_str());
                sorted.examples.push(format!(
                    "changed: line {}, reference {label}{}",
                    row.line,
                    differing(&known, &row)
                ));
            }
        }
        self.corrections.became(seq, Some(earlier));
        self.c
            .prepare_cached("insert or ignore into temp.kept values (?1)")?
            .execute([earlier])?;
        self.remove(seq)
    }

    pub(in crate::journal::sqlite) fn remove(&mut self, seq: PaymentId) -> Result<(), Error> {
        self.altered = true;
        self.c
            .prepare_cached("delete from instruction where seq = ?1")?
            .execute([seq])?;
        Ok(())
    }

    /// Returns how many rows of the file are payments of an earlier load that were withdrawn.
    pub(in crate::journal::sqlite) fn kept_cancelled(&self) -> Result<u64, Error> {
        if !self.existed {
            return Ok(0);
        }
        let sql = format!(
            "select count(*) from temp.kept k cross join life l on l.seq = k.seq where l.state = {} and l.replaced_by is null",
            state_number(State::Cancelled)
        );
        let count: i64 = self.c.query_row(&sql, [], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    pub(in crate::journal::sqlite) fn has_life(&self, seq: PaymentId) -> Result<bool, Error> {
        Ok(self
            .c
            .prepare_cached("select exists (select 1 from life where seq = ?1)")?
            .query_row([seq], |row| row.get(0))?)
    }

    pub(in crate::journal::sqlite) fn set_aside(
        &mut self,
        seq: PaymentId,
        i: &Instruction<Stored>,
        error: CrossRowError,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        if self.corrections.became(seq, None) {
            // What it was to correct stays as it is.
            self.corrections.count_still_bad(i.money.money());
        } else if self.plan.skip_bad_rows {
            let errors = if error.column.is_empty() {
                error.message.clone()
            } else {
                format!("{}: {}", error.column, error.message)
            };
            self.reject(&RejectedRow {
                line: i.line,
                reference: i
                    .reference
                    .as_ref()
                    .map(|r| r.as_str().to_owned())
                    .unwrap_or_default(),
                service_code: i.service.as_str().to_owned(),
                msisdn: i.msisdn.as_str().to_owned(),
                account_number: i.account_number.clone(),
                amount_text: i.money.digits(),
                currency_code: i.money.currency.code().to_owned(),
                money: i.money.money(),
                errors,
                digest: error.digest,
                cells: cells_text(i.cells()),
            })?;
        }
        self.remove(seq)?;
        if sorted.late.len() < LATE_MAX {
            sorted.late.push(error);
        }
        Ok(())
    }

    /// Returns why the file may not be added to the batch that has its name.
    pub(in crate::journal::sqlite) fn compare(
        &self,
        sorted: &Sorted,
    ) -> Result<Option<LoadRefusal>, Error> {
        let count = |sql: &str| -> Result<i64, Error> {
            Ok(self
                .c
                .query_row(sql, params![self.batch_id, self.base], |row| row.get(0))?)
        };
        let new = count("select count(*) from instruction where batch_id = ?1 and seq > ?2")?
            .unsigned_abs();
        let unnamed = count(
            "select count(*) from instruction where batch_id = ?1 and seq > ?2 and seq not in (select seq from temp.mended)",
        )?
        .unsigned_abs();
        if self.plan.amend && sorted.changed == 0 && !self.is_ambiguous(unnamed, sorted)? {
            return self.stand_instead(sorted.unchanged.count, unnamed);
        }
        let before = count(
            "select count(*) from instruction where batch_id = ?1 and seq <= ?2 and generation = 0",
        )?
        .unsigned_abs();
        let same = new + self.rejected.count == 0 && sorted.unchanged.count == before;
        if self.plan.new_documents && same {
            return Ok(None);
        }
        let mut difference = Difference {
            new,
            changed: sorted.changed,
            changed_person: sorted.changed_person,
            unchanged: sorted.unchanged.count,
            gone: before.saturating_sub(sorted.unchanged.count + sorted.changed),
            rejected: self.rejected.count,
            examples: sorted.examples.clone(),
        };
        for (what, sql) in [
            (
                "gone",
                "batch_id = ?1 and seq <= ?2 and generation = 0 and seq not in (select seq from temp.kept)",
            ),
            ("new", "batch_id = ?1 and seq > ?2"),
        ] {
            difference.examples.extend(self.examples(what, sql)?);
        }
        Ok(Some(if self.plan.amend && sorted.changed == 0 {
            LoadRefusal::Ambiguous(difference)
        } else {
            LoadRefusal::OtherContent(difference)
        }))
    }

    /// Returns whether a row that is new in an amendment, and says not what it corrects, may be a mended one.
    pub(in crate::journal::sqlite) fn is_ambiguous(
        &self,
        new: u64,
        sorted: &Sorted,
    ) -> Result<bool, Error> {
        if new == 0 {
            return Ok(false);
        }
        // The rows of the batch that the file leaves out. Nobody is paid by what was withdrawn.
        let gone_and_live = format!(
            "where batch_id = ?1 and seq <= ?2 and generation = 0 and seq not in (select seq from temp.kept)
                 and not exists (select 1 from life where life.seq = instruction.seq and state = {})",
            state_number(State::Cancelled)
        );
        let counts = |which: &str| -> Result<(u64, u64), Error> {
            let sql = format!(
                "select count(*), count(*) filter (where reference is null) from instruction {which}"
            );
            Ok(self
                .c
                .query_row(&sql, params![self.batch_id, self.base], |row| {
                    Ok((
                        row.get::<_, i64>(0)?.unsigned_abs(),
                        row.get::<_, i64>(1)?.unsigned_abs(),
                    ))
                })?)
        };
        let (gone, gone_nameless) = counts(&gone_and_live)?;
        if gone == 0 {
            return Ok(false);
        }
        let (_, new_nameless) = counts(NEW_UNNAMED)?;
        let rejected: i64 = self.c.query_row(
            "select count(*) from rejected where batch_id = ?1 and load_id <> ?2",
            params![self.batch_id, self.load_id],
            |row| row.get(0),
        )?;
        let mut amendment = Amendment {
            new,
            new_nameless,
            gone,
            gone_nameless,
            unchanged: sorted.unchanged.count,
            rejected_before: rejected.unsigned_abs(),
            same_recipient: false,
        };
        // Only what could be let in is compared row by row.
        if !amendment::is_ambiguous(&amendment) {
            amendment.same_recipient = self.c.query_row(
                &format!(
                    "select exists (select 1 from instruction {gone_and_live} and (msisdn, account_number) in
                         (select msisdn, account_number from instruction {NEW_UNNAMED}))"
                ),
                params![self.batch_id, self.base],
                |row| row.get(0),
            )?;
        }
        Ok(amendment::is_ambiguous(&amendment))
    }
}

impl Load<'_> {
    pub(in crate::journal::sqlite) fn examples(
        &self,
        what: &str,
        which: &'static str,
    ) -> Result<Vec<String>, Error> {
        let mut statement = self.c.prepare(&format!(
            "select line, coalesce(reference, '') from instruction where {which} order by seq limit {EXAMPLES_MAX}"
        ))?;
        let mut rows = statement.query(params![self.batch_id, self.base])?;
        let mut examples = Vec::new();
        while let Some(row) = rows.next()? {
            let (line, reference): (i64, String) = (row.get(0)?, row.get(1)?);
            let label = if reference.is_empty() {
                String::new()
            } else {
                format!(", reference {reference}")
            };
            examples.push(format!("{what}: line {line}{label}"));
        }
        Ok(examples)
    }
}

fn differing(known: &Instruction<Stored>, row: &Instruction<Stored>) -> String {
    let amount = |stored: &Stored| match stored.digits() {
        digits if digits.is_empty() => format!("{}, left to the bill", stored.currency),
        digits => format!("{} {digits}", stored.currency),
    };
    let (was, is) = (amount(&known.money), amount(&row.money));
    if was != is {
        return format!(": amount was {was}, is {is}");
    }
    let columns = [
        ("service_code", known.service != row.service),
        ("msisdn", known.msisdn != row.msisdn),
        (
            // Without one of its own it is the number.
            "account_number",
            known.msisdn == row.msisdn && known.account_number != row.account_number,
        ),
        ("country_code", known.country != row.country),
        ("narration", known.narration != row.narration),
        ("customer_names", known.customer_names != row.customer_names),
    ];
    let other: Vec<&str> = columns
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect();
    if other.is_empty() {
        ": other columns differ".to_owned()
    } else {
        format!(": differs in {}", other.join(", "))
    }
}

/// New rows that say not what they correct.
pub(in crate::journal::sqlite) const NEW_UNNAMED: &str =
    "where batch_id = ?1 and seq > ?2 and seq not in (select seq from temp.mended)";

const EXAMPLES_MAX: usize = 10;
