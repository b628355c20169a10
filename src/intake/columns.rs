//! The columns of the contract, and where they stand in a file.

use std::collections::BTreeMap;

use super::names::{plain, suggestion};
use super::rules::Rules;
use super::text::forbidden;
use super::{Error, record::Record};
use crate::ledger::likeness::folded;

/// The names of the columns, in the order of the contract. Beside them stands `extra.NAME`.
pub const COLUMNS: [&str; 22] = [
    "reference",
    "service_code",
    "msisdn",
    "account_number",
    "amount",
    "currency_code",
    "country_code",
    "narration",
    "customer_names",
    "invoice_number",
    "payment_mode",
    "hub_id",
    "bank_code",
    "bank_name",
    "bank_account_name",
    "bank_account_number",
    "document",
    "date_payment_received",
    "not_before",
    "origin",
    "rejected_row",
    "replaces",
];

/// Columns that say something about a row to a person, in files that this program wrote. A reader ignores them there.
pub(super) const NOTES: [&str; 4] = ["error", "reason", "what_to_do", RAW];

/// The one of them that holds the text of a row which could not be read whole.
pub(super) const RAW: &str = "raw";

fn is_note(name: &str) -> bool {
    NOTES.contains(&name)
}

/// One column of [`COLUMNS`]; its number is its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Reference,
    ServiceCode,
    Msisdn,
    AccountNumber,
    Amount,
    CurrencyCode,
    CountryCode,
    Narration,
    CustomerNames,
    InvoiceNumber,
    PaymentMode,
    HubId,
    BankCode,
    BankName,
    BankAccountName,
    BankAccountNumber,
    Document,
    DatePaymentReceived,
    NotBefore,
    Origin,
    RejectedRow,
    Replaces,
}

impl Field {
    pub(super) const ALL: [Self; 22] = [
        Self::Reference,
        Self::ServiceCode,
        Self::Msisdn,
        Self::AccountNumber,
        Self::Amount,
        Self::CurrencyCode,
        Self::CountryCode,
        Self::Narration,
        Self::CustomerNames,
        Self::InvoiceNumber,
        Self::PaymentMode,
        Self::HubId,
        Self::BankCode,
        Self::BankName,
        Self::BankAccountName,
        Self::BankAccountNumber,
        Self::Document,
        Self::DatePaymentReceived,
        Self::NotBefore,
        Self::Origin,
        Self::RejectedRow,
        Self::Replaces,
    ];

    /// Returns the name in the contract.
    pub(super) fn name(self) -> &'static str {
        COLUMNS[self as usize]
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// What one column of a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// A column of the contract.
    Field(Field),
    /// `extra.NAME`: a member of `extraData`.
    Extra(String),
    /// `extra`: members of `extraData` as a JSON object.
    ExtraObject,
    /// One of [`NOTES`]: what an earlier load or a report said about the row; ignored.
    Note,
    /// No name, as a spreadsheet leaves them at the right; must stay empty.
    Unnamed,
}

/// Why a name is no column.
pub(super) enum NotAColumn {
    Unknown(Option<String>),
    Reserved(&'static str),
}

/// Returns whether it says which row of the journal a row of the file is: of files that this program wrote, every one has it.
pub(super) fn is_link(column: &Column) -> bool {
    matches!(column, Column::Field(Field::RejectedRow | Field::Replaces))
}

/// Returns the name that a header stands for.
fn meant<'a>(header: &'a str, rules: &'a Rules) -> &'a str {
    rules.columns.get(header).map_or(header, String::as_str)
}

/// Tells what a header, or a member of a JSON object, names.
pub(super) fn resolve(header: &str, rules: &Rules) -> Result<Column, NotAColumn> {
    let name = meant(header, rules);
    if let Some(field) = Field::from_name(name) {
        return Ok(Column::Field(field));
    }
    match name {
        "" => Ok(Column::Unnamed),
        note if is_note(note) => Ok(Column::Note),
        EXTRA => Ok(Column::ExtraObject),
        _ => match name.strip_prefix("extra.") {
            Some(extra) => extra_name(extra)
                .map(|()| Column::Extra(extra.to_owned()))
                .map_err(NotAColumn::Reserved),
            None => like(name),
        },
    }
}

/// Tells what a header names that is written in another way than ours.
fn like(name: &str) -> Result<Column, NotAColumn> {
    let written = plain(name);
    match Field::ALL
        .into_iter()
        .find(|field| plain(field.name()) == written)
    {
        Some(field) => Ok(Column::Field(field)),
        None if written == EXTRA => Ok(Column::ExtraObject),
        None => Err(NotAColumn::Unknown(
            suggestion(name, COLUMNS).map(str::to_owned),
        )),
    }
}

/// Returns whether a header is written exactly as a column is called, or as `[columns]` maps it.
pub(super) fn is_exact(header: &str, rules: &Rules) -> bool {
    rules.columns.contains_key(header)
        || Field::from_name(header).is_some()
        || is_note(header)
        || header == EXTRA
        || header.starts_with("extra.")
}

const EXTRA: &str = "extra";

/// The one member of [`OWN_MEMBERS`] that a row may set: the reference of a document that was uploaded by other means.
pub(super) const UPLOADED: &str = "supportDocument";

/// The members of `extraData` that the program writes (section 2.3), and why no file may set one: two members of nearly the
/// same name are read differently by whoever checks a payment and whoever carries it out. The first two decide where
/// results are sent.
const OWN_MEMBERS: [(&str, &str); 8] = [
    ("pushToOriginator", SET),
    ("callbackUrl", SET),
    ("destinationBankCode", "use the column bank_code"),
    ("destinationBankName", "use the column bank_name"),
    // What a sample request calls it.
    ("destinationBank", "use the column bank_name"),
    ("destinationAccountName", "use the column bank_account_name"),
    ("destinationAccountNo", "use the column bank_account_number"),
    (UPLOADED, "write it as extra.supportDocument"),
];

const SET: &str = "this member of extraData is set by the program";

/// Checks the name of a member of `extraData`.
pub(super) fn extra_name(name: &str) -> Result<(), &'static str> {
    let folded = folded(name);
    if let Some((own, reason)) = OWN_MEMBERS
        .iter()
        .find(|(own, _)| own.eq_ignore_ascii_case(&folded))
        && !(*own == UPLOADED && name == UPLOADED)
    {
        return Err(reason);
    }
    if name.is_empty() || name.len() > 64 || name.trim() != name || forbidden(name).is_some() {
        return Err("expected a name of 1 to 64 printable characters after \"extra.\"");
    }
    Ok(())
}

/// Where each column stands in the rows of one file.
pub(super) struct ColumnMap {
    /// The header as it was written.
    pub header: Vec<String>,
    /// What each column is.
    pub columns: Vec<Column>,
    /// Phone numbers that have lost the zero in front of a national number are taken with it, says the layout.
    pub restores_zero: bool,
    index: [Option<usize>; COLUMNS.len()],
}

impl ColumnMap {
    /// Resolves a header.
    ///
    /// # Errors
    /// Unknown, doubled and refused columns, and columns that are missing and have no default.
    pub(super) fn resolve(header: &Record, rules: &Rules) -> Result<Self, Error> {
        let header: Vec<String> = header.cells().map(|name| name.trim().to_owned()).collect();
        let mut columns = Vec::with_capacity(header.len());
        let mut unknown = Vec::new();
        for name in &header {
            match resolve(name, rules) {
                Ok(column) => columns.push(column),
                Err(NotAColumn::Unknown(nearest)) => unknown.push((name.clone(), nearest)),
                Err(NotAColumn::Reserved(reason)) => {
                    return Err(Error::ExtraColumn {
                        name: name.clone(),
                        reason,
                    });
                }
            }
        }
        // In a file of somebody else, what a person wrote under such a name may be why the row is not to be paid.
        if !columns.iter().any(is_link) {
            let notes = header.iter().filter(|name| is_note(meant(name, rules)));
            unknown.extend(notes.map(|name| (name.clone(), None)));
        }
        if !unknown.is_empty() {
            return Err(Error::UnknownColumns(unknown));
        }
        let map = Self::new(header, columns)?;
        let missing = map.missing(rules);
        match missing.is_empty() {
            true => Ok(map),
            false => Err(Error::MissingColumns(missing)),
        }
    }

    /// Returns the map of columns whose names are those of the contract, and whose places are its own.
    ///
    /// # Errors
    /// A name that is no column's, and doubled ones.
    pub(super) fn of_names(names: Vec<String>) -> Result<Self, Error> {
        let columns = names.iter().map(|name| {
            resolve(name, &Rules::default())
                .map_err(|_| Error::UnknownColumns(vec![(name.clone(), None)]))
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        Self::new(names, columns)
    }

    /// Returns the columns that every row needs, and that are neither there nor have a default.
    pub(super) fn missing(&self, rules: &Rules) -> Vec<&'static str> {
        [
            (Field::Msisdn, rules.bank_msisdn.is_some()),
            (Field::Amount, false),
            (Field::ServiceCode, rules.default_service.is_some()),
            (Field::CurrencyCode, rules.always_has_currency()),
            (Field::CountryCode, rules.default_country.is_some()),
        ]
        .into_iter()
        .filter(|(field, has_default)| !has_default && self.position(*field).is_none())
        .map(|(field, _)| field.name())
        .collect()
    }

    /// Returns the layout that rows of JSON are brought into: every column, and `extra` as the last.
    pub(super) fn of_json() -> Self {
        let columns: Vec<Column> = Field::ALL
            .into_iter()
            .map(Column::Field)
            .chain([Column::ExtraObject])
            .collect();
        let header = COLUMNS
            .iter()
            .copied()
            .chain(["extra"])
            .map(str::to_owned)
            .collect();
        let index = std::array::from_fn(Some);
        Self {
            header,
            columns,
            restores_zero: false,
            index,
        }
    }

    fn new(header: Vec<String>, columns: Vec<Column>) -> Result<Self, Error> {
        let mut index = [None; COLUMNS.len()];
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (position, column) in columns.iter().enumerate() {
            let name = match column {
                Column::Field(field) => field.name().to_owned(),
                Column::Extra(name) => format!("extra.{name}"),
                Column::ExtraObject => "extra".to_owned(),
                Column::Note => header[position].clone(),
                Column::Unnamed => continue,
            };
            // Two members of `extraData` that differ in letter case alone are one to many a reader.
            let key = match column {
                Column::Extra(_) => folded(&name),
                _ => name.clone(),
            };
            if let Some(first) = seen.insert(key, position) {
                return Err(Error::DoubledColumn {
                    written: [first, position].map(|at| header[at].clone()),
                    name,
                    first: first + 1,
                    second: position + 1,
                });
            }
            if let Column::Field(field) = column {
                index[*field as usize] = Some(position);
            }
        }
        Ok(Self {
            header,
            columns,
            restores_zero: false,
            index,
        })
    }

    /// Returns whether the file is one of those that this program writes for a person to mend.
    pub(super) fn is_to_be_mended(&self) -> bool {
        self.columns.contains(&Column::Note)
            || self.position(Field::RejectedRow).is_some()
            || self.position(Field::Replaces).is_some()
    }

    /// Returns the text that an earlier load kept of a row, where nothing else stands in this one.
    pub(super) fn only_text<'a>(&self, record: &'a Record) -> Option<&'a str> {
        let at = self.header.iter().position(|name| name == RAW)?;
        let text = record.cell(at).trim();
        let is_own = |index: usize| !self.own_name(index).is_empty();
        let is_bare = (0..record.len()).all(|at| !is_own(at) || record.cell(at).trim().is_empty());
        (is_bare && !text.is_empty()).then_some(text)
    }

    /// Returns what a column is called in the contract; empty when it is no part of the row.
    pub(super) fn own_name(&self, index: usize) -> String {
        match self.columns.get(index) {
            Some(
                Column::Note
                | Column::Unnamed
                | Column::Field(Field::RejectedRow | Field::Replaces),
            )
            | None => String::new(),
            Some(_) => self.name(index).unwrap_or_default(),
        }
    }

    /// Returns how many cells a row should have, and how many it has, where that is not the same.
    pub(super) fn misfit(&self, record: &Record) -> Option<(usize, usize)> {
        let own = (self.columns.len(), record.len());
        record.misfit.or((own.0 != own.1).then_some(own))
    }

    /// Returns where a column stands.
    pub(super) fn position(&self, field: Field) -> Option<usize> {
        self.index[field as usize]
    }

    /// Returns the trimmed cell of a column; empty when there is none.
    pub(super) fn cell<'a>(&self, record: &'a Record, field: Field) -> &'a str {
        self.position(field)
            .map_or("", |index| record.cell(index).trim())
    }

    /// Returns where the column stands that errors name so.
    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        (0..self.columns.len()).find(|at| self.name(*at).as_deref() == Some(name))
    }

    /// Returns the name errors use for a column, by its position.
    pub(super) fn name(&self, index: usize) -> Option<String> {
        Some(match self.columns.get(index)? {
            Column::Field(field) => field.name().to_owned(),
            Column::Extra(name) => format!("extra.{name}"),
            Column::ExtraObject => "extra".to_owned(),
            Column::Note => self.header.get(index)?.clone(),
            Column::Unnamed => return None,
        })
    }
}
