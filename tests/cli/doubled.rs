//! People who may be in one file twice: shown with both lines, also beside errors, and no more once one of them is withdrawn.

use crate::desk::Desk;

const NAMED: &str = "reference,service_code,msisdn,amount,currency_code,country_code,customer_names\n\
     R-1,B2C_MPESA,254712345678,100.00,KES,KE,Ann Wanjiru\n\
     R-2,B2C_MPESA,254712345679,200.00,KES,KE,Ben Otieno\n\
     R-3,B2C_MPESA,254712345678,100.00,KES,KE,Ann Wanjiru\n";
const WARNING: &str = "1 row of named.csv pays the same person (number and name) the same amount as another row of it, under another \
     reference: line 4 (like 2)";

#[test]
fn a_doubled_person_is_shown_with_both_lines_beside_the_errors_too() {
    let bad = format!("{NAMED}R-4,B2C_MPESA,25471,100.00,KES,KE,Cy\n");
    for (file, code) in [(NAMED, 0), (&bad, 2)] {
        let desk = Desk::configured().file("named.csv", file);
        for command in [
            &["check", "named.csv"][..],
            &["load", "named.csv", "--batch", "b"],
        ] {
            let said = desk.run(command).finished(code);
            assert!(
                said.err.contains(&format!("warning: {WARNING}\n")),
                "{command:?}: {}",
                said.err
            );
        }
    }
}

#[test]
fn a_doubled_person_is_shown_no_more_once_one_row_is_withdrawn() {
    for (withdrawn, is_shown) in [("R-2", true), ("R-1", false), ("R-3", false)] {
        let desk = Desk::configured().file("named.csv", NAMED);
        desk.run(&["load", "named.csv", "--batch", "b"]).finished(0);
        desk.run(&["cancel", "b", withdrawn, "--yes"]).finished(0);
        let said = desk.run(&["run", "b", "--yes", "--max-wait", "1s"]);
        assert_eq!(
            said.err.contains(&format!("note: {WARNING}\n")),
            is_shown,
            "{withdrawn}: {}",
            said.err
        );
    }
}
