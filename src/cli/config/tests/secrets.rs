//! The password comes from two places only, and goes nowhere.

use std::os::unix::fs::PermissionsExt;

use secrecy::ExposeSecret;

use super::*;

const COMPLETE: &str = "[profiles.p]
base_url = \"https://gateway.example\"
username = \"acme\"
originator = \"acme\"
country_code = \"KE\"
time_zone = \"Africa/Nairobi\"
password_file = \"secrets/password\"
";

/// Returns a folder with a complete profile whose password file holds `content`.
fn folder(content: impl AsRef<[u8]>, mode: u32) -> Folder {
    let folder = Folder::with(COMPLETE);
    std::fs::create_dir(folder.path("secrets")).unwrap();
    let path = folder.path("secrets/password");
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    folder
}

fn password(folder: &Folder) -> Result<String, String> {
    let settings = folder.load();
    match settings.gateway() {
        Ok(gateway) => Ok(gateway.password.expose_secret().to_owned()),
        Err(error) => Err(folder.printed(&error)),
    }
}

#[test]
fn the_password_file_is_read_from_its_first_line() {
    for (content, expected) in [
        ("hunter2", "hunter2"),
        ("hunter2\n", "hunter2"),
        ("hunter2\r\nsecond line\n", "hunter2"),
        (" with blanks \n", " with blanks "),
    ] {
        for mode in [0o600, 0o400] {
            assert_eq!(password(&folder(content, mode)).as_deref(), Ok(expected));
        }
    }
}

#[test]
fn a_password_file_that_others_can_read_is_read_all_the_same() {
    for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
        assert_eq!(
            password(&folder("hunter2", mode)).as_deref(),
            Ok("hunter2"),
            "{mode:04o}"
        );
    }
}

#[test]
fn a_password_file_that_everybody_may_write_is_refused_with_what_mends_it() {
    for mode in [0o666, 0o602, 0o646] {
        let folder = folder("hunter2", mode);
        let refusal = password(&folder).unwrap_err();
        for part in [
            &format!("secrets/password: everybody may write to it (mode {mode:04o})"),
            "read what it says; if that is right: chmod 600 secrets/password",
        ] {
            assert!(refusal.contains(part), "{refusal}");
        }
        assert!(folder.load().look_for_password().is_err());
        // A link is judged by its target, whatever its own mode is.
        let linked = Folder::with(COMPLETE);
        std::fs::create_dir(linked.path("secrets")).unwrap();
        std::os::unix::fs::symlink(
            folder.path("secrets/password"),
            linked.path("secrets/password"),
        )
        .unwrap();
        assert!(password(&linked).is_err());
        let mended = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.path("secrets/password"), mended).unwrap();
        assert_eq!(password(&linked).as_deref(), Ok("hunter2"));
    }
}

#[test]
fn a_password_file_that_holds_no_password_is_refused() {
    for (content, part) in [
        (&b""[..], "first line is empty"),
        (b"\nhunter2", "first line is empty"),
        (&[b'x'; 2_000], "longer than 1024 bytes"),
        (b"hunter2\xff", "valid UTF-8"),
    ] {
        let refusal = password(&folder(content, 0o600)).unwrap_err();
        assert!(refusal.contains(part), "{refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
    let refusal = password(&Folder::with(COMPLETE)).unwrap_err();
    assert!(
        refusal.contains(
            "Password file \"secrets/password\" does not exist. Create it with mode 0600"
        ),
        "{refusal}"
    );
    let refusal = Folder::with(COMPLETE).load().look_for_password();
    assert!(refusal.is_err(), "a load learns of it too");
    let directory = Folder::with(COMPLETE);
    std::fs::create_dir_all(directory.path("secrets/password")).unwrap();
    let refusal = password(&directory).unwrap_err();
    assert!(refusal.contains("is not a regular file"), "{refusal}");
}

#[test]
fn the_stronger_source_of_the_password_wins() {
    let given =
        || folder("from the file", 0o600).variable("DISBURSE_PASSWORD", "from the variable");
    assert_eq!(password(&given()).as_deref(), Ok("from the variable"));
    assert_eq!(
        shown(&given().load(), "password"),
        "*** (environment DISBURSE_PASSWORD)"
    );
    let flagged = given();
    let path = flagged.path("secrets/password").display().to_string();
    let flagged = flagged.flag("password_file", &path);
    assert_eq!(password(&flagged).as_deref(), Ok("from the file"));
    assert_eq!(shown(&flagged.load(), "password"), "*** (flag)");
}

#[test]
fn a_password_in_the_open_is_refused_and_not_repeated() {
    for folder in [
        Folder::with("[profiles.p]\npassword = \"hunter2\"\n"),
        Folder::with("[profiles.p.limits]\nPassword = \"hunter2\"\n"),
        Folder::with("password = \"hunter2\"\n"),
        Folder::empty().flag("password", "hunter2"),
    ] {
        let refusal = folder.refusal();
        assert!(
            refusal.contains("a password is not accepted here"),
            "{refusal}"
        );
        assert!(refusal.contains("DISBURSE_PASSWORD"), "{refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
}

#[test]
fn no_error_repeats_what_an_address_hides() {
    for (text, visible) in [
        (
            "https://acme:hunter2@gateway.example/x",
            "\"https://***@gateway.example/…\"",
        ),
        (
            "https://gateway.example/x?key=hunter2",
            "\"https://gateway.example/…\"",
        ),
        (
            "https://gateway.example/x#hunter2",
            "\"https://gateway.example/…\"",
        ),
        ("acme:hunter2@gateway.example", "\"***@gateway.example\""),
        (
            "ftp://gateway.example/services/hunter2",
            "\"ftp://gateway.example/…\"",
        ),
        (
            "https://gateway.example:8443\\\\hunter2?x",
            "\"https://gateway.example:8443/…\"",
        ),
        (
            "https://a b:hunter2 x@gateway.example",
            "\"https://***@gateway.example\"",
        ),
        (
            "https://a:hunter2@b@gateway.example",
            "\"https://***@gateway.example\"",
        ),
    ] {
        let in_file = format!("[profiles.p]\nbase_url = \"{text}\"\n");
        for folder in [
            Folder::with(&in_file),
            Folder::empty().variable("DISBURSE_BASE_URL", text),
            Folder::empty().flag("base_url", text),
            // The wrong key shows no more.
            Folder::with(format!("[profiles.p]\npayment_bearer = \"{text}\"\n")),
        ] {
            let refusal = folder.refusal();
            assert!(!refusal.contains("hunter2"), "{refusal}");
            assert!(refusal.contains(visible), "{refusal}");
        }
    }
    // Nor does a line that is not TOML.
    let refusal = Folder::with("[profiles.p]\npassword = \"hunter2\n").refusal();
    assert!(!refusal.contains("hunter2"), "{refusal}");
}

#[test]
fn no_output_holds_the_password() {
    let given = folder("hunter2", 0o600).variable("DISBURSE_PASSWORD", "hunter2");
    for folder in [folder("hunter2", 0o600), given] {
        let settings = folder.load();
        let gateway = settings.gateway().unwrap();
        assert_eq!(gateway.password.expose_secret(), "hunter2");
        for output in [
            format!("{settings:?}"),
            format!("{gateway:?}"),
            format!("{:?}", show(&settings)),
            show_json(&settings).to_string(),
        ] {
            assert!(!output.contains("hunter2"), "{output}");
        }
    }
}
