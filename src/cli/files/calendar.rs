//! When the services of the configuration are open, with the holidays that their files list.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;

use super::open::open;
use crate::cli::Error;
use crate::cli::config::Settings;
use crate::ledger::calendar::{Calendar, OpeningHours, holidays};

/// A list of holidays is a page of text.
const SIZE_MAX: u64 = 256 * 1024;

/// Reads the opening hours of every service that has any.
pub(in crate::cli) fn calendar(settings: &Settings) -> Result<Calendar, Error> {
    let mut lists: BTreeMap<&Path, Arc<BTreeSet<Date>>> = BTreeMap::new();
    let mut hours = BTreeMap::new();
    for (service, terms) in &settings.services {
        let Some(window) = &terms.window else {
            continue;
        };
        let free = match &window.holidays {
            None => Arc::default(),
            Some(path) => match lists.get(path.as_path()) {
                Some(list) => Arc::clone(list),
                None => {
                    let list = Arc::new(read(path)?);
                    lists.insert(path, Arc::clone(&list));
                    list
                }
            },
        };
        let zone = window
            .zone
            .clone()
            .or_else(|| settings.profile.time_zone.clone());
        let zone = zone.ok_or_else(|| {
            Error::refused(format!(
                "services.{service}.window: nobody knows whose clock shows {}",
                window.text
            ))
            .hint(format!(
                "name the zone: time_zone of the profile, or services.{service}.zone"
            ))
        })?;
        let read = OpeningHours::parse(&window.text, zone, free)
            .map_err(|error| Error::refused(format!("services.{service}.window: {error}")))?;
        hours.insert(service.clone(), read);
    }
    Ok(Calendar::new(hours))
}

fn read(path: &Path) -> Result<BTreeSet<Date>, Error> {
    let name = path.display();
    let hint =
        "a list of holidays has one day a line, such as 2026-12-25 Christmas; `#` begins a comment";
    let mut text = String::new();
    let read = open(path)?.take(SIZE_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| Error::refused(format!("{name}: {error}")).hint(hint))?;
    if text.len() as u64 > SIZE_MAX {
        return Err(
            Error::refused(format!("{name}: is larger than any list of holidays")).hint(hint),
        );
    }
    holidays(&text).map_err(|(line, found)| {
        Error::refused(format!(
            "{name}:{line}: expected a day such as 2026-12-25, found {found:?}; nothing was sent"
        ))
        .hint(hint)
    })
}
