//! What leaves: each departure is held against the journal and against what was proven of the one before.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::packet::{Departures, Packet, Proof};
use super::world::Shape;
use crate::domain::{PayerTransactionId, PaymentId};
use crate::journal::simulated::Disk;
use crate::ledger::calendar::BatchDates;
use crate::lifecycle::State;
use crate::simulation::plays::Play;

/// "Not found" counts after the quarantine, which is 60 s; an answer is recorded a little after it came.
const QUARANTINE_MS: u64 = 59_000;

/// What was not found longer ago than its quarantine is asked about again; it leaves soon after its claim.
const STALE_MS: u64 = 75_000;

/// A run looks at the journal every second, and learns by then that it was taken over from.
const LEARNT_MS: u64 = 2_500;

/// What the journal has of an identifier when it leaves.
struct Intent {
    attempts: u32,
    claimed_at: i64,
}

fn intent(disk: &Disk, id: PayerTransactionId) -> Option<Intent> {
    disk.look(|c| {
        c.prepare_cached(
            "select attempts, (select at from evidence e where e.seq = l.seq and event = 0 order by evidence_id desc limit 1), seq
             from identifier join life l using (seq) where identifier = ?1",
        )
        .expect("the schema has these")
        .query_row([id.as_str()], |row| {
            let claimed_at: Option<i64> = row.get(1)?;
            Ok(Intent {
                attempts: row.get(0)?,
                claimed_at: match claimed_at {
                    Some(at) => at,
                    None => first_claim(c, row.get(2)?)?.unwrap_or(0),
                },
            })
        })
        .optional()
        .expect("they can be read")
    })
}

fn is_of_first_batch(disk: &Disk, id: PayerTransactionId) -> bool {
    disk.look(|c| {
        c.prepare_cached(
            "select exists (select 1 from identifier d cross join instruction i using (seq) join batch b using (batch_id)
                 where d.identifier = ?1 and b.name = 'b')",
        )
        .expect("the schema has these")
        .query_row([id.as_str()], |row| row.get(0))
        .expect("they can be read")
    })
}

/// Why a row is not over with a payment: it has not failed, or whoever said so has spoken of it otherwise since.
// The gateway's "failed", asked for afterwards, or a person's word gives it again; "not found" may be what has ended it.
pub(in crate::simulation) const NOT_OVER: &str =
    "(l.state not in (6, 7) or l.state = 6 and l.known <> 2 and exists (
    select 1 from evidence t where t.seq = l.seq
    and (t.event = 20 or t.event in (5, 6, 8, 70, 71, 72) and t.code in (139, 148, 140, 183))
    and t.evidence_id > (select min(f.evidence_id) from evidence f where f.seq = l.seq
        and (f.event = 10 or f.event in (5, 6, 8) and f.code in (141, 180, 106, 110, 120, 231)))
    and not exists (select 1 from evidence g where g.seq = l.seq and g.evidence_id > t.evidence_id
        and (g.event = 10 or g.event = 6 and g.code in (141, 143, 174, 180, 106, 110, 120, 231)))))";

/// Earlier generations of a payment; how those stand that may yet be paid.
fn ancestors(
    disk: &Disk,
    id: PayerTransactionId,
) -> Vec<(PayerTransactionId, Option<&'static str>)> {
    disk.look(|c| {
        let mut statement = c
            .prepare_cached(&format!(
                "with recursive earlier (seq) as (
                     select l.seq from life l join identifier i on l.replaced_by = i.seq where i.identifier = ?1
                     union all select l.seq from life l join earlier e on l.replaced_by = e.seq)
                 select identifier, l.state, {NOT_OVER} from earlier join life l using (seq) join instruction using (seq)"
            ))
            .expect("the schema has these");
        let rows = statement.query_map([id.as_str()], |row| {
            let (id, state, may_be_paid): (String, u8, bool) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let id = PayerTransactionId::parse(&id).expect("we made it");
            Ok((id, may_be_paid.then(|| standing(state))))
        });
        rows.expect("they can be read")
            .collect::<Result<_, _>>()
            .expect("they can be read")
    })
}

/// Payments of a row in other batches that are paid, or may be, one of each batch. What had failed is compared within the window
/// alone: what is taken back later is shouted.
fn others(
    disk: &Disk,
    id: PayerTransactionId,
    line: u64,
    window: i64,
) -> Vec<(PayerTransactionId, &'static str)> {
    disk.look(|c| {
        let mut batches = c
            .prepare_cached("select count(*) from batch")
            .expect("the schema has these");
        if batches.query_row([], |row| row.get::<_, i64>(0)) == Ok(1) {
            return Vec::new();
        }
        let mut statement = c
            .prepare_cached(&format!(
                "select i.identifier, coalesce(l.state, 0) from instruction i left join life l on l.seq = i.seq
                 where i.line = ?2 and i.batch_id <> (select batch_id from identifier join instruction using (seq)
                     where identifier.identifier = ?1) and (l.state is null or {NOT_OVER})
                     and (l.state is null or l.state <> 6 or exists (
                         select 1 from identifier d join instruction o using (seq) where d.identifier = ?1
                             and (o.generation > 0 or i.received_at > o.received_at - ?3)))
                 group by i.batch_id"
            ))
            .expect("the schema has these");
        let rows = statement.query_map(rusqlite::params![id.as_str(), line.cast_signed(), window], |row| {
            let (id, state): (String, u8) = (row.get(0)?, row.get(1)?);
            let id = PayerTransactionId::parse(&id).expect("we made it");
            Ok((id, standing(state)))
        });
        rows.expect("they can be read")
            .collect::<Result<_, _>>()
            .expect("they can be read")
    })
}

/// The batch of a payment that is no retry.
fn batch_of_first(disk: &Disk, id: PayerTransactionId) -> Option<String> {
    disk.look(|c| {
        c.query_row(
            "select b.name from identifier d join instruction i using (seq) join batch b using (batch_id)
             where d.identifier = ?1 and i.generation = 0",
            [id.as_str()],
            |row| row.get(0),
        )
        .optional()
        .expect("it can be read")
    })
}

/// How a payment stands that may be paid.
fn standing(state: u8) -> &'static str {
    match State::ALL[usize::from(state)] {
        State::Failed => "failed, which was taken back",
        state => state.name(),
    }
}

/// When a payment was claimed first, by the evidence that it shares with others: `"payments":"1-4 7"`.
fn first_claim(c: &Connection, seq: PaymentId) -> rusqlite::Result<Option<i64>> {
    let mut statement = c.prepare_cached(
        "select at, detail ->> 'payments' from evidence where seq = 0 and event = 30 order by evidence_id desc",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let payments: String = row.get(1)?;
        let names_it = payments.split(' ').any(|run| {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            let number = |text: &str| text.parse::<i64>().expect("a number");
            (number(first)..=number(last)).contains(&seq.get())
        });
        if names_it {
            return row.get(0).map(Some);
        }
    }
    Ok(None)
}

impl Shape {
    pub(in crate::simulation) fn violation(&mut self, text: String) {
        self.note(|| format!("VIOLATION {text}"));
        self.violations.push(text);
    }

    /// Holds a post of a run against the invariants, at the moment it leaves.
    pub(in crate::simulation) fn depart(
        &mut self,
        run: usize,
        packets: &[Packet],
        rate: usize,
        disk: &Disk,
    ) {
        let now = self.now();
        let overtaken = self.runs[run].overtaken_at;
        if overtaken.is_none() {
            let account = self.runs[run].account;
            self.sends.push((now, packets.len(), rate, account));
        }
        if let Some(late) = overtaken.and_then(|at| now.checked_sub(at + LEARNT_MS)) {
            self.violation(format!(
                "4: run {run} posts {} ms after another one took over",
                late + LEARNT_MS
            ));
        }
        if self.runs[run].stood_still && overtaken.is_some_and(|at| now > at) {
            self.violation(format!(
                "4: run {run} stood still and posts, {} ms after another one took over",
                now - overtaken.unwrap_or(now)
            ));
        }
        for packet in packets {
            let before = self.account(packet.id).wire.clone();
            self.hold_against_journal(packet, &before, overtaken, disk);
            self.hold_against_proofs(packet, &before, now);
            self.hold_against_ancestors(packet.id, disk);
            self.hold_against_others(packet, disk);
            self.hold_against_limits(run, packet, disk);
            let account = self.account(packet.id);
            (account.line, account.minor) = (packet.line, packet.minor);
            account.to.clone_from(&packet.msisdn);
            let wire = &mut account.wire;
            wire.digest.get_or_insert(packet.digest);
            wire.exposed |= wire.count > 0 && !wire.not_done;
            wire.count += 1;
            wire.under_way = Some(run);
            wire.not_done = false;
            // A run that was taken over from sends what it had claimed: the quarantine has begun already.
            if overtaken.is_none() {
                wire.last_at = now;
                wire.not_found.clear();
            }
        }
    }

    fn hold_against_journal(
        &mut self,
        packet: &Packet,
        before: &Departures,
        overtaken: Option<u64>,
        disk: &Disk,
    ) {
        let id = packet.id;
        let loaded = self.loaded.get(&packet.line);
        let (minor, to) = (packet.minor, &packet.msisdn);
        if loaded.is_some_and(|known| !known.contains(&(minor, to.clone()))) {
            self.violation(format!(
                "23: {id} leaves otherwise than it was loaded: {minor} to {to}"
            ));
        }
        // A run keeps to the clock that it began with.
        let time = self.not_before.get(&packet.line).copied();
        if let Some(early) = time.map(|at| at.since(self.wall_now()))
            && !early.is_zero()
            && !self.was_set
        {
            self.violation(format!(
                "29: {id} leaves {} ms before its time",
                early.as_millis()
            ));
        }
        self.hold_against_calendar(packet, disk);
        if self.tampered == Some(id) {
            self.violation(format!("23: {id} leaves, and was edited in the file"));
        }
        if self.orders_lost {
            self.violation(format!("22: {id} leaves, and orders of people are lost"));
        }
        let Some(intent) = intent(disk, id) else {
            return self.violation(format!(
                "1: {id} leaves, and the journal has no such identifier"
            ));
        };
        if intent.attempts <= before.count {
            let count = before.count + 1;
            self.violation(format!(
                "3: {id} leaves {count} times with {} intents on disk",
                intent.attempts
            ));
        }
        let since = overtaken.map(|at| self.wall_at(at).as_millis());
        if since.is_some_and(|since| intent.claimed_at > since) {
            self.violation(format!(
                "4: {id} is claimed by a run that was taken over from"
            ));
        }
        if let Some(named) = &packet.document {
            let there = self.documents.get(&id);
            let known = |name: &String| there.is_some_and(|there| there.contains(name));
            if !named.as_ref().is_some_and(known) {
                self.violation(format!(
                    "4.5: {id} leaves, and the file service does not have {named:?}"
                ));
            }
        }
    }

    /// It leaves while its service is open, and between the dates of its batch, by the clock that its run began with.
    fn hold_against_calendar(&mut self, packet: &Packet, disk: &Disk) {
        if self.was_set {
            return;
        }
        let (id, now) = (packet.id, self.wall_now());
        let is_of_service = packet.line.saturating_sub(1).is_multiple_of(3);
        if is_of_service && self.closed.is_some_and(|closed| closed.at(now)) {
            self.violation(format!(
                "30: {id} leaves at {now}, while its service is closed"
            ));
        }
        let admits = |dates: &BatchDates| {
            dates.not_before.is_none_or(|from| from <= now)
                && dates.not_after.is_none_or(|until| now < until)
        };
        let dates = &self.dates;
        if !dates.is_empty() && is_of_first_batch(disk, id) && !dates.iter().any(admits) {
            let text = format!("30: {id} leaves at {now}, and its batch has the dates {dates:?}");
            self.violation(text);
        }
    }

    /// Of all generations of a row one at most is on its way, or paid.
    fn hold_against_ancestors(&mut self, id: PayerTransactionId, disk: &Disk) {
        if !Play::Ancestors.is_on() {
            return;
        }
        let (mut ancestors, mut open) = (Vec::new(), Vec::new());
        for (ancestor, state) in self::ancestors(disk, id) {
            ancestors.push(ancestor);
            open.extend(state.map(|state| (ancestor, state)));
        }
        for (ancestor, state) in open {
            self.violation(format!(
                "21: {id} leaves, and its predecessor {ancestor} is {state}"
            ));
        }
        if let Some(edited) = self.tampered.filter(|edited| ancestors.contains(edited)) {
            self.violation(format!(
                "21: {id} leaves, and its predecessor {edited} was edited to have failed"
            ));
        }
    }

    /// Of all batches that have a row, one at most pays it, unless a person orders it.
    fn hold_against_others(&mut self, packet: &Packet, disk: &Disk) {
        let mut open = others(disk, packet.id, packet.line, self.window);
        if !open.is_empty() && !self.forgotten.is_empty() {
            let batch = batch_of_first(disk, packet.id);
            open.retain(|(other, _)| {
                !batch
                    .as_ref()
                    .is_some_and(|batch| self.forgotten.contains(&(batch.clone(), *other)))
            });
        }
        let of_line =
            |counted: &BTreeMap<u64, u32>| counted.get(&packet.line).copied().unwrap_or(0);
        let seen = of_line(&self.ordered).max(of_line(&self.beside));
        if open.len() > seen as usize {
            let (id, (other, state)) = (packet.id, open[0]);
            self.violation(format!(
                "25: {id} leaves, and {other} of the same row is {state} in another batch"
            ));
        }
    }

    fn hold_against_proofs(&mut self, packet: &Packet, before: &Departures, now: u64) {
        let id = packet.id;
        if let Some(run) = before.under_way {
            self.violation(format!(
                "4: {id} leaves while a post of run {run} is in flight"
            ));
        }
        // A reload dates the payments anew: the date of the first load is lost with the journal.
        if before.digest.is_some_and(|first| first != packet.digest) {
            self.violation(format!("2: {id} leaves with other bytes than before"));
        }
        let ripe = |at: &&u64| **at >= before.last_at + QUARANTINE_MS;
        let not_found = before.not_found.iter().filter(ripe).count();
        if before.count > 0 && !before.not_done && not_found < 2 {
            self.violation(format!(
                "9: {id} leaves again {} ms after its last post, which is not proven unsent; not found {not_found} times",
                now - before.last_at
            ));
        }
        let age = before.denied_at.map_or(0, |at| now - at);
        let is_exposed = before.exposed || before.count > 0 && !before.not_done;
        // By a clock that was set nobody knows how long ago it was.
        if is_exposed && age > STALE_MS && !self.was_set {
            self.violation(format!(
                "9: {id} leaves again, and was not found last {age} ms ago"
            ));
        }
    }

    /// Takes in what an answer proves, as it comes to the program.
    pub(in crate::simulation) fn prove(&mut self, proofs: &[(PayerTransactionId, Proof)]) {
        let now = self.now();
        for (id, proof) in proofs {
            let wire = &mut self.account(*id).wire;
            match proof {
                Proof::NotDone => wire.not_done = true,
                Proof::NotFound => {
                    wire.not_found.push(now);
                    wire.denied_at = Some(now);
                }
            }
        }
    }

    /// Nothing of these is in flight any more.
    pub(in crate::simulation) fn land(&mut self, run: usize, ids: &[PayerTransactionId]) {
        for id in ids {
            let wire = &mut self.account(*id).wire;
            if wire.under_way == Some(run) {
                wire.under_way = None;
            }
        }
    }

    /// A run has taken the batch: whoever had it must not claim any more.
    pub(in crate::simulation) fn acquire(&mut self, run: usize) {
        let now = self.now();
        self.note(|| format!("run {run} has the batch"));
        for (number, other) in self.runs.iter_mut().enumerate() {
            // One that stood still before it had the batch takes it once more.
            if other.acquired && !other.ended && number != run {
                other.overtaken_at.get_or_insert(now);
                // In half of the cases because the machine of the first one slept.
                other.stood_still |= now.is_multiple_of(2);
            }
        }
        self.runs[run].acquired = true;
    }

    /// A run has ended, however: it waits for nothing.
    pub(in crate::simulation) fn end_run(&mut self, run: usize) {
        self.runs[run].ended = true;
        for account in self.ledger.values_mut() {
            if account.wire.under_way == Some(run) {
                account.wire.under_way = None;
            }
        }
    }
}
