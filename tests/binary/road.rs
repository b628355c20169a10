//! The road back: what was rejected is mended, what failed is corrected, and the batch ends with everybody paid.

use crate::files::{Row, csv, rows};
use crate::oracle::{Line, nothing_twice, payments};
use crate::sandbox::ledger_beside_journal;
use crate::world::{Setup, World};

const GOOD: [&str; 3] = ["--sandbox", "--faults", "none"];

/// Rewrites the cells of a CSV file, row by row.
fn mend(world: &World, from: &str, to: &str, mut each: impl FnMut(&mut Line)) {
    let mut reader = csv::Reader::from_path(world.path(from)).unwrap();
    let header = reader.headers().unwrap().clone();
    let mut writer = csv::Writer::from_path(world.path(to)).unwrap();
    writer.write_record(&header).unwrap();
    for record in reader.records() {
        let record = record.unwrap();
        let cells = header.iter().zip(record.iter());
        let mut line = Line {
            cells: cells
                .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
                .collect(),
        };
        each(&mut line);
        writer
            .write_record(header.iter().map(|name| line.get(name)))
            .unwrap();
    }
    writer.flush().unwrap();
}

fn set(line: &mut Line, name: &str, cell: &str) {
    line.cells.insert(name.to_owned(), cell.to_owned());
}

/// 200 rows, of which three have a number that is too short.
fn batch() -> (Vec<Row>, String) {
    let rows = rows(200, 301);
    let mut text = csv(&rows);
    for row in &rows[..3] {
        let short = &row.msisdn[..row.msisdn.len() - 1];
        text = text.replacen(&format!(",{},", row.msisdn), &format!(",{short},"), 1);
    }
    (rows, text)
}

#[test]
fn what_was_rejected_or_failed_is_mended_added_and_paid_and_the_batch_ends_with_0() {
    let world = World::new(&Setup::default());
    let (rows, text) = batch();
    world.write("batch.csv", &text);
    let load = [
        "load",
        "batch.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
    ];
    world.expect(0, &load).says("3 rows set aside as rejected");
    // The rejected rows are mended and added: the third one is still wrong, and is told with its name again.
    let number = |line: &Line| {
        let own = rows
            .iter()
            .find(|row| row.reference == line.get("reference"));
        own.unwrap().msisdn.clone()
    };
    mend(&world, "batch.corrections.csv", "mended.csv", |line| {
        set(line, "msisdn", &number(line));
    });
    let amend = ["load", "mended.csv", "--batch", "b", "--sandbox", "--amend"];
    world
        .expect(0, &amend)
        .says("3 mended rows take the place of what was rejected");
    world.expect(0, &amend).says("already there, unchanged");
    assert_eq!(world.count("b", "rejected"), 0);
    assert_eq!(world.status("b")["count"], 200);

    // Some fail at once, by codes that speak of the recipient.
    world.write("faults.toml", "refuse = 0.05\n");
    let run = ["run", "b", "--yes"];
    let bad = ["--sandbox", "--faults", "faults.toml"];
    world.expect(3, &[&run[..], &bad].concat());
    let failed = world.count("b", "failed");
    assert!(failed >= 3, "{failed} failed");
    world
        .expect(0, &["report", "b", "--out", "first"])
        .says("first/failed.csv")
        .says("--batch b --amend --sandbox");
    let before = payments(&world, "first");

    // A file in which nothing was mended pays nobody; one row is left out here, and another amount stands in all others.
    let add = |file| ["load", file, "--batch", "b", "--sandbox", "--amend"];
    world
        .expect(2, &add("first/failed.csv"))
        .says("nothing in the row was mended")
        .says("disburse retry");
    let mut corrected = 0;
    mend(&world, "first/failed.csv", "corrected.csv", |line| {
        assert!(!line.get("reason").is_empty() && !line.get("what_to_do").is_empty());
        corrected += 1;
        set(line, "msisdn", &format!("254722{corrected:06}"));
        set(line, "amount", &format!("{corrected}00.50"));
    });
    assert_eq!(corrected, failed);
    world
        .expect(
            2,
            &["load", "corrected.csv", "--batch", "other", "--sandbox"],
        )
        .says("add the file to that batch: --batch b --amend");
    world
        .expect(0, &add("corrected.csv"))
        .says(&format!("{failed} failed payments are to be paid again"));
    world
        .expect(0, &add("corrected.csv"))
        .says("already there, unchanged");
    assert_eq!(world.count("b", "ready"), failed);
    assert_eq!(world.status("b")["count"], 200, "each row is counted once");

    world.expect(0, &[&run[..], &GOOD].concat());
    world.expect(0, &["report", "b", "--out", "second"]);
    assert!(!world.path("second/failed.csv").exists(), "nobody is left");
    let after = payments(&world, "second");
    assert_eq!(after.len(), 200, "one line per row");
    assert!(after.iter().all(|line| line.get("state") == "paid"));
    let ids = |lines: &[Line], state: &str| -> Vec<String> {
        let of_state = lines.iter().filter(|line| line.get("state") == state);
        of_state
            .map(|line| line.get("payer_transaction_id").to_owned())
            .collect()
    };
    for id in ids(&before, "failed") {
        let new = after.iter().find(|line| line.get("note").contains(&id));
        assert!(new.unwrap().get("amount").ends_with("00.50"));
    }
    let ledger = ledger_beside_journal(&world);
    nothing_twice(&ledger);
    assert_eq!(ledger.executed_once, 200);
    world
        .expect(0, &["verify", "b"])
        .says("sound: everything fits");

    // The same commands again change nothing.
    world.expect(0, &load);
    world.expect(0, &amend);
    world.expect(0, &add("corrected.csv"));
    world.expect(0, &[&run[..], &GOOD].concat());
    assert_eq!(world.status("b")["count"], 200);
    assert_eq!(
        ledger_beside_journal(&world).identifiers.len(),
        ledger.identifiers.len()
    );
    world
        .expect(2, &add("first/failed.csv"))
        .says("already replaced by");
}

#[test]
fn a_file_that_a_person_mended_is_never_overwritten_and_no_shield_is_paid() {
    let world = World::new(&Setup::default());
    let text = "reference,service_code,msisdn,amount,currency_code,narration\n\
         A-1,B2C_MPESA,25471234567,50.00,KES,=2+3\nA-2,B2C_MPESA,254712345679,60.00,KES,fine\n";
    world.write("batch.csv", text);
    let load = [
        "load",
        "batch.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
    ];
    world.expect(0, &load);
    assert!(world.read("batch.corrections.csv").contains(",'=2+3,"));
    mend(&world, "batch.corrections.csv", "mended.csv", |line| {
        set(line, "msisdn", "254712345678");
    });
    let mended = world.read("mended.csv");
    world.write("batch.corrections.csv", &mended);
    let other = ["--batch", "c", "--sandbox", "--on-error", "skip"];
    world.expect(0, &[&["load", "batch.csv"][..], &other].concat());
    assert_eq!(world.read("batch.corrections.csv"), mended);
    assert!(world.path("batch.corrections-2.csv").exists());
    let amend = [
        "load",
        "batch.corrections.csv",
        "--batch",
        "b",
        "--sandbox",
        "--amend",
    ];
    world.expect(0, &amend);
    let run = [&["run", "b", "--yes"][..], &GOOD].concat();
    world.expect(0, &run);
    world.expect(0, &["report", "b", "--out", "out"]);
    let report: serde_json::Value = serde_json::from_str(&world.read("out/report.json")).unwrap();
    assert!(
        report.to_string().contains("\"=2+3\""),
        "the narration has no shield"
    );
}

#[test]
fn a_correction_that_a_copy_has_lost_is_an_order_that_is_given_again() {
    let world = World::new(&Setup::default());
    world.write_rows("batch.csv", &rows(3, 302));
    world.write("faults.toml", "refuse = 1.0\n");
    let run = ["run", "b", "--yes"];
    let bad = ["--sandbox", "--faults", "faults.toml"];
    world.expect(0, &["load", "batch.csv", "--batch", "b", "--sandbox"]);
    world.expect(3, &[&run[..], &bad].concat());
    assert_eq!(world.count("b", "failed"), 3);
    world.expect(0, &["report", "b", "--out", "first"]);
    let mut corrected = 0;
    mend(&world, "first/failed.csv", "corrected.csv", |line| {
        corrected += 1;
        set(line, "msisdn", &format!("254722{corrected:06}"));
    });
    world.expect(0, &["backup", "copy.db"]);
    let amend = [
        "load",
        "corrected.csv",
        "--batch",
        "b",
        "--sandbox",
        "--amend",
    ];
    world.expect(0, &amend);
    world.expect(0, &[&run[..], &GOOD].concat());
    let paid = ledger_beside_journal(&world);
    assert_eq!(paid.executed_once, 3);

    world.delete_journal();
    std::fs::copy(world.path("copy.db"), world.path("disburse.db")).unwrap();
    // Paid anew under identifiers that nobody has posted: the gateway cannot tell that they were paid.
    world
        .expect(0, &["status", "b"])
        .says("1 order to be given again");
    // Given again, it is the payment that the gateway knows.
    world.expect(0, &amend);
    world.expect(0, &[&run[..], &GOOD].concat());
    let after = ledger_beside_journal(&world);
    nothing_twice(&after);
    assert_eq!(after.executed_once, 3);
    assert_eq!(world.count("b", "paid"), 3);
}

#[test]
fn failures_that_are_named_are_paid_anew_after_a_list_and_no_others() {
    let world = World::new(&Setup::default());
    world.write_rows("batch.csv", &rows(40, 401));
    world.write("faults.toml", "reject = 0.4\n");
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes", "--sandbox"];
    world.expect(3, &[&pay[..], &["--faults", "faults.toml"]].concat());
    let before = payments(&world, "reports/b");
    let of = |state: &str| -> Vec<&Line> {
        let of_state = before.iter().filter(|line| line.get("state") == state);
        of_state.collect()
    };
    let (failed, paid) = (of("failed"), of("paid"));
    assert!(failed.len() >= 4 && !paid.is_empty());
    let [one, two, three] = [0, 1, 2].map(|at| failed[at].get("reference"));
    let done = world.expect(2, &["retry", "b", one, two]);
    done.says("this would pay 2 failed payments of batch b again, KES ")
        .says("2 with code 141, KES ");
    for line in &failed[..2] {
        let msisdn = line.get("msisdn");
        let (number, reference) = (line.get("line"), line.get("reference"));
        done.says(&format!("line {number}, {reference}: KES "));
        assert!(!done.err.contains(msisdn), "numbers are masked");
        done.says(&format!("{}, failed with 141", &msisdn[msisdn.len() - 4..]));
    }
    assert!(!done.err.contains(three));
    // The whole batch is listed as far as twenty rows.
    world
        .expect(2, &["retry", "b"])
        .says(&format!("{three}: KES "));
    for (named, why) in [
        (vec![paid[0].get("reference")], "it is paid already"),
        (vec![one, "nobody"], "no payment nobody in batch b"),
        (
            vec![one, "--code", "110"],
            "it failed with another code than the one that is given, 141",
        ),
        (vec!["--id", one], "no payment"),
    ] {
        let order = [&["retry", "b", "--yes"][..], &named].concat();
        world.expect(2, &order).says(why);
        assert_eq!(world.count("b", "ready"), 0, "nothing was ordered");
    }
    let id = failed[1].get("payer_transaction_id");
    // Whatever is named twice is paid once.
    let order = [
        "retry",
        "b",
        one,
        one,
        "--id",
        id,
        "--reference",
        two,
        "--yes",
    ];
    world
        .expect(0, &order)
        .says("2 failed payments are to be paid again");
    assert_eq!(world.count("b", "ready"), 2);
    assert_eq!(world.count("b", "failed"), failed.len() as u64 - 2);
    world
        .expect(2, &["retry", "b", one, "--yes"])
        .says("the next run pays it anyway");
    world
        .expect(2, &["retry", "b", "--id", id, "--yes"])
        .says("its row has been retried or replaced already");
    world.expect(3, &[&["run", "b", "--yes"][..], &GOOD].concat());
    assert_eq!(world.count("b", "paid"), paid.len() as u64 + 2);
    world
        .expect(0, &["explain", "b", one])
        .says("Its row is paid after all, by a later payment");
    nothing_twice(&ledger_beside_journal(&world));
}

#[test]
fn a_declared_total_is_that_of_the_whole_batch_with_the_newest_amounts() {
    let world = World::new(&Setup::default());
    world.write(
        "batch.csv",
        "reference,service_code,msisdn,amount,currency_code\n\
         A-1,B2C_MPESA,254712345678,100.00,KES\nA-2,B2C_MPESA,254712345679,60.00,KES\n",
    );
    world.write("refuse.toml", "refuse = 1.0\n");
    let pay = |total: &'static str, faults: &'static str| {
        let of = ["pay", "batch.csv", "--batch", "b", "--yes", "--sandbox"];
        [&of[..], &["--expect-total", total, "--faults", faults]].concat()
    };
    world.expect(2, &pay("170.00", "refuse.toml"));
    world.expect(3, &pay("160.00", "refuse.toml"));
    let failed = "reports/b/failed.csv";
    // What a check counts is what is added.
    let first = payments(&world, "reports/b");
    let id = first[0].get("payer_transaction_id");
    world
        .expect(0, &["check", failed, "--sandbox"])
        .says("2 rows, no errors")
        .says("160.00")
        .says(&format!(
            "line 2 replaces payment {id} of batch b, KES 100.00 to "
        ));
    mend(&world, failed, "mended.csv", |line| {
        assert!(
            line.get("what_to_do").contains("reports/b/failed.csv")
                || line.get("what_to_do").contains("retry")
        );
        set(line, "msisdn", &line.get("msisdn").replace("345", "346"));
        if line.get("reference") == "A-1" {
            set(line, "amount", "90.00");
        }
    });
    world.expect(
        0,
        &["load", "mended.csv", "--batch", "b", "--sandbox", "--amend"],
    );
    world
        .expect(2, &pay("160.00", "none"))
        .says("a total of KES 160.00 was declared, found KES 150.00")
        .says("(KES 160.00 as its files had it, and KES 90.00 instead of KES 100.00 by 1 corrected row)")
        .says("are those of the whole batch");
    assert_eq!(world.count("b", "ready"), 2, "nothing was sent");
    world.expect(0, &pay("150.00", "none"));
    assert!(
        !world.path(failed).exists(),
        "the list of an earlier report is gone"
    );
    nothing_twice(&ledger_beside_journal(&world));

    // What a person has touched stays, and is told.
    world.write(failed, "reference\nmine\n");
    world
        .expect(0, &["report", "b", "--out", "reports/b"])
        .says("failed.csv is of an earlier report, or somebody else's file");
    assert_eq!(world.read(failed), "reference\nmine\n");
}

#[test]
fn what_was_changed_beside_what_was_wrong_is_told_at_the_load_and_before_it_is_paid() {
    let (world, _sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "none"]);
    world.write(
        "batch.csv",
        "reference,service_code,msisdn,amount,currency_code,customer_names\n\
         A-1,B2C_MPESA,25471234567,50.00,KES,Ann\nA-2,B2C_MPESA,2547123456,60.00,KES,Ben\n\
         A-3,B2C_MPESA,254712345679,70.00,KES,Cy\n",
    );
    let load = ["load", "batch.csv", "--batch", "b", "--on-error", "skip"];
    world.expect(0, &load);
    mend(&world, "batch.corrections.csv", "mended.csv", |line| {
        let is_first = line.get("reference") == "A-1";
        let number = if is_first {
            "254712345678"
        } else {
            "254712345670"
        };
        set(line, "msisdn", number);
        if is_first {
            set(line, "amount", "5000.00");
            set(line, "customer_names", "Anna");
        }
    });
    let changed = "line 2 changes more of the rejected row than what was wrong with it: amount is 5000.00, was 50.00; customer_names is Anna, was Ann";
    let amend = ["load", "mended.csv", "--batch", "b", "--amend"];
    let done = world.expect(0, &amend);
    done.says(&format!("warning: {changed}"));
    assert!(!done.err.contains("line 3 changes"), "{done:?}");
    world
        .expect(0, &["run", "b", "--yes"])
        .says(&format!("note: {changed}"));
    assert_eq!(world.count("b", "paid"), 3);
    // What is paid is told no more.
    let done = world.expect(0, &["run", "b", "--yes"]);
    assert!(
        !done.err.contains("changes more of the rejected row"),
        "{done:?}"
    );
}

#[test]
fn corrected_rows_that_nothing_tells_apart_are_refused_unless_they_are_ordered() {
    let world = World::new(&Setup::default());
    let header = "service_code,msisdn,amount,currency_code\n";
    let row = |number: u64| format!("B2C_MPESA,{number},50.00,KES\n");
    let numbers = [254712345671, 254712345672, 254712345673];
    world.write(
        "batch.csv",
        &format!("{header}{}", numbers.map(row).concat()),
    );
    world.write("refuse.toml", "refuse = 1.0\n");
    let run = |faults| ["run", "b", "--yes", "--sandbox", "--faults", faults];
    world.expect(0, &["load", "batch.csv", "--batch", "b", "--sandbox"]);
    world.expect(3, &run("refuse.toml"));
    // The third one is paid after all.
    world.expect(0, &["report", "b", "--out", "first"]);
    let third = payments(&world, "first").remove(2);
    let id = third.get("payer_transaction_id");
    world.expect(0, &["retry", "b", "--yes", id]);
    world.expect(3, &run("none"));
    world.expect(0, &["report", "b", "--out", "out"]);
    let add = |file| ["load", file, "--batch", "b", "--sandbox", "--amend"];
    let mended = |to: &str, numbers: [&str; 2]| {
        let mut numbers = numbers.into_iter();
        mend(&world, "out/failed.csv", to, |line| {
            set(line, "msisdn", numbers.next().unwrap());
        });
    };
    mended("paid.csv", ["254712345673", "254712345674"]);
    world
        .expect(2, &add("paid.csv"))
        .says("pays the same recipient, amount and service as line 4 of batch.csv")
        .says("--allow-equal-rows");
    mended("twice.csv", ["254712345675", "254712345675"]);
    world
        .expect(2, &add("twice.csv"))
        .says("pays the same recipient, amount and service as line 2 of twice.csv");
    assert_eq!(world.count("b", "ready"), 0, "nothing was loaded");
    // The number of a row that has failed is nobody's payment.
    mended("swapped.csv", ["254712345672", "254712345671"]);
    world.expect(0, &add("swapped.csv"));
    world.expect(0, &run("none"));
    assert_eq!(world.count("b", "paid"), 3);
    let ledger = ledger_beside_journal(&world);
    nothing_twice(&ledger);
    assert_eq!(ledger.executed_once, 3);
}
