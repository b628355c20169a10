//! A connection: what is sent and answered over it, each wait with its bound.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client, Connection, Row, RowStream, Socket};

use super::failure::Failure;
use super::statement::Statement;
use super::wait::{self, InOrder};

/// Statements that a connection keeps prepared, at most: those of the program are fewer.
const PREPARED_MAX: usize = 512;
/// To prepare a statement costs a round trip, which is not worth it for one that is sent so many times.
const UNPREPARED_MAX: u8 = 2;

/// How often a transaction is kept alive at most while nothing is asked in it: a quarter of an hour, at the default deadlines.
const KEPT_ALIVE_MAX: u32 = 600;

/// Statements at most that were sent and not answered yet: so much memory the connection takes, and the server is not left behind.
const AHEAD_MAX: usize = 16;

type Prepared = tokio_postgres::Statement;

/// A statement that was sent; the answer is how many rows it met.
type Sent = Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send>>;

/// What the server does while its client does other work.
pub(super) type Working = JoinHandle<Result<u64, tokio_postgres::Error>>;

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
    // Of two that are made at once one is too many. To drop it is to wait for its end, which a thread that drives other work must not.
    if let Err(second) = RUNTIME.set(made) {
        second.shutdown_background();
    }
    RUNTIME
        .get()
        .ok_or_else(|| Failure::lost("no thread for connections"))
}

/// What the server says of its own.
#[derive(Debug, Default)]
struct Heard {
    warnings: Mutex<Vec<String>>,
    /// Why the connection ended.
    end: Mutex<Option<String>>,
}

/// What is asked of a server.
pub(super) enum Request<'r> {
    /// The rows of a statement.
    Rows(&'r Statement<'r>),
    /// How many rows a statement met.
    Count(&'r Statement<'r>),
    /// A text without parameters.
    Text(&'r str),
}

/// What it answers.
pub(super) enum Answer {
    Rows(Vec<Row>),
    Count(u64),
    Done,
}

impl Answer {
    pub(super) fn rows(self) -> Vec<Row> {
        match self {
            Self::Rows(rows) => rows,
            Self::Count(_) | Self::Done => Vec::new(),
        }
    }

    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Count(count) => *count,
            Self::Rows(rows) => rows.len() as u64,
            Self::Done => 0,
        }
    }
}

/// A connection to a server.
pub(super) struct Link {
    client: Arc<Client>,
    driver: JoinHandle<()>,
    /// Transactions are counted; the one that is under way, or zero.
    begun: Cell<u64>,
    under_way: Arc<AtomicU64>,
    heard: Arc<Heard>,
    /// An answer was waited for in vain: nothing is known of what comes behind it.
    is_silent: Cell<bool>,
    prepared: RefCell<HashMap<String, Prepared>>,
    /// How often statements were sent that are not prepared.
    sent: RefCell<HashMap<String, u8>>,
    /// Statements whose answers nobody has waited for yet, in their order.
    ahead: RefCell<VecDeque<Sent>>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // Otherwise it takes its leave, and ends by itself.
        if self.is_silent.get() {
            self.driver.abort();
        }
    }
}

/// Keeps the server from taking a transaction for one of a host that stands still, while this process computes. It ends with the
/// connection, or after so many times.
async fn keep_alive(client: Weak<Client>, under_way: Arc<AtomicU64>, every: Duration) {
    let (mut of, mut asked) = (0, 0);
    loop {
        tokio::time::sleep(every).await;
        let Some(client) = client.upgrade() else {
            return;
        };
        let now = under_way.load(Ordering::Relaxed);
        if now != of {
            (of, asked) = (now, 0);
        }
        if now > 0 && asked < KEPT_ALIVE_MAX {
            asked += 1;
            if client.check_connection().await.is_err() {
                return;
            }
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
                if notice.parsed_severity() == Some(Severity::Warning) {
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

/// Returns how many rows a statement met.
async fn met(rows: RowStream) -> Result<u64, tokio_postgres::Error> {
    let mut rows = pin!(rows);
    while rows.try_next().await?.is_some() {}
    Ok(rows.rows_affected().unwrap_or(0))
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
        let client = Arc::new(client);
        Self {
            client,
            driver,
            begun: Cell::new(0),
            under_way: Arc::default(),
            heard,
            is_silent: Cell::new(false),
            prepared: RefCell::default(),
            sent: RefCell::default(),
            ahead: RefCell::default(),
        }
    }

    /// From now on, says of itself so often while a transaction is under way.
    pub(super) fn keep_alive(&self, runtime: &Runtime, every: Duration) {
        let (client, under_way) = (Arc::downgrade(&self.client), Arc::clone(&self.under_way));
        drop(runtime.spawn(keep_alive(client, under_way, every)));
    }

    /// Says whether a transaction is under way.
    pub(super) fn set_busy(&self, is_busy: bool) {
        let begun = self.begun.get() + u64::from(is_busy);
        self.begun.set(begun);
        let now = if is_busy { begun } else { 0 };
        self.under_way.store(now, Ordering::Relaxed);
    }

    /// Returns what speaks to the server.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Has the server do something while this thread does other work; [`Self::finish`] tells how it ended.
    pub(super) fn start<F>(work: F) -> Result<Working, Failure>
    where
        F: Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'static,
    {
        Ok(runtime()?.spawn(work))
    }

    /// Waits for what was started over this connection.
    pub(super) fn finish(&self, within: Duration, working: Working) -> Result<u64, Failure> {
        match self.wait(within, async { Ok(working.await) })? {
            Ok(answer) => answer.map_err(|error| self.failure(&error)),
            Err(_) => Err(Failure::lost("the connection to PostgreSQL is gone")),
        }
    }

    /// Returns whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.is_silent.get() || self.client.is_closed()
    }

    /// Returns whether an answer was waited for in vain.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent.get()
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

    /// Sends statements, and waits for the answers of earlier ones alone. What fails is told by whatever waits next.
    pub(super) fn send_ahead(
        &self,
        within: Duration,
        statements: Vec<Statement<'static>>,
    ) -> Result<(), Failure> {
        let often = statements.iter();
        let often = often.filter(|statement| self.is_sent_often(statement));
        self.prepare(within, &often.collect::<Vec<_>>())?;
        for statement in statements {
            let mut first = None;
            if self.ahead.borrow().len() >= AHEAD_MAX {
                first = self.ahead.borrow_mut().pop_front();
            }
            if let Some(first) = first {
                self.wait(within, first)?;
            }
            let prepared = self.prepared.borrow().get(&statement.text).cloned();
            let client = Arc::clone(&self.client);
            let mut sent: Sent = Box::pin(async move {
                let Statement {
                    text,
                    params,
                    types,
                    ..
                } = statement;
                let rows = match prepared {
                    Some(prepared) => client.query_raw(&prepared, params).await?,
                    None => {
                        let typed = params.into_iter().zip(types);
                        client.query_typed_raw(&text, typed).await?
                    }
                };
                met(rows).await
            });
            // It is sent when it is first polled.
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(answer) = sent.as_mut().poll(&mut context) {
                sent = Box::pin(std::future::ready(answer));
            }
            self.ahead.borrow_mut().push_back(sent);
        }
        Ok(())
    }

    /// Waits for the answers to all statements that were sent.
    pub(super) fn settle(&self, within: Duration) -> Result<(), Failure> {
        let sent = self.ahead.take();
        if sent.is_empty() {
            return Ok(());
        }
        self.wait(within, async move {
            for sent in sent {
                sent.await?;
            }
            Ok(())
        })
    }

    /// Prepares statements, all at once, but for those that were prepared before.
    pub(super) fn prepare(
        &self,
        within: Duration,
        statements: &[&Statement<'_>],
    ) -> Result<Vec<Prepared>, Failure> {
        let mut missing: Vec<&Statement<'_>> = Vec::new();
        for statement in statements {
            let is_known = self.prepared.borrow().contains_key(&statement.text)
                || missing.iter().any(|other| other.text == statement.text);
            if !is_known {
                missing.push(statement);
            }
        }
        if !missing.is_empty() {
            self.settle(within)?;
            if self.prepared.borrow().len() + missing.len() > PREPARED_MAX {
                self.prepared.borrow_mut().clear();
                missing = statements.to_vec();
            }
            let mut asked = InOrder::new();
            for statement in &missing {
                let (text, types) = (&statement.text, &statement.types);
                asked.push(self.client.prepare_typed(text, types));
            }
            self.wait(within, async {
                for statement in &missing {
                    if let Some(answer) = asked.next().await {
                        let mut all = self.prepared.borrow_mut();
                        all.insert(statement.text.clone(), answer?);
                    }
                }
                Ok(())
            })?;
        }
        let all = self.prepared.borrow();
        let prepared = statements.iter().map(|it| all.get(&it.text).cloned());
        prepared
            .collect::<Option<_>>()
            .ok_or_else(|| Failure::lost("a statement that was not prepared"))
    }

    /// Sends all requests before the first is answered; returns the answers, or the first failure.
    pub(super) fn all(
        &self,
        within: Duration,
        requests: &[Request<'_>],
    ) -> Result<Vec<Answer>, Failure> {
        let mut answers = Vec::with_capacity(requests.len());
        self.each(within, requests, &mut |answer| answers.push(answer))?;
        Ok(answers)
    }

    /// Sends all requests before the first is answered, and shows the answers, in their order, as they come.
    pub(super) fn each(
        &self,
        within: Duration,
        requests: &[Request<'_>],
        take: &mut dyn FnMut(Answer),
    ) -> Result<(), Failure> {
        let statements = requests.iter().filter_map(|request| match request {
            Request::Rows(statement) | Request::Count(statement) => Some(*statement),
            Request::Text(_) => None,
        });
        let often = statements.filter(|statement| self.is_sent_often(statement));
        self.prepare(within, &often.collect::<Vec<_>>())?;
        let mut asked = InOrder::new();
        let ahead = self.ahead.take();
        let mut earlier = ahead.len();
        for sent in ahead {
            asked.push(async { sent.await.map(Answer::Count) });
        }
        for request in requests {
            asked.push(self.ask(request));
        }
        self.wait(within, async {
            while let Some(answer) = asked.next().await {
                let answer = answer?;
                match earlier.checked_sub(1) {
                    Some(left) => earlier = left,
                    None => take(answer),
                }
            }
            Ok(())
        })
    }

    /// Returns whether a statement is sent so often that it is to be prepared.
    fn is_sent_often(&self, statement: &Statement<'_>) -> bool {
        let mut sent = self.sent.borrow_mut();
        if sent.len() > PREPARED_MAX {
            sent.clear();
        }
        match sent.get_mut(&statement.text) {
            Some(times) if *times >= UNPREPARED_MAX => true,
            Some(times) => {
                *times += 1;
                false
            }
            None => {
                sent.insert(statement.text.clone(), 1);
                false
            }
        }
    }

    async fn ask(&self, request: &Request<'_>) -> Result<Answer, tokio_postgres::Error> {
        Ok(match request {
            Request::Rows(statement) => {
                let rows = self.answer(statement).await?;
                Answer::Rows(rows.try_collect().await?)
            }
            Request::Count(statement) => Answer::Count(met(self.answer(statement).await?).await?),
            Request::Text(text) => {
                self.client.batch_execute(text).await?;
                Answer::Done
            }
        })
    }

    async fn answer(&self, statement: &Statement<'_>) -> Result<RowStream, tokio_postgres::Error> {
        let Statement {
            text,
            params,
            types,
            ..
        } = statement;
        let prepared = self.prepared.borrow().get(text).cloned();
        match prepared {
            Some(prepared) => self.client.query_raw(&prepared, params).await,
            None => {
                let typed = params.iter().zip(types.iter().cloned());
                self.client.query_typed_raw(text, typed).await
            }
        }
    }

    /// Reads the rows of a statement.
    pub(super) fn query(
        &self,
        within: Duration,
        statement: &Statement<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let answers = self.all(within, &[Request::Rows(statement)])?;
        Ok(answers.into_iter().flat_map(Answer::rows).collect())
    }

    /// Carries out a text without parameters. What was sent before is not told of: a text that may be sent then ends what it belongs to.
    pub(super) fn run(&self, within: Duration, text: &str) -> Result<(), Failure> {
        self.ahead.take();
        self.wait(within, self.client.batch_execute(text))
    }
}
