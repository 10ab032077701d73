//! What a model is built like, as far as memory depends on it.
//!
//! Follows llama.cpp where it sizes its caches, and is on the careful side where a file does not
//! say enough. What llama.cpp would end the whole process over is refused here.

use super::metadata::GgufMetadata;
use super::problem::{GgufFault, GgufResult, damaged};
use super::reader::shown;

/// llama.cpp's limits; beyond them it ends the process.
const MOST_LAYERS: u32 = 512;
const MOST_EXPERTS: u32 = 1024;
/// The ways to stretch positions that llama.cpp knows; with another it ends the process.
const ROPE_SCALINGS: [&str; 4] = ["none", "linear", "yarn", "longrope"];

/// Architectures that keep a state instead of a cache, in all layers or in some.
#[rustfmt::skip]
const RECURRENT: [&str; 24] = [
    "arwkv7", "bailingmoe3", "deepseek4", "falcon-h1", "glm5-next", "granitehybrid", "jamba",
    "kimi-k3", "kimi-linear", "lfm2", "lfm2moe", "mamba", "mamba2", "minimax-01", "nemotron_h",
    "nemotron_h_moe", "plamo2", "qwen35", "qwen35moe", "qwen3next", "qwen4exp", "rwkv6",
    "rwkv6qwen2", "rwkv7",
];
/// The same of architectures that are not known by name.
const RECURRENT_KEYS: [&str; 4] = ["ssm.", "wkv.", "kda.", "shortconv."];

/// What one layer keeps in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheLayer {
    /// Heads with keys and values of their own; none where a layer keeps nothing.
    pub(crate) kv_heads: u32,
    /// The numbers in a key of one head.
    pub(crate) key_length: u32,
    /// The numbers in a value of one head; none where it is made from the key.
    pub(crate) value_length: u32,
}

/// The numbers of a model that its memory depends on.
#[derive(Debug)]
pub(super) struct ModelShape {
    pub(super) trained: Option<u32>,
    pub(super) layers: Vec<CacheLayer>,
    pub(super) heads: u32,
    pub(super) embedding_length: u32,
    pub(super) feed_forward: u32,
    pub(super) sliding_window: Option<u32>,
    pub(super) recurrent: bool,
    pub(super) state: u64,
}

impl ModelShape {
    pub(super) fn read(metadata: &GgufMetadata, architecture: &str) -> GgufResult<Self> {
        let keys = ArchitectureKeys { metadata, architecture };
        let embedding_length = keys.required("embedding_length")?;
        let count = keys.layers()?;
        let heads = keys.each("attention.head_count", count)?.unwrap_or_else(|| vec![0; count]);
        let layers = keys.caches(embedding_length, &heads)?;
        let heads = heads.into_iter().max().unwrap_or(0);
        keys.check_experts(count)?;
        keys.check_rope()?;
        let recurrent = keys.is_recurrent();
        Ok(ModelShape {
            trained: keys.number("context_length")?.filter(|trained| *trained > 0),
            heads,
            embedding_length,
            feed_forward: keys.feed_forward(count)?,
            sliding_window: keys.number("attention.sliding_window")?.filter(|window| *window > 0),
            recurrent,
            state: if recurrent { keys.state(embedding_length, heads, &layers)? } else { 0 },
            layers,
        })
    }
}

/// The keys of one architecture.
struct ArchitectureKeys<'a> {
    metadata: &'a GgufMetadata,
    architecture: &'a str,
}

impl ArchitectureKeys<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    fn number(&self, name: &str) -> GgufResult<Option<u32>> {
        self.metadata.number(&self.key(name))
    }

    fn number_or(&self, name: &str, default: u32) -> GgufResult<u32> {
        Ok(self.number(name)?.unwrap_or(default))
    }

    fn required(&self, name: &str) -> GgufResult<u32> {
        self.number(name)?.filter(|number| *number > 0).ok_or_else(|| {
            GgufFault::damaged(format!("it does not say `{}`", shown(self.key(name).as_bytes())))
        })
    }

    fn each(&self, name: &str, layers: usize) -> GgufResult<Option<Vec<u32>>> {
        self.metadata.for_layers(&self.key(name), layers)
    }

    fn layers(&self) -> GgufResult<usize> {
        let layers = self.required("block_count")?;
        let ahead = self.number_or("nextn_predict_layers", 0)?;
        if layers > MOST_LAYERS || ahead > layers {
            return damaged(format!(
                "it claims to have {layers} layers, {ahead} of them to look ahead"
            ));
        }
        Ok(layers as usize)
    }

    fn caches(&self, embedding_length: u32, heads: &[u32]) -> GgufResult<Vec<CacheLayer>> {
        let count = heads.len();
        let kv_heads = self.each("attention.head_count_kv", count)?;
        let kv_heads = kv_heads.unwrap_or_else(|| heads.to_vec());
        let most_heads = heads.iter().copied().max().unwrap_or(0);
        let usual = embedding_length.checked_div(most_heads).unwrap_or(0);
        let full = self.lengths("", [usual; 2])?;
        let sliding = self.lengths("_swa", full)?;
        let slides = self.metadata.flags(&self.key("attention.sliding_window_pattern"), count);
        let keeps = self.keeps(count)?;
        let layer = |(at, kv_heads): (usize, u32)| {
            let [key_length, value_length] = match slides.as_ref().map(|slides| slides[at]) {
                Some(true) => sliding,
                Some(false) => full,
                None => [full[0].max(sliding[0]), full[1].max(sliding[1])],
            };
            let kv_heads = if keeps[at] { kv_heads } else { 0 };
            CacheLayer { kv_heads, key_length, value_length }
        };
        Ok(kv_heads.into_iter().enumerate().map(layer).collect())
    }

    /// The numbers in a key and in a value.
    fn lengths(&self, suffix: &str, [key, value]: [u32; 2]) -> GgufResult<[u32; 2]> {
        let key = self.number_or(&format!("attention.key_length{suffix}"), key)?;
        let value = self.number_or(&format!("attention.value_length{suffix}"), value)?;
        // Latent attention keeps one vector, of which both are made; sparse attention keeps
        // another key beside it, to find the tokens that matter.
        let latent = self.number_or("attention.key_length_mla", 0)? > 0
            && self.number_or("attention.value_length_mla", 0)? > 0;
        let finder =
            if suffix.is_empty() { self.number_or("attention.indexer.key_length", 0)? } else { 0 };
        Ok([key.saturating_add(finder), if latent { 0 } else { value }])
    }

    /// Which layers keep keys and values of their own.
    fn keeps(&self, count: usize) -> GgufResult<Vec<bool>> {
        let shared = self.number_or("attention.shared_kv_layers", 0)? as usize;
        let ahead = self.number_or("nextn_predict_layers", 0)? as usize;
        let every = self.number_or("full_attention_interval", 1)?.max(1) as usize;
        let recurrent = self.metadata.flags(&self.key("attention.recurrent_layers"), count);
        let keeps = |at: usize| {
            let attends = recurrent.as_ref().map_or((at + 1).is_multiple_of(every), |r| !r[at]);
            (attends || at + ahead >= count) && at + shared < count
        };
        Ok((0..count).map(keeps).collect())
    }

    /// How many numbers a token becomes at the widest place of a layer.
    fn feed_forward(&self, layers: usize) -> GgufResult<u32> {
        let widest = |name| {
            Ok::<_, GgufFault>(self.each(name, layers)?.into_iter().flatten().max().unwrap_or(0))
        };
        let dense = widest("feed_forward_length")?;
        let experts = widest("expert_feed_forward_length")?
            .saturating_mul(widest("expert_used_count")?)
            .saturating_add(self.number_or("expert_shared_feed_forward_length", 0)?);
        Ok(dense.max(experts))
    }

    fn check_experts(&self, layers: usize) -> GgufResult<()> {
        let experts = self.number_or("expert_count", 0)?;
        let used = self.each("expert_used_count", layers)?.into_iter().flatten().max().unwrap_or(0);
        let groups = self.number_or("expert_group_count", 0)?;
        let used_groups = self.number_or("expert_group_used_count", 0)?;
        let fits = match (experts, groups) {
            (0, _) => used == 0 && groups == 0,
            (_, 0 | 1) => (1..=experts).contains(&used) && groups < experts,
            _ => {
                (1..=experts).contains(&used)
                    && groups < experts
                    && experts.is_multiple_of(groups)
                    && (1..groups).contains(&used_groups)
            }
        };
        // These two set their experts straight themselves before it comes to that.
        let lenient = experts == 1 && matches!(self.architecture, "hunyuan-dense" | "hunyuan_vl");
        if experts > MOST_EXPERTS || !(fits || lenient) {
            return damaged(format!(
                "it claims to use {used} of {experts} experts, \
                 and {used_groups} of {groups} groups of them"
            ));
        }
        Ok(())
    }

    fn check_rope(&self) -> GgufResult<()> {
        match self.metadata.text(&self.key("rope.scaling.type"))? {
            Some(scaling) if !ROPE_SCALINGS.contains(&scaling) => damaged(format!(
                "it stretches positions in the unknown way `{}`",
                shown(scaling.as_bytes())
            )),
            _ => Ok(()),
        }
    }

    fn is_recurrent(&self) -> bool {
        RECURRENT.contains(&self.architecture)
            || RECURRENT_KEYS.iter().any(|start| self.metadata.any(&self.key(start)))
    }

    /// The bytes of the state that a sequence keeps instead of a cache, however long it is.
    fn state(&self, embedding_length: u32, heads: u32, layers: &[CacheLayer]) -> GgufResult<u64> {
        let number = |name, default| self.number_or(name, default).map(u64::from);
        let [embedding, heads] = [embedding_length, heads].map(u64::from);
        let kernel = number("ssm.conv_kernel", 0)?;
        let inner = number("ssm.inner_size", 0)?;
        let depth = number("ssm.state_size", 0)?;
        let wkv = number("wkv.head_size", 0)?;
        let delta = number("kda.head_dim", 0)?;
        let short = number("shortconv.l_cache", 0)?;
        let mixed = depth.saturating_mul(number("ssm.group_count", 0)?).saturating_mul(2);
        let numbers = [
            (kernel.saturating_sub(1)).saturating_mul(inner.saturating_add(mixed)),
            inner.saturating_mul(depth),
            wkv.saturating_add(number("token_shift_count", 2)?).saturating_mul(embedding),
            short.saturating_sub(1).saturating_mul(embedding),
            heads.saturating_mul(delta).saturating_mul(delta.saturating_add(12)),
        ];
        let numbers = numbers.into_iter().fold(0_u64, u64::saturating_add);
        // Some models have layers of both kinds in turn, some both in each layer.
        let without_cache = layers.iter().filter(|layer| layer.kv_heads == 0).count();
        let with_state = if without_cache == 0 { layers.len() } else { without_cache };
        Ok(numbers.saturating_mul(4).saturating_mul(with_state as u64))
    }
}
