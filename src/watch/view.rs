//! What the pages show, as texts: who makes them knows payments, who shows them does not.

use super::route::{File, Wanted};

/// Where the texts come from. Each call reads the journal, and may take its time.
pub trait Source: Send + Sync + 'static {
    /// Returns every batch.
    ///
    /// # Errors
    /// The journal cannot be read.
    fn batches(&self) -> Result<Batches, Trouble>;

    /// Returns where one batch stands.
    ///
    /// # Errors
    /// There is none of this name, or the journal cannot be read.
    fn batch(&self, name: &str) -> Result<Batch, Trouble>;

    /// Returns rows of one batch.
    ///
    /// # Errors
    /// As [`Self::batch`].
    fn rows(&self, wanted: &Wanted) -> Result<Rows, Trouble>;

    /// Returns the history of one payment, or of a row that was set aside.
    ///
    /// # Errors
    /// As [`Self::batch`].
    fn payment(&self, batch: &str, id: &str) -> Result<Payment, Trouble>;

    /// Returns the rows of a person: by reference, identifier, number or name.
    ///
    /// # Errors
    /// The journal cannot be read.
    fn search(&self, text: &str) -> Result<Found, Trouble>;

    /// Writes the report of a batch and returns one of its files, open to be read; nothing of it has a name any more.
    ///
    /// # Errors
    /// As [`Self::batch`]; or it cannot be written.
    fn report(&self, batch: &str, file: File) -> Result<std::fs::File, Trouble>;
}

/// Why there is nothing to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such thing: what was looked for.
    NotThere(String),
    /// What went wrong, and what to do.
    Failed(String),
}

/// What a batch waits for, in a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It goes on by itself, or waits for its run.
    #[default]
    Open,
    /// A person has to do something.
    Waits,
    /// Everybody is paid.
    Good,
    /// It is finished, and not everybody is paid; or money is in danger.
    Bad,
}

impl Phase {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waits => "wait",
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }
}

/// Every batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    /// When this was so.
    pub at: String,
    /// The journal, without its folder.
    pub journal: String,
    /// What the whole journal waits for.
    pub warnings: Vec<String>,
    /// The batches, the newest first.
    pub batches: Vec<Summary>,
    /// How many more there are.
    pub more: usize,
}

/// One batch in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// Whether it is finished.
    pub phase: Phase,
    /// `finished`, `open`.
    pub state: String,
    /// Payments that are paid.
    pub paid: String,
    /// All of them.
    pub count: String,
    /// What all of them come to.
    pub amount: String,
    /// What it waits for, and what else is to be said.
    pub notes: Vec<String>,
}

/// Where one batch stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Its name.
    pub name: String,
    /// When this was so.
    pub at: String,
    /// What nobody must take it for.
    pub notices: Vec<String>,
    /// Where it came from and goes to.
    pub about: Vec<Line>,
    /// In a colour.
    pub phase: Phase,
    /// In one sentence.
    pub headline: String,
    /// What is behind it: rate, time that is left.
    pub pace: Vec<String>,
    /// Payments that have ended.
    pub finished: u64,
    /// All of them.
    pub total: u64,
    /// What is wrong with money.
    pub alarms: Vec<String>,
    /// Figures.
    pub cards: Vec<Card>,
    /// What is awaited, until when.
    pub awaited: Vec<String>,
    /// What a person may do next.
    pub next: Vec<String>,
    /// Paused services, why, and what to do.
    pub lanes: Vec<String>,
    /// Signatures that are missing, and orders that wait for some.
    pub approvals: Vec<String>,
    /// Counts and amounts.
    pub states: Vec<State>,
    /// What is not paid.
    pub exceptions: Vec<Exception>,
    /// What can be saved.
    pub reports: Vec<Download>,
}

/// A fact with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub label: String,
    /// The fact.
    pub text: String,
}

/// A figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// The figure.
    pub figure: String,
    /// What it counts.
    pub label: String,
    /// Its amount.
    pub amount: String,
    /// In a colour.
    pub phase: Phase,
}

/// Count and amount of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Its name in files; empty for the sum.
    pub name: &'static str,
    /// What it says to a person.
    pub words: String,
    /// How many.
    pub count: String,
    /// How much.
    pub amount: String,
    /// Whether its rows can be listed.
    pub listed: bool,
}

/// What is not paid, of one state and code, with what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exception {
    /// The state, by its name in files.
    pub state: &'static str,
    /// The state, in words.
    pub words: String,
    /// The status code.
    pub code: Option<i32>,
    /// What the gateway said, or why a row was set aside.
    pub outcome: String,
    /// How many.
    pub count: String,
    /// How much.
    pub amount: String,
    /// What that means for the money.
    pub meaning: String,
    /// What to do.
    pub remedy: String,
}

/// A file of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// Which.
    pub file: File,
    /// What is in it.
    pub words: String,
}

/// A row in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its batch.
    pub batch: String,
    /// By what its history is found.
    pub id: String,
    /// Where it stands, by its name in files.
    pub state: &'static str,
    /// Where it stands, in words.
    pub words: String,
    /// Line and file.
    pub place: String,
    /// Reference, names: what people wrote.
    pub whose: String,
    /// Where it goes to, not whole.
    pub to: String,
    /// How much.
    pub amount: String,
    /// What the gateway said, or what is wrong with it.
    pub said: String,
}

/// Rows of one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The batch.
    pub batch: String,
    /// When this was so.
    pub at: String,
    /// Which rows these are.
    pub heading: String,
    /// What that means, and what to do.
    pub told: Vec<String>,
    /// The rows.
    pub rows: Vec<Listed>,
    /// The query of the next page.
    pub next: Option<String>,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What was looked for.
    pub text: String,
    /// What came of it.
    pub told: String,
    /// The rows.
    pub rows: Vec<Listed>,
}

/// The history of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payment {
    /// The batch.
    pub batch: String,
    /// When this was so.
    pub at: String,
    /// What it is called.
    pub title: String,
    /// The payments of the row, the newest first.
    pub told: Vec<Told>,
}

/// One payment, with everything that is on record of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What it is.
    pub heading: String,
    /// Where it stands, and what is next.
    pub standing: Vec<String>,
    /// What happened, oldest first.
    pub history: Vec<String>,
}
