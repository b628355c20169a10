//! "Did you mean".

use std::path::Path;

use super::kind::{named, quoted};
use crate::cli::config::keys::{KEYS, OTHER_VARIABLES};

/// The most profiles that one hint names.
const LISTED_MAX: usize = 20;

/// Returns the candidate nearest to a mistyped word, if any is near.
pub(in crate::cli::config) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let normal = |text: &str| text.to_lowercase().replace([' ', '-'], "_");
    let word = normal(word);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &normal(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(candidate.len().min(word.len()) / 3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Suggests the nearest of some names, or lists them all.
pub(in crate::cli) fn one_of(word: &str, names: &[&str]) -> String {
    match nearest(word, names.iter().copied()) {
        Some(name) => format!("did you mean {name:?}?"),
        None => format!("known are {}", names.join(", ")),
    }
}

/// Suggests a profile key for `name`, found in the table `group` of the profile whose header is `header`.
pub(in crate::cli::config) fn profile_key(group: &str, name: &str, header: &str) -> String {
    let table = |group: &str| match group {
        "" => format!("[{header}]"),
        group => format!("[{header}.{group}]"),
    };
    let in_file = || KEYS.iter().filter(|key| !key.secret);
    let last = |full: &'static str| full.rsplit('.').next().unwrap_or(full);
    if let Some(key) = in_file().find(|key| last(key.name) == name) {
        return format!("{name:?} belongs in {}", table(key.group()));
    }
    let mut here: Vec<_> = in_file()
        .filter(|key| key.group() == group)
        .map(|key| last(key.name))
        .collect();
    if group.is_empty() {
        here.extend(["limits", "resolution", "callback"]);
    }
    if let Some(near) = nearest(name, here.iter().copied()) {
        return format!("did you mean {near:?}?");
    }
    match in_file().find(|key| nearest(name, [last(key.name)]).is_some()) {
        Some(key) => format!(
            "did you mean {:?} in {}?",
            last(key.name),
            table(key.group())
        ),
        None => format!("{} takes {}", table(group), here.join(", ")),
    }
}

/// Suggests an environment variable.
pub(in crate::cli::config) fn variable(name: &str) -> String {
    let known = KEYS.iter().map(|key| key.env);
    match nearest(name, known.chain(OTHER_VARIABLES.iter().copied())) {
        Some(near) => format!("did you mean {near}?"),
        None => "variables that begin with DISBURSE_ set keys of the profile; unset it".to_owned(),
    }
}

/// Lists a file's profiles.
pub(in crate::cli::config) fn profiles(known: &[String], file: &Path) -> String {
    if known.is_empty() {
        return format!("{} has no profiles", file.display());
    }
    let names: Vec<String> = known
        .iter()
        .take(LISTED_MAX)
        .map(|name| named(name))
        .collect();
    let more = match known.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} has {}{more}", file.display(), names.join(", "))
}

/// Suggests one of a file's profiles.
pub(in crate::cli::config) fn profile(name: &str, known: &[String], file: Option<&Path>) -> String {
    let Some(file) = file else {
        return "there is no configuration file; name one with --config".to_owned();
    };
    let known_here = profiles(known, file);
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}? {known_here}", quoted(near)),
        None => known_here,
    }
}
