//! Writing an archive: members one behind the other, each with its digest, in the memory of a piece.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::manifest::Member;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// The file of an archive while it is written. Its first failure is kept; what is written after that goes nowhere.
// What packs would write its end when it is dropped, and say on standard error that this failed too.
struct Steady {
    file: File,
    failed: Option<io::Error>,
}

impl Steady {
    fn once<T>(
        &mut self,
        otherwise: T,
        work: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.failed.is_some() {
            return Ok(otherwise);
        }
        work(&mut self.file).inspect_err(|error| self.failed = Some(again(error)))
    }
}

fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl Write for Steady {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.once(bytes.len(), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.once((), File::flush)
    }
}

impl Seek for Steady {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.once(0, |file| file.seek(to))
    }
}

/// An archive that is being written.
pub(in crate::cli) struct Packer {
    zip: ZipWriter<io::BufWriter<Steady>>,
    pub(in crate::cli) members: Vec<Member>,
}

impl Packer {
    pub(in crate::cli) fn new(file: File) -> Self {
        let steady = Steady { file, failed: None };
        Self {
            zip: ZipWriter::new(io::BufWriter::new(steady)),
            members: Vec::new(),
        }
    }

    /// Adds a member; whatever `input` has left is in it.
    pub(in crate::cli) fn add(&mut self, name: &str, mut input: impl Read) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(true)
            .unix_permissions(0o600);
        self.zip.start_file(name, options).map_err(of_zip)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = match input.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                break;
            }
            self.zip.write_all(&piece[..read])?;
            hash.update(&piece[..read]);
            bytes += read as u64;
            #[cfg(debug_assertions)]
            crate::failpoints::pass("in-archive-file");
        }
        self.members.push(Member {
            name: name.to_owned(),
            bytes,
            sha256: data_encoding::HEXLOWER.encode(&hash.finalize()),
        });
        Ok(())
    }

    /// Ends it; returns the file, synced.
    pub(in crate::cli) fn finish(self) -> io::Result<File> {
        let buffer = self.zip.finish().map_err(of_zip)?;
        let steady = buffer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        if let Some(error) = steady.failed {
            return Err(error);
        }
        steady.file.sync_all()?;
        Ok(steady.file)
    }
}

fn of_zip(error: zip::result::ZipError) -> io::Error {
    match error {
        zip::result::ZipError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// Returns the SHA-256 of a whole file, and its length.
pub(in crate::cli) fn digest_of(file: &mut File) -> io::Result<(String, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let read = match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            file.seek(SeekFrom::Start(0))?;
            return Ok((data_encoding::HEXLOWER.encode(&hash.finalize()), bytes));
        }
        hash.update(&piece[..read]);
        bytes += read as u64;
    }
}
