//! Acknowledged payments that wait for their callbacks, and `disburse listen` in front of them. The test is the gateway.

use disburse::callback::Addresses;
use disburse::domain::PayerTransactionId;
use rusqlite::Connection;
use rustix::process::Signal;

use crate::attack::{Caller, Reply, pushed};
use crate::files::rows;
use crate::sandbox::Sandbox;
use crate::world::{Running, Setup, World, eventually};

pub struct Front {
    pub world: World,
    pub port: u16,
    pub ids: Vec<PayerTransactionId>,
    addresses: Addresses,
    pub listen: Running,
    _sandbox: Sandbox,
}

impl Front {
    /// A listener in front of `count` payments that the gateway has acknowledged, and will not speak of by itself.
    #[track_caller]
    pub fn open(count: usize) -> Self {
        let setup = Setup::with_callbacks();
        let port = setup.callback_port.unwrap();
        let world = World::new(&setup);
        world.write("faults.toml", "callback_lost = 1\n");
        let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
        let world = world.towards(&sandbox.base_url);
        world.write_rows("batch.csv", &rows(count, 7));
        let arguments = [
            "pay",
            "batch.csv",
            "--batch",
            "b",
            "--yes",
            "--external-listener",
        ];
        let mut command = world.command(&arguments);
        // Nobody asks before the test is over: what settles a payment is a callback alone.
        command.env("DISBURSE_CALLBACK_GRACE", "1h");
        let mut run = world.start_as(command);
        run.until("acknowledged", |_| {
            world.path("disburse.db").exists() && acknowledged(&world) == count
        });
        run.signal(Signal::TERM);
        let done = run.wait();
        assert_eq!(done.code, Some(4), "{done:?}");
        let listen = listen(&world);
        let (ids, key) = ids_and_key(&world);
        let addresses = Addresses::new("http://x/callbacks", &key);
        Self {
            world,
            port,
            ids,
            addresses,
            listen,
            _sandbox: sandbox,
        }
    }

    /// The path of a payment's own address.
    pub fn path(&self, id: PayerTransactionId) -> String {
        format!("/callbacks/{}", self.addresses.path_of(id))
    }

    /// A callback that says "paid", as the gateway sends it.
    pub fn settle(&self, id: PayerTransactionId) -> Reply {
        Caller::connect(self.port).post(&self.path(id), &pushed(id.as_str(), 140, ""))
    }

    /// How many payments are in a state, read from the file itself.
    pub fn count(&self, state: &str) -> usize {
        usize::try_from(self.world.count("b", state)).unwrap()
    }

    /// How many rows of evidence the journal has.
    pub fn evidence(&self) -> i64 {
        sql(&self.world)
            .query_row("select count(*) from evidence", [], |row| row.get(0))
            .unwrap()
    }

    /// Kills the listener as a crash does, and starts another.
    #[track_caller]
    pub fn listen_again(&mut self) {
        self.listen.signal(Signal::KILL);
        eventually("over", || self.listen.is_over());
        self.listen = listen(&self.world);
    }

    /// A figure of the listener's memory, in KiB: `VmHWM` is the most it ever had.
    pub fn memory(&self, figure: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.listen.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with(figure))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// Starts `disburse listen`.
#[track_caller]
fn listen(world: &World) -> Running {
    let mut listen = world.start(&["listen"]);
    listen.until("listening", |listen| listen.out().ends_with('\n'));
    listen
}

pub fn sql(world: &World) -> Connection {
    let connection = Connection::open(world.path("disburse.db")).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    connection
}

fn acknowledged(world: &World) -> usize {
    // While the journal is being made, there may be no table yet.
    sql(world)
        .query_row("select count(*) from life where state = 3", [], |row| {
            row.get::<_, i64>(0)
        })
        .map_or(0, |count| usize::try_from(count).unwrap())
}

/// The identifiers of every payment, and the key of the addresses.
pub fn ids_and_key(world: &World) -> (Vec<PayerTransactionId>, Vec<u8>) {
    let connection = sql(world);
    let ids = connection
        .prepare("select identifier from identifier order by seq")
        .unwrap()
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap()
        .map(|id| PayerTransactionId::parse(&id.unwrap()).unwrap())
        .collect();
    let key = connection
        .query_row(
            "select value from meta where key = 'callback_key'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    (ids, key)
}
