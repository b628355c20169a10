//! What a workbook must be before its cells are read: not larger than its bounds, unpacked, and without what a spreadsheet never
//! writes. The reader of the cells takes all shared texts into memory, and believes how many there are.

use std::io::{self, BufRead, BufReader, Read, Seek};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;

use super::super::Error;
use super::super::packed::entries_said;
use crate::ledger::likeness;

/// Parts of a workbook, at most.
const PARTS_MAX: usize = 10_000;
/// Bytes of a part that is kept in memory while rows are read, at most: the texts that cells share.
pub(super) const SHARED_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a sheet, at most; it is read piece by piece.
pub(super) const SHEET_BYTES_MAX: u64 = 4 << 30;
/// Bytes of every other part, at most.
const PART_BYTES_MAX: u64 = 64 << 20;
/// Characters that are shown of what is wrong, at most.
const SHOWN_MAX: usize = 300;
/// Bytes from one `<` to the next, at most: a cell has 32,767 characters.
const RUN_BYTES_MAX: usize = 256 << 10;

pub(super) fn refused(what: impl Into<String>, remedy: &'static str) -> Error {
    Error::Workbook {
        what: what.into(),
        remedy,
        at: None,
    }
}

const SAVE: &str = "open it in the spreadsheet program and save it again as XLSX";

pub(super) fn damaged(what: impl std::fmt::Display) -> Error {
    // It may hold a piece of the file.
    let what: String = what
        .to_string()
        .chars()
        .take(SHOWN_MAX)
        .map(|c| match c.is_control() || likeness::is_invisible(c) {
            true => char::REPLACEMENT_CHARACTER,
            false => c,
        })
        .collect();
    refused(format!("cannot be read as a workbook: {what}"), SAVE)
}

/// Returns whether this is a workbook of the kind that is read.
#[must_use]
pub fn is_workbook(input: impl Read + Seek) -> bool {
    let mut input = input;
    let mut head = [0; 4];
    let is_archive = input.read_exact(&mut head).is_ok() && head == *b"PK\x03\x04";
    is_archive
        && ZipArchive::new(input)
            .is_ok_and(|archive| archive.index_for_name("xl/workbook.xml").is_some())
}

/// Opens a workbook's archive and looks at what it declares.
///
/// # Errors
/// No archive, or one beyond its bounds.
pub(super) fn archive<R: Read + Seek>(mut input: R) -> Result<ZipArchive<R>, Error> {
    let said = entries_said(&mut input).map_err(damaged)?;
    let archive = ZipArchive::new(input).map_err(damaged)?;
    if said.is_some_and(|said| said != archive.len()) {
        return Err(damaged("two of its parts have one name"));
    }
    if archive.len() > PARTS_MAX {
        return Err(refused(
            format!(
                "has {} parts, and a workbook has at most {PARTS_MAX}",
                archive.len()
            ),
            SAVE,
        ));
    }
    Ok(archive)
}

/// Walks through the XML of a part, within its bounds.
///
/// # Errors
/// No XML, or more than is read of it.
pub(super) fn walk<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    part: &str,
    mut each: impl FnMut(&Event<'_>) -> Result<Go, Error>,
) -> Result<(), Error> {
    let max = bytes_max(part);
    let file = archive.by_name(part).map_err(damaged)?;
    let mut reader = Reader::from_reader(BufReader::new(Bounded::new(file, max)));
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| of_xml(part, error))?;
        if matches!(event, Event::Eof) || each(&event)? == Go::NoFurther {
            return Ok(());
        }
    }
}

/// Whether more of a part is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    On,
    NoFurther,
}

fn of_xml(part: &str, error: quick_xml::Error) -> Error {
    match error {
        quick_xml::Error::Io(error) => match error.get_ref().and_then(|e| e.downcast_ref()) {
            Some(Beyond(what)) => refused(format!("{part} {what}"), SAVE),
            None => damaged(format!("{part}: {error}")),
        },
        error => damaged(format!("{part}: {error}")),
    }
}

fn bytes_max(part: &str) -> u64 {
    match part {
        _ if part.ends_with("sharedStrings.xml") => SHARED_BYTES_MAX,
        _ if part.contains("/worksheets/") => SHEET_BYTES_MAX,
        _ => PART_BYTES_MAX,
    }
}

/// Looks at every part but the sheets: how large they are in truth, and how many texts they say that cells share.
///
/// # Errors
/// A part beyond its bounds.
pub(super) fn admit<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<(), Error> {
    let mut names = archive
        .file_names()
        .map(|name| name.map(std::borrow::Cow::into_owned).map_err(damaged))
        .collect::<Result<Vec<String>, Error>>()?;
    names.sort_unstable();
    if names
        .windows(2)
        .any(|two| two[0].eq_ignore_ascii_case(&two[1]))
    {
        return Err(damaged("two of its parts have one name"));
    }
    for part in names {
        if part.contains("/worksheets/") {
            continue;
        }
        if part.ends_with("sharedStrings.xml") {
            shared(archive, &part)?;
            continue;
        }
        let max = bytes_max(&part);
        let file = archive.by_name(&part).map_err(damaged)?;
        // Counted and not believed.
        let bytes = io::copy(&mut file.take(max + 1), &mut io::sink()).map_err(damaged)?;
        if bytes > max {
            return Err(refused(
                format!("{part} has more than {max} bytes, unpacked"),
                SAVE,
            ));
        }
    }
    Ok(())
}

/// Counts the shared texts, and compares with how many the part says there are: so much memory would be asked for.
fn shared<R: Read + Seek>(archive: &mut ZipArchive<R>, part: &str) -> Result<(), Error> {
    let (mut said, mut found) = (0_u64, 0_u64);
    walk(archive, part, |event| {
        if let Event::Start(start) | Event::Empty(start) = event {
            match start.local_name().as_ref() {
                "sst" => {
                    said = attribute(start, "uniqueCount")
                        .and_then(|text| text.parse().ok())
                        .unwrap_or(0);
                }
                "si" => found += 1,
                _ => {}
            }
        }
        Ok(Go::On)
    })?;
    match said > found + 1_000 {
        true => Err(damaged(format!(
            "{part} says that it has {said} texts, and has {found}"
        ))),
        false => Ok(()),
    }
}

/// Returns an attribute by its name without a prefix.
pub(super) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    start
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == name)
        .map(|attribute| unescaped(&attribute.value))
}

/// Replaces the five entities of XML.
fn unescaped(text: &str) -> String {
    match quick_xml::escape::unescape(text) {
        Ok(text) => text.into_owned(),
        Err(_) => text.to_owned(),
    }
}

/// Hands out a part up to its bound, and ends it at what would have to be kept whole in memory, or could expand.
struct Bounded<R> {
    input: BufReader<R>,
    left: u64,
    max: u64,
    /// Bytes since the last `<`.
    run: usize,
    /// The last byte was a `<`.
    opened: bool,
}

impl<R: Read> Bounded<R> {
    fn new(input: R, max: u64) -> Self {
        Self {
            input: BufReader::with_capacity(64 << 10, input),
            left: max,
            max,
            run: 0,
            opened: false,
        }
    }
}

/// Why a part is not read further.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Beyond(String);

fn beyond(what: impl Into<String>) -> io::Error {
    io::Error::other(Beyond(what.into()))
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let chunk = self.input.fill_buf()?;
        let taken = chunk.len().min(buffer.len());
        let chunk = &chunk[..taken];
        if self.left < taken as u64 {
            return Err(beyond(format!(
                "has more than {} bytes, unpacked",
                self.max
            )));
        }
        let mut start = 0;
        for at in memchr::memchr_iter(b'<', chunk) {
            self.run += at - start;
            if self.run > RUN_BYTES_MAX {
                break;
            }
            let next = chunk.get(at + 1);
            if next == Some(&b'!') {
                return Err(beyond("holds \"<!\", which no spreadsheet program writes"));
            }
            self.run = 0;
            start = at + 1;
        }
        self.run += taken - start;
        if self.run > RUN_BYTES_MAX {
            return Err(beyond(format!(
                "has a text of more than {RUN_BYTES_MAX} bytes"
            )));
        }
        if self.opened && chunk.first() == Some(&b'!') {
            return Err(beyond("holds \"<!\", which no spreadsheet program writes"));
        }
        if let Some(last) = chunk.last() {
            self.opened = *last == b'<';
        }
        buffer[..taken].copy_from_slice(chunk);
        self.input.consume(taken);
        self.left -= taken as u64;
        Ok(taken)
    }
}
