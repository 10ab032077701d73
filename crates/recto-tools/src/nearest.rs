//! "Did you mean": the known name that is nearest to one that is not.

/// Names longer than this are no typing mistakes, and comparing them is slow.
const MAX_COMPARED: usize = 64;

/// The known name that `asked` was probably meant to be. Case, `_` and `-` make
/// no difference; of two equally near names the first wins.
pub(crate) fn nearest<'a>(
    asked: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if asked.len() > MAX_COMPARED {
        return None;
    }
    let asked = folded(asked);
    // One slip in a short name, one more for every four letters of a longer one.
    let allowed = 1 + asked.chars().count() / 4;
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&asked, &folded(name)), name))
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// `asked` as it can be repeated to the model: not longer than a name may be.
pub(crate) fn repeated(asked: &str) -> &str {
    &asked[..asked.floor_char_boundary(MAX_COMPARED)]
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_other_spellings() {
        let known = ["read_file", "write_file", "list_files"];
        assert_eq!(nearest("raed_file", known), Some("read_file"));
        assert_eq!(nearest("ListFiles", known), Some("list_files"));
        assert_eq!(nearest("list-file", known), Some("list_files"));
    }

    #[test]
    fn finds_nothing_where_nothing_is_near() {
        let known = ["read_file", "a"];
        assert_eq!(nearest("weather", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("b", known), None);
        assert_eq!(nearest(&"read_file".repeat(100_000), known), None);
    }

    #[test]
    fn long_names_are_repeated_in_part() {
        assert_eq!(repeated("read_file"), "read_file");
        assert_eq!(repeated(&"ä".repeat(100)), "ä".repeat(32));
        assert_eq!(repeated(&format!("a{}", "ä".repeat(100))), format!("a{}", "ä".repeat(31)));
    }
}
