//! Rows of one state, for a person who looks at a batch: what there is of each kind, and page by page.

use rusqlite::{OptionalExtension, params};

use super::reader::Snapshot;
use crate::domain::{Money, Msisdn, PayerTransactionId, PaymentId, Tally, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{
    NEVER, amount_of, currency_of, identifier_of, msisdn_of, state_number, state_of,
};
use crate::ledger::correction::RejectedName;
use crate::lifecycle::State;

/// Kinds that are told one by one.
pub const KINDS_MAX: usize = 100;

/// Rows of a page.
pub const PAGE_ROWS: usize = 100;

/// What stands in one state with one code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingKind {
    /// The state.
    pub state: State,
    /// The code that proved it.
    pub code: Option<i32>,
    /// How many, and how much.
    pub tally: Tally,
    /// The oldest of them.
    pub example: PayerTransactionId,
    /// What the gateway said of that one.
    pub description: String,
}

/// A row of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingPayment {
    /// What the next page begins behind.
    pub seq: PaymentId,
    /// Its identifier.
    pub id: PayerTransactionId,
    /// Line of its file.
    pub line: u64,
    /// Its file.
    pub file: String,
    /// Its reference, and the names.
    pub reference: String,
    /// `customerNames`.
    pub names: String,
    /// Where it goes to.
    pub msisdn: Msisdn,
    /// How much; `None` where its bill says so.
    pub money: Option<Money>,
    /// The code that proved its state.
    pub code: Option<i32>,
    /// What the gateway said.
    pub description: String,
}

/// A rejected row of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingRejected {
    /// What it is known by; older journals do not know.
    pub name: Option<RejectedName>,
    /// Line of its file.
    pub line: u64,
    /// Its file.
    pub file: String,
    /// Its reference, as it was written; so are the others.
    pub reference: String,
    /// `customer_names`.
    pub names: String,
    /// `msisdn`.
    pub msisdn: String,
    /// `amount`.
    pub amount: String,
    /// `currency_code`.
    pub currency_code: String,
    /// What is wrong with it.
    pub errors: String,
}

impl Snapshot<'_> {
    /// Returns what is in doubt, in conflict, or failed and not replaced, by state and code: no more than 100 kinds.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn exceptions(&self) -> Result<Vec<StandingKind>, Error> {
        let mut statement = self.c.prepare_cached(
            "select l.state, l.code, i.currency, count(*), sum(i.amount), min(i.seq)
             from life l join instruction i using (seq)
             where l.batch_id = ?1 and l.state in (2, 6, 8) and l.replaced_by is null
             group by l.state, l.code, i.currency order by l.state, l.code, i.currency",
        )?;
        let mut rows = statement.query([self.batch_id])?;
        let mut kinds: Vec<StandingKind> = Vec::new();
        while let Some(row) = rows.next()? {
            let (state, code) = (state_of(row.get(0)?)?, row.get(1)?);
            let currency = currency_of(&row.get::<_, String>(2)?)?;
            let mut tally = Tally::default();
            let minor: Option<i64> = row.get(4)?;
            tally.add_many(
                row.get::<_, i64>(3)?.unsigned_abs(),
                currency,
                minor.unwrap_or(0).into(),
            );
            if let Some(last) = kinds.last_mut()
                && (last.state, last.code) == (state, code)
            {
                last.tally.add_all(&tally);
                continue;
            }
            if kinds.len() >= KINDS_MAX {
                break;
            }
            let (example, description) = self.said_of(row.get(5)?)?;
            kinds.push(StandingKind {
                state,
                code,
                tally,
                example,
                description,
            });
        }
        Ok(kinds)
    }

    fn said_of(&self, seq: PaymentId) -> Result<(PayerTransactionId, String), Error> {
        let found: (String, Option<String>) = self
            .c
            .prepare_cached(
                "select i.identifier, p.text from instruction i left join life l using (seq) left join phrase p using (phrase_id)
                 where i.seq = ?1",
            )?
            .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((identifier_of(&found.0)?, found.1.unwrap_or_default()))
    }

    /// Returns payments of one state, and of one code where one is given, behind a row: no more than [`PAGE_ROWS`] and one.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn standing_in(
        &self,
        state: State,
        code: Option<i32>,
        after: i64,
    ) -> Result<Vec<StandingPayment>, Error> {
        // A payment without a life has never been sent.
        let mut statement = self.c.prepare_cached(
            "select i.seq, i.identifier, i.line, d.source, coalesce(i.reference, ''), coalesce(i.customer_names, ''), i.msisdn, i.amount,
                    i.currency, l.code, coalesce((select text from phrase p where p.phrase_id = l.phrase_id), '')
             from instruction i join load d on d.load_id = i.load_id left join life l on l.seq = i.seq
             where i.seq > ?1 and i.batch_id = ?2 and coalesce(l.state, 0) = ?3 and l.replaced_by is null and (?4 is null or l.code = ?4)
             order by i.seq limit ?5",
        )?;
        let limit = i64::try_from(PAGE_ROWS + 1).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![
            after,
            self.batch_id,
            state_number(state),
            code,
            limit
        ])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let msisdn: String = row.get(6)?;
            let amount = row.get::<_, Option<i64>>(7)?.map(amount_of).transpose()?;
            let currency = currency_of(&row.get::<_, String>(8)?)?;
            found.push(StandingPayment {
                seq: row.get(0)?,
                id: identifier_of(&row.get::<_, String>(1)?)?,
                line: row.get::<_, i64>(2)?.unsigned_abs(),
                file: row.get(3)?,
                reference: row.get(4)?,
                names: row.get(5)?,
                msisdn: msisdn_of(&msisdn)?,
                money: amount.map(|amount| Money { amount, currency }),
                code: row.get(9)?,
                description: row.get(10)?,
            });
        }
        Ok(found)
    }

    /// Returns rejected rows that nobody has mended or withdrawn, behind so many: no more than [`PAGE_ROWS`] and one.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn standing_rejected(&self, after: u64) -> Result<Vec<StandingRejected>, Error> {
        let mut statement = self.c.prepare_cached(
            "select r.digest, r.line, d.source, coalesce(r.reference, ''), coalesce(json_extract(nullif(r.cells, ''), '$.customer_names'), ''),
                    coalesce(r.msisdn, ''), coalesce(r.amount_text, ''), coalesce(r.currency, ''), r.errors
             from rejected r join load d using (load_id)
             where r.batch_id = ?1 and r.replaced_by is null and r.withdrawn is null
             order by r.load_id, r.line, r.nth limit ?2 offset ?3",
        )?;
        let limit = i64::try_from(PAGE_ROWS + 1).unwrap_or(i64::MAX);
        let offset = i64::try_from(after).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![self.batch_id, limit, offset])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let digest: Option<[u8; 32]> = row.get(0)?;
            found.push(StandingRejected {
                name: digest.map(|digest| RejectedName::of(&self.batch, &digest)),
                line: row.get::<_, i64>(1)?.unsigned_abs(),
                file: row.get(2)?,
                reference: row.get(3)?,
                names: row.get(4)?,
                msisdn: row.get(5)?,
                amount: row.get(6)?,
                currency_code: row.get(7)?,
                errors: row.get(8)?,
            });
        }
        Ok(found)
    }

    /// Returns when the gateway is asked next about a payment of the batch, as far as the journal knows: what a run has had
    /// acknowledged itself it remembers for a while.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn asked_next(&self) -> Result<Option<Timestamp>, Error> {
        let mut next = self.c.prepare_cached(
            "select min(due_at) from life indexed by ask_queue where batch_id = ?1 and state >= 2 and state <= 4 and queued = 1",
        )?;
        let at: Option<Option<i64>> = next
            .query_row([self.batch_id], |row| row.get(0))
            .optional()?;
        Ok(at
            .flatten()
            .filter(|at| *at != NEVER)
            .map(Timestamp::from_millis))
    }
}
