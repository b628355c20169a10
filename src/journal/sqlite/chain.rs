//! The hash chain of a batch's evidence.
//!
//! Every row of evidence has a SHA-256 over itself and the hash of the row before it in its batch; the first rests on who
//! pays, the batch's name and its date. What stands in other tables is on the chain as well: a row of evidence holds the
//! digest of an upload, of a bill, of a pinned gateway, of a file that was loaded, of a block of instructions.
//!
//! Rows, heads and what they speak of are one transaction: a crash leaves all of it or nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use rusqlite::{Connection, OptionalExtension, params};

use super::canon::{Canon, Digest, Terms};
use super::row::corrupt;
use crate::domain::Timestamp;
use crate::journal::Error;
use crate::lifecycle::Policy;

/// Kind, class and code of a row of evidence.
pub(super) type Kind = (i64, Option<i64>, Option<i32>);

/// A row of evidence, as it is appended.
#[derive(Clone, Copy, Default)]
pub(super) struct Evidence<'a> {
    pub(super) batch_id: i64,
    /// The payment; 0 for what is about the batch.
    pub(super) seq: i64,
    pub(super) at: Timestamp,
    pub(super) kind: Kind,
    pub(super) anomaly: Option<&'a str>,
    pub(super) digest: Option<&'a Digest>,
    pub(super) detail: Option<&'a str>,
    /// What it is judged by, where waits enter into it.
    pub(super) policy: Option<&'a Policy>,
}

/// How far the chain of a batch reaches.
#[derive(Clone, Copy)]
struct Head {
    length: i64,
    hash: Digest,
    moved: bool,
}

/// The chains that a transaction extends.
#[derive(Default)]
pub(super) struct Chain {
    heads: BTreeMap<i64, Head>,
    /// Number of the newest row of evidence; `None` until it is asked for.
    newest: Option<i64>,
    policies: Vec<(Terms, i64)>,
}

impl Chain {
    /// Begins the chain of a batch.
    pub(super) fn begin(c: &Connection, batch_id: i64) -> Result<(), Error> {
        c.execute(
            "insert into chain (batch_id, length, head) values (?1, 0, ?2)",
            params![batch_id, &genesis(c, batch_id)?[..]],
        )?;
        Ok(())
    }

    pub(super) fn append(&mut self, c: &Connection, row: &Evidence<'_>) -> Result<(), Error> {
        let evidence_id = self.next(c)?;
        let (policy_id, terms) = match row.policy {
            Some(policy) => {
                let terms = Terms::of(policy);
                (Some(self.policy(c, terms)?), Some(terms))
            }
            None => (None, None),
        };
        let head = self.head(c, row.batch_id)?;
        let (event, class, code) = row.kind;
        let mut canon = Canon::after(&head.hash);
        canon.integer(evidence_id);
        canon.integer(row.seq);
        canon.integer(row.at.as_millis());
        canon.integer(event);
        canon.maybe(class, Canon::integer);
        canon.maybe(code.map(i64::from), Canon::integer);
        canon.maybe(row.anomaly, Canon::text);
        canon.maybe(row.digest.map(|digest| &digest[..]), Canon::bytes);
        canon.maybe(row.detail, Canon::text);
        canon.terms(terms);
        let hash = canon.finish();
        c.prepare_cached(
            "insert into evidence (evidence_id, seq, at, event, class, code, anomaly, digest, detail, batch_id, policy_id, hash)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            evidence_id,
            row.seq,
            row.at.as_millis(),
            event,
            class,
            code,
            row.anomaly,
            row.digest.map(|digest| &digest[..]),
            row.detail,
            row.batch_id,
            policy_id,
            &hash[..],
        ])?;
        *head = Head {
            length: head.length + 1,
            hash,
            moved: true,
        };
        self.newest = Some(evidence_id);
        Ok(())
    }

    /// Takes a row that is there already into the chain, and returns its hash.
    pub(super) fn take_in(
        &mut self,
        c: &Connection,
        batch_id: i64,
        seal: impl FnOnce(&Digest) -> Result<Digest, Error>,
    ) -> Result<Digest, Error> {
        let head = self.head(c, batch_id)?;
        let hash = seal(&head.hash)?;
        *head = Head {
            length: head.length + 1,
            hash,
            moved: true,
        };
        Ok(hash)
    }

    fn next(&mut self, c: &Connection) -> Result<i64, Error> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => c
                .prepare_cached("select coalesce(max(evidence_id), 0) from evidence")?
                .query_row([], |row| row.get(0))?,
        };
        Ok(newest + 1)
    }

    fn head(&mut self, c: &Connection, batch_id: i64) -> Result<&mut Head, Error> {
        use std::collections::btree_map::Entry;
        match self.heads.entry(batch_id) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let found: Option<(i64, Digest)> = c
                    .prepare_cached("select length, head from chain where batch_id = ?1")?
                    .query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                let (length, hash) = found
                    .ok_or_else(|| corrupt(format!("batch {batch_id} has no chain of evidence")))?;
                Ok(entry.insert(Head {
                    length,
                    hash,
                    moved: false,
                }))
            }
        }
    }

    fn policy(&mut self, c: &Connection, terms: Terms) -> Result<i64, Error> {
        if let Some((_, id)) = self.policies.iter().find(|(known, _)| *known == terms) {
            return Ok(*id);
        }
        let [quarantine, exposures, settle, query] = terms.0;
        let found: Option<i64> = c
            .prepare_cached(
                "select policy_id from policy where not_found_quarantine = ?1 and exposures_max = ?2 and settle_on = ?3
                     and status_query = ?4",
            )?
            .query_row(params![quarantine, exposures, settle, query], |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                c.execute(
                    "insert into policy (not_found_quarantine, exposures_max, settle_on, status_query) values (?1, ?2, ?3, ?4)",
                    params![quarantine, exposures, settle, query],
                )?;
                c.last_insert_rowid()
            }
        };
        self.policies.push((terms, id));
        Ok(id)
    }

    /// Writes the heads that moved. Without it nothing that was appended may be committed.
    pub(super) fn save(&mut self, c: &Connection) -> Result<(), Error> {
        for (batch_id, head) in self.heads.iter_mut().filter(|(_, head)| head.moved) {
            c.prepare_cached("update chain set length = ?2, head = ?3 where batch_id = ?1")?
                .execute(params![batch_id, head.length, &head.hash[..]])?;
            head.moved = false;
        }
        Ok(())
    }
}

/// What the chain of a batch begins with.
pub(super) fn genesis(c: &Connection, batch_id: i64) -> Result<Digest, Error> {
    let mut canon = Canon::of("batch");
    c.query_row(
        "select originator, name, created_at from batch where batch_id = ?1",
        [batch_id],
        |row| canon.row(row),
    )?;
    Ok(canon.finish())
}

/// The connection that writes, with the chains that its transaction extends.
pub(super) struct Chained {
    connection: Connection,
    chain: RefCell<Chain>,
}

impl Chained {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            chain: RefCell::default(),
        }
    }

    /// Gives the connection back.
    #[cfg(test)]
    pub(super) fn into_inner(self) -> Connection {
        self.connection
    }

    /// Forgets what an earlier transaction knew: another process may have written since.
    pub(super) fn begin(&self) {
        self.chain.take();
    }

    /// Appends one row of evidence.
    pub(super) fn append(&self, row: &Evidence<'_>) -> Result<(), Error> {
        self.chain.borrow_mut().append(&self.connection, row)
    }

    /// Writes the heads, as the last statements of a transaction.
    pub(super) fn save(&self) -> Result<(), Error> {
        self.chain.borrow_mut().save(&self.connection)
    }

    /// Does what needs the connection and the chains at once.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&Connection, &mut Chain) -> Result<T, Error>,
    ) -> Result<T, Error> {
        work(&self.connection, &mut self.chain.borrow_mut())
    }
}

impl Deref for Chained {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Chained {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
