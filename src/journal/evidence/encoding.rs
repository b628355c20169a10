//! The canonical encoding that hashes are taken over: each value with its type and its length, so that none can borrow from
//! its neighbour.

use std::ops::{ControlFlow, Range};

use sha2::{Digest as _, Sha256};

use crate::domain::BatchId;
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::lifecycle::{Policy, SettleOn};
use crate::store::tables::batch;
use crate::store::{self, Read, Reads, Row, Scan, Value};

/// A SHA-256.
pub(in crate::journal) type Digest = [u8; 32];

/// What is hashed, value by value.
pub(in crate::journal) struct CanonicalHasher {
    hash: Sha256,
    // Many small values are cheaper in one piece.
    pending: Vec<u8>,
}

impl CanonicalHasher {
    /// Begins the digest of a row of another table.
    pub(in crate::journal) fn of(what: &'static str) -> Self {
        let mut canon = Self {
            hash: Sha256::new(),
            pending: Vec::with_capacity(512),
        };
        canon.text("disburse/1");
        canon.text(what);
        canon
    }

    /// Begins the hash of a row of evidence.
    pub(in crate::journal) fn after(previous: &Digest) -> Self {
        let mut pending = Vec::with_capacity(256);
        pending.extend_from_slice(previous);
        Self {
            hash: Sha256::new(),
            pending,
        }
    }

    pub(in crate::journal) fn null(&mut self) {
        self.pending.push(0);
    }

    pub(in crate::journal) fn integer(&mut self, value: i64) {
        self.pending.push(1);
        self.pending.extend_from_slice(&value.to_be_bytes());
    }

    pub(in crate::journal) fn text(&mut self, value: &str) {
        self.sized(2, value.as_bytes());
    }

    pub(in crate::journal) fn bytes(&mut self, value: &[u8]) {
        self.sized(3, value);
    }

    fn sized(&mut self, tag: u8, value: &[u8]) {
        self.pending.push(tag);
        self.pending
            .extend_from_slice(&(value.len() as u64).to_be_bytes());
        self.pending.extend_from_slice(value);
    }

    pub(in crate::journal) fn maybe<T>(
        &mut self,
        value: Option<T>,
        put: impl FnOnce(&mut Self, T),
    ) {
        match value {
            Some(value) => put(self, value),
            None => self.null(),
        }
    }

    pub(in crate::journal) fn value<'v>(&mut self, value: impl Into<Value<'v>>) {
        match value.into() {
            Value::Null => self.null(),
            Value::Integer(value) => self.integer(value),
            Value::Text(value) => self.text(&value),
            Value::Bytes(value) => self.bytes(&value),
        }
    }

    /// Takes in every column of a row.
    pub(in crate::journal) fn row(&mut self, row: &dyn Row) -> Result<(), store::Error> {
        self.columns(row, 0..row.width())
    }

    /// Takes in some columns of a row.
    pub(in crate::journal) fn columns(
        &mut self,
        row: &dyn Row,
        which: Range<usize>,
    ) -> Result<(), store::Error> {
        for index in which {
            self.value(row.value(index)?);
        }
        self.flush();
        Ok(())
    }

    pub(in crate::journal) fn terms(&mut self, terms: Option<Terms>) {
        self.maybe(terms, |canon, terms| {
            terms.0.into_iter().for_each(|term| canon.integer(term));
        });
    }

    /// Takes in what the gateway said; nothing at all when it said nothing, as versions without these columns had it.
    pub(in crate::journal) fn words(&mut self, words: [Option<&str>; 4]) {
        if words.iter().any(Option::is_some) {
            for word in words {
                self.maybe(word, Self::text);
            }
        }
    }

    /// Ends a row.
    pub(in crate::journal) fn flush(&mut self) {
        self.hash.update(&self.pending);
        self.pending.clear();
    }

    pub(in crate::journal) fn finish(mut self) -> Digest {
        self.flush();
        self.hash.finalize().into()
    }

    /// Begins a leaf; one hasher makes many, one after the other.
    pub(in crate::journal) fn begin_leaf(&mut self, salt: &[u8]) {
        self.hash = Sha256::new();
        self.pending.clear();
        self.text("disburse/1");
        self.text("leaf");
        self.bytes(salt);
    }

    /// Ends a leaf.
    pub(in crate::journal) fn end_leaf(&mut self) -> Digest {
        self.flush();
        std::mem::take(&mut self.hash).finalize().into()
    }
}

/// What the chain of a batch begins with.
pub(in crate::journal) fn genesis(c: &dyn Read, batch_id: BatchId) -> Result<Digest, Error> {
    let columns = [batch::originator, batch::name, batch::created_at];
    let one = Scan::of(&batch::TABLE).at(&batch_id);
    digest_over(c, "batch", &one, &columns)?
        .ok_or_else(|| corrupt(format!("batch {batch_id} is missing")))
}

/// Returns the digest of columns of the first row that a scan finds; `None` when there is none.
pub(in crate::journal) fn digest_over(
    c: &dyn Read,
    what: &'static str,
    scan: &Scan<'_>,
    columns: &[store::Column],
) -> Result<Option<Digest>, Error> {
    let mut found = None;
    c.each_row(scan, columns, |row| {
        let mut canon = CanonicalHasher::of(what);
        canon.row(row)?;
        found = Some(canon.finish());
        Ok::<_, Error>(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// What of a policy decides how evidence adds up: quarantine (ms), most exposures, what settles, whether it can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) struct Terms(pub(in crate::journal) [i64; 4]);

impl Terms {
    pub(in crate::journal) fn of(policy: &Policy) -> Self {
        Self([
            i64::try_from(policy.not_found_quarantine.as_millis()).unwrap_or(i64::MAX),
            i64::from(policy.exposures_max),
            match policy.settle_on {
                SettleOn::Callback => 0,
                SettleOn::Confirmed => 1,
            },
            i64::from(policy.status_query),
        ])
    }

    /// Returns a policy that folds as the recorded one; `None` when no policy has these terms.
    pub(in crate::journal) fn policy(self) -> Option<Policy> {
        let [quarantine, exposures, settle, query] = self.0;
        Some(Policy {
            not_found_quarantine: std::time::Duration::from_millis(quarantine.try_into().ok()?),
            exposures_max: exposures.try_into().ok()?,
            settle_on: match settle {
                0 => SettleOn::Callback,
                1 => SettleOn::Confirmed,
                _ => return None,
            },
            status_query: query == 1,
            ..Policy::default()
        })
    }
}
