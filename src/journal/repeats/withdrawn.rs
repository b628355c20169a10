//! Rows of a file that may be rejected rows which a person withdrew from another load: they are shown before they are paid.

use std::collections::HashMap;

use super::found::{Found, Table};
use super::on_record::is_rehearsal;
use crate::domain::{BatchId, EvidenceId, LoadId, PaymentId, Timestamp};
use crate::journal::codec::instructions::Instructions;
use crate::journal::load::job::Load;
use crate::journal::{Error, RepeatPlan};
use crate::ledger::likeness;
use crate::ledger::set_aside::{Named, may_be_withdrawn};
use crate::store::tables::{evidence, rejected};
use crate::store::{Read, Reads, Scan, Test, shape};

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

shape! {
    struct Row of rejected {
        load_id: LoadId, batch_id: BatchId, reference: Option<String>, msisdn: Option<String>, account_number: Option<String>,
        withdrawn: EvidenceId,
    }
}

impl OnRecord {
    /// Reads what was withdrawn from other loads than `own` since a time, but for rehearsals.
    fn read(c: &dyn Read, own: Option<LoadId>, since: Timestamp) -> Result<Self, Error> {
        let withdrawn = Scan::of(&rejected::TABLE).only(rejected::withdrawn, Test::Present);
        let mut found = Self::default();
        c.each(&withdrawn, |row: Row| {
            let decided = Scan::of(&evidence::TABLE).at(&row.withdrawn);
            let at: Option<Timestamp> = c.value(&decided, evidence::at)?;
            if Some(row.load_id) == own || at.is_none_or(|at| at <= since) {
                return Ok(());
            }
            if is_rehearsal(c, row.batch_id)? != Some(false) {
                return Ok(());
            }
            let reference = row.reference.as_deref().map(likeness::of_reference);
            let account = row.account_number.filter(|account| !account.is_empty());
            let account = account.or(row.msisdn).unwrap_or_default();
            let withdrawn = Withdrawn {
                load_id: row.load_id,
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
            Ok::<_, Error>(())
        })?;
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
    pub(in crate::journal) fn find_withdrawn_rows(
        &self,
        record: &dyn Read,
        plan: &RepeatPlan,
        found: &Found<'_>,
    ) -> Result<(), Error> {
        let window = i64::try_from(plan.terms.longest().as_millis()).unwrap_or(i64::MAX);
        let since = Timestamp::from_millis(self.plan.now.as_millis().saturating_sub(window));
        let own = plan.record.is_none().then_some(self.load_id);
        let withdrawn = OnRecord::read(record, own, since)?;
        if withdrawn.rows.is_empty() {
            return Ok(());
        }
        Instructions::of(self.c).each(&self.rows_of_file(), |file| {
            let row = file.row.instruction;
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
                found.add(Table::Withdrawn, file.seq, load_id, PaymentId::NONE)?;
            }
            Ok(())
        })
    }
}
