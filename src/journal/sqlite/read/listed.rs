//! The rows of a batch as a report lists them: one pass over one query, and nothing copied of what there is most of.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::reader::Snapshot;
use crate::domain::{
    BankAccount, Currency, LaneId, LoadId, Money, Msisdn, NOT_BEFORE, ORIGIN, PayerTransactionId,
    PaymentId,
};
use crate::journal::sqlite::codec::values::{
    NEVER, amount_of, corrupt, currency_of, stamp, state_of,
};
use crate::journal::sqlite::payments::agreed::all_named_otherwise;
use crate::journal::sqlite::payments::inquiries::all_doubted;
use crate::journal::{Error, ListedPayment, ListedRow};
use crate::lifecycle::State;

const COLUMNS: &str = "i.seq, i.load_id, i.line, i.identifier, i.reference, i.service_id, i.msisdn, i.account_number, i.amount, \
     i.currency, l.state, l.code, l.attempts, l.posted_at, l.due_at, l.settled_at, l.replaced_by, l.gateway_transaction_id, \
     l.receipt_number, l.receiver_narration, l.phrase_id, l.application_id, i.customer_names, i.narration, i.invoice_number, i.extra";

impl Snapshot<'_> {
    /// Tells every row of the batch in the order of its files, as [`Snapshot::rows`] has them.
    ///
    /// # Errors
    /// Faults of the journal, and whatever the visitor says: it ends the pass.
    pub fn list<E: From<Error>>(
        &self,
        mut visit: impl FnMut(ListedRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut others = self.rows();
        let mut known = Known::of(self)?;
        let sql = format!(
            "select {COLUMNS} from instruction i left join life l on l.seq = i.seq
             where i.batch_id = ?1 and i.generation = 0 order by i.seq"
        );
        let mut statement = self.c.prepare(&sql).map_err(Error::from)?;
        let mut rows = statement
            .query(params![self.batch_id])
            .map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            if let Some(plain) = known.plain(self.c, row)? {
                let place = (LoadId::new(integer(row, 1)?), plain.line);
                while let Some(rejected) = others.rejected_before(place)? {
                    visit(ListedRow::Other(rejected))?;
                }
                visit(ListedRow::Plain(plain))?;
                continue;
            }
            let (place, whole) = self.row_of(PaymentId::new(integer(row, 0)?))?;
            while let Some(rejected) = others.rejected_before(place)? {
                visit(ListedRow::Other(rejected))?;
            }
            visit(ListedRow::Other(whole))?;
        }
        while let Some(rejected) = others.rejected_before((LoadId::AFTER_ALL, u64::MAX))? {
            visit(ListedRow::Other(rejected))?;
        }
        Ok(())
    }
}

/// What most rows have in common, looked up once.
struct Known {
    /// Codes of services by their number.
    services: Vec<(LaneId, String)>,
    /// The service of the row before, as its place among them.
    service: usize,
    currency: Option<Currency>,
    /// What the gateway said, by its number.
    phrases: HashMap<i64, String>,
    /// The members of `extraData` of the row before.
    extra: Vec<(String, String)>,
    /// Payments about which it named something that is not ours.
    named_otherwise: BTreeMap<PaymentId, String>,
    /// Ended payments that are asked about again.
    doubted: BTreeSet<PaymentId>,
}

/// Phrases that are kept in memory.
const PHRASES_MAX: usize = 1024;

impl Known {
    fn of(snapshot: &Snapshot<'_>) -> Result<Self, Error> {
        let mut statement = snapshot
            .c
            .prepare("select service_id, code from service order by service_id")?;
        let services = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        Ok(Self {
            services,
            service: 0,
            currency: None,
            phrases: HashMap::new(),
            extra: Vec::new(),
            named_otherwise: all_named_otherwise(snapshot.c, snapshot.batch_id)?,
            doubted: all_doubted(snapshot.c, snapshot.batch_id)?,
        })
    }

    /// Reads a payment of which there is no more to say than the row has; `None` when there is more.
    fn plain<'a>(
        &'a mut self,
        c: &Connection,
        row: &'a Row<'_>,
    ) -> Result<Option<ListedPayment<'a>>, Error> {
        // Without an amount, or replaced by a retry.
        let (Some(minor), None) = (number(row, 8)?, number(row, 16)?) else {
            return Ok(None);
        };
        let state = number(row, 10)?.map_or(Ok(State::Ready), state_of)?;
        let code = number(row, 11)?;
        let seq = PaymentId::new(integer(row, 0)?);
        if has_more(row, state, code)?
            || self.named_otherwise.contains_key(&seq)
            || self.doubted.contains(&seq)
        {
            return Ok(None);
        }
        let currency = text(row, 9)?;
        let currency = match self.currency {
            Some(known) if known.code() == currency => known,
            _ => currency_of(currency)?,
        };
        self.currency = Some(currency);
        let id = text(row, 3)?;
        if !PayerTransactionId::is_one(id) {
            return Err(corrupt("an identifier that is not one"));
        }
        let msisdn = text(row, 6)?;
        if !Msisdn::is_digits(msisdn) {
            return Err(corrupt("a phone number that is not one"));
        }
        let account_number = match text(row, 7)? {
            "" => msisdn,
            own => own,
        };
        let amount = amount_of(minor)?;
        self.find_service(LaneId::new(integer(row, 5)?))?;
        let phrase = number(row, 20)?;
        if let Some(phrase) = phrase {
            self.find_phrase(c, phrase)?;
        }
        self.extra = members(text(row, 25)?)?;
        let narrow = |number: i64| i32::try_from(number).map_err(|_| corrupt("a code"));
        Ok(Some(ListedPayment {
            line: integer(row, 2)?.unsigned_abs(),
            reference: text(row, 4)?,
            id,
            service: &self.services[self.service].1,
            msisdn,
            account_number,
            money: Money { amount, currency },
            state,
            code: code.map(narrow).transpose()?,
            status_description: match phrase {
                Some(phrase) => &self.phrases[&phrase],
                None => "",
            },
            gateway_transaction_id: text(row, 17)?,
            receipt_number: text(row, 18)?,
            application_id: text(row, 21)?,
            receiver_narration: text(row, 19)?,
            customer_names: text(row, 22)?,
            narration: text(row, 23)?,
            invoice_number: text(row, 24)?,
            bank: BankAccount::among(&self.extra),
            not_before: member(&self.extra, NOT_BEFORE),
            origin: member(&self.extra, ORIGIN),
            attempts: u32::try_from(number(row, 12)?.unwrap_or(0))
                .map_err(|_| corrupt("attempts"))?,
            posted_at: stamp(number(row, 13)?),
            settled_at: stamp(number(row, 15)?),
        }))
    }

    fn find_service(&mut self, number: LaneId) -> Result<(), Error> {
        if self
            .services
            .get(self.service)
            .is_none_or(|(last, _)| *last != number)
        {
            self.service = self
                .services
                .binary_search_by_key(&number, |(known, _)| *known)
                .map_err(|_| corrupt("a payment without a service"))?;
        }
        Ok(())
    }

    fn find_phrase(&mut self, c: &Connection, number: i64) -> Result<(), Error> {
        if self.phrases.contains_key(&number) {
            return Ok(());
        }
        // Most are said of many payments; one that is said of a single payment is not kept for long.
        if self.phrases.len() >= PHRASES_MAX {
            self.phrases.clear();
        }
        let text = c
            .prepare_cached("select text from phrase where phrase_id = ?1")?
            .query_row([number], |row| row.get(0))
            .optional()?
            .ok_or_else(|| corrupt("a phrase that is missing"))?;
        self.phrases.insert(number, text);
        Ok(())
    }
}

/// Reads the members of `extraData`, and what stands beside them.
fn members(text: &str) -> Result<Vec<(String, String)>, Error> {
    match text {
        "" => Ok(Vec::new()),
        text => serde_json::from_str(text).map_err(|_| corrupt("extra data that is not JSON")),
    }
}

/// Returns a member that is none of `extraData`.
fn member<'a>(extra: &'a [(String, String)], wanted: &str) -> &'a str {
    let found = extra.iter().find(|(name, _)| name == wanted);
    found.map_or("", |(_, text)| text)
}

fn integer(row: &Row<'_>, at: usize) -> Result<i64, Error> {
    number(row, at)?.ok_or_else(|| corrupt("a number that is missing"))
}

fn number(row: &Row<'_>, at: usize) -> Result<Option<i64>, Error> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(number)),
        _ => Err(corrupt("a number that is not one")),
    }
}

/// Reads a text; what is not there is empty.
fn text<'a>(row: &'a Row<'_>, at: usize) -> Result<&'a str, Error> {
    let text = row.get_ref(at)?.as_str_or_null();
    Ok(text
        .map_err(|_| corrupt("a text that is not one"))?
        .unwrap_or(""))
}

/// Returns whether there is more to say of a payment than its row has.
fn has_more(row: &Row<'_>, state: State, code: Option<i64>) -> Result<bool, Error> {
    Ok(match state {
        // A decision leaves no code.
        State::Paid => code.is_none(),
        // All of its row is needed to mend it.
        State::Failed => true,
        State::InDoubt => number(row, 14)? == Some(NEVER),
        State::Ready
        | State::Posting
        | State::Acknowledged
        | State::Delivered
        | State::Cancelled
        | State::Conflict => false,
    })
}
