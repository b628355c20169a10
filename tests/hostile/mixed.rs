//! Everything at once, by seed, with and without kills.

use super::gateway::Gateway;
use super::office::{Office, Setup};
use super::oracle::check;
use super::script::{Mixed, dice};

const ROUNDS: u32 = 8;

#[test]
fn every_misbehaviour_at_once_pays_nothing_twice() {
    for seed in 0..2 {
        let gateway = Gateway::start(Mixed::new(seed));
        let office = Office::open(&gateway, Setup { callbacks: true, ..Setup::default() });
        let code = office.pay_to_the_end(ROUNDS);
        check(&format!("seed {seed}"), &gateway, &office, Some(code));
    }
}

#[test]
fn killed_at_random_moments_every_row_still_ends_once() {
    for seed in 100..102_u64 {
        let gateway = Gateway::start(Mixed::new(seed));
        let office = Office::open(&gateway, Setup { callbacks: true, rate: "60/s", ..Setup::default() });
        let mut rng = dice(seed, "kills", "", 0);
        let moments: Vec<u64> = (0..8).map(|_| rng.u64(5..900)).collect();
        let kills = office.kill_at(&moments);
        let code = office.pay_to_the_end(ROUNDS);
        check(&format!("seed {seed}, {kills} kills"), &gateway, &office, Some(code));
    }
}
