//! "Was I paid?": rows are found by reference in any batch, by phone number, and when they were rejected.

use crate::desk::{Desk, HEADER, ROWS};

const BAD: &str = "R-4,B2C_MPESA,07123456,77.00,KES,KE\n";

/// Batch `b` of four rows, the last of them rejected; batch `c` with the first person again, and a second one's.
fn two_batches() -> Desk {
    let desk = Desk::new()
        .file("ok.csv", format!("{HEADER}{ROWS}{BAD}"))
        .file(
            "more.csv",
            format!("{HEADER}R-1,B2C_MPESA,254712345678,15.00,KES,KE\nX-9,B2C_MPESA,254712340000,50.00,KES,KE\n"),
        );
    for (file, batch) in [("ok.csv", "b"), ("more.csv", "c")] {
        desk.run(&[
            "load",
            file,
            "--batch",
            batch,
            "--sandbox",
            "--on-error",
            "skip",
        ])
        .finished(0);
    }
    desk
}

#[test]
fn a_row_is_found_without_its_batch_and_two_are_told_apart() {
    let desk = two_batches();
    let said = desk.run(&["explain", "X-9"]).finished(0);
    assert!(
        said.out
            .contains("line 3 of more.csv, reference X-9, B2C_MPESA KES 50.00 to ********0000\n"),
        "{}",
        said.out
    );
    let id = said.out.split(':').next().unwrap();
    assert_eq!(desk.run(&["explain", id]).finished(0).out, said.out);
    assert_eq!(desk.run(&["explain", "--id", id]).finished(0).out, said.out);
    let said = desk.run(&["explain", "R-1"]).finished(0);
    for told in [
        "2 rows with reference R-1\n",
        "  batch b, line 2 of ok.csv, reference R-1, KES 100.00: not sent yet: disburse explain b --id ",
        "  batch c, ",
    ] {
        assert!(said.out.contains(told), "{told}: {}", said.out);
    }
    let said = desk.run(&["explain", "R-77"]).finished(2);
    assert!(
        said.err.contains("has no batch and no row named \"R-77\""),
        "{}",
        said.err
    );
}

#[test]
fn a_row_is_found_by_its_number_which_is_never_shown() {
    let desk = two_batches();
    // The second one is of one row alone, and is explained; the third has none.
    for (number, code, told) in [
        (
            "254712345678",
            0,
            "2 rows to ********5678\n  batch b, line 2 of ok.csv, reference R-1, KES 100.00: not sent yet: disburse explain b --id ",
        ),
        ("+254 733 345 678", 0, "line 3 of ok.csv, reference R-2"),
        (
            "254712349999",
            2,
            "no row of this journal pays ********9999",
        ),
        ("12", 2, "no phone number of 2 digits"),
    ] {
        let said = desk
            .run(&["explain", "--phone", number, "-vv"])
            .finished(code);
        let all = format!("{}{}", said.out, said.err);
        assert!(all.contains(told), "{number}: {all}");
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        if digits.len() > 2 {
            assert!(!all.contains(&digits), "{all}");
            assert!(!all.contains(number), "{all}");
        }
    }
    let said = desk
        .run(&["explain", "c", "--phone", "254712345678"])
        .finished(0);
    assert!(said.out.contains("line 2 of more.csv"), "{}", said.out);
    let listed = desk
        .run(&["explain", "--phone", "254712345678", "--json"])
        .finished(0)
        .json();
    assert_eq!(listed[1]["batch"], "c");
    desk.run(&[
        "explain",
        listed[1]["payer_transaction_id"].as_str().unwrap(),
    ])
    .finished(0);
}

#[test]
fn a_rejected_row_is_explained_and_so_is_what_took_its_place() {
    let desk = two_batches();
    let said = desk.run(&["explain", "b", "R-4"]).finished(0);
    for told in [
        "line 5 of ok.csv, reference R-4, B2C_MPESA KES 77.00 to ****3456\n",
        "  Rejected, and never sent: it paid nobody.",
        " EAT  loaded, and set aside: ",
    ] {
        assert!(said.out.contains(told), "{told}: {}", said.out);
    }
    assert!(!said.out.contains("07123456"), "{}", said.out);
    let corrections = desk.text("ok.corrections.csv");
    let mended = corrections.replace("'07123456", "254712345670");
    let desk = desk.file("mended.csv", mended);
    desk.run(&["load", "mended.csv", "--batch", "b", "--amend", "--sandbox"])
        .finished(0);
    let said = desk.run(&["explain", "b", "R-4"]).finished(0);
    for told in [
        "line 2 of mended.csv, reference R-4",
        "  takes the place of line 5 of ok.csv, which was rejected: ",
        "load \"mended.csv\": by ",
    ] {
        assert!(said.out.contains(told), "{told}: {}", said.out);
    }
    assert!(
        !said.out.contains("load \"ok.csv\""),
        "that load brought other rows: {}",
        said.out
    );
}

#[test]
fn a_row_is_found_by_the_name_of_whom_it_pays() {
    let header = HEADER.trim_end().to_owned() + ",customer_names\n";
    let desk = Desk::new().file(
        "named.csv",
        format!(
            "{header}R-1,B2C_MPESA,254712345678,15.00,KES,KE,Esther Njoroge\nR-2,B2C_MPESA,254712345679,25.00,KES,KE,Peter Njoroge\n\
             R-3,B2C_MPESA,07123456,35.00,KES,KE,Njoroge Ann\n"
        ),
    );
    let load = [
        "load",
        "named.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
    ];
    desk.run(&load).finished(0);
    let said = desk.run(&["explain", "--customer", "njoroge"]).finished(0);
    assert!(
        said.out
            .starts_with("3 rows for njoroge\n  batch b, line 2 of "),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("line 4 of named.csv, reference R-3, Njoroge Ann, KES 35.00: rejected"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("line 2 of named.csv, reference R-1, Esther Njoroge, KES 15.00: "),
        "{}",
        said.out
    );
    let said = desk
        .run(&["explain", "b", "--customer", "ESTHER"])
        .finished(0);
    assert!(
        said.out.contains("line 2 of named.csv, reference R-1"),
        "{}",
        said.out
    );
    desk.refuses(
        &["explain", "--customer", "Nobody"],
        2,
        &[
            "error: no row of this journal pays Nobody",
            "hint: another journal may have it (--journal); `disburse status` lists the batches of this one",
        ],
    );
    desk.refuses(
        &["explain", "--customer", "N"],
        2,
        &["error: --customer: expected at least 3 letters of a name, found \"N\""],
    );
}
