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

/// The members of a post that a gateway may not take: without them it is still said who is paid what, and under which identifier.
pub const LEAVABLE: [&str; 12] = [
    "invoiceNumber",
    "datePaymentReceived",
    "countryCode",
    "hubID",
    "paymentMode",
    "customerNames",
    "extraData",
    "pushToOriginator",
    "callbackUrl",
    "destinationBankCode",
    "destinationBankName",
    "destinationAccountName",
];

/// A currency is read under this name, too (`dueAmount` of a bill has it): no other member may be called so.
pub(super) const CURRENCY: (&str, &str) = ("currency", "currencyCode");

/// Where a member stands. Members of different places may have one name: no reader meets them in one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// What holds the payload of a request or callback (section 2.3).
    Envelope,
    /// `payload`.
    Payload,
    /// `credentials`.
    Credentials,
    /// A packet, or an entry of `results`; of a reply the outermost object, too, where some gateways have members of an entry.
    Packet,
    /// `extraData`.
    Extra,
    /// The outermost object of a reply (section 2.4).
    Reply,
    /// `authStatus`.
    AuthStatus,
}

impl Place {
    /// Every place.
    pub const ALL: [Self; 7] = [
        Self::Envelope,
        Self::Payload,
        Self::Credentials,
        Self::Packet,
        Self::Extra,
        Self::Reply,
        Self::AuthStatus,
    ];

    /// Returns whether a member stands here, alone or beside those of a packet: a callback may be flat, and a reply may have
    /// members of an entry outside.
    #[must_use]
    pub fn has(self, ours: &str) -> bool {
        let is_of_packet = !matches!(
            ours,
            "function"
                | "payload"
                | "credentials"
                | "packet"
                | "username"
                | "password"
                | "authStatus"
                | "results"
                | "authStatusCode"
                | "authStatusDescription"
        ) && (!OWN_EXTRA.contains(&ours) || ours == "supportDocument");
        match self {
            Self::Envelope => is_of_packet || matches!(ours, "function" | "payload"),
            Self::Payload => matches!(ours, "credentials" | "packet"),
            Self::Credentials => matches!(ours, "username" | "password"),
            Self::Packet => is_of_packet,
            Self::Extra => OWN_EXTRA.contains(&ours),
            Self::Reply => is_of_packet || matches!(ours, "function" | "authStatus" | "results"),
            Self::AuthStatus => matches!(ours, "authStatusCode" | "authStatusDescription"),
        }
    }

    /// Returns where the members of an object or array stand that is called so here; `None` where nothing of it is renamed.
    #[must_use]
    pub(crate) fn within(self, ours: &str) -> Option<Self> {
        match (self, ours) {
            (Self::Reply, "authStatus") => Some(Self::AuthStatus),
            (Self::Reply, "results" | "data") => Some(Self::Packet),
            _ => None,
        }
    }
}

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

    /// Returns the document's name of what a deployment calls so in a place; `None` where that is the document's name of a
    /// member that this deployment calls otherwise, and so nothing that is known.
    #[must_use]
    pub fn ours<'n>(&'n self, place: Place, theirs: &'n str) -> Option<&'n str> {
        let renamed = self
            .theirs
            .iter()
            .find(|(ours, name)| *name == theirs && place.has(ours));
        match renamed {
            Some((ours, _)) => Some(ours),
            None => {
                // The document's callbacks have this member in small letters, too.
                let known = match theirs {
                    "msisdn" => "MSISDN",
                    theirs => theirs,
                };
                let is_renamed = self.theirs.contains_key(known) && place.has(known);
                (!is_renamed).then_some(theirs)
            }
        }
    }

    /// Returns whether every member has the document's name.
    #[must_use]
    pub fn are_the_documents(&self) -> bool {
        self.theirs.is_empty()
    }
}
