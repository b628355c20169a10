//! A batch of every kind that takes another way: wallets, transfers with documents, bills that leave their amount open.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use fastrand::Rng;

use crate::files::{Row, rows};
use crate::sandbox::Sandbox;
use crate::world::{Setup, World};

/// The command that brings the batch to its end, however often it is said again.
pub const PAY: [&str; 6] = ["pay", "batch.csv", "--batch", "b", "--yes", "--pay-due"];

const SERVICES: &str = "
[services.B2C_MPESA]
kind = \"mobile_money\"
currency_code = \"KES\"
[services.B2C_AIRTEL]
kind = \"mobile_money\"
currency_code = \"KES\"
[services.B2C_TKASH]
kind = \"mobile_money\"
currency_code = \"KES\"
[services.RTGS]
kind = \"rtgs\"
currency_code = \"KES\"
[services.WATER]
kind = \"bill_postpaid\"
currency_code = \"KES\"
bill_amount = \"exact\"
";
const HEADER: &str = "reference,service_code,msisdn,account_number,amount,currency_code,customer_names,bank_code,bank_name,\
                      bank_account_name,bank_account_number,document\n";

/// How many rows of each kind.
#[derive(Clone, Copy)]
pub struct Mix {
    pub wallets: usize,
    pub transfers: usize,
    pub bills: usize,
}

pub const WALLETS: Mix = Mix {
    wallets: 100,
    transfers: 0,
    bills: 0,
};

/// A world with its sandbox, the batch's file in it, and the rows as they must end: with the amounts of their bills.
pub struct Scene {
    pub world: World,
    pub sandbox: Sandbox,
    pub rows: Vec<Row>,
}

impl Scene {
    /// A gateway without a duplicate check executes whatever comes, so that a payment that is sent twice is seen.
    pub fn new(setup: &Setup, mix: Mix, seed: u64, sandbox: &[&str]) -> Self {
        let world = World::new(setup);
        world.write(
            "disburse.toml",
            &format!("{}{SERVICES}", world.read("disburse.toml")),
        );
        let seeded = seed.to_string();
        let usual = [
            "--seed",
            &seeded,
            "--rtgs-delay",
            "200ms",
            "--no-duplicate-check",
        ];
        let sandbox = Sandbox::start(&world, "ledger", &[&usual[..], sandbox].concat());
        let world = world.towards(&sandbox.base_url);
        let rows = write(&world, mix, seed);
        Self {
            world,
            sandbox,
            rows,
        }
    }

    /// The batch is finished, and file, journal, report and ledger say the same.
    #[track_caller]
    pub fn prove(&self) {
        crate::oracle::prove(&self.world, "b", &self.rows, &self.sandbox.ledger());
    }
}

fn write(world: &World, mix: Mix, seed: u64) -> Vec<Row> {
    let mut rng = Rng::with_seed(seed);
    let mut text = HEADER.to_owned();
    let mut all = rows(mix.wallets, seed);
    for row in &all {
        let (reference, service, msisdn) = (&row.reference, row.service, &row.msisdn);
        writeln!(
            text,
            "{reference},{service},{msisdn},,{},KES,,,,,,",
            row.amount()
        )
        .unwrap();
    }
    fs::create_dir_all(world.path("documents")).unwrap();
    let document =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/documents/bank-statement.pdf");
    for n in 1..=mix.transfers {
        fs::copy(&document, world.path(&format!("documents/{n}.pdf"))).unwrap();
        let row = Row {
            reference: format!("T{n:03}"),
            service: "RTGS",
            msisdn: format!("254712{n:06}"),
            minor: 100_000_000 + i64::try_from(n).unwrap(),
        };
        writeln!(
            text,
            "{},RTGS,{},,{},KES,Supplier {n},02,Bank,Supplier {n},01000{n:05},documents/{n}.pdf",
            row.reference,
            row.msisdn,
            row.amount()
        )
        .unwrap();
        all.push(row);
    }
    for n in 1..=mix.bills {
        // The sandbox's bill of an account is its last four digits times 10.00, and 250.50.
        let last = rng.i64(1..4_000);
        let row = Row {
            reference: format!("W{n:03}"),
            service: "WATER",
            msisdn: format!("254713{n:06}"),
            minor: last * 1_000 + 25_050,
        };
        // Some rows name the amount, which must be the bill's.
        let amount = if n % 4 == 0 {
            row.amount()
        } else {
            String::new()
        };
        writeln!(
            text,
            "{},WATER,{},{n:04}{last:04},{amount},KES,,,,,,",
            row.reference, row.msisdn
        )
        .unwrap();
        all.push(row);
    }
    world.write("batch.csv", &text);
    all
}
