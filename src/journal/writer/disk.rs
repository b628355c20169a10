//! A disk of simulated time as a process meets it: put in its place, and read.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::simulated::Disk;
use crate::journal::mark::Place;
use crate::journal::read::reader::{Reader, Seen};
use crate::journal::recovery::place::take_place;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::recovery::Traces;

impl Disk {
    /// Judges the journal by the mark beside it, as a process does that opens it.
    pub(in crate::journal) fn take_place(&self) {
        let mut disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_mut().expect("the disk is there until it is read");
        self.put_in_place(chained);
    }

    fn put_in_place(&self, chained: &mut WriteSession) {
        // Nothing lies beside a server.
        if chained.is_shared() {
            return;
        }
        take_place(
            chained,
            Path::new(":memory:"),
            Place::Memory(Arc::clone(&self.0.1)),
            None,
        )
        .expect("memory is there");
    }

    /// Reads it as a report does.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Reader) -> T) -> T {
        let mut disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.take().expect("the disk is there until it is read");
        let waits = chained.take_waits();
        let beside = Seen {
            traces: Traces::NONE,
            born: None,
        };
        let reader = Reader::of(chained.into_inner(), Some(beside));
        let found = work(&reader);
        // A report is another process: whoever runs does not forget what it is to ask.
        let mut chained = WriteSession::new(reader.into_keeper());
        self.put_in_place(&mut chained);
        for (batch_id, waits) in waits {
            chained.begin_waits(batch_id, waits);
        }
        *disk = Some(chained);
        found
    }
}
