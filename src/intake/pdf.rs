//! Whether bytes are a PDF that a file service takes (section 2.5): whole, readable, open to everyone.
//!
//! Only what leads to the pages is unpacked; pictures, fonts and page contents stay as they are.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use lopdf::{DecompressError, Document, Error, LoadOptions, Object, ObjectId, xref::XrefRecovery};

use super::signature;

/// Where the mark `%PDF-` must stand, as viewers have it.
const HEADER_WITHIN: usize = 1024;
/// Where the mark `%%EOF` must stand, counted from the end.
const END_WITHIN: usize = 2048;
/// What one table or bundle of objects may unpack to, and all of them together.
const UNPACKED_MAX: usize = 8 * 1024 * 1024;
const UNPACKED_IN_ALL_MAX: usize = 64 * 1024 * 1024;
/// How many objects there may be outside of streams.
const WORDS_MAX: usize = 2_000_000;
/// How long one document may take. Honest ones take milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// The crate's recursion is bounded, but not by a thread's usual stack.
const STACK: usize = 16 * 1024 * 1024;

/// Why bytes are not a PDF that can be sent. Displays as what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPdf {
    /// No byte at all.
    #[error("an empty file")]
    Empty,
    /// Another kind of file.
    #[error("{0}")]
    OtherKind(&'static str),
    /// The end is missing.
    #[error("a PDF that is cut off: its end mark %%EOF is missing")]
    Truncated,
    /// It is encrypted, whether or not it opens without a password.
    #[error("a PDF that is encrypted or protected by a password")]
    Encrypted,
    /// It is broken.
    #[error("a damaged PDF: {0}")]
    Damaged(&'static str),
    /// It unpacks to more, or takes longer, than any document needs.
    #[error("a PDF that unpacks to more than a document needs")]
    Excessive,
}

/// Checks a whole document.
///
/// # Errors
/// Says what the bytes are instead.
pub fn check(bytes: &[u8]) -> Result<(), NotPdf> {
    outside(bytes)?;
    // A thread of its own: a panic on a hostile document ends there, and so does a recursion that is merely deep.
    let document: Arc<[u8]> = bytes.into();
    let (tell, told) = channel();
    std::thread::Builder::new()
        .name("pdf".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let _ = tell.send(inside(&document));
        })
        .map_err(|_| NotPdf::Excessive)?;
    match told.recv_timeout(PATIENCE) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Err(NotPdf::Excessive),
        Err(RecvTimeoutError::Disconnected) => Err(NotPdf::Damaged("it cannot be read")),
    }
}

/// Looks at both ends.
fn outside(bytes: &[u8]) -> Result<(), NotPdf> {
    let holds = |part: &[u8], mark: &[u8]| find(part, mark).is_some();
    if bytes.is_empty() {
        return Err(NotPdf::Empty);
    }
    let head = &bytes[..bytes.len().min(HEADER_WITHIN)];
    if !holds(head, b"%PDF-") {
        let text = std::str::from_utf8(head)
            .map_or_else(|error| error.valid_up_to() + 4 > head.len(), |_| true);
        return Err(NotPdf::OtherKind(signature::kind_of(head).unwrap_or(
            if text {
                "a text file"
            } else {
                "a file of another kind"
            },
        )));
    }
    let tail = &bytes[bytes.len().saturating_sub(END_WITHIN)..];
    if !holds(tail, b"%%EOF") {
        return Err(NotPdf::Truncated);
    }
    if !holds(tail, b"startxref") {
        return Err(NotPdf::Damaged(
            "it does not say where its table of objects is",
        ));
    }
    if words(bytes) > WORDS_MAX {
        return Err(NotPdf::Excessive);
    }
    Ok(())
}

/// Counts what may become objects, streams aside: each takes a hundred bytes of memory, and may take two in the file.
fn words(bytes: &[u8]) -> usize {
    let begins_one = |byte: &&u8| byte.is_ascii_whitespace() || b"[(</".contains(byte);
    let count = |part: &[u8]| part.iter().filter(begins_one).count();
    let (mut rest, mut words) = (bytes, 0);
    while let Some(start) = find(rest, b"stream") {
        words += count(&rest[..start]);
        rest = &rest[start + b"stream".len()..];
        match find(rest, b"endstream") {
            Some(end) => rest = &rest[end + b"endstream".len()..],
            None => break,
        }
    }
    words + count(rest)
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|found| found == mark)
}

thread_local! {
    /// What may still be unpacked of the document that this thread reads.
    static ROOM: Cell<usize> = const { Cell::new(0) };
}

/// Follows the table of objects to every page.
fn inside(bytes: &[u8]) -> Result<(), NotPdf> {
    ROOM.set(UNPACKED_IN_ALL_MAX);
    let options = LoadOptions {
        filter: Some(needed),
        max_decompressed_size: Some(UNPACKED_MAX),
        ..LoadOptions::default()
    };
    let document =
        Document::load_mem_with_options(bytes, options).map_err(|error| match error {
            Error::InvalidPassword
            | Error::UnsupportedSecurityHandler(_)
            | Error::Decryption(_) => NotPdf::Encrypted,
            Error::Decompress(
                DecompressError::MemoryLimitExceeded { .. }
                | DecompressError::TooManyFilters { .. },
            ) => NotPdf::Excessive,
            _ => NotPdf::Damaged("its table of objects cannot be read"),
        })?;
    // The entry goes when the crate can open the document without a password; the state stays.
    if document.trailer.has(b"Encrypt") || document.was_encrypted() {
        return Err(NotPdf::Encrypted);
    }
    if ROOM.get() == 0 {
        return Err(NotPdf::Excessive);
    }
    if document.xref_recovery == Some(XrefRecovery::Reconstructed) {
        return Err(NotPdf::Damaged("its table of objects is missing or wrong"));
    }
    pages(&document)
}

/// Checks that there is a page, and that every page is there with what it shows.
fn pages(document: &Document) -> Result<(), NotPdf> {
    let is_there = |part: &Object| {
        let id = part.as_reference();
        id.is_ok_and(|id| document.objects.contains_key(&id))
    };
    let mut pages = 0;
    for page in document.page_iter() {
        let Ok(page) = document.get_dictionary(page) else {
            return Err(NotPdf::Damaged("a page is missing"));
        };
        let parts = match page.get(b"Contents") {
            Ok(Object::Array(parts)) => parts.as_slice(),
            Ok(part) => std::slice::from_ref(part),
            Err(_) => &[],
        };
        if !parts.iter().all(is_there) {
            return Err(NotPdf::Damaged("what a page shows is missing"));
        }
        pages += 1;
    }
    if pages == 0 {
        return Err(NotPdf::Damaged("it has no page that can be read"));
    }
    Ok(())
}

/// Keeps what leads to the pages, and that a stream is there; bundles of objects are passed on to be unpacked.
fn needed(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    match object {
        Object::Dictionary(dictionary) => {
            let leads = [&b"Catalog"[..], b"Pages", b"Page"]
                .iter()
                .any(|kind| dictionary.has_type(kind));
            (leads || dictionary.has(b"Kids")).then(|| (id, object.clone()))
        }
        Object::Array(_) => Some((id, object.clone())),
        Object::Stream(stream) if stream.dict.has_type(b"ObjStm") => {
            // Unpacked once more only to be measured: all of them together have a bound too.
            let room = ROOM.get();
            let size = stream
                .decompressed_content_with_limit(room.min(UNPACKED_MAX))
                .map(|content| content.len());
            match size {
                Ok(size) if size < room => {
                    ROOM.set(room - size);
                    Some((id, Object::Null))
                }
                _ => {
                    ROOM.set(0);
                    None
                }
            }
        }
        Object::Stream(stream) => {
            // Not empty: the crate would look for its content once more.
            stream.content = vec![0];
            Some((id, Object::Null))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
