//! Airtime, bills and prepaid electricity.

use std::fmt::Write as _;

use fastrand::Rng;

use super::{AIRTEL, MPESA, Outcome, decimal, number, person};

/// Airtime for oneself, and for others: then the account is their number.
pub fn airtime() -> Outcome<String> {
    let mut rng = Rng::with_seed(super::SEED + 3);
    let mut file = String::from(
        "reference,service_code,msisdn,account_number,amount,currency_code,customer_names,narration\n",
    );
    for row in 1..=40 {
        let msisdn = number(&mut rng, "KE", "254", &MPESA)?;
        let (account, narration) = match row % 4 {
            0 => (number(&mut rng, "KE", "254", &AIRTEL)?, "Airtime as a gift"),
            2 => (number(&mut rng, "KE", "254", &MPESA)?, "Airtime as a gift"),
            _ => (String::new(), "Airtime"),
        };
        let (amount, name) = (decimal(rng.u64(1..100) * 1_000), person(&mut rng));
        writeln!(
            file,
            "AT-{row:04},AIRTIME,{msisdn},{account},{amount},KES,{name},{narration}"
        )?;
    }
    Ok(file)
}

/// Water and pay-TV; a row without an amount pays what is due.
pub fn bills() -> Outcome<String> {
    let mut rng = Rng::with_seed(super::SEED + 4);
    let mut file = String::from(
        "reference,service_code,msisdn,account_number,amount,currency_code,customer_names,narration\n",
    );
    for row in 1..=36 {
        let msisdn = number(&mut rng, "KE", "254", &MPESA)?;
        let last = rng.u64(1..4_900);
        let account = format!("1{:03}{last:04}", rng.u32(..1_000));
        let (service, amount) = match row % 4 {
            0 => ("WATER", String::new()),
            // The sandbox's bill of this account.
            1 => ("WATER", decimal(last * 1_000 + 25_050)),
            2 => ("PAYTV", String::new()),
            _ => ("PAYTV", decimal(rng.u64(3..40) * 25_000)),
        };
        let name = person(&mut rng);
        writeln!(
            file,
            "BL-{row:04},{service},{msisdn},{account},{amount},KES,{name},Bill of November 2026"
        )?;
    }
    Ok(file)
}

/// Prepaid electricity: the account is the meter.
pub fn electricity() -> Outcome<String> {
    let mut rng = Rng::with_seed(super::SEED + 5);
    let mut file = String::from(
        "reference,service_code,msisdn,account_number,amount,currency_code,customer_names,narration\n",
    );
    for row in 1..=30 {
        let msisdn = number(&mut rng, "KE", "254", &MPESA)?;
        let meter = rng.u64(10_000_000_000..70_000_000_000);
        let (amount, name) = (decimal(rng.u64(2..100) * 5_000), person(&mut rng));
        writeln!(
            file,
            "EL-{row:04},ELECTRICITY,{msisdn},{meter},{amount},KES,{name},Electricity"
        )?;
    }
    Ok(file)
}
