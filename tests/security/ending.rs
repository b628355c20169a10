//! Told to end the moment they say that they are there, the servers end in good order.

use std::fs;
use std::io::{Read, Write};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::files::rows;
use crate::world::{Setup, World, eventually};

/// What a pipe holds; whoever writes more waits for a reader.
const PIPE: usize = 64 * 1024;

/// Ended with the test, however that ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether the process handles SIGTERM by now.
fn handles_term(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("SigCgt:"));
    let caught = line
        .and_then(|line| line.split_whitespace().nth(1))
        .unwrap();
    u64::from_str_radix(caught, 16).unwrap() >> (Signal::TERM.as_raw() - 1) & 1 == 1
}

#[test]
fn a_server_can_be_ended_in_good_order_from_its_first_word_on() {
    let world = World::new(&Setup::with_callbacks());
    world.write_rows("batch.csv", &rows(2, 3));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    for command in [&["listen"][..], &["sandbox", "--listen", "127.0.0.1:0"]] {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        // Full: the program stands still at its first word, until somebody reads.
        writer.write_all(&vec![b' '; PIPE]).unwrap();
        let mut child = world.command(command);
        let mut server = Server(child.stdout(writer).spawn().unwrap());
        drop(child);
        eventually("ready to be ended", || handles_term(server.0.id()));
        kill_process(Pid::from_child(&server.0), Signal::TERM).unwrap();
        let mut told = String::new();
        reader.read_to_string(&mut told).unwrap();
        let status = server.0.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{command:?}: {}", told.trim());
    }
}
