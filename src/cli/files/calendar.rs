//! When the services of the configuration are open, with the holidays that their files list.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;

use crate::cli::Error;
use crate::cli::config::{Settings, open_list};
use crate::ledger::calendar::{Calendar, OpeningHours, holidays};

/// A list of holidays is a page of text.
const SIZE_MAX: u64 = 256 * 1024;

/// Reads the opening hours of every service that has any.
pub(in crate::cli) fn calendar(settings: &Settings) -> Result<Calendar, Error> {
    let mut lists: BTreeMap<&Path, Arc<BTreeSet<Date>>> = BTreeMap::new();
    let mut hours = BTreeMap::new();
    let is_rehearsal = settings.is_rehearsal;
    for (service, terms) in &settings.services {
        let Some(window) = &terms.window else {
            continue;
        };
        let free = match &window.holidays {
            None => Arc::default(),
            Some(path) => match lists.get(path.as_path()) {
                Some(list) => Arc::clone(list),
                None => {
                    let list = Arc::new(read(path, is_rehearsal)?);
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
                "services.{service}.window: the time zone of {} is not known",
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

fn read(path: &Path, is_rehearsal: bool) -> Result<BTreeSet<Date>, Error> {
    let name = path.display();
    let hint = "a list of holidays has one day a line, such as 2026-12-25 Christmas; `#` begins a comment. It is looked for beside the configuration";
    let refused = |what: String| Error::refused(format!("{name}{what}")).hint(hint);
    let mut text = String::new();
    let file = open_list(path, is_rehearsal)
        .map_err(|error| Error::refused(format!("{error}; nothing was sent")).hint(hint))?;
    let read = file.take(SIZE_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| refused(format!(": cannot be read as UTF-8: {error}")))?;
    if text.len() as u64 > SIZE_MAX {
        return Err(refused(": is larger than any list of holidays".to_owned()));
    }
    holidays(&text).map_err(|(line, found)| {
        refused(format!(
            ":{line}: expected a day such as 2026-12-25, found {found:?}; nothing was sent"
        ))
    })
}
