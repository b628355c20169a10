//! A server whose disk is full.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::play::{Stage, directly, play, rounds};
use crate::fixture::{Kind, Server, left_out};

/// A small file system in memory, gone with this.
struct Disk(tempfile::TempDir);

impl Disk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(
            folder.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        let mut mount = Command::new("mount");
        mount.args([
            "-t",
            "tmpfs",
            "-o",
            &format!("size={size},mode=755"),
            "tmpfs",
        ]);
        let is_done = mount
            .arg(folder.path())
            .output()
            .is_ok_and(|ended| ended.status.success());
        if !is_done {
            // No program can be installed that would mend it.
            left_out("a full disk of the server: only root can mount a small one");
            return None;
        }
        Some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no room.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("ballast");
        let mut ballast = File::create(&path).unwrap();
        while ballast.write_all(&[7; 4096]).is_ok() {}
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

pub fn a_server_whose_disk_is_full_stops_the_hosts_and_they_go_on_when_there_is_room() {
    rounds("a full disk of the server", 1, 520, |seed| {
        let disk = Disk::mount("192m")?;
        let server = Server::start_in(disk.path(), Kind::Installed, &[])?;
        let figures = play(seed, Stage::default(), &server, &directly, |scene| {
            for nth in 0..3 {
                if scene.posts_more(4..12, Duration::from_secs(8)) {
                    break;
                }
                let ballast = disk.fill();
                scene.hosts.figures.broken += 1;
                if nth == 1 {
                    // The log needs a new file: the server ends, and cannot come back.
                    let _ = server.try_psql("postgres", "select pg_switch_wal()");
                }
                scene.hosts.until(Duration::from_secs(3), || false);
                fs::remove_file(ballast).unwrap();
                comes_back(&server);
            }
        });
        drop(server);
        Some(figures)
    });
}

/// Waits for a server that may have ended, and starts it where it has.
fn comes_back(server: &Server) {
    let until = Instant::now() + Duration::from_secs(30);
    while server.try_psql("postgres", "select 1").is_err() {
        assert!(Instant::now() < until, "{}", server.log());
        if !server.data().join("postmaster.pid").exists() {
            server.run();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
