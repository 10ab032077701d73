//! What a server need not read again of a request: laid over its tools and parts.
//!
//! There are two witnesses. The request before says exactly, byte for byte, how far a cache
//! could reach. The server says how many tokens it took from its own; which ones they are
//! follows from their being the first.

use std::ops::Add;

use crate::context::RequestContext;
use crate::layout::ToolCalls;
use crate::page::ChatMessage;
use crate::tokens::Tokens;

/// How much of a request's beginning was known to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CachedPrefix {
    /// In how many bytes it agrees with the request before; absent where there was none.
    pub agreed_bytes: Option<usize>,
    /// What the server counted, if it did.
    pub served: Option<ServedTokens>,
}

/// The tokens of a prompt as its server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedTokens {
    /// All of the prompt.
    pub prompt: Tokens,
    /// What of it came from the cache.
    pub cached: Tokens,
}

/// What was cached of a part or a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CachedShare {
    /// Bytes that agree with the request before; a part's join not counted.
    pub bytes: usize,
    /// Its tokens, if all of it agrees.
    pub agreed: Tokens,
    /// Its tokens that lie within what the server had cached, by our own counts.
    pub served: Tokens,
}

impl Add<&CachedShare> for CachedShare {
    type Output = CachedShare;

    fn add(self, other: &CachedShare) -> CachedShare {
        CachedShare {
            bytes: self.bytes + other.bytes,
            agreed: self.agreed + other.agreed,
            served: self.served + other.served,
        }
    }
}

/// What was cached of each tool and each part, in their orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedShares {
    /// Of the offered tools.
    pub tools: Vec<CachedShare>,
    /// Of the parts of the page.
    pub parts: Vec<CachedShare>,
}

impl RequestContext {
    /// Lays what was cached over the tools and parts, in the order in which servers read them.
    pub fn cached_shares(&self, prefix: &CachedPrefix) -> CachedShares {
        let mut shares = CachedShares {
            tools: vec![CachedShare::default(); self.tools.len()],
            parts: vec![CachedShare::default(); self.parts.len()],
        };
        let behind_tools = self.share_tools(prefix.agreed_bytes.unwrap_or_default(), &mut shares);
        self.share_parts(behind_tools, &mut shares);
        self.share_served(prefix.served, &mut shares);
        shares
    }

    /// Gives the tools their agreed bytes; returns what is left of them.
    fn share_tools(&self, mut agreed: usize, shares: &mut CachedShares) -> usize {
        let schemas = self.tools.iter().filter(|_| self.tool_calls == ToolCalls::Native);
        for (tool, share) in schemas.zip(&mut shares.tools) {
            let length = tool.spec.schema.len();
            share.bytes = agreed.min(length);
            share.agreed = if share.bytes == length { tool.tokens } else { Tokens::ZERO };
            agreed -= share.bytes;
        }
        agreed
    }

    fn share_parts(&self, mut agreed: usize, shares: &mut CachedShares) {
        let places = self.part_places();
        for message in &self.messages {
            // Whether one without a byte agrees, bytes can't tell.
            let whole = agreed > 0 && message.compared_bytes() <= agreed;
            for (at, span) in message.spans.iter().enumerate() {
                let (Some(part), Some(place)) = (self.parts.get(span.part), places.get(span.part))
                else {
                    continue;
                };
                let length = place.bytes.len();
                let bytes = agreed.saturating_sub(place.bytes.start).min(length);
                let is_last = at + 1 == message.spans.len();
                let ends_here = !is_last || !holds_more(message);
                let is_whole = whole || (bytes == length && length > 0 && ends_here);
                shares.parts[span.part] = CachedShare {
                    bytes: if whole { length } else { bytes },
                    agreed: if is_whole { part.tokens } else { Tokens::ZERO },
                    served: Tokens::ZERO,
                };
            }
            if !whole {
                break;
            }
            agreed -= message.compared_bytes();
        }
    }

    /// The server's tokens are not ours, so its cache reaches as far as its share of the prompt.
    fn share_served(&self, served: Option<ServedTokens>, shares: &mut CachedShares) {
        let Some(ServedTokens { prompt, cached }) = served else { return };
        let [ours, prompt, cached] =
            [self.prompt_tokens(), prompt, cached].map(|tokens| u64::from(tokens.get()));
        let reach = ours * cached.min(prompt) / prompt.max(1);
        let mut left = Tokens::new(u32::try_from(reach).unwrap_or(u32::MAX));
        let tools = self.tools.iter().map(|tool| tool.tokens).zip(&mut shares.tools);
        let parts = self.parts.iter().map(|part| part.tokens).zip(&mut shares.parts);
        for (tokens, share) in tools.chain(parts) {
            share.served = tokens.min(left);
            left = left - share.served;
        }
    }
}

/// Whether a message has more than its first text: images, further texts, calls.
fn holds_more(message: &ChatMessage) -> bool {
    message.content.len() > 1 || !message.calls.is_empty()
}
