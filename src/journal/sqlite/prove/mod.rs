//! Whether the journal is what was recorded: chain, instructions, lives and tallies, computed again.
//!
//! Everything is read row by row in one snapshot: beside a run, and in the memory of a few rows.

mod chain;
mod learn;
mod lives;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::{Connection, params};

use super::canon::{Digest, Terms};
use super::open;
use super::reader::Snapshot;
use crate::domain::{BatchName, Originator};
use crate::journal::proof::FINDINGS_SHOWN;
use crate::journal::{ChainHead, Error, Proof};
use crate::lifecycle::Policy;

/// Policies that evidence was judged by; a journal sees a handful.
const POLICIES_MAX: usize = 10_000;

/// Characters of a finding that are shown.
const FINDING_CHARACTERS_MAX: usize = 500;

impl Snapshot<'_> {
    /// Returns how far the evidence of the batch reaches.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn head(&self) -> Result<ChainHead, Error> {
        head(self.c, self.batch_id)
    }

    /// Computes everything again that the evidence of the batch proves, and compares.
    ///
    /// With an earlier head, it finds out whether that one is on the chain: what came before it is then as it was.
    #[must_use]
    pub fn prove(&self, earlier: Option<Digest>) -> Proof {
        let mut prover = self.prover();
        prover.attempt("the schema", Prover::schema);
        prover.attempt("the policies", Prover::read_policies);
        prover.attempt("the chain of evidence", |prover| prover.walk(earlier));
        prover.attempt("the recoveries", Prover::recoveries);
        prover.attempt("the payments", Prover::lives);
        prover.attempt("the tallies", Prover::compare_tallies);
        prover.attempt("the file", Prover::file);
        prover.proof
    }

    /// Computes the chain alone again, with what it holds the digests of, and looks for an earlier head on it.
    #[must_use]
    pub fn walked(&self, earlier: Digest) -> Proof {
        let mut prover = self.prover();
        prover.attempt("the policies", Prover::read_policies);
        prover.attempt("the chain of evidence", |prover| prover.walk(Some(earlier)));
        prover.proof
    }

    fn prover(&self) -> Prover<'_> {
        Prover {
            c: self.c,
            batch: self.batch.clone(),
            batch_id: self.batch_id,
            policies: BTreeMap::new(),
            about_payments: 0,
            first_claims: 0,
            tallies: BTreeMap::new(),
            above: lives::Above::default(),
            proof: Proof {
                payments: 0,
                unpriced: 0,
                evidence: 0,
                instructions: 0,
                sealed: 0,
                head: None,
                earlier_head_at: None,
                findings: Vec::new(),
                findings_count: 0,
            },
        }
    }
}

pub(super) fn head(c: &Connection, batch_id: i64) -> Result<ChainHead, Error> {
    Ok(
        c.prepare_cached("select length, head from chain where batch_id = ?1")?
            .query_row([batch_id], |row| {
                Ok(ChainHead {
                    // No chain has a length below zero; it must not pass for one above.
                    length: row.get::<_, i64>(0)?.try_into().unwrap_or(u64::MAX),
                    hash: row.get(1)?,
                })
            })?,
    )
}

/// A verification under way.
struct Prover<'a> {
    c: &'a Connection,
    batch: BatchName,
    batch_id: i64,
    policies: BTreeMap<i64, (Terms, Policy)>,
    /// Rows of evidence on the chain that are about one payment.
    about_payments: u64,
    /// First claims of payments that share rows of evidence.
    first_claims: u64,
    /// Count and amount by service, currency and state, as the lives add up.
    tallies: BTreeMap<(i64, String, i64), (i64, i64)>,
    above: lives::Above,
    proof: Proof,
}

impl Prover<'_> {
    fn find(&mut self, what: impl Into<String>) {
        self.proof.findings_count += 1;
        if self.proof.findings.len() < FINDINGS_SHOWN {
            // Whoever changed the journal may have put anything into it: a terminal must not obey it.
            let what: String = what.into();
            let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
            let shown = what.chars().map(plain).take(FINDING_CHARACTERS_MAX);
            self.proof.findings.push(shown.collect());
        }
    }

    /// Does one part; what cannot be read does not fit either, and the other parts are still looked at.
    fn attempt(&mut self, part: &str, work: impl FnOnce(&mut Self) -> Result<(), Error>) {
        if let Err(error) = work(self) {
            self.find(format!("{part} cannot be read: {error}"));
        }
    }

    fn originator(&self) -> Result<Originator, Error> {
        let text: String = self.c.query_row(
            "select originator from batch where batch_id = ?1",
            [self.batch_id],
            |row| row.get(0),
        )?;
        Originator::parse(&text).map_err(|_| super::row::corrupt("an originator"))
    }

    /// Compares tables, indexes and the triggers that guard them with those of a new journal.
    fn schema(&mut self) -> Result<(), Error> {
        static SOUND: OnceLock<Schema> = OnceLock::new();
        let sound = match SOUND.get() {
            Some(sound) => sound,
            None => {
                let made = schema_of(&open::in_memory()?)?;
                SOUND.get_or_init(|| made)
            }
        };
        let found = schema_of(self.c)?;
        for (name, sql) in sound {
            match found.get(name) {
                None => self.find(format!("schema: {name} is missing")),
                Some(other) if other != sql => self.find(format!("schema: {name} was changed")),
                Some(_) => {}
            }
        }
        for name in found.keys().filter(|name| !sound.contains_key(*name)) {
            self.find(format!("schema: {name} was added"));
        }
        Ok(())
    }

    fn read_policies(&mut self) -> Result<(), Error> {
        let mut statement = self.c.prepare(
            "select policy_id, not_found_quarantine, exposures_max, settle_on, status_query from policy limit ?1",
        )?;
        let limit = i64::try_from(POLICIES_MAX).unwrap_or(i64::MAX);
        let mut rows = statement.query([limit])?;
        while let Some(row) = rows.next()? {
            let terms = Terms([row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]);
            let policy_id: i64 = row.get(0)?;
            match terms.policy() {
                Some(policy) => drop(self.policies.insert(policy_id, (terms, policy))),
                None => self.find(format!("policy {policy_id} is none")),
            }
        }
        Ok(())
    }

    /// What is on record of the journal as a whole.
    fn recoveries(&mut self) -> Result<(), Error> {
        if let Some(what) = super::recoveries::altered(self.c)? {
            self.find(what);
        }
        Ok(())
    }

    fn compare_tallies(&mut self) -> Result<(), Error> {
        let mut statement = self.c.prepare(
            "select service_id, currency, state, count, amount from tally
             where batch_id = ?1 and (count <> 0 or amount <> 0) order by service_id, currency, state",
        )?;
        let mut rows = statement.query(params![self.batch_id])?;
        while let Some(row) = rows.next()? {
            let key: (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let told: (i64, i64) = (row.get(3)?, row.get(4)?);
            let sum = self.tallies.remove(&key).unwrap_or_default();
            if told != sum {
                self.find(tally_text(&key, told, sum));
            }
        }
        for (key, sum) in std::mem::take(&mut self.tallies) {
            if sum != (0, 0) {
                self.find(tally_text(&key, (0, 0), sum));
            }
        }
        Ok(())
    }

    /// Lets SQLite compare every index with its table.
    fn file(&mut self) -> Result<(), Error> {
        let mut statement = self.c.prepare("pragma integrity_check(20)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let said: String = row.get(0)?;
            if said != "ok" {
                self.find(format!("SQLite: {said}"));
            }
        }
        Ok(())
    }
}

fn tally_text(
    (service, currency, state): &(i64, String, i64),
    told: (i64, i64),
    sum: (i64, i64),
) -> String {
    let state = super::row::state_of(*state).map_or("without amount", |state| state.name());
    format!(
        "tally of service {service}, {currency}, {state}: {} of {} minor units on record, the payments are {} of {}",
        told.0, told.1, sum.0, sum.1
    )
}

/// Tables, indexes and triggers by name, with their statements.
type Schema = BTreeMap<String, String>;

fn schema_of(c: &Connection) -> Result<Schema, Error> {
    let mut statement = c.prepare(
        "select type || ' ' || name, tbl_name || ': ' || coalesce(sql, '') from sqlite_schema where name not like 'sqlite!_%' escape '!'",
    )?;
    let objects = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(objects)
}
