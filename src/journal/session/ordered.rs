//! What a transaction orders that people may have to sign for, until it is judged.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::domain::{BatchId, Currency, Timestamp, Totals};
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::approval::rule::Rule;

/// An order that the transaction has carried out.
#[derive(Clone, Debug)]
pub(in crate::journal) struct GivenOrder {
    /// About which batch.
    pub(in crate::journal) batch_id: BatchId,
    /// When.
    pub(in crate::journal) at: Timestamp,
    /// Which.
    pub(in crate::journal) kind: OrderKind,
    /// As the evidence names it.
    pub(in crate::journal) act: &'static str,
    /// What it is done to, or how.
    pub(in crate::journal) about: String,
    /// To which payments.
    pub(in crate::journal) content: SignedContent,
}

/// So many payments of an order are written out.
const LISTED: usize = 20;

/// Which payments an order is about, and as what they stood: where that is another one, so is the order.
#[derive(Clone, Debug, Default)]
pub(in crate::journal) struct SignedContent {
    digest: Sha256,
    /// How many they are.
    pub(in crate::journal) payments: u64,
    /// What they come to.
    pub(in crate::journal) totals: Totals,
    /// Identifiers of the first.
    pub(in crate::journal) first: Vec<String>,
    /// Said of the order, beside what the evidence says.
    pub(in crate::journal) told: String,
}

impl SignedContent {
    /// Takes a payment in.
    pub(in crate::journal) fn add(&mut self, identifier: &str) {
        self.bind(identifier);
        self.payments += 1;
        if self.first.len() < LISTED {
            self.first.push(identifier.to_owned());
        }
    }

    /// Takes a row in that is no payment, and says which.
    pub(in crate::journal) fn name_last(&mut self, text: String) {
        if self.payments == self.first.len() as u64
            && let Some(last) = self.first.last_mut()
        {
            *last = text;
        }
    }

    /// Takes in what a payment comes to.
    pub(in crate::journal) fn worth(&mut self, currency: Currency, minor: i64) {
        self.bind(currency.code());
        self.bind(&minor.to_string());
        self.totals.add_minor(currency, minor.into());
    }

    /// Ties the order to something that stands now.
    pub(in crate::journal) fn bind(&mut self, what: &str) {
        self.digest.update((what.len() as u64).to_be_bytes());
        self.digest.update(what);
    }

    /// Ties the order to something, and says it.
    pub(in crate::journal) fn tell(&mut self, what: String) {
        self.bind(&what);
        self.told = what;
    }

    /// Tells it from any other.
    pub(in crate::journal) fn to_text(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.digest.clone().finalize())
    }
}

/// The orders of a transaction, and under which rule they were given.
#[derive(Debug, Default)]
pub(in crate::journal) struct Ordered {
    /// The rule of now, as whoever orders has it.
    pub(in crate::journal) configured: Option<Arc<Rule>>,
    /// Nothing is carried out: who asks wants to know what would be signed.
    pub(in crate::journal) is_proposed: bool,
    /// One after another.
    pub(in crate::journal) given: Vec<GivenOrder>,
}
