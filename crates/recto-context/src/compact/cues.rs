//! Words by which decisions, open questions and mere chatter are told. Lists only, for
//! the languages that they are written in; other texts go by their form.

/// Somebody decided something, or undertook it.
const DECISIONS: &[&str] = &[
    "decided",
    "decide on",
    "decision",
    "let's",
    "lets go",
    "agreed",
    "agree on",
    "chose",
    "chosen",
    "we choose",
    "i choose",
    "go with",
    "going with",
    "go for",
    "going for",
    "opt for",
    "settle on",
    "settled on",
    "we'll",
    "we will",
    "we take",
    "we'll take",
    "take the",
    "i'll",
    "i will",
    "instead of",
    "rather than",
    "no longer",
    "from now on",
    "must not",
    "mustn't",
    "must be",
    "has to be",
    "have to be",
    "should be",
    "shouldn't",
    "we use",
    "use that",
    "skip",
    "it is then",
    "keep our",
    "we keep",
    "we're booking",
    "booked",
    "signed",
    "approved",
    "rejected",
    "cancelled",
    "forbid",
    "not allowed",
    "only on",
    "never",
    "always",
    "stick with",
    "wir nehmen",
    "nehmen wir",
    "entschieden",
    "beschlossen",
    "einigen uns",
    "wir machen",
    "on prend",
    "décidé",
    "decidimos",
    "vamos con",
    "quedamos",
    "abbiamo deciso",
];

/// The same where words are not parted.
const DECISIONS_UNPARTED: &[&str] = &[
    "决定",
    "決定",
    "就用",
    "就选",
    "選び",
    "にします",
    "にしましょう",
    "采用",
    "定下",
    "同意",
    "確定",
    "하기로",
    "결정",
    "정했",
];

/// Something is still open or to be done.
const OPEN: &[&str] = &[
    "todo",
    "to do:",
    "tbd",
    "fixme",
    "still need",
    "still needs",
    "still have to",
    "still has to",
    "still open",
    "still to",
    "remains to",
    "open question",
    "open point",
    "open issue",
    "don't know",
    "do not know",
    "doesn't know",
    "not sure",
    "unsure",
    "unclear",
    "undecided",
    "haven't decided",
    "not decided",
    "decide later",
    "decide that later",
    "to be decided",
    "figure out",
    "find out",
    "need to ask",
    "needs to ask",
    "have to ask",
    "i'll ask",
    "will ask",
    "i'll check",
    "need to check",
    "i'll call",
    "i'll write",
    "need to",
    "might",
    "waiting for",
    "pending",
    "remind me",
    "don't forget",
    "who can",
    "who will",
    "by when",
    "leave that open",
    "noch offen",
    "muss noch",
    "müssen noch",
    "weiß nicht",
    "weiss nicht",
    "unklar",
    "klären",
    "il faut encore",
    "reste à",
    "je ne sais pas",
    "pendiente",
    "falta",
    "no sé",
    "por decidir",
];

/// The same where words are not parted.
const OPEN_UNPARTED: &[&str] = &[
    "待定",
    "还没",
    "還沒",
    "不确定",
    "不知道",
    "需要问",
    "未定",
    "まだ",
    "わからない",
    "確認する",
    "아직",
    "모르겠",
];

/// An answer that leaves its question open.
const HEDGES: &[&str] = &[
    "depends",
    "i don't know",
    "not sure",
    "you could ask",
    "hard to say",
    "can't tell",
    "cannot tell",
    "maybe",
    "perhaps",
    "whatever",
    "it'd be best",
    "it would be best",
    "up to you",
    "i'm not aware",
    "not that i know",
    "worth asking",
    "you may want",
    "you'd have to",
    "either",
    "both",
    "kommt darauf an",
    "vielleicht",
    "ça dépend",
    "depende",
    "取决于",
    "場合によ",
];

/// A proposal that somebody can agree to.
const PROPOSALS: &[&str] = &[
    "how about",
    "shall i",
    "shall we",
    "should i",
    "should we",
    "i'd suggest",
    "i suggest",
    "i would suggest",
    "i'd recommend",
    "i propose",
    "would you like me to",
    "what about",
    "wie wäre",
    "soll ich",
];

/// How agreement begins.
const ASSENTS: &[&str] = &[
    "yes",
    "yep",
    "yeah",
    "yup",
    "agreed",
    "ok",
    "okay",
    "sure",
    "perfect",
    "sounds good",
    "sounds right",
    "great",
    "fine",
    "do it",
    "go ahead",
    "deal",
    "👍",
    "ja",
    "genau",
    "oui",
    "sí",
    "好",
    "はい",
    "네",
];

/// Words that a sentence may be made of without saying anything.
const CHATTER: &[&str] = &[
    "a",
    "again",
    "all",
    "alright",
    "and",
    "are",
    "awesome",
    "best",
    "bye",
    "cool",
    "course",
    "danke",
    "day",
    "did",
    "do",
    "excellent",
    "fantastic",
    "fine",
    "for",
    "fun",
    "glad",
    "go",
    "good",
    "got",
    "great",
    "haha",
    "happy",
    "have",
    "hello",
    "help",
    "helpful",
    "hey",
    "hi",
    "hm",
    "hmm",
    "how",
    "i",
    "i'm",
    "idea",
    "is",
    "it",
    "know",
    "lol",
    "lot",
    "lovely",
    "luck",
    "makes",
    "merci",
    "morning",
    "much",
    "my",
    "nice",
    "no",
    "of",
    "oh",
    "ok",
    "okay",
    "perfect",
    "plan",
    "please",
    "pleasure",
    "point",
    "problem",
    "question",
    "right",
    "see",
    "sense",
    "so",
    "soon",
    "sounds",
    "super",
    "sure",
    "talk",
    "thank",
    "thanks",
    "that",
    "that's",
    "the",
    "this",
    "to",
    "very",
    "was",
    "welcome",
    "wonderful",
    "yes",
    "you",
    "you're",
    "it's",
    "we're",
    "i've",
    "there",
    "any",
    "time",
];

pub(super) fn is_question(small: &str) -> bool {
    small.ends_with(['?', '？'])
}

pub(super) fn is_decision(small: &str) -> bool {
    has_any(small, DECISIONS) || DECISIONS_UNPARTED.iter().any(|cue| small.contains(cue))
}

pub(super) fn is_open(small: &str) -> bool {
    has_any(small, OPEN) || OPEN_UNPARTED.iter().any(|cue| small.contains(cue))
}

pub(super) fn is_hedged(small: &str) -> bool {
    has_any(small, HEDGES)
}

pub(super) fn is_proposal(small: &str) -> bool {
    is_question(small) || has_any(small, PROPOSALS)
}

/// Whether it names more than one way to go.
pub(super) fn has_choice(small: &str) -> bool {
    ["or", "oder", "ou", "o", "还是", "還是", "それとも"].iter().any(|or| has_phrase(small, or))
}

/// Whether a message agrees with the one before it.
pub(super) fn is_assent(small: &str) -> bool {
    ASSENTS.iter().any(|word| {
        let rest = small.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

/// Whether a sentence only keeps the talk going.
pub(super) fn is_chatter(small: &str) -> bool {
    let mut words = small.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.all(|word| word.is_empty() || CHATTER.contains(&word))
}

/// As people compare: small letters, and one kind of apostrophe.
pub(super) fn small(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Whether one of the phrases stands in the text, as whole words.
fn has_any(small: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| has_phrase(small, phrase))
}

fn has_phrase(small: &str, phrase: &str) -> bool {
    small.match_indices(phrase).any(|(at, _)| {
        let before = small[..at].chars().next_back();
        let after = small[at + phrase.len()..].chars().next();
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let ends_in_letter = phrase.ends_with(char::is_alphanumeric);
        !(is_part(before) || (ends_in_letter && is_part(after)))
    })
}
