//! Runs that are watched by browsers: `serve`, and `run --page`.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::files::rows;
use crate::viewer::Page;
use crate::world::{Setup, World, eventually};

#[test]
fn a_run_shows_itself_to_whoever_has_its_address_until_it_ends() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let batch = rows(300, 11);
    world.write_rows("batch.csv", &batch);
    let pay = [
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--yes",
        "--page",
        "--rate",
        "100/s",
    ];
    let mut run = world.start(&pay);
    let page = Page::of(&mut run);
    // The same page, by a process of its own beside the run.
    eventually("a journal", || world.path("disburse.db").exists());
    let mut beside = world.start(&["serve", "--json"]);
    let other = Page::of(&mut beside);
    let viewers: Vec<_> = [&page, &other]
        .map(|page| page.watch("batch/b/events"))
        .into();
    let list = page.text("");
    assert!(
        list.contains(&format!("href=\"{}batch/b\"", page.root)),
        "{list}"
    );
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    eventually("finished", || {
        other
            .text("batch/b")
            .contains("Finished: everybody is paid")
    });
    // A person is found by reference; the history says what explain says.
    let first = &batch[0].reference;
    let found = other.text(&format!("search?q={first}"));
    let link = found
        .split("/payment/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let history = other.text(&format!("batch/b/payment/{link}"));
    let explained = world.expect(0, &["explain", "b", first]).out;
    for line in explained.lines().map(str::trim) {
        let escaped = line.replace('"', "&#34;").replace('\'', "&#39;");
        assert!(history.contains(&escaped), "{line}: {history}");
    }
    assert!(!history.contains(&batch[0].msisdn), "a whole number");
    // Reports come as the report command writes them.
    world.expect(0, &["report", "b", "--out", "reports"]);
    for name in ["payments.csv", "report.json", "report.html"] {
        let (head, body) = other.get(&format!("batch/b/report/{name}"));
        assert!(head.contains(&format!("filename=\"b-{name}\"")), "{head}");
        assert!(
            body == world.read(&format!("reports/{name}")).into_bytes(),
            "{name}"
        );
    }
    let (_, packed) = other.get("batch/b/report/report.zip");
    assert!(packed.starts_with(b"PK") && packed.len() > 1_000);
    let (head, _) = other.get("batch/b/report/failed.csv");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    beside.signal(Signal::TERM);
    assert_eq!(beside.wait().code, Some(0));
    for viewer in viewers {
        let (changes, last, is_gone) = viewer.join().unwrap();
        assert!(changes > 1, "it never changed");
        assert!(last.contains("Finished: everybody is paid"), "{last}");
        assert!(is_gone, "nobody said that it ended");
    }
    assert_eq!(sandbox.ledger().executed_once, 300);
}

/// How long it takes to post a batch, with so many who look.
fn posting(viewers: usize, count: usize) -> (Duration, usize) {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    world.write_rows("batch.csv", &rows(count, 12));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    let mut run = world.start(&["run", "b", "--yes", "--page", "--rate", RATE]);
    let page = Page::of(&mut run);
    let began = Instant::now();
    let watching: Vec<_> = (0..viewers).map(|_| page.watch("batch/b/events")).collect();
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    let took = began.elapsed();
    assert_eq!(
        sandbox.ledger().executed_once,
        u64::try_from(count).unwrap()
    );
    let changes = watching.into_iter().map(|viewer| viewer.join().unwrap().0);
    (took, changes.sum())
}

/// What the program is told to hold; a debug build on a busy machine may not reach it, and is compared with itself.
const RATE: &str = "500/s";

#[test]
fn ten_who_look_slow_no_run_down() {
    // The rate is held over every second: 2,000 payments take four of them at least.
    let (alone, _) = posting(0, 2_000);
    let (watched, changes) = posting(10, 2_000);
    println!(
        "2,000 payments at 500/s: {alone:?} alone, {watched:?} with ten viewers, who saw {changes} changes"
    );
    assert!(changes >= 20, "ten viewers saw {changes} changes");
    // Two runs differ by as much on a busy machine; what each viewer costs by itself would be ten times a reading a second.
    assert!(
        watched < alone * 3 / 2 + Duration::from_secs(2),
        "{alone:?} alone, {watched:?} with ten viewers"
    );
}

#[test]
fn whoever_never_looks_at_a_page_costs_nothing_and_a_port_that_is_taken_stops_a_run_before_money_moves()
 {
    let (mut world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    world.write_rows("batch.csv", &rows(3, 13));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    world.set("DISBURSE_PAGE_LISTEN", &address);
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes", "--page"];
    world
        .expect(2, &pay)
        .says(&format!("page.listen {address}: "));
    assert_eq!(sandbox.ledger().posts, 0);
    // Elsewhere than on this machine nobody is shown whom a batch pays.
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8470"] {
        world
            .expect(2, &["serve", "--listen", address])
            .says("is served to this machine alone");
    }
}

#[test]
fn what_is_not_paid_is_shown_with_what_to_do_and_row_by_row() {
    let world = World::new(&Setup::default());
    world.write("faults.toml", "reject = 1\n");
    let sandbox = crate::sandbox::Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url);
    let batch = rows(130, 14);
    let bad = "BAD-1,B2C_MPESA,25471,10.00,KES\n";
    world.write("batch.csv", &format!("{}{bad}", crate::files::csv(&batch)));
    let skip = ["load", "batch.csv", "--batch", "b", "--on-error", "skip"];
    world.expect(0, &skip);
    world.expect(3, &["run", "b", "--yes"]);
    let mut serve = world.start(&["serve"]);
    let page = Page::of(&mut serve);
    let shown = page.text("batch/b");
    for part in [
        "Finished, but not everybody is paid: 130 failed, 1 rejected",
        "141 Payment rejected",
        "disburse retry b --code 141",
        "disburse load b-failed.csv --batch b --amend",
        "rows?state=failed&amp;code=141",
        "report/failed.csv",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Every row is on one of the pages, once.
    let first = page.text("batch/b/rows?state=failed&code=141");
    let more = first
        .split("rows?")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let more = more.replace("&#38;", "&").replace("&amp;", "&");
    let second = page.text(&format!("batch/b/rows?{more}"));
    assert!(!second.contains("More rows"), "{second}");
    for row in &batch {
        let pages =
            [&first, &second].map(|text| text.matches(&format!(">{}<", row.reference)).count());
        assert_eq!(
            pages.iter().sum::<usize>(),
            1,
            "{}: {pages:?}",
            row.reference
        );
    }
    let none = page.text("batch/b/rows?state=failed&code=106");
    assert!(none.contains("None."), "{none}");
    let rejected = page.text("batch/b/rows?state=rejected");
    assert!(
        rejected.contains("BAD-1") && rejected.contains("line 132 of"),
        "{rejected}"
    );
    // The history of a rejected row, and what is not there.
    let link = rejected
        .split("/payment/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let history = page.text(&format!("batch/b/payment/{link}"));
    assert!(history.contains("Rejected, and never sent"), "{history}");
    for nowhere in [
        "batch/nobody",
        "batch/b/payment/NOBODY",
        "batch/b/rows?state=odd",
        "batch/b/report/x",
    ] {
        let (head, body) = page.get(nowhere);
        assert!(
            head.starts_with("HTTP/1.1 404 "),
            "{nowhere}: {head} {}",
            String::from_utf8_lossy(&body)
        );
    }
    let (_, failed) = page.get("batch/b/report/failed.csv");
    assert_eq!(String::from_utf8(failed).unwrap().lines().count(), 1 + 131);
}
