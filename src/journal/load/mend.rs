//! Rows of a file that mend rows which were set aside.

use super::aside::withdrawal;
use super::corrections::CORRECTIONS_MAX;
use super::corrections::Rejected;
use super::corrections::STILL_BAD;
use super::corrections::late;
use super::job::Load;
use super::sorted::Sorted;
use crate::domain::{Currency, EvidenceId, LoadId, PaymentId, ServiceCode, Tally};
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::events::MENDED;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::{Error, LoadRefusal, LoadSummary};
use crate::ledger::changed_columns::changed_columns;
use crate::ledger::correction::{Candidate, Corrects, RejectedName, corrected, has_error};
use crate::ledger::lost::{lost_in, with_members};
use crate::ledger::lost_digits::is_spoilt;
use crate::ledger::unread::{UNREAD, is_unread};
use crate::ledger::{Purpose, replacement};
use crate::store::tables::rejected;
use crate::store::{Reads, Scan, Test, Writes, shape};
use serde_json::json;
use std::collections::BTreeMap;

shape! {
    /// A rejected row, and what became of it.
    struct Known of rejected {
        load_id: LoadId, line: i64, nth: i64, errors: String, cells: Option<String>, replaced_by: Option<PaymentId>,
        withdrawn: Option<EvidenceId>,
    }
}

impl Load<'_> {
    /// Returns why the file is not loaded, if a row cannot correct what it names.
    pub(in crate::journal) fn refuse_corrections(
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
    pub(in crate::journal) fn is_checked_alone(&self) -> bool {
        !self.existed && self.plan.purpose == Purpose::Unknown
    }

    /// Counts the rows that replace failed payments among those of the file, and names all that correct something.
    pub(in crate::journal) fn count_corrections(&self, summary: &mut LoadSummary) {
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
    pub(in crate::journal) fn judge_corrections(&mut self) -> Result<Option<LoadRefusal>, Error> {
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
    pub(in crate::journal) fn rejected_rows(
        &self,
        name: &RejectedName,
    ) -> Result<(Vec<Rejected>, Vec<Candidate>), Error> {
        let (mut least, mut most) = ([0_u8; 32], [u8::MAX; 32]);
        least[..8].copy_from_slice(&name.digest);
        most[..8].copy_from_slice(&name.digest);
        let named = Scan::by(&rejected::rejected_by_batch)
            .at(&self.batch_id)
            .from(&least)
            .up_to(&most)
            .only(rejected::load_id, Test::is_not(&self.load_id));
        let mut found: Vec<Known> = self.c.list(&named)?;
        found.sort_by_key(|row| (row.load_id, row.line, row.nth));
        let (mut rejected, mut candidates) = (Vec::new(), Vec::new());
        for row in found {
            let cells = row.cells.as_deref().unwrap_or("{}");
            rejected.push(Rejected {
                place: (row.load_id, row.line, row.nth),
                errors: row.errors,
                cells: serde_json::from_str(cells)
                    .map_err(|_| corrupt("unreadable cells of a rejected row"))?,
            });
            candidates.push(Candidate {
                taken_by: row.replaced_by,
                withdrawn: withdrawal(self.c, row.withdrawn)?,
            });
        }
        Ok((rejected, candidates))
    }

    /// Compares a mended row with the rejected one; returns what differs that nobody mended.
    pub(in crate::journal) fn differs(
        &self,
        rejected: &Rejected,
        seq: PaymentId,
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
    pub(in crate::journal) fn under_another_name(&self, rejected: &Rejected) -> String {
        format!(
            "first withdraw the rejected row (disburse cancel {} --rejected {} --reason TEXT), and load this one, without rejected_row, under a \
             batch name of its own",
            self.plan.batch, rejected.place.1
        )
    }

    /// Counts every rejected row that has its mended one there alone, with evidence.
    pub(in crate::journal) fn carry_out_corrections(&self) -> Result<(), Error> {
        for ((load_id, line, nth), seq) in self.corrections.mended_rows() {
            let open = Scan::of(&rejected::TABLE)
                .at(&load_id)
                .at(&line)
                .at(&nth)
                .only(rejected::replaced_by, Test::Absent)
                .only(rejected::withdrawn, Test::Absent);
            self.c.set(&open, rejected::replaced_by, &seq)?;
            let id = id_of(self.c, seq)?;
            let detail =
                json!({"load": load_id.get(), "line": line, "nth": nth, "payment": id.as_str()});
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
