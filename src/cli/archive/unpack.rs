//! Reading an archive, which may come from anybody: every bound is held before anything is believed.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

use super::manifest::{self, Manifest, Member};
use super::names::{HEADS, JOURNAL, MANIFEST, README, is_member};
use crate::cli::terminal::output;

/// Members, at most: of a report of many rows each part is one.
const MEMBERS_MAX: usize = 10_000;
/// The directory of the members is no longer.
const DIRECTORY_BYTES_MAX: u32 = 4 << 20;
/// So many times larger than what was packed the members may be together; journals are about five times larger.
const RATIO_MAX: u64 = 200;
/// Up to this size they may be anyway.
const FREE_BYTES: u64 = 64 << 20;
/// The record at the end of an archive, and the one that may stand before it in a large one.
const END_BYTES: u64 = 22;
const LOCATOR_BYTES: u64 = 20;
/// The text of how far the evidence reached is held in memory.
const HEADS_BYTES_MAX: u64 = 64 << 10;
const PIECE_BYTES: usize = 64 << 10;

/// What an archive says of itself.
#[derive(Debug)]
pub(in crate::cli) struct Unpacked {
    pub(in crate::cli) manifest: Manifest,
    /// How far its evidence reached, as its text has it; it may have none.
    pub(in crate::cli) heads: Option<Vec<u8>>,
}

/// Checks every member against the manifest, and puts the journal into a folder.
///
/// # Errors
/// What is wrong with the archive, in words.
pub(in crate::cli) fn unpack(file: &mut File, into: &Path) -> Result<Unpacked, String> {
    let packed = end_of(file)?;
    let mut zip = ZipArchive::new(io::BufReader::new(file)).map_err(|error| damaged(&error))?;
    if zip.offset() > 0 {
        return Err("something stands in front of its ZIP archive".to_owned());
    }
    let names = names(&mut zip, packed.members)?;
    let manifest = manifest_of(&mut zip)?;
    compare_names(&names, &manifest.members)?;
    let most = FREE_BYTES.max(packed.bytes.saturating_mul(RATIO_MAX));
    let said = manifest
        .members
        .iter()
        .try_fold(0_u64, |sum, member| sum.checked_add(member.bytes));
    if said.is_none_or(|said| said > most) {
        return Err(format!(
            "it has {} bytes, and unpacks to more than {RATIO_MAX} times as many, as no archive does",
            packed.bytes
        ));
    }
    let mut heads = None;
    for member in &manifest.members {
        let input = zip.by_name(&member.name).map_err(|error| damaged(&error))?;
        match member.name.as_str() {
            JOURNAL => {
                let output = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(into.join(JOURNAL));
                let mut output = output.map_err(|error| no_room(&error))?;
                check(member, input, &mut output)?;
            }
            // It names one batch.
            HEADS if member.bytes > HEADS_BYTES_MAX => {
                return Err(format!(
                    "{HEADS} has {} bytes, more than in any archive",
                    member.bytes
                ));
            }
            HEADS => {
                let mut text = Vec::new();
                check(member, input, &mut text)?;
                heads = Some(text);
            }
            _ => check(member, input, &mut io::sink())?,
        }
    }
    Ok(Unpacked { manifest, heads })
}

/// What the end of a ZIP archive says.
struct End {
    bytes: u64,
    members: usize,
}

/// Reads the record at the end: what holds the directory in memory is bounded by it.
fn end_of(file: &mut File) -> Result<End, String> {
    let read = |error: io::Error| format!("it cannot be read: {error}");
    let bytes = file.seek(SeekFrom::End(0)).map_err(read)?;
    let none = || "it is not a ZIP archive, or is cut off".to_owned();
    let at = bytes.checked_sub(END_BYTES).ok_or_else(none)?;
    let mut record = [0; END_BYTES as usize];
    file.seek(SeekFrom::Start(at)).map_err(read)?;
    file.read_exact(&mut record).map_err(read)?;
    if !record.starts_with(b"PK\x05\x06") || record[20..] != [0, 0] {
        return Err(none());
    }
    if let Some(before) = at.checked_sub(LOCATOR_BYTES) {
        let mut locator = [0; 4];
        file.seek(SeekFrom::Start(before)).map_err(read)?;
        file.read_exact(&mut locator).map_err(read)?;
        // It would name another directory, of any length.
        if &locator == b"PK\x06\x07" && bytes < u64::from(u32::MAX) {
            return Err("its directory has the form of larger archives (ZIP64)".to_owned());
        }
    }
    let members = usize::from(u16::from_le_bytes([record[10], record[11]]));
    let directory = u32::from_le_bytes([record[12], record[13], record[14], record[15]]);
    if members > MEMBERS_MAX || directory > DIRECTORY_BYTES_MAX {
        return Err(format!(
            "it has {members} members, and a directory of {directory} bytes: no archive has more than {MEMBERS_MAX} and {DIRECTORY_BYTES_MAX}"
        ));
    }
    file.seek(SeekFrom::Start(0)).map_err(read)?;
    Ok(End { bytes, members })
}

fn names<R: Read + Seek>(zip: &mut ZipArchive<R>, said: usize) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for at in 0..zip.len() {
        let member = zip.by_index_raw(at).map_err(|error| damaged(&error))?;
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        if !is_member(&name) || !member.is_file() {
            let name = output::name(&name.chars().take(100).collect::<String>());
            return Err(format!("it has a member that no archive has: {name}"));
        }
        if member.encrypted() {
            return Err(format!("its member {name} has a password"));
        }
        names.insert(name);
    }
    match names.len() == said && zip.len() == said {
        true => Ok(names),
        false => Err("two of its members have one name".to_owned()),
    }
}

fn manifest_of<R: Read + Seek>(zip: &mut ZipArchive<R>) -> Result<Manifest, String> {
    let missing = || format!("{MANIFEST} is missing");
    let member = zip.by_name(MANIFEST).map_err(|_| missing())?;
    let mut bytes = Vec::new();
    member
        .take(manifest::BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| damaged(&error))?;
    if bytes.len() as u64 > manifest::BYTES_MAX {
        return Err(format!(
            "{MANIFEST} has more than {} bytes",
            manifest::BYTES_MAX
        ));
    }
    Manifest::read(&bytes).map_err(|what| format!("{MANIFEST}: {what}"))
}

/// The members are those that the manifest names, each once, and itself.
fn compare_names(found: &BTreeSet<String>, members: &[Member]) -> Result<(), String> {
    let mut named: BTreeSet<&str> = members.iter().map(|member| &*member.name).collect();
    if named.len() != members.len() || !named.insert(MANIFEST) {
        return Err(format!("{MANIFEST} names a member twice"));
    }
    if let Some(name) = found.iter().find(|name| !named.contains(name.as_str())) {
        return Err(format!("{name} is in it, and {MANIFEST} does not name it"));
    }
    let needed = named.iter().copied().chain([JOURNAL, README]);
    for name in needed {
        if !found.contains(name) {
            return Err(format!("{} is missing", output::name(name)));
        }
    }
    Ok(())
}

fn check(member: &Member, mut input: impl Read, output: &mut impl Write) -> Result<(), String> {
    let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = match input.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| format!("{} cannot be unpacked: {error}", member.name))?,
        };
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if bytes > member.bytes {
            break;
        }
        hash.update(&piece[..read]);
        output
            .write_all(&piece[..read])
            .map_err(|error| no_room(&error))?;
    }
    let found = data_encoding::HEXLOWER.encode(&hash.finalize());
    match bytes == member.bytes && found == member.sha256 {
        true => Ok(()),
        false => Err(format!(
            "{} is not what {MANIFEST} says: it was changed",
            member.name
        )),
    }
}

fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("it cannot be read as a ZIP archive: {error}")
}

fn no_room(error: &io::Error) -> String {
    format!("it cannot be unpacked where temporary files go (TMPDIR): {error}")
}
