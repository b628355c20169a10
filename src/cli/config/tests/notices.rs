//! `[notices]`: what it takes, and how each mistake in it is told.

use std::time::Duration;

use super::*;
use crate::ledger::notices::NoticeKind;

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cywgbWFkZSB1cA==";

#[test]
fn what_is_told_and_to_whom_is_read() {
    let folder = Folder::with(
        "[notices]\nurl = \"https://hooks.example/x\"\nevents = [\"stopped\", \"conflict\", \"stopped\"]\nfailures_above = 50\nquiet_for = \"15m\"\n",
    );
    let notices = folder.load().notices.unwrap();
    let rules = notices.rules();
    assert_eq!(rules.kinds, [NoticeKind::Stopped, NoticeKind::Conflict]);
    assert_eq!(rules.failures_above, Some(50));
    assert_eq!(rules.quiet_for, Some(Duration::from_secs(900)));
    assert!(!notices.rehearsals);
    // The path may be what lets a message in.
    assert!(shown(&folder.load(), "notices.url").starts_with("https://hooks.example/… ("));
    let all = Folder::with("[notices]\ncommand = [\"mail\"]\n");
    let all = all.load().notices.unwrap();
    assert_eq!(all.rules().kinds, NoticeKind::ALL);
    for text in ["", "[notices]\n"] {
        assert!(Folder::with(text).load().notices.is_none());
    }
}

#[test]
fn mistakes_in_notices_are_named_with_their_place() {
    for (text, expected) in [
        (
            "failures_above = 3",
            "disburse.toml:1:1: notices: command, or url, is missing",
        ),
        (
            "command = [\"a\"]\nurl = \"https://a.example\"",
            "disburse.toml:1:1: notices: command and url are both set",
        ),
        (
            "url = \"http://hooks.example\"",
            "(plain http:// is for loopback only)",
        ),
        (
            "command = \"mail me\"",
            "notices.command: expected a program and its arguments",
        ),
        (
            "command = [\"a\"]\nevents = [\"finish\"]",
            "notices.events: expected an array of some of: finished, lane_held,",
        ),
        (
            "command = [\"a\"]\nevents = []",
            "notices.events: expected an array of some of",
        ),
        (
            "command = [\"a\"]\nquiet_for = \"5s\"",
            "notices.quiet_for: expected",
        ),
        (
            "command = [\"a\"]\nfailures_above = 0",
            "notices.failures_above: expected a whole number from 1",
        ),
        (
            "command = [\"a\"]\nsecret = \"whsec_x\"",
            "disburse.toml:3:1: unknown key \"secret\"",
        ),
    ] {
        let refusal = Folder::with(format!("[notices]\n{text}\n")).refusal();
        assert!(refusal.contains(expected), "{text}: {refusal}");
    }
}

#[test]
fn the_secret_comes_from_the_environment_or_from_its_file_and_is_never_shown() {
    let text = "[notices]\nurl = \"https://hooks.example/x\"\nsecret_file = \"hook.secret\"\n";
    let told = |folder: &Folder| {
        let settings = folder.load();
        assert!(!format!("{settings:?}").contains("c2VjcmV0"));
        let notices = settings.notices.unwrap();
        let secret = notices.signing_secret();
        secret.map(drop).map_err(|error| folder.printed(&error))
    };
    let folder = Folder::with(text);
    let refusal = told(&folder).unwrap_err();
    assert!(
        refusal.contains("notices.secret_file: key file"),
        "{refusal}"
    );
    assert!(refusal.contains("DISBURSE_NOTICES_SECRET"), "{refusal}");
    std::fs::write(folder.path("hook.secret"), format!("{SECRET}\n")).unwrap();
    assert_eq!(told(&folder), Ok(()));
    std::fs::write(folder.path("hook.secret"), "hunter2\n").unwrap();
    let refusal = told(&folder).unwrap_err();
    assert!(refusal.contains("is not whsec_ and base64"), "{refusal}");
    assert!(!refusal.contains("hunter2"), "{refusal}");
    // The variable comes first.
    let folder = folder.variable("DISBURSE_NOTICES_SECRET", SECRET);
    assert_eq!(told(&folder), Ok(()));
    let none = Folder::with("[notices]\nurl = \"https://hooks.example/x\"\n");
    let refusal = told(&none).unwrap_err();
    assert!(refusal.contains("no secret to sign with"), "{refusal}");
}

#[test]
fn of_an_address_of_notices_no_error_and_no_debug_text_says_more_than_the_host() {
    for (text, expected) in [
        (
            "url = \"http://hooks.example/services/T0K3N\"",
            "found \"http://hooks.example/…\"",
        ),
        (
            "url = \"https://hooks.example/services/T0K3N?sig=T0K3N\"",
            "found \"https://hooks.example/…\"",
        ),
        (
            "url = \"hooks.example/services/T0K3N\"",
            "found \"hooks.example/…\"",
        ),
        (
            "command = \"curl https://hooks.example/T0K3N\"",
            "found the text \"curl https://hooks.example/…\"",
        ),
        (
            "quiet_for = \"https://hooks.example/T0K3N\"",
            "notices.quiet_for",
        ),
    ] {
        let refusal = Folder::with(format!("[notices]\n{text}\n")).refusal();
        assert!(refusal.contains(expected), "{text}: {refusal}");
        if !text.contains("quiet_for") {
            assert!(!refusal.contains("T0K3N"), "{text}: {refusal}");
        }
    }
    let settings = Folder::with("[notices]\nurl = \"https://hooks.example/T0K3N\"\n").load();
    let debug = format!("{settings:?}");
    assert!(debug.contains("https://hooks.example/…"), "{debug}");
    assert!(!debug.contains("T0K3N"), "{debug}");
}

#[test]
fn addresses_in_a_text_are_cut_after_their_hosts() {
    use crate::cli::config::only_hosts;
    for (text, expected) in [
        ("no route to host", "no route to host"),
        (
            "curl: (22) https://h.example/T0K?x=1 says 404",
            "curl: (22) https://h.example/… says 404",
        ),
        (
            "POST 'https://a:b@h.example:1/T' and <http://i.example/U>",
            "POST 'https://***@h.example:1/…' and <http://i.example/…>",
        ),
        ("https://h.example/", "https://h.example"),
        ("https://h.example", "https://h.example"),
        ("://", "://"),
    ] {
        assert_eq!(only_hosts(text), expected);
    }
}
