//! Where callbacks come in.

use super::super::Error;
use super::super::arguments::RunOptions;
use super::super::config::Settings;
use crate::callback::{self, Listener};
use crate::cli::commands::sandbox;
use crate::journal::Journal;

/// Where callbacks come in, and the address that is told to the gateway.
pub(super) struct CallbackEndpoint {
    pub(super) listener: Option<Listener>,
    pub(super) public_url: String,
}

/// Binds the listener; `None` when no callbacks are to come in here.
pub(super) async fn open(
    settings: &Settings,
    options: &RunOptions,
    journal: &Journal,
) -> Result<Option<CallbackEndpoint>, Error> {
    let callback = &settings.profile.callback;
    let public_url = callback.public_url.as_ref().map(ToString::to_string);
    if options.poll_only || public_url.is_none() && !options.sandbox {
        return Ok(None);
    }
    if options.external_listener {
        return Ok(public_url.map(|public_url| CallbackEndpoint {
            listener: None,
            public_url,
        }));
    }
    let bound = match options.sandbox && callback.listen.port() == 0 {
        true => sandbox::callback_door(callback.listen, &journal.callback_key().await?).await,
        false => callback::bind(callback.listen).await,
    };
    let listener = bound.map_err(|error| {
        Error::refused(format!("callback.listen {}: {error}; nothing was sent", callback.listen)).hint(
            "free the port or choose another; or add --external-listener if a `disburse listen` has it, or --poll-only \
            to run without callbacks",
        )
    })?;
    let local = || -> Result<String, Error> {
        let address = listener.address().map_err(Error::unexpected)?;
        Ok(format!("http://{address}/callbacks"))
    };
    // Against the sandbox, the gateway is on this machine.
    let public_url = if options.sandbox {
        local()?
    } else {
        public_url.map_or_else(local, Ok)?
    };
    Ok(Some(CallbackEndpoint {
        listener: Some(listener),
        public_url,
    }))
}
