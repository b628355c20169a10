//! The gateway's books. Pure: no clock, no randomness, no I/O.
//!
//! [`Ledger::decide`] judges, [`Ledger::apply`] alone changes; a ledger is what its events add up to.
//! Every execution of every identifier is counted, which makes it the oracle of tests.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::account::Account;
use super::documents::Documents;
use super::event::{Event, Post};
use super::verdict::{Execution, FloatAccount, Standing, Verdict};
use crate::domain::{Money, PaymentKind, Timestamp, Totals};
use crate::sandbox::options::Service;

/// How many identifiers a ledger holds at most.
pub(in crate::sandbox) const IDENTIFIERS_MAX: usize = 10_000_000;

/// How many of the latest acceptances are remembered in their order.
const RECENT_MAX: usize = 25;

/// What the books say about a valid post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Decision {
    /// There is float for it.
    Accept,
    /// The identifier was accepted before (229).
    Duplicate,
    /// There is no float for it (230); `begins` when this is the start of a planned shortage of the service.
    NoFloat { begins: Option<usize> },
}

/// An accepted payment that has not settled, or a post put aside, with the number of its post.
#[derive(Clone)]
pub(in crate::sandbox) struct Pending {
    pub post: Arc<Post>,
    pub attempt: u32,
}

/// Whether an identifier's callback is owed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callback {
    None,
    Owed,
    Over,
}

/// What is known of one identifier.
struct Record {
    posts: u32,
    digest: u64,
    altered: bool,
    standing: Standing,
    /// Why it was refused, where the code alone does not tell.
    why: Option<Box<str>>,
    executions: u32,
    pending: u32,
    callback: Callback,
    acceptance: Option<Acceptance>,
}

/// The latest acceptance of an identifier.
#[derive(Clone)]
pub(in crate::sandbox) struct Acceptance {
    pub number: u64,
    pub attempt: u32,
    pub at: Timestamp,
    pub post: Arc<Post>,
}

/// What a status query learns.
pub(in crate::sandbox) struct Status {
    pub standing: Standing,
    pub why: Option<Box<str>>,
    pub acceptance: Option<Acceptance>,
}

/// The books.
pub(in crate::sandbox) struct Ledger {
    accounts: Vec<Account>,
    records: FxHashMap<Arc<str>, Record>,
    pending: FxHashMap<u64, Pending>,
    deferred: FxHashMap<u64, Pending>,
    recent: VecDeque<Arc<str>>,
    pub documents: Documents,
    moved: Totals,
    next_number: u64,
    next_key: u64,
    duplicate_check: bool,
    /// Index of the account that runs short once, and after how many accepted payments.
    shortage: Option<(usize, u64)>,
}

impl Ledger {
    pub fn new(services: &[Service], duplicate_check: bool, shortage: Option<(&str, u64)>) -> Self {
        let accounts = services.iter().map(Account::new);
        let shortage = shortage.and_then(|(code, after)| {
            let index = services.iter().position(|service| service.code == code)?;
            Some((index, after))
        });
        Self {
            accounts: accounts.collect(),
            records: FxHashMap::default(),
            pending: FxHashMap::default(),
            deferred: FxHashMap::default(),
            recent: VecDeque::new(),
            documents: Documents::default(),
            moved: Totals::default(),
            next_number: 1,
            next_key: 1,
            duplicate_check,
            shortage,
        }
    }

    pub fn is_full(&self) -> bool {
        self.records.len() >= IDENTIFIERS_MAX
    }

    /// How often the identifier was posted.
    pub fn posts(&self, id: &str) -> u32 {
        self.records.get(id).map_or(0, |record| record.posts)
    }

    /// Returns whether a post of this identifier is a duplicate.
    pub fn holds(&self, id: &str) -> bool {
        self.duplicate_check
            && self
                .records
                .get(id)
                .is_some_and(|record| record.acceptance.is_some())
    }

    /// Judges a valid post.
    pub fn decide(&self, post: &Post) -> Decision {
        if self.holds(&post.id) {
            return Decision::Duplicate;
        }
        let Some(index) = self.account(&post.service) else {
            return Decision::NoFloat { begins: None };
        };
        let account = &self.accounts[index];
        let runs_out = !account.was_short
            && self
                .shortage
                .is_some_and(|(short, after)| short == index && account.accepted >= after);
        let amount = i128::from(post.money.amount.minor());
        if runs_out {
            Decision::NoFloat {
                begins: Some(index),
            }
        } else if account.covers(amount) {
            Decision::Accept
        } else {
            Decision::NoFloat { begins: None }
        }
    }

    /// The number of the next acceptance.
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// The key of the next post put aside.
    pub fn next_key(&self) -> u64 {
        self.next_key
    }

    pub fn pending(&self, number: u64) -> Option<&Pending> {
        self.pending.get(&number)
    }

    pub fn deferred(&self, key: u64) -> Option<&Pending> {
        self.deferred.get(&key)
    }

    /// Answers a status query.
    pub fn status(&self, id: &str) -> Option<Status> {
        let record = self.records.get(id)?;
        Some(Status {
            standing: record.standing,
            why: record.why.clone(),
            acceptance: record.acceptance.clone(),
        })
    }

    /// The latest acceptances, the newest first.
    pub fn recent(&self) -> impl Iterator<Item = (&Arc<str>, Status)> {
        self.recent
            .iter()
            .rev()
            .filter_map(|id| Some((id, self.status(id)?)))
    }

    /// Transfers that are with the bank, in the order of their acceptance; so many at most.
    pub fn delivered(&self, most: usize) -> Vec<(u64, Arc<Post>)> {
        let mut transfers: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, pending)| pending.post.kind == PaymentKind::Rtgs)
            .map(|(number, pending)| (*number, pending.post.clone()))
            .collect();
        transfers.sort_unstable_by_key(|(number, _)| *number);
        transfers.truncate(most);
        transfers
    }

    /// Returns whether the identifier's callback is still owed.
    pub fn owes_callback(&self, id: &str) -> bool {
        self.records
            .get(id)
            .is_some_and(|record| record.callback == Callback::Owed)
    }

    /// Changes the books. An event about something unknown changes nothing.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::Ignored { id, digest } => {
                self.posted(&id, digest);
            }
            Event::Refused {
                id,
                digest,
                code,
                why,
            } => {
                let record = self.posted(&id, digest);
                if record.acceptance.is_none() {
                    record.standing = Standing::Refused(code);
                    record.why = why;
                }
            }
            Event::Deferred { key, attempt, post } => {
                self.posted(&post.id, post.digest);
                self.deferred.insert(key, Pending { post, attempt });
                self.next_key = self.next_key.max(key + 1);
            }
            Event::Lapsed { key } => {
                self.deferred.remove(&key);
            }
            Event::Accepted {
                number,
                attempt,
                at_ms,
                post,
                deferred,
            } => {
                // A post put aside was counted when it arrived.
                if deferred
                    .and_then(|key| self.deferred.remove(&key))
                    .is_none()
                {
                    self.posted(&post.id, post.digest);
                }
                let at = Timestamp::from_millis(at_ms);
                self.accept(number, attempt, at, post);
            }
            Event::Settled {
                number,
                paid,
                callback,
            } => self.settle(number, paid, callback),
            Event::Called { id } => {
                if let Some(record) = self.records.get_mut(&id) {
                    record.callback = Callback::Over;
                }
            }
            Event::ShortOfFloat { service } => {
                if let Some(account) = self.accounts.get_mut(service) {
                    account.short = true;
                    account.was_short = true;
                }
            }
            Event::ToppedUp { service } => {
                if let Some(account) = self.accounts.get_mut(service) {
                    account.add_float(account.service.float);
                }
            }
            Event::FloatAdded { service, minor } => {
                if let Some(index) = self.account(&service) {
                    self.accounts[index].add_float(minor);
                }
            }
            Event::Uploaded { id, document } => self.documents.keep(id, document),
        }
    }

    fn posted(&mut self, id: &Arc<str>, digest: u64) -> &mut Record {
        let record = self.records.entry(id.clone()).or_insert(Record {
            posts: 0,
            digest,
            altered: false,
            standing: Standing::Unknown,
            why: None,
            executions: 0,
            pending: 0,
            callback: Callback::None,
            acceptance: None,
        });
        record.posts += 1;
        record.altered |= record.digest != digest;
        record
    }

    fn accept(&mut self, number: u64, attempt: u32, at: Timestamp, post: Arc<Post>) {
        if let Some(account) = self.account(&post.service) {
            let account = &mut self.accounts[account];
            account.accepted += 1;
            account.reserved += i128::from(post.money.amount.minor());
        }
        if let Some(record) = self.records.get_mut(&post.id) {
            record.standing = under_way(post.kind);
            record.why = None;
            record.pending += 1;
            record.acceptance = Some(Acceptance {
                number,
                attempt,
                at,
                post: post.clone(),
            });
        }
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(post.id.clone());
        self.pending.insert(number, Pending { post, attempt });
        self.next_number = self.next_number.max(number + 1);
    }

    fn settle(&mut self, number: u64, paid: bool, callback: bool) {
        let Some(Pending { post, .. }) = self.pending.remove(&number) else {
            return;
        };
        if let Some(account) = self.account(&post.service) {
            let amount = i128::from(post.money.amount.minor());
            let account = &mut self.accounts[account];
            account.reserved -= amount;
            account.balance -= if paid { amount } else { 0 };
        }
        if paid {
            self.moved.add(post.money);
        }
        if let Some(record) = self.records.get_mut(&post.id) {
            record.pending -= 1;
            record.executions += u32::from(paid);
            record.standing = if record.executions > 0 {
                Standing::Paid
            } else {
                Standing::Failed(failure(post.kind))
            };
            if callback {
                record.callback = Callback::Owed;
            }
        }
    }

    fn account(&self, code: &str) -> Option<usize> {
        self.accounts
            .iter()
            .position(|account| account.service.code == code)
    }

    /// Finds a float account by its service's code.
    pub fn service(&self, code: &str) -> Option<usize> {
        self.account(code)
    }

    /// What a restarted gateway still has to do, in the order in which it was begun.
    pub fn unfinished(&self) -> Unfinished {
        let sorted = |mut numbers: Vec<u64>| {
            numbers.sort_unstable();
            numbers
        };
        let mut callbacks: Vec<_> = self
            .records
            .iter()
            .filter(|(_, record)| record.callback == Callback::Owed)
            .map(|(id, _)| id.clone())
            .collect();
        callbacks.sort_unstable();
        let short = |(index, account): (usize, &Account)| account.short.then_some(index);
        Unfinished {
            pending: sorted(self.pending.keys().copied().collect()),
            deferred: sorted(self.deferred.keys().copied().collect()),
            callbacks,
            short: self.accounts.iter().enumerate().filter_map(short).collect(),
        }
    }

    /// Sums up.
    pub fn verdict(&self) -> Verdict {
        let mut verdict = Verdict {
            amounts: self.moved.clone(),
            ..Verdict::default()
        };
        for record in self.records.values() {
            match (record.executions, record.pending) {
                (0, 0) => verdict.never_executed += 1,
                (0, _) => verdict.pending += 1,
                (1, _) => verdict.executed_once += 1,
                _ => verdict.executed_more += 1,
            }
            verdict.altered += u64::from(record.altered);
            verdict.posts += u64::from(record.posts);
        }
        verdict
    }

    /// Every identifier that was ever posted, in alphabetical order.
    pub fn executions(&self) -> Vec<Execution> {
        let mut rows: Vec<_> = self
            .records
            .iter()
            .map(|(id, record)| Execution {
                id: id.clone(),
                service: record.acceptance.as_ref().map(|a| a.post.service.clone()),
                money: record.money(),
                executions: record.executions,
                posts: record.posts,
                altered: record.altered,
                standing: record.standing,
            })
            .collect();
        rows.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        rows
    }

    /// The float accounts in the order of the options.
    pub fn floats(&self) -> Vec<FloatAccount> {
        self.accounts.iter().map(Account::shown).collect()
    }
}

/// How an accepted payment stands until it settles (section 3).
fn under_way(kind: PaymentKind) -> Standing {
    match kind {
        PaymentKind::Rtgs => Standing::Delivered,
        _ => Standing::Pending,
    }
}

/// The code of a payment that came to nothing: transfers and vending fail, payouts are rejected.
fn failure(kind: PaymentKind) -> u16 {
    match kind {
        PaymentKind::Rtgs | PaymentKind::BillPrepaid => 180,
        _ => 141,
    }
}

impl Record {
    fn money(&self) -> Option<Money> {
        self.acceptance.as_ref().map(|a| a.post.money)
    }
}

/// What a restarted gateway still has to do.
pub(in crate::sandbox) struct Unfinished {
    pub pending: Vec<u64>,
    pub deferred: Vec<u64>,
    pub callbacks: Vec<Arc<str>>,
    pub short: Vec<usize>,
}
