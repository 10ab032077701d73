//! The table: which secrets look how.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Captures;

use super::phrase::find_phrase;
use super::shape::{
    Maker, NamedValue, count_distinct, has_digit, is_credentials, is_placeholder, is_public,
    is_random, is_unit, is_varied, is_words,
};
use super::{Judge, Pattern};

/// How many bytes behind a name are looked at.
pub(super) const REACH: usize = 512;

/// From the surest kind to the vaguest. Within one, what stands first in a text counts.
pub(super) static PATTERNS: LazyLock<[Vec<Pattern>; 8]> = LazyLock::new(|| {
    [
        private_keys(),
        tokens(),
        tokens_in_parts(),
        addresses(),
        headers(),
        named(),
        phrases(),
        vec![Pattern::new("a long random string", r"[-+/=\w]{32,}", random)],
    ]
});

/// A block of a private key; without its end, up to the end of the text.
fn private_keys() -> Vec<Pattern> {
    let block = r"(?x)-----BEGIN\ (?u:.{0,40}?) PRIVATE\ KEY (?su:.{0,40}?)-----
        (?su:.*?) (?:-----END(?u:.*)|\z)";
    let whole: Judge = |_, found| Some(found.get_match().range());
    vec![
        Pattern::new("a private key", r"PuTTY-User-Key-File-(?su:.*)", whole),
        Pattern::new("a private key", block, whole),
    ]
}

/// Tokens that are told by how they begin: what it is, the beginning, and the rest.
fn tokens() -> Vec<Pattern> {
    const TOKENS: [(&str, &str, &str); 35] = [
        ("an Anthropic key", "sk-ant-", r"[-\w]{20,}"),
        ("an OpenRouter key", "sk-or-v1-", r"[-\w]{20,}"),
        ("an OpenAI key", "sk-(?:proj-|svcacct-|admin-)?", r"[-\w]{20,}"),
        ("a GitHub token", "gh[oprsu]_", "[[:alnum:]]{30,}"),
        ("a GitHub token", "github_pat_", r"[-\w]{22,}"),
        ("a GitLab token", "glpat-", r"[-.\w]{20,}"),
        ("a GitLab token", "gl[dr]t-", r"[-\w]{20,}"),
        ("a Slack token", r"xox[abeprs]-|xoxe\.|xapp-", r"[-\w]{16,}"),
        ("a Stripe key", "[rs]k_(?:live|test)_", "[[:alnum:]]{16,}"),
        ("a Stripe secret", "whsec_", "[[:alnum:]]{16,}"),
        ("a Google key", "AIza", r"[-\w]{30,}"),
        ("a Google token", r"ya29\.", r"[-\w]{20,}"),
        ("a Google secret", "GOCSPX-", r"[-\w]{20,}"),
        ("an AWS key", "A[KS]IA", "[0-9A-Z]{16,}"),
        ("an npm token", "npm_", "[[:alnum:]]{30,}"),
        ("a PyPI token", "pypi-", r"[-\w]{30,}"),
        ("a Hugging Face token", "hf_", "[[:alnum:]]{30,}"),
        ("a Groq key", "gsk_", "[[:alnum:]]{30,}"),
        ("an xAI key", "xai-", "[[:alnum:]]{30,}"),
        ("a Perplexity key", "pplx-", "[[:alnum:]]{30,}"),
        ("a Replicate token", "r8_", "[[:alnum:]]{30,}"),
        ("a SendGrid key", r"SG\.", r"[-.\w]{40,}"),
        ("a DigitalOcean token", "dop_v1_", "[[:alnum:]]{40,}"),
        ("a Docker token", "dckr_pat_", r"[-\w]{20,}"),
        ("a Shopify token", "shpat_", "[[:alnum:]]{30,}"),
        ("a Vault token", r"hvs\.", r"[-\w]{20,}"),
        ("a Databricks token", "dapi", "[[:alnum:]]{32,}"),
        ("a Linear key", "lin_api_", "[[:alnum:]]{30,}"),
        ("a Notion token", "ntn_", "[[:alnum:]]{30,}"),
        ("a Tailscale key", "tskey-", r"[-\w]{20,}"),
        ("a New Relic key", "NRAK-", "[0-9A-Z]{20,}"),
        ("a Postman key", "PMAK-", r"[-\w]{30,}"),
        ("a Supabase token", "sbp_", "[[:alnum:]]{30,}"),
        ("a Cloudflare key", r"v1\.0-", r"[-\w]{100,}"),
        ("an age key", "AGE-SECRET-KEY-1", "[0-9A-Z]{50,}"),
    ];
    let token = |(what, beginning, rest)| {
        Pattern::new(what, &format!("((?:{beginning})({rest}))"), |text, found| {
            let is_secret = is_varied(&found[2]) && !is_words(&found[2]);
            first_group(found).filter(|_| begins_a_token(text, found) && is_secret)
        })
    };
    TOKENS.map(token).into()
}

/// Tokens that are told by the lengths of their parts.
fn tokens_in_parts() -> Vec<Pattern> {
    let part = |what, regex, judge| {
        // A token may end a sentence.
        let regex = format!(r"({regex})[.:]*(?:\z|(?u:[^-.:0-9A-Za-z_]))");
        Pattern::new(what, &regex, judge)
    };
    vec![
        // Two of its parts are JSON in base64, where `{"` begins with `eyJ`.
        part(
            "a web token",
            r"eyJ[-\w]{7,}\.eyJ[-\w]{7,}\.[-\w]{8,}(?:\.[-\w]+)*",
            |text, found| first_group(found).filter(|_| begins_a_token(text, found)),
        ),
        // A user's number in base64, a time, a code.
        part(
            "a Discord token",
            r"([MNO][-\w]{22,27})\.[-\w]{6,7}\.([-\w]{27,40})",
            |text, found| {
                let (id, code) = (&found[2], &found[3]);
                let is_secret =
                    has_digit(id) && !is_words(id) && is_varied(code) && !is_words(code);
                first_group(found).filter(|_| begins_a_token(text, found) && is_secret)
            },
        ),
        // Numbers and a code, parted by hyphens. Here, also short ones count.
        part("a Slack token", r"xox\w-[0-9]{3,}-(?:[.\w]*-)*([[:alnum:]]+)", |text, found| {
            let is_secret = count_distinct(&found[2]) >= 4;
            first_group(found).filter(|_| begins_a_token(text, found) && is_secret)
        }),
        part("a Telegram bot token", r"[0-9]{8,11}:([-\w]{34,36})", |text, found| {
            let before = &text[..found.get_match().start()];
            let is_cut = before.ends_with(|c: char| c.is_ascii_digit());
            first_group(found).filter(|_| !is_cut && is_varied(&found[2]))
        }),
    ]
}

/// What is secret about an address: a password before its host, or all of it.
fn addresses() -> Vec<Pattern> {
    let password: Judge = |_, found| first_group(found).filter(|_| !is_placeholder(&found[1]));
    let user = r#"(?u:[^\s"'`<>)/?\#:]*:([^\s"'`<>)/?\#]*)@)"#;
    let hook = r#"(?x)://((?:hooks\.slack\.com/services|discord\.com/api/webhooks)/
        (?u:[^\s"'`<>)]{20,}))"#;
    let what = "an address with a password";
    vec![
        Pattern::new(what, &format!("://{user}"), password),
        Pattern::new(what, &format!(r"(?u:^|[^\p{{L}}\p{{N}}])sips?:{user}"), password),
        Pattern::new("the address of a webhook", hook, |_, found| {
            first_group(found).filter(|_| has_digit(&found[1]))
        }),
    ]
}

/// Secrets as programs send them: `Authorization: Basic …` and `Authorization: Bearer …`.
fn headers() -> Vec<Pattern> {
    let bearer = r#"(?ix)authorization [\s"'`]* [:=] [\s:="'`]*
        (?:bearer|token|api-?key|key)\x20 \s* ([-.~+/=\w]*[-~+/=\w])"#;
    vec![
        // A name and a password in base64. They are read, so the word before them is enough.
        Pattern::new("a password", r"(?i:basic) \s*([-+/\w]{6,})", |text, found| {
            let is_header = begins_a_word(text, found.get_match().start());
            first_group(found).filter(|_| is_header && is_credentials(&found[1]))
        }),
        Pattern::new("a key or token", bearer, |_, found| {
            let value = &found[1];
            let is_secret = value.len() >= 8
                && (has_digit(value) || !is_words(value))
                && !is_placeholder(value)
                && value.contains(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
            first_group(found).filter(|_| is_secret)
        }),
    ]
}

/// Secrets with a name before them: `the password for the router is …`, `API_KEY=…`.
///
/// A name alone is no secret, and most of what is said about passwords gives none away.
/// So the value has to look like one, the more so the vaguer the name is.
fn named() -> Vec<Pattern> {
    const PASSWORDS: &str = r"password|passwd|passphrase|passcode|pwd|passwort|kennwort
        |mot\ de\ passe|contraseña|senha|wachtwoord|hasło|пароль|密码|密碼|口令|パスワード|비밀번호";
    const KEYS: &str =
        r"api[-_\ ]?key|(?:access|secret)[_\ ]key|(?:private|account)\ key|secret|token";
    const CODES: &str = r"pin[-\ ]?code|pin|puk|(?:safe|lock)\ combination
        |(?:door|gate|garage|alarm|entry|access|security|lock|unlock|keypad|locker|safe)\ code
        |türcode|zugangscode|alarmcode|geheimzahl|digicode";
    /// What stands between a name and its value: `=`, or `for the router at home is`.
    const BETWEEN: &str = r#"(?:
        \s* ["'`*)]* (?: (?<assigned>(?:[=:：]|->)[-=:：>]*) | [是为為は은는] )
        | (?<filler> \s+ (?: (?:for|of|to|on|at|in|from|with|für|zum|zur|vom|im|am|bei|von|de|del
            |du|pour|para|do|da|voor)(?-u:\b) | \( ) (?s:.){0,48}? )?
          (?: \s+(?:is|was|ist|lautet|est|es|é|è|är|jest|=) | (?<colon>:) ) \s
        )"#;
    let value = |names| {
        // `API_KEY_2`, `passwordHash`: the name is only the beginning of an identifier.
        format!("(?iux)(?<name>{names})(?<tail>(?-i:[-0-9A-Z_][-0-9A-Za-z_]*))?{BETWEEN}")
    };
    let code = format!(
        r"(?iux)(?<name>{CODES}) (?: (?<direct>\s+) | {BETWEEN}\s*[^0-9A-Za-z\s\#*]* )
        (?<value>[\#*]*[0-9]{{4,12}}[\#*]*) [^0-9A-Za-z\s\#*]* (?:\s+(?<next>\S{{1,12}})|\s|\z)"
    );
    let key: Judge = |text, found| find_value(text, found, Maker::Machine);
    vec![
        Pattern::new("a password", &value(PASSWORDS), |text, found| {
            find_value(text, found, Maker::Person)
        }),
        Pattern::new("a key or token", &value(KEYS), key),
        Pattern::new("a key or token", r"(?i)(?<name>bearer) ", key),
        Pattern::new("a PIN or code", &code, find_code),
    ]
}

/// Seed phrases, behind words that say so.
fn phrases() -> Vec<Pattern> {
    let cues = r"(?iux)(?<name>seed[-\ ]?phrase|seed\ words|wallet\ (?:seed|words)
        |recovery\ (?:phrase|words)|(?:backup|secret)\ phrase|mnemonic
        |wiederherstellungs(?:phrase|wörter)|phrase\ de\ récupération
        |frase\ (?:de\ recuperación|semilla))";
    vec![Pattern::new("a seed phrase", cues, |text, found| {
        find_phrase(text, found.get_match().end()).filter(|_| is_announced(text, found))
    })]
}

/// The value behind a name, if it looks like a secret.
fn find_value(text: &str, found: &Captures<'_>, maker: Maker) -> Option<Range<usize>> {
    let quotes = ['"', '\'', '`', '“', '”', '„', '«', '»', '「', '」', '*'];
    let ends = |c: char| c.is_whitespace() || quotes.contains(&c) || ",;，。、；".contains(c);
    let from = found.get_match().end();
    // No value is longer, and a long text has many names.
    let reach = &text[from..text.floor_char_boundary(from + REACH)];
    let rest = reach.trim_start();
    let opened = rest.trim_start_matches(quotes);
    let bare = opened.split(ends).next()?.trim_end_matches(['.', '!', '?', ')', ':']);
    let value = NamedValue {
        text: bare,
        is_quoted: rest.starts_with(['"', '\'', '`', '“', '„', '«', '「']),
        is_assigned: found.name("assigned").or(found.name("colon")).is_some(),
    };
    let looks_secret = match found.name("tail") {
        None => value.looks_secret(maker),
        // Behind `token_limit` stands something else than behind `token`.
        Some(_) => {
            let is_long = bare.len() >= 12 && has_digit(bare);
            value.is_assigned && is_long && value.looks_secret(Maker::Machine)
        }
    };
    let start = from + reach.len() - opened.len();
    (is_announced(text, found) && looks_secret).then(|| start..start + bare.len())
}

/// The digits behind a name of codes: `the PIN is 4711`, `door code 99812#`.
fn find_code(text: &str, found: &Captures<'_>) -> Option<Range<usize>> {
    // Without a word between them only where it can mean nothing else: one can `pin` things.
    let name = &found["name"];
    let is_verb = name.eq_ignore_ascii_case("pin") && name != "PIN";
    let is_vague = is_verb && found.name("direct").is_some();
    let is_measure = found.name("next").is_some_and(|next| is_unit(next.as_str()));
    let value = found.name("value").map(|value| value.range());
    value.filter(|_| is_announced(text, found) && !is_vague && !is_measure)
}

/// Whether a name stands for itself, and in the same sentence as what is behind it.
fn is_announced(text: &str, found: &Captures<'_>) -> bool {
    /// How long the words between them may be.
    const LONGEST: usize = 48;
    let filler = found.name("filler").map_or("", |filler| filler.as_str());
    begins_a_word(text, found.get_match().start())
        && filler.len() < LONGEST
        && !filler.split_whitespace().any(|word| word.ends_with(['.', '!', '?', ';', ',']))
}

/// A long string without order, but for the marks around it.
fn random(text: &str, found: &Captures<'_>) -> Option<Range<usize>> {
    let found = found.get_match();
    let run = found.as_str().trim_start_matches(['-', '=', '/', '_', '+']);
    let start = found.end() - run.len();
    let run = run.trim_end_matches(['-', '/', '_', '+']);
    let is_secret = run.len() >= 32 && is_random(run) && !is_public(&text[..start], run);
    is_secret.then(|| start..start + run.len())
}

fn first_group(found: &Captures<'_>) -> Option<Range<usize>> {
    found.get(1).map(|group| group.range())
}

/// Whether a match is not only the end of a longer token.
fn begins_a_token(text: &str, found: &Captures<'_>) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text[..found.get_match().start()].ends_with(joins)
}

/// `DB_PASSWORD` and `dbPassword` have the word `password`; `nopassword` has not.
fn begins_a_word(text: &str, at: usize) -> bool {
    /// From here on, scripts write words without blanks between them.
    const UNPARTED: char = '\u{2E80}';
    let here = text[at..].chars().next();
    let before = text[..at].chars().next_back();
    before.is_none_or(|before| {
        !before.is_alphabetic()
            || here.is_some_and(|here| here >= UNPARTED)
            || (before.is_lowercase() && here.is_some_and(char::is_uppercase))
    })
}
