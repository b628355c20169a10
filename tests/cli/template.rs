//! Templates: an example that is left in is never paid, and what is filled in is.

use std::os::unix::fs::PermissionsExt;

use crate::desk::Desk;

const KINDS: [&str; 6] = [
    "mobile-money",
    "bank",
    "rtgs",
    "airtime",
    "bill_prepaid",
    "bill-postpaid",
];

#[test]
fn an_example_that_is_left_in_refuses_the_file() {
    let desk = Desk::new();
    for kind in KINDS {
        for form in ["csv", "xlsx"] {
            let flag = format!("--{form}");
            let made = desk
                .run(&["template", kind, &flag, "--sandbox"])
                .finished(0);
            let name = format!("{}.{form}", kind.replace('-', "_"));
            assert_eq!(made.out, format!("{name}\n"), "{made:?}");
            assert!(made.err.contains("disburse check"), "{made:?}");
            let mode = std::fs::metadata(desk.path(&name)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
            let said = desk
                .run(&["load", &name, "--batch", "b", "--sandbox"])
                .finished(2);
            let place = match form {
                "csv" => format!("{name}:2: reference:"),
                _ => format!("{name}:payments!A2"),
            };
            assert!(said.err.contains(&place), "{said:?}");
            assert!(
                said.err.contains("the example row of a template"),
                "{said:?}"
            );
            // The one error says all: what else is made up about the row is not told.
            assert!(!said.err.contains("msisdn"), "{said:?}");
        }
    }
    assert!(!desk.path("disburse.db").exists());
}

#[test]
fn a_form_that_is_missing_is_asked_for_with_every_choice() {
    let desk = Desk::new();
    let said = desk.run(&["template", "bank", "--sandbox"]).finished(2);
    assert!(said.err.contains("<--xlsx|--csv>"), "{}", said.err);
    desk.run(&["template", "bank", "--xlsx", "--csv", "--sandbox"])
        .finished(2);
    assert!(!desk.path("bank.xlsx").exists() && !desk.path("bank.csv").exists());
}

#[test]
fn what_is_filled_in_is_read() {
    let desk = Desk::new();
    desk.run(&[
        "template",
        "bank",
        "--csv",
        "--sandbox",
        "--out",
        "june.csv",
    ])
    .finished(0);
    let text = desk.text("june.csv");
    let header = text.lines().next().unwrap();
    assert!(header.contains("bank_account_number"), "{header}");
    let row = "P-1,BANK_TRANSFER,254712345678,1500.50,KES,KE,Ana Were,Wages,01,Mlima Bank,Ana Were,0012345678901";
    let desk = desk.file("june.csv", format!("{header}\n{row}\n"));
    desk.run(&["load", "june.csv", "--batch", "june", "--sandbox"])
        .finished(0);
}

#[test]
fn nothing_is_written_over_and_what_is_not_there_is_named() {
    let desk = Desk::new().file("bank.csv", "mine");
    desk.refuses(
        &["template", "bank", "--csv", "--sandbox"],
        2,
        &[
            "error: bank.csv: exists already, and stays as it is",
            "hint: name another file with --out",
        ],
    );
    desk.refuses(
        &["template", "banks", "--csv", "--sandbox"],
        2,
        &[
            "error: banks: is no kind of payment",
            "hint: name one of mobile_money, bank, rtgs, airtime, bill_prepaid, bill_postpaid",
        ],
    );
    let configured = Desk::configured();
    configured.refuses(
        &["template", "rtgs", "--xlsx"],
        2,
        &[
            "error: no service of the configuration is of the kind rtgs",
            "hint: there are services of: mobile_money",
        ],
    );
}
