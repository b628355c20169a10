//! `[status_codes]` and `[post_codes]`: what a deployment's own codes mean.

use std::str::FromStr;

use toml::de::DeTable;

use super::Error;
use super::document::{Document, Entry, entry, in_order};
use super::file::Source;
use super::kind::{Kind, quoted};

macro_rules! class {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// The names in the configuration.
            pub const NAMES: &'static [&'static str] = &[$($text,)*];

            /// Returns the name in the configuration.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($text => Ok(Self::$variant),)* _ => Err(()) }
            }
        }
    };
}

class! {
    /// What a code means in a status reply or a callback.
    StatusClass {
        /// Final.
        Paid = "paid",
        /// Final.
        Failed = "failed",
        /// Still waiting.
        Acknowledged = "acknowledged",
        /// At the bank, still waiting.
        Delivered = "delivered",
        /// The gateway does not know the payment.
        NotFound = "not_found",
        /// Proves nothing.
        InDoubt = "in_doubt",
    }
}

class! {
    /// What a code means in the reply to a post.
    PostClass {
        /// Final.
        Paid = "paid",
        /// Final.
        Failed = "failed",
        /// Not executed; final.
        Refused = "refused",
        /// Accepted, pending.
        Acknowledged = "acknowledged",
        /// At the bank, not settled.
        Delivered = "delivered",
        /// Not executed for want of float; waits.
        NoFloat = "no_float",
        /// The gateway has the identifier already; its status decides.
        Duplicate = "duplicate",
        /// Proves nothing.
        InDoubt = "in_doubt",
    }
}

/// Reads the table `name` into the document.
pub(super) fn read(
    source: &Source<'_>,
    name: &str,
    table: &DeTable<'_>,
    document: &mut Document,
) -> Result<(), Error> {
    let words = if name == "status_codes" {
        StatusClass::NAMES
    } else {
        PostClass::NAMES
    };
    for (key, value) in in_order(table) {
        let full = format!("{name}.{}", key.get_ref());
        let code: i32 = key.get_ref().parse().map_err(|_| Error::Value {
            place: source.origin(&key.span()),
            key: name.to_owned(),
            expected: r#"a status code such as "140""#.to_owned(),
            found: quoted(key.get_ref()),
        })?;
        let found = entry(source, &full, Kind::Word(words), value)?;
        refuse_unsafe(code, &full, &found)?;
        if let ("status_codes", Ok(class)) = (name, found.text.parse()) {
            document.status_codes.insert(code, class);
        } else if let Ok(class) = found.text.parse() {
            document.post_codes.insert(code, class);
        }
        document.others.push((full, found));
    }
    Ok(())
}

/// Holds the codes whose meaning no deployment may turn into proof.
// A payment that is only pending, doubled or generically refused may still be executed: taking it for settled loses
// sight of it, taking it for failed or unknown pays it twice.
fn refuse_unsafe(code: i32, key: &str, found: &Entry) -> Result<(), Error> {
    let allowed = match code {
        139 | 148 => "acknowledged, delivered, in_doubt",
        104 | 174 | 229 => "acknowledged, delivered, duplicate, in_doubt",
        _ => return Ok(()),
    };
    if allowed.split(", ").any(|word| word == found.text) {
        return Ok(());
    }
    Err(Error::Value {
        place: found.origin.clone(),
        key: key.to_owned(),
        expected: format!("one of {allowed}, since {code} proves nothing final"),
        found: quoted(&found.text),
    })
}
