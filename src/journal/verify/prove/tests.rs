//! A store that is lost while it is verified.

use std::cell::Cell;
use std::ops::ControlFlow;

use crate::domain::{BatchId, BatchName};
use crate::journal::read::reader::Snapshot;
use crate::journal::schema::open::in_memory;
use crate::store::{self, Column, Read, Row, Scan};

/// A store whose connection ends after so many reads; whatever comes behind fails alike, or in another way.
struct Breaks<'c> {
    store: &'c dyn Read,
    left: Cell<usize>,
    error: store::Error,
}

impl Breaks<'_> {
    fn asked(&self) -> Result<(), store::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(self.error.clone()),
        }
    }
}

impl Read for Breaks<'_> {
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), store::Error> {
        self.asked()?;
        self.store.scan_rows(scan, columns, visit)
    }

    fn misfits(&self) -> Result<Vec<String>, store::Error> {
        self.asked()?;
        self.store.misfits()
    }

    fn damage(&self) -> Result<Vec<String>, store::Error> {
        self.asked()?;
        self.store.damage()
    }

    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, store::Error> {
        self.asked()?;
        self.store.count_rows(scan)
    }
}

/// A journal with a batch of one payment.
fn journal() -> impl Read {
    let c = in_memory().unwrap();
    c.execute_batch(
        "insert into batch (batch_id, name, originator, created_at) values (1, 'b', 'acme', 0);
         insert into service (service_id, code) values (1, 'B2C');
         insert into instruction (seq, batch_id, load_id, line, identifier, generation, received_at, service_id, msisdn, amount, currency,
             country)
         values (1, 1, 1, 2, '0123456789ABCDEFGHJKMNPQR1', 0, 0, 1, '254700000001', 100, 'KES', 'KE');",
    )
    .unwrap();
    c
}

/// Verifies the batch over a store that breaks after so many reads.
fn findings(c: &dyn Read, reads: usize, error: store::Error) -> Result<u64, String> {
    let store = Breaks {
        store: c,
        left: Cell::new(reads),
        error,
    };
    let snapshot = Snapshot {
        c: &store,
        begun: None,
        batch: BatchName::parse("b").unwrap(),
        batch_id: BatchId::new(1),
    };
    let proof = snapshot.prove(None);
    proof
        .map(|proof| proof.findings_count)
        .map_err(|error| error.to_string())
}

#[test]
fn a_connection_that_ends_is_no_sign_that_the_journal_was_changed() {
    let lost = || store::Error::ConnectionLost {
        what: "terminating connection".into(),
    };
    let c = journal();
    // The row is on no chain: that is found where everything can be read.
    let all = (0..200).position(|reads| findings(&c, reads, lost()).is_ok());
    let all = all.expect("it ends");
    assert!(all > 5, "{all} reads");
    assert!(findings(&c, all, lost()).unwrap() > 0);
    for reads in 0..all {
        let said = findings(&c, reads, lost()).unwrap_err();
        assert!(said.contains("terminating connection"), "{said}");
    }
    // What cannot be read for another reason may have been changed.
    let odd = || store::Error::corrupt("a value that nobody writes");
    for reads in 0..all {
        assert!(findings(&c, reads, odd()).unwrap() > 0);
    }
}
