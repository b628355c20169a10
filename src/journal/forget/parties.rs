//! Whom a number or an account may mean: the rows that name it, by whom they pay.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::domain::{BatchId, BatchName, LaneId, LoadId, PaymentId};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Reader;
use crate::journal::repeats::fingerprints::Key;
use crate::journal::{Error, Forgotten, PaidIn, Party};
use crate::ledger::forgetting::{PartyOf, Recipient, party};
use crate::ledger::likeness::of_account;
use crate::store::tables::{batch, instruction, rejected};
use crate::store::{Read, Reads, Scan, Test, shape};

/// How many bytes the leaf has that takes the place of the salt of a row whose person is forgotten.
pub(super) const LEAF: usize = 32;

shape! {
    /// A payment, as far as it says whom it pays.
    pub(super) struct Paid of instruction {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, msisdn: String, account_number: Option<String>, extra: Option<String>,
        country: String, salt: Option<Vec<u8>>,
    }
}
shape! {
    /// The same of a rejected row, whose number may be written as it is within its country.
    pub(super) struct Refused of rejected {
        load_id: LoadId, line: i64, nth: i64, batch_id: BatchId, service_code: Option<String>, msisdn: Option<String>,
        account_number: Option<String>, cells: Option<String>, salt: Option<Vec<u8>>,
    }
}

/// A row of a recipient, in the words of the row.
struct Named {
    batch_id: BatchId,
    is_payment: bool,
    word: Option<String>,
    number: String,
    account: String,
    bank: String,
    service: String,
    country: String,
}

/// What is read of the cells of a rejected row.
#[derive(Default, serde::Deserialize)]
struct Cells {
    #[serde(default)]
    country_code: String,
    #[serde(default)]
    bank_code: String,
}

impl Refused {
    fn cells(&self) -> Result<Cells, Error> {
        match self.cells.as_deref() {
            None | Some("") => Ok(Cells::default()),
            Some(cells) => serde_json::from_str(cells)
                .map_err(|_| corrupt("unreadable cells of a rejected row")),
        }
    }

    fn number(&self) -> &str {
        self.msisdn.as_deref().unwrap_or_default()
    }

    fn account(&self) -> &str {
        self.account_number.as_deref().unwrap_or_default()
    }
}

impl Cells {
    fn country(&self) -> String {
        self.country_code.trim_matches(' ').to_ascii_uppercase()
    }
}

impl Paid {
    /// Returns the bank that a payment goes to; nothing where it goes to none.
    fn bank(&self) -> Result<String, Error> {
        let members: Vec<(String, String)> = match self.extra.as_deref() {
            None | Some("") => Vec::new(),
            Some(extra) => {
                serde_json::from_str(extra).map_err(|_| corrupt("extra data that is not JSON"))?
            }
        };
        let mut members = members.into_iter();
        let bank = members.find(|(name, _)| name == "destinationBankCode");
        Ok(bank.map(|(_, bank)| bank).unwrap_or_default())
    }
}

/// The rows of a recipient, as rows are compared with it.
pub(super) struct Wanted<'a> {
    c: &'a dyn Read,
    /// `None`: rows of anybody.
    recipient: Option<&'a Recipient>,
    /// A journal without one has no rows.
    key: Option<Key>,
    services: Instructions<'a>,
    /// The country of all rows of a batch, where it is one.
    countries: RefCell<BTreeMap<BatchId, Option<String>>>,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(c: &'a dyn Read, recipient: Option<&'a Recipient>) -> Result<Self, Error> {
        Ok(Self {
            c,
            recipient,
            key: Key::of(c)?,
            services: Instructions::of(c),
            countries: RefCell::default(),
        })
    }

    /// Returns whether a payment is of the recipient, and of its word, if that has one.
    pub(super) fn has_paid(&self, row: &Paid) -> Result<bool, Error> {
        Ok(self.may_be_paid(row) && (self.is_anybody() || self.is_meant(&self.paid(row)?)))
    }

    /// The same of a rejected row.
    pub(super) fn has_refused(&self, row: &Refused) -> Result<bool, Error> {
        Ok(self.may_be_refused(row)? && (self.is_anybody() || self.is_meant(&self.refused(row)?)))
    }

    fn is_anybody(&self) -> bool {
        self.recipient.is_none_or(|wanted| wanted.only.is_none())
    }

    fn is_meant(&self, row: &Named) -> bool {
        let only = self.recipient.and_then(|wanted| wanted.only.as_ref());
        only.is_none() || row.word.as_ref() == only
    }

    fn may_be_paid(&self, row: &Paid) -> bool {
        let Some(wanted) = self.recipient else {
            return true;
        };
        let account = row.account_number.as_ref().unwrap_or(&row.msisdn);
        is_among(wanted, &row.msisdn) || is_among(wanted, account)
    }

    fn may_be_refused(&self, row: &Refused) -> Result<bool, Error> {
        let Some(wanted) = self.recipient else {
            return Ok(true);
        };
        let account = match row.account() {
            "" => row.number(),
            account => account,
        };
        if is_among(wanted, row.number()) || is_among(wanted, account) {
            return Ok(true);
        }
        let texts = [of_account(row.number()), of_account(row.account())];
        let written = |text: &String| texts.iter().any(|known| **known == **text);
        if !wanted.national.iter().any(|(_, text, _)| written(text)) {
            return Ok(false);
        }
        let country = self.country_of(wanted, row)?;
        let mut national = wanted.national.iter();
        Ok(national.any(|(of, text, _)| written(text) && Some(of.code()) == country.as_deref()))
    }

    /// Returns the country of a rejected row: its own, that of all rows of its batch, or that of rows that name none.
    fn country_of(&self, wanted: &Recipient, row: &Refused) -> Result<Option<String>, Error> {
        let own = row.cells()?.country();
        if !own.is_empty() {
            return Ok(Some(own));
        }
        let of_batch = self.country_of_batch(row.batch_id)?;
        Ok(of_batch.or_else(|| wanted.of_none.map(|country| country.code().to_owned())))
    }

    fn country_of_batch(&self, batch_id: BatchId) -> Result<Option<String>, Error> {
        if let Some(known) = self.countries.borrow().get(&batch_id) {
            return Ok(known.clone());
        }
        let rows = Scan::of(&instruction::TABLE);
        let rows = rows.only(instruction::batch_id, Test::is(&batch_id));
        let mut found: BTreeSet<String> = BTreeSet::new();
        self.c.each_row(&rows, &[instruction::country], |row| {
            found.insert(row.get(0)?);
            Ok::<_, Error>(match found.len() {
                0 | 1 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            })
        })?;
        let country = match found.len() {
            1 => found.pop_first(),
            _ => None,
        };
        self.countries
            .borrow_mut()
            .insert(batch_id, country.clone());
        Ok(country)
    }

    fn word(&self, row: PartyOf<'_>) -> Option<String> {
        let key = self.key?;
        Some(party(row, |parts| key.pseudonym(parts)))
    }

    fn paid(&self, row: &Paid) -> Result<Named, Error> {
        let account = row.account_number.clone().unwrap_or_default();
        let bank = row.bank()?;
        let service = self.services.service(row.service_id)?;
        Ok(Named {
            batch_id: row.batch_id,
            is_payment: true,
            word: self.word(PartyOf {
                number: &row.msisdn,
                account: &account,
                bank: &bank,
                service: service.as_str(),
            }),
            number: row.msisdn.clone(),
            account,
            bank,
            service: service.as_str().to_owned(),
            country: row.country.clone(),
        })
    }

    /// The same of a rejected row; a number that is written as it is within its country is taken in full.
    fn refused(&self, row: &Refused) -> Result<Named, Error> {
        let cells = row.cells()?;
        let text = of_account(row.number());
        let national = self.recipient.map_or(&[][..], |wanted| &wanted.national);
        let mut in_full = None;
        if let Some(wanted) = self.recipient
            && national.iter().any(|(_, known, _)| *known == *text)
        {
            let country = self.country_of(wanted, row)?;
            in_full = national
                .iter()
                .find(|(of, known, _)| *known == *text && Some(of.code()) == country.as_deref());
        }
        let service = row.service_code.clone().unwrap_or_default();
        Ok(Named {
            batch_id: row.batch_id,
            is_payment: false,
            word: self.word(PartyOf {
                number: in_full.map_or(row.number(), |(_, _, number)| number),
                account: row.account(),
                bank: &cells.bank_code,
                service: &service,
            }),
            number: row.number().to_owned(),
            account: row.account().to_owned(),
            country: cells.country(),
            bank: cells.bank_code,
            service,
        })
    }

    /// Shows the rows of the recipient whose persons are not forgotten.
    fn each(&self, mut visit: impl FnMut(Named) -> Result<(), Error>) -> Result<(), Error> {
        let is_forgotten =
            |salt: &Option<Vec<u8>>| salt.as_ref().is_some_and(|salt| salt.len() == LEAF);
        self.c.each(&Scan::of(&instruction::TABLE), |row: Paid| {
            match !is_forgotten(&row.salt) && self.may_be_paid(&row) {
                true => visit(self.paid(&row)?),
                false => Ok(()),
            }
        })?;
        self.c.each(&Scan::of(&rejected::TABLE), |row: Refused| {
            match !is_forgotten(&row.salt) && self.may_be_refused(&row)? {
                true => visit(self.refused(&row)?),
                false => Ok(()),
            }
        })
    }
}

/// Returns whether a text, as a row has it, is one of a recipient's.
fn is_among(wanted: &Recipient, text: &str) -> bool {
    let text = of_account(text);
    wanted.texts.iter().any(|known| *known == *text)
}

/// What the rows of one word in one batch say of whom they pay: of several texts the greatest.
#[derive(Default)]
struct Group {
    number: String,
    account: String,
    bank: String,
    service: String,
    country: String,
    rows: Forgotten,
}

impl Group {
    fn add(&mut self, row: Named) {
        for (known, text) in [
            (&mut self.number, row.number),
            (&mut self.account, row.account),
            (&mut self.bank, row.bank),
            (&mut self.service, row.service),
            (&mut self.country, row.country),
        ] {
            if text > *known {
                *known = text;
            }
        }
        count(&mut self.rows, row.is_payment);
    }

    fn party(self, word: String, batch: BatchName) -> Party {
        let is_number =
            self.bank.is_empty() && (self.account.is_empty() || self.account == self.number);
        Party {
            word,
            account: match self.account.is_empty() {
                true => self.number,
                false => self.account,
            },
            is_number,
            bank: self.bank,
            service: self.service,
            country: self.country,
            paid_in: vec![PaidIn {
                batch,
                rows: self.rows,
            }],
        }
    }
}

fn count(rows: &mut Forgotten, is_payment: bool) {
    match is_payment {
        true => rows.payments += 1,
        false => rows.rejected += 1,
    }
}

fn name_of(c: &dyn Read, batch_id: BatchId) -> Result<Option<BatchName>, Error> {
    Ok(c.value(&Scan::of(&batch::TABLE).at(&batch_id), batch::name)?)
}

impl Reader {
    /// Returns everybody whom a recipient may be, as far as their rows are not forgotten, each with its rows.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn parties(&self, recipient: &Recipient) -> Result<Vec<Party>, Error> {
        let c = self.store();
        let mut groups: BTreeMap<(String, BatchId), Group> = BTreeMap::new();
        Wanted::of(c, Some(recipient))?.each(|mut row| {
            let word = row.word.take();
            let word = word.ok_or_else(|| corrupt("rows without fingerprints"))?;
            groups.entry((word, row.batch_id)).or_default().add(row);
            Ok(())
        })?;
        let mut found: Vec<Party> = Vec::new();
        for ((word, batch_id), group) in groups {
            let Some(batch) = name_of(c, batch_id)? else {
                continue;
            };
            let next = group.party(word, batch);
            match found.last_mut() {
                Some(last) if last.word == next.word => last.paid_in.extend(next.paid_in),
                _ => found.push(next),
            }
        }
        Ok(found)
    }

    /// Returns the batches that have rows of a recipient, whose persons are not forgotten.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn paid_in(&self, recipient: &Recipient) -> Result<Vec<PaidIn>, Error> {
        let c = self.store();
        let wanted = Wanted::of(c, Some(recipient))?;
        let mut batches: BTreeMap<BatchId, Forgotten> = BTreeMap::new();
        wanted.each(|row| {
            if wanted.is_meant(&row) {
                count(batches.entry(row.batch_id).or_default(), row.is_payment);
            }
            Ok(())
        })?;
        let mut found = Vec::new();
        for (batch_id, rows) in batches {
            found.extend(name_of(c, batch_id)?.map(|batch| PaidIn { batch, rows }));
        }
        Ok(found)
    }
}
