//! Notices: somebody elsewhere is told how a batch goes. They are made of how it stands, kept in the journal, and delivered in the
//! order of their making.

mod desk;
mod facts;
mod sender;
mod watch;

pub(in crate::cli) use desk::{NoticeDesk, none_configured};
pub(in crate::cli) use facts::Look;
pub(in crate::cli) use sender::Sender as NoticeSender;
pub(in crate::cli) use watch::{Watched, look_at_all, watch_all, watch_run};
