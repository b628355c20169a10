//! Where things stand in a CSV, and how they are written.

use std::collections::BTreeMap;

use crate::domain::Currency;

/// What a column of a statement may be.
pub const COLUMNS: [&str; 13] = [
    "date",
    "amount",
    "paid_out",
    "paid_in",
    "currency",
    "reference",
    "receipt",
    "description",
    "recipient",
    "fee",
    "balance",
    "status",
    "account",
];

/// Where things stand in a CSV, and how they are written.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What stands under which headers, by [`COLUMNS`]; a column that is not named is looked for under its own name.
    pub columns: BTreeMap<String, Vec<String>>,
    /// The currency of all lines, where no column says it.
    pub currency: Option<Currency>,
    /// The pattern of its dates; `None`: `2026-11-28`, and whatever stands behind it.
    pub date_format: Option<String>,
    /// Between cells; `None`: as the headers show.
    pub delimiter: Option<u8>,
    /// The decimal sign.
    pub decimal: char,
    /// Amounts above zero left the account: it is a list of payments. Else those below zero did.
    pub positive_is_out: bool,
    /// Words of the status of what has moved; empty: those that are built in.
    pub booked: Vec<String>,
    /// Words of what is only announced.
    pub pending: Vec<String>,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            columns: BTreeMap::new(),
            currency: None,
            date_format: None,
            delimiter: None,
            decimal: '.',
            positive_is_out: false,
            booked: Vec::new(),
            pending: Vec::new(),
        }
    }
}
