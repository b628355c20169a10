//! How a payment is kept whose person was forgotten: what was personal gives way to pseudonyms, by which a row that comes later
//! is still recognised as one of the same debt.
//!
//! A pseudonym is a keyed digest: of a reference as it is compared, and of a recipient as it is compared
//! ([`crate::ledger::likeness`]). Amount, currency, service, identifier and times are not personal, and stay.

use crate::domain::{Country, Instruction, Msisdn, Reference, Text, Timestamp, WireZone};
use crate::ledger::likeness::{folded, of_account, of_account_in_full, of_name, of_reference};
use crate::ledger::repeats::{HOLDER, recipient};
use crate::lifecycle::State;

/// What every pseudonym begins with, so that a person sees what it is.
pub const PREFIX: &str = "forgotten-";

/// Returns the pseudonym of a name; of none there is none.
#[must_use]
pub fn hidden_name(name: &str, keyed: impl Fn(&[&str]) -> String) -> String {
    match of_name(name) {
        name if name.is_empty() => name,
        name => format!("{PREFIX}{}", keyed(&["name", &name])),
    }
}

fn pseudonym(parts: &[&str], keyed: impl Fn(&[&str]) -> String) -> String {
    format!("{PREFIX}{}", keyed(parts))
}

/// Returns the pseudonym of a recipient: the account as it is compared, at a bank or at none.
#[must_use]
pub fn hidden_recipient(bank: &str, account: &str, keyed: impl Fn(&[&str]) -> String) -> String {
    pseudonym(&["recipient", bank, account], keyed)
}

/// Returns whether a text is a pseudonym of ours: nobody can be paid by it.
#[must_use]
pub fn is_pseudonym(text: &str) -> bool {
    text.trim().to_ascii_lowercase().starts_with(PREFIX)
}

/// Returns the row as it is kept once its person was forgotten; `keyed` is a keyed digest, in letters and digits.
///
/// A row that was forgotten before stays as it is.
#[must_use]
pub fn forgotten<M: Clone>(
    row: &Instruction<M>,
    keyed: impl Fn(&[&str]) -> String,
) -> Instruction<M> {
    if row.msisdn.is_forgotten() {
        return row.clone();
    }
    let pseudonym = |parts: &[&str]| pseudonym(parts, &keyed);
    let reference = row.reference.as_ref().map(|reference| {
        let text = pseudonym(&["reference", &of_reference(reference.as_str())]);
        Reference::parse(&text).expect("a pseudonym is a reference")
    });
    let (account, bank) = recipient(row);
    // By their names rows are found that pay a failure under another number.
    let hidden = |name: &str| hidden_name(name, &keyed);
    let mut extra = row.extra_members();
    let holder = extra
        .find(|(name, _)| *name == HOLDER)
        .map(|(_, name)| name);
    Instruction {
        line: row.line,
        reference,
        service: row.service.clone(),
        msisdn: Msisdn::forgotten(),
        account_number: hidden_recipient(&bank, &account, &keyed).into(),
        money: row.money.clone(),
        country: row.country,
        narration: Text::default(),
        customer_names: hidden(&row.customer_names).into(),
        invoice_number: Text::default(),
        payment_mode: row.payment_mode.clone(),
        hub_id: row.hub_id.clone(),
        extra: holder
            .map(|name| (HOLDER.to_owned(), hidden(name)))
            .into_iter()
            .collect(),
        document: None,
    }
}

/// Letters of a word that stands for one recipient.
const WORD_LETTERS: usize = 8;

/// Returns the word that stands for whom a row pays, among those whom a number or an account may mean: a wallet, an account at a
/// bank, or an account of a service (a bill, a meter). `keyed` is a keyed digest, in letters and digits.
///
/// Rows of one word are forgotten together, and nothing that was forgotten comes back: so an account that differs in the zeros in
/// front of it is another one here, though a repeat of a payment is looked for without them.
#[must_use]
pub fn party(row: PartyOf<'_>, keyed: impl Fn(&[&str]) -> String) -> String {
    let [number, account] = [row.number, row.account].map(of_account_in_full);
    let bank = of_account(row.bank);
    let account = match account.as_str() {
        "" => &number,
        account => account,
    };
    let digest = match (&*bank, *account == number) {
        ("", true) => keyed(&["party", "number", account]),
        ("", false) => keyed(&["party", "service", &folded(row.service), account]),
        (bank, _) => keyed(&["party", "bank", bank, account]),
    };
    digest.chars().take(WORD_LETTERS).collect()
}

/// What of a row says whom it pays, each as it is written; what is not there is empty.
#[derive(Clone, Copy, Debug)]
pub struct PartyOf<'a> {
    /// The number.
    pub number: &'a str,
    /// The account.
    pub account: &'a str,
    /// The code of its bank.
    pub bank: &'a str,
    /// The service.
    pub service: &'a str,
}

/// One recipient, in every way in which rows write them; each text as it is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipient {
    /// The number as it is paid, or an account.
    pub texts: Vec<String>,
    /// As a row that was refused may have written the number: without the code of this country; and in full.
    pub national: Vec<(Country, String, String)>,
    /// The country of rows that name none.
    pub of_none: Option<Country>,
    /// Of all that are written so, the one of this word ([`party`]); `None`: whoever it is.
    pub only: Option<String>,
}

impl Recipient {
    /// Returns whoever is paid by this number or account, as it is written.
    #[must_use]
    pub fn written(text: &str) -> Self {
        Self {
            texts: vec![of_account(text).into_owned()],
            ..Self::default()
        }
    }

    /// Returns whoever is paid by a number of this country.
    #[must_use]
    pub fn number(number: &Msisdn, country: Country) -> Self {
        let national = number.national(country);
        Self {
            national: national
                .map(|text| {
                    let number = number.as_str().to_owned();
                    (country, of_account(text).into_owned(), number)
                })
                .into_iter()
                .collect(),
            ..Self::written(number.as_str())
        }
    }

    /// Returns whoever is written as either.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.texts.extend(other.texts);
        self.national.extend(other.national);
        self.of_none = self.of_none.or(other.of_none);
        self.only = self.only.or(other.only);
        self
    }
}

/// What decides whether the persons of a batch may be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// States that some payment of the batch has.
    pub states: Vec<State>,
    /// Rows without an amount, which wait for their bills.
    pub unpriced: bool,
    /// Rejected rows that nothing has taken the place of, and nobody has withdrawn.
    pub rejected: bool,
    /// Payments that have ended unpaid and are asked about all the same.
    pub inquiries: bool,
    /// Rows of other batches that are still to leave, and are judged by rows of this one before.
    pub watched: bool,
    /// A recovery is open: what is on record may be incomplete.
    pub recovering: bool,
    /// Rows that were loaded by a version that kept no salts.
    pub unsalted: bool,
    /// The newest evidence, load or retry of the batch.
    pub newest: Timestamp,
    /// Rows that come until then are compared with those of the batch in full.
    pub compared_until: Timestamp,
    /// Now.
    pub now: Timestamp,
}

/// Why the persons of a batch are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Kept {
    /// A payment has not ended.
    #[error("a payment of it is {}", .0.in_words())]
    Unfinished(State),
    /// A row waits for its bill.
    #[error("a row of it waits for its bill")]
    Unpriced,
    /// A rejected row waits to be mended or withdrawn.
    #[error("a rejected row of it is neither mended nor withdrawn")]
    Rejected,
    /// The gateway is asked about a payment that has ended.
    #[error("the gateway is to be asked about a payment of it")]
    Inquiry,
    /// A row of another batch rests on it.
    #[error("an unposted row of another batch must be checked against one of its rows")]
    Watched,
    /// A recovery is open.
    #[error("the journal is being recovered: the outcome of its payments may not be known")]
    Recovering,
    /// An earlier version loaded it.
    #[error(
        "it was loaded by a release that could not forget: its evidence covers names and numbers themselves"
    )]
    Unsalted,
    /// Its archive is not of the batch as it stands.
    #[error("something was recorded of it since its archive was written")]
    Moved,
    /// Too new.
    #[error("{}", until(&WireZone::utc().format_named(*.0)))]
    Compared(Timestamp),
}

/// Says until when names and numbers stay that rows of other batches are compared with.
fn until(time: &str) -> String {
    format!(
        "names and numbers stay until {time}: until then they are needed to find repeats of these rows \
         (repeats.window) and to count these payments towards monthly ceilings (32 days)"
    )
}

impl Kept {
    /// Says why, with times as a clock in this zone shows them.
    #[must_use]
    pub fn in_words(&self, zone: &WireZone) -> String {
        match self {
            Self::Compared(time) => until(&zone.format_named(*time)),
            other => other.to_string(),
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self, batch: &str) -> String {
        match self {
            Self::Unfinished(State::Conflict) => {
                format!("disburse status {batch} names it; decide it with: disburse resolve")
            }
            Self::Unfinished(_) | Self::Unpriced | Self::Inquiry => {
                format!("bring it to its end first: disburse run {batch}")
            }
            Self::Rejected => format!(
                "mend its rejected rows, or withdraw them: disburse cancel {batch} --rejected"
            ),
            Self::Watched => "run the other batch first; disburse explain names it".to_owned(),
            Self::Recovering => "finish the recovery first: disburse recover".to_owned(),
            Self::Unsalted => {
                "its people stay in this journal; a new journal can forget".to_owned()
            }
            Self::Moved => format!(
                "archive it once more, into another folder: disburse archive {batch} --out FOLDER"
            ),
            Self::Compared(_) => "wait until then".to_owned(),
        }
    }
}

/// Returns why the persons of a batch may not be forgotten yet.
///
/// # Errors
/// [`Kept`]: the first reason.
pub fn may_forget(facts: &Facts) -> Result<(), Kept> {
    if facts.recovering {
        return Err(Kept::Recovering);
    }
    let open = |state: &&State| !state.is_finished() || **state == State::Conflict;
    if let Some(state) = facts.states.iter().find(open) {
        return Err(Kept::Unfinished(*state));
    }
    for (holds, kept) in [
        (facts.unpriced, Kept::Unpriced),
        (facts.rejected, Kept::Rejected),
        (facts.inquiries, Kept::Inquiry),
        (facts.watched, Kept::Watched),
        (facts.unsalted, Kept::Unsalted),
    ] {
        if holds {
            return Err(kept);
        }
    }
    match facts.now < facts.compared_until {
        true => Err(Kept::Compared(facts.compared_until)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::{Amount, Currency, Money, ServiceCode};
    use crate::ledger::repeats::{References, is_same_payment, may_be_same_person};

    fn row(reference: Option<&str>, account: &str) -> Instruction {
        Instruction {
            line: 7,
            reference: reference.map(|text| Reference::parse(text).unwrap()),
            service: ServiceCode::parse("B2C").unwrap(),
            msisdn: Msisdn::from_digits("254700000001").unwrap(),
            account_number: account.into(),
            money: Money {
                amount: Amount::from_minor(100).unwrap(),
                currency: Currency::from_code("KES").unwrap(),
            },
            country: Country::from_code("KE").unwrap(),
            narration: "wages of Jane".into(),
            customer_names: "Jane".into(),
            invoice_number: "INV-1".into(),
            payment_mode: "MODE".into(),
            hub_id: "HUB".into(),
            extra: vec![("destinationBankCode".to_owned(), "001".to_owned())],
            document: None,
        }
    }

    /// As good as a digest for texts that are told apart.
    fn keyed(parts: &[&str]) -> String {
        data_encoding::BASE32_NOPAD.encode(parts.join("|").as_bytes())
    }

    #[test]
    fn what_is_personal_gives_way_and_the_rest_stays() {
        let kept = forgotten(&row(Some("EMP-1"), "0001"), keyed);
        let texts = format!(
            "{:?} {} {} {} {} {:?}",
            kept.reference,
            kept.account_number,
            kept.narration,
            kept.customer_names,
            kept.invoice_number,
            kept.extra
        );
        for personal in ["EMP-1", "0001", "Jane", "INV-1", "001"] {
            assert!(!texts.contains(personal), "{personal}: {texts}");
        }
        assert!(kept.msisdn.is_forgotten());
        assert_eq!(
            (kept.line, kept.payment_mode.as_str(), kept.hub_id.as_str()),
            (7, "MODE", "HUB")
        );
        assert!(forgotten(&kept, keyed) == kept);
    }

    #[test]
    fn a_row_is_the_same_debt_as_one_that_was_forgotten_if_it_was_before() {
        let known = row(Some("EMP-1"), "0001");
        let table = [
            (row(Some("EMP-1"), "0001"), References::Same, true),
            (row(Some("emp - 1"), "1"), References::Same, true),
            (row(Some("EMP-2"), "00-01"), References::Differ, true),
            (row(None, "0001"), References::Missing, true),
            (row(Some("EMP-1"), "0002"), References::Same, false),
            (row(None, "0002"), References::Missing, false),
        ];
        let text = |row: &Instruction| row.reference.as_ref().map(|r| r.as_str().to_owned());
        for (other, references, is_same) in table {
            let (hidden, other) = (forgotten(&known, keyed), forgotten(&other, keyed));
            let found = References::of(text(&hidden).as_deref(), text(&other).as_deref());
            assert_eq!(found, references, "{:?}", text(&other));
            assert_eq!(is_same_payment(&hidden, &other), is_same);
            // Who it was may be the same for all that is known.
            assert!(may_be_same_person(&hidden, &other));
        }
    }

    #[test]
    fn who_is_forgotten_is_one_wallet_or_one_account_at_one_bank_or_of_one_service() {
        let word = |[number, account, bank, service]: [&str; 4]| {
            let row = PartyOf {
                number,
                account,
                bank,
                service,
            };
            // As good as a digest: all of it is compared.
            party(row, |parts| {
                let mut sum = 0_u64;
                for byte in parts.join("|").bytes() {
                    sum = sum.wrapping_mul(1_000_003).wrapping_add(u64::from(byte));
                }
                format!("{:08x}", sum % 0xffff_fffb)
            })
        };
        let bank = ["254700000001", "0011223344", "01", "BANK"];
        let wallet = ["254712345678", "", "", "B2C"];
        let bill = ["254700000001", "0712345678", "", "POWER"];
        for (one, other, is_same) in [
            (bank, ["254700000002", "00-1122 3344", "1", "RTGS"], true),
            (bank, ["254700000001", "0011223344", "02", "BANK"], false),
            (bank, ["254700000001", "11223344", "01", "BANK"], false),
            (wallet, ["+254 712 345678", "254712345678", "", "PAY"], true),
            (
                wallet,
                ["254712345678", "254712345678", "02", "BANK"],
                false,
            ),
            (wallet, ["256712345678", "", "", "B2C"], false),
            // A number that is only told of a payment to an account is not whom it pays.
            (wallet, ["254712345678", "0011223344", "01", "BANK"], false),
            (bill, ["254700000009", "0712 345678", "", "power"], true),
            (bill, ["254700000001", "712345678", "", "POWER"], false),
            (bill, ["254700000001", "0712345678", "", "WATER"], false),
            (bill, ["254700000001", "0712345678", "01", "POWER"], false),
        ] {
            assert_eq!(word(one) == word(other), is_same, "{one:?} {other:?}");
        }
    }

    #[test]
    fn persons_are_kept_while_something_may_rest_on_them() {
        let now = Timestamp::from_millis(1_000_000);
        let done = Facts {
            states: vec![State::Paid, State::Failed, State::Cancelled],
            unpriced: false,
            rejected: false,
            inquiries: false,
            watched: false,
            recovering: false,
            unsalted: false,
            newest: Timestamp::from_millis(0),
            compared_until: now,
            now,
        };
        assert_eq!(may_forget(&done), Ok(()));
        let later = now.after(Duration::from_millis(1));
        type Change = fn(&mut Facts, Timestamp);
        let table: [(Change, Kept); 9] = [
            (|f, _| f.recovering = true, Kept::Recovering),
            (
                |f, _| f.states.push(State::Conflict),
                Kept::Unfinished(State::Conflict),
            ),
            (
                |f, _| f.states.push(State::InDoubt),
                Kept::Unfinished(State::InDoubt),
            ),
            (|f, _| f.unpriced = true, Kept::Unpriced),
            (|f, _| f.rejected = true, Kept::Rejected),
            (|f, _| f.inquiries = true, Kept::Inquiry),
            (|f, _| f.watched = true, Kept::Watched),
            (|f, _| f.unsalted = true, Kept::Unsalted),
            (|f, at| f.compared_until = at, Kept::Compared(later)),
        ];
        for (change, kept) in table {
            let mut facts = done.clone();
            change(&mut facts, later);
            assert_eq!(may_forget(&facts), Err(kept));
            assert!(!kept.hint("june").is_empty());
        }
    }

    #[test]
    fn until_when_names_stay_is_told_by_the_clock_of_the_profile_and_for_every_reason() {
        let kept = Kept::Compared(Timestamp::parse("2026-12-28T09:55:43.282Z").unwrap());
        let zone = WireZone::from_name("Africa/Nairobi").unwrap();
        let told = kept.in_words(&zone);
        for part in ["2026-12-28 12:55:43 EAT", "repeats.window", "32 days"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(
            kept.to_string().contains("2026-12-28 09:55:43 UTC"),
            "{kept}"
        );
        // Nobody shortens the window in vain.
        assert_eq!(kept.hint("june"), "wait until then");
    }
}
