//! A load under way.

use super::checked::Checked;
use super::corrections::Corrections;
use super::numbers::{Payments, Places};
use crate::domain::{
    BatchId, ContentDigest, Currency, IdentifierScheme, LaneId, LoadId, PaymentId, ServiceCode,
    Tally,
};
use crate::journal::evidence::instruction_blocks::Block;
use crate::journal::repeats::fingerprints::Key;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{LoadPlan, RejectedRow};
use crate::ledger::payer::Identifiers;
use crate::store::tables::instruction;
use crate::store::{Scan, Test};

pub(in crate::journal) type ByService = Vec<(ServiceCode, Currency, Tally)>;

pub(in crate::journal) struct Load<'a> {
    pub(in crate::journal) c: &'a WriteSession,
    pub(in crate::journal) plan: &'a LoadPlan,
    /// That of the batch on record, whatever form the dialect has by now.
    pub(in crate::journal) scheme: IdentifierScheme,
    pub(in crate::journal) batch_id: BatchId,
    pub(in crate::journal) load_id: LoadId,
    /// Rows with a greater number are of this load.
    pub(in crate::journal) base: i64,
    pub(in crate::journal) existed: bool,
    /// An earlier journal may have posted its rows: ordered, or because this journal may have missed something.
    pub(in crate::journal) presumes: bool,
    /// By that order a recovery begins.
    pub(in crate::journal) begins: bool,
    pub(in crate::journal) rejected: Tally,
    /// Rows that are no payments, says the layout of their file.
    pub(in crate::journal) skipped: Tally,
    pub(in crate::journal) lanes: Vec<Lane>,
    /// What was computed while the rows passed: the digests of the instructions.
    pub(in crate::journal) blocks: Vec<Block>,
    /// Rows were dropped or given another identifier since: what is said of the instructions is read from their table.
    pub(in crate::journal) altered: bool,
    /// Those of the rows that passed by.
    pub(in crate::journal) identifiers: Identifiers,
    /// What the fingerprints are made with.
    pub(in crate::journal) key: Key,
    /// Rows of the file that correct what the journal has.
    pub(in crate::journal) corrections: Corrections,
    /// The services of the rows on record that those of the file are compared with.
    pub(in crate::journal) services_on_record: Vec<ServiceCode>,
    /// Payments of earlier loads that rows of the file are.
    pub(in crate::journal) kept: Payments,
    /// Rows that were set aside as no payments, by their lines.
    pub(in crate::journal) no_payments: Places,
    /// The row that was set aside last while the rows of the file pass by: its line, and which row of that line it is.
    pub(in crate::journal) newest_set_aside: Option<(i64, i64)>,
    /// The documents of its rows.
    pub(in crate::journal) documents: Checked,
}

impl Load<'_> {
    /// The instructions that this load brings.
    pub(in crate::journal) fn own_rows(&self) -> Scan<'_> {
        Scan::of(&instruction::TABLE).after(&self.base)
    }

    /// The instructions that earlier loads brought to the batch.
    pub(in crate::journal) fn rows_before(&self) -> Scan<'_> {
        Scan::of(&instruction::TABLE)
            .up_to(&self.base)
            .only(instruction::batch_id, Test::is(&self.batch_id))
    }

    /// Returns whether a row of the file says not what it corrects.
    pub(in crate::journal) fn is_unnamed(&self, seq: PaymentId) -> bool {
        !self.corrections.corrects(seq)
    }
}

/// The first generation of a row.
pub(in crate::journal) const FIRST: u32 = 0;

/// What the rows of one service and one currency come to.
pub(in crate::journal) struct Lane {
    pub(in crate::journal) service: ServiceCode,
    pub(in crate::journal) service_id: LaneId,
    pub(in crate::journal) currency: Currency,
    /// Its first row has this number, or a greater one.
    pub(in crate::journal) first: i64,
    pub(in crate::journal) priced: i64,
    pub(in crate::journal) minor: i128,
    pub(in crate::journal) unpriced: i64,
}

/// What a file holds beside payments.
#[derive(Default)]
pub(in crate::journal) struct Seen {
    pub(in crate::journal) bad: u64,
    pub(in crate::journal) bad_rows: ContentDigest,
    pub(in crate::journal) skipped: u64,
    pub(in crate::journal) skipped_rows: ContentDigest,
    pub(in crate::journal) ended: bool,
}

impl Seen {
    pub(in crate::journal) fn take_bad(&mut self, row: &RejectedRow) {
        self.bad += 1;
        self.bad_rows.add(&row.digest);
    }

    pub(in crate::journal) fn take_skipped(&mut self, row: &RejectedRow) {
        self.skipped += 1;
        self.skipped_rows.add(&row.digest);
    }

    /// Returns what tells the file from another one: the rows with errors are part of it, and so are those that are no payments.
    pub(in crate::journal) fn digest(&self, of_rows: ContentDigest) -> String {
        let plain = self.plain_digest(of_rows);
        let whole = match self.bad {
            0 => plain,
            _ => format!("{plain}+{}", self.bad_rows.to_text()),
        };
        match self.skipped {
            0 => whole,
            rows => format!("{whole}+{rows} skipped+{}", self.skipped_rows.to_text()),
        }
    }

    /// The same as versions before 5 had it: of the rows with errors only their number was told.
    pub(in crate::journal) fn plain_digest(&self, of_rows: ContentDigest) -> String {
        format!("{}+{}", of_rows.to_text(), self.bad)
    }
}
