//! Files that list recipients, one a line.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::custody::{self, Holds};
use crate::cli::config::Error;
use crate::domain::Country;
use crate::ledger::limits::names::read_line;
use crate::ledger::limits::{Entries, NameList};

/// Lines that name somebody, at most: each takes 32 bytes, or 64, of memory.
const NAMES_MAX: usize = 1_000_000;
const SIZE_MAX: u64 = 128 * 1024 * 1024;
/// What is read of one line, so that a file without an end of line is no burden.
const LINE_MAX: u64 = 1_024;

/// Reads a list. Phone numbers are those of the country. Where money can move, nobody else may have written it.
pub(in crate::cli::config) fn read(
    path: &Path,
    key: &'static str,
    country: Option<Country>,
    is_rehearsal: bool,
) -> Result<NameList, Error> {
    let refused = |line: Option<usize>, problem: String| Error::List {
        key,
        path: path.to_owned(),
        line,
        problem,
    };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => refused(None, "no such file".to_owned()),
        _ => refused(None, format!("cannot be read: {error}")),
    };
    let (file, metadata) = custody::open(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(refused(None, "is not a regular file".to_owned()));
    }
    if !is_rehearsal {
        custody::check(Holds::Configuration, path, &metadata)?;
    }
    if metadata.len() > SIZE_MAX {
        return Err(refused(None, format!("is larger than {SIZE_MAX} bytes")));
    }
    let mut reader = BufReader::new(file.take(SIZE_MAX));
    let (mut names, mut line, mut number) = (Vec::new(), Vec::new(), 0);
    let mut entries = Entries::default();
    loop {
        line.clear();
        let read = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line);
        if read.map_err(failed)? == 0 {
            return Ok(NameList::of(names).with(entries));
        }
        number += 1;
        let text = std::str::from_utf8(&line)
            .map_err(|_| refused(Some(number), "is not UTF-8".to_owned()))?;
        let text = text.trim_start_matches('\u{feff}').trim_end();
        let found = read_line(text, country);
        let found = found.map_err(|error| refused(Some(number), error.to_string()))?;
        entries.add(text, &found);
        names.extend(found);
        if names.len() > 2 * NAMES_MAX {
            return Err(refused(
                Some(number),
                format!("more than {NAMES_MAX} recipients are more than a list can hold"),
            ));
        }
    }
}
