//! Clips names that a model wrote, so that they can be repeated to it.

/// No name is longer than this.
const LONGEST: usize = 64;

/// `asked` as it can be repeated to the model: not longer than a name may be.
pub(crate) fn clip_name(asked: &str) -> &str {
    &asked[..asked.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_repeated_in_part() {
        assert_eq!(clip_name("read_file"), "read_file");
        assert_eq!(clip_name(&"ä".repeat(100)), "ä".repeat(32));
        assert_eq!(clip_name(&format!("a{}", "ä".repeat(100))), format!("a{}", "ä".repeat(31)));
    }
}
