//! The command line: the only layer that prints, exits, or knows clap.

pub mod config;
