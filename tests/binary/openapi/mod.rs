//! The interface's OpenAPI document against the sandbox and against the program, judged by tools of other people.
//!
//! schemathesis (PyPI) makes requests from the document; Prism (npm) stands between program and sandbox and compares what
//! passes with the document. Where they are not installed these tests say so and check nothing, unless
//! `INTERFACE_TOOLS=required` is set, as CI does.

mod dialects;
mod mirror;
mod prism;
mod schemathesis;
pub mod tool;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sandbox/openapi.yaml");
