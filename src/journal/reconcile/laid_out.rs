//! What the rules ask of the payments, laid out beside the lines of a statement.

use std::collections::BTreeMap;

use rusqlite::params;

use super::desk::StatementDesk;
use crate::domain::{BankAccount, BatchId, Day, LoadId, PaymentId, Timestamp, WireZone};
use crate::journal::Error;
use crate::journal::codec::catalog::purpose;
use crate::journal::codec::values::{corrupt, state_number};
use crate::journal::read::reader::Snapshot;
use crate::ledger::lost_digits::may_be_cut;
use crate::ledger::reconciliation::{
    DAYS_AFTER, DAYS_BEFORE, Period, recipient_key, stands_unpaid,
};
use crate::lifecycle::PaymentState;
use crate::store::tables::{instruction, life, load};
use crate::store::{self, Beside, Column, Field, Reads, Scan, Shape, Table, Test, Value, shape};

shape! {
    /// What the rules ask of an instruction.
    struct Laid of instruction {
        seq: PaymentId, load_id: LoadId, identifier: String, reference: Option<String>, line: i64, received_at: Timestamp, msisdn: String,
        account_number: Option<String>, amount: i64, currency: String, country: String, extra: Option<String>,
    }
}

impl Laid {
    /// Returns the account that is paid.
    fn account(&self) -> Result<String, Error> {
        let extra: Vec<(String, String)> = match self.extra.as_deref() {
            None | Some("") => Vec::new(),
            Some(text) => {
                serde_json::from_str(text).map_err(|_| corrupt("unreadable members of a row"))?
            }
        };
        let own = self.account_number.as_deref().unwrap_or_default();
        let account = match BankAccount::among(&extra).account_number {
            "" if own.is_empty() => &self.msisdn,
            bank if own.is_empty() || own == self.msisdn && !bank.is_empty() => bank,
            _ => own,
        };
        Ok(account.to_owned())
    }
}

/// What they ask of its life.
struct Lived {
    life: PaymentState,
    settled_at: Option<Timestamp>,
    /// What the gateway called it: its own identifier, the receipt, the receipt of its bank.
    names: [Option<String>; 3],
    /// The retry that stands for its row.
    replaced_by: Option<PaymentId>,
}

impl Lived {
    /// Of a payment whose life has not begun.
    const NEW: Self = Self {
        life: PaymentState::NEW,
        settled_at: None,
        names: [None, None, None],
        replaced_by: None,
    };
}

/// Which columns stand behind those of [`PaymentState`].
const BEHIND: [Column; 5] = [
    life::settled_at,
    life::gateway_transaction_id,
    life::receipt_number,
    life::application_id,
    life::replaced_by,
];

impl Shape for Lived {
    const TABLE: &'static Table = &life::TABLE;
    const COLUMNS: &'static [Column] = &{
        let mut columns = [BEHIND[0]; PaymentState::COLUMNS.len() + BEHIND.len()];
        let mut at = 0;
        while at < columns.len() {
            columns[at] = match at.checked_sub(PaymentState::COLUMNS.len()) {
                Some(behind) => BEHIND[behind],
                None => PaymentState::COLUMNS[at],
            };
            at += 1;
        }
        columns
    };

    fn read(row: &dyn store::Row) -> Result<Self, store::Error> {
        let behind = PaymentState::COLUMNS.len();
        Ok(Self {
            life: PaymentState::read(row)?,
            settled_at: row.get(behind)?,
            names: [
                row.get(behind + 1)?,
                row.get(behind + 2)?,
                row.get(behind + 3)?,
            ],
            replaced_by: row.get(behind + 4)?,
        })
    }

    fn values(&self) -> Vec<Value<'_>> {
        let mut values = self.life.values();
        values.push(self.settled_at.to_value());
        values.extend(self.names.iter().map(Field::to_value));
        values.push(self.replaced_by.to_value());
        values
    }
}

/// Returns what a line may call a payment, and how well that tells it.
fn names_of<'a>(row: &'a Laid, lived: &'a Lived) -> impl Iterator<Item = (String, i64)> + use<'a> {
    let [gateway_id, receipt, of_bank] = &lived.names;
    // Some formats have room for sixteen characters, which tell as much.
    let is_random = row.identifier.len() == 26 && row.identifier.is_ascii();
    let cut = is_random.then(|| &row.identifier[..16]);
    let names = [
        (Some(row.identifier.as_str()), 0),
        (gateway_id.as_deref(), 1),
        (receipt.as_deref(), 2),
        (of_bank.as_deref(), 2),
        (cut, 0),
    ];
    names.into_iter().filter_map(|(name, rank)| {
        let name = name?.trim();
        // Of a number that a spreadsheet may have rounded, another payment's number may look like this.
        let tells = !name.is_empty() && (rank == 0 || !may_be_cut(name));
        tells.then(|| (name.to_ascii_uppercase(), rank))
    })
}

impl StatementDesk {
    /// Takes in a payment; of another batch, as one that a line without a name may be about.
    fn put(
        &self,
        row: &Laid,
        lived: &Lived,
        zone: &WireZone,
        foreign: Option<BatchId>,
    ) -> Result<(), Error> {
        let life = lived.life;
        let received = row.received_at;
        let account = row.account()?;
        let posted = life.attempts > 0 || life.is_exposed();
        // Of several posts only the last has its time on record: what came before may have been any time since the load.
        let from = life
            .posted_at
            .filter(|_| life.attempts == 1)
            .unwrap_or(received);
        let last = [life.posted_at, lived.settled_at, Some(received)]
            .into_iter()
            .flatten()
            .max();
        let last = Day::of(last.unwrap_or(received), zone);
        self.c
        .prepare_cached(
            "insert into payment (seq, state, posted, replaced, minor, currency, msisdn, account, country, rkey, from_day, to_day, last_day, id, reference, line, foreign_batch)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            row.seq,
            state_number(life.state),
            posted,
            lived.replaced_by.is_some(),
            row.amount,
            row.currency,
            row.msisdn,
            account,
            row.country,
            recipient_key(&account),
            Day::of(from, zone).later(-DAYS_BEFORE).number(),
            last.later(DAYS_AFTER).number(),
            last.number(),
            row.identifier,
            row.reference.as_deref().unwrap_or_default(),
            row.line,
            foreign.map_or(0, BatchId::get),
        ])?;
        Ok(())
    }

    /// Takes in what a line may call it.
    fn put_names(&self, row: &Laid, lived: &Lived) -> Result<(), Error> {
        let mut insert = self
            .c
            .prepare_cached("insert into key (key, rank, seq) values (?1, ?2, ?3)")?;
        for (key, rank) in names_of(row, lived) {
            insert.execute(params![key, rank, row.seq])?;
        }
        Ok(())
    }

    /// Finds the lines that name a payment of another batch: those are its own. Returns whether one of them pays it: it
    /// takes no other one then.
    fn name_elsewhere(&self, batch_id: BatchId, row: &Laid, lived: &Lived) -> Result<bool, Error> {
        let mut named = self
            .c
            .prepare_cached("select n, pays from name join entry using (n) where key = ?1")?;
        let mut note = self.c.prepare_cached(
            "update entry set elsewhere = 1, other_batch = ?2 where n = ?1 and seq is null",
        )?;
        let mut is_named = false;
        for (key, _) in names_of(row, lived) {
            let mut lines = named.query([key])?;
            while let Some(line) = lines.next()? {
                is_named |= line.get::<_, bool>(1)?;
                note.execute(params![line.get::<_, i64>(0)?, batch_id])?;
            }
        }
        Ok(is_named)
    }

    /// Prepares for the question which lines a payment may have that no name of ours tells. Returns whether there are any.
    fn has_unnamed(&self) -> Result<bool, Error> {
        self.c.execute_batch(
            "create index line_alike on entry (rkey, minor, currency)
                 where pays = 1 and seq is null and several = 0 and elsewhere = 0 and batch = 0 and rkey is not null;",
        )?;
        Ok(self.c.prepare(
            "select 1 from entry where pays = 1 and seq is null and several = 0 and elsewhere = 0 and batch = 0 and rkey is not null limit 1",
        )?.exists([])?)
    }

    fn has_line_for(&self, account: &str, minor: i64, currency: &str) -> Result<bool, Error> {
        let Some(key) = recipient_key(account) else {
            return Ok(false);
        };
        let mut lines = self.c.prepare_cached(
            "select 1 from entry where rkey = ?1 and minor = ?2 and currency = ?3
                 and pays = 1 and seq is null and several = 0 and elsewhere = 0 and batch = 0 and rkey is not null",
        )?;
        Ok(lines.exists((key, minor, currency))?)
    }
}

/// Batches that were loaded so many days before the first line, or later, may have lines without a name in the statement.
const DAYS_BACK: i32 = 35;

shape! {
    struct Loaded of load { load_id: LoadId, batch_id: BatchId, loaded_at: Timestamp }
}

impl Snapshot<'_> {
    /// Copies what the rules ask of the payments.
    pub(super) fn lay_out(&self, desk: &StatementDesk, zone: &WireZone) -> Result<(), Error> {
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&self.batch_id))
            .only(instruction::amount, Test::Present);
        let mut lives = Beside::along(self.c, Scan::of(&life::TABLE), life::seq, Lived::COLUMNS);
        self.c.each(&rows, |row: Laid| {
            let lived = lives.find_as::<Lived>(row.seq.get())?.unwrap_or(Lived::NEW);
            desk.put(&row, &lived, zone, None)?;
            desk.put_names(&row, &lived)
        })
    }

    /// Adds payments of other batches that may be what a line without a name is about: a line is used for one payment at most, whichever
    /// batch it is compared with first.
    pub(super) fn add_others(
        &self,
        desk: &StatementDesk,
        period: Option<Period>,
        zone: &WireZone,
    ) -> Result<(), Error> {
        if !desk.has_unnamed()? {
            return Ok(());
        }
        let own = purpose(self.c, self.batch_id)?;
        let (mut loads, mut batches) = (Vec::new(), BTreeMap::new());
        for loaded in self.c.list::<Loaded>(&Scan::of(&load::TABLE))? {
            let day = Day::of(loaded.loaded_at, zone);
            let is_near = period.is_none_or(|period| {
                (period.from.later(-DAYS_BACK)..=period.to.later(DAYS_BEFORE)).contains(&day)
            });
            if loaded.batch_id != self.batch_id
                && is_near
                && purpose(self.c, loaded.batch_id)? == own
            {
                loads.push(loaded.load_id);
                batches.insert(loaded.load_id, loaded.batch_id);
            }
        }
        if loads.is_empty() {
            return Ok(());
        }
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::load_id, Test::among(&loads))
            .only(instruction::amount, Test::Present);
        let mut lives = Beside::along(self.c, Scan::of(&life::TABLE), life::seq, Lived::COLUMNS);
        self.c.each(&rows, |row: Laid| {
            if !desk.has_line_for(&row.account()?, row.amount, &row.currency)? {
                return Ok(());
            }
            let batch_id = batches.get(&row.load_id).copied();
            match (lives.find_as::<Lived>(row.seq.get())?, batch_id) {
                (Some(lived), Some(batch_id))
                    if !stands_unpaid(lived.life.state)
                        && !desk.name_elsewhere(batch_id, &row, &lived)? =>
                {
                    desk.put(&row, &lived, zone, Some(batch_id))
                }
                _ => Ok(()),
            }
        })
    }
}
