//! What holds names and numbers is for its owner alone, and no link that somebody laid in the way is followed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::files::rows;
use crate::sandbox::Sandbox;
use crate::viewer::Page;
use crate::world::{Setup, World};

/// The program with a umask that takes nothing away.
fn open_handed(world: &World, arguments: &[&str]) -> Command {
    let bare = world.command(arguments);
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 0; exec \"$0\" \"$@\""])
        .arg(bare.get_program())
        .args(bare.get_args())
        .current_dir(world.path(""))
        .env_clear();
    for (name, value) in bare.get_envs() {
        command.env(name, value.unwrap());
    }
    command
}

/// Every file and folder below, without those that the test made.
fn made(folder: &Path, own: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if own.contains(&name) || name.starts_with("out-") || name.starts_with("err-") {
            continue;
        }
        if path.is_dir() {
            found.extend(made(&path, own));
        }
        found.push(path);
    }
    found
}

#[track_caller]
fn for_the_owner_alone(world: &World, expected: &[&str]) {
    let made = made(
        &world.path(""),
        &["batch.csv", "bad.csv", "disburse.toml", "ledger"],
    );
    for path in &made {
        let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
        let right = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, right, "{mode:04o} of {}", path.display());
    }
    for name in expected {
        assert!(
            made.contains(&world.path(name)),
            "{name} was not looked at: {made:?}"
        );
    }
}

#[test]
fn every_file_of_a_run_is_for_its_owner_alone_under_the_widest_umask() {
    let setup = Setup::with_callbacks();
    let world = World::new(&setup);
    // The ledger of a sandbox holds numbers too: this one is made under the same umask.
    let mut sandbox = world.start_as(open_handed(
        &world,
        &[
            "sandbox",
            "--listen",
            "127.0.0.1:0",
            "--json",
            "--ledger",
            "gateway.ledger",
        ],
    ));
    sandbox.until("listening", |sandbox| sandbox.out().ends_with('\n'));
    let hello: serde_json::Value = serde_json::from_str(&sandbox.out()).unwrap();
    let world = world.towards(hello["base_url"].as_str().unwrap());
    world.write_rows("batch.csv", &rows(60, 5));
    world.write("bad.csv", "msisdn,amount,service_code\n12,x,B2C_MPESA\n");
    let pay = [
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--yes",
        "--journal",
        "state/deep/j.db",
        "--out",
        "out/reports",
    ];
    let mut run = world.start_as(open_handed(
        &world,
        &[&pay[..], &["--rate", "40/s"]].concat(),
    ));
    let all = [
        "state/deep/j.db",
        "state/deep/j.db-wal",
        "state/deep/j.db-shm",
        "state/deep/j.db.lock",
        "state/deep/j.db.mark",
    ];
    run.until("under way", |_| {
        all.iter().all(|name| world.path(name).exists())
    });
    for_the_owner_alone(&world, &all);
    // What a crash leaves behind is no more open.
    run.signal(Signal::KILL);
    run.wait();
    for_the_owner_alone(&world, &all);
    let done = world.start_as(open_handed(&world, &pay)).wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    let done = world
        .start_as(open_handed(&world, &["check", "bad.csv"]))
        .wait();
    assert_eq!(done.code, Some(2), "{done:?}");
    let rehearsal = [
        "pay",
        "batch.csv",
        "--batch",
        "r",
        "--journal",
        "inside.db",
        "--sandbox",
        "--faults",
        "none",
        "--allow-same-content",
    ];
    let done = world.start_as(open_handed(&world, &rehearsal)).wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    for_the_owner_alone(
        &world,
        &[
            "state",
            "state/deep",
            "state/deep/j.db",
            "gateway.ledger",
            "inside.db",
            "inside.db.sandbox",
            "bad.corrections.csv",
            "out",
            "out/reports",
            "out/reports/report.html",
            "out/reports/report.json",
            "out/reports/payments.csv",
            "out/reports/report.xlsx",
            "reports/r",
        ],
    );
}

/// A report that a page writes, and a batch that is checked: both under the widest umask, killed half way, and begun again.
#[test]
fn what_lies_where_temporary_files_are_is_for_its_owner_alone_and_goes_even_after_a_kill() {
    let world = World::new(&Setup::default());
    world.write_rows("batch.csv", &rows(60, 5));
    world.expect(0, &["load", "batch.csv", "--batch", "b", "--sandbox"]);
    fs::create_dir(world.path("tmp")).unwrap();
    let here = |arguments: &[&str], killed_at: &str| {
        let mut command = open_handed(&world, arguments);
        command.env("TMPDIR", world.path("tmp"));
        command.env("TORTURE_KILL_AT", killed_at);
        world.start_as(command)
    };
    let for_the_owner = |least: usize| {
        let left = made(&world.path("tmp"), &[]);
        for path in &left {
            let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
            let right = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, right, "{mode:04o} of {}", path.display());
        }
        assert!(left.len() >= least, "{left:?}");
    };
    let mut serve = here(&["serve"], "in-publish:1");
    let page = Page::of(&mut serve);
    // The folder, its list, and files of the report.
    let mut asked = std::net::TcpStream::connect(&page.host).unwrap();
    write!(
        asked,
        "GET {}batch/b/report/payments.csv HTTP/1.1\r\nhost: {}\r\n\r\n",
        page.root, page.host
    )
    .unwrap();
    serve.wait();
    for_the_owner(4);
    // The next one begins without them, and leaves nothing of its own.
    let mut serve = here(&["serve"], "");
    let page = Page::of(&mut serve);
    assert_eq!(made(&world.path("tmp"), &[]), [""; 0].map(PathBuf::from));
    for file in ["payments.csv", "report.zip"] {
        page.get(&format!("batch/b/report/{file}"));
    }
    serve.signal(Signal::TERM);
    serve.wait();
    assert_eq!(made(&world.path("tmp"), &[]), [""; 0].map(PathBuf::from));
    let check = ["check", "batch.csv", "--sandbox"];
    here(&check, "in-load:1").wait();
    for_the_owner(2);
    here(&check, "").wait();
    assert_eq!(made(&world.path("tmp"), &[]), [""; 0].map(PathBuf::from));
}

/// A file of somebody else, which must stay as it is.
struct Victim {
    path: PathBuf,
    metadata: (u64, u32, i64),
}

impl Victim {
    fn new(world: &World, content: &str) -> Self {
        world.write("victim", content);
        let path = world.path("victim");
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(&path, mode).unwrap();
        let metadata = facts(&path);
        Self { path, metadata }
    }

    #[track_caller]
    fn is_untouched(&self, content: &str, after: &str) {
        assert_eq!(fs::read_to_string(&self.path).unwrap(), content, "{after}");
        assert_eq!(facts(&self.path), self.metadata, "{after}");
    }
}

fn facts(path: &Path) -> (u64, u32, i64) {
    let metadata = path.metadata().unwrap();
    (metadata.ino(), metadata.mode(), metadata.mtime_nsec())
}

const VICTIM: &str = "somebody's file\n";

/// A loaded world, and its gateway.
fn loaded() -> (World, Sandbox) {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    world.write_rows("batch.csv", &rows(3, 5));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    (world, sandbox)
}

#[test]
fn a_journal_that_is_a_link_is_refused_by_every_command() {
    let (world, sandbox) = loaded();
    let before = fs::read(world.path("disburse.db")).unwrap();
    let victim = Victim::new(&world, VICTIM);
    symlink(world.path("disburse.db"), world.path("genuine.db")).unwrap();
    symlink(&victim.path, world.path("foreign.db")).unwrap();
    symlink(world.path("nowhere"), world.path("dangling.db")).unwrap();
    for journal in ["genuine.db", "foreign.db", "dangling.db"] {
        for command in [
            &["status"][..],
            &["load", "batch.csv", "--batch", "n", "--allow-same-content"],
            &["run", "b", "--yes"],
            &["report", "b", "--out", "r"],
            &["explain", "b", "R00001"],
            &["cancel", "b"],
            &["listen", "--listen", "127.0.0.1:0"],
        ] {
            let done = world.expect(2, &[command, &["--journal", journal]].concat());
            done.says("symbolic link");
            victim.is_untouched(VICTIM, &format!("{command:?}"));
        }
    }
    assert!(!world.path("nowhere").exists());
    assert!(fs::read(world.path("disburse.db")).unwrap() == before);
    assert_eq!(sandbox.ledger().posts, 0);
}

#[test]
fn links_beside_the_journal_are_not_followed() {
    for suffix in ["-wal", "-shm", "-journal", ".lock", ".mark", ".sandbox"] {
        let world = World::new(&Setup::default());
        world.write_rows("batch.csv", &rows(3, 5));
        let victim = Victim::new(&world, VICTIM);
        let link = world.path(&format!("disburse.db{suffix}"));
        symlink(&victim.path, &link).unwrap();
        let pay = [
            "pay",
            "batch.csv",
            "--batch",
            "b",
            "--sandbox",
            "--faults",
            "none",
        ];
        // Refused or carried out, but never through the link.
        let done = world.disburse(&pay);
        victim.is_untouched(VICTIM, &format!("{suffix}: {done:?}"));
        // Nor is a file made where a link points at nothing.
        fs::remove_file(&link).unwrap();
        symlink(world.path("nowhere"), &link).unwrap();
        let done = world.disburse(&pay);
        assert!(!world.path("nowhere").exists(), "{suffix}: {done:?}");
        // Out of the way, everybody is paid once.
        let _ = fs::remove_file(&link);
        assert_eq!(world.until_finished(&pay), 0, "{suffix}");
    }
}

#[test]
fn a_journal_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("NOT CHECKED: only root can give a file away");
        return;
    }
    let (world, sandbox) = loaded();
    chown(world.path("disburse.db"), Some(65_534), Some(65_534)).unwrap();
    let before = fs::read(world.path("disburse.db")).unwrap();
    for command in [
        &["status"][..],
        &["load", "batch.csv", "--batch", "n", "--allow-same-content"],
        &["run", "b", "--yes"],
        &["report", "b", "--out", "r"],
    ] {
        world.expect(2, command).says("belongs to another user");
    }
    assert!(fs::read(world.path("disburse.db")).unwrap() == before);
    assert_eq!(sandbox.ledger().posts, 0);
}

#[test]
fn a_journal_that_others_may_open_is_told_of() {
    let (world, _sandbox) = loaded();
    let journal = world.path("disburse.db");
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o644)).unwrap();
    let done = world.expect(0, &["run", "b", "--yes"]);
    done.says("others may open this journal (mode 0644)");
    done.says("chmod 600");
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o600)).unwrap();
    let done = world.expect(0, &["run", "b", "--yes"]);
    assert!(!format!("{done:?}").contains("others may open"), "{done:?}");
}

#[test]
fn reports_and_corrections_take_the_place_of_no_link_and_leave_its_target_alone() {
    let (world, _sandbox) = loaded();
    world.write("bad.csv", "msisdn,amount,service_code\n12,x,B2C_MPESA\n");
    world.expect(0, &["run", "b", "--yes"]);
    fs::create_dir(world.path("r")).unwrap();
    let victim = Victim::new(&world, VICTIM);
    let names = [
        "r/report.html",
        "r/report.json",
        "r/payments.csv",
        "r/report.xlsx",
        "bad.corrections.csv",
    ];
    let nowhere = world.path("nowhere");
    for kind in ["symbolic", "dangling", "hard"] {
        for name in names {
            let _ = fs::remove_file(world.path(name));
            match kind {
                "symbolic" => symlink(&victim.path, world.path(name)).unwrap(),
                "dangling" => symlink(&nowhere, world.path(name)).unwrap(),
                _ => fs::hard_link(&victim.path, world.path(name)).unwrap(),
            }
        }
        let link = |name: &str| {
            let there = fs::symlink_metadata(world.path(name)).unwrap();
            (there.ino(), there.mode(), there.nlink())
        };
        let before = names.map(link);
        let report = ["report", "b", "--out", "r"];
        world.expect(2, &report).says("it is not overwritten");
        world.expect(2, &["check", "bad.csv"]);
        victim.is_untouched(VICTIM, kind);
        assert!(!nowhere.exists(), "{kind}");
        assert_eq!(names.map(link), before, "{kind}: somebody made these");
        let corrections = fs::symlink_metadata(world.path("bad.corrections-2.csv")).unwrap();
        assert!(corrections.is_file(), "{kind}: in a file of their own");
        assert_eq!(corrections.mode() & 0o7777, 0o600, "{kind}");
        assert_eq!(corrections.nlink(), 1, "{kind}");
    }
}
