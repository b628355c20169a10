use super::*;
use crate::domain::{BatchId, Epoch, EvidenceId};
use crate::ledger::payer::{PAST_MAX, PAYERS_MAX, Payer};
use crate::ledger::recovery::POSITIONS_MAX;

fn marked(epoch: i64) -> Marked {
    Marked {
        journal: [7; 16],
        quarantine: u64::MAX,
        born: Some(u64::MAX),
        epoch: Epoch::new(epoch),
        orders: u64::MAX,
        given: Vec::new(),
        positions: vec![
            Position {
                batch_id: BatchId::new(i64::MAX),
                length: u64::MAX,
                evidence_id: EvidenceId::AFTER_ALL,
                head: [255; 32],
            };
            POSITIONS_MAX
        ],
        payers: {
            let mut payers = Payers::NONE;
            for batch in 0..2 * (PAYERS_MAX + PAST_MAX) {
                let long = format!("{batch}{}", "é".repeat(200));
                let plain = format!("{batch:0>80}");
                payers.take(&plain, &Payer::of(&plain, &long));
            }
            payers
        },
        server: Some(ServerPosition {
            origin: Origin {
                system: i64::MIN,
                timeline: i64::MAX,
                database: i64::MAX,
                table: i64::MAX,
                waits: true,
            },
            turn: i64::MAX,
        }),
    }
}

fn place() -> (tempfile::TempDir, Place) {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::of(&folder.path().join("j.db"));
    (folder, place)
}

#[test]
fn the_largest_mark_fits_into_its_page_and_is_read_back() {
    let (folder, place) = place();
    assert_eq!(place.look().unwrap().mark, Mark::Missing);
    for epoch in 1..=5 {
        place
            .hold()
            .unwrap()
            .write(marked(i64::MAX - epoch), true)
            .unwrap();
        assert_eq!(
            place.look().unwrap().mark,
            Mark::Read(marked(i64::MAX - epoch))
        );
    }
    let file = folder.path().join("j.db.mark").metadata().unwrap();
    assert_eq!(file.len(), 2 * PAGE as u64);
    assert_eq!(file.mode() & 0o7777, 0o600);
}

#[test]
fn a_torn_page_leaves_the_mark_before_it_and_two_leave_none_that_can_be_read() {
    let (folder, place) = place();
    let path = folder.path().join("j.db.mark");
    place.hold().unwrap().write(marked(1), false).unwrap();
    place.hold().unwrap().write(marked(2), false).unwrap();
    let whole = std::fs::read(&path).unwrap();
    // The second turn is on the first page.
    for at in [60, 500, 2_000] {
        let mut torn = whole.clone();
        torn[at] ^= 1;
        std::fs::write(&path, &torn).unwrap();
        assert_eq!(
            place.look().unwrap().mark,
            Mark::Read(marked(1)),
            "byte {at}"
        );
        torn[PAGE + at] ^= 1;
        std::fs::write(&path, &torn).unwrap();
        assert_eq!(place.look().unwrap().mark, Mark::Unreadable, "byte {at}");
    }
    for (what, left) in [("zeros", vec![0; PAGE]), ("text", b"mark".to_vec())] {
        std::fs::write(&path, left).unwrap();
        assert_eq!(place.look().unwrap().mark, Mark::Unreadable, "{what}");
    }
    std::fs::write(&path, "").unwrap();
    assert_eq!(place.look().unwrap().mark, Mark::Missing);
}

#[test]
fn a_mark_of_another_journal_is_not_written_over() {
    let (_folder, place) = place();
    place.advance(&marked(1)).unwrap();
    let other = Marked {
        journal: [8; 16],
        ..marked(9)
    };
    assert!(matches!(place.advance(&other), Err(Error::Displaced)));
    assert_eq!(place.look().unwrap().mark, Mark::Read(marked(1)));
}

#[test]
fn a_mark_names_the_time_of_its_file_and_shows_whatever_was_done_to_it_since() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, place) = place();
    let path = folder.path().join("j.db.mark");
    let is_as_written = || {
        let stamp = place.look().unwrap().stamp.unwrap();
        let held = place.hold().unwrap().traces().unwrap().stamp.unwrap();
        assert_eq!(stamp.named, held.named);
        assert_eq!(stamp.is_as_written(), held.is_as_written());
        stamp.is_as_written()
    };
    let anew = || place.hold().unwrap().write(marked(1), false).unwrap();
    anew();
    if place.look().unwrap().stamp.is_none() {
        // A file system with a clock of its own.
        return;
    }
    assert!(is_as_written());
    let copy = folder.path().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    let aside = folder.path().join("aside");
    type Deed<'a> = &'a dyn Fn();
    let deeds: [(&str, Deed<'_>); 3] = [
        ("copied over", &|| {
            std::fs::copy(&copy, &path).unwrap();
        }),
        ("moved away and back", &|| {
            std::fs::rename(&path, &aside).unwrap();
            std::fs::rename(&aside, &path).unwrap();
        }),
        ("another mode", &|| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        }),
    ];
    for (deed, do_it) in deeds {
        anew();
        assert!(is_as_written(), "before it is {deed}");
        std::thread::sleep(2 * STAMP_SLACK);
        do_it();
        assert!(!is_as_written(), "{deed}");
    }
    // A write whose process was killed before the file system took its bytes: no more than the time of the file is another.
    let Place::Beside(_, lookout) = &place else {
        unreachable!()
    };
    let change = || std::fs::set_permissions(&path, path.metadata().unwrap().permissions());
    anew();
    std::thread::sleep(2 * STAMP_SLACK);
    lookout.begins(now());
    change().unwrap();
    assert!(is_as_written(), "a write was cut off");
    anew();
    std::thread::sleep(2 * STAMP_SLACK);
    change().unwrap();
    assert!(!is_as_written(), "the write that was cut off is no excuse");
    // Nobody has done anything to it, however long it lies there.
    anew();
    std::thread::sleep(2 * STAMP_SLACK);
    std::fs::read(&path).unwrap();
    assert!(is_as_written());
}

#[test]
fn a_mark_without_a_time_is_compared_with_none() {
    let (_folder, place) = place();
    let Place::Beside(path, lookout) = &place else {
        unreachable!()
    };
    let file = open(path, true).unwrap();
    assert_eq!(
        write_stamped(&file, lookout, &marked(1), 1, 0).unwrap(),
        None
    );
    let traces = place.look().unwrap();
    assert_eq!((traces.mark, traces.stamp), (Mark::Read(marked(1)), None));
    assert_eq!(traces.witness, None);
    place.advance(&marked(2)).unwrap();
    assert_eq!(place.look().unwrap().witness, Some(Witness::of(&marked(2))));
}

#[test]
fn a_link_in_the_place_of_the_mark_is_not_followed() {
    let (folder, place) = place();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join("j.db.mark")).unwrap();
    assert!(matches!(place.look(), Err(Error::Mark { .. })));
    assert!(matches!(place.hold().map(drop), Err(Error::Mark { .. })));
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
}

#[test]
fn the_newest_orders_are_kept_as_far_as_a_page_has_room() {
    let (_folder, place) = place();
    let order = |number| Order {
        number,
        at: crate::domain::Timestamp::from_millis(i64::MAX),
        act: "load --allow-repeats".into(),
        batch: "b".repeat(80),
        payments: u64::MAX,
        digest: "0123456789abcdef".into(),
        user: "jane".into(),
    };
    let given: Vec<Order> = (1..=32).map(order).collect();
    let full = Marked {
        given: given.clone(),
        ..marked(1)
    };
    let roomy = Marked {
        positions: Vec::new(),
        payers: Payers::NONE,
        ..full.clone()
    };
    for (marked, all) in [(full, false), (roomy, true)] {
        place.hold().unwrap().write(marked.clone(), true).unwrap();
        let Mark::Read(read) = place.look().unwrap().mark else {
            panic!("it is read");
        };
        let kept = read.given.len();
        assert_eq!(read.given, given[given.len() - kept..], "the newest");
        assert_eq!(kept == given.len(), all, "{kept}");
        let given = given.clone();
        assert_eq!(Marked { given, ..read }, marked);
    }
}

/// How batches were loaded is left out of a mark that has no room for it, and of no other.
#[test]
fn how_its_batches_were_loaded_fits_into_a_mark_or_is_left_out() {
    use crate::ledger::payer::{AsLoaded, Identifiers};
    let (_folder, place) = place();
    let loaded = AsLoaded {
        identifiers: Identifiers::of_stored(1_000_000, -1),
        originator: Some("Acme Payroll Services Ltd".into()),
    };
    let with = |name: fn(usize) -> String, (gateway, account): (&str, &str)| {
        let mut marked = marked(1);
        marked.payers = Payers::NONE;
        for batch in 0..PAYERS_MAX + PAST_MAX {
            let payer = Payer::of(gateway, account);
            marked
                .payers
                .take_as(&name(batch), &payer, Some(loaded.clone()));
        }
        for journal in 0..8 {
            marked.payers.was_called([journal; 16]);
        }
        marked
    };
    let usual = Marked {
        positions: marked(1).positions[..8].to_vec(),
        ..with(
            |batch| format!("salaries-2026-{batch:02}"),
            ("https://gateway.example/v2/", "acme-payroll"),
        )
    };
    place.hold().unwrap().write(usual.clone(), true).unwrap();
    assert_eq!(place.look().unwrap().mark, Mark::Read(usual));
    let largest = with(
        |batch| format!("{batch:0>80}"),
        (&"g".repeat(80), &"a".repeat(80)),
    );
    place.hold().unwrap().write(largest.clone(), true).unwrap();
    let Mark::Read(read) = place.look().unwrap().mark else {
        panic!("it cannot be read");
    };
    let names = |marked: &Marked| marked.payers.batches().count();
    assert_eq!(names(&read), names(&largest));
    assert!(read.payers.loaded().len() < largest.payers.loaded().len());
}
