//! What earlier statements showed of payments otherwise than they are: parts of one amount may stand in several statements.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension as _, params};
use serde_json::Value;

use super::desk::StatementDesk;
use crate::domain::{Amount, Currency, Day, PaymentId};
use crate::journal::Error;
use crate::journal::read::reader::Snapshot;
use crate::ledger::reconciliation::FindingKind;

/// A line of an earlier statement that named a payment.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    payment: String,
    day: i32,
    minor: i64,
    currency: &'static str,
    reference: String,
}

impl Line {
    /// Reads it of a finding; `None` where it is about something else.
    fn of(finding: &Value) -> Option<Self> {
        let text = |name: &str| finding[name].as_str().unwrap_or_default();
        let is_otherwise = matches!(
            FindingKind::from_name(text("finding"))?,
            FindingKind::AmountDiffers | FindingKind::NamesOther | FindingKind::PendingThere
        );
        let currency = Currency::from_code(text("statement_currency_code"))?;
        let amount = Amount::parse(text("statement_amount"), currency).ok()?;
        (is_otherwise && text("statement_direction") == "out").then(|| Self {
            payment: text("payer_transaction_id").to_owned(),
            day: Day::parse(text("statement_date")).map_or(0, Day::number),
            minor: amount.minor(),
            currency: currency.code(),
            reference: text("statement_reference").to_owned(),
        })
    }
}

impl Snapshot<'_> {
    /// Adds to what the statement shows of payments what earlier ones have shown, but for lines that it has as well.
    pub(super) fn add_earlier(&self, desk: &StatementDesk) -> Result<(), Error> {
        let mut lines = BTreeSet::new();
        for record in self.reconciliations()? {
            lines.extend(record.findings.iter().filter_map(Line::of));
        }
        if lines.is_empty() {
            return Ok(());
        }
        desk.c.execute_batch(
            "create index entry_by_payment on entry (seq, n) where seq is not null",
        )?;
        let mut named = desk
            .c
            .prepare("select seq from key where key = ?1 and rank = 0 limit 1")?;
        let mut has_it = desk.c.prepare(
            "select 1 from entry where seq = ?1 and day = ?2 and minor = ?3 and flow = 0 and reference = ?4 limit 1",
        )?;
        let mut add = desk.c.prepare(
            "update payment set otherwise = otherwise + ?2 where seq = ?1 and currency = ?3",
        )?;
        for line in lines {
            let seq: Option<PaymentId> = named
                .query_row([&line.payment], |row| row.get(0))
                .optional()?;
            let Some(seq) = seq else {
                continue;
            };
            if !has_it.exists(params![seq, line.day, line.minor, line.reference])? {
                add.execute(params![seq, line.minor, line.currency])?;
            }
        }
        Ok(())
    }
}
