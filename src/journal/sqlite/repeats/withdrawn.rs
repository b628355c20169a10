//! Rows of a file that may be rejected rows which a person withdrew from another load: they are shown before they are paid.

use std::collections::HashMap;

use rusqlite::Connection;

use super::sides::{Found, Table};
use crate::domain::{LoadId, PaymentId};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, stored_of};
use crate::journal::sqlite::load::job::Load;
use crate::journal::{Error, RepeatPlan};
use crate::ledger::likeness;
use crate::ledger::set_aside::{Named, may_be_withdrawn};

/// A rejected row that was withdrawn, as it is compared.
struct Withdrawn {
    load_id: LoadId,
    reference: Option<String>,
    account: String,
}

/// What was withdrawn, by its names.
#[derive(Default)]
struct OnRecord {
    rows: Vec<Withdrawn>,
    by_reference: HashMap<String, Vec<usize>>,
    by_account: HashMap<String, Vec<usize>>,
}

impl OnRecord {
    /// Reads what was withdrawn from other loads than `own` since a time, but for rehearsals.
    fn read(c: &Connection, own: Option<LoadId>, since: i64) -> Result<Self, Error> {
        let mut statement = c.prepare(
            "select r.load_id, r.reference, coalesce(nullif(r.account_number, ''), r.msisdn, '')
             from rejected r cross join evidence e on e.evidence_id = r.withdrawn cross join batch b on b.batch_id = r.batch_id
             where r.withdrawn is not null and r.load_id is not ?1 and e.at > ?2
                 and coalesce(b.rehearsal, b.gateway like 'sandbox %', 0) = 0",
        )?;
        let mut rows = statement.query((own, since))?;
        let mut found = Self::default();
        while let Some(row) = rows.next()? {
            let reference: Option<String> = row.get(1)?;
            let reference = reference.as_deref().map(likeness::of_reference);
            let account: String = row.get(2)?;
            let withdrawn = Withdrawn {
                load_id: row.get(0)?,
                reference: reference.filter(|reference| !reference.is_empty()),
                account: likeness::of_account(&account).into_owned(),
            };
            let at = found.rows.len();
            if let Some(reference) = &withdrawn.reference {
                found
                    .by_reference
                    .entry(reference.clone())
                    .or_default()
                    .push(at);
            }
            found
                .by_account
                .entry(withdrawn.account.clone())
                .or_default()
                .push(at);
            found.rows.push(withdrawn);
        }
        Ok(found)
    }

    /// Returns the loads of the rows that a row of the file may be.
    fn loads_of<'a>(
        &'a self,
        row: &'a Named<'a>,
        restart: bool,
    ) -> impl Iterator<Item = LoadId> + use<'a> {
        let same_reference = row
            .reference
            .and_then(|reference| self.by_reference.get(reference));
        let same_account = self.by_account.get(row.account);
        let places = same_reference.into_iter().chain(same_account).flatten();
        places
            .map(|at| &self.rows[*at])
            .filter(move |withdrawn| {
                let named = Named {
                    reference: withdrawn.reference.as_deref(),
                    account: &withdrawn.account,
                };
                may_be_withdrawn(row, &named, restart)
            })
            .map(|withdrawn| withdrawn.load_id)
    }
}

impl Load<'_> {
    /// Finds the rows of the file that may be rejected rows which were withdrawn from other loads.
    pub(in crate::journal::sqlite) fn find_withdrawn_rows(
        &self,
        record: &Connection,
        plan: &RepeatPlan,
        found: &Found<'_>,
    ) -> Result<(), Error> {
        let window = i64::try_from(plan.terms.longest().as_millis()).unwrap_or(i64::MAX);
        let since = self.plan.now.as_millis().saturating_sub(window);
        let own = plan.record.is_none().then_some(self.load_id);
        let withdrawn = OnRecord::read(record, own, since)?;
        if withdrawn.rows.is_empty() {
            return Ok(());
        }
        let mut statement = self.c.prepare(&format!(
            "select {PAYMENT_COLUMNS}, i.seq from instruction i cross join service s on s.service_id = i.service_id
             where i.seq > ?1 order by i.seq"
        ))?;
        let mut rows = statement.query([self.base])?;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(PAYMENT_WIDTH)?;
            let row = stored_of(row, 0)?.instruction;
            let reference = row.reference.as_ref();
            let reference = reference.map(|reference| likeness::of_reference(reference.as_str()));
            let account = match row.account_number.as_str() {
                "" => row.msisdn.as_str(),
                account => account,
            };
            let account = likeness::of_account(account);
            let named = Named {
                reference: reference.as_deref(),
                account: &account,
            };
            let restart = plan.terms.of(&row.service).references_restart;
            for load_id in withdrawn.loads_of(&named, restart) {
                found.add(Table::Withdrawn, seq, load_id, PaymentId::NONE)?;
            }
        }
        Ok(())
    }
}
