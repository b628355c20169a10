//! A connection: what is sent and answered over it, each wait with its bound.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Connection, Row, Socket};

use super::failure::Failure;
use super::statement::Statement;
use super::wait::{self, InOrder};

/// Statements that a connection keeps prepared, at most: those of the program are fewer.
const PREPARED_MAX: usize = 512;

/// Returns the runtime that drives all connections.
pub(super) fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("postgres")
        .enable_all()
        .build();
    let made =
        made.map_err(|error| Failure::lost(format!("no thread for connections: {error}")))?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// What the server says of its own.
#[derive(Debug, Default)]
struct Heard {
    warnings: Mutex<Vec<String>>,
    /// Why the connection ended.
    end: Mutex<Option<String>>,
}

/// A connection to a server.
pub(super) struct Link {
    client: Client,
    driver: JoinHandle<()>,
    heard: Arc<Heard>,
    /// An answer was waited for in vain: nothing is known of what comes behind it.
    is_silent: Cell<bool>,
    prepared: RefCell<HashMap<String, tokio_postgres::Statement>>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // Otherwise it takes its leave, and ends by itself.
        if self.is_silent.get() {
            self.driver.abort();
        }
    }
}

/// Drives a connection until it ends, and listens to what the server says.
async fn drive<S, T>(mut connection: Connection<S, T>, heard: Arc<Heard>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notice(notice))) => {
                if notice.severity() == "WARNING" {
                    let mut warnings = heard
                        .warnings
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    warnings.push(notice.message().to_owned());
                }
            }
            Some(Ok(_)) => {}
            ended => {
                let said = match ended {
                    Some(Err(error)) => super::failure::words_of(&error),
                    _ => "the connection ended".to_owned(),
                };
                let mut end = heard.end.lock().unwrap_or_else(PoisonError::into_inner);
                *end = Some(said);
                return;
            }
        }
    }
}

impl Link {
    /// Takes a connection over.
    pub(super) fn new<T>(
        client: Client,
        connection: Connection<Socket, T>,
        runtime: &Runtime,
    ) -> Self
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let heard = Arc::new(Heard::default());
        let driver = runtime.spawn(drive(connection, Arc::clone(&heard)));
        Self {
            client,
            driver,
            heard,
            is_silent: Cell::new(false),
            prepared: RefCell::default(),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.is_silent.get() || self.client.is_closed()
    }

    /// Takes out the warnings that came.
    pub(super) fn take_warnings(&self) -> Vec<String> {
        let warnings = self.heard.warnings.lock();
        std::mem::take(&mut *warnings.unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for what was asked over this connection.
    pub(super) fn wait<T>(
        &self,
        within: Duration,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        match wait::until(Instant::now() + within, asked) {
            Some(answer) => answer.map_err(|error| self.failure(&error)),
            None => {
                self.is_silent.set(true);
                let seconds = within.as_secs_f32();
                Err(Failure::lost(format!(
                    "PostgreSQL did not answer within {seconds} s"
                )))
            }
        }
    }

    fn failure(&self, error: &tokio_postgres::Error) -> Failure {
        let failure = Failure::from(error);
        let end = self.heard.end.lock();
        match (&failure, &*end.unwrap_or_else(PoisonError::into_inner)) {
            (Failure::Lost { .. }, Some(said)) => Failure::lost(said.clone()),
            _ => failure,
        }
    }

    /// Prepares a statement, or takes the one that was prepared before.
    pub(super) fn prepare(
        &self,
        within: Duration,
        statement: &Statement<'_>,
    ) -> Result<tokio_postgres::Statement, Failure> {
        if let Some(known) = self.prepared.borrow().get(&statement.text) {
            return Ok(known.clone());
        }
        let asked = self.client.prepare_typed(&statement.text, &statement.types);
        let prepared = self.wait(within, asked)?;
        let mut all = self.prepared.borrow_mut();
        if all.len() >= PREPARED_MAX {
            all.clear();
        }
        all.insert(statement.text.clone(), prepared.clone());
        Ok(prepared)
    }

    /// Reads the rows of a statement.
    pub(super) fn query(
        &self,
        within: Duration,
        statement: &Statement<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let prepared = self.prepare(within, statement)?;
        self.wait(within, rows(&self.client, &prepared, statement))
    }

    /// Carries a statement out; returns how many rows it met.
    pub(super) fn execute(
        &self,
        within: Duration,
        statement: &Statement<'_>,
    ) -> Result<u64, Failure> {
        let prepared = self.prepare(within, statement)?;
        let asked = self.client.execute_raw(&prepared, &statement.params);
        self.wait(within, asked)
    }

    /// Carries out a text without parameters.
    pub(super) fn run(&self, within: Duration, text: &str) -> Result<(), Failure> {
        self.wait(within, self.client.batch_execute(text))
    }

    /// Sends a text, and a statement behind it before the first is answered; returns the rows of the statement.
    pub(super) fn run_and_query(
        &self,
        within: Duration,
        text: &str,
        statement: &Statement<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let prepared = self.prepare(within, statement)?;
        let mut both = InOrder::new();
        both.push(async {
            self.client.batch_execute(text).await?;
            Ok(Vec::new())
        });
        both.push(rows(&self.client, &prepared, statement));
        let answers = self.wait(within, async { Ok(both.await) })?;
        let mut found = Vec::new();
        for answer in answers {
            found = answer.map_err(|error| self.failure(&error))?;
        }
        Ok(found)
    }
}

async fn rows(
    client: &Client,
    prepared: &tokio_postgres::Statement,
    statement: &Statement<'_>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    use futures_util::TryStreamExt as _;
    let rows = client.query_raw(prepared, &statement.params).await?;
    rows.try_collect().await
}
