//! Where a payment stood, with what was said of it, as it is kept in its evidence.

use crate::domain::Timestamp;
use crate::journal::Error;
use crate::journal::codec::values::{LIFE_COLUMNS, corrupt, life_of};
use crate::ledger::evidence::{Standing, WORDS};
use crate::lifecycle::{PaymentState, State};
use rusqlite::Row;
use serde_json::json;

/// The phrase of a `life l`; one that is missing is no text.
pub(in crate::journal) const DESCRIPTION: &str = "iif(l.phrase_id is null, null, coalesce((select text from phrase p where p.phrase_id = l.phrase_id), x''))";

/// The columns of [`Standing`], of `life l`.
pub(in crate::journal) fn standing_columns() -> String {
    format!(
        "{LIFE_COLUMNS}, l.settled_at, l.gateway_transaction_id, l.receipt_number, l.receiver_narration, {DESCRIPTION}, l.application_id"
    )
}

impl Standing {
    /// Reads [`standing_columns`], the first of them at `at`.
    pub(in crate::journal) fn of(row: &Row<'_>, at: usize) -> Result<Self, Error> {
        Ok(Self {
            life: life_of(row, at)?,
            settled_at: row.get(at + 10)?,
            words: [
                row.get(at + 11)?,
                row.get(at + 12)?,
                row.get(at + 13)?,
                row.get(at + 14)?,
            ],
            application_id: row.get(at + 15)?,
        })
    }

    pub(in crate::journal) fn to_detail(&self) -> String {
        let life = &self.life;
        let mut detail = json!({
            "state": life.state.name(),
            "attempts": life.attempts,
            "exposures": life.exposures,
            "known": life.known,
            "not_found": life.not_found,
        });
        let mut put = |name: &str, value: Option<serde_json::Value>| {
            if let Some(value) = value {
                detail[name] = value;
            }
        };
        put("code", life.code.map(Into::into));
        let millis = |at: Option<Timestamp>| at.map(|at| at.as_millis().into());
        put("posted_at", millis(life.posted_at));
        put("quarantine_from", millis(life.quarantine_from));
        put("settled_at", self.settled_at.map(Into::into));
        for (name, word) in WORDS.into_iter().zip(&self.words) {
            put(name, word.clone().map(Into::into));
        }
        detail.to_string()
    }

    /// Reads back where a payment stood.
    pub(in crate::journal) fn of_detail(detail: Option<&str>) -> Result<Self, Error> {
        let odd = || corrupt("an unreadable sealed state");
        let detail: serde_json::Value =
            serde_json::from_str(detail.ok_or_else(odd)?).map_err(|_| odd())?;
        let number = |name: &str| detail[name].as_i64();
        let stamp = |name: &str| number(name).map(Timestamp::from_millis);
        let state = State::ALL
            .into_iter()
            .find(|state| detail["state"] == state.name())
            .ok_or_else(odd)?;
        let small = |name: &str| number(name).and_then(|n| u32::try_from(n).ok());
        Ok(Self {
            life: PaymentState {
                state,
                code: number("code").and_then(|code| code.try_into().ok()),
                attempts: small("attempts").ok_or_else(odd)?,
                posted_at: stamp("posted_at"),
                exposures: small("exposures").ok_or_else(odd)?,
                known: detail["known"] == true,
                // Nobody asked then.
                taken: false,
                not_found: small("not_found")
                    .and_then(|n| n.try_into().ok())
                    .ok_or_else(odd)?,
                quarantine_from: stamp("quarantine_from"),
                ..PaymentState::NEW
            },
            settled_at: number("settled_at"),
            words: WORDS.map(|name| detail[name].as_str().map(str::to_owned)),
            // Versions that were sealed did not keep it.
            application_id: None,
        })
    }
}
