//! One transfer of a message as a row of cells, and what of it cannot be paid.

use super::super::FIELD_BYTES_MAX;
use super::super::message_cells::{NAMES, OURS};
use super::super::text::quoted;
use super::super::xml::Place;
use super::elements::Fact;
use crate::domain::Origin;

/// Cells whose loss is told, with the element that they come from. Of others the content stands in another cell too.
const TOLD: [(usize, &str); 9] = [
    (16, "SvcLvl"),
    (17, "LclInstrm"),
    (18, "CtgyPurp"),
    (19, "Purp"),
    (20, "ChrgBr"),
    (23, "CdtrRefInf"),
    (24, "RfrdDocInf"),
    (25, "Cdtr/PstlAdr"),
    (26, "DbtrAcct"),
];

/// Returns whether a cell reaches the payment, where a layout takes the cells of `used`.
fn is_carried(at: usize, used: Option<&[usize]>) -> bool {
    match used {
        None => at < OURS.len(),
        Some(used) => used.contains(&at),
    }
}

/// What a message says where there is no reference.
const NONE: &str = "NOTPROVIDED";
/// The most characters of a name within a message (`Max35Text`).
pub(super) const ID_MAX: usize = 35;
/// What the numbers of phones are called among the proxies and schemes of accounts.
const PHONES: [&str; 3] = ["TELE", "MBNO", "MSISDN"];

/// What was read of a block or of a transfer; its buffers are used again.
#[derive(Debug)]
pub(super) struct Facts {
    texts: Vec<String>,
    places: [Option<Place>; Fact::COUNT],
    /// The currencies of the amount, and of an equivalent one.
    pub(super) currencies: [String; 2],
    /// It is to be paid by a cheque.
    pub(super) is_cheque: bool,
    /// An element that stands there twice.
    pub(super) doubled: Option<Place>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            texts: vec![String::new(); Fact::COUNT],
            places: [None; Fact::COUNT],
            currencies: Default::default(),
            is_cheque: false,
            doubled: None,
        }
    }
}

impl Facts {
    pub(super) fn clear(&mut self) {
        self.texts.iter_mut().for_each(String::clear);
        self.places = [None; Fact::COUNT];
        self.currencies.iter_mut().for_each(String::clear);
        (self.is_cheque, self.doubled) = (false, None);
    }

    /// Takes a text; of those that may stand there more than once as much as a cell holds, and a little.
    pub(super) fn take(&mut self, fact: Fact, text: &str, at: Place) {
        let known = &mut self.texts[fact as usize];
        match (self.places[fact as usize], fact.may_repeat()) {
            (None, _) => {
                self.places[fact as usize] = Some(at);
                known.push_str(text);
            }
            (Some(_), true) if known.len() <= FIELD_BYTES_MAX => {
                if !known.is_empty() && !text.is_empty() {
                    known.push(' ');
                }
                known.push_str(text);
            }
            (Some(_), true) => {}
            (Some(_), false) => _ = self.doubled.get_or_insert(at),
        }
    }

    pub(super) fn text(&self, fact: Fact) -> &str {
        &self.texts[fact as usize]
    }

    pub(super) fn place(&self, fact: Fact) -> Option<Place> {
        self.places[fact as usize]
    }
}

/// One thing that is wrong with a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    /// The column of the contract.
    pub(super) column: Option<&'static str>,
    pub(super) message: String,
    /// It cannot be paid at all, whatever else is wrong with it.
    pub(super) is_final: bool,
}

fn flaw(column: &'static str, message: String) -> Flaw {
    Flaw {
        column: Some(column),
        message,
        is_final: false,
    }
}

fn unpayable(message: String) -> Flaw {
    Flaw {
        column: None,
        message,
        is_final: true,
    }
}

/// The cells of a transfer, with the places that they come from.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) texts: [String; NAMES.len()],
    pub(super) places: [Option<Place>; NAMES.len()],
    pub(super) flaws: Vec<Flaw>,
    /// The creditor's bank is named, and not needed for a phone number.
    pub(super) loses_agent: bool,
}

/// What a message is called.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    /// Its kind and version.
    pub(super) kind: &'a str,
    /// Its own name (`MsgId`).
    pub(super) message: &'a str,
}

/// Whom a transfer pays.
#[derive(Debug, PartialEq, Eq)]
enum Payee {
    /// The owner of a phone number, which stands in this element.
    Phone(Fact),
    /// The owner of an account.
    Account(Fact),
    /// The account and the phone number of a proxy are not the same.
    Open,
    /// Two accounts.
    Several,
    /// No account that can be paid; the type of its proxy, where it has one.
    Nobody,
}

impl Cells {
    /// Fills the cells with a transfer of a block.
    pub(super) fn fill(&mut self, transfer: &Facts, block: &Facts, message: Named<'_>) {
        self.texts.iter_mut().for_each(String::clear);
        self.places = [None; NAMES.len()];
        self.flaws.clear();
        self.loses_agent = false;
        self.amount(transfer);
        self.method(transfer, block);
        let payee = payee(transfer);
        self.payee(transfer, &payee);
        let own = |fact| (transfer, fact);
        let inherited = |fact| match transfer.place(fact) {
            Some(_) => (transfer, fact),
            None => (block, fact),
        };
        let debtor = match block.place(Fact::DebtorIban) {
            Some(_) => Fact::DebtorIban,
            None => Fact::DebtorOther,
        };
        let from = [
            (0, own(Fact::EndToEndId)),
            (4, own(Fact::Name)),
            (5, own(Fact::Unstructured)),
            (10, (block, Fact::Day)),
            (13, (block, Fact::BlockId)),
            (14, own(Fact::InstructionId)),
            (15, (block, Fact::Method)),
            (16, inherited(Fact::ServiceLevel)),
            (17, inherited(Fact::LocalInstrument)),
            (18, inherited(Fact::CategoryPurpose)),
            (19, own(Fact::Purpose)),
            (20, inherited(Fact::ChargeBearer)),
            (21, own(Fact::Bic)),
            (22, own(Fact::Member)),
            (23, own(Fact::CreditorReference)),
            (24, own(Fact::Document)),
            (25, own(Fact::Country)),
            (26, (block, debtor)),
        ];
        for (at, (facts, fact)) in from {
            self.put(at, facts, fact);
        }
        if self.texts[0].eq_ignore_ascii_case(NONE) {
            self.texts[0].clear();
        }
        self.origin(transfer, block, message);
        if let Some(at) = transfer.doubled {
            self.flaws.push(Flaw {
                column: None,
                message: format!("has an element twice that may stand there once, at {at}"),
                is_final: false,
            });
        }
    }

    fn put(&mut self, at: usize, facts: &Facts, fact: Fact) {
        self.texts[at].push_str(facts.text(fact));
        self.places[at] = facts.place(fact);
    }

    fn amount(&mut self, transfer: &Facts) {
        self.put(1, transfer, Fact::Amount);
        self.texts[2].push_str(&transfer.currencies[0]);
        self.places[2] = self.places[1];
        if let Some(at) = transfer.place(Fact::EquivalentAmount) {
            self.places[1] = Some(at);
            self.flaws.push(unpayable(format!(
                "expected an amount in the currency that is paid (InstdAmt), found the equivalent of {} {} (EqvtAmt): what is paid would \
                 depend on a rate that nobody has stated",
                quoted(transfer.text(Fact::EquivalentAmount)),
                quoted(&transfer.currencies[1])
            )));
        } else if transfer.place(Fact::Amount).is_some() && transfer.currencies[0].is_empty() {
            let message = "expected the currency of InstdAmt (Ccy), found nothing";
            self.flaws.push(flaw("currency_code", message.to_owned()));
        }
    }

    fn method(&mut self, transfer: &Facts, block: &Facts) {
        let method = block.text(Fact::Method);
        if transfer.is_cheque || method == "CHK" {
            let message = "is to be paid by a cheque (PmtMtd CHK, ChqInstr), which this gateway does not write";
            self.flaws.push(unpayable(message.to_owned()));
        } else if !matches!(method, "TRF" | "TRA") {
            self.flaws.push(unpayable(format!(
                "expected a transfer (PmtMtd TRF), found {}",
                quoted(method)
            )));
        }
    }

    fn payee(&mut self, transfer: &Facts, payee: &Payee) {
        let has_agent = [Fact::Bic, Fact::Member, Fact::BankName]
            .into_iter()
            .any(|fact| transfer.place(fact).is_some());
        match payee {
            Payee::Phone(fact) => {
                self.put(3, transfer, *fact);
                self.texts[12].push_str("phone");
                self.loses_agent = has_agent;
            }
            Payee::Account(fact) => {
                let contact = contact(transfer).unwrap_or(Fact::Mobile);
                self.put(3, transfer, contact);
                // The code within the country says more than that of the whole bank.
                let code = match transfer.place(Fact::Member) {
                    Some(_) => Fact::Member,
                    None => Fact::Bic,
                };
                self.put(6, transfer, code);
                self.put(7, transfer, Fact::BankName);
                let owner = match transfer.place(Fact::AccountName) {
                    Some(_) => Fact::AccountName,
                    None => Fact::Name,
                };
                self.put(8, transfer, owner);
                self.put(9, transfer, *fact);
                self.texts[12].push_str("account");
            }
            Payee::Open => self.flaws.push(flaw(
                "bank_account_number",
                format!(
                    "expected one account, found {} and the phone number {} (Prxy), which are not the same",
                    quoted(account(transfer).map_or("", |fact| transfer.text(fact))),
                    quoted(transfer.text(Fact::Proxy))
                ),
            )),
            Payee::Several => self.flaws.push(flaw(
                "bank_account_number",
                format!(
                    "expected one account (CdtrAcct/Id), found the IBAN {} and the account {}",
                    quoted(transfer.text(Fact::Iban)),
                    quoted(transfer.text(Fact::Other))
                ),
            )),
            Payee::Nobody => self.flaws.push(flaw(
                "msisdn",
                match transfer.place(Fact::Proxy) {
                    Some(_) if transfer.text(Fact::ProxyType).is_empty() => {
                        "expected an account (CdtrAcct/Id) or a phone number (Prxy of type TELE, MBNO or MSISDN, or CtctDtls/MobNb), found a proxy \
                         without a type"
                            .to_owned()
                    }
                    Some(_) => format!(
                        "expected an account (CdtrAcct/Id) or a phone number (Prxy of type TELE, MBNO or MSISDN, or CtctDtls/MobNb), found a proxy of \
                         type {}",
                        quoted(transfer.text(Fact::ProxyType))
                    ),
                    None => "expected an account (CdtrAcct/Id) or a phone number (Prxy of type TELE, MBNO or MSISDN, or CtctDtls/MobNb), found nothing"
                        .to_owned(),
                },
            )),
        }
    }

    /// Notes what the message calls the transfer: the answer to it repeats that.
    fn origin(&mut self, transfer: &Facts, block: &Facts, named: Named<'_>) {
        let ids = [
            (Fact::InstructionId, "InstrId"),
            (Fact::EndToEndId, "EndToEndId"),
        ];
        for (fact, name) in ids {
            let characters = transfer.text(fact).chars().count();
            if characters > ID_MAX {
                let message =
                    format!("expected at most {ID_MAX} characters in {name}, found {characters}");
                self.flaws.push(flaw("origin", message));
                return;
            }
        }
        let uetr = transfer.text(Fact::Uetr);
        if !uetr.is_empty() && !is_uetr(uetr) {
            let message = format!(
                "expected a UETR such as 8a562c67-ca16-48ba-b074-65581be6f011, found {}",
                quoted(uetr)
            );
            self.flaws.push(flaw("origin", message));
            return;
        }
        let origin = Origin {
            kind: named.kind.to_owned(),
            message: named.message.to_owned(),
            block: block.text(Fact::BlockId).to_owned(),
            instruction: transfer.text(Fact::InstructionId).to_owned(),
            end_to_end: transfer.text(Fact::EndToEndId).to_owned(),
            uetr: uetr.to_owned(),
        };
        self.texts[11] = origin.to_string();
        self.places[11] = transfer.place(Fact::EndToEndId);
    }

    /// Returns the elements whose content is lost, where a layout takes the cells of `used`.
    pub(super) fn lost<'a>(
        &'a self,
        used: Option<&'a [usize]>,
    ) -> impl Iterator<Item = &'static str> + 'a {
        let told = TOLD
            .into_iter()
            .filter(move |(at, _)| !is_carried(*at, used) && !self.texts[*at].is_empty());
        let agent = self.loses_agent.then_some("CdtrAgt");
        told.map(|(_, name)| name).chain(agent)
    }
}

/// Tells the unique end-to-end transaction reference by its form: a UUID of version 4.
fn is_uetr(text: &str) -> bool {
    let is_place = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'4',
        19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_place)
}

fn is_phone(kind: &str) -> bool {
    PHONES.iter().any(|known| kind.eq_ignore_ascii_case(known))
}

/// Returns where the account of the creditor stands; that of a scheme of phone numbers is none.
fn account(transfer: &Facts) -> Option<Fact> {
    // Where an account has to be named beside its proxy, there may be none all the same.
    let is_there = |fact: &Fact| {
        let text = transfer.text(*fact);
        !text.is_empty() && !text.eq_ignore_ascii_case(NONE)
    };
    let other = Some(Fact::Other).filter(|_| !is_phone(transfer.text(Fact::Scheme)));
    Some(Fact::Iban).filter(is_there).or(other.filter(is_there))
}

/// Returns where a phone number of the creditor stands, beside the account.
fn contact(transfer: &Facts) -> Option<Fact> {
    [Fact::Mobile, Fact::Phone]
        .into_iter()
        .find(|fact| !transfer.text(*fact).is_empty())
}

/// Returns whether a transfer names the creditor's bank, or an account by itself or by a proxy, were it an empty one.
fn names_an_account(transfer: &Facts) -> bool {
    [
        Fact::Proxy,
        Fact::ProxyType,
        Fact::Bic,
        Fact::Member,
        Fact::BankName,
        Fact::Iban,
        Fact::Other,
    ]
    .into_iter()
    .any(|fact| transfer.place(fact).is_some())
}

/// Decides whom a transfer pays. A proxy is another name of the account, so that both are to be the same.
fn payee(transfer: &Facts) -> Payee {
    let by_proxy =
        is_phone(transfer.text(Fact::ProxyType)) && !transfer.text(Fact::Proxy).is_empty();
    let by_scheme = is_phone(transfer.text(Fact::Scheme)) && !transfer.text(Fact::Other).is_empty();
    let phone = match (by_proxy, by_scheme) {
        (true, _) => Some(Fact::Proxy),
        (_, true) => Some(Fact::Other),
        _ => None,
    };
    // Where the scheme says so, the account is that number, too.
    let account = account(transfer).or((by_proxy && by_scheme).then_some(Fact::Other));
    let digits = |fact| -> String {
        let text: &str = transfer.text(fact);
        text.chars().filter(char::is_ascii_digit).collect()
    };
    let is_other_account = account == Some(Fact::Iban) && {
        let other = transfer.text(Fact::Other);
        !other.is_empty() && !other.eq_ignore_ascii_case(NONE) && other != transfer.text(Fact::Iban)
    };
    match (phone, account) {
        (None, _) if is_other_account => Payee::Several,
        (Some(phone), Some(account)) if digits(phone) != digits(account) => Payee::Open,
        (Some(phone), _) => Payee::Phone(phone),
        (None, Some(account)) => Payee::Account(account),
        // Whoever names a bank, or an account that is none, did not mean the phone of the contact.
        (None, None) if names_an_account(transfer) => Payee::Nobody,
        (None, None) => contact(transfer).map_or(Payee::Nobody, Payee::Phone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Place = Place { line: 5, column: 9 };

    fn facts(of: &[(Fact, &str)]) -> Facts {
        let mut facts = Facts::default();
        for (fact, text) in of {
            facts.take(*fact, text, AT);
        }
        facts
    }

    #[test]
    fn who_is_paid_is_told_by_the_account_its_proxy_and_the_contact() {
        use Fact::{Iban, Mobile, Other, Phone, Proxy, ProxyType, Scheme};
        let phone = "+254-712345678";
        for (of, expected) in [
            (&[(Iban, "KE01")][..], Payee::Account(Iban)),
            (&[(Other, "0123")], Payee::Account(Other)),
            (&[(Other, "0123"), (Mobile, phone)], Payee::Account(Other)),
            (&[(Mobile, phone)], Payee::Phone(Mobile)),
            (&[(Phone, phone)], Payee::Phone(Phone)),
            (&[(Other, ""), (Mobile, phone)], Payee::Nobody),
            (&[(Other, "NOTPROVIDED"), (Mobile, phone)], Payee::Nobody),
            (&[(Fact::Bic, "BANKKENA"), (Mobile, phone)], Payee::Nobody),
            (&[(Phone, "+254-20"), (Mobile, phone)], Payee::Phone(Mobile)),
            (&[(ProxyType, "TELE"), (Proxy, phone)], Payee::Phone(Proxy)),
            (
                &[
                    (ProxyType, "mbno"),
                    (Proxy, phone),
                    (Mobile, "+254-733000000"),
                ],
                Payee::Phone(Proxy),
            ),
            (
                &[
                    (ProxyType, "MSISDN"),
                    (Proxy, phone),
                    (Other, "254712345678"),
                ],
                Payee::Phone(Proxy),
            ),
            (
                &[(ProxyType, "TELE"), (Proxy, phone), (Other, "NOTPROVIDED")],
                Payee::Phone(Proxy),
            ),
            (
                &[(ProxyType, "TELE"), (Proxy, phone), (Other, "0123")],
                Payee::Open,
            ),
            (
                &[(ProxyType, "TELE"), (Proxy, phone), (Iban, "KE01")],
                Payee::Open,
            ),
            (
                &[(Scheme, "MSISDN"), (Other, "254712345678")],
                Payee::Phone(Other),
            ),
            (
                &[
                    (Scheme, "MSISDN"),
                    (Other, "254700000000"),
                    (ProxyType, "TELE"),
                    (Proxy, phone),
                ],
                Payee::Open,
            ),
            (&[(Scheme, "CUST"), (Other, "0123")], Payee::Account(Other)),
            (
                &[(ProxyType, "EMAL"), (Proxy, "a@b.example")],
                Payee::Nobody,
            ),
            (
                &[(ProxyType, "EMAL"), (Proxy, "a@b.example"), (Other, "0123")],
                Payee::Account(Other),
            ),
            (&[(ProxyType, "TELE")], Payee::Nobody),
            // The contact is somebody to talk to, once an account is named in another way.
            (&[(Proxy, "+254-733000000"), (Mobile, phone)], Payee::Nobody),
            (
                &[(ProxyType, "EMAL"), (Proxy, "a@b.example"), (Mobile, phone)],
                Payee::Nobody,
            ),
            (
                &[(ProxyType, "NIDN"), (Proxy, "12345678"), (Phone, phone)],
                Payee::Nobody,
            ),
            (&[(Iban, "KE01"), (Other, "0123")], Payee::Several),
            (&[(Iban, "KE01"), (Other, "KE01")], Payee::Account(Iban)),
            (
                &[(Iban, "KE01"), (Other, "NOTPROVIDED")],
                Payee::Account(Iban),
            ),
            (&[], Payee::Nobody),
        ] {
            assert_eq!(payee(&facts(of)), expected, "{of:?}");
        }
    }

    fn filled(transfer: &[(Fact, &str)], block: &[(Fact, &str)]) -> Cells {
        let mut cells = Cells::default();
        let mut transfer = facts(transfer);
        transfer.currencies[0] = "KES".to_owned();
        let common = [
            (Fact::Method, "TRF"),
            (Fact::BlockId, "B1"),
            (Fact::Day, "2026-12-01"),
        ];
        let block = [block, &common].concat();
        let named = Named {
            kind: "pain.001.001.09",
            message: "M1",
        };
        cells.fill(&transfer, &facts(&block), named);
        cells
    }

    fn named(cells: &Cells) -> Vec<(&'static str, &str)> {
        let all = OURS.iter().zip(&cells.texts);
        all.filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (*name, text.as_str()))
            .collect()
    }

    #[test]
    fn a_transfer_becomes_a_row_of_a_bank_or_of_a_wallet() {
        let base = [
            (Fact::EndToEndId, "E1"),
            (Fact::Amount, "1500.50"),
            (Fact::Name, "Wanjiku"),
        ];
        let bank = [
            (Fact::Bic, "BANKKENA"),
            (Fact::Member, "01"),
            (Fact::BankName, "A Bank"),
            (Fact::Other, "0123456"),
        ];
        let cells = filled(&[&base[..], &bank].concat(), &[]);
        assert_eq!(cells.flaws, []);
        assert_eq!(
            named(&cells),
            [
                ("reference", "E1"),
                ("amount", "1500.50"),
                ("currency_code", "KES"),
                ("customer_names", "Wanjiku"),
                ("bank_code", "01"),
                ("bank_name", "A Bank"),
                ("bank_account_name", "Wanjiku"),
                ("bank_account_number", "0123456"),
                ("not_before", "2026-12-01"),
                (
                    "origin",
                    "[\"pain.001.001.09\",\"M1\",\"B1\",\"\",\"E1\",\"\"]"
                ),
            ]
        );
        let wallet = [
            (Fact::ProxyType, "TELE"),
            (Fact::Proxy, "+254-712345678"),
            (Fact::Bic, "BANKKENA"),
        ];
        let base = [(Fact::EndToEndId, "NOTPROVIDED"), (Fact::Amount, "10")];
        let cells = filled(
            &[&base[..], &wallet].concat(),
            &[(Fact::ChargeBearer, "SHAR")],
        );
        assert_eq!(cells.flaws, []);
        assert_eq!(
            named(&cells),
            [
                ("amount", "10"),
                ("currency_code", "KES"),
                ("msisdn", "+254-712345678"),
                ("not_before", "2026-12-01"),
                (
                    "origin",
                    "[\"pain.001.001.09\",\"M1\",\"B1\",\"\",\"NOTPROVIDED\",\"\"]"
                ),
            ]
        );
        assert_eq!(cells.lost(None).collect::<Vec<_>>(), ["ChrgBr", "CdtrAgt"]);
        assert_eq!(cells.lost(Some(&[20])).collect::<Vec<_>>(), ["CdtrAgt"]);
    }

    #[test]
    fn what_cannot_be_paid_says_why() {
        let base = [(Fact::EndToEndId, "E1"), (Fact::Other, "0123456")];
        let long = "x".repeat(36);
        type Case<'a> = (&'a [(Fact, &'a str)], &'a [(Fact, &'a str)], &'a str, bool);
        let cases: [Case<'_>; 6] = [
            (&[(Fact::EquivalentAmount, "10")], &[], "(EqvtAmt)", true),
            (
                &[(Fact::Amount, "10")],
                &[(Fact::Method, "CHK")],
                "by a cheque",
                true,
            ),
            (
                &[(Fact::Amount, "10")],
                &[(Fact::Method, "DD")],
                "expected a transfer",
                true,
            ),
            (
                &[(Fact::Amount, "10"), (Fact::Amount, "20")],
                &[],
                "twice",
                false,
            ),
            (
                &[(Fact::Amount, "10"), (Fact::InstructionId, &long)],
                &[],
                "at most 35 characters in InstrId",
                false,
            ),
            (
                &[(Fact::Amount, "10"), (Fact::Uetr, "x")],
                &[],
                "a UETR such as",
                false,
            ),
        ];
        for (transfer, block, part, is_final) in cases {
            let cells = filled(&[transfer, &base].concat(), block);
            let [flaw] = cells.flaws.as_slice() else {
                panic!("{:?}", cells.flaws)
            };
            assert!(flaw.message.contains(part), "{}", flaw.message);
            assert_eq!(flaw.is_final, is_final, "{part}");
        }
        assert!(is_uetr("8a562c67-ca16-48ba-b074-65581be6f011"));
        assert!(!is_uetr("8a562c67-ca16-18ba-b074-65581be6f011"));
    }
}
