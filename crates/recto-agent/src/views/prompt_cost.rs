//! What a prompt took and how much of it was cached, counted in one way for every surface.

use recto_context::{CachedPrefix, RecordOutline, ServedTokens, Tokens};
use recto_store::RequestRecord;

use super::json::cached_prefix;

/// Who says how much of a prompt was cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheSource {
    /// The server counted what came from its cache.
    Server,
    /// The server did not say; so far the prompt agrees with the one before it.
    RequestBefore,
    /// Nobody: the server did not say, and there is no request before.
    Nobody,
}

impl CacheSource {
    /// Who says it of a prompt of which this is known.
    pub fn from_prefix(prefix: &CachedPrefix) -> Self {
        match (prefix.served, prefix.agreed_bytes) {
            (Some(_), _) => CacheSource::Server,
            (None, Some(_)) => CacheSource::RequestBefore,
            (None, None) => CacheSource::Nobody,
        }
    }

    /// The word for what need not be read again.
    pub fn cached_word(self) -> &'static str {
        match self {
            CacheSource::Server => "cached",
            CacheSource::RequestBefore | CacheSource::Nobody => "as before",
        }
    }
}

/// What a prompt took by Recto's own count, in which layers add up to the whole, and what of it
/// was cached. A server's count of its cache is taken as a share of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct PromptCost {
    pub prompt: Tokens,
    pub cached: Tokens,
    pub source: CacheSource,
}

impl PromptCost {
    /// The cost of a recorded request, of which the outline tells.
    pub fn new(request: &RequestRecord, outline: &RecordOutline) -> Self {
        let prefix = cached_prefix(request);
        let prompt = outline.prompt_tokens();
        let source = CacheSource::from_prefix(&prefix);
        let cached = match prefix.served {
            Some(served) => served_share(prompt, served),
            None => agreed_tokens(request),
        };
        PromptCost { prompt, cached: cached.min(prompt), source }
    }

    /// What had to be read.
    pub fn fresh(&self) -> Tokens {
        self.prompt - self.cached
    }

    /// The cost in a line: `2,347 tokens: 280 fresh, 2,067 cached`.
    pub fn describe(&self) -> String {
        let PromptCost { prompt, cached, source } = self;
        match source {
            CacheSource::Nobody => format!("{prompt} tokens, all fresh"),
            _ => {
                let (fresh, word) = (self.fresh(), source.cached_word());
                format!("{prompt} tokens: {fresh} fresh, {cached} {word}")
            }
        }
    }
}

/// The part of our count that is to it as what the server had cached is to the server's count.
fn served_share(prompt: Tokens, served: ServedTokens) -> Tokens {
    let [ours, whole, cached] =
        [prompt, served.prompt, served.cached].map(|tokens| u64::from(tokens.get()));
    let share = ours * cached.min(whole) / whole.max(1);
    Tokens::new(u32::try_from(share).unwrap_or(u32::MAX))
}

fn agreed_tokens(request: &RequestRecord) -> Tokens {
    let agreed = request.notes["prefix"]["agreed_tokens"].as_u64();
    Tokens::new(agreed.and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_cache_reaches_as_far_as_its_share() {
        let served = |prompt, cached| ServedTokens {
            prompt: Tokens::new(prompt),
            cached: Tokens::new(cached),
        };
        let share = |prompt, cached| served_share(Tokens::new(2_347), served(prompt, cached));
        assert_eq!(share(2_100, 1_850), Tokens::new(2_067));
        assert_eq!(share(2_100, 9_000), Tokens::new(2_347));
        assert_eq!(share(0, 0), Tokens::ZERO);
    }

    #[test]
    fn the_line_says_what_is_known() {
        let cost = |source, cached| PromptCost {
            prompt: Tokens::new(2_347),
            cached: Tokens::new(cached),
            source,
        };
        let told = cost(CacheSource::Server, 2_067).describe();
        assert_eq!(told, "2,347 tokens: 280 fresh, 2,067 cached");
        let told = cost(CacheSource::RequestBefore, 2_000).describe();
        assert_eq!(told, "2,347 tokens: 347 fresh, 2,000 as before");
        assert_eq!(cost(CacheSource::Nobody, 0).describe(), "2,347 tokens, all fresh");
    }
}
