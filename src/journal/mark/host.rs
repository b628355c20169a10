//! The marks of this host: what it has seen of journals on servers, under whatever address.

use super::Place;
use crate::journal::ServerAddress;
use crate::ledger::recovery::{Mark, Marked};

/// Returns what this host has seen of journals on servers, and where each mark is kept.
pub(in crate::journal) fn seen_here(
    address: &ServerAddress,
) -> impl Iterator<Item = (Place, Marked)> {
    let files = address
        .state_folder()
        .and_then(|folder| folder.read_dir().ok());
    files.into_iter().flatten().filter_map(|file| {
        let path = file.ok()?.path();
        path.extension().filter(|extension| *extension == "mark")?;
        let place = Place::of(&path.with_extension(""));
        match place.look().ok()?.mark {
            Mark::Read(seen) => Some((place, seen)),
            Mark::Missing | Mark::Unreadable => None,
        }
    })
}
