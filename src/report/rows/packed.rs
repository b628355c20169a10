//! Entries on their way to the thread that writes the files: many of them in one text.

use super::entry::{Entry, Prepaid, StateName};
use crate::domain::{BankAccount, Money, Timestamp};

/// A batch of entries is full with so many bytes of text or so many entries, whichever comes first.
const TEXT_FULL: usize = 128 * 1024;
const ENTRIES_FULL: usize = 1024;

const TEXTS: usize = 20;

/// Entries whose texts stand one behind the other.
#[derive(Default)]
pub(in crate::report) struct Packed {
    text: String,
    entries: Vec<Numbers>,
}

/// What an entry has besides its texts, and where these end.
struct Numbers {
    ends: [usize; TEXTS],
    line: u64,
    money: Option<Money>,
    state: StateName,
    status_code: Option<i64>,
    prepaid: Prepaid,
    attempts: u32,
    posted_at: Option<Timestamp>,
    settled_at: Option<Timestamp>,
}

impl Packed {
    pub(in crate::report) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(in crate::report) fn is_full(&self) -> bool {
        self.text.len() >= TEXT_FULL || self.entries.len() >= ENTRIES_FULL
    }

    pub(in crate::report) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
    }

    pub(in crate::report) fn push(&mut self, entry: &Entry<'_>) {
        // Every member by its name: one that is added later cannot be forgotten here.
        let Entry {
            line,
            reference,
            id,
            service_code,
            msisdn,
            account_number,
            money,
            amount_text,
            currency_text,
            state,
            status_code,
            status_description,
            gateway_transaction_id,
            receipt_number,
            application_id,
            receiver_narration,
            prepaid,
            attempts,
            posted_at,
            settled_at,
            customer_names,
            narration,
            invoice_number,
            bank,
            note,
        } = *entry;
        let BankAccount {
            bank_code,
            bank_name,
            account_name,
            account_number: bank_account_number,
        } = bank;
        let texts = [
            reference,
            id,
            service_code,
            msisdn,
            account_number,
            amount_text,
            currency_text,
            status_description,
            gateway_transaction_id,
            receipt_number,
            application_id,
            receiver_narration,
            note,
            customer_names,
            narration,
            invoice_number,
            bank_code,
            bank_name,
            account_name,
            bank_account_number,
        ];
        let ends = texts.map(|text| {
            self.text.push_str(text);
            self.text.len()
        });
        self.entries.push(Numbers {
            ends,
            line,
            money,
            state,
            status_code,
            prepaid,
            attempts,
            posted_at,
            settled_at,
        });
    }

    /// Iterates over the entries in the order in which they came.
    pub(in crate::report) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut begin = 0;
        self.entries.iter().map(move |numbers| {
            let [
                reference,
                id,
                service_code,
                msisdn,
                account_number,
                amount_text,
                currency_text,
                status_description,
                gateway_transaction_id,
                receipt_number,
                application_id,
                receiver_narration,
                note,
                customer_names,
                narration,
                invoice_number,
                bank_code,
                bank_name,
                account_name,
                bank_account_number,
            ] = numbers.ends.map(|end| {
                let text = &self.text[begin..end];
                begin = end;
                text
            });
            Entry {
                line: numbers.line,
                reference,
                id,
                service_code,
                msisdn,
                account_number,
                money: numbers.money,
                amount_text,
                currency_text,
                state: numbers.state,
                status_code: numbers.status_code,
                status_description,
                gateway_transaction_id,
                receipt_number,
                application_id,
                receiver_narration,
                prepaid: numbers.prepaid,
                attempts: numbers.attempts,
                posted_at: numbers.posted_at,
                settled_at: numbers.settled_at,
                customer_names,
                narration,
                invoice_number,
                bank: BankAccount {
                    bank_code,
                    bank_name,
                    account_name,
                    account_number: bank_account_number,
                },
                note,
            }
        })
    }
}
