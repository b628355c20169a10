//! The file of bad rows goes back in.

use std::collections::BTreeSet;

use super::*;

fn corrections(file: &str) -> String {
    let reader = open(file, rules()).unwrap();
    let mut out = Corrections::create(std::io::Cursor::new(Vec::new()), &reader.form()).unwrap();
    for row in reader {
        if let Row::Bad(bad) = row.unwrap() {
            out.write(&bad, "").unwrap();
        }
    }
    String::from_utf8(out.finish().unwrap().into_inner()).unwrap()
}

#[test]
fn bad_rows_are_kept_as_they_were_and_can_be_mended() {
    let file = "service_code;msisdn;amount;narration\nB2C_MPESA;254712345678;50;fine\nB2C_MPESA; 254712;50;\"a;\"\"b\"\"\"\n";
    let written = corrections(file);
    assert_eq!(
        written,
        "service_code;msisdn;amount;narration;rejected_row;raw;error\n\
         B2C_MPESA; 254712;50;\"a;\"\"b\"\"\";;;\"msisdn: expected 12 digits for KE, found 6 (\"\"254712\"\")\"\n"
    );
    // Loaded as it is, it says the same again, and has still one column of errors.
    assert_eq!(corrections(&written), written);
    let mended = written.replace(" 254712;", "254712345678;");
    assert_eq!(good(&read(mended)[0]).narration, "a;\"b\"");
}

#[test]
fn misshapen_rows_are_kept_by_their_text() {
    let file = "service_code,msisdn,amount\nB2C_MPESA,254712345678,1,500\nB2C_MPESA\n";
    let written = corrections(file);
    let rows: Vec<&str> = written.lines().collect();
    assert_eq!(
        rows[1],
        ",,,,\"B2C_MPESA,254712345678,1,500\",\"expected 3 cells as in the header, found 4. Type the cells of the row anew, as they stand in the column raw. If several rows stand there, add a row for each\""
    );
    assert_eq!(
        rows[2],
        ",,,,B2C_MPESA,\"expected 3 cells as in the header, found 1. Type the cells of the row anew, as they stand in the column raw. If several rows stand there, add a row for each\""
    );
    // Nothing of them passes, and their texts go round.
    let said = errors(&read(written.as_str()));
    assert!(
        said.iter().any(|said| said.starts_with("2: msisdn: "))
            && said.iter().any(|said| said.starts_with("3: msisdn: "))
    );
    let again = corrections(&written);
    let row = again.lines().nth(1).unwrap();
    assert!(
        row.starts_with(",,,,\"B2C_MPESA,254712345678,1,500\","),
        "{row}"
    );
}

#[test]
fn rows_of_json_become_rows_of_csv() {
    let file = r#"[{"service_code":"B2C_MPESA","msisdn":254712,"amount":50,"extra":{"a":"x, y"},"extra.b":2},{"oops":1}, 7]"#;
    let written = corrections(file);
    let header = written.lines().next().unwrap();
    assert!(
        header.starts_with("reference,service_code,msisdn,")
            && header
                .ends_with(",document,date_payment_received,not_before,origin,rejected_row,replaces,extra,raw,error")
    );
    assert!(!written.starts_with('\u{feff}'));
    let mended = written
        .lines()
        .take(2)
        .collect::<Vec<_>>()
        .join("\n")
        .replace("254712,", "254712345678,");
    let rows = read(mended);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(good(&rows[0]).extra, [pair("a", "x, y"), pair("b", "2")]);
    // Nothing is lost on the way: a row without any cell is no empty row.
    assert_eq!(read(written).len(), 3);
}

#[test]
fn formulas_are_shielded_and_the_shield_comes_off_again() {
    let file = "service_code,msisdn,amount,narration\nB2C_MPESA,254712,-5,=1+1\nB2C_MPESA,254712,50,'tis\n";
    let written = corrections(file);
    assert!(
        written.contains("\nB2C_MPESA,254712,'-5,'=1+1,,"),
        "{written}"
    );
    assert_eq!(
        corrections(&written),
        written,
        "it goes round without a change"
    );
    let mended = written
        .replace("254712,", "254712345678,")
        .replace("'-5", "50");
    let rows = read(mended);
    assert_eq!(good(&rows[0]).narration, "=1+1");
    assert_eq!(good(&rows[1]).narration, "'tis");
    // In a file that nobody wrote for a spreadsheet, it is what somebody wrote.
    let rows = read("service_code,msisdn,amount,narration\nB2C_MPESA,254712345678,50,'=1\n");
    assert_eq!(good(&rows[0]).narration, "'=1");
}

#[test]
fn a_rejected_row_has_its_name_in_the_corrections() {
    let file = "service_code,msisdn,amount\nB2C_MPESA,254712,50\n";
    let mut reader = open(file, rules()).unwrap();
    let mut out = Corrections::create(std::io::Cursor::new(Vec::new()), &reader.form()).unwrap();
    let Some(Ok(Row::Bad(bad))) = reader.next() else {
        panic!("the row is bad");
    };
    assert_eq!(reader.corrects(), None);
    out.write(&bad, "row-1").unwrap();
    let written = String::from_utf8(out.finish().unwrap().into_inner()).unwrap();
    assert!(written.starts_with(
        "service_code,msisdn,amount,rejected_row,raw,error\nB2C_MPESA,254712,50,row-1,,"
    ));
    let mut reader = open(written, rules()).unwrap();
    reader.next().unwrap().unwrap();
    assert_eq!(
        reader.corrects(),
        Some(&crate::ledger::correction::Corrects::Rejected(
            "row-1".into()
        ))
    );
}

#[test]
fn a_byte_order_mark_is_kept_for_the_spreadsheet() {
    let written = corrections("\u{feff}service_code,msisdn,amount\nB2C_MPESA,1,50\n");
    assert!(written.starts_with("\u{feff}service_code,"));
    assert_eq!(errors(&read(written)).len(), 1);
}

#[test]
fn cells_of_good_rows_are_fetched_again_by_their_number() {
    let file = "service_code,msisdn,amount\nB2C_MPESA,1,50\n\nB2C_MPESA,2, x\nB2C_MPESA,3,50\n";
    let mut found = Vec::new();
    // The first row is bad: the second one of the file is the first good one.
    let mut bad = BadPlaces::default();
    [true, false, false].into_iter().for_each(|is| bad.push(is));
    let wanted: BTreeSet<u64> = [1, 99].into();
    raw_rows(
        Cursor::new(file),
        &Options::default(),
        rules(),
        &bad,
        &wanted,
        |number, cells| found.push((number, cells)),
    )
    .unwrap();
    assert_eq!(
        found,
        [(
            1,
            vec!["B2C_MPESA".to_owned(), "2".to_owned(), " x".to_owned()]
        )]
    );
    raw_rows(
        Cursor::new(""),
        &Options::default(),
        rules(),
        &BadPlaces::default(),
        &BTreeSet::new(),
        |_, _| panic!("no row was asked for"),
    )
    .unwrap();
}
