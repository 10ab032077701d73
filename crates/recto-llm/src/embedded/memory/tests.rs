//! What a model takes and what there is, on numbers and on texts of the kernel.

use std::collections::HashMap;

use proptest::prelude::*;

use super::linux;
use super::{
    BATCH, LEAST_TOKENS, MemoryFit, MemorySize, STEP, bytes_per_cell, cells, compute_bytes, fit,
    fixed_bytes, kv_bytes_per_token, reserve, sequences,
};
use crate::embedded::gguf::{CacheLayer, ModelFile};

const GB: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// A model with the numbers of `SmolLM2` 135M.
fn small() -> ModelFile {
    ModelFile {
        path: "smollm2.gguf".into(),
        bytes: 98_362_432,
        name: None,
        architecture: "llama".into(),
        trained: Some(8192),
        layers: vec![CacheLayer { kv_heads: 3, key_length: 64, value_length: 64 }; 30],
        heads: 9,
        embedding_length: 576,
        feed_forward: 1536,
        vocabulary: 49152,
        chat_template: None,
        bos: None,
        eos: None,
        sliding_window: None,
        recurrent: false,
        state: 0,
        weights: 96_575_808,
    }
}

/// One with the numbers of a model of 70 billion weights.
fn large() -> ModelFile {
    ModelFile {
        layers: vec![CacheLayer { kv_heads: 8, key_length: 128, value_length: 128 }; 80],
        heads: 64,
        embedding_length: 8192,
        feed_forward: 28672,
        vocabulary: 128_256,
        weights: 40 * GB,
        ..small()
    }
}

#[test]
fn a_token_takes_its_keys_and_values() {
    // llama.cpp: 45 MiB for 2048 tokens.
    assert_eq!(kv_bytes_per_token(&small()) * 2048, 45 * MIB);
    let mut file = small();
    file.layers[0] = CacheLayer { kv_heads: 0, key_length: 64, value_length: 64 };
    file.layers[1] = CacheLayer { kv_heads: 1, key_length: 576, value_length: 0 };
    assert_eq!(kv_bytes_per_token(&file), 28 * 768 + 2 * 576);
}

/// What llama.cpp reserves, measured with `n_ctx` and `n_ubatch` on models of these shapes.
#[test]
fn computing_takes_a_little_less_than_is_reckoned() {
    let shape = |heads, key_length, embedding_length, feed_forward, vocabulary| {
        let layers = vec![CacheLayer { kv_heads: 1, key_length, value_length: key_length }];
        ModelFile { layers, heads, embedding_length, feed_forward, vocabulary, ..small() }
    };
    let llama = shape(32, 128, 4096, 14336, 128_000);
    let qwen = shape(32, 128, 2560, 9728, 151_936);
    let experts = shape(32, 128, 2048, 6144, 151_936);
    let gemma = shape(4, 256, 640, 2048, 262_144);
    for (file, cells, batch, measured) in [
        (&small(), 2048, 64, 13.10),
        (&small(), 8192, 64, 13.71),
        (&small(), 32768, 64, 16.71),
        (&small(), 2048, 512, 104.77),
        (&small(), 32768, 512, 133.64),
        (&llama, 2048, 64, 36.50),
        (&llama, 32768, 256, 165.01),
        (&qwen, 2048, 64, 40.47),
        (&qwen, 32768, 256, 179.38),
        (&experts, 2048, 64, 39.85),
        (&experts, 32768, 256, 174.38),
        (&gemma, 2048, 64, 65.19),
        (&gemma, 32768, 256, 275.13),
    ] {
        let reckoned = compute_bytes(file, cells, batch) as f64 / MIB as f64;
        let fits = measured..measured * 1.75;
        assert!(fits.contains(&reckoned), "{cells} {batch}: {reckoned} for {measured}");
    }
}

#[test]
fn what_fits_is_as_much_as_memory_allows() {
    let file = small();
    let has = 4 * GB;
    let MemoryFit { largest } = fit(&file, Some(has)).unwrap();
    let takes =
        |tokens: u32| fixed_bytes(&file) + bytes_per_cell(&file) * u64::from(tokens) + reserve(has);
    assert!(takes(largest) <= has && takes(largest + STEP) > has, "{largest}");
    assert_eq!(largest % STEP, 0);
    assert!(largest > 8192, "more than it was trained for");
    assert!(fit(&file, None).unwrap().largest >= 1 << 30);
}

#[test]
fn a_model_that_is_too_large_is_told_with_both_numbers() {
    let too_large = fit(&large(), Some(22 * GB)).unwrap_err();
    assert_eq!(too_large.to_string(), "the model needs about 43 GB of memory, and 22 GB are free");
    assert_eq!(too_large.has, 22 * GB);
    assert!(too_large.hint().contains("smaller model"));
    assert!(fit(&large(), Some(64 * GB)).is_ok());
    assert!(fit(&small(), Some(0)).is_err());
}

#[test]
fn the_state_of_recurrent_models_counts_for_each_sequence() {
    let states = |state| {
        let file = ModelFile { recurrent: true, state, ..small() };
        (sequences(&file), fixed_bytes(&file) - fixed_bytes(&small()))
    };
    assert_eq!(sequences(&small()), 16);
    assert_eq!(states(MIB), (16, 16 * MIB));
    // With fewer sequences there are fewer scores to keep.
    let scores = 49152 * 4;
    assert_eq!(states(50 * MIB), (5, 250 * MIB - 11 * scores));
    assert_eq!(states(1 << 40), (2, (2 << 40) - 14 * scores));
}

#[test]
fn the_cache_has_room_for_several_windows_where_memory_does() {
    let file = small();
    assert_eq!(cells(&file, Some(64 * GB), 8192), 2 * 8192);
    assert_eq!(cells(&file, Some(64 * GB), 1000), 2 * 1024);
    assert_eq!(cells(&file, Some(0), 1000), 1024);
    assert_eq!(cells(&file, Some(64 * GB), 0), 2 * 256);
    // Half a gigabyte is left beyond the first window, and a quarter of it may be taken.
    let first = fixed_bytes(&file) + bytes_per_cell(&file) * 8192;
    let has = first + 512 * MIB + GB / 2;
    let more = GB / 8 / bytes_per_cell(&file);
    let expected = 8192 + u32::try_from(more).unwrap() / STEP * STEP;
    assert_eq!(cells(&file, Some(has), 8192), expected);
    // Where nobody knows, a little more than the window.
    let unknown = cells(&file, None, 8192);
    assert!((8192 + 4096..=2 * 8192).contains(&unknown), "{unknown}");
}

proptest! {
    /// Whatever a header says and whatever there is: no overflow, and nothing beyond what is there.
    #[test]
    fn any_numbers_can_be_reckoned_with(
        layers in prop::collection::vec(any::<(u32, u32, u32)>(), 0..8),
        [heads, embedding_length, feed_forward, vocabulary] in any::<[u32; 4]>(),
        [state, weights] in any::<[u64; 2]>(),
        has in any::<Option<u64>>(),
        window in any::<u32>(),
    ) {
        let layers = layers.into_iter().map(|(kv_heads, key_length, value_length)| {
            CacheLayer { kv_heads, key_length, value_length }
        });
        let layers = layers.collect();
        let file = ModelFile {
            layers, heads, embedding_length, feed_forward, vocabulary, state, weights, ..small()
        };
        let cells = cells(&file, has, window);
        prop_assert!(cells.is_multiple_of(STEP));
        prop_assert!(u64::from(cells) <= 4 * u64::from(window.max(1)).next_multiple_of(256));
        prop_assert!(cells >= window.min(u32::MAX / STEP * STEP));
        match (fit(&file, has), has) {
            (Ok(MemoryFit { largest }), Some(has)) => {
                prop_assert!(largest >= LEAST_TOKENS && largest.is_multiple_of(STEP));
                let takes = bytes_per_cell(&file) * u64::from(largest) + fixed_bytes(&file);
                prop_assert!(takes <= has - reserve(has));
            }
            (Err(too_large), has) => {
                prop_assert_eq!(Some(too_large.has), has);
                prop_assert!(too_large.needs > too_large.has || too_large.needs == u64::MAX);
            }
            (Ok(_), None) => {}
        }
        compute_bytes(&file, window, BATCH);
    }
}

#[test]
fn sizes_are_short() {
    let cases = [
        (0, "0 MB"),
        (49_600_000, "50 MB"),
        (999_400_000, "999 MB"),
        (999_600_000, "1.0 GB"),
        (1_440_000_000, "1.4 GB"),
        (9_960_000_000, "10 GB"),
        (41 * GB, "41 GB"),
        (1_500 * GB, "1.5 TB"),
        (u64::MAX, "18 EB"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(MemorySize(bytes).to_string(), expected);
    }
}

/// What Linux has available with these files.
fn available(files: &[(&str, &str)]) -> Option<u64> {
    let files: HashMap<_, _> = files.iter().copied().collect();
    linux::available(&|path| files.get(path).map(|text| (*text).to_owned()))
}

const MEMINFO: (&str, &str) = (
    "/proc/meminfo",
    "MemTotal:       24684100 kB\nMemFree:        18676796 kB\nMemAvailable:   20000000 kB\n",
);
const MACHINE: u64 = 20_000_000 * 1024;
const GROUP: &str = "/proc/self/cgroup";

#[test]
fn the_machine_says_what_is_available() {
    assert_eq!(available(&[MEMINFO]), Some(MACHINE));
    assert_eq!(available(&[]), None);
    for text in ["", "MemFree: 1 kB\n", "MemAvailable: many kB\n", "MemAvailable: 5\n"] {
        assert_eq!(available(&[("/proc/meminfo", text)]), None, "{text:?}");
    }
    let beyond = format!("MemAvailable: {} kB\n", u64::MAX);
    assert_eq!(available(&[("/proc/meminfo", &beyond)]), None);
}

#[test]
fn a_container_may_leave_less() {
    let second = [
        MEMINFO,
        (GROUP, "0::/user/recto\n"),
        ("/sys/fs/cgroup/user/recto/memory.max", "max\n"),
        ("/sys/fs/cgroup/user/recto/memory.current", "1000\n"),
        ("/sys/fs/cgroup/user/memory.max", "5000000000\n"),
        ("/sys/fs/cgroup/user/memory.current", "3000000000\n"),
        ("/sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file 400\nactive_file 100\n"),
    ];
    assert_eq!(available(&second), Some(2_000_000_500));

    let first = [
        MEMINFO,
        (GROUP, "5:cpu,cpuacct:/a\n4:memory:/docker/1f\n0::/\n"),
        ("/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "3000000000\n"),
        ("/sys/fs/cgroup/memory/docker/1f/memory.usage_in_bytes", "1000000000\n"),
        (
            "/sys/fs/cgroup/memory/docker/1f/memory.stat",
            "inactive_file 7\ntotal_inactive_file 30\ntotal_active_file 12\n",
        ),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "4000000000\n"),
    ];
    assert_eq!(available(&first), Some(2_000_000_042));
}

#[test]
fn a_container_that_sees_only_itself_is_found_at_the_top() {
    for group in ["0::/\n", "0::/docker/1f\n", "0::/../../other\n"] {
        let files = [
            MEMINFO,
            (GROUP, group),
            ("/sys/fs/cgroup/memory.max", "1000\n"),
            ("/sys/fs/cgroup/memory.current", "400\n"),
        ];
        assert_eq!(available(&files), Some(600), "{group}");
    }
}

#[test]
fn groups_without_limits_or_with_nonsense_change_nothing() {
    for (limit, used) in [("max", "1"), ("", "1"), ("lots", "1"), ("1000", "some"), ("-1", "1")] {
        let files = [
            MEMINFO,
            (GROUP, "0::/a\nnonsense\n::\n"),
            ("/sys/fs/cgroup/a/memory.max", limit),
            ("/sys/fs/cgroup/a/memory.current", used),
        ];
        assert_eq!(available(&files), Some(MACHINE), "{limit} {used}");
    }
    let full = [
        MEMINFO,
        (GROUP, "0::/a\n"),
        ("/sys/fs/cgroup/a/memory.max", "1000\n"),
        ("/sys/fs/cgroup/a/memory.current", "2000\n"),
    ];
    assert_eq!(available(&full), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_has_memory() {
    assert!(super::available().is_some_and(|bytes| bytes > 64 * MIB));
}
