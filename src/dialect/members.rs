//! The names of the members, as the interface document has them and as a deployment has them.

use std::collections::BTreeMap;

/// Every member whose name a deployment may change, as the document writes it (sections 2.3 and 2.4).
pub const MEMBERS: [&str; 37] = [
    "function",
    "countryCode",
    "payload",
    "credentials",
    "username",
    "password",
    "packet",
    "serviceCode",
    "MSISDN",
    "invoiceNumber",
    "accountNumber",
    "payerTransactionID",
    "gatewayTransactionID",
    "amount",
    "narration",
    "datePaymentReceived",
    "currencyCode",
    "hubID",
    "paymentMode",
    "customerNames",
    "extraData",
    "pushToOriginator",
    "callbackUrl",
    "supportDocument",
    "destinationBankCode",
    "destinationBankName",
    "destinationAccountName",
    "destinationAccountNo",
    "authStatus",
    "authStatusCode",
    "authStatusDescription",
    "results",
    "statusCode",
    "statusDescription",
    "receiptNumber",
    "receiverNarration",
    "balance",
];

/// The members of `extraData` that the program writes (section 2.3).
pub const OWN_EXTRA: [&str; 7] = [
    "pushToOriginator",
    "callbackUrl",
    "supportDocument",
    "destinationBankCode",
    "destinationBankName",
    "destinationAccountName",
    "destinationAccountNo",
];

/// A currency is read under this name, too (`dueAmount` of a bill has it): no other member may be called so.
pub(super) const CURRENCY: (&str, &str) = ("currency", "currencyCode");

/// The names that a deployment gives to members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    theirs: BTreeMap<&'static str, String>,
}

impl Names {
    /// Notes another name of a member of [`MEMBERS`].
    pub(super) fn rename(&mut self, ours: &'static str, theirs: &str) {
        if ours != theirs {
            self.theirs.insert(ours, theirs.to_owned());
        }
    }

    /// Returns the deployment's name of a member.
    #[must_use]
    pub fn theirs<'n>(&'n self, ours: &'n str) -> &'n str {
        self.theirs.get(ours).map_or(ours, String::as_str)
    }

    /// Returns the document's name of what a deployment calls so; `None` where that is the document's name of a member that
    /// this deployment calls otherwise, and so nothing that is known.
    #[must_use]
    pub fn ours<'n>(&'n self, theirs: &'n str) -> Option<&'n str> {
        let renamed = self.theirs.iter().find(|(_, name)| *name == theirs);
        match renamed {
            Some((ours, _)) => Some(ours),
            None => {
                // The document's callbacks have this member in small letters, too.
                let known = match theirs {
                    "msisdn" => "MSISDN",
                    theirs => theirs,
                };
                (!self.theirs.contains_key(known)).then_some(theirs)
            }
        }
    }

    /// Returns whether every member has the document's name.
    #[must_use]
    pub fn are_the_documents(&self) -> bool {
        self.theirs.is_empty()
    }
}
