//! Who did it, as `explain` and the report show it.

use crate::desk::Desk;

const RUN: [&str; 5] = ["run", "b", "--sandbox", "--faults", "none"];

#[test]
fn whoever_loads_runs_and_decides_is_named_by_explain_and_by_the_report() {
    let desk = Desk::loaded().variable("SUDO_USER", "eva\u{1b}[31m");
    desk.run(&["cancel", "b", "R-3"]).finished(0);
    desk.run(&RUN).finished(3);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    let people = report["people"].as_array().unwrap();
    let acts: Vec<_> = people
        .iter()
        .map(|one| one["act"].as_str().unwrap())
        .collect();
    assert_eq!(acts, ["load", "cancel", "run"]);
    let user = people[0]["user"].as_str().unwrap();
    let host = people[0]["host"].as_str().unwrap();
    assert!(!user.is_empty() && !host.is_empty());
    assert_eq!(people[0]["about"], "ok.csv");
    assert_eq!(people[0]["sudo_of"], serde_json::Value::Null);
    assert_eq!(people[1]["sudo_of"], "eva[31m", "nothing steers a terminal");
    let page = desk.text("r/report.html");
    for line in [
        format!("<b>Loaded by</b> {user} on {host}, 20"),
        format!("<b>Run by</b> {user} on {host}, by sudo of eva[31m, 20"),
        format!("<b>Decided by</b> {user} on {host}, by sudo of eva[31m, 20"),
    ] {
        assert!(page.contains(&line), "{line}");
    }
    let explained = |reference: &str| desk.run(&["explain", "b", reference]).finished(0).out;
    let told = explained("R-3");
    assert!(
        told.contains(&format!("  load \"ok.csv\": by {user} on {host}\n")),
        "{told}"
    );
    assert!(
        told.contains(&format!(": by {user} on {host}, by sudo of eva[31m\n")),
        "{told}"
    );
    assert!(told.contains("  cancel \""), "{told}");
    assert!(
        !explained("R-1").contains("cancel"),
        "that was another payment"
    );
    // A run that finds nothing to do, and a load of what is there, leave the report as it was.
    desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    desk.run(&RUN).finished(3);
    desk.run(&["report", "b", "--out", "s"]).finished(0);
    for name in ["report.json", "report.html", "payments.csv"] {
        assert_eq!(
            desk.text(&format!("r/{name}")),
            desk.text(&format!("s/{name}"))
        );
    }
    desk.run(&["verify", "b"]).finished(0);
}
