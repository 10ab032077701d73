//! A clock of the wall that can be put forward and back under a gateway that runs. The gateway knows
//! nothing of it: a library that Debian has, libfaketime, stands between it and the system. What a
//! machine counts from its start goes on as it does when somebody sets a real clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// The file in a home that says by how much its clock is wrong.
const FILE: &str = "clock";

/// The library.
#[derive(Debug, Clone)]
pub(super) struct ClockShifter {
    library: PathBuf,
}

impl ClockShifter {
    /// Finds the library.
    pub(super) fn find() -> Result<Self> {
        let folders = fs::read_dir("/usr/lib")?.flatten().map(|entry| entry.path());
        let mut libraries = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
        let library = libraries.find(|library| library.exists());
        let library = library.ok_or("libfaketime was not found: apt-get install libfaketime")?;
        Ok(ClockShifter { library })
    }

    /// Puts a program that is to be started under the clock of its home.
    pub(super) fn stand_before(&self, program: &mut Command, home: &Path) {
        program
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", home.join(FILE))
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
}

/// Sets the clock of a home so many seconds forward, or back.
pub(super) fn set_clock(home: &Path, seconds: i64) -> Result<()> {
    // It is read while it is written: so it is whole under its name or not there.
    let new = home.join("clock.new");
    fs::write(&new, format!("{seconds:+}\n"))?;
    Ok(fs::rename(new, home.join(FILE))?)
}
