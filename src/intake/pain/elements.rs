//! Which element stands where in a pain.001 message, as far as it matters here (`CustomerCreditTransferInitiation`).
//!
//! Versions 3 to 12 have these elements in the same places, but for the code of a bank (`BIC`, later `BICFI`) and the requested day
//! (a date, later `Dt` or `DtTm` below it).

/// Something that is written down of a message, a block of it, or a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    // Of the message.
    MessageId,
    Created,
    MessageCount,
    MessageSum,
    // Of a block.
    BlockId,
    BlockCount,
    BlockSum,
    Method,
    Day,
    DebtorIban,
    DebtorOther,
    // Of a block or of a transfer.
    ServiceLevel,
    LocalInstrument,
    CategoryPurpose,
    ChargeBearer,
    // Of a transfer.
    InstructionId,
    EndToEndId,
    Uetr,
    Amount,
    EquivalentAmount,
    Bic,
    Member,
    BankName,
    Name,
    Country,
    Mobile,
    Phone,
    Iban,
    Other,
    Scheme,
    AccountName,
    ProxyType,
    Proxy,
    Unstructured,
    Document,
    CreditorReference,
    Purpose,
}

impl Fact {
    /// How many there are.
    pub(super) const COUNT: usize = Self::Purpose as usize + 1;

    /// Returns whether it may stand in a transfer more than once: the texts are joined.
    pub(super) fn may_repeat(self) -> bool {
        matches!(
            self,
            Self::Unstructured | Self::Document | Self::CreditorReference | Self::ServiceLevel
        )
    }
}

/// An element that is looked into, or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Above the root.
    Top,
    Root,
    Message,
    Header,
    Block,
    Types,
    /// Its children `Cd` and `Prtry` say it.
    CodeOf(Fact),
    /// Its child `Id` says it.
    IdOf(Fact),
    RequestedDay,
    DebtorAccount,
    DebtorAccountId,
    Transfer,
    Ids,
    Amounts,
    Equivalent,
    Cheque,
    Agent,
    Institution,
    MemberId,
    Creditor,
    Address,
    Contact,
    Account,
    AccountId,
    OtherAccount,
    ProxyAccount,
    Remittance,
    Structured,
    CreditorReferences,
    Documents,
    /// Its text is read.
    Leaf(Fact),
}

/// Returns what an element is, by its parent; `None` where it is not looked into.
pub(super) fn child(parent: Node, name: &str) -> Option<Node> {
    use Fact as F;
    use Node as N;
    let node = match parent {
        N::Top => match name {
            "Document" => N::Root,
            _ => return None,
        },
        N::Root => match name {
            "CstmrCdtTrfInitn" => N::Message,
            _ => return None,
        },
        N::Message => match name {
            "GrpHdr" => N::Header,
            "PmtInf" => N::Block,
            _ => return None,
        },
        N::Header => match name {
            "MsgId" => N::Leaf(F::MessageId),
            "CreDtTm" => N::Leaf(F::Created),
            "NbOfTxs" => N::Leaf(F::MessageCount),
            "CtrlSum" => N::Leaf(F::MessageSum),
            _ => return None,
        },
        N::Block => match name {
            "PmtInfId" => N::Leaf(F::BlockId),
            "PmtMtd" => N::Leaf(F::Method),
            "NbOfTxs" => N::Leaf(F::BlockCount),
            "CtrlSum" => N::Leaf(F::BlockSum),
            "PmtTpInf" => N::Types,
            "ReqdExctnDt" => N::RequestedDay,
            "DbtrAcct" => N::DebtorAccount,
            "ChrgBr" => N::Leaf(F::ChargeBearer),
            "CdtTrfTxInf" => N::Transfer,
            _ => return None,
        },
        N::Types => match name {
            "SvcLvl" => N::CodeOf(F::ServiceLevel),
            "LclInstrm" => N::CodeOf(F::LocalInstrument),
            "CtgyPurp" => N::CodeOf(F::CategoryPurpose),
            _ => return None,
        },
        N::CodeOf(fact) => match name {
            "Cd" | "Prtry" => N::Leaf(fact),
            _ => return None,
        },
        N::IdOf(fact) => match name {
            "Id" => N::Leaf(fact),
            _ => return None,
        },
        N::RequestedDay => match name {
            "Dt" | "DtTm" => N::Leaf(F::Day),
            _ => return None,
        },
        N::DebtorAccount => match name {
            "Id" => N::DebtorAccountId,
            _ => return None,
        },
        N::DebtorAccountId => match name {
            "IBAN" => N::Leaf(F::DebtorIban),
            "Othr" => N::IdOf(F::DebtorOther),
            _ => return None,
        },
        _ => return of_transfer(parent, name),
    };
    Some(node)
}

fn of_transfer(parent: Node, name: &str) -> Option<Node> {
    use Fact as F;
    use Node as N;
    let node = match (parent, name) {
        (N::Transfer, "PmtId") => N::Ids,
        (N::Transfer, "PmtTpInf") => N::Types,
        (N::Transfer, "Amt") => N::Amounts,
        (N::Transfer, "ChrgBr") => N::Leaf(F::ChargeBearer),
        (N::Transfer, "ChqInstr") => N::Cheque,
        (N::Transfer, "CdtrAgt") => N::Agent,
        (N::Transfer, "Cdtr") => N::Creditor,
        (N::Transfer, "CdtrAcct") => N::Account,
        (N::Transfer, "Purp") => N::CodeOf(F::Purpose),
        (N::Transfer, "RmtInf") => N::Remittance,
        (N::Ids, "InstrId") => N::Leaf(F::InstructionId),
        (N::Ids, "EndToEndId") => N::Leaf(F::EndToEndId),
        (N::Ids, "UETR") => N::Leaf(F::Uetr),
        (N::Amounts, "InstdAmt") => N::Leaf(F::Amount),
        (N::Amounts, "EqvtAmt") => N::Equivalent,
        (N::Equivalent, "Amt") => N::Leaf(F::EquivalentAmount),
        (N::Agent, "FinInstnId") => N::Institution,
        (N::Institution, "BIC" | "BICFI") => N::Leaf(F::Bic),
        (N::Institution, "ClrSysMmbId") => N::MemberId,
        (N::Institution, "Nm") => N::Leaf(F::BankName),
        (N::MemberId, "MmbId") => N::Leaf(F::Member),
        (N::Creditor, "Nm") => N::Leaf(F::Name),
        (N::Creditor, "PstlAdr") => N::Address,
        (N::Creditor, "CtctDtls") => N::Contact,
        (N::Address, "Ctry") => N::Leaf(F::Country),
        (N::Contact, "MobNb") => N::Leaf(F::Mobile),
        (N::Contact, "PhneNb") => N::Leaf(F::Phone),
        (N::Account, "Id") => N::AccountId,
        (N::Account, "Nm") => N::Leaf(F::AccountName),
        (N::Account, "Prxy") => N::ProxyAccount,
        (N::AccountId, "IBAN") => N::Leaf(F::Iban),
        (N::AccountId, "Othr") => N::OtherAccount,
        (N::OtherAccount, "Id") => N::Leaf(F::Other),
        (N::OtherAccount, "SchmeNm") => N::CodeOf(F::Scheme),
        (N::ProxyAccount, "Tp") => N::CodeOf(F::ProxyType),
        (N::ProxyAccount, "Id") => N::Leaf(F::Proxy),
        (N::Remittance, "Ustrd") => N::Leaf(F::Unstructured),
        (N::Remittance, "Strd") => N::Structured,
        (N::Structured, "CdtrRefInf") => N::CreditorReferences,
        (N::Structured, "RfrdDocInf") => N::Documents,
        (N::CreditorReferences, "Ref") => N::Leaf(F::CreditorReference),
        (N::Documents, "Nb") => N::Leaf(F::Document),
        _ => return None,
    };
    Some(node)
}

/// Returns how an element is named that a payment loses, where its parent is `parent`; `None` where nothing is lost that anybody
/// would miss.
pub(super) fn lost(parent: Node, name: &str) -> Option<String> {
    let of = |whose: &str| Some(format!("{whose}/{name}"));
    match parent {
        // Whoever pays here pays from the account at the gateway.
        Node::Block if ["BtchBookg", "Dbtr", "DbtrAgt"].contains(&name) => None,
        Node::Block | Node::Transfer | Node::Types | Node::Amounts => Some(name.to_owned()),
        Node::Agent => of("CdtrAgt"),
        Node::Creditor => of("Cdtr"),
        Node::Account => of("CdtrAcct"),
        Node::Address => Some("Cdtr/PstlAdr".to_owned()),
        Node::Remittance | Node::Structured => of("RmtInf"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_known_by_their_places() {
        let found = |path: &[&str]| {
            path.iter()
                .try_fold(Node::Top, |node, name| child(node, name))
        };
        let transfer = ["Document", "CstmrCdtTrfInitn", "PmtInf", "CdtTrfTxInf"];
        for (below, fact) in [
            (&["PmtId", "EndToEndId"][..], Fact::EndToEndId),
            (&["Amt", "InstdAmt"], Fact::Amount),
            (&["Amt", "EqvtAmt", "Amt"], Fact::EquivalentAmount),
            (&["CdtrAgt", "FinInstnId", "BIC"], Fact::Bic),
            (&["CdtrAgt", "FinInstnId", "BICFI"], Fact::Bic),
            (
                &["CdtrAgt", "FinInstnId", "ClrSysMmbId", "MmbId"],
                Fact::Member,
            ),
            (&["CdtrAcct", "Id", "IBAN"], Fact::Iban),
            (&["CdtrAcct", "Id", "Othr", "Id"], Fact::Other),
            (
                &["CdtrAcct", "Id", "Othr", "SchmeNm", "Prtry"],
                Fact::Scheme,
            ),
            (&["CdtrAcct", "Prxy", "Tp", "Cd"], Fact::ProxyType),
            (&["CdtrAcct", "Prxy", "Id"], Fact::Proxy),
            (&["Cdtr", "CtctDtls", "MobNb"], Fact::Mobile),
            (&["Purp", "Cd"], Fact::Purpose),
            (&["PmtTpInf", "CtgyPurp", "Cd"], Fact::CategoryPurpose),
        ] {
            let path = [&transfer[..], below].concat();
            assert_eq!(found(&path), Some(Node::Leaf(fact)), "{path:?}");
        }
        // Names that stand in many places mean what they mean in one.
        for path in [
            &["Document", "CstmrDrctDbtInitn"][..],
            &["Document", "CstmrCdtTrfInitn", "PmtInf", "Dbtr", "Nm"],
            &[
                "Document",
                "CstmrCdtTrfInitn",
                "PmtInf",
                "CdtTrfTxInf",
                "UltmtCdtr",
                "Nm",
            ],
            &[
                "Document",
                "CstmrCdtTrfInitn",
                "PmtInf",
                "CdtTrfTxInf",
                "CdtrAgt",
                "BrnchId",
                "Id",
            ],
            &[
                "Document",
                "CstmrCdtTrfInitn",
                "PmtInf",
                "CdtTrfTxInf",
                "CdtrAgt",
                "FinInstnId",
                "Othr",
                "Id",
            ],
        ] {
            assert_eq!(found(path), None, "{path:?}");
        }
    }
}
