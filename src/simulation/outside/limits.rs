//! What leaves is held against the limits of its run, by where the payments of the journal stand.

use std::collections::BTreeSet;

use super::packet::Packet;
use super::world::Shape;
use crate::domain::{BatchId, Currency, PayerTransactionId, Timestamp};
use crate::journal::simulated::Disk;
use crate::ledger::limits::Period;
use crate::lifecycle::State;
use crate::simulation::disk::rows;
use crate::store::Read;

/// What may have been paid to a number by posts between two times: neither failed nor withdrawn nor unsent, nor what is ready to be posted
/// again because it was not found; the payment itself included. What is in conflict had failed, and may have been given back.
fn paid_to(c: &dyn Read, msisdn: &str, (from, until): (i64, i64)) -> i64 {
    let lives = rows::lives(c).into_iter().filter(|life| {
        let is_unpaid = matches!(
            life.state,
            State::Ready | State::Failed | State::Cancelled | State::Conflict
        );
        !is_unpaid && life.posted_at.is_some_and(|at| from <= at && at < until)
    });
    let rows = lives.map(|life| rows::instruction(c, life.seq));
    let to_number = rows.filter(|row| row.msisdn == msisdn);
    to_number.filter_map(|row| row.amount).sum()
}

/// What is under way or in doubt from the account of a payment.
fn under_way(c: &dyn Read, id: PayerTransactionId) -> i64 {
    let own = rows::seq_of(c, id).map(|seq| rows::instruction(c, seq).batch_id);
    let account = own.and_then(|batch_id| rows::batch(c, batch_id).account);
    let batches: BTreeSet<BatchId> = rows::batches(c)
        .into_iter()
        .filter(|batch| batch.account == account)
        .map(|batch| batch.batch_id)
        .collect();
    let lives = rows::lives(c).into_iter().filter(|life| {
        let is_under_way = matches!(
            life.state,
            State::Posting | State::InDoubt | State::Acknowledged | State::Delivered
        );
        is_under_way && life.replaced_by.is_none() && batches.contains(&life.batch_id)
    });
    lives
        .filter_map(|life| rows::instruction(c, life.seq).amount)
        .sum()
}

impl Shape {
    /// Holds a post of a run against the limits that it was started with.
    pub(in crate::simulation) fn hold_against_limits(
        &mut self,
        run: usize,
        packet: &Packet,
        disk: &Disk,
    ) {
        let Some(limits) = self.limits.get(&run).cloned() else {
            return;
        };
        let (id, to) = (packet.id, packet.msisdn.as_str());
        if limits.deny.as_ref().is_some_and(|list| list.has(to)) {
            self.violation(format!(
                "33: {id} leaves, and its recipient is one who is not paid"
            ));
        }
        let currency = Currency::from_code("KES").expect("known");
        let most =
            |of: &crate::ledger::limits::Ceilings| of.get(&currency).map(|most| most.minor());
        if let Some(most) = most(&limits.recipient_day)
            && let Some(paid) = paid_on_the_day(disk, packet)
            && paid > most
        {
            self.violation(format!(
                "31: {id} leaves, and its recipient has {paid} that day, more than {most}"
            ));
        }
        if let Some(most) = most(&limits.exposure) {
            let under_way = disk.look(|c| under_way(c, id));
            if under_way > most {
                self.violation(format!(
                    "32: {id} leaves, and {under_way} is under way, more than {most}"
                ));
            }
        }
    }
}

/// Returns what the recipient of a payment may have been paid on the day of its intent, itself included.
fn paid_on_the_day(disk: &Disk, packet: &Packet) -> Option<i64> {
    disk.look(|c| {
        let posted_at = rows::life(c, rows::seq_of(c, packet.id)?)?.posted_at?;
        let zone = crate::domain::WireZone::utc();
        let period = Period::of(Timestamp::from_millis(posted_at), &zone);
        let from = i64::from(period.day.number()) * 86_400_000;
        Some(paid_to(c, &packet.msisdn, (from, from + 86_400_000)))
    })
}
