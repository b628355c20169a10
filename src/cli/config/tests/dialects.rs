//! Dialect files: where they are found, and what is wrong with one.

use super::*;

fn folder(dialect: &str) -> Folder {
    let folder = Folder::with("[profiles.p]\ndialect = \"gateway.toml\"\n");
    std::fs::write(folder.path("gateway.toml"), dialect).unwrap();
    folder
}

#[test]
fn a_dialect_is_a_name_or_a_file_beside_the_configuration() {
    assert_eq!(Folder::empty().load().dialect.name, "document");
    let named = Folder::with("[profiles.p]\ndialect = \"beep\"\n").load();
    assert_eq!(named.dialect.name, "beep");
    let text = "written_from = \"a page\"\n[members]\ngatewayTransactionID = \"no\"\n";
    let loaded = folder(text).load();
    assert!(loaded.dialect.name.ends_with("gateway.toml"));
    let (value, origin) = &loaded.dialect.set["members.gatewayTransactionID"];
    assert_eq!(value, &["no".to_owned()]);
    assert!(origin.place().ends_with("gateway.toml:3:24"), "{origin}");
    let variable = Folder::empty().variable("DISBURSE_DIALECT", "paths").load();
    assert_eq!(variable.dialect.name, "paths");
}

#[test]
fn mistakes_in_a_dialect_are_named_with_their_place() {
    let head = "written_from = \"a page\"\n";
    for (text, said) in [
        (
            "[operations.post]\nfunktion = \"x\"\n",
            &[
                "gateway.toml:3:1: unknown key \"funktion\"",
                "did you mean \"function\"?",
            ][..],
        ),
        (
            "[operation.post]\n",
            &[
                "gateway.toml:2:2: unknown key \"operation\"",
                "did you mean \"operations\"?",
            ],
        ),
        (
            "[types]\npacket = \"x\"\n",
            &["gateway.toml:3:1: unknown key \"packet\"", "belongs in"],
        ),
        (
            "[types]\namount = \"nummer\"\n",
            &["gateway.toml:3:10: types.amount: expected one of number, text, found \"nummer\""],
        ),
        (
            "[types]\namount = 1\n",
            &["gateway.toml:3:10: types.amount: expected a text in quotes, found the number 1"],
        ),
        (
            "[replies]\nauthenticated = \"131\"\n",
            &[
                "gateway.toml:3:17: replies.authenticated: expected status codes in an array, such as [131]",
            ],
        ),
        (
            "[replies]\nauthenticated = [-1]\n",
            &["gateway.toml:3:18: replies.authenticated: expected a whole number from 0 to 99999"],
        ),
        (
            "[callbacks]\nfunctions = \"a\"\n",
            &["expected texts in an array"],
        ),
        (
            "[rate]\nshared = \"yes\"\n",
            &["gateway.toml:3:10: rate.shared: expected true or false, without quotes"],
        ),
        (
            "[operations.post]\npath = \"v2\"\n",
            &["gateway.toml:3:8: operations.post.path: expected a path such as"],
        ),
        (
            "[operations.post]\npath = \"/v2?a=b\"\n",
            &["expected a path such as"],
        ),
        (
            "members = 1\n",
            &["gateway.toml:2:11: members: expected a table"],
        ),
        (
            "[types.decimals]\nB2C = 9\n",
            &["types.decimals.B2C: expected a whole number from 0 to 4"],
        ),
        (
            "[members]\nnarration = \"amount\"\n",
            &["gateway.toml:3:13: members.narration: expected a name of its own"],
        ),
        (
            "[headers]\nHost = \"a\"\n",
            &[
                "gateway.toml:3:8: headers.Host: expected another header: this one is written by disburse",
            ],
        ),
        (
            "[signing]\nalgorithm = \"hmac-sha256\"\n",
            &["gateway.toml:3:13: signing.algorithm: expected a key_file beside it"],
        ),
        (
            "[replies]\nnot_found_code = 140\nnot_found_description = \"x\"\n",
            &["gateway.toml:3:18: replies.not_found_code: expected 104 or 174"],
        ),
        (
            "[callbacks]\naddress = \"fixed\"\n",
            &[
                "gateway.toml:3:11: callbacks.address = \"fixed\" takes callback.settle_on = \"confirmed\"",
            ],
        ),
        ("a = \n", &["gateway.toml:2:"]),
    ] {
        let printed = folder(&format!("{head}{text}")).refusal();
        for said in said {
            assert!(printed.contains(said), "{text}{said}\n{printed}");
        }
    }
    let nameless = folder("[members]\nnarration = \"text\"\n").refusal();
    assert!(nameless.contains("written_from"), "{nameless}");
    let unknown = Folder::with("[profiles.p]\ndialect = \"bep\"\n").refusal();
    assert!(
        unknown.contains("disburse.toml:2:11: unknown dialect \"bep\"")
            && unknown.contains("did you mean \"beep\"?"),
        "{unknown}"
    );
    let absent = Folder::with("[profiles.p]\ndialect = \"./none.toml\"\n").refusal();
    assert!(absent.contains("none.toml"), "{absent}");
}

#[test]
fn a_profile_and_its_dialect_do_not_say_one_thing_twice() {
    for (profile, dialect, said) in [
        (
            "extra_data = \"string\"",
            "[types]\nextra_data = \"object\"\n",
            "extra_data",
        ),
        (
            "payment_path = \"/a\"",
            "[operations.post]\npath = \"/b\"\n",
            "payment_path",
        ),
    ] {
        let folder = Folder::with(format!(
            "[profiles.p]\ndialect = \"gateway.toml\"\n{profile}\n"
        ));
        std::fs::write(
            folder.path("gateway.toml"),
            format!("written_from = \"x\"\n{dialect}"),
        )
        .unwrap();
        let printed = folder.refusal();
        assert!(
            printed.contains(said) && printed.contains("twice"),
            "{printed}"
        );
    }
    // The path of the profile is that of the payments.
    let same = "[operations.post]\nfunction = \"\"\n[operations.status]\nfunction = \"\"\npath = \"/v1/global-api/payments\"\n";
    let printed = folder(&format!("written_from = \"x\"\n{same}")).refusal();
    assert!(
        printed.contains("could take a question for a payment"),
        "{printed}"
    );
    let fixed = "[profiles.p]\ndialect = \"gateway.toml\"\ncallback.settle_on = \"confirmed\"\n";
    let folder = Folder::with(fixed);
    std::fs::write(
        folder.path("gateway.toml"),
        "written_from = \"x\"\n[callbacks]\naddress = \"fixed\"\n",
    )
    .unwrap();
    assert!(!folder.load().dialect.dialect.callbacks.address_per_payment);
}

#[test]
fn a_token_is_needed_where_the_dialect_asks_for_one() {
    let text = "written_from = \"x\"\n[operations.post]\nauthentication = \"bearer\"\n";
    let settings = folder(text).load();
    let error = settings.gateway().unwrap_err().to_string();
    assert!(error.contains("auth_url"), "{error}");
}
