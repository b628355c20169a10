//! The house rules, held against the source: layering, clock, purity, sizes, dependencies.

// A test fails by panicking, its helpers too.
#![allow(clippy::unwrap_used)]

#[path = "house/circles.rs"]
mod circles;
#[path = "house/source.rs"]
mod source;

use std::fs;

use source::{File, files, root};

/// What each module may import of ours, itself aside. Imports go down only; modules of one layer do not know one another.
const MAY_IMPORT: [(&str, &[&str]); 22] = [
    ("domain", &[]),
    ("server", &[]),
    ("workbook", &[]),
    ("page", &[]),
    // It is given texts, and knows nothing of payments.
    ("watch", &["page", "server"]),
    ("dialect", &["domain"]),
    ("lifecycle", &["domain"]),
    ("ledger", &["domain", "lifecycle"]),
    (
        "intake",
        &["domain", "dialect", "lifecycle", "ledger", "workbook"],
    ),
    // Rows of domain values, and no verb of money.
    ("store", &["domain", "lifecycle", "ledger"]),
    ("journal", &["domain", "lifecycle", "ledger", "store"]),
    ("gateway", &["domain", "dialect", "lifecycle", "ledger"]),
    ("report", &["domain", "lifecycle", "ledger", "workbook"]),
    // Its files are opened by what opens batch files.
    ("statement", &["domain", "ledger", "intake"]),
    (
        "callback",
        &[
            "domain",
            "dialect",
            "lifecycle",
            "ledger",
            "intake",
            "journal",
            "gateway",
            "report",
            "server",
        ],
    ),
    // Of the listener, the engine takes the addresses alone.
    (
        "engine",
        &[
            "domain",
            "lifecycle",
            "ledger",
            "intake",
            "journal",
            "gateway",
            "report",
            "callback::Addresses",
        ],
    ),
    // Of the engine, what comes before it takes the pace and the clock.
    (
        "preflight",
        &[
            "domain",
            "lifecycle",
            "ledger",
            "intake",
            "journal",
            "gateway",
            "engine::Clock",
            "engine::Pacer",
        ],
    ),
    // Of those whose work it tells, what they count.
    (
        "metrics",
        &[
            "domain",
            "lifecycle",
            "ledger",
            "journal",
            "gateway",
            "server",
            "callback::Counts",
            "callback::CallbackOutcome",
            "engine::Limits",
            "engine::Progress",
        ],
    ),
    // Written against the interface, so that it cannot inherit our mistakes.
    ("sandbox", &["domain", "dialect", "gateway::wire", "page"]),
    // Compiled for tests only; it drives all that a run is made of.
    (
        "simulation",
        &[
            "domain",
            "dialect",
            "lifecycle",
            "ledger",
            "journal",
            "store",
            "gateway",
            "report",
            "callback",
            "preflight",
            "engine",
        ],
    ),
    (
        "cli",
        &[
            "domain",
            "dialect",
            "lifecycle",
            "ledger",
            "intake",
            "journal",
            "store",
            "gateway",
            "report",
            "callback",
            "preflight",
            "engine",
            "sandbox",
            "statement",
            "server",
            "metrics",
            "watch",
        ],
    ),
    // Holds everything that reads bytes from outside to its promises; never part of the program.
    (
        "fuzzing",
        &[
            "domain",
            "dialect",
            "lifecycle",
            "ledger",
            "intake",
            "gateway",
            "report",
            "statement",
            "cli::config",
        ],
    ),
];

/// Asserts that no file holds what it must not; `offence` names it.
#[track_caller]
fn nowhere(files: &[File], offence: impl Fn(&File) -> Vec<String>) {
    let offences: Vec<String> = files
        .iter()
        .flat_map(|file| {
            offence(file)
                .into_iter()
                .map(|what| format!("{}: {what}", file.path))
        })
        .collect();
    assert!(offences.is_empty(), "\n{}", offences.join("\n"));
}

/// The words among `words` that a file's code holds, as whole words.
fn words_of(file: &File, words: &[&str]) -> Vec<String> {
    words
        .iter()
        .filter(|word| file.has_word(word))
        .map(|word| (*word).to_owned())
        .collect()
}

fn within(file: &File, folders: &[&str]) -> bool {
    folders.iter().any(|folder| file.path.starts_with(folder))
}

fn sources() -> Vec<File> {
    files("src", "rs")
}

#[test]
fn imports_go_down_only() {
    let sources = sources();
    for (module, _) in MAY_IMPORT {
        assert!(
            sources.iter().any(|file| file.module() == Some(module)),
            "no source of {module}"
        );
    }
    nowhere(&sources, |file| {
        let Some(module) = file.module() else {
            return Vec::new();
        };
        // Compiled for tests only: what a mistake makes of a finding is made of whatever was found.
        if module == "seeded_bugs" {
            return Vec::new();
        }
        let known = MAY_IMPORT.iter().find(|(name, _)| *name == module);
        let Some((_, allowed)) = known else {
            return vec![format!("{module} has no layer")];
        };
        file.imports(&MAY_IMPORT.map(|(name, _)| name))
            .into_iter()
            .filter(|import| {
                let import = import.as_str();
                let of =
                    |prefix: &str| import == prefix || import.starts_with(&format!("{prefix}::"));
                !of(module) && !allowed.iter().any(|allowed| of(allowed))
            })
            .map(|import| format!("imports {import}"))
            .collect()
    });
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    let circles = circles::circles(&sources());
    let told: Vec<String> = circles.iter().map(|circle| circle.join(" ")).collect();
    assert!(circles.is_empty(), "\n{}", told.join("\n"));
}

#[test]
fn nothing_but_the_cli_prints_exits_or_knows_clap() {
    nowhere(&sources(), |file| {
        // The servers of tests, which say where they check nothing, and figures of the store.
        let servers = "src/store/postgres/fixture.rs";
        let figures = "src/store/postgres/tests/figures.rs";
        let tells = [
            "src/cli/",
            "src/main.rs",
            "src/simulation/",
            servers,
            figures,
        ];
        if within(file, &tells) {
            return Vec::new();
        }
        let words = [
            "clap",
            "println!",
            "eprintln!",
            "print!",
            "eprint!",
            "dbg!",
            "process::exit",
            "stdout()",
            "stderr()",
        ];
        words_of(file, &words)
    });
}

#[test]
fn the_wall_clock_is_read_at_the_edge_alone() {
    nowhere(&sources(), |file| {
        let edge = [
            "src/engine/clock.rs",
            "src/callback/",
            "src/metrics/serve.rs",
            "src/cli/",
        ];
        let mut words = words_of(file, &["SystemTime::now", "Zoned::now"]);
        if !within(file, &edge) && file.path != "src/domain/time.rs" {
            words.extend(words_of(file, &["Timestamp::now()"]));
        }
        words
    });
}

#[test]
fn the_lifecycle_and_the_engines_core_hold_no_clock_no_chance_no_runtime_and_no_order_by_hash() {
    nowhere(&sources(), |file| {
        if !within(file, &["src/lifecycle/", "src/ledger/", "src/engine/core/"]) {
            return Vec::new();
        }
        let words = [
            "Instant", "tokio", "async", "fastrand", "rand", "tracing", "HashMap", "HashSet",
            "thread", "fs", "env",
        ];
        words_of(file, &words)
    });
}

/// What speaks to SQLite or PostgreSQL in its own words: their stores, schemas, SQLite's file, and databases of their own that a command fills to sort what
/// memory has no room for. Everything else of the journal reads and writes through the store's port.
const MAY_HAVE_STATEMENTS: [&str; 22] = [
    "src/store/postgres/",
    "src/store/sqlite.rs",
    "src/store/schema.rs",
    "src/journal/schema/",
    // The journal's file, and copies of it.
    "src/journal/archive/",
    "src/journal/forget/compact.rs",
    "src/journal/forget/verbs.rs",
    "src/journal/recovery/backup.rs",
    "src/journal/recovery/copies.rs",
    "src/journal/recovery/inspect.rs",
    "src/journal/recovery/marks.rs",
    "src/journal/writer/queue.rs",
    // Databases of their own.
    "src/journal/approval/review.rs",
    "src/journal/reconcile/",
    "src/journal/repeats/found.rs",
    // What a journal of the first version is brought up with.
    "src/journal/evidence/digests.rs",
    // Tests.
    "src/journal/payments/generations.rs",
    "src/journal/recovery/server_place/tests.rs",
    "src/journal/tests.rs",
    "src/journal/verify/prove/tests.rs",
    "src/journal/writer/tests.rs",
    "src/store/tests.rs",
];

#[test]
fn no_statement_stands_outside_the_store() {
    nowhere(&sources(), |file| {
        if within(file, &MAY_HAVE_STATEMENTS) {
            return Vec::new();
        }
        let is_statement = |text: &str| {
            let text = text.trim_start().to_lowercase();
            text.starts_with("select ") && text.contains(" from ")
                || text.starts_with("update ") && text.contains(" set ")
                || ["insert into ", "delete from ", "create table ", "pragma "]
                    .iter()
                    .any(|start| text.starts_with(start))
        };
        file.texts
            .iter()
            .filter(|text| is_statement(text))
            .cloned()
            .collect()
    });
}

#[test]
fn no_float_touches_money() {
    nowhere(&sources(), |file| {
        let folders = [
            "src/domain/",
            "src/lifecycle/",
            "src/ledger/",
            "src/intake/",
            "src/journal/",
            "src/gateway/",
        ];
        // What a sheet holds are floats already; there they become the text that a spreadsheet shows, and are nothing else.
        let of_sheets = ["src/intake/sheet/cell.rs", "src/intake/tests/sheets.rs"];
        if within(file, &folders) && !within(file, &of_sheets) {
            words_of(file, &["f32", "f64"])
        } else {
            Vec::new()
        }
    });
}

#[test]
fn no_file_is_longer_than_700_lines_and_main_not_longer_than_60() {
    let mut all = sources();
    for folder in ["tests", "benches", "examples"] {
        all.extend(files(folder, "rs"));
    }
    nowhere(&all, |file| {
        let (lines, most) = (
            file.text.lines().count(),
            if file.path == "src/main.rs" { 60 } else { 700 },
        );
        (lines > most)
            .then(|| format!("{lines} lines"))
            .into_iter()
            .collect()
    });
}

/// Elsewhere such a folder would be as open as the umask has it, and a kill would leave it for ever.
#[test]
fn folders_for_what_is_in_the_making_are_made_where_their_mode_and_their_end_are_known() {
    let makers = ["src/cli/files/scratch.rs", "src/report/files/pages.rs"];
    nowhere(&sources(), |file| {
        let is_exempt = makers.contains(&file.path.as_str())
            || within(file, &["src/fuzzing", "src/simulation"])
            || circles::is_of_tests(file);
        let code = circles::without_tests(&file.code);
        let made = ["tempdir(", "tempdir_in(", "TempDir::new"];
        let found = made.into_iter().filter(|made| code.contains(made));
        found.filter(|_| !is_exempt).map(str::to_owned).collect()
    });
}

#[test]
fn nothing_is_unfinished_by_its_own_word() {
    let mut all = sources();
    for folder in ["tests", "benches", "examples"] {
        all.extend(files(folder, "rs"));
    }
    // Put together here, or this file would be found.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("unimplemented", "!("),
        concat!("to", "do!("),
        // With a reason it may stand.
        concat!("#[ig", "nore]"),
    ];
    nowhere(&all, |file| {
        words
            .iter()
            .filter(|word| file.text.contains(**word))
            .map(|word| (*word).to_owned())
            .collect()
    });
}

#[test]
fn no_path_of_anyones_machine_stands_in_a_file() {
    let mut all = files("", "md");
    all.extend(["toml", "sql"].iter().flat_map(|ending| files("", ending)));
    for folder in ["src", "tests", "benches", "examples", "samples"] {
        all.extend(files(folder, ""));
    }
    let paths = [
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
        concat!("/tm", "p/"),
        concat!("/Us", "ers/"),
    ];
    nowhere(&all, |file| {
        paths
            .iter()
            .filter(|path| file.text.contains(**path))
            .map(|path| (*path).to_owned())
            .collect()
    });
}

fn manifest() -> (String, toml::Table) {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let table = text.parse().unwrap();
    (text, table)
}

#[test]
fn no_layer_below_us_can_send_a_payment_twice_or_elsewhere() {
    let (_, manifest) = manifest();
    let banned = ["http2", "http3", "cookies", "system-proxy", "default"];
    for name in ["reqwest", "hyper", "hyper-util", "axum"] {
        let dependency = &manifest["dependencies"][name];
        assert_eq!(
            dependency["default-features"].as_bool(),
            Some(false),
            "{name}: default features are off"
        );
        let features = dependency["features"].as_array().unwrap();
        for feature in features.iter().map(|feature| feature.as_str().unwrap()) {
            assert!(!banned.contains(&feature), "{name} with {feature}");
        }
    }
}

/// What the tests end the program with, or make it less durable with, is absent from a release build.
#[test]
fn the_points_at_which_tests_end_the_program_are_in_debug_builds_alone() {
    let sources = sources();
    let mentions = sources
        .iter()
        .filter(|file| file.code.contains("points::"))
        .count();
    assert!(mentions >= 5, "only {mentions} files have points");
    nowhere(&sources, |file| {
        // The module itself is under the same condition, so that a mention without it does not compile in a release.
        let mut before = "";
        let mut bare = Vec::new();
        for line in file.code.lines().map(str::trim) {
            let mentions = line.contains("points::") || line.contains("mod points");
            if mentions && before != "#[cfg(debug_assertions)]" {
                bare.push(format!("not #[cfg(debug_assertions)]: {line}"));
            }
            before = line;
        }
        let elsewhere = file.path != "src/failpoints.rs";
        let switches = file
            .texts
            .iter()
            .filter(|text| elsewhere && text.contains("TORTURE_"));
        bare.extend(switches.cloned());
        bare
    });
    let (_, manifest) = manifest();
    for profile in ["release", "bench"] {
        let set = manifest["profile"].get(profile);
        let assertions = set.and_then(|set| set.get("debug-assertions"));
        assert!(
            assertions.is_none_or(|on| on.as_bool() == Some(false)),
            "debug-assertions in {profile}"
        );
    }
}

/// Files with more than one place at which a mistake is planted. No file is added, and the numbers only fall: a rule has one place
/// where it has found what it says.
const SEVERAL_SEAMS: [(&str, usize); 21] = [
    ("src/gateway/classify/entries.rs", 3),
    ("src/gateway/classify/mod.rs", 4),
    ("src/journal/payments/generations.rs", 2),
    ("src/journal/repeats/on_record.rs", 2),
    ("src/journal/run/claim_started.rs", 3),
    ("src/journal/run/restart.rs", 2),
    ("src/journal/run/sessions.rs", 2),
    ("src/journal/run/verbs.rs", 3),
    ("src/journal/session/fence.rs", 2),
    ("src/ledger/approval/judge.rs", 2),
    ("src/ledger/approval/orders.rs", 2),
    ("src/ledger/calendar.rs", 2),
    ("src/ledger/decisions.rs", 2),
    ("src/ledger/failure.rs", 2),
    ("src/ledger/intact.rs", 4),
    ("src/ledger/limits/judge.rs", 3),
    ("src/ledger/reconciliation/finding.rs", 3),
    ("src/ledger/recovery.rs", 2),
    ("src/ledger/repeats.rs", 4),
    ("src/ledger/standstill.rs", 3),
    ("src/lifecycle/codes.rs", 2),
];

/// Places at which a mistake has a function return at once. The number only falls: what has been found reads better when it is passed
/// through.
const SEAMS_THAT_RETURN: usize = 22;

/// The program's own code of every file that may hold a seam.
fn with_seams(sources: &[File]) -> Vec<(&File, &str)> {
    let own = [
        "src/planted.rs",
        "src/seeded_bugs/",
        "src/simulation/",
        "src/journal/writer/remote.rs",
    ];
    let is_own = |file: &&File| !within(file, &own) && !circles::is_of_tests(file);
    let files = sources.iter().filter(is_own);
    files
        .map(|file| (file, circles::without_tests(&file.code)))
        .collect()
}

#[test]
fn planted_mistakes_stand_with_their_list_and_not_in_the_program() {
    let sources = sources();
    for (file, code) in with_seams(&sources) {
        // It declares the module.
        let is_named =
            code.contains("SeededBug") || file.path != "src/lib.rs" && code.contains("seeded_bugs");
        assert!(!is_named, "{}: a mistake that is no seam", file.path);
    }
}

#[test]
fn places_at_which_mistakes_are_planted_become_fewer() {
    let sources = sources();
    let mut returning = 0;
    for (file, code) in with_seams(&sources) {
        let returns = code.matches("planted_instead!(").count();
        let seams = code.matches("planted!(").count() + returns;
        let known = SEVERAL_SEAMS.iter().find(|(path, _)| *path == file.path);
        match known {
            // One that is given away is not taken back.
            Some((path, most)) => assert_eq!(seams, *most, "{path}: write down how many there are"),
            None => assert!(seams <= 1, "{}: {seams} seams", file.path),
        }
        returning += returns;
    }
    assert_eq!(
        returning, SEAMS_THAT_RETURN,
        "write down how many there are"
    );
}

#[test]
fn unsafe_code_is_forbidden() {
    let (_, manifest) = manifest();
    let lint = &manifest["lints"]["rust"]["unsafe_code"];
    assert_eq!(lint.as_str(), Some("forbid"));
}

#[test]
fn every_dependency_stands_below_its_reason() {
    let (text, _) = manifest();
    let (mut in_dependencies, mut reason) = (false, false);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]");
            reason = false;
        } else if line.is_empty() {
            reason = false;
        } else if line.starts_with('#') {
            reason = true;
        } else if in_dependencies {
            assert!(reason, "no comment says why: {line}");
        }
    }
}
