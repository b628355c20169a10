//! What every command starts from: the common options and the configuration.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::Error;
use super::actor::actor;
use super::arguments::{Common, NameArguments};
use super::config::{self, Settings, Sources};
use super::files::calendar;
use crate::cli::terminal::output;
use crate::domain::{BatchName, PayerTransactionId, WireZone};
use crate::journal::{self, Journal, Location, LocationError};
use crate::ledger::Purpose;
use crate::ledger::calendar::Calendar;
use crate::ledger::names::{By, PaymentName};

/// The journal where nothing names another one.
pub(super) const DEFAULT_JOURNAL: &str = "disburse.db";

/// The variable that names the journal.
const JOURNAL: &str = "DISBURSE_JOURNAL";

/// The common options of one command.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) common: Common,
    /// Where the journal is, once that was asked.
    location: OnceLock<Location>,
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
        let location = OnceLock::new();
        Self { common, location }
    }

    /// A session over another journal than the one that options or configuration name.
    pub(super) fn over(common: Common, journal: Location) -> Self {
        let location = OnceLock::from(journal);
        Self { common, location }
    }

    /// Reads the configuration; flags come as key and value.
    pub(super) fn settings(
        &self,
        sandbox: bool,
        overrides: Vec<(&'static str, Option<String>)>,
    ) -> Result<Settings, Error> {
        let sources = self.sources(overrides);
        let settings = if sandbox {
            Settings::sandbox(&sources)
        } else {
            Settings::load(&sources)
        }?;
        Ok(settings)
    }

    fn sources(&self, overrides: Vec<(&'static str, Option<String>)>) -> Sources {
        let mut sources = Sources {
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
        let journal = self.common.journal.as_ref().and_then(|text| text.to_str());
        // The option holds what the variable says, too.
        let variable = sources.environment.get(JOURNAL).map(String::as_str);
        if let Some(journal) = journal.filter(|text| Some(*text) != variable) {
            let flag = ("journal".to_owned(), journal.to_owned());
            sources.overrides.push(flag);
        }
        sources
    }

    /// Opens the journal that is there, in the hands of whoever gives this command.
    pub(super) fn journal(&self) -> Result<Journal, Error> {
        let at = self.location()?;
        Ok(Journal::open_existing(at)?.acting_as(actor(at)))
    }

    /// Opens the journal for what runs do. Who may not do that is told before anything is written.
    pub(super) fn journal_to_run(&self) -> Result<Journal, Error> {
        self.assert_may_run()?;
        self.journal()
    }

    /// Refuses a user of a journal on a server who may not load, run or listen.
    pub(super) fn assert_may_run(&self) -> Result<(), Error> {
        match self.location()? {
            Location::File(_) => Ok(()),
            Location::Server(address) => Ok(journal::server::assert_may_run(address)?),
        }
    }

    /// Returns where the journal is: flag, variable, configuration, `disburse.db` here; the first that says it.
    ///
    /// A configuration that may name it and cannot be read is told: the journal of this folder could be another one, which knows of no
    /// payment.
    pub(super) fn location(&self) -> Result<&Location, Error> {
        if let Some(found) = self.location.get() {
            return Ok(found);
        }
        let found = match &self.common.journal {
            Some(text) => self.location_of(text)?,
            None => match config::journal_keys(&self.sources(Vec::new()))?.journal {
                Some(text) => self.location_of(OsStr::new(&text))?,
                None => Location::from(DEFAULT_JOURNAL),
            },
        };
        Ok(self.location.get_or_init(|| found))
    }

    /// Reads where a journal is; that on a server has the password that the configuration names.
    pub(super) fn location_of(&self, text: &OsStr) -> Result<Location, Error> {
        let refused = |error: LocationError| Error::refused(&error).hint(error.hint());
        Ok(match Location::parse(text).map_err(refused)? {
            Location::Server(address) => {
                let keys = config::journal_keys(&self.sources(Vec::new()))?;
                let address = address.with_password_file(keys.password_file.map(PathBuf::from));
                Location::Server(address.with_state_folder(state_folder()))
            }
            file @ Location::File(_) => file,
        })
    }

    /// Says something, unless the person asked for quiet.
    pub(super) fn note(&self, text: &str) {
        if !self.common.quiet {
            output::note(text);
        }
    }
}

/// Returns the folder in which this user keeps what must not be lost: that of the unit, or that of all programs.
fn state_folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    // systemd names several, divided by colons.
    let units = || {
        let folders = named("STATE_DIRECTORY")?.into_string().ok()?;
        absolute(PathBuf::from(folders.split(':').next()?))
    };
    let users = || absolute(PathBuf::from(named("XDG_STATE_HOME")?).join("disburse"));
    let home = || absolute(PathBuf::from(named("HOME")?).join(".local/state/disburse"));
    units().or_else(users).or_else(home)
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
