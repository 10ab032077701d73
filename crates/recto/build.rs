//! Packs the program's relocations where the C library can read them packed.
//!
//! There are some ninety thousand, and the loader reads each of them: two megabytes of a program
//! that stands by idle. Packed they are a fortieth. glibc reads them so since 2.36; a program
//! with packed ones does not start on an older one.

use std::env;
use std::process::Command;

/// The first glibc that reads packed relocations.
const FIRST_GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if is_for_this_machine() && glibc().is_some_and(|version| version >= FIRST_GLIBC) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the program is built for Linux with glibc, and to be run where it is built.
fn is_for_this_machine() -> bool {
    let var = |name| env::var(name).unwrap_or_default();
    var("CARGO_CFG_TARGET_OS") == "linux"
        && var("CARGO_CFG_TARGET_ENV") == "gnu"
        && var("TARGET") == var("HOST")
}

/// The version of this machine's glibc: `getconf` says "glibc 2.36".
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
