//! A journal held against the mark beside it.

use std::path::Path;

use super::begun::{Missing, begin};
use super::given_orders::{given_orders, orders};
use super::marks::{first_mark, marked};
use super::server_copy::on_server;
use crate::domain::{EvidenceId, OrderId};
use crate::journal::codec::catalog::{epoch, has, name};
use crate::journal::mark::{self, Place};
use crate::journal::read::reader::{Reader, Seen};
use crate::journal::schema::open;
use crate::journal::session::following::Beside;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, ServerAddress};
use crate::ledger::recovery::{Found, Mark, Traces, Verdict, judge, payers_kept, with_orders};
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan, Test, Transact};

/// Reads what lies beside a journal, and when the journal's file was born.
pub(in crate::journal) fn traces_of(journal: &Path) -> Result<Seen, Error> {
    let (traces, born) = match open::absolute(journal) {
        Ok(journal) => (Place::of(&journal).look()?, mark::born(&journal)),
        // Whatever is wrong with the path is said of the journal.
        Err(_) => (Traces::NONE, None),
    };
    Ok(Seen { traces, born })
}

/// Reads what this host has seen of a journal on a server. Where it keeps nothing, or nothing that can be read, whoever only reads
/// goes on without.
pub(super) fn traces_of_server(address: &ServerAddress) -> Traces {
    let traces = address.mark().map(|path| Place::of(&path).look());
    traces.and_then(Result::ok).unwrap_or(Traces::NONE)
}

impl Reader {
    /// Judges the journal by what lay beside it, or on this host, which is returned too; `None`: nothing can be told.
    pub(in crate::journal) fn judged(&self) -> Result<Option<(&Traces, Verdict, Found)>, Error> {
        let Some(Seen { traces, born }) = &self.beside else {
            return Ok(None);
        };
        let (verdict, found) = look(self.store(), traces, *born)?;
        Ok(Some((traces, verdict, found)))
    }
}

/// Judges a journal that was just opened by the mark beside it, and begins its recovery where it may have missed something.
pub(in crate::journal) fn take_place(
    c: &mut WriteSession,
    path: &Path,
    place: Place,
    born: Option<u64>,
) -> Result<Verdict, Error> {
    let verdict = {
        // Held throughout: of two processes that open it at once, one finds what the other has made of it.
        let mut held = place.hold()?;
        let traces = held.traces()?;
        let (verdict, found) = look(&**c, &traces, born)?;
        match verdict {
            Verdict::Current => {
                if let Some(marked) = with_orders(&traces, &found) {
                    held.write(marked, true)?;
                }
            }
            Verdict::Fresh => {
                let kept = payers_kept(&traces, &found);
                first_mark(c, &mut held, marked(c, born, kept, &traces.mark)?)?;
            }
            Verdict::Behind(cause) | Verdict::Copy(cause) => {
                assert_whole(c, path)?;
                let missing = Missing::of(c, cause, &traces, &found)?;
                begin(c, &missing)?;
                let kept = payers_kept(&traces, &found);
                held.write(marked(c, born, kept, &traces.mark)?, true)?;
            }
        }
        verdict
    };
    c.follow(Beside {
        place,
        journal: name(c)?,
        born,
        epoch: epoch(c)?,
        orders: orders(c)?,
    });
    Ok(verdict)
}

/// Judges a journal by what was read before beside it.
// In this order: what a run beside it writes meanwhile can only bring the journal further.
pub(in crate::journal) fn look(
    c: &dyn Transact,
    traces: &Traces,
    born: Option<u64>,
) -> Result<(Verdict, Found), Error> {
    let positions = match &traces.mark {
        Mark::Read(marked) => &marked.positions[..],
        Mark::Missing | Mark::Unreadable => &[],
    };
    let heads = positions.iter().map(|position| {
        let row = Scan::of(&evidence::TABLE)
            .at(&position.evidence_id)
            .only(evidence::batch_id, Test::is(&position.batch_id));
        let found: Option<Option<[u8; 32]>> = c.value(&row, evidence::hash)?;
        Ok(found.flatten())
    });
    let newest = Scan::of(&evidence::TABLE).descending();
    let newest: Option<EvidenceId> = c.value(&newest, evidence::evidence_id)?;
    let found = Found {
        journal: name(c)?,
        born,
        was_marked: has(c, "marked")?,
        is_backup: has(c, "backup")?,
        epoch: epoch(c)?,
        evidence: newest.unwrap_or(EvidenceId::NONE),
        orders: orders(c)?,
        given: given_orders(c, OrderId::NONE)?,
        heads: heads.collect::<Result<_, Error>>()?,
        server: on_server(c)?,
    };
    #[cfg(debug_assertions)]
    if crate::failpoints::is_without("recovery") {
        return Ok((Verdict::Current, found));
    }
    Ok((judge(traces, &found), found))
}

/// Refuses a journal whose pages do not fit together: of a copy that was made half way, nothing can be told.
pub(in crate::journal) fn assert_whole(c: &dyn Read, path: &Path) -> Result<(), Error> {
    match c.damage()?.is_empty() {
        true => Ok(()),
        false => Err(Error::Damaged {
            path: path.into(),
            what: "its pages were not all written at the same time".into(),
        }),
    }
}
