//! What of the intake is fed any text by a test or by a fuzzer.

/// Returns a cell as an error shows it.
pub(crate) fn quoted(cell: &str) -> String {
    super::text::quoted(cell)
}
