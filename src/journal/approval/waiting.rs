//! Orders that somebody has signed for, and that wait for others.

use std::collections::BTreeMap;

use super::on_record::Pinned;
use super::orders::{carried_out, may_count, order_signatures};
use crate::domain::Timestamp;
use crate::journal::read::reader::Snapshot;
use crate::journal::{Error, OrderWaiting};
use crate::ledger::approval::orders::{ORDER_LASTS, OrderSigned, needed, people};
use crate::ledger::approval::rule::Rule;
use crate::ledger::approval::text::value_of;

impl Snapshot<'_> {
    /// Returns the orders about the batch that somebody has signed for within a day, by the rules of its loads and the one of now, and
    /// that were not carried out since. Whether they would still do the same, nobody knows before they are given.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn orders_waiting(
        &self,
        rule: Option<Rule>,
        now: Timestamp,
    ) -> Result<Vec<OrderWaiting>, Error> {
        let in_force = Pinned::read(self.c, self.batch_id)?.in_force(rule)?;
        let mut by_digest: BTreeMap<String, (String, Vec<OrderSigned>)> = BTreeMap::new();
        for one in order_signatures(self.c, self.batch_id)? {
            if may_count(&[&in_force], &one).is_err() {
                continue;
            }
            let what = value_of(&one.text, "order").map_or_else(
                || {
                    format!(
                        "{} orders",
                        value_of(&one.text, "orders").unwrap_or("several")
                    )
                },
                str::to_owned,
            );
            let entry = by_digest.entry(one.claimed.digest);
            let (_, signed) = entry.or_insert_with(|| (what, Vec::new()));
            signed.push(OrderSigned {
                hand: one.hand,
                signed: one.claimed.signed,
                evidence: one.evidence_id,
            });
        }
        let mut waiting = Vec::new();
        for (digest, (what, signed)) in by_digest {
            let carried = carried_out(self.c, self.batch_id, &digest)?;
            let signed_by = people(&signed, carried, now);
            let young = signed.iter().filter(|one| one.evidence > carried);
            let young = young.map(|one| one.signed.after(ORDER_LASTS));
            let until = young.filter(|until| *until >= now).min();
            if let Some(until) = until.filter(|_| !signed_by.is_empty()) {
                waiting.push(OrderWaiting {
                    what,
                    is_enough: signed_by.len() >= needed(in_force.required()),
                    signed_by,
                    until,
                });
            }
        }
        waiting.sort_by_key(|one| one.until);
        Ok(waiting)
    }
}
