//! How the rows of a load begin: their lives, their tallies, and what proves later that they are as they were loaded.

use rusqlite::params;

use super::chain::Evidence;
use super::load::Load;
use super::row::{PRESUMED_POSTED, UNPRICED};
use super::seal;
use crate::journal::Error;

impl Load<'_> {
    /// Begins the lives of the new rows, and puts what was loaded on the chain.
    pub(super) fn begin_lives(&self) -> Result<(), Error> {
        // Asked before it is posted, where an earlier journal may have posted it.
        let (state, due, exposures) = if self.plan.presume_posted {
            (2, 0, 1)
        } else {
            (0, 0, 0)
        };
        self.c.execute(
            "insert into life (seq, batch_id, service_id, state, due_at, exposures, quarantine_from)
             select seq, batch_id, service_id, ?2, ?3, ?4, iif(?4 > 0, ?5, null) from instruction
             where seq > ?1 and amount is not null order by seq",
            params![self.base, state, due, exposures, self.plan.now.as_millis()],
        )?;
        self.c.execute(
            "insert into tally (batch_id, service_id, currency, state, count, amount)
             select batch_id, service_id, currency, iif(amount is null, ?3, ?2), count(*), coalesce(sum(amount), 0)
             from instruction where seq > ?1 group by batch_id, service_id, currency, amount is null
             on conflict do update set count = count + excluded.count, amount = amount + excluded.amount",
            params![self.base, state, UNPRICED],
        )?;
        self.c.with(|c, chain| {
            seal::file(c, chain, self.batch_id, self.load_id, self.plan.now)?;
            seal::instructions(c, chain, self.batch_id, self.base, self.plan.now)
        })?;
        if self.plan.presume_posted {
            self.presume_posted()?;
        }
        Ok(())
    }

    fn presume_posted(&self) -> Result<(), Error> {
        let mut statement = self
            .c
            .prepare("select seq from instruction where seq > ?1 order by seq")?;
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
