//! What one row of evidence adds to a payment.

use serde_json::Value;

use crate::domain::Timestamp;
use crate::journal::Error;
use crate::journal::payments::stood::{Standing, WORDS};
use crate::lifecycle::{Class, Event, Policy, RecordedEvent, fold};

impl Standing {
    /// Learns one more row of evidence.
    pub(super) fn learn(
        &mut self,
        fact: RecordedEvent,
        at: i64,
        detail: Option<&str>,
        words: [Option<String>; 4],
        policy: &Policy,
    ) -> Result<(), Error> {
        match fact {
            RecordedEvent::Stood(_) => *self = Self::of_detail(detail)?,
            RecordedEvent::Note => {}
            RecordedEvent::PresumedPosted | RecordedEvent::Released => {
                self.life = fold(&self.life, fact, Timestamp::from_millis(at), policy);
            }
            RecordedEvent::Event(event) => {
                let before = self.life.state;
                self.life = fold(&self.life, fact, Timestamp::from_millis(at), policy);
                if self.life.state != before && self.life.state.is_finished() {
                    self.settled_at = Some(at);
                }
                // What is said after the end fills gaps, and replaces nothing.
                let late = self.life.state == before && before.is_finished();
                if let Event::Reply(verdict) | Event::Answer(verdict) | Event::Callback(verdict) =
                    event
                    && verdict.class == Class::Delivered
                    && self.application_id.is_none()
                {
                    let [_, receipt_number, ..] = &words;
                    self.application_id.clone_from(receipt_number);
                }
                for (known, said) in self.words.iter_mut().zip(words) {
                    if said.is_some() && !(late && known.is_some()) {
                        *known = said;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What the gateway said, in the order of [`WORDS`]: what the columns of evidence have, or its detail, where earlier versions kept it.
pub(super) fn said_in(words: [Option<String>; 4], detail: Option<&str>) -> [Option<String>; 4] {
    if words.iter().any(Option::is_some) {
        return words;
    }
    let detail: Value = detail
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    WORDS.map(|name| detail[name].as_str().map(str::to_owned))
}

pub(super) fn word(detail: Option<&str>, name: &str) -> Option<String> {
    let detail: Value = serde_json::from_str(detail?).ok()?;
    detail[name].as_str().map(str::to_owned)
}
