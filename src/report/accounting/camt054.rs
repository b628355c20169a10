//! A camt.054 (version 001.08): the payments of one currency, one by one, as a bank's notification of debits tells them.

use std::io::{self, Write};

use super::journal::Booked;
use crate::domain::{Currency, Timestamp, WireZone};
use crate::report::xml::{element, fitted, optional};

/// The most characters of a name (`Max35Text`), of an account (`Max34Text`), of a party (`Max140Text`).
const NAME_MAX: usize = 35;
const ACCOUNT_MAX: usize = 34;
const PARTY_MAX: usize = 140;

/// What a notification of one currency says of all its payments.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// The account that they were paid from.
    pub account: &'a str,
    /// Their currency.
    pub currency: Currency,
    /// How many there are.
    pub count: u64,
    /// Their sum, in decimal digits.
    pub sum: &'a str,
}

/// Writes a notification.
#[derive(Debug)]
pub struct Notification<W: Write> {
    output: W,
    name: String,
    at: Timestamp,
    zone: WireZone,
    is_open: bool,
}

impl<W: Write> Notification<W> {
    /// Writes what stands before the payments. `name` is the message's own.
    ///
    /// # Errors
    /// What the output reports.
    pub fn create(mut output: W, name: &str, at: Timestamp, zone: WireZone) -> io::Result<Self> {
        writeln!(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(
            output,
            "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.054.001.08\">\n<BkToCstmrDbtCdtNtfctn>\n<GrpHdr>"
        )?;
        element(&mut output, "MsgId", &fitted(name, NAME_MAX))?;
        element(&mut output, "CreDtTm", &at.to_string())?;
        writeln!(output, "</GrpHdr>")?;
        Ok(Self {
            output,
            name: name.to_owned(),
            at,
            zone,
            is_open: false,
        })
    }

    /// Begins the payments of one currency.
    ///
    /// # Errors
    /// What the output reports.
    pub fn begin(&mut self, of: &Summary<'_>) -> io::Result<()> {
        self.close()?;
        let output = &mut self.output;
        let code = of.currency.code();
        writeln!(output, "<Ntfctn>")?;
        // The currency is the end of the name: it tells the notifications of one message apart.
        let room = NAME_MAX - code.len() - 1;
        let name = format!("{}-{code}", fitted(&self.name, room));
        element(output, "Id", &name)?;
        element(output, "CreDtTm", &self.at.to_string())?;
        writeln!(output, "<Acct><Id><Othr>")?;
        element(output, "Id", &fitted(of.account, ACCOUNT_MAX))?;
        writeln!(output, "</Othr></Id><Ccy>{code}</Ccy></Acct>")?;
        writeln!(
            output,
            "<TxsSummry><TtlDbtNtries><NbOfNtries>{}</NbOfNtries><Sum>{}</Sum></TtlDbtNtries></TxsSummry>",
            of.count, of.sum
        )?;
        self.is_open = true;
        Ok(())
    }

    /// Writes one payment of the currency that was begun.
    ///
    /// # Errors
    /// What the output reports.
    pub fn add(&mut self, paid: &Booked<'_>, at: Timestamp) -> io::Result<()> {
        let output = &mut self.output;
        let amount = format!(
            "<Amt Ccy=\"{}\">{}</Amt>",
            paid.money.currency.code(),
            paid.money
        );
        writeln!(output, "<Ntry>")?;
        element(output, "NtryRef", &fitted(paid.identifier, NAME_MAX))?;
        writeln!(
            output,
            "{amount}<CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>"
        )?;
        let time = self.zone.format(at).replace(' ', "T");
        writeln!(output, "<BookgDt><DtTm>{time}</DtTm></BookgDt>")?;
        optional(output, "AcctSvcrRef", paid.gateway_id, NAME_MAX)?;
        writeln!(output, "<BkTxCd><Prtry>")?;
        element(output, "Cd", &fitted(paid.service, NAME_MAX))?;
        writeln!(output, "</Prtry></BkTxCd>\n<NtryDtls><TxDtls><Refs>")?;
        optional(output, "AcctSvcrRef", paid.receipt, NAME_MAX)?;
        // What has no reference of its own is named by ours.
        let reference = match paid.reference {
            "" => paid.identifier,
            reference => reference,
        };
        element(output, "EndToEndId", &fitted(reference, NAME_MAX))?;
        element(output, "TxId", &fitted(paid.identifier, NAME_MAX))?;
        writeln!(output, "</Refs>{amount}<CdtDbtInd>DBIT</CdtDbtInd>")?;
        writeln!(output, "<RltdPties>")?;
        if !paid.names.trim().is_empty() {
            writeln!(output, "<Cdtr><Pty>")?;
            element(output, "Nm", &fitted(paid.names, PARTY_MAX))?;
            writeln!(output, "</Pty></Cdtr>")?;
        }
        writeln!(output, "<CdtrAcct><Id><Othr>")?;
        element(output, "Id", &fitted(paid.paid_account, ACCOUNT_MAX))?;
        writeln!(output, "</Othr></Id></CdtrAcct></RltdPties>")?;
        if !paid.narration.trim().is_empty() {
            writeln!(output, "<RmtInf>")?;
            element(output, "Ustrd", &fitted(paid.narration, PARTY_MAX))?;
            writeln!(output, "</RmtInf>")?;
        }
        writeln!(output, "</TxDtls></NtryDtls>\n</Ntry>")
    }

    fn close(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_open) {
            true => writeln!(self.output, "</Ntfctn>"),
            false => Ok(()),
        }
    }

    /// Ends the message.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(mut self) -> io::Result<W> {
        self.close()?;
        writeln!(self.output, "</BkToCstmrDbtCdtNtfctn>\n</Document>")?;
        Ok(self.output)
    }
}
