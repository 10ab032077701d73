//! A call as a stream of events.
//!
//! The call is a small machine: send, perhaps wait and send again, then read.
//! It goes on only while someone reads from the stream, so that dropping the
//! stream is all there is to cancelling.
//!
//! Once the first byte of a reply has arrived, nothing is tried again: the
//! person may have read it already.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Instant, sleep, timeout};

use crate::client::{SharedClient, Transport};
use crate::embedded::{PromptCacheKey, ReplyReceiver, stopped};
use crate::error::{LlmError, WaitingFor};
use crate::http::HttpAnswer;
use crate::reply::{ModelReply, StreamEvent};
use crate::retry::chance;
use crate::script::ScriptChunks;
use crate::wire::{ReplyDecoder, ReplyDelta, requested_model};

/// How long the end of the connection is waited for when the reply is complete,
/// so that the next call can use the same one.
const GRACE: Duration = Duration::from_millis(100);

/// The events of a call, as they come. The last event is [`StreamEvent::Done`] or an
/// error.
pub struct ReplyStream(Pin<Box<dyn Stream<Item = Result<StreamEvent, LlmError>> + Send>>);

/// Reads a stream to its end, and returns the whole reply.
pub async fn collect(mut stream: ReplyStream) -> Result<ModelReply, LlmError> {
    while let Some(event) = stream.next().await {
        if let StreamEvent::Done(reply) = event? {
            return Ok(reply);
        }
    }
    Err(LlmError::Cut { cause: "the stream was read before".to_owned() })
}

impl ReplyStream {
    pub(crate) fn new(
        client: Arc<SharedClient>,
        body: Vec<u8>,
        cache_key: Option<PromptCacheKey>,
    ) -> Self {
        let phase = CallPhase::Sending { earlier: 0 };
        let call = ModelCall { client, body, cache_key, phase, ready: VecDeque::new() };
        ReplyStream(Box::pin(stream::unfold(call, ModelCall::next)))
    }
}

impl Stream for ReplyStream {
    type Item = Result<StreamEvent, LlmError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

struct ModelCall {
    client: Arc<SharedClient>,
    body: Vec<u8>,
    cache_key: Option<PromptCacheKey>,
    phase: CallPhase,
    /// Events that were made but not read yet.
    ready: VecDeque<Result<StreamEvent, LlmError>>,
}

enum CallPhase {
    /// `earlier` attempts have failed.
    Sending {
        earlier: u32,
    },
    /// Before the next attempt.
    Waiting {
        wait: Duration,
        earlier: u32,
    },
    Reading(Box<ReplyReading>),
    Over,
}

struct ReplyReading {
    source: ByteSource,
    decoder: ReplyDecoder,
    waiting_for: WaitingFor,
    /// How long the reply may take to go on, and since when. Bytes that bring nothing of it,
    /// such as comments, signs of life and empty pieces, don't win any time.
    limit: Duration,
    since: Instant,
}

/// How the bytes of a reply came to an end.
enum StreamEnd {
    /// As the server meant it.
    Regular,
    Broken(LlmError),
}

/// Where a reply's bytes come from.
enum ByteSource {
    Http(HttpAnswer),
    Script(ScriptChunks),
    Embedded(ReplyReceiver),
}

impl ByteSource {
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, LlmError> {
        match self {
            ByteSource::Http(answer) => answer.chunk().await,
            ByteSource::Script(chunks) => Ok(chunks.next().await),
            // The last line says that it is the last: who just falls silent is gone.
            ByteSource::Embedded(replies) => {
                replies.recv().await.unwrap_or_else(|| Err(stopped())).map(Some)
            }
        }
    }
}

impl ModelCall {
    /// The next event, and the call after it.
    async fn next(mut self) -> Option<(Result<StreamEvent, LlmError>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            self.phase = match std::mem::replace(&mut self.phase, CallPhase::Over) {
                CallPhase::Sending { earlier } => self.send(earlier).await,
                CallPhase::Waiting { wait, earlier } => {
                    sleep(wait).await;
                    CallPhase::Sending { earlier }
                }
                CallPhase::Reading(reading) => self.read(reading).await,
                CallPhase::Over => return None,
            };
        }
    }

    async fn send(&mut self, earlier: u32) -> CallPhase {
        let (limit, since) = (self.client.limits.first_byte, Instant::now());
        let waiting_for = WaitingFor::FirstByte;
        let attempt = timeout(limit, self.attempt()).await;
        match attempt.unwrap_or_else(|_| Err(self.late(waiting_for, limit))) {
            Ok(source) => {
                let decoder = ReplyDecoder::new(self.client.provider.wire(), &self.body);
                let decoder = decoder.with_key(self.client.key.clone());
                let reading = ReplyReading { source, decoder, waiting_for, limit, since };
                CallPhase::Reading(Box::new(reading))
            }
            Err(error) => self.try_again(earlier, error),
        }
    }

    /// A source of bytes, if the server has begun a reply.
    async fn attempt(&self) -> Result<ByteSource, LlmError> {
        match &self.client.transport {
            Transport::Http(http) => {
                let answer = http.chat(self.body.clone()).await?;
                if answer.is_success() {
                    return Ok(ByteSource::Http(answer));
                }
                Err(http.refusal(answer, &requested_model(&self.body)).await)
            }
            Transport::Script(script) => script.answer(&self.body).await.map(ByteSource::Script),
            Transport::Embedded(model) => {
                model.submit(&self.body, self.cache_key).map(ByteSource::Embedded)
            }
        }
    }

    fn try_again(&mut self, earlier: u32, error: LlmError) -> CallPhase {
        let wait = self.client.retry.wait(earlier, error.retry_after(), chance());
        let Some(after) = wait.filter(|_| error.is_retryable()) else { return self.fail(error) };
        let error = error.redacted(self.client.key.as_ref());
        self.ready.push_back(Ok(StreamEvent::Retrying { after, error }));
        CallPhase::Waiting { wait: after, earlier: earlier + 1 }
    }

    async fn read(&mut self, mut reading: Box<ReplyReading>) -> CallPhase {
        let left = reading.limit.saturating_sub(reading.since.elapsed());
        let chunk = match &mut reading.source {
            // It answers one after the other, and tells when it has begun. Until then
            // it is not silent but at work for someone else.
            ByteSource::Embedded(_) if reading.waiting_for == WaitingFor::FirstByte => {
                Ok(reading.source.chunk().await)
            }
            source => timeout(left, source.chunk()).await,
        };
        let chunk = chunk.unwrap_or_else(|_| Err(self.late(reading.waiting_for, reading.limit)));
        match chunk {
            Ok(Some(chunk)) => self.decode(reading, &chunk).await,
            Ok(None) => self.end(reading.decoder, StreamEnd::Regular),
            Err(error) => self.end(reading.decoder, StreamEnd::Broken(error)),
        }
    }

    async fn decode(&mut self, mut reading: Box<ReplyReading>, chunk: &[u8]) -> CallPhase {
        let mut deltas = Vec::new();
        let before = reading.decoder.progress();
        let pushed = reading.decoder.push(chunk, &mut deltas);
        self.queue(deltas);
        if let Err(error) = pushed {
            return self.fail(error);
        }
        if reading.decoder.is_complete() {
            let _ = timeout(GRACE, reading.source.chunk()).await;
            return self.end(reading.decoder, StreamEnd::Regular);
        }
        if reading.decoder.progress() > before {
            reading.waiting_for = WaitingFor::NextBytes;
            reading.limit = self.client.limits.idle;
            reading.since = Instant::now();
        } else if reading.since.elapsed() >= reading.limit {
            // Bytes that are always there never let the wait for them run out.
            let late = self.late(reading.waiting_for, reading.limit);
            return self.end(reading.decoder, StreamEnd::Broken(late));
        }
        CallPhase::Reading(reading)
    }

    /// Ends the call: no more bytes come. A reply that lacks no more than its last formality
    /// is taken, however they ended.
    fn end(&mut self, mut decoder: ReplyDecoder, end: StreamEnd) -> CallPhase {
        let mut deltas = Vec::new();
        let closed = decoder.close(&mut deltas);
        self.queue(deltas);
        match (closed.and_then(|()| decoder.finish()), end) {
            (Ok(reply), _) => {
                self.ready.push_back(Ok(StreamEvent::Done(reply)));
                CallPhase::Over
            }
            (Err(LlmError::Cut { .. }), StreamEnd::Broken(error)) => self.fail(error),
            // What the server said itself tells more than how it fell silent.
            (Err(error), _) => self.fail(error),
        }
    }

    fn queue(&mut self, deltas: Vec<ReplyDelta>) {
        let event = |delta| match delta {
            ReplyDelta::Text(text) => StreamEvent::Text(text),
            ReplyDelta::Thinking(thought) => StreamEvent::Thinking(thought),
        };
        self.ready.extend(deltas.into_iter().map(event).map(Ok));
    }

    fn fail(&mut self, error: LlmError) -> CallPhase {
        self.ready.push_back(Err(error.redacted(self.client.key.as_ref())));
        CallPhase::Over
    }

    fn late(&self, waiting_for: WaitingFor, after: Duration) -> LlmError {
        LlmError::TimedOut { url: self.client.url.clone(), waiting_for, after }
    }
}
