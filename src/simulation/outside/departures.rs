//! What leaves: each departure is held against the journal and against what was proven of the one before.

use std::collections::BTreeMap;

use super::closed::Closed;
use super::packet::{Departures, Packet, Proof, Sent};
use super::world::{CLOCKS_DIFFER_MS, Shape};
use crate::domain::{PayerTransactionId, PaymentId};
use crate::journal::simulated::Disk;
use crate::ledger::calendar::BatchDates;
use crate::lifecycle::State;
use crate::simulation::disk::rows::{self, Batch, Instruction, Life};
use crate::simulation::plays::Play;
use crate::store::tables::{batch, evidence, instruction, life};
use crate::store::{Read, Reads, Scan, Test, shape};

/// "Not found" counts after the quarantine, which is 60 s; an answer is recorded a little after it came.
const QUARANTINE_MS: u64 = 59_000;

/// What was not found longer ago than its quarantine is asked about again; it leaves soon after its claim.
const STALE_MS: u64 = 75_000;

/// A run looks at the journal every second, and learns by then that it was taken over from.
const LEARNT_MS: u64 = 2_500;
/// Where several runs share the store, the lease of one is over before another one closes its session; the clocks may differ.
const LEASED_MS: u64 = 1_000;

/// What the journal has of an identifier when it leaves.
struct Intent {
    attempts: u32,
    claimed_at: i64,
}

fn intent(disk: &Disk, id: PayerTransactionId) -> Option<Intent> {
    disk.look(|c| {
        let life = rows::life(c, rows::seq_of(c, id)?)?;
        let claimed = Scan::by(&evidence::evidence_by_payment)
            .at(&life.seq)
            .only(evidence::event, Test::is(&CLAIMED))
            .descending();
        let claimed_at = c.value(&claimed, evidence::at).expect("it can be read");
        Some(Intent {
            attempts: life.attempts,
            claimed_at: claimed_at.or_else(|| first_claim(c, life.seq)).unwrap_or(0),
        })
    })
}

fn is_of_first_batch(disk: &Disk, id: PayerTransactionId) -> bool {
    disk.look(|c| batch_of(c, id).is_some_and(|(_, batch)| batch.name == "b"))
}

/// A payment and its batch.
fn batch_of(c: &dyn Read, id: PayerTransactionId) -> Option<(Instruction, Batch)> {
    let row = rows::instruction(c, rows::seq_of(c, id)?);
    let batch = rows::batch(c, row.batch_id);
    Some((row, batch))
}

/// Earlier generations of a payment; how those stand that may yet be paid.
fn ancestors(
    disk: &Disk,
    id: PayerTransactionId,
) -> Vec<(PayerTransactionId, Option<&'static str>)> {
    disk.look(|c| {
        let mut found = Vec::new();
        let mut later = rows::seq_of(c, id);
        while let Some(seq) = later {
            let earlier = Scan::by(&life::predecessor).at(&seq);
            let earlier: Option<Life> = c.first(&earlier).expect("it can be read");
            later = earlier.as_ref().map(|earlier| earlier.seq);
            if let Some(earlier) = earlier {
                let id = rows::instruction(c, earlier.seq).identifier;
                let may_be_paid = rows::is_not_over(c, &earlier);
                found.push((id, may_be_paid.then(|| standing(earlier.state))));
            }
        }
        found
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
        if c.count(&Scan::of(&batch::TABLE)).expect("it can be read") == 1 {
            return Vec::new();
        }
        let Some(own) = rows::seq_of(c, id).map(|seq| rows::instruction(c, seq)) else {
            return Vec::new();
        };
        let since = own.received_at.as_millis() - window;
        let mut found = BTreeMap::new();
        let same = Scan::of(&instruction::TABLE).only(instruction::line, Test::is(&line));
        let same: Vec<Instruction> = c.list(&same).expect("they can be read");
        for other in same {
            if other.batch_id == own.batch_id {
                continue;
            }
            let life = rows::life(c, other.seq);
            let is_late = own.generation > 0 || other.received_at.as_millis() > since;
            let counts = life.as_ref().is_none_or(|life| {
                (life.state != State::Failed || is_late) && rows::is_not_over(c, life)
            });
            if counts {
                let state = life.map_or(State::Ready, |life| life.state);
                found
                    .entry(other.batch_id)
                    .or_insert((other.identifier, standing(state)));
            }
        }
        found.into_values().collect()
    })
}

/// The batch of a payment that is no retry.
fn batch_of_first(disk: &Disk, id: PayerTransactionId) -> Option<String> {
    disk.look(|c| {
        let (row, batch) = batch_of(c, id)?;
        (row.generation == 0).then_some(batch.name)
    })
}

/// How a payment stands that may be paid.
fn standing(state: State) -> &'static str {
    match state {
        State::Failed => "failed, which was taken back",
        state => state.name(),
    }
}

/// When a payment was claimed first, by the evidence that it shares with others: `"payments":"1-4 7"`.
fn first_claim(c: &dyn Read, seq: PaymentId) -> Option<i64> {
    let blocks = Scan::by(&evidence::evidence_by_payment)
        .at(&PaymentId::NONE)
        .only(evidence::event, Test::is(&CLAIMED_TOGETHER))
        .descending();
    let blocks: Vec<Block> = c.list(&blocks).expect("they can be read");
    let named = blocks.into_iter().find(|block| {
        let detail: serde_json::Value = serde_json::from_str(&block.detail).expect("it is JSON");
        let payments = detail["payments"].as_str().expect("a text");
        payments.split(' ').any(|run| {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            let number = |text: &str| text.parse::<i64>().expect("a number");
            (number(first)..=number(last)).contains(&seq.get())
        })
    });
    named.map(|block| block.at)
}

shape! {
    /// Intents that share a row of evidence.
    struct Block of evidence { at: i64, detail: String }
}

/// Kinds of evidence: an intent, and intents that share a row.
const CLAIMED: i64 = 0;
const CLAIMED_TOGETHER: i64 = 30;

impl Shape {
    pub(in crate::simulation) fn violation(&mut self, text: String) {
        self.note(|| format!("VIOLATION {text}"));
        self.violations.push(text);
    }

    /// Notes that a run lets a post go, which may have to wait for its connection.
    pub(in crate::simulation) fn let_go(
        &mut self,
        run: usize,
        count: usize,
        rate: usize,
        disk: &Disk,
    ) {
        if self.overtaken(run, disk).is_none() {
            let sent = Sent {
                at: self.now(),
                count,
                rate,
                account: self.runs[run].account,
            };
            self.sends.push(sent);
        }
    }

    /// Holds a post of a run against the invariants, at the moment it leaves.
    pub(in crate::simulation) fn depart(&mut self, run: usize, packets: &[Packet], disk: &Disk) {
        let now = self.now();
        let overtaken = self.overtaken(run, disk);
        let learns = if self.is_shared { LEASED_MS } else { LEARNT_MS };
        if let Some(late) = overtaken.and_then(|at| now.checked_sub(at + learns)) {
            self.violation(format!(
                "4: run {run} posts {} ms after another one took over",
                late + learns
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
            self.hold_against_destination(packet, disk);
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
        let clock = self.run_times().into_iter().max();
        let clock = clock.expect("a run has a clock");
        if let Some(early) = time.map(|at| at.since(clock))
            && !early.is_zero()
            && !self.may_run_otherwise()
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
        let since = overtaken.map(|at| match self.is_shared {
            true => self.server_at(at).as_millis() + CLOCKS_DIFFER_MS,
            false => self.wall_at(at).as_millis(),
        });
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
        if self.may_run_otherwise() {
            return;
        }
        let (id, times) = (packet.id, self.run_times());
        let now = times[times.len() / 2];
        let is_of_service = packet.line.saturating_sub(1).is_multiple_of(3);
        let is_closed = |closed: Closed| times.iter().all(|at| closed.at(*at));
        if is_of_service && self.closed.is_some_and(is_closed) {
            self.violation(format!(
                "30: {id} leaves at {now}, while its service is closed: {:?}",
                self.closed
            ));
        }
        let admits = |dates: &BatchDates| {
            times.iter().any(|now| {
                dates.not_before.is_none_or(|from| from <= *now)
                    && dates.not_after.is_none_or(|until| *now < until)
            })
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
        let not_found = before.denials(before.last_at + QUARANTINE_MS, !self.is_shared);
        if before.count > 0 && !before.not_done && not_found < 2 {
            self.violation(format!(
                "9: {id} leaves again {} ms after its last post, which is not proven unsent; not found {not_found} times",
                now - before.last_at
            ));
        }
        let age = before.denied_at.map_or(0, |at| now - at);
        let is_exposed = before.exposed || before.count > 0 && !before.not_done;
        // By a clock that was set nobody knows how long ago it was.
        if is_exposed && age > STALE_MS && !self.may_run_otherwise() {
            self.violation(format!(
                "9: {id} leaves again, and was not found last {age} ms ago"
            ));
        }
    }

    /// Takes in what an answer proves, as it comes to the program, and when it was asked for.
    pub(in crate::simulation) fn prove(
        &mut self,
        proofs: &[(PayerTransactionId, Proof)],
        asked: u64,
    ) {
        let now = self.now();
        for (id, proof) in proofs {
            let wire = &mut self.account(*id).wire;
            match proof {
                Proof::NotDone => wire.not_done = true,
                Proof::NotFound => {
                    wire.not_found.push((asked, now));
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
