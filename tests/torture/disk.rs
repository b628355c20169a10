//! What a power loss leaves of the journal's files: what was synced, and of the rest whatever the disk happened to write.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fastrand::Rng;

/// What a disk writes as a whole.
const SECTOR: usize = 512;

/// One thing that the program did to the files, as the shim wrote it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub op: Op,
    pub file: u8,
    /// Whether something of the file was not synced then.
    pub dirty: bool,
    offset: u64,
    data: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Write,
    Truncate,
    Sync,
    Create,
    Unlink,
    SyncFolder,
    FailedWrite,
    FailedSync,
    Link,
}

/// The shim's numbers of the files, with what their names end in.
const FILES: [(u8, &str); 3] = [(MAIN, ""), (WAL, "-wal"), (3, "-journal")];
const MAIN: u8 = 1;
pub const WAL: u8 = 2;
/// A journal that is being made: linked to its place when it holds something, and of no use to anybody until then.
const ASIDE: u8 = 4;
pub const ASIDE_WAL: u8 = 5;

/// Reads the shim's log.
pub fn records(log: &Path) -> Vec<Record> {
    let bytes = fs::read(log).unwrap_or_default();
    let (mut rest, mut found) = (bytes.as_slice(), Vec::new());
    // A record that the kill cut off is of something that was not done yet, or that nothing followed.
    while let Some((head, after)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let Some((data, after)) = after.split_at_checked(length) else {
            break;
        };
        found.push(Record {
            op: [
                Op::Write,
                Op::Truncate,
                Op::Sync,
                Op::Create,
                Op::Unlink,
                Op::SyncFolder,
                Op::FailedWrite,
                Op::FailedSync,
                Op::Link,
            ][usize::from(head[0]) - 1],
            file: head[1],
            dirty: head[2] == 1,
            offset: u64::from_le_bytes(head[8..16].try_into().unwrap()),
            data: data.to_vec(),
        });
        rest = after;
    }
    found
}

/// What becomes of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// All of it is lost.
    Lost,
    /// Up to some moment it was written, in order; the last of it may be torn.
    Prefix,
    /// Any sectors of it were written, in any order.
    Sectors,
}

impl Unsynced {
    pub fn any(rng: &mut Rng) -> Self {
        [Self::Lost, Self::Prefix, Self::Sectors][rng.usize(..3)]
    }
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Truncate(size) => content.resize(*size, 0),
            Self::Write(at, data) => {
                if content.len() < at + data.len() {
                    content.resize(at + data.len(), 0);
                }
                content[*at..at + data.len()].copy_from_slice(data);
            }
        }
    }

    /// The pieces that are written as a whole, or not at all.
    fn sectors(&self) -> Vec<Self> {
        match self {
            Self::Truncate(_) => vec![self.clone()],
            Self::Write(at, data) => {
                let (mut from, mut pieces) = (0, Vec::new());
                while from < data.len() {
                    let to = data.len().min((at + from) / SECTOR * SECTOR + SECTOR - at);
                    pieces.push(Self::Write(at + from, data[from..to].to_vec()));
                    from = to;
                }
                pieces
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Write(_, data) => data.len(),
            Self::Truncate(_) => 0,
        }
    }
}

/// A file, whatever its name is at the moment.
#[derive(Clone, Debug, Default)]
struct Content {
    synced: Vec<u8>,
    since: Vec<Change>,
}

type Names = BTreeMap<u8, usize>;

/// The disk's account of the files.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    contents: Vec<Content>,
    names: Names,
    synced_names: Names,
    /// What the folder's entries were after each change that is not synced.
    names_since: Vec<Names>,
}

/// What a power loss took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss {
    pub bytes_lost: usize,
    pub bytes_kept: usize,
}

impl Disk {
    /// Takes the files as they are, all of them synced.
    pub fn of(journal: &Path) -> Self {
        let mut disk = Self::default();
        for (file, ending) in FILES {
            if let Ok(synced) = fs::read(with_ending(journal, ending)) {
                disk.names.insert(file, disk.contents.len());
                disk.contents.push(Content {
                    synced,
                    since: Vec::new(),
                });
            }
        }
        disk.synced_names = disk.names.clone();
        disk
    }

    pub fn replay(&mut self, records: &[Record]) {
        for record in records {
            self.take(record);
        }
    }

    fn take(&mut self, record: &Record) {
        let at = usize::try_from(record.offset).unwrap();
        let change = match record.op {
            Op::Write => Change::Write(at, record.data.clone()),
            Op::Truncate => Change::Truncate(at),
            Op::Sync => {
                let content = self.content(record.file);
                for change in std::mem::take(&mut content.since) {
                    change.apply(&mut content.synced);
                }
                return;
            }
            Op::Create => {
                self.names.insert(record.file, self.contents.len());
                self.contents.push(Content::default());
                self.names_since.push(self.names.clone());
                return;
            }
            Op::Link => {
                self.names.insert(MAIN, self.names[&ASIDE]);
                self.names_since.push(self.names.clone());
                return;
            }
            Op::Unlink => {
                self.names.remove(&record.file);
                self.names_since.push(self.names.clone());
                return;
            }
            Op::SyncFolder => {
                self.synced_names.clone_from(&self.names);
                self.names_since.clear();
                return;
            }
            Op::FailedWrite | Op::FailedSync => return,
        };
        self.content(record.file).since.push(change);
    }

    fn content(&mut self, file: u8) -> &mut Content {
        let index = self.names[&file];
        &mut self.contents[index]
    }

    /// Loses power, and puts the files into the state in which the machine finds them when it is back.
    pub fn lose_power(self, journal: &Path, unsynced: Unsynced, rng: &mut Rng) -> Loss {
        let mut loss = Loss::default();
        // A folder's changes reach the disk in their order.
        let names = match (unsynced, self.names_since.len()) {
            (Unsynced::Lost, _) | (_, 0) => &self.synced_names,
            (_, count) => match rng.usize(..=count) {
                0 => &self.synced_names,
                kept => &self.names_since[kept - 1],
            },
        };
        for (file, ending) in FILES {
            let path = with_ending(journal, ending);
            match names.get(&file) {
                Some(index) => {
                    let content = &self.contents[*index];
                    fs::write(path, content.left(unsynced, rng, &mut loss)).unwrap();
                }
                None => {
                    let _ = fs::remove_file(path);
                }
            }
        }
        // The index of the log is memory; what a disk has of it may be of any time.
        if rng.bool() {
            let _ = fs::remove_file(with_ending(journal, "-shm"));
        }
        loss
    }
}

impl Content {
    fn left(&self, unsynced: Unsynced, rng: &mut Rng, loss: &mut Loss) -> Vec<u8> {
        let pieces: Vec<Change> = self.since.iter().flat_map(Change::sectors).collect();
        let kept: Vec<bool> = match unsynced {
            Unsynced::Lost => vec![false; pieces.len()],
            Unsynced::Prefix => {
                let count = rng.usize(..=pieces.len());
                (0..pieces.len()).map(|index| index < count).collect()
            }
            Unsynced::Sectors => {
                let chance = 0.1 + 0.8 * rng.f64();
                pieces.iter().map(|_| rng.f64() < chance).collect()
            }
        };
        let mut content = self.synced.clone();
        for (piece, kept) in pieces.iter().zip(kept) {
            if kept {
                piece.apply(&mut content);
                loss.bytes_kept += piece.bytes();
            } else {
                loss.bytes_lost += piece.bytes();
            }
        }
        content
    }
}

pub fn with_ending(journal: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[test]
fn what_was_synced_stays_and_the_rest_goes_by_sectors() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("j");
    fs::write(&journal, [1; 2048]).unwrap();
    let record = |op, offset, data: &[u8]| Record {
        op,
        file: 1,
        dirty: false,
        offset,
        data: data.to_vec(),
    };
    let mut disk = Disk::of(&journal);
    disk.replay(&[
        record(Op::Write, 512, &[2; 512]),
        record(Op::Sync, 0, &[]),
        record(Op::Write, 1000, &[3; 1048]),
    ]);
    let lost = |unsynced, seed| {
        let loss = disk
            .clone()
            .lose_power(&journal, unsynced, &mut Rng::with_seed(seed));
        assert_eq!(loss.bytes_lost + loss.bytes_kept, 1048);
        fs::read(&journal).unwrap()
    };
    let mut synced = [1; 2048];
    synced[512..1024].fill(2);
    assert_eq!(lost(Unsynced::Lost, 0), synced);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..64 {
        let found = lost(Unsynced::Sectors, seed);
        assert_eq!(found[..1000], synced[..1000]);
        let ends = [1000..1024, 1024..1536, 1536..2048].map(|range| {
            assert!(
                found[range.clone()]
                    .iter()
                    .all(|b| *b == found[range.start])
            );
            found[range.start] == 3
        });
        seen.insert(ends);
    }
    assert_eq!(seen.len(), 8, "every choice of three sectors");
}

#[test]
fn a_file_is_there_once_its_folder_is_synced() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("j");
    let record = |op, data: &[u8]| Record {
        op,
        file: WAL,
        dirty: false,
        offset: 0,
        data: data.to_vec(),
    };
    let mut disk = Disk::of(&journal);
    let mut left_after = |records: &[Record]| {
        disk.replay(records);
        let mut rng = Rng::with_seed(1);
        disk.clone().lose_power(&journal, Unsynced::Lost, &mut rng);
        fs::read(with_ending(&journal, "-wal")).ok()
    };
    let written = [
        record(Op::Create, &[]),
        record(Op::Write, b"frame"),
        record(Op::Sync, &[]),
    ];
    assert_eq!(left_after(&written), None);
    let there = Some(b"frame".to_vec());
    assert_eq!(left_after(&[record(Op::SyncFolder, &[])]), there);
    assert_eq!(left_after(&[record(Op::Unlink, &[])]), there);
    assert_eq!(left_after(&[record(Op::SyncFolder, &[])]), None);
}
