//! pain.001 messages: what becomes of their elements, and what refuses them.

use super::*;
use crate::domain::WireZone;
use crate::intake::layout::{Layout, Place, Source, Taken};

const SPACE: &str = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.";

fn message_rules(service: &str) -> Arc<Rules> {
    Arc::new(Rules {
        default_service: ServiceCode::parse(service).ok(),
        zone: WireZone::from_name("Africa/Nairobi"),
        ..(*rules()).clone()
    })
}

/// A message with one block of these transfers, and its totals.
fn message(version: &str, totals: (&str, &str), day: &str, transfers: &str) -> String {
    let (count, sum) = totals;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Document xmlns=\"{SPACE}{version}\">\n<CstmrCdtTrfInitn>\n\
         <GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-20T07:30:00</CreDtTm><NbOfTxs>{count}</NbOfTxs><CtrlSum>{sum}</CtrlSum></GrpHdr>\n\
         <PmtInf><PmtInfId>B1</PmtInfId><PmtMtd>TRF</PmtMtd><NbOfTxs>{count}</NbOfTxs><CtrlSum>{sum}</CtrlSum>\
         <ReqdExctnDt>{day}</ReqdExctnDt><Dbtr/>\n{transfers}</PmtInf>\n</CstmrCdtTrfInitn>\n</Document>\n"
    )
}

fn transfer(id: &str, amount: &str, creditor: &str) -> String {
    format!(
        "<CdtTrfTxInf><PmtId><EndToEndId>{id}</EndToEndId></PmtId><Amt><InstdAmt Ccy=\"KES\">{amount}</InstdAmt></Amt>{creditor}</CdtTrfTxInf>\n"
    )
}

const WALLET: &str =
    "<Cdtr><Nm>Achieng &amp; Sons</Nm><CtctDtls><MobNb>+254-712345671</MobNb></CtctDtls></Cdtr>";

fn one(version: &str, day: &str) -> String {
    message(
        version,
        ("1", "1500.50"),
        day,
        &transfer("E1", "1500.50", WALLET),
    )
}

fn rows_of(text: impl Into<Vec<u8>>, rules: Arc<Rules>) -> Vec<Row> {
    read_all(text, rules)
        .unwrap_or_else(|error| panic!("{}: {error}", error.place().unwrap_or_default()))
}

fn refused_message(text: impl Into<Vec<u8>>) -> String {
    let error = read_all(text, message_rules("B2C_MPESA")).expect_err("the message is refused");
    assert!(error.hint().is_some(), "{error}");
    format!("{}: {error}", error.place().unwrap_or_default())
}

#[test]
fn every_version_says_the_same() {
    for (version, day) in [
        ("03", "2026-12-01"),
        ("09", "<Dt>2026-12-01</Dt>"),
        ("11", "<DtTm>2026-12-01T00:00:00+03:00</DtTm>"),
        ("12", "<DtTm>2026-12-01T00:00:00</DtTm>"),
    ] {
        let rows = rows_of(one(version, day), message_rules("B2C_MPESA"));
        assert_eq!(rows.len(), 1);
        let row = good(&rows[0]);
        assert_eq!(row.line, 6, "{version}");
        assert_eq!(row.reference.as_ref().unwrap().as_str(), "E1");
        assert_eq!(row.money.to_string(), "1500.50");
        assert_eq!(row.msisdn.as_str(), "254712345671");
        assert_eq!(row.customer_names, "Achieng & Sons");
        assert_eq!(
            row.not_before_text(),
            Some("2026-12-01T00:00:00+03:00"),
            "{version}"
        );
        let origin = format!("[\"pain.001.001.{version}\",\"M1\",\"B1\",\"\",\"E1\",\"\"]");
        assert_eq!(row.origin(), Some(origin.as_str()));
        // Neither is sent.
        assert_eq!(row.extra_members().count(), 0);
    }
    // With a prefix, on one line, and without white space it is the same message.
    let text = one("09", "<Dt>2026-12-01</Dt>");
    let prefixed = text
        .replace("xmlns=", "xmlns:p=")
        .replace("</", "</p:")
        .replace('<', "<p:")
        .replace("<p:/p:", "</p:")
        .replace("<p:?", "<?")
        .replace('\n', "");
    let rows = rows_of(prefixed, message_rules("B2C_MPESA"));
    assert_eq!(good(&rows[0]).customer_names, "Achieng & Sons");
}

#[test]
fn the_identity_of_a_row_is_that_of_its_payment_and_not_of_its_message() {
    let rows = |text: String| rows_of(text, message_rules("B2C_MPESA"));
    let text = one("09", "<Dt>2026-12-01</Dt>");
    let first = good(&rows(text.clone())[0]).content_hash();
    assert_eq!(
        good(&rows(text.replace(">M1<", ">M2<"))[0]).content_hash(),
        first
    );
    assert_eq!(
        good(&rows(text.replace(">B1<", ">B2<"))[0]).content_hash(),
        first
    );
    assert_ne!(
        good(&rows(text.replace("12-01<", "12-02<"))[0]).content_hash(),
        first
    );
    let none = text.replace(">E1<", ">NOTPROVIDED<");
    let rows = rows(none);
    assert_eq!(good(&rows[0]).reference, None);
    assert!(good(&rows[0]).origin().unwrap().contains("NOTPROVIDED"));
}

#[test]
fn a_bank_row_has_its_bank_its_account_and_its_narration() {
    let creditor = "<CdtrAgt><FinInstnId><BICFI>BANKKENA</BICFI><ClrSysMmbId><MmbId>49</MmbId></ClrSysMmbId><Nm>A Bank</Nm></FinInstnId></CdtrAgt>\
        <Cdtr><Nm>Ann Were</Nm><CtctDtls><PhneNb>+254-712345671</PhneNb></CtctDtls></Cdtr>\
        <CdtrAcct><Id><Othr><Id>0099427588438</Id></Othr></Id></CdtrAcct>\
        <RmtInf><Ustrd>Wages</Ustrd><Ustrd>November &#8211; late</Ustrd></RmtInf>";
    let text = message(
        "12",
        ("1", "10"),
        "<Dt>2026-11-01</Dt>",
        &transfer("E1", "10.00", creditor),
    );
    let rows = rows_of(text, message_rules("BANK"));
    let row = good(&rows[0]);
    assert_eq!(row.account_number, "0099427588438");
    assert_eq!(row.narration, "Wages November \u{2013} late");
    let members: Vec<_> = row.extra_members().collect();
    assert_eq!(
        members,
        [
            ("destinationBankCode", "49"),
            ("destinationBankName", "A Bank"),
            ("destinationAccountName", "Ann Were"),
            ("destinationAccountNo", "0099427588438"),
        ]
    );
}

#[test]
fn mistakes_are_named_by_line_column_and_element() {
    let transfers = [
        transfer("E1", "15x", WALLET),
        transfer("E2", "10.00", ""),
        transfer("E3", "10.00", &WALLET.replace("712345671", "71234567")),
        "<CdtTrfTxInf><PmtId><EndToEndId>E4</EndToEndId></PmtId><Amt><EqvtAmt><Amt Ccy=\"EUR\">5</Amt><CcyOfTrf>KES</CcyOfTrf></EqvtAmt></Amt></CdtTrfTxInf>\n".to_owned(),
    ]
    .concat();
    let text = message("09", ("4", "0"), "<Dt>2026-12-01</Dt>", &transfers)
        .replace("<CtrlSum>0</CtrlSum>", "");
    let rows = rows_of(text, message_rules("B2C_MPESA"));
    let found = errors(&rows);
    let expected = [
        "6:61: InstdAmt (amount): expected digits",
        "7:1: phone number (msisdn): expected an account (CdtrAcct/Id) or a phone number",
        "8:146: phone number (msisdn): expected 12 digits for KE",
        "9:1: expected an amount in the currency that is paid (InstdAmt), found the equivalent of \"5\" \"EUR\" (EqvtAmt)",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for expected in expected {
        assert!(
            found.iter().any(|found| found.starts_with(expected)),
            "{expected}\n{found:#?}"
        );
    }
}

#[test]
fn totals_that_are_wrong_refuse_the_message_with_what_was_counted() {
    let transfers = [
        transfer("E1", "10.00", WALLET),
        transfer("E2", "5.50", WALLET),
    ]
    .concat();
    let text =
        |count: &str, sum: &str| message("09", (count, sum), "<Dt>2026-12-01</Dt>", &transfers);
    assert_eq!(
        rows_of(text("2", "15.5"), message_rules("B2C_MPESA")).len(),
        2
    );
    assert_eq!(
        refused_message(text("3", "15.50")),
        "5:52: says in PmtInf that there are 3 transfers (NbOfTxs), but there are 2"
    );
    assert_eq!(
        refused_message(text("2", "15.51")),
        "5:72: says in PmtInf that the transfers add up to 15.51 (CtrlSum), but they add up to 15.50"
    );
    // That of the message counts all blocks.
    let of_block = "<PmtMtd>TRF</PmtMtd><NbOfTxs>3</NbOfTxs>";
    assert_eq!(
        refused_message(text("3", "15.50").replace(of_block, "<PmtMtd>TRF</PmtMtd>")),
        "4:64: says in GrpHdr that there are 3 transfers (NbOfTxs), but there are 2"
    );
}

#[test]
fn a_file_that_is_no_message_of_a_known_version_says_what_it_is() {
    let text = one("09", "<Dt>2026-12-01</Dt>");
    let stand = |from: &str, to: &str| text.replace(from, to);
    for (text, expected) in [
        (
            stand("001.001.09", "001.001.10"),
            "2:1: is \"pain.001.001.10\" in a version that is not read",
        ),
        (
            stand("pain.001.001.09", "camt.053.001.02"),
            "2:1: is a statement (\"camt.053.001.02\"), not payments",
        ),
        (
            stand(SPACE, "urn:other:"),
            "2:1: is XML of another kind: \"Document\" in the namespace \"urn:other:09\"",
        ),
        (
            "<Workbook xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\"/>".to_owned(),
            "1:1: is XML of another kind: \"Workbook\"",
        ),
        (
            stand("CstmrCdtTrfInitn", "CstmrDrctDbtInitn"),
            "3:1: has the message \"CstmrDrctDbtInitn\", and no CstmrCdtTrfInitn",
        ),
        (
            stand(
                "<NbOfTxs>1</NbOfTxs><CtrlSum>1500.50</CtrlSum></GrpHdr>",
                "</GrpHdr>",
            ),
            "how many transfers there are (NbOfTxs)",
        ),
        (stand("<MsgId>M1</MsgId>", ""), "has no MsgId"),
        (
            stand("M1", &"M".repeat(36)),
            "has a MsgId of more than 35 characters",
        ),
        (
            stand("<PmtInfId>B1</PmtInfId>", ""),
            "has no PmtInfId before them",
        ),
        (
            stand("<ReqdExctnDt><Dt>2026-12-01</Dt></ReqdExctnDt>", ""),
            "has no ReqdExctnDt before them",
        ),
        (
            stand(
                "<PmtMtd>",
                "<ReqdExctnDt><Dt>2026-12-01</Dt></ReqdExctnDt><PmtMtd>",
            ),
            "twice that may stand there once",
        ),
        (
            stand(
                "</PmtInf>",
                "<ReqdExctnDt><Dt>2026-12-09</Dt></ReqdExctnDt></PmtInf>",
            ),
            "7:1: has an element of its block (PmtInf) behind the transfers",
        ),
        (stand("<Amt>", "<Amt>10"), "has a text where elements stand"),
        (
            stand("<EndToEndId>", "<EndToEndId><x/>"),
            "has an element \"x\" within a text",
        ),
        (
            stand("<Amt>", "<Amt xmlns=\"urn:x\">"),
            "has an element \"Amt\" of another namespace",
        ),
        (
            stand(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
                "<!DOCTYPE x [<!ENTITY a \"b\">]>",
            ),
            "1:1: has a document type",
        ),
        (stand("&amp;", "&a;"), "has an entity"),
        (stand("</Document>", ""), "is cut off before its end"),
        (stand("</Document>", "</Dokument>"), "cannot be read as XML"),
        (stand("</CdtTrfTxInf>", ""), "cannot be read as XML"),
        (
            stand("</Document>\n", "</Document>\n<Document/>"),
            "XML of another kind",
        ),
        (format!("<a>{}", "<b>".repeat(80)), "XML of another kind"),
        (
            stand("<Dbtr/>", &"<x>".repeat(80)),
            "has more than 64 elements within one another",
        ),
        (
            stand("<Dbtr/>", &format!("<!--{}-->", "x".repeat(200_000))),
            "more than 65536 bytes",
        ),
        (
            stand("<Dbtr/>", &format!("<x>{}</x>", "x".repeat(200_000))),
            "more than 65536 bytes",
        ),
        (
            stand("encoding=\"UTF-8\"", "encoding=\"KOI8-R\""),
            "1:1: says that its encoding is \"KOI8-R\"",
        ),
    ] {
        let found = refused_message(text);
        assert!(found.contains(expected), "{expected}\n{found}");
    }
    let empty = message("09", ("0", "0"), "<Dt>2026-12-01</Dt>", "");
    assert_eq!(refused_message(empty), ": holds no payments");
}

#[test]
fn the_encoding_is_the_one_that_the_message_declares() {
    let text = one("09", "<Dt>2026-12-01</Dt>")
        .replace("encoding=\"UTF-8\"", "encoding='ISO-8859-1'")
        .replace("Achieng", "Jos\u{e9}");
    let bytes: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let rows = rows_of(bytes, message_rules("B2C_MPESA"));
    assert_eq!(good(&rows[0]).customer_names, "Jos\u{e9} & Sons");
    let utf16: Vec<u8> = std::iter::once(0xFEFF)
        .chain(
            one("09", "<Dt>2026-12-01</Dt>")
                .replace("UTF-8", "UTF-16")
                .encode_utf16(),
        )
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(rows_of(utf16, message_rules("B2C_MPESA")).len(), 1);
}

#[test]
fn without_a_service_it_is_said_what_to_write() {
    let text = one("09", "<Dt>2026-12-01</Dt>");
    let error = read_all(text, rules()).expect_err("no service");
    assert_eq!(error.to_string(), "names no service: a pain.001 never does");
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("--service CODE") && hint.contains("format = \"pain.001\""),
        "{hint}"
    );
}

fn from(column: &str, element: &str) -> Source {
    Source {
        column: column.to_owned(),
        taken: Taken::From {
            columns: vec![Place::Name(element.to_owned())],
            with: " ".to_owned(),
        },
        values: Vec::new(),
        when: None,
        optional: false,
    }
}

#[test]
fn a_layout_names_the_service_by_what_the_message_says() {
    let mut layout = Layout::of_messages("bank-1");
    layout.columns.push(Source {
        values: vec![
            ("phone".to_owned(), "B2C_MPESA".to_owned()),
            ("account".to_owned(), "BANK".to_owned()),
        ],
        ..from("service_code", "To")
    });
    layout.columns.push(from("extra.chargeBearer", "ChrgBr"));
    assert_eq!(layout.check(), Ok(()));
    let bank = "<ChrgBr>SHAR</ChrgBr><CdtrAgt><FinInstnId><BICFI>BANKKENA</BICFI><Nm>A Bank</Nm></FinInstnId></CdtrAgt><Cdtr><Nm>Ann Were</Nm></Cdtr>\
        <CdtrAcct><Id><IBAN>KE0123456789</IBAN></Id></CdtrAcct><Purp><Cd>SALA</Cd></Purp>";
    let transfers = [
        transfer("E1", "10.00", WALLET),
        transfer("E2", "5.50", bank),
        transfer("E3", "x", bank),
    ]
    .concat();
    let text = message("09", ("3", "x"), "<Dt>2026-12-01</Dt>", &transfers)
        .replace("<CtrlSum>x</CtrlSum>", "");
    let options = Options {
        layout: Some(Arc::new(layout)),
        ..Options::default()
    };
    let rules = Arc::new(Rules {
        bank_msisdn: crate::domain::Msisdn::parse(
            "254700000001",
            Country::from_code("KE").unwrap(),
        )
        .ok(),
        zone: WireZone::from_name("Africa/Nairobi"),
        ..(*super::rules()).clone()
    });
    let mut reader = Reader::open(Cursor::new(text), &options, Arc::clone(&rules))
        .unwrap_or_else(|e| panic!("{e}: {:?}", e.hint()));
    let form = reader.form();
    assert_eq!(form.layout.as_deref(), Some("bank-1"));
    let rows: Vec<Row> = reader
        .by_ref()
        .map(|row| row.unwrap_or_else(|e| panic!("{e}")))
        .collect();
    assert_eq!(good(&rows[0]).service.as_str(), "B2C_MPESA");
    assert_eq!(good(&rows[1]).service.as_str(), "BANK");
    assert_eq!(
        good(&rows[1])
            .extra
            .iter()
            .find(|(name, _)| name == "chargeBearer")
            .unwrap()
            .1,
        "SHAR"
    );
    assert_eq!(
        errors(&rows),
        [
            "8:61: column \"InstdAmt\" (amount): expected digits and at most one decimal point (\"x\")"
        ]
    );
    let notes = reader.notes();
    assert!(
        notes[0].contains("pain.001.001.09, message \"M1\": 3 transfers in 1 block"),
        "{notes:?}"
    );
    assert!(notes[1].ends_with("without effect: Purp"), "{notes:?}");
    // The corrections have the names of the elements, and go in by the same layout.
    let Row::Bad(bad) = &rows[2] else { panic!() };
    let mut corrections = Corrections::create(Cursor::new(Vec::new()), &form).unwrap();
    corrections.write(bad, "").unwrap();
    let file = String::from_utf8(corrections.finish().unwrap().into_inner()).unwrap();
    let mended = file.replace(",x,KES", ",7.50,KES");
    assert_ne!(mended, file, "{file}");
    let again: Vec<Row> = Reader::open(Cursor::new(mended), &options, rules)
        .unwrap_or_else(|e| panic!("{e}"))
        .map(Result::unwrap)
        .collect();
    assert_eq!(errors(&again), [""; 0]);
    assert_eq!(
        good(&again[0]).origin(),
        Some("[\"pain.001.001.09\",\"M1\",\"B1\",\"\",\"E3\",\"\"]")
    );
    assert_eq!(
        good(&again[0]).not_before_text(),
        Some("2026-12-01T00:00:00+03:00")
    );
}

#[test]
fn a_layout_is_for_messages_or_for_columns() {
    let message = one("09", "<Dt>2026-12-01</Dt>");
    let read = |layout: Layout, text: &str| {
        let options = Options {
            layout: Some(Arc::new(layout)),
            ..Options::default()
        };
        match Reader::open(
            Cursor::new(text.to_owned()),
            &options,
            message_rules("B2C_MPESA"),
        ) {
            Ok(_) => panic!("refused"),
            Err(error) => error.to_string(),
        }
    };
    let mut columns = Layout::named("a");
    columns.columns.push(from("amount", "Net Pay"));
    assert_eq!(
        read(columns, &message),
        "is a pain.001 message, and layout a is for files with columns"
    );
    assert_eq!(
        read(Layout::of_messages("m"), "msisdn,amount\n1,2\n"),
        "is no pain.001 message, which layout m reads"
    );
    for change in [
        (|layout: &mut Layout| layout.delimiter = Some(b';')) as fn(&mut Layout),
        |layout| layout.columns.push(from("extra.x", "Nowhere")),
        |layout| layout.columns.push(from("extra.x", "")),
    ] {
        let mut layout = Layout::of_messages("m");
        change(&mut layout);
        assert!(layout.check().is_err());
    }
}

#[test]
fn a_text_that_is_too_long_is_the_error_of_its_transfer() {
    let long = "x".repeat(5_000);
    let creditor = format!("{WALLET}<RmtInf><Ustrd>{long}</Ustrd><Ustrd>{long}</Ustrd></RmtInf>");
    let text = message(
        "09",
        ("1", "10"),
        "<Dt>2026-12-01</Dt>",
        &transfer("E1", "10.00", &creditor),
    );
    let rows = rows_of(text, message_rules("B2C_MPESA"));
    let found = errors(&rows);
    assert!(
        found[0].contains("Ustrd (narration): expected at most 4096 bytes in a cell, found 5000"),
        "{found:?}"
    );
    let Row::Bad(bad) = &rows[0] else { panic!() };
    assert!(bad.unread.as_ref().unwrap().text.contains("E1 at 6:1"));
}

#[test]
fn the_sample_is_valid() {
    let text = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/samples/transfers.xml"
    ))
    .unwrap();
    let rows = read_all(text, message_rules("BANK")).unwrap();
    assert_eq!(rows.len(), 6);
    assert_eq!(
        rows.iter()
            .filter(|row| matches!(row, Row::Good(_)))
            .count(),
        3
    );
}
