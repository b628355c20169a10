//! Fault plans from TOML: the faults' names with their probabilities, and the settings of the slow ones.

use std::ops::RangeInclusive;
use std::path::Path;

use toml::{Table, Value};

use super::chances::{Faults, FloatShortage};
use super::fault::Fault;
use crate::sandbox::error::Error;

/// The largest fault file that is read, in bytes.
const FILE_MAX: u64 = 64 * 1024;
/// The longest delay a plan may ask for, in milliseconds.
const DELAY_MAX_MS: u64 = 600_000;

const SETTINGS: [&str; 5] = [
    "slow_reply_ms",
    "late_execution_ms",
    "callback_late_ms",
    "query_lies_within_ms",
    "float_shortage",
];
const SHORTAGE: [&str; 3] = ["service", "after", "topped_up_after_ms"];

impl Faults {
    /// Takes the name of a preset, or the path of a TOML file.
    ///
    /// # Errors
    /// There is no such file, or it is no fault plan.
    pub fn load(preset_or_file: &str) -> Result<Self, Error> {
        if let Some(preset) = Self::preset(preset_or_file) {
            return Ok(preset);
        }
        let path = Path::new(preset_or_file);
        let wrong = |reason: String| {
            Error::Faults(format!(
                "{preset_or_file}: {reason} (expected none, realistic, hostile or a TOML file)"
            ))
        };
        let length = std::fs::metadata(path)
            .map_err(|error| wrong(error.to_string()))?
            .len();
        if length > FILE_MAX {
            return Err(wrong(format!("is larger than {FILE_MAX} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        Self::from_toml(&text)
    }

    /// Reads a fault plan. What it does not name does not happen.
    ///
    /// # Errors
    /// Unknown names are refused with the nearest one; so are probabilities outside 0 to 1.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| Error::Faults(error.to_string()))?;
        let mut faults = Self::none();
        for (key, value) in &table {
            if let Some((fault, _)) = Fault::ALL.iter().find(|(_, name)| name == key) {
                faults = faults.with(*fault, probability(key, value)?);
                continue;
            }
            match key.as_str() {
                "slow_reply_ms" => faults.slow_reply_ms = range(key, value)?,
                "late_execution_ms" => faults.late_execution_ms = range(key, value)?,
                "callback_late_ms" => faults.callback_late_ms = range(key, value)?,
                "query_lies_within_ms" => faults.query_lies_within_ms = delay(key, value)?,
                "float_shortage" => faults.float_shortage = Some(shortage(value)?),
                _ => {
                    let names = Fault::ALL.iter().map(|(_, name)| *name);
                    return Err(unknown(key, names.chain(SETTINGS)));
                }
            }
        }
        faults.check()?;
        Ok(faults)
    }
}

fn unknown<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Error {
    let nearest = names
        .map(|name| (strsim::damerau_levenshtein(key, name), name))
        .min()
        .map_or("", |(_, name)| name);
    Error::Faults(format!(
        "there is no fault {key:?}; the nearest name is {nearest:?}"
    ))
}

fn probability(key: &str, value: &Value) -> Result<f64, Error> {
    match value {
        Value::Float(chance) => Ok(*chance),
        Value::Integer(0) => Ok(0.0),
        Value::Integer(1) => Ok(1.0),
        _ => Err(Error::Faults(format!("{key} must be from 0 to 1"))),
    }
}

fn delay(key: &str, value: &Value) -> Result<u64, Error> {
    value
        .as_integer()
        .and_then(|ms| u64::try_from(ms).ok())
        .filter(|ms| *ms <= DELAY_MAX_MS)
        .ok_or_else(|| {
            Error::Faults(format!(
                "{key} must be a number of milliseconds, at most {DELAY_MAX_MS}"
            ))
        })
}

fn range(key: &str, value: &Value) -> Result<RangeInclusive<u64>, Error> {
    match value.as_array().map(Vec::as_slice) {
        Some([min, max]) => Ok(delay(key, min)?..=delay(key, max)?),
        _ => Err(Error::Faults(format!(
            "{key} must be two numbers of milliseconds, such as [300, 1500]"
        ))),
    }
}

fn shortage(value: &Value) -> Result<FloatShortage, Error> {
    let wrong = |text: &str| Error::Faults(format!("float_shortage: {text}"));
    let table = value.as_table().ok_or_else(|| wrong("must be a table"))?;
    if let Some(key) = table.keys().find(|key| !SHORTAGE.contains(&key.as_str())) {
        return Err(unknown(key, SHORTAGE.into_iter()));
    }
    Ok(FloatShortage {
        service: table
            .get("service")
            .and_then(Value::as_str)
            .ok_or_else(|| wrong("service must name a service code"))?
            .to_owned(),
        after: table
            .get("after")
            .and_then(Value::as_integer)
            .and_then(|count| u64::try_from(count).ok())
            .ok_or_else(|| wrong("after must be a number of payments"))?,
        topped_up_after_ms: table
            .get("topped_up_after_ms")
            .ok_or_else(|| wrong("topped_up_after_ms is missing"))
            .and_then(|value| delay("topped_up_after_ms", value))?,
    })
}
