//! Whether a text states something about a person that every conversation should know:
//! how to answer, what to call them, what they must not eat.
//!
//! Goes by a few phrases at the beginnings of sentences and would rather miss one than
//! keep an appointment for ever: what people want kept they can mark `[important]`.

/// What may stand before a statement without changing it.
const OPENINGS: [&str; 17] = [
    "please",
    "remember",
    "note",
    "that",
    "to",
    "from now on",
    "in general",
    "generally",
    "also",
    "and",
    "but",
    "you should",
    "you can",
    "bitte",
    "por favor",
    "s'il te plaît",
    "merk dir",
];

/// Whoever speaks of themselves, or is spoken of.
const SUBJECTS: [&str; 5] = ["i", "the user", "user", "the owner", "owner"];

/// Behind a subject, these alone make a lasting statement.
const SAYS: [&str; 29] = [
    "want to be called",
    "wants to be called",
    "prefer",
    "prefers",
    "would prefer",
    "'d prefer",
    "go by",
    "goes by",
    "am called",
    "'m called",
    "is called",
    "am allergic",
    "'m allergic",
    "is allergic",
    "am vegan",
    "'m vegan",
    "is vegan",
    "am vegetarian",
    "'m vegetarian",
    "is vegetarian",
    "am a vegetarian",
    "'m a vegetarian",
    "is a vegetarian",
    "am diabetic",
    "'m diabetic",
    "is diabetic",
    "am lactose intolerant",
    "'m lactose intolerant",
    "is lactose intolerant",
];

/// Behind a subject, these do when they are about answers.
const WANTS: [&str; 20] = [
    "like",
    "likes",
    "want",
    "wants",
    "would like",
    "'d like",
    "love",
    "loves",
    "hate",
    "hates",
    "dislike",
    "dislikes",
    "don't like",
    "doesn't like",
    "do not like",
    "does not like",
    "don't want",
    "doesn't want",
    "need",
    "needs",
];

/// Facts that are lasting wherever a sentence begins with them.
const FACTS: [&str; 30] = [
    "my name is",
    "my name's",
    "my first name is",
    "my nickname is",
    "user's name is",
    "the user's name is",
    "name:",
    "my pronouns are",
    "user's pronouns are",
    "the user's pronouns are",
    "pronouns:",
    "my native language is",
    "my mother tongue is",
    "my first language is",
    "my time zone is",
    "my timezone is",
    "i don't eat",
    "i do not eat",
    "i can't eat",
    "i cannot eat",
    "i never eat",
    "user doesn't eat",
    "user does not eat",
    "i'm blind",
    "i am blind",
    "i'm deaf",
    "i am deaf",
    "i'm colour-blind",
    "i'm color-blind",
    "i use a screen reader",
];

/// The same in other languages.
const ELSEWHERE: [&str; 56] = [
    "ich heiße",
    "ich heisse",
    "mein name ist",
    "nenn mich",
    "nennen sie mich",
    "ich bevorzuge",
    "antworte immer",
    "antworte bitte immer",
    "antworte mir immer",
    "antworte auf",
    "antworte kurz",
    "antworten sie immer",
    "antworten sie auf",
    "immer auf deutsch",
    "duze mich",
    "sieze mich",
    "ich bin allergisch",
    "ich bin vegetarier",
    "ich bin veganer",
    "ich esse kein",
    "keine emojis",
    "je m'appelle",
    "appelle-moi",
    "appelez-moi",
    "je préfère",
    "réponds toujours",
    "réponds-moi toujours",
    "répondez toujours",
    "je suis allergique",
    "tutoie-moi",
    "me llamo",
    "mi nombre es",
    "llámame",
    "prefiero",
    "responde siempre",
    "soy alérgico",
    "soy alérgica",
    "mi chiamo",
    "chiamami",
    "preferisco",
    "rispondi sempre",
    "me chamo",
    "meu nome é",
    "prefiro",
    "responda sempre",
    "ik heet",
    "noem me",
    "antwoord altijd",
    "меня зовут",
    "зови меня",
    "называй меня",
    "отвечай всегда",
    "всегда отвечай",
    "у меня аллергия",
    "nazywam się",
    "mów mi",
];

/// And where no blanks part the words, so that they may stand anywhere in a sentence.
const UNPARTED: [&str; 27] = [
    "我叫",
    "我的名字",
    "请叫我",
    "叫我",
    "用中文回答",
    "用中文回复",
    "用英文回答",
    "我更喜欢",
    "我喜欢简短",
    "我偏好",
    "过敏",
    "我吃素",
    "我的代词",
    "不要用表情",
    "私の名前は",
    "と呼んで",
    "日本語で答え",
    "日本語で返",
    "英語で答え",
    "アレルギーがあ",
    "のほうが好き",
    "絵文字は使わ",
    "제 이름은",
    "라고 불러",
    "한국어로 대답",
    "알레르기가 있",
    "이모지는 쓰지",
];

/// Verbs of answering: with "always" or "never", each is about every conversation.
const ANSWERING: [&str; 14] = [
    "answer",
    "reply",
    "respond",
    "speak",
    "talk",
    "address",
    "greet",
    "explain",
    "apologise",
    "apologize",
    "swear",
    "summarise",
    "summarize",
    "flatter",
];

/// Verbs that are so only with what they are about.
const DOING: [&str; 17] = [
    "use", "write", "include", "give", "show", "add", "format", "keep", "end", "start", "begin",
    "put", "send", "make", "avoid", "skip", "cite",
];

/// What answers are made of, and how they sound.
const MANNER: [&str; 54] = [
    "answer",
    "answers",
    "reply",
    "replies",
    "response",
    "responses",
    "explanation",
    "explanations",
    "emoji",
    "emojis",
    "emoticons",
    "smileys",
    "markdown",
    "bullet",
    "bullets",
    "tables",
    "headings",
    "jargon",
    "sarcasm",
    "flattery",
    "disclaimers",
    "apologies",
    "tone",
    "formal",
    "informal",
    "polite",
    "metric",
    "imperial",
    "celsius",
    "fahrenheit",
    "24-hour",
    "12-hour",
    "units",
    "dashes",
    "exclamation",
    "sources",
    "english",
    "german",
    "french",
    "spanish",
    "italian",
    "portuguese",
    "dutch",
    "russian",
    "chinese",
    "japanese",
    "korean",
    "polish",
    "turkish",
    "arabic",
    "hindi",
    "ukrainian",
    "swedish",
    "language",
];

/// Ways to be, behind "be" or "keep it".
const BEING: [&str; 13] = [
    "brief", "concise", "short", "terse", "direct", "honest", "blunt", "formal", "informal",
    "polite", "friendly", "succinct", "critical",
];

/// What makes a wish one for a while.
const PASSING: [&str; 26] = [
    "today",
    "tomorrow",
    "tonight",
    "yesterday",
    "this time",
    "this week",
    "this month",
    "this once",
    "next time",
    "next week",
    "for now",
    "for today",
    "right now",
    "just once",
    "at the moment",
    "on monday",
    "on tuesday",
    "on wednesday",
    "on thursday",
    "on friday",
    "on saturday",
    "on sunday",
    "heute",
    "morgen",
    "aujourd'hui",
    "mañana",
];

/// Behind "call me", these are no names.
const NOT_NAMES: [&str; 25] = [
    "back", "at", "on", "tomorrow", "later", "when", "if", "today", "tonight", "after", "before",
    "in", "by", "for", "as", "once", "this", "next", "every", "about", "again", "now", "and", "to",
    "whenever",
];

/// Whether a text states a lasting wish, or a lasting fact about the person.
pub fn is_lasting(text: &str) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    let ends = ['.', '!', '?', ';', '\n', '。', '！', '？'];
    let questions = text.trim_end().ends_with(['?', '？']);
    !questions && text.split(ends).any(|sentence| sentence_is_lasting(sentence.trim()))
}

fn sentence_is_lasting(sentence: &str) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let sentence = words.join(" ");
    if PASSING.iter().any(|passing| has_phrase(&sentence, passing)) {
        return false;
    }
    let said = without_openings(&sentence);
    starts_with_any(said, &FACTS)
        || starts_with_any(said, &ELSEWHERE)
        || UNPARTED.iter().any(|phrase| said.contains(phrase))
        || is_own_statement(said)
        || is_instruction(said)
        || is_name_to_use(said)
}

/// "I prefer …", "the user wants short answers".
fn is_own_statement(said: &str) -> bool {
    let behind = |subject: &&str| {
        let rest = said.strip_prefix(*subject)?;
        rest.starts_with([' ', '\'']).then(|| rest.trim_start())
    };
    let about = SUBJECTS.iter().find_map(behind);
    let of_subject = about.is_some_and(|rest| {
        starts_with_any(rest, &SAYS) || (starts_with_any(rest, &WANTS) && is_about_answers(rest))
    });
    // Of somebody by name: "Sam prefers brief answers".
    let mut words = said.split(' ').skip(1);
    let of_name = words.next() == Some("prefers") && is_about_answers(said);
    of_subject || of_name || has_allergy(said, about.is_some())
}

/// "I have a nut allergy", "the user has a severe allergy to nuts".
fn has_allergy(said: &str, is_own: bool) -> bool {
    is_own
        && said.split(' ').any(|word| matches!(word, "allergy" | "allergies"))
        && (has_phrase(said, "have") || has_phrase(said, "has"))
}

/// "Always answer in German", "never use emoji", "keep it short".
fn is_instruction(said: &str) -> bool {
    let mut words = said.split(' ');
    let first = words.next().unwrap_or_default();
    let rest = said[first.len()..].trim_start();
    match first {
        "always" | "never" | "don't" => is_way_of_answering(rest),
        "do" => rest.strip_prefix("not ").is_some_and(is_way_of_answering),
        "no" => starts_with_any(rest, &["emoji", "emojis", "smileys", "emoticons", "jargon"]),
        "be" | "stay" => starts_with_any(rest.trim_start_matches("more "), &BEING),
        "answer" | "reply" | "respond" | "speak" | "talk" => {
            let rest = rest.strip_prefix("to me ").or_else(|| rest.strip_prefix("me "));
            let rest = rest.unwrap_or(&said[first.len()..]).trim_start();
            rest.starts_with("in ") && is_about_answers(rest)
                || starts_with_any(rest, &["briefly", "concisely", "formally", "always", "only in"])
        }
        "keep" => {
            let rest = rest.strip_prefix("it ").or_else(|| rest.strip_prefix("things "));
            rest.is_some_and(|rest| starts_with_any(rest, &BEING)) || is_about_answers(said)
        }
        "use" => starts_with_any(
            rest,
            &["metric", "imperial", "celsius", "fahrenheit", "24-hour", "british", "american"],
        ),
        "write" | "give" => {
            starts_with_any(rest, &["all", "your", "me", "to me"]) && is_about_answers(rest)
        }
        _ => false,
    }
}

fn is_way_of_answering(rest: &str) -> bool {
    let verb = rest.split(' ').next().unwrap_or_default();
    ANSWERING.contains(&verb)
        || (DOING.contains(&verb) && is_about_answers(rest))
        || (verb == "be" && starts_with_any(rest[verb.len()..].trim_start(), &BEING))
        || (verb == "call" && rest[verb.len()..].trim_start().starts_with("me "))
}

/// "Call me Sam", and not "call me back".
fn is_name_to_use(said: &str) -> bool {
    let calls =
        ["call me", "you can call me", "address me as", "refer to me as", "address me with"];
    let Some(name) = calls.iter().find_map(|call| said.strip_prefix(call)) else { return false };
    let mut words = name.split_whitespace();
    let first = words.next().unwrap_or_default();
    !first.is_empty()
        && !NOT_NAMES.contains(&first)
        && !first.starts_with(|c: char| c.is_ascii_digit())
        && words.count() <= 4
}

fn is_about_answers(said: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    said.split(' ').any(|word| MANNER.contains(&bare(word).as_str()))
}

fn without_openings(sentence: &str) -> &str {
    let mut said = sentence.trim_start_matches(['-', '*', ' ']);
    while let Some(rest) = OPENINGS.iter().find_map(|opening| {
        let rest = said.strip_prefix(opening)?;
        rest.starts_with([' ', ',', ':']).then(|| rest.trim_start_matches([' ', ',', ':']))
    }) {
        said = rest;
    }
    said
}

/// Whether a text begins with one of these phrases, as whole words.
fn starts_with_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| {
        text.strip_prefix(phrase).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !is_part(before) && !is_part(after)
    })
}
