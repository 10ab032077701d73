//! The processor: whether the engine can run on it, and on how many cores.

use std::num::NonZero;
use std::thread::available_parallelism;

use crate::error::LlmError;

/// Fails on a processor that lacks what the engine was built for. It would stop
/// with an illegal instruction, which no error can be made of.
pub(super) fn check() -> Result<(), LlmError> {
    match missing() {
        missing if missing.is_empty() => Ok(()),
        missing => Err(LlmError::Processor { missing: missing.join(", ") }),
    }
}

#[cfg(target_arch = "x86_64")]
fn missing() -> Vec<&'static str> {
    let needed = [
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("FMA", is_x86_feature_detected!("fma")),
        ("F16C", is_x86_feature_detected!("f16c")),
        ("BMI2", is_x86_feature_detected!("bmi2")),
    ];
    needed.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn missing() -> Vec<&'static str> {
    Vec::new()
}

/// How many threads to work with: one for each core. Two threads on one core only
/// get in each other's way, but where the cores can't be told from the threads,
/// or the process may use fewer, what it may use counts.
pub(super) fn threads() -> i32 {
    let allowed = available_parallelism().map_or(1, NonZero::get);
    let threads = cores().map_or(allowed, |cores| cores.min(allowed));
    i32::try_from(threads.max(1)).unwrap_or(1)
}

/// The cores that the system names.
#[cfg(target_os = "linux")]
fn cores() -> Option<usize> {
    let processors = std::fs::read_dir("/sys/devices/system/cpu").ok()?;
    let siblings = processors.flatten().filter_map(|processor| {
        std::fs::read_to_string(processor.path().join("topology/thread_siblings_list")).ok()
    });
    let cores: std::collections::HashSet<String> = siblings.collect();
    (!cores.is_empty()).then_some(cores.len())
}

#[cfg(not(target_os = "linux"))]
fn cores() -> Option<usize> {
    None
}
