//! A file while it is written: under another name, with its checksum computed on
//! the way. It gets its name when it is whole, in `entry`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use recto_fs::finish;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::space;
use crate::checksum::{DigestBuilder, FileDigest};
use crate::entry::LibraryEntry;
use crate::error::ModelsError;
use crate::lock::PullLock;

/// How many pieces may wait to be written.
const WAITING: usize = 64;

/// A part that is open for writing, at its end.
#[derive(Debug)]
pub(super) struct PartFile {
    entry: LibraryEntry,
    file: File,
    digest: DigestBuilder,
    /// How large it will be, where that is known.
    whole: Option<u64>,
}

impl PartFile {
    /// Opens the part at a place, keeping at most `keep` bytes of what is there.
    pub(super) fn open(entry: &LibraryEntry, keep: u64) -> Result<Self, ModelsError> {
        entry.make_folder()?;
        let failed = |error| space::write_failed(entry, None, error);
        let mut options = File::options();
        let file = options.create(true).truncate(false).read(true).write(true).open(entry.part());
        let mut file = file.map_err(failed)?;
        let digest = DigestBuilder::of_reader(&mut (&mut file).take(keep)).map_err(failed)?;
        let mut part = PartFile { entry: entry.clone(), file, digest, whole: None };
        part.cut().map_err(failed)?;
        Ok(part)
    }

    /// Forgets all that is there.
    pub(super) fn restart(&mut self) -> Result<(), ModelsError> {
        self.digest = DigestBuilder::default();
        self.cut().map_err(|error| space::write_failed(&self.entry, self.whole, error))
    }

    /// Ends the file where its checksum ends.
    fn cut(&mut self) -> io::Result<()> {
        let end = self.file.seek(SeekFrom::Start(self.digest.size()))?;
        // Nothing is cut off a device, which has no length.
        if self.file.metadata()?.len() > end { self.file.set_len(end) } else { Ok(()) }
    }

    /// Says how large the file will be.
    pub(super) fn expect(&mut self, whole: Option<u64>) {
        self.whole = whole;
    }

    /// How many bytes are there.
    pub(super) fn size(&self) -> u64 {
        self.digest.size()
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), ModelsError> {
        self.digest.add(bytes);
        self.file.write_all(bytes).map_err(|error| self.failed(error))
    }

    /// Makes sure that all of it is on disk.
    pub(super) fn finish(self) -> Result<FileDigest, ModelsError> {
        self.file.sync_all().map_err(|error| self.failed(error))?;
        Ok(self.digest.finish())
    }

    /// A part that can't be written is of no use, and takes room from others.
    fn failed(&self, error: io::Error) -> ModelsError {
        self.entry.discard_part();
        self.entry.discard_empty_folder();
        space::write_failed(&self.entry, self.whole, error)
    }
}

/// A part that is written on a thread of its own, so that whoever has the bytes
/// never waits for the disk, and the checksum is computed while more comes.
pub(super) struct PartWriter {
    sender: mpsc::Sender<Vec<u8>>,
    task: JoinHandle<Result<PartFile, ModelsError>>,
}

impl PartWriter {
    /// The lock is held as long as there is something to write.
    pub(super) fn new(mut part: PartFile, lock: Arc<PullLock>) -> Self {
        let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(WAITING);
        let task = spawn_blocking(move || {
            let _lock = lock;
            while let Some(bytes) = receiver.blocking_recv() {
                part.write(&bytes)?;
            }
            Ok(part)
        });
        PartWriter { sender, task }
    }

    /// Hands in more. Bytes after a failed write are of no use: the end tells.
    pub(super) async fn push(&self, bytes: Vec<u8>) -> Result<(), WriterStopped> {
        self.sender.send(bytes).await.map_err(|_| WriterStopped)
    }

    /// Waits until everything is written.
    pub(super) async fn finish(self) -> Result<PartFile, ModelsError> {
        drop(self.sender);
        finish(self.task).await
    }
}

/// Nothing more can be written.
#[derive(Debug)]
pub(super) struct WriterStopped;
