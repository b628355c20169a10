//! The headers of a table: which column is which.

use std::collections::BTreeMap;

use super::error::{Place, StatementError, shown};
use super::row::Row;
use super::terms::{COLUMNS, Terms};
use crate::intake::plain_name;

/// Letters and digits of a header, in small letters, without accents: `Completion Time` is `completiontime`.
pub(super) fn folded(text: &str) -> String {
    let mut plain = plain_name(text);
    plain.retain(char::is_alphanumeric);
    plain
}

/// The places of the columns in one file.
pub(super) struct Headers {
    places: BTreeMap<&'static str, Vec<usize>>,
    pub(super) count: usize,
    /// As they stand there.
    names: Vec<String>,
}

/// A row that has some of the headers that are looked for.
pub(super) struct Near {
    pub(super) place: Place,
    pub(super) found: usize,
    pub(super) missing: Vec<String>,
    /// What stands there in place of headers, for a person.
    has: Vec<String>,
}

/// So many cells of a row are told.
const CELLS_TOLD_MAX: usize = 12;

impl Near {
    /// Returns whether it is more likely to be the row of headers than another one: it has more of them, or more cells.
    pub(super) fn beats(&self, other: &Self) -> bool {
        (self.found, self.has.len()) > (other.found, other.has.len())
    }

    pub(super) fn has(&self) -> String {
        let more = if self.has.len() > CELLS_TOLD_MAX {
            ", …"
        } else {
            ""
        };
        let told: Vec<String> = self
            .has
            .iter()
            .take(CELLS_TOLD_MAX)
            .map(|cell| shown(cell))
            .collect();
        format!("{} has {}{more}", self.place, told.join(", "))
    }
}

/// Headers of a status, beside those that end in "status".
const STATUSES: [&str; 13] = [
    "state",
    "transactionstate",
    "paymentstate",
    "result",
    "transactionresult",
    "paymentresult",
    "outcome",
    "estado",
    "situacao",
    "etat",
    "statut",
    "hali",
    "hadhi",
];

/// Returns whether a header is that of a status, as in `Transaction Status`.
pub(super) fn is_status(folded: &str) -> bool {
    folded.ends_with("status") || STATUSES.contains(&folded)
}

/// Headers above what says whether a line is a debit or a credit.
const DIRECTIONS: [&str; 10] = [
    "drcr",
    "crdr",
    "debitcredit",
    "creditdebit",
    "debitorcredit",
    "creditordebit",
    "creditdebitindicator",
    "debitcreditindicator",
    "drcrindicator",
    "dcindicator",
];

/// Columns by whose headers a table is known.
const LAID_OUT_BY: [&str; 7] = [
    "date",
    "amount",
    "paid_out",
    "paid_in",
    "direction",
    "status",
    "recipient",
];

/// Names that a list of ours has, and no statement.
const OURS: [[&str; 2]; 2] = [
    ["payer_transaction_id", "state"],
    ["payer_transaction_id", "finding"],
];

/// Returns the cells of a row that something stands in.
fn cells_of(row: &Row<'_>) -> Vec<String> {
    let texts = row.cells.iter().map(|cell| cell.text.trim());
    let texts = texts.filter(|text| !text.is_empty());
    // A header has no number: where there is one, the row may be about somebody.
    let told = |text: &str| match text.contains(char::is_numeric) {
        true => "…".to_owned(),
        false => text.trim_start_matches('\u{feff}').to_owned(),
    };
    texts.map(told).collect()
}

impl Headers {
    /// Finds the columns, or what this row lacks of them.
    pub(super) fn of(row: &Row<'_>, terms: &Terms) -> Result<Result<Self, Near>, StatementError> {
        let cells: Vec<String> = row.cells.iter().map(|cell| folded(cell.text)).collect();
        let mut places = BTreeMap::new();
        let mut missing = Vec::new();
        let mut doubled = None;
        for name in COLUMNS {
            let said = terms.columns.get(name);
            let own = [name.to_owned()];
            let wanted = said.map_or(&own[..], Vec::as_slice);
            let mut found = Vec::new();
            for header in wanted {
                let folded = folded(header);
                let mut at = (0..cells.len()).filter(|at| cells[*at] == folded);
                match (at.next(), at.next()) {
                    (Some(first), second) => {
                        found.push(first);
                        doubled = doubled.or(second.map(|second| (second, header.clone())));
                    }
                    (None, _) if said.is_some() => missing.push(header.clone()),
                    (None, _) => {}
                }
            }
            let is_another = |folded: &String| match name {
                // A status that is not read is a failure that counts as paid.
                "status" => is_status(folded),
                "direction" => DIRECTIONS.contains(&folded.as_str()),
                _ => false,
            };
            if said.is_none() {
                let others = (0..cells.len()).filter(|at| is_another(&cells[*at]));
                let others: Vec<usize> = others.filter(|at| !found.contains(at)).collect();
                found.extend(others);
            }
            if !found.is_empty() {
                places.insert(name, found);
            }
        }
        let names = |name: &str| places.contains_key(name) || terms.columns.contains_key(name);
        if !names("date") {
            missing.push("date".to_owned());
        }
        if !names("amount") && !names("paid_out") {
            missing.push("amount".to_owned());
        }
        match (missing.is_empty(), doubled) {
            (true, Some((second, header))) => Err(StatementError::new(
                &(row.at)(second),
                format!("two columns are called {}", shown(&header)),
                "remove one of them, or give it another name: it is not clear which one is meant",
            )),
            (true, None) => {
                refuse_ours(row)?;
                let names = row.cells.iter().map(|cell| cell.text.trim().to_owned());
                Ok(Ok(Self {
                    places,
                    count: cells.len(),
                    names: names.collect(),
                }))
            }
            (false, _) => Ok(Err(Near {
                place: row.place(),
                found: places.len(),
                missing,
                has: cells_of(row),
            })),
        }
    }

    pub(super) fn all<'t>(&'t self, name: &str) -> &'t [usize] {
        self.places.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns what tells it from the tables of others: the headers above its dates, amounts and people. Other columns are there in one
    /// export, and are missing in the next.
    pub(super) fn layout(&self) -> String {
        let named = LAID_OUT_BY.iter().filter_map(|name| {
            let headers = self.all(name).iter().map(|at| folded(self.name(*at)));
            let headers: Vec<String> = headers.collect();
            (!headers.is_empty()).then(|| format!("{name}={}", headers.join("+")))
        });
        named.collect::<Vec<String>>().join(" ")
    }

    /// Returns whether a column is read.
    pub(super) fn reads(&self, at: usize) -> bool {
        self.places.values().flatten().any(|place| *place == at)
    }

    /// Returns the header above a column.
    pub(super) fn name(&self, at: usize) -> &str {
        self.names.get(at).map_or("", String::as_str)
    }

    /// Returns it for a person.
    pub(super) fn shown(&self, at: usize) -> String {
        match self.name(at) {
            "" => format!("column {}", at + 1),
            name => shown(name),
        }
    }

    /// Returns the headers above columns that are not read.
    pub(super) fn unread(&self) -> Vec<&str> {
        let names = (0..self.count).filter(|at| !self.reads(*at));
        names
            .map(|at| self.name(at))
            .filter(|name| !name.is_empty())
            .collect()
    }
}

/// Refuses a list that this program wrote: it shows what is on record here, and would prove itself.
fn refuse_ours(row: &Row<'_>) -> Result<(), StatementError> {
    let has = |name: &&str| row.cells.iter().any(|cell| cell.text.trim() == *name);
    match OURS.iter().any(|names| names.iter().all(has)) {
        false => Ok(()),
        true => Err(StatementError::new(
            &row.place(),
            "this is a list that this program wrote, and no statement: it shows what is on record here",
            "name the statement of the gateway or the bank",
        )),
    }
}
