//! What counts towards ceilings, compared with where the payments stand.

use rusqlite::{OptionalExtension, params};

use super::prover::Verifier;
use crate::domain::{Day, EvidenceId, PaymentId, Timestamp, WireZone};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, payment_of, state_of};
use crate::journal::sqlite::limits::count::{Counts, UP_TO, ZONE, counts};
use crate::journal::sqlite::payments::first_claims::{ClaimBlock, blocks};
use crate::ledger::limits::recipient_of;
use crate::store::Reads;

/// Payments of batch ?1 of which nothing was recorded beyond evidence ?2, with what they count for.
fn counted_until() -> String {
    format!(
        "select {PAYMENT_COLUMNS}, i.seq, i.service_id, l.state, l.exposures, l.posted_at,
             c.service_id, c.recipient, c.currency, c.amount, c.day, c.counts
         from instruction i cross join service s on s.service_id = i.service_id cross join life l on l.seq = i.seq
             left join counted c on c.seq = i.seq
         where i.batch_id = ?1 and i.amount is not null
             and not exists (select 1 from evidence e indexed by evidence_by_payment where e.seq = i.seq and e.evidence_id > ?2)"
    )
}

/// Sums that are not those of what is counted. One at the end of all numbers stays there.
const SUMS: &str = "with counts as (
         select realm, 'r' || recipient as name, currency, day, amount from counted where counts > 0
         union all select realm, 's' || service_id, currency, day, amount from counted where counts > 0),
     sums as (select realm, name, currency, day, sum(amount) as amount from counts group by realm, name, currency, day)
     select count(*) from sums full outer join used using (realm, name, currency, day)
     where coalesce(sums.amount, 0) <> coalesce(used.amount, 0) and used.amount is not 9223372036854775807";

impl Verifier<'_> {
    /// Compares what counts towards ceilings, as far as a run has counted it.
    pub(super) fn compare_ceilings(&mut self) -> Result<(), Error> {
        let meta = |key: &str| -> Result<Option<rusqlite::types::Value>, Error> {
            let found = self
                .c
                .query_row("select value from meta where key = ?1", [key], |row| {
                    row.get(0)
                })
                .optional()?;
            Ok(found)
        };
        use rusqlite::types::Value::{Integer, Text};
        let (up_to, zone) = match (meta(UP_TO)?, meta(ZONE)?) {
            (Some(Integer(up_to)), Some(Text(zone))) => {
                (EvidenceId::new(up_to), WireZone::from_name(&zone))
            }
            (None, _) => return Ok(()),
            _ => (EvidenceId::NONE, None),
        };
        let Some(zone) = zone else {
            self.find("up to where payments are counted towards ceilings is not on record");
            return Ok(());
        };
        self.compare_counted(up_to, &zone)?;
        let differing: i64 = self.c.query_row(SUMS, [], |row| row.get(0))?;
        if differing > 0 {
            self.find(format!(
                "{differing} sums of what counts towards ceilings are not what their payments add up to"
            ));
        }
        Ok(())
    }

    fn compare_counted(&mut self, up_to: EvidenceId, zone: &WireZone) -> Result<(), Error> {
        // Claims that share a row are not found by their payments.
        let mut later = Vec::new();
        let behind = blocks(&self.batch_id, &up_to);
        self.c.each(&behind, |block: ClaimBlock| {
            later.extend(block.range()?.runs()?);
            Ok::<_, Error>(())
        })?;
        let c = self.c;
        let mut statement = c.prepare(&counted_until())?;
        let mut rows = statement.query(params![self.batch_id, up_to])?;
        const AT: usize = PAYMENT_WIDTH;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(AT)?;
            if later
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&seq.get()))
            {
                continue;
            }
            let expected = counts(state_of(row.get(AT + 2)?)?);
            let found: i64 = row.get::<_, Option<i64>>(AT + 10)?.unwrap_or(0);
            let payment = payment_of(row, 0)?;
            let posted_at: Option<i64> = row.get(AT + 4)?;
            let day = posted_at.map(|at| Day::of(Timestamp::from_millis(at), zone).number());
            let money = payment.instruction.money;
            let text = |at: usize| row.get::<_, Option<String>>(AT + at);
            let differs = [
                ("what it counts for", found != expected as i64),
                (
                    "its service",
                    row.get::<_, Option<i64>>(AT + 5)? != Some(row.get(AT + 1)?),
                ),
                (
                    "who receives it",
                    text(6)?.as_deref() != Some(&recipient_of(&payment.instruction)),
                ),
                (
                    "its currency",
                    text(7)?.as_deref() != Some(money.currency.code()),
                ),
                (
                    "its amount",
                    row.get::<_, Option<i64>>(AT + 8)? != Some(money.amount.minor()),
                ),
                (
                    "its day",
                    day.is_some_and(|day| row.get(AT + 9) != Ok(Some(day))),
                ),
            ];
            // Of what counts for nothing no more is wanted.
            let compared = match expected {
                Counts::Nothing => &differs[..1],
                _ => &differs[..],
            };
            let differing: Vec<&str> = compared
                .iter()
                .filter(|(_, is)| *is)
                .map(|(name, _)| *name)
                .collect();
            if !differing.is_empty() {
                let id = payment.id;
                self.find(format!(
                    "payment {id}: what it counts for towards ceilings is not what it comes to ({})",
                    differing.join(", ")
                ));
            }
        }
        Ok(())
    }
}
