//! `[services.NAME]`, read.

use super::document::Document;
use super::entry::amount;
use super::entry::amount_text;
use super::entry::{Entry, entry, in_order, mismatch, subtable, unknown};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::service::BILL_AMOUNTS;
use crate::cli::config::service::DATES;
use crate::cli::config::service::ENTRIES;
use crate::cli::config::service::KINDS;
use crate::cli::config::service::REPEATS;
use crate::cli::config::service::WINDOW as REPEATS_WINDOW;
use crate::cli::config::service::{DateReceived, Service, Window};
use crate::cli::config::value::kind::{Kind, quoted};
use crate::cli::config::value::suggest;
use crate::cli::config::value::typed::Value;
use crate::domain::{
    AccountFormat, BillAmount, Currency, Money, PaymentKind, ServiceCode, WireZone,
};
use crate::ledger::calendar::OpeningHours;
use std::path::Path;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Reads the table `services` into the document.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    directory: &Path,
    document: &mut Document,
) -> Result<(), Error> {
    for (key, value) in in_order(table) {
        let place = source.origin(&key.span());
        let code = ServiceCode::parse(key.get_ref()).map_err(|error| Error::Value {
            place: place.clone(),
            key: "services".to_owned(),
            expected: format!("a service code (it {error})"),
            found: quoted(key.get_ref()),
        })?;
        let name = format!("services.{code}");
        let fields = Fields::read(source, &name, subtable(source, &name, value)?)?;
        let service = fields.service(place, &name, directory)?;
        document.services.insert(code, service);
        document.others.extend(fields.shown(&name));
    }
    Ok(())
}

/// The entries of one service, as texts.
#[derive(Default)]
struct Fields {
    kind: Option<Entry>,
    currency: Option<Entry>,
    min: Option<Entry>,
    max: Option<Entry>,
    carriers: Vec<Entry>,
    account_format: Option<Entry>,
    takes_landlines: Option<Entry>,
    bill_amount: Option<Entry>,
    date_payment_received: Option<Entry>,
    window: Option<Entry>,
    zone: Option<Entry>,
    holidays: Option<Entry>,
    repeats_window: Option<Entry>,
    references_restart: Option<Entry>,
}

impl Fields {
    fn read(source: &Source<'_>, table: &str, pairs: &DeTable<'_>) -> Result<Self, Error> {
        let mut fields = Self::default();
        for (key, value) in in_order(pairs) {
            let last = key.get_ref().as_ref();
            let name = format!("{table}.{last}");
            match last {
                "kind" => fields.kind = Some(entry(source, &name, KINDS, value)?),
                "currency_code" => {
                    fields.currency = Some(entry(source, &name, Kind::Currency, value)?);
                }
                "min" => fields.min = Some(amount_text(source, &name, value)?),
                "max" => fields.max = Some(amount_text(source, &name, value)?),
                "carriers" => {
                    let DeValue::Array(items) = value.get_ref() else {
                        return Err(mismatch(source, &name, "an array of texts", value));
                    };
                    for item in items.iter() {
                        fields
                            .carriers
                            .push(entry(source, &name, Kind::Text, item)?);
                    }
                }
                "account_format" => {
                    fields.account_format = Some(entry(source, &name, Kind::Text, value)?);
                }
                "takes_landlines" => {
                    fields.takes_landlines = Some(entry(source, &name, Kind::Flag, value)?);
                }
                "bill_amount" => {
                    fields.bill_amount = Some(entry(source, &name, BILL_AMOUNTS, value)?);
                }
                "date_payment_received" => {
                    fields.date_payment_received = Some(entry(source, &name, DATES, value)?);
                }
                "window" => fields.window = Some(entry(source, &name, Kind::Text, value)?),
                "zone" => fields.zone = Some(entry(source, &name, Kind::Zone, value)?),
                "holidays" => fields.holidays = Some(entry(source, &name, Kind::Text, value)?),
                "repeats" => fields.read_repeats(source, &name, subtable(source, &name, value)?)?,
                _ => return Err(unknown(source, key, suggest::one_of(last, ENTRIES))),
            }
        }
        Ok(fields)
    }

    fn read_repeats(
        &mut self,
        source: &Source<'_>,
        table: &str,
        pairs: &DeTable<'_>,
    ) -> Result<(), Error> {
        for (key, value) in in_order(pairs) {
            let last = key.get_ref().as_ref();
            let name = format!("{table}.{last}");
            match last {
                "window" => {
                    self.repeats_window = Some(entry(source, &name, REPEATS_WINDOW, value)?)
                }
                "references_restart" => {
                    self.references_restart = Some(entry(source, &name, Kind::Flag, value)?);
                }
                _ => return Err(unknown(source, key, suggest::one_of(last, REPEATS))),
            }
        }
        Ok(())
    }

    fn service(
        &self,
        place: crate::cli::config::Origin,
        table: &str,
        directory: &Path,
    ) -> Result<Service, Error> {
        let missing = |entry| Error::Incomplete {
            place: place.clone(),
            table: table.to_owned(),
            entry,
        };
        let kind = self.kind.as_ref().and_then(|kind| kind.text.parse().ok());
        let currency = self
            .currency
            .as_ref()
            .and_then(|code| Currency::from_code(&code.text));
        let kind = kind.ok_or_else(|| missing("kind"))?;
        let currency = currency.ok_or_else(|| missing("currency_code"))?;
        let min = amount(self.min.as_ref(), &format!("{table}.min"), currency)?;
        let max = amount(self.max.as_ref(), &format!("{table}.max"), currency)?;
        if let (Some(least), Some(most), Some(at)) = (min, max, &self.min)
            && least > most
        {
            let money = |amount| Money { amount, currency };
            return Err(Error::Contradiction {
                place: at.origin.clone(),
                problem: format!(
                    "{table}: min {} is more than max {}",
                    money(least),
                    money(most)
                ),
            });
        }
        self.fits_kind(kind, table)?;
        Ok(Service {
            kind,
            currency,
            min,
            max,
            carriers: self.carriers.iter().map(|item| item.text.clone()).collect(),
            account_format: optional::<AccountFormat>(
                self.account_format.as_ref(),
                &format!("{table}.account_format"),
            )?
            .map(Arc::new),
            takes_landlines: word(
                self.takes_landlines.as_ref(),
                &format!("{table}.takes_landlines"),
                false,
            )?,
            bill_amount: word(
                self.bill_amount.as_ref(),
                &format!("{table}.bill_amount"),
                BillAmount::Any,
            )?,
            date_payment_received: word(
                self.date_payment_received.as_ref(),
                &format!("{table}.date_payment_received"),
                DateReceived::LoadTime,
            )?,
            window: self.window(table, directory)?,
            repeats_window: optional(
                self.repeats_window.as_ref(),
                &format!("{table}.repeats.window"),
            )?,
            references_restart: optional(
                self.references_restart.as_ref(),
                &format!("{table}.repeats.references_restart"),
            )?,
        })
    }

    /// Reads when the service is open.
    fn window(&self, table: &str, directory: &Path) -> Result<Option<Window>, Error> {
        let Some(hours) = &self.window else {
            let named = [("zone", &self.zone), ("holidays", &self.holidays)];
            return match named
                .iter()
                .find_map(|(name, entry)| Some((name, entry.as_ref()?)))
            {
                None => Ok(None),
                Some((name, entry)) => Err(Error::Contradiction {
                    place: entry.origin.clone(),
                    problem: format!("{table}: {name} goes with window, and there is none"),
                }),
            };
        };
        // Its zone and its holidays come when they are needed.
        let parsed = OpeningHours::parse(&hours.text, WireZone::utc(), Arc::default());
        parsed.map_err(|error| Error::Value {
            place: hours.origin.clone(),
            key: format!("{table}.window"),
            expected: format!("opening hours ({error})"),
            found: quoted(&hours.text),
        })?;
        Ok(Some(Window {
            text: hours.text.clone(),
            zone: optional(self.zone.as_ref(), &format!("{table}.zone"))?,
            holidays: self
                .holidays
                .as_ref()
                .map(|entry| directory.join(&entry.text)),
        }))
    }

    /// Refuses entries that say nothing of payments of this kind.
    fn fits_kind(&self, kind: PaymentKind, table: &str) -> Result<(), Error> {
        if kind != PaymentKind::BillPostpaid
            && let Some(entry) = &self.bill_amount
        {
            return Err(Error::Contradiction {
                place: entry.origin.clone(),
                problem: format!(
                    "{table}: bill_amount = {} goes with kind bill_postpaid alone, the kind is {kind}",
                    entry.text
                ),
            });
        }
        if !kind.account_defaults_to_msisdn()
            && let Some(entry) = &self.takes_landlines
        {
            return Err(Error::Contradiction {
                place: entry.origin.clone(),
                problem: format!(
                    "{table}: takes_landlines goes with mobile money and airtime, the kind is {kind}"
                ),
            });
        }
        if kind.account_defaults_to_msisdn()
            && let Some(entry) = &self.account_format
        {
            return Err(Error::Contradiction {
                place: entry.origin.clone(),
                problem: format!(
                    "{table}: account_format goes with banks and bills; of kind {kind} the account is a phone number, and is checked as one"
                ),
            });
        }
        Ok(())
    }

    fn shown(self, table: &str) -> Vec<(String, Entry)> {
        let single = [
            ("kind", self.kind),
            ("currency_code", self.currency),
            ("min", self.min),
            ("max", self.max),
        ];
        single
            .into_iter()
            .filter_map(|(name, entry)| Some((name, entry?)))
            .chain(self.carriers.into_iter().map(|entry| ("carriers", entry)))
            .chain(
                [
                    ("account_format", self.account_format),
                    ("takes_landlines", self.takes_landlines),
                    ("bill_amount", self.bill_amount),
                    ("date_payment_received", self.date_payment_received),
                    ("window", self.window),
                    ("zone", self.zone),
                    ("holidays", self.holidays),
                    ("repeats.window", self.repeats_window),
                    ("repeats.references_restart", self.references_restart),
                ]
                .into_iter()
                .filter_map(|(name, entry)| Some((name, entry?))),
            )
            .map(|(name, entry)| (format!("{table}.{name}"), entry))
            .collect()
    }
}

fn word<T: Value>(entry: Option<&Entry>, name: &str, default: T) -> Result<T, Error> {
    Ok(optional(entry, name)?.unwrap_or(default))
}

fn optional<T: Value>(entry: Option<&Entry>, name: &str) -> Result<Option<T>, Error> {
    let Some(entry) = entry else {
        return Ok(None);
    };
    T::read(&entry.text)
        .map(Some)
        .map_err(|expected| Error::Value {
            place: entry.origin.clone(),
            key: name.to_owned(),
            expected,
            found: quoted(&entry.text),
        })
}
