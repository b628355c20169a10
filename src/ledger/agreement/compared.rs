//! What is compared, and what comes of it.

use crate::domain::{Country, Msisdn};

/// What one named value is to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// The same.
    Agrees,
    /// Another one, however it is read.
    Differs,
    /// It may be ours or not: it is hidden in part, empty, words, or can be read in two ways.
    Unreadable,
}

/// To whom we ordered it.
#[derive(Clone, Copy, Debug)]
pub struct Recipient<'a> {
    /// `MSISDN`.
    pub msisdn: Msisdn,
    /// `accountNumber`.
    pub account: &'a str,
    /// The country of both.
    pub country: Country,
}
