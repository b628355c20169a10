//! Rows of evidence on their way into the table.

use std::sync::LazyLock;

use rusqlite::{Connection, Statement, ToSql};

use super::canon::Digest;
use super::row::corrupt;
use crate::journal::Error;

/// Kind, class and code of a row of evidence.
pub(super) type Kind = (i64, Option<i64>, Option<i32>);

/// A row of evidence that waits to be written: of a transaction's rows several are, with one statement.
pub(super) struct Waiting {
    pub(super) evidence_id: i64,
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) kind: Kind,
    pub(super) anomaly: Option<String>,
    pub(super) digest: Option<Digest>,
    pub(super) detail: Option<String>,
    pub(super) batch_id: i64,
    pub(super) policy_id: Option<i64>,
    pub(super) hash: Option<Digest>,
    pub(super) phrase_id: Option<i64>,
    pub(super) gateway_transaction_id: Option<String>,
    pub(super) receipt_number: Option<String>,
    pub(super) receiver_narration: Option<String>,
}

/// Rows of evidence that one statement appends: the most that are there. SQLite keeps copies of the pages that a statement of
/// several rows changes, as a check of the table calls a function; so a few large ones are better than many, and rows that
/// change a page of the index each are better alone.
const TOGETHER: [usize; 3] = [64, 16, 1];
/// Payments whose numbers differ by no more have their evidence on few pages of the index.
const NEAR: i64 = 4096;
/// Rows of evidence that wait at most.
pub(super) const WAITING_MAX: usize = 256;
/// Columns of a row of evidence, its number left out.
const WIDTH: usize = 15;

// "or fail", and no number that SQLite would have to check: a failure ends the whole transaction anyway.
const APPEND: &str = "insert or fail into evidence (seq, at, event, class, code, anomaly, digest, detail, batch_id, policy_id, hash,
     phrase_id, gateway_transaction_id, receipt_number, receiver_narration)";

/// Writes rows that wait.
pub(super) fn append(c: &Connection, waiting: &[Waiting]) -> Result<(), Error> {
    let mut rows = waiting;
    while !rows.is_empty() {
        let size = TOGETHER
            .iter()
            .position(|size| rows.get(..*size).is_some_and(are_near));
        let size = size.unwrap_or(TOGETHER.len() - 1);
        let (now, later) = rows.split_at(TOGETHER[size]);
        let mut statement = c.prepare_cached(&STATEMENTS[size])?;
        for (index, row) in now.iter().enumerate() {
            row.bind(&mut statement, index * WIDTH)?;
        }
        statement.raw_execute()?;
        // The number is in the hash of the row; SQLite gives the same one, the next after the greatest.
        let given = c.last_insert_rowid();
        if now.last().is_some_and(|row| row.evidence_id != given) {
            return Err(corrupt(format!("evidence of another number: {given}")));
        }
        rows = later;
    }
    Ok(())
}

fn are_near(rows: &[Waiting]) -> bool {
    let seqs = || rows.iter().map(|row| row.seq);
    let reach = Option::zip(seqs().min(), seqs().max());
    reach.is_some_and(|(min, max)| max - min <= NEAR)
}

static STATEMENTS: LazyLock<[String; TOGETHER.len()]> = LazyLock::new(|| TOGETHER.map(statement));

fn statement(rows: usize) -> String {
    let row = format!("({})", ["?"; WIDTH].join(", "));
    format!("{APPEND} values {}", vec![row; rows].join(", "))
}

impl Waiting {
    fn bind(&self, statement: &mut Statement<'_>, before: usize) -> rusqlite::Result<()> {
        let (event, class, code) = self.kind;
        fn bytes(digest: Option<&Digest>) -> Option<&[u8]> {
            digest.map(|digest| &digest[..])
        }
        let mut at = before;
        let mut bind = |value: &dyn ToSql| {
            at += 1;
            statement.raw_bind_parameter(at, value)
        };
        bind(&self.seq)?;
        bind(&self.at)?;
        bind(&event)?;
        bind(&class)?;
        bind(&code)?;
        bind(&self.anomaly)?;
        bind(&bytes(self.digest.as_ref()))?;
        bind(&self.detail)?;
        bind(&self.batch_id)?;
        bind(&self.policy_id)?;
        bind(&bytes(self.hash.as_ref()))?;
        bind(&self.phrase_id)?;
        bind(&self.gateway_transaction_id)?;
        bind(&self.receipt_number)?;
        bind(&self.receiver_narration)
    }
}
