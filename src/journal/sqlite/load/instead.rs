//! New rows of an amendment that pay whom a row of the batch pays which the file leaves out. The rule is in
//! [`crate::ledger::amendment`].

use rusqlite::params;

use super::duplicates::NEW_UNNAMED;
use super::job::Load;
use crate::domain::{LaneId, PaymentId};
use crate::journal::sqlite::codec::recipient::know_recipients;
use crate::journal::sqlite::codec::values::state_number;
use crate::journal::{CrossRowError, Error, LoadRefusal};
use crate::ledger::amendment::{is_batch_again, may_stand_instead};
use crate::ledger::repeats::is_same_account;
use crate::lifecycle::State;

/// Rows that are named in a refusal.
const NAMED_MAX: usize = 50;

/// Who receives a payment, as it is compared.
const RECIPIENT: &str = "recipient(coalesce(account_number, msisdn))";

/// What the file has none of: neither the row nor an earlier generation of it.
const NOT_KEPT: &str = "not exists (
         with recursive up (seq) as (
             select o.seq union select l.seq from life l indexed by predecessor join up on l.replaced_by = up.seq)
         select 1 from up where seq in (select seq from temp.kept))";

/// What stands for its row: the newest generation, as it was corrected; one that was withdrawn pays nobody.
fn stands() -> String {
    format!(
        "not exists (select 1 from life where life.seq = o.seq and (state = {} or replaced_by is not null))",
        state_number(State::Cancelled)
    )
}

impl Load<'_> {
    /// Returns why an amendment is not loaded, if a new row may be one that is left out, under another reference.
    pub(in crate::journal::sqlite) fn stand_instead(
        &self,
        unchanged: u64,
        new: u64,
    ) -> Result<Option<LoadRefusal>, Error> {
        if new == 0 {
            return Ok(None);
        }
        if unchanged == 0 {
            return self.batch_again(new);
        }
        know_recipients(self.c)?;
        let mut named = Vec::new();
        let account = RECIPIENT;
        let mut gone = self.c.prepare(&format!(
            "select seq, service_id, {account} from instruction o
             where batch_id = ?1 and seq <= ?2 and {} and {NOT_KEPT}
                 and (service_id, {account}) in (select service_id, {account} from instruction {NEW_UNNAMED})
             order by seq",
            stands()
        ))?;
        let mut new = self.c.prepare(&format!(
            "select seq from instruction {NEW_UNNAMED} and service_id = ?3 and {account} = ?4 order by seq limit {NAMED_MAX}"
        ))?;
        let mut rows = gone.query(params![self.batch_id, self.base])?;
        while named.len() < NAMED_MAX
            && let Some(row) = rows.next()?
        {
            let (old, service): (PaymentId, LaneId) = (row.get(0)?, row.get(1)?);
            let account: rusqlite::types::Value = row.get(2)?;
            let was = self.instruction(old)?;
            let seqs = new
                .query_map(params![self.batch_id, self.base, service, account], |row| {
                    row.get(0)
                })?;
            for seq in seqs {
                let row = self.instruction(seq?)?;
                // An account of another bank is another one.
                if !is_same_account(&row, &was) {
                    continue;
                }
                let (line, file) = self.place_of(old)?;
                let reference = was.reference.as_ref().map_or(String::new(), |reference| {
                    format!(", reference {}", reference.as_str())
                });
                named.push(CrossRowError {
                    line: row.line,
                    good_row: 0,
                    column: "",
                    message: format!(
                        "pays the same recipient through the same service as line {line} of {file}{reference}, which is left out"
                    ),
                    digest: [0; 32],
                });
                break;
            }
        }
        let pairs = named.len() as u64;
        Ok(may_stand_instead(unchanged, pairs).then_some(LoadRefusal::Instead(named)))
    }

    /// Returns why an amendment is not loaded that has no row of the batch, if it is the batch under other references.
    fn batch_again(&self, new: u64) -> Result<Option<LoadRefusal>, Error> {
        know_recipients(self.c)?;
        let payment = format!("{RECIPIENT}, currency, amount");
        let equal: i64 = self.c.query_row(
            &format!(
                "select count(*) from instruction {NEW_UNNAMED} and ({payment}) in (
                     select {payment} from instruction o where o.batch_id = ?1 and o.seq <= ?2 and {})",
                stands()
            ),
            params![self.batch_id, self.base],
            |row| row.get(0),
        )?;
        let equal = equal.unsigned_abs();
        Ok(is_batch_again(0, new, equal).then_some(LoadRefusal::BatchAgain(equal)))
    }
}
