//! What every command starts from: the common options and the configuration.

use std::collections::BTreeMap;
use std::path::Path;

use super::Error;
use super::actor::actor;
use super::arguments::{Common, NameArguments};
use super::config::{Settings, Sources};
use super::files::calendar;
use crate::cli::terminal::output;
use crate::domain::{BatchName, PayerTransactionId, WireZone};
use crate::journal::Journal;
use crate::ledger::Purpose;
use crate::ledger::calendar::Calendar;
use crate::ledger::names::{By, PaymentName};

/// The common options of one command.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) common: Common,
}

impl Session {
    /// The zone of the profile; universal time without one.
    pub(super) fn zone(&self, rehearsal: bool) -> WireZone {
        let settings = self.settings(rehearsal, Vec::new()).ok();
        let zone = settings.and_then(|settings| settings.profile.time_zone);
        zone.unwrap_or_else(WireZone::utc)
    }

    /// Returns when services are open, to tell a person; where that cannot be read, the run says so.
    pub(super) fn calendar(&self, rehearsal: bool) -> Calendar {
        let settings = self.settings(rehearsal, Vec::new()).ok();
        let calendar = settings.and_then(|settings| calendar::calendar(&settings).ok());
        calendar.unwrap_or_default()
    }

    /// The zone in which days and months of limits begin.
    pub(super) fn limits_zone(&self, rehearsal: bool) -> WireZone {
        let settings = self.settings(rehearsal, Vec::new()).ok();
        settings.map_or_else(WireZone::utc, |settings| settings.limits.limits.zone)
    }

    pub(super) fn new(common: Common) -> Self {
        Self { common }
    }

    /// Reads the configuration; flags come as key and value.
    pub(super) fn settings(
        &self,
        sandbox: bool,
        overrides: Vec<(&'static str, Option<String>)>,
    ) -> Result<Settings, Error> {
        let sources = Sources {
            config_path: self.common.config.clone(),
            profile: self.common.profile.clone(),
            // Variables that are not text cannot be ours.
            environment: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect::<BTreeMap<_, _>>(),
            overrides: overrides
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect(),
            directory: std::path::PathBuf::new(),
        };
        let settings = if sandbox {
            Settings::sandbox(&sources)
        } else {
            Settings::load(&sources)
        }?;
        Ok(settings)
    }

    /// Opens the journal that is there, in the hands of whoever gives this command.
    pub(super) fn journal(&self) -> Result<Journal, Error> {
        Ok(Journal::open_existing(self.journal_path())?.acting_as(actor()))
    }

    pub(super) fn journal_path(&self) -> &Path {
        &self.common.journal
    }

    /// Says something, unless the person asked for quiet.
    pub(super) fn note(&self, text: &str) {
        if !self.common.quiet {
            output::note(text);
        }
    }
}

/// Reads how a person names one payment; `None` when they name none.
pub(super) fn payment_name(arguments: NameArguments) -> Result<Option<PaymentName>, Error> {
    let NameArguments {
        payment,
        reference,
        id,
    } = arguments;
    let (flag, by, beside) = match (reference, id) {
        (Some(beside), _) => ("--reference", By::Reference, beside),
        (None, Some(beside)) => ("--id", By::Identifier, beside),
        (None, None) => return Ok(payment.map(PaymentName::from)),
    };
    match (payment, beside) {
        (Some(text), None) | (None, Some(text)) => Ok(Some(PaymentName { text, by })),
        (None, None) => Err(Error::refused(format!("{flag} names no payment"))
            .hint(format!("write the text behind it: {flag} TEXT"))),
        (Some(first), Some(second)) => Err(Error::refused(format!(
            "two payments are named, {first:?} and {second:?}"
        ))
        .hint("name one payment at a time")),
    }
}

/// Reads the name of the one payment that a command is about.
pub(super) fn needed_payment(arguments: NameArguments) -> Result<PaymentName, Error> {
    payment_name(arguments)?.ok_or_else(|| {
        Error::refused("no payment is named").hint(
            "name it by the reference of its row or by its payerTransactionID; payments.csv of the report lists both",
        )
    })
}

/// Returns the command that runs a batch: a rehearsal is run in the sandbox, and what a person types must not be refused.
pub(super) fn run_command(batch: &BatchName, purpose: Purpose) -> String {
    format!("disburse run {batch}{}", sandbox_flag(purpose))
}

/// The commands about a batch, as a person can type them.
#[derive(Clone, Copy)]
pub(super) struct Commands<'a> {
    pub(super) batch: &'a BatchName,
    pub(super) purpose: Purpose,
}

impl Commands<'_> {
    /// Runs it.
    pub(super) fn run(self) -> String {
        run_command(self.batch, self.purpose)
    }

    /// Decides what became of one of its payments.
    pub(super) fn resolve(self, id: PayerTransactionId) -> String {
        let flag = sandbox_flag(self.purpose);
        format!("disburse resolve {} --id {id}{flag}", self.batch)
    }
}

/// Returns the flag that a command about a batch takes, with the blank before it.
pub(super) fn sandbox_flag(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Rehearsal => " --sandbox",
        Purpose::Gateway | Purpose::Unknown => "",
    }
}

/// Reads a batch's name.
pub(super) fn batch_name(text: &str) -> Result<BatchName, Error> {
    BatchName::parse(text).map_err(|error| Error::refused(format!("batch name {text:?}: {error}")))
}
