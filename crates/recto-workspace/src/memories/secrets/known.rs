//! Secrets of a known form: by their prefix, by their parts, by where they stand in an
//! address.

use super::random::{has_digit, is_varied, is_words};
use super::{Secret, runs};

/// A kind of secret that is told by how it begins.
struct Known {
    what: &'static str,
    prefix: &'static str,
    /// The fewest characters behind the prefix.
    least: usize,
    /// Which characters those are.
    alphabet: Alphabet,
}

#[derive(Clone, Copy)]
enum Alphabet {
    Alphanumeric,
    Upper,
    /// Letters, digits, `-` and `_`.
    Url,
    /// The same and dots.
    Dotted,
}

impl Alphabet {
    fn has(self, c: char) -> bool {
        match self {
            Alphabet::Alphanumeric => c.is_ascii_alphanumeric(),
            Alphabet::Upper => c.is_ascii_uppercase() || c.is_ascii_digit(),
            Alphabet::Url => is_url_safe(c),
            Alphabet::Dotted => is_url_safe(c) || c == '.',
        }
    }
}

const fn known(
    what: &'static str,
    prefix: &'static str,
    least: usize,
    alphabet: Alphabet,
) -> Known {
    Known { what, prefix, least, alphabet }
}

/// Longer prefixes stand before those that they begin with.
const KNOWN: [Known; 54] = {
    use Alphabet::{Alphanumeric, Dotted, Upper, Url};
    [
        known("an Anthropic key", "sk-ant-", 20, Url),
        known("an OpenRouter key", "sk-or-v1-", 20, Url),
        known("an OpenAI key", "sk-proj-", 20, Url),
        known("an OpenAI key", "sk-svcacct-", 20, Url),
        known("an OpenAI key", "sk-admin-", 20, Url),
        known("an OpenAI key", "sk-", 20, Url),
        known("a GitHub token", "ghp_", 30, Alphanumeric),
        known("a GitHub token", "gho_", 30, Alphanumeric),
        known("a GitHub token", "ghu_", 30, Alphanumeric),
        known("a GitHub token", "ghs_", 30, Alphanumeric),
        known("a GitHub token", "ghr_", 30, Alphanumeric),
        known("a GitHub token", "github_pat_", 22, Url),
        known("a GitLab token", "glpat-", 20, Dotted),
        known("a GitLab token", "gldt-", 20, Url),
        known("a GitLab token", "glrt-", 20, Url),
        known("a Slack token", "xoxb-", 16, Url),
        known("a Slack token", "xoxp-", 16, Url),
        known("a Slack token", "xoxa-", 16, Url),
        known("a Slack token", "xoxr-", 16, Url),
        known("a Slack token", "xoxs-", 16, Url),
        known("a Slack token", "xoxe-", 16, Url),
        known("a Slack token", "xoxe.", 16, Url),
        known("a Slack token", "xapp-", 16, Url),
        known("a Stripe key", "sk_live_", 16, Alphanumeric),
        known("a Stripe key", "rk_live_", 16, Alphanumeric),
        known("a Stripe key", "sk_test_", 16, Alphanumeric),
        known("a Stripe key", "rk_test_", 16, Alphanumeric),
        known("a Stripe secret", "whsec_", 16, Alphanumeric),
        known("a Google key", "AIza", 30, Url),
        known("a Google token", "ya29.", 20, Url),
        known("a Google secret", "GOCSPX-", 20, Url),
        known("an AWS key", "AKIA", 16, Upper),
        known("an AWS key", "ASIA", 16, Upper),
        known("an npm token", "npm_", 30, Alphanumeric),
        known("a PyPI token", "pypi-", 30, Url),
        known("a Hugging Face token", "hf_", 30, Alphanumeric),
        known("a Groq key", "gsk_", 30, Alphanumeric),
        known("an xAI key", "xai-", 30, Alphanumeric),
        known("a Perplexity key", "pplx-", 30, Alphanumeric),
        known("a Replicate token", "r8_", 30, Alphanumeric),
        known("a SendGrid key", "SG.", 40, Dotted),
        known("a DigitalOcean token", "dop_v1_", 40, Alphanumeric),
        known("a Docker token", "dckr_pat_", 20, Url),
        known("a Shopify token", "shpat_", 30, Alphanumeric),
        known("a Vault token", "hvs.", 20, Url),
        known("a Databricks token", "dapi", 32, Alphanumeric),
        known("a Linear key", "lin_api_", 30, Alphanumeric),
        known("a Notion token", "ntn_", 30, Alphanumeric),
        known("a Tailscale key", "tskey-", 20, Url),
        known("a New Relic key", "NRAK-", 20, Upper),
        known("a Postman key", "PMAK-", 30, Url),
        known("a Supabase token", "sbp_", 30, Alphanumeric),
        known("a Cloudflare key", "v1.0-", 100, Url),
        known("an age key", "AGE-SECRET-KEY-1", 50, Upper),
    ]
};

/// A block of a private key; without its end, up to the end of the text.
pub(super) fn private_key(text: &str) -> Option<Secret> {
    const DASHES: &str = "-----";
    /// The most bytes from its beginning to the dashes behind its name.
    const NAME: usize = 64;
    let secret = |start: usize, end: usize| {
        let block = &text[start..];
        let rest = block[end..].find("-----END").map_or(block.len(), |at| {
            let line = &block[end + at..];
            end + at + line.find('\n').unwrap_or(line.len())
        });
        Secret { what: "a private key", range: start..start + rest }
    };
    if let Some(start) = text.find("PuTTY-User-Key-File-") {
        return Some(Secret { what: "a private key", range: start..text.len() });
    }
    text.match_indices("-----BEGIN ").find_map(|(start, begin)| {
        let name = &text[start + begin.len()..];
        let name = &name[..name.floor_char_boundary(NAME)];
        let name = &name[..name.find(DASHES)?];
        let is_private = name.contains("PRIVATE KEY");
        is_private.then(|| secret(start, begin.len() + name.len()))
    })
}

/// A secret that begins as [`KNOWN`] says.
pub(super) fn prefixed(text: &str) -> Option<Secret> {
    runs(text, |c| is_url_safe(c) || c == '.').find_map(|(start, run)| {
        let known = KNOWN.iter().find(|known| run.starts_with(known.prefix))?;
        let body = &run[known.prefix.len()..];
        let body = &body[..body.find(|c| !known.alphabet.has(c)).unwrap_or(body.len())];
        let is_secret = body.len() >= known.least && is_varied(body) && !is_words(body);
        let range = start..start + known.prefix.len() + body.len();
        is_secret.then_some(Secret { what: known.what, range })
    })
}

/// Tokens that are told by the lengths of their parts.
pub(super) fn in_parts(text: &str) -> Option<Secret> {
    let belongs = |c: char| is_url_safe(c) || matches!(c, '.' | ':');
    runs(text, belongs).find_map(|(start, run)| {
        let run = run.trim_end_matches(['.', ':']);
        let at = |what, token: &str| {
            let start = start + run.len() - token.len();
            Some(Secret { what, range: start..start + token.len() })
        };
        // What stands before the last colon may be a name: `token:eyJ…`.
        let last = run.rsplit(':').next().unwrap_or(run);
        if is_web_token(last) {
            return at("a web token", last);
        }
        if is_discord_token(last) {
            return at("a Discord token", last);
        }
        if is_slack_token(last) {
            return at("a Slack token", last);
        }
        let bot = run.strip_suffix(last)?.strip_suffix(':')?;
        let bot = bot.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let is_bot = (8..=11).contains(&bot.len())
            && (34..=36).contains(&last.len())
            && last.chars().all(is_url_safe)
            && is_varied(last);
        if is_bot {
            at("a Telegram bot token", &run[run.len() - last.len() - 1 - bot.len()..])
        } else {
            None
        }
    })
}

/// Three parts, the first two JSON in base64: `{"` begins with `eyJ`.
fn is_web_token(token: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(header), Some(claims), Some(signature)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_json = |part: &str| part.starts_with("eyJ") && part.len() >= 10;
    is_json(header) && is_json(claims) && signature.len() >= 8
}

/// A user's number in base64, a time, a code.
fn is_discord_token(token: &str) -> bool {
    let parts: Vec<&str> = token.split('.').collect();
    let [id, time, code] = parts[..] else { return false };
    id.starts_with(['M', 'N', 'O'])
        && (23..=28).contains(&id.len())
        && (6..=7).contains(&time.len())
        && (27..=40).contains(&code.len())
        && has_digit(id)
        && !is_words(id)
        && is_varied(code)
        && !is_words(code)
}

/// Numbers and a code, parted by hyphens: `xoxb-123-456-…`. Here, also short ones count.
fn is_slack_token(token: &str) -> bool {
    let mut parts = token.split('-');
    let is_kind = parts.next().is_some_and(|kind| kind.len() == 4 && kind.starts_with("xox"));
    let (Some(number), Some(code)) = (parts.next(), parts.next_back()) else { return false };
    let mut signs: Vec<char> = code.chars().collect();
    signs.sort_unstable();
    signs.dedup();
    let is_number = number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_kind && is_number && signs.len() >= 4 && code.chars().all(|c| c.is_ascii_alphanumeric())
}

/// What is secret about an address: a password before its host, or all of it.
pub(super) fn in_address(text: &str) -> Option<Secret> {
    let calls = ["sip:", "sips:"].into_iter().flat_map(|mark| text.match_indices(mark));
    let calls = calls.filter(|(at, _)| !text[..*at].ends_with(char::is_alphanumeric));
    text.match_indices("://").chain(calls).find_map(|(at, mark)| {
        let start = at + mark.len();
        let rest = &text[start..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')');
        let address = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let host = &address[..address.find(['/', '?', '#']).unwrap_or(address.len())];
        if let Some((user, _)) = host.rsplit_once('@')
            && let Some((name, password)) = user.split_once(':')
            && !is_placeholder(password)
        {
            let from = start + name.len() + 1;
            let range = from..from + password.len();
            return Some(Secret { what: "an address with a password", range });
        }
        let hooks = ["hooks.slack.com/services/", "discord.com/api/webhooks/"];
        let is_hook = |hook: &str| {
            address.strip_prefix(hook).is_some_and(|path| path.len() >= 20 && has_digit(path))
        };
        hooks.iter().any(|hook| is_hook(hook)).then(|| Secret {
            what: "the address of a webhook",
            range: start..start + address.len(),
        })
    })
}

/// Whether a value only stands for a secret: `<password>`, `$PASSWORD`, `****`.
pub(super) fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 9] = [
        "password", "passwort", "passwd", "pass", "pwd", "secret", "token", "redacted", "changeme",
    ];
    let bare = value.trim_matches(|c: char| !c.is_alphanumeric());
    bare.is_empty()
        || value.starts_with(['<', '$', '{', '[', '%'])
        || WORDS.iter().any(|word| bare.eq_ignore_ascii_case(word))
        || bare.chars().all(|c| bare.starts_with(c))
}

fn is_url_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}
