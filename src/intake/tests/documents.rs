//! The supporting documents of RTGS transfers (sections 2.5 and 4.5).

use std::fs;

use super::*;
use crate::intake::Documents;

/// The smallest document that a viewer opens.
fn pdf() -> Vec<u8> {
    let mut document = lopdf::Document::with_version("1.4");
    let tree = document.new_object_id();
    let page = document.add_object(lopdf::dictionary! { "Type" => "Page", "Parent" => tree });
    let root = lopdf::dictionary! { "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1 };
    document.objects.insert(tree, root.into());
    let catalog = document.add_object(lopdf::dictionary! { "Type" => "Catalog", "Pages" => tree });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

/// A folder with documents, and the rules of a file in it.
fn desk(bytes_max: u64) -> (tempfile::TempDir, Arc<Rules>) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("documents")).unwrap();
    fs::write(folder.path().join("documents/board.pdf"), pdf()).unwrap();
    let documents = Documents {
        folder: folder.path().to_str().unwrap().to_owned(),
        bytes_max,
    };
    let rules = Rules {
        documents: Some(documents),
        ..(*rules()).clone()
    };
    (folder, Arc::new(rules))
}

const HEADER: &str = "service_code,msisdn,amount,bank_code,bank_name,bank_account_name,bank_account_number,document,extra.supportDocument\n";

fn rows(rows: &[(&str, &str, &str, &str)], rules: &Arc<Rules>) -> (Vec<Row>, Vec<String>) {
    let rows: String = rows
        .iter()
        .map(|(service, amount, document, uploaded)| {
            let bank = if *service == "RTGS" {
                "01,Mlima Bank,Esther Were,0110123456789"
            } else {
                ",,,"
            };
            format!("{service},254712345678,{amount},{bank},{document},{uploaded}\n")
        })
        .collect();
    let mut reader = open(format!("{HEADER}{rows}"), Arc::clone(rules)).unwrap();
    let rows: Vec<Row> = reader.by_ref().map(Result::unwrap).collect();
    (rows, reader.notes())
}

#[test]
fn a_transfer_has_its_document_from_the_threshold_up() {
    let (folder, rules) = desk(10_000);
    let (found, notes) = rows(
        &[
            ("RTGS", "1000000.00", "documents/board.pdf", ""),
            ("RTGS", "1000000.00", "", "DOC-17"),
            ("RTGS", "999999.99", "", ""),
        ],
        &rules,
    );
    let document = good(&found[0]).document.as_ref().unwrap();
    assert_eq!(document.written, "documents/board.pdf");
    assert_eq!(document.path(), folder.path().join("documents/board.pdf"));
    assert!(good(&found[1]).document.is_none());
    let uploaded = ("supportDocument".to_owned(), "DOC-17".to_owned());
    assert!(good(&found[1]).extra.contains(&uploaded));
    assert!(good(&found[2]).document.is_none());
    assert_eq!(notes, [""; 0]);
}

#[test]
fn below_the_threshold_a_document_is_left_out_and_told_once() {
    let (_folder, rules) = desk(10_000);
    let (found, notes) = rows(
        &[
            ("RTGS", "999999.99", "nowhere.pdf", ""),
            ("RTGS", "10.00", "", "DOC-17"),
        ],
        &rules,
    );
    for row in &found {
        assert!(good(row).document.is_none());
        assert_eq!(good(row).extra.len(), 4, "the bank alone");
    }
    assert_eq!(
        notes,
        [
            "2 RTGS rows below the threshold: the document named there is not needed, and not sent (section 4.5)"
        ]
    );
}

#[test]
fn a_currency_without_a_threshold_needs_no_document() {
    let (_folder, with) = desk(10_000);
    let mut without = (*with).clone();
    without.document_thresholds.clear();
    let row = [("RTGS", "5000000.00", "", "")];
    assert!(errors(&rows(&row, &with).0)[0].contains("section 4.5"));
    good(&rows(&row, &Arc::new(without)).0[0]);
}

#[test]
fn what_is_wrong_with_a_document_is_told_with_its_row() {
    let (folder, rules) = desk(2_000);
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("text.pdf", b"Invoice");
    write("cut.pdf", &pdf()[..200]);
    write("large.pdf", &[0; 2_001]);
    write("empty.pdf", b"");
    let (found, _) = rows(
        &[
            ("RTGS", "1000000.00", "", ""),
            ("RTGS", "1000000.00", "nowhere.pdf", ""),
            ("RTGS", "1000000.00", "documents", ""),
            ("RTGS", "1000000.00", "text.pdf", ""),
            ("RTGS", "1000000.00", "cut.pdf", ""),
            ("RTGS", "1000000.00", "large.pdf", ""),
            ("RTGS", "1000000.00", "empty.pdf", ""),
            ("RTGS", "1000000.00", "documents/board.pdf", "DOC-17"),
            ("B2C_MPESA", "100.00", "documents/board.pdf", ""),
            ("AIRTIME", "100.00", "", "DOC-17"),
        ],
        &rules,
    );
    assert_eq!(
        errors(&found),
        [
            "2: document: expected a supporting document (PDF) for an RTGS transfer of 1000000.00 KES or more (section 4.5), \
             found nothing",
            "3: document: expected a PDF document (section 2.5), found no such file (\"nowhere.pdf\")",
            "4: document: expected a PDF document (section 2.5), found no regular file (\"documents\")",
            "5: document: expected a PDF document that opens without a password (section 2.5), found a text file (\"text.pdf\")",
            "6: document: expected a PDF document that opens without a password (section 2.5), found a PDF that is cut off: \
             its end mark %%EOF is missing (\"cut.pdf\")",
            "7: document: expected at most 2000 bytes (document_bytes_max), found 2001 (\"large.pdf\")",
            "8: document: expected a PDF document that opens without a password (section 2.5), found an empty file (\"empty.pdf\")",
            "9: document: expected either a document or extra.supportDocument, found both (\"documents/board.pdf\")",
            "10: document: expected nothing, B2C_MPESA takes no document (mobile_money; section 4.5), \
             found \"documents/board.pdf\"",
            "11: extra.supportDocument: expected nothing, AIRTIME takes no document (airtime; section 4.5)",
        ]
    );
}

#[test]
fn a_document_that_many_rows_name_is_read_once() {
    let (folder, rules) = desk(10_000);
    let row = ("RTGS", "1000000.00", "documents/board.pdf", "");
    let text: String = [
        HEADER.to_owned(),
        "RTGS,254712345678,1000000.00,01,Mlima Bank,Esther Were,0110123456789,documents/board.pdf,\n".repeat(10_000),
    ]
    .concat();
    let mut reader = open(text, Arc::clone(&rules)).unwrap();
    good(&reader.next().unwrap().unwrap());
    // Gone after the first row: the others cannot have opened it.
    fs::remove_file(folder.path().join("documents/board.pdf")).unwrap();
    assert_eq!(
        reader.filter(|row| matches!(row, Ok(Row::Good(_)))).count(),
        9_999
    );
    assert!(matches!(rows(&[row], &rules).0[0], Row::Bad(_)));
}

#[test]
fn the_identity_of_a_row_does_not_depend_on_its_folder() {
    let (_one, here) = desk(10_000);
    let (_other, there) = desk(10_000);
    let row = [("RTGS", "1000000.00", "documents/board.pdf", "")];
    let hash = |rules| good(&rows(&row, rules).0[0]).content_hash();
    assert_eq!(hash(&here), hash(&there));
}
