//! What `[approval]` and `[evidence]` say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::domain::Currency;
use crate::ledger::approval::orders::OrderKind;

/// What `[approval]` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// So many people approve.
    pub required: u8,
    /// From where on, in minor units.
    pub above: BTreeMap<Currency, i64>,
    /// Orders that as many people sign for.
    pub orders: BTreeSet<OrderKind>,
    /// The file of those who may sign.
    pub allowed_signers: PathBuf,
    /// The key that this machine's user signs with.
    pub signing_key: Option<PathBuf>,
}

/// What `[evidence]` says: the heads of the chains are signed at the end of every run, and handed to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceSettings {
    /// The SSH key that signs them.
    pub key_file: PathBuf,
    /// A program and its arguments, which has them as its input.
    pub command: Vec<String>,
}
