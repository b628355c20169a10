//! The bank directory, and rows checked against it (section 2.3).

use super::*;
use crate::intake::BankDirectory;

const BANKS: &str = "bank_code,bank_name\n01,Mlima Bank\n03,Kilimo Bank\n003,Benki ya Ziwa\n68,\"Bahari Bank, Ltd\"\n";

fn directory(text: impl Into<Vec<u8>>) -> Result<BankDirectory, String> {
    BankDirectory::read(Cursor::new(text.into())).map_err(|error| {
        let line = error.line.map_or(String::new(), |line| format!("{line}: "));
        format!("{line}{error}")
    })
}

fn row(service: &str, code: &str, name: &str) -> Row {
    let mut rules = (*rules()).clone();
    rules.banks = Some(Arc::new(directory(BANKS).unwrap()));
    let file = format!(
        "service_code,msisdn,amount,bank_code,bank_name,bank_account_name,bank_account_number\n\
         {service},254712345678,50,{code},{name},Esther Were,0110123456789\n"
    );
    read_all(file, Arc::new(rules)).unwrap().remove(0)
}

#[test]
fn code_and_name_of_a_row_agree_with_the_directory() {
    let name = |code: &str, name: &str| {
        let row = row("BANK", code, name);
        let extra: Vec<_> = good(&row).extra_members().collect();
        assert_eq!(extra[0], ("destinationBankCode", code));
        assert_eq!(extra[1].0, "destinationBankName");
        extra[1].1.to_owned()
    };
    assert_eq!(name("01", "Mlima Bank"), "Mlima Bank");
    assert_eq!(
        name("01", "MLIMA  bank"),
        "MLIMA  bank",
        "as the row has it"
    );
    assert_eq!(name("01", ""), "Mlima Bank", "from the directory");
    assert_eq!(name("68", ""), "Bahari Bank, Ltd");
    assert_eq!(name("003", ""), "Benki ya Ziwa", "zeros count");
    let errors = |code, name| errors(&[row("BANK", code, name)]);
    for (code, name, expected) in [
        (
            "99",
            "Mlima Bank",
            "2: bank_code: expected a code of the bank directory (section 2.3), found \"99\"",
        ),
        (
            "1",
            "",
            "2: bank_code: expected a code of the bank directory (section 2.3), found \"1\"; did you mean \"01\"?",
        ),
        (
            "03",
            "Mlima Bank",
            "2: bank_name: expected \"Kilimo Bank\", which the bank directory has for the code \"03\" (section 2.3), \
             found \"Mlima Bank\"",
        ),
    ] {
        assert_eq!(errors(code, name)[0], expected);
    }
    assert_eq!(
        errors("", "").len(),
        1,
        "the code is missing, and would bring the name"
    );
}

#[test]
fn the_identity_of_a_row_does_not_depend_on_the_directory() {
    let hash = |row: &Row| good(row).content_hash();
    let from_directory = row("BANK", "01", "");
    let mut renamed = good(&from_directory).clone();
    for (name, value) in &mut renamed.extra {
        if name.contains("destinationBankName") {
            *value = "Mlima Bank plc".to_owned();
        }
    }
    assert_ne!(&renamed, good(&from_directory));
    assert_eq!(renamed.content_hash(), hash(&from_directory));
    assert_ne!(
        hash(&row("BANK", "01", "Mlima Bank")),
        hash(&from_directory),
        "a name of its own counts"
    );
    // No row can write what the mark stands for.
    let forged = "service_code,msisdn,amount,\"extra.\tfloor\"\nB2C_MPESA,254712345678,50,3\n";
    assert!(refused(forged).contains("printable characters"));
}

#[test]
fn only_what_pays_to_a_bank_is_looked_up() {
    let errors = errors(&[row("B2C_MPESA", "99", "")]);
    assert_eq!(
        errors[0],
        "2: bank_code: expected nothing, B2C_MPESA pays to no bank (mobile_money; section 2.3), found \"99\""
    );
    assert!(errors.iter().all(|error| !error.contains("directory")));
}

#[test]
fn a_directory_that_is_none_is_refused_with_its_line() {
    assert!(
        directory("\u{feff}swift;bank_name;bank_code\nX;Mlima Bank;01\n").is_ok(),
        "other columns, other delimiter"
    );
    assert!(
        directory("bank_code,bank_name\n01,Mlima Bank\n01,mlima bank\n").is_ok(),
        "the same twice"
    );
    let long = "x".repeat(70_000);
    let many: String = (0..100_001).map(|n| format!("{n},Bank\n")).collect();
    for (text, expected) in [
        (String::new(), "is empty"),
        ("bank_code,bank_name\n".into(), "has a header and no banks"),
        (
            "code,name\n01,A\n".into(),
            "1: expected the columns bank_code and bank_name, found no column bank_code",
        ),
        (
            "bank_code,bank_name\n01,A\n,B\n".into(),
            "3: bank_code: expected a value, found nothing",
        ),
        (
            "bank_code,bank_name\n01,\n".into(),
            "2: bank_name: expected a value, found nothing",
        ),
        (
            "bank_code,bank_name\n01,A,B\n".into(),
            "2: expected 2 cells as in the header, found 3",
        ),
        (
            "bank_code,bank_name\n01,A\n\n01,B\n".into(),
            "4: bank_code: \"01\" is the code of \"A\" already, found \"B\"",
        ),
        (
            format!("bank_code,bank_name\n01,{long}\n"),
            "2: expected at most 65536 bytes in a row, found 70003",
        ),
        (
            format!("bank_code,bank_name\n01,{}\n", &long[..5000]),
            "2: expected at most 4096 bytes in a cell, found 5000",
        ),
        (
            format!("bank_code,bank_name\n{many}"),
            "100002: expected at most 100000 banks, found more",
        ),
        (
            "bank_code,bank_name\n01,\"A\n".into(),
            "2: has a quote that is opened in this line and never closed",
        ),
        ("%PDF-1.7".into(), "is a PDF document, not CSV or JSON"),
    ] {
        assert_eq!(directory(text).unwrap_err(), expected);
    }
}
