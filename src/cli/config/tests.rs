//! What the configuration accepts, refuses, prefers and hides.

mod approval;
mod dialects;
mod journal;
mod layouts;
mod limits;
mod notices;
mod precedence;
mod refusals;
mod sample;
mod sandbox;
mod secrets;
mod statements;
mod values;

use std::path::PathBuf;

use super::*;

/// A folder with one configuration file, and sources that read it.
struct Folder {
    directory: tempfile::TempDir,
    sources: Sources,
}

impl Folder {
    /// Returns a folder without any file.
    fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources {
            directory: directory.path().to_owned(),
            ..Sources::default()
        };
        Self { directory, sources }
    }

    /// Returns a folder whose `disburse.toml` holds `text`.
    fn with(text: impl AsRef<[u8]>) -> Self {
        let folder = Self::empty();
        std::fs::write(folder.path("disburse.toml"), text).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.sources
            .environment
            .insert(name.to_owned(), value.to_owned());
        self
    }

    fn flag(mut self, key: &str, value: &str) -> Self {
        self.sources
            .overrides
            .push((key.to_owned(), value.to_owned()));
        self
    }

    fn profile(mut self, name: &str) -> Self {
        self.sources.profile = Some(name.to_owned());
        self
    }

    fn load(&self) -> Settings {
        Settings::load(&self.sources).unwrap()
    }

    /// Returns error and hint as they are printed, with the folder's own path taken out.
    fn refusal(&self) -> String {
        let error = Settings::load(&self.sources).unwrap_err();
        self.printed(&error)
    }

    fn printed(&self, error: &Error) -> String {
        let hint = error.hint().unwrap_or_default();
        let folder = format!("{}/", self.directory.path().display());
        format!("{error}\n{hint}").replace(&folder, "")
    }
}

/// Returns the line of `config show` for a key, as `value (origin)`.
fn shown(settings: &Settings, key: &str) -> String {
    let value = show(settings).into_iter().find(|value| value.key == key);
    let value = value.unwrap();
    format!(
        "{} ({})",
        value.value.as_deref().unwrap_or("-"),
        value.origin
    )
}
