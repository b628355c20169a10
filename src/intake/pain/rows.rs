//! A message, read element by element as far as its next transfer.

use std::collections::BTreeMap;

use quick_xml::events::BytesStart;

use super::super::bad::RowError;
use super::super::message_cells::{NAMES, OURS};
use super::super::names::same;
use super::super::record::{Fault, Record};
use super::super::source::Source;
use super::super::text::quoted;
use super::super::xml::{EXPORT, MESSAGE, Piece, Place, Xml, refused, unreadable};
use super::super::{Error, FIELD_BYTES_MAX};
use super::control::Control;
use super::elements::{Fact, Node, child, lost};
use super::transfer::{Cells, Facts, ID_MAX, Named};
use super::version::version_of;

/// Elements within one another.
const DEPTH_MAX: usize = 64;
/// Names of elements that are lost, as far as they are told.
const LOST_MAX: usize = 64;
const LOST_SHOWN: usize = 12;
const WHOLE: &str = "export it again, whole";

/// The transfers of a message.
pub(in crate::intake) struct PainRows {
    xml: Xml,
    state: State,
}

impl PainRows {
    /// Reads a message as far as the end of its header.
    ///
    /// # Errors
    /// It is another kind of XML, an unknown version, or no XML at all.
    pub(in crate::intake) fn open(source: Source) -> Result<Self, Error> {
        let mut rows = Self {
            xml: Xml::new(source, MESSAGE),
            state: State::default(),
        };
        while !rows.state.has_header {
            if rows.step()? {
                break;
            }
        }
        Ok(rows)
    }

    /// Says which cells a layout takes: what it leaves is told.
    pub(in crate::intake) fn taking(mut self, used: Vec<usize>) -> Self {
        self.state.used = Some(used);
        self
    }

    /// Reads the next transfer; `false` where the message has ended.
    ///
    /// # Errors
    /// What refuses the message as a whole.
    pub(in crate::intake) fn read(&mut self, record: &mut Record) -> Result<bool, Error> {
        loop {
            if self.step()? {
                return Ok(false);
            }
            if std::mem::take(&mut self.state.is_ready) {
                self.state.fill(record);
                return Ok(true);
            }
        }
    }

    /// Takes one event; returns whether it was the end of the file.
    fn step(&mut self) -> Result<bool, Error> {
        let (at, piece) = self.xml.read()?;
        let state = &mut self.state;
        match piece {
            Piece::Open(start) => state.open(&start, at)?,
            Piece::Empty(start) => {
                state.open(&start, at)?;
                state.close(at)?;
            }
            Piece::Close => state.close(at)?,
            Piece::Text(text) => state.text(&text),
            Piece::Aside => {}
            Piece::End => {
                state.ended(at)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the text that it is read from.
    pub(in crate::intake) fn source(&self) -> &Source {
        self.xml.source()
    }

    /// Returns where a cell of the last transfer stands, as `LINE:COLUMN`; of an unknown one, the transfer.
    pub(in crate::intake) fn place(&self, cell: Option<usize>) -> String {
        let own = cell.and_then(|cell| self.state.cells.places.get(cell).copied().flatten());
        own.unwrap_or(self.state.transfer_at).to_string()
    }

    /// Returns what the elements of the message are called that go into our columns.
    pub(in crate::intake) fn labels() -> BTreeMap<String, String> {
        let labels = OURS.iter().zip(ELEMENTS);
        labels
            .map(|(ours, element)| ((*ours).to_owned(), element.to_owned()))
            .collect()
    }

    /// Returns what the element is called that goes into a column of ours.
    pub(in crate::intake) fn label(column: &str) -> Option<&'static str> {
        let at = OURS.iter().position(|ours| same(ours, column))?;
        Some(ELEMENTS[at])
    }

    /// Returns what is worth telling about the message; complete once the last transfer was read.
    pub(in crate::intake) fn notes(&self) -> Vec<String> {
        let state = &self.state;
        let (_, sum) = state.whole.said();
        let blocks = match state.blocks {
            1 => "1 block".to_owned(),
            blocks => format!("{blocks} blocks"),
        };
        let transfers = match state.whole.count() {
            1 => "1 transfer".to_owned(),
            transfers => format!("{transfers} transfers"),
        };
        let sum = sum.map(|sum| format!(" that add up to {sum}"));
        let mut notes = vec![format!(
            "{}, message {}: {transfers} in {blocks}{}, as it says",
            state.version,
            quoted(state.header.text(Fact::MessageId)),
            sum.unwrap_or_default()
        )];
        if !state.lost.is_empty() {
            let names: Vec<&str> = state.lost.iter().map(String::as_str).collect();
            let shown = names[..names.len().min(LOST_SHOWN)].join(", ");
            let more = match names.len().saturating_sub(LOST_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            notes.push(format!(
                "not sent to the gateway, and without effect: {shown}{more}"
            ));
        }
        notes
    }
}

/// The elements that the cells of [`OURS`] come from.
const ELEMENTS: [&str; OURS.len()] = [
    "EndToEndId",
    "InstdAmt",
    "Ccy",
    "phone number",
    "Cdtr/Nm",
    "Ustrd",
    "CdtrAgt",
    "CdtrAgt/Nm",
    "Cdtr/Nm",
    "CdtrAcct",
    "ReqdExctnDt",
    "PmtId",
];

/// What was read so far.
#[derive(Default)]
struct State {
    path: Vec<Node>,
    /// How deep it is in an element that is not looked into.
    skipped: usize,
    /// What stands before the names of elements, and their namespace.
    prefix: Option<String>,
    namespace: String,
    version: &'static str,
    text: String,
    /// Where the element begins that was opened last.
    at: Place,
    header: Facts,
    has_header: bool,
    block: Facts,
    transfer: Facts,
    transfer_at: Place,
    in_transfer: bool,
    /// The block has had a transfer.
    has_transfers: bool,
    blocks: u64,
    whole: Control,
    part: Control,
    cells: Cells,
    /// A transfer has been read, and is to be taken.
    is_ready: bool,
    /// The root is closed.
    is_whole: bool,
    /// The cells that a layout takes.
    used: Option<Vec<usize>>,
    /// What is lost, in the order in which it was met first.
    lost: Vec<String>,
}

impl State {
    fn parent(&self) -> Node {
        self.path.last().copied().unwrap_or(Node::Top)
    }

    fn open(&mut self, start: &BytesStart<'_>, at: Place) -> Result<(), Error> {
        if self.path.len() + self.skipped >= DEPTH_MAX {
            return Err(refused(
                Some(at),
                format!("has more than {DEPTH_MAX} elements within one another"),
                EXPORT,
            ));
        }
        if self.skipped > 0 {
            self.skipped += 1;
            return Ok(());
        }
        self.assert_blank(at)?;
        let parent = self.parent();
        let whole = start.name();
        let (prefix, name) = match whole.as_ref().split_once(':') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, whole.as_ref()),
        };
        if self.path.is_empty() {
            self.root(prefix, name, start, at)?;
        } else {
            self.assert_namespace(prefix, name, start, at)?;
        }
        let Some(node) = child(parent, name) else {
            if parent == Node::Root {
                return Err(self.other_message(name, at));
            }
            if let Node::Leaf(_) = parent {
                return Err(refused(
                    Some(at),
                    format!("has an element {} within a text", quoted(name)),
                    EXPORT,
                ));
            }
            if let Some(lost) = lost(parent, name) {
                self.lose(&lost);
            }
            self.skipped = 1;
            return Ok(());
        };
        self.enter(node, at)?;
        self.at = at;
        if let Node::Leaf(fact @ (Fact::Amount | Fact::EquivalentAmount)) = node {
            self.currency(fact, start, at)?;
        }
        self.path.push(node);
        Ok(())
    }

    /// Looks at what begins a message, a block, or a transfer.
    fn enter(&mut self, node: Node, at: Place) -> Result<(), Error> {
        let is_of_block = self.path.last() == Some(&Node::Block);
        match node {
            Node::Root if self.is_whole => {
                return Err(refused(
                    Some(at),
                    "has a second message",
                    "load each message by itself",
                ));
            }
            Node::Message if self.whole.has_count() || self.blocks > 0 => {
                return Err(refused(
                    Some(at),
                    "has a second message",
                    "load each message by itself",
                ));
            }
            Node::Message => self.whole = Control::new(),
            Node::Header if self.has_header => {
                return Err(refused(Some(at), "has a second header (GrpHdr)", WHOLE));
            }
            Node::Block if !self.has_header => {
                return Err(refused(
                    Some(at),
                    "has a block (PmtInf) before its header (GrpHdr)",
                    WHOLE,
                ));
            }
            Node::Block => {
                self.block.clear();
                self.part = Control::new();
                self.has_transfers = false;
                self.blocks += 1;
            }
            Node::Transfer => {
                if !self.has_transfers {
                    self.assert_block(at)?;
                }
                self.has_transfers = true;
                self.in_transfer = true;
                self.transfer.clear();
                self.transfer_at = at;
            }
            // What stands there would come too late for the transfers that were handed out.
            _ if is_of_block && self.has_transfers => {
                return Err(refused(
                    Some(at),
                    "has an element of its block (PmtInf) behind the transfers",
                    WHOLE,
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Holds that a block says what all of its transfers need.
    fn assert_block(&self, at: Place) -> Result<(), Error> {
        if let Some(at) = self.block.doubled {
            return Err(refused(
                Some(at),
                "has an element of its block (PmtInf) twice that may stand there once",
                WHOLE,
            ));
        }
        for (fact, name) in [
            (Fact::BlockId, "PmtInfId"),
            (Fact::Method, "PmtMtd"),
            (Fact::Day, "ReqdExctnDt"),
        ] {
            if self.block.text(fact).is_empty() {
                return Err(refused(
                    Some(at),
                    format!("has transfers in a block (PmtInf) that has no {name} before them"),
                    WHOLE,
                ));
            }
        }
        assert_name(&self.block, Fact::BlockId, "PmtInfId")
    }

    /// Tells the version by the namespace of the root.
    fn root(
        &mut self,
        prefix: Option<&str>,
        name: &str,
        start: &BytesStart<'_>,
        at: Place,
    ) -> Result<(), Error> {
        let declared = match prefix {
            None => "xmlns".to_owned(),
            Some(prefix) => format!("xmlns:{prefix}"),
        };
        self.namespace = attribute(start, &declared, at)?.unwrap_or_default();
        self.prefix = prefix.map(str::to_owned);
        self.version = version_of(&self.namespace, name, at)?;
        Ok(())
    }

    fn other_message(&self, name: &str, at: Place) -> Error {
        refused(
            Some(at),
            format!("has the message {}, and no CstmrCdtTrfInitn", quoted(name)),
            EXPORT,
        )
    }

    /// Refuses elements of another namespace where they would be read.
    fn assert_namespace(
        &self,
        prefix: Option<&str>,
        name: &str,
        start: &BytesStart<'_>,
        at: Place,
    ) -> Result<(), Error> {
        let mut is_other = prefix != self.prefix.as_deref();
        if !is_other && start.attributes_raw().contains("xmlns") {
            let declared = match prefix {
                None => "xmlns".to_owned(),
                Some(prefix) => format!("xmlns:{prefix}"),
            };
            is_other = attribute(start, &declared, at)?
                .is_some_and(|namespace| namespace != self.namespace);
        }
        match is_other && child(self.parent(), name).is_some() {
            false => Ok(()),
            true => Err(refused(
                Some(at),
                format!("has an element {} of another namespace", quoted(name)),
                EXPORT,
            )),
        }
    }

    fn currency(&mut self, fact: Fact, start: &BytesStart<'_>, at: Place) -> Result<(), Error> {
        let known = &mut self.transfer.currencies[usize::from(fact == Fact::EquivalentAmount)];
        if let Some(currency) = attribute(start, "Ccy", at)? {
            known.clear();
            known.push_str(currency.trim());
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.skipped > 0 {
            return;
        }
        match self.parent() {
            Node::Leaf(_) | Node::RequestedDay if self.text.len() <= FIELD_BYTES_MAX => {
                self.text.push_str(text);
            }
            Node::Leaf(_) | Node::RequestedDay => {}
            // All that matters is whether there is any.
            _ if self.text.is_empty() && !text.trim().is_empty() => self.text.push('x'),
            _ => {}
        }
    }

    /// Refuses text between elements.
    fn assert_blank(&mut self, at: Place) -> Result<(), Error> {
        let is_blank = self.text.trim().is_empty();
        self.text.clear();
        match is_blank || matches!(self.parent(), Node::Leaf(_)) {
            true => Ok(()),
            false => Err(stray(at)),
        }
    }

    fn close(&mut self, at: Place) -> Result<(), Error> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(());
        }
        let Some(node) = self.path.pop() else {
            return Ok(());
        };
        let text = std::mem::take(&mut self.text);
        let trimmed = text.trim();
        match node {
            Node::Leaf(fact) => self.store(fact, trimmed)?,
            Node::RequestedDay if !trimmed.is_empty() => self.store(Fact::Day, trimmed)?,
            Node::RequestedDay => {}
            _ if !trimmed.is_empty() => return Err(stray(at)),
            Node::Cheque => self.transfer.is_cheque = true,
            Node::Header => self.end_header(at)?,
            Node::Block => self.part.compare("PmtInf")?,
            Node::Transfer => self.end_transfer(),
            Node::Message => self.whole.compare("GrpHdr")?,
            Node::Root => self.is_whole = true,
            _ => {}
        }
        self.text = text;
        self.text.clear();
        Ok(())
    }

    fn store(&mut self, fact: Fact, text: &str) -> Result<(), Error> {
        let at = self.at;
        match fact {
            Fact::MessageCount => self.whole.say_count(text, at)?,
            Fact::MessageSum => self.whole.say_sum(text, at)?,
            Fact::BlockCount => self.part.say_count(text, at)?,
            Fact::BlockSum => self.part.say_sum(text, at)?,
            Fact::MessageId | Fact::Created => self.header.take(fact, text, at),
            _ if self.in_transfer => self.transfer.take(fact, text, at),
            _ => self.block.take(fact, text, at),
        }
        Ok(())
    }

    fn end_header(&mut self, at: Place) -> Result<(), Error> {
        self.has_header = true;
        if let Some(at) = self.header.doubled {
            return Err(refused(
                Some(at),
                "has an element of its header twice",
                WHOLE,
            ));
        }
        if self.header.text(Fact::MessageId).is_empty() {
            return Err(refused(
                Some(at),
                "has no MsgId in its header (GrpHdr)",
                WHOLE,
            ));
        }
        if !self.whole.has_count() {
            return Err(refused(
                Some(at),
                "does not say in its header (GrpHdr) how many transfers there are (NbOfTxs), so it cannot be checked \
                whether all of them are there",
                WHOLE,
            ));
        }
        assert_name(&self.header, Fact::MessageId, "MsgId")
    }

    fn end_transfer(&mut self) {
        self.in_transfer = false;
        self.is_ready = true;
        let fact = match self.transfer.place(Fact::EquivalentAmount) {
            Some(_) => Fact::EquivalentAmount,
            None => Fact::Amount,
        };
        let at = self.transfer.place(fact).unwrap_or(self.transfer_at);
        let amount = self.transfer.text(fact);
        self.whole.add(amount, at);
        self.part.add(amount, at);
        let named = Named {
            kind: self.version,
            message: self.header.text(Fact::MessageId),
        };
        self.cells.fill(&self.transfer, &self.block, named);
        for name in self.cells.lost(self.used.as_deref()) {
            if self.lost.len() < LOST_MAX && !self.lost.iter().any(|lost| lost == name) {
                self.lost.push(name.to_owned());
            }
        }
    }

    fn lose(&mut self, name: &str) {
        // Names come from the file.
        let name: String = name.chars().take(40).collect();
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '/');
        if is_plain && self.lost.len() < LOST_MAX && !self.lost.contains(&name) {
            self.lost.push(name);
        }
    }

    fn ended(&self, at: Place) -> Result<(), Error> {
        match self.is_whole {
            true if !self.text.trim().is_empty() => Err(stray(at)),
            true => Ok(()),
            false if self.version.is_empty() => Err(Error::Empty),
            false => Err(refused(Some(at), "is cut off before its end", WHOLE)),
        }
    }

    /// Brings the transfer that was read into a record.
    fn fill(&self, record: &mut Record) {
        let cells = &self.cells;
        // Without a layout the first cells are those of our columns.
        let width = match self.used {
            Some(_) => NAMES.len(),
            None => OURS.len(),
        };
        let mut fields = record.begin(self.transfer_at.line);
        let mut faults = Vec::new();
        for (index, text) in cells.texts[..width].iter().enumerate() {
            fields.push(text.as_bytes());
            let bytes = fields.end();
            if bytes > FIELD_BYTES_MAX as u64 {
                faults.push(Fault::LongField { index, bytes });
            }
        }
        record.finish(fields);
        if !faults.is_empty() {
            let said = format!(
                "the transfer {} at {}",
                self.transfer.text(Fact::EndToEndId),
                self.transfer_at
            );
            record.raw.push(said.as_bytes());
        }
        record.faults = faults;
        // What else is wrong with what cannot be paid at all would only mislead.
        let is_final = cells.flaws.iter().any(|flaw| flaw.is_final);
        for flaw in cells.flaws.iter().filter(|flaw| flaw.is_final == is_final) {
            record.refused |= flaw.is_final;
            record.findings.push(RowError {
                line: record.line,
                row: record.row,
                cell: None,
                column: flaw.column.map(str::to_owned),
                header: None,
                message: flaw.message.clone(),
                code: match flaw.is_final {
                    true => "unpayable",
                    false => "invalid",
                },
                found: None,
            });
        }
    }
}

fn stray(at: Place) -> Error {
    refused(
        Some(at),
        "has a text where elements stand, before this place",
        EXPORT,
    )
}

/// Holds that a name is one that the answer to the message can repeat.
fn assert_name(facts: &Facts, fact: Fact, name: &str) -> Result<(), Error> {
    let text = facts.text(fact);
    match text.chars().count() <= ID_MAX && !text.contains(char::is_control) {
        true => Ok(()),
        false => Err(refused(
            facts.place(fact),
            format!(
                "has a {name} of more than {ID_MAX} characters, or with one that cannot be shown: {}",
                quoted(text)
            ),
            WHOLE,
        )),
    }
}

/// Returns the value of an attribute.
fn attribute(start: &BytesStart<'_>, name: &str, at: Place) -> Result<Option<String>, Error> {
    let mut found = None;
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| unreadable(at, &error.to_string()))?;
        if attribute.key.as_ref() == name {
            found = Some(attribute.value.into_owned());
        }
    }
    Ok(found)
}
