//! `[approval]`: what it takes, and how each mistake in it is told.

use super::*;
use crate::domain::Currency;
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::approval::ssh::made_up::public;

#[test]
fn the_rule_is_read_with_the_signers_of_its_file() {
    let folder = Folder::with(
        "[approval]\nrequired = 2\nabove = { KES = \"1000000.00\", UGX = \"5\" }\nallowed_signers = \"people\"\nsigning_key = \"key\"\n",
    );
    let text = format!("alice {}\n", public(1));
    std::fs::write(folder.path("people"), &text).unwrap();
    let settings = folder.load();
    let rule = settings.approval().unwrap().unwrap();
    let above = |code: &str| rule.above.get(&Currency::from_code(code).unwrap()).copied();
    assert_eq!(rule.required, 2);
    assert_eq!(
        (above("KES"), above("UGX"), above("TZS")),
        (Some(100_000_000), Some(5), None)
    );
    assert_eq!(rule.signers.text(), text);
    assert_eq!(settings.signing_key(), Some(folder.path("key").as_path()));
    for text in ["", "[approval]\n"] {
        assert_eq!(Folder::with(text).load().approval().unwrap(), None);
    }
}

#[test]
fn mistakes_in_the_rule_are_named_with_their_place() {
    for (text, expected) in [
        (
            "allowed_signers = \"s\"",
            "disburse.toml:1:1: approval: required is missing",
        ),
        (
            "required = 1",
            "disburse.toml:1:1: approval: allowed_signers is missing",
        ),
        (
            "required = 3",
            "disburse.toml:2:12: approval.required: expected a whole number from 1 to 2",
        ),
        (
            "required = 0",
            "disburse.toml:2:12: approval.required: expected a whole number from 1 to 2",
        ),
        (
            "requires = 1",
            "disburse.toml:2:1: unknown key \"requires\"",
        ),
        (
            "above = { KSH = \"1\" }",
            "approval.above: expected a three-letter currency code such as \"KES\", found \"KSH\"",
        ),
        (
            "above = { KES = 1000 }",
            "approval.above.KES: expected an amount in quotes",
        ),
        (
            "above = { KES = \"1.005\" }",
            "approval.above.KES: expected an amount of KES",
        ),
        ("above = \"1000\"", "approval.above: expected a table"),
    ] {
        let refusal = Folder::with(format!("[approval]\n{text}\n")).refusal();
        assert!(refusal.contains(expected), "{text}: {refusal}");
    }
}

#[test]
fn as_many_people_are_named_as_have_to_sign() {
    let folder = Folder::with("[approval]\nrequired = 2\nallowed_signers = \"people\"\n");
    let two = format!(
        "alice {}\nbob {}\nBob {}\n",
        public(1),
        public(2),
        public(3)
    );
    std::fs::write(folder.path("people"), &two).unwrap();
    let settings = folder.load();
    // What was loaded is asked about all the same.
    assert!(settings.approval().is_ok());
    let refusal = folder.printed(&settings.approval_of_load().unwrap_err());
    assert!(
        refusal.contains("it names 2 of the 3 people that approval.required = 2 takes"),
        "{refusal}"
    );
    std::fs::write(folder.path("people"), format!("{two}carol {}\n", public(4))).unwrap();
    assert!(folder.load().approval_of_load().is_ok());
}

#[test]
fn the_orders_that_are_signed_for_are_read() {
    let with = |orders: &str| {
        Folder::with(format!(
            "[approval]\nrequired = 1\nallowed_signers = \"people\"\norders = {orders}\n"
        ))
    };
    let folder = with("[\"retry\", \"allow-repeats\"]");
    let settings = folder.load();
    let orders = &settings.approval.as_ref().unwrap().orders;
    assert_eq!(
        orders.iter().copied().collect::<Vec<_>>(),
        [OrderKind::Retry, OrderKind::AllowRepeats]
    );
    for wrong in ["[\"retri\"]", "\"retry\"", "[1]"] {
        let refusal = with(wrong).refusal();
        assert!(
            refusal.contains("approval.orders: expected a list of orders, of resolve, retry"),
            "{refusal}"
        );
    }
}

#[test]
fn a_variable_does_not_take_repeats_out_of_the_rule() {
    let approval = "[approval]\nrequired = 1\nallowed_signers = \"people\"\n";
    let shorter = |text: String| Folder::with(text).variable("DISBURSE_REPEATS_WINDOW", "1s");
    let refusal = shorter(format!("{approval}orders = [\"allow-repeats\"]\n")).refusal();
    assert!(
        refusal.contains("what a repeat is from the file alone"),
        "{refusal}"
    );
    shorter(approval.to_owned()).load();
}

#[test]
fn a_file_of_signers_that_cannot_be_used_stops_what_needs_it_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::with("[approval]\nrequired = 1\nallowed_signers = \"people\"\n");
    let refused = |expected: &str| {
        let refusal = folder.printed(&folder.load().approval().unwrap_err());
        assert!(refusal.contains(expected), "{refusal}");
    };
    refused("allowed signers people: the file does not exist");
    std::fs::write(folder.path("people"), [0xFF, 0xFE]).unwrap();
    refused("allowed signers people: this is not UTF-8");
    std::fs::write(folder.path("people"), "# nobody\nalice\n").unwrap();
    refused("allowed signers people:2: a line has a name");
    std::fs::write(folder.path("people"), format!("alice {}\n", public(1))).unwrap();
    let everybody = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(folder.path("people"), everybody).unwrap();
    refused("everybody may write to it (mode 0666)");
    std::fs::remove_file(folder.path("people")).unwrap();
    std::fs::create_dir(folder.path("people")).unwrap();
    refused("allowed signers people: this is not a regular file");
}
