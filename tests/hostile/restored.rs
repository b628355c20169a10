//! A database that is put back under several machines: each has seen of the journal what the others have not.

use super::fixture::{Kind, Server, shared};
use super::gateway::Gateway;
use super::office::{BATCH, Ended, Office, Setup};
use super::script::{Conduct, Post};

const MACHINES: [&str; 3] = ["one", "two", "desk"];

struct Site<'a> {
    server: &'a Server,
    database: String,
    office: Office,
}

impl<'a> Site<'a> {
    /// Makes a journal with a batch that is not run yet, which all machines have seen; returns a copy of it, too.
    fn open(server: &'a Server, gateway: &Gateway) -> (Self, String) {
        let setup = Setup {
            rows: 4,
            ..Setup::default()
        };
        let mut office = Office::open(gateway, setup);
        let database = server.database();
        let address = server.address(&database);
        office.journal = Some(address.clone());
        let site = Self {
            server,
            database,
            office,
        };
        site.done("one", &["journal", "init", &address], 0);
        site.done("one", &["load", "batch.csv", "--batch", BATCH], 0);
        for machine in MACHINES {
            site.done(machine, &["status", BATCH], 0);
        }
        let copy = server.database();
        let name = &site.database;
        for statement in [
            format!("drop database {copy}"),
            format!("create database {copy} template {name}"),
        ] {
            server.psql("postgres", &statement);
        }
        (site, copy)
    }

    /// Gives a command at a machine.
    fn at(&self, machine: &str, words: &[&str]) -> Ended {
        self.at_as("acme", machine, words)
    }

    /// The same with another account of the gateway.
    fn at_as(&self, account: &str, machine: &str, words: &[&str]) -> Ended {
        let state = self.office.path(machine);
        let settings = [
            ("XDG_STATE_HOME", state.to_str().unwrap()),
            ("DISBURSE_USERNAME", account),
        ];
        self.office.start_with(words, &settings).wait()
    }

    #[track_caller]
    fn done(&self, machine: &str, words: &[&str], code: i32) -> Ended {
        let ended = self.at(machine, words);
        assert_eq!(ended.code, Some(code), "{machine}: {words:?}: {ended:?}");
        ended
    }

    /// Puts the database back as it was copied.
    fn put_back(&self, copy: &str) {
        let name = &self.database;
        let close = format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        );
        self.server.psql("postgres", &close);
        for statement in [
            format!("drop database {name} with (force)"),
            format!("create database {name} template {copy}"),
        ] {
            self.server.psql("postgres", &statement);
        }
    }

    fn batches_lost(&self) -> Vec<String> {
        let said = self.done("one", &["recover", "--json"], 0);
        let said: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let names = said["batches_lost"]["names"].as_array().unwrap().iter();
        let mut names: Vec<String> = names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }
}

/// Rows of a file of its own.
fn write_rows(site: &Site<'_>, name: &str, first: usize) {
    let mut text =
        "reference,service_code,msisdn,amount,currency_code,narration,invoice_number\n".to_owned();
    for row in first..first + 3 {
        let line =
            format!("{name}-{row},LANE_0,2547{row:08},{row}.00,KES,pay {row},{name}-{row}\n");
        text += &line;
    }
    std::fs::write(site.office.path(&format!("{name}.csv")), text).unwrap();
}

#[test]
fn what_each_machine_has_seen_counts_in_whatever_order_they_tell() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(|_: &Post<'_>| Conduct::honest());
    let (site, copy) = Site::open(server, &gateway);
    let pay = |machine: &str, name: &str| {
        let file = format!("{name}.csv");
        site.done(
            machine,
            &["pay", &file, "--batch", name, "--yes", "--max-wait", "20s"],
            0,
        )
    };
    // Each machine pays a batch that the copy lacks, and the desk gives an order.
    for (machine, name, first) in [("one", "xc", 100), ("two", "xd", 200)] {
        write_rows(&site, name, first);
        pay(machine, name);
    }
    let stop = ["cancel", BATCH, "ROW-00001", "--reason", "no debt", "--yes"];
    site.done("desk", &stop, 0);
    let posts = gateway.ledger.posts();
    for order in [["one", "two", "desk"], ["desk", "two", "one"]] {
        site.put_back(&copy);
        for machine in order {
            site.done(machine, &["recover", BATCH, "--presume-posted", "--yes"], 0);
        }
        assert_eq!(site.batches_lost(), ["xc", "xd"], "{order:?}");
        // Nor does anybody declare it done by a job.
        let done = site.at("two", &["recover", "--done", "--yes"]);
        assert_eq!(done.code, Some(2), "{done:?}");
    }
    // One of them comes under another name: nobody is paid again.
    site.done("one", &["load", "xd.csv", "--batch", "xd-2"], 0);
    site.done("desk", &stop, 0);
    let given = [
        "recover",
        "--orders-given-again",
        "--reason",
        "one",
        "--yes",
    ];
    site.done("desk", &given, 0);
    let run = [
        "run",
        "xd-2",
        "--yes",
        "--asked-as",
        "acme",
        "--max-wait",
        "3s",
    ];
    let ended = site.at("one", &run);
    assert_eq!(gateway.ledger.posts(), posts, "{ended:?}");
    // Under its own name it is known, and each has its end.
    for name in ["xc", "xd"] {
        let file = format!("{name}.csv");
        let loaded = site.at("two", &["load", &file, "--batch", name]);
        let ended = site.at("two", &["run", name, "--yes", "--max-wait", "20s"]);
        assert_eq!(gateway.ledger.posts(), posts, "{loaded:?} {ended:?}");
    }
}

/// A machine knows from which accounts it has posted itself. Where another one has posted from elsewhere, the gateway would say
/// "not found" to it twice, and the payments would be posted again.
#[test]
fn what_one_machine_has_posted_says_nothing_of_the_accounts_of_others() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(|_: &Post<'_>| Conduct::honest());
    let (site, copy) = Site::open(server, &gateway);
    for (account, machine, name, first) in
        [("acme", "one", "xc", 100), ("branch", "two", "xd", 200)]
    {
        write_rows(&site, name, first);
        let file = format!("{name}.csv");
        // The gateway takes posts of the first account alone, which does not matter here.
        let pay = ["pay", &file, "--batch", name, "--yes", "--no-wait"];
        let ended = site.at_as(account, machine, &pay);
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    }
    let posts = gateway.ledger.posts();
    site.put_back(&copy);
    site.done("one", &["recover", BATCH, "--presume-posted", "--yes"], 0);
    // It is loaded for the account that posted it.
    let load = ["load", "xd.csv", "--batch", "xd"];
    let ended = site.at_as("branch", "one", &load);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run = ["run", "xd", "--yes", "--max-wait", "3s"];
    let ended = site.at("one", &run);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("--asked-as"), "{ended:?}");
    // The other one knows its account. A person's word that says the same is no other word: it stays when a machine tells later.
    let tell = ["recover", BATCH, "--presume-posted", "--yes"];
    site.done("two", &tell, 0);
    let said = ["run", "xd", "--yes", "--no-wait", "--asked-as", "branch"];
    for (machine, words) in [
        ("two", &said[..]),
        ("one", &tell[..]),
        ("two", &said[..4]),
        ("desk", &tell[..]),
        ("one", &said[..4]),
    ] {
        let ended = site.at_as("branch", machine, words);
        assert!(matches!(ended.code, Some(0 | 4)), "{words:?}: {ended:?}");
    }
    let ended = site.at("one", &run);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(gateway.ledger.posts(), posts);
}
