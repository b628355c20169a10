//! A ZIP file, as far as a spreadsheet needs one: deflated members, written one behind the other to a file that can seek.

use std::io::{self, Seek, SeekFrom, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// Version of the format that is needed to read it: 2.0, deflated.
const VERSION: u16 = 20;
const DEFLATED: u16 = 8;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// 1 January 1980, midnight: the same content gives the same bytes.
const DATE: u16 = (1 << 5) | 1;

/// A member that is finished.
struct Member {
    name: String,
    crc: u32,
    packed: u32,
    length: u32,
    begins: u32,
}

/// The member that is being written.
struct Open<W: Write> {
    name: String,
    begins: u64,
    crc: Crc,
    deflate: DeflateEncoder<W>,
}

/// Writes members in the order in which they are begun.
pub(super) struct Zip<W: Write + Seek> {
    // Either the file itself, or the member that writes into it.
    idle: Option<W>,
    open: Option<Open<W>>,
    members: Vec<Member>,
}

fn too_large<T>(_: T) -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

impl<W: Write + Seek> Zip<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            idle: Some(out),
            open: None,
            members: Vec::new(),
        }
    }

    /// Ends the member before, and begins the next one.
    pub(super) fn begin(&mut self, name: String) -> io::Result<()> {
        self.end()?;
        let mut out = self.idle.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let begins = out.stream_position()?;
        // Sums and lengths are put there when they are known.
        out.write_all(&head(&name, 0, 0, 0))?;
        self.open = Some(Open {
            name,
            begins,
            crc: Crc::new(),
            deflate: DeflateEncoder::new(out, Compression::fast()),
        });
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let length = u32::try_from(open.deflate.total_in()).map_err(too_large)?;
        let mut out = open.deflate.finish()?;
        let ends = out.stream_position()?;
        let packed = ends - open.begins - head(&open.name, 0, 0, 0).len() as u64;
        let member = Member {
            name: open.name,
            crc: open.crc.sum(),
            packed: u32::try_from(packed).map_err(too_large)?,
            length,
            begins: u32::try_from(open.begins).map_err(too_large)?,
        };
        out.seek(SeekFrom::Start(open.begins))?;
        out.write_all(&head(
            &member.name,
            member.crc,
            member.packed,
            member.length,
        ))?;
        out.seek(SeekFrom::Start(ends))?;
        self.members.push(member);
        self.idle = Some(out);
        Ok(())
    }

    /// Writes the directory of the members.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.end()?;
        let mut out = self.idle.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let begins = u32::try_from(out.stream_position()?).map_err(too_large)?;
        let mut directory = Vec::new();
        for member in &self.members {
            directory.extend_from_slice(b"PK\x01\x02");
            directory.extend_from_slice(&VERSION.to_le_bytes());
            push_fields(
                &mut directory,
                &member.name,
                member.crc,
                member.packed,
                member.length,
            );
            // No comment, the first disk, no attributes.
            directory.extend_from_slice(&[0; 10]);
            directory.extend_from_slice(&member.begins.to_le_bytes());
            directory.extend_from_slice(member.name.as_bytes());
        }
        let count = u16::try_from(self.members.len()).map_err(too_large)?;
        let length = u32::try_from(directory.len()).map_err(too_large)?;
        directory.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        directory.extend_from_slice(&count.to_le_bytes());
        directory.extend_from_slice(&count.to_le_bytes());
        directory.extend_from_slice(&length.to_le_bytes());
        directory.extend_from_slice(&begins.to_le_bytes());
        directory.extend_from_slice(&[0; 2]);
        out.write_all(&directory)?;
        out.flush()?;
        Ok(out)
    }
}

impl<W: Write + Seek> Write for Zip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let open = self.open.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        open.deflate.write_all(bytes)?;
        open.crc.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn head(name: &str, crc: u32, packed: u32, length: u32) -> Vec<u8> {
    let mut head = b"PK\x03\x04".to_vec();
    push_fields(&mut head, name, crc, packed, length);
    head.extend_from_slice(name.as_bytes());
    head
}

/// Appends what a member's head and its line of the directory have in common.
fn push_fields(out: &mut Vec<u8>, name: &str, crc: u32, packed: u32, length: u32) {
    for field in [VERSION, FLAGS, DEFLATED, 0, DATE] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    for field in [crc, packed, length] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    // The names here are short.
    out.extend_from_slice(&(name.len() as u16).to_le_bytes());
    out.extend_from_slice(&[0; 2]);
}
