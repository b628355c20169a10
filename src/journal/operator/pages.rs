//! Payments of a batch that are moved a page at a time, in the order of loading.

use std::ops::ControlFlow;

use crate::domain::{BatchId, PaymentId};
use crate::journal::Error;
use crate::journal::session::expected::in_turn;
use crate::lifecycle::State;
use crate::store::tables::life;
use crate::store::{Read, Reads, Scan, Test, shape};

/// Payments that are moved at a time.
pub(in crate::journal) const PAGE: usize = 1000;

shape! {
    /// What of a life decides whether an order is about its payment.
    pub(in crate::journal) struct Standing of life {
        seq: PaymentId, state: State, attempts: u32, exposures: u32, known: i64,
    }
}

/// The payments of a batch that stand at some states.
pub(in crate::journal) struct Pages<'a> {
    batch_id: BatchId,
    states: &'a [State],
    /// Before the first of them, and the last.
    before: PaymentId,
    last: PaymentId,
}

impl<'a> Pages<'a> {
    /// Finds where they are. What comes to these states while they are moved may be left out.
    // Of what is ready or in doubt an index has all: nobody reads the lives of other batches for it.
    pub(in crate::journal) fn of(
        c: &dyn Read,
        batch_id: BatchId,
        states: &'a [State],
    ) -> Result<Self, Error> {
        let mut pages = Self {
            batch_id,
            states,
            before: PaymentId::NONE,
            last: PaymentId::NONE,
        };
        for state in states {
            let of_state = match state {
                State::Ready => Scan::by(&life::post_queue).at(&batch_id),
                State::InDoubt => Scan::by(&life::ask_queue).at(&batch_id).at(state),
                _ => {
                    pages.before = PaymentId::NONE;
                    pages.last = PaymentId::new(i64::MAX);
                    return Ok(pages);
                }
            };
            c.each_row(&of_state, &[life::seq], |row| {
                pages.reach(row.get(0)?);
                Ok::<_, Error>(ControlFlow::Continue(()))
            })?;
        }
        Ok(pages)
    }

    fn reach(&mut self, seq: PaymentId) {
        let before = PaymentId::new(seq.get() - 1);
        self.before = match self.last {
            PaymentId::NONE => before,
            _ => self.before.min(before),
        };
        self.last = self.last.max(seq);
    }

    /// Returns the next of them that fit, no more than a page.
    pub(in crate::journal) fn behind(
        &self,
        c: &dyn Read,
        after: PaymentId,
        mut fits: impl FnMut(&Standing) -> Result<bool, Error>,
    ) -> Result<Vec<PaymentId>, Error> {
        let after = after.max(self.before);
        let lives = Scan::of(&life::TABLE)
            .after(&after)
            .up_to(&self.last)
            .only(life::batch_id, Test::is(&self.batch_id))
            .only(life::state, Test::among(self.states));
        let (mut page, mut looked) = (Vec::new(), Vec::new());
        c.each_until(&lives, |life: Standing| {
            looked.push(life);
            if page.len() + looked.len() >= PAGE {
                add_those_that_fit(c, &mut looked, &mut fits, &mut page)?;
            }
            Ok::<_, Error>(match page.len() < PAGE {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        add_those_that_fit(c, &mut looked, &mut fits, &mut page)?;
        Ok(page)
    }
}

/// Takes payments out of those that are looked at, and adds the ones that fit to a page.
fn add_those_that_fit(
    c: &dyn Read,
    looked: &mut Vec<Standing>,
    fits: &mut impl FnMut(&Standing) -> Result<bool, Error>,
    page: &mut Vec<PaymentId>,
) -> Result<(), Error> {
    let seqs: Vec<PaymentId> = looked.iter().map(|life| life.seq).collect();
    for (life, turn) in looked.drain(..).zip(in_turn(c, &seqs)) {
        turn?;
        if fits(&life)? {
            page.push(life.seq);
        }
    }
    Ok(())
}
