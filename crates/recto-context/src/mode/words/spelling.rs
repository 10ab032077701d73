//! What a stretch of text without white space is spelled like: a file, a path, an address, a flag.
//!
//! It goes by the characters alone, and never asks whether the file or the address exists.

use super::lex::TokenKind;
use super::lists;

/// What a stretch without white space is spelled like, if it is not ordinary words.
pub(super) fn spelling(core: &str) -> Option<TokenKind> {
    let core = core.strip_suffix("'s").or_else(|| core.strip_suffix("’s")).unwrap_or(core);
    if is_address(core) {
        return Some(TokenKind::Address);
    }
    if is_flag(core) {
        return Some(TokenKind::Flag);
    }
    if is_number_like(core) && !has_known_extension(core) {
        return None;
    }
    let bare = without_position(core);
    if bare.contains(['/', '\\']) || bare.starts_with('~') {
        return is_path(bare).then_some(TokenKind::Path);
    }
    is_file_name(bare).then_some(TokenKind::FileName)
}

fn is_address(core: &str) -> bool {
    if core.contains("://") || core.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www."))
    {
        return true;
    }
    if let Some((name, domain)) = core.split_once('@') {
        return !name.is_empty() && domain.contains('.');
    }
    let host = core.split('/').next().unwrap_or_default();
    host.rsplit_once('.').is_some_and(|(name, top)| {
        name.chars().count() > 1 && lists::TOP_LEVEL_DOMAINS.has(&top.to_ascii_lowercase())
    }) && !lists::PRODUCTS_SPELLED_LIKE_FILES.has(&core.to_ascii_lowercase())
}

/// `--force` or `--out=x`; also `-la`, which the judge believes only behind a program's name.
fn is_flag(core: &str) -> bool {
    let Some(name) = core.strip_prefix('-') else { return false };
    match name.strip_prefix('-') {
        Some(long) => long.len() >= 2 && long.starts_with(|c: char| c.is_ascii_alphabetic()),
        None => (1..=4).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphabetic()),
    }
}

/// Without the `:12:5` that compilers and editors append to a file name.
pub(super) fn without_position(core: &str) -> &str {
    let bare = core.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    if bare.len() < core.len() && core[bare.len()..].starts_with(':') { bare } else { core }
}

/// A slash alone proves nothing (`and/or`, `he/she`, `24/7`): a path is anchored, ends in a slash
/// or a file name, or starts in a directory of a usual name.
fn is_path(core: &str) -> bool {
    let mut parts = core.split(['/', '\\']);
    let first = parts.next().unwrap_or_default();
    let next = parts.next();
    let last = core.rsplit(['/', '\\']).next().unwrap_or_default();
    let named = |part: &str| part.chars().filter(|c| is_word_char(*c)).take(2).count() == 2;
    let Some(next) = next else { return core == "~" };
    match first {
        "" if core.starts_with('/') => {
            named(next) && next.starts_with(|c: char| is_word_char(c) || c == '.')
        }
        "" => core.starts_with("\\\\") && core.chars().any(char::is_alphanumeric),
        "." | ".." | "~" => true,
        _ if first.starts_with('~') || first.starts_with('$') => named(first),
        _ if is_drive(first) => core.contains('\\') || core.contains(":/"),
        _ if last.is_empty() => named(first),
        _ => {
            is_file_name(last)
                || is_file_name(first)
                || lists::DIRECTORIES.has(&first.to_lowercase())
        }
    }
}

fn is_drive(first: &str) -> bool {
    first.len() == 2 && first.ends_with(':') && first.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn is_file_name(core: &str) -> bool {
    let lower = core.to_lowercase();
    if lists::PRODUCTS_SPELLED_LIKE_FILES.has(&lower) {
        return false;
    }
    if let Some(hidden) = lower.strip_prefix('.') {
        return lists::DOT_FILES.has(hidden)
            || lists::EXTENSIONS.has(hidden)
            || has_known_extension(hidden)
            || hidden.starts_with("env.");
    }
    has_known_extension(&lower)
}

/// An extension may run into a script that is written without spaces (`打开config.json并…`), so only
/// its ASCII part is compared.
fn has_known_extension(name: &str) -> bool {
    let Some((stem, tail)) = name.rsplit_once('.') else { return false };
    let end = tail.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tail.len());
    let runs_on = tail[end..].starts_with(|c: char| c.is_ascii());
    let last_part = stem.rsplit('.').next().unwrap_or_default();
    // `Washington D.C` and `J.R` have a letter where a file has a name.
    let long_enough = end > 1 || last_part.chars().count() > 1;
    !runs_on
        && !last_part.is_empty()
        && long_enough
        && lists::EXTENSIONS.has(&tail[..end].to_ascii_lowercase())
}

/// `1.4.2`, `3/4/2025`, `24/7`, `e.g`, `Node.js`: cutting them up would make words that nobody
/// wrote.
pub(super) fn is_one_word(core: &str) -> bool {
    is_number_like(core)
        || is_abbreviation(core)
        || lists::PRODUCTS_SPELLED_LIKE_FILES.has(&core.to_ascii_lowercase())
}

fn is_number_like(core: &str) -> bool {
    let digits = core.strip_prefix(['v', 'V', '$', '€', '£']).unwrap_or(core);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || "./:,-+%°".contains(c))
}

/// Letters with dots between (`e.g`, `U.S`), or one of the short forms that are written with a dot.
pub(super) fn is_abbreviation(core: &str) -> bool {
    let dotted = core.contains('.') && core.split('.').all(|part| part.chars().count() == 1);
    dotted || (core.len() <= 6 && lists::ABBREVIATIONS.has(&core.to_ascii_lowercase()))
}

/// Letters and digits of any script, and the marks that combine with them.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric()
        || c == '_'
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{65f}' | '\u{200c}' | '\u{200d}')
}
