//! The thread of a model: loads it, keeps what it has read, and answers.

use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Receiver;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use serde_json::{Value, json};

use super::detokenizer::Detokenizer;
use super::sampler::TokenSampler;
use super::tokenizer::{SpecialTokens, tokenize_prompt, with_beginning};
use super::{EngineJob, backend, processor};
use crate::embedded::ModelSource;
use crate::embedded::gguf::ModelFile;
use crate::embedded::memory;
use crate::embedded::pool::{Rewind, SequencePlan, SequencePool};
use crate::embedded::repetition::ReplyProgress;
use crate::embedded::stop_texts::{StopVerdict, StopWatch, TokenizedText};
use crate::error::LlmError;

/// How much of a prompt is read at a time: between two chunks a call can be
/// cancelled. A small model reads a larger one in the same time, and more of them
/// slow it down; a large one takes seconds for the smallest. It goes by the model
/// and not by the clock, because where a prompt is cut changes the last digits of
/// what the model makes of it, and the same prompt shall give the same reply.
fn chunk(file: &ModelFile) -> usize {
    const SMALL: u64 = 512 << 20;
    const MIDDLING: u64 = 2 << 30;
    match file.weights {
        0..SMALL => 256,
        SMALL..MIDDLING => 128,
        _ => 64,
    }
}

/// Answers jobs until nobody can send any more. What the model is loaded with is told in `window`.
pub(super) fn run_worker(source: &ModelSource, jobs: &Receiver<EngineJob>, window: &AtomicU32) {
    let mut loaded = None;
    let mut next = jobs.recv().ok();
    while let Some(job) = next {
        next = match load(&mut loaded, source) {
            Ok((model, memory)) => {
                let source = ModelSource { memory: *memory, ..source.clone() };
                serve(model, &source, job, jobs, window)
            }
            Err(error) => {
                job.fail(error);
                jobs.recv().ok()
            }
        };
    }
}

/// The model, loaded when it is first needed, and the memory that there was before
/// that. Other models may have taken of it since the file was looked at.
fn load<'a>(
    loaded: &'a mut Option<(LlamaModel, Option<u64>)>,
    source: &ModelSource,
) -> Result<&'a (LlamaModel, Option<u64>), LlmError> {
    if let Some(loaded) = loaded {
        return Ok(loaded);
    }
    let memory = memory::available();
    let file = &source.file;
    memory::fit(file, memory).map_err(|problem| LlmError::NoMemory { problem })?;
    let model = LlamaModel::load_from_file(backend()?, &file.path, &LlamaModelParams::default())
        .map_err(|_| LlmError::Engine {
            problem: format!("it does not take the model {}", file.path.display()),
        })?;
    Ok(loaded.insert((model, memory)))
}

/// Answers jobs with one context. Gives back a job that needs a larger one.
fn serve(
    model: &LlamaModel,
    source: &ModelSource,
    first: EngineJob,
    jobs: &Receiver<EngineJob>,
    window: &AtomicU32,
) -> Option<EngineJob> {
    let mut runner = match ModelRunner::new(model, source, first.request.window) {
        Ok(runner) => runner,
        Err(error) => {
            first.fail(error);
            return jobs.recv().ok();
        }
    };
    window.store(runner.window, Ordering::Relaxed);
    let mut job = first;
    loop {
        if let Err(error) = runner.answer(&job) {
            job.fail(error);
        }
        job = jobs.recv().ok()?;
        if job.request.window > runner.window {
            return Some(job);
        }
    }
}

impl EngineJob {
    fn fail(&self, error: LlmError) {
        // Whoever asked may have gone.
        let _ = self.replies.send(Err(error));
    }

    fn send(&self, frame: &Value) {
        let _ = self.replies.send(Ok(format!("{frame}\n").into_bytes()));
    }

    fn is_cancelled(&self) -> bool {
        self.replies.is_closed()
    }

    fn send_text(&self, pieces: Vec<TokenizedText>) {
        for TokenizedText { text, tokens } in pieces {
            self.send(&json!({ "text": text, "tokens": tokens }));
        }
    }
}

/// The text of a reply on its way out, up to where it is to end.
struct OutgoingText<'j> {
    job: &'j EngineJob,
    detokenizer: Detokenizer,
    watch: StopWatch,
}

impl OutgoingText<'_> {
    fn new(job: &EngineJob) -> OutgoingText<'_> {
        let watch = StopWatch::new(&job.request.reply.stop);
        OutgoingText { job, detokenizer: Detokenizer::default(), watch }
    }

    /// Adds a token. Whether the reply ends with it, because a text stands there at which it is to.
    fn push(&mut self, token: LlamaToken, bytes: &[u8]) -> bool {
        match self.detokenizer.push(token, bytes) {
            Some(piece) => self.send(piece),
            None => false,
        }
    }

    /// Sends what is left. Whether it ended at a text after all.
    fn close(&mut self) -> bool {
        let is_over = self.detokenizer.flush().is_some_and(|piece| self.send(piece));
        if !is_over {
            self.job.send_text(self.watch.flush());
        }
        is_over
    }

    fn send(&mut self, piece: TokenizedText) -> bool {
        let (ready, is_over) = match self.watch.push(piece) {
            StopVerdict::GoOn(ready) => (ready, false),
            StopVerdict::Stopped(ready) => (ready, true),
        };
        self.job.send_text(ready);
        is_over
    }
}

/// A model with what it has read.
struct ModelRunner<'m> {
    model: &'m LlamaModel,
    context: LlamaContext<'m>,
    batch: LlamaBatch<'m>,
    specials: SpecialTokens,
    pool: SequencePool,
    window: u32,
    chunk: usize,
}

/// How a reply came to its end.
enum GenerationEnd {
    /// The model was done.
    Stop,
    /// There was no more room.
    Length,
    /// It went in circles, and was ended.
    Repetition,
    /// Whoever asked has gone.
    Cancelled,
}

impl GenerationEnd {
    /// How a reply ended that the model was done with: of itself, or because it was brought there.
    fn from_progress(progress: ReplyProgress) -> Self {
        match progress {
            ReplyProgress::Forward => GenerationEnd::Stop,
            ReplyProgress::Circle { .. } => GenerationEnd::Repetition,
        }
    }
}

impl<'m> ModelRunner<'m> {
    fn new(model: &'m LlamaModel, source: &ModelSource, window: u32) -> Result<Self, LlmError> {
        let file = &source.file;
        source.check_window(window)?;
        let cells = memory::cells(file, source.memory, window);
        let chunk = chunk(file);
        let sequences = memory::sequences(file);
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZero::new(cells))
            .with_n_batch(chunk as u32)
            .with_n_ubatch(chunk as u32)
            .with_n_seq_max(sequences)
            // The cells belong to all sequences, so that copies can share them.
            .with_kv_unified(true)
            // Models that look at a window of their own keep all the same what
            // is behind it, or nothing could be taken back.
            .with_swa_full(true)
            .with_n_threads(processor::threads())
            .with_n_threads_batch(processor::threads());
        let context = model.new_context(backend()?, parameters).map_err(|_| LlmError::Engine {
            problem: format!("it has no context of {cells} tokens for the model"),
        })?;
        let is_recurrent = model.is_recurrent() || model.is_hybrid();
        let rewind = if is_recurrent { Rewind::Never } else { Rewind::Anywhere };
        let cells = context.n_ctx() as usize;
        Ok(ModelRunner {
            model,
            batch: LlamaBatch::new(chunk, 1),
            specials: SpecialTokens::from_vocab(&model.vocab(), file),
            pool: SequencePool::new(sequences as usize, cells, rewind),
            context,
            window,
            chunk,
        })
    }

    fn answer(&mut self, job: &EngineJob) -> Result<(), LlmError> {
        if job.is_cancelled() {
            return Ok(());
        }
        let prompt = self.prompt(job)?;
        let room = job.request.window as usize - prompt.len();
        let most = room.min(job.request.max_tokens as usize);
        let mut sampler = TokenSampler::new(self.model, &job.request, job.seed)?;
        let plan = self.prepare(job, &prompt, most);
        let answered = self.read_prompt(job, &prompt, &plan).and_then(|last| match last {
            Some(last) => self.write_reply(job, &mut sampler, &plan, last, prompt.len(), most),
            None => Ok((GenerationEnd::Cancelled, 0)),
        });
        let (ended, written) = answered.inspect_err(|_| self.give_up(plan.sequence))?;
        let finish = match ended {
            GenerationEnd::Stop => "stop",
            GenerationEnd::Length => "length",
            GenerationEnd::Repetition => "repetition",
            GenerationEnd::Cancelled => return Ok(()),
        };
        let done = json!({
            "finish": finish,
            "prompt": prompt.len(),
            "cached": plan.cached,
            "completion": written,
        });
        job.send(&json!({ "done": done }));
        Ok(())
    }

    /// The tokens of the prompt, if there is room for them and for a reply.
    fn prompt(&self, job: &EngineJob) -> Result<Vec<i32>, LlmError> {
        let vocab = self.model.vocab();
        let tokens = tokenize_prompt(&vocab, &self.specials, &job.request.prompt);
        let prompt: Vec<i32> =
            with_beginning(&vocab, tokens).into_iter().map(|token| token.0).collect();
        let window = job.request.window;
        if prompt.is_empty() {
            return Err(LlmError::Engine { problem: "there is nothing to read".to_owned() });
        }
        if prompt.len() >= window as usize {
            return Err(LlmError::ContextOverflow {
                sent: u32::try_from(prompt.len()).ok(),
                window: Some(window),
                message: format!("{} tokens of prompt, and a window of {window}", prompt.len()),
            });
        }
        Ok(prompt)
    }

    /// Finds a sequence for the prompt, and makes the context agree with it.
    fn prepare(&mut self, job: &EngineJob, prompt: &[i32], reply: usize) -> SequencePlan {
        let mut plan = self.pool.plan(job.cache_key, prompt, reply);
        let sequence = plan.sequence as u32;
        if let Some(other) = plan.copied_from {
            self.clear(plan.sequence, 0);
            // Positions that are too large for it can't occur: a window is smaller.
            let _ = self.context.copy_kv_cache_seq(
                other as i32,
                sequence as i32,
                None,
                Some(plan.cached as u32),
            );
        }
        if !self.clear(plan.sequence, plan.cached) {
            // A model that can't take anything back after all is read to anew.
            self.pool.forget(plan.sequence);
            self.clear(plan.sequence, 0);
            plan = SequencePlan { cached: 0, ..plan };
        }
        for emptied in &plan.emptied {
            self.clear(*emptied, 0);
        }
        plan
    }

    /// Empties a sequence from a position on. Whether that was possible.
    fn clear(&mut self, sequence: usize, from: usize) -> bool {
        let from = (from > 0).then_some(from as u32);
        self.context.clear_kv_cache_seq(Some(sequence as u32), from, None).unwrap_or(false)
    }

    fn give_up(&mut self, sequence: usize) {
        self.pool.forget(sequence);
        self.clear(sequence, 0);
    }

    /// Reads what is not there yet of the prompt, chunk by chunk. Gives the place
    /// of the last token in the last chunk; none if the call was cancelled.
    fn read_prompt(
        &mut self,
        job: &EngineJob,
        prompt: &[i32],
        plan: &SequencePlan,
    ) -> Result<Option<i32>, LlmError> {
        let mut from = plan.cached;
        for chunk in prompt[plan.cached..].chunks(self.chunk) {
            if job.is_cancelled() {
                return Ok(None);
            }
            self.decode(plan.sequence, from, chunk)?;
            let read = from + chunk.len();
            if read == prompt.len() {
                self.pool.note_prompt(plan.sequence, from);
            }
            from = read;
            job.send(&json!({ "read": read }));
        }
        Ok(Some(self.batch.n_tokens() - 1))
    }

    /// Writes the reply, token by token, and says how it ended and how long it is.
    fn write_reply(
        &mut self,
        job: &EngineJob,
        sampler: &mut TokenSampler<'_>,
        plan: &SequencePlan,
        mut last: i32,
        start: usize,
        most: usize,
    ) -> Result<(GenerationEnd, usize), LlmError> {
        let vocab = self.model.vocab();
        let mut text = OutgoingText::new(job);
        for written in 0..most {
            if job.is_cancelled() {
                return Ok((GenerationEnd::Cancelled, written));
            }
            let token = sampler.next(&self.context, last, most - written)?;
            if vocab.is_eog(token) {
                text.close();
                return Ok((GenerationEnd::from_progress(sampler.progress()), written));
            }
            if !vocab.is_control(token)
                && text.push(token, &vocab.token_to_piece(token, false, None))
            {
                return Ok((GenerationEnd::Stop, written + 1));
            }
            if sampler.gives_up() {
                text.close();
                return Ok((GenerationEnd::Repetition, written + 1));
            }
            if written + 1 < most {
                self.decode(plan.sequence, start + written, &[token.0])?;
                last = 0;
            }
        }
        let ended = if text.close() { GenerationEnd::Stop } else { GenerationEnd::Length };
        Ok((ended, most))
    }

    /// Lets the model read `tokens` at the end of a sequence.
    fn decode(&mut self, sequence: usize, at: usize, tokens: &[i32]) -> Result<(), LlmError> {
        let problem = |what: String| LlmError::Engine { problem: what };
        self.batch.clear();
        for (index, token) in tokens.iter().enumerate() {
            let is_last = index + 1 == tokens.len();
            let position = (at + index) as i32;
            self.batch
                .add(LlamaToken(*token), position, &[sequence as i32], is_last)
                .map_err(|error| problem(error.to_string()))?;
        }
        self.context.decode(&mut self.batch).map_err(|error| problem(error.to_string()))?;
        self.pool.extend(sequence, tokens);
        Ok(())
    }
}
