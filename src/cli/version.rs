//! What this program is: version, commit, features, and the SQLite that it brings along.

use std::sync::LazyLock;

/// The commit that it was built from: `development` where nobody builds it for others, `unknown` where nothing tells.
pub(super) const COMMIT: &str = env!("BUILT_FROM");

/// What `--version` says behind the name of the program.
pub(super) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        format!(
            "{}\ncommit: {COMMIT}\nbuild: {}\nSQLite: {}",
            env!("CARGO_PKG_VERSION"),
            build().join(", "),
            rusqlite::version()
        )
    });
    &TEXT
}

/// What is in it that need not be, and for which system it is.
fn build() -> Vec<&'static str> {
    let mut found = vec![std::env::consts::OS, std::env::consts::ARCH];
    if cfg!(debug_assertions) {
        found.push("with debug assertions and points for tests");
    }
    if cfg!(feature = "fuzzing") {
        found.push("fuzzing");
    }
    if cfg!(target_feature = "crt-static") {
        found.push("static");
    }
    found
}
