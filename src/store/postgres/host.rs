//! A server, as an address names it.

use std::fmt;
use std::net::IpAddr;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// A name, an IP address, or the folder of a socket.
    pub(super) name: String,
    pub(super) port: u16,
}

impl Host {
    pub(super) fn is_socket(&self) -> bool {
        self.name.starts_with('/')
    }

    /// Returns whether what is sent to it stays on this machine.
    pub(super) fn is_here(&self) -> bool {
        let ip = self.name.parse::<IpAddr>();
        self.is_socket() || self.name == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]:{}", self.name, self.port),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}
