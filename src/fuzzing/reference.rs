//! The same files read by others: the crates csv and serde_json.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::file::File;
use crate::domain::{Amount, AmountField};
use crate::intake::{
    BadPlaces, Error, FIELD_BYTES_MAX, Options, ROW_BYTES_MAX, Row, Rules, raw_rows,
};
use crate::ledger::shield::unshielded;

/// Compares the cells of every row with what the csv crate reads.
pub(super) fn csv(bytes: &[u8], file: &File, options: &Options, rules: &Arc<Rules>) {
    let Some(form) = &file.form else { return };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // An instruction to a spreadsheet is no record; two marks at the front are read as one by the other reader.
    if text.trim_start_matches(['\r', '\n']).starts_with("sep=") || text.starts_with('\u{feff}') {
        return;
    }
    let reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(form.delimiter)
        .from_reader(text.as_bytes());
    let records: Vec<Vec<String>> = reader
        .into_records()
        .map(|record| {
            record
                .expect("text reads as text")
                .iter()
                .map(str::to_owned)
                .collect()
        })
        .collect();
    let (header, records) = records
        .split_first()
        .expect("a file that was opened has a header");
    let names: Vec<&str> = header.iter().map(|name| name.trim()).collect();
    // A blank between a closing quote and the delimiter is dropped here, and kept there.
    let loose = text.contains("\" ");
    if !loose {
        assert_eq!(form.header, names);
    }
    // So many blanks that a limit is broken are an error, and no blank row.
    let is_blank = |record: &&Vec<String>| {
        let whole: usize = record.iter().map(|cell| cell.len() + 1).sum();
        let blank = |cell: &String| cell.trim().is_empty() && cell.len() <= FIELD_BYTES_MAX;
        record.iter().all(blank) && whole <= ROW_BYTES_MAX
    };
    let expected: Vec<&Vec<String>> = records.iter().filter(|record| !is_blank(record)).collect();
    if !loose {
        match &file.error {
            None => assert_eq!(file.rows.len(), expected.len(), "rows are accounted for"),
            Some(_) => assert!(file.rows.len() <= expected.len()),
        }
    }
    let rows = cells(bytes, file, options, rules);
    assert_eq!(rows.len(), file.rows.len());
    // A file that was written to be mended has shields, which come off.
    let is_to_be_mended = (form.header.iter().zip(&form.names))
        .any(|(written, own)| own.is_empty() && !written.is_empty());
    for ((line, found), expected) in rows.iter().zip(expected) {
        let off = |cell: &String| match is_to_be_mended {
            true => unshielded(cell).to_owned(),
            false => cell.clone(),
        };
        let expected: Vec<String> = expected.iter().map(off).collect();
        let whole: usize = expected.iter().map(String::len).sum();
        if expected.iter().any(|cell| cell.len() > FIELD_BYTES_MAX) || 2 * whole > ROW_BYTES_MAX {
            continue;
        }
        if loose {
            let plain = |cells: &[String]| cells.concat().replace([' ', '"'], "");
            assert_eq!(plain(found), plain(&expected), "line {line}");
        } else {
            assert_eq!(found, &expected, "line {line}");
        }
    }
    if !is_to_be_mended && !text.contains(['"', '\r']) {
        by_line(text, form.delimiter, &rows);
    }
}

/// Without quotes a row is its line.
fn by_line(text: &str, delimiter: u8, rows: &[(u64, Vec<String>)]) {
    let lines: Vec<&str> = text.split('\n').collect();
    for (line, found) in rows {
        let written = lines[usize::try_from(*line).unwrap() - 1];
        if written.len() <= FIELD_BYTES_MAX {
            let cells: Vec<&str> = written.split(char::from(delimiter)).collect();
            assert_eq!(*found, cells, "line {line}");
        }
    }
}

/// Returns line and cells of every row that was read.
fn cells(
    bytes: &[u8],
    file: &File,
    options: &Options,
    rules: &Arc<Rules>,
) -> Vec<(u64, Vec<String>)> {
    let line = |row: &Row| match row {
        Row::Good(row) => row.line,
        Row::Unpriced(row) => row.line,
        Row::Bad(row) | Row::Skipped(row) => row.line,
    };
    let mut found = Vec::new();
    let input = std::io::Cursor::new(bytes.to_vec());
    let outcome = raw_rows(
        input,
        options,
        Arc::clone(rules),
        &BadPlaces::default(),
        &(1..=file.rows.len() as u64).collect(),
        |number, cells| {
            assert_eq!(number, found.len() as u64 + 1);
            found.push((line(&file.rows[found.len()]), cells));
        },
    );
    assert_eq!(
        outcome.is_ok(),
        file.error.is_none() || found.len() == file.rows.len()
    );
    for (row, (line, cells)) in file.rows.iter().zip(&found) {
        if let Row::Bad(bad) = row {
            assert_eq!((bad.line, &bad.raw), (*line, cells));
        }
    }
    found
}

/// Compares what was accepted, and how many rows there are, with what serde_json says.
pub(super) fn json(bytes: &[u8], file: &File) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let blanks = [' ', '\t', '\r', '\n'];
    let text = text.trim_matches(blanks);
    let rows: Option<Vec<&RawValue>> = if text.starts_with('[') {
        serde_json::from_str(text).ok()
    } else {
        let lines = text
            .split('\n')
            .filter(|line| !line.trim_matches(blanks).is_empty());
        // A line that is no JSON is one bad row.
        let lines: Vec<Option<&RawValue>> =
            lines.map(|line| serde_json::from_str(line).ok()).collect();
        if file.error.is_none() {
            assert_eq!(file.rows.len(), lines.len(), "lines are accounted for");
        }
        lines.into_iter().collect()
    };
    let all_good = file.error.is_none() && !file.rows.iter().any(|row| matches!(row, Row::Bad(_)));
    let Some(rows) = rows else {
        assert!(!all_good, "what is no JSON was taken");
        return;
    };
    match &file.error {
        None => assert_eq!(file.rows.len(), rows.len(), "rows are accounted for"),
        Some(Error::NoRows(_)) => assert!(rows.is_empty()),
        // Told before JSON is looked at.
        Some(Error::Foreign { .. } | Error::OtherFormat { .. } | Error::Empty) => {}
        Some(error) => panic!("sound JSON was refused: {error}"),
    }
    for (row, raw) in file.rows.iter().zip(rows) {
        match row {
            Row::Good(good) => same_amount(&good.money.digits(), good.money.currency(), raw),
            Row::Unpriced(_) | Row::Bad(_) | Row::Skipped(_) => {}
        }
    }
}

/// The amount that is paid is the one that stands there, digit by digit.
fn same_amount(digits: &str, currency: crate::domain::Currency, raw: &RawValue) {
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(raw.get()).expect("a good row is an object");
    // Headers are known in other letters, too.
    let is_amount = |name: &str| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.collect::<String>().eq_ignore_ascii_case("amount")
    };
    let written = members.iter().find(|(name, _)| is_amount(name));
    let (_, written) = written.expect("a good row has an amount");
    let written = written.get();
    let written = serde_json::from_str::<String>(written).unwrap_or_else(|_| written.to_owned());
    let expected = Amount::parse(digits, currency);
    assert_eq!(
        Amount::parse(written.trim(), currency),
        expected,
        "{written}"
    );
}
