//! A primary with a standby that takes over, and the primary that comes back as it was.

use std::time::Duration;

use super::play::{Figures, Scene, Stage, play, rounds};
use crate::fixture::{Kind, Server};
use crate::script::millis;

/// A server, and one that follows it.
pub struct Pair {
    primary: Server,
    standby: Server,
}

impl Pair {
    pub fn start() -> Option<Self> {
        let primary = Server::start(Kind::Installed, &[])?;
        let standby = primary.standby();
        Some(Self { primary, standby })
    }

    /// Commits wait for the standby.
    fn waits(&self) {
        self.set(
            &self.primary,
            "synchronous_standby_names = 'FIRST 1 (walreceiver)'",
        );
        let ready = "select 1 from pg_stat_replication where sync_state = 'sync'";
        self.primary.until("postgres", ready);
    }

    fn set(&self, server: &Server, setting: &str) {
        server.psql("postgres", &format!("alter system set {setting}"));
        server.reload();
    }

    /// The primary is lost with its machine, and the standby takes over.
    fn take_over(&self, scene: &mut Scene<'_, '_>) {
        self.primary.kill();
        std::thread::sleep(millis(scene.rng.u64(..1500)));
        self.standby.promote();
        scene.hosts.figures.broken += 1;
    }

    /// The primary comes back as it was, and would take writes: a host that has heard of nothing names it first, and others are
    /// killed and come anew.
    fn comes_back_beside(&self, scene: &mut Scene<'_, '_>) {
        let file = self.primary.data().join("postgresql.auto.conf");
        std::fs::write(file, "").unwrap();
        self.primary.run();
        let journal = scene.hosts.office.journal.clone().unwrap();
        let before = Self::turn(&self.primary, &journal);
        scene.hosts.switch_on(0);
        scene.harms(|scene, _| {
            let host = scene.any();
            scene.hosts.kill(host);
        });
        let after = Self::turn(&self.primary, &journal);
        assert_eq!(before, after, "nobody has written to the old primary");
    }

    /// How many transactions the journal has on a server.
    fn turn(server: &Server, journal: &str) -> String {
        let database = journal.rsplit('/').next().unwrap();
        let database = database.split('?').next().unwrap();
        let turn = "select number::text from disburse.turn";
        server.psql(database, turn)[0][0].clone()
    }

    /// Every second host names the primary first, the others the standby.
    fn ways(&self, journal: &str) -> Vec<String> {
        let database = journal.rsplit('/').next().unwrap();
        let order = |host: usize| match host % 2 {
            0 => [&self.primary, &self.standby],
            _ => [&self.standby, &self.primary],
        };
        let hosts = 0..super::play::hosts();
        hosts
            .map(|host| Server::address_of(order(host), database))
            .collect()
    }

    /// The standby hears of nothing from some time on, and takes over all the same: what was acknowledged since is lost.
    pub fn falls_behind(&self, seed: u64, stage: Stage) -> Figures {
        let ways = |journal: &str, _: &mut fastrand::Rng| self.ways(journal);
        play(seed, stage, &self.primary, &ways, |scene| {
            scene.hosts.office.attempts_lost.set(true);
            scene.posts(6..30);
            self.set(&self.standby, "primary_conninfo = ''");
            let hears_nothing = "select 1 where not exists (select from pg_stat_wal_receiver)";
            self.standby.until("postgres", hears_nothing);
            let lost = if stage.without.is_some() {
                40..50
            } else {
                12..24
            };
            scene.posts_more(lost, Duration::from_secs(20));
            if stage.without.is_some() {
                self.take_over(scene);
                return scene.until_twice(Duration::from_secs(60));
            }
            scene.hosts.switch_off(0);
            self.take_over(scene);
            self.comes_back_beside(scene);
            // What one machine has seen of orders is not what another one has.
            orders_are_given_again(scene);
        })
    }
}

/// A person says that no order is missing.
fn orders_are_given_again(scene: &mut Scene<'_, '_>) {
    let said = ["--reason", "nobody gave any", "--yes"];
    let given = [&["recover", "--orders-given-again"][..], &said].concat();
    let office = scene.hosts.office;
    let is_said = || office.call(&given).code == Some(0);
    scene.hosts.until(Duration::from_secs(60), is_said);
}

pub fn a_standby_that_commits_waited_for_takes_over_and_the_old_primary_is_left_alone() {
    rounds("a synchronous pair", 1, 500, |seed| {
        let pair = Pair::start()?;
        pair.waits();
        let whole = |way: String| way + "?promoted=whole";
        let ways = |journal: &str, _: &mut fastrand::Rng| {
            pair.ways(journal).into_iter().map(whole).collect()
        };
        Some(play(
            seed,
            Stage::default(),
            &pair.primary,
            &ways,
            |scene| {
                scene.posts(6..30);
                // It hears nothing of what comes, and names the old primary first.
                scene.hosts.switch_off(0);
                scene.posts_more(2..10, Duration::from_secs(5));
                pair.take_over(scene);
                scene.posts_more(2..16, Duration::from_secs(20));
                pair.comes_back_beside(scene);
            },
        ))
    });
}

/// Its name says nothing of what it lacks: nobody has said that a promoted server is whole.
pub fn a_promoted_standby_is_asked_about_unless_it_is_said_to_be_whole() {
    rounds("a pair that nobody vouches for", 1, 520, |seed| {
        let pair = Pair::start()?;
        pair.waits();
        let ways = |journal: &str, _: &mut fastrand::Rng| pair.ways(journal);
        Some(play(
            seed,
            Stage::default(),
            &pair.primary,
            &ways,
            |scene| {
                scene.posts(6..30);
                pair.take_over(scene);
                let office = scene.hosts.office;
                let is_noticed = || {
                    office
                        .call(&["recover"])
                        .out
                        .contains("promoted or restored")
                };
                scene.hosts.until(Duration::from_secs(30), is_noticed);
                orders_are_given_again(scene);
            },
        ))
    });
}

pub fn a_standby_that_lagged_behind_takes_over_and_everything_is_asked_first() {
    rounds("an asynchronous pair", 1, 510, |seed| {
        let pair = Pair::start()?;
        Some(pair.falls_behind(seed, Stage::default()))
    });
}
