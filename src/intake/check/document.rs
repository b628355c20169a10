//! The supporting document of an RTGS transfer: there when it is needed, and a sound PDF (sections 2.5 and 4.5).

use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::{DocumentPath, Money, PaymentKind};

use super::super::columns::{Field, UPLOADED};
use super::super::document::check_document;
use super::super::rules::{Documents, Rules};
use super::super::text::quoted;
use super::findings::Findings;
use super::service::Service;

/// How many documents are remembered: many rows may name one.
const REMEMBERED_MAX: usize = 4096;

/// The documents that were looked at, and what was wrong with each.
#[derive(Default)]
pub(super) struct Checked {
    known: BTreeMap<String, Result<[u8; 32], String>>,
    left_out: u64,
}

impl Checked {
    /// Returns how many rows name a document that is not sent.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the document that the payment is sent with.
    pub(super) fn check(
        &mut self,
        rules: &Rules,
        written: &str,
        service: Option<&Service>,
        money: Option<Money>,
        extra: &mut Vec<(String, String)>,
        found: &mut Findings,
    ) -> Option<DocumentPath> {
        let uploaded = extra.iter().position(|(name, _)| name == UPLOADED);
        if let (Some(service), Some(kind)) = (service, service.and_then(Service::kind)) {
            if kind != PaymentKind::Rtgs {
                let message = || {
                    format!(
                        "expected nothing, {} takes no document ({kind}; section 4.5)",
                        service.code
                    )
                };
                if !written.is_empty() {
                    found.add(
                        Field::Document,
                        format!("{}, found {}", message(), quoted(written)),
                    );
                }
                if uploaded.is_some() {
                    found.push(Some(format!("extra.{UPLOADED}")), message());
                }
                return None;
            }
            // Whether a document is needed cannot be told without the amount, which has an error of its own.
            let money = money?;
            let threshold = rules
                .document_thresholds
                .iter()
                .find(|threshold| threshold.currency == money.currency);
            let Some(threshold) = threshold.filter(|least| money.amount >= least.amount) else {
                if let Some(at) = uploaded {
                    extra.remove(at);
                }
                self.left_out += u64::from(!written.is_empty() || uploaded.is_some());
                return None;
            };
            if written.is_empty() && uploaded.is_none() {
                let expected = format!(
                    "a supporting document (PDF) for an RTGS transfer of {threshold} {} or more (section 4.5)",
                    threshold.currency
                );
                found.missing(Field::Document, &expected);
            }
        }
        if written.is_empty() {
            return None;
        }
        if uploaded.is_some() {
            let message = format!(
                "expected either a document or extra.{UPLOADED}, found both ({})",
                quoted(written)
            );
            found.add(Field::Document, message);
        }
        let looked_at = rules
            .documents
            .as_ref()
            .map(|documents| self.look_at(documents, written));
        if let Some(Err(problem)) = &looked_at {
            found.cell(Field::Document, problem.clone(), written);
        }
        Some(DocumentPath {
            written: written.to_owned(),
            folder: rules
                .documents
                .as_ref()
                .map_or(String::new(), |documents| documents.folder.clone()),
            digest: looked_at.and_then(Result::ok),
        })
    }

    fn look_at(&mut self, documents: &Documents, written: &str) -> Result<[u8; 32], String> {
        if let Some(known) = self.known.get(written) {
            return known.clone();
        }
        let folder = Path::new(&documents.folder);
        let checked =
            check_document(folder, written, documents.bytes_max).map_err(|error| error.to_string());
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        self.known.insert(written.to_owned(), checked.clone());
        checked
    }
}
