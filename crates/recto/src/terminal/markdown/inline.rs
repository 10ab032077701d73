//! Marks within a line: emphasis, code, links.
//!
//! The line becomes tokens, each of them text in its style. A mark that may
//! begin something waits for its other half, and with it all that stands behind
//! it; when the other half comes, what stands between them changes its style.
//! When the line ends, marks that are still alone were meant as they stand. This
//! is the algorithm of `CommonMark` over one line, with bounds on how much may
//! wait.

use anstyle::Style;

use super::wrap::{StyledSpan, is_wide};
use super::{CODE, DIM, LINE_END};

/// The most characters that wait for a mark's other half.
const MAX_HELD: usize = 1_000;

/// The most marks that wait at a time.
const MAX_OPEN: usize = 32;

/// Reads the text of one line at a time.
#[derive(Debug, Default)]
pub(super) struct InlineParser {
    /// The style of the whole line.
    base: Style,
    /// The character before the unread ones.
    previous: Option<char>,
    /// What has come and is too little to tell what it is.
    unread: String,
    /// What was read, from the first mark on that waits.
    tokens: Vec<InlineToken>,
}

#[derive(Debug)]
struct InlineToken {
    span: StyledSpan,
    /// What it may begin, as long as it waits for its other half.
    opener: Option<Opener>,
}

#[derive(Debug)]
struct Opener {
    mark: char,
    count: usize,
    /// Whether it could have been the other half of an earlier one.
    closes: bool,
}

/// What a line's text is made of.
#[derive(Debug, Clone, Copy)]
enum Lexeme<'a> {
    Text(&'a str),
    Code(&'a str),
    /// A run of one mark, and the character behind it.
    Run(char, usize, Option<char>),
    /// The beginning of a link or of an image.
    Bracket(&'a str),
    /// The end of a link's text, and its address if one follows.
    BracketEnd(Option<&'a str>),
}

impl InlineParser {
    /// A parser for a line in that style.
    pub(super) fn new(base: Style) -> Self {
        InlineParser { base, ..InlineParser::default() }
    }

    /// Takes the next character and gives what is decided; at the end of the
    /// line that is all the rest.
    pub(super) fn push(&mut self, c: char) -> Vec<StyledSpan> {
        self.unread.push(c);
        let unread = std::mem::take(&mut self.unread);
        let mut rest = unread.as_str();
        while let Some((lexeme, length)) = next_lexeme(rest, self.waiting('[').is_some()) {
            self.read(lexeme);
            self.previous = rest[..length].chars().next_back();
            rest = &rest[length..];
        }
        self.unread = rest.to_owned();
        if c == LINE_END {
            self.tokens.iter_mut().for_each(|token| token.opener = None);
        }
        self.release()
    }

    fn read(&mut self, lexeme: Lexeme<'_>) {
        match lexeme {
            Lexeme::Text(text) => self.write(text, self.base),
            Lexeme::Code(code) => self.write(code, self.base.fg_color(CODE.get_fg_color())),
            Lexeme::Run(mark, count, next) => self.read_run(mark, count, next),
            Lexeme::Bracket(literal) => {
                let opener = Opener { mark: '[', count: 1, closes: false };
                self.open(literal.to_owned(), opener);
            }
            Lexeme::BracketEnd(target) => self.end_bracket(target),
        }
    }

    fn write(&mut self, text: &str, style: Style) {
        match self.tokens.last_mut() {
            Some(InlineToken { span, opener: None }) if span.style == style => {
                span.text.push_str(text);
            }
            _ => {
                let span = StyledSpan::new(text.to_owned(), style);
                self.tokens.push(InlineToken { span, opener: None });
            }
        }
    }

    fn open(&mut self, literal: String, opener: Opener) {
        let mut open = self.tokens.iter_mut().filter(|token| token.opener.is_some());
        if let Some(oldest) = open.next()
            && open.count() + 1 == MAX_OPEN
        {
            oldest.opener = None;
        }
        let span = StyledSpan::new(literal, self.base);
        self.tokens.push(InlineToken { span, opener: Some(opener) });
    }

    /// The nearest of these marks that waits.
    fn waiting(&self, mark: char) -> Option<usize> {
        let is_it = |token: &InlineToken| token.opener.as_ref().is_some_and(|it| it.mark == mark);
        self.tokens.iter().rposition(is_it)
    }

    /// A run of marks closes what it can, and what is left of it may open
    /// something.
    fn read_run(&mut self, mark: char, count: usize, next: Option<char>) {
        let (opens, closes) = sides(mark, self.previous, next);
        // One tilde is an approximation, and no mark.
        let is_mark = mark != '~' || count == 2;
        let mut rest = count;
        while is_mark
            && closes
            && rest > 0
            && let Some(index) = self.other_half(mark, count, opens)
        {
            rest -= self.join(index, rest);
        }
        let literal = mark.to_string().repeat(rest);
        match is_mark && opens && rest > 0 {
            true => self.open(literal, Opener { mark, count: rest, closes }),
            false => self.write(&literal, self.base),
        }
    }

    /// The nearest mark that a run can close. Where a run could do both, three
    /// marks in all are no pair: in `**a*b**` the one in the middle is none.
    fn other_half(&self, mark: char, count: usize, opens: bool) -> Option<usize> {
        let is_pair = |opener: &Opener| {
            let are_threes = opener.count.is_multiple_of(3) && count.is_multiple_of(3);
            let is_odd = (opener.count + count).is_multiple_of(3) && !are_threes;
            opener.mark == mark && !((opener.closes || opens) && is_odd)
        };
        self.tokens.iter().rposition(|token| token.opener.as_ref().is_some_and(is_pair))
    }

    /// Joins a run with the mark that it closes, and says how many marks of the
    /// run that took.
    fn join(&mut self, index: usize, rest: usize) -> usize {
        let InlineToken { span: StyledSpan { text, .. }, opener } = &mut self.tokens[index];
        let taken = rest.min(text.len()).min(2);
        let effect = match (text.starts_with('~'), taken) {
            (true, _) => Style::strikethrough,
            (false, 2) => Style::bold,
            (false, _) => Style::italic,
        };
        text.truncate(text.len() - taken);
        if text.is_empty() {
            *opener = None;
        }
        self.style_behind(index, effect);
        taken
    }

    /// Changes the style of all that stands behind a mark. Marks there have no
    /// other half. Addresses look the same everywhere.
    fn style_behind(&mut self, index: usize, effect: fn(Style) -> Style) {
        for token in &mut self.tokens[index + 1..] {
            token.opener = None;
            if token.span.style != DIM {
                token.span.style = effect(token.span.style);
            }
        }
    }

    /// With an address, the brackets were a link; without one they were brackets.
    /// The address is shown unless it is the link's text.
    fn end_bracket(&mut self, target: Option<&str>) {
        let Some(index) = self.waiting('[') else { return };
        self.tokens[index].opener = None;
        let Some(target) = target else { return self.write("]", self.base) };
        self.tokens[index].span.text.clear();
        self.style_behind(index, Style::underline);
        let shown: String = self.tokens[index..].iter().map(|it| it.span.text.as_str()).collect();
        if !target.is_empty() && target != shown {
            self.write(&format!(" ({target})"), DIM);
        }
    }

    /// Gives all that stands before the first mark that waits. Where too much
    /// waits, that mark stands as it is.
    fn release(&mut self) -> Vec<StyledSpan> {
        let mut spans = Vec::new();
        loop {
            let first = self.tokens.iter().position(|token| token.opener.is_some());
            let decided = self.tokens.drain(..first.unwrap_or(self.tokens.len()));
            spans.extend(decided.map(|token| token.span));
            let held: usize = self.tokens.iter().map(|it| it.span.text.chars().count()).sum();
            match self.tokens.first_mut() {
                Some(oldest) if held > MAX_HELD => oldest.opener = None,
                _ => return spans,
            }
        }
    }
}

/// What a text begins with, and how many bytes of it that takes; `None` where
/// more must come to tell. Only with a bracket that waits is there a link to end.
fn next_lexeme(text: &str, in_bracket: bool) -> Option<(Lexeme<'_>, usize)> {
    let first = text.chars().next()?;
    let (one, rest) = text.split_at(first.len_utf8());
    let next = rest.chars().next();
    Some(match first {
        LINE_END => (Lexeme::Text(""), 1),
        '\\' if next?.is_ascii_punctuation() => (Lexeme::Text(&text[1..2]), 2),
        '!' if next? == '[' => (Lexeme::Bracket("!["), 2),
        '[' => (Lexeme::Bracket("["), 1),
        ']' if in_bracket && next? == '(' => match closing_bracket(rest) {
            Some(end) => (Lexeme::BracketEnd(Some(&rest[1..end])), end + 2),
            None if may_go_on(rest) => return None,
            None => (Lexeme::BracketEnd(None), 1),
        },
        ']' if in_bracket => (Lexeme::BracketEnd(None), 1),
        // What is nothing but marks for so long is none.
        '*' | '_' | '~' | '`' if text.len() > MAX_HELD && run_length(text, first).is_none() => {
            (Lexeme::Text(one), 1)
        }
        '*' | '_' | '~' => {
            let count = run_length(text, first)?;
            (Lexeme::Run(first, count, text[count..].chars().next()), count)
        }
        '`' => {
            let ticks = run_length(text, '`')?;
            let rest = &text[ticks..];
            match closing_ticks(rest, ticks) {
                Some(end) => (Lexeme::Code(unpadded(&rest[..end])), 2 * ticks + end),
                None if may_go_on(rest) => return None,
                None => (Lexeme::Text(&text[..ticks]), ticks),
            }
        }
        _ => (Lexeme::Text(one), one.len()),
    })
}

/// Whether the end of what was begun may still come.
fn may_go_on(text: &str) -> bool {
    !text.ends_with(LINE_END) && text.len() <= MAX_HELD
}

/// How many of one mark a text begins with, if that is all of them.
fn run_length(text: &str, mark: char) -> Option<usize> {
    text.find(|c| c != mark)
}

/// Where the bracket is closed that a text begins with.
fn closing_bracket(text: &str) -> Option<usize> {
    // Most of the time there is none yet, which is found out faster.
    text.rfind(')')?;
    let mut depth = 0;
    text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })
}

/// Where code ends that began with so many backticks.
fn closing_ticks(text: &str, ticks: usize) -> Option<usize> {
    let mut at = text.find('`')?;
    loop {
        let run = run_length(&text[at..], '`')?;
        if run == ticks {
            return Some(at);
        }
        at += run + text[at + run..].find('`')?;
    }
}

/// Code without the blanks at its sides that only keep backticks apart.
fn unpadded(code: &str) -> &str {
    let inner = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
    inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(code)
}

/// Whether a run of marks can open and can close something, by what stands
/// around it: words and blanks. An underscore within a word is part of it.
///
/// Beside characters of scripts without blanks, every place is the end of a word.
fn sides(mark: char, before: Option<char>, after: Option<char>) -> (bool, bool) {
    let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_sign = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace());
    let is_edge = |c: Option<char>| is_blank(c) || is_sign(c) || c.is_some_and(is_wide);
    let opens = !is_blank(after) && (!is_sign(after) || is_edge(before));
    let closes = !is_blank(before) && (!is_sign(before) || is_edge(after));
    match mark {
        '_' => (opens && (!closes || is_sign(before)), closes && (!opens || is_sign(after))),
        _ => (opens, closes),
    }
}
