//! The machine: disk, clock, limits, locale.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

use super::finding::Finding;
use crate::cli::terminal::output;
use crate::domain::Timestamp;

/// Room that a journal wants, at least: its log may grow to 64 MB beside it.
const ROOM: u64 = 256 << 20;
/// With less, a load or a run may not come to its end.
const ROOM_LEAST: u64 = 32 << 20;
/// No disk confirms so many writes in a second, one after the other.
const TOO_MANY_SYNCS: u64 = 100_000;
/// Fewer slow a run down: each block of posts waits for one.
const FEW_SYNCS: u64 = 20;
/// How long the disk is measured.
const MEASURED: Duration = Duration::from_millis(400);
const SYNCS_MAX: u64 = 2_000;
/// Files that a run has open beside its connections.
const OWN_FILES: u64 = 64;
/// A file's time may be that of the last tick.
const APART_MAX: u64 = 2_000;
/// How far wall clock and steady clock may part while the doctor looks.
const STEP_MAX: u64 = 200;

/// What kind of file system a folder is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// On a disk, for all that is known.
    Disk,
    /// In memory: gone with the power.
    Memory,
    /// On another machine.
    Network(&'static str),
}

/// What was seen of the journal's folder.
#[derive(Clone, Debug)]
pub(super) struct DiskFacts {
    pub(super) folder: String,
    pub(super) kind: Kind,
    pub(super) free: u64,
    pub(super) no_more_files: bool,
    /// Of the journal and its log; 0: there is none.
    pub(super) journal: u64,
    /// Syncs in a second, or why none could be made; `None`: one was made, and no more, as a run goes on.
    pub(super) syncs: Result<Option<u64>, String>,
}

/// Judges the disk.
pub(super) fn disk(facts: &DiskFacts) -> Vec<Finding> {
    let at = format!("disk of {}", facts.folder);
    let mut found = Vec::new();
    let free = bytes(facts.free);
    found.push(match facts.free {
        _ if facts.no_more_files => Finding::problem(&at, "no more files can be made: its inodes are used up")
            .advised("remove files that nobody needs; nothing is lost until then"),
        room if room < ROOM_LEAST => Finding::problem(&at, format!("{free} free"))
            .advised("make room before the next load or run; a run that finds the disk full stops, and nothing is lost"),
        room if room < ROOM.max(facts.journal) => Finding::warning(
            &at,
            format!("{free} free, and the journal has {}", bytes(facts.journal)),
        )
        .advised("make room for a log and a backup beside it, or put the journal on another disk"),
        _ => Finding::ok(&at, format!("{free} free")),
    });
    match facts.kind {
        Kind::Disk => {}
        Kind::Memory => found.push(
            Finding::warning(&at, "it is in memory: everything there is lost when the power fails")
                .advised("put the journal on a disk before real money moves: --journal FILE"),
        ),
        Kind::Network(name) => found.push(
            Finding::problem(&at, format!("it is on another machine ({name}), where locks and syncs cannot be relied on"))
                .advised("put the journal on a disk of this machine: two runs could post the same payments otherwise"),
        ),
    }
    let syncs = format!("syncs to {}", facts.folder);
    found.push(match &facts.syncs {
        Err(why) => Finding::problem(syncs, format!("nothing can be written there: {why}"))
            .advised("a run writes beside the journal; make the folder writable for its user"),
        Ok(None) => Finding::ok(syncs, "a sync works; its speed is not measured while a run goes on"),
        Ok(Some(rate)) => {
            let text = format!("{} a second", output::grouped(&rate.to_string()));
            match *rate {
                rate if rate > TOO_MANY_SYNCS => Finding::warning(syncs, format!("{text}: more than a disk can do"))
                    .advised("ask whether this disk (or its host) ignores syncs: after a loss of power a payment that was sent could be unknown here"),
                rate if rate < FEW_SYNCS => Finding::warning(syncs, format!("{text}: a run waits for one before each block of posts"))
                    .advised("a faster disk makes faster runs; nothing else depends on it"),
                _ => Finding::ok(syncs, text),
            }
        }
    });
    found
}

/// Looks at the folder of a journal; of one that is not there, at the nearest above it.
pub(super) fn look_at_disk(journal: &Path, runs: bool) -> Result<DiskFacts, String> {
    let folder = existing_folder(journal);
    let shown = output::name(&folder.display().to_string());
    let stat = rustix::fs::statvfs(&folder).map_err(|error| format!("{shown}: {error}"))?;
    let size = |suffix: &str| {
        let mut name = journal.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
            .metadata()
            .map_or(0, |found| found.len())
    };
    Ok(DiskFacts {
        kind: kind(&folder),
        free: stat.f_bavail.saturating_mul(stat.f_frsize),
        no_more_files: stat.f_files > 0 && stat.f_favail == 0,
        journal: size("") + size("-wal"),
        syncs: syncs(&folder, runs).map_err(|error| error.to_string()),
        folder: shown,
    })
}

/// Returns the folder of a journal, or the nearest one above it that is there.
pub(super) fn existing_folder(journal: &Path) -> PathBuf {
    let own = journal.parent().unwrap_or(Path::new(""));
    let found = own.ancestors().find(|folder| folder.is_dir());
    match found {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(target_os = "linux")]
fn kind(folder: &Path) -> Kind {
    // As the kernel numbers them.
    let Ok(stat) = rustix::fs::statfs(folder) else {
        return Kind::Disk;
    };
    match u32::try_from(stat.f_type & 0xffff_ffff) {
        Ok(0x6969) => Kind::Network("NFS"),
        Ok(0x517b | 0xff53_4d42 | 0xfe53_4d42) => Kind::Network("SMB"),
        Ok(0x0027_e0eb | 0x00c3_6400) => Kind::Network("Ceph"),
        Ok(0x0102_1994 | 0x8584_58f6) => Kind::Memory,
        _ => Kind::Disk,
    }
}

#[cfg(not(target_os = "linux"))]
fn kind(_folder: &Path) -> Kind {
    Kind::Disk
}

/// Measures how many writes a second are confirmed, in a file that has no name.
fn syncs(folder: &Path, runs: bool) -> std::io::Result<Option<u64>> {
    let mut file = tempfile::tempfile_in(folder)?;
    let begun = Instant::now();
    let mut made = 0_u64;
    while begun.elapsed() < MEASURED && made < SYNCS_MAX {
        file.rewind()?;
        file.write_all(&[u8::try_from(made % 251).unwrap_or(0); 512])?;
        file.sync_data()?;
        made += 1;
        if runs {
            // The commits of that run would wait behind more of them.
            return Ok(None);
        }
    }
    let nanos = begun.elapsed().as_nanos().max(1);
    Ok(Some(
        u64::try_from(u128::from(made) * 1_000_000_000 / nanos).unwrap_or(u64::MAX),
    ))
}

/// What was seen of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockFacts {
    pub(super) now: Timestamp,
    /// How far the time of a file that was just written is from it, in milliseconds.
    pub(super) file_apart: Option<u64>,
    /// How far it was set, while the doctor looked, in milliseconds.
    pub(super) stepped: u64,
    /// The newest evidence of the journal.
    pub(super) newest: Option<Timestamp>,
    /// Whether the system says that it follows a server of time.
    pub(super) follows: Option<bool>,
}

/// Judges the clock.
pub(super) fn clock(facts: &ClockFacts) -> Vec<Finding> {
    let at = "clock";
    let set = "synchronise it with a time server (systemd-timesyncd, chrony); otherwise a last date or closing time \
        takes effect too early or too late";
    let mut found = Vec::new();
    // Before this program was written.
    if facts.now < Timestamp::from_millis(1_767_225_600_000) {
        found.push(
            Finding::problem(at, format!("it says {}, which is long past", facts.now)).advised(set),
        );
    }
    if let Some(newest) = facts.newest
        && newest > facts.now
        && newest.since(facts.now) > Duration::from_secs(2)
    {
        found.push(
            Finding::problem(
                at,
                format!(
                    "it says {}, but the journal has later evidence, of {newest}",
                    facts.now
                ),
            )
            .advised(set),
        );
    }
    if facts.stepped > STEP_MAX {
        found.push(
            Finding::warning(
                at,
                format!("it was set by {} ms during this check", facts.stepped),
            )
            .advised(set),
        );
    }
    if let Some(apart) = facts.file_apart.filter(|apart| *apart > APART_MAX) {
        found.push(
            Finding::warning(
                at,
                format!("it differs from the clock of the journal's file system by {} s", apart / 1_000),
            )
            .advised("on that file system, a mark that was overwritten looks like one that was put back; use a disk of \
                this machine"),
        );
    }
    if facts.follows == Some(false) {
        found.push(Finding::note(at, "the system does not say that it follows a time server").advised("timedatectl \
            shows what sets it; dates that are sent and opening hours of services follow this clock"));
    }
    if found.is_empty() {
        found.push(Finding::ok(at, format!("{}", facts.now)));
    }
    found
}

/// Looks at the clock, and where the journal is a file, at that of its disk. `begun`: both clocks when the doctor began.
pub(super) fn look_at_clock(
    journal: Option<&Path>,
    begun: (Timestamp, Instant),
    newest: Option<Timestamp>,
) -> ClockFacts {
    let file_apart = || {
        let mut file = tempfile::tempfile_in(existing_folder(journal?)).ok()?;
        file.write_all(b"x").ok()?;
        let metadata = file.metadata().ok()?;
        let changed = metadata.ctime() * 1_000 + metadata.ctime_nsec() / 1_000_000;
        Some(Timestamp::now().as_millis().abs_diff(changed))
    };
    let now = Timestamp::now();
    let by_the_wall = now.as_millis() - begun.0.as_millis();
    let steady = i64::try_from(begun.1.elapsed().as_millis()).unwrap_or(i64::MAX);
    let runs_systemd = Path::new("/run/systemd/system").is_dir();
    let follows = Path::new("/run/systemd/timesync/synchronized").exists()
        || Path::new("/run/chrony").is_dir()
        || Path::new("/run/chronyd.pid").exists()
        || Path::new("/run/ntpd.pid").exists();
    ClockFacts {
        now,
        file_apart: file_apart(),
        stepped: by_the_wall.abs_diff(steady),
        newest,
        follows: (runs_systemd || follows).then_some(follows),
    }
}

/// What the system allows this process; `None`: without a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitFacts {
    pub(super) files: Option<u64>,
    pub(super) file_size: Option<u64>,
    pub(super) connections: u64,
}

/// Judges limits.
pub(super) fn limits(facts: LimitFacts) -> Vec<Finding> {
    let wanted = facts.connections + OWN_FILES;
    let mut found = vec![match facts.files {
        Some(files) if files < wanted => Finding::problem(
            "open files",
            format!("{files} are allowed, and {} requests at once want {wanted}", facts.connections),
        )
        .advised(format!("ulimit -n {wanted} before the run (LimitNOFILE= of a unit), or a smaller limits.concurrency")),
        Some(files) => Finding::ok("open files", format!("{} are allowed", output::grouped(&files.to_string()))),
        None => Finding::ok("open files", "no limit"),
    }];
    if let Some(most) = facts.file_size {
        found.push(
            Finding::warning("size of a file", format!("limited to {}", bytes(most))).advised(
                "ulimit -f unlimited: a journal that reaches it stops the run, and nothing is lost",
            ),
        );
    }
    found
}

/// Looks at limits.
pub(super) fn look_at_limits(connections: u64) -> LimitFacts {
    LimitFacts {
        files: getrlimit(Resource::Nofile).current,
        file_size: getrlimit(Resource::Fsize).current,
        connections,
    }
}

/// Judges the locale, by the first of its variables that is set.
pub(super) fn locale(value: Option<&str>) -> Finding {
    let plain = value.unwrap_or("C");
    let lower = plain.to_ascii_lowercase();
    match lower.contains("utf-8") || lower.contains("utf8") {
        true => Finding::ok("locale", plain),
        false => Finding::note(
            "locale",
            format!(
                "{}: a terminal may show names in other letters; files are UTF-8 in any case",
                output::name(plain)
            ),
        )
        .advised("export LANG=C.UTF-8"),
    }
}

/// Writes a size for a person.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} bytes"),
        1_024..1_048_576 => format!("{} KiB", count >> 10),
        1_048_576..10_737_418_240 => format!("{} MiB", output::grouped(&(count >> 20).to_string())),
        _ => format!("{} GiB", output::grouped(&(count >> 30).to_string())),
    }
}

/// Reads a file whole, where it is a small one.
pub(super) fn small_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err("is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level::{self, Note, Ok as Fine, Problem, Warning};
    use super::*;

    fn levels(found: &[Finding]) -> Vec<Level> {
        found.iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn a_disk_is_judged_by_its_room_its_kind_and_its_syncs() {
        let good = DiskFacts {
            folder: "/f".to_owned(),
            kind: Kind::Disk,
            free: 10 << 30,
            no_more_files: false,
            journal: 1 << 20,
            syncs: Ok(Some(3_000)),
        };
        let with = |change: fn(&mut DiskFacts)| {
            let mut facts = good.clone();
            change(&mut facts);
            disk(&facts)
        };
        for (change, expected) in [
            ((|_| ()) as fn(&mut DiskFacts), &[Fine, Fine][..]),
            (|f| f.free = 1 << 20, &[Problem, Fine]),
            (|f| f.free = 128 << 20, &[Warning, Fine]),
            (|f| f.journal = 20 << 30, &[Warning, Fine]),
            (|f| f.no_more_files = true, &[Problem, Fine]),
            (|f| f.kind = Kind::Memory, &[Fine, Warning, Fine]),
            (|f| f.kind = Kind::Network("NFS"), &[Fine, Problem, Fine]),
            (|f| f.syncs = Ok(Some(900_000)), &[Fine, Warning]),
            (|f| f.syncs = Ok(Some(5)), &[Fine, Warning]),
            (
                |f| f.syncs = Err("Permission denied".to_owned()),
                &[Fine, Problem],
            ),
        ] {
            let found = with(change);
            assert_eq!(levels(&found), expected, "{found:?}");
            for finding in found {
                assert_eq!(
                    finding.advice.is_some(),
                    finding.level > Note,
                    "{finding:?}"
                );
            }
        }
    }

    #[test]
    fn a_clock_is_judged_by_files_evidence_and_the_steady_one() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let good = ClockFacts {
            now,
            file_apart: Some(3),
            stepped: 0,
            newest: Some(Timestamp::from_millis(1_799_999_999_999)),
            follows: Some(true),
        };
        for (facts, expected) in [
            (good, Fine),
            (
                ClockFacts {
                    newest: None,
                    follows: None,
                    file_apart: None,
                    ..good
                },
                Fine,
            ),
            (
                ClockFacts {
                    newest: Some(Timestamp::from_millis(1_800_000_003_000)),
                    ..good
                },
                Problem,
            ),
            (
                ClockFacts {
                    newest: Some(Timestamp::from_millis(1_800_000_001_000)),
                    ..good
                },
                Fine,
            ),
            (
                ClockFacts {
                    now: Timestamp::from_millis(0),
                    newest: None,
                    ..good
                },
                Problem,
            ),
            (
                ClockFacts {
                    stepped: 3_600_000,
                    ..good
                },
                Warning,
            ),
            (
                ClockFacts {
                    file_apart: Some(90_000),
                    ..good
                },
                Warning,
            ),
            (
                ClockFacts {
                    follows: Some(false),
                    ..good
                },
                Note,
            ),
        ] {
            assert_eq!(levels(&clock(&facts)), [expected], "{facts:?}");
        }
    }

    #[test]
    fn limits_and_locale() {
        for (files, size, expected) in [
            (Some(1_024), None, &[Fine][..]),
            (None, None, &[Fine]),
            (Some(100), None, &[Problem]),
            (Some(1_024), Some(1_000), &[Fine, Warning]),
        ] {
            let facts = LimitFacts {
                files,
                file_size: size,
                connections: 64,
            };
            assert_eq!(levels(&limits(facts)), expected);
        }
        for (value, expected) in [
            (None, Note),
            (Some("C"), Note),
            (Some("en_US.ISO-8859-1"), Note),
            (Some("C.UTF-8"), Fine),
            (Some("de_DE.utf8"), Fine),
        ] {
            assert_eq!(locale(value).level, expected, "{value:?}");
        }
    }

    #[test]
    fn a_folder_is_measured_and_nothing_is_left_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let facts = look_at_disk(&folder.path().join("not/there/j.db"), false).unwrap();
        assert!(facts.syncs.unwrap().unwrap() > 0);
        assert_eq!(syncs(folder.path(), true).unwrap(), None);
        assert!(facts.free > 0);
        let clock = look_at_clock(
            Some(&folder.path().join("j.db")),
            (Timestamp::now(), Instant::now()),
            None,
        );
        assert!(clock.file_apart.unwrap() < 60_000);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
