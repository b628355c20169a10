//! The tables in which a statement meets the payments of a batch: a database of their own, without a name, that goes with the command.

use rusqlite::{Connection, params};

use crate::domain::{Day, Money};
use crate::journal::codec::values::{amount_of, corrupt, currency_of};
use crate::journal::{Error, StatedEntry};
use crate::ledger::reconciliation::{Flow, Marks, Standing, StatementEntry, recipient_key};

/// The lines of a statement, on their way to be held against payments.
#[derive(Debug)]
pub struct StatementDesk {
    pub(super) c: Connection,
    entries: i64,
}

const TABLES: &str = "
    pragma journal_mode = off;
    pragma synchronous = off;
    pragma cache_size = -16384;
    create table entry (
        n integer primary key, place text not null, day integer not null, flow integer not null, reversal integer not null,
        minor integer not null, currency text not null, standing integer not null, recipient text not null, told text not null, rkey text,
        reference text not null, marks text not null, charge integer not null, batch integer not null, pays integer not null,
        seq integer, by integer, several integer not null default 0, elsewhere integer not null default 0, other_seq integer,
        other_batch integer
    ) strict;
    create table name (key text not null, n integer not null) strict;
    create table payment (
        seq integer primary key, state integer not null, posted integer not null, replaced integer not null, minor integer not null, currency text not null,
        msisdn text not null, account text not null, country text not null, rkey text, from_day integer not null,
        to_day integer not null, last_day integer not null, id text not null, reference text not null, line integer not null,
        paid integer not null default 0, returned integer not null default 0, pending integer not null default 0,
        other_amount integer not null default 0, other integer not null default 0, by integer, entry integer,
        otherwise integer not null default 0, among integer, kind integer, unsure integer not null default 0,
        earlier integer not null default 0, had_line integer not null default 0,
        before_paid integer not null default 0, before_returned integer not null default 0, before_elsewhere integer not null default 0,
        before_paid_elsewhere integer not null default 0, before_otherwise integer not null default 0, apart integer not null default 0,
        paid_before integer not null default 0, known_out integer not null default 0,
        before_lines text not null default '',
        -- Its batch, where that is another one.
        foreign_batch integer not null
    ) strict;
    -- What earlier statements showed, a line each, by sources: this one (0) and others.
    create table before (seq integer not null, source integer not null, statement integer not null, line text not null) strict;
    -- Lines without a name that may be movements of a payment: how well these tell it.
    create table claim (n integer not null, score integer not null, seq integer not null) strict;
    create table key (key text not null, rank integer not null, seq integer not null) strict;
    create table hit (n integer not null, rank integer not null, seq integer not null) strict;
    begin;";

impl StatementDesk {
    /// Makes the tables.
    ///
    /// # Errors
    /// The disk has no room for them.
    pub fn new() -> Result<Self, Error> {
        // An empty name: SQLite keeps it in a file that nobody else can open, and that is gone with the connection.
        let c = Connection::open("")?;
        c.execute_batch(TABLES)?;
        Ok(Self { c, entries: 0 })
    }

    /// Takes a line in.
    ///
    /// # Errors
    /// The disk has no room for it.
    pub fn add(&mut self, entry: &StatementEntry) -> Result<(), Error> {
        self.entries += 1;
        let names = entry.names();
        self.c
            .prepare_cached(
                "insert into entry (n, place, day, flow, reversal, minor, currency, standing, recipient, rkey, reference, charge, batch, pays, told, marks)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )?
            .execute(params![
                self.entries,
                entry.place,
                entry.day.number(),
                entry.flow == Flow::In,
                entry.reversal,
                entry.money.amount.minor(),
                entry.money.currency.code(),
                standing_number(entry.standing),
                entry.recipient,
                recipient_key(entry.named_recipient()),
                entry.references().next().unwrap_or_default(),
                entry.is_charge,
                entry.is_batch,
                entry.is_payment(),
                entry.named_recipient(),
                Marks::of(entry).to_string(),
            ])?;
        let mut insert = self
            .c
            .prepare_cached("insert into name (key, n) values (?1, ?2)")?;
        for name in names {
            insert.execute(params![name.to_ascii_uppercase(), self.entries])?;
        }
        Ok(())
    }

    /// Returns a line for a person.
    pub(super) fn stated(&self, n: i64) -> Result<StatedEntry, Error> {
        let mut statement = self.c.prepare_cached(
            "select place, day, flow, minor, currency, reference from entry where n = ?1",
        )?;
        let mut rows = statement.query([n])?;
        let row = rows.next()?.ok_or_else(|| corrupt("a line that is gone"))?;
        Ok(StatedEntry {
            place: row.get(0)?,
            day: Day::from_number(row.get(1)?),
            flow: if row.get(2)? { Flow::In } else { Flow::Out },
            money: money_of(row.get(3)?, &row.get::<_, String>(4)?)?,
            reference: row.get(5)?,
        })
    }
}

pub(super) fn money_of(minor: i64, currency: &str) -> Result<Money, Error> {
    Ok(Money {
        amount: amount_of(minor)?,
        currency: currency_of(currency)?,
    })
}

fn standing_number(standing: Standing) -> i64 {
    match standing {
        Standing::Booked => 0,
        Standing::Pending => 1,
        Standing::NotExecuted => 2,
        Standing::Unclear => 3,
    }
}

pub(super) fn standing_of(number: i64) -> Standing {
    match number {
        0 => Standing::Booked,
        1 => Standing::Pending,
        3 => Standing::Unclear,
        _ => Standing::NotExecuted,
    }
}
