//! A file as it is read: unpacked, decrypted, and able to be read again.
//!
//! What was encrypted is held in memory, whatever it is, and comes to no disk. What was merely packed is kept in a file without
//! a name.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::decrypt::{self, ENDINGS, PLAIN_BYTES_MAX};
use super::open::READABLE;
use crate::cli::Error;
use crate::cli::config::FileSettings;
use crate::cli::terminal::output;
use crate::intake::packed::{self, Packing};

/// A file is packed or encrypted so many times, at most: `payroll.csv.gz.age` twice.
const LAYERS_MAX: usize = 3;
/// Bytes of what is unpacked into a file, at most.
const FILE_BYTES_MAX: u64 = 8 << 30;
/// Names of packed files end so.
const PACKED: [&str; 3] = ["gz", "gzip", "zip"];

/// The contents of a file.
#[derive(Clone, Debug)]
enum Contents {
    File(Arc<File>),
    Memory(Arc<[u8]>),
}

/// A file that can be read, again and again.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Plain {
    /// As the person named it.
    shown: String,
    /// The name without what says that it is packed or encrypted, or the one that it has in an archive.
    pub(in crate::cli) name: PathBuf,
    /// It was decrypted, and is on no disk.
    pub(in crate::cli) was_encrypted: bool,
    /// What is worth telling about how it was opened.
    pub(in crate::cli) notes: Vec<String>,
    contents: Contents,
}

impl Plain {
    /// Opens what is in a file. `shown` names it in errors; of standard input `name` says nothing.
    pub(in crate::cli) fn of(
        shown: &str,
        name: &Path,
        file: File,
        settings: &FileSettings,
    ) -> Result<Self, Error> {
        let mut plain = Self {
            shown: shown.to_owned(),
            name: name.to_owned(),
            was_encrypted: false,
            notes: Vec::new(),
            contents: Contents::File(Arc::new(file)),
        };
        for _ in 0..LAYERS_MAX {
            if decrypt::is_encrypted(&plain.name) {
                plain.decrypt(settings)?;
            } else if let Some(packing) = plain.packing()? {
                plain.unpack(packing)?;
            } else {
                return Ok(plain);
            }
        }
        match decrypt::is_encrypted(&plain.name) || plain.packing()?.is_some() {
            false => Ok(plain),
            true => Err(Error::refused(format!(
                "{shown}: is packed or encrypted more than {LAYERS_MAX} times"
            ))
            .hint("unpack it, and name the file inside")),
        }
    }

    fn packing(&self) -> Result<Option<Packing>, Error> {
        packed::packing_of(&mut self.reader()?).map_err(|error| self.unreadable(&error))
    }

    fn decrypt(&mut self, settings: &FileSettings) -> Result<(), Error> {
        let Contents::File(file) = &self.contents else {
            return Err(
                Error::refused(format!("{}: is encrypted twice", self.shown)).hint(
                    "decrypt the outer one yourself; [files] decrypt is asked for one of them",
                ),
            );
        };
        let again = |error| self.unreadable(&error);
        let mut file = file.try_clone().map_err(again)?;
        file.rewind().map_err(again)?;
        let plain = decrypt::decrypt((&self.shown, &self.name), file, settings)?;
        self.contents = Contents::Memory(plain);
        self.was_encrypted = true;
        self.name = self.name.with_extension("");
        self.notes.push("decrypted in memory".to_owned());
        Ok(())
    }

    fn unpack(&mut self, packing: Packing) -> Result<(), Error> {
        let input = self.reader()?;
        let of_file = |error: crate::intake::Error| Error::of_file(&self.shown, &error);
        let (contents, unpacked) = match &self.contents {
            Contents::Memory(_) => {
                let mut plain = Vec::new();
                let unpacked =
                    packed::unpack(packing, input, &mut plain, PLAIN_BYTES_MAX).map_err(of_file)?;
                (Contents::Memory(plain.into()), unpacked)
            }
            Contents::File(_) => {
                let made = tempfile::tempfile();
                let mut file = made.map_err(|error| {
                    Error::refused(format!("{}: cannot be unpacked: {error}", self.shown))
                        .hint("name a folder for temporary files with TMPDIR")
                })?;
                let unpacked =
                    packed::unpack(packing, input, &mut file, FILE_BYTES_MAX).map_err(of_file)?;
                (Contents::File(Arc::new(file)), unpacked)
            }
        };
        self.contents = contents;
        let kind = packing.name();
        match unpacked.name {
            Some(inner) => {
                let shown = output::name(&inner);
                self.notes.push(format!("unpacked from {kind}: {shown}"));
                self.name = self.name.with_file_name(inner);
            }
            None => {
                self.notes.push(format!("unpacked from {kind}"));
                if ends_in(&self.name, &PACKED) {
                    self.name = self.name.with_extension("");
                }
            }
        }
        if !unpacked.passed_over.is_empty() {
            let names: Vec<String> = unpacked
                .passed_over
                .iter()
                .take(3)
                .map(|name| output::name(name))
                .collect();
            self.notes.push(format!(
                "what macOS adds to archives was passed over: {}{}",
                names.join(", "),
                if unpacked.passed_over.len() > 3 {
                    " and more"
                } else {
                    ""
                }
            ));
        }
        Ok(())
    }

    /// Returns the contents, from their beginning.
    pub(in crate::cli) fn reader(&self) -> Result<PlainReader, Error> {
        let again = |error| self.unreadable(&error);
        match &self.contents {
            Contents::Memory(bytes) => Ok(PlainReader::Memory(Cursor::new(Arc::clone(bytes)))),
            Contents::File(file) => {
                let mut file = file.try_clone().map_err(again)?;
                file.rewind().map_err(again)?;
                Ok(PlainReader::File(file))
            }
        }
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        Error::refused(format!("{}: cannot be read: {error}", self.shown)).hint(READABLE)
    }
}

/// Reads contents.
#[derive(Debug)]
pub(in crate::cli) enum PlainReader {
    File(File),
    Memory(Cursor<Arc<[u8]>>),
}

impl Read for PlainReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for PlainReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Memory(bytes) => bytes.seek(to),
        }
    }
}

fn ends_in(name: &Path, endings: &[&str]) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        endings
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// Returns a name without what says that its file is packed or encrypted.
pub(in crate::cli) fn plain_name(name: &Path) -> PathBuf {
    let mut plain = name.to_owned();
    for _ in 0..LAYERS_MAX {
        let is_known = ends_in(&plain, &PACKED) || ends_in(&plain, &ENDINGS);
        if is_known && plain.file_stem().is_some() {
            plain = plain.with_extension("");
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_by_what_is_left_of_it() {
        for (name, plain) in [
            ("june.csv", "june.csv"),
            ("a/june.csv.gz", "a/june.csv"),
            ("june.CSV.GZ.Age", "june.CSV"),
            ("june.zip", "june"),
            ("june.xlsx.gpg", "june.xlsx"),
            ("june.csv.asc", "june.csv"),
            (".age", ".age"),
            ("-", "-"),
        ] {
            assert_eq!(plain_name(Path::new(name)), Path::new(plain), "{name}");
        }
    }
}
