//! Files that are refused as a whole.

use std::io::{self, Read};
use std::path::Path;

use super::*;

#[test]
fn unusable_files_are_refused_in_one_sentence() {
    let row = "B2C_MPESA,254712345678,50\n";
    for (file, expected) in [
        (Vec::new(), "is empty".to_owned()),
        (b" \r\n \n".to_vec(), "is empty".to_owned()),
        (b"\xef\xbb\xbf".to_vec(), "is empty".to_owned()),
        (b"service_code,msisdn,amount\n\n,,\n".to_vec(), "has a header and no rows".to_owned()),
        (b"\x1f\x8b\x08\0".to_vec(), "is a gzip archive, not CSV or JSON".to_owned()),
        (b"PK\x03\x04 xl/workbook.xml".to_vec(), "is an Excel workbook (XLSX), not CSV or JSON".to_owned()),
        (format!("service_code,msisdn,amount\n{row}B2C_MPESA,254712345678,50,Jos").into_bytes().into_iter().chain(*b"\xe9\n").collect(),
            "3: is not UTF-8: byte 30 of the line is 0xE9 (byte 83 of the file)".to_owned()),
        (format!("service,msisdn,Net Pay,narration,Phone\n{row}").into_bytes(),
            "has unknown columns \"service\" (did you mean \"service_code\"?), \"Net Pay\" (did you mean \"amount\"?), \"Phone\" (did you mean \"msisdn\"?)".to_owned()),
        (format!("Amount,msisdn,AMOUNT\n{row}").into_bytes(), "has the column amount twice, as columns 1 and 3: \"Amount\" and \"AMOUNT\"".to_owned()),
        (format!("msisdn,amount,MSISDN\n{row}").into_bytes(), "has the column msisdn twice, as columns 1 and 3: \"msisdn\" and \"MSISDN\"".to_owned()),
        (format!("zzzzzz,msisdn,amount\n{row}").into_bytes(), "has an unknown column \"zzzzzz\"".to_owned()),
        (format!("amount,msisdn,amount\n{row}").into_bytes(), "has the column amount twice, as columns 1 and 3".to_owned()),
        (format!("service_code,narration,hub_id\n{row}").into_bytes(), "has no column msisdn, and no column amount".to_owned()),
        (format!("msisdn,amount\n{row}").into_bytes(), "has no column service_code".to_owned()),
        (vec![b'x'; 100_000], "has a header of more than 65536 bytes in a row or a name".to_owned()),
        ("x,".repeat(30_000).into_bytes(), "and 29992 more".to_owned()),
    ] {
        let error = read_all(file, rules()).unwrap_err();
        let line = error.line().map_or(String::new(), |line| format!("{line}: "));
        let found = format!("{line}{error}");
        assert!(found.contains(&expected), "{found:.300}");
        assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{found:.300}");
    }
}

#[test]
fn rows_above_a_wrong_byte_are_read() {
    let file = [
        &b"service_code,msisdn,amount\nB2C_MPESA,254712345678,50\n"[..],
        b"\xff\n",
    ]
    .concat();
    let mut reader = open(file, rules()).unwrap();
    good(&reader.next().unwrap().unwrap());
    assert!(matches!(
        reader.next(),
        Some(Err(Error::NotUtf8 { line: 3, .. }))
    ));
    assert!(reader.next().is_none());
}

#[test]
fn windows_1252_is_read_when_told() {
    let file =
        b"service_code,msisdn,amount,narration\nB2C_MPESA,254712345678,50,Jos\xe9\n".to_vec();
    let options = Options {
        encoding: Encoding::Windows1252,
        ..Options::default()
    };
    let mut reader = Reader::open(Cursor::new(file), &options, rules()).unwrap();
    assert_eq!(reader.notes(), ["read as Windows-1252"]);
    assert_eq!(good(&reader.next().unwrap().unwrap()).narration, "José");
}

#[test]
fn the_named_format_must_be_the_files() {
    let csv = "service_code,msisdn,amount\nB2C_MPESA,254712345678,50\n";
    for (file, format, expected) in [
        (csv, Format::Json, "is not JSON: it begins with 's'"),
        (csv, Format::JsonLines, "is not JSON: it begins with 's'"),
        ("[{}]", Format::Csv, "is not CSV: it begins with '['"),
    ] {
        let options = Options {
            format: Some(format),
            ..Options::default()
        };
        let error = Reader::open(Cursor::new(file), &options, rules())
            .err()
            .unwrap();
        assert_eq!(error.to_string(), expected);
    }
    for (name, expected) in [
        ("a.csv", Some(Format::Csv)),
        ("a.TSV", Some(Format::Csv)),
        ("a.b.json", Some(Format::Json)),
        ("a.ndjson", Some(Format::JsonLines)),
        ("a.xlsx", None),
        ("a", None),
    ] {
        assert_eq!(Format::from_path(Path::new(name)), expected, "{name}");
    }
}

#[test]
fn headers_are_mapped() {
    let mut rules = (*rules()).clone();
    rules
        .columns
        .insert("Phone Number".to_owned(), "msisdn".to_owned());
    rules
        .columns
        .insert("Floor".to_owned(), "extra.floor".to_owned());
    let file = "Phone Number,amount,service_code,Floor\n254712345678,50,B2C_MPESA,7\n";
    let reader = open(file, Arc::new(rules.clone())).unwrap();
    assert_eq!(
        reader.form().header,
        ["Phone Number", "amount", "service_code", "Floor"]
    );
    let rows: Vec<Row> = reader.map(Result::unwrap).collect();
    assert_eq!(good(&rows[0]).extra, [("floor".to_owned(), "7".to_owned())]);
    let json = r#"{"Phone Number":"254712345678","amount":50,"service_code":"B2C_MPESA"}"#;
    good(&read_all(json, Arc::new(rules.clone())).unwrap()[0]);

    rules.columns.insert("Pay".to_owned(), "amuont".to_owned());
    let error = read_all(file, Arc::new(rules)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot be read: [columns] maps \"Pay\" to \"amuont\", which is no column"
    );
    assert_eq!(error.hint().as_deref(), Some("did you mean \"amount\"?"));
}

#[test]
fn unnamed_columns_must_stay_empty() {
    let file =
        "service_code,msisdn,amount,,\nB2C_MPESA,254712345678,50,,\nB2C_MPESA,254712345678,50,,x\n";
    let rows = read(file);
    good(&rows[0]);
    assert_eq!(
        errors(&rows),
        ["3: column 5 has no name in the header, found \"x\""]
    );
}

#[test]
fn failures_of_the_source_are_passed_on() {
    struct Failing(io::ErrorKind);
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
    }
    let open = |kind| {
        Reader::open(Failing(kind), &Options::default(), rules())
            .err()
            .unwrap()
    };
    assert!(matches!(
        open(io::ErrorKind::IsADirectory),
        Error::Directory
    ));
    assert!(matches!(open(io::ErrorKind::Other), Error::Read(_)));
}

/// Identifiers come from what a row holds, so a header in another spelling must change nothing of it.
#[test]
fn headers_in_another_spelling_are_the_same_columns() {
    let ours = "reference,service_code,msisdn,amount,customer_names,bank_account_number\n";
    let rows = "EMP-1,B2C_MPESA,254712345678,50,Esther Were,\nEMP-2,B2C_MPESA,254712345678,60,,\n";
    let expected: Vec<Instruction> = read(format!("{ours}{rows}"))
        .iter()
        .map(|row| good(row).clone())
        .collect();
    for header in [
        "Reference,Service Code,MSISDN,Amount,Customer Names,Bank Account Number",
        "REFERENCE,service-code,Msisdn,AMOUNT,customer names,Bank-Account_Number",
        "R\u{e9}f\u{e9}rence,Service\u{a0}Code,msisdn,amount,CustomerNames,bank_account_number",
    ] {
        let found: Vec<Instruction> = read(format!("{header}\n{rows}"))
            .iter()
            .map(|row| good(row).clone())
            .collect();
        assert_eq!(found, expected, "{header}");
        let found: Vec<Instruction> = read(
            format!("{header}\n{rows}")
                .replace(',', ";")
                .replace("\u{a0}", " "),
        )
        .iter()
        .map(|row| good(row).clone())
        .collect();
        assert_eq!(found, expected, "{header} with semicolons");
    }
    let json = r#"[{"Reference":"EMP-1","Service Code":"B2C_MPESA","MSISDN":"254712345678","AMOUNT":50,"customer-names":"Esther Were"}]"#;
    let mut found = good(&read(json)[0]).clone();
    found.line = expected[0].line;
    assert_eq!(found, expected[0]);
    // A mapping of the configuration comes first, and so does an exact name beside one that is like it.
    let mut rules = (*rules()).clone();
    rules
        .columns
        .insert("Amount".to_owned(), "narration".to_owned());
    let file = "service_code,msisdn,amount,Amount\nB2C_MPESA,254712345678,50,75\n";
    let rows = read_all(file, Arc::new(rules)).unwrap();
    assert_eq!(good(&rows[0]).money.to_string(), "50.00");
    assert_eq!(good(&rows[0]).narration, "75");
    let notes = "service_code,msisdn,amount,Error\nB2C_MPESA,254712345678,50,x\n";
    assert_eq!(
        refused(notes),
        "has an unknown column \"Error\"",
        "notes are ours as they are written alone"
    );
}
