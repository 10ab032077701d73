//! Keeps small what the program holds in memory while nobody talks to it.
//!
//! Two things are given back: what was freed, at once, by an option of the allocator; and pages
//! of the program's own file and of its libraries, which starting touched and standing by does
//! not. The kernel has these in its cache, and maps them again when they are needed.
//!
//! Never touches what the program has written: no page is given back that is not in a file, byte
//! for byte.

// Neither the allocator's options nor `madvise` has a safe door. This is the only file of the
// program in which `unsafe` is allowed, and each of its calls says why it is sound.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::ops::Range;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// How many milliseconds mimalloc keeps freed pages for itself: `mi_option_purge_delay` in its
/// header, which the bindings leave out. A test fails when it gets another number.
const PURGE_DELAY: mi_option_t = 15;

/// Has the allocator give freed pages back at once, unless the environment says otherwise
/// (`MIMALLOC_PURGE_DELAY`). A server that has had many turns would otherwise grow by what it
/// could reuse.
pub(crate) fn purge_freed_at_once() {
    // SAFETY: the number is that of an option, which mimalloc checks as well, and any delay is a
    // good value. It is a plain write, so no other thread may be there: this is called first of
    // all.
    unsafe { mi_option_set_default(PURGE_DELAY, 0) };
}

/// The parts of memory that show the program's file and its libraries, as they were when it began.
#[derive(Debug)]
pub(crate) struct ProgramPages {
    ranges: Vec<Range<usize>>,
}

impl ProgramPages {
    /// Looks where they are. Has to be called while nothing but what the system's loader brought is
    /// mapped as a program: that stays where it is for as long as the process lives. Empty where
    /// the kernel does not say.
    pub(crate) fn find() -> Self {
        ProgramPages { ranges: read_clean_ranges() }
    }

    /// Gives back those of their pages that are as they stand in the file.
    pub(crate) fn release(&self) {
        let clean: BTreeSet<_> =
            read_clean_ranges().into_iter().map(|it| (it.start, it.end)).collect();
        for range in &self.ranges {
            if clean.contains(&(range.start, range.end)) {
                release_range(range);
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn read_clean_ranges() -> Vec<Range<usize>> {
    // Where it can't be read, nothing is given back.
    std::fs::read_to_string("/proc/self/smaps")
        .map(|smaps| clean_ranges(&smaps))
        .unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn read_clean_ranges() -> Vec<Range<usize>> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn release_range(range: &Range<usize>) {
    use rustix::mm::{Advice, madvise};

    let start = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: the range is a private mapping of a program's file that can't be written and has no
    // anonymous page, in memory or swapped out: none of it was ever changed, so each page that goes comes back from the file
    // with the bytes it has now. That it is not writable is not enough: relocated pages (RELRO) are
    // made read-only later and hold addresses that no file has; they count as anonymous. The range
    // was there before any code of ours ran, mapped by the system's loader, which unmaps or changes
    // nothing of what it loaded then: so it is still the same mapping after it was looked at.
    let released = unsafe { madvise(start, range.len(), Advice::LinuxDontNeed) };
    if let Err(error) = released {
        // Locked pages, for one: they stay, and nothing is lost.
        tracing::debug!(%error, "pages of the program could not be given back");
    }
}

#[cfg(not(target_os = "linux"))]
fn release_range(_range: &Range<usize>) {}

/// A part of memory, as `/proc/self/smaps` tells of it.
struct MappedRange<'a> {
    range: Range<usize>,
    /// Such as `r-xp`.
    rights: &'a str,
    inode: &'a str,
    path: &'a str,
    /// How many of its kinds of changed pages are known to be none: those in memory, and those
    /// that are swapped out.
    without_changed: usize,
}

/// The fields that say how much of a mapping is not as the file has it. A page that was changed and
/// then swapped out counts to the second alone.
const CHANGED_PAGES: [&str; 2] = ["Anonymous", "Swap"];

/// The mappings that show files of programs (those of which a part can be executed), are private
/// and not writable, and have no page of their own.
fn clean_ranges(smaps: &str) -> Vec<Range<usize>> {
    let mappings = parse_mappings(smaps);
    let programs: BTreeSet<&str> =
        mappings.iter().filter(|it| it.rights == "r-xp").map(|it| it.inode).collect();
    let is_clean = |it: &MappedRange<'_>| {
        it.without_changed == CHANGED_PAGES.len()
            && matches!(it.rights, "r--p" | "r-xp")
            && it.inode != "0"
            && it.path.starts_with('/')
            && programs.contains(it.inode)
    };
    mappings.into_iter().filter(is_clean).map(|it| it.range).collect()
}

fn parse_mappings(smaps: &str) -> Vec<MappedRange<'_>> {
    let mut mappings: Vec<MappedRange<'_>> = Vec::new();
    for line in smaps.lines() {
        if let Some(mapping) = parse_header(line) {
            mappings.push(mapping);
        } else if let Some((field, size)) = line.split_once(':')
            && let Some(mapping) = mappings.last_mut()
            && CHANGED_PAGES.contains(&field)
        {
            mapping.without_changed += usize::from(size.trim() == "0 kB");
        }
    }
    mappings
}

/// Reads the first line of a mapping: `start-end rights offset device inode path`.
fn parse_header(line: &str) -> Option<MappedRange<'_>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let address = |hex| usize::from_str_radix(hex, 16).ok();
    let range = address(start)?..address(end)?;
    let (rights, _offset, _device) = (words.next()?, words.next()?, words.next()?);
    let (inode, path) = (words.next()?, words.next().unwrap_or_default());
    Some(MappedRange { range, rights, inode, path, without_changed: 0 })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// A program with relocated pages, one of its libraries, a file that is only read, and others.
    const SMAPS: &str = "\
55d0c0000000-55d0c0400000 r--p 00000000 08:01 77                         /opt/my apps/recto
Size:               4096 kB
Rss:                1024 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me sd
55d0c0400000-55d0c1400000 r-xp 00400000 08:01 77                         /opt/my apps/recto
Rss:               16384 kB
Anonymous:             0 kB
Swap:                  0 kB
55d0c1400000-55d0c1480000 r--p 01400000 08:01 77                         /opt/my apps/recto
Rss:                 512 kB
Anonymous:           512 kB
Swap:                  0 kB
55d0c1480000-55d0c1490000 rw-p 01480000 08:01 77                         /opt/my apps/recto
Anonymous:             0 kB
Swap:                  0 kB
7f0000000000-7f0000100000 r-xp 00000000 08:01 88                         /usr/lib/libstdc++.so.6 (deleted)
Anonymous:             0 kB
Swap:                  0 kB
7f0000200000-7f0000300000 r-xp 00000000 08:01 99                         /usr/lib/patched.so
Anonymous:             4 kB
Swap:                  0 kB
7f0000300000-7f0000380000 r--p 00000000 08:01 99                         /usr/lib/patched.so
Anonymous:             0 kB
Swap:                  4 kB
7f0000380000-7f0000400000 r--p 00000000 08:01 99                         /usr/lib/patched.so
Anonymous:             0 kB
SwapPss:               0 kB
7f0000400000-7f0000500000 r--p 00000000 08:01 11                         /usr/lib/locale/locale-archive
Anonymous:             0 kB
Swap:                  0 kB
7f0000600000-7f0000700000 r-xs 00000000 08:01 77                         /opt/my apps/recto
Anonymous:             0 kB
Swap:                  0 kB
7f0000800000-7f0000900000 r--p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
7f0000900000-7f0000a00000 r--p 00000000 08:01 77                         /opt/my apps/recto
Rss:                   4 kB
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
Swap:                  0 kB
";

    #[test]
    fn only_unchanged_pages_of_programs_are_given_back() {
        let clean =
            clean_ranges(SMAPS).into_iter().map(|it| format!("{:x}-{:x}\n", it.start, it.end));
        expect![[r#"
            55d0c0000000-55d0c0400000
            55d0c0400000-55d0c1400000
            7f0000000000-7f0000100000
        "#]]
        .assert_eq(&clean.collect::<String>());
    }

    #[test]
    fn what_can_not_be_read_is_left_alone() {
        for smaps in ["", "Anonymous: 0 kB", "no-hex r-xp 0 0 1 /a", "1-2 r-xp"] {
            let smaps = format!("{smaps}\nAnonymous: 0 kB\nSwap: 0 kB");
            assert!(clean_ranges(&smaps).is_empty(), "{smaps}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_program_goes_on_after_its_pages_were_given_back() {
        let pages = ProgramPages::find();
        assert!(!pages.ranges.is_empty(), "the program's own text is found");
        for _ in 0..3 {
            pages.release();
            // Texts, tables and code of the program, and of the C library.
            let made = serde_json::json!({ "now": jiff::Timestamp::now().to_string() }).to_string();
            assert!(made.starts_with("{\"now\":"), "{made}");
            std::thread::spawn(|| "another thread".repeat(3)).join().unwrap();
        }
    }

    /// Fails when mimalloc gives its options other numbers.
    #[test]
    fn freed_pages_are_given_back_at_once() {
        // SAFETY: reads an option by its number.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1_000, "its default");
        purge_freed_at_once();
        assert_eq!(delay(), 0);
    }
}
