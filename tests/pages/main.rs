//! The pages in a real Chromium: at three widths, light and dark, with axe, by keyboard, and without scripts.
//!
//! `look.mjs` looks, with playwright-core and axe-core out of `target/tools/pages`; where these, node or the browser are missing,
//! the test says that it has checked nothing, unless `PAGE_TOOLS=required`. With `PAGE_SHOTS=FOLDER` it leaves pictures there.

// A test fails by panicking, its helpers too.
#![allow(clippy::unwrap_used)]
// What was left out, and why.
#![allow(clippy::print_stdout)]

#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/files.rs"]
mod files;
#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/sandbox.rs"]
mod sandbox;
#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/viewer.rs"]
mod viewer;
#[allow(dead_code, reason = "shared with the tests of the whole program")]
#[path = "../binary/world.rs"]
mod world;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use sandbox::Sandbox;
use viewer::Page;
use world::{Setup, World};

/// What the looking needs.
struct Tools {
    modules: PathBuf,
    browser: PathBuf,
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    let command = command.arg("--version").stdout(Stdio::null());
    command.stderr(Stdio::null()).status().is_ok()
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

fn tools() -> Option<Tools> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let modules = target.join("tools/pages");
    let found = (|| {
        if !runs("node") {
            return Err("no node (apt-get install nodejs)");
        }
        for module in ["playwright-core", "axe-core"] {
            if !modules.join("node_modules").join(module).is_dir() {
                return Err(
                    "no playwright-core or axe-core in target/tools/pages (.ci/run puts them there)",
                );
            }
        }
        browser().ok_or("no browser (apt-get install chromium)")
    })();
    match found {
        Ok(browser) => Some(Tools { modules, browser }),
        Err(missing) => {
            let text = format!("NOT CHECKED: the pages in a browser: {missing}");
            let is_required = std::env::var("PAGE_TOOLS").as_deref() == Ok("required");
            assert!(!is_required, "{text}");
            println!("{text}");
            None
        }
    }
}

/// Has the pages looked at; returns what was found.
fn look(tools: &Tools, pages: &[(&str, String)], live: Option<&str>) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/look.mjs");
    let pages: Vec<Value> = pages
        .iter()
        .map(|(name, url)| json!({"name": name, "url": url}))
        .collect();
    let asked = json!({
        "modules": tools.modules, "browser": tools.browser, "pages": pages, "live": live,
        "shots": std::env::var("PAGE_SHOTS").ok(),
    });
    let done = Command::new("node")
        .arg(script)
        .arg(asked.to_string())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    serde_json::from_slice(&done.stdout).unwrap()
}

fn url(page: &Page, path: &str) -> String {
    format!("http://{}{}{path}", page.host, page.root)
}

/// Names as people have them, and as attackers write them.
const ROWS: &str = "reference,service_code,msisdn,amount,currency_code,customer_names
<script>alert(1)</script>,B2C_MPESA,254712345678,100.50,KES,<img src=x onerror=alert(1)>
\"A\"\"><b>x\",B2C_MPESA,254712345679,200.50,KES,\"محمد عبد الله الطويل جدا\"
REF-3,B2C_MPESA,254712345670,300.50,KES,Wolfeschlegelsteinhausenbergerdorffwelchevoralternwarengewissenhaftschaferswessenschafe
BAD-1,B2C_MPESA,25471234567,1.50,KES,\"\u{202e}Ann O'Neil & Sons\"
";

#[test]
fn axe_finds_nothing_and_a_run_is_followed_without_a_reload() {
    let Some(tools) = tools() else { return };
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "realistic"]);
    world.write("hostile.csv", ROWS);
    let skip = ["--on-error", "skip"];
    world.expect(
        0,
        &[&["load", "hostile.csv", "--batch", "hostile"][..], &skip].concat(),
    );
    world.write_rows("live.csv", &files::rows(300, 31));
    world.expect(0, &["load", "live.csv", "--batch", "live"]);
    let mut serve = world.start(&["serve"]);
    let page = Page::of(&mut serve);
    let run = world.start(&["run", "live", "--yes", "--rate", "20/s"]);
    let found = look(
        &tools,
        &[
            ("list", url(&page, "")),
            ("live", url(&page, "batch/live")),
            ("hostile", url(&page, "batch/hostile")),
            ("hostile-rows", url(&page, "batch/hostile/rows?state=ready")),
            (
                "rejected-rows",
                url(&page, "batch/hostile/rows?state=rejected"),
            ),
            ("found", url(&page, "search?q=REF-3")),
            ("not-found", url(&page, "search?q=%3Cb%3Enobody")),
        ],
        Some(&url(&page, "batch/live")),
    );
    assert_eq!(found["findings"], json!([]), "{found:#}");
    assert_eq!(found["looked"], 7 * 3 * 2);
    let live = &found["live"];
    assert!(
        live["headline"].as_str().unwrap().starts_with("Finished"),
        "{found:#}"
    );
    assert_eq!(live["same"], true, "it was loaded again: {found:#}");
    assert_eq!(live["finished"], 300, "{found:#}");
    assert!(
        live["title"].as_str().unwrap().starts_with("300/300"),
        "{found:#}"
    );
    // What a screen reader hears when it ends.
    assert_eq!(live["said"], live["headline"], "{found:#}");
    assert_eq!(
        live["first"], "To the content",
        "the first stop of the keyboard: {found:#}"
    );
    assert_eq!(
        live["focus"], live["target"],
        "the focus was lost: {found:#}"
    );
    assert_eq!(
        found["bare"], live["headline"],
        "without scripts: {found:#}"
    );
    run.wait();
    drop(sandbox);
}

#[test]
fn the_page_of_the_sandbox_refreshes_itself_and_axe_finds_nothing() {
    let Some(tools) = tools() else { return };
    let world = World::new(&Setup::default());
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "realistic"]);
    let world = world.towards(&sandbox.base_url);
    world.write_rows("batch.csv", &files::rows(20, 32));
    world.disburse(&["pay", "batch.csv", "--batch", "b", "--yes"]);
    let address = format!("{}/", sandbox.base_url);
    let found = look(&tools, &[("sandbox", address)], None);
    assert_eq!(found["findings"], json!([]), "{found:#}");
    assert_eq!(found["looked"], 6);
}
