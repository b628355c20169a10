//! How the simulated gateway answers, and what it does with the money.

use tokio::sync::oneshot;

use super::packet::{Answer, Packet, Proof};
use super::world::{Shape, SimEvent};
use crate::domain::PayerTransactionId;
use crate::simulation::operator::accounts::owner;

const ERRORS: [u16; 4] = [500, 502, 503, 504];
const LOCKED_OUT: &[u8] =
    br#"{"authStatus":{"authStatusCode":132,"authStatusDescription":""},"results":[]}"#;
const REFUSALS: [i32; 4] = [106, 110, 120, 231];
/// What a server error says of payments of which it knows nothing.
const LIES: [i32; 2] = [141, 140];

fn envelope(entries: &[String]) -> Vec<u8> {
    format!(
        r#"{{"authStatus":{{"authStatusCode":131,"authStatusDescription":""}},"results":[{}]}}"#,
        entries.join(",")
    )
    .into_bytes()
}

pub(in crate::simulation) fn entry(id: &str, code: i32, number: u64) -> String {
    // What it does not find has no number.
    let number = if code == 143 { 0 } else { number };
    format!(
        r#"{{"statusCode":{code},"statusDescription":"","payerTransactionID":"{id}","gatewayTransactionID":{number}}}"#
    )
}

/// An entry with further members.
fn with(entry: &str, members: &str) -> String {
    format!("{},{members}}}", entry.trim_end_matches('}'))
}

/// Bodies that come to one address; more than an address may fill by itself.
const JUNK: u32 = 70;
/// What stands in an entry about another payment.
const OTHER: &str = r#""amount":"90,000.00","currencyCode":"KES""#;

impl Shape {
    fn back(&mut self, reply: oneshot::Sender<Answer>, answer: Answer) {
        let delay = self.delay(|f| f.network_ms);
        let answer = self.speech.said(answer);
        self.plan(delay, SimEvent::Reply(reply, answer));
    }

    /// A server error, with entries where somebody reads them.
    fn error(&mut self, entries: &[String], reply: oneshot::Sender<Answer>) {
        let status = ERRORS[self.rng.usize(0..ERRORS.len())];
        let body = match self.speech.reads_server_errors() && !entries.is_empty() {
            true => envelope(entries),
            false => b"<html>".to_vec(),
        };
        self.back(reply, Answer::nothing(status, body));
    }

    /// Nobody is let in.
    fn lock_out(&mut self, ids: Vec<PayerTransactionId>, reply: oneshot::Sender<Answer>) {
        self.note(|| "not let in".into());
        let proofs = ids.into_iter().map(|id| (id, Proof::NotDone)).collect();
        self.back(reply, Answer::Body(200, LOCKED_OUT.to_vec(), proofs));
    }

    pub(in crate::simulation) fn take_post(
        &mut self,
        packets: &[Packet],
        reply: oneshot::Sender<Answer>,
    ) {
        if self.chance(|f| f.error_before) {
            self.note(|| "post met a server error, nothing done".into());
            return self.error(&[], reply);
        }
        if self.chance(|f| f.locked_out) {
            let ids = packets.iter().map(|packet| packet.id).collect();
            return self.lock_out(ids, reply);
        }
        if self.chance(|f| f.throttled) {
            return self.back(reply, Answer::nothing(429, Vec::new()));
        }
        if self.chance(|f| f.late_execution) {
            let delay = self.delay(|f| f.late_ms);
            self.note(|| format!("post put aside for {delay} ms"));
            self.plan(delay, SimEvent::Late(packets.to_vec()));
            return self.back(reply, Answer::nothing(504, b"<html>".to_vec()));
        }
        let (mut entries, mut proofs) = (Vec::new(), Vec::new());
        for packet in packets {
            let code = self.accept(packet);
            let number = self
                .ledger
                .get(&packet.id)
                .map_or(0, |account| account.number);
            self.note(|| format!("post {} {code}", packet.id));
            if self.chance(|f| f.missing_entry) {
                continue;
            }
            let told = if self.chance(|f| f.vague) { 104 } else { code };
            if let Some(lie) = self.other_words(packet.id, number) {
                entries.push(lie);
                continue;
            }
            let entry = self.tell(packet.id, told, number);
            entries.push(self.named(packet.id, entry));
            if told == 230 {
                proofs.push((packet.id, Proof::NotDone));
            }
            if self.chance(|f| f.doubled_entry) {
                entries.push(self.tell(packet.id, 110, number));
            }
        }
        if self.chance(|f| f.foreign_entry) {
            entries.push(entry("00000000000000000000000000", 140, 1));
        }
        self.rng.shuffle(&mut entries);
        if self.chance(|f| f.lost_reply) {
            self.note(|| "its reply is lost".into());
            // Cut off at once, or silent until the other side gives up.
            if self.rng.bool() {
                self.back(reply, Answer::HangUp);
            } else {
                self.plan(3_600_000, SimEvent::Reply(reply, Answer::HangUp));
            }
            return;
        }
        if self.chance(|f| f.error_after) {
            return self.error(&entries, reply);
        }
        let mut body = envelope(&entries);
        if self.chance(|f| f.garbled) {
            body.truncate(body.len() / 2);
        }
        self.back(reply, Answer::Body(200, body, proofs));
    }

    /// An entry that is about another payment, now and then. It is not told of this one.
    pub(in crate::simulation) fn other_words(
        &mut self,
        id: PayerTransactionId,
        number: u64,
    ) -> Option<String> {
        self.chance(|f| f.other_words)
            .then(|| self.about_another(id, number))
    }

    /// An entry about another payment.
    pub(in crate::simulation) fn about_another(
        &mut self,
        id: PayerTransactionId,
        number: u64,
    ) -> String {
        let code = [139, 140, 141, 143, 148, 180, 183, 231][self.rng.usize(0..8)];
        self.note(|| format!("words about another payment: {id} {code}"));
        with(&entry(id.as_str(), code, number), OTHER)
    }

    /// Adds amount and number, now and then, in one of the ways in which they are written.
    pub(in crate::simulation) fn named(&mut self, id: PayerTransactionId, entry: String) -> String {
        if !self.chance(|f| f.named) {
            return entry;
        }
        if self.account(id).taken {
            return entry;
        }
        let account = self.account(id);
        let (to, shillings) = (account.to.clone(), account.minor / 100);
        let Some(short) = to.strip_prefix("254") else {
            return entry;
        };
        let last = &to[to.len() - 4..];
        let members = match self.rng.u32(0..4) {
            0 => format!(r#""amount":{shillings},"MSISDN":"{to}""#),
            1 => format!(r#""amount":"{shillings}.00","MSISDN":"0{short}""#),
            2 => format!(r#""amount":"KES {shillings}.000","accountNumber":{short}"#),
            _ => format!(r#""amount":"***","MSISDN":"2547****{last}","currencyCode":"""#),
        };
        with(&entry, &members)
    }

    /// An entry, and that it was told.
    pub(in crate::simulation) fn tell(
        &mut self,
        id: PayerTransactionId,
        code: i32,
        number: u64,
    ) -> String {
        let told = match code {
            143 => self.speech.not_found_code(),
            code => code,
        };
        self.account(id).told.extend([code, told]);
        entry(id.as_str(), code, number)
    }

    /// Takes one payment, or not; returns the code of the reply.
    pub(in crate::simulation) fn accept(&mut self, packet: &Packet) -> i32 {
        let now = self.now();
        if self.is_elsewhere(packet.user, packet.id) {
            return self.pay_elsewhere(packet);
        }
        self.meet(packet.user, packet.id);
        let account = self.account(packet.id);
        if account.accepted_at.is_some() && self.faults.duplicate_check {
            self.account(packet.id).hidden = false;
            return if self.faults.rejects_repeats {
                141
            } else {
                229
            };
        }
        let account = self.account(packet.id);
        // One that was refused for good stays so.
        if let Some(code) = account.refused {
            return code;
        }
        let first = account.accepted_at.is_none();
        if first && self.chance(|f| f.refusal) {
            let code = REFUSALS[self.rng.usize(0..REFUSALS.len())];
            let account = self.account(packet.id);
            account.refused = Some(code);
            account.owner = Some(owner(packet.user));
            account.callback = packet.callback;
            self.may_recant(packet.id, |f| f.broken_no);
            self.may_waver(packet.id);
            return code;
        }
        if self.is_dry() && packet.service.ends_with("A") {
            return 230;
        }
        let delivered = self.chance(|f| f.delivered);
        let immediate = self.chance(|f| f.immediate);
        // A retry that it denies for good, whose predecessor it pays after all, nobody could tell from one that never came.
        let may_hide = self.faults.duplicate_check && self.faults.broken_no == 0;
        let hidden = may_hide && self.chance(|f| f.hidden);
        let number = self.rng.u64(1..1 << 60);
        let account = self.account(packet.id);
        account.hidden = hidden;
        account.owner = Some(owner(packet.user));
        account.accepted_at = Some(now);
        account.number = number;
        account.callback = packet.callback;
        account.delivered = delivered;
        if immediate {
            self.settle(packet.id);
            return self.ledger[&packet.id].end.unwrap_or(139);
        }
        if self.chance(|f| f.callback_early) {
            self.settle(packet.id);
        } else {
            let delay = self.delay(|f| f.settle_ms);
            self.plan(delay, SimEvent::Settle(packet.id));
        }
        if delivered { 148 } else { 139 }
    }

    /// Whether the float of service A has run dry.
    pub(in crate::simulation) fn is_dry(&self) -> bool {
        let now = self.now();
        let gap = self.faults.float_gap;
        gap.is_some_and(|(from, until)| (from..until).contains(&now))
    }

    /// Whether this payment has been denied once before; from now on it has.
    fn has_lied(&mut self, id: PayerTransactionId) -> bool {
        std::mem::replace(&mut self.account(id).denied, true)
    }

    pub(in crate::simulation) fn settle(&mut self, id: PayerTransactionId) {
        let fails = self.chance(|f| f.failure);
        let code = match (fails, self.rng.bool()) {
            (true, true) => 141,
            (true, false) => 180,
            (false, true) => 140,
            (false, false) => 183,
        };
        if fails {
            self.may_waver(id);
        }
        let account = self.account(id);
        if !fails {
            account.executions += 1;
        }
        account.end = Some(code);
        self.note(|| format!("settled {id} {code}"));
        self.may_recant(
            id,
            if fails {
                |f| f.broken_no
            } else {
                |f| f.broken_yes
            },
        );
        self.call_back(id, code);
    }

    /// Sends a callback, unless it comes to nothing.
    pub(in crate::simulation) fn call_back(&mut self, id: PayerTransactionId, code: i32) {
        if !self.account(id).callback || self.chance(|f| f.callback_lost) {
            return;
        }
        let delay = self.delay(|f| f.network_ms);
        if self.chance(|f| f.junk) {
            self.plan(0, SimEvent::Junk(id, JUNK));
        }
        self.plan(delay, SimEvent::Push(id, code, 0));
        if self.chance(|f| f.callback_doubled) {
            let delay = self.delay(|f| f.settle_ms);
            self.plan(delay, SimEvent::Push(id, code, 0));
        }
    }

    pub(in crate::simulation) fn take_query(
        &mut self,
        user: &'static str,
        ids: &[PayerTransactionId],
        reply: oneshot::Sender<Answer>,
    ) {
        if self.chance(|f| f.query_error) {
            if self.rng.bool() {
                // Whatever it says of an end, it is none.
                let lie = |id: &PayerTransactionId| entry(id.as_str(), LIES[ids.len() % 2], 1);
                let lies: Vec<_> = ids.iter().map(lie).collect();
                return self.error(&lies, reply);
            }
            return self.back(reply, Answer::HangUp);
        }
        if self.chance(|f| f.locked_out) {
            return self.lock_out(Vec::new(), reply);
        }
        // Where no reply says who was let in, none is without it.
        if self.chance(|f| f.query_stripped) && self.speech.tells_who() {
            let entries: Vec<_> = ids.iter().map(|id| entry(id.as_str(), 180, 1)).collect();
            let body = format!(r#"{{"results":[{}]}}"#, entries.join(","));
            return self.back(reply, Answer::nothing(200, body.into_bytes()));
        }
        let now = self.now();
        // After its bad days it shows all that it has.
        let hides = self.faults.hidden > 0;
        let (mut entries, mut proofs) = (Vec::new(), Vec::new());
        for id in ids {
            if self.chance(|f| f.missing_entry) {
                continue;
            }
            if self.is_elsewhere(user, *id) {
                if self.chance(|f| f.stranger) {
                    // It has a payment of its own under the identifier.
                    entries.push(self.other_word(*id));
                    continue;
                }
                // That proves nothing of what the other account has.
                self.note(|| format!("status {id} 143, asked by {user}"));
                entries.push(self.tell(*id, 143, 0));
                continue;
            }
            self.meet(user, *id);
            if self.account(*id).taken && self.account(*id).names_itself {
                entries.push(self.other_word(*id));
                continue;
            }
            let vague = self.chance(|f| f.query_vague);
            let lies = self.chance(|f| f.query_lie) && !self.has_lied(*id);
            let account = self.ledger.get(id).cloned().unwrap_or_default();
            let found = account
                .accepted_at
                .is_some_and(|at| now >= at + self.faults.index_lag_ms)
                && !(hides && account.hidden);
            let code = match (account.end, account.refused) {
                // Words that do not count are said of whatever there is.
                _ if vague && self.speech.denies_in_vain() => 143,
                _ if vague => 104,
                (_, Some(code))
                    if account.accepted_at.is_none() && self.faults.remembers_refusals =>
                {
                    code
                }
                _ if !found || lies => 143,
                (Some(code), _) => code,
                (None, _) if account.delivered => 148,
                (None, _) => 139,
            };
            self.note(|| format!("status {id} {code}"));
            if let Some(lie) = self.other_words(*id, account.number) {
                entries.push(lie);
                continue;
            }
            let entry = self.tell(*id, code, account.number);
            entries.push(self.named(*id, entry));
            if code == 143 && !vague {
                proofs.push((*id, Proof::NotFound));
            }
        }
        self.rng.shuffle(&mut entries);
        self.back(reply, Answer::Body(200, envelope(&entries), proofs));
    }
}
