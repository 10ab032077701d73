//! A number of bytes, as people say it.

use std::fmt;

/// A number of bytes; shown as `820 B`, `466.2 kB`, `98.4 MB`, `1.2 GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
        if self.0 < 1000 {
            return write!(f, "{} B", self.0);
        }
        // In tenths, rounded, so that the last digit is never a lie.
        let mut tenths = self.0.saturating_add(50) / 100;
        let mut unit = 0;
        while tenths >= 10_000 && unit + 1 < UNITS.len() {
            tenths = tenths.saturating_add(500) / 1000;
            unit += 1;
        }
        write!(f, "{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1_000, 466_247, 999_999, 98_362_432, 4_900_000_000];
        assert_eq!(
            sizes.map(|bytes| ByteSize(bytes).to_string()),
            ["0 B", "999 B", "1.0 kB", "466.2 kB", "1.0 MB", "98.4 MB", "4.9 GB"]
        );
        assert!(ByteSize(u64::MAX).to_string().ends_with(" TB"));
    }
}
