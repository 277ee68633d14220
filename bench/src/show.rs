//! A report on standard output: words for people, or JSON.

use crate::error::BenchError;
use crate::out::outln;
use serde::Serialize;

/// Prints a report as JSON, or by `print`.
///
/// # Errors
/// It has no form as JSON.
pub(crate) fn show<R: Serialize>(
    report: &R,
    json: bool,
    print: impl FnOnce(&R),
) -> Result<(), BenchError> {
    if json {
        let text = serde_json::to_string_pretty(report);
        outln!("{}", text.map_err(|e| BenchError::io("cannot write JSON", e.into()))?);
    } else {
        print(report);
    }
    Ok(())
}
