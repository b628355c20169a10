//! What a release says of its making: the commit of its own checkout, nobody else's, and no date.

use std::path::Path;
use std::process::Command;

/// What the build script says, in a folder, with these variables.
fn commit_of(script: &Path, folder: &Path, variables: &[(&str, &str)]) -> String {
    let said = Command::new(script)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("CARGO_MANIFEST_DIR", folder)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("cargo:rustc-env=BUILT_FROM="));
    line.unwrap().to_owned()
}

fn git(folder: &Path, words: &str) -> String {
    let said = Command::new("git")
        .args([
            "-c",
            "user.name=somebody",
            "-c",
            "user.email=somebody@example.org",
        ])
        .args(words.split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(said.status.success(), "git {words}: {said:?}");
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_release_names_the_commit_of_its_own_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    let built = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args(["--edition", "2024", "-o"])
        .arg(&script)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs"))
        .status()
        .unwrap();
    assert!(built.success());
    let checkout = folder.path().join("checkout");
    let inside = checkout.join("vendored");
    std::fs::create_dir_all(&inside).unwrap();
    let release = [("PROFILE", "release")];
    assert_eq!(
        commit_of(&script, &checkout, &release),
        "unknown",
        "an archive"
    );
    git(&checkout, "init -q");
    git(&checkout, "commit -q --allow-empty -m first");
    let commit = git(&checkout, "rev-parse --short=12 HEAD");
    assert_eq!(commit_of(&script, &checkout, &release), commit);
    assert_eq!(
        commit_of(&script, &inside, &release),
        "unknown",
        "in somebody else's"
    );
    assert_eq!(
        commit_of(&script, &checkout, &[("PROFILE", "debug")]),
        "development"
    );
    for (named, expected) in [
        ("0123abcd4567", "0123abcd4567"),
        ("v1.0", commit.as_str()),
        ("", commit.as_str()),
    ] {
        let variables = [("PROFILE", "release"), ("DISBURSE_COMMIT", named)];
        assert_eq!(
            commit_of(&script, &checkout, &variables),
            expected,
            "{named}"
        );
    }
}
