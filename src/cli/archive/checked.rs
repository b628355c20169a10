//! An archive that was opened: every digest compared, its evidence computed again, its figures held against that.

use std::fs::File;
use std::path::Path;

use super::manifest::Manifest;
use super::names::{HEADS, JOURNAL};
use super::unpack::{Unpacked, unpack};
use crate::cli::Error;
use crate::cli::files::scratch::{Scratch, Use};
use crate::cli::session::Session;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Location, Proof, Reader, Standing};
use crate::ledger::heads::{BatchHead, is_of};

/// What to do about an archive that is not what it was.
const KEEP: &str = "keep it as it is, and use another copy of the archive; the receipt (the .json beside it) has the \
    digest that the archive must have";

/// An archive that is what it says.
#[derive(Debug)]
pub(in crate::cli) struct Checked {
    folder: Scratch,
    pub(in crate::cli) manifest: Manifest,
    pub(in crate::cli) batch: BatchName,
    pub(in crate::cli) standing: Standing,
    /// What was found when its evidence was computed again, which may be something.
    pub(in crate::cli) proof: Proof,
}

impl Checked {
    /// Opens an archive that is plain. `name`: how it is told; `place`: where its journal is unpacked, for as long as this lives.
    ///
    /// # Errors
    /// Whatever of it is not what it says, but for its evidence: see [`Self::proof`].
    pub(in crate::cli) fn open(
        name: &str,
        file: &mut File,
        place: Option<&Path>,
    ) -> Result<Self, Error> {
        let refused = |what: &dyn std::fmt::Display| {
            Error::refused(format!("{name}: this archive cannot be trusted: {what}")).hint(KEEP)
        };
        let folder = match place {
            Some(place) => Scratch::beside(place, Use::Reading),
            None => Scratch::temporary(Use::Reading),
        }
        .map_err(|error| {
            Error::refused(format!("{name}: there is no place to unpack it: {error}"))
        })?
        .until_ended();
        let Unpacked { manifest, heads } =
            unpack(file, folder.path()).map_err(|what| refused(&what))?;
        // The place it is unpacked to is nobody's business.
        let of_journal = |error: crate::journal::Error| {
            let path = folder.path().join(JOURNAL).display().to_string();
            refused(&error.to_string().replace(&path, JOURNAL))
        };
        let (reader, batch) =
            Reader::of_archive(&folder.path().join(JOURNAL)).map_err(of_journal)?;
        let (standing, proof) = {
            let snapshot = reader.snapshot(&batch).map_err(of_journal)?;
            (
                snapshot.standing().map_err(of_journal)?,
                snapshot.prove(None).map_err(of_journal)?,
            )
        };
        let told = Manifest::of(&reader, &batch, Timestamp::now()).map_err(of_journal)?;
        if let Some(what) = manifest.differs(&told) {
            return Err(refused(&format!("manifest.json: {what}")));
        }
        let head = BatchHead {
            batch: batch.to_string(),
            rows: standing.evidence.length,
            head: standing.evidence.hash,
        };
        if heads.is_some_and(|text| !is_of(&text, &told.journal, &head)) {
            return Err(refused(&format!(
                "{HEADS}: it is not the head of the evidence in its journal, {}",
                standing.evidence.hex()
            )));
        }
        drop(reader);
        Ok(Self {
            folder,
            manifest,
            batch,
            standing,
            proof,
        })
    }

    /// Returns a session over its journal, in which every command that reads does what it does elsewhere.
    pub(in crate::cli) fn session(&self, session: &Session) -> Session {
        over(session, &self.folder.path().join(JOURNAL))
    }
}

/// Returns a session over another journal.
pub(in crate::cli) fn over(session: &Session, journal: &Path) -> Session {
    Session::over(session.common.clone(), Location::from(journal))
}
