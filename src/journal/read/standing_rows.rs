//! Rows of one state, for a person who looks at a batch: what there is of each kind, and page by page.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

use super::looked_for::names_in;
use super::phrases::Phrases;
use super::reader::Snapshot;
use crate::domain::{
    Amount, Currency, LoadId, Money, Msisdn, PayerTransactionId, PaymentId, PhraseId, Tally,
    Timestamp,
};
use crate::journal::Error;
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::values::{NEVER, corrupt, state_number, state_of};
use crate::ledger::correction::RejectedName;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life, load, rejected};
use crate::store::{Beside, Read, Reads, Scan, Shape, Test, shape};

/// Kinds that are told one by one.
pub const KINDS_MAX: usize = 100;

/// Rows of a page.
pub const PAGE_ROWS: usize = 100;

/// What stands in one state with one code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingKind {
    /// The state.
    pub state: State,
    /// The code that proved it.
    pub code: Option<i32>,
    /// How many, and how much.
    pub tally: Tally,
    /// The oldest of them.
    pub example: PayerTransactionId,
    /// What the gateway said of that one.
    pub description: String,
}

/// A row of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingPayment {
    /// What the next page begins behind.
    pub seq: PaymentId,
    /// Its identifier.
    pub id: PayerTransactionId,
    /// Line of its file.
    pub line: u64,
    /// Its file.
    pub file: String,
    /// Its reference, and the names.
    pub reference: String,
    /// `customerNames`.
    pub names: String,
    /// Where it goes to.
    pub msisdn: Msisdn,
    /// How much; `None` where its bill says so.
    pub money: Option<Money>,
    /// The code that proved its state.
    pub code: Option<i32>,
    /// What the gateway said.
    pub description: String,
}

/// A rejected row of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingRejected {
    /// What it is known by; older journals do not know.
    pub name: Option<RejectedName>,
    /// Line of its file.
    pub line: u64,
    /// Its file.
    pub file: String,
    /// Its reference, as it was written; so are the others.
    pub reference: String,
    /// `customer_names`.
    pub names: String,
    /// `msisdn`.
    pub msisdn: String,
    /// `amount`.
    pub amount: String,
    /// `currency_code`.
    pub currency_code: String,
    /// What is wrong with it.
    pub errors: String,
}

impl Snapshot<'_> {
    /// Returns what is in doubt, in conflict, or failed and not replaced, by state and code: no more than 100 kinds.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn exceptions(&self) -> Result<Vec<StandingKind>, Error> {
        let mut kinds: BTreeMap<(i64, Option<i32>), Kind> = BTreeMap::new();
        let mut instructions = Beside::of(
            self.c,
            &instruction::TABLE,
            &[instruction::currency, instruction::amount],
        );
        let exceptions = Scan::of(&life::TABLE)
            .only(life::batch_id, Test::is(&self.batch_id))
            .only(life::state, Test::among(&EXCEPTIONS))
            .only(life::replaced_by, Test::Absent);
        self.c.each(&exceptions, |life: Exception| {
            let Some(row) = instructions.find(life.seq.get())? else {
                return Ok(());
            };
            let (currency, minor): (Currency, Option<i64>) = (row.get(0)?, row.get(1)?);
            let key = (state_number(life.state), life.code);
            let kind = kinds.entry(key).or_default();
            kind.add(life.seq, currency, minor);
            // Those behind as many others are not told, whatever comes of them.
            if kinds.len() > KINDS_MAX {
                kinds.pop_last();
            }
            Ok::<_, Error>(())
        })?;
        let mut told = Vec::with_capacity(kinds.len());
        for ((state, code), kind) in kinds {
            let example = kind.by_currency.first_key_value();
            let (_, example) = example.ok_or_else(|| corrupt("a kind of rows without any row"))?;
            let (example, description) = self.said_of(*example)?;
            told.push(StandingKind {
                state: state_of(state)?,
                code,
                tally: kind.tally,
                example,
                description,
            });
        }
        Ok(told)
    }

    fn said_of(&self, seq: PaymentId) -> Result<(PayerTransactionId, String), Error> {
        let id = id_of(self.c, seq)?;
        let own = Scan::of(&life::TABLE).at(&seq);
        let phrase: Option<Option<PhraseId>> = self.c.value(&own, life::phrase_id)?;
        let text = match phrase.flatten() {
            Some(number) => Phrases::of(self.c).find(number)?.map(str::to_owned),
            None => None,
        };
        Ok((id, text.unwrap_or_default()))
    }

    /// Returns payments of one state, and of one code where one is given, behind a row: no more than [`PAGE_ROWS`] and one.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn standing_in(
        &self,
        state: State,
        code: Option<i32>,
        after: i64,
    ) -> Result<Vec<StandingPayment>, Error> {
        let columns = [life::state, life::replaced_by, life::code, life::phrase_id];
        let mut lives = Beside::of(self.c, &life::TABLE, &columns);
        let (mut files, mut phrases) = (Files::of(self.c), Phrases::of(self.c));
        let rows = Scan::of(&instruction::TABLE)
            .after(&after)
            .only(instruction::batch_id, Test::is(&self.batch_id));
        let mut found = Vec::new();
        self.c.each_row(&rows, Standing::COLUMNS, |row| {
            let life = lives.find(row.get(0)?)?;
            // A payment without a life has never been sent.
            let stands: State = life.as_ref().map_or(Ok(State::Ready), |life| life.get(0))?;
            let (is_replaced, own, phrase) = match &life {
                Some(life) => (
                    life.get::<Option<PaymentId>>(1)?.is_some(),
                    life.get(2)?,
                    life.get(3)?,
                ),
                None => (false, None::<i32>, None::<PhraseId>),
            };
            if stands != state || is_replaced || code.is_some() && own != code {
                return Ok(ControlFlow::Continue(()));
            }
            let row = Standing::read(row)?;
            let Some(file) = files.find(row.load_id)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let said = match phrase {
                Some(number) => phrases.find(number)?,
                None => None,
            };
            let currency = row.currency;
            found.push(StandingPayment {
                seq: row.seq,
                id: row.identifier,
                line: row.line.unsigned_abs(),
                file: file.to_owned(),
                reference: row.reference.unwrap_or_default(),
                names: row.customer_names.unwrap_or_default(),
                msisdn: row.msisdn,
                money: row.amount.map(|amount| Money { amount, currency }),
                code: own,
                description: said.unwrap_or_default().to_owned(),
            });
            Ok::<_, Error>(match found.len() > PAGE_ROWS {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok(found)
    }

    /// Returns rejected rows that nobody has mended or withdrawn, behind so many: no more than [`PAGE_ROWS`] and one.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn standing_rejected(&self, after: u64) -> Result<Vec<StandingRejected>, Error> {
        let open = Scan::of(&rejected::TABLE)
            .only(rejected::batch_id, Test::is(&self.batch_id))
            .only(rejected::replaced_by, Test::Absent)
            .only(rejected::withdrawn, Test::Absent);
        let mut files = Files::of(self.c);
        let (mut passed, mut found) = (0, Vec::new());
        self.c.each_row(&open, Open::COLUMNS, |row| {
            let Some(file) = files.find(row.get(0)?)? else {
                return Ok(ControlFlow::Continue(()));
            };
            if passed < after {
                passed += 1;
                return Ok(ControlFlow::Continue(()));
            }
            let row = Open::read(row)?;
            found.push(StandingRejected {
                name: row
                    .digest
                    .map(|digest| RejectedName::of(&self.batch, &digest)),
                line: row.line.unsigned_abs(),
                file: file.to_owned(),
                reference: row.reference.unwrap_or_default(),
                names: names_in(row.cells.as_deref())?,
                msisdn: row.msisdn.unwrap_or_default(),
                amount: row.amount_text.unwrap_or_default(),
                currency_code: row.currency.unwrap_or_default(),
                errors: row.errors,
            });
            Ok::<_, Error>(match found.len() > PAGE_ROWS {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok(found)
    }

    /// Returns when the gateway is asked next about a payment of the batch, as far as the journal knows: what a run has had
    /// acknowledged itself it remembers for a while.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn asked_next(&self) -> Result<Option<Timestamp>, Error> {
        let mut next: Option<i64> = None;
        for state in [State::InDoubt, State::Acknowledged, State::Delivered] {
            let queue = Scan::by(&life::ask_queue).at(&self.batch_id).at(&state);
            if let Some(at) = self.c.value(&queue, life::due_at)? {
                next = Some(next.map_or(at, |next: i64| next.min(at)));
            }
        }
        Ok(next.filter(|at| *at != NEVER).map(Timestamp::from_millis))
    }
}

/// The states that somebody has to look at.
const EXCEPTIONS: [State; 3] = [State::InDoubt, State::Failed, State::Conflict];

shape! {
    /// A payment that somebody has to look at.
    struct Exception of life { seq: PaymentId, state: State, code: Option<i32> }
}
shape! {
    /// What a page has of an instruction.
    struct Standing of instruction {
        seq: PaymentId, identifier: PayerTransactionId, line: i64, load_id: LoadId, reference: Option<String>,
        customer_names: Option<String>, msisdn: Msisdn, amount: Option<Amount>, currency: Currency,
    }
}
shape! {
    /// What it has of a rejected row.
    struct Open of rejected {
        load_id: LoadId, digest: Option<[u8; 32]>, line: i64, reference: Option<String>, cells: Option<String>,
        msisdn: Option<String>, amount_text: Option<String>, currency: Option<String>, errors: String,
    }
}

/// What stands in one state with one code.
#[derive(Default)]
struct Kind {
    tally: Tally,
    /// The oldest of each currency.
    by_currency: BTreeMap<&'static str, PaymentId>,
}

impl Kind {
    fn add(&mut self, seq: PaymentId, currency: Currency, minor: Option<i64>) {
        self.tally.add_many(1, currency, minor.unwrap_or(0).into());
        let oldest = self.by_currency.entry(currency.code()).or_insert(seq);
        *oldest = seq.min(*oldest);
    }
}

/// The names of files by their loads.
struct Files<'c> {
    c: &'c dyn Read,
    known: BTreeMap<LoadId, Option<String>>,
}

impl<'c> Files<'c> {
    fn of(c: &'c dyn Read) -> Self {
        Self {
            c,
            known: BTreeMap::new(),
        }
    }

    fn find(&mut self, load_id: LoadId) -> Result<Option<&str>, Error> {
        let known = match self.known.entry(load_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let own = Scan::of(&load::TABLE).at(&load_id);
                unknown.insert(self.c.value(&own, load::source)?)
            }
        };
        Ok(known.as_deref())
    }
}
