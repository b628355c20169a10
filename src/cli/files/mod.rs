//! Files that people bring and get: batch files, corrections, `failed.csv`, and a journal that is made aside.

pub(super) mod all_or_none;
pub(super) mod aside;
pub(super) mod calendar;
pub(super) mod decisions;
pub(super) mod declared;
pub(super) mod decrypt;
pub(super) mod failed_rows;
pub(super) mod fresh_name;
pub(super) mod hand_over;
pub(super) mod input;
pub(super) mod layouts;
pub(super) mod links;
pub(super) mod open;
pub(super) mod own_file;
pub(super) mod plain;
pub(super) mod reading;
pub(super) mod rejected;
pub(super) mod rules;
pub(super) mod scratch;
pub(super) mod sheets;
pub(super) mod statement;
