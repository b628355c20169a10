//! Supporting documents.

use lopdf::{Document, LoadOptions};

use crate::intake::pdf::{NotPdf, check};

/// What is taken has both marks, a page and no encryption, as the crate reads it without our filter.
pub fn pdf(bytes: &[u8]) {
    match check(bytes) {
        Ok(()) => {
            let holds =
                |part: &[u8], mark: &[u8]| part.windows(mark.len()).any(|found| found == mark);
            assert!(holds(&bytes[..bytes.len().min(1024)], b"%PDF-"));
            assert!(holds(&bytes[bytes.len().saturating_sub(2048)..], b"%%EOF"));
            let options = LoadOptions {
                max_decompressed_size: Some(8 * 1024 * 1024),
                ..LoadOptions::default()
            };
            let whole = Document::load_mem_with_options(bytes, options)
                .expect("a document that was taken opens");
            assert!(!whole.was_encrypted() && !whole.trailer.has(b"Encrypt"));
            assert!(whole.page_iter().next().is_some(), "no page");
        }
        Err(error) => {
            super::assert_shown(&error.to_string(), 200);
            assert_eq!(error == NotPdf::Empty, bytes.is_empty());
        }
    }
}

/// Leaves panics of the thread that reads a document to the thread that waits for it: they are an answer, not a crash.
pub fn expect_panics_of_the_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some("pdf") {
            report(info);
        }
    }));
}
