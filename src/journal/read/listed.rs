//! The rows of a batch as a report lists them: one pass over its instructions and their lives, and nothing copied for long of what
//! there is most of.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::phrases::Phrases;
use super::reader::{Snapshot, Visited, service_codes};
use crate::domain::{
    BankAccount, Currency, LaneId, LoadId, Money, Msisdn, NOT_BEFORE, ORIGIN, PayerTransactionId,
    PaymentId, PhraseId, ServiceCode,
};
use crate::journal::codec::values::{NEVER, amount_of, corrupt, currency_of, stamp, state_of};
use crate::journal::payments::agreed::all_named_otherwise;
use crate::journal::payments::inquiries::all_doubted;
use crate::journal::{Error, ListedPayment, ListedRow};
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Column, Reads, Row, Scan, Test, Value};

/// What a list has of an instruction.
const INSTRUCTION: [Column; 14] = [
    instruction::seq,
    instruction::load_id,
    instruction::line,
    instruction::identifier,
    instruction::reference,
    instruction::service_id,
    instruction::msisdn,
    instruction::account_number,
    instruction::amount,
    instruction::currency,
    instruction::customer_names,
    instruction::narration,
    instruction::invoice_number,
    instruction::extra,
];

/// What it has of a life.
const LIFE: [Column; 12] = [
    life::state,
    life::code,
    life::attempts,
    life::posted_at,
    life::due_at,
    life::settled_at,
    life::replaced_by,
    life::gateway_transaction_id,
    life::receipt_number,
    life::receiver_narration,
    life::phrase_id,
    life::application_id,
];

type Instruction<'r> = [Value<'r>; INSTRUCTION.len()];
/// Nothing stands in the columns of a life that has not begun.
type Life<'r> = [Value<'r>; LIFE.len()];

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
        let mut lives = Beside::of(self.c, &life::TABLE, &LIFE);
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&self.batch_id))
            .only(instruction::generation, Test::is(&0_i64));
        let pass = self.c.each_row(&rows, &INSTRUCTION, |row| {
            let row: Instruction<'_> = row.values()?;
            let seq = integer(&row[0])?;
            let found = lives.find(seq)?;
            let life: Life<'_> = match &found {
                Some(life) => (life as &dyn Row).values()?,
                None => [const { Value::Null }; LIFE.len()],
            };
            if let Some(plain) = known.plain(&row, &life)? {
                let place = (LoadId::new(integer(&row[1])?), plain.line);
                while let Some(rejected) = others.rejected_before(place)? {
                    visit(ListedRow::Other(rejected)).map_err(Visited)?;
                }
                visit(ListedRow::Plain(plain)).map_err(Visited)?;
                return Ok(ControlFlow::Continue(()));
            }
            let (place, whole) = others.row_of(PaymentId::new(seq))?;
            while let Some(rejected) = others.rejected_before(place)? {
                visit(ListedRow::Other(rejected)).map_err(Visited)?;
            }
            visit(ListedRow::Other(whole)).map_err(Visited)?;
            Ok(ControlFlow::Continue(()))
        });
        pass.map_err(|Visited(error)| error)?;
        while let Some(rejected) = others.rejected_before((LoadId::AFTER_ALL, u64::MAX))? {
            visit(ListedRow::Other(rejected))?;
        }
        Ok(())
    }
}

/// What most rows have in common, looked up once.
struct Known<'c> {
    /// Codes of services by their number.
    services: Vec<(LaneId, ServiceCode)>,
    /// The service of the row before, as its place among them.
    service: usize,
    currency: Option<Currency>,
    /// What the gateway said.
    phrases: Phrases<'c>,
    /// The members of `extraData` of the row before.
    extra: Vec<(String, String)>,
    /// Payments about which it named something that is not ours.
    named_otherwise: BTreeMap<PaymentId, String>,
    /// Ended payments that are asked about again.
    doubted: BTreeSet<PaymentId>,
}

impl<'c> Known<'c> {
    fn of(snapshot: &Snapshot<'c>) -> Result<Self, Error> {
        Ok(Self {
            services: service_codes(snapshot.c)?.into_iter().collect(),
            service: 0,
            currency: None,
            phrases: Phrases::of(snapshot.c),
            extra: Vec::new(),
            named_otherwise: all_named_otherwise(snapshot.c, snapshot.batch_id)?,
            doubted: all_doubted(snapshot.c, snapshot.batch_id)?,
        })
    }

    /// Reads a payment of which there is no more to say than the row has; `None` when there is more.
    fn plain<'a>(
        &'a mut self,
        row: &'a Instruction<'_>,
        life: &'a Life<'_>,
    ) -> Result<Option<ListedPayment<'a>>, Error> {
        // Without an amount, or replaced by a retry.
        let (Some(minor), None) = (number(&row[8])?, number(&life[6])?) else {
            return Ok(None);
        };
        let state = number(&life[0])?.map_or(Ok(State::Ready), state_of)?;
        let code = number(&life[1])?;
        let seq = PaymentId::new(integer(&row[0])?);
        if has_more(life, state, code)?
            || self.named_otherwise.contains_key(&seq)
            || self.doubted.contains(&seq)
        {
            return Ok(None);
        }
        let currency = text(&row[9])?;
        let currency = match self.currency {
            Some(known) if known.code() == currency => known,
            _ => currency_of(currency)?,
        };
        self.currency = Some(currency);
        let id = text(&row[3])?;
        if !PayerTransactionId::is_one(id) {
            return Err(corrupt("an invalid identifier"));
        }
        let msisdn = text(&row[6])?;
        if !Msisdn::is_digits(msisdn) {
            return Err(corrupt("an invalid phone number"));
        }
        let account_number = match text(&row[7])? {
            "" => msisdn,
            own => own,
        };
        let amount = amount_of(minor)?;
        self.find_service(LaneId::new(integer(&row[5])?))?;
        self.extra = members(text(&row[13])?)?;
        let narrow = |number: i64| i32::try_from(number).map_err(|_| corrupt("an invalid code"));
        Ok(Some(ListedPayment {
            line: integer(&row[2])?.unsigned_abs(),
            reference: text(&row[4])?,
            id,
            service: self.services[self.service].1.as_str(),
            msisdn,
            account_number,
            money: Money { amount, currency },
            state,
            code: code.map(narrow).transpose()?,
            status_description: match number(&life[10])? {
                Some(phrase) => self
                    .phrases
                    .find(PhraseId::new(phrase))?
                    .ok_or_else(|| corrupt("a phrase that is missing"))?,
                None => "",
            },
            gateway_transaction_id: text(&life[7])?,
            receipt_number: text(&life[8])?,
            application_id: text(&life[11])?,
            receiver_narration: text(&life[9])?,
            customer_names: text(&row[10])?,
            narration: text(&row[11])?,
            invoice_number: text(&row[12])?,
            bank: BankAccount::among(&self.extra),
            not_before: member(&self.extra, NOT_BEFORE),
            origin: member(&self.extra, ORIGIN),
            attempts: u32::try_from(number(&life[2])?.unwrap_or(0))
                .map_err(|_| corrupt("a number of attempts out of range"))?,
            posted_at: stamp(number(&life[3])?),
            settled_at: stamp(number(&life[5])?),
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

fn integer(value: &Value<'_>) -> Result<i64, Error> {
    number(value)?.ok_or_else(|| corrupt("a number that is missing"))
}

fn number(value: &Value<'_>) -> Result<Option<i64>, Error> {
    match value {
        Value::Null => Ok(None),
        Value::Integer(number) => Ok(Some(*number)),
        Value::Text(_) | Value::Bytes(_) => Err(corrupt("a value that is not a number")),
    }
}

/// Reads a text; what is not there is empty.
fn text<'a>(value: &'a Value<'_>) -> Result<&'a str, Error> {
    match value {
        Value::Null => Ok(""),
        Value::Text(text) => Ok(text),
        Value::Integer(_) | Value::Bytes(_) => Err(corrupt("a value that is not text")),
    }
}

/// Returns whether there is more to say of a payment than its row has.
fn has_more(life: &Life<'_>, state: State, code: Option<i64>) -> Result<bool, Error> {
    Ok(match state {
        // A decision leaves no code.
        State::Paid => code.is_none(),
        // All of its row is needed to mend it.
        State::Failed => true,
        State::InDoubt => number(&life[4])? == Some(NEVER),
        State::Ready
        | State::Posting
        | State::Acknowledged
        | State::Delivered
        | State::Cancelled
        | State::Conflict => false,
    })
}
