//! What the program says of itself.

use crate::desk::Desk;

const COMMANDS: [&str; 34] = [
    "check",
    "load",
    "approve",
    "run",
    "status",
    "report",
    "verify",
    "pay",
    "explain",
    "retry",
    "resolve",
    "reconcile",
    "cancel",
    "resume-lane",
    "recover",
    "backup",
    "archive",
    "journal",
    "notices",
    "listen",
    "serve",
    "token",
    "lookup",
    "bill",
    "account",
    "float",
    "upload",
    "sandbox",
    "config",
    "layout",
    "init",
    "doctor",
    "completions",
    "man",
];

#[test]
fn help_of_the_program_and_of_each_command() {
    let desk = Desk::new();
    insta::assert_snapshot!("help", desk.run(&["--help"]).finished(0).out);
    for command in COMMANDS {
        let said = desk.run(&[command, "--help"]).finished(0);
        assert_eq!(said.err, "");
        // The options of every command are in the program's own help.
        let own = said
            .out
            .split("Options of every command:")
            .next()
            .unwrap()
            .trim_end();
        insta::assert_snapshot!(format!("help_{command}"), own);
    }
    for command in ["init", "check", "copy"] {
        let said = desk.run(&["journal", command, "--help"]).finished(0);
        let own = said.out.split("Options of every command:").next();
        insta::assert_snapshot!(format!("help_journal_{command}"), own.unwrap().trim_end());
    }
    let said = desk.run(&["config", "show", "--help"]).finished(0);
    assert!(said.out.contains("--sandbox"), "{}", said.out);
}

#[test]
fn help_names_every_command_and_every_exit_code() {
    let help = Desk::new().run(&["--help"]).finished(0).out;
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
    }
    for code in [
        "0 every",
        "1 unexpected",
        "2 usage",
        "3 finished",
        "4 unfinished",
        "5 stopped",
    ] {
        assert!(help.replace('\n', " ").contains(code), "{code}");
    }
}

#[test]
fn without_a_command_the_help_is_shown_as_an_error() {
    let said = Desk::new().run(&[]).finished(2);
    assert_eq!(said.out, "");
    assert!(said.err.contains("Usage: disburse"), "{}", said.err);
}

#[test]
fn mistyped_commands_and_options_are_told_with_the_nearest() {
    let desk = Desk::with_rows();
    for (arguments, parts) in [
        (
            &["lod", "ok.csv"][..],
            ["unrecognized subcommand 'lod'", "'load'"],
        ),
        (
            &["check", "ok.csv", "--encodign", "x"],
            ["unexpected argument '--encodign'", "'--encoding'"],
        ),
        (
            &["load", "ok.csv"],
            ["required arguments", "--batch <NAME>"],
        ),
        (
            &["check", "ok.csv", "-q", "-v"],
            ["'--quiet'", "cannot be used with"],
        ),
        (
            &["run", "b", "--seed", "1"],
            ["required arguments", "--sandbox"],
        ),
        (
            &["resolve", "b", "R-1", "--reason", "a", "--evidence", "b"],
            ["required arguments", "--paid"],
        ),
        (
            &["load", "ok.csv", "--batch", "b", "--expect-count", "x"],
            ["invalid value 'x'", "--expect-count"],
        ),
    ] {
        let said = desk.run(arguments).finished(2);
        assert_eq!(said.out, "");
        assert!(said.err.starts_with("error: "), "{}", said.err);
        for part in parts {
            assert!(said.err.contains(part), "{part}: {}", said.err);
        }
    }
    assert!(!desk.path("disburse.db").exists());
}

#[test]
fn the_version_is_that_of_the_package() {
    let short = concat!("disburse ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(Desk::new().run(&["-V"]).finished(0).out, short);
    let long = Desk::new().run(&["--version"]).finished(0).out;
    assert!(long.starts_with(short), "{long}");
    let lines: Vec<&str> = long.lines().collect();
    assert!(lines[1].starts_with("commit: "), "{long}");
    assert!(lines[2].contains(std::env::consts::ARCH), "{long}");
    assert!(lines[3].starts_with("SQLite: 3."), "{long}");
}

#[test]
fn completions_know_every_command() {
    let desk = Desk::new();
    for (shell, syntax) in [("bash", "bash -n"), ("zsh", "zsh -n"), ("fish", "fish -n")] {
        let script = desk.run(&["completions", shell]).finished(0).out;
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        let program = shell.to_owned();
        let desk = Desk::new().file("script", script);
        // A shell that is not installed proves nothing either way.
        desk.shell(&format!(
            "command -v {program} >/dev/null || exit 0; {syntax} script"
        ))
        .finished(0);
    }
    desk.run(&["completions", "cobol"]).finished(2);
}

#[test]
fn the_manual_renders() {
    let page = Desk::new().run(&["man"]).finished(0).out;
    for command in COMMANDS {
        assert!(page.contains(&command.replace('-', "\\-")), "{command}");
    }
    let desk = Desk::new().file("disburse.1", page);
    let said =
        desk.shell("command -v man >/dev/null || exit 0; MANWIDTH=100 man -l disburse.1 2>&1");
    let said = said.finished(0);
    if !said.out.is_empty() {
        assert!(
            said.out.contains("Bulk disbursement processor"),
            "{}",
            said.out
        );
    }
}

#[test]
fn the_manual_has_a_page_for_each_command_and_writes_over_none() {
    let desk = Desk::new();
    let said = desk.run(&["man", "--out", "pages/man1"]).finished(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    let title = |page: &str| {
        page.lines()
            .find(|line| line.starts_with(".TH "))
            .map(str::to_owned)
    };
    for command in COMMANDS {
        let page = desk.text(&format!("pages/man1/disburse-{command}.1"));
        let title = title(&page).unwrap();
        assert!(
            title.starts_with(&format!(".TH disburse-{command} 1")),
            "{title}"
        );
    }
    let own = desk.text("pages/man1/disburse.1");
    for command in COMMANDS {
        let name = command.replace('-', "\\-");
        assert!(own.contains(&format!("disburse\\-{name}(1)")), "{command}");
    }
    assert!(
        desk.text("pages/man1/disburse-config-show.1")
            .contains("sandbox")
    );
    let before = desk.files();
    desk.refuses(
        &["man", "--out", "pages/man1"],
        2,
        &[
            "error: pages/man1/disburse.1: cannot be written: File exists (os error 17)",
            "hint: name a folder that is empty, or not there yet, with --out",
        ],
    );
    assert!(desk.files() == before);
}
