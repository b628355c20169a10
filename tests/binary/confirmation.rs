//! What was confirmed is what is posted, whatever comes into the batch meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::files::{Row, rows};
use crate::gateways::{Reply, Server, healthy};
use crate::world::{Running, Setup, World};

const RUN: [&str; 4] = ["run", "b", "--yes", "--quiet"];

/// A gateway that answers nothing until it may, and a world towards it with three rows loaded and two in another file.
fn world() -> (World, Server, Arc<AtomicBool>) {
    let may = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&may);
    let server = Server::start(move |request, posted| {
        while !answers.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        healthy(request, posted)
    });
    let world = World::new(&Setup::default()).towards(&server.url());
    let all = rows(5, 130);
    world.write_rows("batch.csv", &all[..3]);
    let late: Vec<Row> = all[3..].to_vec();
    world.write_rows("late.csv", &late);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    (world, server, may)
}

fn posts_under_way(world: &World, server: &Server, count: usize) -> Running {
    let mut run = world.start(&RUN);
    run.until("all are posted", |_| server.posts().len() == count);
    run
}

#[test]
fn rows_that_are_added_during_a_run_wait_for_a_confirmation_of_their_own() {
    let (world, server, may) = world();
    let run = posts_under_way(&world, &server, 3);
    world.expect(0, &["load", "late.csv", "--batch", "b", "--amend"]);
    may.store(true, Ordering::Release);
    let done = run.wait();
    assert_eq!(done.code, Some(4), "{done:?}");
    done.says("2 payments of KES")
        .says("came after this run was confirmed")
        .says("disburse run b");
    assert_eq!(server.posts().len(), 3);
    world.expect(0, &RUN);
    assert_eq!(server.posts().len(), 5);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn a_retry_that_is_ordered_during_a_run_waits_for_a_confirmation_of_its_own() {
    let refuses = Arc::new(AtomicBool::new(true));
    let may = Arc::new(AtomicBool::new(true));
    let (still, answers) = (Arc::clone(&refuses), Arc::clone(&may));
    let server = Server::start(move |request, posted| {
        while !answers.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        match (healthy(request, posted), still.load(Ordering::Acquire)) {
            (Reply::Json(body), true) => {
                Reply::Json(body.replace(r#""statusCode":139"#, r#""statusCode":110"#))
            }
            (reply, _) => reply,
        }
    });
    let world = World::new(&Setup::default()).towards(&server.url());
    let all = rows(3, 131);
    world.write_rows("batch.csv", &all[..2]);
    world.write_rows("late.csv", &all[2..]);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(3, &RUN);
    world.expect(0, &["load", "late.csv", "--batch", "b", "--amend"]);
    refuses.store(false, Ordering::Release);
    may.store(false, Ordering::Release);
    let run = posts_under_way(&world, &server, 3);
    world.expect(0, &["retry", "b", "--yes"]);
    may.store(true, Ordering::Release);
    let done = run.wait();
    assert_eq!(done.code, Some(4), "{done:?}");
    done.says("came after this run was confirmed");
    assert_eq!(server.posts().len(), 3);
    world.expect(0, &RUN);
    assert_eq!(server.posts().len(), 5);
}

#[test]
fn a_run_refuses_a_batch_that_is_not_what_was_declared() {
    let (world, server, may) = world();
    may.store(true, Ordering::Release);
    let total = |rows: &[Row]| crate::files::decimal(rows.iter().map(|row| row.minor).sum());
    let all = rows(5, 130);
    let (of_three, of_all) = (total(&all[..3]), total(&all));
    // Somebody adds rows by hand in the afternoon; the job of the night declares what its file has.
    world.expect(0, &["load", "late.csv", "--batch", "b", "--amend"]);
    let run = |more: &[&str]| {
        let arguments = [&RUN[..], more].concat();
        world.disburse(&arguments)
    };
    let done = run(&["--expect-count", "3"]);
    assert_eq!(done.code, Some(2), "{done:?}");
    done.says("3 rows declared, found 5; nothing was sent");
    let done = run(&["--expect-total", &of_three]);
    assert_eq!(done.code, Some(2), "{done:?}");
    done.says("nothing was sent")
        .says("batch b: a total of KES");
    // The same file again does not hide them.
    let pay = [
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--yes",
        "--expect-count",
        "3",
    ];
    world.expect(2, &pay).says("3 rows declared, found 5");
    assert_eq!(server.posts().len(), 0);
    let done = run(&["--expect-count", "5", "--expect-total", &of_all]);
    assert_eq!(done.code, Some(0), "{done:?}");
    // The whole batch is meant, also when all of it has ended.
    world.expect(0, &[&RUN[..], &["--expect-count", "5"]].concat());
    world.expect(2, &[&RUN[..], &["--expect-count", "2"]].concat());
    assert_eq!(server.posts().len(), 5);
}
