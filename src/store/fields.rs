//! Domain values as columns.

use std::borrow::Cow;

use super::{Error, Field, Value};
use crate::domain::{
    AlikeId, Amount, BatchId, BatchName, BillId, Country, Currency, Day, Epoch, EvidenceId,
    GatewayTransactionId, LaneId, LoadId, Msisdn, NoticeId, OrderId, Originator,
    PayerTransactionId, PaymentId, PhraseId, PolicyId, RecoveryId, Reference, ServiceCode,
    Timestamp,
};
use crate::ledger::HeldFor;
use crate::lifecycle::State;

fn integer(value: &Value<'_>) -> Result<i64, Error> {
    match value {
        Value::Integer(number) => Ok(*number),
        other => Err(Error::corrupt(format!(
            "{} where a number belongs",
            other.kind()
        ))),
    }
}

fn text<'a>(value: Value<'a>) -> Result<Cow<'a, str>, Error> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(Error::corrupt(format!(
            "{} where a text belongs",
            other.kind()
        ))),
    }
}

fn bytes<'a>(value: Value<'a>) -> Result<Cow<'a, [u8]>, Error> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        other => Err(Error::corrupt(format!(
            "{} where bytes belong",
            other.kind()
        ))),
    }
}

impl Field for i64 {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(*self)
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        integer(&value)
    }
}

impl Field for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Integer((*self).into())
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        Ok(integer(&value)? != 0)
    }
}

/// Numbers that are narrower than a column.
macro_rules! narrow {
    ($($number:ty),+) => {$(
        impl Field for $number {
            fn to_value(&self) -> Value<'_> {
                // What a column cannot hold is counted as the most that it can: counts do not come near it.
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn from_value(value: Value<'_>) -> Result<Self, Error> {
                let number = integer(&value)?;
                Self::try_from(number).map_err(|_| Error::corrupt(format!("the number {number}")))
            }
        }
    )+};
}

narrow!(u8, u16, i32, u32, u64, usize);

/// Numbers of rows.
macro_rules! id {
    ($($id:ident),+) => {$(
        impl Field for $id {
            fn to_value(&self) -> Value<'_> {
                Value::Integer(self.get())
            }

            fn from_value(value: Value<'_>) -> Result<Self, Error> {
                integer(&value).map(Self::new)
            }
        }
    )+};
}

id!(
    AlikeId, BatchId, BillId, Epoch, EvidenceId, LaneId, LoadId, NoticeId, OrderId, PaymentId,
    PhraseId, PolicyId, RecoveryId
);

impl Field for Timestamp {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.as_millis())
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        integer(&value).map(Self::from_millis)
    }
}

impl Field for Day {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.number().into())
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        i32::from_value(value).map(Self::from_number)
    }
}

impl Field for Amount {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.minor())
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        Self::from_minor(integer(&value)?).ok_or_else(|| Error::corrupt("an amount of zero"))
    }
}

impl Field for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        text(value).map(Cow::into_owned)
    }
}

impl Field for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        bytes(value).map(Cow::into_owned)
    }
}

impl<const N: usize> Field for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        let found = bytes(value)?;
        Self::try_from(&found[..])
            .map_err(|_| Error::corrupt(format!("{} bytes where {N} belong", found.len())))
    }
}

/// What is borrowed is written as what it borrows; reading makes a value of its own.
macro_rules! borrowed {
    ($(($borrowed:ty, $variant:ident)),+) => {$(
        impl Field for $borrowed {
            fn to_value(&self) -> Value<'_> {
                Value::$variant(Cow::Borrowed(self))
            }

            fn from_value(_: Value<'_>) -> Result<Self, Error> {
                Err(Error::corrupt("a borrowed value, which is only written"))
            }
        }
    )+};
}

borrowed!((&str, Text), (&[u8], Bytes));

impl Field for Cow<'_, str> {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        text(value).map(|text| Cow::Owned(text.into_owned()))
    }
}

impl<F: Field> Field for Option<F> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Field::to_value)
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        match value {
            Value::Null => Ok(None),
            value => F::from_value(value).map(Some),
        }
    }
}

impl Field for Value<'static> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref()
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        Ok(value.into_owned())
    }
}

/// Values that are texts by their rules.
macro_rules! parsed {
    ($($name:ident: $text:ident, $parse:expr, $what:literal;)+) => {$(
        impl Field for $name {
            fn to_value(&self) -> Value<'_> {
                Value::Text(Cow::Borrowed(self.$text()))
            }

            fn from_value(value: Value<'_>) -> Result<Self, Error> {
                let found = text(value)?;
                $parse(&found).ok_or_else(|| Error::corrupt($what))
            }
        }
    )+};
}

parsed! {
    BatchName: as_str, |text: &str| Self::parse(text).ok(), "an invalid batch name";
    Originator: as_str, |text: &str| Self::parse(text).ok(), "an invalid originator";
    Reference: as_str, |text: &str| Self::parse(text).ok(), "an invalid reference";
    ServiceCode: as_str, |text: &str| Self::parse(text).ok(), "an invalid service code";
    GatewayTransactionId: as_str, |text: &str| Self::parse(text).ok(), "an invalid gatewayTransactionID";
    PayerTransactionId: as_str, Self::parse, "an invalid identifier";
    Msisdn: as_str, Self::from_digits, "an invalid phone number";
    Country: code, Self::from_code, "an unknown country";
}

impl Field for Currency {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.code()))
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        let found = text(value)?;
        Self::from_code(&found).ok_or_else(|| Error::corrupt(format!("the currency {found:?}")))
    }
}

/// States by the numbers that are stored.
const STATES: [State; 9] = [
    State::Ready,
    State::Posting,
    State::InDoubt,
    State::Acknowledged,
    State::Delivered,
    State::Paid,
    State::Failed,
    State::Cancelled,
    State::Conflict,
];

impl Field for State {
    fn to_value(&self) -> Value<'_> {
        let number = match self {
            Self::Ready => 0,
            Self::Posting => 1,
            Self::InDoubt => 2,
            Self::Acknowledged => 3,
            Self::Delivered => 4,
            Self::Paid => 5,
            Self::Failed => 6,
            Self::Cancelled => 7,
            Self::Conflict => 8,
        };
        Value::Integer(number)
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        let number = integer(&value)?;
        let place = usize::try_from(number).ok();
        place
            .and_then(|place| STATES.get(place).copied())
            .ok_or_else(|| Error::corrupt(format!("the unknown state {number}")))
    }
}

impl Field for HeldFor {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.reason()))
    }

    fn from_value(value: Value<'_>) -> Result<Self, Error> {
        Ok(Self::of_reason(&text(value)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back<F: Field>(field: &F) -> F {
        F::from_value(field.to_value()).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        for number in [i64::MIN, -1, 0, 7, i64::MAX] {
            assert_eq!(back(&number), number);
            assert_eq!(back(&PaymentId::new(number)), PaymentId::new(number));
        }
        for state in State::ALL {
            assert_eq!(back(&state), state);
        }
        for held in [
            HeldFor::Float,
            HeldFor::Misread,
            HeldFor::Taken,
            HeldFor::Failures,
        ] {
            assert_eq!(back(&held), held);
        }
        assert_eq!(back(&Some("a".to_owned())), Some("a".to_owned()));
        assert_eq!(back(&None::<String>), None);
        assert_eq!(back(&[7_u8; 32]), [7; 32]);
    }

    #[test]
    fn what_no_release_wrote_is_refused() {
        assert!(State::from_value(Value::Integer(9)).is_err());
        assert!(State::from_value(Value::Null).is_err());
        assert!(u32::from_value(Value::Integer(-1)).is_err());
        assert!(<[u8; 32]>::from_value(Value::Bytes(Cow::Borrowed(b"short"))).is_err());
        assert!(Currency::from_value(Value::Text(Cow::Borrowed("XXZ"))).is_err());
        assert!(i64::from_value(Value::Text(Cow::Borrowed("7"))).is_err());
    }
}
