//! `disburse` brings every row of a payment batch to a proven end, exactly once.
//!
//! # Map
//!
//! ```text
//! L4  cli                          arguments, configuration, the screen, exit codes: one file for every command
//! L3  preflight · engine · callback · watch   before a batch is posted · run it · listen for callbacks · show it to a browser
//!     metrics                      figures of all of these, for a monitoring system
//! L2  intake · journal · gateway · report · statement
//!     store                        the rows of the journal, whatever keeps them
//! L1  ledger                       what its neighbours and the people around it allow
//!     lifecycle                    what may happen to one payment
//! L0  domain                       what a payment is
//!     workbook                     workbooks that are written row by row
//!     dialect                      how a deployment's wire differs from the interface document
//!     page                         what pages for a browser have in common
//!
//!     server                       a socket that anybody may call, with a bound on everything
//!
//!     sandbox                      beside: a gateway that misbehaves on purpose and counts every execution
//! ```
//!
//! - [`domain`] holds values that are valid by their type: amounts, phone numbers, identifiers, instructions.
//! - [`workbook`] writes workbooks; it knows nothing of payments.
//! - [`dialect`] holds as data what the interface document leaves open, and what a deployment says of it.
//! - [`lifecycle`] is one pure function, [`lifecycle::step`]: what is known of a payment, and one piece of evidence, give
//!   what is known then. State alone decides the next action.
//! - [`ledger`] holds the rules about money as pure functions: what is heard makes what of a payment ([`ledger::evidence::apply()`]), and all
//!   that reaches beyond one payment.
//! - [`intake`] turns files into instructions, or says what is wrong with every row.
//! - [`journal`] is the durable truth: an SQLite file, one writer, verbs that return after the commit.
//! - [`store`] is the port below the journal: tables of domain values, which SQLite keeps for one runner, and PostgreSQL for many.
//! - [`gateway`] turns every reply, and every silence, into evidence. It alone knows the wire.
//! - [`statement`] reads what a gateway or a bank says of the money, line by line.
//! - [`report`] folds a batch into a reconciliation and its three files.
//! - [`preflight`] is what comes before the posts: documents are uploaded, floats forecast, numbers looked up.
//! - [`engine`] decides purely ([`engine::Core`]) what to post and ask, and performs it ([`engine::run()`]).
//! - [`callback`] authenticates, stores and then acknowledges callbacks.
//! - [`metrics`] counts what they do, and tells it to whoever scrapes it.
//! - [`server`] seats callers, gives them deadlines and drains them, whatever they are answered.
//! - [`watch`] shows batches to a browser on this machine, read only. It is given texts, and knows nothing of payments.
//! - [`page`] is what several pages of ours share: looks, script and rules.
//! - [`sandbox`] plays the gateway. It shares nothing with the client but the values of [`domain`], so that it cannot share
//!   its mistakes.
//! - [`cli`] joins all of them, and is the only module that prints, exits, or reads the environment.
//!
//! # Layering
//!
//! Imports go down only, and the modules of L2 never import one another: `preflight`, `engine`, `callback`
//! and `cli` join them. Below
//! `cli` nothing prints. Clock and randomness are passed in below L3.
//!
//! `ARCHITECTURE.md` follows one payment through these modules, and says where each invariant is held.
// A table of tests may be long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

#[macro_use]
mod planted;

pub mod callback;
pub mod cli;
pub mod dialect;
pub mod domain;
pub mod engine;
#[cfg(debug_assertions)]
mod failpoints;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod gateway;
pub mod intake;
pub mod journal;
pub mod ledger;
pub mod lifecycle;
pub mod metrics;
pub mod page;
pub mod preflight;
pub mod report;
pub mod sandbox;
#[cfg(test)]
mod seeded_bugs;
pub mod server;
#[cfg(test)]
mod simulation;
pub mod statement;
pub mod store;
pub mod watch;
pub mod workbook;
