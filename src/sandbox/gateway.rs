//! The running gateway: the books behind one lock, and what its operations share.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::agenda::{Agenda, Task};
use super::books::book::Book;
use super::books::event::{Event, Post};
use super::books::ledger::{Decision, Ledger, Pending};
use super::books::store::{Store, fresh_identity};
use super::books::tokens::Tokens;
use super::error::Error;
use super::faults::fault::Fault;
use super::faults::plan::{Draw, Plan};
use super::faults::tally::Tally;
use super::http::codes::{self, Refusal};
use super::options::{Options, Service};
use super::outbox::{Call, Outbox};
use super::rules::accounts::lacks_meter;
use crate::domain::{PaymentKind, Timestamp, WireZone};

/// How many uploads are in memory at once; further ones wait.
const UPLOADS_MAX: usize = 8;

/// What the gateway did about a valid post.
pub(super) struct Taken {
    /// The code of the reply.
    pub code: u16,
    /// The acceptance's number, or the earlier one's for a duplicate; 0 for none.
    pub number: u64,
    /// Whether it is to settle, and its callback to go out, before the reply.
    pub early: bool,
    /// What is wrong, where the code alone does not tell.
    pub why: Option<String>,
}

impl Taken {
    /// Nothing was taken.
    pub fn nothing(refusal: Refusal) -> Self {
        Self {
            code: refusal.code,
            number: 0,
            early: false,
            why: refusal.why,
        }
    }
}

/// The running gateway.
pub(super) struct Gateway {
    book: Mutex<Book>,
    pub plan: Plan,
    pub faulted: Tally,
    pub tokens: Tokens,
    pub uploads: Semaphore,
    pub agenda: Agenda,
    pub outbox: Outbox,
    pub options: Options,
    pub identity: String,
    zone: WireZone,
}

impl Gateway {
    /// Opens the books, and puts on the agenda what an earlier process left unfinished.
    pub fn open(options: Options) -> Result<Self, Error> {
        let plan = Plan::new(options.seed, options.faults.clone());
        let shortage = options.faults.float_shortage.as_ref();
        let mut ledger = Ledger::new(
            &options.services,
            options.duplicate_check,
            shortage.map(|shortage| (shortage.service.as_str(), shortage.after)),
        );
        let (store, identity) = match &options.ledger_file {
            Some(path) => {
                let (store, identity) = Store::open(path, |event| ledger.apply(event))?;
                (Some(store), identity)
            }
            None => (None, fresh_identity()),
        };
        let gateway = Self {
            book: Mutex::new(Book::new(ledger, store)),
            plan,
            faulted: Tally::default(),
            tokens: Tokens::default(),
            uploads: Semaphore::new(UPLOADS_MAX),
            agenda: Agenda::default(),
            outbox: Outbox::default(),
            zone: WireZone::from_name("Africa/Nairobi").expect("zone data is compiled in"),
            options,
            identity,
        };
        gateway.resume();
        Ok(gateway)
    }

    /// Locks the books. Never held over an await.
    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("no holder of the books panics")
    }

    /// Reads the wall clock.
    pub fn now(&self) -> Timestamp {
        (self.options.clock)()
    }

    /// Writes an instant as the wire does.
    pub fn date(&self, instant: Timestamp) -> String {
        self.zone.format(instant)
    }

    pub fn services(&self) -> &[Service] {
        &self.options.services
    }

    fn resume(&self) {
        let book = self.book();
        let unfinished = book.ledger.unfinished();
        for number in unfinished.pending {
            if let Some(pending) = book.ledger.pending(number) {
                self.schedule_settlement(number, &pending.post, pending.attempt);
            }
        }
        let now = Instant::now();
        for key in unfinished.deferred {
            self.agenda.add(now, Task::Judge(key));
        }
        for id in unfinished.callbacks {
            self.agenda.add(now, Task::Call { id, sent: 0 });
        }
        for service in unfinished.short {
            self.schedule_top_up(service);
        }
    }

    fn schedule_settlement(&self, number: u64, post: &Post, attempt: u32) {
        let range = match post.kind {
            PaymentKind::Rtgs => &self.options.rtgs_delay_ms,
            _ => &self.options.settle_delay_ms,
        };
        let delay = self.plan.within(range, Draw::Settle, &post.id, attempt);
        self.agenda.add(
            Instant::now() + Duration::from_millis(delay),
            Task::Settle(number),
        );
    }

    fn schedule_top_up(&self, service: usize) {
        let shortage = self.plan.faults.float_shortage.as_ref();
        let delay = shortage.map_or(0, |shortage| shortage.topped_up_after_ms);
        self.agenda.add(
            Instant::now() + Duration::from_millis(delay),
            Task::TopUp(service),
        );
    }

    /// Accepts or refuses a valid post that arrived just now.
    pub fn take(&self, book: &mut Book, post: Post, attempt: u32) -> Result<Taken, Error> {
        let (id, digest) = (post.id.clone(), post.digest);
        let refused = |code| Event::Refused {
            id: id.clone(),
            digest,
            code,
            why: None,
        };
        let decision = book.ledger.decide(&post);
        let refuses = self.plan.outcome(&id, attempt) == Some(Fault::Refuse);
        match decision {
            Decision::Duplicate => self.duplicate(book, &id, digest),
            _ if refuses => {
                let codes = [106, 110, 120];
                let bits = self.plan.bits(Draw::RefusalCode, &id, attempt);
                let code = codes[usize::try_from(bits % 3).unwrap_or(0)];
                self.faulted.count(Fault::Refuse);
                book.record(refused(code))?;
                Ok(Taken::nothing(code.into()))
            }
            Decision::NoFloat { begins } => {
                if let Some(service) = begins {
                    book.record(Event::ShortOfFloat { service })?;
                    self.schedule_top_up(service);
                }
                book.record(refused(230))?;
                Ok(Taken::nothing(230.into()))
            }
            Decision::Accept => {
                let early = post.callback.is_some()
                    && self.plan.callback(&id, attempt) == Some(Fault::CallbackEarly);
                let number = book.ledger.next_number();
                let post = Arc::new(post);
                // What has to be settled between banks is delivered, not just posted (section 3).
                let code = match post.kind {
                    PaymentKind::Rtgs => 148,
                    _ => 139,
                };
                book.record(Event::accepted(number, attempt, self.now(), post.clone()))?;
                if early {
                    self.faulted.count(Fault::CallbackEarly);
                } else {
                    self.schedule_settlement(number, &post, attempt);
                }
                Ok(Taken {
                    code,
                    number,
                    early,
                    why: None,
                })
            }
        }
    }

    /// Refuses a post of an identifier that was accepted before.
    pub fn duplicate(&self, book: &mut Book, id: &Arc<str>, digest: u64) -> Result<Taken, Error> {
        book.record(Event::Ignored {
            id: id.clone(),
            digest,
        })?;
        let status = book.ledger.status(id);
        Ok(Taken {
            code: 229,
            number: status
                .and_then(|status| status.acceptance)
                .map_or(0, |acceptance| acceptance.number),
            early: false,
            why: None,
        })
    }

    /// Judges a post that was put aside; nobody waits for a reply any more.
    fn judge_late(&self, book: &mut Book, key: u64) -> Result<(), Error> {
        let Some(Pending { post, attempt }) = book.ledger.deferred(key).cloned() else {
            return Ok(());
        };
        if book.ledger.decide(&post) != Decision::Accept {
            return book.record(Event::Lapsed { key });
        }
        let number = book.ledger.next_number();
        book.record(Event::Accepted {
            number,
            attempt,
            at_ms: self.now().as_millis(),
            post: post.clone(),
            deferred: Some(key),
        })?;
        self.schedule_settlement(number, &post, attempt);
        Ok(())
    }

    /// Brings an accepted payment to its end; returns the callback to send, and how late.
    pub fn settle(&self, book: &mut Book, number: u64) -> Result<Option<(Call, u64)>, Error> {
        let Some(pending) = book.ledger.pending(number) else {
            return Ok(None);
        };
        let (id, attempt) = (pending.post.id.clone(), pending.attempt);
        let asked = pending.post.callback.is_some();
        let fault = self.plan.callback(&id, attempt).filter(|_| asked);
        let callback = asked && fault != Some(Fault::CallbackLost);
        let rejects = self.plan.outcome(&id, attempt) == Some(Fault::Reject);
        let paid = !rejects && !lacks_meter(&pending.post);
        book.record(Event::Settled {
            number,
            paid,
            callback,
        })?;
        if rejects {
            self.faulted.count(Fault::Reject);
        }
        if let Some(fault @ (Fault::CallbackLost | Fault::CallbackLate)) = fault {
            self.faulted.count(fault);
        }
        let late_ms = if fault == Some(Fault::CallbackLate) {
            let range = &self.plan.faults.callback_late_ms;
            self.plan.within(range, Draw::CallbackLate, &id, attempt)
        } else {
            0
        };
        Ok(callback.then_some((Call::nth(id, 0), late_ms)))
    }

    /// Does what has fallen due.
    pub fn perform(&self, tasks: &mut Vec<Task>) {
        let now = Instant::now();
        let mut calls = Vec::new();
        let mut book = self.book();
        for task in tasks.drain(..) {
            let done = match task {
                Task::Settle(number) => self.settle(&mut book, number).map(|call| match call {
                    Some((call, 0)) => calls.push(call),
                    Some((call, late_ms)) => {
                        let due = now + Duration::from_millis(late_ms);
                        let (id, sent) = (call.id, call.sent);
                        self.agenda.add(due, Task::Call { id, sent });
                    }
                    None => {}
                }),
                Task::Judge(key) => self.judge_late(&mut book, key),
                Task::TopUp(service) => book.record(Event::ToppedUp { service }),
                Task::Call { id, sent } => {
                    calls.push(Call::nth(id, sent));
                    Ok(())
                }
                Task::Repeat(id) => {
                    calls.push(Call {
                        repeat: true,
                        ..Call::nth(id, 0)
                    });
                    Ok(())
                }
            };
            if let Err(error) = done {
                // The file cannot be written: nothing more happens, and posts are answered with errors.
                tracing::error!(%error, "the sandbox cannot keep its ledger");
            }
        }
        drop(book);
        self.outbox.push(calls);
    }

    /// Tops a service's float up by what it held at first.
    pub fn top_up(&self, service: &str) -> Result<(), Error> {
        let mut book = self.book();
        let service = book
            .ledger
            .service(service)
            .ok_or_else(|| Error::UnknownService(service.to_owned()))?;
        book.record(Event::ToppedUp { service })
    }

    /// The application id that a transfer has with the bank.
    pub fn application(&self, id: &str, number: u64) -> String {
        let number = u32::try_from(number % u64::from(u32::MAX)).unwrap_or(0);
        let bits = self.plan.bits(Draw::Application, id, number);
        format!("APP{:010}", bits % 10_000_000_000)
    }

    /// The token of a prepaid meter: twenty digits in groups of four.
    pub fn prepaid_token(&self, id: &str) -> String {
        let group = |index| self.plan.bits(Draw::PrepaidToken, id, index) % 10_000;
        let groups: Vec<_> = (0..5).map(|index| format!("{:04}", group(index))).collect();
        groups.join(" ")
    }

    /// The receipt number of an acceptance.
    pub fn receipt(&self, id: &str, number: u64) -> String {
        let number = u32::try_from(number % u64::from(u32::MAX)).unwrap_or(0);
        codes::receipt(self.plan.bits(Draw::Receipt, id, number))
    }
}
