//! A load under way.

use super::blocks::Block;
use super::corrections::Corrections;
use super::fingerprints::Key;
use super::session::Chained;
use crate::domain::{ContentDigest, Currency, ServiceCode, Tally};
use crate::journal::{LoadPlan, RejectedRow};
use crate::ledger::payer::Identifiers;

pub(super) type ByService = Vec<(ServiceCode, Currency, Tally)>;

pub(super) struct Load<'a> {
    pub(super) c: &'a Chained,
    pub(super) plan: &'a LoadPlan,
    pub(super) batch_id: i64,
    pub(super) load_id: i64,
    /// Rows with a greater number are of this load.
    pub(super) base: i64,
    pub(super) existed: bool,
    /// An earlier journal may have posted its rows: ordered, or because this journal may have missed something.
    pub(super) presumes: bool,
    /// By that order a recovery begins.
    pub(super) begins: bool,
    pub(super) rejected: Tally,
    pub(super) lanes: Vec<Lane>,
    /// What was computed while the rows passed: the digests of the instructions.
    pub(super) blocks: Vec<Block>,
    /// Rows were dropped or given another identifier since: what is said of the instructions is read from their table.
    pub(super) altered: bool,
    /// Those of the rows that passed by.
    pub(super) identifiers: Identifiers,
    /// What the fingerprints are made with.
    pub(super) key: Key,
    /// Rows of the file that correct what the journal has.
    pub(super) corrections: Corrections,
    /// The services of the rows on record that those of the file are compared with.
    pub(super) services_on_record: Vec<ServiceCode>,
}

/// What the rows of one service and one currency come to.
pub(super) struct Lane {
    pub(super) service: ServiceCode,
    pub(super) service_id: i64,
    pub(super) currency: Currency,
    /// Its first row has this number, or a greater one.
    pub(super) first: i64,
    pub(super) priced: i64,
    pub(super) minor: i128,
    pub(super) unpriced: i64,
}

/// What a file holds beside payments.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) bad: u64,
    pub(super) bad_rows: ContentDigest,
    pub(super) ended: bool,
}

impl Seen {
    pub(super) fn take_bad(&mut self, row: &RejectedRow) {
        self.bad += 1;
        self.bad_rows.add(&row.digest);
    }

    /// Returns what tells the file from another one: the rows with errors are part of it.
    pub(super) fn digest(&self, of_rows: ContentDigest) -> String {
        let plain = self.plain_digest(of_rows);
        match self.bad {
            0 => plain,
            _ => format!("{plain}+{}", self.bad_rows.to_text()),
        }
    }

    /// The same as versions before 5 had it: of the rows with errors only their number was told.
    pub(super) fn plain_digest(&self, of_rows: ContentDigest) -> String {
        format!("{}+{}", of_rows.to_text(), self.bad)
    }
}
