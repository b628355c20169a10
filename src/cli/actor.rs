//! Who gives this command, as the operating system tells it.

use std::fs::File;
use std::io::Read;

use crate::domain::Actor;
use crate::journal::Location;

/// Bytes of a system's file that are read.
const FILE_MAX: u64 = 1 << 20;

/// Returns who gives this command to a journal.
pub(super) fn actor(journal: &Location) -> Actor {
    let uid = rustix::process::getuid().as_raw();
    let user = name_of(uid, &read("/etc/passwd")).unwrap_or_else(|| format!("uid {uid}"));
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .into_iter()
        .map(|path| read(path).trim().to_owned())
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "an unknown host".to_owned());
    let sudo_of = std::env::var("SUDO_USER").ok();
    let role = match journal {
        Location::File(_) => None,
        Location::Server(address) => address.role(),
    };
    Actor::new(&user, &host, sudo_of.as_deref()).in_role(role)
}

/// Returns what stands there; nothing when it cannot be read.
fn read(path: &str) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Finds the name of a user in the lines of `/etc/passwd`. Users of a directory service are not in it: their number stands for them.
fn name_of(uid: u32, lines: &str) -> Option<String> {
    lines.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let number: u32 = fields.nth(1)?.parse().ok()?;
        (number == uid && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_name_or_a_number() {
        let lines = "root:x:0:0:root:/root:/bin/sh\n# odd\n\n:x:7:\nana:x:1000:1000::/srv/ana:/bin/sh\neva:x:1000:1:::\n";
        for (uid, expected) in [(0, Some("root")), (1000, Some("ana")), (7, None), (5, None)] {
            assert_eq!(name_of(uid, lines).as_deref(), expected);
        }
    }
}
