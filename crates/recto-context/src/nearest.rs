//! "Did you mean": the known name that is nearest to one that is not. People and
//! models make the same slips.

/// Names longer than this are no typing mistakes, and comparing them is slow.
const MAX_COMPARED: usize = 64;

/// The known name that `asked` was probably meant to be. Case, `_` and `-` make
/// no difference; of two equally near names the first wins.
pub fn nearest_name<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One slip in a short name, one more for every four letters of a longer one.
    nearest_within(asked, known, |letters| 1 + letters / 4)
}

/// The same, where the caller says how many slips a name of so many letters may have.
pub fn nearest_within<'a>(
    asked: &str,
    known: impl IntoIterator<Item = &'a str>,
    slips: impl FnOnce(usize) -> usize,
) -> Option<&'a str> {
    if asked.len() > MAX_COMPARED {
        return None;
    }
    let asked = fold_name(asked);
    let allowed = slips(asked.chars().count());
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&asked, &fold_name(name)), name))
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The known name of which `asked` is a slip, where names that nobody knows are fine, too: at
/// most one slip in a short name, two in one of eight letters or more.
pub fn nearest_slip<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(asked, known, |letters| if letters < 8 { 1 } else { 2 })
}

/// The name without what people vary: case and the marks between words.
pub fn fold_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_other_spellings() {
        let known = ["preset", "picks", "target_tokens"];
        assert_eq!(nearest_name("prest", known), Some("preset"));
        assert_eq!(nearest_name("pikcs", known), Some("picks"));
        assert_eq!(nearest_name("Target-Tokens", known), Some("target_tokens"));
        assert_eq!(nearest_name("TargetToken", known), Some("target_tokens"));
    }

    #[test]
    fn a_slip_is_nearer_than_another_word() {
        let known = ["name", "include", "description"];
        assert_eq!(nearest_slip("inlcude", known), Some("include"));
        assert_eq!(nearest_slip("descritpon", known), Some("description"));
        assert_eq!(nearest_slip("nmae", known), Some("name"));
        for other in ["date", "time", "exclude", "inscription of it"] {
            assert_eq!(nearest_slip(other, known), None, "{other}");
        }
    }

    #[test]
    fn finds_nothing_where_nothing_is_near() {
        let known = ["preset", "picks", "a"];
        assert_eq!(nearest_name("temperature", known), None);
        assert_eq!(nearest_name("", known), None);
        assert_eq!(nearest_name("b", known), None);
        assert_eq!(nearest_name(&"preset".repeat(100_000), known), None);
    }
}
