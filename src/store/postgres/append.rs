//! Appending rows by COPY: what a load writes a million times.

use std::pin::pin;

use bytes::Bytes;
use futures_util::SinkExt as _;

use super::codec::{self, Kind, Width};
use super::columns::kinds_of;
use super::failure::Failure;
use super::link::{Link, Working};
use super::statement::{self, Statement};
use super::store::Postgres;
use crate::store::{Append, Column, Error, Table, Value, Write as _};

/// Bytes of one COPY: it costs the server as much as some thousand rows, whatever it takes in. While the server waits for more bytes of
/// it, it does not end the transaction of a host that stands still; so all of them are at hand when it begins, and the sockets hold most.
const CHUNK: usize = 4 << 20;

/// Bytes that the connection takes at once: it copies them.
const PIECE: usize = 256 << 10;

/// What a binary COPY begins with: its signature, no flags, no extension.
const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Appends rows to a table.
pub(super) struct Appender<'s> {
    store: &'s Postgres,
    text: String,
    table: &'static Table,
    kinds: Vec<Kind>,
    /// The columns of a row, as COPY counts them.
    width: i16,
    /// Values of the row that is being written.
    written: usize,
    rows: Vec<u8>,
    /// The rows that the server takes in, while those behind them are written here.
    sending: Option<Working>,
    /// Rows have the next numbers; the next one, once it is known.
    number: Option<Option<i64>>,
}

impl<'s> Appender<'s> {
    pub(super) fn new(
        store: &'s Postgres,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Self, Error> {
        let key = Column::new(0);
        let is_numbered = table.numbered && !columns.contains(&key);
        let mut all = columns.to_vec();
        if is_numbered {
            all.insert(0, key);
        }
        let width = i16::try_from(all.len()).map_err(|_| Error::corrupt("too many columns"))?;
        Ok(Self {
            store,
            text: statement::copy(table, &all),
            table,
            kinds: kinds_of(table, columns)?,
            width,
            written: 0,
            rows: Vec::with_capacity(CHUNK + PIECE),
            sending: None,
            number: is_numbered.then_some(None),
        })
    }

    /// Begins a row.
    fn begin_row(&mut self) -> Result<(), Error> {
        if self.rows.is_empty() {
            self.rows.extend_from_slice(HEAD);
        }
        self.rows.extend_from_slice(&self.width.to_be_bytes());
        if let Some(next) = &mut self.number {
            let number = match *next {
                Some(number) => number,
                None => self.store.allocate(self.table, 1)?,
            };
            *next = number.checked_add(1);
            codec::copy_value(
                Kind::Integer(Width::Eight),
                &Value::Integer(number),
                &mut self.rows,
            )?;
        }
        Ok(())
    }

    /// Waits for the rows that were sent last.
    fn finish(&mut self) -> Result<(), Error> {
        match self.sending.take() {
            Some(sending) => {
                let taken = self.store.ask(|link, within| link.finish(within, sending));
                taken.map(drop)
            }
            None => Ok(()),
        }
    }

    fn send(&mut self) -> Result<(), Error> {
        self.finish()?;
        if self.rows.is_empty() {
            return Ok(());
        }
        self.rows.extend_from_slice(&(-1_i16).to_be_bytes());
        let room = Vec::with_capacity(CHUNK + PIECE);
        let mut rows = Bytes::from(std::mem::replace(&mut self.rows, room));
        let text = Statement::plain(self.text.as_str());
        self.store.send(&self.store.waiting(self.table), None)?;
        self.store.known.borrow_mut().forget_table(self.table);
        let sending = self.store.ask(|link, within| {
            link.settle(within)?;
            let prepared = link.prepare(within, &[&text])?.pop();
            let prepared = prepared.ok_or_else(|| Failure::lost("nothing prepared"))?;
            // It has begun before anything else is sent, which is carried out behind it.
            let sink = link.wait(within, link.client().copy_in(&prepared))?;
            Link::start(async move {
                let mut sink = pin!(sink);
                while !rows.is_empty() {
                    let piece = rows.split_to(PIECE.min(rows.len()));
                    sink.send(piece).await?;
                }
                sink.finish().await
            })
        })?;
        self.sending = Some(sending);
        Ok(())
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        // What failed keeps the transaction from being committed.
        let _ = self.finish();
    }
}

impl Append for Appender<'_> {
    fn value(&mut self, value: Value<'_>) -> Result<(), Error> {
        if self.written == 0 {
            self.begin_row()?;
        }
        let kind = self.kinds.get(self.written).copied();
        let kind = kind.ok_or_else(|| Error::corrupt("a row without columns"))?;
        codec::copy_value(kind, &value, &mut self.rows)?;
        self.written += 1;
        if self.written < self.kinds.len() {
            return Ok(());
        }
        self.written = 0;
        match self.rows.len() >= CHUNK {
            true => self.send(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.send()?;
        self.finish()?;
        // Others may have inserted rows before the next one.
        if let Some(next) = &mut self.number {
            *next = None;
        }
        Ok(())
    }
}
