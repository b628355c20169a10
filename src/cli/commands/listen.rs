//! `listen`: the callback listener on its own.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::callback::{self, Addresses};
use crate::cli::Error;
use crate::cli::arguments::ListenArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::metrics::MetricsEndpoint;
use crate::cli::notices::{NoticeDesk, watch_all};
use crate::cli::session::Session;
use crate::cli::signals;
use crate::cli::terminal::output;
use crate::gateway::Secrets;
use crate::journal::{self, Journal, ReadBy};

/// `disburse listen`.
pub(in crate::cli) async fn listen(
    session: &Session,
    arguments: &ListenArguments,
) -> Result<ExitStatus, Error> {
    let settings = session.settings(false, Vec::new())?;
    let address = arguments.listen.unwrap_or(settings.profile.callback.listen);
    session.assert_may_run()?;
    let journal = Journal::open_existing(session.location()?)?;
    let listener = callback::bind(address).await.map_err(|error| {
        Error::refused(format!("callback.listen {address}: {error}"))
            .hint("a run with callbacks listens itself; choose another port with --listen, or end that run")
    })?;
    let address = listener.address().map_err(Error::unexpected)?;
    let endpoint = MetricsEndpoint::open(session, "listen", arguments.metrics, None).await?;
    if let Some(endpoint) = &endpoint {
        endpoint.metrics.writes(&journal);
        endpoint.metrics.listens(listener.counts());
    }
    let addresses = addresses(session, &settings, &journal).await?;
    let options = callback::Options {
        addresses,
        proof: gateway::proof(&settings)?,
        dialect: Arc::clone(&settings.dialect.dialect),
        journal: journal.clone(),
        codes: Arc::new(gateway::codes(&settings)),
        policy: gateway::policy(&settings, true),
        // It listens without a password too: then there is none that could be repeated to it.
        secrets: gateway::profile(&settings)
            .map_or_else(|_| Secrets::none(), |profile| profile.secrets()),
        reads_as: Some(Arc::new(ReadBy {
            gateway: gateway::profile(&settings)
                .ok()
                .map(|profile| profile.identity()),
            reading: gateway::reading(&settings),
        })),
        moved: None,
    };
    // Heard before it says that it listens: whoever waits for that may end it at once.
    let stop = CancellationToken::new();
    signals::drain_on_signal(stop.clone(), "stopping".to_owned())?;
    let notices = NoticeDesk::of(settings, &options.journal)?
        .map(|desk| tokio::spawn(watch_all(Arc::new(desk), stop.clone())));
    if session.common.json {
        output::json(&serde_json::json!({"listening": address.to_string()}));
    } else {
        output::line(&format!("listening for callbacks on {address}"));
    }
    let watched = watch_the_journal(&journal, stop.clone());
    let ((), ended) = tokio::join!(listener.serve(options, stop), watched);
    if let Some(notices) = notices {
        // What is being delivered is told in the journal, too.
        let _ = notices.await;
    }
    let again = "run the same command again; callbacks that came in between were not acknowledged, and the gateway is \
                 asked about those payments";
    match ended {
        Ended::Stopped => Ok(ExitStatus::Done),
        Ended::OtherFile => Err(Error::unexpected(
            "another journal is now in the place of the one that stored the callbacks, and this listener has stopped",
        )
        .hint(again)),
        Ended::Failed(error) => Err(Error::from(error).hint(again)),
    }
}

/// Why a listener has ended.
enum Ended {
    /// A person, or a signal, has ended it.
    Stopped,
    /// Another file has the name of its journal.
    OtherFile,
    /// The journal has met a fault, and stores nothing more.
    Failed(journal::Error),
}

/// How often it is looked whether the journal's file is still the one that was opened.
const LOOKED_AT_EVERY: std::time::Duration = std::time::Duration::from_secs(1);

/// Ends the listener where another journal takes the place of its own, or where its own stores nothing more.
async fn watch_the_journal(journal: &Journal, stop: CancellationToken) -> Ended {
    let mut failure = std::pin::pin!(journal.failure());
    let mut looks = tokio::time::interval(LOOKED_AT_EVERY);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ended::Stopped,
            error = &mut failure => {
                stop.cancel();
                return Ended::Failed(error);
            }
            _ = looks.tick() => {}
        }
        if !journal.is_in_place() {
            stop.cancel();
            return Ended::OtherFile;
        }
    }
}

/// Returns the addresses that were given out, and says what a person has to do about them.
async fn addresses(
    session: &Session,
    settings: &Settings,
    journal: &Journal,
) -> Result<Addresses, Error> {
    let public_url = settings
        .profile
        .callback
        .public_url
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    if public_url.is_empty() && !session.common.quiet {
        output::complain(
            "warning",
            "callback.public_url is not set, so payments give the gateway no address to call; set it before the next \
            run",
        );
    }
    let callbacks = &settings.dialect.dialect.callbacks;
    let addresses = Addresses::new(&public_url, &journal.callback_key().await?);
    let addresses = match callbacks.address_per_payment {
        true => addresses,
        false => addresses.shared(),
    };
    if !callbacks.address_per_payment && !public_url.is_empty() {
        session.note(&format!(
            "register this address at the gateway, and show it to nobody else: {}",
            addresses.of_all()
        ));
    }
    Ok(addresses)
}
