//! No configuration, or the wrong one: each names what is missing and where to put it.

use crate::desk::{CONFIGURATION, Desk};

#[test]
fn without_a_configuration_the_places_are_named_where_one_was_looked_for() {
    let desk = Desk::with_rows();
    let home = desk.path(".config/disburse/disburse.toml");
    desk.refuses(
        &["load", "ok.csv", "--batch", "b"],
        2,
        &[
            "error: no configuration: not set: originator",
            &format!(
                "hint: no configuration file was found, looked for disburse.toml and {}; write one (samples/disburse.toml \
                 shows every key), name one with --config, or set DISBURSE_ORIGINATOR; --sandbox needs none",
                home.display()
            ),
        ],
    );
    let said = desk.run(&["config", "show"]).finished(0);
    assert!(said.out.starts_with("profile default\n"), "{}", said.out);
}

#[test]
fn a_check_without_defaults_says_where_they_would_come_from() {
    let desk = Desk::new().sample("payroll.csv");
    desk.refuses(
        &["check", "payroll.csv"],
        2,
        &[
            "error: payroll.csv: has no column country_code",
            "hint: add it, or give country_code a default in the profile",
            "hint: there is no disburse.toml yet, which could give the default; --sandbox has its own",
        ],
    );
}

#[test]
fn a_configuration_that_was_named_must_be_there() {
    let desk = Desk::with_rows();
    desk.refuses(
        &["check", "ok.csv", "--config", "nowhere.toml"],
        2,
        &[
            "error: configuration file \"nowhere.toml\" does not exist",
            "hint: --config or DISBURSE_CONFIG names it; check the name, or write the file (samples/disburse.toml shows every key)",
        ],
    );
}

#[test]
fn an_unknown_profile_is_refused_with_the_nearest() {
    let desk = Desk::configured();
    desk.refuses(
        &["load", "ok.csv", "--batch", "b", "--profile", "q"],
        2,
        &[
            "error: command line: unknown profile \"q\"",
            "hint: did you mean \"p\"? disburse.toml has p",
        ],
    );
    // What looks needs nothing of a profile: whoever names one that is not there would be sent on with it.
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    for command in [&["status"][..], &["status", "b"], &["verify", "b"]] {
        desk.refuses(
            &[command, &["--profile", "q"]].concat(),
            2,
            &[
                "error: command line: unknown profile \"q\"",
                "hint: did you mean \"p\"? disburse.toml has p",
            ],
        );
    }
}

#[test]
fn mistakes_of_the_file_have_a_place() {
    for (from, to, lines) in [
        (
            "base_url",
            "base_ulr",
            &[
                "error: disburse.toml:2:1: unknown key \"base_ulr\"",
                "hint: did you mean \"base_url\"?",
            ][..],
        ),
        (
            "http://127.0.0.1:9",
            "http://gateway.example",
            &[
                "error: disburse.toml:2:12: base_url: expected https:// (plain http:// for loopback only), found \"http://gateway.example\"",
            ],
        ),
        (
            "\"someone\"",
            "\"someone\"\npassword = \"hunter2\"",
            &["error: disburse.toml:4:1: a password is not accepted here"],
        ),
    ] {
        let desk = Desk::with_rows().file("disburse.toml", CONFIGURATION.replacen(from, to, 1));
        let said = desk.run(&["check", "ok.csv"]).finished(2);
        let first = |text: &str| text.split(':').take(4).collect::<String>();
        assert_eq!(first(&said.err), first(lines[0]), "{}", said.err);
        assert!(!said.err.contains("hunter2"));
        assert_eq!(said.out, "");
    }
}

#[test]
fn without_a_password_nothing_starts() {
    let desk = Desk::with_rows().file("disburse.toml", CONFIGURATION);
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    desk.refuses(
        &["run", "b", "--yes"],
        2,
        &[
            "error: profile \"p\": not set: password",
            "hint: add password_file to [profiles.p] in disburse.toml, or set DISBURSE_PASSWORD",
        ],
    );
}

#[test]
fn a_password_file_that_others_can_read_is_told_once_and_never_shown() {
    let configuration =
        CONFIGURATION.replacen("username", "password_file = \"secret\"\nusername", 1);
    let desk = Desk::with_rows()
        .file("disburse.toml", configuration)
        .file("secret", "hunter2\n");
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    let said = desk
        .run(&["run", "b", "--yes", "--max-wait", "1s"])
        .finished(4);
    let warning = "secret: others may read this password (mode 0644); chmod 600 it";
    assert_eq!(said.err.matches(warning).count(), 1, "{}", said.err);
    assert!(!said.err.contains("hunter2"));
}

/// A desk whose configuration names the password file `secret`.
fn desk_with_secret() -> Desk {
    let configuration =
        CONFIGURATION.replacen("username", "password_file = \"secret\"\nusername", 1);
    Desk::with_rows().file("disburse.toml", configuration)
}

fn chmod(desk: &Desk, name: &str, mode: u32) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(desk.path(name), mode).unwrap();
}

#[test]
fn a_password_file_that_is_missing_is_told_before_anything_is_loaded() {
    let desk = desk_with_secret();
    for command in [
        &["load", "ok.csv", "--batch", "b"][..],
        &["pay", "ok.csv", "--batch", "b", "--yes"],
    ] {
        desk.refuses(
            command,
            2,
            &[
                "error: Password file \"secret\" does not exist. Create it with mode 0600",
                "hint: its first line is the password; or set DISBURSE_PASSWORD",
            ],
        );
    }
    assert!(!desk.path("disburse.db").exists());
    desk.run(&["check", "ok.csv"]).finished(0);
    desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
}

#[test]
fn a_secret_mounted_for_all_to_read_works_and_is_told_however_quiet() {
    let desk = desk_with_secret().file("real", "hunter2\n");
    std::os::unix::fs::symlink("real", desk.path("secret")).unwrap();
    for mode in [0o644, 0o444, 0o660] {
        chmod(&desk, "real", mode);
        let journal = format!("{mode:o}.db");
        for quiet in [&["-q"][..], &["-q", "--log-format", "json"]] {
            let load = ["load", "ok.csv", "--batch", "b", "--journal", &journal];
            let said = desk.run(&[&load[..], quiet].concat()).finished(0);
            let told = format!("(mode {mode:04o}); chmod 600 it");
            assert_eq!(said.err.matches(&told).count(), 1, "{}", said.err);
        }
    }
    chmod(&desk, "real", 0o600);
    let load = ["load", "ok.csv", "--batch", "b", "-q"];
    assert_eq!(desk.run(&load).finished(0).err, "");
    chmod(&desk, "disburse.toml", 0o664);
    let said = desk.run(&load).finished(0);
    let told = "disburse.toml: its group may write this configuration (mode 0664); chmod go-w it";
    assert_eq!(said.err.matches(told).count(), 1, "{}", said.err);
}

#[test]
fn what_everybody_may_write_is_refused_where_money_can_move_and_nowhere_else() {
    let desk = desk_with_secret().file("secret", "hunter2\n");
    chmod(&desk, "secret", 0o666);
    let load = ["load", "ok.csv", "--batch", "b"];
    let hint = "hint: read what it says; if that is right: chmod 600 secret";
    desk.refuses(
        &load,
        2,
        &[
            "error: secret: everybody may write to it (mode 0666), so somebody else may have written what it says",
            hint,
        ],
    );
    desk.shell("chmod 600 secret");
    desk.run(&load).finished(0);
    chmod(&desk, "disburse.toml", 0o666);
    let hint = "hint: read what it says; if that is right: chmod go-w disburse.toml";
    desk.refuses(
        &load,
        2,
        &[
            "error: disburse.toml: everybody may write to it (mode 0666), so somebody else may have written what it says",
            hint,
        ],
    );
    let rehearsal = ["--journal", "other.db", "--sandbox", "-q"];
    let said = desk.run(&[&load[..], &rehearsal].concat()).finished(0);
    assert_eq!(said.err, "");
    desk.shell("chmod go-w disburse.toml");
    assert_eq!(desk.run(&[&load[..], &["-q"]].concat()).finished(0).err, "");
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    let desk = desk_with_secret().file("secret", "hunter2\n");
    chmod(&desk, "secret", 0o600);
    if std::os::unix::fs::chown(desk.path("secret"), Some(4_321), None).is_err() {
        // Only root gives files away.
        return;
    }
    let own = rustix::process::geteuid().as_raw();
    desk.refuses(
        &["load", "ok.csv", "--batch", "b"],
        2,
        &[
            &format!("error: secret: it belongs to user 4321, who is neither root nor the user of this program ({own}), so somebody else may have written what it says"),
            &match own {
                0 => "hint: read what it says; if that is right: run the command as that user, as in: sudo -u '#4321' disburse ...; only if the file is meant for root: sudo chown 0 secret".to_owned(),
                _ => format!("hint: read what it says; if that is right: sudo chown {own} secret"),
            },
        ],
    );
}

#[test]
fn settings_of_a_run_are_checked_before_anything_is_touched() {
    let desk = Desk::loaded();
    for (option, value, error) in [
        (
            "--rate",
            "0/s",
            "command line: limits.rate: expected a rate from 1/s to 1000000/s, such as \"50/s\" or \"3000/m\", found \"0/s\"",
        ),
        (
            "--concurrency",
            "0",
            "command line: limits.concurrency: expected a whole number from 1 to 1024, found \"0\"",
        ),
    ] {
        desk.refuses(
            &["run", "b", "--sandbox", option, value],
            2,
            &[&format!("error: {error}")],
        );
    }
}
