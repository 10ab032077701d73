//! What PostgreSQL writes in another way than SQLite does. The operations are written so that
//! this is little.

/// A hint for SQLite, whose planner needs it where a table may be damaged.
const INDEX_HINT: &str = " INDEXED BY ";

/// The statement of an operation as PostgreSQL takes it: places are `$1` instead of `?1`, and no
/// index is named.
pub(super) fn translate(sql: &str) -> String {
    let mut translated = String::with_capacity(sql.len());
    let mut quote: Option<char> = None;
    let mut rest = sql;
    while let Some(next) = rest.chars().next() {
        if quote.is_none() && rest.starts_with(INDEX_HINT) {
            let named = &rest[INDEX_HINT.len()..];
            let end = named.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            rest = &named[end.unwrap_or(named.len())..];
            continue;
        }
        match (next, quote) {
            ('\'' | '"', None) => quote = Some(next),
            (_, Some(open)) if open == next => quote = None,
            _ => {}
        }
        translated.push(if next == '?' && quote.is_none() { '$' } else { next });
        rest = &rest[next.len_utf8()..];
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbered_and_hints_left_out() {
        let check = |sql: &str, expected: &str| assert_eq!(translate(sql), expected);
        check(
            "SELECT a FROM t WHERE b = ?1 AND c < ?12",
            "SELECT a FROM t WHERE b = $1 AND c < $12",
        );
        check(
            "SELECT id FROM t INDEXED BY some_index WHERE a = ?1",
            "SELECT id FROM t WHERE a = $1",
        );
        check(
            "SELECT id FROM t\n WHERE a = '?1 it''s' OR \"?\" = ?2",
            "SELECT id FROM t\n WHERE a = '?1 it''s' OR \"?\" = $2",
        );
        check("", "");
    }
}
