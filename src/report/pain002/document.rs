//! The elements of a pain.002 in the order of its schema, written as they come.

use std::io::{self, Write};

use super::status::{Counts, TransferStatus, reason_of, status_of};
use crate::domain::{Money, Origin, Timestamp};
use crate::report::StateName;
use crate::report::xml::{element, fitted, optional};

/// The most characters of a name (`Max35Text`), and of a text that is told with a status (`Max105Text`).
const NAME_MAX: usize = 35;
const TEXT_MAX: usize = 105;

/// The versions of pain.001 and those of pain.002 that answer them.
const VERSIONS: [(&str, &str); 4] = [
    ("pain.001.001.03", "pain.002.001.03"),
    ("pain.001.001.09", "pain.002.001.10"),
    ("pain.001.001.11", "pain.002.001.12"),
    ("pain.001.001.12", "pain.002.001.14"),
];

/// What an answer says of itself and of the message that it answers.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its own name (`MsgId`), at most 35 characters.
    pub name: String,
    /// When it is written.
    pub at: Timestamp,
    /// Kind and version of the message that it answers, as `pain.001.001.09`.
    pub kind: String,
    /// The name of that message.
    pub message: String,
    /// How its transfers stand.
    pub counts: Counts,
}

impl Answer {
    /// Returns the version that it is written in.
    #[must_use]
    pub fn version(&self) -> &'static str {
        let known = VERSIONS.iter().find(|(kind, _)| *kind == self.kind);
        known.map_or(VERSIONS[0].1, |(_, version)| version)
    }
}

/// How one transfer stands.
#[derive(Clone, Debug)]
pub struct Answered<'a> {
    /// What the message called it.
    pub origin: &'a Origin,
    /// `payerTransactionID`; empty for a row that was rejected.
    pub id: &'a str,
    /// Its state.
    pub state: StateName,
    /// The gateway's last status code about it.
    pub code: Option<i64>,
    /// What is told with its state.
    pub text: &'a str,
    /// Its amount, where it is known.
    pub money: Option<Money>,
    /// The receipt of its payment.
    pub receipt: &'a str,
}

/// Writes an answer.
#[derive(Debug)]
pub struct StatusReport<W: Write> {
    output: W,
    version: &'static str,
    /// The block that is open.
    block: Option<String>,
}

impl<W: Write> StatusReport<W> {
    /// Writes what stands before the transfers.
    ///
    /// # Errors
    /// What the output reports.
    pub fn create(output: W, answer: &Answer) -> io::Result<Self> {
        let version = answer.version();
        let mut report = Self {
            output,
            version,
            block: None,
        };
        let output = &mut report.output;
        writeln!(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(
            output,
            "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:{version}\">"
        )?;
        writeln!(output, "<CstmrPmtStsRpt>\n<GrpHdr>")?;
        element(output, "MsgId", &named(&answer.name))?;
        element(output, "CreDtTm", &answer.at.to_string())?;
        writeln!(output, "</GrpHdr>\n<OrgnlGrpInfAndSts>")?;
        element(output, "OrgnlMsgId", &named(&answer.message))?;
        element(output, "OrgnlMsgNmId", &named(&answer.kind))?;
        element(output, "GrpSts", answer.counts.group())?;
        for status in TransferStatus::ALL {
            let count = answer.counts.of(status);
            if count > 0 {
                writeln!(output, "<NbOfTxsPerSts>")?;
                element(output, "DtldNbOfTxs", &count.to_string())?;
                element(output, "DtldSts", status.code())?;
                writeln!(output, "</NbOfTxsPerSts>")?;
            }
        }
        writeln!(output, "</OrgnlGrpInfAndSts>")?;
        Ok(report)
    }

    /// Writes how a transfer stands. Those that follow one another in one block of the message share it.
    ///
    /// # Errors
    /// What the output reports.
    pub fn add(&mut self, transfer: &Answered<'_>) -> io::Result<()> {
        let origin = transfer.origin;
        let output = &mut self.output;
        if self.block.as_deref() != Some(origin.block.as_str()) {
            if self.block.is_some() {
                writeln!(output, "</OrgnlPmtInfAndSts>")?;
            }
            writeln!(output, "<OrgnlPmtInfAndSts>")?;
            element(output, "OrgnlPmtInfId", &named(&origin.block))?;
            self.block = Some(origin.block.clone());
        }
        writeln!(output, "<TxInfAndSts>")?;
        optional(output, "StsId", transfer.id, NAME_MAX)?;
        optional(output, "OrgnlInstrId", &origin.instruction, NAME_MAX)?;
        optional(output, "OrgnlEndToEndId", &origin.end_to_end, NAME_MAX)?;
        // Earlier versions know no such reference.
        if self.version != VERSIONS[0].1 && !origin.uetr.is_empty() {
            element(output, "OrgnlUETR", &origin.uetr)?;
        }
        element(output, "TxSts", status_of(transfer.state).code())?;
        reason(output, transfer)?;
        if transfer.receipt.chars().count() <= NAME_MAX {
            optional(output, "AcctSvcrRef", transfer.receipt, NAME_MAX)?;
        }
        if let Some(money) = transfer.money {
            writeln!(
                output,
                "<OrgnlTxRef><Amt><InstdAmt Ccy=\"{}\">{money}</InstdAmt></Amt></OrgnlTxRef>",
                money.currency.code()
            )?;
        }
        writeln!(output, "</TxInfAndSts>")
    }

    /// Ends the answer.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(mut self) -> io::Result<W> {
        if self.block.is_some() {
            writeln!(self.output, "</OrgnlPmtInfAndSts>")?;
        }
        writeln!(self.output, "</CstmrPmtStsRpt>\n</Document>")?;
        Ok(self.output)
    }
}

/// Writes why a transfer stands as it does.
fn reason(output: &mut impl Write, transfer: &Answered<'_>) -> io::Result<()> {
    let reason = reason_of(transfer.state, transfer.code);
    let code = transfer
        .code
        .map(|code| format!("{code}: "))
        .unwrap_or_default();
    let text = match transfer.text.trim() {
        "" => transfer.state.in_words().to_owned(),
        text => format!("{code}{text}"),
    };
    // What is paid needs no words.
    if transfer.state == StateName::Paid {
        return Ok(());
    }
    writeln!(output, "<StsRsnInf>")?;
    if let Some(reason) = reason {
        writeln!(output, "<Rsn><Cd>{reason}</Cd></Rsn>")?;
    }
    element(output, "AddtlInf", &fitted(&text, TEXT_MAX))?;
    writeln!(output, "</StsRsnInf>")
}

fn named(text: &str) -> String {
    fitted(text, NAME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Amount, Currency};

    fn origin(kind: &str, block: &str, end_to_end: &str) -> Origin {
        Origin {
            kind: kind.to_owned(),
            message: "M<1>".to_owned(),
            block: block.to_owned(),
            instruction: "I1".to_owned(),
            end_to_end: end_to_end.to_owned(),
            uetr: "8a562c67-ca16-48ba-b074-65581be6f011".to_owned(),
        }
    }

    fn written(kind: &str) -> String {
        let currency = Currency::from_code("KES").unwrap();
        let money = Money {
            amount: Amount::from_minor(150_050).unwrap(),
            currency,
        };
        let rows = [
            ("B1", "E1", StateName::Paid, None, "", "R1"),
            (
                "B1",
                "E2",
                StateName::Failed,
                Some(110),
                "no such\nnumber & more",
                "",
            ),
            (
                "B2",
                "NOTPROVIDED",
                StateName::Ready,
                None,
                "not posted before 2026-12-01T00:00:00+03:00",
                "",
            ),
            ("B2", "E4", StateName::Conflict, Some(102), "", ""),
        ];
        let mut counts = Counts::default();
        rows.iter().for_each(|row| counts.add(status_of(row.2)));
        let answer = Answer {
            name: "A1".to_owned(),
            at: Timestamp::from_millis(1_795_824_000_000),
            kind: kind.to_owned(),
            message: "M<1>".to_owned(),
            counts,
        };
        let mut report = StatusReport::create(Vec::new(), &answer).unwrap();
        for (block, end_to_end, state, code, text, receipt) in rows {
            report
                .add(&Answered {
                    origin: &origin(kind, block, end_to_end),
                    id: "0123456789ABCDEFGHJKMNPQRS",
                    state,
                    code,
                    text,
                    money: Some(money),
                    receipt,
                })
                .unwrap();
        }
        String::from_utf8(report.finish().unwrap()).unwrap()
    }

    /// Returns the names of the elements below each other, in their order.
    fn children<'a>(node: roxmltree::Node<'a, 'a>) -> Vec<&'a str> {
        let elements = node.children().filter(roxmltree::Node::is_element);
        elements.map(|child| child.tag_name().name()).collect()
    }

    #[test]
    fn elements_stand_in_the_order_of_the_schema_and_names_come_back_as_they_were() {
        for (kind, version, has_uetr) in [
            ("pain.001.001.03", "pain.002.001.03", false),
            ("pain.001.001.09", "pain.002.001.10", true),
            ("pain.001.001.11", "pain.002.001.12", true),
            ("pain.001.001.12", "pain.002.001.14", true),
        ] {
            let text = written(kind);
            let document = roxmltree::Document::parse(&text).unwrap();
            let root = document.root_element();
            assert!(root.tag_name().namespace().unwrap().ends_with(version));
            let report = root.first_element_child().unwrap();
            assert_eq!(
                children(report),
                [
                    "GrpHdr",
                    "OrgnlGrpInfAndSts",
                    "OrgnlPmtInfAndSts",
                    "OrgnlPmtInfAndSts"
                ]
            );
            let of = |name: &'static str| {
                document
                    .descendants()
                    .filter(move |node| {
                        node.has_tag_name((root.tag_name().namespace().unwrap(), name))
                    })
                    .map(|node| node.text().unwrap_or_default().to_owned())
                    .collect::<Vec<_>>()
            };
            assert_eq!(of("OrgnlMsgId"), ["M<1>"]);
            assert_eq!(of("OrgnlMsgNmId"), [kind]);
            assert_eq!(of("GrpSts"), ["PART"]);
            assert_eq!(of("OrgnlPmtInfId"), ["B1", "B2"]);
            assert_eq!(of("OrgnlEndToEndId"), ["E1", "E2", "NOTPROVIDED", "E4"]);
            assert_eq!(of("TxSts"), ["ACSC", "RJCT", "PDNG", "PDNG"]);
            assert_eq!(of("Cd"), ["AC01"]);
            assert_eq!(of("AddtlInf")[0], "110: no such number & more");
            assert_eq!(of("AcctSvcrRef"), ["R1"]);
            let first = report
                .descendants()
                .find(|node| node.tag_name().name() == "TxInfAndSts")
                .unwrap();
            let mut expected = vec![
                "StsId",
                "OrgnlInstrId",
                "OrgnlEndToEndId",
                "OrgnlUETR",
                "TxSts",
                "AcctSvcrRef",
                "OrgnlTxRef",
            ];
            expected.retain(|name| has_uetr || *name != "OrgnlUETR");
            assert_eq!(children(first), expected, "{kind}");
        }
    }

    #[test]
    fn texts_fit_their_fields_and_hold_nothing_that_xml_does_not_take() {
        assert_eq!(fitted("a\u{0}b\u{ffff}c", 105), "a b c");
        assert_eq!(
            fitted(&"\u{e9}".repeat(200), TEXT_MAX).chars().count(),
            TEXT_MAX
        );
        assert_eq!(named("a "), "a");
    }
}
