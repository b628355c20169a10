//! What a payment was called in the message that it came in.

use std::fmt;

/// The most characters that one of its names has: those of a message have 35, and the end-to-end transaction reference 36.
const NAME_MAX: usize = 140;

/// The names of a payment in the message that it came in: whoever sent that knows the payment by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The kind of message and its version, as `pain.001.001.09`.
    pub kind: String,
    /// The message (`MsgId`).
    pub message: String,
    /// The block of payments within it (`PmtInfId`).
    pub block: String,
    /// The instruction (`InstrId`); empty: it has none.
    pub instruction: String,
    /// The payment, as it was written (`EndToEndId`), also where that says that there is none.
    pub end_to_end: String,
    /// The unique end-to-end transaction reference (`UETR`); empty: it has none.
    pub uetr: String,
}

impl Origin {
    /// Reads what [`fmt::Display`] has written; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let names: [String; 6] = serde_json::from_str(text).ok()?;
        let is_name =
            |name: &String| name.chars().count() <= NAME_MAX && !name.contains(char::is_control);
        if !names.iter().all(is_name) {
            return None;
        }
        let [kind, message, block, instruction, end_to_end, uetr] = names;
        let is_whole = ![&kind, &message, &block].iter().any(|name| name.is_empty());
        is_whole.then_some(Self {
            kind,
            message,
            block,
            instruction,
            end_to_end,
            uetr,
        })
    }
}

/// Displays an array of texts, as a journal keeps it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            &self.kind,
            &self.message,
            &self.block,
            &self.instruction,
            &self.end_to_end,
            &self.uetr,
        ];
        f.write_str(&serde_json::to_string(&names).expect("texts are JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written_and_nothing_else_is() {
        let origin = Origin {
            kind: "pain.001.001.09".to_owned(),
            message: "M\"1".to_owned(),
            block: "P,1".to_owned(),
            end_to_end: "NOTPROVIDED".to_owned(),
            ..Origin::default()
        };
        assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
        let long = format!("[\"k\",\"{}\",\"p\",\"\",\"\",\"\"]", "m".repeat(141));
        for wrong in [
            "",
            "[]",
            "x",
            "[\"k\",\"m\",\"p\",\"\",\"\"]",
            "[\"k\",\"\",\"p\",\"\",\"\",\"\"]",
            "[\"k\",\"m\",\"\",\"\",\"\",\"\"]",
            "[\"\",\"m\",\"p\",\"\",\"\",\"\"]",
            "[\"k\",\"m\\n\",\"p\",\"\",\"\",\"\"]",
            &long,
        ] {
            assert_eq!(Origin::parse(wrong), None, "{wrong}");
        }
    }
}
