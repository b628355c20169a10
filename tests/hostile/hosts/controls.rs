//! What shows that the books would tell: the same scenarios without a guard of the program, which debug builds can go without.

use std::time::Duration;

use super::pairs::Pair;
use super::play::{Stage, directly, play, rounds};
use crate::fixture::{Kind, shared};

fn without(guard: &'static str) -> Stage {
    Stage {
        without: Some(guard),
        callbacks: Some(false),
        // Slow enough that hosts have payments claimed that they have not posted yet.
        rate: Some("20/s"),
        rows: Some(300),
        is_late: false,
    }
}

/// So many seeds are tried until one of them shows it: a host may have nothing in hand when it is paused, and little may be lost.
const SEEDS: u64 = 3;

pub fn hosts_that_are_not_fenced_pay_twice() {
    for seed in 480..480 + SEEDS {
        let figures = rounds("without the fence (the control)", 1, seed, |seed| {
            let server = shared(Kind::Installed)?;
            Some(play(seed, without("fence"), server, &directly, |scene| {
                scene.posts(6..20);
                for host in 1..scene.hosts.count() {
                    // Long enough that the first one takes over, asks, and posts what they have claimed.
                    scene.hosts.pause(host, Duration::from_secs(24));
                }
                scene.until_twice(Duration::from_secs(40));
            }))
        });
        if figures.rounds == 0 || figures.twice > 0 {
            return;
        }
    }
    panic!("nobody was paid twice");
}

pub fn hosts_without_a_quarantine_pay_twice_what_shows_late() {
    for guard in [None, Some("quarantine")] {
        let stage = Stage {
            without: guard,
            callbacks: Some(false),
            rate: Some("40/s"),
            is_late: true,
            rows: None,
        };
        let name = guard.map_or(
            "a gateway that shows late what it has",
            |_| "the same without the quarantine (the control)",
        );
        let figures = rounds(name, 1, 490, |seed| {
            let server = shared(Kind::Installed)?;
            Some(play(seed, stage, server, &directly, |scene| {
                if guard.is_some() {
                    scene.until_twice(Duration::from_secs(40));
                }
            }))
        });
        let is_twice = figures.twice > 0;
        assert!(
            figures.rounds == 0 || is_twice == guard.is_some(),
            "{figures:?}"
        );
    }
}

pub fn hosts_that_take_a_standby_that_lagged_behind_for_whole_pay_twice() {
    for seed in 515..515 + SEEDS {
        let figures = rounds("without the recovery (the control)", 1, seed, |seed| {
            let pair = Pair::start()?;
            Some(pair.falls_behind(seed, without("recovery")))
        });
        if figures.rounds == 0 || figures.twice > 0 {
            return;
        }
    }
    panic!("nobody was paid twice");
}
