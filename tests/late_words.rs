//! Words that come after a payment's end describe it no longer: the report of a finished batch is the same each time.

use std::fs;
use std::time::Duration;

use assert_cmd::Command;

#[test]
fn a_reply_that_its_own_callback_overtook_does_not_describe_a_paid_payment() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = "reference,service_code,msisdn,amount,currency_code\n".to_owned();
    for row in 0..20 {
        rows.push_str(&format!(
            "R-{row},B2C_MPESA,2547123456{row:02},100.00,KES\n"
        ));
    }
    fs::write(folder.path().join("rows.csv"), rows).unwrap();
    fs::write(folder.path().join("early.toml"), "callback_early = 1.0\n").unwrap();
    Command::new(env!("CARGO_BIN_EXE_disburse"))
        .args(["pay", "rows.csv", "--batch", "early", "--out", "report"])
        .args(["--sandbox", "--faults", "early.toml", "--rate", "2000/s"])
        .current_dir(folder.path())
        .timeout(Duration::from_secs(60))
        .assert()
        .code(0);
    let report = fs::read_to_string(folder.path().join("report/payments.csv")).unwrap();
    assert_eq!(
        report.matches(",paid,140,Payment accepted,").count(),
        20,
        "{report}"
    );
}
