//! Where the configuration says that the journal is.

use std::os::unix::fs::PermissionsExt;

use super::*;

const TWO: &str = "[profiles.a]\njournal = \"a.db\"\n[profiles.b]\nusername = \"b\"\n";

fn keys(folder: &Folder) -> Result<JournalKeys, String> {
    journal_keys(&folder.sources).map_err(|error| folder.printed(&error))
}

/// Returns the place alone, without the folder's own path.
fn journal(folder: &Folder) -> Option<String> {
    let prefix = format!("{}/", folder.directory.path().display());
    let found = keys(folder).unwrap().journal;
    found.map(|text| text.replace(&prefix, "./"))
}

#[test]
fn a_variable_wins_over_the_profile_and_a_path_starts_at_the_file_that_names_it() {
    let server = "[profiles.p]\njournal = \"postgres://pay@db/journal\"\n";
    let cases = [
        (Folder::empty(), None),
        (Folder::with("[profiles.p]\nusername = \"p\"\n"), None),
        (
            Folder::with("[profiles.p]\njournal = \"sub/j.db\"\n"),
            Some("./sub/j.db"),
        ),
        (
            Folder::with("[profiles.p]\njournal = \"/srv/j.db\"\n"),
            Some("/srv/j.db"),
        ),
        (Folder::with(server), Some("postgres://pay@db/journal")),
        (
            Folder::with(server).variable("DISBURSE_JOURNAL", "here.db"),
            Some("here.db"),
        ),
        (Folder::with(TWO).profile("a"), Some("./a.db")),
        (Folder::with(TWO).profile("b"), None),
        (
            Folder::with(TWO).variable("DISBURSE_PROFILE", "a"),
            Some("./a.db"),
        ),
        // That of the sandbox, which is built in, names none.
        (Folder::with(TWO).profile("sandbox"), None),
    ];
    for (at, (folder, expected)) in cases.iter().enumerate() {
        assert_eq!(journal(folder).as_deref(), *expected, "case {at}");
    }
}

#[test]
fn the_file_of_the_password_is_found_beside_it() {
    let text = "[profiles.p]\njournal_password_file = \"password\"\n";
    let folder = Folder::with(text);
    let found = keys(&folder).unwrap().password_file;
    assert_eq!(found, Some(folder.path("password").display().to_string()));
    let folder = folder.variable("DISBURSE_JOURNAL_PASSWORD_FILE", "other");
    assert_eq!(
        keys(&folder).unwrap().password_file.as_deref(),
        Some("other")
    );
}

#[test]
fn a_file_that_names_no_journal_stands_in_nobodys_way() {
    for text in [
        "[profiles.a]\nunknown = 1\n[profiles.b]\n",
        "nothing = \"known\"\nprofiles = 1\n",
        "[profiles]\na = 1\n",
        "[services.X]\njournal = \"no.db\"\n",
    ] {
        assert_eq!(
            keys(&Folder::with(text)),
            Ok(JournalKeys::default()),
            "{text}"
        );
    }
    let other = Folder::with("[profiles.a]\n").profile("sandbox");
    assert_eq!(keys(&other), Ok(JournalKeys::default()));
}

#[test]
fn a_file_that_may_name_one_is_understood_or_refused() {
    for (folder, expected) in [
        (Folder::with("[profiles"), "disburse.toml:1:10: "),
        (Folder::with(TWO), "disburse.toml: no profile chosen"),
        (
            Folder::with(TWO).profile("c"),
            "command line: unknown profile \"c\"",
        ),
        // Whoever names one means one that is there.
        (
            Folder::with("[profiles.a]\n").profile("b"),
            "command line: unknown profile \"b\"",
        ),
        (
            Folder::with(format!("{TWO}speed = 1\n")),
            "disburse.toml:5:1: unknown key \"speed\"",
        ),
        (
            Folder::with("[profiles.p]\njournal = 3\n"),
            "disburse.toml:2:11: journal: expected a text in quotes, found the number 3",
        ),
    ] {
        let found = keys(&folder).unwrap_err();
        assert!(found.starts_with(expected), "{found}");
    }
    let folder = Folder::with(TWO).profile("a");
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(folder.path("disburse.toml"), open).unwrap();
    assert!(keys(&folder).is_err(), "everybody may write it");
}

#[test]
fn a_password_in_an_address_is_refused_and_shown_nowhere() {
    for text in [
        "postgres://pay:hunter2@db/journal",
        "postgres://pay@db/journal?password=hunter2",
        "postgres:pay:hunter2@db/journal",
    ] {
        let refused = "a file, or postgres://USER@HOST/DATABASE without a password";
        let file = Folder::with(format!("[profiles.p]\njournal = \"{text}\"\n"));
        let variable = Folder::empty().variable("DISBURSE_JOURNAL", text);
        let flag = Folder::empty().flag("journal", text);
        for said in [
            file.refusal(),
            keys(&file).unwrap_err(),
            variable.refusal(),
            flag.refusal(),
        ] {
            assert!(
                said.contains(refused) && said.contains("\"postgres:…\""),
                "{said}"
            );
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
