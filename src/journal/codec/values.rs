//! Rows of the tables and their domain values.

use std::borrow::Cow;

use rusqlite::Row;

use crate::domain::{
    Amount, AmountField, BatchId, Country, Currency, DocumentPath, Instruction, LaneId, Money,
    Msisdn, PayerTransactionId, Payment, PaymentId, Reference, ServiceCode, Timestamp,
};
use crate::journal::Error;
use crate::lifecycle::{PaymentState, State};
use crate::store::{self, Read, Reads, Scan, Write, Writes, shape, tables};

/// What `due_at` holds when nothing is due.
pub(in crate::journal) const NEVER: i64 = i64::MAX;

/// The state that `tally` counts rows under that have no amount yet.
pub(in crate::journal) const UNPRICED: i64 = 9;

/// Returns the number a state is stored as.
pub(in crate::journal) fn state_number(state: State) -> i64 {
    match state {
        State::Ready => 0,
        State::Posting => 1,
        State::InDoubt => 2,
        State::Acknowledged => 3,
        State::Delivered => 4,
        State::Paid => 5,
        State::Failed => 6,
        State::Cancelled => 7,
        State::Conflict => 8,
    }
}

/// Reads a state back.
pub(in crate::journal) fn state_of(number: i64) -> Result<State, Error> {
    State::ALL
        .into_iter()
        .find(|state| state_number(*state) == number)
        .ok_or_else(|| corrupt(format!("the unknown state {number}")))
}

pub(in crate::journal) fn corrupt(what: impl Into<String>) -> Error {
    Error::Corrupt { what: what.into() }
}

pub(in crate::journal) fn stamp(millis: Option<i64>) -> Option<Timestamp> {
    millis.map(Timestamp::from_millis)
}

pub(in crate::journal) fn millis(stamp: Option<Timestamp>) -> Option<i64> {
    stamp.map(Timestamp::as_millis)
}

/// The columns [`life_of`] reads, in its order, of `life l`.
pub(in crate::journal) const LIFE_COLUMNS: &str = "l.state, l.code, l.attempts, l.posted_at, l.exposures, l.known, l.not_found, \
     l.quarantine_from, l.queries, l.due_at";

/// Reads the columns of [`LIFE_COLUMNS`], the first of them at `at`; all of them null: its life has not begun.
pub(in crate::journal) fn life_of(row: &Row<'_>, at: usize) -> Result<PaymentState, Error> {
    let Some(state) = row.get::<_, Option<i64>>(at)? else {
        return Ok(PaymentState::NEW);
    };
    let state = state_of(state)?;
    let due_at: i64 = row.get(at + 9)?;
    // A ready payment is due at once with 0; for the others the largest integer means never.
    let due_at = match state {
        State::Ready if due_at == 0 => None,
        _ if due_at == NEVER => None,
        _ => Some(Timestamp::from_millis(due_at)),
    };
    // 0: it has not shown that it has the identifier; 1: it has; 2: it had it before our first post.
    let known: i64 = row.get(at + 5)?;
    Ok(PaymentState {
        state,
        code: row.get(at + 1)?,
        attempts: row.get(at + 2)?,
        posted_at: stamp(row.get(at + 3)?),
        exposures: row.get(at + 4)?,
        known: known != 0,
        taken: known == TAKEN,
        not_found: row.get(at + 6)?,
        quarantine_from: stamp(row.get(at + 7)?),
        queries: row.get(at + 8)?,
        due_at,
    })
}

/// What `known` holds of an identifier that the gateway had before our first post.
pub(in crate::journal) const TAKEN: i64 = 2;

/// Returns what `known` holds for a life.
pub(in crate::journal) fn known_number(life: &PaymentState) -> i64 {
    match (life.known, life.taken) {
        (_, true) => TAKEN,
        (known, false) => i64::from(known),
    }
}

/// Returns what `due_at` holds for a life.
pub(in crate::journal) fn due_number(life: &PaymentState) -> i64 {
    let absent = if life.state == State::Ready { 0 } else { NEVER };
    millis(life.due_at).unwrap_or(absent)
}

/// Refuses that a life was changed which is not there.
pub(in crate::journal) fn assert_changed(seq: PaymentId, changed: u64) -> Result<(), Error> {
    if changed == 1 {
        Ok(())
    } else {
        Err(corrupt(format!("payment {seq} has no state")))
    }
}

shape! {
    /// Rows of a lane that stand at one state, and what they come to.
    struct Tally of tally {
        batch_id: BatchId, service_id: LaneId, currency: String, state: State, count: i64, amount: i64,
    }
}

/// Adds to (or takes from) the tally of one lane, currency and state.
pub(in crate::journal) fn add_to_tally(
    c: &dyn Write,
    batch_id: BatchId,
    service_id: LaneId,
    currency: &str,
    state: State,
    count: i64,
    amount: i64,
) -> Result<(), Error> {
    let one = Scan::of(&tables::tally::TABLE)
        .at(&batch_id)
        .at(&service_id)
        .at(&currency)
        .at(&state);
    let mut tally = c.first(&one)?.unwrap_or_else(|| Tally {
        batch_id,
        service_id,
        currency: currency.to_owned(),
        state,
        count: 0,
        amount: 0,
    });
    tally.count += count;
    tally.amount += amount;
    Ok(c.put(&tally)?)
}

/// What an instruction of the journal says of its amount.
#[derive(Clone, Copy, Debug)]
pub(in crate::journal) struct Stored {
    /// `None` until the bill has told it.
    pub(in crate::journal) amount: Option<Amount>,
    pub(in crate::journal) currency: Currency,
    /// The file leaves the amount to the bill.
    pub(in crate::journal) as_due: bool,
}

impl Stored {
    pub(in crate::journal) fn money(self) -> Option<Money> {
        self.amount.map(|amount| Money {
            amount,
            currency: self.currency,
        })
    }

    /// Returns the amount that stands in the file, in minor units.
    pub(in crate::journal) fn written(self) -> Option<i64> {
        self.amount
            .filter(|_| !self.as_due)
            .map(|amount| amount.minor())
    }
}

// As the file has it, whatever the bill said since: a file that is loaded again is the same one.
impl AmountField for Stored {
    fn currency(&self) -> Currency {
        self.currency
    }

    fn digits(&self) -> String {
        match self.money() {
            Some(money) if !self.as_due => money.to_string(),
            _ => String::new(),
        }
    }

    fn known(&self) -> Option<Amount> {
        self.amount
    }
}

/// An instruction that may have no amount, with its identifier.
pub(in crate::journal) struct StoredRow {
    pub(in crate::journal) id: PayerTransactionId,
    pub(in crate::journal) generation: u32,
    pub(in crate::journal) received_at: Timestamp,
    pub(in crate::journal) instruction: Instruction<Stored>,
}

impl StoredRow {
    /// Returns the payment; `None` while it has no amount.
    pub(in crate::journal) fn payment(self) -> Option<Payment> {
        let money = self.instruction.money.money()?;
        Some(Payment {
            id: self.id,
            generation: self.generation,
            received_at: self.received_at,
            instruction: self.instruction.with_money(money),
        })
    }
}

/// Reads members of `extraData`.
pub(in crate::journal) fn members_of(text: &str) -> Result<Vec<(String, String)>, Error> {
    match text {
        "" => Ok(Vec::new()),
        text => serde_json::from_str(text).map_err(|_| corrupt("extra data that is not JSON")),
    }
}

/// Reads an instruction whose columns begin with its service, which is read already.
pub(in crate::journal) fn row_of(
    row: &dyn store::Row,
    at: usize,
    service: ServiceCode,
) -> Result<StoredRow, Error> {
    let text = |index: usize| optional(row, at + index)?.ok_or_else(not_a_text);
    let maybe = |index: usize| Ok::<_, Error>(optional(row, at + index)?.unwrap_or_default());
    let currency = currency_of(&text(9)?)?;
    let msisdn = msisdn_of(&text(6)?)?;
    Ok(StoredRow {
        id: identifier_of(&text(2)?)?,
        generation: row.get(at + 4)?,
        received_at: row.get(at + 5)?,
        instruction: Instruction {
            line: row.get::<i64>(at + 1)?.unsigned_abs(),
            reference: match &*maybe(3)? {
                "" => None,
                text => Some(Reference::parse(text).map_err(|_| corrupt("a reference"))?),
            },
            service,
            msisdn,
            account_number: match &*maybe(7)? {
                "" => msisdn.as_str().into(),
                text => text.into(),
            },
            money: Stored {
                amount: row.get(at + 8)?,
                currency,
                as_due: row.get(at + 19)?,
            },
            country: country_of(&text(10)?)?,
            narration: maybe(11)?.into(),
            customer_names: maybe(12)?.into(),
            invoice_number: maybe(13)?.into(),
            payment_mode: maybe(14)?.into(),
            hub_id: maybe(15)?.into(),
            extra: members_of(&maybe(16)?)?,
            document: match &*maybe(17)? {
                "" => None,
                written => Some(DocumentPath {
                    written: written.to_owned(),
                    folder: maybe(18)?.into_owned(),
                    digest: None,
                }),
            },
        },
    })
}

fn not_a_text() -> Error {
    corrupt("a value that is not text")
}

/// Reads a text that may not be there.
fn optional(row: &dyn store::Row, at: usize) -> Result<Option<Cow<'_, str>>, Error> {
    match row.value(at)? {
        store::Value::Null => Ok(None),
        store::Value::Text(text) => Ok(Some(text)),
        store::Value::Integer(_) | store::Value::Bytes(_) => Err(not_a_text()),
    }
}

pub(in crate::journal) fn identifier_of(text: &str) -> Result<PayerTransactionId, Error> {
    PayerTransactionId::parse(text).ok_or_else(|| corrupt("an invalid identifier"))
}

pub(in crate::journal) fn msisdn_of(digits: &str) -> Result<Msisdn, Error> {
    Msisdn::from_digits(digits).ok_or_else(|| corrupt("an invalid phone number"))
}

/// Reads an amount; one that is null waits for its bill.
pub(in crate::journal) fn amount_of(minor: i64) -> Result<Amount, Error> {
    Amount::from_minor(minor).ok_or_else(|| corrupt("an amount of zero"))
}

pub(in crate::journal) fn currency_of(text: &str) -> Result<Currency, Error> {
    Currency::from_code(text).ok_or_else(|| corrupt(format!("the currency {text:?}")))
}

pub(in crate::journal) fn country_of(text: &str) -> Result<Country, Error> {
    Country::from_code(text).ok_or_else(|| corrupt("an unknown country"))
}

pub(in crate::journal) fn service_of(text: &str) -> Result<ServiceCode, Error> {
    ServiceCode::parse(text).map_err(|_| corrupt("an invalid service code"))
}

/// Returns the services that a journal has rows of, or had.
pub(in crate::journal) fn services(c: &dyn Read) -> Result<Vec<ServiceCode>, Error> {
    let all = Scan::of(&tables::service::TABLE);
    Ok(c.values(&all, tables::service::code)?)
}

/// Returns the number of a service, giving it one when it has none.
pub(in crate::journal) fn service_id(
    c: &dyn Write,
    service: &ServiceCode,
) -> Result<LaneId, Error> {
    shape! {
        struct Service of service { code: ServiceCode }
    }
    let known = Scan::by(&tables::service::by_code).at(service);
    if let Some(id) = c.value(&known, tables::service::service_id)? {
        return Ok(id);
    }
    let code = service.clone();
    Ok(LaneId::new(c.append(&Service { code })?))
}

/// Returns the number of a batch.
pub(in crate::journal) fn batch_id(c: &dyn Read, name: &str) -> Result<Option<BatchId>, Error> {
    let named = Scan::by(&tables::batch::by_name).at(&name);
    Ok(c.value(&named, tables::batch::batch_id)?)
}
