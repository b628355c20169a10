//! The rules of the columns.

use super::*;

const HEADER: &str = "reference,service_code,msisdn,account_number,amount,currency_code,country_code,narration,customer_names,\
    invoice_number,bank_code,bank_name,bank_account_name,bank_account_number,document,extra.floor";

/// One row of [`HEADER`]: valid, but for the named cells.
fn row(cells: &[(&str, &str)]) -> String {
    let valid = [
        ("service_code", "B2C_MPESA"),
        ("msisdn", "254712345678"),
        ("amount", "1500.50"),
    ];
    let cell = |name: &str| {
        let find = |from: &[(&str, &str)]| {
            from.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        let text = find(cells).or_else(|| find(&valid)).unwrap_or_default();
        format!("\"{}\"", text.replace('"', "\"\""))
    };
    let cells: Vec<String> = HEADER.split(',').map(cell).collect();
    format!("{HEADER}\n{}\n", cells.join(","))
}

fn one(cells: &[(&str, &str)]) -> Row {
    let mut rows = read(row(cells));
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

const BANK: [(&str, &str); 5] = [
    ("service_code", "BANK"),
    ("bank_code", "01"),
    ("bank_name", "Sample Bank"),
    ("bank_account_name", "Esther Were"),
    ("bank_account_number", "0110123456789"),
];

#[test]
fn a_row_without_mistakes_becomes_an_instruction() {
    let row = one(&[
        ("reference", "EMP-1"),
        ("msisdn", " +254 712 345 678 "),
        ("narration", "Salary\r\nNovember"),
        ("customer_names", "Wanjikũ Were"),
        ("extra.floor", "3"),
    ]);
    let instruction = good(&row);
    assert_eq!(instruction.line, 2);
    assert_eq!(instruction.reference.as_ref().unwrap().as_str(), "EMP-1");
    assert_eq!(instruction.msisdn.as_str(), "254712345678");
    assert_eq!(instruction.account_number, "254712345678");
    assert_eq!(instruction.money.to_string(), "1500.50");
    assert_eq!(instruction.money.currency.code(), "KES");
    assert_eq!(instruction.country.code(), "KE");
    assert_eq!(instruction.narration, "Salary November");
    assert_eq!(instruction.customer_names, "Wanjikũ Were");
    assert_eq!(instruction.document, None);
    assert_eq!(instruction.extra, [("floor".to_owned(), "3".to_owned())]);
}

#[test]
fn every_mistake_is_named() {
    let long = "x".repeat(4097);
    for (cells, expected) in [
        (
            &[("msisdn", "25471234567")][..],
            r#"2: msisdn: expected 12 digits for KE, found 11 ("25471234567")"#,
        ),
        (
            &[("msisdn", "")],
            "2: msisdn: expected a phone number with its country code, found nothing",
        ),
        (
            &[("msisdn", "712345678")],
            "lost its leading zero, as spreadsheets do; write 254712345678",
        ),
        (
            &[("msisdn", "2.54712E+11")],
            r#"scientific notation and its last digits are lost; export the column as text from the original ("2.54712E+11")"#,
        ),
        (
            &[("msisdn", "+2.54713E+11")],
            "scientific notation and its last digits are lost",
        ),
        (
            &[("msisdn", "254712345678.0")],
            "was exported as a number with decimals",
        ),
        (&[("msisdn", "'254712345678")], "apostrophe"),
        (
            &[("msisdn", "256772123456")],
            "is a number of UG, the row says KE",
        ),
        (&[("msisdn", "#N/A")], "2: msisdn: a formula failed"),
        (
            &[("amount", "")],
            "2: amount: expected an amount such as 1500.50, found nothing; only a bill_postpaid service takes what is due, and B2C_MPESA is mobile_money",
        ),
        (
            &[("amount", "10.005")],
            r#"2: amount: KES has 2 decimals, found 3 ("10.005")"#,
        ),
        (
            &[("amount", "1.500")],
            "has 3 decimals; ask whether 1500.00 or 1.50 is meant, and write that",
        ),
        (
            &[("amount", "1,234.50")],
            r#"2: amount: has thousands separators; write 1234.50 ("1,234.50")"#,
        ),
        (
            &[("amount", ".1")],
            r#"2: amount: Write 0.1; expected at least 10.00 KES for B2C_MPESA (".1")"#,
        ),
        (
            &[("amount", ",50")],
            r#"2: amount: Write 0.50; expected at least 10.00 KES for B2C_MPESA (",50")"#,
        ),
        (&[("amount", "1500.")], r#"2: amount: Write 1500 ("1500.")"#),
        (
            &[("amount", "1.234,50")],
            "has thousands separators; write 1234.50",
        ),
        (
            &[("amount", "1 234.50")],
            "has thousands separators; write 1234.50",
        ),
        (
            &[("amount", "1234,50")],
            "has a decimal comma; write 1234.50",
        ),
        (&[("amount", "KES 100")], "has a currency sign; write 100"),
        (&[("amount", "2026-12-01")], "is a date"),
        (&[("amount", "1.5E+03")], "is in scientific notation"),
        (&[("amount", "#REF!")], "2: amount: a formula failed"),
        (&[("amount", "-5")], r#"must not be negative ("-5")"#),
        (&[("amount", "0.00")], "must be more than zero"),
        (
            &[("amount", "NaN")],
            "expected digits and at most one decimal point",
        ),
        (
            &[("amount", "99999999999999999999")],
            "is larger than any amount",
        ),
        (
            &[("amount", "9.99")],
            "2: amount: expected at least 10.00 KES for B2C_MPESA, found 9.99",
        ),
        (
            &[("amount", "250000.01")],
            "2: amount: expected at most 250000.00 KES for B2C_MPESA, found 250000.01",
        ),
        (
            &[("service_code", "B2C_MPSEA")],
            r#"2: service_code: unknown service "B2C_MPSEA", did you mean "B2C_MPESA"?"#,
        ),
        (&[("service_code", "XYZ")], "it is not among [services]"),
        (
            &[("service_code", "")],
            "2: service_code: expected a service code, found nothing",
        ),
        (
            &[("currency_code", "UGX")],
            r#"2: currency_code: expected KES, which B2C_MPESA pays, found "UGX""#,
        ),
        (&[("currency_code", "kes")], "expected capital letters, KES"),
        (
            &[("currency_code", "ABC")],
            "expected three letters of ISO 4217",
        ),
        (
            &[("country_code", "Kenya")],
            "expected two letters of ISO 3166",
        ),
        (&[("country_code", "ke")], "expected capital letters, KE"),
        (
            &[("reference", "2.5E+15")],
            "2: reference: a spreadsheet turned this number",
        ),
        (
            &[("reference", "a\tb")],
            "2: reference: must not contain '\\t'",
        ),
        (
            &[("reference", "a\nb")],
            "2: reference: must not contain '\\n'",
        ),
        (
            &[("narration", "a\u{1b}[2J")],
            r#"2: narration: must not contain the character U+001B ("a\u{1b}[2J")"#,
        ),
        (
            &[("narration", "#VALUE!")],
            "2: narration: a formula failed",
        ),
        (
            &[("narration", &long)],
            "2: narration: expected at most 4096 bytes in a cell, found 4097",
        ),
        (
            &[("invoice_number", "1.2E+12")],
            "2: invoice_number: a spreadsheet turned",
        ),
        (
            &[("account_number", "25471234567")],
            "2: account_number: expected 12 digits for KE",
        ),
        (
            &[("account_number", "WALLET-7")],
            "2: account_number: expected the phone number of the recipient, or nothing: B2C_MPESA pays to phone numbers (\"WALLET-7\")",
        ),
        (
            &[("account_number", "2.5E+11")],
            "2: account_number: a spreadsheet turned",
        ),
        (
            &[("service_code", "POWER")],
            "2: account_number: expected the account that POWER pays to (bill_prepaid), found nothing",
        ),
        (
            &[("service_code", "POWER"), ("account_number", "12")],
            "2: account_number: expected an account of at least 5 characters, found 2 (\"12\")",
        ),
        (
            &[("bank_code", "01")],
            r#"2: bank_code: expected nothing, B2C_MPESA pays to no bank (mobile_money; section 2.3), found "01""#,
        ),
        (
            &[("extra.floor", "a\u{1}")],
            "2: extra.floor: must not contain the character U+0001",
        ),
    ] {
        let found = errors(&[one(cells)]);
        assert_eq!(found.len(), 1, "{cells:?}: {found:?}");
        assert!(found[0].contains(expected), "{cells:?}: {found:?}");
    }
}

#[test]
fn all_mistakes_of_a_row_are_found_at_once_and_the_amount_still_counts() {
    let Row::Bad(bad) = one(&[
        ("msisdn", "1"),
        ("service_code", "B2C"),
        ("currency_code", "UGX"),
        ("amount", "700"),
        ("reference", "R-1"),
    ]) else {
        panic!("the row is bad");
    };
    let columns: Vec<_> = bad
        .errors
        .iter()
        .map(|e| e.column.clone().unwrap())
        .collect();
    assert_eq!(columns, ["service_code", "msisdn"]);
    assert_eq!(bad.amount.unwrap().to_string(), "700");
    assert_eq!(
        (bad.reference.as_deref(), bad.service.as_deref()),
        (Some("R-1"), Some("B2C"))
    );
    assert!(!format!("{bad:?}").contains("R-1"));
}

#[test]
fn accounts_follow_the_kind_of_the_service() {
    let account = |cells: &[(&str, &str)]| good(&one(cells)).account_number.clone();
    assert_eq!(account(&[("service_code", "AIRTIME")]), "254712345678");
    let gift = [
        ("service_code", "AIRTIME"),
        ("account_number", "+254 722 000 111"),
    ];
    assert_eq!(account(&gift), "254722000111", "airtime for somebody else");
    assert_eq!(account(&[("account_number", "0722000111")]), "254722000111");
    assert_eq!(
        account(&[("service_code", "POWER"), ("account_number", "04212345678")]),
        "04212345678"
    );
    assert_eq!(account(&BANK), "0110123456789");
}

#[test]
fn bank_columns_go_to_extra_in_their_order_and_are_needed() {
    let extra = |cells: &[(&str, &str)]| good(&one(cells)).extra.clone();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut with_floor = BANK.to_vec();
    with_floor.push(("extra.floor", "9"));
    assert_eq!(
        extra(&with_floor),
        [
            pair("destinationBankCode", "01"),
            pair("destinationBankName", "Sample Bank"),
            pair("destinationAccountName", "Esther Were"),
            pair("destinationAccountNo", "0110123456789"),
            pair("floor", "9"),
        ]
    );
    assert_eq!(
        errors(&[one(&[("service_code", "BANK"), ("bank_code", "01")])]),
        [
            "2: bank_name: expected a value, which BANK needs (section 2.3), found nothing",
            "2: bank_account_name: expected a value, which BANK needs (section 2.3), found nothing",
            "2: bank_account_number: expected a value, which BANK needs (section 2.3), found nothing",
        ]
    );
    let mut two_accounts = BANK.to_vec();
    two_accounts.push(("account_number", "999"));
    assert!(
        errors(&[one(&two_accounts)])[0]
            .contains("account_number: expected the bank_account_number or nothing")
    );
}

#[test]
fn bank_columns_are_needed_even_when_the_header_has_none() {
    let rows = read("service_code,msisdn,amount\nRTGS,254712345678,5\n");
    let columns = [
        "bank_code",
        "bank_name",
        "bank_account_name",
        "bank_account_number",
    ];
    assert_eq!(
        errors(&rows),
        columns.map(|column| format!(
            "2: {column}: expected a value, which RTGS needs (section 2.3), found nothing"
        ))
    );
}

#[test]
fn defaults_fill_what_a_row_leaves_out() {
    let mut rules = (*rules()).clone();
    rules.default_service = ServiceCode::parse("B2C_MPESA").ok();
    let rows = read_all("msisdn,amount\n0712345678,10\n", Arc::new(rules.clone())).unwrap();
    assert_eq!(good(&rows[0]).service.as_str(), "B2C_MPESA");
    // A service's own currency comes before the profile's.
    let rows = read_all(
        "msisdn,amount,service_code,country_code\n0772123456,1000,B2C_MTN_UG,UG\n",
        Arc::new(rules),
    )
    .unwrap();
    assert_eq!(good(&rows[0]).money.currency.code(), "UGX");
}

#[test]
fn without_services_every_code_is_taken() {
    let rules = Arc::new(Rules {
        default_country: Country::from_code("KE"),
        ..Rules::default()
    });
    let file = "service_code,msisdn,amount,currency_code,bank_account_number\nANY,254712345678,5,KES,\nBANKISH,254712345678,5,KES,0110\nno way,254712345678,5,KES,\n";
    let rows = read_all(file, rules).unwrap();
    assert_eq!(good(&rows[0]).account_number, "254712345678");
    assert_eq!(good(&rows[1]).account_number, "0110");
    assert!(errors(&rows[2..])[0].contains("service_code: must not contain ' '"));
}

#[test]
fn extra_members_are_refused_when_reserved_or_doubled() {
    for (header, expected) in [
        (
            "extra.callbackUrl",
            "column extra.callbackUrl: this member of extraData is set by the program",
        ),
        ("extra.PushToOriginator", "is set by the program"),
        ("extra.", "expected a name of 1 to 64"),
    ] {
        let found = refused(format!(
            "service_code,msisdn,amount,{header}\nB2C_MPESA,254712345678,5,x\n"
        ));
        assert!(found.contains(expected), "{found}");
    }
    for (cell, expected) in [
        (
            r#"{""callbackurl"":""x""}"#,
            "extra.callbackurl: this member",
        ),
        (r#"{""a"":""x"",""a"":""y""}"#, "extra.a: stands twice"),
        (
            r#"{""a"":true}"#,
            "extra.a: expected a text or a number, found a boolean",
        ),
        ("[1]", "extra: expected a JSON object"),
        ("{", "extra: expected a JSON object"),
    ] {
        let rows = read(format!(
            "service_code,msisdn,amount,extra\nB2C_MPESA,254712345678,50,\"{cell}\"\n"
        ));
        let found = errors(&rows);
        assert!(
            found.len() == 1 && found[0].contains(expected),
            "{cell}: {found:?}"
        );
    }
    let mut cells = BANK.to_vec();
    cells.push(("extra.floor", "1"));
    let doubled = row(&cells).replace("extra.floor", "extra.FLOOR,extra.floor");
    assert!(refused(doubled).contains("has the column extra.floor twice"));
    for own in [
        "destinationBankCode",
        "DestinationBankName",
        "destinationbank",
        "DESTINATIONACCOUNTNO",
        "destinationAccountName",
        "de\u{17F}tinationAccountName",
        "SupportDocument",
        "CALLBACKURL",
        "pushtooriginator",
    ] {
        let header = row(&cells).replace("extra.floor", &format!("extra.{own}"));
        let found = refused(header);
        assert!(
            found.contains(&format!("has the column extra.{own}: ")),
            "{found}"
        );
        let rows = read(format!(
            "service_code,msisdn,amount,extra\nB2C_MPESA,254712345678,50,\"{{\"\"{own}\"\":1}}\"\n"
        ));
        assert!(
            errors(&rows)[0].contains(&format!("extra.{own}: ")),
            "{rows:?}"
        );
    }
    let rows = read(
        "service_code,msisdn,amount,extra\nB2C_MPESA,254712345678,50,\"{\"\"shop\"\":1,\"\"Shop\"\":2}\"\n",
    );
    assert!(
        errors(&rows)[0].contains("extra.Shop: stands twice"),
        "{rows:?}"
    );
}

/// The rules, with the format of the accounts that one service pays to.
fn with_format(service: &str, format: &str) -> Arc<Rules> {
    let mut rules = (*rules()).clone();
    let code = ServiceCode::parse(service).unwrap();
    let rule = rules.services.get_mut(&code).unwrap();
    rule.account_format = Some(Arc::new(AccountFormat::parse(format).unwrap()));
    Arc::new(rules)
}

#[test]
fn an_account_that_does_not_look_like_one_of_its_service_is_refused_with_what_was_expected() {
    let told = |rules: Arc<Rules>, cells: &[(&str, &str)]| {
        let rows = read_all(row(cells), rules).unwrap();
        errors(&rows).join("; ")
    };
    let bank = |account: &'static str| {
        let mut cells = BANK.to_vec();
        cells[4] = ("bank_account_number", account);
        cells
    };
    let format = || with_format("BANK", "13n | 'AC' 6n");
    assert_eq!(told(format(), &bank("0110123456789")), "");
    assert_eq!(told(format(), &bank("AC123456")), "");
    // A spreadsheet took the zero.
    assert_eq!(
        told(format(), &bank("110123456789")),
        "2: bank_account_number: expected an account of BANK: 13 digits, or \"AC\" and then 6 digits; found 12 characters (\"110123456789\")"
    );
    assert!(told(rules(), &bank("12")).contains("at least 5 characters, found 2"));
    let meter = [("service_code", "POWER"), ("account_number", "123456")];
    assert_eq!(told(rules(), &meter), "");
    assert!(told(with_format("POWER", "11n"), &meter).contains(
        "2: account_number: expected an account of POWER: 11 digits; found 6 characters"
    ));
    // What an earlier journal may have posted keeps its identifier.
    for account in ["110123456789", "12"] {
        let mut rules = (*format()).clone();
        rules.presumes_posted = true;
        let mut reader = open(row(&bank(account)), Arc::new(rules)).unwrap();
        good(&reader.next().unwrap().unwrap());
        assert!(reader.next().is_none());
        let warning = reader.warnings().remove(0);
        assert!(
            warning.starts_with(
                "1 row pays to an account that does not look like one of its service (line 2)"
            ),
            "{warning}"
        );
    }
}
