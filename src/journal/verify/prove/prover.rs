//! What goes through a batch to prove it.

use crate::domain::{BatchId, BatchName, IdentifierScheme, LaneId, PolicyId};
use crate::journal::FINDINGS_SHOWN;
use crate::journal::approval::orders_proven::verify_orders;
use crate::journal::approval::proven::verify_signatures;
use crate::journal::codec::catalog::scheme_of;
use crate::journal::evidence::encoding::{CanonicalHasher, Terms};
use crate::journal::{Error, Proof};
use crate::ledger::tallies::{Sum, Tallies};
use crate::lifecycle::Policy;
use crate::store::tables::{policy, tally};
use crate::store::{Read, Reads, Scan, shape};
use std::collections::BTreeMap;

/// Derivations that are spent on equal rows far apart. Beyond them, their identifiers rest on the digest of their block.
const DERIVATIONS_MAX: u32 = 1_000_000;

/// Policies that evidence was judged by; a journal sees a handful.
pub(super) const POLICIES_MAX: usize = 10_000;

/// Characters of a finding that are shown.
pub(super) const FINDING_CHARACTERS_MAX: usize = 500;

shape! {
    /// A policy that evidence was judged by.
    struct StoredPolicy of policy {
        policy_id: PolicyId, not_found_quarantine: i64, exposures_max: i64, settle_on: i64, status_query: i64,
    }
}
shape! {
    /// What a tally says.
    struct Told of tally { service_id: LaneId, currency: String, state: i64, count: i64, amount: i64 }
}

/// A verification under way.
pub(super) struct Verifier<'a> {
    pub(super) c: &'a dyn Read,
    pub(super) batch: BatchName,
    pub(super) batch_id: BatchId,
    pub(super) policies: BTreeMap<PolicyId, (Terms, Policy)>,
    /// Rows of evidence on the chain that are about one payment.
    pub(super) about_payments: u64,
    /// First claims of payments that share rows of evidence.
    pub(super) first_claims: u64,
    /// Count and amount by service, currency and state, as the lives add up.
    pub(super) tallies: Tallies<(LaneId, String, i64)>,
    pub(super) above: Above,
    pub(super) leaves: CanonicalHasher,
    pub(super) proof: Proof,
    /// The store was lost: what was read of it proves nothing.
    pub(super) lost: Option<Error>,
}

impl Verifier<'_> {
    pub(super) fn find(&mut self, what: impl Into<String>) {
        self.proof.findings_count += 1;
        if self.proof.findings.len() < FINDINGS_SHOWN {
            // Whoever changed the journal may have put anything into it: a terminal must not obey it.
            let what: String = what.into();
            let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
            let shown = what.chars().map(plain).take(FINDING_CHARACTERS_MAX);
            self.proof.findings.push(shown.collect());
        }
    }

    /// Does one part; what cannot be read does not fit either, and the other parts are still looked at.
    pub(super) fn attempt(
        &mut self,
        part: &str,
        work: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) {
        if self.lost.is_some() {
            return;
        }
        match work(self) {
            Ok(()) => {}
            Err(error) if error.is_of_connection() => self.lost = Some(error),
            Err(error) => self.find(format!("{part} cannot be read: {error}")),
        }
    }

    /// Returns what was found, unless the store was lost meanwhile.
    pub(super) fn proven(self) -> Result<Proof, Error> {
        self.lost.map_or(Ok(self.proof), Err)
    }

    pub(super) fn scheme(&self) -> Result<IdentifierScheme, Error> {
        scheme_of(self.c, self.batch_id, &self.batch)
    }

    /// Compares tables, indexes and the triggers that guard them with those of a new journal.
    pub(super) fn schema(&mut self) -> Result<(), Error> {
        let misfits = self.c.misfits()?;
        misfits.into_iter().for_each(|what| self.find(what));
        Ok(())
    }

    pub(super) fn read_policies(&mut self) -> Result<(), Error> {
        let policies = Scan::of(&policy::TABLE).limit(POLICIES_MAX);
        self.c.each(&policies, |row: StoredPolicy| {
            let terms = Terms([
                row.not_found_quarantine,
                row.exposures_max,
                row.settle_on,
                row.status_query,
            ]);
            match terms.policy() {
                Some(policy) => drop(self.policies.insert(row.policy_id, (terms, policy))),
                None => self.find(format!("policy {} has invalid terms", row.policy_id)),
            }
            Ok(())
        })
    }

    /// Who signed for the batch.
    pub(super) fn signatures(&mut self) -> Result<(), Error> {
        let (count, findings) = verify_signatures(self.c, self.batch_id)?;
        let (orders, of_orders) = verify_orders(self.c, self.batch_id)?;
        self.proof.signatures = count + orders;
        let findings = findings.into_iter().chain(of_orders);
        findings.for_each(|what| self.find(what));
        Ok(())
    }

    /// What is on record of the journal as a whole.
    pub(super) fn recoveries(&mut self) -> Result<(), Error> {
        if let Some(what) = crate::journal::recovery::on_chain::altered(self.c)? {
            self.find(what);
        }
        Ok(())
    }

    pub(super) fn compare_tallies(&mut self) -> Result<(), Error> {
        let mut tallies = std::mem::take(&mut self.tallies);
        let batch_id = self.batch_id;
        let of_batch = Scan::of(&tally::TABLE).at(&batch_id);
        self.c.each(&of_batch, |row: Told| {
            let (place, told) = (
                (row.service_id, row.currency, row.state),
                (row.count, row.amount),
            );
            if let Some(sum) = tallies.misfit(&place, told) {
                self.find(tally_text(&place, told, sum));
            }
            Ok::<_, Error>(())
        })?;
        for (place, sum) in tallies.unrecorded() {
            self.find(tally_text(&place, (0, 0), sum));
        }
        Ok(())
    }

    /// Lets the store look for damage in itself: SQLite compares every index with its table.
    pub(super) fn file(&mut self) -> Result<(), Error> {
        let damage = self.c.damage()?;
        damage.into_iter().for_each(|what| self.find(what));
        Ok(())
    }
}

pub(super) fn tally_text(
    (service, currency, state): &(LaneId, String, i64),
    told: Sum,
    sum: Sum,
) -> String {
    let state = crate::journal::codec::values::state_of(*state)
        .map_or("without amount", |state| state.name());
    format!(
        "tally of service {service}, {currency}, {state}: {} of {} minor units on record, the payments are {} of {}",
        told.0, told.1, sum.0, sum.1
    )
}

/// How many equal rows were seen.
pub(super) struct Above {
    pub(super) next: BTreeMap<[u8; 32], u32>,
    pub(super) derivations_left: u32,
}

impl Default for Above {
    fn default() -> Self {
        Self {
            next: BTreeMap::new(),
            derivations_left: DERIVATIONS_MAX,
        }
    }
}
