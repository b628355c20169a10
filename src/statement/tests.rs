use super::*;
use crate::domain::{Currency, Day};
use crate::intake::Encoding;
use crate::ledger::reconciliation::{Flow, Standing};

fn all(text: &str, terms: &Terms) -> Result<(Summary, Vec<StatementEntry>), StatementError> {
    of_bytes(text.as_bytes().to_vec(), terms)
}

fn of_bytes(
    bytes: Vec<u8>,
    terms: &Terms,
) -> Result<(Summary, Vec<StatementEntry>), StatementError> {
    let mut entries = Vec::new();
    let summary = read(std::io::Cursor::new(bytes), terms, &mut |entry| {
        entries.push(entry);
        true
    })?;
    Ok((summary, entries))
}

fn references(entry: &StatementEntry) -> Vec<&str> {
    entry.references().collect()
}

fn kes() -> Terms {
    Terms {
        currency: Currency::from_code("KES"),
        ..Terms::default()
    }
}

#[track_caller]
fn refused(text: &str, terms: &Terms, with: &str) {
    let error = all(text, terms).map(|(summary, _)| summary).unwrap_err();
    assert!(error.to_string().contains(with), "{error}");
    assert!(!error.hint().is_empty());
}

const MT940: &str = ":20:START\r\n:25:DE123/456\r\n:28C:1/1\r\n:60F:C251128KES10000,00\r\n\
:61:2511281128D1500,00NTRFE-1//B1\r\n:86:020?00PAY?200123456789ABCDEF?21GHJKMNPQRS?310011223344?32JANE\r\n\
:61:251128D200,NCHGNONREF\r\n:61:2511281129RD300,5NTRFE-2\r\n:86:returned\r\n:62F:C251129KES8600,50\r\n-\r\n";

#[test]
fn an_mt940_is_read_with_comma_decimals_and_its_balances() {
    let (summary, entries) = all(MT940, &Terms::default()).unwrap();
    assert_eq!(
        (summary.opening, summary.closing),
        (Some(1_000_000), Some(860_050))
    );
    assert!(summary.balanced);
    assert_eq!(summary.account.as_deref(), Some("DE123/456"));
    assert_eq!(summary.fees.to_string(), "KES 200.00");
    let [paid, charge, back] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    assert_eq!(paid.money.to_string(), "1500.00");
    assert_eq!(references(paid), ["E-1", "B1"]);
    assert_eq!(paid.recipient, "0011223344");
    assert!(
        paid.names()
            .contains(&"0123456789ABCDEFGHJKMNPQRS".to_owned()),
        "{:?}",
        paid.names()
    );
    assert!(paid.is_payment() && charge.is_charge && !charge.is_payment());
    assert_eq!((back.flow, back.reversal), (Flow::In, true));
    assert_eq!(back.day, Day::parse("2025-11-29").unwrap());
}

#[test]
fn an_mt940_that_is_cut_off_or_does_not_add_up_is_refused() {
    let terms = Terms::default();
    // Every way to cut it at the end of a line, but for its last one.
    let lines: Vec<&str> = MT940.split_inclusive("\r\n").collect();
    for count in 1..lines.len() - 2 {
        let cut = lines[..count].concat();
        assert!(all(&cut, &terms).is_err(), "{count} lines");
    }
    refused(
        &MT940.replace("D1500,00", "D150,00"),
        &terms,
        "does not add up",
    );
    refused(
        &MT940.replace("D1500,00", "D1500.00"),
        &terms,
        "amount with a comma",
    );
    refused(
        &MT940.replace(":62F:C", ":62M:C"),
        &terms,
        "last page is missing",
    );
    refused(
        &MT940.replace(":60F:C", ":60M:C"),
        &terms,
        "first page is missing",
    );
    refused(
        &format!("{MT940}{}", MT940.replace("DE123/456", "DE999")),
        &terms,
        "several accounts",
    );
    let other = Terms {
        account: Some("DE 999".to_owned()),
        ..Terms::default()
    };
    refused(MT940, &other, "nothing in the statement is of account");
    let ours = Terms {
        account: Some("de123 456".to_owned()),
        ..Terms::default()
    };
    let both = format!("{}{MT940}", MT940.replace("DE123/456", "DE999"));
    assert_eq!(all(&both, &ours).unwrap().1.len(), 3);
}

fn camt(entries: &str, closing: &str) -> String {
    format!(
        r#"<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><GrpHdr><MsgId>M</MsgId></GrpHdr><Stmt>
<Acct><Id><IBAN>DE00</IBAN></Id></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">100.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-24</Dt></Dt></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{closing}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-25</Dt></Dt></Bal>
{entries}</Stmt></BkToCstmrStmt></Document>"#
    )
}

const BATCH: &str = r#"<Ntry><Amt Ccy="EUR">30.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-25</Dt></BookgDt><NtryDtls>
<TxDtls><Refs><EndToEndId>E-1</EndToEndId></Refs><Amt Ccy="EUR">10.00</Amt><RltdPties><CdtrAcct><Id><IBAN>DE11</IBAN></Id></CdtrAcct></RltdPties></TxDtls>
<TxDtls><Refs><EndToEndId>E-2</EndToEndId></Refs><Amt Ccy="EUR">20.00</Amt><RmtInf><Ustrd>A &amp; B</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"#;

#[test]
fn an_entry_of_several_transactions_is_one_line_each() {
    let (summary, entries) = all(&camt(BATCH, "70.00"), &Terms::default()).unwrap();
    assert!(summary.balanced);
    assert_eq!(summary.format, "camt.053");
    let told: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry.place.as_str(),
                entry.money.to_string(),
                references(entry)[0],
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("entry 1, transaction 1", "10.00".to_owned(), "E-1"),
            ("entry 1, transaction 2", "20.00".to_owned(), "E-2"),
        ]
    );
    assert_eq!(entries[0].recipient, "DE11");
    assert_eq!(entries[1].text.trim(), "A & B");
}

#[test]
fn a_camt_that_is_forged_or_cut_off_is_refused() {
    let terms = Terms::default();
    let whole = camt(BATCH, "70.00");
    for at in (1..whole.len()).step_by(7) {
        assert!(all(&whole[..at], &terms).is_err(), "cut at {at}");
    }
    refused(&camt(BATCH, "71.00"), &terms, "does not add up");
    refused(
        &camt(&BATCH.replace("10.00", "11.00"), "70.00"),
        &terms,
        "does not add up",
    );
    refused(
        &camt(&BATCH.replace("E-1", "&x;"), "70.00"),
        &terms,
        "entity",
    );
    refused(
        &whole.replace("<Document", "<!DOCTYPE a [<!ENTITY x \"y\">]><Document"),
        &terms,
        "document type",
    );
    refused(
        &whole.replace("BkToCstmrStmt", "CstmrCdtTrfInitn"),
        &terms,
        "camt.053 or a camt.054",
    );
    refused(&whole.replace(">BOOK<", ">MAYBE<"), &terms, "status");
    refused(&whole.replace("CLBD", "ITAV"), &terms, "closing balance");
    refused(
        &whole.replace("Ccy=\"EUR\">30.00", "Ccy=\"EUR\">3e1"),
        &terms,
        "amount",
    );
    let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
    assert!(all(&deep, &terms).is_err());
}

#[test]
fn what_is_pending_returned_or_batched_is_told_apart() {
    let pending = BATCH.replace(">BOOK<", "><Cd>PDNG</Cd><");
    let (_, entries) = all(&camt(&pending, "100.00"), &Terms::default()).unwrap();
    assert!(
        entries
            .iter()
            .all(|entry| entry.standing == Standing::Pending)
    );
    let returned = BATCH.replace("DBIT", "CRDT").replace(
        "<RmtInf>",
        "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf><RmtInf>",
    );
    let (_, entries) = all(&camt(&returned, "130.00"), &Terms::default()).unwrap();
    assert_eq!(entries[1].flow, Flow::In);
    assert!(entries[1].reversal && !entries[0].reversal);
    let unlisted = BATCH
        .replace("<Amt Ccy=\"EUR\">10.00</Amt>", "")
        .replace("<Amt Ccy=\"EUR\">20.00</Amt>", "");
    let (_, entries) = all(&camt(&unlisted, "70.00"), &Terms::default()).unwrap();
    assert_eq!(entries.len(), 1);
    assert!(entries[0].is_batch);
    assert_eq!(references(&entries[0]), ["E-1", "E-2"]);
}

#[test]
fn a_charge_within_the_amount_is_taken_off() {
    let entry = r#"<Ntry><Amt Ccy="EUR">30.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-25</Dt></BookgDt>
<Chrgs><Rcrd><Amt Ccy="EUR">0.50</Amt><ChrgInclInd>true</ChrgInclInd></Rcrd></Chrgs></Ntry>"#;
    let (summary, entries) = all(&camt(entry, "69.50"), &Terms::default()).unwrap();
    assert_eq!(entries[0].money.to_string(), "30.00");
    assert_eq!(entries[0].fee, Some(50));
    assert_eq!(summary.fees.to_string(), "EUR 0.50");
}

#[test]
fn a_csv_is_read_below_its_titles_whatever_its_headers_look_like() {
    let text = "My bank;;;\nDATE;Paid_Out;Reference;Balance\n2026-11-25;1.500,00;E-1;8.500,00\n2026-11-25 10:00;200,00;E-2;8.300,00\n";
    let mut terms = kes();
    terms.decimal = Some(',');
    let (summary, entries) = all(text, &terms).unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].money.to_string(), "1500.00");
    assert_eq!(entries[0].flow, Flow::Out);
    assert_eq!(
        (summary.opening, summary.closing),
        (Some(1_000_000), Some(830_000))
    );
    assert!(summary.balanced);
}

#[test]
fn a_status_is_read_by_words_that_are_known_and_no_others() {
    let text =
        |status: &str| format!("date,amount,reference,status\n2026-11-25,-5.00,E-1,{status}\n");
    for (status, expected) in [
        ("Completed", Some((Standing::Booked, 1))),
        ("", None),
        // At this gateway the word says that nothing is known yet.
        ("Posted", None),
        ("pending", Some((Standing::Pending, 1))),
        ("FAILED", Some((Standing::NotExecuted, 1))),
        ("Reversed", Some((Standing::Booked, 2))),
        ("OK-ish", None),
    ] {
        let found = all(&text(status), &kes())
            .ok()
            .map(|(_, entries)| (entries[0].standing, entries.len()));
        assert_eq!(found, expected, "{status}");
    }
    let mut named = kes();
    named.booked = vec!["Done".to_owned()];
    assert!(all(&text("done"), &named).is_ok());
    // Who names the words for it means no other one.
    refused(&text("Completed"), &named, "nothing says what");
}

#[test]
fn what_speaks_against_a_line_is_seen_in_whatever_column_it_stands() {
    let read = |header: &str, cell: &str| {
        let text = format!("date,amount,reference,{header}\n2026-11-25,-5.00,E-1,{cell}\n");
        all(&text, &kes()).map(|(_, entries)| entries[0].standing)
    };
    for (header, cell, expected) in [
        ("Remarks", "Salary", Standing::Booked),
        ("description", "FAILED: salary E-1", Standing::Unclear),
        ("kind", "Reversal", Standing::Unclear),
        ("Transaction Result", "failed", Standing::NotExecuted),
        ("ResponseCode", "0", Standing::Booked),
    ] {
        assert_eq!(read(header, cell).unwrap(), expected, "{header}: {cell}");
    }
    for (header, cell, with) in [
        (
            "Remarks",
            "REVERSED",
            "\"Remarks\" says \"REVERSED\", and is not read",
        ),
        ("ResponseCode", "141", "\"ResponseCode\" says \"141\""),
        (
            "Estado",
            "Fallida",
            "status: nothing says what \"Fallida\" means, under \"Estado\"",
        ),
        (
            "Settlement Status",
            "",
            "\"Settlement Status\": the cell is empty",
        ),
    ] {
        let error = read(header, cell).unwrap_err().to_string();
        assert!(error.contains(with), "{error}");
    }
    // Of two columns of statuses neither hides the other.
    let both = |second: &str| {
        let text =
            format!("date,amount,status,Settlement Status\n2026-11-25,-5.00,Success,{second}\n");
        let (_, entries) = all(&text, &kes()).unwrap();
        (entries[0].standing, entries.len())
    };
    assert_eq!(both("success"), (Standing::Booked, 1));
    assert_eq!(both("Failed"), (Standing::Pending, 1));
    assert_eq!(both("Reversed"), (Standing::Booked, 2));
    // What came in, and a column that is said to be the status, are not doubted.
    let back = "date,amount,Remarks\n2026-11-25,5.00,REVERSED\n";
    assert!(all(back, &kes()).is_ok());
}

#[test]
fn a_column_of_debits_and_credits_says_which_way_an_amount_went() {
    let read = |amount: &str, side: &str, paid_out| {
        let text = format!("date,amount,Dr/Cr\n2026-11-25,{amount},{side}\n");
        let terms = Terms { paid_out, ..kes() };
        all(&text, &terms).map(|(_, entries)| entries[0].flow)
    };
    for paid_out in [None, Some(true), Some(false)] {
        assert_eq!(read("5.00", "DR", paid_out).unwrap(), Flow::Out);
        assert_eq!(read("5.00", "Credit", paid_out).unwrap(), Flow::In);
        assert_eq!(read("-5.00", "D", paid_out).unwrap(), Flow::Out);
        let error = read("5.00", "?", paid_out).unwrap_err().to_string();
        assert!(error.contains("expected debit or credit"), "{error}");
    }
    assert!(read("-5.00", "CR", None).is_err());
}

#[test]
fn an_amount_that_was_taken_back_in_its_own_column_is_refused() {
    let head = "date,paid_out,paid_in\n";
    let with = "another sign than those above it";
    refused(
        &format!("{head}2026-11-25,5.00,\n2026-11-25,-2.00,\n"),
        &kes(),
        with,
    );
    let below = "an amount that was paid in is below zero";
    refused(&format!("{head}2026-11-25,,-5.00\n"), &kes(), below);
    let (_, entries) = all(
        &format!("{head}2026-11-25,-5.00,0\n2026-11-25,-2.00,0\n"),
        &kes(),
    )
    .unwrap();
    assert!(entries.iter().all(|entry| entry.flow == Flow::Out));
}

#[test]
fn a_list_that_this_program_wrote_is_no_statement() {
    let ours = "line,payer_transaction_id,amount,state,date\n1,X,5.00,paid,2026-11-25\n";
    refused(ours, &kes(), "is a list that this program wrote");
}

#[test]
fn a_csv_that_is_odd_is_refused_with_its_line() {
    let head = "date,amount,currency,balance,reference\n";
    for (rows, with) in [
        (
            "2026-11-25,-5.00,KES,95.00,a\n2026-11-25,-5.00,KES,80.00,b\n",
            "line 3: the statement does not add up",
        ),
        ("2026-11-25,-5.00\n", "line 2: the row has 2 cells"),
        ("25/11/2026,-5.00,KES,95.00,a\n", "line 2: date"),
        ("2026-11-25,-5,00,KES,1,a\n", "line 2: the row has 6 cells"),
        ("2026-11-25,\"-5,00\",KES,1,a\n", "line 2: amount"),
        ("2026-11-25,-5.00,Shilling,1,a\n", "line 2: currency"),
        ("2026-11-25,,KES,1,a\n", "line 2: the row has no amount"),
    ] {
        refused(&format!("{head}{rows}"), &kes(), with);
    }
    refused("a,b\n1,2\n", &kes(), "no row has the headers");
    refused(
        "Kontoauszug\nDatum;Betrag;Text\n2026-01-02;1,00;x\n",
        &kes(),
        "no row has the headers \"date\", \"amount\"; line 2 has \"Datum\", \"Betrag\", \"Text\"",
    );
    // What has numbers in it may be about somebody.
    refused(
        "254712345678,Wanjiku,100.00\n",
        &kes(),
        "line 1 has \"…\", \"Wanjiku\", \"…\"",
    );
    refused("", &kes(), "empty");
    refused("PK\u{0}\u{0}", &kes(), "binary file");
    let none = Terms::default();
    refused(
        "date,amount\n2026-11-25,-5.00\n",
        &none,
        "nothing says the currency",
    );
}

#[test]
fn the_format_is_told_by_the_beginning() {
    for (text, expected) in [
        ("<?xml", Format::Camt),
        ("\u{feff}  <Document", Format::Camt),
        ("{1:F01", Format::Mt940),
        (":20:X", Format::Mt940),
        ("date,amount", Format::Csv),
    ] {
        assert_eq!(Format::of(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn headers_that_are_doubled_missing_or_said_to_stand_elsewhere_are_refused_with_their_place() {
    refused(
        "date,amount,Amount\n2026-11-25,-5.00,-6.00\n",
        &kes(),
        "line 1: two columns are called \"amount\"",
    );
    let mut said = kes();
    let column = |ours: &str, theirs: &str| Said::Column(ours.to_owned(), vec![theirs.to_owned()]);
    said.say("columns", column("date", "Completion Time"))
        .unwrap();
    said.say("columns", column("amount", "Paid Out")).unwrap();
    refused(
        "My wallet\nReceipt,Completion Time,Withdrawn\nA,2026-11-25,5\n",
        &said,
        "line 2: these headers have no \"Paid Out\"",
    );
    let titled = "x\ndate,amount\ndate,amount\n2026-11-25,-5.00\n";
    let mut third = kes();
    third.header = Some(3);
    assert_eq!(all(titled, &third).unwrap().1.len(), 1);
    refused(titled, &kes(), "line 3: amount");
    third.header = Some(4);
    refused(titled, &third, "line 4: these headers have no");
    third.header = Some(9);
    refused(titled, &third, "no row has the headers");
}

#[test]
fn a_row_with_the_sum_is_compared_and_is_no_line() {
    let rows =
        "date,amount,reference,status\n2026-11-25,-5.00,E-1,paid\n2026-11-26,-7.50,E-2,failed\n";
    for (last, with) in [
        ("Total,-12.50,,\n", None),
        ("Total:,12.50,,\n", None),
        // Some add up what has moved alone.
        ("TOTAL,-5.00,,\n", None),
        (
            "Total,-12.00,,\n",
            Some("line 4: the statement does not add up"),
        ),
        (
            "Total,-12.50,,\n2026-11-27,-1.00,E-3,\n",
            Some("line 5: a row stands below"),
        ),
        ("Balance,-12.50,,\n", Some("line 4: date")),
    ] {
        let read = all(
            &format!("{rows}{last}")
                .replace("Total", ",Total")
                .replace("TOTAL", ",TOTAL")
                .replace("Balance", ",Balance")
                .replace(
                    "date,amount,reference,status",
                    "date,note,amount,reference,status",
                )
                .replace("2026-11-25,", "2026-11-25,,")
                .replace("2026-11-26,", "2026-11-26,,")
                .replace("2026-11-27,", "2026-11-27,,"),
            &kes(),
        );
        match with {
            None => assert_eq!(read.unwrap().1.len(), 2, "{last}"),
            Some(with) => {
                let error = read.unwrap_err().to_string();
                assert!(error.contains(with), "{last}: {error}");
            }
        }
    }
}

#[test]
fn balances_hold_with_charges_beside_the_amounts_and_through_what_did_not_move() {
    let head = "date,amount,fee,balance,reference,status\n";
    let charged = "2026-11-25,,,1000.00,,\n2026-11-25,-100.00,5.00,895.00,E-1,paid\n2026-11-25,-50.00,5.00,895.00,E-2,failed\n\
                   2026-11-26,-95.00,0,800.00,E-3,paid\n";
    let (summary, entries) = all(&format!("{head}{charged}"), &kes()).unwrap();
    assert_eq!(
        (summary.opening, summary.closing),
        (Some(100_000), Some(80_000))
    );
    assert!(summary.balanced);
    assert_eq!(entries.len(), 3);
    assert_eq!(summary.fees.to_string(), "KES 5.00");
    // Newest first, the same.
    let mut turned: Vec<&str> = charged.split_inclusive('\n').collect();
    turned.reverse();
    let (summary, _) = all(&format!("{head}{}", turned.concat()), &kes()).unwrap();
    assert_eq!(
        (summary.opening, summary.closing),
        (Some(100_000), Some(80_000))
    );
    refused(
        &format!("{head}{}", charged.replace("895.00,E-2", "890.00,E-2")),
        &kes(),
        "line 4: the statement does not add up",
    );
}

#[test]
fn texts_of_other_encodings_are_read_and_other_files_are_named() {
    let text = "date;amount;reference;recipient\n2026-11-25;-5,00;Lohn für Jörg;0712345678\n";
    let mut terms = kes();
    terms.decimal = Some(',');
    let utf16: Vec<u8> = std::iter::once(0xFEFF)
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let latin: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let error = of_bytes(latin.clone(), &terms).unwrap_err();
    assert!(
        error.of_file("s.csv").starts_with("s.csv:2: is not UTF-8"),
        "{error}"
    );
    assert!(
        error.hint().contains("--encoding windows-1252"),
        "{}",
        error.hint()
    );
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for bytes in [marked, utf16] {
        let (_, entries) = of_bytes(bytes, &terms).unwrap();
        assert_eq!(references(&entries[0]), ["Lohn für Jörg"]);
    }
    terms.encoding = Encoding::from_name("windows-1252");
    assert_eq!(
        references(&of_bytes(latin, &terms).unwrap().1[0]),
        ["Lohn für Jörg"]
    );
    for (bytes, with) in [
        (&b"%PDF-1.7 ..."[..], "PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", "XLS"),
        (b"", "empty"),
    ] {
        let error = of_bytes(bytes.to_vec(), &kes()).unwrap_err();
        assert!(error.to_string().contains(with), "{error}");
    }
    let endless = format!("date,amount\n\"2026-11-25,{}", "x".repeat(5 << 20));
    refused(&endless, &kes(), "never closed");
}

#[test]
fn a_mistake_of_a_camt_is_named_by_line_character_and_entry() {
    let text = camt(&BATCH.replace(">10.00<", ">1o.00<"), "70.00");
    let error = all(&text, &Terms::default()).unwrap_err();
    let told = error.of_file("s.xml");
    assert!(
        told.starts_with("s.xml:7:") && told.contains(": entry 1, transaction 1: "),
        "{told}"
    );
}

#[test]
fn statements_of_several_days_in_one_file_follow_on_one_another() {
    let terms = Terms::default();
    let monday = ":20:A\n:25:1\n:60F:C251124KES100,\n:61:251124D10,NTRFA\n:62F:C251124KES90,\n-\n";
    let tuesday = ":20:A\n:25:1\n:60F:C251125KES90,\n:61:251125D20,NTRFB\n:62F:C251125KES70,\n-\n";
    let wednesday =
        ":20:A\n:25:1\n:60F:C251126KES70,\n:61:251126D30,NTRFC\n:62F:C251126KES40,\n-\n";
    for days in [[monday, tuesday, wednesday], [wednesday, tuesday, monday]] {
        let (summary, entries) = all(&days.concat(), &terms).unwrap();
        assert_eq!(
            (summary.opening, summary.closing),
            (Some(10_000), Some(4_000))
        );
        assert_eq!(entries.len(), 3);
    }
    // One is missing between them, or there twice.
    for days in [
        [monday, wednesday, ""],
        [monday, monday, ""],
        [tuesday, monday, wednesday],
    ] {
        refused(
            &days.concat(),
            &terms,
            "a statement is missing, or is there twice",
        );
    }
    let camt_of = |opening: &str, closing: &str, amount: &str| {
        let balance = |code: &str, amount: &str| {
            format!(
                "<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy=\"KES\">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>"
            )
        };
        format!(
            "<Stmt>{}{}<Ntry><Amt Ccy=\"KES\">{amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2026-11-25</Dt></BookgDt></Ntry></Stmt>",
            balance("OPBD", opening),
            balance("CLBD", closing)
        )
    };
    let file = |statements: &str| {
        format!("<Document><BkToCstmrStmt>{statements}</BkToCstmrStmt></Document>")
    };
    let (first, second) = (camt_of("100", "90", "10"), camt_of("90", "70", "20"));
    let (summary, _) = all(&file(&format!("{first}{second}")), &terms).unwrap();
    assert_eq!(
        (summary.opening, summary.closing),
        (Some(10_000), Some(7_000))
    );
    refused(
        &file(&format!("{first}{first}")),
        &terms,
        "a statement is missing, or is there twice",
    );
}

#[test]
fn an_entry_of_thousands_of_transactions_is_handed_out_piece_by_piece() {
    let of = |details: &str| {
        format!(
            r#"<Ntry><Amt Ccy="EUR">50.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-25</Dt></BookgDt><NtryDtls>{details}</NtryDtls></Ntry>"#
        )
    };
    let listed = r#"<TxDtls><Amt Ccy="EUR">0.02</Amt></TxDtls>"#;
    let unlisted = "<TxDtls><Refs><EndToEndId>E</EndToEndId></Refs></TxDtls>";
    let terms = Terms::default();
    let (_, entries) = all(&camt(&of(&listed.repeat(2_500)), "50.00"), &terms).unwrap();
    assert_eq!(entries.len(), 2_500);
    let last = entries.last().map(|entry| entry.place.clone());
    assert_eq!(last.as_deref(), Some("entry 1, transaction 2500"));
    assert!(
        entries
            .iter()
            .all(|entry| entry.money.to_string() == "0.02" && !entry.is_batch)
    );
    refused(
        &camt(&of(&listed.repeat(2_501)), "50.00"),
        &terms,
        "come to more than its amount",
    );
    let (_, entries) = all(&camt(&of(&unlisted.repeat(2_500)), "50.00"), &terms).unwrap();
    assert_eq!((entries.len(), entries[0].is_batch), (1, true));
    refused(
        &camt(&of(&(listed.repeat(600) + unlisted)), "50.00"),
        &terms,
        "has no amount, and others have",
    );
}

#[test]
fn a_row_is_a_charge_by_its_kind_or_by_how_it_is_described() {
    let mut terms = kes();
    terms.charges = vec!["pay out charge".to_owned()];
    let head = "date,amount,description,receipt\n";
    let rows = "2026-11-25,-100,Pay out to 0712345678,R1\n2026-11-25,-2.30,Pay Out Charge of R1,R1\n2026-11-25,5,Pay out charge taken back,R2\n";
    let (summary, entries) = all(&format!("{head}{rows}"), &terms).unwrap();
    let charges: Vec<bool> = entries.iter().map(|entry| entry.is_charge).collect();
    assert_eq!(charges, [false, true, false]);
    assert_eq!(summary.fees.to_string(), "KES 2.30");
    // Where a column says the kind, the description says nothing of it.
    let kinds = "date,amount,description,kind\n2026-11-25,-100,Pay out charge,Payment\n2026-11-25,-2.30,x,PAY OUT CHARGE\n";
    let (_, entries) = all(kinds, &terms).unwrap();
    let charges: Vec<bool> = entries.iter().map(|entry| entry.is_charge).collect();
    assert_eq!(charges, [false, true]);
}

#[test]
fn a_last_line_without_a_line_break_is_told() {
    let text = "date,amount\n2026-11-25,-5.00\n2026-11-26,-5.0";
    let (summary, _) = all(text, &kes()).unwrap();
    assert!(
        summary.notes[0].contains("may have been cut off"),
        "{:?}",
        summary.notes
    );
    let (summary, _) = all(&format!("{text}\n"), &kes()).unwrap();
    assert_eq!(summary.notes, [""; 0]);
}
