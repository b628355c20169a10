//! A wire that breaks between hosts and server.

use std::time::Duration;

use fastrand::Rng;

use super::play::{Scene, Stage, hosts, play, rounds};
use super::wire::Wire;
use crate::fixture::{Kind, USER, shared};

/// Each host has a wire of its own.
fn over(wires: &[Wire], journal: &str) -> Vec<String> {
    let database = journal.rsplit('/').next().unwrap();
    let way = |wire: &Wire| format!("postgres://{USER}@127.0.0.1:{}/{database}", wire.port);
    wires.iter().map(way).collect()
}

/// The wires are whole again.
fn mended(wires: &[Wire], scene: &mut Scene<'_, '_>) {
    scene.hosts.figures.broken += wires.iter().map(Wire::lost).sum::<usize>();
    for wire in wires {
        wire.lose_answers(0);
        wire.slow(false);
        wire.dead(false);
    }
}

pub fn a_wire_that_breaks_between_hosts_and_server_costs_nothing() {
    rounds("a wire that breaks", 1, 460, |seed| {
        let server = shared(Kind::Installed)?;
        let wires: Vec<Wire> = (0..hosts()).map(|_| Wire::to(server.port())).collect();
        let ways = |journal: &str, _: &mut Rng| over(&wires, journal);
        Some(play(seed, Stage::default(), server, &ways, |scene| {
            scene.harms(|scene, nth| {
                let host = scene.any();
                match nth % 4 {
                    0 => wires[host].lose_answers(scene.rng.usize(1..4)),
                    1 => wires.iter().for_each(|wire| wire.slow(scene.rng.bool())),
                    2 => scene.hosts.figures.broken += wires[host].cut(),
                    _ => {
                        let cut: usize = wires.iter().map(Wire::cut).sum();
                        scene.hosts.figures.broken += cut;
                    }
                }
            });
            mended(&wires, scene);
        }))
    });
}

pub fn a_host_that_is_cut_off_past_its_lease_posts_nothing_and_the_others_go_on() {
    rounds("a host that is cut off", 1, 470, |seed| {
        let server = shared(Kind::Installed)?;
        let wire = Wire::to(server.port());
        let ways = |journal: &str, _: &mut Rng| {
            let database = journal.rsplit('/').next().unwrap();
            let mut all = vec![journal.to_owned(); hosts()];
            all[0] = format!("postgres://{USER}@127.0.0.1:{}/{database}", wire.port);
            all
        };
        Some(play(seed, Stage::default(), server, &ways, |scene| {
            scene.posts(6..20);
            wire.dead(true);
            scene.hosts.figures.broken += 1;
            // The others take over what it has under way.
            scene.hosts.until(Duration::from_secs(13), || false);
            wire.dead(false);
        }))
    });
}

/// Hosts, wires, connections and people, as it comes.
pub fn everything_at_once_costs_nothing() {
    rounds("everything at once", 1, 530, |seed| {
        let server = shared(Kind::Installed)?;
        let wires: Vec<Wire> = (0..hosts()).map(|_| Wire::to(server.port())).collect();
        let ways = |journal: &str, _: &mut Rng| over(&wires, journal);
        let stage = Stage {
            callbacks: Some(true),
            ..Stage::default()
        };
        Some(play(seed, stage, server, &ways, |scene| {
            for _ in 0..2 {
                scene.harms(|scene, _| anything(scene, &wires));
            }
            mended(&wires, scene);
        }))
    });
}

fn anything(scene: &mut Scene<'_, '_>, wires: &[Wire]) {
    let (host, rng) = (scene.any(), &mut scene.rng);
    match rng.u8(..8) {
        0 => scene.hosts.kill(host),
        1 => scene.hosts.pause(host, Duration::from_secs(rng.u64(1..14))),
        2 => wires[host].lose_answers(rng.usize(1..3)),
        3 => wires[host].slow(rng.bool()),
        4 => scene.hosts.figures.broken += wires[host].cut(),
        5 => wires[host].dead(rng.bool()),
        _ => {
            let (office, gateway) = (scene.hosts.office, scene.gateway);
            scene.hosts.people.act(office, gateway, rng);
        }
    }
}
