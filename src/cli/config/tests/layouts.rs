//! `[layouts]`: what is read, what is refused, and that what comes along never changes.

use super::*;
use crate::cli::config::{BUILT_IN_LAYOUTS, built_in_layout};
use crate::intake::layout::{Factor, FileKind, HeaderAt, Layout, Period, Place, Taken};

/// A layout with everything in it.
const WHOLE: &str = r#"
[layouts.payroll-1]
written_from = "a test"
header = 4
delimiter = "tab"
encoding = "windows-1252"
sheet = "June"
hidden = "skip"
formulas = "stored"
decimal = ","
group = "."
amount_factor = "0.01"
amount_signs = ["KSh"]
lost_zero = "restore"
period = "required"
empty_amount = "skip"
ignore = ["Gender", 9, "*"]

[layouts.payroll-1.columns]
reference = "Emp No"
msisdn = "Mobile \"No\""
amount = "Net Pay"
customer_names = ["First Name", 3]
narration = { join = ["Dept", "Month"], with = " / " }
bank_account_number = { column = "Payee", when = "Type", is = ["account"] }
hub_id = { column = "Hub", optional = true }
service_code = "Network"
"extra.floor" = "Floor"

[layouts.payroll-1.constants]
currency_code = "KES"

[layouts.payroll-1.values.service_code]
"Safaricom" = "B2C_MPESA"
"" = "B2C_AIRTEL"

[layouts.payroll-1.skip]
"Status" = ["On hold", "", "Prepared by: *"]

[layouts.payroll-1.refuse.12]
"*@*" = "no e-mail"

[layouts.payroll-1.total]
column = 1
marker = "TOTAL"
"#;

fn layout(text: &str, name: &str) -> Layout {
    Folder::with(text).load().layouts.remove(name).unwrap()
}

#[test]
fn a_layout_is_read_and_written_and_read_again() {
    let read = layout(WHOLE, "payroll-1");
    assert_eq!(read.header, HeaderAt::Row(4));
    assert_eq!(read.delimiter, Some(b'\t'));
    assert_eq!(read.sheet.as_deref(), Some("June"));
    assert_eq!(read.hidden, crate::intake::Hiding::Skipped);
    assert!(read.stored_formulas);
    assert!(read.restores_zero);
    assert_eq!(read.period, Period::Open);
    assert!(read.ignores_others);
    let names = read.source("customer_names").unwrap();
    let Taken::From { columns, with } = &names.taken else {
        panic!("{names:?}")
    };
    assert_eq!(columns[1], Place::At(3));
    assert_eq!(with, " ");
    assert_eq!(read.source("service_code").unwrap().values.len(), 2);
    let again = layout(&read.to_toml(), "payroll-1");
    assert_eq!(again, read);
    assert_eq!(again.digest(), read.digest());
}

#[test]
fn a_layout_may_be_like_one_that_comes_along() {
    let text = "[layouts.ours]\nlike = \"121-safaricom-1\"\namount_factor = \"1500\"\n[layouts.ours.constants]\ncountry_code = \"KE\"\nservice_code = \"OURS\"\n";
    let ours = layout(text, "ours");
    let other = built_in_layout("121-safaricom-1").unwrap().unwrap();
    assert!(matches!(ours.factor, Factor::Given(_)) && other.factor == Factor::Open);
    assert_eq!(ours.source("msisdn"), other.source("msisdn"));
    assert_eq!(
        ours.source("service_code").unwrap().taken,
        Taken::Constant("OURS".to_owned())
    );
    assert!(ours.source("service_code").unwrap().values.is_empty());
    assert_ne!(ours.digest(), other.digest());
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, expected) in [
        (
            "[layouts.a]\nheadr = 2\n",
            "disburse.toml:2:1: unknown key \"headr\"",
        ),
        (
            "[layouts.a]\nheader = 0\n[layouts.a.columns]\namount = \"a\"\n",
            "layouts.a.header: expected a row from 1 to 1000",
        ),
        (
            "[layouts.a]\nheader = \"two\"\n",
            "disburse.toml:2:10: layouts.a.header: expected a row from 1 to 1000, or \"none\"",
        ),
        (
            "[layouts.a]\ndelimiter = \":\"\n",
            "expected one of \",\", \";\", \"|\" and \"tab\"",
        ),
        (
            "[layouts.a]\nencoding = \"latin-9\"\n",
            "expected utf-8, utf-16, windows-1252 or iso-8859-1",
        ),
        (
            "[layouts.a]\nlost_zero = true\n",
            "layouts.a.lost_zero: expected a text in quotes",
        ),
        (
            "[layouts.a]\nlost_zero = \"yes\"\n",
            "layouts.a.lost_zero: expected \"error\" or \"restore\"",
        ),
        (
            "[layouts.a]\nperiod = \"2026-12\"\n",
            "layouts.a.period: expected \"required\" or \"none\"",
        ),
        (
            "[layouts.a]\nperiod = \"required\"\n[layouts.a.columns]\namount = \"a\"\n",
            "layouts.a.period: expected a reference among columns",
        ),
        (
            "[layouts.a.columns]\namount = \"a\"\n[layouts.a.skip]\n\"b\" = [\"Prepared by: \"]\n",
            "layouts.a.skip: expected \"Prepared by:\" without spaces around it",
        ),
        (
            "[layouts.a.columns]\namount = \"a\"\n[layouts.a.refuse.b]\n\"**\" = \"no\"\n",
            "layouts.a.refuse: expected \"*\" for any text",
        ),
        ("[layouts.a]\ndecimal = \"..\"\n", "expected \".\" or \",\""),
        (
            "[layouts.a]\namount_factor = 0.01\n",
            "layouts.a.amount_factor: expected a text in quotes, found the number 0.01",
        ),
        (
            "[layouts.a]\nlike = \"mifos-msisdn\"\n",
            "disburse.toml:2:8: unknown layout \"mifos-msisdn\"",
        ),
        (
            "[layouts.mifos-msisdn-1]\nheader = 2\n",
            "comes with disburse and never changes",
        ),
        (
            "[layouts.\"a b\"]\nheader = 2\n",
            "expected a name of at most 64 letters",
        ),
        (
            "[layouts.a.columns]\namuont = \"a\"\n",
            "layouts.a.columns: expected at least amount",
        ),
        (
            "[layouts.a.columns]\namount = \"a\"\nmsidn = \"b\"\n",
            "layouts.a.columns.msidn: expected a column of ours, such as \"msisdn\"",
        ),
        (
            "[layouts.a.columns]\namount = { column = \"a\", when = \"b\" }\n",
            "expected \"when\" and \"is\" together",
        ),
        (
            "[layouts.a.columns]\namount = { colum = \"a\" }\n",
            "unknown key \"colum\"",
        ),
        (
            "[layouts.a.columns]\namount = \"a\"\n[layouts.a.values.narration]\n\"x\" = \"y\"\n",
            "expected a column that stands in columns above it",
        ),
        (
            "[layouts.a.columns]\namount = \"a\"\n[layouts.a.total]\ncolumn = \"a\"\n",
            "column, and marker, is missing",
        ),
    ] {
        let error = Folder::with(text).refusal();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn a_layout_of_messages_begins_with_what_they_have() {
    let text = r#"
[layouts.bank-1]
format = "pain.001"

[layouts.bank-1.columns]
service_code = "To"
bank_code = "BIC"
bank_name = []

[layouts.bank-1.values.service_code]
"phone" = "B2C_MPESA"
"#;
    let read = layout(text, "bank-1");
    assert_eq!(read.kind, FileKind::Pain001);
    let from = |column: &str| match &read.source(column).unwrap().taken {
        Taken::From { columns, .. } => columns.iter().map(Place::text).collect::<Vec<_>>(),
        Taken::Constant(text) => vec![text.clone()],
    };
    assert_eq!(from("reference"), ["column \"EndToEndId\""]);
    assert_eq!(from("not_before"), ["column \"ReqdExctnDt\""]);
    assert_eq!(from("bank_code"), ["column \"BIC\""]);
    assert_eq!(from("bank_name"), [""; 0]);
    let again = layout(&read.to_toml(), "bank-1");
    assert_eq!(again, read);
    assert_eq!(again.digest(), read.digest());
    for (line, expected) in [
        ("format = \"pain.008\"", "\"pain.001\" or \"table\""),
        (
            "format = \"pain.001\"\nheader = 3",
            "nothing: a pain.001 file says it itself",
        ),
        (
            "format = \"pain.001\"\nlike = \"nala-1\"",
            "the format of the layout that it is like",
        ),
        (
            "format = \"pain.001\"\ncolumns.msisdn = \"Mobile\"",
            "names of elements, EndToEndId",
        ),
        (
            "format = \"pain.001\"\ncolumns.msisdn = 3",
            "names of elements, EndToEndId",
        ),
    ] {
        let error = Folder::with(format!("[layouts.a]\n{line}\n")).refusal();
        assert!(error.contains(expected), "{line}\n{error}");
    }
}

/// Identifiers of rows without a reference rest on what a layout makes of a row.
#[test]
fn what_comes_along_never_changes() {
    let found: Vec<(String, String)> = BUILT_IN_LAYOUTS
        .iter()
        .map(|(name, _)| {
            let layout = built_in_layout(name)
                .unwrap()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!layout.written_from.is_empty(), "{name}");
            ((*name).to_owned(), layout.digest()[..16].to_owned())
        })
        .collect();
    let released: Vec<(String, String)> = RELEASED
        .iter()
        .map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned()))
        .collect();
    assert_eq!(found, released, "a changed layout gets another name");
}

const RELEASED: [(&str, &str); 11] = [
    ("mifos-msisdn-1", "81a2015b2ce75575"),
    ("stellar-sms-1", "149201f7afab319a"),
    ("121-safaricom-1", "765078169861bfd3"),
    ("121-airtel-1", "27e36aacd50797a5"),
    ("mpesa-bulk-1", "224611b2e9f0a9bd"),
    ("mtn-bulk-1", "e87cb0113e5c81f4"),
    ("nala-1", "f5b301da0de9feb0"),
    ("kotani-1", "aa0fc05979872ab5"),
    ("erpnext-bank-remittance-1", "2cc9b3d39eca6d11"),
    ("odoo-payment-report-kes-1", "7502ee4389b8aa81"),
    ("paypal-payouts-1", "489c7ac751dcf2a1"),
];
