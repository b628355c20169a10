//! Entries of one width in their order, in bounded memory.
//!
//! Runs of them are sorted in memory and wait in an unnamed file; at the end they are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::journal::Error;

/// What is sorted in memory.
const RUN_BYTES: usize = 4 * 1024 * 1024;
/// What is read ahead of each run.
const AHEAD: usize = 32 * 1024;

/// Takes entries of `N` bytes in any order.
pub(in crate::journal) struct Sorter<const N: usize> {
    run: Vec<[u8; N]>,
    run_max: usize,
    spilled: Option<Spilled>,
}

impl<const N: usize> Default for Sorter<N> {
    fn default() -> Self {
        Self::with_runs_of(RUN_BYTES / N)
    }
}

struct Spilled {
    file: Arc<File>,
    /// How many entries each run has.
    runs: Vec<usize>,
}

impl<const N: usize> Sorter<N> {
    pub(in crate::journal) fn with_runs_of(run_max: usize) -> Self {
        Self {
            run: Vec::new(),
            run_max,
            spilled: None,
        }
    }

    pub(in crate::journal) fn push(&mut self, entry: [u8; N]) -> Result<(), Error> {
        if self.run.is_empty() {
            // At once, and touched as far as it is filled.
            self.run.reserve_exact(self.run_max);
        }
        self.run.push(entry);
        if self.run.len() < self.run_max {
            return Ok(());
        }
        self.spill().map_err(unwritable)
    }

    fn spill(&mut self) -> std::io::Result<()> {
        self.run.sort_unstable();
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(Spilled {
                file: Arc::new(tempfile::tempfile()?),
                runs: Vec::new(),
            }),
        };
        (&*spilled.file).write_all(self.run.as_flattened())?;
        spilled.runs.push(self.run.len());
        self.run.clear();
        Ok(())
    }

    /// Returns all entries in their order.
    pub(in crate::journal) fn sorted(mut self) -> Result<Merge<N>, Error> {
        self.run.sort_unstable();
        let mut sources = Vec::new();
        if let Some(Spilled { file, runs }) = self.spilled.take() {
            let mut offset = 0;
            for entries in runs {
                let bytes = (entries * N) as u64;
                let window = Window {
                    file: Arc::clone(&file),
                    offset,
                    end: offset + bytes,
                };
                offset += bytes;
                sources.push(Source::File(BufReader::with_capacity(AHEAD, window)));
            }
        }
        sources.push(Source::Memory(self.run.into_iter()));
        let mut merge = Merge {
            heads: BinaryHeap::with_capacity(sources.len()),
            sources,
        };
        for source in 0..merge.sources.len() {
            merge.advance(source)?;
        }
        Ok(merge)
    }
}

/// Part of a file, read on its own.
struct Window {
    file: Arc<File>,
    offset: u64,
    end: u64,
}

impl Read for Window {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let read = self.file.read_at(&mut buffer[..wanted], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

enum Source<const N: usize> {
    File(BufReader<Window>),
    Memory(std::vec::IntoIter<[u8; N]>),
}

/// The entries in their order.
pub(in crate::journal) struct Merge<const N: usize> {
    sources: Vec<Source<N>>,
    heads: BinaryHeap<Reverse<([u8; N], usize)>>,
}

impl<const N: usize> Merge<N> {
    /// Returns whether all of them are in memory.
    pub(in crate::journal) fn is_in_memory(&self) -> bool {
        self.sources.len() == 1
    }

    fn advance(&mut self, source: usize) -> Result<(), Error> {
        let next = match &mut self.sources[source] {
            Source::Memory(run) => run.next(),
            Source::File(run) => read(run).map_err(unwritable)?,
        };
        if let Some(next) = next {
            self.heads.push(Reverse((next, source)));
        }
        Ok(())
    }

    pub(in crate::journal) fn next(&mut self) -> Result<Option<[u8; N]>, Error> {
        Ok(match self.sources.as_mut_slice() {
            // Nothing to merge: the heap holds the first entry alone.
            [Source::Memory(run)] => match self.heads.pop() {
                Some(Reverse((first, _))) => Some(first),
                None => run.next(),
            },
            _ => match self.heads.pop() {
                Some(Reverse((least, source))) => {
                    self.advance(source)?;
                    Some(least)
                }
                None => None,
            },
        })
    }
}

fn read<const N: usize>(run: &mut BufReader<Window>) -> std::io::Result<Option<[u8; N]>> {
    let mut packed = [0; N];
    if run.get_ref().offset == run.get_ref().end && run.buffer().is_empty() {
        return Ok(None);
    }
    run.read_exact(&mut packed).map(|()| Some(packed))
}

/// Says why the file with the runs cannot be used.
pub(in crate::journal) fn unwritable(cause: impl std::fmt::Display) -> Error {
    Error::Scratch {
        cause: cause.to_string(),
    }
}
