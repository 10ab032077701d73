//! Whether a text states something about a person that every conversation should know:
//! how to answer, what to call them, what they must not eat.
//!
//! Goes by a few phrases at the beginnings of sentences and would rather miss one than
//! keep an appointment for ever: what people want kept they can mark `[important]`.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::Regex;

/// What makes a wish one for a while.
const PASSING: &str = r"(?:today|tomorrow|tonight|yesterday|this\ (?:time|week|month|once)
    |next\ (?:time|week)|for\ (?:now|today)|right\ now|just\ once|at\ the\ moment
    |on\ (?:mon|tues|wednes|thurs|fri|satur|sun)day|heute|morgen|aujourd'hui|mañana)";

/// What may stand before a statement without changing it.
const OPENINGS: &str = r"^[-*\ ]*(?:(?:please|remember|note|that|to|from\ now\ on|in\ general
    |generally|also|and|but|you\ should|you\ can|bitte|por\ favor|s'il\ te\ plaît|merk\ dir)
    [\ ,:]+)*";

/// Ways to be, behind "be" or "keep it".
const BEING: &str = r"(?:brief|concise|short|terse|direct|honest|blunt|formal|informal|polite
    |friendly|succinct|critical)END";

/// What a lasting sentence begins with. `WHO` is whoever speaks of themselves, or is spoken of;
/// `BEING` is a way to be; `END` ends a word.
const STATEMENTS: [&str; 14] = [
    r"WHO(?:(?:\ would|\ ?'d)?\ prefers?|\ wants?\ to\ be\ called|\ go(?:es)?\ by)END",
    r"WHO(?:\ am|\ ?'m|\ is)\ (?:called|allergic|vegan|(?:a\ )?vegetarian|diabetic
        |lactose\ intolerant)END",
    r"WHO\ (?:.*\ )?ha(?:ve|s)\ (?:.*\ )?allerg(?:y|ies)(?:\ |$)",
    // Facts.
    r"(?:my\ (?:(?:first\ )?name|nickname|native\ language|mother\ tongue|first\ language
        |time\ ?zone)\ is|my\ name's|(?:the\ )?user's\ name\ is|name:|pronouns:
        |(?:my|(?:the\ )?user's)\ pronouns\ are)END",
    r"(?:i\ (?:do(?:n't|\ not)|can(?:'t|not)|never)|user\ does(?:n't|\ not))\ eatEND",
    r"(?:i(?:'m|\ am)\ (?:blind|deaf)|i'm\ colou?r-blind|i\ use\ a\ screen\ reader)END",
    // The same in other languages.
    r"(?:ich\ hei(?:ß|ss)e|mein\ name\ ist|nenn(?:en\ sie)?\ mich|ich\ bevorzuge|immer\ auf\ deutsch
        |antworte(?:\ bitte|\ mir)?\ immer|antworte\ (?:auf|kurz)|antworten\ sie\ (?:immer|auf)
        |(?:duz|siez)e\ mich|ich\ bin\ (?:allergisch|vegetarier|veganer)|ich\ esse\ kein
        |keine\ emojis)END",
    r"(?:je\ m'appelle|appel(?:le|ez)-moi|je\ préfère|répond(?:s|s-moi|ez)\ toujours
        |je\ suis\ allergique|tutoie-moi|me\ llamo|mi\ nombre\ es|llámame|prefiero
        |responde\ siempre|soy\ alérgic[oa]|mi\ chiamo|chiamami|preferisco|rispondi\ sempre
        |me\ chamo|meu\ nome\ é|prefiro|responda\ sempre|ik\ heet|noem\ me|antwoord\ altijd)END",
    r"(?:меня\ зовут|зови\ меня|называй\ меня|отвечай\ всегда|всегда\ отвечай|у\ меня\ аллергия
        |nazywam\ się|mów\ mi)END",
    // Where no blanks part the words, they may stand anywhere in a sentence.
    r".*(?:我叫|我的名字|请叫我|叫我|用中文回[答复]|用英文回答|我更喜欢|我喜欢简短|我偏好|过敏|我吃素
        |我的代词|不要用表情|私の名前は|と呼んで|日本語で(?:答え|返)|英語で答え|アレルギーがあ
        |のほうが好き|絵文字は使わ|제\ 이름은|라고\ 불러|한국어로\ 대답|알레르기가\ 있|이모지는\ 쓰지)",
    // "Always answer in German", "never be formal".
    r"(?:always|never|don't|do\ not)\ (?:be\ BEING|call\ me\ |(?:answer|reply|respond|speak|talk
        |address|greet|explain|apologi[sz]e|swear|summari[sz]e|flatter)(?:\ |$))",
    r"(?:(?:be|stay)\ (?:more\ )*|keep\ (?:it|things)\ )BEING",
    r"(?:answer|reply|respond|speak|talk)\ (?:(?:to\ )?me\ )?
        (?:briefly|concisely|formally|always|only\ in)END",
    r"(?:use\ (?:metric|imperial|celsius|fahrenheit|24-hour|british|american)
        |no\ (?:emojis?|smileys|emoticons|jargon))END",
];

/// What a sentence begins with that is lasting if a word of [`MANNER`] follows.
const ABOUT_ANSWERS: [&str; 4] = [
    r"WHO(?:\ (?:like|want|love|hate|dislike|need)s?|(?:\ would|\ ?'d)\ like
        |\ do(?:es)?(?:n't|\ not)\ like|\ do(?:es)?n't\ want)END",
    // Of somebody by name: "Sam prefers brief answers".
    r"[^\ ]+\ prefers\ ",
    // "Never use emoji".
    r"(?:always|never|don't|do\ not)\ (?:use|write|include|give|show|add|format|keep|end|start|begin
        |put|send|make|avoid|skip|cite)\ ",
    r"(?:(?:answer|reply|respond|speak|talk)\ (?:(?:to\ )?me\ )?in|keep
        |(?:write|give)\ (?:all|your|me|to\ me))\ ",
];

/// What answers are made of, and how they sound.
const MANNER: &str = r"(?:^|\ )[^\p{L}\p{N}\ ]*(?:answers?|reply|replies|responses?|explanations?
    |emojis?|emoticons|smileys|markdown|bullets?|tables|headings|jargon|sarcasm|flattery|disclaimers
    |apologies|tone|formal|informal|polite|metric|imperial|celsius|fahrenheit|24-hour|12-hour|units
    |dashes|exclamation|sources|english|german|french|spanish|italian|portuguese|dutch|russian
    |chinese|japanese|korean|polish|turkish|arabic|hindi|ukrainian|swedish|language)
    [^\p{L}\p{N}\ ]*(?:\ |$)";

/// A name to use, behind what asks for it.
const NAME: &str = r"(?:call\ me|address\ me\ (?:as|with)|refer\ to\ me\ as)\ ([^\ 0-9][^\ ]*)
    (?:\ [^\ ]+){0,4}$";

/// Behind "call me", these are no names.
const NOT_NAMES: [&str; 25] = [
    "back", "at", "on", "tomorrow", "later", "when", "if", "today", "tonight", "after", "before",
    "in", "by", "for", "as", "once", "this", "next", "every", "about", "again", "now", "and", "to",
    "whenever",
];

/// Whether a text states a lasting wish, or a lasting fact about the person.
pub fn is_lasting_statement(text: &str) -> bool {
    static EXPRESSIONS: LazyLock<Expressions> = LazyLock::new(Expressions::new);
    let text = text.to_lowercase().replace('’', "'");
    let ends = ['.', '!', '?', ';', '\n', '。', '！', '？'];
    let is_question = text.trim_end().ends_with(['?', '？']);
    !is_question && text.split(ends).any(|sentence| EXPRESSIONS.is_lasting(sentence))
}

/// The lists above, made ready.
struct Expressions {
    passing: Regex,
    statement: Regex,
    about_answers: Regex,
    manner: Regex,
    name: Regex,
}

impl Expressions {
    fn new() -> Self {
        let compile = |expression: String| {
            let expression = expression.replace("WHO", r"(?:i|(?:the\ )?(?:user|owner))");
            let expression = expression.replace("BEING", BEING);
            let expression = expression.replace("END", r"(?:[^\p{L}\p{N}]|$)");
            Regex::new(&format!("(?x){expression}")).expect("the expressions are sound")
        };
        Expressions {
            passing: compile(format!(r"(?:^|[^\p{{L}}\p{{N}}]){PASSING}END")),
            statement: compile(format!("{OPENINGS}(?:{})", STATEMENTS.join("|"))),
            about_answers: compile(format!("{OPENINGS}(?:{})", ABOUT_ANSWERS.join("|"))),
            manner: compile(MANNER.to_owned()),
            name: compile(format!("{OPENINGS}{NAME}")),
        }
    }

    fn is_lasting(&self, sentence: &str) -> bool {
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        let about = self.about_answers.find(&sentence);
        let name = self.name.captures(&sentence);
        !self.passing.is_match(&sentence)
            && (self.statement.is_match(&sentence)
                || about.is_some_and(|about| self.manner.is_match(&sentence[about.end()..]))
                || name.is_some_and(|name| !NOT_NAMES.contains(&&name[1])))
    }
}
