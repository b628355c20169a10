//! Where the configuration says that the journal is, asked before a command begins.
//!
//! What looks at a journal goes on where the configuration cannot be used, as long as no profile of it names a journal. Where one does,
//! every mistake of the file is told: a journal that was not meant knows of no payment.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::file::document::Document;
use super::file::source::{self, Source};
use super::settings::{Sources, choose_profile};
use super::value::suggest;
use super::{Error, Origin};

/// The two keys, as variables or the profile have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalKeys {
    /// Where it is.
    pub journal: Option<String>,
    /// The file of the password, for one on a server.
    pub password_file: Option<String>,
}

const KEYS: [&str; 2] = ["journal", "journal_password_file"];

/// Reads the keys that say where the journal is.
///
/// # Errors
/// A file that cannot be read as TOML, or that lacks the profile of `--profile`; where a profile has one of the keys, whatever [`super::Settings::load`] says of the file and of
/// the choice of a profile.
pub fn journal_keys(sources: &Sources) -> Result<JournalKeys, Error> {
    let found = of_file(sources)?;
    let of = |name: &str, found: Option<String>| {
        let variable = super::find(name).and_then(|key| sources.environment.get(key.env));
        variable.cloned().or(found)
    };
    Ok(JournalKeys {
        journal: of(KEYS[0], found.journal),
        password_file: of(KEYS[1], found.password_file),
    })
}

fn of_file(sources: &Sources) -> Result<JournalKeys, Error> {
    let flag = sources.config_path.as_deref();
    let located = source::locate(flag, &sources.environment, &sources.directory);
    let Ok(path) = &located else {
        return Ok(JournalKeys::default());
    };
    let glance = glance(path)?;
    // Whoever names a profile means one that is there, whatever the command needs of it.
    if let Some(name) = sources.profile.as_ref().filter(|name| *name != "sandbox")
        && !glance.profiles.contains(name)
    {
        return Err(Error::UnknownProfile {
            place: Origin::Flag,
            name: name.clone(),
            hint: suggest::profile(name, &glance.profiles, Some(path)),
        });
    }
    if !glance.names_a_journal {
        return Ok(JournalKeys::default());
    }
    // Read again: nobody else may have written what says where the journal is.
    let text = source::read(path, false)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let document = Document::parse(&Source::new(Some(path), &text), directory)?;
    // The profile of the sandbox need not be in the file.
    let named = sources.profile.as_ref();
    let is_built_in = named.is_some_and(|name| name == "sandbox");
    let chosen = choose_profile(sources, &document, &located, is_built_in)?;
    let profile = chosen.and_then(|name| document.profiles.get(&name));
    let of = |name: &str| Some(profile?.get(name)?.text.clone());
    Ok(JournalKeys {
        journal: of(KEYS[0]),
        password_file: of(KEYS[1]),
    })
}

/// What a file says of its profiles, whatever mistakes it has besides.
#[derive(Default)]
struct Glance {
    profiles: Vec<String>,
    /// One of them has one of the keys.
    names_a_journal: bool,
}

fn glance(path: &Path) -> Result<Glance, Error> {
    let text = source::read(path, true)?;
    let source = Source::new(Some(path), &text);
    let table = DeTable::parse(source.text()).map_err(|error| source.misread(&error))?;
    let profiles = match table.get_ref().get("profiles").map(toml::Spanned::get_ref) {
        Some(DeValue::Table(profiles)) => profiles,
        _ => return Ok(Glance::default()),
    };
    let has_one = |profile: &DeValue<'_>| match profile {
        DeValue::Table(profile) => KEYS.iter().any(|key| profile.contains_key(*key)),
        _ => false,
    };
    Ok(Glance {
        names_a_journal: profiles.values().any(|profile| has_one(profile.get_ref())),
        profiles: profiles
            .keys()
            .map(|name| name.get_ref().to_string())
            .collect(),
    })
}
