//! The shim, compiled once, and put between a world's commands and the disk.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use fastrand::Rng;

use crate::disk::{Disk, Loss, Record, Unsynced, records};
use crate::world::World;

/// The file names that the shim knows.
pub const JOURNAL: &str = "disburse.db";
const LOG: &str = "shim.log";

/// Returns the compiled shim, or says aloud that there is none.
pub fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIBRARY.get_or_init(compile).as_deref()
}

fn compile() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/torture/shim.c");
    // Two runs of the tests at once must not see each other's half a file.
    let library = folder.join(format!("shim-{}.so", std::process::id()));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(&compiler)
        .args([
            "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
        ])
        .arg(&library)
        .args([source, "-ldl", "-lpthread"])
        .output();
    match compiled {
        Ok(done) if done.status.success() => {
            let place = folder.join("shim.so");
            std::fs::rename(library, &place).unwrap();
            Some(place)
        }
        Ok(done) => panic!(
            "{compiler} does not compile the shim:\n{}",
            String::from_utf8_lossy(&done.stderr)
        ),
        Err(error) => {
            // SQLite is compiled with the program, so that there is a compiler wherever the program was built.
            assert!(
                std::env::var_os("CI").is_none(),
                "NO C COMPILER: {compiler}: {error}"
            );
            // Past what the harness keeps to itself of a test that passes.
            let _ = writeln!(
                std::io::stderr(),
                "\nNOT TESTED: POWER LOSSES AND DISK ERRORS. There is no C compiler ({compiler}: {error}); set CC to one.\n"
            );
            None
        }
    }
}

/// The disk of one world. Every command that touches the journal goes through it.
pub struct Shimmed {
    disk: Disk,
    journal: PathBuf,
    log: PathBuf,
}

impl Shimmed {
    /// Puts the shim between a world's further commands and its journal.
    pub fn of(world: &mut World, library: &Path) -> Self {
        let (journal, log) = (world.path(JOURNAL), world.path(LOG));
        world.set("LD_PRELOAD", library.to_str().unwrap());
        world.set("SHIM_FILE", JOURNAL);
        // The system call that gives a new journal its name passes the C library by.
        world.set("TORTURE_NAMES", "link");
        world.set("SHIM_LOG", log.to_str().unwrap());
        Self {
            disk: Disk::of(&journal),
            journal,
            log,
        }
    }

    /// What was done to the files since the last power loss.
    pub fn done(&self) -> Vec<Record> {
        records(&self.log)
    }

    /// Leaves of the files what a power loss would have left. No command is under way.
    pub fn lose_power(&mut self, unsynced: Unsynced, rng: &mut Rng) -> Loss {
        self.disk.replay(&records(&self.log));
        let disk = std::mem::take(&mut self.disk);
        let loss = disk.lose_power(&self.journal, unsynced, rng);
        let _ = std::fs::remove_file(&self.log);
        self.disk = Disk::of(&self.journal);
        loss
    }
}
