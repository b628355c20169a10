//! All payments of the list as texts for page.js: in the page itself while they are few, else in files beside it.
//!
//! A part is one text: a line for each payment, its cells with tabs between them. No cell holds either sign. A search looks
//! through a part at once, and cuts only those into lines that hold what is sought.

use std::io;
use std::path::{Path, PathBuf};

use super::listed::Listed;
use crate::report::files::pages;
use crate::report::rows::entry::StateName;

/// More payments are in files beside the page.
const WITHIN_MAX: u64 = 20_000;

/// So are texts of more bytes.
const WITHIN_BYTES_MAX: usize = 16 << 20;

/// A part is full with so many payments, a multiple of what the list shows at once, or with so many bytes.
const PART_ROWS: u32 = 4_000;
const PART_BYTES: usize = 2 << 20;

/// How many payments of a part are in each state, in the order of [`StateName::ALL`].
pub(super) type Counts = [u32; StateName::ALL.len()];

/// The parts as they are written.
pub(super) struct Parts {
    dir: PathBuf,
    rows: u64,
    /// The part that is being filled: the call that hands it over, up to the last row.
    part: Vec<u8>,
    counts: Counts,
    /// Those that are full, while they may have room in the page.
    held: Vec<Vec<u8>>,
    held_bytes: usize,
    files: Option<pages::Files>,
    index: Vec<Counts>,
}

/// Where the payments of the list are.
pub(super) enum Place {
    /// In the page: the texts of the parts, as JSON without the quotes.
    Within(Vec<Vec<u8>>),
    /// Beside it, in files that are not in their place yet.
    Beside(pages::Staged),
}

impl Parts {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            rows: 0,
            part: begun(Vec::new(), 1),
            counts: Counts::default(),
            held: Vec::new(),
            held_bytes: 0,
            files: None,
            index: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, cells: &Listed) -> io::Result<()> {
        self.rows += 1;
        let rows: u32 = self.counts.iter().sum();
        if is_full(rows, self.part.len()) {
            self.close()?;
        }
        if self.counts != Counts::default() {
            self.part.extend_from_slice(b"\\n");
        }
        cells.write_line(&mut self.part);
        if let Some(count) = self.counts.get_mut(cells.state as usize) {
            *count += 1;
        }
        if self.files.is_none() && !has_room_within(self.rows, self.held_bytes + self.part.len()) {
            let mut files = pages::Files::create(&self.dir)?;
            for held in self.held.drain(..) {
                files.add(ended(held))?;
            }
            self.files = Some(files);
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.index.push(std::mem::take(&mut self.counts));
        let number = self.index.len() + 1;
        let part = std::mem::take(&mut self.part);
        let room = match &mut self.files {
            Some(files) => files.add(ended(part))?,
            None => {
                self.held_bytes += part.len();
                self.held.push(part);
                Vec::new()
            }
        };
        self.part = begun(room, number);
        Ok(())
    }

    /// Returns where the parts are, and how many payments of each state each of them has.
    pub(super) fn finish(mut self) -> io::Result<(Place, Vec<Counts>)> {
        if self.counts != Counts::default() {
            self.close()?;
        }
        let place = match self.files {
            Some(files) => Place::Beside(files.finish()?),
            None => Place::Within(
                self.held
                    .into_iter()
                    .zip(1..)
                    .map(|(part, number)| part[begun(Vec::new(), number).len()..].to_vec())
                    .collect(),
            ),
        };
        Ok((place, self.index))
    }
}

fn is_full(rows: u32, bytes: usize) -> bool {
    rows >= PART_ROWS || bytes >= PART_BYTES
}

fn has_room_within(rows: u64, bytes: usize) -> bool {
    rows <= WITHIN_MAX && bytes <= WITHIN_BYTES_MAX
}

/// Begins the file of a part: a call of the one function that page.js offers.
fn begun(mut room: Vec<u8>, number: usize) -> Vec<u8> {
    room.extend_from_slice(format!("disburseRows({number},\"").as_bytes());
    room
}

fn ended(mut part: Vec<u8>) -> Vec<u8> {
    part.extend_from_slice(b"\");\n");
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_pages_are_bounded_by_rows_and_bytes() {
        for (rows, bytes, expected) in [
            (0, 0, false),
            (3_999, 1_000_000, false),
            (4_000, 1_000_000, true),
            (1, 2 << 20, true),
        ] {
            assert_eq!(is_full(rows, bytes), expected, "{rows} rows, {bytes} bytes");
        }
        for (rows, bytes, expected) in [
            (20_000, 6_000_000, true),
            (20_001, 6_000_000, false),
            (20_000, 16 << 20, true),
            (300, (16 << 20) + 1, false),
        ] {
            assert_eq!(
                has_room_within(rows, bytes),
                expected,
                "{rows} rows, {bytes} bytes"
            );
        }
    }

    #[test]
    fn a_part_holds_whole_pages_of_the_list() {
        for shown in [50, 200, 1_000] {
            assert_eq!(PART_ROWS % shown, 0, "{shown} rows at once");
        }
    }
}
