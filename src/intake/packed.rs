//! Packed files: gzip, and ZIP archives with one file in them. They are unpacked whole before anything of them is read.
//!
//! A workbook is a ZIP archive too, and is none here: it is told by the parts that it has.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use flate2::bufread::MultiGzDecoder;
use zip::ZipArchive;

use super::Error;
use super::text::quoted;

/// So many times larger than what was packed a file may be; payrolls are 5 to 40 times larger.
const RATIO_MAX: u64 = 200;
/// A file up to this size is unpacked whatever its ratio: a small one may be all alike.
const FREE_BYTES: u64 = 64 << 20;
/// Files in an archive, at most, that are looked at.
const ENTRIES_MAX: usize = 1_000;
/// Files that an error names, at most.
const SHOWN_MAX: usize = 10;
/// Bytes that are unpacked at a time.
const PIECE_BYTES: usize = 64 << 10;
/// The end of an archive: its record without a comment.
const END_BYTES: u64 = 22;

const AGAIN: &str = "fetch the file again, or pack it again; nothing of it was read";
const ONE: &str =
    "pack only the file with the payments, without a folder; or unpack it, and name the file";

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One stream of gzip.
    Gzip,
    /// A ZIP archive that is no document of an office program.
    Zip,
}

impl Packing {
    /// Returns what it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zip => "ZIP",
        }
    }
}

/// What was in a packed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// The file's own name, where an archive has it.
    pub name: Option<String>,
    /// What an archive of macOS holds beside it, and was not looked at.
    pub passed_over: Vec<String>,
}

/// Tells by a file's content whether it is packed.
///
/// # Errors
/// What the input reports.
pub fn packing_of(input: &mut (impl Read + Seek)) -> io::Result<Option<Packing>> {
    input.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    input.by_ref().take(4).read_to_end(&mut head)?;
    let packing = match head.as_slice() {
        [0x1f, 0x8b, ..] => Some(Packing::Gzip),
        // The second is an archive with nothing in it.
        b"PK\x03\x04" | b"PK\x05\x06" if !is_document(input)? => Some(Packing::Zip),
        _ => None,
    };
    input.seek(SeekFrom::Start(0))?;
    Ok(packing)
}

/// Returns whether an archive is what an office program has saved. Where it cannot be opened, its first bytes tell.
fn is_document(input: &mut (impl Read + Seek)) -> io::Result<bool> {
    let is_part = |name: &str| {
        name == "[Content_Types].xml" || name == "mimetype" || name == "Index/Document.iwa"
    };
    input.seek(SeekFrom::Start(0))?;
    if let Ok(archive) = ZipArchive::new(&mut *input) {
        return Ok(archive.file_names().flatten().any(|name| is_part(&name)));
    }
    input.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    input.by_ref().take(1 << 12).read_to_end(&mut head)?;
    let kind = super::signature::kind_of(&head);
    Ok(kind.is_some_and(|kind| kind != super::signature::ZIP))
}

/// Unpacks a file, at most `bytes_max` bytes of it.
///
/// # Errors
/// [`Error::Packed`]: it is damaged, cut off or too large, holds another number of files than one, or something stands behind
/// its end; what the output reports. What was written until then is to be thrown away.
pub fn unpack(
    packing: Packing,
    mut input: impl Read + Seek,
    output: &mut impl Write,
    bytes_max: u64,
) -> Result<Unpacked, Error> {
    let packed = input.seek(SeekFrom::End(0))?;
    input.seek(SeekFrom::Start(0))?;
    match packing {
        Packing::Gzip => {
            let bounds = Bounds::of(packed, bytes_max);
            // Several members are one file, as those who append to it, and those who pack in parallel, mean it.
            let stream = MultiGzDecoder::new(BufReader::new(input));
            copy(stream, output, bounds, packing)?;
            Ok(Unpacked::default())
        }
        Packing::Zip => of_archive(input, output, packed, bytes_max),
    }
}

/// How much may come out.
#[derive(Clone, Copy)]
struct Bounds {
    packed: u64,
    ratio: u64,
    bytes: u64,
}

impl Bounds {
    fn of(packed: u64, bytes: u64) -> Self {
        Self {
            packed,
            ratio: FREE_BYTES.max(packed.saturating_mul(RATIO_MAX)),
            bytes,
        }
    }

    fn hold(self, bytes: u64) -> Result<(), Error> {
        if bytes > self.ratio {
            return Err(refused(
                format!(
                    "has {} bytes, and unpacks to more than {RATIO_MAX} times as many, as no batch file does",
                    self.packed
                ),
                "unpack it yourself, and look at what is in it",
            ));
        }
        if bytes > self.bytes {
            return Err(refused(
                format!("unpacks to more than {} bytes", self.bytes),
                "split the batch into several files",
            ));
        }
        Ok(())
    }
}

/// Copies all that is unpacked, and holds its bounds.
fn copy(
    mut input: impl Read,
    output: &mut impl Write,
    bounds: Bounds,
    packing: Packing,
) -> Result<u64, Error> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let read = match input.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| broken(packing, &error))?,
        };
        if read == 0 {
            return Ok(bytes);
        }
        bytes += read as u64;
        bounds.hold(bytes)?;
        output.write_all(&piece[..read]).map_err(|error| {
            refused(
                format!("cannot be unpacked: {error}"),
                "make room for it where temporary files go (TMPDIR)",
            )
        })?;
    }
}

/// Says why packed data cannot be read.
fn broken(packing: Packing, error: &io::Error) -> Error {
    let name = packing.name();
    match error.kind() {
        io::ErrorKind::UnexpectedEof => refused(
            format!("is cut off, or has something behind the end of its {name} data"),
            AGAIN,
        ),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => refused(
            format!("is damaged, or has something behind the end of its {name} data ({error})"),
            AGAIN,
        ),
        _ => refused(format!("its {name} data cannot be read: {error}"), AGAIN),
    }
}

fn of_archive<R: Read + Seek>(
    mut input: R,
    output: &mut impl Write,
    packed: u64,
    bytes_max: u64,
) -> Result<Unpacked, Error> {
    let damaged = |error: &dyn std::fmt::Display| {
        refused(format!("cannot be read as a ZIP archive: {error}"), AGAIN)
    };
    let mut archive = ZipArchive::new(&mut input).map_err(|error| damaged(&error))?;
    let comment = archive.comment().len() as u64;
    let files = archive.len();
    let starts_later = archive.offset() > 0;
    let (at, unpacked) = only(&mut archive)?;
    let file = archive.by_index(at).map_err(|error| damaged(&error))?;
    let size = file.size();
    let bytes = copy(file, output, Bounds::of(packed, bytes_max), Packing::Zip)?;
    if bytes != size {
        let said = format!("its file has {bytes} bytes, but the archive says {size}");
        return Err(damaged(&said));
    }
    drop(archive);
    // What stands in front of an archive or behind it is seen by some programs, and by others not.
    let end = packed.checked_sub(END_BYTES + comment);
    let mut record = [0; END_BYTES as usize];
    if let Some(end) = end {
        input.seek(SeekFrom::Start(end))?;
        input.read_exact(&mut record)?;
    }
    if starts_later || !record.starts_with(b"PK\x05\x06") {
        return Err(refused(
            "has something in front of its ZIP archive, or behind the end of it",
            AGAIN,
        ));
    }
    // Of several entries with one name only the last is there for whoever asks by name.
    let said = usize::from(u16::from_le_bytes([record[10], record[11]]));
    match said == files {
        true => Ok(unpacked),
        false => Err(refused(
            format!("is a ZIP archive of {said} files, of which several have one name"),
            ONE,
        )),
    }
}

/// Returns how many entries an archive says that it has, where its end has the short form; several of one name are one file.
///
/// # Errors
/// What the input reports.
pub(super) fn entries_said(input: &mut (impl Read + Seek)) -> io::Result<Option<usize>> {
    /// The longest comment behind the record.
    const COMMENT_MAX: u64 = 0xFFFF;
    let size = input.seek(SeekFrom::End(0))?;
    let from = size.saturating_sub(END_BYTES + COMMENT_MAX);
    input.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    input
        .by_ref()
        .take(END_BYTES + COMMENT_MAX)
        .read_to_end(&mut tail)?;
    let is_end = |at: &usize| {
        let record = &tail[*at..];
        let comment = usize::from(u16::from_le_bytes([record[20], record[21]]));
        record.starts_with(b"PK\x05\x06") && record.len() == END_BYTES as usize + comment
    };
    let last = tail.len().checked_sub(END_BYTES as usize);
    let at = last.and_then(|last| (0..=last).rev().find(is_end));
    Ok(at.map(|at| usize::from(u16::from_le_bytes([tail[at + 10], tail[at + 11]]))))
}

/// Finds the one file of an archive.
fn only<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<(usize, Unpacked), Error> {
    let mut unpacked = Unpacked::default();
    let mut found: Vec<(usize, String)> = Vec::new();
    if archive.len() > ENTRIES_MAX {
        let what = format!("is a ZIP archive of {} files", archive.len());
        return Err(refused(what, ONE));
    }
    for at in 0..archive.len() {
        let file = archive
            .by_index_raw(at)
            .map_err(|error| refused(format!("cannot be read as a ZIP archive: {error}"), AGAIN))?;
        let name = String::from_utf8_lossy(file.name_raw()).into_owned();
        if is_of_macos(&name) {
            unpacked.passed_over.push(name);
            continue;
        }
        if file.encrypted() {
            return Err(refused(
                format!("is a ZIP archive with a password ({})", quoted(&name)),
                "unpack it with its password, and name the file; or have it encrypted for a command of yours ([files] decrypt)",
            ));
        }
        found.push((at, name));
    }
    let names = || {
        let names: Vec<String> = found
            .iter()
            .take(SHOWN_MAX)
            .map(|(_, name)| quoted(name))
            .collect();
        let more = if found.len() > SHOWN_MAX {
            " and more"
        } else {
            ""
        };
        format!("{}{more}", names.join(", "))
    };
    match found.as_slice() {
        [] => Err(refused("is a ZIP archive with no file in it", ONE)),
        [(at, name)] if !name.contains(['/', '\\']) && !name.is_empty() => {
            unpacked.name = Some(name.clone());
            Ok((*at, unpacked))
        }
        [_] => Err(refused(
            format!("is a ZIP archive whose file lies in a folder: {}", names()),
            ONE,
        )),
        several => Err(refused(
            format!("is a ZIP archive of {} files: {}", several.len(), names()),
            ONE,
        )),
    }
}

/// Returns whether it is what macOS adds to archives: what a folder looks like there, and what its file system keeps of a file.
fn is_of_macos(name: &str) -> bool {
    name.starts_with("__MACOSX/") || name == ".DS_Store"
}

fn refused(what: impl Into<String>, remedy: &'static str) -> Error {
    Error::Packed {
        what: what.into(),
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const TEXT: &[u8] = b"msisdn,amount\n254711000001,10\n";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            writer
                .start_file(*name, SimpleFileOptions::default())
                .unwrap();
            writer.write_all(text).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn unpacked(bytes: &[u8]) -> Result<(Vec<u8>, Unpacked), String> {
        let mut input = Cursor::new(bytes.to_vec());
        let packing = packing_of(&mut input).unwrap().expect("it is packed");
        let mut output = Vec::new();
        unpack(packing, input, &mut output, 80 << 20)
            .map(|unpacked| (output, unpacked))
            .map_err(|error| {
                assert!(error.hint().is_some());
                error.to_string()
            })
    }

    #[test]
    fn one_file_comes_out_as_it_was() {
        assert_eq!(unpacked(&gzip(TEXT)).unwrap().0, TEXT);
        let (text, said) = unpacked(&zip(&[
            ("__MACOSX/._june.csv", b"x"),
            ("june.csv", TEXT),
            (".DS_Store", b"y"),
        ]))
        .unwrap();
        assert_eq!(text, TEXT);
        assert_eq!(said.name.as_deref(), Some("june.csv"));
        assert_eq!(said.passed_over, ["__MACOSX/._june.csv", ".DS_Store"]);
        // Members of gzip follow one another as pieces of one file.
        let both = [gzip(&TEXT[..20]), gzip(&TEXT[20..])].concat();
        assert_eq!(unpacked(&both).unwrap().0, TEXT);
    }

    #[test]
    fn what_is_not_one_whole_file_is_refused() {
        let mut doubled = zip(&[("a.csv", TEXT), ("b.csv", TEXT)]);
        for at in 0..doubled.len() - 5 {
            if doubled[at..].starts_with(b"b.csv") {
                doubled[at] = b'a';
            }
        }
        let (gz, archive) = (gzip(TEXT), zip(&[("june.csv", TEXT)]));
        let mut damaged = gz.clone();
        damaged[14] ^= 0x55;
        let long = vec![b'a'; 70 << 20];
        let alone: Vec<(String, &[u8])> = (0..12).map(|n| (format!("{n}.csv"), TEXT)).collect();
        let many: Vec<(&str, &[u8])> = alone.iter().map(|(n, t)| (n.as_str(), *t)).collect();
        for (case, bytes, expected) in [
            ("gzip cut off", gz[..gz.len() - 9].to_vec(), "is cut off"),
            (
                "gzip without its sum",
                gz[..gz.len() - 1].to_vec(),
                "is cut off",
            ),
            (
                "gzip with a tail",
                [&gz[..], b"tail"].concat(),
                "behind the end",
            ),
            (
                "gzip with zeros behind",
                [&gz[..], &[0; 32]].concat(),
                "behind the end",
            ),
            ("gzip damaged", damaged, "is damaged"),
            ("gzip that is all alike", gzip(&long), "200 times"),
            (
                "ZIP cut off",
                archive[..archive.len() - 30].to_vec(),
                "cannot be read as a ZIP",
            ),
            (
                "ZIP with a tail",
                [&archive[..], b"tail"].concat(),
                "behind the end",
            ),
            ("ZIP all alike", zip(&[("a.csv", &long)]), "200 times"),
            (
                "ZIP with two",
                zip(&[("a.csv", TEXT), ("b.csv", TEXT)]),
                "of 2 files: \"a.csv\", \"b.csv\"",
            ),
            (
                "ZIP with two of one name",
                doubled,
                "is a ZIP archive of 2 files, of which several have one name",
            ),
            ("ZIP with many", zip(&many), "and more"),
            (
                "ZIP with a folder",
                zip(&[("june/a.csv", TEXT)]),
                "in a folder: \"june/a.csv\"",
            ),
            (
                "ZIP with a step up",
                zip(&[("../a.csv", TEXT)]),
                "in a folder",
            ),
            ("ZIP with none", zip(&[]), "no file in it"),
            (
                "ZIP of macOS alone",
                zip(&[(".DS_Store", TEXT)]),
                "no file in it",
            ),
        ] {
            let found = unpacked(&bytes).map(|(text, _)| text.len());
            let found = found.expect_err(case);
            assert!(found.contains(expected), "{case}: {found}");
        }
    }

    #[test]
    fn more_than_is_taken_is_refused_and_not_cut() {
        for bytes in [gzip(TEXT), zip(&[("june.csv", TEXT)])] {
            let mut input = Cursor::new(bytes);
            let packing = packing_of(&mut input).unwrap().unwrap();
            let most = TEXT.len() as u64;
            let mut output = Vec::new();
            unpack(packing, input.clone(), &mut output, most).unwrap();
            assert_eq!(output, TEXT);
            let error = unpack(packing, input, &mut Vec::new(), most - 1).unwrap_err();
            assert!(error.to_string().contains("more than"), "{error}");
        }
    }

    #[test]
    fn a_document_of_an_office_program_is_no_packed_file() {
        let content = b"<Types/>".as_slice();
        for (case, bytes, expected) in [
            ("text", TEXT.to_vec(), None),
            ("nothing", Vec::new(), None),
            (
                "XLSX",
                zip(&[
                    ("[Content_Types].xml", content),
                    ("xl/workbook.xml", content),
                ]),
                None,
            ),
            (
                "XLSX whose sheet comes first",
                zip(&[
                    ("xl/workbook.xml", content),
                    ("[Content_Types].xml", content),
                ]),
                None,
            ),
            (
                "ODS",
                zip(&[(
                    "mimetype",
                    b"application/vnd.oasis.opendocument.spreadsheet",
                )]),
                None,
            ),
            (
                "a payroll that speaks of a workbook",
                zip(&[("june.csv", b"note\nxl/workbook.xml\n")]),
                Some(Packing::Zip),
            ),
            ("ZIP", zip(&[("june.csv", TEXT)]), Some(Packing::Zip)),
            ("gzip", gzip(TEXT), Some(Packing::Gzip)),
        ] {
            let mut input = Cursor::new(bytes);
            assert_eq!(packing_of(&mut input).unwrap(), expected, "{case}");
            assert_eq!(input.position(), 0, "{case}");
        }
        // Cut off, it stays what its first bytes say.
        let mut workbook = zip(&[
            ("xl/workbook.xml", content),
            ("[Content_Types].xml", content),
        ]);
        workbook.truncate(workbook.len() - 8);
        assert_eq!(packing_of(&mut Cursor::new(workbook)).unwrap(), None);
    }
}
