//! Names of columns as other programs write them: when two are the same name, and which of ours one may mean.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::suggest::nearest;

/// Returns what is compared of a name: its letters and digits, without case, accents, blanks, underscores and hyphens.
#[must_use]
pub fn plain(name: &str) -> String {
    let is_between =
        |c: char| c.is_whitespace() || matches!(c, '_' | '-' | '\u{2010}'..='\u{2015}');
    if name.is_ascii() {
        let kept = name.chars().filter(|c| !is_between(*c));
        return kept.map(|c| c.to_ascii_lowercase()).collect();
    }
    name.nfkd()
        .filter(|c| !is_combining_mark(*c) && !is_between(*c) && *c != '\u{feff}')
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns whether two names are the same to [`plain`].
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    one == other || plain(one) == plain(other)
}

/// What other programs call our columns, in the form of [`plain`]. Words for a person alone: nothing is taken by them.
const SYNONYMS: [(&str, &[&str]); 15] = [
    (
        "reference",
        &[
            "id",
            "ref",
            "refno",
            "employeeid",
            "employeeno",
            "employeenumber",
            "employeecode",
            "empid",
            "empno",
            "staffid",
            "staffno",
            "staffnumber",
            "payrollno",
            "payrollnumber",
            "paymentid",
            "paymentreference",
            "referencenumber",
            "referenceno",
            "referenceid",
            "transactionid",
            "requestid",
            "externalid",
            "uniqueid",
        ],
    ),
    (
        "service_code",
        &[
            "service",
            "product",
            "productcode",
            "network",
            "provider",
            "operator",
            "channel",
            "programfspconfigurationname",
        ],
    ),
    (
        "msisdn",
        &[
            "phone",
            "phoneno",
            "phonenumber",
            "phonenumbers",
            "mobile",
            "mobileno",
            "mobilenumber",
            "mobilephone",
            "mobilemoneynumber",
            "momonumber",
            "mpesanumber",
            "mpesano",
            "cell",
            "cellno",
            "cellphone",
            "cellnumber",
            "telephone",
            "telephoneno",
            "telno",
            "tel",
            "contact",
            "contactno",
            "contactnumber",
            "number",
            "recipientphone",
            "recipientnumber",
            "recipientmsisdn",
            "recipientphonenumber",
            "receivermsisdn",
            "receiverphone",
            "payeemsisdn",
            "beneficiaryphone",
            "beneficiarymobile",
            "walletnumber",
        ],
    ),
    (
        "account_number",
        &["account", "accountno", "meternumber", "meterno", "meter"],
    ),
    (
        "amount",
        &[
            "netpay",
            "netpayable",
            "netsalary",
            "netamount",
            "net",
            "salary",
            "pay",
            "payment",
            "paymentamount",
            "payamount",
            "transactionamount",
            "amountkes",
            "amountksh",
            "amounttopay",
            "value",
            "sum",
            "total",
            "takehome",
        ],
    ),
    ("currency_code", &["currency", "ccy", "paymentcurrency"]),
    ("country_code", &["country"]),
    (
        "narration",
        &[
            "description",
            "remark",
            "remarks",
            "note",
            "notes",
            "comment",
            "comments",
            "narrative",
            "purpose",
            "reason",
            "details",
            "paymentdetails",
            "message",
        ],
    ),
    (
        "customer_names",
        &[
            "name",
            "names",
            "fullname",
            "fullnames",
            "customername",
            "employeename",
            "employeenames",
            "employee",
            "staffname",
            "recipientname",
            "receivername",
            "payeename",
            "beneficiaryname",
            "beneficiary",
            "payee",
            "recipient",
        ],
    ),
    (
        "invoice_number",
        &["invoice", "invoiceno", "billnumber", "billno"],
    ),
    (
        "bank_code",
        &[
            "bankid",
            "sortcode",
            "branchcode",
            "ifsc",
            "ifsccode",
            "swift",
            "swiftcode",
            "bic",
            "bankbranchcode",
        ],
    ),
    ("bank_name", &["bank"]),
    (
        "bank_account_name",
        &["accountname", "accountholder", "accountholdername"],
    ),
    (
        "bank_account_number",
        &["bankaccount", "bankaccountno", "iban"],
    ),
    ("document", &["attachment", "supportingdocument"]),
];

/// Returns the one column of ours that a name of another program may mean.
pub(super) fn synonym(name: &str) -> Option<&'static str> {
    let name = plain(name);
    let known = SYNONYMS
        .iter()
        .find(|(_, names)| names.contains(&name.as_str()));
    known.map(|(column, _)| *column)
}

/// Returns which of our columns a person may have meant by a name that is none.
pub(super) fn suggestion(
    name: &str,
    columns: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    // Headers carry units and currencies in brackets or behind them.
    let bare = name.split(['(', '[', '/']).next().unwrap_or(name);
    synonym(name)
        .or_else(|| synonym(bare))
        .or_else(|| nearest(name, columns))
}

#[cfg(test)]
mod tests {
    use super::super::columns::COLUMNS;
    use super::*;

    #[test]
    fn names_are_the_same_but_for_case_accents_blanks_underscores_and_hyphens() {
        for (one, other, expected) in [
            ("amount", "Amount", true),
            ("customer_names", "Customer Names", true),
            ("service_code", "service-code", true),
            ("service_code", "SERVICECODE", true),
            ("reference", "Référence", true),
            ("reference", "Re\u{301}fe\u{301}rence", true),
            ("msisdn", " msisdn\u{a0}", true),
            ("msisdn", "\u{feff}MSISDN", true),
            ("service_code", "Service\u{2011}Code", true),
            ("stra\u{df}e", "STRASSE", true),
            ("amount", "amounts", false),
            ("amount", "amount.", false),
            ("extra.floor", "extrafloor", false),
            ("msisdn", "msisdn2", false),
        ] {
            assert_eq!(same(one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn no_two_columns_are_the_same_name_and_every_word_means_one() {
        let mut seen = std::collections::BTreeSet::new();
        for column in COLUMNS {
            assert!(seen.insert(plain(column)), "{column}");
        }
        for (column, names) in SYNONYMS {
            assert!(COLUMNS.contains(&column), "{column}");
            for name in names {
                assert_eq!(*name, plain(name), "{name} is in its plain form");
                assert!(seen.insert((*name).to_owned()), "{name} means two columns");
            }
        }
    }

    #[test]
    fn one_candidate_is_named() {
        for (name, expected) in [
            ("Phone", Some("msisdn")),
            ("Mobile No", Some("msisdn")),
            ("Employee No", Some("reference")),
            ("Net Pay", Some("amount")),
            ("Net Pay (KES)", Some("amount")),
            ("Full Name", Some("customer_names")),
            ("narations", Some("narration")),
            ("zzzzzz", None),
        ] {
            assert_eq!(suggestion(name, COLUMNS), expected, "{name}");
        }
    }
}
