//! What the hostile gateway has done: the oracle. It counts executions per identifier and per row, and forgets nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// One payment as the gateway knows it.
#[derive(Clone, Debug, Default)]
pub struct Deal {
    /// `invoiceNumber`: the rows of these tests carry their reference there.
    pub reference: String,
    /// Posts that arrived whole.
    pub posts: u32,
    /// Status queries that arrived.
    pub queries: u32,
    /// Times that money moved.
    pub executions: u32,
    /// When the deal becomes visible to status queries.
    pub visible_at: Option<Instant>,
    /// When its final code is known; pending before.
    pub settled_at: Option<Instant>,
    /// Its final code, once it has one.
    pub code: i32,
    /// The gateway has lied about it with definite words: a conflict is allowed.
    pub contradicted: bool,
    /// The packet's text without the callback address.
    pub text: String,
    /// The callback address of the last post.
    pub callback_url: Option<String>,
    /// Final callbacks that were acknowledged.
    pub acknowledged: Vec<i32>,
}

impl Deal {
    /// Returns what an honest status reply says now.
    pub fn status(&self, now: Instant) -> i32 {
        match (self.visible_at, self.settled_at) {
            (Some(visible), _) if now < visible => 143,
            (Some(_), Some(settled)) if now >= settled => self.code,
            (Some(_), _) => 139,
            (None, _) => 143,
        }
    }
}

#[derive(Debug, Default)]
pub struct Books {
    /// By identifier.
    pub deals: BTreeMap<String, Deal>,
    /// When each payment of each post arrived.
    pub arrivals: Vec<Instant>,
    /// Whatever an honest client never does.
    pub offences: Vec<String>,
    /// Replies to callbacks, by status.
    pub callback_replies: BTreeMap<u16, u32>,
}

/// The books, shared by every connection.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Books>);

impl Ledger {
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap()
    }

    pub fn offend(&self, what: String) {
        self.books().offences.push(what);
    }

    pub fn posts(&self) -> u32 {
        self.books().deals.values().map(|deal| deal.posts).sum()
    }

    pub fn executions(&self) -> u32 {
        self.books()
            .deals
            .values()
            .map(|deal| deal.executions)
            .sum()
    }
}

impl Books {
    /// Takes in a post; returns the number of this one and whether it was executed before.
    pub fn post(&mut self, id: &str, reference: &str, text: &str, url: Option<String>) -> u32 {
        self.arrivals.push(Instant::now());
        let deal = self.deals.entry(id.to_owned()).or_default();
        deal.posts += 1;
        if deal.posts == 1 {
            reference.clone_into(&mut deal.reference);
            text.clone_into(&mut deal.text);
        } else if deal.text != text {
            self.offences
                .push(format!("other bytes for {id}:\n  {}\n  {text}", deal.text));
        }
        deal.callback_url = url.or(deal.callback_url.take());
        deal.posts
    }

    /// Returns everything that must never be, whatever the client was told; `retried`: somebody has ordered failed rows anew.
    pub fn crimes(&self, retried: bool) -> Vec<String> {
        let mut crimes = self.offences.clone();
        let mut rows: BTreeMap<&str, Vec<(&str, u32)>> = BTreeMap::new();
        for (id, deal) in &self.deals {
            if deal.executions > 1 {
                crimes.push(format!(
                    "{id} ({}) was executed {} times in {} posts",
                    deal.reference, deal.executions, deal.posts
                ));
            }
            // Claimed, never sent, and asked about.
            if deal.posts == 0 {
                continue;
            }
            rows.entry(&deal.reference)
                .or_default()
                .push((id, deal.executions));
        }
        for (reference, ids) in rows {
            let times: u32 = ids.iter().map(|(_, times)| times).sum();
            let is_once = times <= 1 || ids.len() == 1;
            if !is_once {
                crimes.push(format!("row {reference} was paid {times} times: {ids:?}"));
            } else if ids.len() > 1 && !retried {
                crimes.push(format!("row {reference} has several identifiers: {ids:?}"));
            }
        }
        crimes
    }
}
