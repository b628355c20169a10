//! The question before an order is carried out.

use std::io::{BufRead, IsTerminal, Write};

use super::Error;

/// Asks the person at the terminal whether this is to be done. Without anybody to ask, `--yes` is the answer.
///
/// `what` completes "this would ...".
pub(super) async fn confirmed(yes: bool, what: &str) -> Result<(), Error> {
    if yes {
        return Ok(());
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(
            Error::refused(format!("this would {what}; nothing was changed"))
                .hint("say --yes to do it without being asked"),
        );
    }
    super::output::note(&format!("This would {what}."));
    #[allow(clippy::print_stderr, reason = "a question at the terminal")]
    {
        eprint!("Do it? [y/N] ");
    }
    let _ = std::io::stderr().flush();
    let reading = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut answer)
            .map(|_| answer)
    });
    let answer = reading
        .await
        .map_err(Error::unexpected)?
        .map_err(Error::unexpected)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::refused("not confirmed; nothing was changed")),
    }
}
