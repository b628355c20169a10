//! Which message a file is, by the namespace of its root.

use super::super::Error;
use super::super::text::quoted;
use super::super::xml::{EXPORT, Place, refused};

/// What the namespace of a message begins with, and the versions that are read.
const NAMESPACE: &str = "urn:iso:std:iso:20022:tech:xsd:";
const VERSIONS: [&str; 4] = [
    "pain.001.001.03",
    "pain.001.001.09",
    "pain.001.001.11",
    "pain.001.001.12",
];

/// Returns the version of a message whose root is `name` in this namespace.
///
/// # Errors
/// It is another version, or another kind of file.
pub(super) fn version_of(namespace: &str, name: &str, at: Place) -> Result<&'static str, Error> {
    let kind = namespace.strip_prefix(NAMESPACE).unwrap_or_default();
    let version = VERSIONS.into_iter().find(|version| kind == *version);
    if let (Some(version), "Document") = (version, name) {
        return Ok(version);
    }
    let known = VERSIONS.join(", ");
    Err(if kind.starts_with("pain.001.") {
        refused(
            Some(at),
            format!("is {} in a version that is not read", quoted(kind)),
            format!("export it as one of {known}"),
        )
    } else if kind.starts_with("camt.05") {
        refused(
            Some(at),
            format!("is a statement ({}), not payments", quoted(kind)),
            "disburse reconcile compares a batch with a statement",
        )
    } else {
        refused(
            Some(at),
            format!(
                "is XML of another kind: {} in the namespace {}",
                quoted(name),
                quoted(namespace)
            ),
            format!(
                "{EXPORT}; a pain.001 has the root Document in the namespace {NAMESPACE} with one of {known}"
            ),
        )
    })
}
