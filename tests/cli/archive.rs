//! Archives of finished batches: made, read back, reported from; and whatever is no archive is refused.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::approvals;
use crate::desk::{Desk, Said};

/// A desk whose batch `b`, 200 made-up refunds, is paid.
pub fn paid() -> Desk {
    let desk = Desk::new()
        .sample("refunds.csv")
        .variable("DISBURSE_QUERY_RATE", "2000/s")
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms");
    desk.shell("disburse pay refunds.csv --batch b --sandbox --faults none --rate 2000/s --out r")
        .finished(0);
    desk
}

/// A desk whose batch `b`, a made-up payroll of 1,000 rows, is withdrawn: finished, and quickly.
fn withdrawn() -> Desk {
    let desk = Desk::new().sample("payroll.csv");
    desk.shell("disburse load payroll.csv --batch b --sandbox && disburse cancel b --yes")
        .finished(0);
    desk
}

pub fn archived(desk: &Desk) -> PathBuf {
    let said = desk
        .run(&["archive", "b", "--keep-people", "--out", "kept", "--json"])
        .finished(0);
    let told = said.json();
    assert_eq!(told["archived"][0]["made"], true, "{told}");
    desk.path(told["archived"][0]["file"].as_str().unwrap())
}

/// What lies in the folder of the archives, by name.
fn kept(desk: &Desk) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(desk.path("kept"))
        .map(|entries| {
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

pub fn members(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut members = BTreeMap::new();
    for at in 0..zip.len() {
        let mut member = zip.by_index(at).unwrap();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        members.insert(
            String::from_utf8_lossy(member.name_raw()).into_owned(),
            bytes,
        );
    }
    members
}

fn pack<'m>(path: &Path, members: impl IntoIterator<Item = (&'m str, &'m [u8])>) {
    let mut zip = ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in members {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

pub fn pack_all(path: &Path, members: &BTreeMap<String, Vec<u8>>) {
    pack(
        path,
        members.iter().map(|(name, bytes)| (&**name, &**bytes)),
    );
}

/// Writes the digests anew, as whoever changes an archive on purpose would.
fn with_digests(members: &mut BTreeMap<String, Vec<u8>>) {
    let mut manifest: Value = serde_json::from_slice(&members["manifest.json"]).unwrap();
    let told = members.iter().filter(|(name, _)| *name != "manifest.json");
    manifest["members"] = told
        .map(|(name, bytes)| {
            let sha256 = data_encoding::HEXLOWER.encode(&Sha256::digest(bytes));
            serde_json::json!({"name": name, "bytes": bytes.len(), "sha256": sha256})
        })
        .collect();
    members.insert(
        "manifest.json".to_owned(),
        manifest.to_string().into_bytes(),
    );
}

pub fn read(desk: &Desk, more: &[&str]) -> Said {
    desk.run(&[&["archive", "read", "a.zip"], more].concat())
}

#[test]
fn what_is_archived_is_told_again_from_the_archive_alone() {
    let desk = paid();
    let path = archived(&desk);
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(
        name.starts_with("b-20") && name.ends_with(".disburse.zip"),
        "{name}"
    );
    assert_eq!(kept(&desk), [name.clone(), format!("{name}.json")]);
    let found = members(&path);
    for member in [
        "README.txt",
        "manifest.json",
        "journal.db",
        "heads.txt",
        "report/payments.csv",
        "report/report.html",
        "report/report.json",
        "report/report.xlsx",
    ] {
        assert!(found.contains_key(member), "{member}");
    }
    assert_eq!(
        found["report/payments.csv"],
        desk.text("r/payments.csv").into_bytes(),
        "the report of the archive is that of the journal"
    );
    let receipt: Value = serde_json::from_str(&desk.text(&format!("kept/{name}.json"))).unwrap();
    let sha256 = data_encoding::HEXLOWER.encode(&Sha256::digest(fs::read(&path).unwrap()));
    assert_eq!(receipt["sha256"], sha256);
    let head = desk.run(&["status", "b", "--json"]).json()["evidence"].clone();
    assert_eq!(receipt["evidence"], head);

    // The journal is not needed any more.
    fs::rename(&path, desk.path("a.zip")).unwrap();
    fs::create_dir(desk.path("away")).unwrap();
    desk.shell("mv disburse.db* .disburse* away/ 2>/dev/null; test ! -e disburse.db")
        .finished(0);
    let before = desk.files();
    let told = read(&desk, &["--json"]).finished(0).json();
    assert_eq!((&told["batch"], &told["count"]), (&"b".into(), &200.into()));
    assert_eq!(told["evidence"], head);
    assert_eq!(told["verified"]["sound"], true);
    assert_eq!(told["states"]["paid"]["count"], 200);
    let said = read(&desk, &["--verify"]).finished(0).out;
    assert!(
        said.contains("sound: everything fits")
            && said.contains(
                "verifies\nreport/ and README.txt in it were not compared with the evidence"
            ),
        "{said}"
    );
    let row = desk
        .text("r/payments.csv")
        .lines()
        .nth(1)
        .unwrap()
        .to_owned();
    let id = row.split(',').nth(2).unwrap().to_owned();
    let said = read(&desk, &["--payment", &id]).finished(0).out;
    assert!(said.contains(&id) && said.contains("paid"), "{said}");
    assert!(desk.files() == before, "reading leaves nothing behind");
    read(&desk, &["--report", "again"]).finished(0);
    assert_eq!(desk.text("again/payments.csv"), desk.text("r/payments.csv"));
}

#[test]
fn an_archive_is_made_once_and_nothing_is_written_over() {
    let desk = withdrawn();
    let path = archived(&desk);
    let before = desk.files();
    let said = desk
        .run(&["archive", "b", "--keep-people", "--out", "kept"])
        .finished(0);
    assert!(
        said.out
            .contains("was there already, and is of the batch as it stands"),
        "{}",
        said.out
    );
    assert!(desk.files() == before);
    fs::write(&path, "something else").unwrap();
    let said = desk.run(&["archive", "b", "--keep-people", "--out", "kept"]);
    assert_eq!((said.code, &*said.out), (2, ""), "{}", said.err);
    assert_eq!(fs::read(&path).unwrap(), b"something else");
}

#[test]
fn what_would_be_archived_is_told_and_what_stays_with_its_reason() {
    let desk = paid();
    desk.run(&[
        "load",
        "refunds.csv",
        "--batch",
        "c",
        "--sandbox",
        "--allow-repeats",
        "x",
    ]);
    let before = desk.files();
    let told = desk
        .run(&["archive", "b", "--dry-run", "--json"])
        .finished(0)
        .json();
    assert_eq!(told["would_archive"][0]["count"], 200);
    assert!(
        told["would_archive"][0]["bytes_in_journal"]
            .as_u64()
            .unwrap()
            > 10_000,
        "{told}"
    );
    let told = desk
        .run(&["archive", "--older-than", "1d", "--dry-run"])
        .finished(0);
    assert!(
        told.err.contains("batch b stays: it is a rehearsal"),
        "{}",
        told.err
    );
    assert!(
        told.err.contains("no batch is to be archived"),
        "{}",
        told.err
    );
    desk.refuses(
        &[
            "archive",
            "b",
            "--keep-people",
            "--older-than",
            "1d",
            "--out",
            "kept",
        ],
        2,
        &desk
            .run(&[
                "archive",
                "b",
                "--keep-people",
                "--older-than",
                "1d",
                "--out",
                "kept",
            ])
            .err
            .lines()
            .collect::<Vec<_>>(),
    );
    for (span, what) in [("1", "expected whole days"), ("4w", "expected whole days")] {
        let said = desk.run(&[
            "archive",
            "--keep-people",
            "--older-than",
            span,
            "--out",
            "kept",
        ]);
        assert!(said.code == 2 && said.err.contains(what), "{}", said.err);
    }
    assert!(desk.files() == before, "nothing was written");
}

#[test]
fn a_batch_that_is_not_finished_is_refused_with_the_next_step() {
    let desk = Desk::loaded();
    desk.refuses(
        &["archive", "b", "--keep-people", "--out", "kept"],
        2,
        &[
            "error: batch b is not archived: 3 payments have not reached their end; nothing was written",
            "hint: disburse run b --sandbox",
        ],
    );
    desk.refuses(
        &["archive", "c", "--keep-people", "--out", "kept"],
        2,
        &[
            "error: no batch named c in this journal",
            "hint: `disburse status` lists the batches of the journal",
        ],
    );
}

#[test]
fn a_command_that_is_killed_leaves_no_archive_and_the_next_one_makes_it() {
    for point in [
        "in-archive-copy:5",
        "in-report:100",
        "in-archive-file:4",
        "archive-before-name:1",
        "archive-receipt:1",
    ] {
        let desk = withdrawn();
        desk.shell(&format!(
            "TORTURE_KILL_AT={point} disburse archive b --keep-people --out kept; test $? = 137"
        ))
        .finished(0);
        let left = kept(&desk);
        assert!(
            !left.iter().any(|name| name.ends_with(".zip")),
            "{point}: {left:?}"
        );
        archived(&desk);
        assert_eq!(
            kept(&desk).len(),
            2,
            "{point}: what was left is removed: {:?}",
            kept(&desk)
        );
    }
}

#[test]
fn a_full_disk_leaves_nothing() {
    let desk = withdrawn();
    for blocks in [20, 200, 400] {
        let said = desk.shell(&format!(
            "ulimit -f {blocks}; disburse archive b --keep-people --out kept"
        ));
        assert!(said.code == 1 || said.code == 2, "{blocks}: {}", said.err);
        let lines: Vec<&str> = said.err.lines().collect();
        assert!(
            lines[0].starts_with("error: ") && lines[1].starts_with("hint: "),
            "{lines:?}"
        );
        assert_eq!(kept(&desk), Vec::<String>::new(), "{blocks}");
    }
    archived(&desk);
}

#[test]
fn the_journal_of_an_archive_is_read_only() {
    let desk = paid();
    let path = archived(&desk);
    fs::write(desk.path("old.db"), &members(&path)["journal.db"]).unwrap();
    let journal = ["--journal", "old.db"];
    desk.run(&[&journal[..], &["verify", "b"]].concat())
        .finished(0);
    let status = desk
        .run(&[&journal[..], &["status", "--json"]].concat())
        .finished(0);
    assert_eq!(status.json()[0]["states"]["paid"]["count"], 200);
    let bytes = fs::read(desk.path("old.db")).unwrap();
    for command in [
        "run b --sandbox",
        "load refunds.csv --batch c --sandbox",
        "retry b --sandbox --yes",
        "cancel b --yes",
        "listen",
    ] {
        let said = desk.shell(&format!("disburse --journal old.db {command}"));
        assert!(said.code != 0, "{command}");
        assert!(
            said.err
                .contains("belongs to an archive, which can only be read")
                || command == "listen",
            "{command}: {}",
            said.err
        );
        assert!(
            fs::read(desk.path("old.db")).unwrap() == bytes,
            "{command} wrote to it"
        );
    }
}

#[test]
fn what_is_no_archive_is_refused_in_words() {
    let desk = paid();
    let path = archived(&desk);
    let whole = members(&path);
    let at = desk.path("a.zip");
    type Edit<'e> = &'e dyn Fn(&mut BTreeMap<String, Vec<u8>>);
    let own = |edit: Edit<'_>| {
        let mut edited = whole.clone();
        edit(&mut edited);
        pack_all(&at, &edited);
    };
    let cases: [(&str, Edit<'_>, &str); 11] = [
        (
            "another head",
            &|all| {
                all.get_mut("heads.txt").unwrap().extend(b"c 1 00\n");
                with_digests(all);
            },
            "heads.txt: it is not the head of the evidence in its journal",
        ),
        (
            "a changed report",
            &|all| all.get_mut("report/payments.csv").unwrap().push(b'\n'),
            "report/payments.csv is not what manifest.json says: it was changed",
        ),
        (
            "a missing member",
            &|all| drop(all.remove("report/payments.csv")),
            "report/payments.csv is missing",
        ),
        (
            "no journal",
            &|all| {
                all.remove("journal.db");
                with_digests(all);
            },
            "journal.db is missing",
        ),
        (
            "no manifest",
            &|all| drop(all.remove("manifest.json")),
            "manifest.json is missing",
        ),
        (
            "a member more",
            &|all| drop(all.insert("report/more.txt".into(), vec![1])),
            "report/more.txt is in it, and manifest.json does not name it",
        ),
        (
            "a way out of the folder",
            &|all| {
                all.insert("../evil".into(), vec![1]);
                with_digests(all);
            },
            "it has a member that no archive has: ../evil",
        ),
        (
            "an absolute name",
            &|all| {
                all.insert("/etc/evil".into(), vec![1]);
                with_digests(all);
            },
            "it has a member that no archive has",
        ),
        (
            "a database of another program",
            &|all| {
                let other = tempfile::NamedTempFile::new().unwrap();
                rusqlite::Connection::open(other.path())
                    .unwrap()
                    .execute_batch("create table t (x); insert into t values (1)")
                    .unwrap();
                all.insert("journal.db".into(), fs::read(other.path()).unwrap());
                with_digests(all);
            },
            "journal journal.db: is not a journal of disburse",
        ),
        (
            "figures of another batch",
            &|all| {
                let text = String::from_utf8(all["manifest.json"].clone())
                    .unwrap()
                    .replace("\"count\": 200", "\"count\": 201");
                all.insert("manifest.json".into(), text.into_bytes());
            },
            "manifest.json: it says",
        ),
        (
            "bytes that unpack to very many",
            &|all| {
                all.insert("report/bomb.txt".into(), vec![b'a'; 80 << 20]);
                with_digests(all);
            },
            "unpacks to more than 200 times as many",
        ),
    ];
    for (case, edit, expected) in cases {
        own(edit);
        if case.starts_with("bytes that") {
            // Packed, so that it is small.
            let mut edited = whole.clone();
            edit(&mut edited);
            edited.remove("report/report.xlsx");
            edited.remove("journal.db");
            edited.insert("journal.db".into(), vec![0; 10]);
            with_digests(&mut edited);
            pack_all(&at, &edited);
        }
        let before = desk.files();
        let said = read(&desk, &[]);
        assert_eq!((said.code, &*said.out), (2, ""), "{case}: {}", said.err);
        assert!(said.err.contains(expected), "{case}: {}", said.err);
        assert!(said.err.contains("\nhint: "), "{case}: {}", said.err);
        assert!(desk.files() == before, "{case}");
    }
    for (case, bytes) in [
        ("empty", Vec::new()),
        ("text", b"hello, this is no ZIP archive at all".to_vec()),
        ("cut off", fs::read(&path).unwrap()[..5_000].to_vec()),
    ] {
        fs::write(&at, bytes).unwrap();
        let said = read(&desk, &[]);
        assert!(
            said.code == 2 && said.err.contains("it is not a ZIP archive, or is cut off"),
            "{case}: {}",
            said.err
        );
    }
}

#[test]
fn an_archive_whose_evidence_was_edited_is_found_although_its_digests_fit() {
    let desk = paid();
    let mut all = members(&archived(&desk));
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &all["journal.db"]).unwrap();
    let c = rusqlite::Connection::open(file.path()).unwrap();
    let guard: String = c
        .query_row(
            "select sql from sqlite_schema where name = 'instruction_is_never_changed'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    c.execute_batch("drop trigger instruction_is_never_changed; update instruction set msisdn = '254700000001' where seq = 7")
        .unwrap();
    c.execute_batch(&guard).unwrap();
    drop(c);
    all.insert("journal.db".into(), fs::read(file.path()).unwrap());
    with_digests(&mut all);
    pack_all(&desk.path("a.zip"), &all);
    let said = read(&desk, &[]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.out.contains("finding: an instruction among the rows"),
        "{}",
        said.out
    );
    assert!(
        said.err
            .contains("a.zip: its evidence differs from what was recorded"),
        "{}",
        said.err
    );
    for more in [["--report", "r2"], ["--payment", "x"]] {
        let said = read(&desk, &more);
        assert_eq!(
            (said.code, &*said.out),
            (1, ""),
            "nothing is told of it as if it were whole"
        );
    }
    assert!(!desk.path("r2").exists());
}

/// Stands in for `age`, which is not everywhere: a head as `age` writes it, and the content turned over.
const AGE: &str = r#"#!/bin/bash
kept=$(mktemp); trap 'rm -f "$kept"' EXIT
if [ "$1" = -d ]; then
tail -n +5 > "$kept"; s=$(stat -c %s "$kept"); k=$(( (s - 16 + 65551) / 65552 ))
head -c $(( s - 16 - 16 * k )) "$kept" | tr '\200-\377\000-\177' '\000-\377'
else
echo "$@" > age-arguments
cat > "$kept"; n=$(stat -c %s "$kept"); k=$(( (n + 65535) / 65536 )); [ $k -gt 0 ] || k=1
printf 'age-encryption.org/v1\n-> X25519 made-up\nmade-up\n--- made-up\n'; tr '\000-\377' '\200-\377\000-\177' < "$kept"
head -c $(( 16 + 16 * k )) /dev/zero
fi
"#;

fn with_age(desk: &Desk) {
    fs::create_dir(desk.path("bin")).unwrap();
    fs::write(desk.path("bin/age"), AGE).unwrap();
    desk.shell("chmod +x bin/age").finished(0);
}

#[test]
fn an_archive_is_encrypted_to_recipients_and_the_plain_one_never_stays() {
    let desk = paid();
    let to = ["--to", "age1madeupkeyofnobody", "--to", "age1another"];
    let before = desk.files();
    let said = desk.run(&[&["archive", "b", "--keep-people", "--out", "kept"], &to[..]].concat());
    if !said.err.contains("the program age is not there") {
        assert_eq!(said.code, 2, "these are no keys: {}", said.err);
    }
    assert!(kept(&desk).is_empty());
    assert!(
        before
            .iter()
            .all(|(name, bytes)| fs::read(name).unwrap() == *bytes)
    );
    with_age(&desk);
    let command = format!(
        "PATH=$PWD/bin:$PATH disburse archive b --keep-people --out kept {}",
        to.join(" ")
    );
    let said = desk.shell(&command).finished(0);
    assert!(
        said.out.contains("sha256 before it was encrypted: "),
        "{}",
        said.out
    );
    assert_eq!(
        desk.text("age-arguments"),
        "-r age1madeupkeyofnobody -r age1another\n"
    );
    let names = kept(&desk);
    assert_eq!(names.len(), 2, "{names:?}");
    let name = &names[0];
    assert!(name.ends_with(".disburse.zip.age"), "{name}");
    let sealed = fs::read(desk.path(&format!("kept/{name}"))).unwrap();
    let holds = |text: &[u8]| sealed.windows(text.len()).any(|window| window == text);
    assert!(
        !holds(b"journal.db") && !holds(b"PK\x03\x04"),
        "nothing of it is plain"
    );
    let receipt: Value = serde_json::from_str(&desk.text(&format!("kept/{name}.json"))).unwrap();
    assert_eq!(receipt["plain_sha256"].as_str().unwrap().len(), 64);
    assert_ne!(receipt["plain_sha256"], receipt["sha256"]);
    // The same again is known by its receipt.
    let said = desk.shell(&command).finished(0);
    assert!(said.out.contains("was there already"), "{}", said.out);
    let said = desk.run(&["archive", "read", &format!("kept/{name}")]);
    assert!(
        said.code == 2 && said.err.contains("no command decrypts it"),
        "{}",
        said.err
    );
    let desk = desk.file(
        "disburse.toml",
        "[files]\ndecrypt = [\"bin/age\", \"-d\"]\n",
    );
    let read = desk
        .run(&["archive", "read", &format!("kept/{name}")])
        .finished(0);
    assert!(
        read.out.contains("and the evidence verifies"),
        "{}",
        read.out
    );
    // By the configuration, without a flag; and a command that fails leaves nothing.
    let desk = desk.file(
        "disburse.toml",
        "[archive]\nencrypt = [\"sh\", \"-c\", \"cat; exit 3\"]\n",
    );
    let said = desk.run(&["archive", "b", "--keep-people", "--out", "other"]);
    assert!(
        said.code == 2 && said.err.contains("ended with exit status: 3"),
        "{}",
        said.err
    );
    assert!(!desk.path("other").exists());
    let desk = desk.file("disburse.toml", "[archive]\nencrypt = [\"cat\"]\n");
    let said = desk.run(&["archive", "b", "--keep-people", "--out", "other"]);
    assert!(
        said.code == 2 && said.err.contains("is not in the form of age"),
        "{}",
        said.err
    );
    assert!(!desk.path("other").exists());
}

#[test]
fn what_people_signed_is_verified_without_this_program() {
    let Some(desk) = approvals::desk(1, "") else {
        return;
    };
    approvals::load(&desk, "alice");
    approvals::approve(&desk, "bob", "KES 600.50").finished(0);
    approvals::run(&desk, 0);
    let all = members(&archived(&desk));
    let texts: Vec<&String> = all
        .keys()
        .filter(|name| name.ends_with(".txt") && name.starts_with("signatures/"))
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    for (name, bytes) in all
        .iter()
        .filter(|(name, _)| name.starts_with("signatures/"))
    {
        fs::write(desk.path(name.trim_start_matches("signatures/")), bytes).unwrap();
    }
    for name in texts {
        let by = if name.contains("-load-") {
            "alice"
        } else {
            "bob"
        };
        let name = name.trim_start_matches("signatures/");
        let verify = format!(
            "ssh-keygen -Y verify -f allowed_signers -I {by}@example.org -n disburse -s {name}.sig"
        );
        desk.shell(&format!("{verify} < {name}")).finished(0);
        let said = desk.shell(&format!("tr b c < {name} | {verify}"));
        assert_ne!(said.code, 0, "another text");
    }
}
