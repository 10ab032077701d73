//! Chooses the next token.

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use llama_cpp_2::vocab::LlamaVocab;
use recto_context::text_before_calls;

use super::grammar::{self, GrammarDetail};
use super::tokenizer::tokens_say;
use crate::embedded::repetition::{GuardedToken, LoopDetector, RepetitionGuard, ReplyProgress};
use crate::error::LlmError;
use crate::reply_rules::{ReplyFormat, ReplyRules};
use crate::wire::embedded::{CallRules, EmbeddedRequest, PromptSegment};

/// How freely a model chooses its words when nobody has said: small models lose
/// their way soon.
const TEMPERATURE: f64 = 0.2;

/// How much of the probable words it chooses from when nobody has said.
const TOP_P: f64 = 0.9;

/// Small models also repeat themselves. What was among the last words counts for
/// a little less, where the words are not to be the most probable ones anyway.
const REPEATED: f32 = 1.1;
const LAST_WORDS: i32 = 64;

/// How many tokens before the end of the room a call is brought to its end.
const WRAP_UP: usize = 48;

/// Chooses the tokens of one reply.
pub(super) struct TokenSampler<'m> {
    model: &'m LlamaModel,
    sampler: LlamaSampler,
    grammar: Option<LlamaSampler>,
    /// Against what the model wrote before; the sampler's own penalty knows single words only.
    guard: RepetitionGuard,
    detector: LoopDetector,
    progress: ReplyProgress,
}

impl<'m> TokenSampler<'m> {
    /// As the request says.
    pub(super) fn new(
        model: &'m LlamaModel,
        request: &EmbeddedRequest,
        seed: u32,
    ) -> Result<Self, LlmError> {
        let grammar = match (request.forced_call(), request.format()) {
            (Some(calls), _) => Some(constraint(model, calls)?),
            (None, Some(format)) => Some(form_constraint(model, format)?),
            (None, None) => None,
        };
        // A call is no place for fancy.
        let usual = if grammar.is_some() { 0.0 } else { TEMPERATURE };
        let temperature = request.temperature.unwrap_or(usual);
        let sampler = if temperature > 0.0 {
            LlamaSampler::chain_simple([
                penalties(model, &request.reply),
                LlamaSampler::top_k(40),
                LlamaSampler::top_p(request.top_p.unwrap_or(TOP_P) as f32, 1),
                LlamaSampler::temp(temperature as f32),
                LlamaSampler::dist(seed),
            ])
        } else {
            LlamaSampler::chain_simple([LlamaSampler::greedy()])
        };
        // What was called before may have to be called again.
        let guard = match grammar {
            Some(_) => RepetitionGuard::default(),
            None => guard_replies(model, &request.prompt),
        };
        let (detector, progress) = (LoopDetector::default(), ReplyProgress::Forward);
        Ok(TokenSampler { model, sampler, grammar, guard, detector, progress })
    }

    /// The next token, after the one at place `index` of the last batch. `left` is
    /// how many more there is room for.
    pub(super) fn next(
        &mut self,
        context: &LlamaContext<'_>,
        index: i32,
        left: usize,
    ) -> Result<LlamaToken, LlmError> {
        let mut candidates = context.token_data_array_ith(index);
        self.lower_repetitions(&mut candidates);
        let is_closing = left <= WRAP_UP || self.progress != ReplyProgress::Forward;
        let token = match &mut self.grammar {
            None => choose(candidates, &mut self.sampler),
            Some(grammar) if is_closing => last_words(candidates, grammar, self.model),
            Some(grammar) => constrained(candidates, &mut self.sampler, grammar),
        };
        let token = token.ok_or_else(nothing_to_say)?;
        self.accept(token)?;
        Ok(token)
    }

    /// Lowers the scores of what would repeat the model's own words.
    fn lower_repetitions(&self, candidates: &mut LlamaTokenDataArray) {
        for (token, penalty) in self.guard.penalties() {
            // They come in the order of their ids.
            let place = usize::try_from(token).ok();
            let candidate = place.and_then(|place| candidates.data.get_mut(place));
            if let Some(candidate) = candidate.filter(|candidate| candidate.id().0 == token) {
                candidate.set_logit(candidate.logit() - penalty);
            }
        }
    }

    fn accept(&mut self, token: LlamaToken) -> Result<(), LlmError> {
        self.sampler.accept(token);
        if let Some(grammar) = &mut self.grammar {
            grammar.try_accept(token).map_err(|_| nothing_to_say())?;
        }
        self.guard.push(guarded(&self.model.vocab(), token.0));
        if self.progress == ReplyProgress::Forward {
            self.progress = self.detector.push(token.0);
        }
        Ok(())
    }

    /// Whether the reply goes in circles. A call is brought to its end then, by what
    /// is chosen from here on; other words are not worth going on with.
    pub(super) fn progress(&self) -> ReplyProgress {
        self.progress
    }

    /// Whether nothing worth reading would follow.
    pub(super) fn gives_up(&self) -> bool {
        self.grammar.is_none() && self.progress != ReplyProgress::Forward
    }
}

/// A guard that knows the model's earlier replies in a prompt. Calls are no replies: the same one
/// may be right again.
fn guard_replies(model: &LlamaModel, prompt: &[PromptSegment]) -> RepetitionGuard {
    let vocab = model.vocab();
    let mut guard = RepetitionGuard::default();
    for segment in prompt {
        if let PromptSegment::Reply { text, tokens } = segment
            && text_before_calls(text).len() == text.len()
            && tokens_say(&vocab, tokens, text)
        {
            guard.push_reply(tokens.iter().map(|token| guarded(&vocab, *token)));
        }
    }
    guard
}

fn guarded(vocab: &LlamaVocab<'_>, token: i32) -> GuardedToken {
    GuardedToken::new(token, &vocab.token_to_piece(LlamaToken(token), false, None))
}

/// What holds the model to one call. A schema that is too much for the grammar
/// leaves an object of whatever the model makes up, and what is wrong with that is
/// told to it like any other mistake.
fn constraint(model: &LlamaModel, calls: &CallRules) -> Result<LlamaSampler, LlmError> {
    let hold = |detail| LlamaSampler::grammar(model, &grammar::call_grammar(calls, detail), "root");
    hold(GrammarDetail::Schema).or_else(|_| hold(GrammarDetail::AnyObject)).map_err(|error| {
        LlmError::Engine {
            problem: format!("it cannot hold the model to the tools' schemas: {error}"),
        }
    })
}

/// What holds the model to a form.
fn form_constraint(model: &LlamaModel, format: &ReplyFormat) -> Result<LlamaSampler, LlmError> {
    let mut grammars = grammar::reply_grammars(format)?.into_iter();
    let held = grammars.find_map(|rules| LlamaSampler::grammar(model, &rules, "root").ok());
    held.ok_or_else(|| LlmError::ReplyFormat {
        problem: "the schema is too much for the grammar of an embedded model".to_owned(),
    })
}

/// What was among the last words counts for less: by how much, a client may say.
fn penalties(model: &LlamaModel, rules: &ReplyRules) -> LlamaSampler {
    let [frequency, presence] =
        [rules.frequency_penalty, rules.presence_penalty].map(|it| it.unwrap_or_default() as f32);
    LlamaSampler::penalties(model.n_vocab(), LAST_WORDS, REPEATED, frequency, presence)
}

fn nothing_to_say() -> LlmError {
    LlmError::Engine { problem: "the model has no way to go on".to_owned() }
}

fn choose(mut candidates: LlamaTokenDataArray, sampler: &mut LlamaSampler) -> Option<LlamaToken> {
    candidates.apply_sampler(sampler);
    candidates.selected_token()
}

/// What the model would say anyway, if the grammar allows it: looking at one token
/// is far cheaper than at all of them. Else the best of what it allows.
fn constrained(
    mut candidates: LlamaTokenDataArray,
    sampler: &mut LlamaSampler,
    grammar: &mut LlamaSampler,
) -> Option<LlamaToken> {
    let wish = choose(candidates.clone(), sampler)?;
    let mut alone = LlamaTokenDataArray::new(vec![LlamaTokenData::new(wish, 1.0, 0.0)], false);
    alone.apply_sampler(grammar);
    if alone.data.iter().any(is_allowed) {
        return Some(wish);
    }
    candidates.apply_sampler(grammar);
    candidates.data.retain(is_allowed);
    // Samplers end the process when there is nothing to choose from.
    if candidates.data.is_empty() { None } else { choose(candidates, sampler) }
}

/// Whatever brings a call to its end soonest. A model that is lost in an argument
/// would otherwise leave a call that nobody can read.
fn last_words(
    mut candidates: LlamaTokenDataArray,
    grammar: &mut LlamaSampler,
    model: &LlamaModel,
) -> Option<LlamaToken> {
    candidates.apply_sampler(grammar);
    let vocab = model.vocab();
    let rank = |candidate: &LlamaTokenData| match vocab.is_eog(candidate.id()) {
        true => ClosingRank::End,
        false => closing(&vocab.token_to_piece(candidate.id(), false, None)),
    };
    let allowed = candidates.data.iter().filter(|each| is_allowed(each));
    let ranked = allowed.map(|candidate| (rank(candidate), candidate));
    let best = ranked.max_by(|(rank, a), (other, b)| {
        rank.cmp(other).then_with(|| a.logit().total_cmp(&b.logit()))
    });
    best.map(|(_, candidate)| candidate.id())
}

fn is_allowed(candidate: &LlamaTokenData) -> bool {
    candidate.logit() > f32::NEG_INFINITY
}

/// How much a token helps to come to an end. Within a string only the quote does,
/// so it comes before brackets, which would only make the string longer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ClosingRank {
    No,
    Comma,
    Bracket,
    Quote,
    End,
}

fn closing(piece: &[u8]) -> ClosingRank {
    let is_closer = |byte: &u8| matches!(byte, b'"' | b'}' | b']');
    match piece.first() {
        Some(b'"') if piece.iter().all(is_closer) => ClosingRank::Quote,
        Some(b'}' | b']') => ClosingRank::Bracket,
        Some(b',') => ClosingRank::Comma,
        _ => ClosingRank::No,
    }
}
