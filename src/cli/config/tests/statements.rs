//! `[statements]`: what is read, what is refused, and where the nearest name is told.

use super::*;
use crate::intake::{Encoding, Hiding};
use crate::statement::{Format, Terms};

/// A statement with everything in it.
const WHOLE: &str = r#"
[statements.wallet-1]
format = "csv"
account = "600600"
header = 5
currency = "KES"
date_format = "%d/%m/%Y %H:%M"
delimiter = ";"
decimal = ","
encoding = "windows-1252"
paid_out = true
booked = "Done"
pending = ["Waiting", "Queued"]
not_executed = ["Void"]
reversed = ["Undone"]
charges = ["Fee"]
sheet = "June"
hidden = "skip"
formulas = "stored"

[statements.wallet-1.columns]
date = "Completed"
amount = "Sum"
reference = ["Ref", "Order"]
"#;

fn terms(text: &str) -> Terms {
    Folder::with(text)
        .load()
        .statements
        .remove("wallet-1")
        .unwrap()
}

#[test]
fn every_key_of_a_statement_is_read() {
    let read = terms(WHOLE);
    assert_eq!(read.format, Some(Format::Csv));
    assert_eq!(read.account.as_deref(), Some("600600"));
    assert_eq!((read.header, read.decimal), (Some(5), Some(',')));
    assert_eq!((read.delimiter, read.paid_out), (Some(b';'), Some(true)));
    assert_eq!(read.date_format.as_deref(), Some("%d/%m/%Y %H:%M"));
    assert_eq!(read.encoding, Some(Encoding::Windows1252));
    assert_eq!((read.booked.len(), read.pending.len()), (1, 2));
    assert_eq!(
        (read.sheet.as_deref(), read.hidden),
        (Some("June"), Some(Hiding::Skipped))
    );
    assert_eq!(read.stored_formulas, Some(true));
    assert_eq!(read.columns["reference"], ["Ref", "Order"]);
    // No key is left out above, and none stays as it is where nothing is said.
    for (key, _) in Terms::KEYS {
        assert!(WHOLE.contains(key), "{key}");
    }
    assert_eq!(terms("[statements.wallet-1]\n"), Terms::default());
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_nearest_name() {
    for (text, expected) in [
        (
            "[statements.w]\ncurency = \"KES\"\n",
            "did you mean \"currency\"?",
        ),
        ("[statement.w]\n", "did you mean \"statements\"?"),
        (
            "[statements.w.columns]\nreciept = \"No\"\n",
            "unknown column \"reciept\"\ndid you mean \"receipt\"?",
        ),
        ("[statements.w]\ncolumns = \"date\"\n", "expected a table"),
        (
            "[statements.w.columns]\ndate = \"\"\n",
            "the header that stands above it",
        ),
        (
            "[statements.w]\ncurrency = \"Shilling\"\n",
            "a code such as KES",
        ),
        (
            "[statements.w]\ncurrency = 404\n",
            "a text in quotes, found the number 404",
        ),
        ("[statements.w]\npaid_out = \"yes\"\n", "true or false"),
        ("[statements.w]\nheader = 0\n", "a row from 1 to 1000"),
        ("[statements.w]\nheader = \"none\"\n", "a number from 1"),
        ("[statements.w]\nbooked = []\n", "words of the statement"),
        ("[statements.w]\nbooked = [1]\n", "texts in quotes"),
        (
            "[statements.w]\ndate_format = \"dd/mm/yyyy\"\n",
            "such as %d/%m/%Y",
        ),
        (
            "[statements.w]\nformat = \"pdf\"\n",
            "csv, xlsx, mt940 or camt",
        ),
        (
            "[statements.w]\nformat = \"mt940\"\ndecimal = \",\"\n",
            "which this format does not have",
        ),
        (
            "[statements.\"a b\"]\n",
            "letters, digits, dots, hyphens and underscores",
        ),
        ("statements = 1\n", "expected a table"),
        ("[statements]\nw = 1\n", "expected a table"),
        // `--layout NAME` means one thing in every command.
        ("[statements.nala-1]\n", "another name"),
        (
            "[layouts.w.columns]\namount = \"a\"\n[statements.w]\n",
            "another name",
        ),
        (
            "[statements.w]\n[layouts.w.columns]\namount = \"a\"\n",
            "another name",
        ),
    ] {
        let error = Folder::with(text).refusal();
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(error.contains("disburse.toml:"), "{text}\n{error}");
    }
}
