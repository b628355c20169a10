//! Payouts to banks, and large transfers between them.

use std::fmt::Write as _;

use fastrand::Rng;

use super::{MPESA, Outcome, decimal, number, person};

/// Banks that do not exist.
const BANKS: [(&str, &str); 12] = [
    ("01", "Mlima Bank"),
    ("02", "Bonde Commercial Bank"),
    ("03", "Kilimo Bank"),
    ("07", "Ziwa Savings Bank"),
    ("11", "Bahari Trust Bank"),
    ("16", "Nyota Bank"),
    ("23", "Jua Kali Cooperative Bank"),
    ("31", "Tembo Merchant Bank"),
    ("49", "Baraka Community Bank"),
    ("57", "Upeo Bank"),
    ("63", "Daraja Bank"),
    ("70", "Msitu Development Bank"),
];

/// The documents of the large transfers: name and lines of text.
pub const DOCUMENTS: [(&str, &[&str]); 4] = [
    (
        "board-resolution.pdf",
        &[
            "Resolution of the board (sample)",
            "Payments to suppliers above KES 1,000,000.00 are approved for November 2026.",
        ],
    ),
    (
        "invoice-4711.pdf",
        &["Invoice 4711 (sample)", "Goods as ordered, November 2026"],
    ),
    (
        "contract-2026-11.pdf",
        &[
            "Contract 2026-11 (sample)",
            "Construction of a store, second instalment",
        ],
    ),
    (
        "bank-statement.pdf",
        &["Statement of account (sample)", "November 2026"],
    ),
];

/// The directory of all banks.
pub fn banks() -> String {
    let mut file = String::from("bank_code,bank_name\n");
    for (code, name) in BANKS {
        let _ = writeln!(file, "{code},{name}");
    }
    file
}

/// Wages to bank accounts.
pub fn bank() -> Outcome<String> {
    let mut rng = Rng::with_seed(super::SEED + 1);
    let mut file = String::from(
        "reference,service_code,msisdn,amount,currency_code,customer_names,narration,bank_code,bank_name,bank_account_name,\
         bank_account_number\n",
    );
    for row in 1..=48 {
        let msisdn = number(&mut rng, "KE", "254", &MPESA)?;
        let (amount, name) = (decimal(rng.u64(800_000..24_000_000)), person(&mut rng));
        let (code, bank) = BANKS[rng.usize(..BANKS.len())];
        let account = account(&mut rng);
        writeln!(
            file,
            "BK-{row:04},BANK_TRANSFER,{msisdn},{amount},KES,{name},Wages November 2026,{code},{bank},{name},{account}"
        )?;
    }
    Ok(file)
}

/// Transfers to suppliers: some below the amount from which a document is needed, some above.
pub fn rtgs() -> Outcome<String> {
    let mut rng = Rng::with_seed(super::SEED + 2);
    let suppliers = [
        "Simba Cement Works",
        "Pwani Fresh Produce",
        "Highland Tea Growers",
        "Savanna Steel",
        "Lakeside Fisheries",
        "Rift Valley Dairy",
        "Tausi Printers",
        "Acacia Furniture",
    ];
    let mut file = String::from(
        "reference,service_code,msisdn,amount,currency_code,customer_names,narration,bank_code,bank_name,bank_account_name,\
         bank_account_number,document\n",
    );
    for row in 1..=24 {
        let msisdn = number(&mut rng, "KE", "254", &MPESA)?;
        let supplier = suppliers[rng.usize(..suppliers.len())];
        let (code, bank) = BANKS[rng.usize(..BANKS.len())];
        let (amount, document) = match row {
            1 => (
                "1000000.00".to_owned(),
                format!("documents/{}", DOCUMENTS[0].0),
            ),
            2 => ("999999.99".to_owned(), String::new()),
            _ if row % 3 == 0 => {
                let (name, _) = DOCUMENTS[rng.usize(..DOCUMENTS.len())];
                (
                    decimal(rng.u64(10_500..250_000) * 10_000),
                    format!("documents/{name}"),
                )
            }
            _ => (decimal(rng.u64(5_000..99_000) * 1_000), String::new()),
        };
        let account = account(&mut rng);
        writeln!(
            file,
            "RT-{row:04},RTGS,{msisdn},{amount},KES,{supplier},Supplier payment,{code},{bank},{supplier},{account},{document}"
        )?;
    }
    Ok(file)
}

/// An account, often with leading zeros.
fn account(rng: &mut Rng) -> String {
    format!("{:013}", rng.u64(10_000_000..200_000_000_000))
}
