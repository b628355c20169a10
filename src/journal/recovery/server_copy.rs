//! What a journal on a server says of itself: which copy it is, and how it was called before.

use crate::journal::Error;
use crate::journal::codec::facts::{fact, note};
use crate::journal::codec::values::corrupt;
use crate::ledger::recovery::{JournalId, OnServer, Origin, Traces};
use crate::store::{Read, Transact, Write};

/// Under this name `meta` has the copy that was opened last to be written.
pub(in crate::journal) const COPY: &str = "copy";

/// Under this name it has the names that the journal had before: a host that saw it last under one of them has not seen another one.
const NAMES: &str = "names";

/// Returns what a journal on a server tells; `None`: it is on none.
pub(in crate::journal) fn on_server(c: &dyn Transact) -> Result<Option<OnServer>, Error> {
    let Some(now) = c.server_position() else {
        return Ok(None);
    };
    Ok(Some(OnServer {
        now,
        known: noted_copy(c)?,
    }))
}

/// Returns which copy it is, as it says itself; `None` where it was never opened to be written.
pub(in crate::journal) fn noted_copy(c: &dyn Read) -> Result<Option<Origin>, Error> {
    let known: Option<String> = fact(c, COPY)?;
    let read = |text: String| Origin::read(&text).ok_or_else(|| corrupt("an unreadable origin"));
    known.map(read).transpose()
}

/// Notes which copy it is.
pub(in crate::journal) fn note_copy(c: &dyn Write, origin: Origin) -> Result<(), Error> {
    note(c, COPY, &origin.to_string())
}

/// Returns the names that the journal had before.
pub(in crate::journal) fn names_before(c: &dyn Transact) -> Result<Vec<JournalId>, Error> {
    let known: Option<Vec<u8>> = fact(c, NAMES)?;
    let known = known.unwrap_or_default();
    let names = known.chunks_exact(size_of::<JournalId>());
    Ok(names.filter_map(|name| name.try_into().ok()).collect())
}

/// Notes that the journal had a name before.
pub(in crate::journal) fn was_called(c: &dyn Transact, name: JournalId) -> Result<(), Error> {
    let mut names = names_before(c)?.concat();
    names.extend(name);
    note(c, NAMES, &names)
}

/// Returns what lies on this host, as of the journal that it speaks of, whatever that was called then, or later.
pub(in crate::journal) fn of_this(
    c: &dyn Transact,
    traces: Traces,
    name: JournalId,
) -> Result<Traces, Error> {
    Ok(traces.renamed(&names_before(c)?, name))
}

/// Under this name it has digests of marks under other addresses: what these say is on record.
const HEARD: &str = "heard";
/// So many are kept.
const HEARD_MAX: usize = 64;
/// What is kept of one.
pub(in crate::journal) type Heard = [u8; 8];

/// Returns which marks under other addresses it has heard.
pub(in crate::journal) fn heard(c: &dyn Read) -> Result<Vec<Heard>, Error> {
    let known: Option<Vec<u8>> = fact(c, HEARD)?;
    let known = known.unwrap_or_default();
    let marks = known.chunks_exact(size_of::<Heard>());
    Ok(marks.filter_map(|mark| mark.try_into().ok()).collect())
}

/// Notes that what a mark under another address says is on record.
pub(in crate::journal) fn note_heard(c: &dyn Transact, mark: Heard) -> Result<(), Error> {
    let mut marks = heard(c)?;
    marks.push(mark);
    let surplus = marks.len().saturating_sub(HEARD_MAX);
    note(c, HEARD, &marks[surplus..].concat())
}
