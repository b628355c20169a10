//! Copies in a folder, of which older ones give way; and the drill of docs/operations.md, said as it stands there.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::files::rows;
use crate::oracle::prove_outcome;
use crate::sandbox::Sandbox;
use crate::world::{Setup, World};

const OPERATIONS: &str = include_str!("../../docs/operations.md");
const KEEP: [&str; 4] = ["backup", "copies", "--keep", "2"];

fn world(seed: u64, count: usize) -> (World, Sandbox) {
    let setup = Setup {
        quarantine: "1s",
        request_timeout: "950ms",
        ..Setup::default()
    };
    let seeded = seed.to_string();
    // A gateway that executes whatever it is sent, however often.
    let arguments = ["--no-duplicate-check", "--seed", &seeded];
    let (world, sandbox) = World::with_sandbox(&setup, &arguments);
    world.write_rows("wages.csv", &rows(count, seed));
    fs::create_dir(world.path("copies")).unwrap();
    (world, sandbox)
}

fn names(world: &World) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(world.path("copies"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".copying"))
        .collect();
    names.sort();
    names
}

/// Makes a copy, and gives it the name of another time: two copies in a second would have the same.
fn copy_named(world: &World, stamp: &str) -> String {
    let before = names(world);
    world.expect(0, &KEEP).says("sound");
    let made = names(world)
        .into_iter()
        .find(|name| !before.contains(name))
        .unwrap();
    let name = format!("disburse-{stamp}.db");
    fs::rename(
        world.path("copies").join(made),
        world.path("copies").join(&name),
    )
    .unwrap();
    name
}

#[test]
fn earlier_copies_give_way_and_nothing_else_in_their_folder() {
    let (world, _sandbox) = world(81, 5);
    let copies = world.path("copies");
    world.expect(0, &["load", "wages.csv", "--batch", "wages"]);
    // Of another journal with the same file name, and what else may lie there under such a name.
    fs::create_dir(world.path("elsewhere")).unwrap();
    let other = "elsewhere/disburse.db";
    world.expect(
        0,
        &["load", "wages.csv", "--batch", "wages", "--journal", other],
    );
    world.expect(
        0,
        &[
            "backup",
            "copies/disburse-20200101T000000Z.db",
            "--journal",
            other,
        ],
    );
    fs::write(copies.join("disburse-20200102T000000Z.db"), "mine").unwrap();
    fs::create_dir(copies.join("disburse-20200103T000000Z.db")).unwrap();
    fs::write(copies.join("disburse-copy.db"), "mine").unwrap();
    world.expect(0, &["backup", "copies/whole.db"]);
    let whole = fs::read(copies.join("whole.db")).unwrap();
    fs::write(
        copies.join("disburse-20200104T000000Z.db"),
        &whole[..whole.len() / 2],
    )
    .unwrap();
    std::os::unix::fs::symlink("whole.db", copies.join("disburse-20200105T000000Z.db")).unwrap();
    // The journal itself is no copy.
    fs::copy(
        world.path("disburse.db"),
        copies.join("disburse-20200106T000000Z.db"),
    )
    .unwrap();
    let strangers = names(&world);

    let first = copy_named(&world, "20990101T000000Z");
    world.expect(0, &["cancel", "wages", "--yes"]);
    // The clock was set back: by their names the second is the older one.
    let second = copy_named(&world, "20300101T000000Z");
    world
        .expect(0, &KEEP)
        .says("1 earlier copy removed, the oldest of them copies/disburse-20990101T000000Z.db");
    let left = names(&world);
    assert!(!left.contains(&first), "{left:?}");
    assert!(left.contains(&second), "{left:?}");
    assert_eq!(
        left.len(),
        strangers.len() + 2,
        "nothing was made beside them: {left:?}"
    );
    for name in &strangers {
        assert!(left.contains(name), "{name} is gone: {left:?}");
    }
}

#[test]
fn a_copy_that_knows_what_the_journal_does_not_stays() {
    let (world, sandbox) = world(82, 5);
    let copies = world.path("copies");
    world.expect(0, &["load", "wages.csv", "--batch", "wages"]);
    let before = copy_named(&world, "20300101T000000Z");
    world.expect(0, &["run", "wages", "--yes"]);
    let after = copy_named(&world, "20300102T000000Z");
    world.delete_journal();
    fs::copy(copies.join(&before), world.path("disburse.db")).unwrap();
    // The timer is there first.
    world
        .expect(0, &["backup", "copies", "--keep", "1"])
        .says("with something that the journal lacks")
        .says(&after);
    let left = names(&world);
    assert!(left.contains(&after), "{left:?}");
    assert!(!left.contains(&before), "{left:?}");
    // What goes on in its place is another journal: what was copied of the one that is lost stays.
    world.expect(0, &["run", "wages", "--yes"]);
    for stamp in ["20300103T000000Z", "20300104T000000Z", "20300105T000000Z"] {
        copy_named(&world, stamp);
    }
    // And it is said that they stay, how many, and why.
    world
        .expect(0, &["backup", "copies", "--keep", "9"])
        .says("files that are named like copies are not copies of this journal")
        .says("--keep never removes them")
        .says("disburse status --journal copies/disburse-");
    let last = names(&world).pop().unwrap();
    fs::remove_file(copies.join(last)).unwrap();
    let now = names(&world);
    assert!(left.iter().all(|name| now.contains(name)), "{now:?}");
    assert_eq!(now.len(), left.len() + 2, "{now:?}");
    let rows = rows(5, 82);
    prove_outcome(&world, "wages", &rows, &sandbox.ledger());
}

#[test]
fn where_no_new_copy_is_made_none_gives_way() {
    let (world, _sandbox) = world(83, 5);
    let copies = world.path("copies");
    world.expect(0, &["load", "wages.csv", "--batch", "wages"]);
    copy_named(&world, "20300101T000000Z");
    copy_named(&world, "20300102T000000Z");
    let before = names(&world);
    let alone = ["backup", "copies", "--keep", "1"];

    // Somebody else makes one.
    let lock = fs::File::open(copies.join(".disburse.db.copying")).unwrap();
    lock.lock().unwrap();
    world
        .expect(2, &alone)
        .says("another copy of the journal is being made there");
    drop(lock);
    // The journal differs from what was recorded.
    let intact = fs::read(world.path("disburse.db")).unwrap();
    rusqlite::Connection::open(world.path("disburse.db"))
        .unwrap()
        .execute_batch("drop trigger instruction_is_never_changed; update instruction set amount = 1 where seq = 3")
        .unwrap();
    world
        .expect(2, &alone)
        .says("differs from what was recorded");
    assert_eq!(names(&world), before);
    // No folder, and so nothing that could be kept in it.
    world
        .expect(2, &["backup", "none", "--keep", "1"])
        .says("there is no such folder");
    assert!(!world.path("none").exists());
    world.delete_journal();
    world.expect(2, &alone).says("is missing");
    assert_eq!(names(&world), before);

    // What a copy that was killed has left is in nobody's way, and does not stay.
    fs::write(world.path("disburse.db"), intact).unwrap();
    fs::write(copies.join(".disburse.db.unproven"), "half of it").unwrap();
    world.expect(0, &alone).says("2 earlier copies removed");
    let left = names(&world);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with("disburse-20"), "{left:?}");
}

#[test]
fn a_copy_in_a_folder_says_the_same_to_programs() {
    let (world, _sandbox) = world(84, 5);
    world.expect(0, &["load", "wages.csv", "--batch", "wages"]);
    let old = copy_named(&world, "20300101T000000Z");
    let said = world.expect(0, &["backup", "copies", "--keep", "1", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        said["removed"],
        serde_json::json!([format!("copies/{old}")])
    );
    assert_eq!(said["apart"], serde_json::json!([]));
    assert_eq!(said["payments"], 5);
    let file = said["file"].as_str().unwrap();
    assert_eq!(file, format!("copies/{}", names(&world)[0]));
}

/// Says the lines of a block, as a person at a shell does; a line may name the exit code that it has.
fn say(world: &World, block: &str) -> usize {
    let program = Path::new(env!("CARGO_BIN_EXE_disburse"));
    let mut said = 0;
    for line in block.lines() {
        let expected = line.split("ends with ").nth(1).map_or(0, |code| {
            code.trim().parse().expect("the code ends the line")
        });
        let mut shell = Command::new("sh");
        shell.args(["-ec", line]).current_dir(world.path("."));
        for (name, value) in world.command(&[]).get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        let output = shell.env("PATH", path).output().unwrap();
        let told = [&output.stdout[..], &output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert_eq!(output.status.code(), Some(expected), "{line}\n{told}");
        said += 1;
    }
    said
}

#[test]
fn the_drill_of_the_docs_pays_nothing_twice() {
    let drill = OPERATIONS.split("\n## A drill\n").nth(1).unwrap();
    let drill = drill.split("\n## ").next().unwrap();
    let blocks: Vec<&str> = drill
        .split("```shell\n")
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap())
        .collect();
    assert_eq!(blocks.len(), 2, "with its mark, and without it");
    for (seed, lost) in [(85, blocks[0]), (86, blocks[1])] {
        let (world, sandbox) = world(seed, 30);
        fs::remove_dir(world.path("copies")).unwrap();
        assert!(say(&world, lost) > 7);
        prove_outcome(&world, "wages", &rows(30, seed), &sandbox.ledger());
    }
}

#[test]
fn a_copy_from_the_middle_of_a_run_that_then_loses_its_disk_pays_nothing_twice() {
    let (world, sandbox) = world(87, 30);
    world.expect(0, &["load", "wages.csv", "--batch", "wages"]);
    let mut run = world.start(&["run", "wages", "--yes", "--rate", "10/s"]);
    run.until("some are posted", |_| sandbox.ledger().posts >= 5);
    world.expect(0, &KEEP).says("sound");
    run.until("more are posted", |_| sandbox.ledger().posts >= 12);
    drop(run);
    let copy = names(&world).pop().unwrap();
    world.delete_journal();
    fs::copy(world.path("copies").join(copy), world.path("disburse.db")).unwrap();
    world
        .expect(0, &["run", "wages", "--yes"])
        .says("before it is posted");
    prove_outcome(&world, "wages", &rows(30, 87), &sandbox.ledger());
}
