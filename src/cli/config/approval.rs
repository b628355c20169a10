//! What `[approval]` says.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::domain::Currency;

/// What `[approval]` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// So many people approve.
    pub required: u8,
    /// From where on, in minor units.
    pub above: BTreeMap<Currency, i64>,
    /// The file of those who may sign.
    pub allowed_signers: PathBuf,
    /// The key that this machine's user signs with.
    pub signing_key: Option<PathBuf>,
}
