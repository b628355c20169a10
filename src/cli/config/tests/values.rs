//! How texts become values.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Url;

use super::*;
use crate::cli::config::value::typed::Value;
use crate::domain::{PaymentKind, Rate};

#[test]
fn rates_are_whole_payments_per_second() {
    for (text, expected) in [
        ("50/s", Some(50)),
        ("50", Some(50)),
        ("1/s", Some(1)),
        ("3000/m", Some(50)),
        ("1000000/s", Some(1_000_000)),
        ("1000001/s", None),
        ("99999999999999999999/s", None),
        ("4294967297/s", None),
        ("90/m", None),
        ("0/s", None),
        ("0/m", None),
        ("+5/s", None),
        ("5.5/s", None),
        ("5/h", None),
        ("5 /s", None),
        ("/s", None),
        ("", None),
    ] {
        let found = Rate::read(text).map(Rate::get);
        assert_eq!(found.ok(), expected, "{text:?}");
    }
    assert_eq!(Rate::read("3000/m").unwrap().to_string(), "50/s");
}

#[test]
fn durations_have_units() {
    for (text, expected) in [
        ("250ms", Some(250)),
        ("40s", Some(40_000)),
        ("10m", Some(600_000)),
        ("24h", Some(86_400_000)),
        ("2d", Some(172_800_000)),
        ("1h30m", Some(5_400_000)),
        ("0s", Some(0)),
        ("40", None),
        ("s", None),
        ("", None),
        ("30m1h", None),
        ("1m1m", None),
        ("1h30", None),
        ("-5s", None),
        ("1.5h", None),
        ("5 s", None),
        ("5min", None),
        ("99999999999999999999s", None),
        ("18446744073709551615d", None),
    ] {
        let found = Duration::read(text).ok().map(|d| d.as_millis());
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn addresses_are_https_or_loopback() {
    for (text, expected) in [
        ("https://gateway.example", Ok("https://gateway.example/")),
        ("https://gateway.example/", Ok("https://gateway.example/")),
        (
            "https://Gateway.example/api//",
            Ok("https://gateway.example/api"),
        ),
        ("http://127.0.0.1:8080/", Ok("http://127.0.0.1:8080/")),
        ("http://127.9.9.9", Ok("http://127.9.9.9/")),
        ("http://[::1]:80/x/", Ok("http://[::1]/x")),
        ("http://localhost:1", Ok("http://localhost:1/")),
        ("http://gateway.example", Err("loopback only")),
        ("http://localhost.example", Err("loopback only")),
        ("http://127.0.0.1.example", Err("loopback only")),
        ("http://10.0.0.1", Err("loopback only")),
        ("http://0.0.0.0", Err("loopback only")),
        ("ftp://gateway.example", Err("an https:// address")),
        ("gateway.example", Err("an address such as")),
        ("", Err("an address such as")),
        ("https://gateway.example/?a=b", Err("query and fragment")),
        ("https://gateway.example/#a", Err("query and fragment")),
        ("https://acme@gateway.example", Err("without credentials")),
        ("https://a:b@gateway.example", Err("without credentials")),
    ] {
        match (Url::read(text), expected) {
            (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected, "{text}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}

#[test]
fn every_address_key_holds_the_loopback_rule() {
    let addresses = KEYS.iter().filter(|key| key.kind == Kind::Url);
    let mut count = 0;
    for key in addresses {
        count += 1;
        let folder = Folder::empty().variable(key.env, "http://gateway.example");
        let refusal = folder.refusal();
        assert!(refusal.contains("loopback only"), "{}: {refusal}", key.name);
        Folder::empty()
            .variable(key.env, "http://127.0.0.1:9")
            .load();
    }
    assert_eq!(count, 6);
}

#[test]
fn paths_stay_below_the_address() {
    for (text, fits) in [
        ("/v1/global-api/payments", true),
        ("/", true),
        ("v1", false),
        ("", false),
        ("//other.example/v1", false),
        ("/v1?x=1", false),
        ("/v1#x", false),
        ("/../v1", false),
        ("/a b", false),
        ("/a%2f", false),
    ] {
        assert_eq!(Kind::UrlPath.check(text).is_ok(), fits, "{text:?}");
    }
}

#[test]
fn the_table_is_consistent() {
    let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    let variables: BTreeSet<_> = KEYS.iter().map(|key| key.env).collect();
    assert_eq!(names.len(), KEYS.len(), "names are unique");
    assert_eq!(variables.len(), KEYS.len(), "variables are unique");
    for key in KEYS {
        assert!(!OTHER_VARIABLES.contains(&key.env), "{}", key.env);
        assert!(
            key.doc.ends_with('.') && !key.doc.is_empty(),
            "{}",
            key.name
        );
        let last = key.name.rsplit('.').next().unwrap().to_uppercase();
        assert!(
            key.env.starts_with("DISBURSE_") && key.env.ends_with(&last),
            "{}",
            key.env
        );
        if let Some(default) = key.default {
            assert_eq!(key.kind.check(default), Ok(()), "{}", key.name);
        }
    }
}

#[test]
fn every_kind_of_payment_is_a_kind_of_service() {
    for (kind, name) in PaymentKind::ALL {
        let text = format!("[services.A]\nkind = \"{name}\"\ncurrency_code = \"KES\"\n");
        let settings = Folder::with(text).load();
        assert_eq!(settings.services.values().next().unwrap().kind, kind);
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let settings = Folder::empty().load();
    for (key, expected) in [
        ("payment_path", "/v1/global-api/payments"),
        ("client_id", "customers"),
        ("limits.rate", "50/s"),
        ("limits.query_rate", "10/s"),
        ("limits.concurrency", "64"),
        ("limits.packets_per_request", "1"),
        ("limits.connect_timeout", "5s"),
        ("limits.request_timeout", "60s"),
        ("resolution.first_query_after", "40s"),
        ("resolution.query_backoff_max", "10m"),
        ("resolution.callback_grace", "5m"),
        ("resolution.not_found_quarantine", "2m"),
        ("resolution.give_up_after", "24h"),
        ("resolution.status_query", "true"),
        ("callback.listen", "127.0.0.1:8490"),
        ("callback.settle_on", "callback"),
    ] {
        assert_eq!(shown(&settings, key), format!("{expected} (default)"));
    }
    for key in ["callback.public_url", "base_url", "proxy", "password"] {
        assert_eq!(shown(&settings, key), "- (not set)", "{key}");
    }
    assert_eq!(settings.profile.limits.concurrency.get(), 64);
    assert_eq!(settings.profile.limits.rate.get(), 50);
    assert_eq!(
        settings.profile.policy.give_up_after,
        Duration::from_hours(24)
    );
    assert!(settings.profile.policy.status_query);
    assert!(settings.services.is_empty());
}
