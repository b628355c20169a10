//! The first files of a deployment: what `init` writes is accepted by every command that it proposes, and it takes nobody's place.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::desk::{BINARY, Desk, Said};

const ENOUGH: [&str; 12] = [
    "--country",
    "UG",
    "--gateway",
    "https://gateway.example",
    "--username",
    "acme",
    "--originator",
    "acme",
    "--time-zone",
    "Africa/Kampala",
    "--pays",
    "WALLET=mobile_money",
];

fn init(desk: &Desk, more: &[&str]) -> Said {
    let mut arguments = vec!["init", "pay"];
    arguments.extend(ENOUGH);
    arguments.extend(more);
    desk.run(&arguments)
}

/// The commands that were proposed, as a person copies them.
fn proposed(said: &Said) -> Vec<String> {
    let lines = said
        .err
        .lines()
        .filter_map(|line| line.strip_prefix("  disburse "));
    lines
        .map(|line| line.split("    ").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_next_three_commands_work_as_they_are_printed() {
    let desk = Desk::new();
    let said = init(&desk, &["--csv"]).finished(0);
    assert_eq!(
        said.out,
        "pay/password\npay/mobile_money.csv\npay/disburse.toml\n"
    );
    for name in ["password", "mobile_money.csv", "disburse.toml"] {
        let mode = std::fs::metadata(desk.path("pay").join(name)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600, "{name}");
    }
    let next = proposed(&said);
    assert_eq!(next.len(), 3, "{said:?}");
    // As it is, the template pays nobody.
    let as_it_is = desk
        .shell(&format!("cd pay && disburse {}", next[0]))
        .finished(2);
    assert!(
        as_it_is.err.contains("the example row of a template"),
        "{as_it_is:?}"
    );
    // The person does what is said: their row takes the example's place, and the password is filled in.
    let template = desk.text("pay/mobile_money.csv");
    let header = template.lines().next().unwrap();
    let row = "R-1,WALLET,256772123456,5000,UGX,UG,Ana Example,Wages";
    let desk = desk
        .file("pay/mobile_money.csv", format!("{header}\n{row}\n"))
        .file("pay/password", "made up\n");
    for command in &next {
        let said = desk.shell(&format!("cd pay && disburse {command}"));
        // One of the sandbox's own faults may meet the payment.
        let expected: &[i32] = match command.starts_with("pay ") {
            true => &[0, 3],
            false => &[0],
        };
        assert!(expected.contains(&said.code), "{command}\n{said:?}");
    }
    let shown = desk
        .shell("cd pay && disburse config show --json")
        .finished(0)
        .json();
    assert!(
        shown.to_string().contains("https://gateway.example"),
        "{shown}"
    );
}

#[test]
fn with_signers_the_rehearsal_begins_with_a_load() {
    let desk = Desk::new();
    desk.shell("for n in ana ben; do ssh-keygen -q -t ed25519 -N '' -C $n -f $n; done")
        .finished(0);
    let line = |name: &str| {
        format!(
            "{name}@example.org {}",
            desk.text(&format!("{name}.pub")).trim()
        )
    };
    let (ana, ben) = (line("ana"), line("ben"));
    let said = init(
        &desk,
        &[
            "--signer",
            &ana,
            "--signer",
            &ben,
            "--approve-above",
            "1000000",
        ],
    )
    .finished(0);
    assert!(
        said.out
            .contains("pay/allowed_signers\npay/mobile_money.xlsx\n"),
        "{said:?}"
    );
    assert_eq!(desk.text("pay/allowed_signers"), format!("{ana}\n{ben}\n"));
    let next = proposed(&said);
    assert_eq!(
        next[1],
        "load mobile_money.xlsx --batch rehearsal-1 --sandbox"
    );
    let shown = desk.shell("cd pay && disburse config show").finished(0).out;
    assert!(shown.contains("approval.above.UGX"), "{shown}");
    let said = desk
        .shell("cd pay && disburse check mobile_money.xlsx")
        .finished(2);
    assert!(
        said.err.contains("mobile_money.xlsx:payments!A2"),
        "{said:?}"
    );
}

#[test]
fn nothing_is_written_before_everything_is_right() {
    let desk = Desk::new();
    desk.refuses(
        &["init", "pay", "--country", "Kenya", "--pays", "WALLET=gold"],
        2,
        &[
            "error: --country: expected a two-letter country code such as \"KE\", found \"Kenya\"",
            "  --currency is missing",
            "  --gateway is missing",
            "  --username is missing",
            "  --originator is missing",
            "  --time-zone is missing",
            "  --pays: expected one of mobile_money, bank, rtgs, airtime, bill_prepaid, bill_postpaid behind the =, found \"WALLET=gold\"; nothing was written",
            "hint: disburse init --help says what each option is; at a terminal, disburse init asks",
        ],
    );
    let desk = desk.variable("DISBURSE_CONFIG", "elsewhere.toml");
    desk.refuses(
        &["init"],
        2,
        &[
            "error: init writes disburse.toml into its folder, and --config or DISBURSE_CONFIG names another file; nothing was written",
            "hint: leave --config out, and unset DISBURSE_CONFIG",
        ],
    );
}

#[test]
fn a_file_that_is_there_stays_and_is_named() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("pay")).unwrap();
    for name in ["password", "mobile_money.xlsx"] {
        let desk = Desk::new();
        std::fs::create_dir(desk.path("pay")).unwrap();
        let desk = desk.file(&format!("pay/{name}"), "mine");
        let before = desk.files();
        let said = init(&desk, &[]).finished(2);
        assert!(
            said.err.contains(&format!("pay/{name} exists already")),
            "{said:?}"
        );
        assert_eq!(desk.files(), before);
    }
    // A folder in a place that is not there.
    let mut arguments = vec!["init", "a/b"];
    arguments.extend(ENOUGH);
    let said = desk.run(&arguments).finished(2);
    assert!(said.err.contains("a/b: cannot be written"), "{said:?}");
}

/// A person at a terminal types these lines, each once something is asked that ends with a text.
fn at_a_terminal(desk: &Desk, arguments: &[&str], answers: &[(&str, &str)]) -> (i32, String) {
    let user =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY)
            .unwrap();
    rustix::pty::grantpt(&user).unwrap();
    rustix::pty::unlockpt(&user).unwrap();
    let name = rustix::pty::ptsname(&user, Vec::new()).unwrap();
    let terminal = std::fs::File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let end = || Stdio::from(OwnedFd::from(terminal.try_clone().unwrap()));
    let mut program = std::process::Command::new("timeout")
        .args(["--foreground", "30", BINARY])
        .args(arguments)
        .current_dir(desk.path(""))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    drop(terminal);
    let mut user = std::fs::File::from(user);
    let mut shown = String::new();
    let mut answers = answers.iter();
    let mut next = answers.next();
    let mut seen = 0;
    let mut bytes = [0; 4096];
    // The terminal ends with the program.
    while let Ok(read @ 1..) = user.read(&mut bytes) {
        shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        while let Some((asked, answer)) = next
            && let Some(at) = shown[seen..].find(asked)
        {
            seen += at + asked.len();
            // What is said, and is no question, is not answered.
            if asked.ends_with(' ') {
                user.write_all(format!("{answer}\n").as_bytes()).unwrap();
            }
            next = answers.next();
        }
    }
    assert!(next.is_none(), "{next:?} was not asked: {shown}");
    (program.wait().unwrap().code().unwrap(), shown)
}

#[test]
fn a_person_is_asked_and_the_password_is_not_shown() {
    let desk = Desk::new();
    let (code, shown) = at_a_terminal(
        &desk,
        &[
            "init",
            "--username",
            "acme",
            "--time-zone",
            "Africa/Kampala",
        ],
        &[
            ("such as KE: ", "Uganda"),
            ("expected a two-letter country code", ""),
            ("such as KE: ", "UG"),
            ("such as KES [UGX]: ", ""),
            (
                "such as https://gateway.example: ",
                "https://gateway.example",
            ),
            ("must never change): ", "acme"),
            ("mobile_money: ", "WALLET OTHER"),
            ("bank: ", ""),
            ("rtgs: ", ""),
            ("airtime: ", ""),
            ("bill_prepaid: ", ""),
            ("bill_postpaid: ", ""),
            ("(empty: batches need no approval): ", ""),
            (
                "(it is not shown; empty: it is filled in later): ",
                "hunter2 hunter2",
            ),
            (
                "Write password, mobile_money.xlsx, disburse.toml into .? [y/n] ",
                "y",
            ),
        ],
    );
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(desk.text("password"), "hunter2 hunter2\n");
    assert!(desk.text("disburse.toml").contains("[services.OTHER]"));
    assert!(!shown.contains("Write the password of"), "{shown}");
}

#[test]
fn a_person_who_names_signers_is_held_to_two_of_them() {
    let desk = Desk::new();
    desk.shell("for n in ana ben; do ssh-keygen -q -t ed25519 -N '' -C $n -f $n; done")
        .finished(0);
    let line = |name: &str| {
        format!(
            "{name}@example.org {}",
            desk.text(&format!("{name}.pub")).trim()
        )
    };
    let (ana, ben) = (line("ana"), line("ben"));
    let mut arguments = vec!["init", "new"];
    arguments.extend(ENOUGH);
    arguments.extend(["--currency", "UGX"]);
    let (code, shown) = at_a_terminal(
        &desk,
        &arguments,
        &[
            ("need no approval): ", "ana"),
            ("a name and a public SSH key, as in", ""),
            ("need no approval): ", &ana),
            ("who else: ", ""),
            (
                "2 people at least: the person who loads a batch cannot approve it",
                "",
            ),
            ("who else: ", &ben),
            ("who else (empty: nobody): ", ""),
            ("every batch needs it): ", "1.5"),
            ("an amount in UGX", ""),
            ("every batch needs it): ", "1000000"),
            ("filled in later): ", ""),
            ("[y/n] ", "y"),
        ],
    );
    assert_eq!(code, 0, "{shown}");
    let text = desk.text("new/disburse.toml");
    assert!(text.contains("above = { UGX = \"1000000\" }"), "{text}");
}

fn keys(desk: &Desk, names: &[&str]) -> Vec<String> {
    let all = names.join(" ");
    desk.shell(&format!(
        "for n in {all}; do ssh-keygen -q -t ed25519 -N '' -C $n -f $n; done"
    ))
    .finished(0);
    let key = |name: &&str| desk.text(&format!("{name}.pub")).trim().to_owned();
    names.iter().map(key).collect()
}

#[test]
fn no_slip_at_any_question_costs_the_other_answers() {
    let desk = Desk::new();
    let keys = keys(&desk, &["ana", "again", "ben", "eve"]);
    let line = |name: &str, key: usize| format!("{name}@example.org {}", keys[key]);
    // Somebody else's files, which are found after the last question.
    std::fs::create_dir(desk.path("taken")).unwrap();
    std::fs::write(desk.path("taken/mobile_money.xlsx"), "mine").unwrap();
    let (ana, again, ben, eve) = (
        line("ana", 0),
        line("ana", 1),
        line("ben", 2),
        line("eve", 3),
    );
    let (code, shown) = at_a_terminal(
        &desk,
        &[
            "init",
            "taken",
            "--country",
            "Uganda",
            "--gateway",
            "http://gateway.example",
            "--username",
            "acme",
            "--originator",
            "acme",
            "--time-zone",
            "Kampala",
            "--currency",
            "UGX",
            "--pays",
            "WALLET=gold",
            "--signer",
            &ana,
            "--approvals",
            "3",
            "--approve-above",
            "1.5",
        ],
        &[
            ("--country: expected a two-letter country code", ""),
            ("--pays: expected one of mobile_money", ""),
            ("--approvals: expected 1 or 2, found \"3\"", ""),
            ("such as KE: ", "UG"),
            (
                "such as https://gateway.example: ",
                "https://gateway.example",
            ),
            // Where the system has a table of zones, one is suggested.
            ("such as Africa/Nairobi", ""),
            (": ", "Africa/Kampala"),
            ("mobile_money: ", "WALLET WALLET"),
            ("each service once, and WALLET is named twice", ""),
            ("mobile_money: ", "WALLET"),
            ("  bank: ", ""),
            ("rtgs: ", ""),
            ("airtime: ", ""),
            ("bill_prepaid: ", ""),
            ("bill_postpaid: ", ""),
            ("1 or 2 [1]: ", "2"),
            // A second key of hers is nobody else.
            ("who else: ", &again),
            ("who else: ", &ben),
            ("who else: ", ""),
            (
                "3 people at least: the person who loads a batch cannot approve it",
                "",
            ),
            ("who else: ", &eve),
            ("who else (empty: nobody): ", ""),
            ("--approve-above: expected an amount in UGX", ""),
            ("every batch needs it): ", "1000"),
            ("filled in later): ", &"x".repeat(1_025)),
            ("expected at most 1024 bytes", ""),
            ("filled in later): ", "made up"),
            ("taken/mobile_money.xlsx exists already", ""),
            ("look at taken once more): ", "not/there"),
            ("into not/there? [y/n] ", "y"),
            ("not/there: cannot be written", ""),
            ("look at not/there once more): ", "new"),
            ("into new? [y/n] ", "t"),
            ("expected y to write them, or n to write nothing", ""),
            ("into new? [y/n] ", "y"),
        ],
    );
    assert_eq!(code, 0, "{shown}");
    assert_eq!(desk.text("new/password"), "made up\n");
    assert_eq!(
        desk.text("new/allowed_signers"),
        format!("{ana}\n{again}\n{ben}\n{eve}\n")
    );
    let text = desk.text("new/disburse.toml");
    for set in [
        "required = 2",
        "above = { UGX = \"1000\" }",
        "[services.WALLET]",
    ] {
        assert!(text.contains(set), "{set}: {text}");
    }
    assert_eq!(desk.text("taken/mobile_money.xlsx"), "mine");
}

#[test]
fn what_an_init_that_was_killed_has_left_is_named_and_gives_way() {
    let listed = |desk: &Desk| {
        let entries = std::fs::read_dir(desk.path("pay")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let whole = ["disburse.toml", "mobile_money.csv", "password"];
    // Killed before the first of the three names, the second, and the third.
    for passage in 1..=3 {
        let desk =
            Desk::new().variable("TORTURE_KILL_AT", &format!("init-before-a-name:{passage}"));
        let said = init(&desk, &["--csv", "--currency", "UGX"]);
        assert_eq!(said.code, -1, "{said:?}");
        let desk = desk.variable("TORTURE_KILL_AT", "");
        let left = listed(&desk);
        assert_eq!(left.len(), passage, "{left:?}");
        let said = init(&desk, &["--csv"]).finished(0);
        let is_told = said
            .err
            .contains("an earlier init was cut off, and has left");
        assert_eq!(is_told, passage > 1, "{said:?}");
        assert_eq!(is_told, said.err.contains("pay/password"), "{said:?}");
        assert_eq!(listed(&desk), whole);
    }
    // What somebody has written to is theirs, and stays.
    let desk = Desk::new().variable("TORTURE_KILL_AT", "init-before-a-name:3");
    init(&desk, &["--csv"]);
    let desk = desk
        .variable("TORTURE_KILL_AT", "")
        .file("pay/password", "theirs\n");
    let said = init(&desk, &["--csv"]).finished(2);
    assert!(said.err.contains("pay/password exists already"), "{said:?}");
    assert_eq!(desk.text("pay/password"), "theirs\n");
    assert!(listed(&desk).contains(&"mobile_money.csv".to_owned()));
    // It is moved away: the rest gives way.
    std::fs::rename(desk.path("pay/password"), desk.path("kept")).unwrap();
    let said = init(&desk, &["--csv"]).finished(0);
    assert!(
        said.err
            .contains("has left pay/mobile_money.csv without the rest"),
        "{said:?}"
    );
    assert_eq!(listed(&desk), whole);
}

#[test]
fn a_person_who_says_no_has_nothing_written() {
    let desk = Desk::new();
    let mut arguments = vec!["init"];
    arguments.extend(ENOUGH);
    arguments.extend(["--currency", "UGX"]);
    let (code, shown) = at_a_terminal(
        &desk,
        &arguments,
        &[
            ("need no approval): ", ""),
            ("filled in later): ", ""),
            ("[y/n] ", "n"),
        ],
    );
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("nothing was written"), "{shown}");
    assert!(desk.files().is_empty());
}
