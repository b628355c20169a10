//! What leaves is held against the limits of its run, by where the payments of the journal stand.

use rusqlite::{OptionalExtension, params};

use super::packet::Packet;
use super::world::Shape;
use crate::domain::{Currency, Timestamp};
use crate::journal::simulated::Disk;
use crate::ledger::limits::Period;

/// What may have been paid to a number by posts between two times: neither failed nor withdrawn nor unsent, the payment itself
/// included. What is in conflict had failed, and may have been given back.
const TO_NUMBER: &str =
    "select coalesce(sum(i.amount), 0) from life l join instruction i using (seq)
     where i.msisdn = ?1 and l.posted_at >= ?2 and l.posted_at < ?3
         and (l.state between 1 and 5 or l.state = 0 and l.exposures > 0)";

/// What is under way or in doubt from the account of a payment.
const UNDER_WAY: &str = "select coalesce(sum(i.amount), 0) from life l join instruction i using (seq) join batch b on b.batch_id = l.batch_id
     where l.state between 1 and 4 and l.replaced_by is null
         and b.account is (select o.account from identifier d join instruction p using (seq) join batch o using (batch_id) where d.identifier = ?1)";

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
            let under_way: i64 = disk.look(|c| {
                c.query_row(UNDER_WAY, [id.as_str()], |row| row.get(0))
                    .expect("it can be read")
            });
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
        let posted_at: Option<i64> = c
            .query_row(
                "select posted_at from identifier join life using (seq) where identifier = ?1",
                [packet.id.as_str()],
                |row| row.get(0),
            )
            .optional()
            .expect("it can be read")?;
        let zone = crate::domain::WireZone::utc();
        let period = Period::of(Timestamp::from_millis(posted_at?), &zone);
        let from = i64::from(period.day.number()) * 86_400_000;
        let sum = c.query_row(
            TO_NUMBER,
            params![packet.msisdn, from, from + 86_400_000],
            |row| row.get(0),
        );
        Some(sum.expect("it can be read"))
    })
}
