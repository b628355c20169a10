//! Rows of the tables and their domain values.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::domain::{
    Amount, Country, Currency, DocumentPath, Instruction, Money, Msisdn, PayerTransactionId,
    Payment, Reference, ServiceCode, Timestamp, Written,
};
use crate::journal::Error;
use crate::lifecycle::{Class, Event, Fact, Life, State, Verdict};

/// What `due_at` holds when nothing is due.
pub(super) const NEVER: i64 = i64::MAX;

/// The state that `tally` counts rows under that have no amount yet.
pub(super) const UNPRICED: i64 = 9;

/// Returns the number a state is stored as.
pub(super) fn state_number(state: State) -> i64 {
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
pub(super) fn state_of(number: i64) -> Result<State, Error> {
    State::ALL
        .into_iter()
        .find(|state| state_number(*state) == number)
        .ok_or_else(|| corrupt(format!("state {number}")))
}

pub(super) fn corrupt(what: impl Into<String>) -> Error {
    Error::Corrupt { what: what.into() }
}

pub(super) fn stamp(millis: Option<i64>) -> Option<Timestamp> {
    millis.map(Timestamp::from_millis)
}

pub(super) fn millis(stamp: Option<Timestamp>) -> Option<i64> {
    stamp.map(Timestamp::as_millis)
}

/// The columns [`life_of`] reads, in its order, of `life l`.
pub(super) const LIFE_COLUMNS: &str = "l.state, l.code, l.attempts, l.posted_at, l.exposures, l.known, l.not_found, \
     l.quarantine_from, l.queries, l.due_at";

/// Reads the columns of [`LIFE_COLUMNS`], the first of them at `at`; all of them null: its life has not begun.
pub(super) fn life_of(row: &Row<'_>, at: usize) -> Result<Life, Error> {
    let Some(state) = row.get::<_, Option<i64>>(at)? else {
        return Ok(Life::NEW);
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
    Ok(Life {
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
const TAKEN: i64 = 2;

/// Returns what `known` holds for a life.
pub(super) fn known_number(life: &Life) -> i64 {
    match (life.known, life.taken) {
        (_, true) => TAKEN,
        (known, false) => i64::from(known),
    }
}

/// Returns what `due_at` holds for a life.
pub(super) fn due_number(life: &Life) -> i64 {
    let absent = if life.state == State::Ready { 0 } else { NEVER };
    millis(life.due_at).unwrap_or(absent)
}

/// Stores where a payment stands.
pub(super) fn save_life(c: &Connection, seq: i64, life: &Life, queued: bool) -> Result<(), Error> {
    let mut statement = c.prepare_cached(
        "update or fail life set state = ?2, code = ?3, attempts = ?4, posted_at = ?5, exposures = ?6, known = ?7,
             not_found = ?8, quarantine_from = ?9, queries = ?10, due_at = ?11, queued = ?12 where seq = ?1",
    )?;
    let changed = statement.execute(params![
        seq,
        state_number(life.state),
        life.code,
        life.attempts,
        millis(life.posted_at),
        life.exposures,
        known_number(life),
        life.not_found,
        millis(life.quarantine_from),
        life.queries,
        due_number(life),
        queued,
    ])?;
    assert_changed(seq, changed)
}

/// Refuses that a life was changed which is not there.
pub(super) fn assert_changed(seq: i64, changed: usize) -> Result<(), Error> {
    if changed == 1 {
        Ok(())
    } else {
        Err(corrupt(format!("payment {seq} has no life")))
    }
}

/// Adds to (or takes from) the tally of one lane, currency and state.
pub(super) fn add_to_tally(
    c: &Connection,
    batch_id: i64,
    service_id: i64,
    currency: &str,
    state: State,
    count: i64,
    amount: i64,
) -> Result<(), Error> {
    let mut statement = c.prepare_cached(
        "insert into tally (batch_id, service_id, currency, state, count, amount) values (?1, ?2, ?3, ?4, ?5, ?6)
         on conflict do update set count = count + excluded.count, amount = amount + excluded.amount",
    )?;
    statement.execute(params![
        batch_id,
        service_id,
        currency,
        state_number(state),
        count,
        amount
    ])?;
    Ok(())
}

/// The columns [`payment_of`] reads, in its order, of `instruction i` joined with `service s`.
pub(super) const PAYMENT_COLUMNS: &str = "i.identifier, i.generation, i.received_at, i.line, i.reference, s.code, i.msisdn, \
     i.account_number, i.amount, i.currency, i.country, i.narration, i.customer_names, i.invoice_number, i.payment_mode, \
     i.hub_id, i.extra, i.document, i.document_folder, i.as_due";
/// Which of them is the amount.
pub(super) const AMOUNT: usize = 8;
/// How many columns [`PAYMENT_COLUMNS`] names.
pub(super) const PAYMENT_WIDTH: usize = 20;

/// What an instruction of the journal says of its amount.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// `None` until the bill has told it.
    pub(super) amount: Option<Amount>,
    pub(super) currency: Currency,
    /// The file leaves the amount to the bill.
    pub(super) as_due: bool,
}

impl Stored {
    pub(super) fn money(self) -> Option<Money> {
        self.amount.map(|amount| Money {
            amount,
            currency: self.currency,
        })
    }

    /// Returns the amount that stands in the file, in minor units.
    pub(super) fn written(self) -> Option<i64> {
        self.amount
            .filter(|_| !self.as_due)
            .map(|amount| amount.minor())
    }
}

// As the file has it, whatever the bill said since: a file that is loaded again is the same one.
impl Written for Stored {
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
pub(super) struct StoredRow {
    pub(super) id: PayerTransactionId,
    pub(super) generation: u32,
    pub(super) received_at: Timestamp,
    pub(super) instruction: Instruction<Stored>,
}

/// Reads the columns of [`PAYMENT_COLUMNS`], the first of them at `at`.
///
/// A payment without an amount is none.
pub(super) fn payment_of(row: &Row<'_>, at: usize) -> Result<Payment, Error> {
    let stored = stored_of(row, at)?;
    let money = stored
        .instruction
        .money
        .money()
        .ok_or_else(|| corrupt("a payment without an amount"))?;
    Ok(Payment {
        id: stored.id,
        generation: stored.generation,
        received_at: stored.received_at,
        instruction: stored.instruction.with_money(money),
    })
}

/// Reads the same columns of a row that may have no amount.
pub(super) fn stored_of(row: &Row<'_>, at: usize) -> Result<StoredRow, Error> {
    let text = |index: usize| -> Result<&str, Error> {
        row.get_ref(at + index)?
            .as_str()
            .map_err(|_| corrupt("a text that is not one"))
    };
    let optional = |index: usize| -> Result<&str, Error> {
        Ok(row
            .get_ref(at + index)?
            .as_str_or_null()
            .map_err(|_| corrupt("a text that is not one"))?
            .unwrap_or(""))
    };
    let currency = currency_of(text(9)?)?;
    let msisdn =
        Msisdn::from_digits(text(6)?).ok_or_else(|| corrupt("a phone number that is not one"))?;
    let extra = optional(16)?;
    let amount = match row.get::<_, Option<i64>>(at + 8)? {
        Some(minor) => Some(Amount::from_minor(minor).ok_or_else(|| corrupt("an amount of zero"))?),
        None => None,
    };
    Ok(StoredRow {
        id: identifier_of(text(0)?)?,
        generation: row.get(at + 1)?,
        received_at: Timestamp::from_millis(row.get(at + 2)?),
        instruction: Instruction {
            line: row.get::<_, i64>(at + 3)?.unsigned_abs(),
            reference: match optional(4)? {
                "" => None,
                text => Some(Reference::parse(text).map_err(|_| corrupt("a reference"))?),
            },
            service: service_of(text(5)?)?,
            msisdn,
            account_number: match optional(7)? {
                "" => msisdn.as_str().to_owned(),
                text => text.to_owned(),
            },
            money: Stored {
                amount,
                currency,
                as_due: row.get(at + 19)?,
            },
            country: Country::from_code(text(10)?).ok_or_else(|| corrupt("a country"))?,
            narration: optional(11)?.to_owned(),
            customer_names: optional(12)?.to_owned(),
            invoice_number: optional(13)?.to_owned(),
            payment_mode: optional(14)?.to_owned(),
            hub_id: optional(15)?.to_owned(),
            extra: if extra.is_empty() {
                Vec::new()
            } else {
                serde_json::from_str(extra).map_err(|_| corrupt("extra data that is not JSON"))?
            },
            document: match optional(17)? {
                "" => None,
                written => Some(DocumentPath {
                    written: written.to_owned(),
                    folder: optional(18)?.to_owned(),
                    digest: None,
                }),
            },
        },
    })
}

pub(super) fn identifier_of(text: &str) -> Result<PayerTransactionId, Error> {
    PayerTransactionId::parse(text).ok_or_else(|| corrupt("an identifier that is not one"))
}

pub(super) fn currency_of(text: &str) -> Result<Currency, Error> {
    Currency::from_code(text).ok_or_else(|| corrupt(format!("currency {text}")))
}

pub(super) fn service_of(text: &str) -> Result<ServiceCode, Error> {
    ServiceCode::parse(text).map_err(|_| corrupt("a service code that is not one"))
}

/// Returns the services that a journal has rows of, or had.
pub(super) fn services(c: &Connection) -> Result<Vec<ServiceCode>, Error> {
    let mut statement = c.prepare_cached("select code from service order by service_id")?;
    let mut rows = statement.query([])?;
    let mut services = Vec::new();
    while let Some(row) = rows.next()? {
        services.push(service_of(&row.get::<_, String>(0)?)?);
    }
    Ok(services)
}

/// Returns the number of a service, giving it one when it has none.
pub(super) fn service_id(c: &Connection, service: &ServiceCode) -> Result<i64, Error> {
    let mut find = c.prepare_cached("select service_id from service where code = ?1")?;
    if let Some(id) = find
        .query_row([service.as_str()], |row| row.get(0))
        .optional()?
    {
        return Ok(id);
    }
    c.prepare_cached("insert into service (code) values (?1)")?
        .execute([service.as_str()])?;
    Ok(c.last_insert_rowid())
}

/// Returns number and originator of a batch.
pub(super) fn batch_id(c: &Connection, name: &str) -> Result<Option<i64>, Error> {
    Ok(
        c.prepare_cached("select batch_id from batch where name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?,
    )
}

/// Returns the number and the words of an event: `(number, class, code)`.
pub(super) fn event_numbers(event: Event) -> (i64, Option<i64>, Option<i32>) {
    let said = |number, verdict: Verdict| {
        (
            number,
            Some(class_number(verdict.class)),
            Some(verdict.code),
        )
    };
    match event {
        Event::Claimed => (0, None, None),
        Event::Unsent => (1, None, None),
        Event::Unauthorised => (2, None, None),
        Event::Lost => (3, None, None),
        Event::Abandoned => (4, None, None),
        Event::Reply(verdict) => said(5, verdict),
        Event::Answer(verdict) => said(6, verdict),
        Event::NoAnswer => (7, None, None),
        Event::Callback(verdict) => said(8, verdict),
        Event::DecidedPaid => (9, None, None),
        Event::DecidedFailed => (10, None, None),
        Event::Withdrawn => (11, None, None),
        Event::Recognised => (RECOGNISED, None, None),
        Event::NotOurs => (NOT_OURS, None, None),
        Event::Superseded => (SUPERSEDED, None, None),
        Event::Outdated => (OUTDATED, None, None),
        Event::Reopened => (REOPENED, None, None),
    }
}

/// A callback that was stored and not applied.
pub(super) const NOTED_CALLBACK: i64 = 20;
/// The payment was loaded in doubt: earlier posts may have left.
pub(super) const PRESUMED_POSTED: i64 = 21;
/// A retry replaces the payment.
pub(super) const REPLACED: i64 = 22;
/// The document of the payment was uploaded; the digest is that of its row in `upload`.
pub(super) const UPLOADED: i64 = 23;
/// A bill said something of the row; the digest is that of its row in `bill`.
pub(super) const BILLED: i64 = 24;
/// Instructions were loaded; the digest is that of a block of them.
pub(super) const ROWS_LOADED: i64 = 25;
/// A file was loaded; the digest is that of its row in `load` and of the rows that it set aside.
pub(super) const FILE_LOADED: i64 = 26;
/// The batch was tied to its gateway; the digest is that of its address and its wire settings.
pub(super) const PINNED: i64 = 27;
/// The chain begins with evidence that was written without one.
pub(super) const MIGRATED: i64 = 28;
/// The document of the payment was checked; the digest is that of its bytes. The newest one counts.
pub(super) const DOCUMENT_CHECKED: i64 = 95;
/// The mended row of a rejected one was loaded; the detail names both.
pub(super) const MENDED: i64 = 96;
/// Where the payment stood then.
pub(super) const STOOD: i64 = 29;
/// First claims of several payments; the detail names them.
pub(super) const CLAIMED_TOGETHER: i64 = 30;
/// An earlier generation of the row is paid; the detail names it.
pub(super) const SUPERSEDED: i64 = 31;
/// Somebody gave a command; the detail says who, and what.
pub(super) const ACTED: i64 = 40;
/// A reply to a post that names another amount, currency or number: its outcome is not known.
pub(super) const OTHER_REPLY: i64 = 70;
/// A status reply of that kind, which answers nothing.
pub(super) const OTHER_ANSWER: i64 = 71;
/// A callback of that kind, which is not applied.
pub(super) const OTHER_CALLBACK: i64 = 72;
/// The gateway names our amount and number under an identifier that it had before our first post.
pub(super) const RECOGNISED: i64 = 73;
/// Nothing more is to be heard of such an identifier.
pub(super) const NOT_OURS: i64 = 74;
/// That it was not found was heard too long ago: it is asked about again.
pub(super) const OUTDATED: i64 = 80;
/// A failure that the gateway has taken back is decided by a person.
pub(super) const REOPENED: i64 = 81;
/// A person's word from which account of which gateway an earlier journal may have posted the batch; the detail names both.
pub(super) const PAYER_CONFIRMED: i64 = 82;
/// By a person's order the payment is withdrawn, if the gateway does not know it.
pub(super) const WITHDRAWAL_ORDERED: i64 = 83;
/// Rows of the payment's debt had failed when it was loaded or ordered; the detail names them, each with whether a person's word alone
/// said so.
pub(super) const WATCHED: i64 = 87;
/// A rejected row is not paid, by a person's decision; the detail names the row, who decided it, and why.
pub(super) const ROW_WITHDRAWN: i64 = 86;
/// The batch was moved to another address of its gateway by order; the detail names both, the payment that showed it, and the reason.
pub(super) const GATEWAY_MOVED: i64 = 85;

/// Returns whether what the gateway said with a row of evidence is about another payment.
pub(super) fn is_about_another(number: i64) -> bool {
    (OTHER_REPLY..=OTHER_CALLBACK).contains(&number)
}

/// The batch took the account that a run came with; the detail names it.
pub(super) const ACCOUNT_TAKEN: i64 = 60;
/// The batch was moved to another account by order; the detail names both, the payment that showed it, and the reason.
pub(super) const ACCOUNT_MOVED: i64 = 61;
/// What was confirmed for a run; the detail names its figures, how far it reaches, and who said yes.
pub(super) const CONFIRMED: i64 = 62;
/// The kinds that say what people confirmed, and where a batch belongs.
const ABOUT_RUNS: std::ops::RangeInclusive<i64> = 60..=69;
/// It was noticed that the journal may have missed something.
pub(super) const RECOVERY_BEGAN: i64 = 50;
/// A person declared that everything the journal has missed is made up for.
pub(super) const RECOVERY_DONE: i64 = 51;
/// A person's word that the orders which an older journal did not know were given again; the detail has the reason.
pub(super) const ORDERS_GIVEN_AGAIN: i64 = 84;
/// A person's word that nothing has run since made a payment ready again that was presumed posted.
pub(super) const RELEASED: i64 = 52;

/// Returns what a row of evidence means to the life of its payment.
pub(super) fn fact_of(
    number: i64,
    class: Option<i64>,
    code: Option<i32>,
    detail: Option<&str>,
) -> Result<Fact, Error> {
    Ok(match number {
        PRESUMED_POSTED => Fact::PresumedPosted,
        STOOD => Fact::Stood(super::seal::Standing::of_detail(detail)?.life),
        NOTED_CALLBACK..=MIGRATED | CLAIMED_TOGETHER | ACTED | DOCUMENT_CHECKED | MENDED => {
            Fact::Note
        }
        number if ABOUT_RUNS.contains(&number) => Fact::Note,
        RELEASED => Fact::Released,
        RECOVERY_BEGAN | RECOVERY_DONE | ORDERS_GIVEN_AGAIN => Fact::Note,
        PAYER_CONFIRMED | WITHDRAWAL_ORDERED | GATEWAY_MOVED | ROW_WITHDRAWN | WATCHED => {
            Fact::Note
        }
        _ => event_of(number, class, code)?.map_or(Fact::Note, Fact::Event),
    })
}

/// Reads an event back; `None` for the notes that are not lifecycle events.
pub(super) fn event_of(
    number: i64,
    class: Option<i64>,
    code: Option<i32>,
) -> Result<Option<Event>, Error> {
    let verdict = || -> Result<Verdict, Error> {
        let (Some(class), Some(code)) = (class, code) else {
            return Err(corrupt("evidence without its code"));
        };
        Ok(Verdict {
            class: class_of(class)?,
            code,
        })
    };
    Ok(Some(match number {
        0 => Event::Claimed,
        1 => Event::Unsent,
        2 => Event::Unauthorised,
        3 => Event::Lost,
        4 => Event::Abandoned,
        5 => Event::Reply(verdict()?),
        6 => Event::Answer(verdict()?),
        7 => Event::NoAnswer,
        8 => Event::Callback(verdict()?),
        9 => Event::DecidedPaid,
        10 => Event::DecidedFailed,
        11 => Event::Withdrawn,
        SUPERSEDED => Event::Superseded,
        OUTDATED => Event::Outdated,
        REOPENED => Event::Reopened,
        NOTED_CALLBACK..=CLAIMED_TOGETHER | ACTED | DOCUMENT_CHECKED | MENDED => return Ok(None),
        number if ABOUT_RUNS.contains(&number) => return Ok(None),
        OTHER_REPLY => Event::Lost,
        OTHER_ANSWER => Event::NoAnswer,
        RECOGNISED => Event::Recognised,
        NOT_OURS => Event::NotOurs,
        OTHER_CALLBACK => return Ok(None),
        RECOVERY_BEGAN..=RELEASED | ORDERS_GIVEN_AGAIN => return Ok(None),
        PAYER_CONFIRMED | WITHDRAWAL_ORDERED | GATEWAY_MOVED | ROW_WITHDRAWN | WATCHED => {
            return Ok(None);
        }
        other => return Err(corrupt(format!("evidence of kind {other}"))),
    }))
}

/// Names a kind of evidence for a person.
pub(super) fn event_name(number: i64) -> &'static str {
    match number {
        0 => "intent recorded",
        1 => "not sent",
        2 => "not let in",
        3 => "outcome unknown",
        4 => "found without outcome by a new run",
        5 => "reply",
        6 => "status reply",
        7 => "status query without answer",
        8 => "callback",
        9 | 10 => "operator's decision",
        11 => "withdrawn",
        NOTED_CALLBACK => "callback, not applied",
        PRESUMED_POSTED => "presumed to have been posted before",
        REPLACED => "replaced by a retry",
        UPLOADED => "document uploaded",
        DOCUMENT_CHECKED => "document checked",
        MENDED => "rejected row mended",
        BILLED => "bill",
        ROWS_LOADED => "rows loaded",
        FILE_LOADED => "file loaded",
        PINNED => "tied to its gateway",
        MIGRATED => "journal of an earlier release",
        STOOD => "stood here when its evidence was sealed",
        CLAIMED_TOGETHER => "intents recorded",
        ACTED => "ordered by a person",
        ACCOUNT_TAKEN => "tied to its account",
        CONFIRMED => "confirmed for a run",
        ACCOUNT_MOVED => "moved to another account by order",
        OTHER_REPLY => "reply about another payment",
        OTHER_ANSWER => "status reply about another payment",
        OTHER_CALLBACK => "callback about another payment, not applied",
        RECOVERY_BEGAN => "the journal may have missed something",
        RECOVERY_DONE => "the recovery is declared done",
        ORDERS_GIVEN_AGAIN => "by the operator's word, the lost orders were given again",
        RELEASED => "ready again: by the operator's word, nothing has run since",
        RECOGNISED => "recognised as ours by its amount and number",
        NOT_OURS => "not known to be ours, left to a person",
        SUPERSEDED => "not paid a second time",
        OUTDATED => "not found too long ago, to be asked about again",
        PAYER_CONFIRMED => "by the operator's word, posted from this account if from anywhere",
        WITHDRAWAL_ORDERED => "to be withdrawn unless the gateway knows it",
        ROW_WITHDRAWN => "rejected row withdrawn",
        WATCHED => "to be held against failed rows of its debt before it leaves",
        GATEWAY_MOVED => "moved to another address of its gateway by order",
        REOPENED => "called failed, and spoken of otherwise since: open to a decision",
        _ => "unknown",
    }
}

fn class_number(class: Class) -> i64 {
    match class {
        Class::Paid => 0,
        Class::Failed => 1,
        Class::Refused => 2,
        Class::Acknowledged => 3,
        Class::Delivered => 4,
        Class::NoFloat => 5,
        Class::Duplicate => 6,
        Class::NotFound => 7,
        Class::InDoubt => 8,
    }
}

pub(super) fn class_of(number: i64) -> Result<Class, Error> {
    Class::ALL
        .into_iter()
        .map(|(class, _)| class)
        .find(|class| class_number(*class) == number)
        .ok_or_else(|| corrupt(format!("class {number}")))
}
