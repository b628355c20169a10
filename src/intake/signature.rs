//! Files of other kinds, told by their first bytes.

use super::Error;

const SPREADSHEET: &str =
    "open it in the spreadsheet program and save it as XLSX, which is read as it is";
const UNPACK: &str = "unpack it first, and load the file inside";
/// What an archive is called that is no document.
pub(super) const ZIP: &str = "a ZIP archive";
const EXPORT: &str = "export the data as CSV or JSON";

/// Kind and remedy of a file that begins with certain bytes.
const SIGNATURES: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "a gzip archive", UNPACK),
    (b"BZh", "a bzip2 archive", UNPACK),
    (b"\xfd7zXZ\0", "an xz archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an old Excel workbook (XLS) or another Office document",
        SPREADSHEET,
    ),
    (b"%PDF-", "a PDF document", EXPORT),
    (b"{\\rtf", "an RTF document", EXPORT),
    (
        b"SQLite format 3\0",
        "an SQLite database",
        "name the batch file, not the journal",
    ),
    (b"\x89PNG", "a PNG picture", EXPORT),
    (b"\xff\xd8\xff", "a JPEG picture", EXPORT),
    (b"GIF8", "a GIF picture", EXPORT),
    (b"II*\0", "a TIFF picture", EXPORT),
    (b"MM\0*", "a TIFF picture", EXPORT),
    (b"RIFF", "a picture or a recording (RIFF)", EXPORT),
    (b"\x04\x22\x4d\x18", "an LZ4 archive", UNPACK),
    (b"\x1f\x9d", "a compress archive", UNPACK),
    (b"MZ\x90", "a program", EXPORT),
    (
        b"age-encryption.org/",
        "an encrypted age file",
        "decrypt it first",
    ),
    (b"\x7fELF", "a program", EXPORT),
    (b"PAR1", "a Parquet file", EXPORT),
    (
        b"-----BEGIN PGP",
        "an encrypted PGP message",
        "decrypt it first",
    ),
];

/// Names the kind of file that begins with these bytes, with its article.
pub(super) fn kind_of(head: &[u8]) -> Option<&'static str> {
    match check(head) {
        Err(Error::Foreign { what, .. }) => Some(what),
        _ => None,
    }
}

/// Refuses what is no text of columns, by its first bytes and by name.
///
/// # Errors
/// [`Error::Foreign`] names the kind of file.
pub(super) fn check(head: &[u8]) -> Result<(), Error> {
    check_text(head)?;
    match beginning(head).starts_with(b"<") {
        true => Err(Error::Foreign {
            what: "an XML document",
            remedy: EXPORT,
        }),
        false => Ok(()),
    }
}

/// Returns the first bytes without the mark and the blanks before them.
fn beginning(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start()
}

/// Refuses what is no text, by its first bytes and by name.
///
/// # Errors
/// [`Error::Foreign`] names the kind of file.
pub fn check_text(head: &[u8]) -> Result<(), Error> {
    let foreign = |what, remedy| Err(Error::Foreign { what, remedy });
    if let Some((_, what, remedy)) = SIGNATURES
        .iter()
        .find(|(magic, ..)| head.starts_with(magic))
    {
        return foreign(what, remedy);
    }
    if head.starts_with(b"PK\x03\x04") {
        let holds = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
        return if holds(b"xl/") {
            foreign("an Excel workbook (XLSX)", SPREADSHEET)
        } else if holds(b"opendocument.spreadsheet") {
            foreign("an OpenDocument spreadsheet (ODS)", SPREADSHEET)
        } else if holds(b"word/") {
            foreign("a Word document (DOCX)", EXPORT)
        } else if holds(b".iwa") {
            foreign("a Numbers spreadsheet", SPREADSHEET)
        } else if holds(b"[Content_Types].xml") {
            foreign(
                "an Office document, perhaps an Excel workbook (XLSX)",
                SPREADSHEET,
            )
        } else {
            foreign(ZIP, UNPACK)
        };
    }
    if head.get(257..262) == Some(b"ustar") {
        return foreign("a tar archive", UNPACK);
    }
    let text = beginning(head);
    let begins = |tag: &str| {
        text.get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
    };
    if ["<!doctype html", "<html", "<table", "<meta"]
        .into_iter()
        .any(begins)
    {
        return foreign("an HTML page", EXPORT);
    }
    // UTF-16 has these bytes too, but it is told by its byte order mark before this.
    let utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if !utf16 && head.iter().take(1024).any(|b| *b == 0) {
        return foreign(
            "a binary file, or UTF-16 without its byte order mark",
            "save it as \"CSV UTF-8\"",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_are_named() {
        for (head, part) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip"),
            (
                b"PK\x03\x04\x14\0[Content_Types].xml...xl/workbook.xml",
                "Excel workbook (XLSX)",
            ),
            (
                b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
                "ODS",
            ),
            (b"PK\x03\x04payroll.csv", "ZIP"),
            (b"%PDF-1.7", "PDF"),
            (
                b"PK\x03\x04\x14\0[Content_Types].xml...word/document.xml",
                "DOCX",
            ),
            (b"PK\x03\x04Index/Document.iwa", "Numbers"),
            (b"GIF89a", "GIF"),
            (b"MM\0*\0", "TIFF"),
            (b"RIFF\x10\0\0\0WEBP", "picture"),
            (b"\x89PNG\r\n\x1a\n", "PNG"),
            (b"SQLite format 3\0", "SQLite"),
            (b"\0\0\0\x18ftypheic", "binary"),
            (&[&[b'a'; 257][..], b"ustar\0"].concat(), "tar"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "XLS"),
            (b"  <HTML>", "HTML"),
            (b"<?xml version", "XML"),
            (b"a\0b\0", "binary"),
        ] {
            let found = check(head).unwrap_err().to_string();
            assert!(found.contains(part), "{found}");
        }
        for head in [
            &b"msisdn,amount\n"[..],
            b"[{}]",
            b"",
            b"\xff\xfea\0",
            b"\xef\xbb\xbfa",
        ] {
            assert!(check(head).is_ok(), "{head:?}");
        }
    }
}
