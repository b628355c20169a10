//! The cells of a credit transfer (pain.001), by the names that layouts take them by.

/// What the cells of a transfer are called: a layout takes them by these names. Those of [`OURS`] come first.
pub(super) const NAMES: [&str; 27] = [
    "EndToEndId",
    "InstdAmt",
    "Ccy",
    "Phone",
    "Cdtr",
    "Ustrd",
    "Bank",
    "BankName",
    "AcctName",
    "Acct",
    "ReqdExctnDt",
    "Origin",
    "To",
    "PmtInfId",
    "InstrId",
    "PmtMtd",
    "SvcLvl",
    "LclInstrm",
    "CtgyPurp",
    "Purp",
    "ChrgBr",
    "BIC",
    "MmbId",
    "CdtrRef",
    "DocNb",
    "Ctry",
    "DbtrAcct",
];

/// The columns of the contract that the first cells go into, where no layout says otherwise.
pub(super) const OURS: [&str; 12] = [
    "reference",
    "amount",
    "currency_code",
    "msisdn",
    "customer_names",
    "narration",
    "bank_code",
    "bank_name",
    "bank_account_name",
    "bank_account_number",
    "not_before",
    "origin",
];
