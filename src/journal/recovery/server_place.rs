//! A journal on a server held against what this host has seen of it, and against what it knows itself of the server that it was on.
//!
//! Each host that works on it has a mark of its own, in the folder in which programs of its user keep what they must not lose. One that
//! has none yet knows nothing: then what the journal says of its server decides alone.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use super::begun::{Missing, noticed};
use super::given_orders::orders;
use super::marks::marked;
use super::place::{look, traces_of_server};
use super::server_copy::{Heard, heard, names_before, note_copy, note_heard, of_this, on_server};
use crate::domain::Epoch;
use crate::journal::codec::catalog::{epoch, name};
use crate::journal::codec::facts::note_new;
use crate::journal::codec::values::corrupt;
use crate::journal::mark::host::seen_here;
use crate::journal::mark::{Held, Place, digest};
use crate::journal::session::following::Beside;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, ServerAddress};
use crate::ledger::recovery::{
    Found, Mark, Marked, Origin, ServerPosition, Traces, Verdict, payers_kept, with_orders,
};

use crate::store::{Read, Transact};

/// What was found, and what the mark of this host is to say; `None`: what it says.
struct Judged {
    verdict: Verdict,
    mark: Option<Marked>,
    /// Something is to be written into the journal.
    writes: bool,
}

/// Marks that are heard one after the other, when a journal is opened.
const MARKS_MAX: usize = 16;

/// Judges a journal on a server that was just opened, and begins its recovery where it may have missed something.
pub(in crate::journal) fn take_server_place(
    c: &mut WriteSession,
    address: &ServerAddress,
) -> Result<Verdict, Error> {
    let place = address.mark().map(|path| Place::of(&path));
    let verdict = {
        if let Some(folder) = address.state_folder() {
            make(folder)?;
        }
        // Held throughout: of two processes of this host that open it at once, one finds what the other has made of it.
        let mut held = place.as_ref().map(Place::hold).transpose()?;
        let mut verdict = None;
        for _ in 0..MARKS_MAX {
            let (judged, is_of_another) = looked_at(c, address, held.as_ref())?;
            if let (Some(held), Some(mark)) = (&mut held, judged.mark) {
                held.write(mark, true)?;
            }
            let is_worse = verdict.is_none_or(|before: Verdict| before.cause().is_none());
            if is_worse {
                verdict = Some(judged.verdict);
            }
            // Another mark may tell of something else that is missing.
            if !is_of_another || judged.verdict.cause().is_none() {
                break;
            }
        }
        verdict.ok_or_else(|| corrupt("no mark to judge it by"))?
    };
    c.follow_copy();
    if let Some(place) = place {
        c.follow(Beside {
            place,
            journal: name(c)?,
            born: None,
            epoch: epoch(c)?,
            orders: orders(c)?,
        });
    }
    Ok(verdict)
}

/// Judges a journal once, and begins its recovery where it may have missed something; returns whether a mark under another address says so.
fn looked_at(
    c: &mut WriteSession,
    address: &ServerAddress,
    held: Option<&Held<'_>>,
) -> Result<(Judged, bool), Error> {
    let traces = match held {
        Some(held) => held.traces()?,
        None => Traces::NONE,
    };
    // Mostly there is nothing to write, and nobody who writes is waited for.
    c.begin_reading()?;
    let seen = anew(c, traces).and_then(|(own, renewed)| {
        let told = told(&**c, address, seen_here(address).collect(), own)?;
        Ok((worst(c, told)?, renewed))
    });
    c.rollback()?;
    let ((seen, told), renewed) = seen?;
    let judged = match seen.writes {
        true => carry_out(c, &told)?,
        false => seen,
    };
    let judged = Judged {
        mark: judged.mark.or(renewed),
        ..judged
    };
    Ok((judged, told.of_another.is_some()))
}

/// Returns what lies under this address; where all that its mark says is on record, a mark of now in its place, which is returned as well.
fn anew(c: &WriteSession, own: Traces) -> Result<(Traces, Option<Marked>), Error> {
    let Mark::Read(mark) = &own.mark else {
        return Ok((own, None));
    };
    if !heard(&**c)?.contains(&digest(mark)) {
        return Ok((own, None));
    }
    let mut payers = mark.payers.clone();
    if mark.journal != name(c)? {
        payers.was_called(mark.journal);
    }
    let now = marked(c, None, payers, &own.mark)?;
    let own = Traces {
        mark: Mark::Read(now.clone()),
        ..Traces::NONE
    };
    Ok((own, Some(now)))
}

/// What this host has seen of the journal somewhere.
struct Told {
    traces: Traces,
    /// It was seen under another address: by this it is known again.
    of_another: Option<Heard>,
}

/// Returns what this host has seen of the journal: under this address, and under each other one, of another spelling or of the server
/// that it was on before. What it has seen anywhere of runs, evidence and orders counts, until it is on record.
///
/// The first of them is what the mark under this address goes on from. A journal that had a name of this one before may be in use still, as
/// one that was tried out beside it: that counts on this server, or where nothing was seen of this one. What was seen of these very
/// tables counts under any name: a copy from before a recovery does not know that of after it. Where nothing was seen of this journal, what
/// was seen of any other one in this database counts, too: it was in this place, however that was spelled, and what it posted is lost.
fn told(
    c: &dyn Transact,
    address: &ServerAddress,
    all: Vec<(Place, Option<Marked>)>,
    own: Traces,
) -> Result<Vec<Told>, Error> {
    let (name, former, heard) = (name(c)?, names_before(c)?, heard(c)?);
    let here = c.server_position().map(|position| position.origin);
    let is_there = |seen: &Marked, is: fn(&Origin, &Origin) -> bool| {
        let there = seen.server.map(|position| position.origin);
        here.zip(there)
            .is_some_and(|(here, there)| is(&here, &there))
    };
    let is_own = |seen: &Marked| matches!(&own.mark, Mark::Read(mark) if mark == seen);
    let is_first = own.mark == Mark::Missing;
    let unread = all.iter().find(|(_, seen)| seen.is_none());
    let unread = unread.map(|(place, _)| place.shown());
    let others = with_names(address, all);
    let is_unseen = is_first && !others.iter().any(|(_, seen)| seen.journal == name);
    let never_ran = epoch(c)? == Epoch::NONE;
    let was_here = |seen: &Marked, is_named_so: bool| {
        is_there(seen, Origin::is_beside)
            || never_ran && is_named_so && is_there(seen, Origin::is_of_the_server_of)
    };
    let counts = |seen: &Marked, is_named_so: bool| {
        seen.journal == name
            || is_unseen && was_here(seen, is_named_so)
            || former.contains(&seen.journal)
            || seen.payers.tell_of(name) && (is_unseen || is_there(seen, Origin::is_beside))
            || is_there(seen, Origin::is_of_the_tables_of)
    };
    let to_hear = |(is_named_so, seen): (bool, Marked)| {
        let is_new = !is_own(&seen) && !heard.contains(&digest(&seen));
        (is_new && counts(&seen, is_named_so)).then_some(seen)
    };
    let mut others: Vec<Marked> = others.into_iter().filter_map(to_hear).collect();
    others.sort_by_key(|seen| std::cmp::Reverse((seen.epoch, seen.orders)));
    let mut told: Vec<Told> = others
        .into_iter()
        .map(|seen| Told {
            of_another: Some(digest(&seen)),
            traces: Traces {
                mark: Mark::Read(Marked {
                    server: seen.server.filter(|_| is_there(&seen, Origin::is_beside)),
                    ..seen
                }),
                ..own.clone()
            },
        })
        .collect();
    // It may be the mark of this one.
    if let Some(file) = unread.filter(|_| is_unseen)
        && epoch(c)? != Epoch::NONE
    {
        tracing::warn!(
            file,
            "the file cannot be read, and may be what this machine had seen of the journal"
        );
        told.push(Told {
            of_another: None,
            traces: Traces {
                mark: Mark::Unreadable,
                ..own.clone()
            },
        });
    }
    if !is_first || told.is_empty() {
        let own = Told {
            traces: own,
            of_another: None,
        };
        told.insert(0, own);
    }
    Ok(told)
}

/// Returns the marks that can be read, and whether each may be of a database with the name of this one.
fn with_names(address: &ServerAddress, all: Vec<(Place, Option<Marked>)>) -> Vec<(bool, Marked)> {
    let all = all.into_iter().filter_map(|(place, seen)| {
        let is_named_so = address.may_be_of_the_database_of(&place.shown());
        Some((is_named_so, seen?))
    });
    all.collect()
}

/// Returns the first of what was seen by which the journal may have missed something; where there is none, the first of all.
fn worst(c: &WriteSession, told: Vec<Told>) -> Result<(Judged, Told), Error> {
    let mut first = None;
    for told in told {
        let judged = judged(c, &told.traces)?;
        if judged.verdict.cause().is_some() {
            return Ok((judged, told));
        }
        first.get_or_insert((judged, told));
    }
    first.ok_or_else(|| corrupt("no mark to judge it by"))
}

/// Returns what this host has seen of a journal, as whoever only reads it judges it by.
// The marks are read first, so that all that was seen before is there.
pub(in crate::journal) fn traces_for_reader(
    c: &dyn Transact,
    address: &ServerAddress,
) -> Result<Traces, Error> {
    let mut own = traces_of_server(address);
    let all = seen_here(address).collect();
    c.version()?;
    if let Mark::Read(mark) = &own.mark
        && heard(c)?.contains(&digest(mark))
    {
        own = Traces::NONE;
    }
    let mut first = None;
    for told in told(c, address, all, own)? {
        let ours = of_this(c, told.traces, name(c)?)?;
        if look(c, &ours, None)?.0.cause().is_some() {
            return Ok(ours);
        }
        first.get_or_insert(ours);
    }
    first.ok_or_else(|| corrupt("no mark to judge it by"))
}

fn make(folder: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|cause| Error::Mark {
        path: folder.into(),
        cause: format!("{cause}; XDG_STATE_HOME names another folder"),
    })
}

fn judged(c: &WriteSession, traces: &Traces) -> Result<Judged, Error> {
    let ours = of_this(&**c, traces.clone(), name(c)?)?;
    let (verdict, found) = look(&**c, &ours, None)?;
    let server = on_server(&**c)?;
    let is_other_copy = server.is_some_and(|server| server.known != Some(server.now.origin));
    Ok(Judged {
        verdict,
        mark: mark_after(c, verdict, (traces, &ours), &found)?,
        writes: is_other_copy || verdict.cause().is_some() || !found.was_marked,
    })
}

/// Returns what the mark is to say after a verdict; `None`: what it says.
fn mark_after(
    c: &WriteSession,
    verdict: Verdict,
    (traces, ours): (&Traces, &Traces),
    found: &Found,
) -> Result<Option<Marked>, Error> {
    Ok(match verdict {
        Verdict::Current => {
            let mark = with_orders(ours, found).or_else(|| renamed(traces, ours));
            on_this_copy(mark, ours, found)
        }
        Verdict::Fresh | Verdict::Behind(_) | Verdict::Copy(_) => {
            Some(marked(c, None, payers_kept(ours, found), &ours.mark)?)
        }
    })
}

/// Returns a mark that says which copy it is, where it does not say so yet: of the one before, this host uses nothing any more.
fn on_this_copy(mark: Option<Marked>, ours: &Traces, found: &Found) -> Option<Marked> {
    let known = match (&mark, &ours.mark) {
        (Some(mark), _) | (None, Mark::Read(mark)) => mark,
        (None, Mark::Missing | Mark::Unreadable) => return None,
    };
    let now = found.server.map(|server| server.now);
    let origin = |position: Option<ServerPosition>| position.map(|position| position.origin);
    if now.is_none() || origin(known.server) == origin(now) {
        return mark;
    }
    Some(Marked {
        server: now,
        ..known.clone()
    })
}

/// Returns the mark under the name that the journal has now, where it had another one.
fn renamed(before: &Traces, now: &Traces) -> Option<Marked> {
    match (&before.mark, &now.mark) {
        (Mark::Read(before), Mark::Read(now)) if before.journal != now.journal => Some(now.clone()),
        _ => None,
    }
}

/// Writes what follows from the verdict, judged once more in the transaction that writes it: another host may have been faster.
fn carry_out(c: &mut WriteSession, told: &Told) -> Result<Judged, Error> {
    Transact::begin(&**c)?;
    let done = c
        .begin()
        .and_then(|()| written(c, told))
        .and_then(|judged| {
            c.save()?;
            Ok(judged)
        });
    match done {
        Ok(judged) => {
            c.commit()?;
            Ok(judged)
        }
        Err(error) => {
            c.forget();
            let _ = c.rollback();
            Err(error)
        }
    }
}

fn written(c: &WriteSession, told: &Told) -> Result<Judged, Error> {
    let traces = &told.traces;
    let ours = of_this(&**c, traces.clone(), name(c)?)?;
    let (verdict, found) = look(&**c, &ours, None)?;
    if let Some(cause) = verdict.cause() {
        assert_sound(c)?;
        noticed(c, &Missing::of(c, cause, &ours, &found)?)?;
        if let Some(mark) = told.of_another {
            note_heard(&**c, mark)?;
        }
    }
    note_new(&**c, "marked", &1_i64)?;
    if let Some(server) = on_server(&**c)? {
        note_copy(&**c, server.now.origin)?;
    }
    Ok(Judged {
        verdict,
        mark: mark_after(c, verdict, (traces, &ours), &found)?,
        writes: false,
    })
}

/// Refuses a journal in which the server itself knows of damage.
fn assert_sound(c: &WriteSession) -> Result<(), Error> {
    match c.damage()?.first() {
        None => Ok(()),
        Some(what) => Err(Error::Server { what: what.clone() }),
    }
}

#[cfg(feature = "postgres")]
#[cfg(test)]
mod tests;
