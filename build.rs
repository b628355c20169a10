//! What `disburse --version` says of its making: the commit, and no date, so that two builds of one commit are alike.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DISBURSE_COMMIT");
    // `cargo run` gives it to the program, which would take a name of its own for a setting that is mistyped.
    println!("cargo:rustc-env=BUILT_FROM={}", commit());
}

/// The commit, as far as it can be told: a package that is made of a source archive says it by the variable.
fn commit() -> String {
    if let Some(named) = std::env::var("DISBURSE_COMMIT")
        .ok()
        .filter(|named| is_commit(named))
    {
        return named;
    }
    // Whoever develops would build everything anew after each commit.
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return "development".to_owned();
    }
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    // The repository around an unpacked archive is that of something else.
    let is_ours = git(&here, &["rev-parse", "--show-toplevel"]).is_some_and(|top| {
        Path::new(&top).canonicalize().ok() == Path::new(&here).canonicalize().ok()
    });
    let found = match is_ours {
        true => git(&here, &["rev-parse", "--short=12", "HEAD"]).filter(|found| is_commit(found)),
        false => None,
    };
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&here, &["rev-parse", "--git-path", name])
            && is_ours
        {
            println!(
                "cargo:rerun-if-changed={}",
                Path::new(&here).join(path).display()
            );
        }
    }
    found.unwrap_or_else(|| "unknown".to_owned())
}

fn is_commit(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What git says; `None` where there is no git, or no repository.
fn git(folder: &str, arguments: &[&str]) -> Option<String> {
    let said = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| text.trim().to_owned())
}
