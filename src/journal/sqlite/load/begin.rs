//! How the rows of a load begin: their lives, their tallies, and what proves later that they are as they were loaded.

use rusqlite::params;

use super::job::Load;
use crate::journal::Error;
use crate::journal::sqlite::approval::verbs::pin_rule;
use crate::journal::sqlite::codec::events::PRESUMED_POSTED;
use crate::journal::sqlite::codec::values::{UNPRICED, corrupt, state_number};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::evidence::digests;
use crate::journal::sqlite::evidence::instruction_blocks;
use crate::journal::sqlite::payments::unstarted::begin_lane;
use crate::journal::sqlite::run::dates;
use crate::ledger::calendar::BatchDates;
use crate::lifecycle::State;

impl Load<'_> {
    /// Begins the lives of the new rows that do not wait for their first claim, and puts what was loaded on the chain.
    pub(in crate::journal::sqlite) fn begin_lives(&self) -> Result<(), Error> {
        let state = if self.presumes {
            // Asked before it is posted, where an earlier journal may have posted it.
            self.c.execute(
                "insert into life (seq, batch_id, service_id, state, due_at, exposures, quarantine_from)
                 select seq, batch_id, service_id, 2, 0, 1, ?2 from instruction not indexed
                 where seq > ?1 and generation = 0 and amount is not null order by seq",
                params![self.base, self.plan.now.as_millis()],
            )?;
            State::InDoubt
        } else {
            // What waits for its document is no fresh payment.
            self.c.execute(
                "insert into life (seq, batch_id, service_id, state, due_at)
                 select seq, batch_id, service_id, 0, 0 from instruction indexed by instruction_with_document
                 where batch_id = ?2 and document is not null and seq > ?1 and generation = 0 and amount is not null order by seq",
                params![self.base, self.batch_id],
            )?;
            State::Ready
        };
        for lane in &self.lanes {
            begin_lane(self.c, self.batch_id, lane.service_id, lane.first)?;
        }
        self.begin_tallies(state_number(state))?;
        self.c.with(|c, chain| {
            let (batch_id, now) = (self.batch_id, self.plan.now);
            digests::file(c, chain, batch_id, self.load_id, now)?;
            if self.altered {
                // What replaces a payment is on the chain with that one.
                let last = self.corrections.first_replacement();
                let last = last.map_or(i64::MAX, |first| first.get() - 1);
                return instruction_blocks::seal(c, chain, batch_id, (self.base + 1, last), now);
            }
            self.blocks
                .iter()
                .try_for_each(|block| instruction_blocks::append(c, chain, batch_id, block, now))
        })?;
        self.seal_documents()?;
        if self.presumes {
            self.presume_posted()?;
        }
        let (batch_id, now) = (self.batch_id, self.plan.now);
        pin_rule(self.c, batch_id, self.plan.approval.as_ref(), now)?;
        self.c
            .acted(batch_id, now, "load", self.plan.source.as_str().into())?;
        match self.existed || self.plan.dates == BatchDates::default() {
            true => Ok(()),
            false => dates::record(self.c, batch_id, (self.plan.dates, true), now),
        }
    }

    fn begin_tallies(&self, state: i64) -> Result<(), Error> {
        let add = "on conflict do update set count = count + excluded.count, amount = amount + excluded.amount";
        if self.altered {
            let of_table = "select batch_id, service_id, currency, iif(amount is null, ?3, ?2), count(*), coalesce(sum(amount), 0)
                 from instruction where seq > ?1 and generation = 0 group by batch_id, service_id, currency, amount is null";
            self.c.execute(
                &format!("insert into tally (batch_id, service_id, currency, state, count, amount) {of_table} {add}"),
                params![self.base, state, UNPRICED],
            )?;
            return Ok(());
        }
        let mut statement = self.c.prepare(&format!(
            "insert into tally (batch_id, service_id, currency, state, count, amount) values (?1, ?2, ?3, ?4, ?5, ?6) {add}"
        ))?;
        for lane in &self.lanes {
            let amount = i64::try_from(lane.minor)
                .map_err(|_| corrupt("amounts that come to more than a tally can hold"))?;
            for (state, count, amount) in
                [(state, lane.priced, amount), (UNPRICED, lane.unpriced, 0)]
            {
                if count > 0 {
                    statement.execute(params![
                        self.batch_id,
                        lane.service_id,
                        lane.currency.code(),
                        state,
                        count,
                        amount,
                    ])?;
                }
            }
        }
        Ok(())
    }

    fn presume_posted(&self) -> Result<(), Error> {
        let mut statement = self.c.prepare(
            "select seq from instruction where seq > ?1 and generation = 0 order by seq",
        )?;
        let mut rows = statement.query([self.base])?;
        while let Some(row) = rows.next()? {
            self.c.append(&Evidence {
                batch_id: self.batch_id,
                seq: row.get(0)?,
                at: self.plan.now,
                kind: (PRESUMED_POSTED, None, None),
                ..Evidence::default()
            })?;
        }
        Ok(())
    }
}
