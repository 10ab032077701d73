//! Downloads a file by HTTP, and goes on with one that broke off.
//!
//! Redirects are followed, because hubs keep their files elsewhere, but never from
//! an encrypted address to one that is not. What has come so far stays beside
//! its place with the server's mark of that version (`ETag`, or the date of the
//! last change), and the rest is asked for under the condition that the mark
//! still holds. Where a SHA-256 is expected the rest is asked for even without a
//! mark: should the two not fit together, all of it is fetched again.

use std::error::Error;
use std::fs;
use std::sync::Arc;

use recto_fs::blocking;
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, IF_RANGE, LAST_MODIFIED, RANGE,
};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Response, StatusCode};
use tokio::time::{sleep, timeout};

use super::address::{DownloadAddress, without_secrets};
use super::part::{PartFile, PartWriter};
use super::{ProgressCallback, PullOptions, space};
use crate::checksum::{Checksum, FileDigest};
use crate::entry::{LibraryEntry, write_note};
use crate::error::{ModelsError, PullError, SourceError};
use crate::lock::PullLock;
use crate::progress::PullProgress;

/// How often a lost connection is made again without getting further by much.
const MOST_TRIES: u32 = 4;

/// What counts as getting further.
const FURTHER: u64 = 1024 * 1024;

/// How many redirects are followed.
const MOST_REDIRECTS: usize = 10;

/// What is known of a file beforehand.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedFile {
    pub(super) size: Option<u64>,
    pub(super) sha256: Option<Checksum>,
}

/// Downloads one file to the part at a place.
pub(super) struct Download<'a> {
    client: Client,
    address: &'a DownloadAddress,
    entry: &'a LibraryEntry,
    expected: ExpectedFile,
    options: &'a PullOptions,
    lock: &'a Arc<PullLock>,
}

/// The bytes that are there from before, to go on with.
#[derive(Debug, Default)]
struct ResumePoint {
    bytes: u64,
    /// The server's mark of the version that they are of.
    mark: Option<String>,
}

/// Where an answer begins, and how large the whole file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ByteExtent {
    start: u64,
    total: Option<u64>,
}

/// How a try ended that did not fail.
enum AttemptOutcome {
    Whole(FileDigest),
    /// What is there from before is of no use to the server.
    StartOver,
}

impl<'a> Download<'a> {
    pub(super) fn new(
        address: &'a DownloadAddress,
        entry: &'a LibraryEntry,
        expected: ExpectedFile,
        options: &'a PullOptions,
        lock: &'a Arc<PullLock>,
    ) -> Result<Self, SourceError> {
        let client = client(address, options)?;
        Ok(Download { client, address, entry, expected, options, lock })
    }

    /// Downloads the file, all of it or the rest. A connection that is lost is
    /// made again as long as that helps.
    pub(super) async fn run(&self, report: ProgressCallback<'_>) -> Result<FileDigest, PullError> {
        let mut tries = 0;
        let mut furthest = 0;
        let mut anew = false;
        let mut was_anew = false;
        loop {
            let resume = if anew { ResumePoint::default() } else { self.resume_point() };
            anew = false;
            let before = resume.bytes;
            let error = match self.attempt(resume, report).await {
                Ok(AttemptOutcome::Whole(sum))
                    if before > 0 && !was_anew && self.is_another(sum) =>
                {
                    (anew, was_anew) = (true, true);
                    continue;
                }
                Ok(AttemptOutcome::Whole(sum)) => return Ok(sum),
                Ok(AttemptOutcome::StartOver) => {
                    anew = true;
                    continue;
                }
                Err(PullError::Source(error)) if error.is_passing() => error,
                Err(error) => return Err(self.tidy_after(error)),
            };
            let done = self.on_disk();
            if done <= before && matches!(error, SourceError::Silent { .. }) {
                // Whoever waited that long for nothing does not want to wait again.
                return Err(self.tidy_after(error.into()));
            }
            if done >= furthest + FURTHER {
                (furthest, tries) = (done, 0);
            }
            tries += 1;
            if tries >= MOST_TRIES {
                return Err(self.tidy_after(error.into()));
            }
            report(PullProgress::Again { file: self.file(), why: error.to_string() });
            sleep(self.options.pause).await;
        }
    }

    fn file(&self) -> String {
        self.entry.file().to_owned()
    }

    fn is_another(&self, sum: FileDigest) -> bool {
        self.expected.sha256.is_some_and(|expected| expected != sum.sha256)
    }

    fn on_disk(&self) -> u64 {
        fs::metadata(self.entry.part()).map_or(0, |found| found.len())
    }

    /// Hands an error on, with neither an empty part nor an empty folder left behind.
    fn tidy_after(&self, error: PullError) -> PullError {
        if self.on_disk() == 0 {
            self.entry.discard_part();
            self.entry.discard_empty_folder();
        }
        error
    }

    /// What is there from before and can be gone on with.
    fn resume_point(&self) -> ResumePoint {
        let bytes = self.on_disk();
        let mark = self.noted_mark();
        let is_sure = mark.is_some() || self.expected.sha256.is_some();
        let fits = self.expected.size.is_none_or(|size| bytes <= size);
        if bytes > 0 && is_sure && fits {
            ResumePoint { bytes, mark }
        } else {
            ResumePoint::default()
        }
    }

    /// The mark of the part, if it came from this address.
    fn noted_mark(&self) -> Option<String> {
        let tag = fs::read_to_string(self.entry.tag()).ok()?;
        let (origin, mark) = tag.trim_end().split_once('\n')?;
        (origin == self.origin().to_string()).then(|| mark.to_owned())
    }

    /// Notes the server's mark before the first byte is written.
    fn note_mark(&self, response: &Response) {
        let _ = match server_mark(response) {
            Some(mark) => write_note(&self.entry.tag(), &format!("{}\n{mark}\n", self.origin())),
            None => fs::remove_file(self.entry.tag()),
        };
    }

    /// The address, in a form that can't be read: it may hold secrets.
    fn origin(&self) -> Checksum {
        Checksum::of_bytes(self.address.url().as_str().as_bytes())
    }

    async fn attempt(
        &self,
        resume: ResumePoint,
        report: ProgressCallback<'_>,
    ) -> Result<AttemptOutcome, PullError> {
        let mut part = self.open(resume.bytes).await?;
        if self.expected.size == Some(part.size()) {
            // All of it came before; only its name is missing.
            return finish_part(part).await.map(AttemptOutcome::Whole);
        }
        self.check_room(part.size(), self.expected.size)?;
        report(PullProgress::Connecting { server: self.address.server(), file: self.file() });
        let response = self.request_rest(&resume).await?;
        let Some(extent) = self.extent(&response, &resume)? else {
            return Ok(AttemptOutcome::StartOver);
        };
        if extent.start == 0 {
            part.restart()?;
        }
        self.check_room(extent.start, extent.total)?;
        part.expect(extent.total);
        self.note_mark(&response);
        self.receive(response, part, extent, report).await.map(AttemptOutcome::Whole)
    }

    /// Fails when there is no room for the rest. What is here is of no use then, and
    /// takes room from others.
    fn check_room(&self, done: u64, total: Option<u64>) -> Result<(), ModelsError> {
        let rest = total.map_or(0, |total| total.saturating_sub(done));
        space::check(self.entry.library(), rest).inspect_err(|_| self.entry.discard_part())
    }

    /// Opens the part. What is kept is read for its checksum, which takes a while.
    async fn open(&self, keep: u64) -> Result<PartFile, ModelsError> {
        let (entry, lock) = (self.entry.clone(), Arc::clone(self.lock));
        let open = blocking(move || {
            let _lock = lock;
            PartFile::open(&entry, keep)
        });
        open.await
    }

    async fn request_rest(&self, resume: &ResumePoint) -> Result<Response, SourceError> {
        let mut request = self.client.get(self.address.url().clone());
        // A packed answer has no bytes that could be counted.
        request = request.header(ACCEPT_ENCODING, "identity");
        if resume.bytes > 0 {
            request = request.header(RANGE, format!("bytes={}-", resume.bytes));
            if let Some(mark) = &resume.mark {
                request = request.header(IF_RANGE, mark);
            }
        }
        match timeout(self.options.silence_limit, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() && error.is_timeout() => {
                let limit = self.options.connect_limit.as_secs_f64();
                let cause = format!("nobody answered within {limit} s");
                Err(SourceError::Unreachable { cause })
            }
            Ok(Err(error)) if error.is_connect() => {
                Err(SourceError::Unreachable { cause: innermost(&error) })
            }
            Ok(Err(error)) => {
                Err(SourceError::Cut { done: resume.bytes, cause: innermost(&error) })
            }
            Err(_) => Err(SourceError::Silent { after: self.options.silence_limit }),
        }
    }

    /// What part of the file an answer holds; `None` when the server can make
    /// nothing of what is kept.
    fn extent(
        &self,
        response: &Response,
        resume: &ResumePoint,
    ) -> Result<Option<ByteExtent>, SourceError> {
        let extent = match response.status() {
            StatusCode::OK => ByteExtent { start: 0, total: response.content_length() },
            StatusCode::PARTIAL_CONTENT => {
                let range = header(response, CONTENT_RANGE).unwrap_or_default();
                match content_range(&range) {
                    Some(extent) if extent.start == resume.bytes => extent,
                    _ if resume.bytes > 0 => return Ok(None),
                    _ => return Err(SourceError::Malformed { what: "a part came unasked".into() }),
                }
            }
            StatusCode::RANGE_NOT_SATISFIABLE if resume.bytes > 0 => return Ok(None),
            status if status.is_redirection() => return Err(SourceError::Redirected),
            status => return Err(SourceError::Status { status: status.as_u16() }),
        };
        if is_web_page(response, self.entry.file()) {
            return Err(SourceError::WebPage);
        }
        match (self.expected.size, extent.total) {
            (Some(expected), Some(actual)) if expected != actual => {
                Err(SourceError::WrongSize { expected, actual })
            }
            (size, total) => Ok(Some(ByteExtent { total: total.or(size), ..extent })),
        }
    }

    async fn receive(
        &self,
        mut response: Response,
        part: PartFile,
        extent: ByteExtent,
        report: ProgressCallback<'_>,
    ) -> Result<FileDigest, PullError> {
        let mut done = extent.start;
        let total = extent.total;
        report(PullProgress::Bytes { file: self.file(), done, total });
        let writer = PartWriter::new(part, Arc::clone(self.lock));
        let ended = loop {
            match timeout(self.options.silence_limit, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    done += bytes.len() as u64;
                    if total.is_some_and(|total| done > total)
                        || writer.push(bytes.into()).await.is_err()
                    {
                        break Ok(());
                    }
                    report(PullProgress::Bytes { file: self.file(), done, total });
                }
                Ok(Ok(None)) => break Ok(()),
                Ok(Err(error)) => break Err(SourceError::Cut { done, cause: innermost(&error) }),
                Err(_) => break Err(SourceError::Silent { after: self.options.silence_limit }),
            }
        };
        // Nothing can be written any more: that is worse than whatever else happened.
        let part = writer.finish().await?;
        ended?;
        match total {
            Some(total) if done > total => {
                self.entry.discard_part();
                Err(SourceError::WrongSize { expected: total, actual: done }.into())
            }
            Some(total) if done < total => {
                let cause = "the server stopped in the middle of it".to_owned();
                Err(SourceError::Cut { done, cause }.into())
            }
            _ => finish_part(part).await,
        }
    }
}

/// Waits until all of a part is on disk.
async fn finish_part(part: PartFile) -> Result<FileDigest, PullError> {
    Ok(blocking(move || part.finish()).await?)
}

fn client(address: &DownloadAddress, options: &PullOptions) -> Result<Client, SourceError> {
    // Someone else may have chosen a provider of cryptography before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("recto/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects())
        .connect_timeout(options.connect_limit);
    if address.is_local() {
        builder = builder.no_proxy();
        if !address.is_encrypted() {
            // Not even a machine without certificates needs any for this.
            builder = builder.tls_certs_only(std::iter::empty::<Certificate>());
        }
    }
    builder.build().map_err(|error| SourceError::Unreachable {
        cause: format!("cannot set up connections: {}", innermost(&error)),
    })
}

/// Follows redirects, but not from an encrypted address to one that is not.
fn redirects() -> Policy {
    Policy::custom(|attempt| {
        let was_encrypted = attempt.previous().iter().any(|url| url.scheme() == "https");
        let is_worse = was_encrypted && attempt.url().scheme() != "https";
        if is_worse || attempt.previous().len() > MOST_REDIRECTS {
            attempt.stop()
        } else {
            attempt.follow()
        }
    })
}

fn header(response: &Response, name: HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// The server's mark of the version that it sends; weak ones say nothing about
/// bytes.
fn server_mark(response: &Response) -> Option<String> {
    let tag = header(response, ETAG).filter(|tag| tag.starts_with('"'));
    tag.or_else(|| header(response, LAST_MODIFIED))
}

/// Whether a page for people came instead of a file.
fn is_web_page(response: &Response, file: &str) -> bool {
    let kind = header(response, CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    kind.starts_with("text/html") && !file.ends_with(".html")
}

/// Reads a `Content-Range` such as `bytes 100-199/200`.
fn content_range(text: &str) -> Option<ByteExtent> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    Some(ByteExtent { start: start.trim().parse().ok()?, total })
}

/// What the system says at the end of a chain of errors, without the address,
/// which the outer ones name.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    without_secrets(&innermost.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_tells_where_an_answer_begins() {
        let extent = |start, total| Some(ByteExtent { start, total });
        assert_eq!(content_range("bytes 100-199/200"), extent(100, Some(200)));
        assert_eq!(content_range("bytes 0-9/*"), extent(0, None));
        for text in ["", "bytes", "bytes */200", "bytes x-9/10", "100-199/200", "bytes 1-2/x"] {
            assert_eq!(content_range(text), None, "{text}");
        }
    }
}
