//! `[limits]`: what is read, what contradicts itself, and which line of a list names nobody.

use super::*;
use crate::domain::Currency;
use crate::ledger::limits::{Ceilings, StopRule};

const WHOLE: &str = r#"
[profiles.p]
country_code = "KE"
time_zone = "Africa/Nairobi"
[services.B2C]
kind = "mobile_money"
currency_code = "KES"
[limits]
payment = {KES = "100.00", UGX = "5000"}
recipient_day = {KES = "200.00"}
recipient_month = {KES = "300.00"}
batch = {KES = "400.00"}
service_day = {KES = "500.00"}
service_month = {KES = "600.00"}
exposure = {KES = "150.00"}
allow = "allow.txt"
deny = "deny.txt"
new_recipient_wait = "24h"
stop_above = "5%"
stop_after = 60
[limits.services.B2C]
day = {KES = "450.00"}
"#;

fn kes(minor: i64) -> Ceilings {
    let currency = Currency::from_code("KES").unwrap();
    Ceilings::from([(currency, crate::domain::Amount::from_minor(minor).unwrap())])
}

#[test]
fn every_limit_is_read() {
    let folder = Folder::with(WHOLE);
    std::fs::write(folder.path("allow.txt"), "0712345678 # Jane\n\n# nobody\n").unwrap();
    std::fs::write(folder.path("deny.txt"), "\u{feff}+254 712 345 679\r\n").unwrap();
    let settings = folder.load();
    let limits = settings.payment_limits().unwrap().unwrap();
    assert_eq!(limits.zone.name(), "Africa/Nairobi");
    assert_eq!(limits.payment.len(), 2);
    assert_eq!(limits.recipient_day, kes(20_000));
    assert_eq!(limits.recipient_month, kes(30_000));
    assert_eq!(limits.batch, kes(40_000));
    assert_eq!(limits.each_service.day, kes(50_000));
    assert_eq!(limits.each_service.month, kes(60_000));
    assert_eq!(limits.exposure, kes(15_000));
    assert_eq!(limits.services.values().next().unwrap().day, kes(45_000));
    assert!(limits.allow.as_ref().unwrap().has("254712345678"));
    assert!(limits.deny.as_ref().unwrap().has("254712345679"));
    assert_eq!(limits.new_recipient_wait.unwrap().as_secs(), 86_400);
    let rule = StopRule {
        above: 500,
        after: 60,
    };
    assert_eq!(limits.stop, Some(rule));
    assert_eq!(
        shown(&settings, "limits.services.B2C.day.KES"),
        format!("450.00 ({}:22)", folder.path("disburse.toml").display())
    );
    assert!(Folder::with("").load().payment_limits().unwrap().is_none());
    let other = Folder::with("[limits]\nzone = \"Europe/Berlin\"\npayment = {KES = \"1\"}\n");
    let limits = other.load().payment_limits().unwrap().unwrap();
    assert_eq!(limits.zone.name(), "Europe/Berlin");
}

#[test]
fn limits_that_cannot_be_meant_are_refused_with_their_place() {
    for (text, expected) in [
        (
            "[limits]\npayment = {KES = \"2\"}\nrecipient_day = {KES = \"1\"}\n",
            "limits.payment KES 2.00 is more than limits.recipient_day KES 1.00",
        ),
        (
            "[limits]\npayment = \"100\"\n",
            "2:11: limits.payment: expected amounts by currency, such as {KES = \"100000.00\"}",
        ),
        (
            "[limits]\npayment = {KES = \"0\"}\n",
            "2:18: limits.payment.KES: expected an amount of KES",
        ),
        (
            "[limits]\npayment = {KES = 5}\n",
            "2:18: limits.payment.KES: expected an amount in quotes",
        ),
        (
            "[limits]\npayment = {KSH = \"5\"}\n",
            "2:12: limits.payment: expected a three-letter currency code",
        ),
        ("[limits]\npaiment = {}\n", "did you mean \"payment\"?"),
        (
            "[limits]\nstop_above = \"101%\"\n",
            "2:14: limits.stop_above: expected a share of failures between 0% and 100%",
        ),
        (
            "[limits]\nstop_after = 50\n",
            "2:14: limits.stop_after goes with limits.stop_above, which is not set",
        ),
        (
            "[limits]\nstop_above = \"5%\"\nstop_after = 0\n",
            "3:14: limits.stop_after: expected",
        ),
        (
            "[limits]\nnew_recipient_wait = \"9000h\"\n",
            "2:22: limits.new_recipient_wait: expected a duration of at most 366d",
        ),
        (
            "[limits]\nnew_recipient_wait = \"0s\"\n",
            "2:22: limits.new_recipient_wait: expected",
        ),
        ("[limits]\nzone = \"Mars\"\n", "2:8: limits.zone: expected"),
        (
            "[services.A]\nkind = \"airtime\"\ncurrency_code = \"KES\"\n[limits.services.B]\nday = {}\n",
            "4:18: limits.services.B: there is no [services.B]",
        ),
        (
            "[limits.services.B]\nyear = {}\n",
            "2:1: unknown key \"year\"",
        ),
    ] {
        let refusal = Folder::with(text).refusal();
        assert!(refusal.contains(expected), "{text}\n{refusal}");
    }
}

#[test]
fn a_list_that_cannot_be_read_is_told_by_file_and_line() {
    let named = "[limits]\ndeny = \"deny.txt\"\n";
    for (list, expected) in [
        (None, "deny.txt: no such file"),
        (
            Some("# nobody\n0712345678, Jane\n"),
            "deny.txt:2: expected one phone number or account a line",
        ),
        (
            Some("sha256:12\n"),
            "deny.txt:1: expected 64 hexadecimal digits",
        ),
    ] {
        let folder = Folder::with(named);
        if let Some(list) = list {
            std::fs::write(folder.path("deny.txt"), list).unwrap();
        }
        let error = folder.load().payment_limits().unwrap_err();
        let printed = folder.printed(&error);
        assert!(printed.contains(expected), "{printed}");
        assert!(printed.contains("limits.deny names this list"), "{printed}");
        assert!(!printed.contains("0712345678"), "{printed}");
    }
}

#[test]
fn a_list_that_everybody_may_write_is_nobodys_word() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with("[limits]\ndeny = \"deny.txt\"\n");
    std::fs::write(folder.path("deny.txt"), "254712345678\n").unwrap();
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(folder.path("deny.txt"), open).unwrap();
    let error = folder.load().payment_limits().unwrap_err();
    let printed = folder.printed(&error);
    assert!(
        printed.contains("deny.txt: everybody may write to it"),
        "{printed}"
    );
}
