//! Sound documents, broken ones, and hostile ones.

use lopdf::{EncryptionState, EncryptionVersion, Permissions, SaveOptions, Stream, dictionary};
use proptest::prelude::*;

use super::*;

/// A document of some pages, as a program would write it.
fn document(pages: usize) -> Document {
    let mut document = Document::with_version("1.5");
    let tree = document.new_object_id();
    let kids: Vec<Object> = (0..pages)
        .map(|number| {
            let text = format!("BT /F1 12 Tf 72 720 Td (Page {number}) Tj ET");
            let contents = document.add_object(Stream::new(dictionary! {}, text.into_bytes()));
            let page = dictionary! { "Type" => "Page", "Parent" => tree, "Contents" => contents };
            document.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(pages).unwrap();
    let root = dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count };
    document.objects.insert(tree, root.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    document.trailer.set("Root", catalog);
    document.trailer.set(
        "ID",
        vec![Object::string_literal("a"), Object::string_literal("b")],
    );
    document
}

fn bytes(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

/// The same with its objects in bundles, as newer programs write it.
fn bundled(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = SaveOptions::builder()
        .use_object_streams(true)
        .use_xref_streams(true)
        .build();
    document.save_with_options(&mut bytes, options).unwrap();
    bytes
}

fn encrypted(user: &str) -> Vec<u8> {
    let mut document = document(1);
    let version = EncryptionVersion::V2 {
        document: &document,
        owner_password: "owner",
        user_password: user,
        key_length: 128,
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).unwrap();
    document.encrypt(&state).unwrap();
    bytes(document)
}

#[test]
fn sound_documents_pass_however_they_are_written() {
    for pages in [1, 40] {
        assert_eq!(check(&bytes(document(pages))), Ok(()));
        assert_eq!(check(&bundled(document(pages))), Ok(()));
    }
    let mut compressed = document(3);
    compressed.compress();
    assert_eq!(check(&bytes(compressed)), Ok(()));
    let padded = [b"\r\n".to_vec(), bytes(document(1)), b"\r\n\0\0".to_vec()].concat();
    assert_eq!(check(&padded), Ok(()), "blanks around it");
}

#[test]
fn what_is_no_sound_pdf_is_told_by_what_it_is() {
    let sound = bytes(document(2));
    let without_table = {
        let mut bytes = sound.clone();
        let mark = find(&bytes, b"startxref\n").unwrap() + 10;
        let digits = bytes[mark..].split(|byte| !byte.is_ascii_digit());
        let digits = std::str::from_utf8(digits.into_iter().next().unwrap()).unwrap();
        let at: usize = digits.parse().unwrap();
        bytes[at..at + 8].fill(b'x');
        bytes
    };
    let without_page = {
        let mut bytes = bytes(document(1));
        let at = find(&bytes, b"/Type/Page/").unwrap();
        bytes[at + 5..at + 10].copy_from_slice(b"/Peng");
        bytes
    };
    let without_middle = [&sound[..40], &sound[140..]].concat();
    let of = |bytes: &[u8]| check(bytes).map_err(|error| error.to_string());
    for (name, bytes, expected) in [
        ("empty", Vec::new(), "an empty file"),
        (
            "text",
            b"Invoice 7\nKES 1,000,000\n".to_vec(),
            "a text file",
        ),
        (
            "picture",
            b"\x89PNG\r\n\x1a\n\0\0".to_vec(),
            "a PNG picture",
        ),
        (
            "office document",
            b"PK\x03\x04[Content_Types].xml".to_vec(),
            "an Office document, perhaps an Excel workbook (XLSX)",
        ),
        ("page", b"<html><body>Sign in".to_vec(), "an HTML page"),
        ("bytes", vec![0xfe; 100], "a file of another kind"),
        (
            "header alone",
            b"%PDF-1.7\n".to_vec(),
            "a PDF that is cut off: its end mark %%EOF is missing",
        ),
        (
            "cut in half",
            sound[..sound.len() / 2].to_vec(),
            "a PDF that is cut off: its end mark %%EOF is missing",
        ),
        (
            "both ends only",
            b"%PDF-1.7\n%%EOF".to_vec(),
            "a damaged PDF: it does not say where its table of objects is",
        ),
        (
            "garbage between",
            b"%PDF-1.7\nxyz\nstartxref\n9\n%%EOF".to_vec(),
            "a damaged PDF: its table of objects cannot be read",
        ),
        (
            "no table",
            without_table,
            "a damaged PDF: its table of objects is missing or wrong",
        ),
        (
            "a page short",
            without_page,
            "a damaged PDF: a page is missing",
        ),
        (
            "a hole",
            without_middle,
            "a damaged PDF: its table of objects is missing or wrong",
        ),
        (
            "no pages",
            super::tests::bytes(document(0)),
            "a damaged PDF: it has no page that can be read",
        ),
        (
            "password",
            encrypted("user"),
            "a PDF that is encrypted or protected by a password",
        ),
        (
            "encrypted without password",
            encrypted(""),
            "a PDF that is encrypted or protected by a password",
        ),
    ] {
        assert_eq!(of(&bytes), Err(expected.to_owned()), "{name}");
    }
}

#[test]
fn a_page_whose_contents_are_missing_is_damage() {
    let mut document = document(1);
    document
        .objects
        .retain(|_, object| object.as_stream().is_err());
    assert_eq!(
        check(&bytes(document)),
        Err(NotPdf::Damaged("what a page shows is missing"))
    );
}

#[test]
fn page_contents_are_never_unpacked() {
    // Many zeros, well packed.
    let mut document = document(1);
    let mut bomb = Stream::new(dictionary! {}, vec![0; 64 << 20]);
    bomb.compress().unwrap();
    assert!(bomb.content.len() < 1 << 20);
    document.add_object(bomb);
    assert_eq!(check(&bytes(document)), Ok(()));
}

/// The crate's writer leaves bundles out, so they are named when all is written.
fn as_bundles(document: Document) -> Vec<u8> {
    let mut bytes = bytes(document);
    while let Some(at) = find(&bytes, b"/ObjSxm") {
        bytes[at..at + 7].copy_from_slice(b"/ObjStm");
    }
    bytes
}

#[test]
fn bundles_that_unpack_without_end_are_refused() {
    let mut document = document(1);
    let mut bomb = Stream::new(
        dictionary! { "Type" => "ObjSxm", "N" => 1, "First" => 4 },
        [b"99 0 ".to_vec(), vec![b' '; 16 << 20]].concat(),
    );
    bomb.compress().unwrap();
    document.add_object(bomb);
    assert_eq!(check(&as_bundles(document)), Err(NotPdf::Excessive));
    // Each within its bound, all together not.
    let mut document = super::tests::document(1);
    for number in 0..16 {
        let mut part = Stream::new(
            dictionary! { "Type" => "ObjSxm", "N" => 1, "First" => 6 },
            [format!("9{number:02} 0 ").into_bytes(), vec![b' '; 6 << 20]].concat(),
        );
        part.compress().unwrap();
        document.add_object(part);
    }
    assert_eq!(check(&as_bundles(document)), Err(NotPdf::Excessive));
}

#[test]
fn objects_without_end_are_refused_before_they_take_memory() {
    let mut many = b"%PDF-1.7\n1 0 obj\n[".to_vec();
    many.extend(b"0 ".repeat(3_000_000));
    many.extend(b"]\nendobj\nstartxref\n9\n%%EOF");
    assert_eq!(check(&many), Err(NotPdf::Excessive));
    let mut deep = b"%PDF-1.7\n1 0 obj\n".to_vec();
    deep.extend(b"[".repeat(1_000_000));
    deep.extend(b"\nendobj\nxref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer <</Size 2/Root 1 0 R>>\nstartxref\n");
    let at = find(&deep, b"xref").unwrap();
    deep.extend(format!("{at}\n%%EOF").into_bytes());
    assert!(matches!(check(&deep), Err(NotPdf::Damaged(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_damage_to_a_document_is_more_than_an_error(
        bundle in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let mut bytes = if bundle { bundled(document(2)) } else { bytes(document(2)) };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cuts {
            let at = cut.index(bytes.len());
            bytes.drain(at..bytes.len().min(at + 20));
        }
        let _ = check(&bytes);
    }
}
