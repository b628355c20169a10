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
use super::server_copy::{names_before, note_copy, of_this, on_server};
use crate::journal::codec::catalog::{epoch, name};
use crate::journal::codec::facts::note_new;
use crate::journal::codec::values::corrupt;
use crate::journal::mark::Place;
use crate::journal::mark::host::seen_here;
use crate::journal::session::following::Beside;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, ServerAddress};
use crate::ledger::recovery::{Found, Mark, Marked, Traces, Verdict, payers_kept, with_orders};
use crate::store::{Read, Transact};

/// What was found, and what the mark of this host is to say; `None`: what it says.
struct Judged {
    verdict: Verdict,
    mark: Option<Marked>,
    /// Something is to be written into the journal.
    writes: bool,
}

/// Judges a journal on a server that was just opened, and begins its recovery where it may have missed something.
pub(in crate::journal) fn take_server_place(
    c: &mut WriteSession,
    address: &ServerAddress,
) -> Result<Verdict, Error> {
    let place = address.mark().map(|path| Place::of(&path));
    let (verdict, told_by) = {
        if let Some(folder) = address.state_folder() {
            make(folder)?;
        }
        // Held throughout: of two processes of this host that open it at once, one finds what the other has made of it.
        let mut held = place.as_ref().map(Place::hold).transpose()?;
        let traces = match &held {
            Some(held) => held.traces()?,
            None => Traces::NONE,
        };
        // Mostly there is nothing to write, and nobody who writes is waited for.
        c.begin_reading()?;
        let all = seen_here(address).collect();
        let seen = told(&**c, all, traces).and_then(|told| worst(c, told));
        c.rollback()?;
        let (seen, Told { traces, elsewhere }) = seen?;
        let judged = match seen {
            seen if seen.writes => carry_out(c, &traces)?,
            seen => seen,
        };
        let told_by = elsewhere.filter(|_| judged.verdict.cause().is_some());
        let told_by = told_by.zip(judged.mark.clone());
        if let (Some(held), Some(mark)) = (&mut held, judged.mark) {
            held.write(mark, true)?;
        }
        (judged.verdict, told_by)
    };
    if let Some(((place, seen), mark)) = told_by {
        goes_on(&place, &seen, mark)?;
    }
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

/// What this host has seen of the journal somewhere.
struct Told {
    traces: Traces,
    /// The mark under another address that says so, and what it says.
    elsewhere: Option<(Place, Marked)>,
}

/// Returns what this host has seen of the journal: under this address, and under each other one, of another spelling or of the server
/// that it was on before. What it has seen anywhere of runs, evidence and orders counts.
///
/// The first of them is what the mark under this address goes on from. A journal that had the name of this one before, or whose name this one
/// had, may be in use still, as the one that this is a copy of, or the other way round: that counts on this server, or where nothing was seen
/// of this one. What was seen of these very tables counts under any name: a copy from before a recovery does not know that of after it.
fn told(c: &dyn Transact, all: Vec<(Place, Marked)>, own: Traces) -> Result<Vec<Told>, Error> {
    let (name, former) = (name(c)?, names_before(c)?);
    let here = c.server_position().map(|position| position.origin);
    let is_of_here = |seen: &Marked| {
        let there = seen.server.map(|position| position.origin);
        there.is_some_and(|there| here.is_some_and(|here| here.is_beside(&there)))
    };
    let has_these_tables = |seen: &Marked| {
        let there = seen.server.map(|position| position.origin);
        there.is_some_and(|there| here.is_some_and(|here| here.is_of_the_tables_of(&there)))
    };
    let is_own = |seen: &Marked| matches!(&own.mark, Mark::Read(mark) if mark == seen);
    let all: Vec<_> = all.into_iter().filter(|(_, seen)| !is_own(seen)).collect();
    let is_first = own.mark == Mark::Missing;
    let is_unseen = is_first && !all.iter().any(|(_, seen)| seen.journal == name);
    let counts = |seen: &Marked| {
        let is_related = former.contains(&seen.journal) || seen.payers.tell_of(name);
        seen.journal == name
            || is_related && (is_unseen || is_of_here(seen))
            || has_these_tables(seen)
    };
    let mut others: Vec<(Place, Marked)> =
        all.into_iter().filter(|(_, seen)| counts(seen)).collect();
    others.sort_by_key(|(_, seen)| std::cmp::Reverse((seen.epoch, seen.orders)));
    let mut told: Vec<Told> = others
        .into_iter()
        .map(|(place, seen)| Told {
            traces: Traces {
                mark: Mark::Read(Marked {
                    server: seen.server.filter(|_| is_of_here(&seen)),
                    ..seen.clone()
                }),
                ..own.clone()
            },
            // Elsewhere it may be in use, and go on from what it has seen.
            elsewhere: is_of_here(&seen).then_some((place, seen)),
        })
        .collect();
    if !is_first || told.is_empty() {
        let own = Told {
            traces: own,
            elsewhere: None,
        };
        told.insert(0, own);
    }
    Ok(told)
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
    let own = traces_of_server(address);
    let all = seen_here(address).collect();
    c.version()?;
    let mut first = None;
    for told in told(c, all, own)? {
        let ours = of_this(c, told.traces, name(c)?)?;
        if look(c, &ours, None)?.0.cause().is_some() {
            return Ok(ours);
        }
        first.get_or_insert(ours);
    }
    first.ok_or_else(|| corrupt("no mark to judge it by"))
}

/// Lets a mark under another address go on from the recovery that it has led to: what it says is on record now, and is told once.
fn goes_on(place: &Place, seen: &Marked, mark: Marked) -> Result<(), Error> {
    let mut held = place.hold()?;
    // Whoever was faster has written what counts.
    if !matches!(held.mark(), Mark::Read(found) if found == *seen) {
        return Ok(());
    }
    let mut payers = seen.payers.clone();
    payers.was_called(seen.journal);
    held.write(Marked { payers, ..mark }, true)
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
        Verdict::Current => with_orders(ours, found).or_else(|| renamed(traces, ours)),
        Verdict::Fresh | Verdict::Behind(_) | Verdict::Copy(_) => {
            Some(marked(c, None, payers_kept(ours, found), &ours.mark)?)
        }
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
fn carry_out(c: &mut WriteSession, traces: &Traces) -> Result<Judged, Error> {
    Transact::begin(&**c)?;
    let done = c
        .begin()
        .and_then(|()| written(c, traces))
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

fn written(c: &WriteSession, traces: &Traces) -> Result<Judged, Error> {
    let ours = of_this(&**c, traces.clone(), name(c)?)?;
    let (verdict, found) = look(&**c, &ours, None)?;
    if let Some(cause) = verdict.cause() {
        assert_sound(c)?;
        noticed(c, &Missing::of(c, cause, &ours, &found)?)?;
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
