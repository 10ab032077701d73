//! The machine that figures were taken on, as far as it tells.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::thread::available_parallelism;

use serde::Serialize;

/// What one needs to know of a machine to judge its figures.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MachineFacts {
    /// Cores this process may use.
    cores: usize,
    processor: Option<String>,
    /// Operating system and architecture.
    system: String,
    /// Load average over one minute, before the run.
    load_before: Option<f64>,
    /// The profile this program was built with.
    profile: &'static str,
}

impl MachineFacts {
    /// Looks at the machine as it is now.
    pub(super) fn detect() -> Self {
        let read = |path| fs::read_to_string(path).ok();
        MachineFacts {
            cores: available_parallelism().map_or(1, usize::from),
            processor: read("/proc/cpuinfo").and_then(|text| processor(&text)),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            load_before: load_now(),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }
}

/// How many threads a model is run with: one for each core that this process may
/// use, as the engine has it.
pub(super) fn cores() -> usize {
    let allowed = available_parallelism().map_or(1, usize::from);
    let folders = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let siblings = folders.filter_map(|folder| {
        fs::read_to_string(folder.path().join("topology/thread_siblings_list")).ok()
    });
    match siblings.collect::<HashSet<String>>().len() {
        0 => allowed,
        cores => cores.min(allowed),
    }
}

/// What this process has in memory, in bytes.
pub(super) fn resident() -> Option<f64> {
    resident_in(&fs::read_to_string("/proc/self/status").ok()?)
}

fn resident_in(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// The load average over the last minute.
pub(super) fn load_now() -> Option<f64> {
    load(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn processor(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn load(loadavg: &str) -> Option<f64> {
    loadavg.split_whitespace().next()?.parse().ok()
}

impl fmt::Display for MachineFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MachineFacts { cores, system, profile, .. } = self;
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        write!(f, "{profile} build, {cores} cores, {processor}, {system}")?;
        self.load_before.map_or(Ok(()), |load| write!(f, ", load {load:.2} before"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_where_they_are() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Fast One\n";
        assert_eq!(processor(cpuinfo).as_deref(), Some("Fast One"));
        assert_eq!(processor("cpu: none"), None);
        assert_eq!(load("0.50 0.40 0.30 1/99 7"), Some(0.5));
        assert_eq!(load(""), None);
        assert_eq!(resident_in("Name:\tx\nVmRSS:\t    12 kB\n"), Some(12_288.0));
        assert_eq!(resident_in("Name:\tx\n"), None);
    }
}
