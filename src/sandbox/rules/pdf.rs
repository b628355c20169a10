//! Whether a file is a PDF that can be read: by its bytes, whatever its name and type say (section 2.5).

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Flaw {
    /// It is something else.
    NotPdf,
    /// It does not end as a PDF does: it was cut off.
    Truncated,
    /// It opens with a password only.
    Encrypted,
}

/// How far from its end a PDF's end mark may be, in bytes: programs append line ends and worse.
const TAIL: usize = 1024;
/// The longest head of a cross-reference stream that is looked at, in bytes.
const HEAD_MAX: usize = 4096;

/// Checks the start, the end and the trailers of a file.
pub(in crate::sandbox) fn check(file: &[u8]) -> Result<(), Flaw> {
    if !file.starts_with(b"%PDF-") {
        return Err(Flaw::NotPdf);
    }
    let tail = &file[file.len().saturating_sub(TAIL)..];
    if find(tail, b"%%EOF").is_none() {
        return Err(Flaw::Truncated);
    }
    if trailers(file).any(names_encryption) {
        return Err(Flaw::Encrypted);
    }
    Ok(())
}

/// The dictionaries that name what opens the file: after each `trailer`, and before each cross-reference stream.
fn trailers(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let after = |at: usize, mark: &[u8], most: usize| {
        let rest = &file[at..file.len().min(at.saturating_add(most))];
        &rest[..find(rest, mark).unwrap_or(rest.len())]
    };
    let tables = positions(file, b"trailer").map(move |at| after(at, b"startxref", usize::MAX));
    let streams = positions(file, b"startxref").filter_map(move |at| {
        let digits = file[at + b"startxref".len()..].trim_ascii_start();
        let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        let offset: usize = std::str::from_utf8(&digits[..length]).ok()?.parse().ok()?;
        (offset < file.len()).then(|| after(offset, b"stream", HEAD_MAX))
    });
    tables.chain(streams)
}

/// Whether a dictionary has the name `/Encrypt`, not just one that begins so.
fn names_encryption(dictionary: &[u8]) -> bool {
    const NAME: &[u8] = b"/Encrypt";
    positions(dictionary, NAME).any(|at| {
        let next = dictionary.get(at + NAME.len());
        next.is_none_or(|byte| !byte.is_ascii_alphanumeric())
    })
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    positions(text, what).next()
}

fn positions<'a>(text: &'a [u8], what: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    text.windows(what.len())
        .enumerate()
        .filter(move |(_, window)| *window == what)
        .map(|(at, _)| at)
}
