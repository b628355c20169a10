//! The mark beside a journal: a file of two pages that are written in turn, so that a torn one leaves the one before it.
//!
//! A page names the time at which it was written, which its file's own time confirms: nobody can set that one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::Error;
use super::file_time::{changed, now};
use super::lock::Lookout;
use crate::domain::{BatchId, Epoch, EvidenceId};
use crate::ledger::payer::Payers;
use crate::ledger::recovery::{
    Mark, Marked, Order, Origin, Position, STAMP_SLACK, ServerPosition, Stamp, Traces, Witness,
    advance,
};

pub(super) mod host;

/// What is written and lost at once.
const PAGE: usize = 8192;
/// How long another process may hold the mark; it takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a page is written until it names the time of its file; a busy machine may come between the clock and the write.
const TRIES: usize = 3;
/// How often a mark is read that changes meanwhile.
const READS: usize = 20;
/// What ends a page: its digest, and room for the end of its line.
const CHECK: usize = "check \n\n".len() + 64;
const HEADING: &str = "mark of a disburse journal; keep it beside the journal";

/// Where the mark of a journal is kept, and its lock file.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In files beside the journal's.
    Beside(PathBuf, Lookout),
    /// In memory, for simulated time: what lies beside the simulated disk.
    #[cfg(test)]
    Memory(std::sync::Arc<std::sync::Mutex<Option<Marked>>>),
}

impl Place {
    /// The place of the mark of a journal, whose path is absolute.
    pub(super) fn of(journal: &Path) -> Self {
        let mut name = journal.as_os_str().to_owned();
        name.push(".mark");
        Self::Beside(name.into(), Lookout::of(journal))
    }

    /// Returns its file, as a person names it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Beside(path, _) => path.display().to_string(),
            #[cfg(test)]
            Self::Memory(_) => "memory".to_owned(),
        }
    }

    /// Reads what lies there without touching anything.
    pub(super) fn look(&self) -> Result<Traces, Error> {
        match self {
            Self::Beside(path, lookout) => match open(path, false) {
                Ok(file) => {
                    let (mark, _, stamp) =
                        read_still(&file, lookout).map_err(|cause| failed(path, &cause))?;
                    Ok(Traces {
                        mark,
                        stamp,
                        witness: lookout.read(),
                        payers: lookout.payers(),
                    })
                }
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(Traces {
                    witness: lookout.read(),
                    payers: lookout.payers(),
                    ..Traces::NONE
                }),
                Err(cause) => Err(failed(path, &cause)),
            },
            #[cfg(test)]
            Self::Memory(mark) => Ok(of_memory(&mark.lock().expect("nobody panics with it"))),
        }
    }

    /// Takes the mark for itself, making its file when there is none.
    pub(super) fn hold(&self) -> Result<Held<'_>, Error> {
        match self {
            Self::Beside(path, lookout) => {
                let file = open(path, true).map_err(|cause| failed(path, &cause))?;
                lock(&file, path)?;
                let (mark, turn, named) = read(&file).map_err(|cause| failed(path, &cause))?;
                Ok(Held::Beside {
                    path,
                    lookout,
                    file,
                    mark,
                    turn,
                    named,
                })
            }
            #[cfg(test)]
            Self::Memory(mark) => Ok(Held::Memory(mark.lock().expect("nobody panics with it"))),
        }
    }

    /// Takes into the mark what a commit moved. It is not synced: see [`crate::ledger::recovery`].
    pub(super) fn advance(&self, moved: &Marked) -> Result<(), Error> {
        let mut held = self.hold()?;
        match advance(&held.mark(), moved) {
            Some(marked) => held.write(marked, false),
            None => Err(Error::Displaced),
        }
    }
}

/// The mark, while nobody else can change it.
#[allow(
    clippy::large_enum_variant,
    reason = "one at a time, and never kept; of the small one in tests"
)]
pub(super) enum Held<'a> {
    Beside {
        path: &'a Path,
        lookout: &'a Lookout,
        file: File,
        mark: Mark,
        turn: u64,
        /// The time that it names.
        named: Option<u64>,
    },
    #[cfg(test)]
    Memory(std::sync::MutexGuard<'a, Option<Marked>>),
}

impl Held<'_> {
    pub(super) fn mark(&self) -> Mark {
        match self {
            Self::Beside { mark, .. } => mark.clone(),
            #[cfg(test)]
            Self::Memory(mark) => of_memory(mark).mark,
        }
    }

    /// Returns all that lies there.
    pub(super) fn traces(&self) -> Result<Traces, Error> {
        match self {
            Self::Beside {
                path,
                lookout,
                file,
                mark,
                named,
                ..
            } => {
                let changed = changed(file).map_err(|cause| failed(path, &cause))?;
                Ok(Traces {
                    mark: mark.clone(),
                    stamp: stamp(*named, changed, lookout),
                    witness: lookout.read(),
                    payers: lookout.payers(),
                })
            }
            #[cfg(test)]
            Self::Memory(mark) => Ok(of_memory(mark)),
        }
    }

    /// Writes the mark anew, and then the lock file's word; the mark synced, with its name, where it is to outlast a loss of
    /// power.
    pub(super) fn write(&mut self, marked: Marked, synced: bool) -> Result<(), Error> {
        match self {
            Self::Beside {
                path,
                lookout,
                file,
                mark,
                turn,
                named,
            } => {
                *turn += 1;
                // Where the last one could name no time, the file system has a clock of its own.
                let tries = match mark {
                    Mark::Read(_) if named.is_none() => 1,
                    Mark::Read(_) | Mark::Missing | Mark::Unreadable => TRIES,
                };
                *named = write_stamped(file, lookout, &marked, *turn, tries)
                    .and_then(|named| {
                        if synced {
                            sync(file, path).map(|()| named)
                        } else {
                            Ok(named)
                        }
                    })
                    .map_err(|cause| failed(path, &cause))?;
                lookout.ends();
                // In this order: whoever finds a newer witness takes the accounts beside it for as new.
                lookout.write_payers(&marked.payers);
                lookout.write(&Witness::of(&marked));
                *mark = Mark::Read(marked);
            }
            #[cfg(test)]
            Self::Memory(mark) => **mark = Some(marked),
        }
        Ok(())
    }
}

#[cfg(test)]
fn of_memory(mark: &Option<Marked>) -> Traces {
    Traces {
        mark: mark.clone().map_or(Mark::Missing, Mark::Read),
        // Nobody puts it back.
        stamp: Some(Stamp {
            named: 0,
            changed: 0,
            started: None,
            begun: None,
        }),
        ..Traces::NONE
    }
}

fn stamp(named: Option<u64>, changed: u64, lookout: &Lookout) -> Option<Stamp> {
    let uptime = crate::domain::BootTime::now().map(|uptime| uptime.parts().1);
    named.map(|named| Stamp {
        named,
        changed,
        started: uptime.map(|millis| now().saturating_sub(millis.saturating_mul(1_000_000))),
        begun: lookout.begun(),
    })
}

/// Reads a mark that another process may be writing, and when it was written.
fn read_still(file: &File, lookout: &Lookout) -> std::io::Result<(Mark, u64, Option<Stamp>)> {
    let mut before = changed(file)?;
    for _ in 0..READS {
        let (mark, turn, named) = read(file)?;
        let after = changed(file)?;
        if before == after {
            return Ok((mark, turn, stamp(named, after, lookout)));
        }
        before = after;
    }
    // It is written all the time, and whoever writes it has judged it.
    let (mark, turn, _) = read(file)?;
    Ok((mark, turn, None))
}

/// When the journal's file was born, in nanoseconds; `None` where the file system does not tell.
pub(super) fn born(journal: &Path) -> Option<u64> {
    let born = journal.symlink_metadata().ok()?.created().ok()?;
    let since = born.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos())
        .ok()
        .filter(|born| *born > 0)
}

fn failed(path: &Path, cause: &std::io::Error) -> Error {
    Error::Mark {
        path: path.into(),
        cause: cause.to_string(),
    }
}

fn open(path: &Path, for_writing: bool) -> std::io::Result<File> {
    let no_links = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .write(for_writing)
        .create(for_writing)
        .mode(0o600)
        .custom_flags(no_links)
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("is not a file"));
    }
    let (owner, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != own {
        let text = format!(
            "belongs to user {owner}, and this command is run as user {own}: run it as the user whose journal it is"
        );
        return Err(std::io::Error::other(text));
    }
    Ok(file)
}

fn lock(file: &File, path: &Path) -> Result<(), Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Err(TryLockError::WouldBlock) => {
                let cause = std::io::Error::other("another process holds it and does not let go");
                return Err(failed(path, &cause));
            }
            Err(TryLockError::Error(cause)) => return Err(failed(path, &cause)),
        }
    }
}

/// Reads the newer one of the two pages, its turn, and the time that it names.
fn read(file: &File) -> std::io::Result<(Mark, u64, Option<u64>)> {
    let mut bytes = [0; 2 * PAGE];
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    if length == 0 {
        return Ok((Mark::Missing, 0, None));
    }
    let found = bytes[..length]
        .chunks(PAGE)
        .filter_map(parse)
        .max_by_key(|page| page.turn);
    Ok(match found {
        Some(page) => (Mark::Read(page.marked), page.turn, page.named),
        None => (Mark::Unreadable, 0, None),
    })
}

/// What a page says.
struct Page {
    turn: u64,
    named: Option<u64>,
    marked: Marked,
}

/// Writes a page that names the time of its file; returns that time, or `None` where the two cannot be made to agree. The lock
/// file says that it is begun.
fn write_stamped(
    file: &File,
    lookout: &Lookout,
    marked: &Marked,
    turn: u64,
    tries: usize,
) -> std::io::Result<Option<u64>> {
    let slack = u64::try_from(STAMP_SLACK.as_nanos()).unwrap_or(u64::MAX);
    for _ in 0..tries {
        // First: a lock file that is slow must not make the page late.
        lookout.begins(now());
        let named = now();
        write(file, marked, turn, Some(named))?;
        if changed(file)?.abs_diff(named) <= slack {
            return Ok(Some(named));
        }
    }
    write(file, marked, turn, None)?;
    Ok(None)
}

fn write(file: &File, marked: &Marked, turn: u64, named: Option<u64>) -> std::io::Result<()> {
    let mut page = to_text(marked, turn, named).into_bytes();
    // The rest is filled, so that the page is written whole, and a person can look at it.
    page.resize(PAGE - 1, b' ');
    page.push(b'\n');
    file.write_all_at(&page, turn % 2 * PAGE as u64)
}

fn sync(mut file: &File, path: &Path) -> std::io::Result<()> {
    file.flush()?;
    file.sync_all()?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

/// Returns the beginning of a digest over what a mark says, by which it is known again.
pub(super) fn digest(marked: &Marked) -> [u8; 8] {
    let digest = Sha256::digest(to_text(marked, 0, None));
    let (beginning, _) = digest.split_first_chunk().expect("a digest is longer");
    *beginning
}

fn to_text(marked: &Marked, turn: u64, named: Option<u64>) -> String {
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
    let mut text = format!("{HEADING}\nturn {turn}\njournal {}\n", hex(&marked.journal));
    if let Some(born) = marked.born {
        text.push_str(&format!("born {born}\n"));
    }
    if let Some(named) = named {
        text.push_str(&format!("written {named}\n"));
    }
    text.push_str(&format!("epoch {}\n", marked.epoch));
    text.push_str(&format!("orders {}\n", marked.orders));
    if marked.quarantine > 0 {
        text.push_str(&format!("quarantine {}\n", marked.quarantine));
    }
    if let Some(ServerPosition { origin, turn }) = marked.server {
        text.push_str(&format!("server {turn} {origin}\n"));
    }
    for position in &marked.positions {
        let Position {
            batch_id,
            length,
            evidence_id,
            head,
        } = position;
        text.push_str(&format!(
            "batch {batch_id} {length} {evidence_id} {}\n",
            hex(head)
        ));
    }
    let room = PAGE.saturating_sub(text.len() + CHECK);
    text.push_str(&marked.payers.to_lines(room));
    // The newest, as far as they fit: of the others their number is told.
    let mut lines: Vec<String> = Vec::new();
    let mut room = PAGE.saturating_sub(text.len() + CHECK);
    for order in marked.given.iter().rev() {
        let line = order.to_line();
        match room.checked_sub(line.len()) {
            Some(left) => room = left,
            None => break,
        }
        lines.push(line);
    }
    text.extend(lines.iter().rev().map(String::as_str));
    let check = hex(&Sha256::digest(text.as_bytes()));
    text.push_str(&format!("check {check}\n"));
    text
}

fn parse(page: &[u8]) -> Option<Page> {
    let text = std::str::from_utf8(page).ok()?;
    let at = text.find("\ncheck ")? + 1;
    let (text, check) = text.split_at(at);
    let check = check.strip_prefix("check ")?.lines().next()?.trim_end();
    if data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes())) != check {
        return None;
    }
    let hex = |text: &str| data_encoding::HEXLOWER.decode(text.as_bytes()).ok();
    let mut lines = text.lines();
    if lines.next()? != HEADING {
        return None;
    }
    let (mut turn, mut journal, mut born, mut epoch) = (None, None, None, None);
    let (mut named, mut orders, mut server, mut quarantine) = (None, 0, None, 0);
    let (mut positions, mut given) = (Vec::new(), Vec::new());
    let mut payers = Payers::NONE;
    for line in lines {
        let (name, value) = line.split_once(' ')?;
        match name {
            "turn" => turn = Some(value.parse().ok()?),
            "journal" => journal = Some(hex(value)?.try_into().ok()?),
            "born" => born = Some(value.parse().ok()?),
            "written" => named = Some(value.parse().ok()?),
            "epoch" => epoch = Some(value.parse().ok()?),
            "orders" => orders = value.parse().ok()?,
            "quarantine" => quarantine = value.parse().ok()?,
            "order" => given.push(Order::read(value)?),
            "server" => {
                let (turn, origin) = value.split_once(' ')?;
                server = Some(ServerPosition {
                    origin: Origin::read(origin)?,
                    turn: turn.parse().ok()?,
                });
            }
            "batch" => {
                let mut words = value.split(' ');
                positions.push(Position {
                    batch_id: BatchId::new(words.next()?.parse().ok()?),
                    length: words.next()?.parse().ok()?,
                    evidence_id: EvidenceId::new(words.next()?.parse().ok()?),
                    head: hex(words.next()?)?.try_into().ok()?,
                });
            }
            _ => payers.read(name, value)?,
        }
    }
    let marked = Marked {
        journal: journal?,
        born,
        epoch: Epoch::new(epoch?),
        orders,
        given,
        positions,
        payers,
        server,
        quarantine,
    };
    Some(Page {
        turn: turn?,
        named,
        marked,
    })
}

#[cfg(test)]
mod tests;
