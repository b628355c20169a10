//! When payments may leave: the dates of a batch, and the opening hours of a service.

use jiff::{Timestamp, ToSpan, Zoned, tz::TimeZone};

use crate::desk::{CONFIGURATION, Desk, HEADER, ROWS};

/// Now, in the zone of the configuration.
fn now() -> Zoned {
    let zone = TimeZone::get("Africa/Nairobi").expect("it comes along");
    Timestamp::now().to_zoned(zone)
}

/// A desk whose M-PESA is closed today and tomorrow, and open at every other time, as its holidays say.
fn closed() -> Desk {
    let today = now().date();
    let list = format!("{today} closed\n{} # as well\n", today.tomorrow().unwrap());
    let hours = "kind = \"mobile_money\"\ncurrency_code = \"KES\"\nwindow = \"Mon-Sun 00:00-24:00\"\nholidays = \"free.txt\"\n\n[services.B2C_AIRTEL]";
    let configuration = CONFIGURATION.replacen(
        "kind = \"mobile_money\"\ncurrency_code = \"KES\"\n\n[services.B2C_AIRTEL]",
        hours,
        1,
    );
    Desk::new()
        .file("ok.csv", format!("{HEADER}{ROWS}"))
        .file("free.txt", list)
        .file("disburse.toml", configuration)
}

const PAY: [&str; 8] = [
    "pay",
    "ok.csv",
    "--batch",
    "b",
    "--sandbox",
    "--faults",
    "none",
    "--yes",
];
const RUN: [&str; 6] = ["run", "b", "--sandbox", "--faults", "none", "--yes"];

#[test]
fn a_closed_service_waits_the_others_are_paid_and_the_run_says_until_when() {
    let desk = closed();
    let opens = format!(
        "{} 00:00:00 EAT",
        now().date().checked_add(2.days()).unwrap()
    );
    let hours = "open Mon-Sun 00:00-24:00 (Africa/Nairobi)";
    let waits = format!("B2C_MPESA is closed, {hours}: 2 payments wait until {opens}");
    let checked = desk.run(&["check", "ok.csv", "--sandbox"]).finished(0);
    assert!(
        checked.err.contains(&format!("note: {waits}")),
        "{}",
        checked.err
    );
    let said = desk.run(&PAY).finished(4);
    assert!(said.err.contains(&waits), "{}", said.err);
    let hint = "hint: at that time: disburse run b --sandbox";
    assert!(said.err.contains(hint), "{}", said.err);
    let status = desk.run(&["status", "b"]).finished(0);
    assert!(status.out.contains(&waits), "{}", status.out);
    let states = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(states["states"]["paid"]["count"], 1);
    assert_eq!(states["states"]["ready"]["count"], 2);
    let page = desk.text("reports/b/report.html");
    assert!(page.contains("they wait for their time"), "{page}");
    assert!(page.contains("B2C_MPESA is closed"), "{page}");
    // It opens.
    let desk = desk.file("free.txt", "# no day at all\n");
    desk.run(&RUN).finished(0);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_batch_waits_for_its_first_date_and_is_over_after_its_last() {
    let desk = Desk::with_rows();
    let dates = ["--not-before", "2199-12-01", "--not-after", "2199-12-03"];
    let said = desk.run(&[&PAY[..], &dates[..]].concat()).finished(4);
    let waits = "3 payments wait until 2199-12-01 00:00:00 EAT, the first date of the batch";
    assert!(said.err.contains(waits), "{}", said.err);
    let shown = desk.run(&["schedule", "b"]).finished(0).out;
    assert_eq!(
        shown,
        "batch b: posted from 2199-12-01 00:00:00 EAT on, and before 2199-12-04 00:00:00 EAT\n"
    );
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["dates"]["not_before"], "2199-11-30T21:00:00.000Z");
    // The same file with other dates changes nothing, and names the command that does.
    let other = [&PAY[..], &["--not-before", "2199-12-02"]].concat();
    desk.refuses(
        &other,
        2,
        &[
            "error: batch b is posted from 2199-12-01 00:00:00 EAT on, and before 2199-12-04 00:00:00 EAT, but other dates were given with this file; nothing was loaded",
            "hint: leave the dates out here; to change those of the batch: disburse schedule b --not-before TIME --not-after TIME --reason TEXT",
        ],
    );
    desk.refuses(
        &["schedule", "b", "--not-before", "none"],
        2,
        &[
            "error: --reason is missing; the dates of the batch stand",
            "hint: the order is kept for ever: say why the batch gets other dates",
        ],
    );
    let past = ["--not-before", "none", "--not-after", "2026-01-31"];
    let order = [&["schedule", "b", "--reason", "too late"], &past[..]].concat();
    desk.run(&order).finished(0);
    let said = desk.run(&RUN).finished(4);
    let over = "the last date of the batch is over (2026-02-01 00:00:00 EAT): 3 payments wait, and none of them is posted";
    assert!(said.err.contains(over), "{}", said.err);
    let way_out = "disburse schedule b --not-after TIME --reason TEXT";
    assert!(said.err.contains(way_out), "{}", said.err);
    let free = [
        "schedule",
        "b",
        "--not-after",
        "none",
        "--reason",
        "the bank agrees",
    ];
    desk.run(&free).finished(0);
    desk.run(&RUN).finished(0);
    let told = desk.run(&["verify", "b"]).finished(0);
    assert!(told.out.contains("sound"), "{}", told.out);
}

#[test]
fn a_job_that_names_the_dates_of_its_load_goes_on_whatever_was_ordered_since() {
    let desk = Desk::with_rows();
    let job = [&PAY[..], &["--not-before", "2199-12-01"]].concat();
    let load = "load ok.csv --batch b --sandbox --not-before 2199-12-01";
    let load: Vec<&str> = load.split(' ').collect();
    desk.run(&job).finished(4);
    let told = desk.run(&job).finished(4);
    assert!(!told.err.contains("got other dates"), "{}", told.err);
    let order = |date: &str| {
        let order = ["schedule", "b", "--not-before", date, "--reason", "x"];
        desk.run(&order).finished(0);
    };
    order("2199-12-05");
    let stand = "note: batch b got other dates since it was loaded with these (disburse schedule), and they stand: ";
    for said in [desk.run(&job).finished(4), desk.run(&load).finished(0)] {
        let stands = format!("{stand}posted from 2199-12-05 00:00:00 EAT on");
        assert!(said.err.contains(&stands), "{}", said.err);
    }
    let said = desk.run(&job).finished(4);
    assert!(
        said.err
            .contains("3 payments wait until 2199-12-05 00:00:00 EAT"),
        "{}",
        said.err
    );
    // Other dates than either are refused as before.
    let other = [&PAY[..], &["--not-before", "2199-12-02"]].concat();
    assert_eq!(desk.run(&other).code, 2);
    order("none");
    let said = desk.run(&job).finished(0);
    let stands = format!("{stand}posted at any time");
    assert!(said.err.contains(&stands), "{}", said.err);
    let told = desk.run(&["verify", "b"]).finished(0);
    assert!(told.out.contains("sound"), "{}", told.out);
}

#[test]
fn a_job_whose_last_date_is_over_goes_on_where_the_batch_was_given_more_time() {
    let desk = Desk::with_rows();
    let soon = Timestamp::now().checked_add(3.seconds()).unwrap();
    let text = soon.to_string();
    let dates = ["--not-after", text.as_str()];
    let load = ["load", "ok.csv", "--batch", "b", "--sandbox"];
    desk.run(&[&load[..], &dates[..]].concat()).finished(0);
    let order = "schedule b --not-after none --reason more";
    desk.run(&order.split(' ').collect::<Vec<_>>()).finished(0);
    while Timestamp::now() < soon {
        desk.run(&["status", "b"]).finished(0);
    }
    let said = desk.run(&[&PAY[..], &dates[..]].concat()).finished(0);
    let stand = "note: batch b got other dates since it was loaded with these (disburse schedule), and they stand: posted at any time";
    assert!(said.err.contains(stand), "{}", said.err);
    // A batch that is not there is refused with such a date.
    let other = [
        &["load", "ok.csv", "--batch", "c", "--sandbox"][..],
        &dates[..],
    ]
    .concat();
    let said = desk.run(&other).finished(2);
    assert!(said.err.contains("that is past"), "{}", said.err);
}

#[test]
fn a_check_takes_the_dates_of_the_load_and_says_what_would_not_leave_in_time() {
    let desk = closed();
    let tomorrow = now().date().tomorrow().unwrap().to_string();
    let check = ["check", "ok.csv", "--sandbox"];
    let said = desk
        .run(&[&check[..], &["--not-after", &tomorrow]].concat())
        .finished(0);
    for part in [
        "the batch is posted before ",
        "does not open before",
        "2 payments wait, and none of them is posted",
    ] {
        assert!(said.err.contains(part), "{part} {}", said.err);
    }
    let dates = ["--not-before", "2199-12-01"];
    let said = desk.run(&[&check[..], &dates[..]].concat()).finished(0);
    let waits = "3 payments wait until 2199-12-01 00:00:00 EAT, the first date of the batch";
    assert!(said.err.contains(waits), "{}", said.err);
    for wrong in [["--not-after", "2026-01-31"], ["--not-before", "soon"]] {
        let said = desk.run(&[&check[..], &wrong[..]].concat());
        assert_eq!(said.code, 2, "{said:?}");
    }
}

#[test]
fn what_does_not_leave_before_a_service_closes_is_forecast_by_a_run() {
    // It opens for a minute the day after tomorrow.
    let desk = closed();
    let minute = desk
        .text("disburse.toml")
        .replace("Mon-Sun 00:00-24:00", "Mon-Sun 00:00-00:01");
    let rows: String = (0..200)
        .map(|n| format!("R-{n},B2C_MPESA,254712345{n:03},100.00,KES,KE\n"))
        .collect();
    let desk = desk
        .file("disburse.toml", minute)
        .file("ok.csv", format!("{HEADER}{rows}"));
    let load = ["load", "ok.csv", "--batch", "b", "--sandbox"];
    desk.run(&load).finished(0);
    let closes = now().date().checked_add(2.days()).unwrap();
    let told = format!(
        "note: B2C_MPESA: at 1/s about 60 of 200 payments leave before {closes} 00:01:00 EAT; then it closes, and the others wait until it opens again"
    );
    let said = desk
        .run(&[&RUN[..], &["--rate", "1/s"]].concat())
        .finished(4);
    assert!(said.err.contains(&told), "{}", said.err);
    let quick = desk
        .run(&[&RUN[..], &["--rate", "4/s"]].concat())
        .finished(4);
    assert!(!quick.err.contains("leave before"), "{}", quick.err);
}

#[test]
fn a_run_waits_for_the_first_date_where_it_is_told_to() {
    let desk = Desk::with_rows();
    let soon = Timestamp::now().checked_add(3.seconds()).unwrap();
    let dates = ["--not-before", &soon.to_string(), "--wait-for-window"];
    let began = std::time::Instant::now();
    desk.run(&[&PAY[..], &dates[..]].concat()).finished(0);
    assert!(began.elapsed().as_secs() >= 2, "{:?}", began.elapsed());
    let both = ["run", "b", "--sandbox", "--no-wait", "--wait-for-window"];
    assert_eq!(desk.run(&both).code, 2);
}

#[test]
fn dates_and_hours_that_say_nothing_are_refused_with_what_to_write() {
    let desk = Desk::with_rows();
    for (flag, text) in [
        ("--not-before", "tomorrow"),
        ("--not-after", "31/12/2026"),
        ("--not-before", "2026-02-30"),
    ] {
        let said = desk.run(&[&PAY[..], &[flag, text]].concat());
        assert_eq!(said.code, 2, "{said:?}");
        let error = format!("error: {flag} {text}: expected a day such as 2026-12-01");
        assert!(said.err.contains(&error), "{}", said.err);
    }
    let said = desk.run(&[&PAY[..], &["--not-after", "2026-01-31"]].concat());
    assert_eq!(said.code, 2, "{said:?}");
    let error = "error: --not-after 2026-01-31: that is past, so nothing of the batch could be posted; nothing was loaded";
    assert!(said.err.contains(error), "{}", said.err);
    let turned = ["--not-before", "2199-12-02", "--not-after", "2199-12-01"];
    let said = desk.run(&[&PAY[..], &turned[..]].concat());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.err.contains("the last date is not after the first"),
        "{}",
        said.err
    );
    assert!(!desk.path("disburse.db").exists(), "nothing was loaded");

    let desk = closed().file("free.txt", "2026-12-25 Christmas\n26/12/2026\n");
    let said = desk.run(&PAY);
    assert_eq!(said.code, 2, "{said:?}");
    let error =
        "free.txt:2: expected a day such as 2026-12-25, found \"26/12/2026\"; nothing was sent";
    assert!(said.err.contains(error), "{}", said.err);
    assert!(!desk.path("disburse.db").exists(), "nothing was loaded");
    for (hours, part) in [
        (
            "window = \"8 to 5\"",
            "is not days and hours such as Mon-Fri 08:00-16:30",
        ),
        ("window = \"Mon-Fri 16:30-08:00\"", "ends before it begins"),
        (
            "zone = \"Africa/Nairobi\"",
            "zone goes with window, and there is none",
        ),
        (
            "window = \"Mon-Fri 08:00-16:30\"\nzone = \"Mars/Olympus\"",
            "disburse.toml:",
        ),
    ] {
        let text = CONFIGURATION.replacen(
            "\n\n[services.B2C_AIRTEL]",
            &format!("\n{hours}\n\n[services.B2C_AIRTEL]"),
            1,
        );
        let desk = Desk::with_rows().file("disburse.toml", text);
        let said = desk.run(&PAY);
        assert_eq!(said.code, 2, "{hours} {said:?}");
        assert!(said.err.contains(part), "{hours} {}", said.err);
    }
}

#[test]
fn what_never_leaves_is_told_at_the_load_and_ends_a_run_that_would_wait() {
    // Closed until the day after tomorrow, and the batch is over before that.
    let desk = closed();
    let tomorrow = now().date().tomorrow().unwrap().to_string();
    let dates = ["--not-after", tomorrow.as_str()];
    let load = ["load", "ok.csv", "--batch", "b", "--sandbox"];
    let told = desk.run(&[&load[..], &dates[..]].concat()).finished(0);
    let never = "does not open before";
    let way_out = "and none of them is posted. To give the batch more time: disburse schedule b --not-after TIME --reason TEXT";
    assert!(
        told.err.contains(never) && told.err.contains(way_out),
        "{}",
        told.err
    );
    let wait = [&RUN[..], &["--wait-for-window"]].concat();
    let said = desk.run(&wait).finished(4);
    assert!(
        said.err.contains(never) && said.err.contains(way_out),
        "{}",
        said.err
    );
    // A row that names a time behind the last date of its batch.
    let header = HEADER.trim_end();
    let row = "R-1,B2C_MPESA,254712345678,100.00,KES,KE,2199-12-05";
    let desk = Desk::new().file("late.csv", format!("{header},not_before\n{row}\n"));
    let load = [
        "load",
        "late.csv",
        "--batch",
        "b",
        "--sandbox",
        "--not-after",
        "2199-12-01",
    ];
    desk.run(&load).finished(0);
    let said = desk.run(&wait).finished(4);
    let part = "the last date of the batch is 2199-12-02 00:00:00 EAT, and they never leave";
    assert!(said.err.contains(part), "{}", said.err);
    let explained = desk.run(&["explain", "b", "R-1"]).finished(0).out;
    assert!(explained.contains("its time is over"), "{explained}");
    // Dates of the batch that are later than those of its rows are told once.
    let order = [
        "schedule",
        "b",
        "--not-before",
        "2199-12-06",
        "--not-after",
        "none",
        "--reason",
        "x",
    ];
    desk.run(&order).finished(0);
    let status = desk.run(&["status", "b"]).finished(0).out;
    assert_eq!(status.matches("1 payment waits").count(), 1, "{status}");
    let explained = desk.run(&["explain", "b", "R-1"]).finished(0).out;
    assert!(
        explained.contains("not before 2199-12-06 00:00:00 EAT"),
        "{explained}"
    );
    assert!(
        explained.contains("from now on: not before 2199-12-05T21:00:00.000Z"),
        "{explained}"
    );
}
