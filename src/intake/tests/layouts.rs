//! Files of other programs, read by a layout.

use super::super::layout::{
    Condition, EmptyAmount, Factor, HeaderAt, Layout, Numbers, Place, Refusal, Source, Taken, Total,
};
use super::*;

fn name(text: &str) -> Place {
    Place::Name(text.to_owned())
}

fn from(column: &str, names: &[&str]) -> Source {
    Source {
        column: column.to_owned(),
        taken: Taken::From {
            columns: names.iter().map(|text| name(text)).collect(),
            with: " ".to_owned(),
        },
        values: Vec::new(),
        when: None,
        optional: false,
    }
}

fn constant(column: &str, text: &str) -> Source {
    Source {
        taken: Taken::Constant(text.to_owned()),
        ..from(column, &[])
    }
}

/// A sheet with phone, name in two columns, and net pay.
fn payroll() -> Layout {
    Layout {
        columns: vec![
            from("reference", &["Emp No"]),
            from("msisdn", &["Mobile"]),
            from("amount", &["Net Pay"]),
            from("customer_names", &["First Name", "Last Name"]),
            constant("service_code", "B2C_MPESA"),
        ],
        ignore: vec![name("Gender")],
        ..Layout::named("payroll-1")
    }
}

const HEADER: &str = "Emp No,Mobile,Net Pay,First Name,Last Name,Gender";

fn reader(file: &str, layout: &Layout) -> Result<Reader, Error> {
    let options = Options {
        layout: Some(Arc::new(layout.clone())),
        ..Options::default()
    };
    Reader::open(Cursor::new(file.as_bytes().to_vec()), &options, rules())
}

/// What became of every row, in one line each; or why the file was refused.
fn told(file: &str, layout: &Layout) -> Vec<String> {
    let refused = |error: Error| {
        let line = error
            .line()
            .map_or(String::new(), |line| format!("{line}: "));
        format!("{line}{error}")
    };
    let reader = match reader(file, layout) {
        Ok(reader) => reader,
        Err(error) => return vec![refused(error)],
    };
    let mut told = Vec::new();
    for row in reader {
        match row {
            Ok(Row::Good(row)) => told.push(format!(
                "{} {} {} {} to {} {}",
                row.line,
                row.reference
                    .as_ref()
                    .map_or("-", |reference| reference.as_str()),
                row.money.currency,
                row.money,
                row.msisdn.as_str(),
                row.customer_names,
            )),
            Ok(Row::Unpriced(row)) => told.push(format!("{} waits for its bill", row.line)),
            Ok(Row::Bad(bad)) => told.extend(bad.errors.iter().map(ToString::to_string)),
            Ok(Row::Skipped(row)) => told.push(format!("{} {}", row.line, row.error_text())),
            Err(error) => told.push(refused(error)),
        }
    }
    told
}

#[track_caller]
fn assert_told(file: &str, layout: &Layout, expected: &[&str]) {
    assert_eq!(told(file, layout), expected, "{file}");
}

#[test]
fn columns_are_taken_by_their_names_however_they_are_written() {
    let row = "E1,0712345678,1500.50,Esther,Were,F";
    let expected = ["2 E1 KES 1500.50 to 254712345678 Esther Were"];
    for header in [
        HEADER,
        "EMP NO,mobile,NET_PAY,first-name,Last Name ,Génder",
        "emp no,Mobile,Net  Pay,FirstName,LASTNAME,gender",
    ] {
        assert_told(&format!("{header}\n{row}\n"), &payroll(), &expected);
    }
    let semicolons = format!("{HEADER}\n{row}\n").replace(',', ";");
    assert_told(&semicolons, &payroll(), &expected);
    let json = r#"[{"emp no":"E1","MOBILE":"0712345678","Net Pay":1500.50,"first name":"Esther","Last Name":"Were","Gender":"F"}]"#;
    assert_told(
        json,
        &payroll(),
        &["1 E1 KES 1500.50 to 254712345678 Esther Were"],
    );
    let json = r#"{"Emp No":"E1","Mobile":"0712345678","Net Pay":50,"Last Name":"Were","Age":7}"#;
    assert_told(
        json,
        &payroll(),
        &["1: has a member \"Age\" that the layout neither takes nor ignores, found \"7\""],
    );
}

/// Identifiers are made from what a row is after the mapping.
#[test]
fn a_row_is_what_it_would_be_under_our_own_columns() {
    let ours = read(
        "reference,service_code,msisdn,amount,customer_names\nE1,B2C_MPESA,254712345678,1500.50,Esther Were\n",
    );
    let theirs: Vec<Row> = reader(
        &format!("{HEADER}\nE1,+254 712 345 678,1500.50,Esther,Were,F\n"),
        &payroll(),
    )
    .unwrap()
    .map(Result::unwrap)
    .collect();
    assert_eq!(good(&theirs[0]), good(&ours[0]));
    assert_eq!(
        good(&theirs[0]).content_hash(),
        good(&ours[0]).content_hash()
    );
}

#[test]
fn errors_name_the_column_of_the_file_beside_ours() {
    let file = format!("{HEADER}\nE1,25471234567,x,Esther,Were,F\n,,,,,\nE2,0712345678,50\n");
    assert_told(
        &file,
        &payroll(),
        &[
            "2: column \"Mobile\" (msisdn): expected 12 digits for KE, found 11 (\"25471234567\")",
            "2: column \"Net Pay\" (amount): expected digits and at most one decimal point (\"x\")",
            "4: expected 6 cells as in the header, found 3",
        ],
    );
    let mut layout = payroll();
    layout.columns[4] = constant("service_code", "B2C_MPSEA");
    assert_told(
        &format!("{HEADER}\nE1,0712345678,50,A,B,F\n"),
        &layout,
        &[
            "2: layout payroll-1, constants (service_code): unknown service \"B2C_MPSEA\", did you mean \"B2C_MPESA\"?",
        ],
    );
}

#[test]
fn a_header_that_is_not_the_layouts_is_refused_with_one_candidate() {
    let row = "E1,0712345678,50,A,B,F";
    for (header, expected) in [
        (
            "Emp No,Mobile,Net Payable,First Name,Last Name,Gender",
            "has no column \"Net Pay\" (amount), which layout payroll-1 takes; did it become \"Net Payable\"?",
        ),
        (
            "Emp No,Phone,Net Pay,First Name,Last Name,Gender",
            "has no column \"Mobile\" (msisdn), which layout payroll-1 takes; did it become \"Phone\"?",
        ),
        (
            "Emp No,Mobile,Net Pay,First Name,Last Name,Remarks",
            "has a column that layout payroll-1 neither takes nor ignores: \"Remarks\" (is it narration?)",
        ),
        (
            "Emp No,Mobile,Net Pay,First Name,Last Name,NET PAY",
            "has two columns \"Net Pay\" and \"NET PAY\", columns 3 and 6, and layout payroll-1 takes one",
        ),
    ] {
        assert_told(&format!("{header}\n{row}\n"), &payroll(), &[expected]);
    }
    let mut layout = payroll();
    layout.columns.remove(1);
    layout.ignore.push(name("Mobile"));
    assert_told(
        &format!("{HEADER}\n{row}\n"),
        &layout,
        &["cannot be read by layout payroll-1, which has no source for msisdn"],
    );
    layout.ignores_others = true;
    layout.columns.push(from("msisdn", &["mobile"]));
    assert_told(
        &format!("{HEADER},Anything\n{row},x\n"),
        &layout,
        &["2 E1 KES 50.00 to 254712345678 A B"],
    );
}

#[test]
fn titles_stand_above_the_header_and_the_sum_below_the_rows() {
    let layout = Layout {
        header: HeaderAt::Row(4),
        numbers: Numbers {
            decimal: Some('.'),
            group: Some(','),
        },
        total: Some(Total {
            column: name("Emp No"),
            marker: "Total".to_owned(),
        }),
        ..payroll()
    };
    let file = |total: &str| {
        format!(
            "ACME LTD,,,,,\n\nPayroll, November\n{HEADER}\nE1,0712345678,\"1,500.50\",A,B,F\nE2,0712345679,50,C,D,M\n{total}"
        )
    };
    let rows = [
        "5 E1 KES 1500.50 to 254712345678 A B",
        "6 E2 KES 50.00 to 254712345679 C D",
    ];
    assert_told(&file("TOTAL:,,\"1,550.50\",,,\n,,,,,\n"), &layout, &rows);
    let mut read = reader(&file("TOTAL:,,\"1,550.50\",,,\n"), &layout).unwrap();
    assert_eq!(read.by_ref().count(), 2);
    assert_eq!(
        read.notes(),
        [
            "3 rows above the header left out",
            "line 7 is the sum, 1550.50: the rows above add up to it"
        ]
    );
    for (total, expected) in [
        (
            "TOTAL,,\"1,550.49\",,,\n",
            "7: says that its rows add up to 1550.49, but they add up to 1550.50",
        ),
        (
            "",
            "has no row with the sum, which layout payroll-1 has at the end: it may be cut off",
        ),
        (
            "TOTAL,,1550.50,,,\nE3,0712345670,50,C,D,M\n",
            "8: has a row after the one with the sum, which is line 7 and the last one, as layout payroll-1 has it",
        ),
    ] {
        assert_told(&file(total), &layout, &[rows[0], rows[1], expected]);
    }
    assert_told(
        &format!("{HEADER}\nE1,0712345678,50,A,B,F\n"),
        &layout,
        &["has an empty row 4, where layout payroll-1 expects the names of the columns"],
    );
}

#[test]
fn signatures_may_stand_behind_the_sum_and_payments_may_not() {
    let layout = Layout {
        total: Some(Total {
            column: name("Emp No"),
            marker: "Total".to_owned(),
        }),
        skip: vec![Condition {
            column: name("Emp No"),
            values: vec!["Prepared by: *".to_owned()],
        }],
        ..payroll()
    };
    let good = "2 E1 KES 50.00 to 254712345678 A B";
    let behind = "has a row after the one with the sum, which is line 3 and the last one, as layout payroll-1 has it";
    let stray = format!("4: {behind}; it says neither whom to pay nor how much");
    let payment = format!("4: {behind}");
    for (row, expected) in [
        (
            "Prepared by: J. Mwangi,,,,,",
            "4 skipped by layout payroll-1: no payment where \"Emp No\" is \"Prepared by: *\"",
        ),
        (
            ",,,,,checked",
            "4 skipped by layout payroll-1: below the sum, and empty in all columns that are read",
        ),
        ("Approved by: A. Otieno,,,,,", stray.as_str()),
        (",,,Ann,,", &stray),
        ("E2,0712345679,,C,D,M", &payment),
        (",,50,,,", &payment),
        (",,x,,,", &payment),
        // To be skipped is no excuse for what may be a payment.
        ("Prepared by: J. Mwangi,0712345679,,,,", &payment),
        ("Prepared by: J. Mwangi,,70,,,", &payment),
        ("E2,0712345679,50", &payment),
    ] {
        let file = format!("{HEADER}\nE1,0712345678,50,A,B,F\nTOTAL,,50,,,\n{row}\n");
        assert_told(&file, &layout, &[good, expected]);
        // The sum is compared, whatever stands behind it.
        let file = file.replace("TOTAL,,50", "TOTAL,,51");
        let told = told(&file, &layout);
        assert!(
            told[1].contains("add up to 51, but they add up to 50"),
            "{told:?}"
        );
    }
    let file =
        format!("{HEADER}\nE1,0712345678,50,A,B,F\nTOTAL,,50,,,\nApproved by: A. Otieno,,,,,\n");
    let error = reader(&file, &layout)
        .unwrap()
        .find_map(Result::err)
        .unwrap();
    assert_eq!(
        error.hint().unwrap(),
        "if it is not a payment, such as a signature, say so in a layout of your own: \"Emp No\" = [\"Approved by: A. Otieno\"] in its table skip; \
         a * in the text stands for anything. Otherwise move the sum to the end"
    );
}

#[test]
fn a_sum_that_the_layout_does_not_know_is_an_error_that_says_how() {
    let sum = "3: looks like the sum of the rows above. If it is, say so in a layout under another name: [layouts.NAME.total] with column = \"Emp No\" \
               and marker = \"Grand Total:\"; the sum is compared then, and not paid";
    let file = |row: &str| format!("{HEADER}\nE1,0712345678,50,A,B,F\n{row}\n");
    let told_of = |row: &str| told(&file(row), &payroll());
    assert_eq!(told_of("Grand Total:,,50,,,")[1], sum);
    // Somebody of that name is paid, and one with a mistake is told of that alone.
    assert_eq!(
        told_of("E2,0712345679,50,Sum,Total,F")[1],
        "3 E2 KES 50.00 to 254712345679 Sum Total"
    );
    assert!(!told_of("E2,07123,50,Sum,Total,F")[1].contains("looks like"));
}

#[test]
fn who_is_skipped_for_want_of_an_amount_is_said() {
    let layout = Layout {
        empty_amount: EmptyAmount::Skip,
        ..payroll()
    };
    for (row, expected) in [
        (
            "E1,0712345678,,Ann,Were,F",
            "2 skipped by layout payroll-1: no payment without an amount (reference \"E1\", \"Ann Were\")",
        ),
        (
            ",0712345678,0,Ann,,F",
            "2 skipped by layout payroll-1: no payment of an amount of zero (\"Ann\")",
        ),
        (
            "E1,,,,,F",
            "2 skipped by layout payroll-1: no payment without an amount (reference \"E1\")",
        ),
        (
            ",,,,,F",
            "2 skipped by layout payroll-1: no payment without an amount",
        ),
    ] {
        assert_told(&format!("{HEADER}\n{row}\n"), &layout, &[expected]);
    }
}

#[test]
fn rows_without_a_header_are_told_by_their_places() {
    let at = |column: &str, at: usize| Source {
        taken: Taken::From {
            columns: vec![Place::At(at)],
            with: " ".to_owned(),
        },
        ..from(column, &[])
    };
    let layout = Layout {
        header: HeaderAt::Nowhere,
        columns: vec![
            at("msisdn", 1),
            at("amount", 2),
            at("reference", 4),
            constant("service_code", "B2C_MPESA"),
        ],
        ignore: vec![Place::At(5)],
        ..Layout::named("bare-1")
    };
    assert_told(
        "0712345678,50,KES,E1\n0712345679,60\n0712345678,x,KES,E3,note\n0712345678,50,KES,E4,note,more\n",
        &layout,
        &[
            "1 E1 KES 50.00 to 254712345678 ",
            "2 - KES 60.00 to 254712345679 ",
            "3: column 2 (amount): expected digits and at most one decimal point (\"x\")",
            "4: expected 5 cells as in the header, found 6",
        ],
    );
    assert_told(
        "[{\"a\":1}]",
        &layout,
        &["is JSON, whose members have no positions, and layout bare-1 takes column 1"],
    );
}

#[test]
fn values_are_mapped_and_others_are_errors() {
    let mut layout = payroll();
    layout.columns[4] = Source {
        values: vec![
            ("Safaricom".to_owned(), "B2C_MPESA".to_owned()),
            ("Airtel".to_owned(), "B2C_AIRTEL".to_owned()),
        ],
        ..from("service_code", &["Gender"])
    };
    layout.ignore.clear();
    let file = format!(
        "{HEADER}\nE1,0712345678,50,A,B,Safaricom\nE2,0712345679,60,C,D,safaricom\nE3,0712345679,70,C,D,\n"
    );
    assert_told(
        &file,
        &layout,
        &[
            "2 E1 KES 50.00 to 254712345678 A B",
            "3: column \"Gender\" (service_code): expected a value that layout payroll-1 maps, \"Safaricom\", \"Airtel\" (\"safaricom\")",
            "4: column \"Gender\" (service_code): expected a service code, found nothing",
        ],
    );
    layout.columns[4]
        .values
        .push(("*".to_owned(), "B2C_TKASH".to_owned()));
    layout.columns[4]
        .values
        .push((String::new(), "AIRTIME".to_owned()));
    let services: Vec<String> = reader(&file, &layout)
        .unwrap()
        .map(|row| good(&row.unwrap()).service.as_str().to_owned())
        .collect();
    assert_eq!(services, ["B2C_MPESA", "B2C_TKASH", "AIRTIME"]);
}

#[test]
fn amounts_are_multiplied_exactly() {
    let number =
        |text: &str| super::super::layout::Decimal::read(text, Numbers::default()).unwrap();
    let minor = Layout {
        factor: Factor::Given(number("0.01")),
        ..payroll()
    };
    let file =
        |amount: &str, units: &str| format!("{HEADER}\nE1,0712345678,{amount},A,B,{units}\n");
    assert_told(
        &file("150050", ""),
        &minor,
        &["2 E1 KES 1500.50 to 254712345678 A B"],
    );
    assert_told(
        &file("1500.5", ""),
        &minor,
        &["2: column \"Net Pay\" × 0.01 (amount): KES has 2 decimals, found 3 (\"15.005\")"],
    );
    let rate = Layout {
        factor: Factor::Given(number("1500")),
        factor_column: Some(name("Gender")),
        ignore: Vec::new(),
        ..payroll()
    };
    assert_told(
        &file("2", "1.5"),
        &rate,
        &["2 E1 KES 4500.00 to 254712345678 A B"],
    );
    assert_told(
        &file("2", "F"),
        &rate,
        &[
            "2: column \"Net Pay\" × 1500 × \"Gender\" (amount): expected a number in \"Gender\", by which it is multiplied, such as 1500.50 (\"F\")",
        ],
    );
    let comma = Layout {
        numbers: Numbers {
            decimal: Some(','),
            group: Some('.'),
        },
        delimiter: Some(b';'),
        ..payroll()
    };
    let file = |amount: &str| file(amount, "").replace(',', ";").replace('~', ",");
    assert_told(
        &file("1.500~50"),
        &comma,
        &["2 E1 KES 1500.50 to 254712345678 A B"],
    );
    assert_told(
        &file("1.500"),
        &comma,
        &["2 E1 KES 1500.00 to 254712345678 A B"],
    );
    assert_told(
        &file("1500.50"),
        &comma,
        &[
            "2: column \"Net Pay\" (amount): expected a number such as 1.500,50, as layout payroll-1 has it (\"1500.50\")",
        ],
    );
}

#[test]
fn rows_that_are_no_payments_are_told_with_their_reason() {
    let layout = Layout {
        skip: vec![Condition {
            column: name("Gender"),
            values: vec!["On hold".to_owned(), "Left".to_owned()],
        }],
        empty_amount: EmptyAmount::Skip,
        ignore: Vec::new(),
        ..payroll()
    };
    let file = format!(
        "{HEADER}\nE1,0712345678,50,A,B,\nE2,x,60,C,D,On hold\nE3,0712345679,,C,D,\nE4,0712345679,0.00,C,D,\nE5,0712345679,-1,C,D,\n"
    );
    assert_told(
        &file,
        &layout,
        &[
            "2 E1 KES 50.00 to 254712345678 A B",
            "3 skipped by layout payroll-1: no payment where \"Gender\" is \"On hold\"",
            "4 skipped by layout payroll-1: no payment without an amount (reference \"E3\", \"C D\")",
            "5 skipped by layout payroll-1: no payment of an amount of zero (reference \"E4\", \"C D\")",
            "6: column \"Net Pay\" (amount): must not be negative (\"-1\")",
        ],
    );
    let skipped: Vec<Option<String>> = reader(&file, &layout)
        .unwrap()
        .filter_map(|row| match row.unwrap() {
            Row::Skipped(row) => Some(row.amount.map(|money| money.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(
        skipped,
        [None, None, None],
        "what is no payment has no amount"
    );
    // Without the column nobody knows which rows are none.
    assert_told(
        "Emp No,Mobile,Net Pay,First Name,Last Name\nE1,0712345678,50,A,B\n",
        &layout,
        &["has no column \"Gender\" (skip), which layout payroll-1 takes"],
    );
}

#[test]
fn what_the_gateway_cannot_pay_is_the_error_of_its_row() {
    let layout = Layout {
        refuse: vec![Refusal {
            column: name("email"),
            value: "*".to_owned(),
            reason: "this gateway pays to no e-mail address".to_owned(),
        }],
        ..payroll()
    };
    let file = format!("{HEADER},email\nE1,0712345678,50,A,B,F,\nE2,,60,C,D,F,a@b.example\n");
    assert_told(
        &file,
        &layout,
        &[
            "2 E1 KES 50.00 to 254712345678 A B",
            "3: column \"email\": this gateway pays to no e-mail address",
        ],
    );
    // A file that has no such column has no such rows.
    assert_told(
        &format!("{HEADER}\nE1,0712345678,50,A,B,F\n"),
        &layout,
        &["2 E1 KES 50.00 to 254712345678 A B"],
    );
}

#[test]
fn a_column_may_be_taken_where_another_says_so() {
    let when = |column: &str, value: &str| Source {
        when: Some(Condition {
            column: name("type"),
            values: vec![value.to_owned()],
        }),
        ..from(column, &["payee"])
    };
    let layout = Layout {
        columns: vec![
            from("amount", &["amount"]),
            when("msisdn", "msisdn"),
            when("bank_account_number", "account"),
            Source {
                values: vec![
                    ("msisdn".to_owned(), "B2C_MPESA".to_owned()),
                    ("account".to_owned(), "BANK".to_owned()),
                ],
                ..from("service_code", &["type"])
            },
            constant("bank_code", "01"),
            constant("bank_name", "Sample Bank"),
            Source {
                optional: true,
                ..from("narration", &["note"])
            },
        ],
        ..Layout::named("types-1")
    };
    let found = told(
        "type,payee,amount\nmsisdn,0712345678,50\naccount,0110123456789,60\n",
        &layout,
    );
    assert_eq!(
        found,
        [
            // The bank's columns are said for every row here.
            "2: layout types-1, constants (bank_code): expected nothing, B2C_MPESA pays to no bank (mobile_money; section 2.3), found \"01\"",
            "2: layout types-1, constants (bank_name): expected nothing, B2C_MPESA pays to no bank (mobile_money; section 2.3), found \"Sample Bank\"",
            "3: column \"payee\" (msisdn): expected a phone number with its country code, found nothing; the interface wants one with a payment to a bank as well, and bank_msisdn in the profile gives one for all of them",
            "3: bank_account_name: expected a value, which BANK needs (section 2.3)",
        ]
        .map(|text| text.replace("3: bank_account_name: expected a value, which BANK needs (section 2.3)", "3: bank_account_name: expected a value, which BANK needs (section 2.3), found nothing"))
    );
}

#[test]
fn a_bank_row_without_a_number_gets_that_of_the_profile() {
    let mut rules = (*rules()).clone();
    let kenya = Country::from_code("KE").unwrap();
    rules.bank_msisdn = crate::domain::Msisdn::parse("254700000001", kenya).ok();
    let file = "service_code,amount,bank_code,bank_name,bank_account_name,bank_account_number\nBANK,50,01,Sample Bank,Esther Were,0110123456789\nB2C_MPESA,50,,,,\n";
    let rows = read_all(file, Arc::new(rules)).unwrap();
    assert_eq!(good(&rows[0]).msisdn.as_str(), "254700000001");
    assert_eq!(good(&rows[0]).account_number, "0110123456789");
    assert_eq!(
        errors(&rows),
        ["3: msisdn: expected a phone number with its country code, found nothing"]
    );
}

#[test]
fn mended_rows_go_back_in_by_the_same_layout() {
    let layout = Layout {
        header: HeaderAt::Row(3),
        delimiter: Some(b';'),
        encoding: Some(Encoding::Windows1252),
        total: Some(Total {
            column: name("Emp No"),
            marker: "Total".to_owned(),
        }),
        ..payroll()
    };
    let file = format!(
        "\n\n{HEADER}\nE1,0712345678,50,Ana,Were,F\nE2,07123,60,Ben,Were,M\nTotal,,110,,,\n"
    )
    .replace(',', ";");
    let read = reader(&file, &layout).unwrap();
    let mut out = Corrections::create(std::io::Cursor::new(Vec::new()), &read.form()).unwrap();
    for row in read {
        if let Row::Bad(bad) = row.unwrap() {
            out.write(&bad, "row-0123456789abcdef-of-b").unwrap();
        }
    }
    let written = String::from_utf8(out.finish().unwrap().into_inner()).unwrap();
    assert_eq!(
        written,
        "Emp No;Mobile;Net Pay;First Name;Last Name;Gender;rejected_row;raw;error\n\
         E2;'07123;60;Ben;Were;M;row-0123456789abcdef-of-b;;\"column \"\"Mobile\"\" (msisdn): expected 12 digits for KE, found 5 (\"\"07123\"\")\"\n"
    );
    let mended = written.replace("'07123;", "0712345679;");
    let mut read = reader(&mended, &layout).unwrap();
    let row = read.next().unwrap().unwrap();
    assert_eq!(good(&row).customer_names, "Ben Were");
    assert_eq!(
        read.corrects(),
        Some(&crate::ledger::correction::Corrects::Rejected(
            "row-0123456789abcdef-of-b".to_owned()
        ))
    );
    // With a cell too many it still says what it corrects.
    let mended = written.replace("'07123;", "0712345679;;");
    let mut read = reader(&mended, &layout).unwrap();
    assert!(matches!(read.next(), Some(Ok(Row::Bad(_)))));
    assert!(read.corrects().is_some());
}
