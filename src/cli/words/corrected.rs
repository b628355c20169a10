//! What a load says of rows that correct others.

use crate::cli::terminal::output;
use crate::journal::{ChangedRow, ChangedRows};

/// Says how many rejected rows have their mended ones.
pub(in crate::cli) fn mended_text(mended: u64) -> String {
    let verb = if mended == 1 { "takes" } else { "take" };
    format!(
        "{} {verb} the place of what was rejected",
        output::counted(mended, "mended row")
    )
}

/// Says what was changed in corrected rows, row by row: a number that was mended may not be all that is another one.
pub(in crate::cli) fn changed_texts(changed: &ChangedRows) -> Vec<String> {
    let mut texts: Vec<String> = changed.rows.iter().map(changed_text).collect();
    match changed.count - changed.rows.len() as u64 {
        0 => {}
        more => texts.push(format!(
            "and {} changed in this way",
            output::counted(more, "more corrected row")
        )),
    }
    texts
}

fn changed_text(row: &ChangedRow) -> String {
    let columns = row.columns.iter().map(|changed| {
        let shown = |text: &str| match (text, changed.column.as_str()) {
            ("", _) => "nothing".to_owned(),
            (text, "msisdn" | "account_number" | "bank_account_number") => masked(text),
            (text, _) => output::name(text),
        };
        let (was, is) = (shown(&changed.was), shown(&changed.is));
        // Numbers that look alike once they are masked differ all the same.
        let unseen = match was == is {
            true => ", with other digits in front of these",
            false => "",
        };
        format!("{} is {is}, was {was}{unseen}", changed.column)
    });
    let columns = columns.collect::<Vec<_>>().join("; ");
    match row.replaces {
        Some(id) => format!("line {} changes payment {id}: {columns}", row.line),
        None => format!(
            "line {} changes more of the rejected row than what was wrong with it: {columns}",
            row.line
        ),
    }
}

/// Returns a number less all but its last digits.
pub(in crate::cli) fn masked(text: &str) -> String {
    const SHOWN: usize = 4;
    let hidden = text.chars().count().saturating_sub(SHOWN);
    let end: String = text.chars().skip(hidden).collect();
    format!("{}{}", "*".repeat(hidden), output::name(&end))
}

/// Says how many failed payments have their corrected rows.
pub(in crate::cli) fn replaced_text(replaced: u64) -> String {
    let (is, its) = match replaced {
        1 => ("is", "its corrected row"),
        _ => ("are", "their corrected rows"),
    };
    format!(
        "{} {is} to be paid again by {its}, each under a new identifier",
        output::counted(replaced, "failed payment")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::changed_columns::ChangedColumn;

    #[test]
    fn a_change_is_seen_whatever_is_masked_of_it() {
        for (column, was, is, expected) in [
            (
                "amount",
                "85917.48",
                "85971.48",
                "amount is 85971.48, was 85917.48",
            ),
            (
                "msisdn",
                "254712347853",
                "254712347854",
                "msisdn is ********7854, was ********7853",
            ),
            (
                "msisdn",
                "254712347853",
                "254733347853",
                "msisdn is ********7853, was ********7853, with other digits in front of these",
            ),
            (
                "bank_account_number",
                "",
                "0123456",
                "bank_account_number is ***3456, was nothing",
            ),
        ] {
            let row = ChangedRow {
                line: 3,
                replaces: None,
                columns: vec![ChangedColumn {
                    column: column.to_owned(),
                    was: was.to_owned(),
                    is: is.to_owned(),
                }],
            };
            let text = changed_text(&row);
            assert!(text.ends_with(expected), "{text}");
        }
    }
}
