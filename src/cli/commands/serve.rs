//! `serve`: the page for a browser, on its own.

use tokio_util::sync::CancellationToken;

use crate::cli::Error;
use crate::cli::arguments::ServeArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::metrics::MetricsEndpoint;
use crate::cli::session::Session;
use crate::cli::signals;
use crate::cli::terminal::output;
use crate::cli::watch;
use crate::journal::Reader;

/// `disburse serve`.
pub(in crate::cli) async fn serve(
    session: &Session,
    arguments: &ServeArguments,
) -> Result<ExitStatus, Error> {
    let settings = session.settings(false, Vec::new())?;
    let address = arguments.listen.unwrap_or(settings.profile.page.listen);
    // A page without a journal would only say that there is none.
    Reader::open(session.location()?)?;
    let metrics = MetricsEndpoint::open(session, "serve", arguments.metrics, None).await?;
    let page = watch::start(session, address)?;
    // Heard before it says that it serves: whoever waits for that may end it at once.
    let stop = CancellationToken::new();
    signals::drain_on_signal(stop.clone(), "stopping".to_owned())?;
    if session.common.json {
        output::json(&serde_json::json!({"page": page.address()}));
    } else {
        output::line(&format!(
            "open in a browser on this machine: {}",
            page.address()
        ));
        session.note("anybody who has this address sees whom the batches pay; nothing can be changed there; Ctrl-C \
            ends it");
    }
    stop.cancelled().await;
    page.end();
    drop(metrics);
    Ok(ExitStatus::Done)
}
