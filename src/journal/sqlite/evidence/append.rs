//! Rows of evidence on their way into the table.

use std::sync::LazyLock;

use rusqlite::{Connection, Statement, ToSql};

use super::encoding::Digest;
use super::salt::Salt;
use crate::domain::{BatchId, EvidenceId, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::corrupt;

/// Kind, class and code of a row of evidence.
pub(in crate::journal::sqlite) type Kind = (i64, Option<i64>, Option<i32>);

/// A row of evidence that waits to be written: of a transaction's rows several are, with one statement.
pub(in crate::journal::sqlite) struct Waiting {
    pub(in crate::journal::sqlite) evidence_id: EvidenceId,
    pub(in crate::journal::sqlite) seq: PaymentId,
    pub(in crate::journal::sqlite) at: i64,
    pub(in crate::journal::sqlite) kind: Kind,
    pub(in crate::journal::sqlite) anomaly: Option<String>,
    pub(in crate::journal::sqlite) digest: Option<Digest>,
    pub(in crate::journal::sqlite) detail: Option<String>,
    pub(in crate::journal::sqlite) batch_id: BatchId,
    pub(in crate::journal::sqlite) policy_id: Option<i64>,
    pub(in crate::journal::sqlite) hash: Option<Digest>,
    pub(in crate::journal::sqlite) phrase_id: Option<i64>,
    pub(in crate::journal::sqlite) gateway_transaction_id: Option<String>,
    pub(in crate::journal::sqlite) receipt_number: Option<String>,
    pub(in crate::journal::sqlite) receiver_narration: Option<String>,
    pub(in crate::journal::sqlite) salt: Option<Salt>,
}

/// Rows of evidence that one statement appends: the most that are there. SQLite keeps copies of the pages that a statement of
/// several rows changes, as a check of the table calls a function; so a few large ones are better than many, and rows that
/// change a page of the index each are better alone.
const TOGETHER: [usize; 3] = [64, 16, 1];
/// Payments whose numbers differ by no more have their evidence on few pages of the index.
const NEAR: i64 = 4096;
/// Rows of evidence that wait at most.
pub(in crate::journal::sqlite) const WAITING_MAX: usize = 256;
/// Columns of a row of evidence, its number left out.
const WIDTH: usize = 16;

// "or fail", and no number that SQLite would have to check: a failure ends the whole transaction anyway.
const APPEND: &str = "insert or fail into evidence (seq, at, event, class, code, anomaly, digest, detail, batch_id, policy_id, hash,
     phrase_id, gateway_transaction_id, receipt_number, receiver_narration, salt)";

/// Writes rows that wait.
pub(in crate::journal::sqlite) fn append(c: &Connection, waiting: &[Waiting]) -> Result<(), Error> {
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
        let given = EvidenceId::new(c.last_insert_rowid());
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
    reach.is_some_and(|(min, max)| max.get() - min.get() <= NEAR)
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
        bind(&self.receiver_narration)?;
        bind(&self.salt.as_ref().map(|salt| &salt[..]))
    }
}
