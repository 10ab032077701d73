//! Days as people ask for them: a file says 2026-03-01, and a question says March.
//!
//! No calendar: whether a month has a 31st makes no difference to a search.

use std::sync::Arc;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// How long `YYYY-MM-DD` is.
const LENGTH: usize = 10;

/// The first day in a text that is written as `YYYY-MM-DD`, in words and as it is.
pub(super) fn spell_day(text: &str) -> Option<Arc<str>> {
    let windows = text.as_bytes().windows(LENGTH);
    let (year, month, day) = windows.into_iter().find_map(parts)?;
    let name = MONTHS[month - 1];
    Some(format!("{day} {name} {year}, {year}-{month:02}-{day:02}").into())
}

/// Whether a file in the folder of memories is named as the notes of a day.
pub(super) fn is_note(file: &str) -> bool {
    file.strip_suffix(".md").is_some_and(|day| parts(day.as_bytes()).is_some())
}

/// Year, month and day.
fn parts(bytes: &[u8]) -> Option<(&str, usize, usize)> {
    let text = str::from_utf8(bytes).ok().filter(|text| text.len() == LENGTH)?;
    let mut parts = text.splitn(3, '-');
    let mut number = |length: usize| {
        let is_number =
            |part: &&str| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
        parts.next().filter(is_number)
    };
    let (year, month, day) = (number(4)?, number(2)?.parse().ok()?, number(2)?.parse().ok()?);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_found_wherever_it_stands() {
        for text in ["2026-03-01", "- [2026-03-01] ", "é 2026-03-01é", "2026-03-01T10:00:00Z"] {
            assert_eq!(spell_day(text).as_deref(), Some("1 March 2026, 2026-03-01"), "{text}");
        }
        for text in ["", "- ", "2026-3-1", "2026-00-10", "2026-10-32", "2026/03/01", "+026-03-01"] {
            assert_eq!(spell_day(text), None, "{text}");
        }
    }
}
