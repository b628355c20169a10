//! A row with errors, as a batch sets it aside: what is kept of it, and the name by which its mended row says what it corrects.

use sha2::{Digest, Sha256};

use crate::domain::BatchName;
use crate::intake::{BadRow, Form};
use crate::journal::RejectedRow;
use crate::ledger::correction::{Corrects, RejectedName};
use crate::ledger::unread::UNREAD;

/// Returns the name that a bad row has in the corrections: that of the rejected row that it was to correct, or its own where
/// it is set aside.
pub(in crate::cli) fn name_of(
    corrects: Option<&Corrects>,
    batch: Option<&BatchName>,
    digest: &[u8; 32],
) -> String {
    match (corrects, batch) {
        (Some(Corrects::Rejected(name)), _) => name.clone(),
        (Some(Corrects::Failed(_)), _) | (None, None) => String::new(),
        (None, Some(batch)) => RejectedName::of(batch, digest).to_string(),
    }
}

/// Returns a bad row as it is set aside.
pub(in crate::cli) fn rejected(row: &BadRow, form: &Form) -> RejectedRow {
    let cell = |name: &str| {
        if let Some(mapped) = &row.mapped {
            let own = mapped.iter().find(|(own, _)| own == name);
            return own
                .filter(|_| row.unread.is_none())
                .map(|(_, text)| text.trim().chars().take(128).collect())
                .unwrap_or_default();
        }
        let at = form.header.iter().position(|header| header.trim() == name);
        let at = at.or_else(|| form.names.iter().position(|own| own == name));
        at.and_then(|at| row.cells().get(at))
            .map(|text| text.chars().take(128).collect())
            .unwrap_or_default()
    };
    RejectedRow {
        line: row.line,
        reference: row.reference.clone().unwrap_or_default(),
        service_code: row
            .service
            .clone()
            .filter(|_| row.unread.is_none())
            .unwrap_or_default(),
        msisdn: cell("msisdn"),
        account_number: cell("account_number"),
        amount_text: cell("amount"),
        currency_code: row.amount.map_or_else(
            || cell("currency_code"),
            |money| money.currency.code().to_owned(),
        ),
        money: row.amount,
        errors: row.error_text(),
        digest: content_digest(row, form),
        cells: own_cells(row, form),
    }
}

/// What says of a row what it corrects is none of its cells.
const NO_CELLS: [&str; 3] = ["rejected_row", "replaces", UNREAD];

/// Returns what the row has by the names of the contract, as a JSON object.
fn own_cells(row: &BadRow, form: &Form) -> String {
    if let Some(unread) = &row.unread {
        return serde_json::json!({ UNREAD: unread.text }).to_string();
    }
    if let Some(mapped) = &row.mapped {
        let own = mapped
            .iter()
            .filter(|(name, cell)| !NO_CELLS.contains(&name.as_str()) && !cell.is_empty())
            // What a spreadsheet has made of it is not handed on as what was meant.
            .filter(|(name, _)| row.is_as_written(name));
        let own = own.map(|(name, cell)| (name.clone(), cell.as_str().into()));
        return serde_json::Value::Object(own.collect()).to_string();
    }
    let cells: serde_json::Map<String, serde_json::Value> = form
        .names
        .iter()
        .zip(&row.raw)
        .filter(|(name, cell)| !name.is_empty() && !cell.is_empty() && row.is_as_written(name))
        .map(|(name, cell)| (name.clone(), cell.as_str().into()))
        .collect();
    serde_json::Value::Object(cells).to_string()
}

/// Returns SHA-256 over what the row has, by the names of the columns: what is wrong with it changes with the rules, and what
/// an earlier load said of it is not the row's.
fn content_digest(row: &BadRow, form: &Form) -> [u8; 32] {
    if let Some(unread) = &row.unread {
        return unread.digest;
    }
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    };
    let mut is_bare = true;
    for (at, cell) in row.raw.iter().enumerate() {
        let name = form.header.get(at).map_or("", |name| name.trim());
        // What is beyond the header is the row's, too.
        let is_own = form.names.get(at).is_none_or(|name| !name.is_empty());
        if is_own && !cell.is_empty() {
            part(name);
            part(cell);
            is_bare = false;
        }
    }
    // Of what has nothing of its own no two are equal.
    if is_bare {
        part(&row.line.to_string());
    }
    hash.finalize().into()
}
