//! The marks of this host: what it has seen of journals on servers, under whatever address.

use super::Place;
use crate::journal::ServerAddress;
use crate::ledger::recovery::{Mark, Marked};

/// Returns what this host has seen of journals on servers, and where each mark is kept; `None`: a mark that cannot be read.
pub(in crate::journal) fn seen_here(
    address: &ServerAddress,
) -> impl Iterator<Item = (Place, Option<Marked>)> {
    let files = address
        .state_folder()
        .and_then(|folder| folder.read_dir().ok());
    files.into_iter().flatten().filter_map(|file| {
        let path = file.ok()?.path();
        path.extension().filter(|extension| *extension == "mark")?;
        let place = Place::of(&path.with_extension(""));
        match place.look().map(|traces| traces.mark) {
            Ok(Mark::Read(seen)) => Some((place, Some(seen))),
            Ok(Mark::Missing) => None,
            Ok(Mark::Unreadable) | Err(_) => Some((place, None)),
        }
    })
}
